/* test_triton.c - tests kernels compiled by Triton (triton/make-ptx), all checks on, against float64
 * formulas.
 *
 * Bounds: u = 2^-24 is half a unit of f32, h = 2^-11 of f16. A sum of k products in f32 in any order, each
 * step rounded or truncated, is within 2 k u of the sum of the products' magnitudes. Approximate functions of
 * PTX are within 2^-22 (ex2, rsqrt) or 2 units (div.full), as its document states. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "test/check.h"
#include "test/sim/random.h"
#include "test/sim/simtest.h"

static const double U = 0x1p-24, H = 0x1p-11, TINY = 0x1p-24;
static const char *const archs[] = { "sm_80", "sm_90a" };

typedef struct Run {
	sim *s;
	sim_module *m;
	sim_launch l;
	unsigned scratch; /* bytes a block */
	const void *arg[24];
	uint64_t value[24];
	sim_tmap map[3];
	int n, nmap;
} Run;

/* PTX of triton/NAME_ARCH.ptx; the launch is set up from its first line. */
static Run
start(const char *name, const char *arch)
{
	Run r = { 0 };
	sim_launch l = SIM_LAUNCH_INIT;
	char path[700], *text;
	unsigned warps = 0;
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof path, "%.*s/triton/%s_%s.ptx", slash ? (int)(slash - __FILE__) : 1,
	         slash ? __FILE__ : ".", name, arch);
	text = read_text(path);
	ck_assert_msg(text != NULL, "no %s", path);
	r.l = l;
	ck_assert_int_eq(sscanf(text, "// triton %*s shared %u warps %u scratch %u", &r.l.smem, &warps,
	                        &r.scratch),
	                 3);
	r.l.block[0] = 32 * warps;
	r.s = sim_open();
	r.m = must_load(r.s, text);
	free(text);
	return r;
}

static uint64_t
buffer(Run *r, const void *data, size_t bytes, const char *name)
{
	uint64_t p = sim_alloc(r->s, bytes, name);

	if (data)
		ck_assert_int_eq(sim_write(r->s, p, data, bytes), SIM_OK);
	r->value[r->n] = p;
	r->arg[r->n] = &r->value[r->n];
	r->n++;
	return p;
}

static void
number(Run *r, const void *v, size_t bytes)
{
	memcpy(&r->value[r->n], v, bytes);
	r->arg[r->n] = &r->value[r->n];
	r->n++;
}

static void
ints(Run *r, int n, const int *v)
{
	for (int i = 0; i < n; i++)
		number(r, &v[i], sizeof v[i]);
}
#define INTS(r, ...) ints(r, (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[]){ __VA_ARGS__ })

/* Scratch memory and the profiler's come last. */
static void
go(Run *r, const char *entry, unsigned x, unsigned y)
{
	uint64_t blocks = (uint64_t)x * y, none = 0;
	sim_result *res;
	int rc;

	if (r->scratch)
		buffer(r, NULL, r->scratch * blocks, "scratch");
	else
		number(r, &none, sizeof none);
	number(r, &none, sizeof none);
	r->l.grid[0] = x;
	r->l.grid[1] = y;
	r->l.args = r->arg;
	rc = sim_run(r->s, r->m, entry, &r->l, &res);
	if (rc != SIM_OK) {
		fprintf(stderr, "%s: %d %s\n", entry, rc, sim_result_text(res));
		print_faults(res);
	}
	ck_assert_int_eq(rc, SIM_OK);
	sim_result_free(res);
}

/* ---- numbers ---- */

static uint32_t seed = 1;
static uint32_t
rnd(void)
{
	return congruential(&seed);
}

/* In [-1, 1], with every bit in use. */
static double
uniform(void)
{
	return (double)rnd() / 8388608 - 1;
}

static double
half_value(uint16_t h)
{
	int e = h >> 10 & 31, f = h & 1023;
	double v = e == 31 ? f ? NAN : INFINITY : e ? ldexp(1024 + f, e - 25)
	                                            : ldexp(f, -24);

	return h & 0x8000 ? -v : v;
}

