/* test_bulk_nvcc.c - tests a matrix product by nvcc with a circular buffer of tensor copies: correct as
 * written, and reported with each of its synchronisations removed. */
#include <math.h>
#include "test/sim/cuda/cuda.h"
#include "test/sim/nvcc.h"
#include "test/check.h"

enum { M = 100, N = 72, K = 400, SMEM = 7 * 64 * 64 * 2 };         /* seven steps, the last of 16 columns */

static const Variant variants[] = {
	{ 90, "" }, { 90, "-G" }, { 90, "-DFORGET_FENCE" }, { 90, "-DFORGET_WAIT" }, { 90, "-DFORGET_EMPTY" },
};
enum { NVARIANTS = sizeof variants / sizeof *variants };
static char *text[NVARIANTS];

static int
small(uint64_t i)
{
	return (int)(mix(i) % 5) - 2;
}

/* f16 of a whole number below 2048, and back. */
static uint16_t
bits(int v)
{
	unsigned a = (unsigned)(v < 0 ? -v : v), e = 0;

	while (a >> (e + 1))
		e++;
	return (uint16_t)(v ? (v < 0 ? 0x8000u : 0) | (15 + e) << 10 | ((a << 10 >> e) & 0x3ff) : 0);
}

static double
number(uint16_t h)
{
	double m = ldexp(1024 + (h & 0x3ff), (h >> 10 & 31) - 25);

	return h & 0x7fff ? h >> 15 ? -m : m : 0;
}

/* A matrix of rows x cols f16 as the kernel wants it mapped: boxes of 64 x 64. */
static sim_tmap
map(uint64_t address, unsigned rows, unsigned cols)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	char why[200] = "";
	sim_tmap m;

	d.type = SIM_TMAP_F16;
	d.rank = 2;
	d.address = address;
	d.dim[0] = cols;
	d.dim[1] = rows;
	d.stride[0] = 2 * cols;
	d.box[0] = d.box[1] = 64;
	d.swizzle = SIM_SWIZZLE_128B;
	ck_assert_msg(sim_tmap_encode(&m, &d, why, sizeof why) == SIM_OK, "%s", why);
	return m;
}

typedef struct Gemm {
	sim *s;
	uint64_t a, b, c;
	sim_result *r;
	int rc;
} Gemm;

static uint64_t
matrix(sim *s, unsigned rows, unsigned cols, uint64_t salt, const char *name)
{
	uint64_t p = sim_alloc(s, (size_t)rows * cols * 2, name);
	uint16_t *h = calloc((size_t)rows * cols, 2);

	for (unsigned i = 0; i < rows * cols; i++)
		h[i] = bits(small(salt + i));
	if (salt)
		sim_write(s, p, h, (size_t)rows * cols * 2);
	free(h);
	return p;
}

static Gemm
multiply(const char *ptx, unsigned threads)
{
	Gemm g;
	sim_launch l = SIM_LAUNCH_INIT;
	int k = K;

	g.s = sim_open();
	g.a = matrix(g.s, M, K, 1, "A");
	g.b = matrix(g.s, N, K, 1u << 20, "B");
	g.c = matrix(g.s, M, N, 0, "C");
	{
		sim_tmap maps[3] = { map(g.a, M, K), map(g.b, N, K), map(g.c, M, N) };
		const void *args[] = { &maps[0], &maps[1], &maps[2], &k };
		l.grid[0] = 2;
		l.grid[1] = 2;
		l.block[0] = 160;
		l.smem = SMEM;
		l.args = args;
		l.threads = threads;
		g.rc = sim_run(g.s, must_load(g.s, ptx), "gemm", &l, &g.r);
	}
	return g;
}

static void
done(Gemm *g)
{
	sim_result_free(g->r);
	sim_close(g->s);
}

TEST_EACH(product, 2)
{
	Gemm g = multiply(text[_i], 2);
	uint16_t *c = calloc(M * N, 2);
	size_t missing = 1;

	if (g.rc != SIM_OK)
		print_faults(g.r);
	ck_assert_int_eq(g.rc, SIM_OK);
	ck_assert_int_eq(sim_read(g.s, g.c, c, M * N * 2), SIM_OK);
	sim_uninitialised(g.s, g.c, M * N * 2, &missing);
	ck_assert_uint_eq(missing, 0);
	for (unsigned m = 0; m < M; m++)
		for (unsigned n = 0; n < N; n++) {
			int want = 0;
			for (unsigned k = 0; k < K; k++)
				want += small(1 + m * K + k) * small((1u << 20) + n * K + k);
			ck_assert_msg(number(c[m * N + n]) == want, "C[%u, %u] is %g, not %d", m, n,
			              number(c[m * N + n]), want);
		}
	free(c);
	done(&g);
}

/* Seven boxes of A and B for each block; what is outside of a matrix is not read. */
TEST(traffic)
{
	Gemm g = multiply(text[0], 1);
	const sim_counts *n = &sim_stats_of(g.r)->by_class[SIM_CLASS_CPASYNC];

	ck_assert_uint_eq(n->global_bytes_read, 2 * (2 * M * K + 2 * N * K));
	ck_assert_uint_eq(n->global_bytes_written, 2 * M * N);
	ck_assert_uint_eq(n->global_requests, 4 * (2 * 7 + 1));
	done(&g);
}

TEST_EACH(forgotten, 3)
{
	/* what has to be said of it, and what may follow from that */
	static const struct { sim_fault_kind must; uint32_t may; } kinds[] = {
		{ SIM_FAULT_PROXY, 0 },
		{ SIM_FAULT_ASYNC_WRITE, 1u << SIM_FAULT_MBARRIER | 1u << SIM_FAULT_DEADLOCK },
		{ SIM_FAULT_DEADLOCK, 0 },
	};
	Gemm g = multiply(text[2 + _i], 1);
	uint32_t found = 0;
	sim_fault f;

	for (size_t i = 0; sim_fault_at(g.r, i, &f); i++)
		found |= 1u << f.kind;
	if (found & ~kinds[_i].may & ~(1u << kinds[_i].must))
		print_faults(g.r);
	ck_assert_int_eq(g.rc, SIM_E_FAULT);
	ck_assert(found >> kinds[_i].must & 1);
	ck_assert_uint_eq(found & ~kinds[_i].may, 1u << kinds[_i].must);
	done(&g);
}

static int
start(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (!nvcc_here() || !nvcc_knows(90)) {
		puts("no nvcc that knows sm_90");
		return SKIPPED;
	}
	return nvcc_compile("tma.cu", variants, NVARIANTS, text) ? RUN_TESTS : EXIT_FAILURE;
}

TEST_PROGRAM(.start = start, .timeout = 100);
