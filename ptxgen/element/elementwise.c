/* elementwise.c - emits elementwise ops one element at a time: every type, in arithmetic of its size.
 *
 * f16 and bf16 are computed in f32 and rounded once when packed. For + - * / sqrt that gives the correctly
 * rounded result of the exact one (24 >= 2 * 11 + 2 bits). The approximate instructions are within 2 ulp of
 * f32. exp is 2^(x log2 e) with the product rounded in f32: relative error below (|x| + 4) 2^-24. */
#include "ptxgen/base/inline_asm.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/divmod_iv.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/dequant.h"
#include "ptxgen/element/position_compare.h"
#include "ptxgen/element/index_arith.h"
#include "ptxgen/element/element_value.h"
#include "ptxgen/element/slow_path.h"
#include <string.h>

LV
call_fp(Codegen *g, const char *name, LLVMTypeRef type, const LV *arg, int n)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LV f, in[3];

	BUG_IF(g->a, id == 0 || n > 3);
	for (int i = 0; i < n; i++)
		in[i] = arg[i];
	f = LLVMGetIntrinsicDeclaration(g->s->mod, id, &type, 1);
	return LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, in, (unsigned)n, "");
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Unless `exact`, results below the smallest normal number become 0: ptxas emits one instruction for that,
 * else four. */
static LV
exp2_of(Codegen *g, LV x, bool exact)
{
	return asm_op(g, exact ? A_ex2 : A_ex2_ftz, x, NULL, NULL);
}

static bool
is_one(LV x)
{
	LLVMBool loses;

	return LLVMIsAConstantFP(x) && !(LLVMConstRealGetDouble(x, &loses) < 1) &&
	       !(LLVMConstRealGetDouble(x, &loses) > 1);
}

static LV
quotient(Codegen *g, const Op *o, DType d, const LV *e)
{
	if (d == D_f64 || IMM(o, exact))
		return LLVMBuildFDiv(g->b, e[0], e[1], "");
	if (is_one(e[0]))
		return asm_op(g, A_rcp, e[1], NULL, NULL);
	return asm_op(g, A_div, e[0], e[1], NULL);
}

static LV
square_root(Codegen *g, const Op *o, DType d, LV x)
{
	if (d == D_f64 || IMM(o, exact))
		return call_fp(g, "llvm.sqrt", LLVMTypeOf(x), &x, 1);
	return asm_op(g, A_sqrt, x, NULL, NULL);
}

static LV
fma_f32(Codegen *g, LV x, LV y, LV z)
{
	LV e[3] = { x, y, z };

	return call_fp(g, "llvm.fma", g->f32, e, 3);
}

/* Returns x with the sign of y. */
static LV
sign_of(Codegen *g, LV x, LV y)
{
	LV sign = LLVMBuildAnd(g->b, as_i32(g, y), const_i32(g, 0x80000000), "");

	return as_f32(g, LLVMBuildOr(g->b, as_i32(g, x), sign, ""));
}

/* Odd polynomial below 0.55 (relative error 2^-23.3, including rounding), else (1 - e) / (1 + e) with e =
 * exp(-2|x|) and the sign of x. */
static LV
tanh_f32(Codegen *g, LV x)
{
	static const double c[] = { -0.333333164, 0.13332586, -0.0538523085, 0.021071678,
		                    -0.00627423776 };
	LV a = call_fp(g, "llvm.fabs", g->f32, &x, 1), one = const_f32(g, 1), big, small, x2, e;

	e = exp2_of(g, LLVMBuildFMul(g->b, a, const_f32(g, -2.8853900817779268), ""), false);
	big = asm_op(g, A_rcp, LLVMBuildFAdd(g->b, e, one, ""), NULL, NULL);
	big = sign_of(g, LLVMBuildFMul(g->b, LLVMBuildFSub(g->b, one, e, ""), big, ""), x);
	x2 = LLVMBuildFMul(g->b, x, x, "");
	small = const_f32(g, c[4]);
	for (int i = 3; i >= 0; i--)
		small = fma_f32(g, small, x2, const_f32(g, c[i]));
	small = LLVMBuildFMul(g->b, fma_f32(g, small, x2, one), x, ""); /* -0 stays -0 */
	return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, a, const_f32(g, 0.55), ""),
	                       small, big, "");
}

