/* test_attention.c - tests the operators attention, decode and paged against softmax(Q K^T) V in double, and
 * kv_append. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

/* What the holes and constants of an operator are given. */
enum { CAUSAL = 1, LENGTHS = 2, SCALES = 4, WINDOW = 8, CAP = 16, SCORE = 32 };
enum { REACH = 21 };
#define CAPPED 1.5 /* scores of the data go beyond it */

typedef struct Shape {
	int b, m, n, h, hk, d;
	const char *act, *kv;
	unsigned with;
	size_t line; /* of the table */
} Shape;

/* One launch: its tensors, and where a sequence's keys stand. */
typedef struct Attend {
	const Shape *s;
	Case c;
	double scale;
	Buf *q, *k, *v, *ks, *vs, *slope, *len, *o;
	const Buf *table; /* of pages; NULL: keys of a sequence follow one another */
	const Buf *first, *first_key; /* of sequences one behind the other; NULL: each has M and N */
	int page;
} Attend;

/* The row of k and v, [.., HK, D], of key j of sequence b. */
static int64_t
row_of(const Attend *a, int b, int j)
{
	if (a->first_key)
		return (int64_t)a->first_key->v[b] + j;
	if (!a->table)
		return (int64_t)b * a->s->n + j;
	return (int64_t)a->table->v[b * a->table->dim[1] + j / a->page] * a->page + j % a->page;
}

/* How many queries sequence b has, and where they begin. */
static int
queries_of(const Attend *a, int b)
{
	return a->first ? (int)(a->first->v[b + 1] - a->first->v[b]) : a->s->m;
}

static int64_t
query_of(const Attend *a, int b, int i)
{
	return (a->first ? (int64_t)a->first->v[b] : (int64_t)b * a->s->m) + i;
}

static int
keys_of(const Attend *a, int b)
{
	int all = a->first_key ? (int)(a->first_key->v[b + 1] - a->first_key->v[b]) : a->s->n;

	return a->len && a->len->v[b] < all ? (int)a->len->v[b] : all;
}

/* Of query i, which stands `ahead` behind key i. */
static bool
seen(const Attend *a, int i, int j, int ahead)
{
	int back = i + ahead - j;

	return (!(a->s->with & CAUSAL) || back >= 0) && (!(a->s->with & WINDOW) || abs(back) < REACH);
}

/* The score of a query and a key, and how far off f32 may be. */
static double
score(const Attend *a, int b, int i, int h, int j, int ahead, double *err)
{
	const Shape *s = a->s;
	int g = h / (s->h / s->hk);
	int64_t row = row_of(a, b, j) * s->hk + g;
	Sum p = sum_products(a->q, (query_of(a, b, i) * s->h + h) * s->d, a->k, row * s->d, s->d);
	double by = a->scale * (a->ks ? a->ks->v[row] : 1), x = p.x * by;

	/* of the sum, and of three products with the scales and log2(e) */
	*err = sum_error(p.mag * by, s->d) + 4 * p.mag * by * U32;
	if (s->with & CAP) { /* tanh is off by 2^-20, its argument by a division */
		x = CAPPED * tanh(x / CAPPED);
		*err += fabs(x) * (0x1p-20 + 0x1p-20);
	}
	if (s->with & SCORE) {
		double far = a->slope->v[h] * abs(i + ahead - j);

		x -= far;
		*err += 3 * far * U32;
	}
	return x;
}

