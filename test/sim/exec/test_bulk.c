/* test_bulk.c - tests bulk copies: every form against ptxas, the effect of copies and reductions, multicast,
 * groups, counts. */
#include "test/check.h"
#include "test/sim/bulktest.h"

/* ---- forms ---- */

#define TX ".mbarrier::complete_tx::bytes"
static const char *const good[] = {
	"cp.async.bulk.shared::cluster.global" TX " [sm], [%d1], 16, [mb];",
	"cp.async.bulk.shared::cluster.global" TX " [sm], [%d1], 0, [mb];",
	"cp.async.bulk.shared::cta.global" TX " [sm+64], [%d1+32], %r2, [%r3];",
	"cp.async.bulk.shared::cta.global" TX ".L2::cache_hint [sm], [%d1], %r2, [%r3], %d1;",
	"cp.async.bulk.shared::cluster.global" TX ".multicast::cluster [sm], [%d1], %r2, [%r3], %h1;",
	"cp.async.bulk.shared::cluster.global" TX ".multicast::cluster.L2::cache_hint "
	"[sm], [%d1], %r2, [%r3], %h1, %d1;",
	"cp.async.bulk.shared::cluster.global" TX ".L2::cache_hint.multicast::cluster "
	"[sm], [%d1], %r2, [%r3], 3, %d1;",
	"cp.async.bulk.shared::cluster.global" TX " [%d1], [%d1], 16, [%d2];",
	"cp.async.bulk.shared::cluster.shared::cta" TX " [%r1], [sm], %r2, [%r3];",
	"cp.async.bulk.global.shared::cta.bulk_group [%d1], [sm], %r2;",
	"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d1], [sm], %r2, %d1;",
	"cp.async.bulk.prefetch.L2.global [%d1], %r2;",
	"cp.async.bulk.prefetch.L2.global.L2::cache_hint [%d1], %r2, %d1;",
	"cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 3;",
	"cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%d1], [sm], %r2, %d1;",
	"cp.async.bulk.tensor.1d.shared::cluster.global" TX ".tile [sm], [%d2, {%r1}], [%r3];",
	"cp.async.bulk.tensor.1d.tile.shared::cluster.global" TX " [sm], [%d2, {%r1}], [%r3];",
	"cp.async.bulk.tensor.2d.shared::cta.global" TX " [sm+128], [%d2, {%r1, 5}], [%r3+8];",
	"cp.async.bulk.tensor.3d.shared::cluster.global.im2col" TX
	" [sm], [%d2, {%r1, 5, -3}], [%r3], {%h1};",
	"cp.async.bulk.tensor.3d.shared::cta.global.im2col" TX " [sm], [%d2, {%r1, 5, -3}], [%r3], {3};",
	"cp.async.bulk.tensor.3d.im2col.shared::cluster.global" TX
	" [sm], [%d2, {%r1, 5, -3}], [%r3], {%h1};",
	"cp.async.bulk.tensor.4d.shared::cta.global.im2col" TX
	" [sm], [%d2, {%r1, 5, -3, 1}], [%r3], {%h1, %h1};",
	"cp.async.bulk.tensor.5d.shared::cluster.global.im2col" TX ".multicast::cluster.L2::cache_hint "
	"[sm], [%d2, {%r1, 5, -3, 1, 1}], [%r3], {%h1, %h1, %h1}, %h1, %d1;",
	"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r1, %r1}], [sm];",
	"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%d2, {%r1, 0}], "
	"[sm], %d1;",
	"cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%d2, {%r1, %r1, %r1}], [sm];",
	"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d2, {%r1, %r1}], [sm];",
	"cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group.L2::cache_hint "
	"[%d2, {%r1, %r1}], [sm], %d1;",
	"cp.reduce.async.bulk.tensor.3d.global.shared::cta.xor.im2col_no_offs.bulk_group "
	"[%d2, {1, 2, 3}], [sm];",
	"cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d2, {%r1, %r1}];",
	"cp.async.bulk.prefetch.tensor.5d.L2.global [%d2, {%r1, %r1, 1, 2, 3}];",
	"cp.async.bulk.prefetch.tensor.4d.L2.global.im2col.L2::cache_hint [%d2, {%r1, 1, 1, 1}], {%h1, "
	"%h1}, %d1;",
	"prefetch.tensormap [%d2];", "prefetch.param.tensormap [tm];", "prefetch.const.tensormap [%d2];",
	"tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d1;",
	"tensormap.replace.tile.global_address.b1024.b64 [%d1], %d1;",
	"tensormap.replace.tile.rank.shared::cta.b1024.b32 [sm], 3;",
	"tensormap.replace.tile.rank.shared::cta.b1024.b32 [sm], %r1;",
	"tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [sm], 0, %r1;",
	"tensormap.replace.tile.global_dim.global.b1024.b32 [%d1], 4, %r1;",
	"tensormap.replace.tile.global_stride.global.b1024.b64 [%d1], 3, %d1;",
	"tensormap.replace.tile.global_stride.global.b1024.b64 [%d1], 4, %d1;",
	"tensormap.replace.tile.element_stride.global.b1024.b32 [%d1], 1, %r1;",
	"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 12;",
	"tensormap.replace.tile.interleave_layout.global.b1024.b32 [%d1], 0;",
	"tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%d1], 3;",
	"tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [sm], 1;",
	"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], "
	"[sm], 128;",
	"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.cta.sync.aligned [%d1], "
	"[%r1], 128;",
	"fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;",
	"fence.proxy.tensormap::generic.release.sys;",
	"createpolicy.fractional.L2::evict_last.b64 %d4, 1.0;",
};
static const char *const bad[] = {
	"cp.async.bulk.shared::cluster.shared::cta" TX ".L2::cache_hint [%r1], [sm], %r2, [%r3], %d1;",
	"cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [sm], %r2, %h1;",
	"cp.async.bulk.global.global.bulk_group [%d1], [%d1], %r2;",
	"cp.async.bulk.global.shared::cta" TX " [%d1], [sm], %r2, [%r3];",
	"cp.async.bulk.shared::cta.global" TX ".multicast::cluster [sm], [%d1], %r2, [%r3], %h1;",
	"cp.async.bulk.shared::cta.global" TX " [sm], [%d1], %r2;",
	"cp.async.bulk.shared::cluster.global" TX " [sm], [tm], 16, [mb];",
	"cp.async.bulk.wait_group %r1;", "cp.async.bulk.commit_group 1;", "cp.async.bulk.commit_group.read;",
	"cp.async.bulk.tensor.2d.shared::cta.global" TX " [sm], [%d2, {%r1}], [%r3];",
	"cp.async.bulk.tensor.shared::cta.global" TX " [sm], [%d2, {%r1}], [%r3];",
	"cp.async.bulk.tensor.6d.shared::cta.global" TX " [sm], [%d2, {%r1, 1, 2, 3, 4, 5}], [%r3];",
	"cp.async.bulk.tensor.2d.im2col.shared::cluster.global" TX " [sm], [%d2, {%r1, 5}], [%r3], {};",
	"cp.async.bulk.tensor.4d.shared::cta.global.im2col" TX " [sm], [%d2, {%r1, 5, 3, 1}], [%r3], {%h1};",
	"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4" TX
	" [sm], [%d2, {%r1, %r1, %r1, %r1, %r1}], [%r3];",
	"cp.async.bulk.tensor.2d.shared::cluster.global.tile" TX
	".cta_group::1 [sm], [%d2, {%r1, %r1}], [%r3];",
	"cp.async.bulk.tensor.2d.global.shared::cta" TX " [%d2, {%r1, %r1}], [sm];",
	"cp.reduce.async.bulk.tensor.2d.shared::cta.global.add" TX " [sm], [%d2, {%r1, %r1}], [%r3];",
	"cp.reduce.async.bulk.tensor.2d.global.shared::cta.exch.bulk_group [%d2, {%r1, %r1}], [sm];",
	"cp.async.bulk.prefetch.tensor.2d.L2.global [%d2, {%r1}];",
	"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], %r1;",
	"tensormap.replace.tile.global_dim.global.b1024.b32 [%d1], 5, %r1;",
	"tensormap.replace.tile.global_dim.global.b1024.b64 [%d1], 1, %d1;",
	"tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%d1], 1;",
	"tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%d1], 4;",
	"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 13;",
	"tensormap.replace.tile.fill_mode.global.b1024.b32 [%d1], 2;",
	"tensormap.replace.tile.interleave_layout.global.b1024.b32 [%d1], 3;",
	"tensormap.replace.tile.rank.param.b1024.b32 [tm], 1;",
	"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], "
	"[sm], 64;",
	"fence.proxy.tensormap::generic.acquire.gpu [%d1], 64;",
	"fence.proxy.tensormap::generic.acquire.gpu;",
};
enum { NGOOD = sizeof good / sizeof *good, NBAD = sizeof bad / sizeof *bad };