/* Some f16 below 2 in size. */
static uint16_t
some_half(void)
{
	return (uint16_t)((rnd() & 0x8000) | (0x2c00 + rnd() % 0x1000));
}

static uint16_t *
halves(size_t n)
{
	uint16_t *p = calloc(n, sizeof *p);

	for (size_t i = 0; i < n; i++)
		p[i] = some_half();
	return p;
}

static float *
floats(size_t n)
{
	float *p = calloc(n, sizeof *p);

	for (size_t i = 0; i < n; i++)
		p[i] = (float)(4 * uniform());
	return p;
}

static void
near(double got, double want, double bound, const char *what, size_t at)
{
	ck_assert_msg(fabs(got - want) <= bound, "%s %zu is %.9g, not %.9g (+- %.3g)", what, at, got, want,
	              bound);
}

/* ---- matrix products ---- */

/* c[m,n] against a[m,k] times b, where b(p, j) = b[p * sp + j * sj]. */
static void
check_matmul(Run *r, uint64_t pc, const uint16_t *a, const double *b, int m, int n, int k)
{
	size_t size = (size_t)m * (size_t)n;
	uint16_t *c = calloc(size, sizeof *c);

	ck_assert_int_eq(sim_read(r->s, pc, c, size * sizeof *c), SIM_OK);
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0, all = 0;
			for (int p = 0; p < k; p++) {
				double t = half_value(a[i * k + p]) * b[p * n + j];
				sum += t;
				all += fabs(t);
			}
			near(half_value(c[i * n + j]), sum, 2 * k * U * all * (1 + H) + H * fabs(sum) + TINY,
			     "c", (size_t)(i * n + j));
		}
	free(c);
	sim_close(r->s);
}

/* b as doubles, as rows of k. */
static double *
as_doubles(const uint16_t *b, int k, int n, bool transposed)
{
	double *d = calloc((size_t)k * (size_t)n, sizeof *d);

	for (int p = 0; p < k; p++)
		for (int j = 0; j < n; j++)
			d[p * n + j] = half_value(transposed ? b[j * k + p] : b[p * n + j]);
	return d;
}

static void
matmul_of(const char *name, const char *arch, int m, int n, int k, int bm, int bn)
{
	Run r = start(name, arch);
	size_t na = (size_t)m * (size_t)k, nb = (size_t)k * (size_t)n, nc = (size_t)m * (size_t)n;
	uint16_t *a = halves(na), *b = halves(nb);
	double *d = as_doubles(b, k, n, false);
	uint64_t pc;

	buffer(&r, a, 2 * na, "a");
	buffer(&r, b, 2 * nb, "b");
	pc = buffer(&r, NULL, 2 * nc, "c");
	INTS(&r, m, n, k, k, n, n);
	go(&r, "matmul", (unsigned)(((m + bm - 1) / bm) * ((n + bn - 1) / bn)), 1);
	check_matmul(&r, pc, a, d, m, n, k);
	free(a);
	free(b);
	free(d);
}

TEST_EACH(matmul, 2)
{
	matmul_of("matmul", archs[_i], 100, 144, 112, 64, 64);
}

TEST_EACH(matmul_ragged, 1)
{
	matmul_of("matmul_ragged", archs[_i], 33, 71, 45, 32, 64);
	matmul_of("matmul_ragged", archs[_i], 1, 1, 1, 32, 64);
}