/* One head of one query: probabilities are rounded to ACT, with the scale of their value. */
static void
attend_row(const Attend *a, int b, int i, int h)
{
	const Shape *s = a->s;
	int g = h / (s->h / s->hk), keys = keys_of(a, b), ahead = keys - queries_of(a, b);
	int64_t at = (query_of(a, b, i) * s->h + h) * s->d;
	double *p = calloc((size_t)keys + 1, sizeof *p), top = -INFINITY, most = 0, sum = 0, err = 0;
	bool brain = a->o->type->name[0] == 'b';
	double unit = brain ? 0x1p-8 : U16, least = brain ? 0 : 0x1p-25;

	for (int j = 0; j < keys; j++) {
		double e = 0;

		p[j] = seen(a, i, j, ahead) ? score(a, b, i, h, j, ahead, &e) : -INFINITY;
		top = fmax(top, p[j]);
		most = isinf(p[j]) ? most : fmax(most, fabs(p[j]));
		err = fmax(err, e);
	}
	for (int j = 0; j < keys && top > -INFINITY; j++)
		sum += p[j] = exp(p[j] - top);
	/* exponents less the largest one, rounded; ex2.approx 2^-21; sums that are scaled and added to */
	err = 2 * expm1(2 * (err + 4 * most * U32)) + 0x1p-20 + 4.0 * (keys + s->d) * U32;
	for (int e = 0; e < s->d; e++) {
		double x = 0, mag = 0, small = 0;

		for (int j = 0; j < keys && sum > 0; j++) {
			int64_t row = row_of(a, b, j) * s->hk + g;
			double v = a->v->v[row * s->d + e], w = p[j] / sum * (a->vs ? a->vs->v[row] : 1);

			x += w * v;
			mag += fabs(w * v);
			small += fabs(v) * least / sum; /* of a subnormal product of f16 */
		}
		a->o->v[at + e] = x;
		a->o->allow[at + e] = mag * (err + unit * 1.01) + small + ulp2(a->o->type, x) * 1.01;
	}
	free(p);
}

static void
attend_all(const Attend *a)
{
	for (int b = 0; b < a->s->b; b++)
		for (int i = 0; i < queries_of(a, b); i++)
			for (int h = 0; h < a->s->h; h++)
				attend_row(a, b, i, h);
}

/* Lengths, how far, and what scores are less. */
static void
extras(Attend *a)
{
	const Shape *s = a->s;
	Case *c = &a->c;

	if (s->with & LENGTHS) {
		a->len = case_in(c, "L", "i32", 0, s->n, s->b, 0);
		buf_set(a->len, s->b - 1, s->b == 3 ? 0 : s->n);
	}
	if (s->with & WINDOW)
		case_num(c, "reach", REACH);
	if (s->with & SCORE)
		a->slope = case_in(c, "slope", "f32", 0, 0.25, s->h, 0);
}

/* Q, K, V and what else the shape is with; keys in `rows` runs of `n` */
static void
make(Attend *a, const Shape *s, uint64_t seed, int rows, int n)
{
	bool whole = s->kv[0] == 'i';
	Case *c = &a->c;

	*a = (Attend){ .s = s, .scale = (float)(1 / sqrt(s->d)) };
	case_start(c, seed);
	case_num(c, "scale", a->scale);
	a->q = case_in(c, "Q", s->act, -2, 2, s->b, s->m, s->h, s->d, 0);
	a->k = case_in(c, "K", s->kv, whole ? -127 : -2, whole ? 127 : 2, rows, n, s->hk, s->d, 0);
	a->v = case_in(c, "V", s->kv, whole ? -127 : -2, whole ? 127 : 2, rows, n, s->hk, s->d, 0);
	if (s->with & SCALES) {
		double by = whole ? 2.0 / 127 : 1.5;

		a->ks = case_in(c, "KS", "f32", by / 4, by, rows, n, s->hk, 0);
		a->vs = case_in(c, "VS", "f32", by / 4, by, rows, n, s->hk, 0);
	}
	extras(a);
	a->o = case_out(c, "O", s->act, s->b, s->m, s->h, s->d, 0);
}

/* What no query sees, behind a sequence's end or further away than a window, is no number. */
static void
spoil_unseen(Attend *a)
{
	int64_t rows = a->k->n / (a->s->hk * a->s->d), row = (int64_t)a->s->hk * a->s->d;
	bool *used = calloc((size_t)rows, sizeof *used);

	for (int b = 0; b < a->s->b; b++) {
		int m = queries_of(a, b), keys = keys_of(a, b);

		for (int i = 0; i < m; i++)
			for (int j = 0; j < keys; j++)
				used[row_of(a, b, j)] |= seen(a, i, j, keys - m);
	}
	for (int64_t r = 0; r < rows; r++) {
		if (used[r])
			continue;
		buf_spoil(a->k, r * row, a->k->type->kind == 'f' ? row : 0);
		buf_spoil(a->v, r * row, a->v->type->kind == 'f' ? row : 0);
		if (a->ks) {
			buf_spoil(a->ks, r * a->s->hk, a->s->hk);
			buf_spoil(a->vs, r * a->s->hk, a->s->hk);
		}
	}
	free(used);
}

