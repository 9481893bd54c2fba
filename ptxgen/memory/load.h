/* load.h - loads that were planned but not issued yet. */
#ifndef HEXC_PTXGEN_LOAD_H
#define HEXC_PTXGEN_LOAD_H
#include "ptxgen/memory/access.h"

typedef struct LoadPlan LoadPlan;

/* Issue what is missing of a visited load. */
void load_all(Gen *g, Op *o);
/* The element at `coord`, of less than 8 bits and beginning at any, by loads of a byte; above it are
 * others. */
LV load_bits(Gen *g, Access *x, const Instr *byte, const int64_t *coord);
#endif
