/* mma_choices.h - the ways of doing a dot that its files share. */
#ifndef HEXC_MMA_CHOICES_H
#define HEXC_MMA_CHOICES_H
#include "infer/core/search_state.h"

/* Every way to do a dot, best-looking first; n of them in *out (arena). */
int dot_choices(Solve *s, const Op *dot, DotChoice **out);

/* ---- fma_choices.c -------------------------------------------------------------------------------------- */

/* Lay out operands and result of c, whose warps are given, for lanes that multiply and add; false: they do
 * not divide so. */
bool fma_choice(Solve *s, const Op *dot, DotChoice *c);
/* The layout of one product becomes that of all batches: neighbours go to so many lanes and warps, strides
 * apart, and each has several next to each other.  False: the batches do not divide so. */
bool dot_push_batches(Layout *l, const Op *dot, int64_t lanes, int64_t lane, int64_t warps, int64_t warp);
#endif
