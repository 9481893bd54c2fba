/* grid_dependence.h - what blocks share: which dims of the grid a value depends on. */
#ifndef HEXC_GRID_DEPENDENCE_H
#define HEXC_GRID_DEPENDENCE_H
#include "hexc/ir/ir.h"

/* By Val.id, bits 1 << axis: the dims of the grid that the value depends on; of a shared tile, what is in
 * it.  Where a loop ends counts for nothing: what a turn reads is the same for all blocks that come to
 * it. */
const uint8_t *grid_dims(Kernel *k);
#endif
