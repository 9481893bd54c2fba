/* atomic.c - emits atomic updates of memory. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/store.h"

static LV
both(Codegen *g, LV x, LV y)
{
	return x ? LLVMBuildAnd(g->b, x, y, "") : y;
}

/* Nonnegative floats are ordered as the signed integers of their bits, with all negative ones below them.
 * Negative ones, as unsigned integers, are above the others and in reverse order. The max of a float and an
 * x >= 0 is therefore the signed integer max, of a float and an x < 0 the unsigned integer min; likewise
 * for min. A NaN updates nothing. */
static void
float_extreme(Codegen *g, const Instr *i, LV *in, LV exec)
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

/* ---- by compare-and-swap --------------------------------------------------------------------- */

enum { CAS_BITS = 16 }; /* the smallest size in bits of compare-and-swap (PTX ISA, "atom") */

/* Returns code that computes `new` from `old` and `x`, registers of the type's bits; a, b of 32 bits and
 * low of 16 are free. old + x is fma(old, 1, x), which sm_80 has for bf16. Elsewhere the sum is in f32,
 * which has enough more bits that rounding to even again equals rounding once; a NaN is made quiet. A max
 * or min is one of the two, so f32, which has both of them, does not round. */
static const char *
new_of(const Instr *i)
{
#define BY_F32(from, op, to) from(a, old) from(b, x) op ".f32 a, a, b; " to
#define WIDE_F16(to, of) "cvt.f32.f16 " #to ", " #of "; "
#define WIDE_BF16(to, of) "mov.b32 " #to ", {zero, " #of "}; "
#define EXTREME(op)                                                                            \
	(i->ta == D_f16    ? BY_F32(WIDE_F16, op, "cvt.rn.f16.f32 new, a; ")                   \
	 : i->ta == D_bf16 ? BY_F32(WIDE_BF16, op, "mov.b32 {low, new}, a; ")                  \
	 : i->ta == D_f32  ? op ".f32 new, old, x; "                                           \
	 : i->ta == D_f64  ? op ".f64 new, old, x; "                                           \
	 : i->ta == D_i16  ? op ".s16 new, old, x; "                                           \
	                   : op ".u16 new, old, x; ")
	switch (i->atom) {
	case STORE_ADD:
		if (i->ta == D_bf16 && i->features & T_BF16)
			return "mov.b16 low, 0x3f80; fma.rn.bf16 new, old, low, x; ";
		if (i->ta == D_bf16)
			return BY_F32(WIDE_BF16, "add.rn",
			              "setp.nan.f32 again, a, a; bfe.u32 b, a, 16, 1; "
			              "add.u32 b, b, 0x7fff; add.u32 b, b, a; "
			              "selp.b32 a, 0x7fffffff, b, again; mov.b32 {low, new}, a; ");
		return "add.s16 new, old, x; ";
	case STORE_AND: return "and.b16 new, old, x; ";
	case STORE_OR: return "or.b16 new, old, x; ";
	case STORE_XOR: return "xor.b16 new, old, x; ";
	case STORE_MAX: return EXTREME("max");
	case STORE_MIN: return EXTREME("min");
	default: return "mov.b16 new, x; ";
	}
#undef EXTREME
#undef WIDE_BF16
#undef WIDE_F16
#undef BY_F32
}

/* Returns code for types narrower than compare-and-swap: it is tried on the aligned word around the
 * element, with the other bytes unchanged. For bitwise updates the word's own instruction is used, with
 * bits that leave the others unchanged. `a` of `a` and `x`, both as wide as a word; `at` is the word's
 * address, `low` the element's first bit. */
static const char *
word_update(Codegen *g, const Instr *i, const char *space)
{
	const char *name, *sign = dtype_info[i->ta].kind == K_sint ? "s" : "u", *op;

	switch (i->atom) {
	case STORE_AND:
	case STORE_OR:
	case STORE_XOR:
		name = i->atom == STORE_AND ? "and" : i->atom == STORE_OR ? "or" : "xor";
		return arena_printf(g->a,
		                    "mov.b32 old, %d; bfi.b32 new, x, old, low, %d; "
		                    "atom.relaxed.%s.%s.b32 now, [at], new; ",
		                    i->atom == STORE_AND ? -1 : 0, i->bits, space, name);
	case STORE_ADD: op = "add.u32 a, a, x; "; break;
	case STORE_MAX: op = arena_printf(g->a, "max.%s32 a, a, x; ", sign); break;
	case STORE_MIN: op = arena_printf(g->a, "min.%s32 a, a, x; ", sign); break;
	case STORE_CAS: op = "setp.ne.b32 again, a, y; @again bra done_${:uid}; mov.b32 a, x; "; break;
	default: op = "mov.b32 a, x; "; break;
	}
	return arena_printf(g->a,
	                    "ld.relaxed.%s.b32 now, [at]; again_${:uid}: mov.b32 old, now; "
	                    "bfe.%s32 a, old, low, %d; %sbfi.b32 new, a, old, low, %d; "
	                    "atom.relaxed.%s.cas.b32 now, [at], old, new; "
	                    "setp.ne.b32 again, now, old; @again bra again_${:uid}; ",
	                    space, sign, i->bits, op, i->bits, space);
}

