/* test_bulk_tensor.c - tensor copies in kernels: loads, stores and reductions of random boxes against
 * tmapmodel.h, multicast, maps that a kernel changes. */
#include "bulktest.h"
#include "tmapmodel.h"

enum { SMEM = 65536, TENSOR = 1 << 20 };

/* Coordinates c[0..rank) and im2col offsets are loaded from `in` into %r10.. and %h1.. */
static void
coordinates(char *text, size_t n, const sim_tmap_desc *d, char *coord, char *off)
{
	size_t at = 0;

	coord[0] = off[0] = 0;
	for (uint32_t i = 0; i < d->rank; i++) {
		at += (size_t)snprintf(text + at, n - at, "ld.global.u32 %%r%u, [%%d2+%u];\n", 10 + i, 4 * i);
		sprintf(coord + strlen(coord), "%s%%r%u", i ? ", " : "", 10 + i);
	}
	for (uint32_t i = 0; d->im2col && i + 2 < d->rank; i++) {
		at += (size_t)snprintf(text + at, n - at, "ld.global.u16 %%h%u, [%%d2+%u];\n", 1 + i,
		                       32 + 4 * i);
		sprintf(off + strlen(off), "%s%%h%u", i ? ", " : "", 1 + i);
	}
}

/* One thread loads a box to sm + base, then the block copies the shared memory to `out`. */
static char *
load_kernel(const sim_tmap_desc *d, uint32_t base, uint32_t bytes)
{
	static char text[8000];
	char loads[600], coord[80], off[60], offs[80] = "";

	coordinates(loads, sizeof loads, d, coord, off);
	if (d->im2col)
		snprintf(offs, sizeof offs, ", {%s}", off);
	snprintf(text, sizeof text,
	         BULK_HEAD(65536)
	         "%s"                   /* coordinates */
	         BULK_INIT
	         "@%%p1 bra W;\n"
	         "mbarrier.arrive.expect_tx.shared.b64 _, [mb], %u;\n"
	         "cp.async.bulk.tensor.%ud.shared::cta.global.%s.mbarrier::complete_tx::bytes [sm+%u], "
	         "[%%d3, {%s}], [mb]%s;\n"
	         "W:\n" BULK_WAIT("0")
	         BULK_DUMP("%u", "%u") "ret;\n}\n",
	         loads, bytes, d->rank, d->im2col ? "im2col" : "tile", base, coord, offs, base, bytes);
	return text;
}

/* The block fills shared memory from in + 64, one thread stores the box. */
static char *
store_kernel(const sim_tmap_desc *d, const char *red, uint32_t base, uint32_t bytes)
{
	static char text[8000];
	char loads[600], coord[80], off[60];

	coordinates(loads, sizeof loads, d, coord, off);
	snprintf(text, sizeof text,
	         BULK_HEAD(65536)
	         "%s"
	         BULK_FILL("64", "%u", "%u")
	         "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
	         "setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 ret;\n"
	         "cp.%sasync.bulk.tensor.%ud.global.shared::cta.%s%sbulk_group [%%d3, {%s}], [sm+%u];\n"
	         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n",
	         loads, base, bytes, *red ? "reduce." : "", d->rank, red,
	         d->im2col ? "im2col_no_offs." : "tile.", coord, base);
	return text;
}

static void
put_start(sim *s, uint64_t in, const int32_t *start, const uint32_t *off)
{
	ck_assert_int_eq(sim_write(s, in, start, 5 * sizeof *start), SIM_OK);
	ck_assert_int_eq(sim_write(s, in + 32, off, 3 * sizeof *off), SIM_OK);
}

/* Bits of an element as the tensor has them; small numbers in floats, so that sums are exact. */
static uint64_t
sample(uint32_t type, uint32_t i)
{
	uint32_t v = (i * 2654435761u) >> 27;   /* 0..31 */
	float f = (float)v;
	double g = v;
	uint64_t b = 0;

	switch (type) {
	case SIM_TMAP_F16: return v ? (uint64_t)(15 + 31 - __builtin_clz(v)) << 10
	                            | (((uint64_t)v << (10 - (31 - __builtin_clz(v)))) & 0x3ff) : 0;
	case SIM_TMAP_BF16: memcpy(&b, &f, 4); return b >> 16;
	case SIM_TMAP_F32: case SIM_TMAP_F32_FTZ: case SIM_TMAP_TF32: case SIM_TMAP_TF32_FTZ:
		memcpy(&b, &f, 4);
		return b;
	case SIM_TMAP_F64: memcpy(&b, &g, 8); return b;
	default: return i * 0x9e3779b97f4a7c15ull >> 16;
	}
}

