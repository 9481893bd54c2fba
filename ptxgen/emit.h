/* emit.h - declares the functions shared by the files that emit a kernel. */
#ifndef HEXC_PTXGEN_EMIT_H
#define HEXC_PTXGEN_EMIT_H
#include "ptxgen/base/codegen.h"

/* ---- entry.c --------------------------------------------------------------------------------- */

bool gen_kernel(Session *s, Unit *u, Kernel *k);

/* ---- rasterize.c ---------------------------------------------------------------------------------- */

void block_numbers(Codegen *g); /* computes this block's index, for all code emitted from now on */

/* ---- emit_op.c ---------------------------------------------------------------------------------- */

void gen_block(Codegen *g, Block *b);        /* visits all ops but the yield */

/* ---- control_flow.c ---------------------------------------------------------------------------------- */

void gen_enter(Codegen *g, Block *b); /* before a region: forces what its ops use from outside */

/* ---- sync.c ---------------------------------------------------------------------------------- */

void emit_block_barrier(Codegen *g); /* of the role's threads, in one */

/* ---- dot.c, register_remap.c, for prefetch_fragments.c ---------------------------------------------- */

/* Marks the words of operand i that the first step of dot o reads. */
void dot_first_words(Codegen *g, Op *o, int operand, bool *word);
/* Returns the operand of a broadcast, transpose, reshape, slice or concat that supplies the element at `c`
 * of the result, and its coordinates there. */
Val *source_coord(const Op *o, const int64_t *c, int64_t *in);

/* ---- convert_butterfly.c ------------------------------------------------------------------------------ */

/* Emits a conversion by butterflies; returns false if it is none. */
bool convert_exchange(Codegen *g, Op *o);
#endif
