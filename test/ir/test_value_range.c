/* test_value_range.c - tests range analysis of index values: required results are derived, and no derived
 * result is false. In C: facts have no text. */
#include "hexc/analysis/analysis.h"
#include "test/ir/util_prog.h"
#include "hexc/ir/verify/verify.h"
#include "test/ir/util_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges and divisors ------------------------------------------------------------------------- */

#define MIN INT64_MIN
#define MAX INT64_MAX

/* K is a multiple of 128 from 128 to 2^40, M from 1 to 2^40. */
static const struct {
	const char *line; /* defines %20 */
	int64_t mult, lo, hi;
} fact[] = {
	{ "%20 = const value 12 : i64", 12, 12, 12 },
	{ "%20 = const value 0 : i64", 0, 0, 0 },
	{ "%20 = const value -12 : i64", 12, -12, -12 },
	{ "%20 = mul %4, %4 : i64", 128 * 128, MIN, MAX }, /* may wrap: the power of two stays */
	{ "%10 = const value 64 : i64 %20 = div %4, %10 : i64", 2, 2, 1LL << 34 },
	{ "%10 = const value 48 : i64 %20 = div %4, %10 : i64", 1, 2, (1LL << 40) / 48 },
	{ "%10 = const value 48 : i64 %20 = mod %4, %10 : i64", 16, 0, 32 },
	{ "%10 = const value 64 : i64 %20 = mod %4, %10 : i64", 0, 0, 0 },
	/* K / M, rounded up: at most K */
	{ "%10 = sub %3, %5 : i64 %11 = add %4, %10 : i64 %20 = div %11, %3 : i64", 1, 0, 1LL << 40 },
	{ "%10 = const value 24 : i64 %20 = mul %4, %10 : i64", 128 * 24, 128 * 24, (1LL << 40) * 24 },
	{ "%10 = const value 24 : i64 %20 = sub %4, %10 : i64", 8, 104, (1LL << 40) - 24 },
	{ "%10 = const value 3 : i64 %20 = shl %4, %10 : i64", 1024, 1024, 1LL << 43 },
	{ "%10 = const value 3 : i64 %20 = shr %4, %10 : i64", 16, 16, 1LL << 37 },
	{ "%10 = const value 96 : i64 %20 = min %4, %10 : i64", 96, 96, 96 },
	{ "%10 = const value 96 : i64 %20 = min %3, %10 : i64", 1, 1, 96 },
	{ "%10 = const value 96 : i64 %20 = max %4, %10 : i64", 32, 128, 1LL << 40 },
	{ "%10 = const value 12 : i64 %20 = and %3, %10 : i64", 4, 0, 12 },
	{ "%20 = neg %4 : i64", 128, -(1LL << 40), -128 },
	{ "%20 = block_id : i64", 1, 0, 2147483646 },
	{ "%20 = block_id axis 1 : i64", 1, 0, 65534 },
	{ "%20 = lt %3, %3 : bool", 1, 0, 1 },
	{ "%10 = const value 100 : i64 %20 = lt %4, %10 : bool", 0, 0, 0 },
	{ "%10 = const value 100 : i64 %20 = le %10, %4 : bool", 1, 1, 1 },
	{ "%10 = const value 100 : i64 %11 = lt %3, %10 : bool %20 = select %11, %3, %10 : i64", 1, 1, 100 },
	{ "%10 = const value 4 : i32 %11 = cast %4 : i32 %20 = mul %11, %10 : i32", 512, MIN, MAX },
	{ "%10 = cast %3 : i8 %20 = cast %10 : i64", 1, -128, 127 },
	{ "%10 = const value 200 : i64 %11 = cast %10 : u8 %20 = cast %11 : i64", 200, 200, 200 },
	{ "%10 = const value 0 : i64 %11 = const value 64 : i64 %12 = const value 256 : i64"
	  " %20 = for %10, %12, %11, %10 : i64 "
	  "{ (%21 : i64, %22 : i64) yield %21 }",
	  64, 0, 192 },
	/* a stage counter: 0 1 2 0 1 2 */
	{ "%10 = const value 0 : i64 %11 = const value 3 : i64 %20 = for %10, %4, %5, %10 : i64"
	  " { (%21 : i64, %22 : i64) "
	  "%23 = add %22, %5 : i64 %24 = eq %23, %11 : bool %25 = select %24, %10, %23 : i64 yield %25 }",
	  1, 0, 2 },
	{ "%10 = const value 0 : i64 %11 = const value 3 : i64 %20 = for %10, %4, %5, %10 : i64"
	  " { (%21 : i64, %22 : i64) "
	  "%23 = add %22, %5 : i64 %24 = lt %23, %11 : bool %25 = select %24, %23, %10 : i64 yield %25 }",
	  1, 0, 2 },
	/* asked before it is made: 0 1 2 0 1 2, and the one before: 2 0 1 2 0 1 */
	{ "%10 = const value 0 : i64 %11 = const value 2 : i64 %20 = for %10, %4, %5, %10 : i64"
	  " { (%21 : i64, %22 : i64) "
	  "%23 = add %22, %5 : i64 %24 = eq %22, %11 : bool %25 = select %24, %10, %23 : i64 yield %25 }",
	  1, 0, 2 },
	{ "%10 = const value 0 : i64 %11 = const value 2 : i64 %20 = for %10, %4, %5, %11 : i64"
	  " { (%21 : i64, %22 : i64) "
	  "%23 = sub %22, %5 : i64 %24 = eq %22, %10 : bool %25 = select %24, %11, %23 : i64 yield %25 }",
	  1, 0, 2 },
	/* twice what is at most 7, and 3 more */
	{ "%10 = const value 8 : i64 %11 = lt %3, %10 : bool %12 = const value 2 : i64 %13 = mul %3, %12 : "
	  "i64"
	  " %14 = const value 3 : i64 %15 = add %13, %14 : i64 %20 = select %11, %15, %14 : i64",
	  1, 3, 17 },
	/* climbs without end: only the divisor and the lower bound settle... which may wrap */
	{ "%10 = const value 8 : i64 %20 = for %5, %4, %5, %10 : i64"
	  " { (%21 : i64, %22 : i64) %23 = add %22, %10 : i64 "
	  "yield %23 }",
	  8, MIN, MAX },
	{ "%10 = const value 8 : i64 %11 = lt %3, %10 : bool"
	  " %20 = if %11 : i64 { yield %3 } else { yield %10 }",
	  1, 1, 8 },
};

