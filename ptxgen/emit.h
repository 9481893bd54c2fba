/* emit.h - what the files that emit a kernel share. */
#ifndef HEXC_PTXGEN_EMIT_H
#define HEXC_PTXGEN_EMIT_H
#include "ptxgen/base/codegen.h"

/* ---- entry.c --------------------------------------------------------------------------------- */

bool gen_kernel(Session *s, Unit *u, Kernel *k);

/* ---- rasterize.c ---------------------------------------------------------------------------------- */

void block_numbers(Codegen *g); /* which block this is, for all that is emitted from now on */

/* ---- emit_op.c ---------------------------------------------------------------------------------- */

void gen_block(Codegen *g, Block *b);        /* visit all ops but the yield */

/* ---- control_flow.c ---------------------------------------------------------------------------------- */

void gen_enter(Codegen *g, Block *b); /* before a region: force what its ops use from outside */

/* ---- sync.c ---------------------------------------------------------------------------------- */

void emit_block_barrier(Codegen *g); /* of the role's threads, in one */

/* ---- dot.c, register_remap.c, for prefetch_fragments.c --------------------------------------------------------------- */

/* Mark the words of operand i that the first step of dot o reads. */
void dot_first_words(Codegen *g, Op *o, int operand, bool *word);
/* The operand of a broadcast, transpose, reshape, slice or concat that has the element at `c` of the
 * result, and its coordinates there. */
Val *source_coord(const Op *o, const int64_t *c, int64_t *in);

/* ---- convert_butterfly.c ------------------------------------------------------------------------------ */

/* A convert by butterflies; false: it is none. */
bool convert_exchange(Codegen *g, Op *o);
#endif