#define FORM_HEAD BULK_TARGET \
	".visible .entry k(.param .u64 a, .param .align 64 .b8 tm[128]) {\n" \
	".reg .b64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<9>;\n" \
	".shared .align 1024 .b8 sm[4096]; .shared .align 8 .b64 mb;\n" \
	"mov.b64 %d1, 0; mov.b32 %r1, 0; mov.b16 %h1, 0; mov.b64 %d2, tm; mov.b32 %r2, 16; mov.b32 %r3, mb;\n"

static int
loads(const char *text)
{
	sim *s = sim_open();
	sim_module *m;
	int rc = sim_load(s, text, strlen(text), &m);
	sim_message msg;

	if (rc != SIM_OK && sim_message_at(s, 0, &msg))
		ck_assert(msg.text[0] != 0);
	sim_close(s);
	return rc;
}

static void
form(char *text, size_t n, const char *ins)
{
	snprintf(text, n, "%s%s\nret;\n}\n", FORM_HEAD, ins);
}

TEST(good_forms)
{
	static char all[20000];
	char text[2000];
	size_t at = (size_t)sprintf(all, "%s", FORM_HEAD);

	for (int i = 0; i < NGOOD; i++) {
		form(text, sizeof text, good[i]);
		ck_assert_msg(loads(text) == SIM_OK, "refused: %s", good[i]);
		at += (size_t)sprintf(all + at, "%s\n", good[i]);
	}
	sprintf(all + at, "ret;\n}\n");
	ck_assert_msg(!have_ptxas() || ptxas(all), "ptxas refuses one of the good forms");
}