TEST_EACH(facts_are_found, COUNT_OF(fact))
{
	Kernel *k = ir_read(u, ir_wrap(u, fact[_i].line));
	Fact f;

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	f = val_fact(k, ir_val(k, 20));
	ck_assert_msg(f.mult == fact[_i].mult, "%s: mult %lld", fact[_i].line, (long long)f.mult);
	if (fact[_i].lo != MIN)
		ck_assert_msg(f.lo == fact[_i].lo, "%s: lo %lld", fact[_i].line, (long long)f.lo);
	if (fact[_i].hi != MAX)
		ck_assert_msg(f.hi == fact[_i].hi, "%s: hi %lld", fact[_i].line, (long long)f.hi);
}

TEST(counters)
{
	Kernel *k = ir_read(u, ir_wrap(u, "%10 = const value 64 : i64 %11 = const value 16 : i64"
	                                  " %12 = const value 999 : i64\n"
	                                  "for %11, %12, %10 { (%20 : i64) yield }\n"
	                                  "for %5, %4, %10 { (%21 : i64) yield }\n"
	                                  "for %5, %4, %3 { (%22 : i64) yield }"));
	Fact a = val_fact(k, ir_val(k, 20)), b = val_fact(k, ir_val(k, 21)), c = val_fact(k, ir_val(k, 22));

	ck_assert(a.mult == 16 && a.lo == 16 && a.hi == 992);
	ck_assert(b.mult == 1 && b.lo == 1 && b.hi == (1LL << 40) - 1);
	ck_assert(c.mult == 1 && c.lo == 1 && c.hi == (1LL << 40) - 1);
}

/* 30 conditions joined by `and`, the chain joined with itself, and a 31st: each once, in order. A version of
 * a kernel may ask for 24. */
TEST(joined_conditions)
{
	enum { N = 30 };
	Text t = { .arena = u->arena };
	Kernel *k;
	Joined all;

	for (int i = 0; i <= N; i++)
		text_printf(&t, "%%%d = const value %d : i64 %%%d = lt %%3, %%%d : bool\n", 20 + i, i,
		            60 + i, 20 + i);
	text_printf(&t, "%%201 = and %%60, %%61 : bool\n");
	for (int i = 2; i < N; i++)
		text_printf(&t, "%%%d = and %%%d, %%%d : bool\n", 200 + i, 199 + i, 60 + i);
	text_printf(&t, "%%130 = and %%%d, %%%d : bool\n", 199 + N, 199 + N);
	text_printf(&t, "%%131 = and %%130, %%%d : bool\n", 60 + N);
	k = ir_read(u, ir_wrap(u, t.s));
	all = val_joined(ir_val(k, 131), O_and);
	ck_assert_int_eq(all.n, N + 1);
	for (int i = 0; i <= N; i++)
		ck_assert_int_eq(all.part[i]->id, 60 + i);
	ck_assert_int_eq(val_joined(ir_val(k, 131), O_or).n, 1);
}

/* ---- views --------------------------------------------------------------------------------------- */

