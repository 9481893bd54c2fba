/* test_text.c - tests the IR's textual form: printed IR parses and prints back to the same bytes; garbage
 * gets a diagnostic. */
#include "hexc/ir/text/text.h"
#include "hexc/ir/verify/verify.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

/* Holds every construct once. */
static const char whole[] =
	"kernel \"od\\\"d\\x0a\" !1:2+3 {\n"
	"  warps 8\n"
	"  teams 2\n"
	"  producer_warps 4\n"
	"  registers 168\n"
	"  cluster 2, 1, 1\n"
	"  smem 4096\n"
	"  team_smem 1024\n"
	"  const BM = -64\n"
	"  const G = 128\n"
	"  param %1.A tensor A : global u4[?, 64] read size %3.M, %20 stride %20, %21 !4:5+6\n"
	"  param %2.C tensor C : global f16[?, ?] read written size %3.M, %22.\"N \\xc3\" "
	"stride %22.\"N \\xc3\", %21\n"
	"  param %3.M size M : i64 mult 8 lo 1 hi 9223372036854775807\n"
	"  param %4.eps scalar eps : f32 mult 1 lo -9223372036854775808 hi 9223372036854775807\n"
	"  map %2.C f16 box 64, 128 size %22.\"N \\xc3\", %3.M stride %22.\"N \\xc3\" swizzle 128 l2 256\n"
	"  map %1.A u8 box 16 size %20 swizzle 0 l2 0\n"
	"  grid {\n"
	"    %10 = const value 1 : i64\n"
	"    %11 = lt %10, %3.M : bool\n"
	"    yield %3.M, %10, %10\n"
	"  }\n"
	"  assume %11 \"M > 1\" !9:9+9\n"
	"  body {\n"
	"    %20 = const value 64 : i64\n"
	"    %21 = const value 1 : i64 !7:8+9\n"
	"    %22.\"N \\xc3\" = mul %3.M, %20 : i64\n"
	"    %23 = const value -0.1 : reg f32[16, 64] @{(16,64):(1@lane,1@reg)+[2:16@lane]}\n"
	"    %24.s = alloc offset -1 align 128 : shared f16[16, 64] @pin{Sw<3,3,3> o (16,64):(64,1)}\n"
	"    %25 = view %1.A, %21, %20 dropped 1 : global u4[64]\n"
	"    %26 = load %25 : reg u4[64] lowering { access inst ld_global_32 vec 8 map {64:1@reg} cost "
	"0x1.8p+100 }\n"
	"    %27, %28 = for %21, %3.M, %20, %23, %21 loop 1 stages 3 : reg f32[16, 64], i64 !3:3+3 "
	"{ (%29.k : i64, %30 : reg f32[16, 64], %31 : i64)\n"
	"      %32 = lt %29.k, %31 : bool\n"
	"      %33 = if %32 : i64 {\n"
	"        yield %29.k\n"
	"      } else {\n"
	"        yield %31\n"
	"      }\n"
	"      yield %30, %33\n"
	"    }\n"
	"    %34 = convert_layout %27 : reg f32[16, 64] lowering { shared write { vec 4 } read { "
	"inst ldmatrix_x4 vec 8 map {(16,64):(1@lane,1@reg)} } tile {(16,64):(64,1)} "
	"bytes 4096 "
	"off 16 }\n"
	"    barrier lowering { dot inst mma_m16n8k16_f32_f16 swap rows {16:1} cols {8:1} k {16:1} }\n"
	"    barrier lowering { dot inst wgmma_f32_f16_ss n 256 swap a { k width 128 lead 0 stride 1024 } "
	"b { mn width 64 lead 8192 stride 512 } }\n"
	"    barrier lowering { access inst tma_load vec 1 tensor_map 2 }\n"
	"    barrier imm 0, 3 fimm 0.5 lowering { rename }\n"
	"    barrier lowering { select cost 2 }\n"
	"    barrier lowering { shuffle }\n"
	"    barrier lowering { reduce_shuffle }\n"
	"    barrier lowering { reduce_shared write { vec 1 } read { vec 2 } bytes 32 }\n"
	"    barrier\n"
	"    async_commit\n"
	"    %35 = const value 0 : i64\n"
	"    %36 = transpose %26 : reg u4[64] order 16 @{64:1@reg}\n"
	"    yield\n"
	"  }\n"
	"}\n";

TEST(everything_round_trips)
{
	Kernel *k = ir_read(u, whole);

	ck_assert_str_eq(ir_text(u, k), whole);
	ck_assert_uint_eq(k->nval, 36);
	ck_assert_int_eq(k->warps, 8);
	ck_assert(ir_val(k, 24)->type.pinned);
	ck_assert_int_eq(ir_val(k, 24)->type.layout->swizzle.bits, 3);
	ck_assert(k->param[0].size[0] == k->param[2].val && k->param[1].size[1] == ir_val(k, 22));
}