TEST_EACH(bad_forms, NBAD)
{
	char text[2000];

	form(text, sizeof text, bad[_i]);
	ck_assert_msg(loads(text) == SIM_E_SOURCE, "accepted: %s", bad[_i]);
	ck_assert_msg(!have_ptxas() || !ptxas(text), "ptxas accepts: %s", bad[_i]);
}

/* ---- reductions ---- */

static const char *const ops[] = { "add", "min", "max", "inc", "dec", "and", "or", "xor" };
static const struct { const char *name; int bytes; char kind; } types[] = {
	{ "b32", 4, 'b' }, { "u32", 4, 'u' }, { "s32", 4, 's' }, { "b64", 8, 'b' }, { "u64", 8, 'u' },
	{ "s64", 8, 's' }, { "f32", 4, 'f' }, { "f64", 8, 'f' }, { "f16", 2, 'f' }, { "bf16", 2, 'f' },
};
/* PTX ISA, cp.reduce.async.bulk: by operation, the types of global and of shared destinations. */
static const char *const table[8][2] = {
	{ "u32 s32 u64 f32 f64 f16 bf16", "u32 s32 u64" }, { "u32 s32 u64 s64 f16 bf16", "u32 s32" },
	{ "u32 s32 u64 s64 f16 bf16", "u32 s32" }, { "u32", "u32" }, { "u32", "u32" },
	{ "b32 b64", "b32" }, { "b32 b64", "b32" }, { "b32 b64", "b32" },
};

static bool
listed(const char *list, const char *word)
{
	size_t n = strlen(word);
	const char *p = list;

	while ((p = strstr(p, word)) != NULL) {
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
		p += n;
	}
	return false;
}