enum { SETS = 14 };

/* Settings of operator `name` as the shape has them, behind what is in set[0..n) already. */
static size_t
run(Attend *a, const char *arch, const char *name, const char *more)
{
	static const char *const hole[] = { "lengths=L", "scales=KS", "window=reach", "softcap=1.5",
		                            "score=s - slope[h] * f32(abs(i - j))" };
	const Shape *s = a->s;
	char text[5][80];
	const char *set[SETS] = { text[0], text[1], text[2] };
	size_t n = 3, line;

	snprintf(text[0], sizeof text[0], "ACT=%s", s->act);
	snprintf(text[1], sizeof text[1], "KV=%s", s->kv);
	snprintf(text[2], sizeof text[2], "D=%d", s->d);
	if (s->with & CAUSAL)
		set[n++] = "CAUSAL=1";
	for (int i = a->table ? 1 : 0; i < 5; i++) /* lengths are no choice there */
		if (s->with & 2u << i)
			set[n++] = hole[i];
	snprintf(text[3], sizeof text[3], "tensors=%s%s%s", s->with & WINDOW ? "reach: i32" : "",
	         s->with & WINDOW && s->with & SCORE ? ", " : "", s->with & SCORE ? "slope: f32[H]" : "");
	if (s->with & (WINDOW | SCORE))
		set[n++] = text[3];
	snprintf(text[4], sizeof text[4], "PAGE=%d", a->page);
	if (a->page)
		set[n++] = text[4];
	if (a->first)
		set[n++] = "packed=1";
	if (more)
		set[n++] = more;
	set[n] = NULL;
	attend_all(a);
	spoil_unseen(a);
	line = op_run(&a->c, arch, name, set);
	case_end(&a->c);
	return line;
}

/* ---- attention -------------------------------------------------------------------------------------- */

#define S(b_, m_, n_, h_, hk_, d_, act_, kv_, with_, line_) \
	{ .b = b_, .m = m_, .n = n_, .h = h_, .hk = hk_, .d = d_, .act = act_, .kv = kv_, .with = with_, \
	  .line = line_ }

/* Each line of the table, with the kernels that every host has. */
static const Shape by_line[] = {
	S(1, 1, 1, 1, 1, 64, "f16", "f16", CAUSAL, 0),    S(2, 16, 100, 4, 2, 64, "f16", "f16", CAUSAL, 0),
	S(2, 17, 40, 2, 1, 64, "f16", "f16", CAUSAL, 1),  S(1, 64, 64, 1, 1, 64, "f16", "f16", CAUSAL, 3),
	S(1, 33, 200, 3, 1, 64, "f16", "f16", CAUSAL, 3), S(1, 130, 60, 1, 1, 64, "f16", "f16", CAUSAL, 3),
	S(1, 1100, 70, 1, 1, 64, "f16", "f16", CAUSAL, 2), S(1, 1030, 700, 1, 1, 64, "f16", "f16", 0, 2),
	S(1, 1040, 800, 1, 1, 128, "f16", "f16", CAUSAL, 2),
};

