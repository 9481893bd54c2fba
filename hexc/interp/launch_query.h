/* launch_query.h - the grid and the tensors of a launch, without the launch; for tests. */
#ifndef HEXC_LAUNCH_QUERY_H
#define HEXC_LAUNCH_QUERY_H
#include "hexc/interp/interp.h"

/* The grid that these sizes and scalars launch. */
InterpCode interp_grid(Kernel *k, const InterpArg *arg, int narg, int64_t grid[3]);
/* Extents and strides (elements) of tensor parameter `param`; its arg[].data and count need not be set. */
InterpCode interp_shape(Kernel *k, const InterpArg *arg, int narg, int param, int64_t *size,
                        int64_t *stride);
#endif
