/* scheduling_barrier.h - places that ptxas moves nothing across. */
#ifndef HEXC_SCHEDULING_BARRIER_H
#define HEXC_SCHEDULING_BARRIER_H
#include "ptxgen/base/codegen.h"

/* Behind what takes n elements of v, a lane's, to memory or into a sum: such a place, where v has many and
 * much has been computed for some of them since the last. */
void gen_apart(Codegen *g, const Val *v, int n);
/* PTX, as long as it was, in which barriers of the warp, that hold back accesses of memory alone, take their
 * places, from `entry` of a kernel on. */
const char *apart_undone(Arena *a, const char *ptx, const char *entry);
#endif