/* Its options, each with the tile that follows. */
static const struct {
	Shape s;
	const char *tile;
} by_option[] = {
	{ S(2, 33, 100, 4, 2, 64, "f16", "f16", 0, 0), "BM=64" },
	{ S(1, 40, 17, 3, 1, 128, "bf16", "bf16", CAUSAL, 0), "BM=64" },
	{ S(3, 70, 90, 2, 1, 64, "f16", "f16", CAUSAL | LENGTHS, 0), "BM=64" },
	{ S(3, 7, 150, 2, 2, 64, "f16", "f16", LENGTHS, 0), "BM=16" },
	{ S(1, 130, 130, 1, 1, 64, "f16", "f16", CAUSAL | WINDOW, 0), "BM=64" },
	{ S(1, 90, 90, 2, 1, 64, "f16", "f16", WINDOW, 0), "BM=64" },
	{ S(1, 70, 70, 1, 1, 64, "f16", "f16", CAP, 0), "BM=64" },
	{ S(1, 70, 70, 4, 2, 64, "f16", "f16", CAUSAL | SCORE, 0), "BM=64" },
	{ S(2, 31, 90, 2, 1, 64, "f16", "e4m3", SCALES, 0), "BM=32" },
	{ S(1, 33, 100, 2, 1, 128, "bf16", "i8", SCALES | CAUSAL, 0), "BM=64" },
	{ S(2, 20, 70, 2, 1, 64, "f16", "e4m3", 0, 0), "BM=32" },
	{ S(3, 66, 99, 4, 2, 128, "bf16", "i8", CAUSAL | LENGTHS | SCALES | WINDOW | CAP | SCORE, 0),
	  "BM=64" },
	{ S(2, 17, 50, 2, 1, 256, "f16", "f16", CAUSAL, 0), "BM=64" },
	{ S(1, 17, 50, 1, 1, 96, "f16", "f16", CAUSAL, 0), "BM=32" },
	{ S(1, 19, 33, 2, 1, 32, "bf16", "bf16", CAUSAL | LENGTHS | CAP, 0), "BM=32" },
	{ S(2, 21, 50, 2, 2, 64, "f16", "f16", LENGTHS, 0), "BM=16" },
};
static const char *const both[] = { "sm_80", "sm_90a" };

TEST_EACH(attention_lines, COUNT_OF(by_line))
{
	for (int i = 0; i < 2; i++) {
		Attend a;

		make(&a, &by_line[_i], 7 + (uint64_t)_i, by_line[_i].b, by_line[_i].n);
		ck_assert_uint_eq(run(&a, both[i], "attention", NULL), by_line[_i].line);
	}
}

/* The width of the tiles of keys of the line for 128 queries or more. */
static int64_t
width_of_keys(const char *arch, const hexc_op_set *set, size_t nset)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	int64_t keys = 0;
	char why[600] = "";
	hexc_op *op;

	o.arch = arch;
	ck_assert_msg(!hexc_op_plan(&op, "attention", set, nset, &o, why, sizeof why), "%s", why);
	hexc_family_describe(hexc_op_family(op), &info);
	for (size_t i = 0; i < info.nline; i++) {
		const hexc_module *m;
		hexc_define bm, bn;
		size_t k;

		ck_assert(!hexc_family_stage(hexc_op_family(op), i, 0, NULL, &m, &k));
		hexc_const(m, k, (size_t)hexc_const_find(m, k, "BM"), &bm);
		hexc_const(m, k, (size_t)hexc_const_find(m, k, "BN"), &bn);
		ck_assert(bm.value < 128 || !keys); /* of two lines for the same sizes only one is compiled */
		keys = bm.value >= 128 ? bn.value : keys;
	}
	hexc_op_free(op);
	return keys;
}

/* The program chooses by SM, the device's, if the host does not state another; and by types. */
TEST(attention_by_device)
{
	static const hexc_op_set wide = { "KV", "f32" }, older = { "SM", "80" };

	ck_assert_int_eq(width_of_keys("sm_80", NULL, 0), 64);
	ck_assert_int_eq(width_of_keys("sm_120a", NULL, 0), 64);
	ck_assert_int_eq(width_of_keys("sm_90a", NULL, 0), 128);
	ck_assert_int_eq(width_of_keys("sm_90a", &wide, 1), 64);
	ck_assert_int_eq(width_of_keys("sm_90a", &older, 1), 64);
}