/* Bits of a small whole number v. */
static uint64_t
float_bits(int type, int v)
{
	float f = (float)v;
	double g = v;
	uint64_t b = 0;
	int e = 0;

	switch (type) {
	case 7: memcpy(&b, &g, 8); return b;
	case 8:
		if (!v)
			return 0;
		b = v < 0 ? 0x8000 : 0;
		v = v < 0 ? -v : v;
		while (v >> (e + 1))
			e++;
		return b | (uint64_t)(unsigned)(15 + e) << 10 | (((uint64_t)(unsigned)v << 10 >> e) & 0x3ff);
	default: memcpy(&b, &f, 4); return type == 9 ? b >> 16 : b;
	}
}

/* Element i of the destination (which 0) or the source (1), and the value expected. */
static uint64_t
number(int type, int i, int which)
{
	if (types[type].kind == 'f')
		return float_bits(type, which ? (i * 7) % 23 - 11 : (i * 5) % 31 - 15);
	uint64_t odd = which ? 0x9e3779b97f4a7c15ull : 0xc2b2ae3d27d4eb4full;

	return (uint64_t)(unsigned)(i + 1) * odd >> (i % 3 * 8);
}

static uint64_t
expected(int op, int type, int i)
{
	uint64_t m = types[type].bytes == 8 ? ~0ull : (1ull << 8 * types[type].bytes) - 1;
	uint64_t d = number(type, i, 0) & m, s = number(type, i, 1) & m, sign = m / 2 + 1;
	int x = (i * 5) % 31 - 15, y = (i * 7) % 23 - 11;

	if (types[type].kind == 'f')
		return float_bits(type, op == 0 ? x + y : op == 1 ? (x < y ? x : y) : x > y ? x : y);
	if (types[type].kind == 's') {  /* in order as unsigned once the sign is flipped */
		bool less = (d ^ sign) < (s ^ sign);
		return op == 0 ? (d + s) & m : (op == 1) == less ? d : s;
	}
	switch (op) {
	case 0: return (d + s) & m;
	case 1: return d < s ? d : s;
	case 2: return d > s ? d : s;
	case 3: return d >= s ? 0 : d + 1;
	case 4: return d == 0 || d > s ? s : d - 1;
	case 5: return d & s;
	case 6: return d | s;
	default: return d ^ s;
	}
}

enum { ELEMS = 512 };

static char *
reduce_text(int op, int type, bool shared)
{
	static char text[6000];
	int n = ELEMS * types[type].bytes;
	const char *noftz = op == 0 && types[type].bytes == 2 ? ".noftz" : "";

	if (!shared) {
		snprintf(text, sizeof text,
		         BULK_HEAD(16384) BULK_FILL("0", "0", "%d")
		         "fence.proxy.async.shared::cta;\nbar.sync 0;\nsetp.ne.u32 %%p1, %%r1, 0;\n"
		    "@%%p1 ret;\n"
		         "cp.reduce.async.bulk.global.shared::cta.bulk_group.%s%s.%s [%%d1], [sm], %d;\n"
		         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n",
		         n, ops[op], noftz, types[type].name, n);
		return text;
	}
	/* both blocks have the destination at sm + 8192 and the source at sm; each sends to the other and
	 * writes what it was sent to its half of out */
	snprintf(text, sizeof text,
	         BULK_HEAD(16384) BULK_FILL("0", "0", "12288") BULK_INIT
	         "@!%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], %d;\nfence.proxy.async.shared::cta;\n"
	         "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%%p1 bra W;\nxor.b32 %%r9, %%r3, 1;\n"
	         "mov.u32 %%r7, mb;\nmov.u32 %%r8, sm;\nadd.u32 %%r8, %%r8, 8192;\n"
	         "mapa.shared::cluster.u32 %%r8, %%r8, %%r9;\nmapa.shared::cluster.u32 %%r7, %%r7, %%r9;\n"
	         "cp.reduce.async.bulk.shared::cluster.shared::cta" TX
	    ".%s.%s [%%r8], [sm], %d, [%%r7];\nW:\n"
	         BULK_WAIT("0") "cvt.u64.u32 %%d9, %%r3;\nshl.b64 %%d9, %%d9, 12;\n"
	    "add.u64 %%d1, %%d1, %%d9;\n"
	         BULK_DUMP("8192", "%d") "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
	         n, ops[op], types[type].name, n, n);
	return text;
}

