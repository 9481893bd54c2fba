/* test_warp.c - tests interactions between lanes: divergence, calls, exchange, barriers, atomics, address
 * spaces; exact counts; messages; limits. */
#include <stdint.h>
#include "test/check.h"
#include "test/sim/simtest.h"

#define BODY(text) HEADER ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<40>;\n.reg .b64 %d<20>;\n" \
	".shared .align 16 .b8 sm[8192];\n" \
	"ld.param.u64 %d1, [out];\nld.param.u64 %d2, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" \
	"mov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %d3, %r4, 4;\n" \
	"add.s64 %d4, %d1, %d3;\nadd.s64 %d5, %d2, %d3;\nmov.u32 %r5, sm;\nshl.b32 %r6, %r1, 2;\n" \
	"add.s32 %r6, %r6, %r5;\nmov.u32 %r0, 0;\n" text "\nst.global.u32 [%d4], %r0;\nret;\n}\n"

typedef struct Result { int rc; sim_stats st; uint32_t out[2048]; char text[200]; } Result;

static Result
run_text(const char *text, unsigned grid, unsigned block, unsigned threads, uint64_t budget)
{
	static const uint32_t zero[2048];
	Result res;
	sim *s = sim_open();
	sim_module *m = must_load(s, text);
	uint64_t out = sim_alloc(s, sizeof zero, "out"), in = sim_alloc(s, sizeof zero, "in");
	const void *args[] = { &out, &in };
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *r;
	uint32_t v[2048];

	memset(&res, 0, sizeof res);
	for (uint32_t i = 0; i < 2048; i++)
		v[i] = i * 2654435761u;
	sim_write(s, out, zero, sizeof zero);
	sim_write(s, in, v, sizeof v);
	l.args = args;
	l.grid[0] = grid;
	l.block[0] = block;
	l.threads = threads;
	l.max_steps = budget;
	res.rc = sim_run(s, m, "k", &l, &r);
	if (res.rc == SIM_E_FAULT)
		print_faults(r);
	res.st = *sim_stats_of(r);
	snprintf(res.text, sizeof res.text, "%s", sim_result_text(r));
	sim_read(s, out, res.out, sizeof res.out);
	sim_result_free(r);
	sim_close(s);
	return res;
}

static Result
run(const char *text, unsigned grid, unsigned block)
{
	Result r = run_text(text, grid, block, 1, 0);

	ck_assert_int_eq(r.rc, SIM_OK);
	return r;
}

/* ---- shfl, after the table of the ISA: sub-warps of `width` lanes ---- */

TEST_EACH(shuffles, 32)
{
	static const char *const mode[] = { "up", "down", "bfly", "idx" };
	int m = _i % 4, width = 4 << _i / 4 % 4, b = 1 + _i / 16 * 2;
	unsigned seg = (unsigned)(32 - width) << 8, c = seg | (m == 0 ? 0u : 31u);
	char text[4000], body[400];
	Result r;

	snprintf(body, sizeof body, "mul.lo.u32 %%r10, %%r1, 100;\n"
	         "shfl.sync.%s.b32 %%r11|%%p1, %%r10, %d, 0x%x, 0xffffffff;\n"
	         "selp.b32 %%r12, 10000, 0, %%p1;\n"
	         "add.s32 %%r0, %%r11, %%r12;", mode[m], b, c);
	snprintf(text, sizeof text, "%s", BODY("@@"));
	char *at = strstr(text, "@@"), tail[400];
	strcpy(tail, at + 2);
	strcpy(at, body);
	strcat(text, tail);
	r = run(text, 1, 32);
	for (int l = 0; l < 32; l++) {
		int base = l / width * width, pos = l % width, src, ok;
		switch (m) {
		case 0: src = pos - b; ok = src >= 0; break;
		case 1: src = pos + b; ok = src < width; break;
		case 2: src = pos ^ b; ok = src < width; break;
		default: src = b % width; ok = 1; break;
		}
		ck_assert_uint_eq(r.out[l], (unsigned)((ok ? base + src : l) * 100 + (ok ? 10000 : 0)));
	}
}

/* ---- divergence ---- */