TEST_SAMPLED(attention_options, COUNT_OF(by_option), 2)
{
	for (int i = 0; i < 2; i++) {
		Attend a;

		make(&a, &by_option[_i].s, 40 + (uint64_t)_i, by_option[_i].s.b, by_option[_i].s.n);
		run(&a, both[i], "attention", by_option[_i].tile);
	}
}

/* Kernels of larger tiles do not compile where blocks have little shared memory, and smaller ones take their
 * sizes. */
static const struct {
	Shape s;
	const char *name;
} with_less[] = {
	{ S(1, 9, 40, 1, 1, 192, "f16", "f16", CAUSAL, 0), "attention" },
	{ S(1, 20, 40, 1, 1, 192, "f16", "f16", CAUSAL, 1), "attention" },
	{ S(1, 70, 40, 1, 1, 192, "f16", "f16", CAUSAL, 2), "attention" },
	{ S(1, 9, 50, 1, 1, 336, "f16", "f16", CAUSAL, 0), "decode" },
	{ S(1, 40, 50, 1, 1, 336, "f16", "f16", CAUSAL, 1), "decode" },
};

TEST_EACH(with_less_memory, COUNT_OF(with_less))
{
	Attend a;

	make(&a, &with_less[_i].s, 90 + (uint64_t)_i, 1, with_less[_i].s.n);
	ck_assert_uint_eq(run(&a, "sm_75", with_less[_i].name, NULL), with_less[_i].s.line);
}

/* Sequences one behind the other, some without queries, some without keys; the longest has M and N. */
static const struct {
	Shape s;
	const char *tile; /* NULL: by the line */
} in_a_row[] = {
	{ S(4, 16, 40, 2, 1, 64, "f16", "f16", CAUSAL, 0), NULL },
	{ S(3, 30, 90, 2, 2, 64, "f16", "f16", CAUSAL, 1), NULL },
	{ S(5, 100, 150, 4, 2, 64, "f16", "f16", CAUSAL, 3), NULL },
	{ S(2, 1040, 70, 1, 1, 64, "f16", "f16", CAUSAL, 2), NULL },
	{ S(7, 70, 70, 2, 1, 128, "bf16", "bf16", 0, 0), "BM=64" },
	{ S(4, 70, 99, 2, 1, 64, "f16", "f16", CAUSAL | WINDOW, 0), "BM=64" },
	{ S(6, 32, 80, 4, 2, 64, "f16", "f16", CAUSAL | SCORE | CAP, 0), "BM=32" },
	{ S(4, 20, 70, 2, 1, 64, "f16", "e4m3", 0, 0), "BM=32" },
	{ S(4, 65, 100, 2, 1, 64, "f16", "f16", CAUSAL | LENGTHS, 0), "BM=64" },
};

TEST_EACH(attention_packed, COUNT_OF(in_a_row))
{
	const Shape *s = &in_a_row[_i].s;

	for (int i = 0; i < 2; i++) {
		int begin[2][9] = { { 0 }, { 0 } }, most[2] = { s->m, s->n };
		Buf *at[2];
		Attend a = { .s = s, .scale = (float)(1 / sqrt(s->d)) };

		for (int side = 0; side < 2; side++)
			for (int b = 0; b < s->b; b++) {
				int n = (b * 29 + side * 13 + _i * 7) % (most[side] + 1);

				n = b == 1 ? most[side] : b == 2 + side ? 0 : n;
				begin[side][b + 1] = begin[side][b] + n;
			}
		case_start(&a.c, 500 + (uint64_t)_i);
		case_num(&a.c, "scale", a.scale);
		case_num(&a.c, "B", s->b);
		case_num(&a.c, "M", s->m);
		a.q = case_in(&a.c, "Q", s->act, -2, 2, begin[0][s->b], s->h, s->d, 0);
		a.k = case_in(&a.c, "K", s->kv, -2, 2, begin[1][s->b], s->hk, s->d, 0);
		a.v = case_in(&a.c, "V", s->kv, -2, 2, begin[1][s->b], s->hk, s->d, 0);
		for (int side = 0; side < 2; side++) {
			at[side] = case_in(&a.c, side ? "FIRSTK" : "FIRST", "i32", 0, 0, s->b + 1, 0);
			for (int b = 0; b <= s->b; b++)
				buf_set(at[side], b, begin[side][b]);
		}
		a.first = at[0];
		a.first_key = at[1];
		extras(&a);
		a.o = case_out(&a.c, "O", s->act, begin[0][s->b], s->h, s->d, 0);
		size_t line = run(&a, both[i], "attention", in_a_row[_i].tile);
		ck_assert_uint_eq(line, in_a_row[_i].tile ? 0 : s->line);
	}
}

