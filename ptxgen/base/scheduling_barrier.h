/* scheduling_barrier.h - declares scheduling barriers for ptxas, and their removal. */
#ifndef HEXC_SCHEDULING_BARRIER_H
#define HEXC_SCHEDULING_BARRIER_H
#include "ptxgen/base/codegen.h"

/* Called after storing or reducing n elements of v per lane: emits a scheduling barrier if v has many
 * elements, and much has been computed for some of them since the last barrier. */
void gen_apart(Codegen *g, const Val *v, int n);
/* Returns PTX of the same length in which warp barriers replace the scheduling barriers of kernel `kernel`;
 * they only hold back memory accesses. */
const char *apart_undone(Arena *a, const char *ptx, const char *kernel);
#endif
