/* test_counts.c - tests counts of memory accesses and the roofline against numbers derived by hand. */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include "test/check.h"
#include "test/sim/simtest.h"

enum { BYTES = 1 << 16 };

/* One warp executes `ins` on `space` at base + tid * stride + off: %d the address, %r<n> data. */
static sim_counts
count(const char *space, const char *ins, unsigned stride, unsigned off, unsigned lanes)
{
	char text[2000];
	sim *s = sim_open();
	uint64_t a = sim_alloc(s, BYTES, "a");
	const void *args[] = { &a };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	sim_line line;
	sim_counts n = { 0 };
	sim_module *m;
	int shared = !strcmp(space, "shared"), rc;

	snprintf(text, sizeof text,
	         HEADER ".entry k(.param .u64 a)\n{\n.reg .pred %%p;\n.reg .b32 %%t, %%r<8>;\n"
	                ".reg .b64 %%d<4>;\n.reg .b16 %%h;\n.shared .align 128 .b8 sm[%u];\n"
	                "ld.param.u64 %%d1, [a];\nmov.u64 %%d3, sm;\nmov.u32 %%t, %%tid.x;\n"
	                "mad.wide.u32 %%d2, %%t, %u, %s;\nadd.u64 %%d2, %%d2, %u;\n"
	                "setp.lt.u32 %%p, %%t, %u;\n%s //it\nret;\n}\n",
	         BYTES / 2, stride, shared ? "%d3" : "%d1", off, lanes, ins);
	m = must_load(s, text);
	sim_fill(s, a, 0, BYTES);
	l.block[0] = 32;
	l.args = args;
	l.checks = 0;
	rc = sim_run(s, m, "k", &l, &r);
	if (rc != SIM_OK)
		print_faults(r);
	ck_assert_int_eq(rc, SIM_OK);
	for (size_t i = 0; sim_line_at(r, i, &line); i++)
		if (line.line == line_of(text, "//it"))
			n = line.n;
	sim_result_free(r);
	sim_close(s);
	return n;
}

/* Sectors that lanes of some bytes touch, at a stride from an aligned start + off: byte by byte. */
static unsigned
sectors(unsigned stride, unsigned off, unsigned bytes, unsigned lanes)
{
	static unsigned char hit[BYTES / 32];
	unsigned n = 0;

	memset(hit, 0, sizeof hit);
	for (unsigned l = 0; l < lanes; l++)
		for (unsigned b = 0; b < bytes; b++)
			hit[(off + l * stride + b) / 32] = 1;
	for (unsigned i = 0; i < BYTES / 32; i++)
		n += hit[i];
	return n;
}

TEST(global)
{
	static const char ld4[] = "@%p ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];";
	static const char st4[] = "@%p st.global.v4.u32 [%d2], {%t,%t,%t,%t};";
	static const char *const load[] = { "@%p ld.global.u16 %h, [%d2];", "@%p ld.global.u32 %r1, [%d2];",
		                            "@%p ld.global.v2.u32 {%r1,%r2}, [%d2];", ld4 };
	static const char *const store[] = { "@%p st.global.u16 [%d2], 1;", "@%p st.global.u32 [%d2], 1;",
		                             "@%p st.global.v2.u32 [%d2], {%t,%t};", st4 };
	static const unsigned size[] = { 2, 4, 8, 16 };
	/* stride and start in elements; lanes */
	static const unsigned at[][3] = {
		{ 0, 0, 32 }, { 1, 0, 32 }, { 1, 1, 32 }, { 1, 7, 32 },  { 1, 0, 5 },
		{ 2, 0, 32 }, { 3, 5, 32 }, { 8, 0, 32 }, { 16, 3, 17 }, { 64, 0, 32 },
	};

	for (size_t w = 0; w < 4; w++)
		for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
			unsigned b = size[w], stride = at[i][0] * b, off = at[i][1] * b;
			unsigned want = sectors(stride, off, b, at[i][2]);
			sim_counts n = count("global", load[w], stride, off, at[i][2]);
			ck_assert_uint_eq(n.global_requests, 1);
			ck_assert_uint_eq(n.global_sectors_read, want);
			ck_assert_uint_eq(n.global_sectors_written, 0);
			ck_assert_uint_eq(n.global_bytes_read, (uint64_t)b * at[i][2]);
			ck_assert_uint_eq(n.threads, at[i][2]);
			ck_assert_uint_eq(n.warps, 1);
			n = count("global", store[w], stride, off, at[i][2]);
			ck_assert_uint_eq(n.global_sectors_read, 0);
			ck_assert_uint_eq(n.global_sectors_written, want);
			ck_assert_uint_eq(n.global_bytes_written, (uint64_t)b * at[i][2]);
		}
	/* by hand, for the formula itself: 32 words side by side are 128 bytes, one word further 5 sectors;
	 * every other word 256 bytes; v4 512 bytes; far apart one for each lane; all the same one */
	ck_assert_uint_eq(sectors(4, 0, 4, 32), 4);
	ck_assert_uint_eq(sectors(4, 4, 4, 32), 5);
	ck_assert_uint_eq(sectors(8, 0, 4, 32), 8);
	ck_assert_uint_eq(sectors(16, 0, 16, 32), 16);
	ck_assert_uint_eq(sectors(256, 0, 4, 32), 32);
	ck_assert_uint_eq(sectors(0, 0, 4, 32), 1);
}

