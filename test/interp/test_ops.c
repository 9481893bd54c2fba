/* test_ops.c - tests single ops of the tile interpreter against C's arithmetic, and the faults it reports. */
#include "hexc/pass/pass.h"
#include "test/interp/util_interp.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Run r;

static void
go(const char *src, const char *sizes)
{
	run_bounded(&r, u, src, "", sizes, 5);
}

/* Y = expr over A and B of one type, 64 elements. */
static void
go_expr(DType d, DType out, const char *expr)
{
	go(arena_printf(u->arena,
	                "kernel t(A: %s[64], B: %s[64], Y: out %s[64])\n{\n    grid(1);\n"
	                "    let a: register = A[:], b: register = B[:];\n    Y[:] = %s;\n}\n",
	                dtype_info[d].name, dtype_info[d].name, dtype_info[out].name, expr),
	   "");
}

static int64_t
get_i(const char *name, int64_t i, DType d)
{
	return num_get_i(d, run_arg(&r, name)->data, i);
}

static void
expect_i(DType d, int64_t (*f)(int64_t, int64_t))
{
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 64; i++)
		ck_assert_int_eq(get_i("Y", i, d), num_wrap(d, f(get_i("A", i, d), get_i("B", i, d))));
}

static int64_t
add_i(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t
mul_sub_i(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b - (uint64_t)b);
}

static int64_t
bits_i(int64_t a, int64_t b)
{
	return (a & b) | (a ^ ~b);
}

static int64_t
min_i(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static const DType int_types[] = { D_i8, D_u8, D_i16, D_u16, D_i32, D_u32, D_i64 };

TEST_EACH(integers, COUNT_OF(int_types))
{
	DType d = int_types[_i];

	go_expr(d, d, "a + b");
	expect_i(d, add_i);
	go_expr(d, d, "a * b - b");
	expect_i(d, mul_sub_i);
	go_expr(d, d, "min(a, b)");
	expect_i(d, min_i);
	go_expr(d, d, "(a & b) | (a ^ (0 - b - 1))");
	expect_i(d, bits_i);
}

static int64_t
div_i(int64_t a, int64_t b)
{
	return b ? a / b : -1;
}

static int64_t
mod_i(int64_t a, int64_t b)
{
	return b ? a % b : a;
}

static int64_t
shift_i(int64_t a, int64_t b)
{
	b &= 15;
	return (int64_t)((uint64_t)a << b) ^ (a >> b);
}

TEST(divide_and_shift)
{
	go_expr(D_i16, D_i16, "a / b");
	run_put(&r, "B", 3, 0);
	run_put(&r, "A", 4, -32768);
	run_put(&r, "B", 4, -1);
	expect_i(D_i16, div_i);
	go_expr(D_i16, D_i16, "a % b");
	run_put(&r, "B", 3, 0);
	expect_i(D_i16, mod_i);
	go_expr(D_i16, D_i16, "(a << (b & 15)) ^ (a >> (b & 15))");
	expect_i(D_i16, shift_i);
}

/* The type that does not fit its carrier. */
TEST(unsigned_64)
{
	const uint64_t *a, *b, *y;

	go_expr(D_u64, D_u64, "max(a, b) / 3 + min(a, b) % 7");
	run_ok(&r, NULL);
	a = run_arg(&r, "A")->data;
	b = run_arg(&r, "B")->data;
	y = run_arg(&r, "Y")->data;
	for (int i = 0; i < 64; i++)
		ck_assert(y[i] == (a[i] > b[i] ? a[i] : b[i]) / 3 + (a[i] < b[i] ? a[i] : b[i]) % 7);
	go_expr(D_u64, D_f32, "f32(a)");
	run_ok(&r, NULL);
	a = run_arg(&r, "A")->data;
	for (int i = 0; i < 64; i++)
		ck_assert(run_get(&r, "Y", i) == (double)(float)a[i]);
}

static const DType float_types[] = { D_f16, D_bf16, D_f32, D_f64 };

/* Every op rounds to its own type: two steps, two roundings. */
TEST_EACH(floats, COUNT_OF(float_types))
{
	DType d = float_types[_i];

	go_expr(d, d, "(a + b) * a / b - max(a, b)");
	run_put(&r, "A", 0, 60000);
	run_put(&r, "B", 0, 60000);
	run_put(&r, "B", 1, 0);
	run_put(&r, "A", 2, 0x1p-24);
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 64; i++) {
		double a = run_get(&r, "A", i), b = run_get(&r, "B", i), want, got = run_get(&r, "Y", i);

		want = num_round(d, num_round(d, num_round(d, a + b) * a) / b);
		want = num_round(d, want - fmax(a, b));
		ck_assert_msg(got == want || (isnan(got) && isnan(want)), "%g %g: %g, not %g", a, b,
		              got, want);
	}
}

TEST(functions)
{
	go_expr(D_f32, D_f32,
	        "where(a < b, exp(a) + exp2(b), sqrt(abs(a))) + tanh(b) - log(abs(a)) * rsqrt(abs(b))");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 64; i++) {
		double a = run_get(&r, "A", i), b = run_get(&r, "B", i);
		float x = a < b ? (float)exp(a) + (float)exp2(b) : (float)sqrt(fabs(a));
		float y = (float)log(fabs(a)), z = (float)(1 / sqrt(fabs(b)));

		ck_assert(run_get(&r, "Y", i) == (double)fmaf(-y, z, x + (float)tanh(b)));
	}
}

