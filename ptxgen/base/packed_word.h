/* packed_word.h - declares operations on words of a lane and the bits of elements packed in them,
 * independent of their meaning. */
#ifndef HEXC_PACKED_WORD_H
#define HEXC_PACKED_WORD_H
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/codegen.h"

/* Maximum elements per word. */
enum { WORD_ELEMS = 32 };

LLVMTypeRef word_type(Codegen *g, DType d);
LV const_i32(Codegen *g, int64_t x);
LV const_i64(Codegen *g, int64_t x);
LV const_f32(Codegen *g, double x);
LV as_i32(Codegen *g, LV word);               /* bits of a float or i32 word */
LV as_f32(Codegen *g, LV word);
LV as_h2(Codegen *g, LV word);                /* <2 x half> */
LV from_h2(Codegen *g, LV x);
LV join64(Codegen *g, LV lo, LV hi);         /* i64 from two i32 */
void split64(Codegen *g, LV word, LV out[2]); /* the halves of 64 bits, low first */
/* Converts an i64 of known range to i32: clamped to 0 below, and to the extent above, if it may be beyond. */
LV clamped(Codegen *g, LV v, Fact known, int64_t extent);
LV prmt(Codegen *g, LV lo, LV hi, unsigned selector);
/* Packs the low bits of n values contiguously into a word; higher bits of the values are ignored. */
LV bits_pack(Codegen *g, int bits, const LV *e, int n);
/* Moves elements as bits: word `word[i]`, element `pos[i]`, for i < n. */
LV bits_gather(Codegen *g, DType d, const LV *word, const int *pos, int n);
LV word_splat(Codegen *g, DType d, LV word);  /* element 0 in every slot */
#endif
