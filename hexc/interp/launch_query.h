/* launch_query.h - queries of the grid and tensor shapes of a launch, without running it; for tests. */
#ifndef HEXC_LAUNCH_QUERY_H
#define HEXC_LAUNCH_QUERY_H
#include "hexc/interp/interp.h"

/* Computes the grid for these sizes and scalars. */
InterpCode interp_grid(Kernel *k, const InterpArg *arg, int narg, int64_t grid[3]);
/* Computes extents and strides (elements) of tensor parameter `param`; its arg[].data and count are not
 * used. */
InterpCode interp_shape(Kernel *k, const InterpArg *arg, int narg, int param, int64_t *size,
                        int64_t *stride);
#endif
