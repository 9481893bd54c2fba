/* test_meaning.c - tests the results of programs, in the tile interpreter, against loops written here. */
#include "test/check.h"
#include "test/interp/util_interp.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compile, make ragged edges explicit, run with random data. */
static Unit *
run(Run *r, const char *source, const char *defines, const char *sizes)
{
	Unit *u = ir_unit();

	run_bounded(r, u, source, defines, sizes, 1);
	return u;
}

static Unit *
run_file(Run *r, const char *path, const char *defines, const char *sizes)
{
	return run(r, file_read(path, NULL), defines, sizes);
}

static void
close_to(double got, double want, double tolerance, const char *what, int64_t i)
{
	ck_assert_msg(fabs(got - want) <= tolerance * (1 + fabs(want)), "%s[%lld] is %.9g, not %.9g", what,
	              (long long)i, got, want);
}

/* ---- means ------------------------------------------------------------------------------------- */

/* Rows of N elements in tiles of 16 x 64, columns in tiles of 8 x 64, read in every way. */
static const char means[] =
	"kernel means(A: f32[M, N], R: out f32[M], S: out f32[M], C: out f32[N], L: out f32[1],\n"
	"    E: out f32[M], P: out f32[1], T: out f32[M], W: out f32[M])\n"
	"    assume M <= 8, N <= 64\n"
	"{\n"
	"    grid(1);\n"
	"    let a: register = A[0 :+ 8, 0 :+ 64];\n"
	"    let s: shared = A[0 :+ 8, 0 :+ 64];\n"
	"    R[0 :+ 8] = reshape(mean(a, 1), 8);\n"
	"    S[0 :+ 8] = reshape(mean(s * 1 + 0, -1), 8);\n"
	"    C[0 :+ 64] = reshape(mean(s[:, 0 :+ 64], 0), 64);\n"
	"    let both = mean(mean(s.T, 0), 1);\n"
	"    L[0 :+ 1] = reshape(both, 1);\n"
	/* what is written to a part exists there if the value does; the rest is as it was */
	"    let t: shared = A[0 :+ 8, 0 :+ 64];\n"
	"    t[0, 0 :+ 1] = A[0, 0 :+ 1];\n"
	"    E[0 :+ 8] = reshape(mean(t, 1), 8);\n"
	/* a variable has what each iteration gave it */
	"    var v: register f32[8, 64] = 0, w: register f32[8, 64] = 0, g: register f32[8, 1] = 0;\n"
	"    for i in 0..2 {\n"
	"        g = g + mean(v, 1);\n"
	"        v = v + exp(a);\n"
	"        w = w + exp(A[0 :+ 8, i :+ 64]);\n"
	"    }\n"
	"    P[0 :+ 1] = reshape(mean(mean(v, 1), 0), 1);\n"
	"    T[0 :+ 8] = reshape(g, 8);\n"
	/* and not what was missing in one */
	"    W[0 :+ 8] = reshape(mean(w, 1), 8);\n"
	"}\n";

static void
check_means(int64_t m, int64_t n, const char *sizes)
{
	Run r;
	Unit *u = run(&r, means, "", sizes);
	double all = 0, exps = 0;

	run_ok(&r, NULL);
	for (int64_t i = 0; i < m; i++) {
		double sum = 0, first = 0, both = 0;

		for (int64_t j = 0; j < n; j++)
			sum += run_get(&r, "A", i * n + j);
		for (int64_t j = 0; j < n; j++) {
			double here = exp(run_get(&r, "A", i * n + j));

			first += here;
			both += j + 1 < n ? here + exp(run_get(&r, "A", i * n + j + 1)) : 0;
		}
		all += sum;
		exps += 2 * first;
		close_to(run_get(&r, "T", i), first / (double)n, 1e-5, "T", i);
		if (n > 1) /* else there is none */
			close_to(run_get(&r, "W", i), both / (double)(n - 1), 1e-5, "W", i);
		close_to(run_get(&r, "R", i), sum / (double)n, 1e-5, "R", i);
		close_to(run_get(&r, "S", i), sum / (double)n, 1e-5, "S", i);
		close_to(run_get(&r, "E", i), sum / (double)n, 1e-5, "E", i);
	}
	for (int64_t j = 0; j < n; j++) {
		double sum = 0;

		for (int64_t i = 0; i < m; i++)
			sum += run_get(&r, "A", i * n + j);
		close_to(run_get(&r, "C", j), sum / (double)m, 1e-5, "C", j);
	}
	close_to(run_get(&r, "L", 0), all / (double)(m * n), 1e-5, "L", 0);
	close_to(run_get(&r, "P", 0), exps / (double)(m * n), 1e-5, "P", 0);
	ir_unit_free(u);
}