/* ---- decode ------------------------------------------------------------------------------------------ */

/* Lines 0 to 2: at most 16, 32, more queries and heads share keys. Line 3: that, and heads are wide. */
static const Shape few[] = {
	S(1, 1, 1, 1, 1, 64, "f16", "f16", LENGTHS, 0),
	S(3, 1, 700, 4, 2, 64, "f16", "f16", LENGTHS, 0),
	S(1, 1, 1300, 8, 1, 64, "f16", "f16", LENGTHS, 0),
	S(2, 4, 300, 8, 1, 64, "f16", "f16", LENGTHS, 1),
	S(2, 16, 257, 16, 4, 64, "f16", "f16", LENGTHS, 2),
	S(1, 9, 130, 8, 1, 512, "f16", "f16", CAUSAL, 3),
	S(1, 5, 90, 3, 1, 64, "bf16", "bf16", CAUSAL, 0),
	S(1, 5, 60, 8, 1, 320, "f16", "f16", LENGTHS | SCORE, 3),
	S(1, 7, 600, 4, 2, 128, "f16", "e4m3", CAUSAL | SCALES, 0),
	S(2, 3, 513, 8, 2, 128, "bf16", "i8", LENGTHS | SCALES, 0),
	S(2, 1, 330, 7, 1, 128, "bf16", "bf16", WINDOW | LENGTHS, 0),
	S(1, 6, 300, 10, 2, 64, "f16", "f16", CAUSAL | WINDOW, 1),
	S(1, 1, 290, 2, 2, 256, "f16", "f16", CAP, 0),
	S(1, 3, 280, 4, 2, 64, "f16", "f16", CAUSAL | SCORE, 0),
	S(3, 9, 310, 16, 2, 128, "bf16", "i8", CAUSAL | LENGTHS | SCALES | WINDOW | CAP | SCORE, 2),
	S(1, 2, 100, 6, 2, 96, "f16", "f16", CAUSAL | SCORE | CAP, 0),
	S(1, 1, 255, 4, 4, 64, "f16", "f16", LENGTHS, 0),
	S(4, 1, 64, 2, 1, 64, "f16", "f16", LENGTHS, 0),
	S(1, 2, 513, 2, 1, 64, "f16", "f16", LENGTHS, 0),
	S(2, 3, 31, 12, 2, 64, "f16", "f16", LENGTHS, 1),
	S(1, 1, 1025, 16, 1, 64, "f16", "f16", LENGTHS, 0),
	S(3, 8, 129, 8, 1, 64, "f16", "f16", LENGTHS, 2),
};

TEST_EACH(decode, COUNT_OF(few))
{
	for (int i = 0; i < 2; i++) {
		Attend a;
		char tile[10];
		size_t line;

		make(&a, &few[_i], 100 + (uint64_t)_i, few[_i].b, few[_i].n);
		snprintf(tile, sizeof tile, "BM=%d", few[_i].line < 3 ? 16 << few[_i].line : 32);
		line = run(&a, both[i], "decode", _i < 6 ? NULL : tile);
		/* the only one left of this tile, or the second one */
		ck_assert_uint_eq(line, _i < 6 ? few[_i].line : few[_i].line == 3);
	}
}

/* ---- paged ------------------------------------------------------------------------------------------- */

