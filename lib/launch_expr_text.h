/* launch_expr_text.h - declares the compile-time construction of the expressions of lib/rt/launch_expr.h. */
#ifndef HEXC_LAUNCH_EXPR_TEXT_H
#define HEXC_LAUNCH_EXPR_TEXT_H
#include "lib/rt/launch_expr.h"

/* Adds the expression that the scalar v computes from the kernel's parameters. Returns -1 if it uses what
 * a host cannot compute (floats, memory, block indices) or the table is full. */
ExprRef expr_add(Arena *a, ExprTable *t, const Kernel *k, const Val *v);
/* Returns the expression in the language's syntax. */
const char *expr_text(Arena *a, const ExprTable *t, ExprRef e);
#endif
