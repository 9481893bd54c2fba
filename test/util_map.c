/* util_map.c - tensor maps of a launch. */
#include "test/util_map.h"
#include "test/check.h"
#include <string.h>

void
map_encode(const hexc_module *m, uint32_t nmap, const hexc_arg *arg, sim_tmap *map, const void **params)
{
	hexc_tensor_map_info t = HEXC_TENSOR_MAP_INFO_INIT;

	for (uint32_t i = 0; i < nmap; i++, t.size = sizeof t) {
		sim_tmap_desc d = SIM_TMAP_INIT;
		char why[200] = "";

		ck_assert_int_eq(hexc_tensor_map(m, 0, i, arg, &t), HEXC_OK);
		d.type = t.type;
		d.rank = t.rank;
		d.address = (uintptr_t)t.address;
		memcpy(d.dim, t.dim, sizeof d.dim);
		memcpy(d.stride, t.stride, sizeof d.stride);
		memcpy(d.box, t.box, sizeof d.box);
		memcpy(d.element_stride, t.step, sizeof d.element_stride);
		d.interleave = t.interleave;
		d.swizzle = t.swizzle;
		d.l2_promotion = t.l2;
		d.oob_fill = t.fill;
		ck_assert_msg(sim_tmap_encode(&map[i], &d, why, sizeof why) == SIM_OK, "map %u: %s", i, why);
		params[i] = &map[i];
	}
}
