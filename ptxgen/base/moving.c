/* moving.c - what is linear in the counter of a loop, and what a loop therefore moves by the same each turn.
 *
 * An address that is made anew each turn from the counter takes a shift or a product, and its parts are kept in
 * registers besides; one that moves takes an addition, and nothing else is kept. */
#include "ptxgen/base/moving.h"
#include "ptxgen/base/word.h"

LLVMBasicBlockRef
moving_front(Gen *g)
{
	LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);

	LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->loop->before));
	return block;
}

void
moving_back(Gen *g, LLVMBasicBlockRef block)
{
	LV end = LLVMGetBasicBlockTerminator(block);

	if (end)
		LLVMPositionBuilderBefore(g->b, end);
	else
		LLVMPositionBuilderAtEnd(g->b, block);
}

static Linear
scaled(Gen *g, Linear x, int64_t by)
{
	LLVMBasicBlockRef block;

	if (!x.ok || !mul64(x.times, by, &x.times))
		return (Linear){ .ok = false };
	block = moving_front(g);
	x.rest = LLVMBuildMul(g->b, x.rest, const_i64(g, by), "");
	moving_back(g, block);
	return x;
}

Linear
linear_add(Gen *g, Linear x, Linear y)
{
	LLVMBasicBlockRef block;

	if (!x.ok || !y.ok || !add64(x.times, y.times, &x.times))
		return (Linear){ .ok = false };
	block = moving_front(g);
	x.rest = LLVMBuildAdd(g->b, x.rest, y.rest, "");
	moving_back(g, block);
	return x;
}

/* Of what is the same in all turns. */
static Linear
steady(Gen *g, Val *v)
{
	LLVMBasicBlockRef block = moving_front(g);
	Linear x = { .ok = true, .rest = scalar_get(g, v) };

	moving_back(g, block);
	return x;
}

Linear
linear_of(Gen *g, Val *v)
{
	const Linear none = { .ok = false };
	const Op *o = v->def;
	Linear x;
	int64_t c;

	if (!g->loop || v->type.space != S_scalar || v->type.dtype != D_i64)
		return none;
	if (v == g->loop->op->blk[0]->arg[0])
		return (Linear){ .ok = true, .times = 1, .rest = const_i64(g, 0) };
	if (!block_inside(v->block, g->loop->op->blk[0]))
		return steady(g, v);
	if (val_is_const(v, &c))
		return (Linear){ .ok = true, .rest = const_i64(g, c) };
	if (!o)
		return none;
	switch (o->code) {
	case O_add:
		return linear_add(g, linear_of(g, o->in[0]), linear_of(g, o->in[1]));
	case O_sub:
		return linear_add(g, linear_of(g, o->in[0]), scaled(g, linear_of(g, o->in[1]), -1));
	case O_mul:
		x = linear_of(g, o->in[val_is_const(o->in[1], &c) ? 0 : 1]);
		return val_is_const(o->in[1], &c) || val_is_const(o->in[0], &c) ? scaled(g, x, c) : none;
	default:
		return none;
	}
}

LV
linear_first(Gen *g, Linear x)
{
	LLVMBasicBlockRef block = moving_front(g);
	LV sum = LLVMBuildMul(g->b, g->loop->lo, const_i64(g, x.times), "");

	sum = LLVMBuildAdd(g->b, sum, x.rest, "");
	moving_back(g, block);
	return sum;
}

LV
moving(Gen *g, LV first, LV by)
{
	LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);
	struct Moving m = { .by = by };

	LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(g->loop->head));
	m.now = LLVMBuildPhi(g->b, g->i64, "");
	moving_back(g, block);
	LLVMAddIncoming(m.now, &first, &g->loop->before, 1);
	VEC_PUSH(g->a, g->loop->moved, g->loop->nmoved, g->loop->moved_cap, m);
	return m.now;
}

void
moving_next(Gen *g)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);

	for (int i = 0; i < g->loop->nmoved; i++) {
		const struct Moving *m = &g->loop->moved[i];
		LV next = LLVMBuildAdd(g->b, m->now, m->by, "");

		LLVMAddIncoming(m->now, &next, &from, 1);
	}
}
