/* elementwise_packed.c - emits elementwise ops on two f16 or bf16 per instruction, and bitwise ops on full
 * words. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

/* Emits bitwise ops on an integer word: any element size. */
static LV
bitwise(Codegen *g, OpCode code, LV x, LV y)
{
	switch (code) {
	case O_and: return LLVMBuildAnd(g->b, x, y, "");
	case O_or: return LLVMBuildOr(g->b, x, y, "");
	case O_xor: return LLVMBuildXor(g->b, x, y, "");
	case O_not: return LLVMBuildNot(g->b, x, "");
	default: return NULL;
	}
}

/* Emits neg and abs on the sign bits of both halves. */
static LV
sign_bits(Codegen *g, OpCode code, LV x)
{
	if (code == O_neg)
		return LLVMBuildXor(g->b, x, const_i32(g, 0x80008000), "");
	return LLVMBuildAnd(g->b, x, const_i32(g, 0x7fff7fff), "");
}

static LV
half2(Codegen *g, OpCode code, const LV *w)
{
	LV x = as_h2(g, w[0]), y = w[1] ? as_h2(g, w[1]) : NULL, e[3] = { x, y, NULL };
	bool minmax = g->u->target->features & T_MMA16816; /* min.f16x2: sm_80 */

	switch (code) {
	case O_add: return from_h2(g, LLVMBuildFAdd(g->b, x, y, ""));
	case O_sub: return from_h2(g, LLVMBuildFSub(g->b, x, y, ""));
	case O_mul: return from_h2(g, LLVMBuildFMul(g->b, x, y, ""));
	case O_min: return minmax ? from_h2(g, call_fp(g, "llvm.minnum", g->h2, e, 2)) : NULL;
	case O_max: return minmax ? from_h2(g, call_fp(g, "llvm.maxnum", g->h2, e, 2)) : NULL;
	case O_fma:
		e[2] = as_h2(g, w[2]);
		return from_h2(g, call_fp(g, "llvm.fma", g->h2, e, 3));
	default: return NULL;
	}
}

/* Before sm_90 bf16 has only fma; x * 1 + y and x * y - 0 round once, like add and mul. */
static LV
bfloat2(Codegen *g, OpCode code, const LV *w)
{
	LV one = const_i32(g, 0x3f803f80), minus_one = const_i32(g, 0xbf80bf80);

	switch (code) {
	case O_add: return asm_op(g, A_fma_bf16x2, w[0], one, w[1]);
	case O_sub: return asm_op(g, A_fma_bf16x2, w[1], minus_one, w[0]);
	case O_mul: return asm_op(g, A_fma_bf16x2, w[0], w[1], const_i32(g, 0x80008000));
	case O_fma: return asm_op(g, A_fma_bf16x2, w[0], w[1], w[2]);
	case O_min: return asm_op(g, A_min_bf16x2, w[0], w[1], NULL);
	case O_max: return asm_op(g, A_max_bf16x2, w[0], w[1], NULL);
	default: return NULL;
	}
}

LV
elt_word(Codegen *g, Op *o, int w)
{
	DType d = o->in[0]->type.dtype;
	bool f16 = d == D_f16, bf16 = d == D_bf16 && g->u->target->features & T_BF16;
	bool bits = dtype_info[d].kind != K_flt &&
	            (o->code == O_and || o->code == O_or || o->code == O_xor || o->code == O_not);
	LV x[3] = { NULL };

	if (o->out[0]->type.dtype != d || (!f16 && !bf16 && !bits))
		return NULL;
	for (int i = 0; i < o->nin; i++)
		x[i] = word_get(g, o->in[i], w);
	if (bits)
		return bitwise(g, o->code, x[0], x[1]);
	if (o->code == O_neg || o->code == O_abs)
		return sign_bits(g, o->code, x[0]);
	return f16 ? half2(g, o->code, x) : bfloat2(g, o->code, x);
}