TEST(mean_of_ragged)
{
	check_means(8, 64, "M=8 N=64");
	check_means(5, 64, "M=5 N=64");
	check_means(8, 37, "M=8 N=37");
	check_means(1, 1, "M=1 N=1");
}

/* ---- shapes --------------------------------------------------------------------------------------- */

/* Row-major numbers stay; so do the elements that exist. */
static const char reshaped[] =
	"kernel shapes(A: f32[M, N], B: out f32[4, 6, 10], C: out f32[3, 80], D: out f32[12, 10],\n"
	"    E: out f32[8], F: out f32[8, 5])\n"
	"    assume M <= 8, N <= 30\n"
	"{\n"
	"    grid(1);\n"
	"    let a: register = A[0 :+ 8, 0 :+ 30];\n"
	"    let z = fill(a, 0);\n"
	"    B[0 :+ 4, 0 :+ 6, 0 :+ 10] = reshape(z, 4, 6, 10);\n"
	"    C[0 :+ 3, 0 :+ 80] = reshape(z, 3, 80);\n"
	"    let turned = transpose(reshape(z, 2, 12, 10), 1, 2, 0);\n"
	"    D[0 :+ 12, 0 :+ 10] = reshape(turned[:, :, 1 :+ 1], 12, 10);\n"
	"    E[0 :+ 8] = reshape(reduce_max(reshape(-1 - abs(a), 8, 1, 30), 2), 8);\n"
	"    F[0 :+ 8, 0 :+ 5] = reshape(reduce_min(reshape(a + 3, 8, 5, 6), 2), 8, 5);\n"
	"}\n";

static void
check_reshaped(int64_t m, int64_t n, const char *sizes)
{
	float a[8 * 30] = { 0 };
	Run r;
	Unit *u = run(&r, reshaped, "", sizes);

	for (int64_t i = 0; i < m * n; i++)
		a[i / n * 30 + i % n] = (float)run_get(&r, "A", i);
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 8 * 30; i++) {
		ck_assert(run_get(&r, "B", i) == a[i] && run_get(&r, "C", i) == a[i]);
		ck_assert(i < 120 || run_get(&r, "D", i - 120) == a[i]);
	}
	for (int64_t i = 0; i < m; i++) {
		double top = -2;

		for (int64_t j = 0; j < n; j++)
			top = fmax(top, (float)(-1 - fabs(a[i * 30 + j])));
		ck_assert(run_get(&r, "E", i) == top);
		for (int64_t j = 0; j < 5; j++) {
			double low = 9;

			for (int64_t k = j * 6; k < j * 6 + 6 && k < n; k++)
				low = fmin(low, a[i * 30 + k] + 3.0f);
			if (j * 6 < n) /* else no element of the group exists: nothing is stored */
				ck_assert(run_get(&r, "F", i * 5 + j) == low);
		}
	}
	ir_unit_free(u);
}

TEST(reshapes)
{
	check_reshaped(8, 30, "M=8 N=30");
	check_reshaped(7, 29, "M=7 N=29");
	check_reshaped(1, 2, "M=1 N=2");
}

/* ---- tiles of indices ------------------------------------------------------------------------------ */

/* Indices read from behind the end of a tensor point nowhere, but not those of a shared tile that a second
 * statement writes. */
static const char chosen[] =
	"kernel chosen(L: i32[N], X: f32[64], Y: out f32[16], Z: out f32[16])\n"
	"    assume N <= 16\n"
	"{\n"
	"    grid(1);\n"
	"    let s: shared = L[0 :+ 16], t: shared = L[0 :+ 16];\n"
	"    t[8 :+ 8] = iota(0, 8) + 40;\n"
	"    let a: register = s[:], b: register = t[:];\n"
	"    Y[0 :+ 16] = fill(X[a & 7], 0);\n"
	"    Z[0 :+ 16] = X[b & 63];\n"
	"}\n";

