/* test_loss.c - tests the operators cross_entropy and scan: sums along rows of any length. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} logits[] = {
	{ 1, 1, 0 }, { 9, 100, 0 }, { 3, 129, 1 }, { 6, 512, 1 }, { 2, 1000, 2 }, { 3, 2048, 2 },
	{ 2, 4097, 3 }, { 1, 20001, 3 },
	{ 16, 2, 0 }, { 5, 33, 0 }, { 8, 64, 0 }, { 10, 127, 0 }, { 1, 128, 0 },
	{ 7, 200, 1 }, { 2, 257, 1 }, { 5, 384, 1 }, { 4, 511, 1 },
	{ 1, 513, 2 }, { 3, 768, 2 }, { 2, 1025, 2 },
};
enum { LOGITS = sizeof logits / sizeof logits[0], IGNORE = 0, MOST = 9 + 10 + 9 };

/* exp and log as LANGUAGE.md has them, a sum of n numbers and as many turns as n / 1024; numbers of up to
 * `big`. */
static void
losses(const double *z, const Buf *label, int m, int n, double big, Buf *loss, Buf *lse)
{
	double one = 0x1p-21 + 2 * big * (0x1p-23 + 4 * U32),
	       sum = one * (2 + n / 1024) + (2.0 * n + 8) * U32;

	for (int i = 0; i < m; i++) {
		int at = (int)label->v[i];
		double top = -INFINITY, total = 0;

		for (int j = 0; j < n; j++)
			top = fmax(top, z[i * n + j]);
		for (int j = 0; j < n; j++)
			total += exp(z[i * n + j] - top);
		lse->v[i] = top + log(total);
		lse->allow[i] = sum + fmax(1, log(total)) * 0x1p-21 + (fabs(lse->v[i]) + big) * 2 * U32;
		loss->v[i] = at == IGNORE ? 0 : lse->v[i] - (at > 0 && at < n ? z[i * n + at] : 0);
		loss->allow[i] = at == IGNORE ? 0 : lse->allow[i] + (fabs(loss->v[i]) + 2 * big) * 2 * U32;
	}
}