TEST(nested)
{
	/* collatz-like nest of loops and ifs with an early exit, then a full-warp shuffle */
	Result r = run(BODY(
		"mov.u32 %r10, 0;\nmov.u32 %r11, %r1;\n"
		"L1: setp.ge.u32 %p1, %r10, %r11;\n@%p1 bra L5;\n"
		"and.b32 %r12, %r10, 3;\nsetp.eq.u32 %p2, %r12, 2;\n@%p2 bra L3;\n"
		"add.s32 %r0, %r0, %r10;\nbra L4;\n"
		"L3: add.s32 %r0, %r0, 100;\nsetp.gt.u32 %p3, %r1, 40;\n@%p3 bra L5;\n"
		"L4: add.s32 %r10, %r10, 1;\nbra L1;\nL5:\n"
		"shfl.sync.idx.b32 %r13, %r0, 5, 31, 0xffffffff;\nadd.s32 %r0, %r0, %r13;"), 1, 64);

	for (int w = 0; w < 2; w++) {
		unsigned v[32];
		for (int l = 0; l < 32; l++) {
			unsigned t = (unsigned)(w * 32 + l);
			v[l] = 0;
			for (unsigned i = 0; i < t; i++) {
				v[l] += i % 4 == 2 ? 100 : i;
				if (i % 4 == 2 && t > 40)
					break;
			}
		}
		for (int l = 0; l < 32; l++)
			ck_assert_uint_eq(r.out[w * 32 + l], v[l] + v[5]);
	}
}

TEST(early_exit)
{
	/* returns nested in an if, in the middle: the others still meet and pass the barrier */
	Result r = run(BODY(
		"setp.lt.u32 %p1, %r1, 40;\n@!%p1 bra B;\n"
		"and.b32 %r10, %r1, 1;\nsetp.eq.u32 %p2, %r10, 1;\n@!%p2 bra A;\n"
		"st.global.u32 [%d4], 77;\nret;\n"
		"A: add.s32 %r0, %r0, 5;\n"
		"B: add.s32 %r0, %r0, 1;\nbar.sync 0;\nbar.red.popc.u32 %r11, 0, 1;\n"
		"add.s32 %r0, %r0, %r11;"),
	               1, 64);

	for (unsigned t = 0; t < 64; t++)
		ck_assert_uint_eq(r.out[t], t < 40 ? t & 1 ? 77 : 6 + 44 : 1 + 44);
}

TEST(table_branch)
{
	Result r = run(BODY("and.b32 %r10, %r1, 3;\nT: .branchtargets A, B, C, B;\nbrx.idx %r10, T;\n"
		"A: add.s32 %r0, %r0, 1;\nB: add.s32 %r0, %r0, 10;\nbra D;\nC: mov.u32 %r0, 7;\n"
		"D: vote.sync.ballot.b32 %r11, 1, 0xffffffff;\npopc.b32 %r11, %r11;\n"
		"add.s32 %r0, %r0, %r11;"),
	               1, 32);
	static const unsigned want[] = { 11, 10, 7, 10 };

	for (unsigned t = 0; t < 32; t++)
		ck_assert_uint_eq(r.out[t], want[t & 3] + 32);
}

