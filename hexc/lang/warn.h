/* warn.h - what is right by the rules and looks like a mistake all the same (hexc/ir/warnings.def). */
#ifndef HEXC_WARN_H
#define HEXC_WARN_H
#include "hexc/lang/ast.h"

/* Names of a kernel or function that nothing uses. */
void warn_unused_kernel(Unit *u, const KernelDecl *k);
void warn_unused_fn(Unit *u, const FnDecl *f);
/* Slices, strides, and what is not written of tensors that are `out`; k as the lowering left it. */
void warn_memory(Kernel *k);
/* Stores of what was read from the same elements of a tensor, through indices that may name one twice. */
void warn_lost(Kernel *k);
#endif
