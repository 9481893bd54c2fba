/* dequant.h - declares casts of narrow elements by cast sequence (dequant.c). */
#ifndef HEXC_PTXGEN_DEQUANT_H
#define HEXC_PTXGEN_DEQUANT_H
#include "ptxgen/element/elementwise.h"

typedef struct Dequant Dequant;

/* Returns the plan of cast o; NULL if it has no cast sequence. */
Dequant *dequant_plan(Codegen *g, const Op *o);
/* Returns word w of its result. */
LV dequant_word(Codegen *g, Dequant *d, Val *from, int w);
/* Returns the plan of o = a cast with a plan, minus or plus integers that its last step may subtract, or
 * that its table entries may include; offset_pull then emits it word by word. NULL if o is not of that
 * form. */
void *offset_plan(Codegen *g, Op *o);
void offset_pull(Codegen *g, Op *o, int w);
/* Returns the plan of the cast that defined a tile; NULL if none did. */
Dequant *cast_plan(const Tile *t);
#endif