/* Shared tiles under another shape, read and written: against the row-major numbers of their elements. */
static const char aliases[] =
	"kernel aliases(X: f32[24, 32], J: i64, Y: out f32[6, 32], Z: out f32[24, 32], P: out f32[12, 32],\n"
	"    E: out f32[1])\n"
	"    assume J >= 0, J < 4\n"
	"{\n"
	"    grid(1);\n"
	"    let x: shared = X[:, :];\n"
	"    Y[:, :] = reshape(x, 6, 4, 32)[:, J, :];\n"
	"    let s: shared f32[24, 32];\n"
	"    for i in 0..4 { reshape(s, 4, 6, 32)[i] = reshape(x, 6, 4, 32)[:, i]; }\n"
	"    Z[:, :] = s;\n"
	"    let t: shared f32[2, 12, 32];\n"
	"    t[0] = x[0 :+ 12];\n"
	"    t[1] = x[12 :+ 12];\n"
	"    reshape(t[J / 2], 4, 3, 2, 16)[J, :, 1, :] = -1;\n"
	"    P[:, :] = t[J / 2];\n"
	"    E[0 :+ 1] = sum(reshape(x, 768)[J * 100 :+ 64], 0);\n"
	"}\n";

TEST(shared_reshapes)
{
	for (int64_t j = 0; j < 4; j++) {
		Run r;
		char sizes[32];
		double sum = 0;
		Unit *u;

		snprintf(sizes, sizeof sizes, "J=%d", (int)j);
		u = run(&r, aliases, "", sizes);
		run_ok(&r, NULL);
		for (int64_t i = 0; i < 6 * 32; i++) {
			int64_t from = (i / 32 * 4 + j) * 32 + i % 32;

			close_to(run_get(&r, "Y", i), run_get(&r, "X", from), 0, "Y", i);
		}
		for (int64_t i = 0; i < 24 * 32; i++) { /* row 6 a + b of s is row 4 b + a of x */
			int64_t row = i / 32, from = (row % 6 * 4 + row / 6) * 32 + i % 32;

			close_to(run_get(&r, "Z", i), run_get(&r, "X", from), 0, "Z", i);
		}
		for (int64_t i = 0; i < 12 * 32; i++) {
			bool over = i / (3 * 32) == j && i / 16 % 2 == 1;

			close_to(run_get(&r, "P", i), over ? -1 : run_get(&r, "X", j / 2 * 12 * 32 + i), 0,
			         "P", i);
		}
		for (int64_t i = 0; i < 64; i++)
			sum += run_get(&r, "X", j * 100 + i);
		close_to(run_get(&r, "E", 0), sum, 1e-5, "E", 0);
		ir_unit_free(u);
	}
}

TEST(indices)
{
	for (int64_t n = 8; n <= 16; n += 3) {
		char sizes[20];
		Run r;
		Unit *u;

		snprintf(sizes, sizeof sizes, "N=%d", (int)n);
		u = run(&r, chosen, "", sizes);
		run_ok(&r, NULL);
		for (int64_t i = 0; i < 16; i++) {
			int64_t at = i < n ? (int64_t)run_get(&r, "L", i) : 0;

			ck_assert(run_get(&r, "Y", i) == (i < n ? run_get(&r, "X", at & 7) : 0));
			ck_assert(run_get(&r, "Z", i) == run_get(&r, "X", i < 8 ? at & 63 : i + 32));
		}
		ir_unit_free(u);
	}
}

/* ---- choices of numbers ---------------------------------------------------------------------------- */

/* They take the type of what they meet; what is made of them has that of its own. */
static const char choices[] =
	"kernel choices(F: out f64[4], G: out f16[4], H: out f16[4], S: out f16[4], L: out i64[4],\n"
	"    B: out i32[4], U: out i32[4])\n"
	"{\n"
	"    grid(1);\n"
	"    let c = iota(0, 4) == 2;\n"
	"    let zero: register f16[4] = 0, long: register i64[4] = 0;\n"
	"    F[:] = f64(where(c, 0.1, 0.7)) * 3;\n"
	"    G[:] = zero + where(c, 0.1, 1);\n"
	"    H[:] = f16(-where(c, 0.5, 2.0)) + zero;\n"
	"    S[:] = f16(sum(where(c, 1, where(iota(0, 4) == 3, 8.0, 4)), 0)) + zero;\n"
	"    L[:] = long + where(c, 1 << 40, 3);\n"
	"    B[:] = i32(i8(where(c, 100, 3)) + 100);\n"
	"    U[:] = i32(u8(where(c, 300, -1)));\n"
	"}\n";

