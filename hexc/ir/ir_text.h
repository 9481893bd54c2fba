/* ir_text.h - what the printer and the reader of the IR's text form share. */
#ifndef HEXC_IR_TEXT_H
#define HEXC_IR_TEXT_H
#include "hexc/ir/ir.h"

/* Names that stand bare in the text; others are quoted. */
bool text_is_name(const char *s, size_t n);
/* x so that text_read_float gives the same bits. */
void text_float(Text *t, double x);
/* Bytes used, 0: not a float that text_float writes. */
size_t text_read_float(const char *s, size_t n, double *out);
#endif
