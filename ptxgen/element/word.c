/* word.c - words of a lane, the elements packed in them, and back. */
#include "hexc/ir/number.h"
#include "hexc/ir/spread.h"
#include "ptxgen/element/elt.h"

LLVMTypeRef
word_type(Gen *g, DType d)
{
	LLVMTypeRef type[] = {
		[REG_pred] = g->i1, [REG_b32] = g->i32, [REG_b64] = g->i64, [REG_f32] = g->f32, [REG_f64] = g->f64,
	};

	return type[dtype_reg(d)];
}

LV
word_zero(Gen *g, DType d)
{
	return LLVMConstNull(word_type(g, d));
}

LV
const_i32(Gen *g, int64_t x)
{
	return LLVMConstInt(g->i32, (unsigned long long)x & 0xffffffffu, 0);
}

LV
const_i64(Gen *g, int64_t x)
{
	return LLVMConstInt(g->i64, (unsigned long long)x, 1);
}

LV
const_f32(Gen *g, double x)
{
	return LLVMConstReal(g->f32, x);
}

LV
as_i32(Gen *g, LV word)
{
	return LLVMTypeOf(word) == g->i32 ? word : LLVMBuildBitCast(g->b, word, g->i32, "");
}

LV
as_f32(Gen *g, LV word)
{
	return LLVMTypeOf(word) == g->f32 ? word : LLVMBuildBitCast(g->b, word, g->f32, "");
}

LV
as_h2(Gen *g, LV word)
{
	return LLVMBuildBitCast(g->b, word, g->h2, "");
}

LV
from_h2(Gen *g, LV x)
{
	return LLVMBuildBitCast(g->b, x, g->i32, "");
}

LV
prmt(Gen *g, LV lo, LV hi, unsigned selector)
{
	return asm_op(g, LLVMIsAConstantInt(hi) ? A_prmt_const : A_prmt, lo, hi, const_i32(g, selector));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The integer at a place of a word, extended to the value. */
static LV
unpack_int(Gen *g, DType d, LV word, int pos)
{
	int bits = dtype_info[d].bits, place = dtype_place(d), left = 32 - bits - place * pos;
	bool sign = dtype_info[d].kind == K_sint;

	if (bits == 32)
		return word;
	if (sign) {
		word = LLVMBuildShl(g->b, word, const_i32(g, left), "");
		return LLVMBuildAShr(g->b, word, const_i32(g, 32 - bits), "");
	}
	word = LLVMBuildLShr(g->b, word, const_i32(g, place * pos), "");
	return left ? LLVMBuildAnd(g->b, word, const_i32(g, ((int64_t)1 << bits) - 1), "") : word;
}

LV
elem_unpack(Gen *g, DType d, LV word, int pos)
{
	if (d == D_f16) {
		LV h = LLVMBuildExtractElement(g->b, as_h2(g, word), const_i32(g, pos), "");

		return LLVMBuildFPExt(g->b, h, g->f32, "");
	}
	if (fp8_conversions(d))
		return elem_unpack(g, D_f16, fp8_to_h2(g, d, word, pos / 2), pos % 2);
	if (dtype_is_narrow_float(d))
		return small_to_f32(g, d, word, pos);
	if (d == D_bf16)
		return as_f32(g, pos ? LLVMBuildAnd(g->b, word, const_i32(g, 0xffff0000), "")
		                     : LLVMBuildShl(g->b, word, const_i32(g, 16), ""));
	return dtype_per_word(d) > 1 ? unpack_int(g, d, word, pos) : word;
}

/* The code of element r of a tile in a spread order, bit by bit where it is cut up; above it anything. */
static LV
spread_code(Gen *g, Val *v, int r)
{
	int bits = dtype_info[v->type.dtype].bits, spread = v->type.spread, done = 0;
	int group = r / SPREAD_GROUP * bits, e = r % SPREAD_GROUP;
	LV code = NULL;

	while (done < bits) {
		int at = spread_bit(bits, spread, e, done), n = 1, shift = at % 32 - done;
		LV x = word_get(g, v, group + at / 32);

		while (done + n < bits && spread_bit(bits, spread, e, done + n) == at + n)
			n++;
		x = shift > 0 ? LLVMBuildLShr(g->b, x, const_i32(g, shift), "")
		              : LLVMBuildShl(g->b, x, const_i32(g, -shift), "");
		if (n < bits)
			x = LLVMBuildAnd(g->b, x, const_i32(g, ((1 << n) - 1) << done), "");
		code = code ? LLVMBuildOr(g->b, code, x, "") : x;
		done += n;
	}
	return code;
}

LV
elem_get(Gen *g, Val *v, int64_t r)
{
	const Tile *t = tile_of(g, v);

	if (v->type.spread)
		return elem_unpack(g, t->dtype, spread_code(g, v, (int)r), 0);
	return elem_unpack(g, t->dtype, word_get(g, v, (int)r / t->epw), (int)r % t->epw);
}

/* Nearest, ties to even: add half of the last place kept, less one if that place is even.  A NaN
 * stays one. */
LV
f32_to_bf16_bits(Gen *g, LV x)
{
	LV i = LLVMBuildBitCast(g->b, x, g->i32, "");
	LV odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, i, const_i32(g, 16), ""), const_i32(g, 1), "");
	LV r = LLVMBuildAdd(g->b, i, LLVMBuildAdd(g->b, odd, const_i32(g, 0x7fff), ""), "");
	LV nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");

	r = LLVMBuildSelect(g->b, nan, const_i32(g, 0x7fff0000), r, "");
	return LLVMBuildLShr(g->b, r, const_i32(g, 16), "");
}