/* in[] is the value, the expected value for a compare-and-swap, the address and the offset added to it. */
static void
emit_within_word(Codegen *g, const Instr *i, const LV *in, LV exec, LV *out)
{
	bool shared = i->kind == IK_red_shared || i->kind == IK_atom_shared, cas = i->atom == STORE_CAS;
	const char *space = shared ? "cta.shared" : "gpu.global";
	const char *sign = dtype_info[i->ta].kind == K_sint ? "s" : "u", *found, *expected = "", *low, *cons;
	int at = (out != NULL) + 1 + cas, width = shared ? 32 : 64;
	LV all[5] = { in[0], in[1], in[2], in[3] };

	all[cas + 3] = exec ? exec : LLVMConstInt(g->i1, 1, 0);
	found = out ? arena_printf(g->a, "bfe.u32 $0, now, low, %d; ", i->bits) : "";
	if (cas)
		expected = arena_printf(g->a, "bfe.%s32 y, $%d, 0, %d; ", sign, at - 1, i->bits);
	low = shared ? "mov.b32 low, at; " : "cvt.u32.u64 low, at; ";
	cons = arena_printf(g->a, "%sr,%s%s,n,b", out ? "=&r," : "", cas ? "r," : "", shared ? "r" : "l");
	asm_emit(g,
	         arena_printf(g->a,
	                      "{ .reg .pred again; .reg .b%d at; .reg .b32 old, new, now, x, y, a, low; "
	                      "mov.b32 now, 0; mov.b32 low, 0; @!$%d bra done_${:uid}; "
	                      "bfe.%s32 x, $%d, 0, %d; %sadd.s%d at, $%d, $%d; %s"
	                      "and.b%d at, at, -4; and.b32 low, low, 3; shl.b32 low, low, 3; "
	                      "%sdone_${:uid}: %s}",
	                      width, at + 2, sign, out != NULL, i->bits, expected, width, at, at + 1, low,
	                      width, word_update(g, i, space), found),
	         cons, AF_MEM, all, cas + 4, out);
}

void
emit_tries(Codegen *g, const Instr *i, const LV *in, LV exec, LV *out)
{
	bool shared = i->kind == IK_red_shared || i->kind == IK_atom_shared;
	const char *at = shared ? "cta.shared" : "gpu.global", *letter, *found, *cons;
	int bits = i->bits, first = out != NULL;
	LV all[4] = { in[0], in[1], in[2], exec ? exec : LLVMConstInt(g->i1, 1, 0) };

	if (bits < CAS_BITS) {
		emit_within_word(g, i, in, exec, out);
		return;
	}
	letter = bits == 16 ? "h" : bits == 32 ? "r" : "l";
	found = out ? arena_printf(g->a, "mov.b%d $0, now; ", bits) : "";
	cons = arena_printf(g->a, "%s%s,%s,n,b", out ? arena_printf(g->a, "=&%s,", letter) : "", letter,
	                    shared ? "r" : "l");
	asm_emit(g,
	         arena_printf(g->a,
	                      "{ .reg .pred again; .reg .b%d old, new, now, x; .reg .b16 low, zero; "
	                      ".reg .b32 a, b; "
	                      "mov.b16 zero, 0; mov.b%d now, 0; mov.b%d x, $%d; @!$%d bra done_${:uid}; "
	                      "ld.relaxed.%s.b%d now, [$%d+$%d]; again_${:uid}: mov.b%d old, now; %s"
	                      "atom.relaxed.%s.cas.b%d now, [$%d+$%d], old, new; "
	                      "setp.ne.b%d again, now, old; @again bra again_${:uid}; done_${:uid}: %s}",
	                      bits, bits, bits, first, first + 3, at, bits, first + 1, first + 2, bits,
	                      new_of(i), at, bits, first + 1, first + 2, bits, found),
	         cons, AF_MEM, all, 4, out);
}

/* Returns the words of a row that has several. */
static int
words_of(const Instr *i)
{
	bool one = i->bits <= 32 || !i->text || i->cons[0] == 'l' || i->cons[0] == 'd';

	return one ? 1 : i->bits / 32;
}

void
emit_update(Codegen *g, const Instr *i, const LV *word, LV base, LV imm, LV exec)
{
	LV in[6] = { i->bits == 64 && words_of(i) == 1 ? join64(g, word[0], word[1]) : word[0] };
	int n = words_of(i);

	for (int j = 1; j < n; j++)
		in[j] = word[j];
	in[n] = base;
	in[n + 1] = imm;
	if (!i->text) {
		if (i->bits > 16) {
			float_extreme(g, i, in, exec);
			return;
		}
		if (i->bits == 16)
			in[0] = LLVMBuildTrunc(g->b, in[0], g->i16, "");
		emit_tries(g, i, in, exec, NULL);
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
