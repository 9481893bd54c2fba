/* test_scan.c - tests scans and reductions by functions of the program against loops written here:
 * non-commutative functions, rows of any length in tiles of any size; elements out of bounds have no effect.
 * The same program runs on the simulator in test/infer/run-candidates.sh, against the tile interpreter. */
#include "hexc/pass/pass.h"
#include "hexc/ir/verify/verify.h"
#include "test/check.h"
#include "test/interp/util_interp.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static Unit *
run_carried(Run *r, const char *defines, int64_t m, int64_t n)
{
	Unit *u = ir_unit();
	char sizes[64];
	const char *source = file_read("test/infer/programs/carried.hexc", NULL);

	snprintf(sizes, sizeof sizes, "M=%d N=%d", (int)m, (int)n);
	run_bounded(r, u, source, defines, sizes, (uint64_t)(m * 1000 + n));
	run_ok(r, NULL);
	return u;
}

typedef struct Matrix {
	uint32_t a, b, c; /* (a b; 0 c) */
} Matrix;

static Matrix
product(Matrix x, Matrix y)
{
	return (Matrix){ x.a * y.a, x.a * y.b + x.b * y.c, x.c * y.c };
}

static Matrix
get_matrix(Run *r, const char *const *name, int64_t at, int64_t step)
{
	return (Matrix){ (uint32_t)(int64_t)run_get(r, name[0], at),
		         (uint32_t)(int64_t)run_get(r, name[1], at + step),
		         (uint32_t)(int64_t)run_get(r, name[2], at + 2 * step) };
}

static void
same_matrix(Matrix x, Matrix y, const char *what, int64_t i, int64_t j)
{
	ck_assert_msg(x.a == y.a && x.b == y.b && x.c == y.c, "%s[%d, %d]: (%u %u %u), not (%u %u %u)", what,
	              (int)i, (int)j, x.a, x.b, x.c, y.a, y.b, y.c);
}

static void
check_matrices(Run *r, int64_t m, int64_t n)
{
	static const char *const in[3] = { "X", "Y", "Z" };
	static const char *const incl[3] = { "P", "P", "P" };
	static const char *const excl[3] = { "E", "E", "E" };
	static const char *const all[3] = { "R", "R", "R" };

	for (int64_t i = 0; i < m; i++) {
		Matrix p = { 1, 0, 1 };

		for (int64_t j = 0; j < n; j++) {
			same_matrix(get_matrix(r, excl, i * n + j, m * n), p, "E", i, j);
			p = product(p, get_matrix(r, in, i * n + j, 0));
			same_matrix(get_matrix(r, incl, i * n + j, m * n), p, "P", i, j);
		}
		same_matrix(get_matrix(r, all, i, m), p, "R", i, 0);
	}
}

/* Of at most n terms each is rounded at most 3 times in each of at most 2 n combinations on its way: no more
 * than 8 n roundings of the sum of magnitudes. */
static void
check_recurrence(Run *r, int64_t m, int64_t n)
{
	for (int64_t i = 0; i < m; i++) {
		double h = 0, size = 0;

		for (int64_t j = 0; j < n; j++) {
			double g = run_get(r, "F", i * n + j), a = g > 0 ? g : 0.5;

			h = a * h + (g + 1);
			size = a * size + fabs(g + 1);
			ck_assert_msg(fabs(run_get(r, "H", i * n + j) - h) <= 8 * (double)n * 0x1p-24 * size,
			              "H[%d, %d] is %.9g, not %.9g", (int)i, (int)j,
			              run_get(r, "H", i * n + j), h);
		}
		ck_assert(run_get(r, "L", i * 4) == run_get(r, "H", i * n + n - 1));
	}
}

static void
check_picks(Run *r, int64_t m, int64_t n)
{
	for (int64_t i = 0; i < m; i++) {
		int64_t top = 0, low = 0;

		for (int64_t j = 1; j < n; j++) {
			top = run_get(r, "F", i * n + j) > run_get(r, "F", i * n + top) ? j : top;
			low = (float)(run_get(r, "F", i * n + j) - 5) <
			                      (float)(run_get(r, "F", i * n + low) - 5)
			              ? j
			              : low;
		}
		ck_assert(run_get(r, "L", i * 4 + 1) == (float)(run_get(r, "F", i * n + n - 1) + 2));
		ck_assert(run_get(r, "L", i * 4 + 2) == (float)(run_get(r, "F", i * n) + 3));
		ck_assert(run_get(r, "L", i * 4 + 3) == run_get(r, "F", i * n + top));
		ck_assert_int_eq((int64_t)run_get(r, "B", i * 2), top);
		ck_assert_int_eq((int64_t)run_get(r, "B", i * 2 + 1), low);
	}
}

static const char *const tiles[] = { "BM=4 BN=32", "BM=1 BN=16", "BM=16 BN=128", "BM=4 BN=256",
	                             "BM=1 BN=84", "BM=4 BN=22" };
static const int lengths[] = { 1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 127, 128, 129, 145, 255, 257, 300 };

TEST_EACH(carried, COUNT_OF(tiles))
{
	for (int i = 0; i < (int)COUNT_OF(lengths); i++) {
		int64_t m = 1 + (i * 5) % 7, n = lengths[i];
		Run r;
		Unit *u = run_carried(&r, tiles[_i], m, n);

		check_matrices(&r, m, n);
		check_recurrence(&r, m, n);
		check_picks(&r, m, n);
		ir_unit_free(u);
	}
}

/* ---- along any dim, of tiles with edges in several ------------------------------------------------ */

