/* test_programs.c - tests kernels from source in the tile interpreter against plain C loops. */
#include "hexc/pass/pass.h"
#include "test/interp/util_interp.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static Run r;

static void
go(const char *src, const char *defines, const char *sizes)
{
	run_bounded(&r, u, src, defines, sizes, 1);
}

static void
near(double got, double want, double rel, const char *what, int64_t i)
{
	ck_assert_msg(fabs(got - want) <= rel * fabs(want) || got == want || (isnan(got) && isnan(want)),
	              "%s[%lld] is %.17g, not %.17g", what, (long long)i, got, want);
}

/* ---- matrix products ------------------------------------------------------------------------- */

static const char gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[N, K], C: out f16[M, N])\n"
	"    tune BM = 16|32, BN = 16|32, BK = 16|32, STAGES = 1..3\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    var acc: register f32[BM, BN] = 0;\n"
	"    pipeline k in 0..K step BK stages STAGES {\n"
	"        let a: shared = A[m :+ BM, k :+ BK];\n"
	"        let b: shared = B[n :+ BN, k :+ BK];\n"
	"        acc += dot(a, b.T);\n"
	"    }\n"
	"    C[m :+ BM, n :+ BN] = f16(acc);\n"
	"}\n";

/* Small integers: every sum is exact, so the result is rounded once and known to the bit. */
static void
fill_small(const char *name, int mod)
{
	for (int64_t i = 0; i < run_arg(&r, name)->count; i++)
		run_put(&r, name, i, (double)((i * 7 + i / 13) % mod - mod / 2));
}

static void
check_gemm(int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = 0;

			for (int64_t p = 0; p < k; p++)
				sum += run_get(&r, "A", i * k + p) * run_get(&r, "B", j * k + p);
			near(run_get(&r, "C", i * n + j), num_round(D_f16, sum), 0, "C", i * n + j);
		}
}

TEST(matmul)
{
	go(gemm, "BM=32", "M=64 N=48 K=64");
	fill_small("A", 9);
	fill_small("B", 7);
	run_ok(&r, NULL);
	check_gemm(64, 48, 64);
}

TEST(matmul_ragged)
{
	go(gemm, "BM=16 BN=32 BK=32", "M=37 N=41 K=75");
	fill_small("A", 9);
	fill_small("B", 7);
	run_ok(&r, NULL);
	check_gemm(37, 41, 75);
}

/* The accumulator is rounded to f16 after every dot. */
TEST(matmul_f16_accumulate)
{
	static const char src[] =
		"kernel g(A: f16[16, K], B: f16[K, 16], C: out f16[16, 16])\n"
		"{\n"
		"    grid(1);\n"
		"    var acc: register f16[16, 16] = 0;\n"
		"    for k in 0..K step 16 {\n"
		"        acc += dot(A[:, k :+ 16], B[k :+ 16, :], f16);\n"
		"    }\n"
		"    C[:, :] = acc;\n"
		"}\n";

	go(src, "", "K=64");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 256; i++) {
		double acc = 0;

		for (int64_t k = 0; k < 64; k += 16) {
			for (int64_t p = k; p < k + 16; p++)
				acc += run_get(&r, "A", i / 16 * 64 + p) * run_get(&r, "B", p * 16 + i % 16);
			acc = num_round(D_f16, acc);
		}
		near(run_get(&r, "C", i), acc, 0, "C", i);
	}
}

TEST(matmul_i8)
{
	static const char src[] =
		"kernel g(A: i8[M, K], B: i8[K, N], C: out i32[M, N])\n"
		"{\n"
		"    grid(ceil(M, 16), ceil(N, 16));\n"
		"    let m = block.x * 16, n = block.y * 16;\n"
		"    var acc: register i32[16, 16] = 0;\n"
		"    for k in 0..K step 32 {\n"
		"        acc += dot(A[m :+ 16, k :+ 32], B[k :+ 32, n :+ 16]);\n"
		"    }\n"
		"    C[m :+ 16, n :+ 16] = acc;\n"
		"}\n";

	go(src, "", "M=20 N=30 K=100");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 600; i++) {
		double sum = 0;

		for (int64_t p = 0; p < 100; p++)
			sum += run_get(&r, "A", i / 30 * 100 + p) * run_get(&r, "B", p * 30 + i % 30);
		near(run_get(&r, "C", i), sum, 0, "C", i);
	}
}

