/* mbarrier.h - declares mbarriers, and the copies that they track. */
#ifndef HEXC_MBARRIER_H
#define HEXC_MBARRIER_H
#include "ptxgen/base/codegen.h"

/* Returns the shared address of slot `slot` of barriers, i32. */
LV mbar_address(Codegen *g, Val *mbar, Val *slot);
/* Emits a TMA copy, issued by one thread. */
void copy_box(Codegen *g, Op *o);
/* Do all lanes arrive too, each when its own copies have landed? */
bool arrive_lanes(const Op *arrive);
/* Returns the address of tensor map i, counted from 0, as i64. */
LV map_address(Codegen *g, int i);
#endif