static void
fill_tensor(uint8_t *t, const sim_tmap_desc *d, uint32_t salt)
{
	uint32_t e = esize(d);

	for (uint32_t i = 0; i < TENSOR / e; i++) {
		uint64_t v = sample(d->type, i + salt);
		memcpy(t + (size_t)i * e, &v, e);
	}
}

static uint64_t
fill_bits(const sim_tmap_desc *d)
{
	if (!d->oob_fill)
		return 0;
	return esize(d) == 2 ? 0x7fff : esize(d) == 4 ? 0x7fffffff : 0x7fffffffffffffffull;
}

/* A random map over a buffer of TENSOR bytes. */
static sim_tmap_desc
map_for(uint64_t buffer, bool im2col)
{
	char why[200];
	sim_tmap m;
	sim_tmap_desc d;
	uint64_t end;

	do {
		d = random_map(im2col ? 3 + rnd(3) : 1 + rnd(5), im2col);
		d.address = buffer + 16 * rnd(9);
		d.oob_fill = d.type >= SIM_TMAP_F16 && rnd(2);
		end = d.address + d.dim[0] * esize(&d);
		for (uint32_t i = 1; i < d.rank; i++)
			end += (d.dim[i] - 1) * d.stride[i - 1];
	} while (sim_tmap_encode(&m, &d, why, sizeof why) != SIM_OK || end > buffer + TENSOR
	         || box_elements(&d) * esize(&d) > SMEM - 2048);
	return d;
}

START_TEST(loads)
{
	static uint8_t tensor[TENSOR], got[SMEM], want[SMEM];

	seed = (uint32_t)_i + 100;
	for (int k = 0; k < 12; k++) {
		Dev v = dev_open();
		uint64_t t = sim_alloc(v.s, TENSOR, "tensor");
		sim_tmap_desc d = map_for(t, k % 3 == 2);
		uint32_t e = esize(&d), n = box_elements(&d), base = 128 * rnd(9), off[3];
		int32_t start[5] = { 0 };
		random_start(&d, start, off);
		fill_tensor(tensor, &d, 7);
		sim_write(v.s, t, tensor, TENSOR);
		put_start(v.s, v.in, start, off);
		for (uint32_t i = 0; i < n; i++) {
			Want w = box_element(&d, start, off, i);
			uint64_t b = fill_bits(&d);
			memcpy(want + swizzled(d.swizzle, base + i * e),
			       w.inside ? tensor + (w.addr - t) : (uint8_t *)&b, e);
		}
		ck_assert_int_eq(sim_tmap_encode(&v.map, &d, NULL, 0), SIM_OK);
		dev_run(&v, load_kernel(&d, base, n * e), SIM_OK);
		sim_read(v.s, v.out, got, n * e);
		ck_assert_mem_eq(got, want + base, n * e);
		dev_close(&v);
	}
}
END_TEST

START_TEST(stores)
{
	static uint8_t tensor[TENSOR], data[SMEM], got[TENSOR];

	seed = (uint32_t)_i + 200;
	for (int k = 0; k < 12; k++) {
		Dev v = dev_open();
		uint64_t t = sim_alloc(v.s, TENSOR, "tensor");
		sim_tmap_desc d = map_for(t, k % 3 == 2);
		uint32_t e = esize(&d), n = box_elements(&d), base = 128 * rnd(9);
		uint32_t off[3] = { 0, 0, 0 }, skip[3];
		int32_t start[5] = { 0 };
		random_start(&d, start, skip);
		fill_tensor(tensor, &d, 7);
		sim_write(v.s, t, tensor, TENSOR);
		put_start(v.s, v.in, start, off);
		for (uint32_t i = 0; i < n * e; i++)
			data[i] = (uint8_t)rnd(256);
		sim_write(v.s, v.in + 64, data, n * e);
		for (uint32_t i = 0; i < n; i++) {
			Want w = box_element(&d, start, off, i);
			if (w.inside)
				memcpy(tensor + (w.addr - t),
				       data + swizzled(d.swizzle, base + i * e) - base, e);
		}
		ck_assert_int_eq(sim_tmap_encode(&v.map, &d, NULL, 0), SIM_OK);
		dev_run(&v, store_kernel(&d, "", base, n * e), SIM_OK);
		sim_read(v.s, t, got, TENSOR);
		ck_assert_mem_eq(got, tensor, TENSOR);
		dev_close(&v);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sim bulk tensor copies");
	TCase *t = tcase_create("tensor");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, loads, 0, 8);
	tcase_add_loop_test(t, stores, 0, 8);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
