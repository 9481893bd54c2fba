/* elementwise.h - between the files of elementwise ops. */
#ifndef HEXC_ELEMENTWISE_H
#define HEXC_ELEMENTWISE_H
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/codegen.h"

/* One element of an elementwise op on operands of type d. */
LV elt_number(Codegen *g, const Op *o, DType d, const LV *e);
/* A word at once where the machine has packed arithmetic (elementwise_packed.c); NULL: it has not. */
LV elt_word(Codegen *g, Op *o, int w);
/* An overloaded floating-point intrinsic of LLVM. */
LV call_fp(Codegen *g, const char *name, LLVMTypeRef type, const LV *arg, int n);
/* Types of which all numbers are numbers of f16, and which go by pairs (fp8.c): their conversions, where the
 * machine has them; NULL: d is another type. */
typedef struct Fp8 {
	DType d;
	AsmId to_h2, from_f32, from_h2;
} Fp8;
const Fp8 *fp8_conversions(DType d);
/* Elements 2 half and 2 half + 1 of a word of them as two f16. */
LV fp8_to_h2(Codegen *g, DType d, LV word, int half);
/* Two floats or two f16 to codes in the lower half of a word; from f16 only where the machine does it. */
LV fp8_from_floats(Codegen *g, DType d, LV lo, LV hi);
LV fp8_from_h2(Codegen *g, DType d, LV h2);
/* Floats of up to 8 bits by their codes (small_float.c).  The element in a slot of a word, of types other
 * than those, as f32; f32 to a code, any type. */
LV small_to_f32(Codegen *g, DType d, LV word, int pos);
LV small_from_f32(Codegen *g, DType d, LV x);
/* The same for types of 4 bits that are tables (prmt_lut.c); x may be f64. */
LV table_to_f32(Codegen *g, DType d, LV word, int pos);
LV table_code(Codegen *g, DType d, LV x);
/* Codes in four bits each choose from a plane: a byte of each of 2, 4, 8 or 16 entries, four in a word
 * (prmt_lut.c).  Of the codes of a word: which of eight bytes each takes, and of 16 entries, whether from the
 * upper eight; then four bytes by the selectors in the lower halves. */
void table_selectors(Codegen *g, int entries, LV code, LV *low, LV *upper);
LV table_bytes(Codegen *g, const LV *plane, int entries, LV low, LV upper);
/* One element (cast.c). */
LV cast_number(Codegen *g, DType to, DType from, LV e);
/* Word w of a cast by a short sequence on packed values (cast_packed.c); NULL: there is none. */
LV cast_word(Codegen *g, Op *o, int w);
#endif
