/* sync.c - barriers of the block, and waiting for asynchronous copies. */
#include "ptxgen/base/asm.h"
#include "ptxgen/base/word.h"
#include "ptxgen/emit.h"

void
emit_block_barrier(Gen *g)
{
	gen_flush(g, NULL);
	asm_op(g, A_barrier, NULL, NULL, NULL);
}

void
emit_barrier(Gen *g, Op *o)
{
	(void)o;
	emit_block_barrier(g);
}

/* Targets without asynchronous copies complete every copy where it stands. */
void
emit_commit(Gen *g, Op *o)
{
	(void)o;
	if (g->u->target->features & T_CPASYNC)
		asm_op(g, A_commit, NULL, NULL, NULL);
}

void
emit_wait(Gen *g, Op *o)
{
	gen_flush(g, NULL);
	if (g->u->target->features & T_CPASYNC)
		asm_op(g, A_wait, const_i32(g, IMM(o, pending)), NULL, NULL);
}