TEST(choices_of_numbers)
{
	Run r;
	Unit *u = run(&r, choices, "", "");

	run_ok(&r, NULL);
	for (int64_t i = 0; i < 4; i++) {
		ck_assert(run_get(&r, "F", i) == (i == 2 ? 0.1 : 0.7) * 3);
		/* 0.1 is 1638.4 / 2^14, of which f16 has 11 bits */
		ck_assert(run_get(&r, "G", i) == (i == 2 ? 1638.0 / (1 << 14) : 1));
		ck_assert(run_get(&r, "H", i) == (i == 2 ? -0.5 : -2));
		ck_assert(run_get(&r, "S", i) == 4 + 4 + 1 + 8);
		ck_assert(run_get(&r, "L", i) == (i == 2 ? 0x1p40 : 3));
		ck_assert(run_get(&r, "B", i) == (i == 2 ? 200 - 256 : 103));
		ck_assert(run_get(&r, "U", i) == (i == 2 ? 300 - 256 : 255));
	}
	ir_unit_free(u);
}

/* ---- control flow ------------------------------------------------------------------------------- */

/* Longest chain of n -> n / 2 or 3 n + 1 below N, and its start. */
static const char chains[] =
	"kernel chains(O: out i64[4])\n"
	"    const N = 30\n"
	"{\n"
	"    grid(1);\n"
	"    var best = 0, from = 0, evens = 0;\n"
	"    for i in 1..N {\n"
	"        var x = i, n = 0;\n"
	"        for t in 0..200 {\n"
	"            if x != 1 {\n"
	"                if x % 2 == 0 { x /= 2; evens += 1; } else { x = 3 * x + 1; }\n"
	"                n += 1;\n"
	"            }\n"
	"        }\n"
	"        if n > best { best = n; from = i; }\n"
	"    }\n"
	"    let zero: register i64[1] = 0;\n"
	"    O[0 :+ 1] = zero + best; O[1 :+ 1] = zero + from; O[2 :+ 1] = zero + evens;\n"
	"    O[3] = where(best > 5 && !(from == 2), best << 1, 0);\n"
	"}\n";

TEST(control_flow)
{
	int64_t best = 0, from = 0, evens = 0;
	Run r;
	Unit *u = run(&r, chains, "", "");

	for (int64_t i = 1; i < 30; i++) {
		int64_t n = 0;

		for (int64_t x = i; x != 1; n++) {
			evens += x % 2 == 0;
			x = x % 2 ? 3 * x + 1 : x / 2;
		}
		if (n > best) {
			best = n;
			from = i;
		}
	}
	run_ok(&r, NULL);
	ck_assert_int_eq((int64_t)run_get(&r, "O", 0), best);
	ck_assert_int_eq((int64_t)run_get(&r, "O", 1), from);
	ck_assert_int_eq((int64_t)run_get(&r, "O", 2), evens);
	ck_assert_int_eq((int64_t)run_get(&r, "O", 3), best * 2);
	ir_unit_free(u);
}

/* ---- shapes --------------------------------------------------------------------------------------- */

static const char shapes[] =
	"kernel shapes(A: f32[4, M, 8] strides [ld, 8, 1], v: f32[8], w: f32[4],\n"
	"    O: out f32[8, M, 4], k: f32)\n"
	"{\n"
	"    grid(ceil(M, 4));\n"
	"    let m = block.x * 4;\n"
	"    let a: register = A[:, m :+ 4, :];\n"
	"    let x = (a + v) * reshape(w, 4, 1, 1) - k;\n"
	"    O[:, m :+ 4, :] = transpose(x, 2, 1, 0) + f32(iota(1, 8, 4, 4) + i32(m));\n"
	"}\n";

TEST(shapes_and_strides)
{
	Run r;
	Unit *u = run(&r, shapes, "", "M=6 ld=100");
	int64_t at = 0;

	run_arg(&r, "k")->f = 0.5;
	run_ok(&r, NULL);
	for (int64_t c = 0; c < 8; c++) {
		for (int64_t b = 0; b < 6; b++) {
			for (int64_t a = 0; a < 4; a++, at++) {
				double x = run_get(&r, "A", a * 100 + b * 8 + c) + run_get(&r, "v", c);

				x = x * run_get(&r, "w", a) - 0.5 + (double)b;
				close_to(run_get(&r, "O", at), x, 1e-5, "O", at);
			}
		}
	}
	ir_unit_free(u);
}

