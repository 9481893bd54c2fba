/* packed_word.c - emits operations on words of a lane, and on the bits of the elements packed in them. */
#include "ptxgen/base/packed_word.h"
#include "ptxgen/base/inline_asm.h"

LLVMTypeRef
word_type(Codegen *g, DType d)
{
	LLVMTypeRef type[] = { g->i1, g->i32, g->i64, g->f32, g->f64 }; /* by DReg */

	return type[dtype_reg(d)];
}

LV
const_i32(Codegen *g, int64_t x)
{
	return LLVMConstInt(g->i32, (unsigned long long)x & 0xffffffffu, 0);
}

LV
const_i64(Codegen *g, int64_t x)
{
	return LLVMConstInt(g->i64, (unsigned long long)x, 1);
}

LV
const_f32(Codegen *g, double x)
{
	return LLVMConstReal(g->f32, x);
}

LV
as_i32(Codegen *g, LV word)
{
	return LLVMTypeOf(word) == g->i32 ? word : LLVMBuildBitCast(g->b, word, g->i32, "");
}

LV
as_f32(Codegen *g, LV word)
{
	return LLVMTypeOf(word) == g->f32 ? word : LLVMBuildBitCast(g->b, word, g->f32, "");
}

LV
as_h2(Codegen *g, LV word)
{
	return LLVMBuildBitCast(g->b, word, g->h2, "");
}

LV
from_h2(Codegen *g, LV x)
{
	return LLVMBuildBitCast(g->b, x, g->i32, "");
}

LV
join64(Codegen *g, LV lo, LV hi)
{
	LV x = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, hi, g->i64, ""), const_i64(g, 32), "");

	return LLVMBuildOr(g->b, x, LLVMBuildZExt(g->b, lo, g->i64, ""), "");
}

void
split64(Codegen *g, LV word, LV out[2])
{
	LV x = LLVMBuildBitCast(g->b, word, g->i64, "");

	out[0] = LLVMBuildTrunc(g->b, x, g->i32, "");
	out[1] = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, x, const_i64(g, 32), ""), g->i32, "");
}

LV
clamped(Codegen *g, LV v, Fact known, int64_t extent)
{
	LV zero = const_i64(g, 0), most = const_i64(g, extent);

	if (known.lo < 0)
		v = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, v, zero, ""), zero, v, "");
	if (known.hi > extent)
		v = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, v, most, ""), most, v, "");
	return LLVMBuildTrunc(g->b, v, g->i32, "");
}

LV
prmt(Codegen *g, LV lo, LV hi, unsigned selector)
{
	return asm_op(g, LLVMIsAConstantInt(hi) ? A_prmt_const : A_prmt, lo, hi, const_i32(g, selector));
}

/* ---- bits ------------------------------------------------------------------------------------ */

LV
bits_pack(Codegen *g, int bits, const LV *e, int n)
{
	LV w[WORD_ELEMS];
	int i;

	for (i = 0; i < n; i++)
		w[i] = e[i];
	/* merges pairs up to bytes first: bytes and halves are merged by prmt */
	for (; bits < 8; bits *= 2) {
		for (i = 0; i * 2 < n; i++) {
			LV hi = i * 2 + 1 < n ? w[i * 2 + 1] : NULL;

			w[i] = LLVMBuildAnd(g->b, w[i * 2], const_i32(g, (1 << bits) - 1), "");
			if (hi)
				w[i] = LLVMBuildOr(g->b, w[i],
				                   LLVMBuildShl(g->b, hi, const_i32(g, bits), ""), "");
		}
		n = i;
	}
	if (bits == 8) {
		for (i = 0; i * 2 < n; i++)
			w[i] = prmt(g, w[i * 2], i * 2 + 1 < n ? w[i * 2 + 1] : const_i32(g, 0),
			            0x7640);
		n = i;
	}
	return prmt(g, w[0], n > 1 ? w[1] : const_i32(g, 0), 0x5410);
}

/* Emits a word made of full bytes of other words: two source words take one permutation, each additional
 * one another. Returns NULL if a byte has elements from several slots. */
static LV
bytes_gather(Codegen *g, int bits, const LV *word, const int *pos)
{
	int per = 8 / bits, nfrom = 0, of[4];
	LV from[4], x;

	for (int i = 0; i < 4 * per; i++) {
		int first = i / per * per;
		if (pos[first] % per || pos[i] != pos[first] + i % per || word[i] != word[first])
			return NULL;
	}
	for (int b = 0; b < 4; b++) {
		for (of[b] = 0; of[b] < nfrom && from[of[b]] != word[b * per];)
			of[b]++;
		if (of[b] == nfrom)
			from[nfrom++] = word[b * per];
	}
	x = from[0];
	for (int s = 1; s == 1 || s < nfrom; s++) {
		unsigned sel = 0;

		for (int b = 0; b < 4; b++) {
			unsigned at = (unsigned)(pos[b * per] / per);
			/* bytes placed by earlier steps stay */
			sel |= (of[b] == s ? at + 4 : s > 1 ? (unsigned)b
			                                    : at)
			       << 4 * b;
		}
		x = prmt(g, x, s < nfrom ? from[s] : x, sel);
	}
	return x;
}

LV
bits_gather(Codegen *g, DType d, const LV *word, const int *pos, int n)
{
	int bits = dtype_slot_bits(d);
	bool same = true;
	LV e[WORD_ELEMS], bytes;

	if (dtype_per_word(d) == 1)
		return word[0];
	for (int i = 0; i < n; i++)
		same = same && word[i] == word[0] && pos[i] == i;
	if (same)
		return word[0];
	if (bits == 16)
		return prmt(g, word[0], n > 1 ? word[1] : word[0],
		            (pos[0] ? 0x32u : 0x10u) | (n > 1 && pos[1] ? 0x7600u : 0x5400u));
	if (8 % bits == 0 && n == dtype_per_word(d) && (bytes = bytes_gather(g, bits, word, pos)) != NULL)
		return bytes;
	for (int i = 0; i < n; i++)
		e[i] = pos[i] ? LLVMBuildLShr(g->b, word[i], const_i32(g, bits * pos[i]), "") : word[i];
	return bits_pack(g, bits, e, n);
}

LV
word_splat(Codegen *g, DType d, LV word)
{
	int bits = dtype_slot_bits(d);

	if (dtype_per_word(d) == 1)
		return word;
	if (bits < 8)
		word = LLVMBuildAnd(g->b, word, const_i32(g, (1 << bits) - 1), "");
	for (int have = bits; have < 8; have *= 2)
		word = LLVMBuildOr(g->b, word, LLVMBuildShl(g->b, word, const_i32(g, have), ""), "");
	return prmt(g, word, word, bits == 16 ? 0x1010u : 0u);
}
