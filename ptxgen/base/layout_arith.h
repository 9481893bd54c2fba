/* layout_arith.h - layouts as arithmetic on the lane and warp number, and functions of the lane. */
#ifndef HEXC_LAYOUT_ARITH_H
#define HEXC_LAYOUT_ARITH_H
#include "ptxgen/base/codegen.h"

/* Coordinate d of what this thread's register 0 holds (i32, entry block): lane and warp digits. */
LV lane_index(Codegen *g, const Layout *l, int d);
/* The largest one of all threads; INT64_MAX: not known. */
int64_t lane_index_most(const Layout *l, int d);
/* The thread's digits of dim d on one axis (lane or warp) alone, as one number from 0 (i32, entry
 * block). */
LV axis_digits(Codegen *g, const Layout *l, int d, Axis axis);
/* i1: this thread holds the first replica; NULL: there is only one. */
LV lane_first(Codegen *g, const Layout *l);
/* Bits that lane_index(d) may have; false: extents or weights are not powers of two. */
bool lane_index_bits(Codegen *g, const Layout *l, int d, uint64_t *bits);
/* A function of the lane given by its 32 values (i32, entry block). */
LV lane_table(Codegen *g, const int *value);
LV lane_mask(Codegen *g, uint32_t mask);      /* i1: bit `lane` of the mask */
/* A special register of 32 bits, "tid.x", read where the kernel begins. */
LV read_sreg(Codegen *g, const char *name);
/* Constant c for instructions that take it from a register.  What ptxas knows to be the same in all lanes it
 * has in uniform registers, from which it copies it again for every such instruction (a table of nf4: 63 of
 * 477 in gemm_wNa16's loop, sm_80, ptxas 13.0). */
LV register_const(Codegen *g, uint32_t c);
#endif
