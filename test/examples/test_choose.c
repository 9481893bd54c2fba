/* test_choose.c - tests indexing of register tiles (choose.hexc) against scalar loops: every candidate, those
 * that gather by shuffles and those that use shared memory. */
#include "test/examples/util_case.h"
#include <string.h>

#define PROGRAM "../test/examples/choose"
enum { M = 45, N = 70 };

typedef double AtFn(Buf *const *in, int m, int n);

/* Element i of x of n, 0 outside. */
static double
among(const Buf *x, double i, int n, int from)
{
	return i >= 0 && i < n ? x->v[from + (int)i] : 0;
}

static double
at_halves(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * N + n], 16, 0);
}

static double
at_words(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * N + n], 32, 0);
}

static double
at_bytes(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * N + n], 200, 0);
}

static double
at_longs(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * N + n], 48, 0);
}

static double
at_narrow(Buf *const *in, int m, int n)
{
	double i = in[1]->v[m * N + n], t = among(in[0], i, 32, 0);

	return t + (i >= 0 && i < 32 && t < 8 ? 16 : 0);
}

static double
at_columns(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[n], 32, m * 32);
}

static double
at_each(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * 32 + n], 32, m * 32);
}

static double
at_rows(Buf *const *in, int m, int n)
{
	double i = in[1]->v[m];

	return i >= 0 && i < 16 ? in[0]->v[(int)i * 8 + n] : 0;
}

static double
at_both(Buf *const *in, int m, int n)
{
	double i = in[1]->v[m * N + n], j = in[2]->v[n];

	return i >= 0 && i < 16 && j >= 0 && j < 8 ? in[0]->v[(int)i * 8 + (int)j] : 0;
}

static double
at_nibbles(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[m * N + n], 7, 3 * 7);
}

static double
at_turns(Buf *const *in, int m, int n)
{
	double i = in[1]->v[m * N + n], y = among(in[0], i, 16, 5 * 16);

	for (int k = 0; k < 4; k++)
		y = 2 * y + among(in[0], i, 16, k * 16);
	return y;
}

static double
at_parts(Buf *const *in, int m, int n)
{
	int i = (int)in[1]->v[m];
	const double *row = in[0]->v + i * 16 + n;
	double y;

	if (i < 0 || i >= 16)
		return 0;
	y = row[8] + row[3];
	for (int k = 0; k < 3; k++)
		y = 2 * y + row[k * 5];
	return y;
}

static double
at_sevens(Buf *const *in, int m, int n)
{
	return among(in[0], in[1]->v[n], 7, m * 7);
}

static double
at_odd(Buf *const *in, int m, int n)
{
	double i = (m ^ 1) < M ? in[1]->v[(m ^ 1) * N + (n ^ 1)] : -1;

	return i >= 0 && i < 33 ? 4 * in[0]->v[(int)i] + 1 : 0;
}

/* dims of 0: there is none. */
typedef struct Chosen {
	const char *kernel, *type, *name, *index;
	double lo, hi;
	int table[2], chosen[2], columns; /* indices lie from -2 to most */
	int most;
	AtFn *at;
} Chosen;

static const Chosen chosen[] = {
	{ "halves", "f16", "T", "i32", -4, 4, { 16 }, { M, N }, N, 18, at_halves },
	{ "words", "f32", "T", "i32", -4, 4, { 32 }, { M, N }, N, 40, at_words },
	{ "bytes", "u8", "T", "i64", 0, 255, { 200 }, { M, N }, N, 300, at_bytes },
	{ "longs", "i64", "T", "i32", -1000, 1000, { 48 }, { M, N }, N, 50, at_longs },
	{ "narrow", "i32", "T", "i32", 0, 15, { 32 }, { M, N }, N, 34, at_narrow },
	{ "columns", "f32", "X", "i32", -4, 4, { M, 32 }, { 32 }, 32, 34, at_columns },
	{ "each", "f16", "X", "i32", -4, 4, { M, 32 }, { M, 32 }, 32, 34, at_each },
	{ "rows", "f32", "T", "i32", -4, 4, { 16, 8 }, { M }, 8, 18, at_rows },
	{ "both", "f32", "T", "i32", -4, 4, { 16, 8 }, { M, N }, N, 17, at_both },
	{ "nibbles", "u4", "T", "i32", 0, 15, { 8, 7 }, { M, N }, N, 9, at_nibbles },
	{ "turns", "i32", "T", "i32", -1000, 1000, { 8, 16 }, { M, N }, N, 18, at_turns },
	{ "parts", "i32", "T", "i32", -1000, 1000, { 16, 16 }, { M }, 4, 18, at_parts },
	{ "sevens", "f16", "X", "i32", -4, 4, { M, 7 }, { 7 }, 7, 9, at_sevens },
	{ "odd", "i32", "T", "i32", -1000, 1000, { 33 }, { M, N }, N, 40, at_odd },
};

static uint32_t
run(const Chosen *x, const char *arch, uint32_t cand)
{
	bool order = strcmp(x->name, "X") == 0;
	Buf *in[3] = { NULL }, *y;
	uint32_t n;
	Case c;

	case_start(&c, 7);
	c.scattered = true;
	in[0] = case_in(&c, x->name, x->type, x->lo, x->hi, x->table[0], x->table[1], 0);
	in[1] = case_in(&c, order ? "P" : "I", x->index, -2, x->most, x->chosen[0], x->chosen[1], 0);
	if (x->at == at_both)
		in[2] = case_in(&c, "J", "i64", -1, 9, N, 0);
	y = case_out(&c, "Y", x->type, M, x->columns, 0);
	for (int m = 0; m < M; m++)
		for (int k = 0; k < x->columns; k++)
			y->v[m * x->columns + k] = x->at(in, m, k);
	n = case_run(&c, PROGRAM, x->kernel, arch, cand);
	case_end(&c);
	return n;
}

TEST_EACH(candidates, COUNT_OF(chosen))
{
	uint32_t n = run(&chosen[_i], "sm_80", 0);

	ck_assert_uint_gt(n, 1); /* one of them is the other way */
	for (uint32_t c = 1; c < n; c++)
		run(&chosen[_i], c % 2 ? "sm_90a" : "sm_80", c);
}
TEST_PROGRAM(.timeout = 600);
