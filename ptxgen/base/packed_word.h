/* packed_word.h - words of a lane, and the bits of elements packed in them, whatever these stand for. */
#ifndef HEXC_PACKED_WORD_H
#define HEXC_PACKED_WORD_H
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/codegen.h"

/* Most elements of a word. */
enum { WORD_ELEMS = 32 };

LLVMTypeRef word_type(Codegen *g, DType d);
LV const_i32(Codegen *g, int64_t x);
LV const_i64(Codegen *g, int64_t x);
LV const_f32(Codegen *g, double x);
LV as_i32(Codegen *g, LV word);               /* bits of a float or i32 word */
LV as_f32(Codegen *g, LV word);
LV as_h2(Codegen *g, LV word);                /* <2 x half> */
LV from_h2(Codegen *g, LV x);
LV join64(Codegen *g, LV lo, LV hi);         /* i64 of two i32 */
void split64(Codegen *g, LV word, LV out[2]); /* the halves of 64 bits, the low one first */
/* An i64 of which that is known, as i32: below 0 it is as good as 0, beyond the extent as good as that. */
LV clamped(Codegen *g, LV v, Fact known, int64_t extent);
LV prmt(Codegen *g, LV lo, LV hi, unsigned selector);
/* The low bits of n values side by side, in a word; what is above them in a value may be anything. */
LV bits_pack(Codegen *g, int bits, const LV *e, int n);
/* Move elements without looking at them: word `word[i]`, element `pos[i]`, for i < n. */
LV bits_gather(Codegen *g, DType d, const LV *word, const int *pos, int n);
LV word_splat(Codegen *g, DType d, LV word);  /* element 0 in every slot */
#endif
