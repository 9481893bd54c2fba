/* table.h - register tiles from which tiles of indices choose. */
#ifndef HEXC_TABLE_H
#define HEXC_TABLE_H
#include "hexc/ir/ir.h"

/* Can what is read along indices of this alloc, which has IMM(o, table), be gathered from the register tile
 * that it is written from? */
bool table_fits(const Kernel *k, const Op *alloc);
/* So it is: no store, no alloc, and a gather in place of each load. */
void table_gather(Kernel *k, Op *alloc);
#endif
