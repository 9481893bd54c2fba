/* cast_packed.c - narrow integers to f16 and bf16 by bit tricks on whole words:
 * reference/hexcute.md 6.4; 8-bit floats to and from f16.
 *
 * The integer is placed in the mantissa of a float of known exponent (1024 for f16, 128 for bf16)
 * and the float's value is subtracted; both steps are exact.  The order of elements is kept. */
#include "ptxgen/elt.h"

/* 2^-s as f16. */
static unsigned
half_pow2(int s)
{
	return (unsigned)(15 - s) << 10;
}

/* -(1024 / 2^s + less) as f16: a power of two and a smaller one. */
static unsigned
half_minus(int s, int less)
{
	return 0x8000u | (unsigned)(25 - s) << 10 | (unsigned)less << s;
}

/* Elements 2j and 2j+1 of x, of 1, 2 or 4 bits, as f16: 1024 + 2^s times the element, where s is its place in
 * the byte, then one fma brings both to their value. */
static LV
fields_to_f16(Gen *g, int bits, bool sign, LV x, int j)
{
	int byte = 2 * j * bits / 8, lo = 2 * j * bits % 8, hi = lo + bits, half = sign ? 1 << (bits - 1) : 0;
	unsigned field = (1u << bits) - 1, keep = field << lo | field << hi << 16;
	LV p = prmt(g, x, const_i32(g, 0), 0x4040u + 0x0101u * (unsigned)byte), e[3];

	p = LLVMBuildAnd(g->b, p, const_i32(g, (int64_t)(keep | 0xff00ff00u)), "");
	keep = 0x64006400u | (unsigned)half << lo | (unsigned)half << hi << 16;
	p = sign ? LLVMBuildXor(g->b, p, const_i32(g, keep), "") : LLVMBuildOr(g->b, p, const_i32(g, keep), "");
	e[0] = as_h2(g, p);
	e[1] = as_h2(g, const_i32(g, half_pow2(lo) | half_pow2(hi) << 16));
	e[2] = as_h2(g, const_i32(g, half_minus(lo, half) | half_minus(hi, half) << 16));
	return from_h2(g, call_fp(g, "llvm.fma", g->h2, e, 3));
}

/* As bf16, which has 7 bits of mantissa: both elements go to the bottom, 128 is added and taken off. */
static LV
fields_to_bf16(Gen *g, int bits, bool sign, LV x, int j)
{
	int byte = 2 * j * bits / 8, lo = 2 * j * bits % 8, half = sign ? 1 << (bits - 1) : 0;
	unsigned pair = 0x00010001u, field = ((1u << bits) - 1) * pair, magic = 0x43004300u | (unsigned)half * pair;
	LV low = lo ? LLVMBuildLShr(g->b, x, const_i32(g, lo), "") : x;
	LV high = LLVMBuildLShr(g->b, x, const_i32(g, lo + bits), "");
	LV p = prmt(g, low, high, 0xf4f0u + 0x0101u * (unsigned)byte);

	p = LLVMBuildAnd(g->b, p, const_i32(g, field), "");
	p = sign ? LLVMBuildXor(g->b, p, const_i32(g, magic), "") : LLVMBuildOr(g->b, p, const_i32(g, magic), "");
	/* - 128 - half */
	return asm_op(g, A_fma_bf16x2, p, const_i32(g, 0x3f803f80),
	              const_i32(g, (0xc300u | (unsigned)half) * pair));
}

/* Bytes b and b+1 of x as f16: 1024 + byte. */
static LV
bytes_to_f16(Gen *g, bool sign, LV x, int b)
{
	LV p, minus;

	if (sign)
		x = LLVMBuildXor(g->b, x, const_i32(g, 0x80808080), "");
	p = prmt(g, x, const_i32(g, 0x64646464), 0x4040u | (unsigned)b | (unsigned)(b + 1) << 8);
	minus = as_h2(g, const_i32(g, sign ? 0xe480e480 : 0xe400e400)); /* -1152, -1024 */
	return from_h2(g, LLVMBuildFAdd(g->b, as_h2(g, p), minus, ""));
}

/* Word w of fp8 from two of f16; a last one may stand alone. */
static LV
halves_to_fp8(Gen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype;
	int nword = tile_of(g, o->in[0])->nword;
	LV lo;

	if (!(g->u->target->features & T_FP8))
		return NULL;
	lo = fp8_from_h2(g, to, word_get(g, o->in[0], 2 * w));
	if (2 * w + 1 >= nword)
		return lo;
	return prmt(g, lo, fp8_from_h2(g, to, word_get(g, o->in[0], 2 * w + 1)), 0x5410);
}

LV
cast_word(Gen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype, from = o->in[0]->type.dtype;
	int bits = dtype_info[from].bits, r = w * 2;
	bool sign = dtype_info[from].kind == K_sint;

	if (to == D_f16 && (from == D_e4m3 || from == D_e5m2))
		return fp8_to_h2(g, from, word_get(g, o->in[0], r / 4), r % 4 / 2);
	if (from == D_f16 && (to == D_e4m3 || to == D_e5m2))
		return halves_to_fp8(g, o, w);
	if (dtype_info[from].kind == K_flt || from == D_bool)
		return NULL;
	if (to == D_f16 && bits < 8)
		return fields_to_f16(g, bits, sign, word_get(g, o->in[0], r / (32 / bits)), r % (32 / bits) / 2);
	if (to == D_f16 && bits == 8)
		return bytes_to_f16(g, sign, word_get(g, o->in[0], r / 4), r % 4);
	if (to == D_bf16 && bits < 8 && g->u->target->features & T_BF16)
		return fields_to_bf16(g, bits, sign, word_get(g, o->in[0], r / (32 / bits)),
		                      r % (32 / bits) / 2);
	return NULL;
}
