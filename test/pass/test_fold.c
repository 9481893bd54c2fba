/* test_fold.c - tests fold, cse, dce and cleanup: their output for small programs, and that random ones keep
 * their semantics. */
#include "hexc/pass/fold.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "test/ir/util_prog.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Kernel *
body(const char *text)
{
	Kernel *k = ir_read(u, ir_wrap(u, text));

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	return k;
}

static void
still_whole(Kernel *k)
{
	ck_assert_msg(kernel_verify(k, "pass"), "%s", ir_diags(u));
	ck_assert_str_eq(ir_text(u, ir_read(u, ir_text(u, k))), ir_text(u, k));
}

/* ---- fold ---------------------------------------------------------------------------------------- */

#define T "reg f16[4, 8]"
#define H "%10 = block_id : i64 %11 = iota dim 1 : reg i32[4, 8] %12 = cast %11 : " T "\n"

/* After fold, the text of what stands for %90 begins so; ", C5" is a second operand that is the
 * constant 5. */
static const struct {
	const char *text, *gives;
} fold[] = {
	/* integers */
	{ "%20 = const value 7 : i64 %21 = const value -2 : i64 %90 = div %20, %21 : i64", "const value -3" },
	{ "%20 = const value 7 : i64 %21 = const value -2 : i64 %90 = mod %20, %21 : i64", "const value 1" },
	{ "%20 = const value 7 : i64 %21 = const value 0 : i64 %90 = div %20, %21 : i64", "div" },
	{ "%20 = const value 255 : u8 %21 = const value 2 : u8 %90 = add %20, %21 : u8", "const value 1" },
	{ "%20 = const value -8 : i4 %90 = neg %20 : i4", "const value -8" },
	{ "%20 = const value 200 : u8 %90 = not %20 : u8", "const value 55" },
	{ "%20 = const value 127 : i8 %21 = const value 1 : i8 %90 = shl %20, %21 : i8", "const value -2" },
	{ "%20 = const value 1 : i8 %21 = const value 8 : i8 %90 = shl %20, %21 : i8", "shl" },
	{ "%20 = const value -1 : u64 %21 = const value 2 : u64 %90 = div %20, %21 : u64", "div" },
	{ "%20 = const value 0 : i64 %90 = add %10, %20 : i64", "block_id" },
	{ "%20 = const value 0 : i64 %90 = add %20, %10 : i64", "block_id" },
	{ "%90 = mul %10, %5 : i64", "block_id" },
	{ "%20 = const value 0 : i64 %90 = mul %10, %20 : i64", "const value 0 :" },
	{ "%90 = sub %10, %10 : i64", "const value 0 :" },
	{ "%90 = div %10, %5 : i64", "block_id" },
	{ "%90 = mod %10, %5 : i64", "const value 0 :" },
	{ "%20 = const value 6 : i64 %21 = mul %10, %20 : i64 %90 = mul %21, %20 : i64", "mul %10, C36" },
	{ "%20 = const value 6 : i64 %21 = add %10, %20 : i64 %90 = sub %21, %20 : i64", "add %10, C0" },
	{ "%20 = const value 6 : i64 %21 = const value 3 : i64 %22 = mul %10, %20 : i64"
	  " %90 = div %22, %21 : i64",
	  "mul %10, C2" },
	{ "%20 = const value 6 : i64 %21 = const value 4 : i64 %22 = mul %10, %20 : i64"
	  " %90 = div %22, %21 : i64",
	  "div" },
	{ "%20 = const value 6 : i64 %21 = div %10, %20 : i64 %90 = div %21, %20 : i64", "div %10, C36" },
	{ "%20 = const value 64 : i64 %90 = mod %4, %20 : i64", "const value 0 :" },
	{ "%20 = const value 64 : i64 %21 = mod %3, %20 : i64 %22 = const value 128 : i64"
	  " %90 = mod %21, %22 : i64",
	  "mod %3" },
	{ "%20 = const value 64 : i64 %90 = max %4, %20 : i64", "%4" },
	{ "%20 = const value 64 : i64 %90 = min %4, %20 : i64", "const value 64" },
	{ "%20 = const value 64 : i64 %90 = lt %4, %20 : bool", "const value 0 :" },
	{ "%90 = le %10, %10 : bool", "const value 1" },
	{ "%20 = lt %10, %3 : bool %21 = not %20 : bool %90 = not %21 : bool", "lt %10" },
	{ "%20 = lt %10, %3 : bool %21 = const value 0 : bool %90 = eq %20, %21 : bool", "not" },
	{ "%20 = lt %10, %3 : bool %90 = select %20, %10, %10 : i64", "block_id" },
	{ "%20 = const value 1 : bool %90 = select %20, %10, %3 : i64", "block_id" },
	{ "%20 = neg %10 : i64 %90 = neg %20 : i64", "block_id" },
	/* floats: rounded once, to the type */
	{ "%20 = const value 2048.0 : f16 %21 = const value 1.0 : f16"
	  " %90 = add %20, %21 : f16",
	  "const value 2048.0 :" },
	{ "%20 = const value 2048.0 : f16 %21 = const value 3.0 : f16"
	  " %90 = add %20, %21 : f16",
	  "const value 2052.0 :" },
	{ "%20 = const value 60000.0 : f16 %90 = add %20, %20 : f16", "const value inf" },
	{ "%20 = const value 1.0 : f32 %21 = const value 3.0 : f32"
	  " %90 = div %20, %21 : f32",
	  "const value 0.3333333432674408 " },
	{ "%20 = const value 1.0 : bf16 %21 = const value 3.0 : bf16"
	  " %90 = div %20, %21 : bf16",
	  "const value 0.333984375" },
	{ "%20 = const value 2.0 : f32 %90 = sqrt %20 : f32", "const value 0x1.6a09e6p+0" },
	{ "%20 = const value nan : f32 %21 = const value 3.0 : f32"
	  " %90 = min %20, %21 : f32",
	  "const value 3.0 :" },
	{ "%20 = const value -0.0 : f32 %21 = const value 0.0 : f32 %90 = max %20, %21 : f32",
	  "const value 0.0 :" },
	{ "%20 = const value nan : f32 %90 = eq %20, %20 : bool", "const value 0 :" },
	{ "%20 = const value 2.0 : f32 %90 = exp %20 : f32", "exp" },
	{ "%20 = const value 8.0 : " T " %90 = div %12, %20 : " T, "mul %12" },
	{ "%20 = const value 3.0 : " T " %90 = div %12, %20 : " T, "div" },
	{ "%20 = const value 300.0 : f32 %90 = cast %20 : u8", "const value 255" },
	{ "%20 = const value -2.9 : f32 %90 = cast %20 : i32", "const value -2" },
	{ "%20 = const value 300 : i32 %90 = cast %20 : u8", "const value 44" },
	{ "%20 = const value 16777217 : i32 %90 = cast %20 : f32", "const value 16777216.0" },
	{ "%20 = const value 5 : i32 %90 = cast %20 : bool", "const value 1" },
	/* bits */
	{ "%20 = const value 1.0 : f32 %90 = bitcast %20 : i32", "const value 1065353216" },
	{ "%20 = const value -0.0 : f32 %90 = bitcast %20 : u32", "const value 2147483648" },
	{ "%20 = const value -0.0 : f64 %90 = bitcast %20 : i64", "const value -9223372036854775808" },
	{ "%20 = const value 15360 : reg i16[4, 8] %90 = bitcast %20 : " T, "const value 1.0 : " T },
	{ "%20 = const value 1.0 : " T " %90 = bitcast %20 : reg bf16[4, 8]", "const value 0.0078125 :" },
	{ "%20 = const value -1 : i8 %90 = bitcast %20 : u8", "const value 255" },
	{ "%20 = const value nan : f32 %90 = bitcast %20 : i32", "bitcast %20" },
	{ "%20 = bitcast %12 : reg i16[4, 8] %90 = bitcast %20 : " T, "cast %11" },
	{ "%20 = bitcast %12 : reg i16[4, 8] %90 = bitcast %20 : reg bf16[4, 8]", "bitcast %12" },
	{ "%20 = bitcast %10 : f64 %21 = splat %20 : reg f64[4, 8]"
	  " %90 = bitcast %21 : reg u64[4, 8]",
	  "splat" },
	{ "%20 = const value 3.0 : f32 %21 = const value 2.0 : f32"
	  " %90 = fma %20, %21, %20 : f32",
	  "const value 9.0 :" },
	/* float identities that keep every bit, and those that do not */
	{ "%20 = const value 1.0 : " T " %90 = mul %12, %20 : " T, "cast %11" },
	{ "%20 = const value 0 : " T " %90 = mul %12, %20 : " T, "mul" },
	{ "%20 = const value 0 : " T " %90 = add %12, %20 : " T, "add" },
	{ "%20 = const value -0.0 : " T " %90 = add %12, %20 : " T, "cast %11" },
	{ "%20 = const value 0 : " T " %90 = sub %12, %20 : " T, "cast %11" },
	{ "%90 = sub %12, %12 : " T, "sub" },
	{ "%20 = eq %12, %12 : reg bool[4, 8] %90 = not %20 : reg bool[4, 8]", "not" },
	{ "%20 = const value 0 : reg i32[4, 8] %90 = mul %11, %20 : reg i32[4, 8]", "const value 0 :" },
	/* tiles */
	{ "%20 = const value 3.0 : f16 %90 = splat %20 : " T, "const value 3.0 : reg" },
	{ "%20 = cast %10 : f16"
	  " %21 = splat %20 : " T " %22 = const value 2.0 : " T " %90 = mul %21, %22 : " T,
	  "splat" },
	{ "%20 = const value 3.0 : reg f16[1, 8] %90 = broadcast %20 : " T, "const value 3.0 : reg f16[4, "
	                                                                    "8]" },
	{ "%20 = cast %10 : f16 %21 = splat %20 : reg f16[1, 8]"
	  " %90 = broadcast %21 : " T,
	  "splat %20 : reg f16[4, 8]" },
	{ "%20 = transpose %12 perm 1, 0 : reg f16[8, 4]"
	  " %90 = transpose %20 perm 1, 0 : " T,
	  "transpose %12 perm 0, 1" },
	{ "%90 = transpose %12 perm 0, 1 : " T, "cast %11" },
	{ "%20 = reshape %12 : reg f16[4, 1, 8] %90 = reshape %20 : " T, "reshape %12" },
	{ "%90 = reshape %12 : " T, "cast %11" },
	{ "%20 = reduce_max %12 : reg f16[1, 8]"
	  " %90 = reduce_sum %20 : reg f16[1, 8]",
	  "reduce_max" },
	{ "%20 = const value 3 : reg i32[4, 8] %90 = reduce_sum %20 dim 1 : reg i32[4, 1]", "const value "
	                                                                                    "24" },
	{ "%20 = const value 3.0 : " T " %90 = reduce_sum %20 dim 1 : reg f16[4, 1]", "reduce_sum" },
	{ "%20 = const value 3.0 : " T " %90 = reduce_max %20 dim 1 : reg f16[4, 1]", "const value 3.0" },
	{ "%90 = mask %12, %3 dims 1 fill -inf : " T, "mask %12, %3" },
	{ "%90 = mask %12, %4 dims 2 : " T, "cast %11" },
	{ "%90 = mask %12, %3, %4 dims 3 fill -1.0 : " T, "mask %12, %3.M dims 1 fill -1.0" },
	{ "%20 = cast %12 : reg f32[4, 8] %90 = cast %20 : " T, "cast %11" },
	{ "%20 = cast %12 : reg bf16[4, 8] %90 = cast %20 : " T, "cast %20" },
	{ "%20 = cast %11 : reg f32[4, 8] %90 = cast %20 : reg i32[4, 8]", "cast %20" },
	{ "%20 = iota : reg i8[4, 8] %21 = cast %20 : reg f16[4, 8]"
	  " %90 = cast %21 : reg i8[4, 8]",
	  "iota" },
	{ "%20 = cast %11 : reg i64[4, 8] %90 = cast %20 : reg i32[4, 8]", "iota" },
	{ "%20 = cast %11 : reg i8[4, 8] %90 = cast %20 : reg i32[4, 8]", "cast %20" },
	{ "%90 = iota : reg i32[1, 8]", "const value 0 :" },
	/* structure */
	{ "%20 = const value 1 : bool %90 = if %20 : i64 { yield %10 } else { yield %3 }", "block_id" },
	{ "%20 = const value 0 : bool %90 = if %20 : i64 { yield %10 } else { %21 = add %10, %3 : i64\n"
	  " yield %21 }",
	  "add" },
	{ "%90 = for %5, %5, %5, %10 : i64 { (%20 : i64, %21 : i64) yield %20 }", "block_id" },
	{ "%20 = const value 9 : i64 %90 = for %5, %20, %20, %10 : i64"
	  " { (%21 : i64, %22 : i64) %23 = add %21, %22 : i64\n"
	  " yield %23 }",
	  "add %10, %5" },
	{ "%20 = const value 9 : i64 %90 = for %5, %20, %20, %10 loop 1 stages 2 : i64"
	  " { (%21 : i64, %22 : i64) yield %21 }",
	  "for" },
	{ "%90 = for %5, %3, %5, %10 : i64 { (%21 : i64, %22 : i64) yield %22 }", "block_id" },
	/* loops that may end early: one that never begins, and of one turn at most, if it has that */
	{ "%20 = const value 0 : bool %24, %90 = for %5, %3, %5, %20, %10 breaks 1 : bool, i64"
	  " { (%21 : i64, %22 : bool, %23 : i64) yield %22, %21 }",
	  "block_id" },
	{ "%20 = const value 9 : i64 %24 = lt %10, %3 : bool"
	  " %25, %90 = for %5, %20, %20, %24, %10 breaks 1 : bool, i64"
	  " { (%21 : i64, %22 : bool, %23 : i64) yield %22, %21 }",
	  "for" },
	{ "%20 = const value 9 : i64 %24 = const value 1 : bool"
	  " %25, %90 = for %5, %20, %20, %24, %10 breaks 1 : bool, i64"
	  " { (%21 : i64, %22 : bool, %23 : i64) yield %22, %21 }",
	  "const value 1" },
};

