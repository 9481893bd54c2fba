/* mark_reductions.h - declares deferrable reductions: the result only updates a loop-carried value. The loop
 * may carry per-thread partial results, reduced after the loop. IMM(o, deferrable) marks them. */
#ifndef HEXC_MARK_REDUCTIONS_H
#define HEXC_MARK_REDUCTIONS_H
#include "hexc/ir/ir.h"

typedef struct DeferredReduction {
	Op *loop;
	int i;       /* index of the carried value, from 0 */
	Op *join;    /* computes its next value from the current one and the reduction: add, fma, max, min */
	Val *factor; /* fma: the factor of the current value; NULL: add, max, min */
} DeferredReduction;

/* Is the reduction's only use an op that updates a carried value (add, fma, max, min) without other uses
 * in its loop? uses: kernel_uses. Ignores the mark. */
bool late_find(const uint32_t *uses, const Op *reduce, DeferredReduction *out);
#endif
