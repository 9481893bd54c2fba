/* test_gather.c - tests GEMMs whose rows cannot be copied by TMA directly: row tables, unaligned rows; and
 * batches, whose TMA boxes have three dimensions. */
#include "test/examples/util_case.h"
#include <string.h>

#define PROGRAM "../test/examples/gather"

/* Of the matrices of that number in a batch: a is [m, k], b [n, k]. */
static void
product(Buf *out, const Buf *a, const Buf *b, const Size *s, int batch)
{
	int64_t from_a = (int64_t)batch * s->m * s->k, from_b = (int64_t)batch * s->n * s->k;
	int64_t from = (int64_t)batch * s->m * s->n;

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			Sum d = sum_products(a, from_a + (int64_t)i * s->k, b, from_b + (int64_t)j * s->k,
			                     s->k);
			int64_t at = from + (int64_t)i * s->n + j;

			out->v[at] = d.x;
			out->allow[at] = ulp2(out->type, d.x) + 1.001 * sum_error(d.mag, s->k);
		}
}

static bool in_groups_too;

/* Only where warps have roles. */
static bool
start(Case *c, uint64_t seed, const char *arch)
{
	bool roles = strcmp(arch, "sm_90a") == 0;

	if (!roles && !in_groups_too)
		return false;
	case_start(c, seed);
	c->schedule = roles ? "roles" : NULL;
	return true;
}

/* x: what k is a multiple of. */
static void
anywhere(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *a, *b;

	*ncand = 1;
	if (!start(&c, 3, arch))
		return;
	case_def(&c, "GRAIN", s->x);
	a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0);
	product(case_out(&c, "C", "f16", s->m, s->n, 0), a, b, s, 0);
	*ncand = case_run(&c, PROGRAM, "anywhere", arch, cand);
	case_end(&c);
}

/* x: rows of B, of which each k has one, and some have none. */
static void
table(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *a, *b, *row, *out;

	*ncand = 1;
	if (!start(&c, 5, arch))
		return;
	a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	b = case_in(&c, "B", "f16", -1, 1, s->x, s->n, 0);
	row = case_in(&c, "ROW", "i32", 0, 0, s->k, 0);
	out = case_out(&c, "C", "f16", s->m, s->n, 0);
	for (int k = 0; k < s->k; k++)
		buf_set(row, k, k % 5 == 3 ? -1 : (k * 7 + 2) % s->x);
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int k = 0; k < s->k; k++) {
				int r = (int)row->v[k];
				double x = a->v[(int64_t)i * s->k + k];
				double p = r < 0 ? 0 : x * b->v[(int64_t)r * s->n + j];

				out->v[at] += p;
				mag += p < 0 ? -p : p;
			}
			out->allow[at] = ulp2(out->type, out->v[at]) + 1.001 * sum_error(mag, s->k);
		}
	*ncand = case_run(&c, PROGRAM, "table", arch, cand);
	case_end(&c);
}

static void
batched(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *a, *b, *out;

	*ncand = 1;
	if (!start(&c, 9, arch))
		return;
	a = case_in(&c, "A", "bf16", -1, 1, s->b, s->m, s->k, 0);
	b = case_in(&c, "B", "bf16", -1, 1, s->b, s->n, s->k, 0);
	out = case_out(&c, "C", "bf16", s->b, s->m, s->n, 0);
	for (int l = 0; l < s->b; l++)
		product(out, a, b, s, l);
	*ncand = case_run(&c, PROGRAM, "batched", arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_, x_) { .m = m_, .n = n_, .k = k_, .x = x_ }
#define B(b_, m_, n_, k_) { .b = b_, .m = m_, .n = n_, .k = k_ }
static const Example example[] = {
	{ .fn = anywhere,
	  .size = { S(64, 64, 256, 1), S(1, 8, 1, 1), S(70, 88, 131, 1), S(128, 136, 96, 1), S(65, 72, 69, 1),
	    S(33, 200, 74, 1), S(130, 64, 197, 1), S(64, 128, 264, 1) },
	  .faults = { S(70, 88, 395, 1), S(130, 136, 520, 1) } },
	{ .fn = anywhere,
	  .size = { S(64, 64, 256, 2), S(1, 8, 2, 2), S(70, 88, 202, 2), S(128, 136, 96, 4),
	    S(65, 72, 140, 4), S(33, 200, 76, 4), S(130, 64, 132, 2), S(64, 128, 264, 4) } },
	{ .fn = table,
	  .size = { S(64, 64, 128, 64), S(1, 8, 8, 3), S(70, 88, 200, 90), S(128, 136, 96, 7),
	    S(65, 72, 136, 300), S(33, 200, 72, 64), S(130, 64, 192, 1), S(64, 128, 264, 128) } },
	{ .fn = batched,
	  .size = { B(1, 64, 64, 128), B(3, 1, 8, 8), B(2, 70, 88, 200), B(4, 64, 72, 64), B(5, 33, 40, 72),
	    B(1, 130, 136, 192), B(3, 128, 64, 72), B(2, 64, 128, 264) } },
};

TEST_EACH(sizes, COUNT_OF(example))
{
	for (int i = 0; i < 8; i++) {
		uint32_t n;

		example[_i].fn(&example[_i].size[i], "sm_90a", &n, 0);
	}
}

/* A tile that lanes gather beside one that a pipeline fetches, where all warps do the same. */
TEST_EACH(in_groups, 8)
{
	uint32_t n;

	in_groups_too = true; /* each test has a process of its own */
	table(&example[2].size[_i], "sm_80", &n, 0);
}

TEST_EACH(candidates, COUNT_OF(example))
{
	example_candidates(&example[_i]);
}

TEST_EACH(faults, COUNT_OF(example))
{
	example_faults(&example[_i]);
}
TEST_PROGRAM(.timeout = 3600);