TEST(calls)
{
	static const char text[] = HEADER
		".func (.param .b32 r) fact(.param .b32 n);\n"
		".func (.param .align 8 .b8 r[8]) swap(.param .align 8 .b8 p[8])\n{\n.reg .b32 %r<4>;\n"
		"ld.param.v2.b32 {%r1, %r2}, [p];\nst.param.b32 [r], %r2;\nst.param.b32 [r+4], %r1;\nret;\n"
		"}\n"
		".func (.param .b32 r) fact(.param .b32 n)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
		"ld.param.b32 %r1, [n];\nmov.u32 %r2, 1;\nL: setp.le.u32 %p1, %r1, 1;\n@%p1 bra E;\n"
		"mul.lo.u32 %r2, %r2, %r1;\nsub.u32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r1, 3;\n@!%p1 bra L;\n"
		"mul.lo.u32 %r2, %r2, 6;\nst.param.b32 [r], %r2;\nret;\nE: st.param.b32 [r], %r2;\nret;\n}\n"
		".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<5>;\n"
		".reg .pred %p<2>;\nld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n"
		"mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d1, %d1, %d2;\nand.b32 %r2, %r1, 7;\n"
		"setp.gt.u32 %p1, %r1, 20;\n@%p1 bra X;\n"
		"{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r2;\ncall.uni (b), fact, (a);\n"
		"ld.param.b32 %r3, [b]; }\nbra Y;\n"
		"X: { .param .align 8 .b8 a[8]; .param .align 8 .b8 b[8];\nst.param.v2.b32 [a], {%r1, %r2};\n"
		"call (b), swap, (a);\nld.param.v2.b32 {%r4, %r5}, [b]; }\nshl.b32 %r4, %r4, 8;\n"
		"or.b32 %r3, %r4, %r5;\nY: st.global.u32 [%d1], %r3;\nret;\n}\n";
	static const unsigned fact[] = { 1, 1, 2, 6, 24, 120, 720, 5040 };
	Result r = run(text, 1, 32);

	for (unsigned t = 0; t < 32; t++)
		ck_assert_uint_eq(r.out[t], t > 20 ? (t & 7) << 8 | t : fact[t & 7]);
}

/* ---- memory ---- */

TEST(spaces)
{
	/* the same byte through shared, generic and local addresses; widths and signs */
	Result r = run(BODY(
		".local .align 16 .b8 loc[32];\nmov.u64 %d6, loc;\ncvta.local.u64 %d7, %d6;\n"
		"cvt.u64.u32 %d8, %r6;\ncvta.shared.u64 %d9, %d8;\n"
		"st.shared.u32 [%r6], 0x8081fe7f;\nld.s8 %r10, [%d9+1];\nld.shared.u8 %r11, [%r6+2];\n"
		"st.u16 [%d7+2], 0xbeef;\nld.local.s16 %r12, [%d6+2];\nld.u16 %r13, [%d7+2];\n"
		"isspacep.shared %p1, %d9;\nisspacep.local %p2, %d9;\nisspacep.global %p3, %d4;\n"
		"selp.b32 %r14, 1, 0, %p1;\nselp.b32 %r15, 2, 0, %p2;\nselp.b32 %r16, 4, 0, %p3;\n"
		"add.s32 %r0, %r10, %r11;\nadd.s32 %r0, %r0, %r12;\nadd.s32 %r0, %r0, %r13;\n"
		"add.s32 %r0, %r0, %r14;\nadd.s32 %r0, %r0, %r15;\nadd.s32 %r0, %r0, %r16;"), 1, 40);

	for (unsigned t = 0; t < 40; t++)
		ck_assert_uint_eq(r.out[t], (uint32_t)(-2 + 0x81 + (int16_t)0xbeef + 0xbeef + 5));
}

TEST(vectors)
{
	Result r = run(BODY(
		".reg .b128 %q<2>;\nand.b32 %r10, %r1, 7;\nmul.wide.u32 %d6, %r10, 16;\n"
		"add.s64 %d6, %d2, %d6;\n"
		"ld.global.b128 %q1, [%d6];\nmov.b128 {%d7, %d8}, %q1;\nmov.b128 %q0, {%d8, %d7};\n"
		"shl.b32 %r11, %r1, 4;\nadd.s32 %r11, %r11, %r5;\nst.shared.b128 [%r11], %q0;\n"
		"ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];\nld.shared.v2.b64 {%d9, %d10}, [%r11];\n"
		"cvt.u32.u64 %r16, %d10;\nxor.b32 %r0, %r12, %r16;\nadd.s32 %r0, %r0, %r15;"), 1, 32);

	for (uint32_t t = 0; t < 32; t++) {
		uint32_t i = (t & 7) * 4, v[4];
		for (uint32_t k = 0; k < 4; k++)
			v[k] = (i + k) * 2654435761u;
		ck_assert_uint_eq(r.out[t], (v[2] ^ v[0]) + v[1]);
	}
}