/* Weights of four bits, a scale and zero point per group; each step rounds to f16. */
TEST(matmul_u4)
{
	static const char src[] =
		"kernel g(A: f16[M, K], W: u4[N, K], S: f16[K / 32, N], Z: u4[K / 32, N], C: out f32[M, N])\n"
		"    assume K % 32 == 0\n"
		"{\n"
		"    grid(ceil(M, 16), ceil(N, 16));\n"
		"    let m = block.x * 16, n = block.y * 16;\n"
		"    var acc: register f32[16, 16] = 0;\n"
		"    pipeline k in 0..K step 32 stages 2 {\n"
		"        let a: shared = A[m :+ 16, k :+ 32];\n"
		"        let w: shared = W[n :+ 16, k :+ 32];\n"
		"        let s: shared = S[k / 32 :+ 1, n :+ 16];\n"
		"        let z: shared = Z[k / 32 :+ 1, n :+ 16];\n"
		"        acc += dot(a, (f16(w.T) - f16(z)) * s);\n"
		"    }\n"
		"    C[m :+ 16, n :+ 16] = acc;\n"
		"}\n";
	int64_t n = 21, k = 96;

	go(src, "", "M=19 N=21 K=96");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 19 * n; i++) {
		double acc = 0;

		for (int64_t p = 0; p < k; p++) {
			double w = run_get(&r, "W", i % n * k + p) - run_get(&r, "Z", p / 32 * n + i % n);

			w = num_round(D_f16, w * run_get(&r, "S", p / 32 * n + i % n));
			acc += run_get(&r, "A", i / n * k + p) * w;
			if (p % 32 == 31)
				acc = num_round(D_f32, acc);
		}
		near(run_get(&r, "C", i), acc, 1e-6, "C", i);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

TEST_EACH(softmax, 2)
{
	static const char src[] =
		"kernel s(X: f32[M, N], Y: out f32[M, N])\n"
		"{\n"
		"    grid(ceil(M, 4));\n"
		"    let x: register = X[block.x * 4 :+ 4, 0 :+ 64];\n"
		"    let e = exp(x - reduce_max(x, 1));\n"
		"    Y[block.x * 4 :+ 4, 0 :+ 64] = e / sum(e, 1);\n"
		"}\n";
	int64_t n = _i ? 64 : 51;

	go(src, "", _i ? "M=9 N=64" : "M=9 N=51");
	for (int64_t i = 0; i < 9 * n; i++) /* all below zero: an edge read as 0 would be the maximum */
		run_put(&r, "X", i, run_get(&r, "X", i) - 5);
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 9; i++) {
		double top = -INFINITY, total = 0;

		for (int64_t j = 0; j < n; j++)
			top = fmax(top, run_get(&r, "X", i * n + j));
		for (int64_t j = 0; j < n; j++)
			total += exp(run_get(&r, "X", i * n + j) - top);
		for (int64_t j = 0; j < n; j++)
			near(run_get(&r, "Y", i * n + j), exp(run_get(&r, "X", i * n + j) - top) / total,
			     1e-6, "Y", i * n + j);
	}
}

TEST(layer_norm)
{
	static const char src[] =
		"kernel l(X: f32[M, N], G: f32[N], B: f32[N], Y: out f32[M, N], eps: f32)\n"
		"{\n"
		"    grid(ceil(M, 2));\n"
		"    let x: register = X[block.x * 2 :+ 2, 0 :+ 128];\n"
		"    let d = x - mean(x, 1);\n"
		"    let v = mean(d * d, 1);\n"
		"    Y[block.x * 2 :+ 2, 0 :+ 128] = d * rsqrt(v + eps) * G[0 :+ 128] + B[0 :+ 128];\n"
		"}\n";
	int64_t n = 100;

	go(src, "", "M=5 N=100 eps=1");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 5; i++) {
		double mean = 0, var = 0;

		for (int64_t j = 0; j < n; j++)
			mean += run_get(&r, "X", i * n + j) / (double)n;
		for (int64_t j = 0; j < n; j++)
			var += pow(run_get(&r, "X", i * n + j) - mean, 2) / (double)n;
		for (int64_t j = 0; j < n; j++) {
			double d = run_get(&r, "X", i * n + j) - mean;
			double want = d / sqrt(var + 1) * run_get(&r, "G", j) + run_get(&r, "B", j);

			ck_assert(fabs(run_get(&r, "Y", i * n + j) - want) < 1e-6);
		}
	}
}

