/* test_moe.c - tests the operator moe: routing, sorting, the experts' GEMMs and their sum, as one chain of
 * kernels. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
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

/* Weights of few bits: per `rows` rows and `group` columns (0: all) a scale. */
typedef struct Kind {
	const char *type;
	double most;
	int rows, group;
} Kind;
static const Kind whole = { "f16", 0.5, 0, 0 };

typedef struct Weights {
	const Kind *kind;
	const Buf *w[3], *scale[3]; /* gate, up, down */
} Weights;

/* Of n numbers from x + ix on and row `row` of expert e of weight `which`, all its rows being `rows`. */
static Sum
product(const Weights *w, int which, const double *x, int e, int row, int rows, int n, double *err)
{
	const Kind *k = w->kind;
	int group = k->group ? k->group : n, per = k->rows ? (n + group - 1) / group : 0;
	int64_t at = ((int64_t)e * rows + row) * n;
	Sum s = { 0, 0 };

	for (int i = 0; i < n; i++) {
		double v = w->w[which]->v[at + i];

		if (k->rows) {
			int64_t block = (int64_t)e * ((rows + k->rows - 1) / k->rows) + row / k->rows;

			v *= w->scale[which]->v[block * per + i / group];
		}
		s.x += x[i] * v;
		s.mag += fabs(x[i] * v);
	}
	/* sums of 32 columns or more are scaled, and added to one another */
	*err = sum_error(s.mag, n) + (k->rows ? s.mag * (n / 32 + 3) * U32 : 0);
	return s;
}

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
add_expert(const Buf *x, const Weights *w, int i, int t, int e, double g, double *y, double *err)
{
	int dim = size[i].d, inner = size[i].f;
	double *h = calloc((size_t)inner, sizeof *h), *herr = calloc((size_t)inner, sizeof *herr);

	for (int f = 0; f < inner; f++) {
		double gate_off, up_off;
		Sum gate = product(w, 0, x->v + t * dim, e, f, inner, dim, &gate_off);
		Sum up = product(w, 1, x->v + t * dim, e, f, inner, dim, &up_off);
		double silu = gate.x / (1 + exp(-gate.x));
		/* |silu'| <= 1.1 */
		double off = 1.1 * gate_off + fabs(silu) * 0x1p-18;

		h[f] = silu * up.x;
		herr[f] = off * (fabs(up.x) + up_off) + fabs(silu) * up_off;
		herr[f] += (fabs(h[f]) + herr[f]) * U16 * 1.01 + 0x1p-25;
	}
	for (int d = 0; d < dim; d++) {
		double off, more;
		double sum = product(w, 2, h, e, d, dim, inner, &off).x;
		double from = product(w, 2, herr, e, d, dim, inner, &more).mag;

		off += more + from;
		off += (fabs(sum) + off) * U16 * 1.01 + 0x1p-25;
		y[d] += g * sum;
		err[d] += g * off + g * (fabs(sum) + off) * 0x1p-16;
	}
	free(h);
	free(herr);
}

static void
experts(Case *c, int i, bool renorm, const Kind *kind)
{
	int t = size[i].t, e = size[i].e, dim = size[i].d, inner = size[i].f;
	Weights w = { .kind = kind };
	const Buf *x = case_in(c, "X", "f16", -1, 1, t, dim, 0), *l = case_in(c, "L", "f32", -4, 4, t, e, 0);

	for (int k = 0; k < 3; k++) {
		static const char *const name[] = { "WG", "WU", "WD" }, *const scale[] = { "SG", "SU", "SD" };
		int rows = k == 2 ? dim : inner, columns = k == 2 ? inner : dim;
		int group = kind->group ? kind->group : columns;

		w.w[k] = case_in(c, name[k], kind->type, -kind->most, kind->most, e, rows, columns, 0);
		if (kind->rows)
			w.scale[k] = case_in(c, scale[k], "f32", 0.1 / kind->most, 0.5 / kind->most, e,
			                     (rows + kind->rows - 1) / kind->rows,
			                     (columns + group - 1) / group, 0);
	}
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
			add_expert(x, &w, i, at, chosen[k], exp(l->v[at * e + chosen[k]]) / total,
			           y->v + at * dim, y->allow + at * dim);
	}
}

TEST_SAMPLED(sizes, SIZES, 2)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	Case c;

	case_start(&c, 7 + (uint64_t)_i);
	experts(&c, _i, true, &whole);
	ck_assert_uint_eq(OP_RUN(&c, arch[_i % 2], "moe", "OUT=f32"), size[_i].line);
	case_end(&c);
}

TEST(shares_of_all)
{
	Case c;

	case_start(&c, 3);
	experts(&c, 0, false, &whole);
	OP_RUN(&c, "sm_80", "moe", "OUT=f32", "RENORM=0");
	case_end(&c);
}

/* Experts of few bits, on all lines of the table. */
TEST_SAMPLED(few_bits, SIZES, 2)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	static const Kind kind[] = { { "i8", 127, 1, 64 }, { "e4m3", 8, 128, 128 }, { "i4", 7, 1, 128 },
		                     { "i8", 127, 1, 0 }, { "i4", 7, 1, 32 } };
	const Kind *k = &kind[_i % 5];
	char weight[20], rows[20], group[20];
	Case c;

	case_start(&c, 70 + (uint64_t)_i);
	experts(&c, _i, true, k);
	snprintf(weight, sizeof weight, "WEIGHT=%s", k->type);
	snprintf(rows, sizeof rows, "ROWS=%d", k->rows);
	snprintf(group, sizeof group, "GROUP=%d", k->group);
	ck_assert_uint_eq(OP_RUN(&c, arch[_i % 2], "moe", "OUT=f32", "scales=1", weight, rows, group,
	                         k->group == 32 ? "BK=32" : NULL),
	                  size[_i].line);
	case_end(&c);
}
