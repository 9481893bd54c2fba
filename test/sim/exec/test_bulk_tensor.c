/* test_bulk_tensor.c - tests tensor copies in kernels: loads, stores and reductions of random TMA boxes
 * against tmapmodel.h, multicast, maps modified by a kernel. */
#include "test/check.h"
#include "test/sim/bulktest.h"
#include "test/sim/exec/tmapmodel.h"

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

/* Bits of the whole number v, 0..2047, as a float of the type. */
static uint64_t
float_bits(uint32_t type, uint32_t v)
{
	uint32_t top = v ? 31 - (uint32_t)__builtin_clz(v) : 0;
	float f = (float)v;
	double g = v;
	uint64_t b = 0;

	switch (type) {
	case SIM_TMAP_F16: return v ? (15 + top) << 10 | ((v << 10 >> top) & 0x3ff) : 0;
	case SIM_TMAP_F64: memcpy(&b, &g, 8); return b;
	default: memcpy(&b, &f, 4); return type == SIM_TMAP_BF16 ? b >> 16 : b;
	}
}

/* Element i: anything for integers, for floats a small number, so that sums are exact. */
static uint32_t
small(uint32_t i)
{
	return (i * 2654435761u) >> 27;
}

static uint64_t
sample(uint32_t type, uint32_t i)
{
	return type >= SIM_TMAP_F16 ? float_bits(type, small(i)) : i * 0x9e3779b97f4a7c15ull >> 16;
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
	} while (sim_tmap_encode(&m, &d, why, sizeof why) != SIM_OK || end > buffer + TENSOR ||
	         box_elements(&d) * esize(&d) > SMEM - 2048);
	return d;
}

TEST_EACH(loads, 8)
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

TEST_EACH(stores, 8)
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

/* ---- reductions ---- */

static const char *const ops[] = { "add", "min", "max", "inc", "dec", "and", "or", "xor" };

/* PTX ISA, cp.reduce.async.bulk.tensor: which types an operation has. */
static bool
has(uint32_t op, uint32_t type)
{
	bool half = type == SIM_TMAP_F16 || type == SIM_TMAP_BF16;
	bool word = type == SIM_TMAP_U32 || type == SIM_TMAP_S32, wide = type == SIM_TMAP_U64;

	switch (op) {
	case 0: return word || wide || half || type == SIM_TMAP_F32 || type == SIM_TMAP_F32_FTZ;
	case 1: case 2: return word || wide || half || type == SIM_TMAP_S64;
	case 3: case 4: return type == SIM_TMAP_U32;
	default: return word || wide || type == SIM_TMAP_S64;
	}
}

static uint64_t
reduced(uint32_t op, uint32_t type, uint32_t i, uint32_t j)
{
	uint64_t m = type == SIM_TMAP_U64 || type == SIM_TMAP_S64 ? ~0ull : 0xffffffff, x = small(i),
		 y = small(j);
	uint64_t flip = type == SIM_TMAP_S64 ? 1ull << 63 : type == SIM_TMAP_S32 ? 1ull << 31 : 0;

	if (type >= SIM_TMAP_F16)
		return float_bits(type, (uint32_t)(op == 0 ? x + y : op == 1 ? (x < y ? x : y) : x < y ? y :
		                                                     x));
	x = sample(type, i) & m;
	y = sample(type, j) & m;
	switch (op) {
	case 0: return (x + y) & m;
	case 1: return (x ^ flip) < (y ^ flip) ? x : y;
	case 2: return (x ^ flip) < (y ^ flip) ? y : x;
	case 3: return x >= y ? 0 : x + 1;
	case 4: return !x || x > y ? y : x - 1;
	case 5: return x & y;
	case 6: return x | y;
	default: return x ^ y;
	}
}

