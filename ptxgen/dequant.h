/* dequant.h - casts of narrow elements by recipe (dequant.c). */
#ifndef HEXC_PTXGEN_DEQUANT_H
#define HEXC_PTXGEN_DEQUANT_H
#include "ptxgen/elt.h"

typedef struct Dequant Dequant;

/* How cast o is to be done, NULL: there is no recipe for it. */
Dequant *dequant_plan(Gen *g, const Op *o);
/* Word w of its result. */
LV dequant_word(Gen *g, Dequant *d, Val *from, int w);
#endif
