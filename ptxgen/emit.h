/* emit.h - what the files that emit a kernel share. */
#ifndef HEXC_PTXGEN_EMIT_H
#define HEXC_PTXGEN_EMIT_H
#include "ptxgen/base/gen.h"

/* ---- entry.c --------------------------------------------------------------------------------- */

bool gen_kernel(Session *s, Unit *u, Kernel *k);

/* ---- emit.c ---------------------------------------------------------------------------------- */

void gen_block(Gen *g, Block *b);        /* visit all ops but the yield */

/* ---- sync.c ---------------------------------------------------------------------------------- */

void emit_block_barrier(Gen *g);

/* ---- exchange.c ------------------------------------------------------------------------------ */

/* A convert by butterflies; false: it is none. */
bool convert_exchange(Gen *g, Op *o);
#endif