/* Emits functions with an instruction for f32 only: exp, exp2, log, rsqrt, tanh. */
static LV
approx_f32(Codegen *g, const Op *o, DType d, LV x)
{
	OpCode code = o->code;

	if (code == O_exp)
		x = LLVMBuildFMul(g->b, x, const_f32(g, 1.4426950408889634), "");
	if (code == O_exp || code == O_exp2)
		return exp2_of(g, x, IMM(o, exact));
	if (code == O_log) {
		x = asm_op(g, A_lg2, x, NULL, NULL);
		return LLVMBuildFMul(g->b, x, const_f32(g, 0.69314718055994531), "");
	}
	if (code == O_rsqrt)
		return asm_op(g, A_rsqrt, x, NULL, NULL);
	if (d != D_f32 && g->u->target->features & T_MMA16816)
		return asm_op(g, A_tanh, x, NULL, NULL);
	return tanh_f32(g, x);
}

static LV
function(Codegen *g, const Op *o, DType d, LV x)
{
	const char *name = op_info[o->code].name;

	if (d != D_f64)
		return approx_f32(g, o, d, x);
	if (o->code == O_rsqrt)
		return LLVMBuildFDiv(g->b, LLVMConstReal(g->f64, 1),
		                     call_fp(g, "llvm.sqrt", g->f64, &x, 1), "");
	diag_class_error(g->u->diag, DC_SOURCE, o->src,
	          "GPUs have no %s for f64; cast to f32 first, as in `f64(%s(f32(x)))`", name, name);
	return LLVMConstNull(g->f64);
}

static LV
compare_float(Codegen *g, OpCode code, LV x, LV y)
{
	LLVMRealPredicate p = code == O_lt   ? LLVMRealOLT
	                      : code == O_le ? LLVMRealOLE
	                      : code == O_eq ? LLVMRealOEQ
	                                     : LLVMRealUNE;

	return LLVMBuildFCmp(g->b, p, x, y, "");
}

static LV
float_number(Codegen *g, const Op *o, DType d, const LV *e)
{
	LLVMTypeRef t = LLVMTypeOf(e[0]);

	switch ((EltOp)o->code) {
	case E_add: return LLVMBuildFAdd(g->b, e[0], e[1], "");
	case E_sub: return LLVMBuildFSub(g->b, e[0], e[1], "");
	case E_mul: return LLVMBuildFMul(g->b, e[0], e[1], "");
	case E_div: return quotient(g, o, d, e);
	case E_min: return call_fp(g, "llvm.minnum", t, e, 2);
	case E_max: return call_fp(g, "llvm.maxnum", t, e, 2);
	case E_neg: return LLVMBuildFNeg(g->b, e[0], "");
	case E_abs: return call_fp(g, "llvm.fabs", t, e, 1);
	case E_fma: return call_fp(g, "llvm.fma", t, e, 3);
	case E_sqrt: return square_root(g, o, d, e[0]);
	case E_floor: return call_fp(g, "llvm.floor", t, e, 1);
	case E_ceil: return call_fp(g, "llvm.ceil", t, e, 1);
	case E_round: return call_fp(g, "llvm.roundeven", t, e, 1);
	case E_trunc: return call_fp(g, "llvm.trunc", t, e, 1);
	case E_exp:
	case E_exp2:
	case E_log:
	case E_rsqrt:
	case E_tanh: return function(g, o, d, e[0]);
	case E_lt:
	case E_le:
	case E_eq:
	case E_ne: return compare_float(g, o->code, e[0], e[1]);
	/* not for floats, or not elementwise */
	case E_mod:
	case E_and:
	case E_or:
	case E_xor:
	case E_shl:
	case E_shr:
	case E_not:
	case E_popcount:
	case E_clz:
	case E_mulhi:
	case E_select:
	case E_cast:
	case E_bitcast: break;
	}
	gen_unsupported(g, o, dtype_info[d].name);
	return LLVMConstNull(t);
}

/* ---- integers -------------------------------------------------------------------------------- */

static bool
is_signed(DType d)
{
	return dtype_info[d].kind == K_sint;
}

static LV
pick_if(Codegen *g, LLVMIntPredicate p, LV x, LV y, LV yes, LV no)
{
	return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, p, x, y, ""), yes, no, "");
}

/* x / 0 is all ones, x % 0 is x; the most negative value by -1 wraps. Constants need no check. */
static LV
divide(Codegen *g, bool mod, bool sign, LV x, LV y)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LV zero = LLVMConstNull(t), one = LLVMConstInt(t, 1, 0), ones = LLVMConstAllOnes(t), safe, r;

	if (LLVMIsConstant(y) && !LLVMIsNull(y) && y != ones)
		return mod ? (sign ? LLVMBuildSRem : LLVMBuildURem)(g->b, x, y, "")
		           : (sign ? LLVMBuildSDiv : LLVMBuildUDiv)(g->b, x, y, "");
	safe = pick_if(g, LLVMIntEQ, y, zero, one, y);
	if (!sign) {
		r = mod ? LLVMBuildURem(g->b, x, safe, "") : LLVMBuildUDiv(g->b, x, safe, "");
		return pick_if(g, LLVMIntEQ, y, zero, mod ? x : ones, r);
	}
	safe = pick_if(g, LLVMIntEQ, y, ones, one, safe);
	r = mod ? LLVMBuildSRem(g->b, x, safe, "") : LLVMBuildSDiv(g->b, x, safe, "");
	if (!mod)
		r = pick_if(g, LLVMIntEQ, y, ones, LLVMBuildNeg(g->b, x, ""), r);
	return pick_if(g, LLVMIntEQ, y, zero, mod ? x : ones, r);
}

