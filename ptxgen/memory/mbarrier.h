/* mbarrier.h - barriers in shared memory, and the copies that they count. */
#ifndef HEXC_MBARRIER_H
#define HEXC_MBARRIER_H
#include "ptxgen/base/codegen.h"

enum { MBAR_BYTES = 8 };

/* i32: the shared address of slot `slot` of barriers. */
LV mbar_address(Codegen *g, Val *mbar, Val *slot);
/* A copy of boxes, made by one thread. */
void copy_box(Codegen *g, Op *o);
/* Do all lanes arrive too, each when its own copies have landed? */
bool arrive_lanes(const Op *arrive);
/* i64: the address of tensor map i, counted from 0. */
LV map_address(Codegen *g, int i);
#endif
