/* test_token.c - tests the token operators: embedding, rotary. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 1, 257, 0 }, { 64, 300, 0 }, { 2, 2050, 0 }, { 1, 1, 1 }, { 65, 64, 1 }, { 65, 260, 2 },
	{ 17, 255, 2 }, { 64, 257, 0 }, { 66, 1, 1 }, { 70, 65, 2 },
};
enum { SHAPES = sizeof shape / sizeof shape[0], WORDS = 30 };

/* Some tokens are none of the table's. */
static const Buf *
tokens(Case *c, const char *type, int m)
{
	return case_in(c, "I", type, -2, WORDS + 1, m, 0);
}

static double
word_of(const Buf *table, double token, int n, int j)
{
	return token < 0 || token >= WORDS ? 0 : table->v[(int)token * n + j];
}

TEST_EACH(embedding, SHAPES)
{
	int m = shape[_i].m, n = shape[_i].n;
	Case c;

	case_start(&c, 30 + (uint64_t)_i);
	const Buf *at = tokens(&c, "i32", m), *table = case_in(&c, "E", "bf16", -1, 1, WORDS, n, 0);
	Buf *y = case_out(&c, "Y", "bf16", m, n, 0);

	for (int64_t i = 0; i < y->n; i++)
		y->v[i] = word_of(table, at->v[i / n], n, (int)(i % n));
	ck_assert_uint_eq(OP_RUN(&c, "sm_80", "embedding", "IN=bf16"), shape[_i].line);
	case_end(&c);

	case_start(&c, 50 + (uint64_t)_i);
	at = tokens(&c, "i64", m);
	table = case_in(&c, "E", "f16", -1, 1, WORDS, n, 0);
	const Buf *place = case_in(&c, "place", "f32", -1, 1, m, n, 0);
	y = case_out(&c, "Y", "f32", m, n, 0);
	case_num(&c, "scale", 3.5);
	for (int64_t i = 0; i < y->n; i++) {
		y->v[i] = word_of(table, at->v[i / n], n, (int)(i % n)) * 3.5 + place->v[i];
		y->allow[i] = 5 * U32;
	}
	ck_assert_uint_eq(OP_RUN(&c, "sm_90a", "embedding", "OUT=f32", "INDEX=i64",
	                         "tensors=place: f32[M, N], scale: f32", "epilogue=x * scale + place[m, n]"),
	                  shape[_i].line);
	case_end(&c);
}

typedef struct Turn {
	int t, h, d, rot, pairs;
	size_t line;
} Turn;

static const Turn turn[] = {
	{ 1, 1, 128, 128, 0, 0 }, { 8, 3, 128, 128, 0, 0 },  { 9, 2, 128, 128, 0, 1 },
	{ 33, 1, 128, 128, 0, 1 },
	{ 3, 5, 128, 128, 1, 0 }, { 17, 2, 128, 128, 1, 1 }, { 5, 2, 80, 32, 1, 0 },
	{ 20, 1, 80, 32, 1, 1 },
	{ 7, 3, 64, 48, 0, 0 },   { 30, 2, 64, 48, 0, 1 },
};
enum { TURNS = sizeof turn / sizeof turn[0] };

/* Where the two numbers of pair i are in a head. */
static void
pair_at(const Turn *s, int i, int *a, int *b)
{
	*a = s->pairs ? 2 * i : i;
	*b = s->pairs ? 2 * i + 1 : i + s->rot / 2;
}

/* What Y is of z, numbers as they are turned, when cos and sin of pair i of token t are co and si, off by
 * `off`. */
