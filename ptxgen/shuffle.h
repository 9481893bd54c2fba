/* shuffle.h - words of other lanes. */
#ifndef HEXC_PTXGEN_SHUFFLE_H
#define HEXC_PTXGEN_SHUFFLE_H
#include "ptxgen/base/codegen.h"

/* The word that lane ^ delta has. */
LV shuffle_xor(Codegen *g, LV x, int delta);
/* The word of the lane that is `by` lanes below; anything where there is none. */
LV shuffle_up(Codegen *g, LV x, int by);
/* The word that lane `lane` (i32) has. */
LV shuffle_from(Codegen *g, LV x, LV lane);
#endif
