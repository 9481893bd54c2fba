/* test_clusters.c - tests GEMMs whose clusters load shared operands by multicast: no faults, validated, and
 * the same bits as without clusters, along either grid dimension, in full and partial tiles, with fewer,
 * equally many and more blocks than tiles. */
#include "test/examples/util_case.h"
#include <stdlib.h>
#include <string.h>

typedef struct Shape {
	int m, n, k;
} Shape;

typedef struct Product {
	const char *file, *kernel, *in, *out; /* element types of the factors and the result */
	int bn;
	Buf *(*more)(Case *c, const Shape *s, const char *out);
} Product;

static Buf *
plain(Case *c, const Shape *s, const char *out)
{
	return case_out(c, "C", out, s->m, s->n, 0);
}

static Buf *
bias(Case *c, const Shape *s, const char *out)
{
	case_in(c, "BIAS", "f16", -1, 1, s->n, 0);
	case_in(c, "R", "f16", -1, 1, s->m, s->n, 0);
	return plain(c, s, out);
}

static Buf *
scales(Case *c, const Shape *s, const char *out)
{
	case_in(c, "SA", "f32", 0.5, 2, s->m, 0);
	case_in(c, "SB", "f32", 0.5, 2, s->n, 0);
	return plain(c, s, out);
}

static Buf *
block_scales(Case *c, const Shape *s, const char *out)
{
	case_in(c, "SA", "f32", 0.5, 2, s->m, s->k / 128, 0);
	case_in(c, "SB", "f32", 0.5, 2, s->n / 128, s->k / 128, 0);
	return plain(c, s, out);
}

static Buf *
parts(Case *c, const Shape *s, const char *out)
{
	return case_out(c, "P", out, 3, s->m, s->n, 0);
}

static const Product product[] = {
	{ "gemm_f16", NULL, "f16", "f16", 128, plain },
	{ "gemm_f16", NULL, "f16", "f16", 256, plain },
	{ "gemm_epilogue", NULL, "f16", "f16", 128, bias },
	{ "gemm_int8", NULL, "i8", "f16", 128, scales },
	{ "gemm_fp8", NULL, "e4m3", "bf16", 128, block_scales },
	{ "split_k", "partial", "f16", "f32", 128, parts },
};

/* Bytes of the result, which is the caller's. */
static void *
run(const Product *p, const Shape *s, const uint32_t cluster[2], uint32_t clusters, const char *needs,
    uint64_t *n)
{
	Case c;
	void *bits;
	Buf *out;

	case_start(&c, 1);
	case_in(&c, "A", p->in, -3, 3, s->m, s->k, 0);
	case_in(&c, "B", p->in, -3, 3, s->n, s->k, 0);
	out = p->more(&c, s, p->out);
	for (int64_t i = 0; i < out->n; i++)
		out->allow[i] = -1; /* what is right, test_gemm.c says */
	case_def(&c, "BM", 128);
	case_def(&c, "BN", p->bn);
	case_def(&c, "WARPS", strcmp(p->file, "split_k") == 0 ? 4 : 8);
	c.cluster[0] = cluster[0];
	c.cluster[1] = cluster[1];
	c.cluster[2] = 1;
	c.clusters = clusters;
	c.needs = needs;
	case_run(&c, p->file, p->kernel, "sm_90a", 0);
	*n = out->bytes;
	bits = malloc(out->bytes);
	ck_assert_ptr_nonnull(bits);
	memcpy(bits, out->mem, out->bytes);
	case_end(&c);
	return bits;
}

/* 1 x 1, 3 x 2 and 5 x 3 tiles of 128 x 128, the last with edges. */
TEST_EACH(same_bits, COUNT_OF(product))
{
	static const Shape shape[] = { { 64, 128, 128 }, { 384, 256, 256 }, { 520, 384, 384 } };
	static const uint32_t cluster[][2] = { { 2, 1 }, { 1, 2 }, { 4, 1 } };

	for (size_t i = 0; i < COUNT_OF(shape); i++) {
		uint64_t n, m;
		void *right = run(&product[_i], &shape[i], (uint32_t[2]){ 1, 1 }, 1, NULL, &n);

		for (uint32_t x = 0; x < COUNT_OF(cluster); x++) {
			uint32_t clusters = 1 + (x + (uint32_t)i) % 3;
			void *is = run(&product[_i], &shape[i], cluster[x], clusters, NULL, &m);

			ck_assert_msg(n == m && memcmp(is, right, n) == 0,
			              "%s of %d x %d, clusters %u x %u: not the same", product[_i].file,
			              shape[i].m, shape[i].n, cluster[x][0], cluster[x][1]);
			free(is);
		}
		free(right);
	}
}

/* Without any arrival, at this block or another, or any copy to all, it is wrong. */
TEST_EACH(needed, 2)
{
	static const char *const line[] = { "mbarrier.arrive.shared::cluster", "multicast::cluster" };
	uint64_t n;

	free(run(&product[0], &(Shape){ 520, 384, 384 }, (uint32_t[2]){ 2, 1 }, 1, line[_i], &n));
}