/* Eight codes of a column in a word, low bits first; groups of 64 rows. */
TEST_EACH(matmul_w4, 2)
{
	enum { M = 40,
	       N = 128,
	       K = 128,
	       G = 64 };
	Run r = start("matmul_w4", archs[_i]);
	uint16_t *a = halves(M * K), *s = halves(K / G * N);
	uint32_t w[K / 8 * N];
	int8_t z[K / G * N];
	double *d = calloc(K * N, sizeof *d);
	uint64_t pc;

	for (size_t i = 0; i < K / 8 * N; i++)
		w[i] = rnd() << 16 ^ rnd();
	for (size_t i = 0; i < K / G * N; i++)
		z[i] = (int8_t)(rnd() & 15);
	for (int p = 0; p < K; p++) /* f16 times f16 is rounded once */
		for (int j = 0; j < N; j++) {
			int code = (int)(w[p / 8 * N + j] >> p % 8 * 4 & 15) - z[p / G * N + j];
			double v = code * half_value(s[p / G * N + j]);
			int e;
			frexp(v, &e);
			d[p * N + j] = v == 0 ? 0 : ldexp(nearbyint(ldexp(v, 11 - e)), e - 11);
		}
	buffer(&r, a, 2 * M * K, "a");
	buffer(&r, w, sizeof w, "w");
	buffer(&r, s, 2 * K / G * N, "s");
	buffer(&r, z, sizeof z, "z");
	pc = buffer(&r, NULL, 2 * M * N, "c");
	INTS(&r, M, N, K);
	go(&r, "matmul_w4", (M + 31) / 32, (N + 63) / 64);
	check_matmul(&r, pc, a, d, M, N, K);
	free(a);
	free(s);
	free(d);
}

/* A descriptor made by the host: the map of an f16 matrix with boxes of 64 x 64 in rows of 128 bytes, sizes,
 * strides in elements. */
static void
descriptor(Run *r, uint64_t p, int rows, int cols)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	char why[200];
	int64_t stride[2] = { cols, 1 };

	d.type = SIM_TMAP_F16;
	d.rank = 2;
	d.address = p;
	d.dim[0] = (uint64_t)cols;
	d.dim[1] = (uint64_t)rows;
	d.stride[0] = 2 * (uint64_t)cols;
	d.box[0] = d.box[1] = 64;
	d.swizzle = SIM_SWIZZLE_128B;
	ck_assert_msg(sim_tmap_encode(&r->map[r->nmap], &d, why, sizeof why) == SIM_OK, "%s", why);
	r->arg[r->n++] = &r->map[r->nmap++];
	INTS(r, rows, cols);
	number(r, &stride[0], sizeof stride[0]);
	number(r, &stride[1], sizeof stride[1]);
}

/* Tiles at the edges are partly outside: the copies read zeros there and write nothing.  Three blocks walk
 * over six tiles. */
TEST(matmul_tma)
{
	enum { M = 120,
	       N = 136,
	       K = 200 };
	Run r = start("matmul_tma", "sm_90a");
	uint16_t *a = halves(M * K), *b = halves(K * N);
	double *d = as_doubles(b, K, N, false);
	uint64_t pa = sim_alloc(r.s, 2 * M * K, "a"), pb = sim_alloc(r.s, 2 * K * N, "b");
	uint64_t pc = sim_alloc(r.s, 2 * M * N, "c");

	sim_write(r.s, pa, a, 2 * M * K);
	sim_write(r.s, pb, b, 2 * K * N);
	descriptor(&r, pa, M, K);
	descriptor(&r, pb, K, N);
	descriptor(&r, pc, M, N);
	INTS(&r, M, N, K);
	go(&r, "matmul_tma", 3, 1);
	check_matmul(&r, pc, a, d, M, N, K);
	free(a);
	free(b);
	free(d);
}

/* Descriptors made by the kernel; b is n by k. */
TEST(matmul_desc)
{
	enum { M = 100,
	       N = 128,
	       K = 112 };
	Run r = start("matmul_desc", "sm_90a");
	uint16_t *a = halves(M * K), *b = halves(K * N);
	double *d = as_doubles(b, K, N, true);
	uint64_t pc;

	buffer(&r, a, 2 * M * K, "a");
	buffer(&r, b, 2 * K * N, "b");
	pc = buffer(&r, NULL, 2 * M * N, "c");
	INTS(&r, M, N, K);
	go(&r, "matmul_desc", 2, 2);
	check_matmul(&r, pc, a, d, M, N, K);
	free(a);
	free(b);
	free(d);
}

