/* test_check.c - tests the verdict of --check: FAIL for incorrect results and PASS for correct ones, of every
 * type. */
#include "hexc/cli/base/files.c"
#include "hexc/cli/compare_reference.c"
#include "hexc/cli/tensor_data.c"
#include "hexc/cli/base/npy.c"
#include "hexc/cli/base/options.c"
#include "hexc/cli/base/terminal.c"
#include "hexc/cli/base/util.c"
#include "test/check.h"
#include <math.h>

/* One tensor [2, 3] of the type: what the interpreter says, what the simulator says, the bound. */
static const struct {
	const char *type;
	double tile, sim, bound;
	int status;
} row[] = {
	{ "f32", 1.5, 1.5, 0, 0 },
	{ "f32", 1.5, 1.5000001, 0, EXIT_WRONG }, /* nothing may differ here */
	{ "f32", 1.5, 1.5000001, 1e-6, 0 },
	{ "f32", 1.5, 1.51, 1e-3, EXIT_WRONG },
	{ "f32", NAN, NAN, 0, 0 },
	{ "f32", 1, NAN, 1e-3, EXIT_WRONG },
	{ "f32", NAN, 1, 1e-3, EXIT_WRONG },
	{ "f32", INFINITY, INFINITY, 0, 0 },
	{ "f32", INFINITY, -INFINITY, 0, EXIT_WRONG },
	{ "f32", INFINITY, 3e38, 0, EXIT_WRONG },
	{ "f32", 0.0, -0.0, 0, 0 },
	{ "f32", 1, 2, INFINITY, EXIT_UNJUDGED }, /* no bound: neither wrong nor right */
	{ "f32", 1, NAN, INFINITY, EXIT_UNJUDGED },
	{ "f32", 1, 2, NAN, EXIT_UNJUDGED },
	{ "f32", 2, 2, INFINITY, 0 },
	{ "f16", 1, 1.0009765625, 0.0009, EXIT_WRONG },
	{ "f16", 1, 1.0009765625, 0.001, 0 },
	{ "bf16", 1, 1.0078125, 0.008, 0 },
	{ "i32", 7, 8, 0, EXIT_WRONG },
	{ "i32", -7, -7, 0, 0 },
	{ "u4", 7, 8, 0, EXIT_WRONG },
	{ "i64", 9007199254740992.0, 9007199254740992.0, 0, 0 },
};

TEST_EACH(verdict, CLI_COUNT(row))
{
	unsigned char tile[64] = { 0 }, sim_data[64] = { 0 };
	double bound[8] = { 0 };
	Tensor t = { .info = { .name = "C", .kind = HEXC_POINTER, .rank = 2, .written = 1 },
		     .dim = { 2, 3 },
		     .stride = { 3, 1 },
		     .span = 6,
		     .tile = tile,
		     .device = sim_data,
		     .bound = bound };
	Args a = { .t = &t, .n = 1 };

	t.type = hexc_dtype_find(row[_i].type);
	hexc_put(t.type, tile, 4, row[_i].tile);
	hexc_put(t.type, sim_data, 4, row[_i].sim);
	bound[4] = row[_i].bound;
	ck_assert_int_eq(run_check(&a, true), row[_i].status);
	ck_assert_int_eq(run_check(&a, false), 0);
}

/* What the program does not write is not judged, and wrong where the device wrote it. */
TEST(unwritten)
{
	float tile[2] = { 1, 2 }, got[2] = { 1, 2 };
	double bound[2] = { 0, BOUND_UNWRITTEN };
	Tensor t = { .info = { .name = "C", .kind = HEXC_POINTER, .rank = 1, .written = 1 },
		     .dim = { 2 },
		     .stride = { 1 },
		     .span = 2,
		     .tile = (unsigned char *)tile,
		     .device = (unsigned char *)got,
		     .bound = bound };
	Args a = { .t = &t, .n = 1 };

	t.type = hexc_dtype_find("f32");
	ck_assert_int_eq(run_check(&a, true), EXIT_UNJUDGED);
	ck_assert_int_eq(run_check(&a, false), EXIT_UNJUDGED);
	got[1] = 3;
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
	got[0] = 0; /* one wrong, one not judged: wrong */
	got[1] = 2;
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
	got[0] = 1;
	bound[1] = 0;
	got[1] = 2;
	ck_assert_int_eq(run_check(&a, true), 0);
}