TEST(atomics)
{
	Result r = run(BODY(
		"setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.v4.u32 [%r5], {%r0, %r0, %r0, %r0};\n"
		"@%p1 st.shared.v4.u32 [%r5+16], {%r0, %r0, %r0, %r0};\nbar.sync 0;\n"
		"atom.shared.add.u32 %r10, [%r5], %r1;\nred.shared.max.s32 [%r5+4], %r1;\n"
		"red.shared.or.b32 [%r5+8], %r1;\natom.shared.inc.u32 %r11, [%r5+12], 9;\n"
		"red.shared.add.f32 [%r5+16], 0f3f000000;\nmov.u64 %d6, 3;\n"
		"red.shared.add.u64 [%r5+24], %d6;\n"
		"mov.b32 %r12, 0x3c003800;\nred.shared.add.noftz.f16x2 [%r5+20], %r12;\nbar.sync 0;\n"
		"and.b32 %r13, %r1, 7;\nshl.b32 %r13, %r13, 2;\nadd.s32 %r13, %r13, %r5;\n"
		"ld.shared.u32 %r0, [%r13];"),
	               1, 64);
	static const uint32_t want[8] = { 2016, 63, 63, 4, 0x42000000, 0x54005000, 192, 0 };

	for (unsigned t = 0; t < 64; t++)
		ck_assert_uint_eq(r.out[t], want[t & 7]);
}

TEST(grid_atomics)
{
	/* compare and swap from all blocks and host threads at once */
	Result r = run_text(HEADER
		".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<5>;\n"
		".reg .pred %p<2>;\nld.param.u64 %d1, [out];\nL: ld.relaxed.gpu.global.u32 %r1, [%d1];\n"
		"add.u32 %r2, %r1, 1;\natom.global.cas.b32 %r3, [%d1], %r1, %r2;\n"
		"setp.ne.u32 %p1, %r3, %r1;\n"
		"@%p1 bra L;\nred.global.add.u64 [%d1+8], 5;\nret;\n}\n", 50, 64, 2, 0);

	ck_assert_int_eq(r.rc, SIM_OK);
	ck_assert_uint_eq(r.out[0], 3200);
	ck_assert_uint_eq(r.out[2], 16000);
}

TEST(async_zero_fill)
{
	Result r = run(BODY(
		"shl.b32 %r10, %r1, 4;\nadd.s32 %r10, %r10, %r5;\nmul.wide.u32 %d6, %r1, 16;\n"
		"add.s64 %d6, %d2, %d6;\nand.b32 %r11, %r1, 3;\nshl.b32 %r11, %r11, 2;\n"
		"cp.async.cg.shared.global.L2::128B [%r10], [%d6], 16, %r11;\ncp.async.commit_group;\n"
		"cp.async.wait_group 0;\nld.shared.v4.u32 {%r12,%r13,%r14,%r15}, [%r10];\n"
		"xor.b32 %r0, %r12, %r13;\nxor.b32 %r0, %r0, %r14;\nxor.b32 %r0, %r0, %r15;"), 1, 64);

	for (uint32_t t = 0; t < 64; t++) {
		uint32_t v = 0;
		for (uint32_t k = 0; k < (t & 3); k++)
			v ^= (t * 4 + k) * 2654435761u;
		ck_assert_uint_eq(r.out[t], v);
	}
	/* three of four lanes read; two neighbours share a sector */
	ck_assert_uint_eq(r.st.all.global_sectors_read, 32);
	ck_assert_uint_eq(r.st.all.global_bytes_read, 16 * (4 + 8 + 12));
}

/* ---- barriers ---- */

TEST(named_barriers)
{
	/* warp 0 makes, warps 1 and 2 use; two barriers hand the buffer back and forth */
	Result r = run(BODY(
		"setp.ge.u32 %p1, %r1, 32;\n@%p1 bra USE;\nmov.u32 %r10, 0;\n"
		"P: bar.sync 2, 96;\nmad.lo.u32 %r11, %r10, 100, %r1;\nst.shared.u32 [%r6], %r11;\n"
		"bar.arrive 1, 96;\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 4;\n@%p2 bra P;\n"
		"bra END;\n"
		"USE: mov.u32 %r10, 0;\nand.b32 %r12, %r1, 31;\nshl.b32 %r12, %r12, 2;\n"
		"add.s32 %r12, %r12, %r5;\n"
		"Q: bar.arrive 2, 96;\nbar.sync 1, 96;\nld.shared.u32 %r13, [%r12];\n"
		"add.u32 %r0, %r0, %r13;\n"
		"add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 4;\n@%p2 bra Q;\nEND:"), 1, 96);

	for (unsigned t = 32; t < 96; t++)
		ck_assert_uint_eq(r.out[t], 600 + 4 * (t & 31));
}

