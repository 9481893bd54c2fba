/* shuffle.h - declares warp shuffles of words. */
#ifndef HEXC_PTXGEN_SHUFFLE_H
#define HEXC_PTXGEN_SHUFFLE_H
#include "ptxgen/base/codegen.h"

/* Returns the word of lane ^ delta. */
LV shuffle_xor(Codegen *g, LV x, int delta);
/* Returns the word of the lane that is `by` lanes below; unspecified if there is none. */
LV shuffle_up(Codegen *g, LV x, int by);
/* Returns the word of lane `lane` (i32). */
LV shuffle_from(Codegen *g, LV x, LV lane);
#endif
