/* test_index.c - tests index tiles (index.hexc) against scalar loops. */
#include "test/examples/util_case.h"

#define PROGRAM "../test/examples/index"

/* Element c of a buffer; 0 outside of it. */
static double
at(const Buf *x, const int64_t *c)
{
	int64_t n = 0;

	for (int d = 0; d < x->rank; d++) {
		if (c[d] < 0 || c[d] >= x->dim[d])
			return 0;
		n = n * x->dim[d] + c[d];
	}
	return x->v[n];
}

#define AT(x, ...) at(x, (int64_t[]){ __VA_ARGS__ })
#define INDEX(x, ...) ((int64_t)AT(x, __VA_ARGS__))

static void
apart(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *i, *j, *y;
	int64_t to = 0;

	case_start(&c, 1);
	x = case_in(&c, "X", "f32", -1, 1, s->h, s->k, s->x, 0);
	i = case_in(&c, "I", "i32", -2, s->h + 2, s->m, s->n, 0);
	j = case_in(&c, "J", "i64", -2, s->x + 2, s->n, 0);
	y = case_out(&c, "Y", "f32", s->m, s->n, s->k, 0);
	for (int m = 0; m < s->m; m++)
		for (int n = 0; n < s->n; n++)
			for (int d = 0; d < s->k; d++)
				y->v[to++] = AT(x, INDEX(i, m, n), d, INDEX(j, n));
	*ncand = case_run(&c, PROGRAM, "apart", arch, cand);
	case_end(&c);
}

/* No index twice, some outside. */
static void
spread(Buf *i, int64_t most)
{
	for (int64_t n = 0; n < i->n; n++)
		buf_set(i, n, (double)(n % 5 == 4 ? -1 - n : (n * 7 + 3) % most));
}

static void
outer(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *i, *j, *y;

	case_start(&c, 2);
	x = case_in(&c, "X", "f32", -8, 8, s->x, s->h, 0);
	i = case_in(&c, "I", "i32", 0, 0, s->m, 0);
	j = case_in(&c, "J", "i32", 0, 0, s->n, 0);
	y = case_inout(&c, "Y", "f32", -8, 8, s->h, s->x, 0);
	for (int64_t n = 0; n < x->n; n++) /* sums are exact */
		buf_set(x, n, (double)(int)x->v[n]);
	spread(i, s->h);
	spread(j, s->x);
	for (int m = 0; m < s->m; m++)
		for (int n = 0; n < s->n; n++) {
			int64_t p = INDEX(i, m), q = INDEX(j, n), to = p * s->x + q;

			if (p < 0 || q < 0)
				continue;
			y->v[to] = (double)(float)(y->v[to] + AT(x, q, p));
		}
	*ncand = case_run(&c, PROGRAM, "outer", arch, cand);
	case_end(&c);
}

static void
product(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *i, *j, *b, *out;
	int64_t to = 0;

	case_start(&c, 3);
	x = case_in(&c, "X", "f16", -1, 1, s->h, s->x, s->k, 0);
	i = case_in(&c, "I", "i32", -1, s->h + 1, s->m, 0);
	j = case_in(&c, "J", "i32", -1, s->x + 1, s->n, 0);
	b = case_in(&c, "B", "f16", -1, 1, s->d, s->k, 0);
	out = case_out(&c, "C", "f16", s->m, s->n, s->d, 0);
	for (int m = 0; m < s->m; m++)
		for (int n = 0; n < s->n; n++)
			for (int o = 0; o < s->d; o++, to++) {
				int64_t p = INDEX(i, m), q = INDEX(j, n);
				bool inside = p >= 0 && p < s->h && q >= 0 && q < s->x;
				Sum d = { 0, 0 };

				if (inside)
					d = sum_products(x, (p * s->x + q) * s->k, b, (int64_t)o * s->k,
					                 s->k);
				out->v[to] = d.x;
				out->allow[to] = ulp2(out->type, d.x) + 1.001 * sum_error(d.mag, s->k);
			}
	*ncand = case_run(&c, PROGRAM, "product", arch, cand);
	case_end(&c);
}