/* ---- shapes ---------------------------------------------------------------------------------- */

TEST(transposes)
{
	static const char src[] =
		"kernel t(X: f32[A, B, C], Y: out f32[C, A, B], Z: out f32[B, A, C])\n"
		"{\n"
		"    grid(1);\n"
		"    let x: register = X[0 :+ 4, 0 :+ 8, 0 :+ 2];\n"
		"    Y[0 :+ 2, 0 :+ 4, 0 :+ 8] = transpose(x, 2, 0, 1);\n"
		"    Z[0 :+ 8, 0 :+ 4, 0 :+ 2] = transpose(x, 1, 0, 2);\n"
		"}\n";

	go(src, "", "A=3 B=7 C=2");
	run_ok(&r, NULL);
	for (int64_t a = 0; a < 3; a++)
		for (int64_t b = 0; b < 7; b++)
			for (int64_t c = 0; c < 2; c++) {
				double x = run_get(&r, "X", (a * 7 + b) * 2 + c);

				near(run_get(&r, "Y", (c * 3 + a) * 7 + b), x, 0, "Y", a);
				near(run_get(&r, "Z", (b * 3 + a) * 2 + c), x, 0, "Z", a);
			}
}

/* Sum, max and min over each dim of a ragged tile of negative numbers. */
TEST_EACH(reductions, 9)
{
	static const char *const op[] = { "sum", "reduce_max", "reduce_min" };
	int64_t s[3] = { 3, 7, 13 }, t[3] = { 3, 7, 13 };
	int d = _i % 3, o = _i / 3;
	Text slice = { u->arena, NULL, 0, 0 };

	t[d] = 1;
	for (int i = 0; i < 3; i++)
		text_printf(&slice, "%s0 :+ %d", i ? ", " : "", i == d ? 1 : 4 << i);
	go(arena_printf(u->arena,
	                "kernel t(X: f32[3, 7, 13], Y: out f32[%d, %d, %d])\n{\n    grid(1);\n"
	                "    let x: register = X[0 :+ 4, 0 :+ 8, 0 :+ 16];\n"
	                "    Y[%s] = %s(x * 1 - 2, %d);\n}\n",
	                (int)t[0], (int)t[1], (int)t[2], slice.s, op[o], d),
	   "", "");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < t[0] * t[1] * t[2]; i++) {
		int64_t c[3] = { i / (t[1] * t[2]), i / t[2] % t[1], i % t[2] };
		static const double start[] = { 0, -INFINITY, INFINITY };
		double want = start[o];

		for (c[d] = 0; c[d] < s[d]; c[d]++) {
			double x = num_round(D_f32, run_get(&r, "X", (c[0] * 7 + c[1]) * 13 + c[2]) - 2);

			if (o == 0)
				want += x;
			else
				want = o == 1 ? fmax(want, x) : fmin(want, x);
		}
		near(run_get(&r, "Y", i), want, 1e-7, "Y", i);
	}
}

TEST(broadcasting)
{
	static const char src[] =
		"kernel b(X: f32[M, N], row: f32[N], col: f32[M, 1], Y: out f32[M, N], s: f32)\n"
		"{\n"
		"    grid(ceil(M, 4));\n"
		"    let m = block.x * 4;\n"
		"    Y[m :+ 4, 0 :+ 16] = X[m :+ 4, 0 :+ 16] * row[0 :+ 16] + col[m :+ 4, 0 :+ 1] * s;\n"
		"}\n";

	go(src, "", "M=6 N=11 s=3");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 66; i++) {
		float a = (float)run_get(&r, "X", i), b = (float)run_get(&r, "row", i % 11);
		float c = (float)run_get(&r, "col", i / 11) * 3;

		near(run_get(&r, "Y", i), (double)fmaf(a, b, c), 0, "Y", i);
	}
}