TEST_EACH(reductions, 8)
{
	static uint8_t tensor[TENSOR], data[SMEM], got[TENSOR];
	uint32_t op = (uint32_t)_i;
	char red[20];
	int done = 0;

	seed = op + 300;
	sprintf(red, "%s.", ops[op]);
	while (done < 12) {
		Dev v = dev_open();
		uint64_t t = sim_alloc(v.s, TENSOR, "tensor");
		sim_tmap_desc d = map_for(t, done % 3 == 2);
		uint32_t e = esize(&d), n = box_elements(&d), off[3] = { 0, 0, 0 }, skip[3];
		int32_t start[5] = { 0 };
		if (!has(op, d.type)) {
			dev_close(&v);
			continue;
		}
		random_start(&d, start, skip);
		fill_tensor(tensor, &d, 7);
		sim_write(v.s, t, tensor, TENSOR);
		put_start(v.s, v.in, start, off);
		for (uint32_t i = 0; i < n; i++) {
			Want w = box_element(&d, start, off, i);
			uint64_t b = sample(d.type, i + 99), r;
			memcpy(data + swizzled(d.swizzle, i * e), &b, e);
			if (!w.inside)
				continue;
			/* strides may bring an element back: it is there once in a box that does not repeat
			    */
			r = reduced(op, d.type, (uint32_t)((w.addr - t) / e) + 7, i + 99);
			memcpy(tensor + (w.addr - t), &r, e);
		}
		sim_write(v.s, v.in + 64, data, n * e);
		ck_assert_int_eq(sim_tmap_encode(&v.map, &d, NULL, 0), SIM_OK);
		dev_run(&v, store_kernel(&d, red, 0, n * e), SIM_OK);
		sim_read(v.s, t, got, TENSOR);
		ck_assert_mem_eq(got, tensor, TENSOR);
		dev_close(&v);
		done++;
	}
}

/* ---- maps that a kernel makes ---- */

/* All fields of a tiled map, into the 128 bytes at sm. */
static void
replaces(char *text, size_t n, const sim_tmap_desc *d)
{
	static const uint8_t elemtype[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12 };
	size_t at = 0;

#define R(field, bits, ord, v) \
	at += (size_t)snprintf(text + at, n - at, \
	                       "tensormap.replace.tile." field ".shared::cta.b1024.b" bits " [sm], " \
	                       ord "%llu;\n", (unsigned long long)(v))
#define RI(field, bits, v) \
	at += (size_t)snprintf(text + at, n - at, \
	                       "tensormap.replace.tile." field ".shared::cta.b1024.b" bits " [sm], " \
	                       "%u, %llu;\n", i, (unsigned long long)(v))
	R("global_address", "64", "", d->address);
	R("rank", "32", "", d->rank - 1);
	for (uint32_t i = 0; i < d->rank; i++) {
		RI("box_dim", "32", d->box[i]);
		RI("global_dim", "32", d->dim[i]);
		RI("element_stride", "32", d->element_stride[i]);
		if (i + 1 < d->rank)
			RI("global_stride", "64", d->stride[i]);
	}
	R("elemtype", "32", "", elemtype[d->type]);
	R("interleave_layout", "32", "", 0);
	R("swizzle_mode", "32", "", d->swizzle);
	R("fill_mode", "32", "", d->oob_fill);
#undef R
#undef RI
}

/* One warp makes the map in out + 65536 from zeros, and loads the box with it. */
static char *
made_kernel(const sim_tmap_desc *d, uint32_t base, uint32_t bytes)
{
	static char text[12000];
	char load[600], coord[80], off[60], fields[4000];

	coordinates(load, sizeof load, d, coord, off);
	replaces(fields, sizeof fields, d);
	snprintf(text, sizeof text,
	         BULK_HEAD(65536)
	         "%s" BULK_INIT
	         "mov.u32 %%r23, sm;\nshl.b32 %%r22, %%r1, 2;\nadd.u32 %%r23, %%r23, %%r22;\n"
	    "mov.b32 %%r22, 0;\n"
	         "st.shared.u32 [%%r23], %%r22;\nbar.warp.sync 0xffffffff;\n@%%p1 bra V;\n%s"
	         "V: add.u64 %%d3, %%d1, 65536;\nbar.warp.sync 0xffffffff;\n"

	    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%%d3], "
	         "[sm], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%%d3], 128;\n"
	         "fence.proxy.async;\nbar.warp.sync 0xffffffff;\n@%%p1 bra W;\n"
	         "mbarrier.arrive.expect_tx.shared.b64 _, [mb], %u;\n"
	         "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm+%u], "
	         "[%%d3, {%s}], [mb];\n"
	         "W:\n" BULK_WAIT("0")
	         BULK_DUMP("%u", "%u") "ret;\n}\n",
	         load, fields, bytes, d->rank, base, coord, base, bytes);
	return text;
}

