/* dequant.h - casts of narrow elements by recipe (dequant.c). */
#ifndef HEXC_PTXGEN_DEQUANT_H
#define HEXC_PTXGEN_DEQUANT_H
#include "ptxgen/element/elementwise.h"

typedef struct Dequant Dequant;

/* How cast o is to be done, NULL: there is no recipe for it. */
Dequant *dequant_plan(Codegen *g, const Op *o);
/* Word w of its result. */
LV dequant_word(Codegen *g, Dequant *d, Val *from, int w);
/* o = a cast with a plan, less or plus whole numbers that its last step may take off, or its tables' entries
 * have in them: word by word with offset_pull.  NULL: it is not. */
void *offset_plan(Codegen *g, Op *o);
void offset_pull(Codegen *g, Op *o, int w);
/* The plan of the cast that made a tile, NULL: none did. */
Dequant *cast_plan(const Tile *t);
#endif