/* The text of k from what defines v on, behind its name; of an argument the name. */
static const char *
definition(const Kernel *k, const Val *v)
{
	const char *name = arena_printf(u->arena, "%%%u = ", (unsigned)v->id), *at;

	if (!v->def)
		return arena_printf(u->arena, "%%%u", (unsigned)v->id);
	at = strstr(ir_text(u, k), name);
	ck_assert_ptr_nonnull(at);
	return at + strlen(name);
}

TEST_EACH(folds, COUNT_OF(fold))
{
	const char *text = fold[_i].text, *want = fold[_i].gives, *got, *c = strstr(want, ", C");
	Kernel *k;
	Val *v;
	Type type;
	Op *keep;

	k = body(arena_printf(u->arena, "%s%s", H, text));
	v = ir_val(k, 90);
	type = v->type;
	keep = op_new(k->body, k->body->last, O_cast, k->src, 1, &v, 1, &type);
	keep->out[0]->type.pinned = true; /* not folded itself */
	pass_fold(k);
	keep->out[0]->type.pinned = false;
	still_whole(k);
	got = definition(k, keep->in[0]);
	if (c) {
		int64_t x, y = strtoll(c + 3, NULL, 10);
		ck_assert_msg(strncmp(got, want, (size_t)(c - want)) == 0, "%s: %s", text, got);
		ck_assert(val_is_const(keep->in[0]->def->in[1], &x));
		ck_assert_int_eq(x, y);
	} else {
		ck_assert_msg(strncmp(got, want, strlen(want)) == 0, "%s: %s", text, got);
	}
}

