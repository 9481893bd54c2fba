/* text.h - the IR's text form: everything in a Kernel, printed and read back.  Its grammar: hexc/IR.md. */
#ifndef HEXC_IR_TEXT_H
#define HEXC_IR_TEXT_H
#include "hexc/ir/ir.h"

/* ---- print.c, read.c ---- */

void kernel_print(Text *t, const Kernel *k);
/* Parse what kernel_print wrote.  NULL and a diagnostic on failure. */
Kernel *kernel_read(Unit *u, const char *text, size_t n);
/* The same for one kernel after the other, at least one, which become the unit's. */
bool unit_read(Unit *u, const char *text, size_t n);

/* ---- what print.c and read.c share (float_text.c) ---- */

/* Names that stand bare in the text; others are quoted. */
bool text_is_name(const char *s, size_t n);
/* x so that text_read_float gives the same bits. */
void text_float(Text *t, double x);
/* Bytes used, 0: not a float that text_float writes. */
size_t text_read_float(const char *s, size_t n, double *out);
#endif