/* Lines: at most 16, 64 queries and heads share keys, many queries. */
static const struct {
	Shape s;
	int page;
} in_pages[] = {
	{ S(3, 1, 700, 4, 2, 64, "f16", "f16", LENGTHS, 0), 16 },
	{ S(2, 5, 300, 16, 2, 64, "f16", "f16", LENGTHS, 1), 16 },
	{ S(2, 70, 90, 2, 1, 64, "f16", "f16", LENGTHS, 3), 16 },
	{ S(1, 1100, 40, 1, 1, 64, "f16", "f16", LENGTHS, 2), 16 },
	{ S(1, 1, 1, 1, 1, 128, "bf16", "bf16", LENGTHS, 0), 64 },
	{ S(1, 3, 650, 4, 2, 128, "f16", "e4m3", LENGTHS | SCALES | CAUSAL, 0), 32 },
	{ S(2, 2, 520, 8, 2, 128, "bf16", "i8", LENGTHS | SCALES | SCORE, 0), 128 },
	{ S(3, 8, 310, 16, 2, 64, "bf16", "i8", LENGTHS | CAUSAL | SCALES | WINDOW | CAP | SCORE, 1), 16 },
	{ S(2, 70, 130, 2, 1, 64, "f16", "f16", LENGTHS | CAUSAL | WINDOW, 3), 64 },
	{ S(2, 67, 100, 2, 1, 128, "bf16", "i8", LENGTHS | CAUSAL | SCALES | SCORE, 3), 16 },
	{ S(1, 66, 99, 1, 1, 64, "f16", "e4m3", LENGTHS | SCALES | CAP | WINDOW, 3), 256 },
	{ S(1, 80, 70, 1, 1, 256, "f16", "f16", LENGTHS | CAUSAL, 3), 16 },
	{ S(2, 1, 33, 2, 1, 64, "f16", "f16", LENGTHS, 0), 16 },
	{ S(1, 4, 257, 4, 1, 64, "f16", "f16", LENGTHS, 0), 16 },
	{ S(4, 1, 16, 8, 8, 64, "f16", "f16", LENGTHS, 0), 16 },
	{ S(1, 2, 1000, 2, 1, 64, "f16", "f16", LENGTHS, 0), 16 },
	{ S(2, 9, 15, 4, 1, 64, "f16", "f16", LENGTHS, 1), 16 },
	{ S(1, 16, 512, 3, 1, 64, "f16", "f16", LENGTHS, 1), 16 },
	{ S(2, 65, 64, 1, 1, 64, "f16", "f16", LENGTHS, 3), 16 },
	{ S(1, 100, 200, 2, 2, 64, "f16", "f16", LENGTHS, 3), 16 },
};

TEST_EACH(paged, COUNT_OF(in_pages))
{
	const Shape *s = &in_pages[_i].s;
	int page = in_pages[_i].page, pages = (s->n + page - 1) / page, all = s->b * pages + 3;

	while (all % 7 == 0)
		all++;
	for (int i = 0; i < 2; i++) {
		Attend a;
		char tile[10];
		Buf *table;
		size_t line;

		make(&a, s, 200 + (uint64_t)_i, all, page);
		table = case_in(&a.c, "T", "i32", 0, 0, s->b, pages, 0);
		for (int p = 0; p < s->b * pages; p++)
			buf_set(table, p, p * 7 % all);
		a.table = table;
		a.page = page;
		snprintf(tile, sizeof tile, "BM=%d", s->line ? 64 : 16);
		line = run(&a, both[i], "paged", _i < 4 ? NULL : tile);
		ck_assert_uint_eq(line, _i < 4 ? s->line : s->line == 3);
	}
}

/* ---- kv_append --------------------------------------------------------------------------------------- */

/* Two approximate divisions (hexc/LANGUAGE.md, Precision), relative. */
#define SCALED (2 * 0x1p-20 + 2 * U32)

/* One head of a token, from x[0..d) to q[at..at + d), perhaps with a scale. */
static void
append_head(const double *x, int d, Buf *q, int64_t at, Buf *scale, int64_t nth)
{
	bool whole = q->type->kind != 'f';
	double top = 0, one = 1;

	for (int i = 0; i < d; i++)
		top = fmax(top, fabs(x[i]));
	if (scale) {
		one = top > 0 ? top / (whole ? 127 : 448) : 1;
		scale->v[nth] = one;
		scale->allow[nth] = one * SCALED;
	}
	for (int i = 0; i < d; i++) {
		double want = x[i] / one, off = scale ? fabs(want) * SCALED : 0;

		q->v[at + i] = want;
		q->allow[at + i] = off + (whole ? 0.5 : ulp2(q->type, fabs(want) + off));
	}
}