TEST(fold_reaches_sizes_and_assumptions)
{
	Kernel *k = ir_read(u,
	                    "kernel t {\n warps 1\n"
	                    " param %1 tensor A : global f16[?] written size %8 stride %9\n"
	                    " param %2 size M : i64 mult 1 lo 1 hi 100\n"
	                    " grid {\n %3 = const value 1 : i64\n %4 = le %3, %2 : bool\n"
	                    " yield %3, %3, %3 }\n assume %4 \"M >= 1\"\n"
	                    " body { %5 = const value 1 : i64 %6 = const value 0 : i64 %7 = add %5, %6 : i64"
	                    " %8 = mul %2, %7 : i64\n"
	                    " %9 = add %7, %6 : i64\n yield } }");
	int64_t one;

	ck_assert(pass_cleanup(k));
	still_whole(k);
	ck_assert(k->param[0].size[0] == k->param[1].val);
	ck_assert(val_is_const(k->param[0].stride[0], &one) && one == 1);
	ck_assert(val_is_const(k->assume[0].cond, &one) && one == 1);
	ck_assert(!pass_cleanup(k));
}

/* All codes of the small floats to numbers and back; not those of NaN, nor the infinities of a type that
 * rounds to finite numbers. */
TEST(bits_of_constants)
{
	static const DType flt[] = { D_f16, D_bf16, D_e4m3, D_e5m2 }, num[] = { D_u16, D_u16, D_u8, D_u8 };
	Kernel *k = kernel_new(u, "t");
	Val *in = ir_const(k->body, NULL, 0);

	for (int d = 0; d < (int)COUNT_OF(flt); d++) {
		Type f = type_scalar(flt[d]), n = type_scalar(num[d]);

		for (unsigned code = 0; code < 1u << dtype_info[num[d]].bits; code++) {
			double x = num_of_code(flt[d], code);
			Constant c;
			Op *o;

			in->type = n;
			in->def->imm[0] = code;
			o = op_new(k->body, NULL, O_bitcast, k->src, 1, &in, 1, &f);
			ck_assert(const_eval(o, &c) == !(isinf(x) && flt[d] == D_e5m2));
			ck_assert(isnan(x) ? isnan(c.f) : c.f == x && !signbit(c.f) == !signbit(x));
			in->type = f;
			in->def->fimm = x;
			o = op_new(k->body, NULL, O_bitcast, k->src, 1, &in, 1, &n);
			ck_assert(const_eval(o, &c) == !isnan(x));
			ck_assert(isnan(x) || c.i == code);
		}
	}
}