static void
turned(const Turn *s, Buf *y, const double *z, const double *co, const double *si, double off)
{
	for (int row = 0; row < s->t * s->h; row++)
		for (int i = 0; i < s->d; i++) {
			y->v[row * s->d + i] = z[row * s->d + i];
			y->allow[row * s->d + i] = ulp2(y->type, z[row * s->d + i]) * 1.01;
		}
	for (int row = 0; row < s->t * s->h; row++)
		for (int i = 0; i < s->rot / 2; i++) {
			double cos = co[row / s->h * (s->rot / 2) + i],
			       sin = si[row / s->h * (s->rot / 2) + i];
			int a, b;

			pair_at(s, i, &a, &b);
			a += row * s->d;
			b += row * s->d;
			y->v[a] = z[a] * cos - z[b] * sin;
			y->v[b] = z[b] * cos + z[a] * sin;
			for (int k = 0; k < 2; k++) {
				int at = k ? b : a;

				y->allow[at] = ulp2(y->type, y->v[at]) * 1.01 +
				               (fabs(z[a]) + fabs(z[b])) * (off + 3 * U32);
			}
		}
}

enum { PLACES = 50, MOST = 40 * 128 };

/* Angles of tables, some positions outside of them. */
TEST_EACH(rotary, TURNS)
{
	const Turn *s = &turn[_i];
	double co[MOST], si[MOST];
	char d[20], rot[20];
	Case c;

	case_start(&c, 80 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "f16", -1, 1, s->t, s->h, s->d, 0);
	const Buf *at = case_in(&c, "POS", "i32", 0, PLACES, s->t, 0);
	const Buf *cs = case_in(&c, "COS", "f32", -1, 1, PLACES, s->rot / 2, 0);
	const Buf *sn = case_in(&c, "SIN", "f32", -1, 1, PLACES, s->rot / 2, 0);
	Buf *y = case_out(&c, "Y", "f16", s->t, s->h, s->d, 0);

	for (int t = 0; t < s->t; t++)
		for (int i = 0; i < s->rot / 2; i++) {
			int place = (int)at->v[t] * (s->rot / 2) + i;

			co[t * (s->rot / 2) + i] = at->v[t] < PLACES ? cs->v[place] : 0;
			si[t * (s->rot / 2) + i] = at->v[t] < PLACES ? sn->v[place] : 0;
		}
	turned(s, y, x->v, co, si, 0);
	snprintf(d, sizeof d, "D=%d", s->d);
	snprintf(rot, sizeof rot, "ROT=%d", s->rot);
	ck_assert_uint_eq(OP_RUN(&c, "sm_80", "rotary", d, rot, s->pairs ? "PAIRS=1" : "PAIRS=0"), s->line);
	case_end(&c);
}

/* Angles computed, positions counted from a first one, and a gain before. */
TEST_EACH(angles, TURNS)
{
	const Turn *s = &turn[_i];
	double co[MOST], si[MOST], z[40 * 3 * 128];
	char d[20], rot[20];
	Case c;

	case_start(&c, 120 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "bf16", -1, 1, s->t, s->h, s->d, 0);
	const Buf *gain = case_in(&c, "gain", "f32", 0.5, 1, s->d, 0);
	Buf *y = case_out(&c, "Y", "f32", s->t, s->h, s->d, 0);

	case_num(&c, "first", 7);
	for (int t = 0; t < s->t; t++)
		for (int i = 0; i < s->rot / 2; i++) {
			double angle = (t + 7) * exp2(i * -0.25);

			co[t * (s->rot / 2) + i] = cos(angle);
			si[t * (s->rot / 2) + i] = sin(angle);
		}
	for (int64_t i = 0; i < x->n; i++)
		z[i] = x->v[i] * gain->v[i % s->d];
	/* the angle is up to 47, off by 2^-21 of it; sin and cos by 2^-22 more; z is rounded once */
	turned(s, y, z, co, si, 47 * 0x1p-21 + 0x1p-22 + U32);
	for (int64_t i = 0; i < y->n; i++)
		y->allow[i] += U32;
	snprintf(d, sizeof d, "D=%d", s->d);
	snprintf(rot, sizeof rot, "ROT=%d", s->rot);
	ck_assert_uint_eq(OP_RUN(&c, "sm_90a", "rotary", d, rot, s->pairs ? "PAIRS=1" : "PAIRS=0",
	        "IN=bf16", "OUT=f32",
	                         "start=0", "angle=p * exp2(i * -0.25)", "tensors=gain: f32[D]",
	                         "input=x * gain[d]"),
	                  s->line);
	case_end(&c);
}