TEST_EACH(loops_and_ifs, 2)
{
	static const char src[] =
		"kernel f(X: i32[N], Y: out i32[N], T: i32)\n"
		"{\n"
		"    grid(ceil(N, 8));\n"
		"    let i = block.x * 8;\n"
		"    var a: register i32[8] = X[i :+ 8];\n"
		"    var b: register i32[8] = 1;\n"
		"    for j in 0..5 {\n"
		"        let t = a;\n"
		"        a = b;\n"
		"        b = t + b * 3;\n"
		"        if j % 2 == 1 && T > 3 {\n"
		"            a = a + i32(j);\n"
		"        } else {\n"
		"            b = b - a;\n"
		"        }\n"
		"    }\n"
		"    Y[i :+ 8] = where(a > b, a, b);\n"
		"}\n";

	go(src, "", _i ? "N=21 T=4" : "N=21 T=3");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 21; i++) {
		uint32_t a = (uint32_t)(int32_t)run_get(&r, "X", i), b = 1;

		for (uint32_t j = 0; j < 5; j++) {
			uint32_t t = a;

			a = b;
			b = t + b * 3;
			if (j % 2 == 1 && _i)
				a += j;
			else
				b -= a;
		}
		near(run_get(&r, "Y", i), fmax((double)(int32_t)a, (double)(int32_t)b), 0, "Y", i);
	}
}

/* Shared tiles in a program without async copies: written, read transposed, written again. */
TEST(shared_tiles)
{
	static const char src[] =
		"kernel t(X: f32[16, 16], Y: out f32[16, 16])\n"
		"{\n"
		"    grid(1);\n"
		"    let buf: shared f32[2, 16, 16];\n"
		"    buf[0, :, :] = X[:, :] * 2;\n"
		"    buf[1, :, :] = X[:, :] + 1;\n"
		"    barrier;\n"
		"    let s = buf[0, :, :].T + buf[1, :, :];\n"
		"    Y[:, :] = s;\n"
		"}\n";

	go(src, "", "");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 256; i++)
		near(run_get(&r, "Y", i),
		     num_round(D_f32, num_round(D_f32, run_get(&r, "X", i % 16 * 16 + i / 16) * 2) +
		                              num_round(D_f32, run_get(&r, "X", i) + 1)),
		     0, "Y", i);
}

/* ---- windows ----------------------------------------------------------------------------------- */

enum { WINDOWS = 9, WINDOW = 16 };

/* Element j of window b of X[n], which steps by 3. */
static double
window(int64_t n, int64_t b, int64_t j, bool *inside)
{
	int64_t at = b * 10 - 25 + j * 3;

	*inside = at >= 0 && at < n;
	return *inside ? run_get(&r, "X", at) : 0;
}

/* What reductions of elements lo .. hi - 1 that are inside give. */
typedef struct Seen {
	double sum, count, top;
} Seen;

static Seen
seen(int64_t n, int64_t b, int64_t lo, int64_t hi)
{
	Seen s = { 0, 0, -(double)INFINITY };

	for (int64_t j = lo; j < hi; j++) {
		bool in;
		double x = window(n, b, j, &in);

		s.sum += x;
		s.count += in;
		s.top = in ? fmax(s.top, x) : s.top;
	}
	return s;
}

static void
check_window(int64_t n, int64_t b)
{
	Seen all = seen(n, b, 0, WINDOW), part = seen(n, b, 4, 12);
	double both = 0, want[8];

	for (int64_t j = 0; j < WINDOW; j++) {
		bool in, before;
		double x = window(n, b, j, &in), y = window(n, b, j - 1, &before);

		near(run_get(&r, "R", b * WINDOW + j), x, 0, "R", b * WINDOW + j);
		both += in && before ? y - x + 7 : 0;
	}
	want[0] = all.sum + all.count;
	want[1] = num_round(D_f32, all.sum / all.count);
	want[2] = all.top;
	want[3] = -all.top;
	want[4] = part.sum + part.count;
	want[5] = num_round(D_f32, part.sum / part.count);
	want[6] = both;
	want[7] = all.count + 100 * (WINDOW - all.count);
	for (int64_t i = 0; i < 8; i++)
		if (!isnan(want[i])) /* the mean of none is nobody's business */
			near(run_get(&r, "S", b * 8 + i), want[i], isinf(want[i]) ? 0 : 1e-7, "S", b * 8 + i);
}

