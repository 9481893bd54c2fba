/* text.h - declares printing and parsing of the IR's textual form, which represents a complete Kernel.
 * Grammar: hexc/IR.md. */
#ifndef HEXC_IR_TEXT_H
#define HEXC_IR_TEXT_H
#include "hexc/ir/ir.h"

/* ---- print.c, read.c ---- */

void kernel_print(Text *t, const Kernel *k);
/* Parses the output of kernel_print. Returns NULL and reports a diagnostic on failure. */
Kernel *kernel_read(Unit *u, const char *text, size_t n);
/* Parses one or more kernels and adds them to the unit. */
bool unit_read(Unit *u, const char *text, size_t n);

/* ---- what print.c and read.c share (float_text.c) ---- */

/* Can the name appear unquoted in the text? */
bool text_is_name(const char *s, size_t n);
/* Prints x so that text_read_float restores the same bits. */
void text_float(Text *t, double x);
/* Returns the bytes consumed; 0: not a float in the form of text_float. */
size_t text_read_float(const char *s, size_t n, double *out);
#endif
