/* propagate.c - from a plan to a layout for every register tile: a worklist over ops.
 *
 * A layout spreads from where it is demanded (the fragments of dots first, then coalesced accesses) along the
 * rules of rules.c.  Where a value already lies otherwise, the demand is kept on the operand's edge and
 * becomes a conversion: that is the only place where two layouts meet. */
#include "infer/solve.h"

static void
enqueue(Solve *s, Op *o)
{
	if (s->queued[o->id] || !rule_of[o->code])
		return;
	s->queued[o->id] = true;
	VEC_PUSH(s->arena, s->queue, s->nqueue, s->capqueue, o);
}

/* Everything that touches v may know more now. */
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

/* Whose demand does `who` pass on?  Dots, accesses and pins speak for themselves, other ops for a value they
 * touch. */
const Op *
first_cause(const Solve *s, const Op *who)
{
	const Block *body = who->blk[0];

	if (who->code == O_dot || who->code == O_load || who->code == O_store || who->code == O_hold)
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
give(Solve *s, Val *v, const Layout *l, const Op *who)
{
	const Layout *have = s->sol->val[v->id];

	arena_step(s->arena);
	if (have)
		return have == l || layout_equal(have, l);
	s->sol->val[v->id] = kept_layout(s, l);
	s->sol->origin[v->id] = who ? first_cause(s, who) : NULL;
	wake(s, v);
	return true;
}

void
demand(Solve *s, Op *o, int i, const Layout *l)
{
	const Layout **want = s->sol->want[o->id];

	if (give(s, o->in[i], l, o)) {
		want[i] = NULL;
		return;
	}
	if (want[i] && layout_equal(want[i], l))
		return;
	want[i] = kept_layout(s, l);
}

void
deliver(Solve *s, Op *o, int i, const Layout *l)
{
	const Layout **made = s->sol->made[o->id];

	if (give(s, o->out[i], l, o)) {
		made[i] = NULL;
		return;
	}
	if (made[i] && layout_equal(made[i], l))
		return;
	made[i] = kept_layout(s, l);
}

void
demand_indices(Solve *s, Val *mem, const Layout *map)
{
	Op *view = mem->def;
	int dim = view ? view_gather_dim(view) : -1;
	Layout l;

	if (dim < 0)
		return;
	l = *map;
	for (int d = l.ndim - 1; d >= 0; d--)
		if (d != dim && !(layout_reduce(&l, &l, d) && layout_drop_dim(&l, &l, d)))
			return;
	for (int d = 0; d < view->in[0]->type.rank; d++)
		if (view_gathers(view, d))
			demand(s, view, 1 + d, &l);
}

const Layout *
result(const Solve *s, const Op *o, int i)
{
	const Layout *made = s->sol->made[o->id][i];

	return made ? made : s->sol->val[o->out[i]->id];
}

bool
wanted_as_made(const Solve *s, const Op *o, int i)
{
	const Val *v = o->in[i];
	const Layout *want = s->sol->want[o->id][i];
	const Layout *made = v->def ? s->sol->made[v->def->id][v->index] : NULL;

	return want && made && layout_equal(want, made);
}

const Layout *
operand(const Solve *s, const Op *o, int i)
{
	const Layout *want = s->sol->want[o->id][i];

	return want ? want : s->sol->val[o->in[i]->id];
}

/* Layouts that the program gives come first. */
static void
anchor_pins(Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_hold)
			give(s, s->order[i]->out[0], s->order[i]->out[0]->type.layout, s->order[i]);
}

static void
drain(Solve *s)
{
	for (int at = 0; at < s->nqueue; at++) {
		Op *o = s->queue[at];
		s->queued[o->id] = false;
		rule_of[o->code](s, o);
	}
	s->nqueue = 0;
}

static bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

/* The access that moves most bytes among those whose tile has no layout yet; those before *from have. */
static Op *
biggest_access(const Solve *s, int *from)
{
	for (; *from < s->naccess; (*from)++) {
		Op *o = s->access[*from];

		if (!s->sol->val[(o->code == O_load ? o->out[0] : o->in[0])->id])
			return o;
	}
	return NULL;
}

