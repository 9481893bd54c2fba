/* element_value.c - unpacks elements of words to values for arithmetic, and packs them. */
#include "ptxgen/element/element_value.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/bit_order.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

/* Extracts the integer in a slot of a word, extended. */
static LV
unpack_int(Codegen *g, DType d, LV word, int pos)
{
	int bits = dtype_info[d].bits, slot = dtype_slot_bits(d), left = 32 - bits - slot * pos;
	bool sign = dtype_info[d].kind == K_sint;

	if (bits == 32)
		return word;
	if (sign) {
		word = LLVMBuildShl(g->b, word, const_i32(g, left), "");
		return LLVMBuildAShr(g->b, word, const_i32(g, 32 - bits), "");
	}
	word = LLVMBuildLShr(g->b, word, const_i32(g, slot * pos), "");
	return left ? LLVMBuildAnd(g->b, word, const_i32(g, ((int64_t)1 << bits) - 1), "") : word;
}

LV
elem_unpack(Codegen *g, DType d, LV word, int pos)
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

/* Returns the code of element r of a tile in a bit order, bit by bit if it is split; higher bits are
 * unspecified. */
static LV
ordered_code(Codegen *g, Val *v, int r)
{
	int bits = dtype_info[v->type.dtype].bits, bit_order = v->type.bit_order, done = 0;
	int group = r / BIT_GROUP * bits, e = r % BIT_GROUP;
	LV code = NULL;

	while (done < bits) {
		int at = bit_order_bit(bits, bit_order, e, done), n = 1, shift = at % 32 - done;
		LV x = word_get(g, v, group + at / 32);

		while (done + n < bits && bit_order_bit(bits, bit_order, e, done + n) == at + n)
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
elem_get(Codegen *g, Val *v, int64_t r)
{
	const Tile *t = tile_of(g, v);

	if (v->type.bit_order)
		return elem_unpack(g, t->dtype, ordered_code(g, v, (int)r), 0);
	return elem_unpack(g, t->dtype, word_get(g, v, (int)r / t->epw), (int)r % t->epw);
}

/* Rounds to nearest, ties to even: adds half an ulp, minus one if the last place is even. A NaN stays one. */
static LV
f32_to_bf16_bits(Codegen *g, LV x)
{
	LV i = LLVMBuildBitCast(g->b, x, g->i32, "");
	LV odd = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, i, const_i32(g, 16), ""), const_i32(g, 1), "");
	LV r = LLVMBuildAdd(g->b, i, LLVMBuildAdd(g->b, odd, const_i32(g, 0x7fff), ""), "");
	LV nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");

	r = LLVMBuildSelect(g->b, nan, const_i32(g, 0x7fff0000), r, "");
	return LLVMBuildLShr(g->b, r, const_i32(g, 16), "");
}

static LV
half_bits(Codegen *g, LV x)
{
	LV h = LLVMBuildFPTrunc(g->b, x, g->f16, "");

	return LLVMBuildZExt(g->b, LLVMBuildBitCast(g->b, h, g->i16, ""), g->i32, "");
}

/* Packs two floats, rounded, low half first. */
static LV
pack_floats(Codegen *g, DType d, LV lo, LV hi)
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

LV
elem_pack(Codegen *g, DType d, const LV *e, int n)
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
	return bits_pack(g, dtype_slot_bits(d), e, n);
}

void
number_word(Codegen *g, Op *o, int w, LV (*element)(Codegen *g, Op *o, int64_t r))
{
	Tile *t = tile_of(g, o->out[0]);
	LV e[WORD_ELEMS];
	int n = 0;

	for (; n < t->epw && w * t->epw + n < t->nreg; n++)
		e[n] = element(g, o, w * t->epw + n);
	t->word[w] = elem_pack(g, t->dtype, e, n);
}

void
number_words(Codegen *g, Tile *t, const LV *e)
{
	for (int w = 0; w < t->nword; w++) {
		int left = t->nreg - w * t->epw;

		t->word[w] = elem_pack(g, t->dtype, e + w * t->epw, left < t->epw ? left : t->epw);
	}
}

LV
word_const(Codegen *g, DType d, int64_t i, double f)
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
	for (int have = dtype_slot_bits(d); have < 32; have *= 2)
		x |= x << have;
	return const_i32(g, (int64_t)x);
}