/* Lines define %90, a view; `in` says dim by dim of the operand whether it is proved inside. */
static const struct {
	const char *text;
	bool in[2];
} seen[] = {
	/* constants: K >= 128, M >= 1 */
	{ "%90 = view %1, %10, %10 : global f16[1, 128]", { true, true } },
	{ "%90 = view %1, %10, %10 : global f16[2, 129]", { false, false } },
	{ "%90 = view %1, %10, %11 : global f16[1, 65]", { true, false } },
	{ "%90 = view %1, %10, %11 : global f16[1, 64]", { true, true } },
	/* dropped dims are asked about too */
	{ "%90 = view %1, %10, %10 dropped 1 : global f16[64]", { true, true } },
	{ "%90 = view %1, %3, %10 dropped 1 : global f16[64]", { false, true } },
	/* the counter of a loop over K by 64; by 96, which does not divide 128 */
	{ "for %10, %4, %11 { (%20 : i64)\n %90 = view %1, %10, %20 : global f16[1, 64]\n"
	  " yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %90 = view %1, %10, %20 : global f16[1, 65]\n"
	  " yield }",
	  { true, false } },
	{ "for %10, %4, %14 { (%20 : i64)\n %90 = view %1, %10, %20 : global f16[1, 96]\n"
	  " yield }",
	  { true, false } },
	{ "for %10, %4, %14 { (%20 : i64)\n %90 = view %1, %10, %20 : global f16[1, 32]\n"
	  " yield }",
	  { true, true } },
	{ "for %10, %3, %5 { (%20 : i64)\n %90 = view %1, %20, %10 : global f16[1, 128]\n"
	  " yield }",
	  { true, true } },
	{ "for %10, %3, %11 { (%20 : i64)\n %90 = view %1, %20, %10 : global f16[64, 128]\n"
	  " yield }",
	  { false, true } },
	/* the second half of a step; one step on, with and without a guard */
	{ "for %10, %4, %12 { (%20 : i64)\n %21 = add %20, %11 : i64\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %11 : i64\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield }",
	  { true, false } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = lt %21, %4 : bool\n if %22 {\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield } else { yield } yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = lt %21, %4 : bool\n"
	  " if %22 { yield } else {\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield } yield }",
	  { true, false } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = le %4, %21 : bool\n"
	  " if %22 { yield } else {\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield } yield }",
	  { true, true } },
	/* the guard is on an equal expression made anew, and on one a constant away */
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = lt %21, %4 : bool\n if %22 {\n"
	  " %23 = add %12, %20 : i64\n %90 = view %1, %10, %23 : global f16[1, 64]\n"
	  " yield } else { yield } yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = lt %21, %4 : bool\n if %22 {\n"
	  " %23 = add %20, %11 : i64\n %90 = view %1, %10, %23 : global f16[1, 128]\n"
	  " yield } else { yield } yield }",
	  { true, true } },
	/* a prologue: 64 < K */
	{ "%20 = lt %12, %4 : bool\n if %20 {\n %90 = view %1, %10, %12 : global f16[1, 64]\n"
	  " yield } else { yield }",
	  { true, true } },
	{ "%20 = lt %11, %3 : bool\n if %20 {\n %90 = view %1, %11, %10 : global f16[1, 64]\n"
	  " yield } else { yield }",
	  { true, true } },
	/* groups of scales: k / 128 of K / 128, with k by 64; k / 256 is not exact, so not seen */
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = div %20, %12 : i64\n"
	  " %90 = view %15, %21, %10 : global f16[1, 1]\n yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = div %20, %12 : i64\n"
	  " %90 = view %15, %21, %10 : global f16[2, 2]\n yield }",
	  { false, false } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = div %20, %13 : i64\n"
	  " %90 = view %15, %21, %10 : global f16[1, 1]\n yield }",
	  { false, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = div %20, %11 : i64\n"
	  " %90 = view %15, %21, %10 : global f16[1, 1]\n yield }",
	  { false, true } },
	/* up to the end or before it, by 64 of a multiple of 128: 64 are there, not 128 */
	{ "%20 = min %4, %18 : i64\n for %10, %20, %11 { (%21 : i64)\n"
	  " %90 = view %1, %10, %21 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%20 = min %4, %18 : i64\n for %10, %20, %11 { (%21 : i64)\n"
	  " %90 = view %1, %10, %21 : global f16[1, 128]\n yield }",
	  { true, false } },
	{ "%20 = min %3, %18 : i64\n for %10, %20, %11 { (%21 : i64)\n"
	  " %90 = view %1, %21, %10 : global f16[64, 64]\n yield }",
	  { false, true } },
	/* k / 256 of ceil(K, 256), with k below K, and one more */
	{ "for %10, %4, %11 { (%24 : i64)\n %25 = div %24, %13 : i64\n"
	  " %90 = view %19, %25, %10 : global f16[1, 1]\n yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%24 : i64)\n %25 = div %24, %13 : i64\n"
	  " %90 = view %19, %25, %10 : global f16[2, 1]\n yield }",
	  { false, true } },
	/* the guarded next step of the same */
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = add %20, %12 : i64\n %22 = lt %21, %4 : bool\n if %22 {\n"
	  " %23 = div %21, %12 : i64\n %90 = view %15, %23, %10 : global f16[1, 1]\n"
	  " yield } else { yield } yield }",
	  { true, true } },
	/* a slice that ends at min(x, K) itself, in a loop that ends 63 before, or there */
	{ "%20 = min %18, %4 : i64\n %21 = const value 63 : i64\n %22 = sub %20, %21 : i64\n"
	  " %50 = const value -9223372036854775808 : i64\n %51 = const value 9223372036854775807 : i64\n"
	  " for %10, %22, %11 { (%23 : i64)\n"
	  " %90 = view %1, %10, %23, %50, %50, %51, %20 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%20 = min %18, %4 : i64\n"
	  " %50 = const value -9223372036854775808 : i64\n %51 = const value 9223372036854775807 : i64\n"
	  " for %10, %20, %11 { (%23 : i64)\n"
	  " %90 = view %1, %10, %23, %50, %50, %51, %20 : global f16[1, 64]\n yield }",
	  { true, false } },
	/* .. that begins at the counter, or one after it */
	{ "%50 = const value -9223372036854775808 : i64\n %51 = const value 9223372036854775807 : i64\n"
	  " for %10, %4, %11 { (%23 : i64)\n"
	  " %90 = view %1, %10, %23, %50, %23, %51, %51 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%50 = const value -9223372036854775808 : i64\n %51 = const value 9223372036854775807 : i64\n"
	  " for %10, %4, %11 { (%23 : i64)\n %24 = add %23, %5 : i64\n"
	  " %90 = view %1, %10, %23, %50, %24, %51, %51 : global f16[1, 64]\n yield }",
	  { true, false } },
	/* j % 64, where the slice ends at j % 64 + M - j, and M is at least 64 above j */
	{ "%21 = const value 63 : i64\n %22 = sub %3, %21 : i64\n"
	  " %50 = const value -9223372036854775808 : i64\n %51 = const value 9223372036854775807 : i64\n"
	  " for %10, %22, %5 { (%23 : i64)\n %24 = mod %23, %11 : i64\n %25 = add %3, %24 : i64\n"
	  " %26 = sub %25, %23 : i64\n"
	  " %90 = view %1, %10, %24, %50, %50, %51, %26 : global f16[1, 64]\n yield }",
	  { true, true } },
	/* block.x * 128 with grid.x = ceil(N, 128), N a multiple of 128, and of M, which is not */
	{ "%20 = block_id : i64\n %21 = mul %20, %12 : i64\n"
	  " %90 = view %16, %21, %10 : global f16[128, 1]",
	  { true, true } },
	{ "%20 = block_id : i64\n %21 = mul %12, %20 : i64\n %22 = add %21, %11 : i64\n"
	  " %90 = view %16, %22, %10 : global f16[64, 1]",
	  { true, true } },
	{ "%20 = block_id : i64\n %21 = mul %20, %12 : i64\n"
	  " %90 = view %16, %21, %10 : global f16[129, 1]",
	  { false, true } },
	{ "%20 = block_id axis 1 : i64\n %21 = mul %20, %12 : i64\n"
	  " %90 = view %1, %21, %10 : global f16[128, 1]",
	  { false, true } },
	{ "%20 = block_id axis 1 : i64\n %21 = mul %20, %12 : i64\n"
	  " %90 = view %1, %21, %10 : global f16[1, 1]",
	  { true, true } },
	{ "%20 = block_id axis 2 : i64\n %90 = view %1, %20, %10 : global f16[1, 1]", { true, true } },
	/* clamped starts */
	{ "%20 = sub %4, %11 : i64\n %21 = block_id axis 1 : i64\n %22 = min %21, %20 : i64\n"
	  " %90 = view %1, %10, %22 : global f16[1, 64]",
	  { true, true } },
	/* a view of a view */
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = view %1, %10, %20 : global f16[1, 64]\n"
	  " %22 = const value 32 : i64\n"
	  " %90 = view %21, %10, %22 dropped 1 : global f16[32]\n yield }",
	  { true, true } },
	{ "for %10, %4, %11 { (%20 : i64)\n %21 = view %1, %10, %20 : global f16[1, 64]\n"
	  " %22 = const value 48 : i64\n"
	  " %90 = view %21, %10, %22 dropped 1 : global f16[32]\n yield }",
	  { true, false } },
	{ "for %10, %4, %12 { (%20 : i64)\n %21 = view %1, %10, %20 : global f16[1, 256]\n"
	  " %22 = const value 64 : i64\n"
	  " %90 = view %21, %10, %22 dropped 1 : global f16[64]\n yield }",
	  { true, true } },
	/* shared tiles have extents, stages are counted */
	{ "%20 = alloc : shared f16[3, 64]\n %21 = const value 3 : i64\n %22 = for %10, %4, %5, %10 : i64 {"
	  " (%23 : i64, %24 : i64)\n %90 = view %20, %24, %10 dropped 1 : shared f16[64]\n"
	  " %25 = add %24, %5 : i64\n"
	  " %26 = eq %25, %21 : bool\n %27 = select %26, %10, %25 : i64\n yield %27 }",
	  { true, true } },
	{ "%20 = alloc : shared f16[3, 64]\n %21 = view %20, %5, %10 dropped 1 : shared f16[64]\n"
	  " %22 = const value 32 : i64\n"
	  " %23 = view %21, %22 : shared f16[32]\n %90 = view %20, %5, %22 : shared f16[2, 32]",
	  { true, true } },
	{ "%20 = alloc : shared f16[3, 64]\n"
	  " %90 = view %20, %5, %11 : shared f16[3, 64]",
	  { false, false } },
	/* an inner view that leaves its operand, although not the tensor */
	{ "%20 = view %1, %10, %10 : global f16[1, 32]\n %21 = const value 16 : i64\n"
	  " %90 = view %20, %10, %21 : global f16[1, 32]",
	  { true, false } },
	{ "%20 = view %1, %10, %10 : global f16[1, 32]\n %21 = const value 16 : i64\n"
	  " %90 = view %20, %10, %21 : global f16[1, 16]",
	  { true, true } },
	/* division rounds toward zero: (K - 255) / 128 is K / 128 - 2 rounded down, but 0 for K =
	 * 128 */
	{ "%20 = const value 255 : i64\n %21 = sub %4, %20 : i64\n %22 = div %21, %12 : i64\n"
	  " %23 = add %22, %5 : i64\n"
	  " %90 = view %15, %23, %10 : global f16[1, 1]",
	  { false, true } },
	/* x + 64 < K says nothing about x when x + 64 may wrap around */
	{ "%20 = add %18, %11 : i64\n %21 = lt %20, %4 : bool\n if %21 {\n"
	  " %90 = view %1, %10, %18 : global f16[1, 1]\n yield } else { yield }",
	  { true, false } },
	{ "%20 = lt %18, %4 : bool\n if %20 {\n %90 = view %1, %10, %18 : global f16[1, 1]\n"
	  " yield } else { yield }",
	  { true, true } },
	/* several conditions, of which each dim needs another: a block that is inside */
	{ "%20 = block_id axis 1 : i64\n %21 = mul %20, %12 : i64\n %22 = add %21, %12 : i64\n"
	  " %23 = block_id : i64\n %24 = mul %23, %12 : i64\n %25 = add %24, %12 : i64\n"
	  " %26 = le %22, %3 : bool\n %27 = le %25, %4 : bool\n %28 = and %26, %27 : bool\n if %28 {\n"
	  " %90 = view %1, %21, %24 : global f16[128, 128]\n yield } else { yield }",
	  { true, true } },
	{ "%20 = block_id axis 1 : i64\n %21 = mul %20, %12 : i64\n %22 = add %21, %11 : i64\n"
	  " %26 = le %22, %3 : bool\n if %26 {\n"
	  " %90 = view %1, %21, %10 : global f16[128, 128]\n yield } else { yield }",
	  { false, true } },
	/* from 0 on, and in the other branch */
	{ "%20 = le %13, %4 : bool\n if %20 {\n %90 = view %1, %10, %10 : global f16[1, 256]\n"
	  " yield } else { yield }",
	  { true, true } },
	{ "%20 = le %13, %4 : bool\n if %20 {\n yield } else {\n"
	  " %90 = view %1, %10, %10 : global f16[1, 256]\n yield }",
	  { true, false } },
	/* whole parts of what is no multiple end before it: of a part's divisors, and in that branch alone */
	{ "%20 = mod %3, %11 : i64\n %21 = eq %20, %10 : bool\n if %21 { yield } else {\n"
	  " %22 = div %3, %12 : i64\n %23 = mul %22, %12 : i64\n"
	  " %90 = view %1, %23, %10 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%20 = mod %3, %12 : i64\n %21 = eq %20, %10 : bool\n if %21 { yield } else {\n"
	  " %22 = div %3, %12 : i64\n %23 = mul %22, %12 : i64\n"
	  " %90 = view %1, %23, %10 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%20 = mod %3, %13 : i64\n %21 = eq %20, %10 : bool\n if %21 { yield } else {\n"
	  " %22 = div %3, %12 : i64\n %23 = mul %22, %12 : i64\n"
	  " %90 = view %1, %23, %10 : global f16[1, 64]\n yield }",
	  { false, true } },
	{ "%20 = mod %3, %14 : i64\n %21 = eq %20, %10 : bool\n if %21 { yield } else {\n"
	  " %22 = div %3, %12 : i64\n %23 = mul %22, %12 : i64\n"
	  " %90 = view %1, %23, %10 : global f16[1, 64]\n yield }",
	  { false, true } },
	{ "%20 = mod %3, %11 : i64\n %21 = eq %20, %10 : bool\n if %21 {\n"
	  " %22 = div %3, %12 : i64\n %23 = mul %22, %12 : i64\n"
	  " %90 = view %1, %23, %10 : global f16[1, 64]\n yield } else { yield }",
	  { false, true } },
	/* nor is it 0 */
	{ "%20 = mod %2, %13 : i64\n %21 = eq %20, %10 : bool\n if %21 { yield } else {\n"
	  " %90 = view %16, %10, %10 : global f16[1, 64]\n yield }",
	  { true, true } },
	{ "%20 = mod %2, %13 : i64\n %21 = eq %20, %10 : bool\n if %21 {\n"
	  " %90 = view %16, %10, %10 : global f16[1, 64]\n yield } else { yield }",
	  { false, true } },
	/* what is asked about a value of one iteration says nothing of those before it */
	{ "%89 = for %10, %13, %5, %10 : i64 { (%20 : i64, %21 : i64)\n %22 = add %21, %18 : i64\n"
	  " %23 = lt %22, %4 : bool\n if %23 {\n %90 = view %1, %10, %22 : global f16[1, 1]\n"
	  " yield } else { yield } yield %22 }",
	  { true, false } },
	/* .. of a loop: 200, 136, 72: what the one before was is not below 128 yet */
	{ "%87 = const value 200 : i64\n %88, %89 = for %10, %13, %5, %87, %10 : i64, i64"
	  " { (%20 : i64, %21 : i64, %22 : i64)\n %23 = sub %21, %11 : i64\n %25 = max %23, %10 : i64\n"
	  " %24 = lt %21, %12 : bool\n if %24 {\n %90 = view %1, %10, %22 : global f16[1, 1]\n"
	  " yield } else { yield } yield %25, %21 }",
	  { true, false } },
	/* a remainder is below the divisor and no more than what is divided */
	{ "%20 = mod %18, %3 : i64\n %21 = mod %18, %4 : i64\n"
	  " %90 = view %1, %20, %21 : global f16[1, 1]",
	  { true, true } },
	{ "%20 = mod %18, %4 : i64\n %21 = mod %18, %3 : i64\n"
	  " %90 = view %1, %20, %21 : global f16[1, 1]",
	  { false, false } },
	{ "%21 = block_id : i64\n %22 = mul %21, %12 : i64\n %23 = mod %22, %14 : i64\n"
	  " %90 = view %16, %23, %10 : global f16[1, 1]",
	  { true, true } },
	{ "%20 = sub %18, %5 : i64\n %21 = mod %18, %3 : i64\n %22 = mod %20, %3 : i64\n"
	  " %90 = view %1, %22, %21 : global f16[1, 1]",
	  { false, false } },
	{ "%20 = mod %18, %3 : i64\n %90 = view %1, %20, %10 : global f16[2, 1]",
	  { false, true } },
	/* a value that may have wrapped around proves nothing */
	{ "%20 = mul %3, %3 : i64\n %21 = mul %20, %20 : i64\n"
	  " %90 = view %1, %21, %21 : global f16[1, 1]",
	  { false, false } },
};

