/* wgmma.h - wgmma properties that the table rows of kind wgmma leave unspecified (PTX ISA, "Asynchronous
 * Warpgroup Level Matrix Multiply-Accumulate Operation using wgmma.mma_async instruction"). */
#ifndef HEXC_WGMMA_H
#define HEXC_WGMMA_H
#include "infer/core/instr.h"

enum { WARPGROUP = 4, WGMMA_M = 64, WGMMA_N_MOST = 256 };

/* Returns the widest instance of at most `most` columns that divides `columns`; 0: none. */
int wgmma_widest(const Instr *i, int64_t columns, int64_t most);
/* Can wm x wn warpgroups compute a dot of mnk[0] rows, mnk[1] columns and mnk[2] along k, swapped or not,
 * in whole instances? */
bool wgmma_divides(const Instr *i, bool swap, const int64_t mnk[3], int wm, int wn);
/* Does the instruction support MN-major operands in shared memory? */
bool wgmma_has_mn(const Instr *i);
/* Computes the fragment over the warps of a warpgroup of operand 0 (A), 1 (B) or 2 (C), for instances of n
 * columns, as instr_fragment() does for mma.  Returns false if the operand is in shared memory, or the
 * instruction has no n columns. */
bool wgmma_fragment(const Instr *i, int n, int operand, bool swap, Layout *out);
/* Returns the number of k slices of a wgmma whose register operand is recomputed in every iteration: one
 * slice is computed while others are multiplied.  1: no slices, as the loop has other wgmmas.  `k`: of an
 * instance. */
int wgmma_parts(const Op *o, int k);
/* Returns the number of register sets for `parts` k slices.  `factor`: registers of the whole operand,
 * `sum`: of the result. */
int wgmma_sets(int parts, int64_t factor, int64_t sum);
/* Returns the wgmma in the loop's body that alone uses carried value i, as its accumulator; NULL: there is
 * none, or the value has other uses. */
Op *wgmma_only(const Op *loop, int i);
/* Is the initial value of the loop's carried value i never read?  The wgmma ignores it in the first
 * iteration (scale-d = 0), and the loop's result is read only if it had an iteration. */
bool wgmma_begins(const Op *loop, int i);
/* Returns the assembly of an instance: result registers "{d0, d1}", A as registers or descriptor, B's
 * descriptor, and the predicate scale-d, which selects whether the result registers are added.  p lowers a
 * wgmma op. */
const char *wgmma_text(Arena *a, const Lowering *p, const char *d, const char *x, const char *y,
                       const char *add);
#endif