/* The explicit pipeline copies every element once. */
TEST(explicit_pipeline)
{
	Run r;
	Unit *u = run_file(&r, "test/lang/valid/explicit_async.hexc", "STAGES=4", "M=70 K=150");
	const InterpOpt late = { .late = true };

	run_ok(&r, &late);
	for (int64_t i = 0; i < 70 * 150; i++)
		ck_assert(run_get(&r, "C", i) == 2 * run_get(&r, "A", i));
	ir_unit_free(u);
}

/* ---- examples ------------------------------------------------------------------------------------- */

TEST(example_softmax)
{
	Run r;
	Unit *u = run_file(&r, "examples/softmax.hexc", "BM=2 BN=64", "M=5 N=150");

	run_ok(&r, NULL);
	for (int64_t i = 0; i < 5; i++) {
		double sum = 0;

		for (int64_t j = 0; j < 150; j++)
			sum += exp(run_get(&r, "X", i * 150 + j));
		for (int64_t j = 0; j < 150; j++) {
			double x = exp(run_get(&r, "X", i * 150 + j)) / sum;

			close_to(run_get(&r, "Y", i * 150 + j), x, 1e-5, "Y", i * 150 + j);
		}
	}
	ir_unit_free(u);
}

TEST(example_layer_norm)
{
	Run r;
	Unit *u = run_file(&r, "examples/layer_norm.hexc", "BM=4 BN=128", "M=7 N=100");

	run_arg(&r, "eps")->f = 1e-5;
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 7; i++) {
		double mean = 0, var = 0;

		for (int64_t j = 0; j < 100; j++)
			mean += run_get(&r, "X", i * 100 + j) / 100;
		for (int64_t j = 0; j < 100; j++)
			var += pow(run_get(&r, "X", i * 100 + j) - mean, 2) / 100;
		for (int64_t j = 0; j < 100; j++) {
			double x = (run_get(&r, "X", i * 100 + j) - mean) / sqrt(var + 1e-5);

			x = x * run_get(&r, "gamma", j) + run_get(&r, "beta", j);
			close_to(run_get(&r, "Y", i * 100 + j), x, 1e-4, "Y", i * 100 + j);
		}
	}
	ir_unit_free(u);
}

/* W is [n, k] in groups of g */
static void
check_w4(const char *path, const char *defines, int64_t m, int64_t n, int64_t k, int64_t g)
{
	bool zeros = strcmp(path, "examples/gemm_w4a16.hexc") == 0;
	char sizes[64];
	Run r;
	Unit *u;

	snprintf(sizes, sizeof sizes, "M=%d N=%d K=%d", (int)m, (int)n, (int)k);
	u = run_file(&r, path, defines, sizes);
	run_ok(&r, NULL);
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			double sum = 0, size = 0;

			for (int64_t l = 0; l < k; l++) {
				int64_t s = l / g * n + j;
				double z = zeros ? run_get(&r, "Z", s) : 8, w;

				w = num_round(D_f16, (run_get(&r, "W", j * k + l) - z) * run_get(&r, "S", s));
				sum += run_get(&r, "A", i * k + l) * w;
				size += fabs(run_get(&r, "A", i * k + l) * w);
			}
			ck_assert_msg(fabs(run_get(&r, "C", i * n + j) - sum) <= 1e-3 * (1 + size),
			              "%s: C[%lld,%lld] is %g, not %g", path, (long long)i, (long long)j,
			              run_get(&r, "C", i * n + j), sum);
		}
	}
	ir_unit_free(u);
}

TEST(example_w4a16)
{
	check_w4("examples/gemm_w4a16.hexc", "BM=16 BN=64", 19, 96, 256, 128);
	check_w4("examples/gemm_w4a16.hexc", "G=32 BM=32 BN=16", 5, 32, 96, 32);
	check_w4("examples/gemm_w4a16.hexc", "G=96 BM=32 BN=16 STAGES=1", 5, 32, 192, 96);
	check_w4("examples/gemm_w4a16_sym.hexc", "BM=16 BN=64", 19, 96, 256, 128);
}

TEST_PROGRAM(.timeout = 60);