static const char view_head[] =
	"kernel t {\n warps 4\n"
	" param %1 tensor A : global f16[?, ?] read size %3, %4 stride %4, %5\n"
	" param %15 tensor S : global f16[?, 1] read size %17, %5 stride %5, %5\n"
	" param %16 tensor B : global f16[?, ?] read size %2, %4 stride %4, %5\n"
	" param %19 tensor T : global f16[?, 1] read size %41, %5 stride %5, %5\n"
	" param %3 size M : i64 mult 1 lo 1 hi 9223372036854775807\n"
	" param %4 size K : i64 mult 128 lo 128 hi 9223372036854775807\n"
	" param %2 size N : i64 mult 128 lo 0 hi 9223372036854775807\n"
	" param %18 scalar x : i64 mult 1 lo 0 hi 9223372036854775807\n"
	" grid {\n %6 = const value 127 : i64\n %7 = const value 128 : i64\n %8 = add %2, %6 : i64\n"
	" %9 = div %8, %7 : i64\n"
	" %30 = add %3, %6 : i64\n %31 = div %30, %7 : i64\n yield %9, %31, %3\n }\n"
	" body {\n %5 = const value 1 : i64\n %10 = const value 0 : i64\n %11 = const value 64 : i64\n"
	" %12 = const value 128 : i64\n"
	" %13 = const value 256 : i64\n %14 = const value 96 : i64\n %17 = div %4, %12 : i64\n"
	" %39 = const value 255 : i64\n %40 = add %4, %39 : i64\n %41 = div %40, %13 : i64\n %s\n"
	" yield\n }\n}\n";