TEST_EACH(reductions, 160)
{
	int op = _i % 8, shared = _i / 8 % 2, type = _i / 16, e = types[type].bytes;
	char *text = reduce_text(op, type, shared);
	uint8_t src[8192] = { 0 }, dst[4096], got[8192];
	Dev v;

	if (!listed(table[op][shared], types[type].name)) {
		ck_assert_int_eq(loads(text), SIM_E_SOURCE);
		ck_assert(!have_ptxas() || !ptxas(text));
		return;
	}
	ck_assert(!have_ptxas() || ptxas(text));
	for (int i = 0; i < ELEMS; i++) {
		uint64_t a = number(type, i, 0), b = number(type, i, 1);
		memcpy(dst + i * e, &a, (size_t)e);
		memcpy(src + i * e, &b, (size_t)e);
	}
	v = dev_open();
	sim_fill(v.s, v.in, 0, 16384);
	sim_write(v.s, v.in, src, (size_t)(ELEMS * e));
	sim_write(v.s, shared ? v.in + 8192 : v.out, dst, (size_t)(ELEMS * e));
	if (shared)
		v.l.grid[0] = v.l.cluster[0] = 2;
	dev_run(&v, text, SIM_OK);
	sim_read(v.s, v.out, got, sizeof got);
	for (int b = 0; b <= shared; b++)
		for (int i = 0; i < ELEMS; i++) {
			uint64_t w = expected(op, type, i), g = 0;
			memcpy(&g, got + b * 4096 + i * e, (size_t)e);
			ck_assert_msg(g == w, "%s.%s element %d: %llx, not %llx", ops[op], types[type].name,
			              i,
			              (unsigned long long)g, (unsigned long long)w);
		}
	dev_close(&v);
}

/* .add.f32 flushes subnormal inputs and results; f16 keeps them. */
TEST(subnormals)
{
	const uint32_t a32[4] = { 1, 0x00800001u, 0x80000001u, 0x3f800000u };
	const uint32_t b32[4] = { 0, 0x80800000u, 0x80000001u, 1 }, w32[4] = { 0, 0, 0x80000000u,
	    0x3f800000u };
	const uint16_t a16[8] = { 1, 0x0401, 0x8001, 0x3c00 }, b16[8] = { 0, 0x8400, 0x8001, 1 };
	const uint16_t w16[8] = { 1, 1, 0x8002, 0x3c00 };
	uint32_t got[4];

	for (int half = 0; half < 2; half++) {
		Dev v = dev_open();
		sim_fill(v.s, v.in, 0, 8192);
		sim_fill(v.s, v.out, 0, 8192);
		sim_write(v.s, v.in, half ? (const void *)b16 : b32, 16);
		sim_write(v.s, v.out, half ? (const void *)a16 : a32, 16);
		dev_run(&v, reduce_text(0, half ? 8 : 6, false), SIM_OK);
		sim_read(v.s, v.out, got, 16);
		ck_assert_mem_eq(got, half ? (const void *)w16 : w32, 16);
		dev_close(&v);
	}
}

/* ---- copies ---- */