TEST(reductions)
{
	Result r = run(BODY("setp.lt.u32 %p1, %r1, 50;\nbar.red.popc.u32 %r10, 0, %p1;\n"
		"barrier.sync.aligned 3;\nbar.red.and.pred %p2, 1, %p1;\nbar.red.or.pred %p3, 1, !%p1;\n"
		"selp.b32 %r11, 1000, 0, %p2;\nselp.b32 %r12, 2000, 0, %p3;\nadd.s32 %r0, %r10, %r11;\n"
		"add.s32 %r0, %r0, %r12;"), 1, 70);

	for (unsigned t = 0; t < 70; t++)
		ck_assert_uint_eq(r.out[t], 2050);
	ck_assert_uint_eq(r.st.barriers, 3 * 4);
}

TEST(unaligned_barrier)
{
	/* barrier.sync without .aligned: lanes of one warp come by different ways */
	Result r = run(BODY("setp.lt.u32 %p1, %r1, 11;\n@%p1 bra A;\nst.shared.u32 [%r6], %r1;\n"
		"barrier.sync 0;\nbra B;\nA: st.shared.u32 [%r6], 5;\nbarrier.sync 0;\nB:\n"
		"xor.b32 %r10, %r6, 4;\nld.shared.u32 %r0, [%r10];"), 1, 64);

	for (unsigned t = 0; t < 64; t++)
		ck_assert_uint_eq(r.out[t], (t ^ 1) < 11 ? 5 : t ^ 1);
}

/* ---- counts ---- */

/* Bank wavefronts of a store by 32 lanes: address of lane l is l * stride. */
TEST_EACH(banks, 12)
{
	static const struct { const char *op; int stride, bytes; unsigned wave, min; } t[] = {
		{ "st.shared.u32 [%r10], %r1;", 4, 4, 1, 1 }, { "st.shared.u32 [%r10], %r1;", 8, 4, 2, 1 },
		{ "st.shared.u32 [%r10], %r1;", 128, 4, 32, 1 },
		        { "st.shared.u32 [%r10], %r1;", 132, 4, 1, 1 },
		{ "st.shared.u8 [%r10], %h1;", 1, 1, 1, 1 }, { "st.shared.u16 [%r10], %h1;", 2, 2, 1, 1 },
		{ "st.shared.u64 [%r10], %d1;", 8, 8, 2, 2 }, { "st.shared.u64 [%r10], %d1;", 16, 8, 4, 2 },
		{ "st.shared.v4.u32 [%r10], {%r1,%r1,%r1,%r1};", 16, 16, 4, 4 },
		{ "st.shared.v4.u32 [%r10], {%r1,%r1,%r1,%r1};", 128, 16, 32, 4 },
		{ "st.shared.v4.u32 [%r10], {%r1,%r1,%r1,%r1};", 144, 16, 4, 4 },
		{ "cp.async.cg.shared.global [%r10], [%d2], 16;", 64, 16, 16, 4 },
	};
	char text[4000], body[300], tail[300], *at;
	Result r;

	snprintf(body, sizeof body, "cvt.u16.u32 %%h1, 0;\nmad.lo.u32 %%r10, %%r1, %d, %%r5;\n%s",
	         t[_i].stride,
	         t[_i].op);
	snprintf(text, sizeof text, "%s", BODY("@@"));
	at = strstr(text, "@@");
	strcpy(tail, at + 2);
	strcpy(at, body);
	strcat(text, tail);
	r = run(text, 1, 32);
	ck_assert_uint_eq(r.st.all.shared_wavefronts, t[_i].wave);
	ck_assert_uint_eq(r.st.all.shared_min, t[_i].min);
	ck_assert_uint_eq(r.st.all.shared_requests, 1);
}

