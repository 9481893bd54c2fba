/* constraint.c - records the layout constraints that ops impose on their operands and results.
 *
 * If a value already has another layout, the constraint is stored at the use and becomes a conversion
 * there.  Only at such uses do two layouts of one value occur. */
#include "infer/core/search_state.h"

static void
enqueue(Solve *s, Op *o)
{
	if (s->queued[o->id])
		return;
	s->queued[o->id] = true;
	VEC_PUSH(s->arena, s->queue, s->nqueue, s->capqueue, o);
}

/* Queues all ops that define or use v: their rules may determine more layouts now. */
static void
wake(Solve *s, Val *v)
{
	if (v->def)
		enqueue(s, v->def);
	else if (v->block->owner)
		enqueue(s, v->block->owner);
	for (int i = 0; i < s->nuse[v->id]; i++) {
		Op *o = s->use[v->id][i].op;
		enqueue(s, o->code == O_yield && o->parent->owner ? o->parent->owner : o);
	}
}

/* Returns the op from which the constraint that `who` propagates originates: dots, accesses and pins
 * themselves; other ops pass on that of a value that they touch. */
const Op *
first_cause(const Solve *s, const Op *who)
{
	const Block *body = who->blk[0];

	if (who->code == O_dot || who->code == O_load || who->code == O_store || who->code == O_pin)
		return who;
	for (int i = 0; i < who->nout; i++)
		if (s->sol->origin[who->out[i]->id])
			return s->sol->origin[who->out[i]->id];
	for (int i = 0; body && i < body->narg; i++)
		if (s->sol->origin[body->arg[i]->id])
			return s->sol->origin[body->arg[i]->id];
	for (int i = 0; body && i < body->last->nin; i++)
		if (s->sol->origin[body->last->in[i]->id])
			return s->sol->origin[body->last->in[i]->id];
	for (int i = 0; i < who->nin; i++)
		if (s->sol->origin[who->in[i]->id])
			return s->sol->origin[who->in[i]->id];
	return who;
}

bool
set_layout(Solve *s, Val *v, const Layout *l, const Op *who)
{
	const Layout *have = s->sol->val[v->id];

	arena_step(s->arena);
	if (have)
		return have == l || layout_equal(have, l);
	s->sol->val[v->id] = layout_intern(s, l);
	s->sol->origin[v->id] = who ? first_cause(s, who) : NULL;
	wake(s, v);
	return true;
}

void
require_operand(Solve *s, Op *o, int i, const Layout *l)
{
	const Layout **want = s->sol->want[o->id];

	if (set_layout(s, o->in[i], l, o)) {
		want[i] = NULL;
		return;
	}
	if (want[i] && layout_equal(want[i], l))
		return;
	want[i] = layout_intern(s, l);
}

void
set_result(Solve *s, Op *o, int i, const Layout *l)
{
	const Layout **made = s->sol->made[o->id];

	if (set_layout(s, o->out[i], l, o)) {
		made[i] = NULL;
		return;
	}
	if (made[i] && layout_equal(made[i], l))
		return;
	made[i] = layout_intern(s, l);
}

/* Constrains index operand i of the view: each thread needs the indices of its elements.  l: the threads'
 * layout of the dims along all index operands. */
static void
require_tile(Solve *s, Op *view, int i, Layout l)
{
	const Type *t = &view->in[i]->type;

	for (int d = 0; d < t->rank; d++) /* one index for all */
		if (t->shape[d] == 1 && !layout_reduce(&l, &l, d))
			return;
	require_operand(s, view, i, &l);
}

void
require_indices(Solve *s, Val *mem, const Layout *map)
{
	Op *view = mem->def;
	Layout l;

	if (!view || view_gather_dim(view) < 0)
		return;
	l = *map;
	for (int d = l.ndim - 1; d >= 0; d--)
		if (!view_is_gathered(view, d) && !(layout_reduce(&l, &l, d) && layout_drop_dim(&l, &l, d)))
			return;
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (view_gathers(view, d))
			require_tile(s, view, 1 + d, l);
}

bool
wanted_as_made(const Solve *s, const Op *o, int i)
{
	const Val *v = o->in[i];
	const Layout *want = s->sol->want[o->id][i];
	const Layout *made = v->def ? s->sol->made[v->def->id][v->index] : NULL;

	return want && made && layout_equal(want, made);
}

bool
value_is_pinned(const Solve *s, const Val *v)
{
	const Op *who = s->sol->origin[v->id];

	return who && who->code == O_pin;
}
