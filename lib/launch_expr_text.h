/* launch_expr_text.h - making the expressions of lib/rt/launch_expr.h while a kernel is compiled. */
#ifndef HEXC_LAUNCH_EXPR_TEXT_H
#define HEXC_LAUNCH_EXPR_TEXT_H
#include "lib/rt/launch_expr.h"

/* The expression v computes, v being a scalar over the kernel's parameters.  -1 when it uses what a host
 * cannot compute (floats, memory, block numbers) or the table is full. */
ExprRef expr_add(Arena *a, ExprTable *t, const Kernel *k, const Val *v);
/* As the language would write it. */
const char *expr_text(Arena *a, const ExprTable *t, ExprRef e);
#endif