TEST(exact_counts)
{
	static const char text[] = BODY(
		"mov.u32 %r10, 0;\nL: ld.global.u32 %r11, [%d5];\nadd.u32 %r0, %r0, %r11;\n"
		"add.u32 %r10, %r10, 1;\n"
		"setp.lt.u32 %p1, %r10, 3;\n@%p1 bra L;\nsetp.lt.u32 %p2, %r1, 8;\n"
		"@%p2 add.u32 %r0, %r0, 1;\n"
		"cvt.rn.f32.u32 %r12, %r0;\nmul.f32 %r12, %r12, %r12;\n");
	Result a = run_text(text, 5, 48, 1, 0), b = run_text(text, 5, 48, 2, 0);

	ck_assert_int_eq(a.rc, SIM_OK);
	a.st.seconds = b.st.seconds = 0;
	ck_assert_mem_eq(&a.st, &b.st, sizeof a.st);
	/* per block 2 warps of 48 threads */
	ck_assert_uint_eq(a.st.by_class[SIM_CLASS_LDG].warps, 5 * 2 * 3);
	ck_assert_uint_eq(a.st.by_class[SIM_CLASS_LDG].threads, 5 * 48 * 3);
	ck_assert_uint_eq(a.st.by_class[SIM_CLASS_BRANCH].warps, 5 * 2 * (3 + 1));
	ck_assert_uint_eq(a.st.by_class[SIM_CLASS_CVT].threads, 5 * 48);
	ck_assert_uint_eq(a.st.by_class[SIM_CLASS_F32].warps, 5 * 2);
	/* 48 words are 6 sectors, read three times, needed once */
	ck_assert_uint_eq(a.st.all.global_sectors_read, 5 * 6 * 3);
	ck_assert_uint_eq(a.st.block_sectors_read, 5 * 6);
	ck_assert_uint_eq(a.st.grid_sectors_read, 5 * 6);
	ck_assert_uint_eq(a.st.all.global_sectors_written, 5 * 6);
	ck_assert_uint_eq(a.st.blocks, 5);
}

/* ---- messages and limits ---- */

enum { N_MESSAGES = 13 };

TEST_EACH(messages, N_MESSAGES)
{
	static const struct { const char *text, *word; unsigned line; } t[] = {
		{ HEADER ".entry k() {\n.reg .b32 %r<3>;\nfrobnicate.u32 %r1;\nret;\n}\n", "frobnicate", 6 },
		{ HEADER ".entry k() {\n.reg .b32 %r<3>;\nadd.f33 %r1, %r1, %r2;\n}\n", "add.f33", 6 },
		{ HEADER ".entry k() {\n.reg .b32 %r<3>;\nadd.u32.wide %r1, %r1, %r2;\n}\n", ".wide", 6 },
		{ HEADER ".entry k() {\n.reg .b32 %r<3>;\nadd.u32 %r1, %r1, %r7;\n}\n", "%r7", 6 },
		{ HEADER ".entry k() {\n.reg .b32 %r<3>;\n.reg .b64 %d;\nadd.u32 %r1, %r1, %d;\n}\n",
		  "64 bits", 7 },
		{ HEADER ".entry k() {\nbra NOWHERE;\n}\n", "NOWHERE", 5 },
		{ HEADER ".entry k() {\n.reg .b32 %r;\nmov.u32 %r, 1\nret;\n}\n", "expected ';'", 7 },
		{ HEADER ".entry k() {\nret;\n", "is not closed", 6 },
		{ HEADER ".entry k() {\n.reg .b32 %r;\nld.global.u32 %r, %r;\n}\n", "[a]", 6 },
		{ HEADER ".func f() {\ncall f, (1);\nret;\n}\n", "takes 0 arguments", 5 },
		{ "hello", "directive", 1 },
		{ "", ".target", 1 },
		{ HEADER ".entry k() {\n.reg .f32 %f<9>;\n.reg .b32 %r<9>;\n"
		  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, "
		  "{%r5,%r6}, "
		  "{%f1,%f2,%f3,%f4};\n}\n", "4 registers", 7 },
	};
	sim *s = sim_open();
	sim_module *m;
	sim_message msg;

	ck_assert_int_eq(sim_load(s, t[_i].text, strlen(t[_i].text), &m), SIM_E_SOURCE);
	ck_assert(m == NULL);
	ck_assert(sim_message_at(s, 0, &msg));
	ck_assert_msg(strstr(msg.text, t[_i].word) && msg.line == t[_i].line, "line %u: %s", msg.line,
	              msg.text);
	/* the device still works */
	must_load(s, HEADER ".entry k() { ret; }\n");
	sim_close(s);
}