/* Slices that start in front of a tensor, end behind it, or both, in registers and in shared memory: what
 * reductions and means see of them, of their parts, and of two together; and stores that step over what
 * others write. */
TEST(windows)
{
	static const char src[] =
		"kernel f(X: f32[N], R: out f32[9, 16], S: out f32[9, 8], Y: out f32[L])\n"
		"{\n"
		"    grid(9);\n"
		"    let b = block.x, x: register = X[b * 10 - 25 :+ 16 step 3];\n"
		"    let s: shared = X[b * 10 - 25 :+ 16 step 3];\n"
		"    let z = fill(x, 0);\n"
		"    R[b, :] = z;\n"
		"    S[b, 0 :+ 1] = sum(x + 1, 0);\n"
		"    S[b, 1 :+ 1] = mean(x, 0);\n"
		"    S[b, 2 :+ 1] = reduce_max(x, 0);\n"
		"    S[b, 3 :+ 1] = reduce_min(0 - x, 0);\n"
		"    S[b, 4 :+ 1] = sum(s[4 :+ 8] + 1, 0);\n"
		"    S[b, 5 :+ 1] = mean(s[4 :+ 8], 0);\n"
		"    S[b, 6 :+ 1] = sum(X[b * 10 - 28 :+ 16 step 3] - x + 7, 0);\n"
		"    S[b, 7 :+ 1] = sum(where(inside(s), 1.0, 100.0), 0);\n"
		"    Y[b * 48 - 5 :+ 16 step 3] = z;\n"
		"    Y[b * 48 - 4 :+ 16 step 3] = z * 2;\n"
		"    Y[b * 48 - 3 :+ 16 step 3] = z * 3;\n"
		"}\n";

	for (int64_t n = 1; n < 80; n += 13) {
		char sizes[32];

		snprintf(sizes, sizeof sizes, "N=%lld L=%lld", (long long)n, (long long)(5 * n));
		go(src, "", sizes);
		for (int64_t i = 0; i < n; i++)
			run_put(&r, "X", i, (double)(-1 - i % 11));
		run_ok(&r, NULL);
		for (int64_t b = 0; b < WINDOWS; b++)
			check_window(n, b);
		for (int64_t i = 0; i < 5 * n; i++) {
			bool in;
			double x = window(n, (i + 5) / 48, (i + 5) % 48 / 3, &in);

			near(run_get(&r, "Y", i), x * (double)((i + 5) % 3 + 1), 0, "Y", i);
		}
	}
}

/* Indices that were read from in front of a tensor choose nothing, and one element there is 0. */
TEST(windows_of_indices)
{
	static const char src[] =
		"kernel f(L: i32[M], X: f32[N], T: i64[M], Y: inout f32[8], Z: out f32[2])\n"
		"{\n"
		"    grid(1);\n"
		"    let i: register = L[-3 :+ 8];\n"
		"    Y[0 :+ 8] += X[i];\n"
		"    Z[0 :+ 1] = X[-1] + 5;\n"
		"    Z[1 :+ 1] = X[T[0] - 2] + 6;\n"
		"}\n";

	go(src, "", "M=4 N=9");
	for (int64_t i = 0; i < 9; i++)
		run_put(&r, "X", i, (double)(i + 1));
	for (int64_t i = 0; i < 8; i++) {
		run_put(&r, "Y", i, (double)(100 * i));
		if (i < 4) {
			run_put(&r, "L", i, (double)(2 * i));
			run_put(&r, "T", i, 1);
		}
	}
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 8; i++)
		near(run_get(&r, "Y", i), (double)(100 * i + (i < 3 || i > 6 ? 0 : 2 * i - 5)), 0, "Y", i);
	near(run_get(&r, "Z", 0), 5, 0, "Z", 0);
	near(run_get(&r, "Z", 1), 6, 0, "Z", 1);
}

/* Blocks that run at once give what one thread gives. */
TEST(threads)
{
	InterpOpt one = { .workers.threads = 1 }, many = { .workers.threads = 7 };
	Run other;

	go(gemm, "BM=16 BN=16 BK=16", "M=200 N=130 K=40");
	run_setup(&other, r.k, "M=200 N=130 K=40", 1);
	run_ok(&r, &one);
	run_ok(&other, &many);
	run_same(&r, &other, "threads");
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
