/* prmt_lut.c - emits table lookups by 4-bit codes without memory: a table of 16 entries is stored as planes
 * of bytes, and a byte permutation (prmt) selects four bytes of a plane by four codes. */
#include "hexc/ir/dtype_value.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"
#include <math.h>

/* Returns byte `byte` of entries 4 word .. 4 word + 3. */
static LV
plane_word(Codegen *g, const uint32_t *entry, int byte, int word)
{
	uint32_t x = 0;

	for (int i = 0; i < 4; i++)
		x |= (entry[4 * word + i] >> (8 * byte) & 255) << (8 * i);
	return const_i32(g, x);
}

void
table_selectors(Codegen *g, int entries, LV code, LV *low, LV *upper)
{
	LV x;

	*low = LLVMBuildAnd(g->b, code, const_i32(g, 0x11111111 * (entries > 8 ? 7 : entries - 1)), "");
	*upper = NULL;
	if (entries <= 8)
		return;
	x = LLVMBuildLShr(g->b, code, const_i32(g, 1), "");
	x = LLVMBuildAnd(g->b, x, const_i32(g, 0x44444444), "");
	*upper = LLVMBuildOr(g->b, x, const_i32(g, 0x32103210), "");
}

LV
table_bytes(Codegen *g, const LV *plane, int entries, LV low, LV upper)
{
	LV x, y;

	if (entries <= 8)
		return asm_op(g, A_prmt_lane, plane[0], entries == 8 ? plane[1] : const_i32(g, 0), low);
	x = asm_op(g, A_prmt_lane, plane[0], plane[1], low);
	y = asm_op(g, A_prmt_lane, plane[2], plane[3], low);
	return asm_op(g, A_prmt_lane, x, y, upper);
}

/* Looks up plane `byte` of d's numbers as f32, by the four codes from slot `pos` on. */
static LV
number_bytes(Codegen *g, DType d, LV word, int pos, int byte)
{
	uint32_t entry[16];
	LV plane[4], low, upper;

	for (unsigned i = 0; i < 16; i++)
		entry[i] = (uint32_t)num_bits(D_f32, num_of_code(d, i));
	for (int w = 0; w < 4; w++)
		plane[w] = plane_word(g, entry, byte, w);
	if (pos)
		word = LLVMBuildLShr(g->b, word, const_i32(g, 4 * pos), "");
	table_selectors(g, 16, word, &low, &upper);
	return table_bytes(g, plane, 16, low, upper);
}

LV
table_to_f32(Codegen *g, DType d, LV word, int pos)
{
	int from = pos / 4 * 4;
	unsigned k = (unsigned)(pos % 4), pick = 0x0040u + 0x0011u * k;
	LV lo = prmt(g, number_bytes(g, d, word, from, 0), number_bytes(g, d, word, from, 1), pick);
	LV hi = prmt(g, number_bytes(g, d, word, from, 2), number_bytes(g, d, word, from, 3), pick);

	return as_f32(g, prmt(g, lo, hi, 0x5410));
}

/* Returns the midpoint of numbers i and i + 1, for f32 rounded down: a float is above the result if and
 * only if it is above the midpoint. */
static LV
middle(Codegen *g, DType d, LLVMTypeRef t, unsigned i)
{
	double mid = (num_of_code(d, i) + num_of_code(d, i + 1)) / 2;
	float f = (float)mid;

	if (t == g->f32)
		mid = (double)f > mid ? (double)nextafterf(f, -2) : (double)f;
	return LLVMConstReal(t, mid);
}

/* Emits a binary search for the code of x in [lo, lo + n). */
static LV
search_code(Codegen *g, DType d, LV x, unsigned lo, unsigned n)
{
	LV above;

	if (n == 1)
		return const_i32(g, lo);
	above = LLVMBuildFCmp(g->b, LLVMRealOGT, x, middle(g, d, LLVMTypeOf(x), lo + n / 2 - 1), "");
	return LLVMBuildSelect(g->b, above, search_code(g, d, x, lo + n / 2, n / 2),
	                       search_code(g, d, x, lo, n / 2), "");
}

LV
table_code(Codegen *g, DType d, LV x)
{
	LV nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");

	return search_code(g, d, LLVMBuildSelect(g->b, nan, LLVMConstNull(LLVMTypeOf(x)), x, ""), 0, 16);
}
