/* test_mma_scale.c - tests MMAs with block scales along k against a plain matrix product.
 *
 * The positions of elements and scales are written here independently, from the figures of the PTX ISA
 * ("Matrix Fragments for mma.m16n8k32", "m16n8k64", "Block Scaling for mma.sync"), lane by lane: group g =
 * lane / 4, and t = lane % 4. Values are computed from the fields of their codes. */
#include <math.h>
#include <stdint.h>
#include "test/check.h"
#include "test/sim/random.h"
#include "test/sim/simtest.h"

enum { M = 16, N = 8, KMAX = 64, WORDS = 12 }; /* of a lane: A 4, B 2, C 4, scales of A and of B */

typedef struct Kind {
	const char *kind, *a, *b, *scale;
	int k, bits, blocks, byte; /* byte: most that scales begin at */
} Kind;
static const Kind kinds[] = {
	{ "mxf8f6f4.block_scale", "e4m3", "e4m3", "ue8m0", 32, 8, 1, 3 },
	{ "mxf8f6f4.block_scale.scale_vec::1X", "e4m3", "e5m2", "ue8m0", 32, 8, 1, 3 },
	{ "mxf8f6f4.block_scale.scale_vec::1X", "e5m2", "e4m3", "ue8m0", 32, 8, 1, 3 },
	{ "mxf4.block_scale", "e2m1", "e2m1", "ue8m0", 64, 4, 2, 2 },
	{ "mxf4nvf4.block_scale.scale_vec::2X", "e2m1", "e2m1", "ue8m0", 64, 4, 2, 2 },
	{ "mxf4nvf4.block_scale.scale_vec::4X", "e2m1", "e2m1", "ue4m3", 64, 4, 4, 0 },
};

/* The number of a code: sign, `e` bits of exponent, `m` of mantissa. */
static double
number(uint32_t code, int e, int m)
{
	int exp = (int)(code >> m & ((1u << e) - 1)), man = (int)(code & ((1u << m) - 1));
	int bias = (1 << (e - 1)) - 1;
	double v = exp ? ldexp((1 << m) + man, exp - bias - m) : ldexp(man, 1 - bias - m);

	return code >> (e + m) & 1 ? -v : v;
}

static double
value(const char *type, uint32_t code)
{
	if (!strcmp(type, "ue8m0"))
		return ldexp(1, (int)code - 127);
	if (!strcmp(type, "ue4m3") || !strcmp(type, "e4m3"))
		return number(code, 4, 3);
	return !strcmp(type, "e5m2") ? number(code, 5, 2) : number(code, 2, 1);
}

static uint32_t state = 7;

/* A code of a number that is not so large or small that sums are inexact. */
static uint32_t
code_of(const char *type)
{
	uint32_t r = congruential(&state) >> 4;

	if (!strcmp(type, "ue8m0"))
		return 125 + r % 5;
	if (!strcmp(type, "ue4m3"))
		return 0x30 + r % 16;
	if (!strcmp(type, "e4m3"))
		return 0x30 + r % 16 + (r >> 8 & 1) * 0x80;
	return !strcmp(type, "e5m2") ? 0x38 + r % 8 + (r >> 8 & 1) * 0x80 : r % 16;
}

static void
set_bits(uint32_t *words, int at, int bits, uint32_t code)
{
	uint32_t *w = &words[at * bits / 32];
	int shift = at * bits % 32;

	*w = (*w & ~(((1u << bits) - 1) << shift)) | code << shift;
}

/* Operands of all lanes with codes at random, and what they stand for. */
static void
fill(const Kind *x, const int *byte, const int *thread, uint32_t lane[32][WORDS], double *a, double *b,
     double *c)
{
	int k = x->k, per = 32 / x->bits; /* elements of a register */
	double sa[M][4], sb[4][N];

	for (int l = 0; l < 32; l++) /* what is not read is not 0 */
		for (int i = 0; i < WORDS; i++)
			lane[l][i] = congruential(&state) * 2654435761u;
	for (int l = 0; l < 32; l++) {
		int g = l / 4, t = l % 4;

		for (int i = 0; i < x->blocks && t / 2 == thread[0]; i++) {
			uint32_t s = code_of(x->scale);

			set_bits(&lane[l][10], byte[0] + i, 8, s);
			sa[g + t % 2 * 8][i] = value(x->scale, s);
		}
		for (int i = 0; i < x->blocks && t == thread[1]; i++) {
			uint32_t s = code_of(x->scale);

			set_bits(&lane[l][11], byte[1] + i, 8, s);
			sb[i][g] = value(x->scale, s);
		}
	}
	for (int l = 0; l < 32; l++) {
		int g = l / 4, t = l % 4;

		for (int i = 0; i < 4 * per; i++) { /* registers: rows g, g + 8, g, g + 8 */
			int row = g + i / per % 2 * 8, col = t * per + i % per + i / (2 * per) * k / 2;
			uint32_t e = code_of(x->a);

			set_bits(&lane[l][0], i, x->bits, e);
			a[row * k + col] = value(x->a, e) * sa[row][col * x->blocks / k];
		}
		for (int i = 0; i < 2 * per; i++) {
			int row = t * per + i % per + i / per * k / 2;
			uint32_t e = code_of(x->b);

			set_bits(&lane[l][4], i, x->bits, e);
			b[row * N + g] = value(x->b, e) * sb[row * x->blocks / k][g];
		}
		for (int i = 0; i < 4; i++) {
			float v = (float)(congruential(&state) >> 8 & 63);

			memcpy(&lane[l][6 + i], &v, 4);
			c[(g + i / 2 * 8) * N + 2 * t + i % 2] = (double)v;
		}
	}
}