static const struct {
	int t, h, d;
	const char *act, *kv;
	bool scales;
	size_t line;
} append[] = {
	{ 1, 1, 128, "f16", "i8", true, 0 },   { 33, 2, 128, "f16", "i8", true, 0 },
	{ 70, 3, 128, "f16", "i8", true, 1 },  { 65, 1, 64, "bf16", "e4m3", true, 1 },
	{ 7, 4, 96, "f16", "e4m3", true, 0 },  { 5, 2, 64, "f16", "f16", false, 0 },
	{ 90, 2, 256, "bf16", "bf16", false, 1 }, { 6, 3, 64, "bf16", "e4m3", false, 0 },
	{ 1, 2, 128, "f16", "i8", true, 0 },
	{ 2, 1, 128, "f16", "i8", true, 0 },
	{ 3, 3, 128, "f16", "i8", true, 0 },
	{ 8, 8, 128, "f16", "i8", true, 0 },
	{ 16, 2, 128, "f16", "i8", true, 0 },
	{ 31, 1, 128, "f16", "i8", true, 0 },
	{ 64, 2, 128, "f16", "i8", true, 0 },
	{ 65, 2, 128, "f16", "i8", true, 1 },
	{ 100, 1, 128, "f16", "i8", true, 1 },
	{ 128, 2, 128, "f16", "i8", true, 1 },
	{ 130, 3, 128, "f16", "i8", true, 1 },
	{ 200, 1, 128, "f16", "i8", true, 1 },
};

TEST_EACH(kv_append, COUNT_OF(append))
{
	int tokens = append[_i].t, heads = append[_i].h, d = append[_i].d, slots = tokens + 5;
	const char *kv = append[_i].kv;
	double most = kv[0] == 'i' ? 127 : 2;

	for (int arch = 0; arch < 2; arch++) {
		char text[3][20];
		const char *set[6] = { text[0], text[1], text[2], kv[0] == 'i' ? "MOST=127" : "MOST=448" };
		Buf *slot, *from[2], *to[2], *scale[2] = { NULL, NULL };
		Case c;

		case_start(&c, 300 + (uint64_t)_i);
		slot = case_in(&c, "SLOT", "i32", 0, 0, tokens, 0);
		for (int i = 0; i < 2; i++) {
			from[i] = case_in(&c, i ? "V" : "K", append[_i].act, -2, 2, tokens, heads, d, 0);
			to[i] = case_inout(&c, i ? "VC" : "KC", kv, -most, most, slots, heads, d, 0);
			if (append[_i].scales)
				scale[i] = case_inout(&c, i ? "VS" : "KS", "f32", 0, 1, slots, heads, 0);
		}
		for (int e = 0; e < d; e++) /* a head of zeros */
			buf_set(from[0], e, 0);
		for (int t = 0; t < tokens; t++) {
			buf_set(slot, t, t == 3 ? -1 : slots - 1 - t);
			for (int i = 0; i < 2 * heads && t != 3; i++) {
				int64_t at = (int64_t)slot->v[t] * heads + i / 2;

				append_head(from[i % 2]->v + ((int64_t)t * heads + i / 2) * d, d, to[i % 2],
				            at * d, scale[i % 2], at);
			}
		}
		snprintf(text[0], sizeof text[0], "ACT=%s", append[_i].act);
		snprintf(text[1], sizeof text[1], "KV=%s", kv);
		snprintf(text[2], sizeof text[2], "D=%d", d);
		set[4] = append[_i].scales ? "scales=1" : NULL;
		ck_assert_uint_eq(op_run(&c, both[arch], "kv_append", set), append[_i].line);
		case_end(&c);
	}
}
