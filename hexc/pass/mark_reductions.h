/* mark_reductions.h - reductions whose result does nothing but go into what a loop carries, so that parts of it may be
 * carried in its place and meet behind the loop: IMM(o, late) of them is 1. */
#ifndef HEXC_MARK_REDUCTIONS_H
#define HEXC_MARK_REDUCTIONS_H
#include "hexc/ir/ir.h"

typedef struct DeferredReduction {
	Op *loop;
	int i;       /* which of the carried values, counted from 0 */
	Op *join;    /* makes its next from the present one and the reduction: add, fma, max, min */
	Val *factor; /* fma: what the present one is multiplied by; NULL: add, max, min */
} DeferredReduction;

/* Is this reduction one whose only reader is such an op, in a loop of its block, that nothing else in the
 * loop reads?  uses: kernel_uses.  Does not look at the mark. */
bool late_find(const uint32_t *uses, const Op *reduce, DeferredReduction *out);
#endif
