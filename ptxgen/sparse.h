/* sparse.h - positions of structured sparsity as tensor cores want them. */
#ifndef HEXC_PTXGEN_SPARSE_H
#define HEXC_PTXGEN_SPARSE_H
#include "ptxgen/base/codegen.h"

/* The metadata register of mma.sp from register `reg` on of the positions v: 16 of two bits as they are
 * laid out, or 8 of one. */
LV sparse_metadata(Codegen *g, Val *v, int64_t reg);
#endif