TEST_EACH(views_inside, COUNT_OF(seen))
{
	const char *at = strstr(view_head, "%s");
	const char *text = arena_printf(u->arena, "%.*s%s%s",
	                                (int)(at - view_head), view_head, seen[_i].text, at + 2);
	Kernel *k = ir_read(u, text);
	Op *view = ir_val(k, 90)->def;

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	for (int d = 0; d < 2; d++)
		ck_assert_msg(view_operand_in_bounds(k, view, d) == seen[_i].in[d], "%s: dim %d is %s",
		              seen[_i].text, d,
		              seen[_i].in[d] ? "inside" : "not known to be inside");
	for (int d = 0; d < view->out[0]->type.rank; d++)
		ck_assert(view_in_bounds(k, view, d) == seen[_i].in[view_operand_dim(view, d)]);
}

/* Where a block runs, no extent of the grid is 0. */
TEST(grid_extents)
{
	Kernel *k = ir_read(u, "kernel t {\n warps 1\n"
	                       " param %1 size N : i64 mult 1 lo 0 hi 100\n"
	                       " param %2 size M : i64 mult 1 lo 0 hi 100\n"
	                       " grid {\n %3 = const value 1 : i64\n %4 = add %2, %3 : i64\n"
	                       " yield %3, %1, %4\n }\n"
	                       " body {\n %5 = div %2, %1 : i64\n %6 = div %1, %2 : i64\n yield\n }\n}\n");

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	ck_assert_int_eq(val_fact(k, ir_val(k, 1)).lo, 1);
	ck_assert_int_eq(val_fact(k, ir_val(k, 2)).lo, 0);
	ck_assert_int_eq(val_fact(k, ir_val(k, 5)).hi, 100);
	ck_assert(val_fact(k, ir_val(k, 6)).hi > 100);
}

