/* warn.h - what is right by the rules and looks like a mistake all the same (hexc/ir/warnings.def). */
#ifndef HEXC_WARN_H
#define HEXC_WARN_H
#include "hexc/lang/ast.h"

/* Names of a kernel or function that nothing uses. */
void warn_unused_kernel(Unit *u, const KernelDecl *k);
void warn_unused_fn(Unit *u, const FnDecl *f);
/* Slices, strides, what is not written of tensors that are `out`, and changes of elements that indices may
 * name twice or that each block writes; k as the lowering left it. */
void warn_memory(Kernel *k);
#endif