/* The first block of a cluster of four loads 1 KiB for the blocks of a mask. */
TEST_EACH(multicast, 16)
{
	char text[5000];
	uint8_t in[1024], out[4096], want[4096];
	Dev v = dev_open();
	unsigned mask = (unsigned)_i;

	snprintf(text, sizeof text,
	         BULK_HEAD(4096) "mov.u32 %%r20, %%r1;\nmov.u32 %%r5, 7;\nmov.u32 %%r6, sm;\n"
	    "shl.b32 %%r7, %%r1, 4;\n"
	         "add.u32 %%r6, %%r6, %%r7;\nst.shared.v4.u32 [%%r6+1024], {%%r5, %%r5, %%r5, %%r5};\n"
	         BULK_INIT
	         "shr.u32 %%r9, %u, %%r3;\nand.b32 %%r9, %%r9, 1;\nsetp.eq.u32 %%p4, %%r9, 0;\n"
	         "mov.u32 %%r8, 1024;\nselp.b32 %%r8, 0, %%r8, %%p4;\nmov.u16 %%h1, %u;\n"
	         "@!%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [mb], %%r8;\n"
	         "fence.proxy.async.shared::cta;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
	         "setp.ne.u32 %%p5, %%r3, 0;\n@%%p5 bra W;\n@%%p1 bra W;\n"
	         "cp.async.bulk.shared::cluster.global" TX
	         ".multicast::cluster [sm+1024], [%%d2], 1024, [mb], %%h1;\nW:\n" BULK_WAIT("0")
	         "mul.lo.u32 %%r9, %%r3, 1024;\ncvt.u64.u32 %%d9, %%r9;\nadd.u64 %%d1, %%d1, %%d9;\n"
	         BULK_DUMP("1024", "1024") "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n",
	         mask, mask);
	ck_assert(!have_ptxas() || _i % 5 || ptxas(text));
	for (int i = 0; i < 1024; i++)
		in[i] = (uint8_t)(i * 31 + (i >> 8));
	sim_write(v.s, v.in, in, 1024);
	v.l.grid[0] = v.l.cluster[0] = 4;
	dev_run(&v, text, SIM_OK);
	sim_read(v.s, v.out, out, 4096);
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < 1024; i++)
			want[1024 * b + i] = mask >> b & 1 ? in[i] : i % 4 ? 0 : 7;
	ck_assert_mem_eq(out, want, 4096);
	if (mask)               /* one read for all blocks */
		ck_assert_uint_eq(v.st.all.global_sectors_read, 32);
	dev_close(&v);
}

/* Without a wait the data is not there yet: the group of .read leaves global memory as it was. */
TEST(late)
{
	static const char text[] =
		BULK_HEAD(4096) BULK_FILL("0", "0", "64")
		"fence.proxy.async.shared::cta;\nbar.sync 0;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 ret;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%%d1], [sm], 64;\ncp.async.bulk.commit_group;\n"
		"cp.async.bulk.wait_group.read 0;\nst.shared.u32 [sm], 99;\nld.global.u32 %%r9, [%%d1];\n"
		"st.global.u32 [%%d1+256], %%r9;\ncp.async.bulk.wait_group 0;\nld.global.u32 %%r9, [%%d1];\n"
		"st.global.u32 [%%d1+260], %%r9;\nret;\n}\n";
	uint32_t in[16], got[2];
	char *plain = strdup(text);
	Dev v = dev_open();

	unescape(plain);
	for (uint32_t i = 0; i < 16; i++)
		in[i] = 1000 + i;
	sim_write(v.s, v.in, in, 64);
	sim_fill(v.s, v.out, 0, 512);
	v.l.checks = 0;
	dev_run(&v, plain, SIM_OK);
	sim_read(v.s, v.out + 256, got, 8);
	ck_assert_uint_eq(got[0], 0);
	ck_assert_uint_eq(got[1], 1000);
	free(plain);
	dev_close(&v);
}

/* 2 sectors of 32 bytes for 48 bytes that start in the middle of one, and for 32; a reduction reads and
 * writes. */
TEST(counts)
{
	static const char text[] =
		BULK_HEAD(4096) BULK_INIT "@%%p1 bra W;\nmbarrier.arrive.expect_tx.shared.b64 _, [mb], 48;\n"
		"cp.async.bulk.shared::cta.global" TX " [sm], [%%d2+16], 48, [mb];\nW:\n" BULK_WAIT("0")
		"@%%p1 ret;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%%d1+48], [sm], 32;\n"
		"cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n";
	char *plain = strdup(text);
	Dev v = dev_open();

	unescape(plain);
	sim_fill(v.s, v.in, 0, 512);
	sim_fill(v.s, v.out, 0, 512);
	dev_run(&v, plain, SIM_OK);
	ck_assert_uint_eq(v.st.all.global_requests, 2);
	ck_assert_uint_eq(v.st.all.global_bytes_read, 48 + 32);
	ck_assert_uint_eq(v.st.all.global_sectors_read, 2 + 2);
	ck_assert_uint_eq(v.st.all.global_bytes_written, 32);
	ck_assert_uint_eq(v.st.all.global_sectors_written, 2);
	ck_assert_uint_eq(v.st.by_class[SIM_CLASS_CPASYNC].global_requests, 2);
	free(plain);
	dev_close(&v);
}

TEST_PROGRAM(.timeout = 60);
