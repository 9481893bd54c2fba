/* elementwise.h - declares the functions shared by the files that emit elementwise ops. */
#ifndef HEXC_ELEMENTWISE_H
#define HEXC_ELEMENTWISE_H
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/codegen.h"

/* Emits one element of an elementwise op on operands of type d. */
LV elt_number(Codegen *g, const Op *o, DType d, const LV *e);
/* Emits a full word if the target has packed arithmetic (elementwise_packed.c); returns NULL if it has
 * not. */
LV elt_word(Codegen *g, Op *o, int w);
/* Calls an overloaded floating-point intrinsic of LLVM. */
LV call_fp(Codegen *g, const char *name, LLVMTypeRef type, const LV *arg, int n);
/* Types whose numbers are all f16 numbers and which are converted in pairs (fp8.c), with the target's
 * conversion instructions. fp8_conversions returns NULL for other types. */
typedef struct Fp8 {
	DType d;
	AsmId to_h2, from_f32, from_h2;
} Fp8;
const Fp8 *fp8_conversions(DType d);
/* Returns elements 2 half and 2 half + 1 of a word as two f16. */
LV fp8_to_h2(Codegen *g, DType d, LV word, int half);
/* Converts two floats or two f16 to codes in the lower half of a word; from f16 only if the target has an
 * instruction. */
LV fp8_from_floats(Codegen *g, DType d, LV lo, LV hi);
LV fp8_from_h2(Codegen *g, DType d, LV h2);
/* Converts floats of up to 8 bits by their codes (small_float.c): the element in a slot of a word, of other
 * types than those, to f32; f32 to a code, any type. */
LV small_to_f32(Codegen *g, DType d, LV word, int pos);
LV small_from_f32(Codegen *g, DType d, LV x);
/* The same for table types of 4 bits (prmt_lut.c); x may be f64. */
LV table_to_f32(Codegen *g, DType d, LV word, int pos);
LV table_code(Codegen *g, DType d, LV x);
/* Look up 4-bit codes in a plane: one byte of each of 2, 4, 8 or 16 entries, four per word (prmt_lut.c).
 * table_selectors: for the codes of a word, selects one of eight bytes each, and for 16 entries whether
 * from the upper eight. table_bytes: returns four bytes by the selectors in the lower halves. */
void table_selectors(Codegen *g, int entries, LV code, LV *low, LV *upper);
LV table_bytes(Codegen *g, const LV *plane, int entries, LV low, LV upper);
/* Casts one element (cast.c). */
LV cast_number(Codegen *g, DType to, DType from, LV e);
/* Emits word w of a cast as a short sequence on packed values (cast_packed.c); returns NULL if there is
 * none. */
LV cast_word(Codegen *g, Op *o, int w);
#endif
