/* grid_dependence.h - the grid dimensions on which a value depends; blocks that differ only in others have
 * the same value. */
#ifndef HEXC_GRID_DEPENDENCE_H
#define HEXC_GRID_DEPENDENCE_H
#include "hexc/ir/ir.h"

/* Returns, by Val.id, the grid dimensions on which the value (of a shared tile: its contents) depends, as
 * bits 1 << axis.  A loop's end is ignored: an iteration reads the same in all blocks that execute it. */
const uint8_t *grid_dims(Kernel *k);
#endif