static void
shared(const char *ins, unsigned stride, unsigned off, unsigned lanes, unsigned waves, unsigned least)
{
	sim_counts n = count("shared", ins, stride, off, lanes);

	ck_assert_uint_eq(n.shared_requests, 1);
	ck_assert_msg(n.shared_wavefronts == waves && n.shared_min == least,
	              "%s stride %u: %u of %u, not %u of %u",
	              ins, stride, (unsigned)n.shared_wavefronts, (unsigned)n.shared_min, waves, least);
}

static unsigned
gcd(unsigned a, unsigned b)
{
	return b ? gcd(b, a % b) : a;
}

TEST(banks)
{
	/* words at a stride of s words: gcd(s, 32) lanes meet in each bank used */
	for (unsigned s = 1; s <= 64; s++) {
		shared("@%p ld.shared.u32 %r1, [%d2];", 4 * s, 0, 32, gcd(s, 32), 1);
		shared("@%p st.shared.u32 [%d2], 1;", 4 * s, 4, 32, gcd(s, 32), 1);
	}
	shared("@%p ld.shared.u32 %r1, [%d2];", 0, 12, 32, 1, 1); /* one word for all */
	shared("@%p ld.shared.u32 %r1, [%d2];", 128, 0, 7, 7, 1); /* only seven lanes, one bank */
	shared("@%p ld.shared.u16 %h, [%d2];", 2, 0, 32, 1, 1); /* two lanes a word */
	shared("@%p ld.shared.u16 %h, [%d2];", 64, 0, 32, 16, 1); /* banks 0 and 16 */
	shared("@%p ld.shared.v2.u32 {%r1,%r2}, [%d2];", 8, 0, 32, 2, 2); /* half a warp at a time */
	shared("@%p ld.shared.v2.u32 {%r1,%r2}, [%d2];", 16, 0, 32, 4, 2); /* 16 lanes in 16 banks: 2 each */
	shared("@%p ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];", 16, 0, 32, 4, 4);
	shared("@%p ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];", 32, 0, 32, 8, 4);
	shared("@%p ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];", 128, 0, 32, 32, 4);
	shared("@%p st.shared.v4.u32 [%d2], {%t,%t,%t,%t};", 144, 0, 32, 4, 4); /* padded rows */
	/* ldmatrix: eight rows of 16 bytes for each matrix; rows of 128 bytes all start in bank 0 */
	shared("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%d2];", 16, 0, 32, 4, 4);
	shared("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%d2];", 128, 0, 32, 32, 4);
	shared("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%d2];", 64, 0, 32, 16, 4);
	shared("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%d2];", 144, 0, 32, 4, 4);
	shared("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1,%r2}, [%d2];", 32, 0, 32, 4, 2);
	/* atomics of shared memory are requests too: the same bank rule */
	shared("@%p atom.shared.add.u32 %r1, [%d2], 1;", 4, 0, 32, 1, 1);
	shared("@%p atom.shared.add.u32 %r1, [%d2], 1;", 8, 0, 32, 2, 1);
}

TEST(copies_and_atomics)
{
	/* cp.async of 16 bytes a lane: 512 bytes of global memory read, four phases of shared written */
	sim_counts n = count("global", "cp.async.cg.shared.global [sm], [%d2], 16;", 0, 0, 32);

	ck_assert_uint_eq(n.global_sectors_read, 1);
	ck_assert_uint_eq(n.global_bytes_read, 512);
	n = count("global", "@%p cp.async.ca.shared.global [sm], [%d2], 4;", 4, 8, 32);
	ck_assert_uint_eq(n.global_requests, 1);
	ck_assert_uint_eq(n.global_sectors_read, 5);
	ck_assert_uint_eq(n.shared_requests, 1);
	/* an atomic reads and writes its sectors */
	n = count("global", "@%p atom.global.add.u32 %r1, [%d2], 1;", 4, 0, 32);
	ck_assert_uint_eq(n.global_requests, 1);
	ck_assert_uint_eq(n.global_sectors_read, 4);
	ck_assert_uint_eq(n.global_sectors_written, 4);
	n = count("global", "@%p red.global.add.u32 [%d2], 1;", 0, 0, 32);
	ck_assert_uint_eq(n.global_sectors_written, 1);
	n = count("global", "@!%p ld.global.u32 %r1, [%d2];", 4, 0, 32); /* nobody */
	ck_assert_uint_eq(n.warps, 1);
	ck_assert_uint_eq(n.threads, 0);
	ck_assert_uint_eq(n.global_requests, 0);
}

/* ---- roofline --------------------------------------------------------------------------------- */