/* In any order, lists short or long; zeros are left out but for the value of a constant. */
TEST(immediates_have_names)
{
	static const char head[] = "kernel k { warps 4 param %1.A tensor A : global f16[16, 8] read size "
	                           "%5, %6 stride %6, %7 "
	                           "body { %5 = const value 16 : i64 %6 = const value 8 : i64 %7 = const "
	                           "value 1 : i64 ";
	static const struct {
		const char *text, *printed;
	} row[] = {
		{ "%20 = const : i64", "%20 = const value 0 : i64" },
		{ "%20 = const : f32", "%20 = const value 0.0 : f32" },
		{ "%20 = const value -0.0 : f32", "%20 = const value -0.0 : f32" },
		{ "%20 = const value 3 : f32", "%20 = const imm 3 : f32" }, /* broken: an integer there */
		{ "%20 = const value inf : f32", "%20 = const value inf : f32" },
		{ "%20 = const fimm 2 : f32", "%20 = const value 2.0 : f32" },
		{ "%20 = view %1.A, %5, %6 step 2, 4 dropped 1 : global f16[4]", "%20 = view %1.A, %5, %6 "
		                                                                 "dropped 1 step 2, 4 : "
		                                                                 "global f16[4]" },
		{ "%20 = const value 1.0 : reg f32[4, 2, 8] %21 = transpose %20 perm 2, 1 : reg f32[8, 2, 4]",
		  "%21 = transpose %20 perm 2, 1, 0 : reg f32[8, 2, 4]" },
		{ "%20 = iota imm 1 : reg i32[4, 8]", "%20 = iota dim 1 : reg i32[4, 8]" },
	};

	for (size_t i = 0; i < COUNT_OF(row); i++) {
		Text t = { u->arena, NULL, 0, 0 };
		const char *printed;

		text_printf(&t, "%s%s yield } }", head, row[i].text);
		printed = ir_text(u, ir_read(u, t.s));
		ck_assert_msg(strstr(printed, row[i].printed) != NULL, "%s: %s", row[i].text, printed);
	}
}

TEST(floats_are_exact)
{
	uint64_t seed = 1;

	for (int i = 0; i < 200000; i++) {
		uint64_t bits, back;
		double x, y;
		Text t = { u->arena, NULL, 0, 0 };
		char keep[64];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = seed ^ seed >> 29;
		if (i % 4 == 1)
			bits &= 0xfff0000000000fffu; /* few digits */
		if (i % 4 == 2)
			bits >>= 12; /* subnormal and tiny */
		memcpy(&x, &bits, sizeof x);
		if (i % 4 == 3) {
			x = (double)(int64_t)(seed >> 40) / 1000;
			memcpy(&bits, &x, sizeof bits);
		}
		text_float(&t, x);
		ck_assert_uint_lt(t.n, sizeof keep);
		ck_assert_uint_eq(text_read_float(t.s, t.n, &y), t.n);
		memcpy(&back, &y, sizeof back);
		ck_assert_msg(back == bits, "%s", t.s);
		if (i % 1000 == 0) {
			ir_unit_free(u);
			u = ir_unit();
		}
	}
}

TEST(floats_are_readable)
{
	static const struct {
		double x;
		const char *s;
	} row[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1, "1" },
		{ -2.5, "-2.5" },
		{ 0.1, "0.1" },
		{ 1e300 * 1e10, "inf" },
		{ 1e-6, "0.000001" },
		{ 1.44269504, "1.44269504" },
		{ 9007199254740992.0, "0x1p+53" },
	};

	for (size_t i = 0; i < COUNT_OF(row); i++) {
		Text t = { u->arena, NULL, 0, 0 };
		text_float(&t, row[i].x);
		ck_assert_str_eq(t.s, row[i].s);
	}
}