/* Constants of f32 against the arithmetic of the machine that compiles. */
TEST(float_constants_are_rounded_once)
{
	static const OpCode codes[] = { O_add, O_sub, O_mul, O_div, O_sqrt };
	uint64_t r = 5;
	Type t = type_scalar(D_f32);
	Kernel *k = kernel_new(u, "t");
	Val *in[2] = { ir_const(k->body, NULL, 0), ir_const(k->body, NULL, 0) };

	in[0]->type = in[1]->type = t;
	for (int i = 0; i < 20000; i++) {
		OpCode code = codes[i % 5];
		Op *o = op_new(k->body, NULL, code, k->src, code == O_sqrt ? 1 : 2, in, 1, &t);
		float x[2], want;
		Constant got;
		bool same;
		for (int j = 0; j < 2; j++) {
			uint32_t bits = (uint32_t)prog_rand(&r, 1u << 31) ^ (uint32_t)prog_rand(&r, 4) << 30;
			if (i % 3) /* near each other */
				bits = (bits & 0x80ffffffu) | 0x3f000000u;
			memcpy(&x[j], &bits, sizeof bits);
			in[j]->def->fimm = (double)x[j];
		}
		want = code == O_add   ? x[0] + x[1]
		       : code == O_sub ? x[0] - x[1]
		       : code == O_mul ? x[0] * x[1]
		       : code == O_div ? x[0] / x[1]
		                       : sqrtf(x[0]);
		same = const_eval(o, &got);
		if (isnan(want))
			same = same && isnan(got.f);
		else
			same = same && memcmp(&got.f, &(double){ want }, sizeof got.f) == 0;
		if (!same)
			ck_abort_msg("%s %a %a: %a, not %a",
			             op_info[code].name, (double)x[0], (double)x[1], got.f,
			             (double)want);
	}
}