/* The tensor peak that the row's numbers give is the one its source names. */
TEST(datasheets)
{
	sim_gpu g, found;
	size_t i;

	for (i = 0; sim_gpu_at(i, &g); i++) {
		const char *p = strstr(g.source, " TFLOPS f16");
		double peak = 2e6 * g.sms * g.mhz * g.mma_macs / 1e12;
		ck_assert_int_eq(sim_gpu_find(g.name, &found), 1);
		ck_assert_str_eq(found.name, g.name);
		if (!p)
			continue;
		while (p > g.source && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
			p--;
		ck_assert_msg(fabs(peak / atof(p) - 1) < 0.015, "%s: %.1f TFLOPS, not %.1f", g.name, peak,
		              atof(p));
	}
	ck_assert_uint_ge(i, 11);
	ck_assert_int_eq(sim_gpu_find("h200", &g), 1);
	ck_assert_uint_eq(g.sms, 132);
	ck_assert_int_eq(sim_gpu_find("H2000", &g), 0);
	ck_assert_int_eq(sim_gpu_find("", &g), 0);
}

static sim_roof
roof(const char *body, unsigned blocks, const char *gpu, int want)
{
	char text[3000];
	sim *s = sim_open();
	sim_module *m;
	uint64_t a = sim_alloc(s, 1 << 20, "a");
	const void *args[] = { &a };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	sim_roof out;

	snprintf(text, sizeof text,
	         HEADER ".entry k(.param .u64 a)\n{\n.reg .b32 %%t, %%r<8>;\n.reg .b64 %%d<4>;\n"
	                ".reg .f32 %%f<9>;\n.reg .f64 %%e<9>;\nld.param.u64 %%d1, [a];\n"
	                "mov.u32 %%t, %%tid.x;\nmov.b32 %%f1, 0;\nmov.b32 %%r1, 0;\nmov.b64 %%e1, 0;\n"
	                "%s\nret;\n}\n",
	         body);
	m = must_load(s, text);
	sim_fill(s, a, 0, 1 << 20);
	l.grid[0] = blocks;
	l.block[0] = 128;
	l.args = args;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
	ck_assert_int_eq(sim_roofline(r, gpu, &out), want);
	sim_result_free(r);
	sim_close(s);
	return out;
}

static void
is(double got, double want)
{
	ck_assert_msg(fabs(got - want) <= 1e-9 * fabs(want), "%.9g s, not %.9g", got, want);
}

#define TEN(x) x x x x x x x x x x
TEST(roofs)
{
	/* 264 blocks of four warps on 132 SMs at 1.83 GHz: 8 warps an SM.  f32: 128 lanes a clock; issue: 11
	 * instructions with the return, 4 a clock */
	sim_roof r = roof(TEN("fma.rn.f32 %f1, %f1, %f1, %f1;\n"), 264, "H200", SIM_OK);

	is(r.seconds[SIM_LIMIT_F32], 8 * 10 * 32 / 128.0 / 1.83e9);
	is(r.seconds[SIM_LIMIT_ISSUE], 8 * 11 / 4.0 / 1.83e9);
	is(r.bound, r.seconds[SIM_LIMIT_ISSUE]);
	/* ex2 at 16 a clock on a T4 of 40 SMs at 1.59 GHz with 10 blocks: ten SMs work, four warps each */
	r = roof(TEN("ex2.approx.f32 %f1, %f1;\n"), 10, "t4", SIM_OK);
	is(r.seconds[SIM_LIMIT_MUFU], 4 * 10 * 32 / 16.0 / 1.59e9);
	ck_assert_int_eq(r.limiter, SIM_LIMIT_MUFU);
	is(r.bound, r.seconds[SIM_LIMIT_MUFU]);
	/* every block reads the same 2048 bytes: 64 sectors of DRAM; of L2 for each of 300 blocks */
	r = roof("mad.wide.u32 %d2, %t, 16, %d1;\nld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d2];\n", 300,
	         "A100-80GB", SIM_OK);
	is(r.seconds[SIM_LIMIT_DRAM], 2048 / 2039e9);
	is(r.seconds[SIM_LIMIT_L2], 300 * 2048.0 / 5120 / 1.41e9);
	is(r.seconds[SIM_LIMIT_LSU], 300 * 4 / 108.0 / 1.41e9);
	/* mma of 16 x 8 x 16: 2048 multiply-accumulates, an A100 does 1024 a clock; of f64 64 */
	r = roof("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f1,%f1,%f1}, {%r1,%r1,%r1,%r1}, "
	         "{%r1,%r1}, {%f1,%f1,%f1,%f1};\n",
	         108, "A100-40GB", SIM_OK);
	is(r.seconds[SIM_LIMIT_MMA], 4 * 2 / 1.41e9);
	r = roof("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e1,%e1}, {%e1}, {%e1}, {%e1,%e1};\n", 108,
	         "A100-40GB", SIM_OK);
	is(r.seconds[SIM_LIMIT_MMA], 4 * 256 / 64.0 / 1.41e9);
	roof("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e1,%e1}, {%e1}, {%e1}, {%e1,%e1};\n", 1, "L4",
	     SIM_E_INVALID);
	roof("", 1, "nothing", SIM_E_INVALID);
}

TEST_PROGRAM(.timeout = 60);