/* ---- rows ---- */

TEST_EACH(softmax, 2)
{
	enum { ROWS = 7,
	       COLS = 781,
	       STRIDE = 800 };
	Run r = start("softmax", archs[_i]);
	float *x = floats(ROWS * STRIDE), y[ROWS * STRIDE];
	uint64_t py, px;

	py = buffer(&r, NULL, sizeof y, "y");
	px = buffer(&r, x, sizeof y, "x");
	(void)px;
	INTS(&r, STRIDE, STRIDE, ROWS, COLS);
	go(&r, "softmax", 3, 1);
	sim_read(r.s, py, y, sizeof y);
	for (size_t i = 0; i < ROWS; i++) {
		double top = -INFINITY, sum = 0;
		for (size_t j = 0; j < COLS; j++)
			top = fmax(top, (double)x[i * STRIDE + j]);
		for (size_t j = 0; j < COLS; j++)
			sum += exp((double)x[i * STRIDE + j] - top);
		for (size_t j = 0; j < COLS; j++) {
			/* x - top and its product with log2(e) are rounded, and log2(e) is; then ex2, on
			 * both sides of the fraction; the sum; div.full */
			double v = (double)x[i * STRIDE + j] - top, want = exp(v) / sum;
			double rel = 2 * (3 * 16 * U + 0x1p-22) + 2 * COLS * U + 4 * U;
			near((double)y[i * STRIDE + j], want, want * rel, "y", i * STRIDE + j);
		}
	}
	free(x);
	sim_close(r.s);
}

TEST_EACH(layer_norm, 2)
{
	enum { ROWS = 3,
	       COLS = 1100,
	       STRIDE = 1104 };
	Run r = start("layer_norm", archs[_i]);
	uint16_t *x = halves(ROWS * STRIDE), y[ROWS * STRIDE];
	float *w = floats(COLS), *b = floats(COLS), mean[ROWS], rstd[ROWS], eps = 1e-5f;
	uint64_t py, pm, pr;

	buffer(&r, x, sizeof y, "x");
	py = buffer(&r, NULL, sizeof y, "y");
	buffer(&r, w, COLS * sizeof *w, "w");
	buffer(&r, b, COLS * sizeof *b, "b");
	pm = buffer(&r, NULL, sizeof mean, "mean");
	pr = buffer(&r, NULL, sizeof rstd, "rstd");
	INTS(&r, STRIDE, COLS);
	number(&r, &eps, sizeof eps);
	go(&r, "layer_norm", ROWS, 1);
	sim_read(r.s, py, y, sizeof y);
	sim_read(r.s, pm, mean, sizeof mean);
	sim_read(r.s, pr, rstd, sizeof rstd);
	for (size_t i = 0; i < ROWS; i++) {
		double sum = 0, all = 0, sq = 0, mu, rs, dmu, drs;
		for (size_t j = 0; j < COLS; j++) {
			double v = half_value(x[i * STRIDE + j]);
			sum += v;
			all += fabs(v);
		}
		mu = sum / COLS;
		dmu = 2 * COLS * U * all / COLS + 4 * U * fabs(mu);
		for (size_t j = 0; j < COLS; j++)
			sq += pow(half_value(x[i * STRIDE + j]) - mu, 2);
		rs = 1 / sqrt(sq / COLS + (double)eps);
		drs = rs * (2 * COLS * U + 0x1p-22 + 8 * U + 4 * dmu * rs);
		near((double)mean[i], mu, dmu, "mean", i);
		near((double)rstd[i], rs, drs, "rstd", i);
		for (size_t j = 0; j < COLS; j++) {
			double v = half_value(x[i * STRIDE + j]) - mu, g = (double)w[j], h = (double)b[j];
			double want = v * rs * g + h;
			double err = fabs(g) * (dmu * rs + fabs(v) * drs) + 4 * U *
			                                                            (fabs(v * rs * g) +
			                                                             fabs(h));
			near(half_value(y[i * STRIDE + j]), want, err * (1 + H) + H * fabs(want) + TINY, "y",
			     i * STRIDE + j);
		}
	}
	free(x);
	free(w);
	free(b);
	sim_close(r.s);
}

