/* position_compare.h - declares comparisons of positions in a tile with a scalar (position_compare.c). */
#ifndef HEXC_PTXGEN_POSITION_COMPARE_H
#define HEXC_PTXGEN_POSITION_COMPARE_H
#include "ptxgen/element/elementwise.h"

/* Returns the plan of o = a comparison of sums and differences of iotas (i32) with a scalar; position_pull
 * then emits it word by word. NULL if o is not of that form. */
void *position_plan(Codegen *g, Op *o);
void position_pull(Codegen *g, Op *o, int w);
#endif