/* Does an iteration divide a 31-bit scalar by a constant? In 64 bits that takes three more
 * multiplications. */
static bool
is_narrow(Codegen *g, const Op *o)
{
	int64_t c;
	Fact x;

	if (!g->loop || !type_is_index(&o->out[0]->type) || !val_is_const(elt_rhs(o), &c) || c < 1 ||
	    c > INT32_MAX || (c & (c - 1)) == 0)
		return false;
	x = val_fact(g->k, elt_lhs(o));
	return x.lo >= 0 && x.hi <= INT32_MAX;
}

static LV
divide_narrow(Codegen *g, bool mod, LV x, LV y)
{
	x = LLVMBuildTrunc(g->b, x, g->i32, "");
	y = LLVMBuildTrunc(g->b, y, g->i32, "");
	return LLVMBuildZExt(g->b, divide(g, mod, false, x, y), g->i64, "");
}

/* Shift amounts are unsigned: a large one shifts everything out. */
static LV
shift(Codegen *g, bool left, bool sign, LV x, LV n)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	unsigned bits = LLVMGetIntTypeWidth(t);
	LV most = LLVMConstInt(t, bits - 1, 0), r;

	if (!left && sign)
		return LLVMBuildAShr(g->b, x, pick_if(g, LLVMIntUGT, n, most, most, n), "");
	r = LLVMBuildAnd(g->b, n, most, "");
	r = left ? LLVMBuildShl(g->b, x, r, "") : LLVMBuildLShr(g->b, x, r, "");
	return pick_if(g, LLVMIntUGT, n, most, LLVMConstNull(t), r);
}

/* Returns the bits of an element, without its sign extension. */
static LV
own_bits(Codegen *g, DType d, LV x)
{
	int bits = dtype_info[d].bits;

	return bits < 32 ? LLVMBuildAnd(g->b, x, const_i32(g, (1u << bits) - 1), "") : x;
}

/* For 0 it is the number of bits. */
static LV
leading_zeros(Codegen *g, DType d, LV x)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	unsigned id = LLVMLookupIntrinsicID("llvm.ctlz", strlen("llvm.ctlz")), bits = dtype_info[d].bits;
	LV in[2] = { own_bits(g, d, x), LLVMConstNull(g->i1) };
	LV f = LLVMGetIntrinsicDeclaration(g->s->mod, id, &t, 1);
	LV r = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, in, 2, "");

	return bits < 32 ? LLVMBuildSub(g->b, r, const_i32(g, 32 - bits), "") : r;
}

/* Returns the upper half of the product, which has twice as many bits as its operands. */
static LV
upper_half(Codegen *g, DType d, LV x, LV y)
{
	LLVMTypeRef t = LLVMTypeOf(x), wide;
	bool sign = is_signed(d);
	unsigned bits = dtype_info[d].bits;
	LV r;

	if (bits < 32)
		return (sign ? LLVMBuildAShr : LLVMBuildLShr)(g->b, LLVMBuildMul(g->b, x, y, ""),
		                                              const_i32(g, bits), "");
	wide = LLVMIntTypeInContext(g->ctx, 2 * bits);
	r = LLVMBuildMul(g->b, LLVMBuildIntCast2(g->b, x, wide, sign, ""),
	                 LLVMBuildIntCast2(g->b, y, wide, sign, ""), "");
	return LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, r, LLVMConstInt(wide, bits, 0), ""), t, "");
}

static LV
compare_int(Codegen *g, OpCode code, bool sign, LV x, LV y)
{
	LLVMIntPredicate p = code == O_lt   ? (sign ? LLVMIntSLT : LLVMIntULT)
	                     : code == O_le ? (sign ? LLVMIntSLE : LLVMIntULE)
	                     : code == O_eq ? LLVMIntEQ
	                                    : LLVMIntNE;

	return LLVMBuildICmp(g->b, p, x, y, "");
}