/* An estimate stands in for a bound that is not known: within it right, past it neither right nor wrong, and
 * past what runs with larger errors give wrong. */
TEST(estimated)
{
	float tile[2] = { 1, 2 }, got[2] = { 1, 2.5f };
	double bound[2] = { 0, INFINITY }, estimate[2] = { 0, 0.5 }, most[2] = { 0, 0.5 };
	Tensor t = { .info = { .name = "C", .kind = HEXC_POINTER, .rank = 1, .written = 1 },
		     .dim = { 2 },
		     .stride = { 1 },
		     .span = 2,
		     .tile = (unsigned char *)tile,
		     .device = (unsigned char *)got,
		     .estimate = estimate,
		     .bound = bound };
	Args a = { .t = &t, .n = 1 };

	t.type = hexc_dtype_find("f32");
	ck_assert_int_eq(run_check(&a, true), 0);
	estimate[1] = 0.25;
	ck_assert_int_eq(run_check(&a, true), EXIT_UNJUDGED);
	estimate[1] = NAN;
	ck_assert_int_eq(run_check(&a, true), EXIT_UNJUDGED);
	estimate[1] = 0.25;
	t.most = most;
	ck_assert_int_eq(run_check(&a, true), EXIT_UNJUDGED);
	most[1] = 0.49;
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
	estimate[1] = 0.5;
	ck_assert_int_eq(run_check(&a, true), 0);
	estimate[1] = 0.25;
	most[1] = NAN;
	ck_assert_int_eq(run_check(&a, true), EXIT_UNJUDGED);
	estimate[1] = 0.5;
	got[0] = 1.5f; /* of an element with a bound it says nothing */
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
}

/* Integers that a double cannot tell apart. */
TEST(wide_integers)
{
	int64_t tile[1] = { 9007199254740993 }, got[1] = { 9007199254740992 };
	double bound[1] = { 0 };
	Tensor t = { .info = { .name = "C", .kind = HEXC_POINTER, .rank = 1, .written = 1 },
		     .dim = { 1 },
		     .stride = { 1 },
		     .span = 1,
		     .tile = (unsigned char *)tile,
		     .device = (unsigned char *)got,
		     .bound = bound };
	Args a = { .t = &t, .n = 1 };

	t.type = hexc_dtype_find("i64");
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
}

/* Gaps between rows are nobody's. */
TEST(strides)
{
	float tile[8] = { 1, 2, 3, 9, 4, 5, 6, 9 }, got[8] = { 1, 2, 3, 8, 4, 5, 6, 7 };
	double bound[8] = { 0 };
	Tensor t = { .info = { .name = "C", .kind = HEXC_POINTER, .rank = 2, .written = 1 },
		     .dim = { 2, 3 },
		     .stride = { 4, 1 },
		     .span = 7,
		     .tile = (unsigned char *)tile,
		     .device = (unsigned char *)got,
		     .bound = bound };
	Args a = { .t = &t, .n = 1 };

	t.type = hexc_dtype_find("f32");
	ck_assert_int_eq(run_check(&a, true), 0);
	got[6] = 7;
	ck_assert_int_eq(run_check(&a, true), EXIT_WRONG);
}

TEST(numbers)
{
	uint32_t d[3];
	int64_t i;
	double f;

	ck_assert(cli_int("-9223372036854775808", &i) && i == INT64_MIN);
	ck_assert(cli_int("0x7f", &i) && i == 127);
	ck_assert(!cli_int("9223372036854775808", &i) && !cli_int("", &i) && !cli_int("-", &i));
	ck_assert(!cli_int(" 1", &i) && !cli_int("1 ", &i) && !cli_int("0x", &i) && !cli_int("1e3", &i));
	ck_assert(cli_float("1e-3", &f) && f == 1e-3);
	ck_assert(cli_float("-inf", &f) && isinf(f) && f < 0);
	ck_assert(!cli_float("1e999", &f) && !cli_float("0x1p3", &f) && !cli_float("1..2", &f) &&
	          !cli_float("e", &f));
	ck_assert(cli_dims("7", 100, d) && d[0] == 7 && d[1] == 1 && d[2] == 1);
	ck_assert(cli_dims("1,2,3", 100, d) && d[2] == 3);
	ck_assert(!cli_dims("", 100, d) && !cli_dims("1,", 100, d) && !cli_dims("1,2,3,", 100, d));
	ck_assert(!cli_dims("101", 100, d) && !cli_dims("-1", 100, d));
}