/* text, what the message must hold */
static const struct {
	const char *text, *say;
} wrong[] = {
	{ "", "1:1: IR text: expected 'kernel'" },
	{ "kernel k {", "expected warps" },
	{ "kernel k { warps 4 }", "missing kernel body" },
	{ "kernel k { body { yield } } x", "1:29: IR text: unexpected text after" },
	{ "kernel k { body { yield", "unclosed block" },
	{ "kernel k { body {\n  %1 = frob : i64 yield } }", "2:8: IR text: unknown op 'frob'" },
	{ "kernel k { body { %1 = add %2, %3 : i64", "%2 is not defined" },
	{ "kernel k { body { %1 = const value 0 : i64 %1 = const value 0 : i64", "%1 is defined twice" },
	{ "kernel k { body { %0 = const value 0 : i64", "%0 is defined twice" },
	{ "kernel k { body { %99999999 = const value 0 : i64", "99999999 is out of range" },
	{ "kernel k { body { %1 = const value 99999999999999999999 : i64", "too large" },
	{ "kernel k { body { %1 = const imm 1,2,3,4,5,6,7,8,9 : i64", "more than 8 numbers" },
	{ "kernel k { body { %1 = const fimm 1e5 : f32", "0 types" },
	{ "kernel k { body { %1 = const fimm x : f32", "expected a float" },
	{ "kernel k { body { %1 = const value 1, 2 : i64", "more than 1 numbers" },
	{ "kernel k { body { %1 = const dim 1 : i64", "1 results but 0 types" },
	{ "kernel k { body { %1 = const value 0 : i65", "expected an element type" },
	{ "kernel k { body { %1 = const value 0.0 : reg f32", "expected '['" },
	{ "kernel k { body { %1 = const value 0.0 : reg f32[1,1,1,1,1,1,1,1,1]", "more than 8 dimensions" },
	{ "kernel k { body { %1 = const value 0.0 : reg f32[8] @{8:1", "unclosed layout" },
	{ "kernel k { body { %1 = const value 0.0 : reg f32[8] @{8:x}", "not a layout" },
	{ "kernel k { body { %1 = const value 0.0 : reg f32[8] @{(99999999999,99999999999):(1,1)}",
	  "not a layout" },
	{ "kernel k { body { %1, %2 = const value 0 : i64", "2 results but 1 types" },
	{ "kernel k { body { barrier lowering { what 3 } yield", "expected a kind of lowering" },
	{ "kernel k { body { barrier lowering { rename vec 4 } yield", "expected '}'" },
	{ "kernel k { body { barrier lowering { access inst } yield", "expected a name" },
	{ "kernel k { body { barrier lowering { shared vec 4 } yield", "expected `write`" },
	{ "kernel k { body { barrier !1:2 yield", "expected '+'" },
	{ "kernel \"k { body { yield } }", "unterminated string" },
	{ "kernel \"\\q\" { body { yield } }", "unknown escape" },
	{ "kernel k { param %1 tensor A : global f16[?] read size %7 stride %8 body { yield } }",
	  "of A is not defined" },
	{ "kernel k { body { yield } param %1 size A : i64 }", "a parameter after the grid" },
	{ "kernel k { map %1 f16", "%1 is not defined" },
	{ "kernel k { param %1 tensor A : global f16[4] read size %2 stride %2 "
	  "map %1 f16 box 1, 2, 3, 4, 5, 6",
	  "more than 5 dimensions" },
	{ "kernel k { param %1 tensor A : global f16[4] read size %2 stride %2 "
	  "map %1 f16 box 4 size %9 swizzle 0"
	  " l2 0 body { %2 = const value 4 : i64 yield } }",
	  "of A is not defined" },
	{ "kernel k { grid { yield } grid { yield } body { yield } }", "expected warps" },
};

TEST_EACH(garbage_is_located, COUNT_OF(wrong))
{
	const char *text = wrong[_i].text;

	ck_assert(kernel_read(u, text, strlen(text)) == NULL);
	ck_assert_int_eq(u->diag->nerror, 1);
	ck_assert_msg(strstr(ir_diags(u), wrong[_i].say) != NULL, "%s", ir_diags(u));
	ck_assert_uint_gt(u->diag->msg[0].src.line, 0);
}

TEST(deep_nesting_is_refused)
{
	Text t = { u->arena, NULL, 0, 0 };

	text_printf(&t, "kernel k { body { %%1 = const value 0 : bool");
	for (int i = 0; i < 100000; i++)
		text_printf(&t, " if %%1 {");
	ck_assert(kernel_read(u, t.s, t.n) == NULL);
	ck_assert(strstr(ir_diags(u), "nested") != NULL);
}

static uint64_t
random_next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

/* Mutated text: never a crash; what is accepted prints, and what prints reads back to the same
 * bytes. */
TEST(fuzz)
{
	uint64_t seed = 12345;
	size_t n = sizeof whole - 1;
	int accepted = 0;

	for (int i = 0; i < 20000; i++) {
		char *s = malloc(n + 1);
		Kernel *k;
		size_t len = n;
		int edits = 1 + (int)(random_next(&seed) % 3);

		memcpy(s, whole, n + 1);
		while (edits-- > 0) {
			size_t at = random_next(&seed) % len, from = random_next(&seed) % len;
			switch (random_next(&seed) % 4) {
			case 0: s[at] = (char)random_next(&seed); break;
			case 1: s[at] = whole[from]; break;
			case 2:
				memmove(s + at, s + at + 1, len - at);
				len--;
				break;
			default: len = random_next(&seed) % 8 == 0 ? at + 1 : len; break;
			}
		}
		k = kernel_read(u, s, len);
		free(s);
		if (k) {
			const char *once = ir_text(u, k);
			Kernel *k2 = kernel_read(u, once, strlen(once));
			ck_assert_msg(k2 != NULL, "%s\n%s", once, ir_diags(u));
			ck_assert_str_eq(ir_text(u, k2), once);
			kernel_verify(k, "fuzz");
			accepted++;
		} else {
			ck_assert_int_gt(u->diag->nerror, 0);
		}
		ir_unit_free(u);
		u = ir_unit();
	}
	ck_assert_int_gt(accepted, 1000);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
