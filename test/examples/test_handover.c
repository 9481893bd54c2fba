/* test_handover.c - tests the protocols between blocks (sum_one_launch, prefix_sum, softmax_grid,
 * argmax_locked) against plain C loops, with several interleavings of the blocks. */
#include "test/examples/util_case.h"
#include <math.h>

enum { PARTS = 256 };

/* A tensor that the kernel leaves as it found it, 0. */
static void
zeros(Case *c, const char *name, int64_t n)
{
	case_inout(c, name, "i32", 0, 0, (int)n, 0);
}

/* A tensor whose contents are unspecified. */
static void
scratch(Case *c, const char *name, const char *type, int rows, int n)
{
	Buf *b = rows ? case_inout(c, name, type, 0, 0, rows, n, 0) : case_inout(c, name, type, 0, 0, n, 0);

	for (int64_t i = 0; i < b->n; i++)
		b->allow[i] = -1;
}

/* Lines of the PTX without which the next case is wrong; NULL: not asked. */
static const char *needs;

static int
parts(const Size *s)
{
	return (s->n + PARTS - 1) / PARTS;
}

static void
begin(Case *c, uint64_t seed)
{
	case_start(c, seed);
	c->schedules = 3;
	c->needs = needs;
	case_def(c, "BN", PARTS);
}

/* Multiples of 2^-3, few of them: their sum is exact. */
static void
sum(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *y;

	begin(&c, 1);
	x = case_in(&c, "X", "f32", -8, 8, s->n, 0);
	scratch(&c, "P", "f32", 0, s->m);
	zeros(&c, "T", 1);
	y = case_out(&c, "Y", "f32", 1, 0);
	for (int i = 0; i < s->n; i++) {
		buf_set(x, i, floor(x->v[i] * 8) / 8);
		y->v[0] += x->v[i];
	}
	*ncand = case_run(&c, "sum_one_launch", "sum_one_launch", arch, cand);
	case_end(&c);
}

static void
prefix(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *y;
	double now = 0;

	begin(&c, 2);
	x = case_in(&c, "X", "i32", -9, 99, s->n, 0);
	y = case_out(&c, "Y", "i32", s->n, 0);
	scratch(&c, "SUM", "i32", 2, parts(s));
	zeros(&c, "FLAG", parts(s));
	zeros(&c, "COUNT", 2);
	for (int i = 0; i < s->n; i++)
		y->v[i] = now += x->v[i];
	*ncand = case_run(&c, "prefix_sum", "prefix_sum", arch, cand);
	case_end(&c);
}

static void
softmax(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *y, *word;

	begin(&c, 3);
	x = case_in(&c, "X", "f32", -8, 8, s->n, 0);
	scratch(&c, "TOP", "f32", 0, s->m);
	scratch(&c, "TOTAL", "f32", 0, s->m);
	word = case_inout(&c, "S", "i32", 0, 0, 1, 0);
	word->v[0] = INT32_MIN; /* one barrier inverts its phase */
	y = case_out(&c, "Y", "f32", s->n, 0);
	case_softmax(x, y, 1, s->n);
	*ncand = case_run(&c, "softmax_grid", "softmax_grid", arch, cand);
	case_end(&c);
}

/* Some equal ones are the largest. */
static void
argmax(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *v, *i;

	begin(&c, 4);
	x = case_in(&c, "X", "f32", -4, 4, s->n, 0);
	v = case_inout(&c, "VALUE", "f32", -5, -5, 1, 0);
	i = case_inout(&c, "INDEX", "i32", 0, 0, 1, 0);
	zeros(&c, "LOCK", 1);
	for (int n = s->n - 1; n >= 0; n--) {
		buf_set(x, n, floor(x->v[n] * 4));
		if (x->v[n] >= v->v[0]) {
			v->v[0] = x->v[n];
			i->v[0] = n;
		}
	}
	*ncand = case_run(&c, "argmax_locked", "argmax_locked", arch, cand);
	case_end(&c);
}

/* n elements, m blocks where the program does not say how many */
#define SIZES                                                                                      \
	{ .n = 1, .m = 1 }, { .n = 7, .m = 3 }, { .n = 2880, .m = 5 }, { .n = 33, .m = 2 },        \
		{ .n = 200, .m = 7 }, { .n = 1000, .m = 4 }, { .n = 4304, .m = 17 },               \
		{ .n = 4304, .m = 40 }
static const Example example[] = {
	{ .fn = sum, .size = { SIZES } },
	{ .fn = prefix, .size = { SIZES } },
	{ .fn = softmax, .size = { SIZES } },
	{ .fn = argmax, .size = { SIZES } },
};

/* Without any one of the fences, or all of a grid's barrier, the simulator reports a race. Not of the others,
 * in which a fence precedes a block's first signal, before which it has stored nothing. */
TEST_EACH(fences, COUNT_OF(example))
{
	static const char *const archs[] = { "sm_75", "sm_80", "sm_90a", "sm_120a" };
	uint32_t n;

	needs = "fence.acq_rel.gpu";
	for (size_t i = 0; i < COUNT_OF(archs); i++)
		if (example_on(archs[i]) && (example[_i].fn == sum || example[_i].fn == softmax))
			example[_i].fn(&example[_i].size[2], archs[i], &n, 0);
}

TEST_EACH(sizes, COUNT_OF(example))
{
	example_sizes(&example[_i]);
}
TEST_EACH(candidates, COUNT_OF(example))
{
	example_candidates(&example[_i]);
}
TEST_PROGRAM(.timeout = 3600);