static const char cube[] =
	"fn second(a, b, c, d) { return c, d; }\n"
	"fn both(a, b) { return max(a, b); }\n"
	"kernel cube(X: i32[A, B, C], P: out i32[1, 8, 16], Q: out i32[4, 1, 16], R: out i32[4, 8, 1],\n"
	"    S: out i32[4, 8, 1], T: out i32[4, 1, 16], U: out i32[1, 8, 16], V: out f32[4, 8, 1],\n"
	"    W: out i32[4])\n"
	"    assume A <= 4, B <= 8, C <= 16\n"
	"{\n"
	"    grid(1);\n"
	"    let x: register = X[0 :+ 4, 0 :+ 8, 0 :+ 16];\n"
	"    let (p, i) = reduce(second, 0, x, iota(0, 4, 8, 16));\n"
	"    let (q, j) = reduce(second, 1, iota(1, 4, 8, 16), x);\n"
	"    P[0, 0 :+ 8, 0 :+ 16] = reshape(p * 10 + i, 8, 16);\n"
	"    Q[0 :+ 4, 0 :+ 1, 0 :+ 16] = q + j * 10;\n"
	/* negative numbers: the zeros outside are larger */
	"    let y = -abs(x) - 1;\n"
	"    R[0 :+ 4, 0 :+ 8, 0 :+ 1] = reduce(both, 2, y);\n"
	/* through a shared tile that one copy fills, and a transpose */
	"    let s: shared = X[0 :+ 4, 0 :+ 8, 0 :+ 16];\n"
	"    let turned = reduce(both, 0, transpose(-abs(s) - 1, 2, 1, 0));\n"
	"    S[0 :+ 4, 0 :+ 8, 0 :+ 1] = transpose(turned, 2, 1, 0);\n"
	/* edges along the other dims outlive a reduction */
	"    T[0 :+ 4, 0 :+ 1, 0 :+ 16] = argmax(y, 1);\n"
	"    U[0 :+ 1, 0 :+ 8, 0 :+ 16] = argmin(-y, 0);\n"
	/* the mean of a scan is that of its elements inside */
	"    V[0 :+ 4, 0 :+ 8, 0 :+ 1] = mean(f32(cummax(y, 2)), 2);\n"
	"    W[0 :+ 4] = reshape(reduce(both, 1, reduce(both, 2, y)), 4);\n"
	"}\n";

static int64_t
y_of(Run *r, int64_t at)
{
	return -llabs((int64_t)run_get(r, "X", at)) - 1;
}

static void
check_rows(Run *r, int64_t a, int64_t b, int64_t c)
{
	for (int64_t i = 0; i < a; i++) {
		int64_t whole = INT64_MIN;

		for (int64_t j = 0; j < b; j++) {
			int64_t top = INT64_MIN, at = (i * b + j) * c;
			double sum = 0;

			for (int64_t k = 0; k < c; k++) {
				top = y_of(r, at + k) > top ? y_of(r, at + k) : top;
				sum += (double)top;
			}
			ck_assert_int_eq((int64_t)run_get(r, "R", i * 8 + j), top);
			ck_assert_int_eq((int64_t)run_get(r, "S", i * 8 + j), top);
			/* numbers below 2^10, at most 16: the sum is exact, the quotient rounded */
			ck_assert(run_get(r, "V", i * 8 + j) == (float)(sum / (double)c));
			whole = top > whole ? top : whole;
		}
		ck_assert_int_eq((int64_t)run_get(r, "W", i), whole);
	}
}

static void
check_cube(int64_t a, int64_t b, int64_t c)
{
	Unit *u = ir_unit();
	Kernel *k = run_source(u, cube, "");
	char sizes[64];
	Run r;

	snprintf(sizes, sizeof sizes, "A=%d B=%d C=%d", (int)a, (int)b, (int)c);
	pass_mask_bounds(k);
	ck_assert_msg(kernel_verify(k, "mask_bounds"), "%s", ir_diags(u));
	run_setup(&r, k, sizes, (uint64_t)(a * 100 + b * 10 + c));
	for (int64_t i = 0; i < a * b * c; i++)
		run_put(&r, "X", i, (double)((i * 7919 + a * b * c) % 601 - 300));
	run_ok(&r, NULL);
	check_rows(&r, a, b, c);
	for (int64_t j = 0; j < b; j++)
		for (int64_t l = 0; l < c; l++) {
			int64_t best = 0;

			for (int64_t i = 1; i < a; i++)
				if (y_of(&r, (i * b + j) * c + l) > y_of(&r, (best * b + j) * c + l))
					best = i;
			ck_assert_int_eq((int64_t)run_get(&r, "U", j * 16 + l), best);
			ck_assert_int_eq((int64_t)run_get(&r, "P", j * 16 + l),
			                 10 * (int64_t)run_get(&r, "X", ((a - 1) * b + j) * c + l) + a - 1);
		}
	for (int64_t i = 0; i < a; i++)
		for (int64_t l = 0; l < c; l++) {
			int64_t best = 0;

			for (int64_t j = 1; j < b; j++)
				if (y_of(&r, (i * b + j) * c + l) > y_of(&r, (i * b + best) * c + l))
					best = j;
			ck_assert_int_eq((int64_t)run_get(&r, "T", i * 16 + l), best);
			ck_assert_int_eq((int64_t)run_get(&r, "Q", i * 16 + l),
			                 b - 1 + 10 * (int64_t)run_get(&r, "X", (i * b + b - 1) * c + l));
		}
	ir_unit_free(u);
}

TEST(edges_in_any_dim)
{
	check_cube(4, 8, 16);
	check_cube(3, 8, 16);
	check_cube(4, 5, 16);
	check_cube(4, 8, 11);
	check_cube(3, 7, 13);
	check_cube(2, 3, 1);
	check_cube(1, 1, 1);
}

TEST_PROGRAM(.timeout = 120);