static int
stop_at_once(void *user)
{
	++*(int *)user;
	return 1;
}

TEST_EACH(limits, 2)
{
	Result r = run_text(BODY("L: bra L;"), 3, 64, 1 + (unsigned)_i, 100000);
	sim *s = sim_open();
	sim_module *m = must_load(s, HEADER ".entry k() { L: bra L; }\n");
	sim_launch l = SIM_LAUNCH_INIT;
	sim_result *res;
	int polls = 0;

	ck_assert_int_eq(r.rc, SIM_E_LIMIT);
	ck_assert(strstr(r.text, "budget") != NULL);
	l.cancel = stop_at_once;
	l.user = &polls;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &res), SIM_E_LIMIT);
	ck_assert_int_gt(polls, 0);
	sim_result_free(res);
	l.block[0] = 2000;
	ck_assert_int_eq(sim_run(s, m, "k", &l, &res), SIM_E_INVALID);
	ck_assert(sim_result_text(res)[0]);
	sim_result_free(res);
	ck_assert_int_eq(sim_run(s, m, "nobody", &l, &res), SIM_E_INVALID);
	sim_result_free(res);
	sim_close(s);
}

TEST(interface)
{
	sim *s = sim_open();
	sim_module *m = must_load(s, HEADER ".global .align 8 .u32 tab[3] = {7, 8, 9};\n"
		".global .u64 where = tab+4;\n"
		".entry one(.param .u64 .ptr .global .align 16 p, .param .f32 x, "
		".param .align 4 .b8 st[12])\n.reqntid 32\n{ ret; }\n.entry two() { ret; }\n");
	sim_entry_info e;
	sim_param_info p;
	uint64_t at, where;
	size_t bytes, n;
	uint32_t v[3];

	ck_assert(sim_entry_at(m, 0, &e) && !strcmp(e.name, "one") && e.nparam == 3 && e.param_bytes == 24);
	ck_assert_uint_eq(e.reqntid[0], 32);
	ck_assert(sim_entry_at(m, 1, &e) && !strcmp(e.name, "two") && !sim_entry_at(m, 2, &e));
	ck_assert(sim_param_at(m, "one", 0, &p) && p.type == SIM_U64 && p.is_ptr && p.align == 8);
	ck_assert(sim_param_at(m, "one", 1, &p) && p.type == SIM_F32 && p.offset == 8);
	ck_assert(sim_param_at(m, "one", 2, &p) && p.bytes == 12 && p.count == 12 && p.offset == 12);
	ck_assert(sim_symbol(m, "tab", &at, &bytes) && bytes == 12);
	sim_read(s, at, v, 12);
	ck_assert(v[0] == 7 && v[2] == 9);
	ck_assert(sim_symbol(m, "where", &where, &bytes));
	sim_read(s, where, &where, 8);
	ck_assert_uint_eq(where, at + 4);
	ck_assert_str_eq(sim_target(m), "sm_80");
	at = sim_alloc(s, 100, "b");
	ck_assert_uint_eq(at % 256, 0);
	ck_assert_int_eq(sim_uninitialised(s, at, 100, &n), SIM_OK);
	ck_assert_uint_eq(n, 100);
	ck_assert_int_eq(sim_write(s, at + 40, v, 12), SIM_OK);
	sim_uninitialised(s, at, 100, &n);
	ck_assert_uint_eq(n, 88);
	ck_assert_int_eq(sim_write(s, at + 90, v, 12), SIM_E_INVALID);
	ck_assert_int_eq(sim_read(s, at - 1, v, 1), SIM_E_INVALID);
	ck_assert_int_eq(sim_free(s, at), SIM_OK);
	ck_assert_int_eq(sim_free(s, at), SIM_E_INVALID);
	ck_assert_int_eq(sim_read(s, at, v, 1), SIM_E_INVALID);
	sim_unload(s, m);
	sim_close(s);
}

TEST_PROGRAM(.timeout = 60);