/* A number wins over a NaN; comparisons with NaN are false but for !=. */
TEST_EACH(not_a_number, 5)
{
	static const char *const expr[] = { "max(a, b)", "min(b, a)", "where(a < b, f32(1), 2)",
	                                    "where(a == b, f32(1), 2)", "where(a != b, f32(1), 2)" };
	static const double want[] = { 3, 3, 2, 2, 1 };

	go_expr(D_f32, D_f32, expr[_i]);
	run_put(&r, "A", 0, (double)NAN);
	run_put(&r, "B", 0, 3);
	run_ok(&r, NULL);
	ck_assert(run_get(&r, "Y", 0) == want[_i]);
}

TEST(casts)
{
	go_expr(D_f32, D_i8, "i8(a * 300)");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 64; i++) {
		double x = trunc(num_round(D_f32, run_get(&r, "A", i) * 300));

		ck_assert(run_get(&r, "Y", i) == fmin(127, fmax(-128, x)));
	}
	go_expr(D_i32, D_u8, "u8(a)");
	run_ok(&r, NULL);
	for (int64_t i = 0; i < 64; i++)
		ck_assert(run_get(&r, "Y", i) == (double)(uint8_t)(int32_t)run_get(&r, "A", i));
}

/* ---- faults ---------------------------------------------------------------------------------- */

static const char copy_src[] =
	"kernel t(A: f32[M, N], Y: out f32[M, N])\n"
	"    assume N % 4 == 0, M <= 100, M + N >= 10\n"
	"{\n    grid(ceil(M, 4));\n"
	"    Y[block.x * 4 :+ 4, 0 :+ 16] = A[block.x * 4 :+ 4, 0 :+ 16];\n}\n";

static void
go_copy(const char *sizes)
{
	go(copy_src, sizes);
}

TEST(buffer_too_small)
{
	go_copy("M=8 N=16");
	run_arg(&r, "A")->count = 127;
	run_fails(&r, NULL, INTERP_E_ARG, "A needs 128 elements, but its buffer has 127");
}

TEST(assumptions)
{
	go_copy("M=8 N=16");
	run_arg(&r, "N")->i = 14;
	run_fails(&r, NULL, INTERP_E_ARG, "N is 14, but the kernel assumes N % 4 == 0");
	run_arg(&r, "N")->i = 16;
	run_arg(&r, "M")->i = 101;
	run_fails(&r, NULL, INTERP_E_ARG, "M is 101");
	run_arg(&r, "M")->i = -1;
	run_fails(&r, NULL, INTERP_E_ARG, "M is -1");
	run_arg(&r, "M")->i = 1;
	run_arg(&r, "N")->i = 4;
	run_fails(&r, NULL, INTERP_E_ARG, "M + N >= 10");
}

TEST(wrong_argument_count)
{
	go_copy("M=8 N=16");
	ck_assert_int_eq(interp_run(r.k, r.arg, r.k->nparam - 1, NULL), INTERP_E_ARG);
}

TEST(before_the_start)
{
	static const char src[] =
		"kernel t(Y: out f32[8], s: i64)\n{\n    grid(1);\n    let b: shared f32[16];\n"
		"    b[:] = 1;\n    Y[:] = b[s :+ 8];\n}\n";

	go(src, "s=-2");
	run_fails(&r, NULL, INTERP_E_FAULT, "starts at -2");
	ck_assert_uint_eq(u->diag->msg[u->diag->n - 1].src.line, 6);
}

TEST(never_written)
{
	static const char src[] =
		"kernel t(Y: out f32[8])\n{\n    grid(1);\n    let b: shared f32[2, 8];\n"
		"    b[0, :] = 1 + f32(iota(0, 8));\n    barrier;\n    Y[:] = b[1, :];\n}\n";
	InterpOpt uninit = { .uninit = true };

	go(src, "");
	run_fails(&r, NULL, INTERP_E_FAULT, "uninitialized element");
	run_ok(&r, &uninit);
	ck_assert(isnan(run_get(&r, "Y", 0)));
}

TEST(budget)
{
	InterpOpt few = { .max_ops = 100 };
	static const char src[] =
		"kernel t(Y: out f32[8], N: i64)\n{\n    grid(1);\n    var x: register f32[8] = 0;\n"
		"    for i in 0..N { x += 1; }\n    Y[:] = x;\n}\n";

	go(src, "N=5");
	run_ok(&r, &few);
	ck_assert(run_get(&r, "Y", 7) == 5);
	run_arg(&r, "N")->i = INT64_MAX;
	run_fails(&r, &few, INTERP_E_LIMIT, "budget");
}

/* The report is that of the first block that fails, whichever runs first. */
TEST(first_block_reports)
{
	static const char src[] =
		"kernel t(Y: out f32[N])\n{\n    grid(ceil(N, 8));\n"
		"    let b: shared f32[308];\n    b[:] = 1;\n"
		"    Y[block.x * 8 :+ 8] = b[300 - block.x * 8 :+ 8];\n}\n";
	InterpOpt many = { .workers.threads = 8 };

	go(src, "N=4096");
	run_fails(&r, &many, INTERP_E_FAULT, "starts at -4");
}

TEST_PROGRAM(UNIT_FIXTURE);
