/* emit_op.c - visits the ops of a block, and calls the function that emits each. */
#include "ptxgen/base/named_registers.h"
#include "ptxgen/base/debug_lines.h"
#include "ptxgen/emit.h"

void
gen_block(Codegen *g, Block *b)
{
	for (Op *o = b->first; o && g->u->diag->nerror == 0; o = o->next) {
		arena_poll(g->a);
		lines_at(g, o->src);
		switch (o->code) {
#define OP_EMIT(name, rule)                                                                        \
	case O_##name:                                                                             \
		emit_##rule(g, o);                                                                 \
		break;
#include "hexc/ir/ops.def"
		case O_none:
		case O_COUNT:
			BUG_IF(g->a, true);
		}
		file_take(g, o);
	}
}

/* Pass mask_bounds has resolved the ops on bounds. */
void
emit_unresolved(Codegen *g, Op *o)
{
	(void)o;
	BUG_IF(g->a, true);
}