/* ---- attention ---- */

enum { D = 64 };

/* One row: weights from exp, summed with v; the kernel rounds each weight to f16, and rescales sums as often
 * as it takes another step over n. */
static void
check_row(const uint16_t *q, const uint16_t *k, const uint16_t *v, const uint16_t *o, int n, double scale,
          size_t at)
{
	double *s = calloc((size_t)n, sizeof *s), top = -INFINITY, total = 0, ds = 0, deep = 0;

	for (int j = 0; j < n; j++) {
		double all = 0;
		for (int d = 0; d < D; d++) {
			double t = half_value(q[d]) * half_value(k[j * D + d]);
			s[j] += t;
			all += fabs(t);
		}
		s[j] *= scale;
		ds = fmax(ds, (2 * D * U * all + 4 * U * all) * scale); /* of any score */
		top = fmax(top, s[j]);
		deep = fmax(deep, fabs(s[j]));
	}
	for (int j = 0; j < n; j++)
		total += exp(s[j] - top);
	for (int d = 0; d < D; d++) {
		double sum = 0, all = 0, rel, under = 0;
		for (int j = 0; j < n; j++) {
			double t = exp(s[j] - top) / total * half_value(v[j * D + d]);
			sum += t;
			all += fabs(t);
			under += TINY * fabs(half_value(v[j * D + d])); /* weights that f16 makes subnormal */
		}
		rel = H + 2 * (ds + 8 * U * deep) + 4 * n * U + 6 * 0x1p-22;
		near(half_value(o[d]), sum, (rel * all + under) * (1 + H) + H * fabs(sum) + TINY, "o",
		     at + (size_t)d);
	}
	free(s);
}

static void
attention_of(const char *name, const char *arch, int n, int bm, bool causal)
{
	enum { HEADS = 2 };
	Run r = start(name, arch);
	size_t one = (size_t)n * D, all = HEADS * one;
	uint16_t *q = halves(all), *k = halves(all), *v = halves(all), *o = calloc(all, sizeof *o);
	float scale = 0.125f;
	uint64_t po;

	buffer(&r, q, 2 * all, "q");
	buffer(&r, k, 2 * all, "k");
	buffer(&r, v, 2 * all, "v");
	po = buffer(&r, NULL, 2 * all, "o");
	number(&r, &scale, sizeof scale);
	INTS(&r, (int)one, n);
	go(&r, "attention", (unsigned)((n + bm - 1) / bm), HEADS);
	sim_read(r.s, po, o, 2 * all);
	for (size_t h = 0; h < HEADS; h++)
		for (int i = 0; i < n; i++) {
			size_t at = h * one + (size_t)i * D;
			check_row(q + at, k + h * one, v + h * one, o + at, causal ? i + 1 : n,
			          (double)scale, at);
		}
	free(q);
	free(k);
	free(v);
	free(o);
	sim_close(r.s);
}

TEST_EACH(attention, 2)
{
	attention_of("attention", archs[_i], 100, 64, false);
}

TEST_EACH(attention_causal, 2)
{
	attention_of("attention_causal", archs[_i], 150, 64, true);
}

/* ---- integers ---- */

static int
by_value(const void *x, const void *y)
{
	const int a = *(const int *)x, b = *(const int *)y;

	return (a > b) - (a < b);
}