TEST_EACH(made_maps, 4)
{
	static uint8_t tensor[TENSOR], got[SMEM], want[SMEM];

	seed = (uint32_t)_i + 400;
	for (int k = 0; k < 8; k++) {
		Dev v = dev_open();
		uint64_t t = sim_alloc(v.s, TENSOR, "tensor");
		sim_tmap_desc d = map_for(t, false);
		uint32_t e = esize(&d), n = box_elements(&d), base = 1024, off[3] = { 0, 0, 0 };
		int32_t start[5] = { 0 };
		char *text;
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
		v.l.block[0] = 32;
		text = made_kernel(&d, base, n * e);
		ck_assert(k || !have_ptxas() || ptxas(text));
		dev_run(&v, text, SIM_OK);
		sim_read(v.s, v.out, got, n * e);
		ck_assert_mem_eq(got, want + base, n * e);
		dev_close(&v);
	}
}

/* ---- maps elsewhere ---- */

/* The same load with the map in constant memory, in a global variable, and in a buffer. */
TEST_EACH(map_places, 3)
{
	static const char *const places[] = { ".const .align 64 .b8 map[128];\n",
		".global .align 64 .b8 map[128];\n", "" };
	static const char *const address[] = { "mov.u64 %d3, map;\ncvta.const.u64 %d3, %d3;\n",
		"mov.u64 %d3, map;\ncvta.global.u64 %d3, %d3;\n", "add.u64 %d3, %d2, 65536;\n" };
	static char text[12000];
	uint8_t in[1024], got[1024];
	Dev v = dev_open();
	sim_tmap_desc d = SIM_TMAP_INIT;
	const void *args[4];
	sim_module *m;
	sim_result *r;
	size_t bytes;
	uint64_t p;
	char *body, *at;

	d.type = SIM_TMAP_U8;
	d.rank = 2;
	d.address = v.in;
	d.dim[0] = d.stride[0] = d.box[0] = 64;
	d.dim[1] = d.box[1] = 16;
	ck_assert_int_eq(sim_tmap_encode(&v.map, &d, NULL, 0), SIM_OK);
	for (int i = 0; i < 1024; i++)
		in[i] = (uint8_t)(i * 7);
	sim_write(v.s, v.in, in, 1024);
	body = load_kernel(&d, 0, 1024);
	at = strstr(body, "ld.global.u32 %r10");
	snprintf(text, sizeof text, "%.*s%s%.*s%s%s", (int)strlen(BULK_TARGET), body, places[_i],
	         (int)(at - body - (long)strlen(BULK_TARGET)), body + strlen(BULK_TARGET), address[_i], at);
	ck_assert(!have_ptxas() || ptxas(text));
	sim_fill(v.s, v.in + 2048, 0, 64);
	m = must_load(v.s, text);
	p = v.in + 65536;
	if (_i < 2)
		ck_assert(sim_symbol(m, "map", &p, &bytes) && bytes == 128);
	ck_assert_int_eq(sim_write(v.s, p, &v.map, 128), SIM_OK);
	memset(&v.map, 0, sizeof v.map);        /* the parameter has none */
	args[0] = &v.out;
	args[1] = &v.in;
	args[2] = &v.n;
	args[3] = &v.map;
	v.l.args = args;
	put_start(v.s, v.in, (const int32_t[5]){ 0 }, (const uint32_t[3]){ 0 });
	sim_read(v.s, v.in, in, 1024);
	ck_assert_int_eq(sim_run(v.s, m, "k", &v.l, &r), SIM_OK);
	sim_result_free(r);
	sim_read(v.s, v.out, got, 1024);
	ck_assert_mem_eq(got, in, 1024);
	dev_close(&v);
}

TEST_PROGRAM(.timeout = 120);
