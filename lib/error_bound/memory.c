/* memory.c - bounds the contents of memory: each tile that may differ gets a second tile with its bounds. */
#include "hexc/ir/memory_effects.h"
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

Val *
bound_of_alloc(Twin *t, const Site *s)
{
	return t->marked[s->o->out[0]->id] ? bound_op(t, O_alloc, 0, NULL, bound_type(&s->r->type)) : NULL;
}

/* Returns the view of the f64 memory that corresponds to view c. */
static Val *
view_like(Twin *t, const Op *c, Val *mem)
{
	Val **in = NEWN(t->a, Val *, c->nin), *e;

	memcpy(in, c->in, sizeof *in * (size_t)c->nin);
	in[0] = mem;
	e = bound_op(t, c->code, c->nin, in, bound_type(&c->out[0]->type));
	memcpy(e->def->imm, c->imm, sizeof e->def->imm);
	return e;
}

Val *
bound_of_view(Twin *t, const Site *s)
{
	const Op *c = s->r->def;
	const BoundSums *sums = t->sums[s->o->in[0]->id];
	Val *e;

	bound_unsure(t, s->o);
	e = s->e[0] ? view_like(t, c, s->e[0]) : NULL;
	if (sums) {
		BoundSums *of_view = t->sums[s->o->out[0]->id] = NEW(t->a, BoundSums);

		for (int i = 0; i < BOUND_SUMS; i++)
			of_view->at[i] = view_like(t, c, sums->at[i]);
	}
	return e;
}

Val *
bound_of_reshape(Twin *t, const Site *s)
{
	return val_is_alias(s->o->out[0]) ? bound_of_view(t, s) : bound_of_move(t, s);
}

Val *
bound_of_load(Twin *t, const Site *s)
{
	const Val *from = load_source(s->o);
	Val *mem = s->e[0];

	t->failed = t->failed || t->sums[from->id]; /* the bound of the current contents is unknown */
	if (mem)
		mem = bound_op(t, O_load, 1, &mem, bound_type(&s->r->type));
	return bound_add(t, mem, t->unsure[from->id]);
}

/* The order of updates is unspecified, so the old value of an update has no bound, nor does the result of
 * swaps. */
static void
store_found(Twin *t, const Op *o)
{
	Val *found = access_found(o), *to[2] = { t->err[found->id] }, *in[2];

	if (!to[0])
		bound_want(t, view_root(found));
	to[1] = IMM(o, update) >= STORE_SWAP ? t->err[store_dest(o)->id] : NULL;
	if (!to[1] && IMM(o, update) >= STORE_SWAP)
		bound_want(t, view_root(store_dest(o)));
	in[0] = bound_const(t, bound_val(t, store_value(o)), (double)INFINITY);
	for (int i = 0; i < 2; i++) {
		in[1] = to[i];
		if (to[i])
			op_new(t->at, NULL, O_store, o->src, 2, in, 0, NULL);
	}
}

Val *
bound_of_store(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Val *in[2] = { s->e[0], s->e[1] };

	if (access_found(o))
		store_found(t, o);
	bound_doubt(t, t->unsure[store_dest(o)->id]);
	if ((in[0] || bound_sums_shared(o)) && !in[1])
		bound_want(t, view_root(store_dest(o))); /* the stored value has a bound: track it in the
		                                          * next attempt */
	if (!in[1] || !bound_update(t, o))
		return NULL;
	in[0] = bound_or_zero(t, store_value(o));
	op_new(t->at, NULL, O_store, o->src, 2, in, 0, NULL);
	return NULL;
}

Val *
bound_of_copy(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Val *in[2] = { s->e[0], s->e[1] };
	Type type = bound_type(&copy_dest(o)->type);

	t->failed = t->failed || t->sums[copy_source(o)->id];
	bound_doubt(t, t->unsure[copy_source(o)->id]);
	bound_doubt(t, t->unsure[copy_dest(o)->id]);
	if (in[0] && !in[1])
		bound_want(t, view_root(copy_dest(o))); /* the stored value has a bound: track it in the
		                                         * next attempt */
	if (!in[1])
		return NULL;
	if (in[0]) {
		IMM_SET(op_new(t->at, NULL, O_copy, o->src, 2, in, 0, NULL), async,
		        IMM(o, async) == COPY_BARRIER ? COPY_NOW : IMM(o, async));
		return NULL;
	}
	type.space = S_reg;
	in[0] = bound_op(t, O_const, 0, NULL, type);
	op_new(t->at, NULL, O_store, o->src, 2, in, 0, NULL);
	return NULL;
}
