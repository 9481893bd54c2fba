/* test_moe.c - the operator moe: routing, sorting, the experts' products and their sum, as one chain of
 * kernels. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdlib.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int t, e, top, d, f;
	size_t line;
} size[] = {
	{ 1, 8, 2, 64, 72, 0 },   { 5, 4, 4, 40, 24, 0 },    { 33, 60, 6, 72, 32, 0 },
	{ 130, 3, 2, 64, 40, 1 },
	{ 70, 1, 1, 24, 136, 1 }, { 9, 100, 8, 264, 16, 2 }, { 300, 66, 8, 8, 8, 3 },
	{ 2, 2, 1, 8, 8, 0 }, { 1, 16, 16, 8, 16, 0 }, { 7, 64, 2, 16, 24, 0 }, { 20, 8, 3, 24, 8, 0 },
	{ 64, 4, 1, 32, 16, 0 }, { 33, 1, 1, 8, 8, 1 }, { 65, 2, 1, 16, 16, 1 }, { 40, 5, 5, 8, 40, 1 },
	{ 3, 65, 4, 16, 8, 2 }, { 1, 512, 16, 8, 8, 2 }, { 50, 128, 2, 24, 16, 2 },
	{ 16, 300, 6, 8, 24, 2 }, { 150, 70, 15, 8, 8, 3 },
};
enum { SIZES = sizeof size / sizeof size[0] };

/* The expert with the largest logit that is not among the first n of chosen. */
static int
next_expert(const Buf *l, int t, int e, const int *chosen, int n)
{
	int best = -1;

	for (int i = 0; i < e; i++) {
		bool taken = false;

		for (int k = 0; k < n; k++)
			taken = taken || chosen[k] == i;
		if (!taken && (best < 0 || l->v[t * e + i] > l->v[t * e + best]))
			best = i;
	}
	return best;
}

/* y[d] += g * expert(x), and what that may be off by: h and the result are rounded once each. */
static void
add_expert(const Buf *x, const Buf *const w[3], int i, int t, int e, double g, double *y, double *err)
{
	int dim = size[i].d, inner = size[i].f;
	double *h = calloc((size_t)inner, sizeof *h), *herr = calloc((size_t)inner, sizeof *herr);

	for (int f = 0; f < inner; f++) {
		int64_t at = ((int64_t)e * inner + f) * dim;
		Sum gate = sum_products(x, (int64_t)t * dim, w[0], at, dim);
		Sum up = sum_products(x, (int64_t)t * dim, w[1], at, dim);
		double silu = gate.x / (1 + exp(-gate.x));
		/* |silu'| <= 1.1 */
		double off = 1.1 * sum_error(gate.mag, dim) + fabs(silu) * 0x1p-18;
		double up_off = sum_error(up.mag, dim);

		h[f] = silu * up.x;
		herr[f] = off * (fabs(up.x) + up_off) + fabs(silu) * up_off;
		herr[f] += (fabs(h[f]) + herr[f]) * U16 * 1.01 + 0x1p-25;
	}
	for (int d = 0; d < dim; d++) {
		double sum = 0, mag = 0, off = 0;

		for (int f = 0; f < inner; f++) {
			double v = w[2]->v[((int64_t)e * dim + d) * inner + f];

			sum += h[f] * v;
			mag += (fabs(h[f]) + herr[f]) * fabs(v);
			off += herr[f] * fabs(v);
		}
		off += sum_error(mag, inner);
		off += (fabs(sum) + off) * U16 * 1.01 + 0x1p-25;
		y[d] += g * sum;
		err[d] += g * off + g * (fabs(sum) + off) * 0x1p-16;
	}
	free(h);
	free(herr);
}

static void
experts(Case *c, int i, bool renorm)
{
	int t = size[i].t, e = size[i].e, dim = size[i].d;
	const Buf *x = case_in(c, "X", "f16", -1, 1, t, dim, 0), *l = case_in(c, "L", "f32", -4, 4, t, e, 0);
	const Buf *const w[3] = { case_in(c, "WG", "f16", -0.5, 0.5, e, size[i].f, dim, 0),
		                  case_in(c, "WU", "f16", -0.5, 0.5, e, size[i].f, dim, 0),
		                  case_in(c, "WD", "f16", -0.5, 0.5, e, dim, size[i].f, 0) };
	Buf *y = case_out(c, "Y", "f32", t, dim, 0);

	case_num(c, "TOPK", size[i].top);
	for (int at = 0; at < t; at++) {
		int chosen[16];
		double total = 0;

		for (int k = 0; k < size[i].top; k++)
			chosen[k] = next_expert(l, at, e, chosen, k);
		for (int k = 0; k < (renorm ? size[i].top : e); k++)
			total += exp(l->v[at * e + (renorm ? chosen[k] : k)]);
		for (int d = 0; d < dim; d++)
			y->v[at * dim + d] = y->allow[at * dim + d] = 0;
		for (int k = 0; k < size[i].top; k++)
			add_expert(x, w, i, at, chosen[k], exp(l->v[at * e + chosen[k]]) / total,
			           y->v + at * dim, y->allow + at * dim);
	}
}

TEST_EACH(sizes, SIZES)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	Case c;

	case_start(&c, 7 + (uint64_t)_i);
	experts(&c, _i, true);
	ck_assert_uint_eq(OP_RUN(&c, arch[_i % 2], "moe", "OUT=f32"), size[_i].line);
	case_end(&c);
}

TEST(shares_of_all)
{
	Case c;

	case_start(&c, 3);
	experts(&c, 0, false);
	OP_RUN(&c, "sm_80", "moe", "OUT=f32", "RENORM=0");
	case_end(&c);
}