/* A block's share of N elements begins before N + S, for S blocks that share them evenly. */
TEST(shares)
{
	Kernel *k = ir_read(u, "kernel t {\n warps 1\n"
	                       " param %1 size N : i64 mult 1 lo 0 hi 1000\n"
	                       " param %2 size S : i64 mult 1 lo 0 hi 1000\n"
	                       " grid {\n %3 = const value 1 : i64\n yield %2, %3, %1\n }\n"
	                       " body {\n %5 = const value 1 : i64\n %6 = sub %2, %5 : i64\n"
	                       " %7 = add %1, %6 : i64\n"
	                       " %8 = div %7, %2 : i64\n %9 = const value 64 : i64\n %10 = mul %8, %9 : i64\n"
	                       " %11 = block_id : i64\n %12 = mul %11, %10 : i64\n"
	                       " %13 = block_id axis 2 : i64\n %14 = mul %13, %10 : i64\n yield\n }\n}\n");
	Fact f;

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	ck_assert_int_eq(val_fact(k, ir_val(k, 8)).hi, 1000);
	f = val_fact(k, ir_val(k, 12));
	ck_assert_int_eq(f.lo, 0);
	ck_assert_int_eq(f.hi, (1000 + 1000) * 64);
	ck_assert_int_eq(f.mult, 64);
	ck_assert_int_eq(val_fact(k, ir_val(k, 14)).hi, 999 * 1000 * 64); /* of other blocks */
}