/* Labels of columns, none, and ignored ones; plain, or with a bias and scaled. */
TEST_EACH(cross_entropy, LOGITS * 2)
{
	int m = logits[_i / 2].m, n = logits[_i / 2].n;
	static double z[40000];
	Case c;

	ck_assert_int_le(m * n, 40000);
	case_start(&c, 20 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", _i % 2 ? "bf16" : "f32", -9, 9, m, n, 0);
	Buf *label = case_in(&c, "LABEL", _i % 2 ? "i64" : "i32", -1, n, m, 0);
	const Buf *bias = case_in(&c, "bias", "f32", -1, 1, n, 0);
	Buf *loss = case_out(&c, "LOSS", "f32", m, 0), *lse = case_out(&c, "LSE", "f32", m, 0);

	for (int i = 0; i < m * n; i++)
		z[i] = _i % 2 ? x->v[i] * 0.5 + bias->v[i % n] : x->v[i];
	if (m > 2)
		buf_set(label, 1, IGNORE);
	case_num(&c, "ignore", IGNORE);
	losses(z, label, m, n, 9, loss, lse);
	size_t line = _i % 2 ? OP_RUN(&c, "sm_80", "cross_entropy", "IN=bf16", "INDEX=i64",
	        "tensors=bias: f32[N]",
	                      "input=x * 0.5 + bias[n]")
	                     : OP_RUN(&c, "sm_90a", "cross_entropy", "IN=f32");
	ck_assert_uint_eq(line, logits[_i / 2].line);
	case_end(&c);
}

/* d = (p - 1 where the label is) g.  exp is off by 2^-21, and by its argument times (2^-23 + 4 u), as above;
 * the argument, |x| + LSE <= 9 + 9 + log(20001) < MOST, by three roundings: product, sum, difference. */
TEST_EACH(gradient, LOGITS * 2)
{
	int m = logits[_i / 2].m, n = logits[_i / 2].n;
	Case c;

	case_start(&c, 220 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", _i % 2 ? "bf16" : "f32", -9, 9, m, n, 0);
	Buf *label = case_in(&c, "LABEL", _i % 2 ? "i64" : "i32", -1, n, m, 0);
	Buf *lse = case_in(&c, "LSE", "f32", 0, 1, m, 0);
	const Buf *g = case_in(&c, "G", "f32", -2, 2, m, 0), *bias = case_in(&c, "bias", "f32", -1, 1, n, 0);
	Buf *dx = case_out(&c, "DX", _i % 2 ? "f16" : "f32", m, n, 0);

	if (m > 2)
		buf_set(label, 1, IGNORE);
	case_num(&c, "ignore", IGNORE);
	for (int i = 0; i < m; i++) {
		double total = 0;

		for (int j = 0; j < n; j++)
			total += exp(_i % 2 ? x->v[i * n + j] * 0.5 + bias->v[j] : x->v[i * n + j]);
		buf_set(lse, i, m == 6 && i == 3 ? -INFINITY : log(total));
		for (int j = 0; j < n; j++) {
			bool none = label->v[i] == IGNORE || isinf(lse->v[i]);
			double z = _i % 2 ? x->v[i * n + j] * 0.5 + bias->v[j] : x->v[i * n + j],
			       p = none ? 0 : exp(z - lse->v[i]),
			       d = none ? 0 : (p - (j == label->v[i])) * g->v[i],
			       at = fabs(z - lse->v[i]) * (0x1p-23 + 4 * U32) + 3 * MOST * U32,
			       off = p * (0x1p-21 + at),
			       y = d * (_i % 2 ? 0.5 : 1);

			dx->v[i * n + j] = y;
			off = off * fabs(g->v[i]) + fabs(d) * 3 * U32;
			dx->allow[i * n + j] = none ? 0 : off + ulp2(dx->type, fabs(y) + off) * 1.01;
		}
	}
	size_t line = _i % 2 ? OP_RUN(&c, "sm_80", "cross_entropy_grad", "IN=bf16", "OUT=f16", "INDEX=i64",
	        "tensors=bias: f32[N]",
	                      "input=x * 0.5 + bias[n]", "epilogue=d * 0.5")
	                     : OP_RUN(&c, "sm_90a", "cross_entropy_grad", "IN=f32");
	ck_assert_uint_eq(line, logits[_i / 2].line > 2 ? 2 : logits[_i / 2].line);
	case_end(&c);
}

static const struct {
	int m, n;
	size_t line;
} row[] = {
	{ 1, 1, 0 },    { 17, 128, 0 },   { 3, 129, 1 },    { 2, 1000, 1 },   { 3, 1025, 3 },
	{ 2, 9001, 3 }, { 1, 16385, 2 }, { 2, 20000, 2 }, { 1, 70001, 2 },
	{ 2, 2, 0 }, { 9, 64, 0 }, { 33, 5, 0 }, { 1, 127, 0 }, { 66, 16, 0 }, { 1, 200, 1 },
	{ 5, 512, 1 }, { 9, 257, 1 }, { 2, 1024, 1 }, { 1, 2048, 3 }, { 2, 4097, 3 },
};
enum { ROWS = sizeof row / sizeof row[0] };

/* Whole numbers, of which all sums are exact: in i64, in i32 from 8 bits, and in f32. */
TEST_EACH(scan, ROWS * 3)
{
	static const char *const type[] = { "i64", "u8", "f16" }, *const to[] = { "i64", "i32", "f32" };
	int kind = _i % 3, m = row[_i / 3].m, n = row[_i / 3].n;
	Case c;

	case_start(&c, 60 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", type[kind], kind == 1 ? 0 : -100, 100, m, n, 0),
	          *y = case_out(&c, "Y", to[kind], m, n, 0);

	for (int i = 0; i < m; i++) {
		double all = 0;

		for (int j = 0; j < n; j++) {
			if (kind == 2)
				buf_set(x, i * n + j, rint(x->v[i * n + j]));
			y->v[i * n + j] = kind == 1 ? all : 0;
			all += x->v[i * n + j];
			y->v[i * n + j] = kind == 1 ? y->v[i * n + j] : all;
		}
	}
	size_t line = kind == 0   ? OP_RUN(&c, "sm_80", "scan", "IN=i64", "ACC=i64")
	              : kind == 1 ? OP_RUN(&c, "sm_90a", "scan", "IN=u8", "ACC=i32", "EXCLUSIVE=1")
	                          : OP_RUN(&c, "sm_80", "scan", "IN=f16", "OUT=f32");
	ck_assert_uint_eq(line, row[_i / 3].line);
	case_end(&c);
}

/* Squares in f32: a sum of i numbers is off by 2 i u of their magnitudes. */
TEST_EACH(squares, ROWS)
{
	int m = row[_i].m, n = row[_i].n;
	Case c;

	case_start(&c, 160 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "f32", -1, 1, m, n, 0);
	Buf *y = case_out(&c, "Y", "f32", m, n, 0);

	for (int i = 0; i < m; i++) {
		double all = 0;

		for (int j = 0; j < n; j++) {
			all += x->v[i * n + j] * x->v[i * n + j];
			y->v[i * n + j] = all;
			y->allow[i * n + j] = (2.0 * j + 8) * U32 * all;
		}
	}
	ck_assert_uint_eq(OP_RUN(&c, "sm_90a", "scan", "IN=f32", "input=x * x"), row[_i].line);
	case_end(&c);
}
