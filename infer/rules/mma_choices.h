/* mma_choices.h - the lowerings of a dot, and functions that the files share which enumerate them. */
#ifndef HEXC_MMA_CHOICES_H
#define HEXC_MMA_CHOICES_H
#include "infer/core/search_state.h"

/* Enumerates the lowerings of a dot, most promising first.  Returns their number; *out is in the arena. */
int dot_choices(Solve *s, const Op *dot, DotChoice **out);

/* ---- fma_choices.c ---------------------------------------------------------------------------------- */

/* Computes operand and result layouts of c, whose warps are given, for FMA lowering; false: the extents do
 * not divide. */
bool fma_choice(Solve *s, const Op *dot, DotChoice *c);
/* Extends the layout of one batch to all batches: adjacent batches go to `lanes` lanes and `warps` warps
 * with strides `lane` and `warp`; each has several consecutive ones.  Returns false if the batches do not
 * divide. */
bool dot_push_batches(Layout *l, const Op *dot, int64_t lanes, int64_t lane, int64_t warps, int64_t warp);
#endif
