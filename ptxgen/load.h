/* load.h - loads that were planned but not issued yet. */
#ifndef HEXC_PTXGEN_LOAD_H
#define HEXC_PTXGEN_LOAD_H
#include "ptxgen/gen.h"

typedef struct LoadPlan LoadPlan;

/* Issue what is missing of a visited load. */
void load_all(Gen *g, Op *o);
#endif
