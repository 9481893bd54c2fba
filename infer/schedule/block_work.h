/* block_work.h - along which grid dimension blocks have more and more work. */
#ifndef HEXC_BLOCK_WORK_H
#define HEXC_BLOCK_WORK_H
#include "hexc/ir/ir.h"

/* Returns the grid dimension along which the trip counts of the kernel's loops only grow, or only shrink; -1
 * if there is none, or several. *grows: they grow. dims: grid_dims(k). */
int block_work_dim(Kernel *k, const uint8_t *dims, bool *grows);
#endif
