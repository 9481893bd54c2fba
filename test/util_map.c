/* util_map.c - creates the tensor maps of a launch on the simulator. */
#include "test/util_map.h"
#include "test/check.h"

void
map_encode(const hexc_module *m, uint32_t nmap, const hexc_arg *arg, sim_tmap *map, const void **params)
{
	void *at[HEXC_MAX_PARAMS];
	char why[300] = "";

	ck_assert_msg(hexc_tensor_maps(m, 0, arg, sim_tmap_tiled, map, at, why, sizeof why) == HEXC_OK,
	              "%s", why);
	for (uint32_t i = 0; i < nmap; i++)
		params[i] = at[i];
}