static void
tables(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { TABLE = 100, BM = 16, BK = 32 };
	Case c;
	Buf *t, *r, *i, *j, *y;

	case_start(&c, 4);
	c.scattered = true;
	t = case_in(&c, "T", "f32", -1, 1, s->x, 0);
	r = case_in(&c, "R", "f32", -1, 1, s->m, s->k, 0);
	i = case_in(&c, "I", "i32", -3, TABLE + 3, s->m, s->n, 0);
	j = case_in(&c, "J", "i32", -1, BM + 1, s->m, 0);
	y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	for (int m = 0; m < s->m; m++)
		for (int n = 0; n < s->n; n++) {
			int64_t e = INDEX(i, m, n), row = INDEX(j, m);
			bool here = row >= 0 && row < BM && e < BK;
			double first = e < TABLE ? AT(t, e) : 0;
			double second = here ? AT(r, m / BM * BM + row, e) : 0;

			y->v[(int64_t)m * s->n + n] = (double)((float)first + (float)second * 2);
		}
	*ncand = case_run(&c, PROGRAM, "tables", arch, cand);
	case_end(&c);
}

static void
order(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { BM = 32 };
	Case c;
	Buf *x, *p, *y;

	case_start(&c, 5);
	c.scattered = true;
	x = case_in(&c, "X", "f16", -1, 1, s->m, s->k, 0);
	p = case_in(&c, "P", "i32", -1, BM + 1, s->m, 0);
	y = case_out(&c, "Y", "f16", s->m, s->k, 0);
	for (int m = 0; m < s->m; m++)
		for (int k = 0; k < s->k; k++) {
			int64_t row = INDEX(p, m);

			y->v[(int64_t)m * s->k + k] = row < 0 || row >= BM ? 0 : AT(x, m / BM * BM + row, k);
		}
	*ncand = case_run(&c, PROGRAM, "order", arch, cand);
	case_end(&c);
}

/* x: what is counted on by, prime to the number of elements. */
static void
turns(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { N = 128 };
	Case c;
	Buf *x, *p, *y;
	double now[N], next[N];

	case_start(&c, 6);
	c.scattered = true;
	case_def(&c, "T", s->n);
	x = case_in(&c, "X", "f32", -8, 8, 16, 8, 0);
	p = case_in(&c, "P", "i32", 0, 0, 16, 8, 0);
	y = case_out(&c, "Y", "f32", 16, 8, 0);
	for (int i = 0; i < N; i++) {
		buf_set(x, i, (double)(int)x->v[i]); /* so that all is exact */
		buf_set(p, i, (i * s->x + 5) % N);
		now[i] = x->v[i];
	}
	for (int t = 0; t < s->n; t++) {
		for (int i = 0; i < N; i++)
			next[(int)p->v[i]] = now[i] * 2;
		for (int i = 0; i < N; i++)
			now[i] = next[(int)p->v[i]] + 1;
	}
	for (int i = 0; i < N; i++)
		y->v[i] = now[i];
	*ncand = case_run(&c, PROGRAM, "turns", arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_, h_, x_) { .m = m_, .n = n_, .k = k_, .h = h_, .x = x_ }
enum { SIZES = 3 };
static const struct {
	ExampleFn *fn;
	Size size[SIZES];
} example[] = {
	{ apart, { S(8, 16, 8, 10, 12), S(1, 1, 1, 1, 1), S(9, 17, 11, 5, 40) } },
	{ outer, { S(16, 32, 0, 37, 71), S(1, 1, 0, 10, 10), S(19, 45, 0, 40, 53) } },
	{ product,
	  { { .m = 8, .n = 8, .d = 64, .k = 64, .h = 10, .x = 10 },
	    { .m = 1, .n = 1, .d = 8, .k = 8, .h = 1, .x = 1 },
	    { .m = 9, .n = 10, .d = 72, .k = 40, .h = 7, .x = 13 } } },
	{ tables, { S(16, 32, 32, 0, 100), S(1, 1, 1, 0, 1), S(19, 45, 40, 0, 77) } },
	{ order, { S(32, 0, 64, 0, 0), S(1, 0, 8, 0, 0), S(70, 0, 72, 0, 0) } },
	{ turns, { S(0, 1, 0, 0, 3), S(0, 2, 0, 0, 77), S(0, 3, 0, 0, 127) } },
};

/* The best candidates, the targets in turn, and another of the last size. */
TEST_EACH(sizes, COUNT_OF(example))
{
	static const char *const arch[SIZES] = { "sm_80", "sm_90a", "sm_80" };
	uint32_t n = 0;

	for (int i = 0; i < SIZES; i++)
		example[_i].fn(&example[_i].size[i], arch[i], &n, 0);
	example[_i].fn(&example[_i].size[SIZES - 1], "sm_90a", &n, 0);
	if (n > 1)
		example[_i].fn(&example[_i].size[SIZES - 1], "sm_90a", &n, n - 1);
}
TEST_PROGRAM(.timeout = 600);
