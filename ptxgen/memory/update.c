/* update.c - atomic updates of global memory. */
#include "ptxgen/base/asm.h"
#include "ptxgen/base/word.h"
#include "ptxgen/memory/store.h"

static LV
both(Gen *g, LV x, LV y)
{
	return x ? LLVMBuildAnd(g->b, x, y, "") : y;
}

/* Floats that are not negative are ordered as the integers of their bits, with any negative one below them;
 * the negative ones are, read without sign, above the others and ordered the other way round.  So the larger
 * of a float and an x >= 0 is the larger one as signed integers, and of a float and an x < 0 the smaller one
 * as unsigned integers; likewise for the smaller.  A NaN updates nothing. */
static void
float_extreme(Gen *g, const Instr *i, LV *in, LV exec)
{
	static const char *const row[2][2][2] = { /* wide, max, negative */
		{ { "red_min_i32", "red_max_u32" }, { "red_max_i32", "red_min_u32" } },
		{ { "red_min_i64", "red_max_u64" }, { "red_max_i64", "red_min_u64" } },
	};
	bool wide = i->bits == 64, max = i->atom == STORE_MAX;
	LV zero = wide ? const_i64(g, 0) : const_i32(g, 0);
	LV mag = wide ? const_i64(g, INT64_MAX) : const_i32(g, INT32_MAX);
	LV inf = wide ? const_i64(g, 0x7ffll << 52) : const_i32(g, 0x7f800000);
	LV neg = LLVMBuildICmp(g->b, LLVMIntSLT, in[0], zero, "");
	LV number = LLVMBuildICmp(g->b, LLVMIntULE, LLVMBuildAnd(g->b, in[0], mag, ""), inf, "");
	const char *const *r = row[wide][max];

	exec = both(g, exec, number);
	asm_instr(g, instr_find(r[0]), in, 3, both(g, exec, LLVMBuildNot(g->b, neg, "")), NULL);
	asm_instr(g, instr_find(r[1]), in, 3, both(g, exec, neg), NULL);
}

void
emit_update(Gen *g, const Instr *i, const LV *word, LV base, LV imm, LV exec)
{
	LV in[3] = { i->bits < 64 ? word[0] : join64(g, word[0], word[1]), base, imm };

	if (!i->text) {
		float_extreme(g, i, in, exec);
		return;
	}
	switch (i->cons[0]) {
	case 'h': in[0] = LLVMBuildTrunc(g->b, in[0], g->i16, ""); break;
	case 'f': in[0] = LLVMBuildBitCast(g->b, in[0], g->f32, ""); break;
	case 'd': in[0] = LLVMBuildBitCast(g->b, in[0], g->f64, ""); break;
	default: break;
	}
	asm_instr(g, i, in, 3, exec, NULL);
}
