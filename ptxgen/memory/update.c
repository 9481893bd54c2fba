/* update.c - atomic updates of memory. */
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
	static const char *const row[2][2][2][2] = { /* shared, wide, max, negative */
		{ { { "red_min_i32", "red_max_u32" }, { "red_max_i32", "red_min_u32" } },
		  { { "red_min_i64", "red_max_u64" }, { "red_max_i64", "red_min_u64" } } },
		{ { { "red_shared_min_i32", "red_shared_max_u32" },
		    { "red_shared_max_i32", "red_shared_min_u32" } },
		  { { "red_shared_min_i64", "red_shared_max_u64" },
		    { "red_shared_max_i64", "red_shared_min_u64" } } },
	};
	bool wide = i->bits == 64, max = i->atom == STORE_MAX;
	LV zero = wide ? const_i64(g, 0) : const_i32(g, 0);
	LV mag = wide ? const_i64(g, INT64_MAX) : const_i32(g, INT32_MAX);
	LV inf = wide ? const_i64(g, 0x7ffll << 52) : const_i32(g, 0x7f800000);
	LV neg = LLVMBuildICmp(g->b, LLVMIntSLT, in[0], zero, "");
	LV number = LLVMBuildICmp(g->b, LLVMIntULE, LLVMBuildAnd(g->b, in[0], mag, ""), inf, "");
	const char *const *r = row[i->kind == IK_red_shared][wide][max];

	exec = both(g, exec, number);
	asm_instr(g, instr_find(r[0]), in, 3, both(g, exec, LLVMBuildNot(g->b, neg, "")), NULL);
	asm_instr(g, instr_find(r[1]), in, 3, both(g, exec, neg), NULL);
}

/* old + x is fma(old, 1, x), which sm_80 has.  Where another thread was faster, it is tried again with what
 * that one left. */
static void
bf16_loop(Gen *g, const Instr *i, const LV *in, LV exec)
{
	bool shared = i->kind == IK_red_shared;
	LV all[4] = { LLVMBuildTrunc(g->b, in[0], g->i16, ""), in[1], in[2],
		      exec ? exec : LLVMConstInt(g->i1, 1, 0) };

#define TRIES(at)                                                                                     \
	"{ .reg .pred again; .reg .b16 old, sum, now, one; @!$3 bra done_${:uid}; "                   \
	"mov.b16 one, 0x3f80; ld.relaxed." at ".b16 now, [$1+$2]; "                                   \
	"again_${:uid}: mov.b16 old, now; "                                                           \
	"fma.rn.bf16 sum, old, one, $0; atom.relaxed." at ".cas.b16 now, [$1+$2], old, sum; "         \
	"setp.ne.s16 again, now, old; @again bra again_${:uid}; done_${:uid}: }"
	asm_emit(g, shared ? TRIES("cta.shared") : TRIES("gpu.global"), shared ? "h,r,n,b" : "h,l,n,b",
	         AF_MEM, all, 4, NULL);
#undef TRIES
}

/* Words of a row that takes several. */
static int
words_of(const Instr *i)
{
	bool one = i->bits <= 32 || !i->text || i->cons[0] == 'l' || i->cons[0] == 'd';

	return one ? 1 : i->bits / 32;
}

void
emit_update(Gen *g, const Instr *i, const LV *word, LV base, LV imm, LV exec)
{
	LV in[6] = { i->bits == 64 && words_of(i) == 1 ? join64(g, word[0], word[1]) : word[0] };
	int n = words_of(i);

	for (int j = 1; j < n; j++)
		in[j] = word[j];
	in[n] = base;
	in[n + 1] = imm;
	if (!i->text) {
		if (i->atom == STORE_ADD)
			bf16_loop(g, i, in, exec);
		else
			float_extreme(g, i, in, exec);
		return;
	}
	for (int j = 0; j < n; j++) {
		switch (i->cons[0]) {
		case 'h': in[j] = LLVMBuildTrunc(g->b, in[j], g->i16, ""); break;
		case 'f': in[j] = LLVMBuildBitCast(g->b, in[j], g->f32, ""); break;
		case 'd': in[j] = LLVMBuildBitCast(g->b, in[j], g->f64, ""); break;
		default: break;
		}
	}
	asm_instr(g, i, in, n + 2, exec, NULL);
}