TEST(alignment)
{
	Kernel *k = ir_read(u, ir_wrap(u,
	                               "%10 = const value 0 : i64 %11 = const value 24 : i64"
	                               " %12 = const value 64 : i64\n"
	                               "%20 = view %1, %3, %11 : global f16[16, 64]\n"
	                               "%21 = view %1, %3, %12 dropped 1 : global f16[64]\n"
	                               "%22 = view %21, %11 : global f16[8]\n"
	                               "%23 = view %1, %3, %3 : global f16[1, 8]\n"
	                               "%24 = view %1, %3, %12 dropped 2 : global f16[8]\n"
	                               "%25 = alloc : shared f16[8, 64]\n"
	                               "%26 = view %25, %10, %10 : shared f16[8, 8]\n"));

	ck_assert_int_eq(view_align(k, ir_val(k, 20)->def, 64), 8);
	ck_assert_int_eq(view_align(k, ir_val(k, 20)->def, 4), 4);
	ck_assert_int_eq(view_align(k, ir_val(k, 21)->def, 256), 64);
	ck_assert_int_eq(view_align(k, ir_val(k, 22)->def, 64), 8);
	ck_assert_int_eq(view_align(k, ir_val(k, 23)->def, 64), 1);
	ck_assert_int_eq(view_unit_dim(k, ir_val(k, 20)->def), 1);
	ck_assert_int_eq(view_unit_dim(k, ir_val(k, 21)->def), 0);
	ck_assert_int_eq(view_unit_dim(k, ir_val(k, 22)->def), 0);
	ck_assert_int_eq(view_unit_dim(k, ir_val(k, 24)->def), -1);
	ck_assert_int_eq(view_unit_dim(k, ir_val(k, 26)->def), 1);
	ck_assert(view_root(ir_val(k, 22)) == k->param[0].val);
	ck_assert(val_param(k, k->param[1].val) == &k->param[1]);
	ck_assert(val_param(k, ir_val(k, 25)) == NULL);
}

