/* cast.c - emits casts of one element. Floats to narrower floats, and integers to floats, round to nearest
 * even, once; floats to integers round toward zero and saturate, NaN gives 0; integers wrap. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/dequant.h"
#include "ptxgen/element/element_value.h"

static int
bits_of(DType d)
{
	return dtype_info[d].bits;
}

static bool
is_sint(DType d)
{
	return dtype_info[d].kind == K_sint;
}

/* Returns an f32 that rounds to the same bf16, fp8 or tf32 as x: truncated, and odd if bits were cut off.
 * `exact`: none were. */
static LV
round_to_odd(Codegen *g, LV truncated, LV exact)
{
	LV i = LLVMBuildBitCast(g->b, truncated, g->i32, "");
	LV odd = LLVMBuildOr(g->b, i, const_i32(g, 1), "");

	return LLVMBuildBitCast(g->b, LLVMBuildSelect(g->b, exact, i, odd, ""), g->f32, "");
}

static LV
f64_to_small(Codegen *g, DType to, LV e)
{
	LV t;

	if (to == D_f16)
		return LLVMBuildFPExt(g->b, LLVMBuildFPTrunc(g->b, e, g->f16, ""), g->f32, "");
	if (dtype_info[to].codes == C_table)
		return table_to_f32(g, to, table_code(g, to, e), 0);
	if (to == D_f32)
		return LLVMBuildFPTrunc(g->b, e, g->f32, "");
	t = asm_op(g, A_rz_f32_f64, e, NULL, NULL);
	return round_to_odd(
		g, t, LLVMBuildFCmp(g->b, LLVMRealUEQ, LLVMBuildFPExt(g->b, t, g->f64, ""), e, ""));
}

/* Converts integers of at most 16 bits, exactly: 1.5 * 2^23 + x has x in its low bits. */
static LV
short_to_f32(Codegen *g, LV e)
{
	LV x = LLVMBuildAdd(g->b, e, const_i32(g, 0x4b400000), "");

	return LLVMBuildFSub(g->b, as_f32(g, x), const_f32(g, 12582912.0), "");
}

/* Rounds to nearest, ties away from zero: adds half an ulp to the magnitude and truncates. */
static LV
f32_to_tf32(Codegen *g, LV x)
{
	LV i;

	if (g->u->target->features & T_BF16)
		return as_f32(g, asm_op(g, A_tf32_f32, x, NULL, NULL));
	i = LLVMBuildAdd(g->b, as_i32(g, x), const_i32(g, 0x1000), "");
	i = LLVMBuildAnd(g->b, i, const_i32(g, 0xffffe000), "");
	return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, ""), x, as_f32(g, i), "");
}

static LV
wide_to_small(Codegen *g, DType from, LV e)
{
	bool big = bits_of(from) == 64, sign = is_sint(from);
	AsmId down = big ? (sign ? A_rz_f32_s64 : A_rz_f32_u64) : (sign ? A_rz_f32_s32 : A_rz_f32_u32);
	AsmId up = big ? (sign ? A_rn_s64_f32 : A_rn_u64_f32) : (sign ? A_rn_s32_f32 : A_rn_u32_f32);
	LV t = asm_op(g, down, e, NULL, NULL);

	return round_to_odd(g, t, LLVMBuildICmp(g->b, LLVMIntEQ, asm_op(g, up, t, NULL, NULL), e, ""));
}

static LV
int_to_float(Codegen *g, DType to, DType from, LV e)
{
	LLVMTypeRef t = to == D_f64 ? g->f64 : g->f32;
	LV x;

	if (from == D_bool)
		return LLVMBuildSelect(g->b, e, LLVMConstReal(t, 1), LLVMConstNull(t), "");
	if (bits_of(from) <= 16 && to != D_f64)
		return short_to_f32(g, e);
	if (to != D_f16 && to != D_f32 && to != D_f64)
		return wide_to_small(g, from, e);
	if (to == D_f16)
		t = g->f16;
	x = is_sint(from) ? LLVMBuildSIToFP(g->b, e, t, "") : LLVMBuildUIToFP(g->b, e, t, "");
	return to == D_f16 ? LLVMBuildFPExt(g->b, x, g->f32, "") : x;
}

