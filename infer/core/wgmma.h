/* wgmma.h - products of warpgroups: what the rows of kind wgmma leave open (PTX ISA, "Asynchronous Warpgroup
 * Level Matrix Multiply-Accumulate Operation using wgmma.mma_async instruction"). */
#ifndef HEXC_WGMMA_H
#define HEXC_WGMMA_H
#include "infer/core/instr.h"

enum { WARPGROUP = 4, WGMMA_M = 64, WGMMA_N_MOST = 256 };

/* The widest instance of at most `most` columns that so many consist of; 0: there is none. */
int wgmma_widest(const Instr *i, int64_t columns, int64_t most);
/* Do wm x wn warpgroups share a product of mnk[0] rows, mnk[1] columns and mnk[2] along k, swapped or
 * not, in whole instances? */
bool wgmma_divides(const Instr *i, bool swap, const int64_t mnk[3], int wm, int wn);
/* Has it operands of its type with neighbours along m and n in shared memory? */
bool wgmma_has_mn(const Instr *i);
/* Fragment over the warps of a group of operand 0 (A), 1 (B) or 2 (C) of a product that instances of n
 * columns make, as instr_fragment of others; false: the operand is in shared memory, or there are no such
 * instances. */
bool wgmma_fragment(const Instr *i, int n, int operand, bool swap, Layout *out);
/* In how many steps along k a product goes whose factor the loop around makes anew in registers, so that
 * lanes make one while others are multiplied; 1: in one, there are other products in the loop.  `k`: of an
 * instance. */
int wgmma_parts(const Op *o, int k);
/* Sets of registers for these, of which the factor has so many in all; `sum`: registers of the result. */
int wgmma_sets(int parts, int64_t factor, int64_t sum);
/* The product in the body of a loop that alone has as its sum what the loop carries as value i; NULL: there
 * is none, or others have the value too. */
Op *wgmma_only(const Op *loop, int i);
/* Does nobody read what the loop's value i is at first: a product counts it as zeros in the first turn, and
 * what the loop gives is read only where there was one? */
bool wgmma_begins(const Op *loop, int i);
/* An instance: registers of the result "{d0, d1}", A as registers or descriptor, B's descriptor, and the
 * predicate that says whether what the registers hold is added.  The lowering is that of a product by such a
 * row. */
const char *wgmma_text(Arena *a, const Lowering *p, const char *d, const char *x, const char *y,
                       const char *add);
#endif
