/* element_value.h - elements of words as numbers to compute with, and back.
 *
 * f16, bf16 and f32 are float then, integers up to 32 bits i32 that holds the value, the rest what their word
 * is. */
#ifndef HEXC_ELEMENT_VALUE_H
#define HEXC_ELEMENT_VALUE_H
#include "ptxgen/base/packed_word.h"

LV elem_get(Codegen *g, Val *v, int64_t r);                /* register r of a tile or scalar */
LV elem_unpack(Codegen *g, DType d, LV word, int pos);
LV elem_pack(Codegen *g, DType d, const LV *e, int n);     /* rounds and wraps */
/* Word w of the result of o: its elements as numbers, packed. */
void number_word(Codegen *g, Op *o, int w, LV (*element)(Codegen *g, Op *o, int64_t r));
/* All words of a tile from its elements, by register. */
void number_words(Codegen *g, Tile *t, const LV *e);
LV word_const(Codegen *g, DType d, int64_t i, double f);   /* every element i (integers) or f (floats) */
#endif
