/* util_ir.h - tests that start from IR text. */
#ifndef TEST_UTIL_IR_H
#define TEST_UTIL_IR_H
#include "hexc/ir/text/text.h"

/* A unit with its own arena and no kernels, for sm_80.  An arena failure fails the test. */
Unit *ir_unit(void);
void ir_unit_free(Unit *u);
/* A kernel with the usual header in front of the given body lines:
 *   %1 A: global f16[?, ?] read, M x K, row major;  %2 C: global f16[?, ?] written, M x K;  %3 M;
 *     %4 K (multiple of
 *   128, at least 128);  %5 the constant 1;  grid (ceil(M, 128), 1, 1).  Ids from 10 on are free;
 *     "yield" is added. */
const char *ir_wrap(Unit *u, const char *body);
/* Read it, and require that it parses; NULL text: the diagnostics. */
Kernel *ir_read(Unit *u, const char *text);
const char *ir_text(Unit *u, const Kernel *k);
/* All diagnostics, a line each. */
const char *ir_diags(Unit *u);
/* The value of that id, anywhere. */
Val *ir_val(Kernel *k, uint32_t id);
/* Ops of that code in the body. */
int ir_count(Kernel *k, OpCode code);
#endif
