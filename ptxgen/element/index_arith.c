/* index_arith.c - emits index scalars (i64) in the cheapest arithmetic that range analysis allows: 32 bits
 * if all operands and the result fit, and unsigned if no operand is negative, since division is then a
 * shift. */
#include "ptxgen/element/index_arith.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/element/elementwise.h"

bool
index_narrow(Codegen *g, const Val *v)
{
	Fact f;

	if (v->type.space != S_scalar || v->type.dtype != D_i64)
		return false;
	f = val_fact(g->k, v);
	return f.lo >= INT32_MIN && f.hi <= INT32_MAX;
}

LV
index_widen(Codegen *g, const Val *v, LV low)
{
	bool positive = val_fact(g->k, v).lo >= 0;

	return (positive ? LLVMBuildZExt : LLVMBuildSExt)(g->b, low, g->i64, "");
}

LV
index_low(Codegen *g, LV x)
{
	return LLVMBuildTrunc(g->b, x, g->i32, "");
}

static LV
compute(Codegen *g, const Op *o, DType d, const LV *e)
{
	return o->code == O_select ? LLVMBuildSelect(g->b, e[0], e[1], e[2], "") : elt_number(g, o, d, e);
}

LV
index_number(Codegen *g, const Op *o, const LV *word)
{
	const Val *out = o->out[0];
	bool narrow = out->type.dtype == D_bool || index_narrow(g, out), positive = true;
	LV low[3] = { NULL };

	for (int i = 0; i < o->nin; i++) {
		low[i] = word[i];
		if (o->in[i]->type.dtype != D_i64)
			continue;
		narrow = narrow && index_narrow(g, o->in[i]);
		positive = positive && val_fact(g->k, o->in[i]).lo >= 0;
	}
	if (!narrow)
		return compute(g, o, positive ? D_u64 : D_i64, word);
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.dtype == D_i64)
			low[i] = index_low(g, word[i]);
	low[0] = compute(g, o, positive ? D_u32 : D_i32, low);
	return out->type.dtype == D_bool ? low[0] : index_widen(g, out, low[0]);
}