static void
program(char *text, size_t size, const Kind *x, const int *byte, const int *thread)
{
	snprintf(text, size,
	         ".version 8.7\n.target sm_120a\n.address_size 64\n"
	         ".entry k(.param .u64 in, .param .u64 out)\n{\n"
	         ".reg .b32 %%r<20>;\n.reg .b64 %%d<8>;\nmov.u32 %%r19, %%laneid;\n"
	         "ld.param.u64 %%d1, [in];\nld.param.u64 %%d2, [out];\nmul.wide.u32 %%d3, %%r19, 48;\n"
	         "mul.wide.u32 %%d4, %%r19, 16;\nadd.s64 %%d1, %%d1, %%d3;\nadd.s64 %%d2, %%d2, %%d4;\n"
	         "ld.global.v4.b32 {%%r0,%%r1,%%r2,%%r3}, [%%d1];\n"
	         "ld.global.v4.b32 {%%r4,%%r5,%%r6,%%r7}, [%%d1+16];\n"
	         "ld.global.v4.b32 {%%r8,%%r9,%%r10,%%r11}, [%%d1+32];\n"
	         "mma.sync.aligned.m16n8k%d.row.col.kind::%s.f32.%s.%s.f32.%s {%%r12,%%r13,%%r14,%%r15}, "
	         "{%%r0,%%r1,%%r2,%%r3}, {%%r4,%%r5}, {%%r6,%%r7,%%r8,%%r9}, "
	         "%%r10, {%d, %d}, %%r11, {%d, %d};\n"
	         "st.global.v4.b32 [%%d2], {%%r12,%%r13,%%r14,%%r15};\nret;\n}\n",
	         x->k, x->kind, x->a, x->b, x->scale, byte[0], thread[0], byte[1], thread[1]);
}

/* Each kind, with scales at every place that a register has for them. */
TEST_EACH(places, (int)(sizeof kinds / sizeof *kinds))
{
	const Kind *x = &kinds[_i];
	double a[M * KMAX], b[KMAX * N], c[M * N];
	uint32_t lane[32][WORDS];
	float out[32][4];
	char text[2000];
	sim *s = sim_open();
	uint64_t in = sim_alloc(s, sizeof lane, "in"), to = sim_alloc(s, sizeof out, "out");
	const void *args[] = { &in, &to };
	sim_launch l = SIM_LAUNCH_INIT;

	l.block[0] = 32;
	l.args = args;
	for (int i = 0; i < 4 * 2 * 4; i++) {
		int byte[2] = { i % 4 * x->blocks % 4, (i + 1) % 4 * x->blocks % 4 };
		int thread[2] = { i / 4 % 2, i / 8 };
		sim_result *r;
		sim_module *m;

		ck_assert_int_le(byte[0], x->byte);
		program(text, sizeof text, x, byte, thread);
		m = must_load(s, text);
		fill(x, byte, thread, lane, a, b, c);
		sim_write(s, in, lane, sizeof lane);
		ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_OK);
		ck_assert_uint_eq(sim_stats_of(r)->mma, 1);
		sim_result_free(r);
		sim_read(s, to, out, sizeof out);
		for (int at = 0; at < M * N; at++) {
			int row = at / N, col = at % N;
			double want = c[at], got = (double)out[row % 8 * 4 + col / 2][row / 8 * 2 + col % 2];

			for (int k = 0; k < x->k; k++)
				want += a[row * x->k + k] * b[k * N + col];
			ck_assert_msg(got == (double)(float)want,
			              "%s, bytes %d, %d, threads %d, %d: [%d,%d] is %g, not %g", x->kind,
			              byte[0], byte[1], thread[0], thread[1], row, col, got, want);
		}
		sim_unload(s, m);
	}
	sim_close(s);
}
