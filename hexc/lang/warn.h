/* warn.h - declares warnings about valid programs that are probably mistakes (hexc/ir/warnings.def). */
#ifndef HEXC_WARN_H
#define HEXC_WARN_H
#include "hexc/lang/ast.h"

/* Warn about unused names of a kernel or function. */
void warn_unused_kernel(Unit *u, const KernelDecl *k);
void warn_unused_fn(Unit *u, const FnDecl *f);
/* Warns about slices, strides, unwritten elements of `out` tensors, and updates of elements that indices
 * may select twice or that every block writes; k is the result of lowering. */
void warn_memory(Kernel *k);
#endif