static bool
anchor_access(Solve *s, Op *o)
{
	Val *tile = o->code == O_load ? o->out[0] : o->in[0];
	Val *mem = o->code == O_load ? o->in[0] : o->in[1];
	const Type *t = &tile->type;
	int order[DIM_MAX];
	int grain = dtype_grain(t->dtype);
	Layout l;
	int64_t vec;

	memory_order(s, mem, order);
	vec = t->rank ? t->shape[order[0]] : 1;
	if (mem->type.space == S_global)
		vec = global_vec(s, mem->def, order[0], vec);
	else
		while (vec * grain > 128 || (vec & (vec - 1)))
			vec = vec % 2 ? 1 : vec / 2;
	/* wider than for every lane to have a part: lanes would do again what others do */
	while (vec % 2 == 0 && vec * grain > 8 && type_size(t) < vec * WARP_SIZE * s->k->warps)
		vec /= 2;
	if (!coalesced(&l, t->rank, t->shape, order, vec, s->k->warps, s->sol->plan.spread != 0))
		return false;
	return give(s, tile, &l, o);
}

static void
anchor_dot(Solve *s, Op *o, const DotChoice *c)
{
	/* the accumulator first: it lives longest, so others convert to it */
	deliver(s, o, 0, &c->c);
	demand(s, o, 2, &c->c);
	demand(s, o, 0, &c->a);
	demand(s, o, 1, &c->b);
	if (dot_is_sparse(o))
		demand(s, o, 3, &c->e);
}

/* A copy's mapping does not depend on other layouts, and copies run in the innermost loops: their indices lie
 * as they want them. */
static void
anchor_indices(Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		InstrKind kind;
		Layout map;
		int64_t vec;

		if (o->code != O_copy || !o->in[0]->def || view_gather_dim(o->in[0]->def) < 0 ||
		    !copy_map(s, o, &map, &vec, &kind))
			continue;
		demand_indices(s, o->in[0], &map);
		drain(s);
	}
}

bool
propagate(Solve *s)
{
	int next = 0;

	anchor_pins(s);
	drain(s);
	anchor_indices(s);
	for (int i = 0; i < s->ndot; i++) {
		anchor_dot(s, s->dot[i], s->sol->plan.dot[i]);
		drain(s);
	}
	for (int pass = 0; pass < 2 && !s->sol->plan.line; pass++)
		for (int i = 0; i < s->norder; i++) {
			Op *o = s->order[i];

			if (pass == 0 && o->code == O_shift)
				anchor_shift(s, o);
			else if (pass == 1 && (o->code == O_slice || o->code == O_concat) &&
			         !s->sol->val[o->in[0]->id] && !s->sol->val[o->out[0]->id])
				anchor_pieces(s, o);
			drain(s);
		}
	for (int i = 0; i < s->norder; i++)
		if ((s->order[i]->code == O_unpack && !s->sol->val[s->order[i]->out[0]->id]) ||
		    (s->order[i]->code == O_pack && !s->sol->val[s->order[i]->in[0]->id])) {
			if (!anchor_unpack(s, s->order[i]))
				s->unpackable = s->order[i];
			drain(s);
		}
	if (s->unpackable) {
		fails(s, s->unpackable->src, "the blocks of `%s` cannot be spread over %d warps",
		      val_param(s->k, s->unpackable->in[1])->name, s->k->warps);
		return false;
	}
	for (Op *o; (o = biggest_access(s, &next)) != NULL; drain(s))
		if (!anchor_access(s, o)) {
			fails(s, o->src, "the tile cannot be spread over %d warps", s->k->warps);
			return false;
		}
	/* from results of reductions back to what is reduced, the last ones first */
	for (int i = s->norder - 1; i >= 0; i--)
		if (rule_backward(s, s->order[i]))
			drain(s);
	/* what nothing demands: reductions of reductions, constants, carried values nobody reads */
	for (int i = 0; i < s->norder; i++)
		if (rule_backward(s, s->order[i]) || rule_default(s, s->order[i]))
			drain(s);
	for (int i = 0; i < s->norder; i++)
		for (int j = 0; j < s->order[i]->nout; j++) {
			const Val *v = s->order[i]->out[j];
			if (is_reg(v) && !s->sol->val[v->id]) {
				fails(s, s->order[i]->src, "no layout found for this tile");
				return false;
			}
		}
	return true;
}
