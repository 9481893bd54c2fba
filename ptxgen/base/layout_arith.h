/* layout_arith.h - declares layouts as arithmetic on the lane and warp id, and functions of the lane. */
#ifndef HEXC_LAYOUT_ARITH_H
#define HEXC_LAYOUT_ARITH_H
#include "ptxgen/base/codegen.h"

/* Returns coordinate d of this thread's register 0 (i32, entry block): the lane and warp modes. */
LV lane_index(Codegen *g, const Layout *l, int d);
/* Returns its maximum over all threads; INT64_MAX if unknown. */
int64_t lane_index_most(const Layout *l, int d);
/* Returns the thread's index in the modes of dim d on one axis (lane or warp) only, as one number from 0
 * (i32, entry block). */
LV axis_digits(Codegen *g, const Layout *l, int d, Axis axis);
/* Returns an i1: this thread holds the first replica; NULL if there is only one. */
LV lane_first(Codegen *g, const Layout *l);
/* Computes the bits that lane_index(d) may have. Returns false if extents or weights are not powers of
 * two. */
bool lane_index_bits(Codegen *g, const Layout *l, int d, uint64_t *bits);
/* Emits a function of the lane given by its 32 values (i32, entry block). */
LV lane_table(Codegen *g, const int *value);
LV lane_mask(Codegen *g, uint32_t mask);      /* i1: bit `lane` of the mask */
/* Emits a read of a 32-bit special register such as "tid.x" at the kernel's start. */
LV read_sreg(Codegen *g, const char *name);
/* Returns constant c in a register, for instructions that need one. ptxas keeps values that it knows to be
 * uniform in uniform registers, and copies them again for every such instruction (a table of nf4: 63 of 477
 * instructions in gemm_wNa16's loop, sm_80, ptxas 13.0). */
LV register_const(Codegen *g, uint32_t c);
#endif