/* ---- cse and dce --------------------------------------------------------------------------------- */

/* After the pass, so many ops of that kind are left. */
static const struct {
	bool (*pass)(Kernel *);
	const char *text;
	OpCode code;
	int left;
} count[] = {
	{ pass_cse, "%20 = add %3, %4 : i64 %21 = add %3, %4 : i64 %22 = mul %20, %21 : i64", O_add, 1 },
	{ pass_cse, "%20 = add %3, %4 : i64 %21 = add %4, %3 : i64 %22 = mul %20, %21 : i64", O_add, 1 },
	{ pass_cse, "%20 = sub %3, %4 : i64 %21 = sub %4, %3 : i64", O_sub, 2 },
	{ pass_cse, "%20 = const value -0.0 : f32 %21 = const value 0.0 : f32 %22 = const value nan : f32"
	            " %23 = const value nan : f32",
	  O_const, 5 }, /* and two of the kernel around it */
	{ pass_cse, "%20 = const value 4 : i64 %21 = const value 4 : i32"
	            " %22 = const value 4 : reg i32[4]",
	  O_const, 5 }, /* and two of the kernel around it */
	{ pass_cse, "%20 = iota : reg i32[4, 4] %21 = iota dim 1 : reg i32[4, 4]", O_iota, 2 },
	{ pass_cse, "%20 = iota : reg i32[4] %21 = iota : reg i32[4] @{4:1@lane}", O_iota, 2 },
	{ pass_cse, "%20 = iota : reg i32[4] @{4:1@lane} %21 = iota : reg i32[4] @{4:1@lane}", O_iota, 1 },
	{ pass_cse, "%20 = alloc : shared f16[4] %21 = alloc : shared f16[4]", O_alloc, 2 },
	/* equal views merge, loads of them do not: something may have been written between */
	{ pass_cse, "%20 = view %1, %5, %5 : global f16[4, 4] %21 = view %1, %5, %5 : global f16[4, 4]\n"
	            " %22 = load %20 : reg f16[4, 4] %23 = load %21 : reg f16[4, 4]",
	  O_view, 1 },
	{ pass_cse, "%20 = view %1, %5, %5 : global f16[4, 4] %22 = load %20 : reg f16[4, 4]"
	            " %23 = load %20 : reg f16[4, 4]",
	  O_load, 2 },
	/* a region sees what is around it, its sibling and what follows do not see it */
	{ pass_cse, "%19 = lt %3, %4 : bool %20 = add %3, %4 : i64\n"
	            " if %19 { %21 = add %3, %4 : i64\n yield } else {"
	            " %22 = add %3, %4 : i64\n yield }",
	  O_add, 1 },
	{ pass_cse, "%19 = lt %3, %4 : bool\n if %19 { %21 = add %3, %4 : i64\n"
	            " yield } else { %22 = add %3, %4 : i64\n"
	            " yield } %20 = add %3, %4 : i64",
	  O_add, 3 },
	{ pass_dce, "%20 = add %3, %4 : i64 %21 = mul %20, %4 : i64", O_add, 0 },
	{ pass_dce, "%20 = view %1, %5, %5 : global f16[4, 4] %21 = load %20 : reg f16[4, 4]", O_load, 0 },
	{ pass_dce, "%20 = view %1, %5, %5 : global f16[4, 4] %21 = load %20 : reg f16[4, 4]\n"
	            " %22 = view %2, %5, %5 : global f16[4, 4]\n store %21, %22",
	  O_view, 2 },
	/* filled but never read: gone; read: all that fills it stays */
	{ pass_dce, "%20 = view %1, %5, %5 : global f16[4, 4] %21 = alloc : shared f16[4, 4]\n"
	            " copy %20, %21\n"
	            " barrier",
	  O_copy, 0 },
	{ pass_dce, "%20 = view %1, %5, %5 : global f16[4, 4] %21 = alloc : shared f16[4, 4]\n"
	            " copy %20, %21\n"
	            " %22 = view %21, %5, %5 : shared f16[1, 1] %23 = load %22 : reg f16[1, 1]\n"
	            " %24 = view %2, %5, %5 : global f16[1, 1]\n store %23, %24",
	  O_copy, 1 },
	{ pass_dce, "%20 = alloc : shared f16[4, 4]\n for %5, %4, %5 { (%21 : i64) barrier\n"
	            " yield }",
	  O_alloc, 0 },
	{ pass_dce, "for %5, %4, %5 { (%21 : i64) barrier\n yield }", O_for, 1 },
	{ pass_dce, "for %5, %4, %5 { (%21 : i64) %22 = add %21, %4 : i64\n yield }", O_for, 0 },
	{ pass_dce, "%19 = lt %3, %4 : bool\n if %19 { yield } else { yield }", O_if, 0 },
	/* a value that is only carried goes */
	{ pass_dce, "%20 = for %5, %4, %5, %5 : i64"
	            " { (%21 : i64, %22 : i64) %23 = add %22, %4 : i64\n barrier\n"
	            " yield %23 }",
	  O_add, 0 },
	/* what says whether a loop goes on stays */
	{ pass_dce, "%19 = const value 1 : bool %20 = for %5, %4, %5, %19 breaks 1 : bool"
	            " { (%21 : i64, %22 : bool) %23 = lt %21, %3 : bool\n barrier\n"
	            " yield %23 }",
	  O_lt, 1 },
	/* one that another one needs stays */
	{ pass_dce, "%20, %24 = for %5, %4, %5, %5, %4 : i64, i64 { (%21 : i64, %22 : i64, %25 : i64)\n"
	            " %23 = add %22, %4 : i64 %26 = mul %25, %22 : i64\n yield %23, %26 }\n"
	            " %27 = view %2, %24, %5 : global f16[1, 1] %28 = const value 0.0 : reg f16[1, 1]\n"
	            " store %28, %27",
	  O_add, 1 },
};

