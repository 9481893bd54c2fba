/* sparse.h - declares structured-sparsity metadata for tensor cores. */
#ifndef HEXC_PTXGEN_SPARSE_H
#define HEXC_PTXGEN_SPARSE_H
#include "ptxgen/base/codegen.h"

/* Returns the metadata register of mma.sp from register `reg` on of the positions v: 16 2-bit positions as
 * they are laid out, or 8 1-bit ones. */
LV sparse_metadata(Codegen *g, Val *v, int64_t reg);
#endif