static LV
half_bits(Gen *g, LV x)
{
	LV h = LLVMBuildFPTrunc(g->b, x, g->f16, "");

	return LLVMBuildZExt(g->b, LLVMBuildBitCast(g->b, h, g->i16, ""), g->i32, "");
}

/* Two floats, rounded, low half first. */
static LV
pack_floats(Gen *g, DType d, LV lo, LV hi)
{
	unsigned have = g->u->target->features;

	if (d == D_f16 && have & T_MMA16816)
		return asm_op(g, A_f16x2_f32, hi, lo, NULL);
	if (d == D_bf16 && have & T_BF16)
		return asm_op(g, A_bf16x2_f32, hi, lo, NULL);
	lo = d == D_f16 ? half_bits(g, lo) : f32_to_bf16_bits(g, lo);
	hi = d == D_f16 ? half_bits(g, hi) : f32_to_bf16_bits(g, hi);
	return LLVMBuildOr(g->b, lo, LLVMBuildShl(g->b, hi, const_i32(g, 16), ""), "");
}

/* Low bits of values side by side; bits above an element may hold anything. */
static LV
pack_ints(Gen *g, int bits, const LV *e, int n)
{
	LV w[WORD_ELEMS];
	int i;

	for (i = 0; i < n; i++)
		w[i] = e[i];
	/* pairs up to bytes first: then bytes and halves go by prmt */
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

LV
elem_pack(Gen *g, DType d, const LV *e, int n)
{
	LV code[WORD_ELEMS];

	if (dtype_per_word(d) == 1)
		return e[0];
	if (dtype_info[d].alu == ALU_f16)
		return pack_floats(g, d, e[0], n > 1 ? e[1] : const_f32(g, 0));
	if (fp8_conversions(d)) {
		LV zero = const_f32(g, 0), lo = fp8_from_floats(g, d, e[0], n > 1 ? e[1] : zero);

		return n < 3 ? lo
		             : prmt(g, lo, fp8_from_floats(g, d, e[2], n > 3 ? e[3] : zero), 0x5410);
	}
	if (dtype_is_narrow_float(d)) {
		for (int i = 0; i < n; i++)
			code[i] = small_from_f32(g, d, e[i]);
		e = code;
	}
	return pack_ints(g, dtype_place(d), e, n);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* A word of whole bytes of others: those of two by one permutation, one more for each other.  NULL: some byte
 * has elements of several places. */
static LV
bytes_gather(Gen *g, int bits, const LV *word, const int *pos)
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
			/* what earlier steps have placed stays */
			sel |= (of[b] == s ? at + 4 : s > 1 ? (unsigned)b
			                                    : at)
			       << 4 * b;
		}
		x = prmt(g, x, s < nfrom ? from[s] : x, sel);
	}
	return x;
}

LV
bits_gather(Gen *g, DType d, const LV *word, const int *pos, int n)
{
	int bits = dtype_place(d);
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
	return pack_ints(g, bits, e, n);
}

LV
word_splat(Gen *g, DType d, LV word)
{
	int bits = dtype_place(d);

	if (dtype_per_word(d) == 1)
		return word;
	if (bits < 8)
		word = LLVMBuildAnd(g->b, word, const_i32(g, (1 << bits) - 1), "");
	for (int have = bits; have < 8; have *= 2)
		word = LLVMBuildOr(g->b, word, LLVMBuildShl(g->b, word, const_i32(g, have), ""), "");
	return prmt(g, word, word, bits == 16 ? 0x1010u : 0u);
}

LV
word_const(Gen *g, DType d, int64_t i, double f)
{
	uint64_t x;
	int bits = dtype_info[d].bits;

	switch (dtype_reg(d)) {
	case REG_pred: return LLVMConstInt(g->i1, i != 0, 0);
	case REG_f32: return const_f32(g, f);
	case REG_f64: return LLVMConstReal(g->f64, f);
	case REG_b64: return const_i64(g, i);
	case REG_b32: break;
	}
	if (dtype_is_float(d))
		i = num_code(d, f);
	x = bits == 32 ? (uint64_t)i : (uint64_t)i & (((uint64_t)1 << bits) - 1);
	for (int have = dtype_place(d); have < 32; have *= 2)
		x |= x << have;
	return const_i32(g, (int64_t)x);
}
