/* element_value.h - declares the conversion of elements of words to values for arithmetic, and back.
 *
 * f16, bf16 and f32 become float, integers up to 32 bits become i32 with the value, the rest keep their
 * word. */
#ifndef HEXC_ELEMENT_VALUE_H
#define HEXC_ELEMENT_VALUE_H
#include "ptxgen/base/packed_word.h"

LV elem_get(Codegen *g, Val *v, int64_t r);                /* register r of a tile or scalar */
LV elem_unpack(Codegen *g, DType d, LV word, int pos);
LV elem_pack(Codegen *g, DType d, const LV *e, int n);     /* rounds and wraps */
/* Emits word w of o's result: its elements as values, packed. */
void number_word(Codegen *g, Op *o, int w, LV (*element)(Codegen *g, Op *o, int64_t r));
/* Sets all words of a tile from its elements, by register. */
void number_words(Codegen *g, Tile *t, const LV *e);
LV word_const(Codegen *g, DType d, int64_t i, double f);   /* every element is i (integers) or f (floats) */
#endif