TEST_EACH(scans, 2)
{
	enum { B = 512,
	       BLOCKS = 3,
	       N = B * BLOCKS,
	       BINS = 64 };
	Run r = start("scans", archs[_i]);
	int x[N], got[N], best[BLOCKS], bins[BLOCKS * BINS], total[2] = { 0, INT32_MIN }, want[2];
	uint64_t psum, pbest, psort, pbins, ptotal;

	for (int i = 0; i < N; i++)
		x[i] = (int)(rnd() % 5000) - 2000;
	memcpy(want, total, sizeof want);
	buffer(&r, x, sizeof x, "x");
	psum = buffer(&r, NULL, sizeof got, "sums");
	pbest = buffer(&r, NULL, sizeof best, "best");
	psort = buffer(&r, NULL, sizeof got, "sorted");
	pbins = buffer(&r, NULL, sizeof bins, "bins");
	ptotal = buffer(&r, total, sizeof total, "total");
	go(&r, "scans", BLOCKS, 1);
	sim_read(r.s, psum, got, sizeof got);
	sim_read(r.s, pbest, best, sizeof best);
	sim_read(r.s, pbins, bins, sizeof bins);
	sim_read(r.s, ptotal, total, sizeof total);
	for (int b = 0; b < BLOCKS; b++) {
		int sum = 0, top = b * B, count[BINS] = { 0 };
		for (int i = b * B; i < (b + 1) * B; i++) {
			sum += x[i];
			ck_assert_int_eq(got[i], sum);
			if (x[i] > x[top])
				top = i;
			count[x[i] & (BINS - 1)]++;
		}
		ck_assert_int_eq(best[b], top - b * B);
		ck_assert_int_eq(memcmp(count, bins + b * BINS, sizeof count), 0);
		want[0] += sum;
		want[1] = x[top] > want[1] ? x[top] : want[1];
	}
	ck_assert_int_eq(total[0], want[0]);
	ck_assert_int_eq(total[1], want[1]);
	sim_read(r.s, psort, got, sizeof got);
	for (int b = 0; b < BLOCKS; b++)
		qsort(x + b * B, B, sizeof *x, by_value);
	ck_assert_int_eq(memcmp(x, got, sizeof got), 0);
	sim_close(r.s);
}

/* Philox 4x32 with 10 rounds (Salmon and others, 2011); key and counter in their low words. */
static uint32_t
philox(uint32_t key, uint32_t counter)
{
	uint32_t c[4] = { counter, 0, 0, 0 }, k[2] = { key, 0 };

	for (int i = 0; i < 10; i++) {
		uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
		c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
		c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
		c[1] = (uint32_t)b;
		c[3] = (uint32_t)a;
		k[0] += 0x9E3779B9u;
		k[1] += 0xBB67AE85u;
	}
	return c[0];
}

TEST_EACH(dropout, 2)
{
	enum { N = 1000,
	       B = 256 };
	Run r = start("dropout", archs[_i]);
	float *x = floats(N), y[N], p = 0.25f;
	int lock = 0, count[B / 4] = { 0 }, kept[B / 4] = { 0 };
	uint64_t py, pc;

	buffer(&r, x, sizeof y, "x");
	py = buffer(&r, NULL, sizeof y, "y");
	INTS(&r, N);
	number(&r, &p, sizeof p);
	INTS(&r, 1234);
	buffer(&r, &lock, sizeof lock, "lock");
	pc = buffer(&r, count, sizeof count, "count");
	go(&r, "dropout", (N + B - 1) / B, 1);
	sim_read(r.s, py, y, sizeof y);
	sim_read(r.s, pc, count, sizeof count);
	for (int i = 0; i < N; i++) {
		int32_t bits = (int32_t)philox(1234, (uint32_t)i);
		double u = (double)(bits < 0 ? -bits - 1 : bits) * 4.6566127342e-10;
		double want = u > (double)p ? (double)x[i] / (1 - (double)p) : 0;
		ck_assert_double_gt(fabs(u - (double)p), 1e-6); /* the roundings of u do not matter */
		kept[i % B / 4] += u > (double)p;
		near((double)y[i], want, 4 * U * fabs(want), "y", (size_t)i);
	}
	ck_assert_int_eq(memcmp(count, kept, sizeof count), 0);
	free(x);
	sim_close(r.s);
}

TEST_PROGRAM(.timeout = 60);