TEST_EACH(merged_and_dropped, COUNT_OF(count))
{
	Kernel *k = body(count[_i].text);

	count[_i].pass(k);
	still_whole(k);
	ck_assert_msg(ir_count(k, count[_i].code) == count[_i].left, "%s: %d left", count[_i].text,
	              ir_count(k, count[_i].code));
	ck_assert(!count[_i].pass(k));
}

TEST(carried_values_are_dropped_in_order)
{
	Kernel *k = body("%20, %21, %22 = for %5, %4, %5, %3, %4, %5 : i64, i64, i64 {"
	                 " (%23 : i64, %24 : i64, %25 : i64, %26 : i64)\n"
	                 " %27 = add %24, %5 : i64 %28 = add %26, %5 : i64\n yield %27, %25, %28 }\n"
	                 " %30 = view %2, %22, %20 : global f16[1, 1]"
	                 " %31 = const value 0.0 : reg f16[1, 1]\n store %31, %30");
	Op *loop = ir_val(k, 20)->def;

	ck_assert(pass_dce(k));
	still_whole(k);
	ck_assert_int_eq(loop->nout, 2);
	ck_assert(loop->out[1] == ir_val(k, 22));
	ck_assert(loop->in[4] == ir_val(k, 5) && loop->in[3] == ir_val(k, 3));
	ck_assert(loop->blk[0]->arg[2] == ir_val(k, 26) && loop->blk[0]->last->in[1] == ir_val(k, 28));
}

