/* number.h - elements of words as numbers to compute with, and back.
 *
 * f16, bf16 and f32 are float then, integers up to 32 bits i32 that holds the value, the rest what their word
 * is. */
#ifndef HEXC_PTXGEN_NUMBER_H
#define HEXC_PTXGEN_NUMBER_H
#include "ptxgen/base/word.h"

LV elem_get(Gen *g, Val *v, int64_t r);                /* register r of a tile or scalar */
LV elem_unpack(Gen *g, DType d, LV word, int pos);
LV elem_pack(Gen *g, DType d, const LV *e, int n);     /* rounds and wraps */
LV word_const(Gen *g, DType d, int64_t i, double f);   /* every element i (integers) or f (floats) */
#endif