/* ---- random programs against execution ----------------------------------------------------------- */

typedef struct Claims {
	Kernel *k;
	Fact *fact; /* by value id */
	char (*inside)[2]; /* by op id: 0 not asked yet, 1 no, 2 yes */
	long proved, asked, values;
	const Env *env;
} Claims;

/* The program and its launch, before the test fails. */
static void
say(const Claims *c)
{
	fprintf(stderr, "%sM %lld K %lld x %lld block %lld %lld\n", ir_text(c->k->unit, c->k),
	        (long long)c->env->param[1], (long long)c->env->param[2], (long long)c->env->param[3],
	        (long long)c->env->block[0], (long long)c->env->block[1]);
}

static void
on_value(void *user, const Val *v, int64_t x)
{
	Claims *c = user;
	Fact f = c->fact[v->id];

	c->values++;
	if (x >= f.lo && x <= f.hi && (f.mult == 0 ? x == 0 : x % f.mult == 0))
		return;
	say(c);
	ck_abort_msg("%%%u is %lld, not {%lld, %lld, %lld}",
	             (unsigned)v->id, (long long)x, (long long)f.mult,
	             (long long)f.lo, (long long)f.hi);
}

static void
on_view(void *user, const Op *o, const int64_t *start, const int64_t *size)
{
	Claims *c = user;

	for (int d = 0; d < 2; d++) {
		int r = view_result_dim(o, d);
		int64_t ext = r < 0 ? 1 : o->out[0]->type.shape[r];
		c->asked++;
		if (c->inside[o->id][d] != 2)
			continue;
		c->proved++;
		if (start[d] >= 0 && start[d] <= size[d] - ext)
			continue;
		say(c);
		ck_abort_msg("%%%u dim %d: %lld + %lld of %lld",
		             (unsigned)o->out[0]->id, d, (long long)start[d],
		             (long long)ext, (long long)size[d]);
	}
}

static void
claim(Claims *c, Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			c->fact[o->out[i]->id] = val_fact(c->k, o->out[i]);
		for (int i = 0; o->blk[0] && i < o->blk[0]->narg; i++)
			c->fact[o->blk[0]->arg[i]->id] = val_fact(c->k, o->blk[0]->arg[i]);
		for (int d = 0; o->code == O_view && d < 2; d++)
			c->inside[o->id][d] = view_operand_in_bounds(c->k, o, d) ? 2 : 1;
	}
}

static void
check_program(uint64_t seed, long *proved, long *asked)
{
	static const int64_t sizes[] = { 0, 1, 2, 3, 5, 8, 16, 17, 24, 32, 48, 64 };
	Kernel *k = prog_random(u, seed);
	Claims c = { .k = k };
	Watch w = { &c, on_value, on_view, NULL };
	uint64_t r = seed;

	ck_assert_msg(kernel_verify(k, "test"), "%s\n%s", ir_diags(u), ir_text(u, k));
	c.fact = calloc((size_t)k->nval + 1, sizeof *c.fact);
	c.inside = calloc((size_t)k->nop + 1, sizeof *c.inside);
	for (int i = 1; i < 4; i++)
		c.fact[k->param[i].val->id] = val_fact(k, k->param[i].val);
	claim(&c, k->body);
	for (int i = 0; i < 40; i++) {
		Env e = { .param = { 0, sizes[prog_rand(&r, 12)], sizes[prog_rand(&r, 12)],
			             (int64_t)prog_rand(&r, 60) - 20 } };
		int64_t grid[3];
		if (!prog_allows(k, &e))
			continue;
		prog_grid(k, &e, grid);
		if (grid[0] < 1 || grid[1] < 1)
			continue;
		/* the first, the last, and one between */
		for (int j = 0; j < 3; j++) {
			e.block[0] = j == 0 ? 0 : j == 1 ? grid[0] - 1
			                                 : (int64_t)prog_rand(&r, (uint64_t)grid[0]);
			e.block[1] = j == 0 ? 0 : j == 1 ? grid[1] - 1
			                                 : (int64_t)prog_rand(&r, (uint64_t)grid[1]);
			if (e.block[0] > 2147483646 || e.block[1] > 65534)
				continue;
			c.env = &e;
			prog_run(k, &e, &w);
		}
	}
	*proved += c.proved;
	*asked += c.asked;
	free(c.fact);
	free(c.inside);
}

TEST_EACH(nothing_proved_is_false, 10)
{
	long proved = 0, asked = 0;

	for (int i = 0; i < 400; i++) {
		check_program((uint64_t)(_i * 400 + i), &proved, &asked);
		ir_unit_free(u);
		u = ir_unit();
	}
	/* not by saying nothing */
	ck_assert_msg(proved * 10 > asked, "proved %ld of %ld", proved, asked);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