/* ---- meaning ------------------------------------------------------------------------------------- */

typedef struct Trace {
	uint64_t hash;
	long n;
} Trace;

static void
on_store(void *user, const int64_t *start, int n)
{
	Trace *t = user;

	for (int i = 0; i < n; i++)
		t->hash = (t->hash ^ (uint64_t)start[i]) * 0x9e3779b97f4a7c15u;
	t->n++;
}

/* The same stores in the same order, before and after. */
TEST_EACH(tidy_keeps_the_meaning, 10)
{
	static const int64_t sizes[] = { 0, 1, 2, 3, 5, 8, 16, 17, 24, 32, 48, 64 };
	enum { RUNS = 24 };
	long stores = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t seed = (uint64_t)(_i * 100 + i) + 900000, r = seed;
		Kernel *k = prog_random(u, seed);
		Trace before[RUNS], after;
		Env env[RUNS];
		bool run[RUNS];

		for (int pass = 0; pass < 2; pass++) {
			for (int j = 0; j < RUNS; j++) {
				Trace *t = pass ? &after : &before[j];
				Watch w = { t, NULL, NULL, on_store };
				int64_t grid[3];
				t->hash = 0;
				t->n = 0;
				if (pass == 0) {
					env[j] = (Env){ .param = { 0, 0, 0, 0 } };
					env[j].param[1] = sizes[prog_rand(&r, 12)];
					env[j].param[2] = sizes[prog_rand(&r, 12)];
					env[j].param[3] = (int64_t)prog_rand(&r, 60) - 20;
					run[j] = prog_allows(k, &env[j]);
					prog_grid(k, &env[j], grid);
					run[j] = run[j] && grid[0] > 0 && grid[1] > 0 && grid[0] < 1000000;
					if (run[j]) {
						env[j].block[0] = (int64_t)prog_rand(&r, (uint64_t)grid[0]);
						env[j].block[1] = grid[1] > 1;
						run[j] = prog_run(k, &env[j], &w); /* not those cut off */
					}
				} else if (run[j]) {
					ck_assert(prog_run(k, &env[j], &w));
					if (t->hash != before[j].hash || t->n != before[j].n) {
						fprintf(stderr, "%s", ir_text(u, k));
						ck_abort_msg("seed %lu: other stores", (unsigned long)seed);
					}
					stores += t->n;
				}
			}
			if (pass == 0)
				pass_cleanup(k);
		}
		still_whole(k);
		ir_unit_free(u);
		u = ir_unit();
	}
	ck_assert_int_gt(stores, 1000);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