static LV
int_number(Codegen *g, const Op *o, DType d, const LV *e)
{
	bool sign = is_signed(d);
	LV x = e[0], y = o->nin > 1 ? e[1] : NULL;

	switch ((EltOp)o->code) {
	case E_add: return LLVMBuildAdd(g->b, x, y, "");
	case E_sub: return LLVMBuildSub(g->b, x, y, "");
	case E_mul: return LLVMBuildMul(g->b, x, y, "");
	case E_div:
	case E_mod:
		return is_narrow(g, o) ? divide_narrow(g, o->code == O_mod, x, y)
		                       : divide(g, o->code == O_mod, sign, x, y);
	case E_min: return pick_if(g, sign ? LLVMIntSLT : LLVMIntULT, y, x, y, x);
	case E_max: return pick_if(g, sign ? LLVMIntSGT : LLVMIntUGT, y, x, y, x);
	case E_and: return LLVMBuildAnd(g->b, x, y, "");
	case E_or: return LLVMBuildOr(g->b, x, y, "");
	case E_xor: return LLVMBuildXor(g->b, x, y, "");
	case E_shl: return shift(g, true, sign, x, y);
	case E_shr: return shift(g, false, sign, x, y);
	case E_neg: return LLVMBuildNeg(g->b, x, "");
	case E_not: return LLVMBuildNot(g->b, x, "");
	case E_popcount:
		x = own_bits(g, d, x);
		return call_fp(g, "llvm.ctpop", LLVMTypeOf(x), &x, 1);
	case E_clz: return leading_zeros(g, d, x);
	case E_mulhi: return upper_half(g, d, x, y);
	case E_abs:
		return !sign ? x
		             : pick_if(g, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)),
		                       LLVMBuildNeg(g->b, x, ""), x);
	case E_fma: return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, x, y, ""), e[2], "");
	case E_lt:
	case E_le:
	case E_eq:
	case E_ne: return compare_int(g, o->code, sign, x, y);
	/* not for integers, or not elementwise */
	case E_exp:
	case E_exp2:
	case E_log:
	case E_sqrt:
	case E_rsqrt:
	case E_tanh:
	case E_floor:
	case E_ceil:
	case E_round:
	case E_trunc:
	case E_select:
	case E_cast:
	case E_bitcast: break;
	}
	gen_unsupported(g, o, dtype_info[d].name);
	return x;
}

LV
elt_number(Codegen *g, const Op *o, DType d, const LV *e)
{
	return dtype_info[d].kind == K_flt ? float_number(g, o, d, e) : int_number(g, o, d, e);
}

/* ---- words ------ */

/* Selects bits of one operand or the other, per element. */
static void
pull_select(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LV x, y, one[WORD_ELEMS];
	int pos[WORD_ELEMS], n = 0;

	if (rarely_select(g, o, w))
		return;
	x = word_get(g, select_yes(o), w);
	y = word_get(g, select_no(o), w);
	for (; n < t->epw && w * t->epw + n < t->nreg; n++) {
		LV c = word_get(g, select_cond(o), w * t->epw + n);

		one[n] = LLVMBuildSelect(g->b, c, x, y, "");
		pos[n] = n;
	}
	t->word[w] = bits_gather(g, t->dtype, one, pos, n);
}

static LV
elt_element(Codegen *g, Op *o, int64_t r)
{
	LV e[3] = { NULL };

	for (int i = 0; i < o->nin; i++)
		e[i] = elem_get(g, o->in[i], r);
	return elt_number(g, o, o->in[0]->type.dtype, e);
}

static void
pull_index(Codegen *g, Op *o, int w)
{
	LV e[3] = { NULL }, kept = wheels_value(g, o->out[0]);

	for (int i = 0; i < o->nin && !kept; i++)
		e[i] = scalar_get(g, o->in[i]);
	tile_of(g, o->out[0])->word[w] = kept ? kept : index_number(g, o, e);
}

/* Is it an op on index scalars, other than those that depend on the number of bits? */
static bool
is_index(const Op *o)
{
	return o->code != O_popcount && o->code != O_clz && o->code != O_mulhi &&
	       o->out[0]->type.space == S_scalar && o->in[o->nin - 1]->type.dtype == D_i64;
}

static void
pull_elt(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);

	t->word[w] = elt_word(g, o, w);
	if (!t->word[w])
		number_word(g, o, w, elt_element);
}

void
emit_elt(Codegen *g, Op *o)
{
	void *offset = offset_plan(g, o), *position = position_plan(g, o);

	BUG_IF(g->a, o->nin > 3);
	if (offset)
		tile_lazy(g, o, offset_pull, offset);
	else if (position)
		tile_lazy(g, o, position_pull, position);
	else if (is_index(o))
		tile_lazy(g, o, pull_index, NULL);
	else
		tile_lazy(g, o, o->code == O_select ? pull_select : pull_elt, NULL);
}