static LV
float_to_int(Codegen *g, DType to, DType from, LV e)
{
	bool sign = is_sint(to), wide = from == D_f64;
	int bits = bits_of(to);
	LV x, lo, hi, nan;

	if (bits == 64) {
		AsmId id = wide ? (sign ? A_rn_s64_f64 : A_rn_u64_f64)
		                : (sign ? A_rn_s64_f32 : A_rn_u64_f32);

		x = asm_op(g, id, e, NULL, NULL);
		nan = LLVMBuildFCmp(g->b, LLVMRealUNO, e, e, "");
		return LLVMBuildSelect(g->b, nan, const_i64(g, 0), x, "");
	}
	x = asm_op(g,
	           wide ? (sign ? A_rn_s32_f64 : A_rn_u32_f64)
	                : (sign ? A_rn_s32_f32 : A_rn_u32_f32),
	           e, NULL, NULL);
	if (bits == 32)
		return x;
	hi = const_i32(g, ((int64_t)1 << (bits - sign)) - 1);
	x = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, sign ? LLVMIntSGT : LLVMIntUGT, x, hi, ""),
	                    hi, x, "");
	if (!sign)
		return x;
	lo = const_i32(g, -((int64_t)1 << (bits - 1)));
	return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, x, lo, ""), lo, x, "");
}

static LV
int_to_int(Codegen *g, DType to, DType from, LV e)
{
	bool wide = bits_of(to) == 64;

	if (from == D_bool)
		return LLVMBuildZExt(g->b, e, wide ? g->i64 : g->i32, "");
	if (wide == (bits_of(from) == 64))
		return e; /* packing truncates it */
	if (!wide)
		return LLVMBuildTrunc(g->b, e, g->i32, "");
	return is_sint(from) ? LLVMBuildSExt(g->b, e, g->i64, "") : LLVMBuildZExt(g->b, e, g->i64, "");
}

static LV
number(Codegen *g, DType to, DType from, LV e)
{
	bool ff = dtype_info[from].kind == K_flt, tf = dtype_info[to].kind == K_flt;

	if (to == D_bool)
		return ff ? LLVMBuildFCmp(g->b, LLVMRealUNE, e, LLVMConstNull(LLVMTypeOf(e)), "")
		          : LLVMBuildICmp(g->b, LLVMIntNE, e, LLVMConstNull(LLVMTypeOf(e)), "");
	if (!tf)
		return ff ? float_to_int(g, to, from, e) : int_to_int(g, to, from, e);
	if (!ff)
		return int_to_float(g, to, from, e);
	if (from == D_f64)
		return f64_to_small(g, to, e);
	return to == D_f64 ? LLVMBuildFPExt(g->b, e, g->f64, "") : e; /* packing rounds */
}

LV
cast_number(Codegen *g, DType to, DType from, LV e)
{
	if (to == from)
		return e;
	if (from == D_tf32) /* bits below the last place, left by the hardware, are ignored */
		e = as_f32(g, LLVMBuildAnd(g->b, as_i32(g, e), const_i32(g, 0xffffe000), ""));
	e = number(g, to, from, e);
	return to == D_tf32 ? f32_to_tf32(g, e) : e;
}

static LV
cast_element(Codegen *g, Op *o, int64_t r)
{
	return cast_number(g, o->out[0]->type.dtype, op_source(o)->type.dtype, elem_get(g, op_source(o), r));
}

static void
pull_cast(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);

	if (t->plan)
		t->word[w] = dequant_word(g, t->plan, op_source(o), w);
	else if (!op_source(o)->type.bit_order)
		t->word[w] = cast_word(g, o, w);
	if (!t->word[w])
		number_word(g, o, w, cast_element);
}

/* The words are unchanged, under another type. */
static void
pull_bitcast(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);

	t->word[w] = LLVMBuildBitCast(g->b, word_get(g, op_source(o), w), word_type(g, t->dtype), "");
}

void
emit_bitcast(Codegen *g, Op *o)
{
	tile_lazy(g, o, pull_bitcast, NULL);
}

Dequant *
cast_plan(const Tile *t)
{
	return t->pull == pull_cast ? t->plan : NULL;
}

void
emit_cast(Codegen *g, Op *o)
{
	tile_lazy(g, o, pull_cast, dequant_plan(g, o));
}
