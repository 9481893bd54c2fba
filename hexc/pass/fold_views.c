/* fold_views.c - removes views of tiles that change nothing but extents of 1, for pass fold.
 *
 * Functions that compute on tiles of another rank have such views. They would hide from each other the ops
 * that later passes match: a cast and the dequantization after it, the load of all of a stage and its dot. */
#include "hexc/pass/fold.h"
#include <string.h>

/* ---- reshapes of register tiles ----------------------------------------------------------------------- */

static bool
same_shape(const Type *x, const Type *y)
{
	return x->rank == y->rank && memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0;
}

/* Finds the dims of x that those of y are; -1: one of extent 1 is none of them. false: the shapes differ by
 * more than extents of 1. */
static bool
match_dims(const Type *x, const Type *y, int *dim)
{
	int i = 0, j = 0;

	while (i < x->rank || j < y->rank) {
		if (j < y->rank && y->shape[j] == 1)
			dim[j++] = -1;
		else if (i < x->rank && x->shape[i] == 1)
			i++;
		else if (i == x->rank || j == y->rank || x->shape[i] != y->shape[j])
			return false;
		else
			dim[j++] = i++;
	}
	return true;
}

/* Returns the operand of reshape v if that only adds or drops extents of 1; NULL: v is no such reshape. */
static Val *
before_ones(const Val *v)
{
	const Op *p = v->def;
	int dim[DIM_MAX];

	if (!p || p->code != O_reshape || v->type.space != S_reg || v->type.pinned ||
	    op_source(p)->type.pinned || !match_dims(&op_source(p)->type, &v->type, dim))
		return NULL;
	return op_source(p);
}

void
find_reshapes_back(Kernel *k, const Type **back)
{
	Op **op = NULL;
	int n = 0, cap = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		VEC_PUSH(k->unit->arena, op, n, cap, o);
	while (n--) { /* uses follow definitions */
		const Op *o = op[n];
		const Type *t = o->nout == 1 ? &o->out[0]->type : NULL;

		if (!t || t->space != S_reg)
			continue;
		if (before_ones(o->out[0]))
			back[op_source(o)->id] = t;
		for (int i = 0; op_is(o, F_ELT) && back[o->out[0]->id] && i < o->nin; i++)
			back[o->in[i]->id] = back[o->out[0]->id];
	}
}

/* Is there tile v in the shape of `to`, without a reshape of all of it? */
static bool
has_shape(const Val *v, const Type *to)
{
	const Op *p = v->def;
	const Val *x = before_ones(v);
	int dim[DIM_MAX];
	Constant c;

	if (x && same_shape(&x->type, to))
		return true;
	if (const_get(v, &c) || (p && p->code == O_splat))
		return true;
	return p && p->code == O_broadcast && !op_source(p)->type.pinned && match_dims(&v->type, to, dim);
}

static Val *
in_shape(Op *at, Val *v, const Type *to)
{
	Val *x = before_ones(v);
	Type t = type_tile(v->type.dtype, S_reg, to->rank, to->shape), part = t;
	int dim[DIM_MAX];
	Constant c;

	if (x)
		return x;
	if (const_get(v, &c))
		return const_make(at, &t, c);
	x = op_source(v->def);
	if (v->def->code == O_broadcast && match_dims(&v->type, to, dim)) {
		for (int d = 0; d < to->rank; d++)
			part.shape[d] = dim[d] < 0 ? 1 : x->type.shape[dim[d]];
		x = before_ones(x) ? before_ones(x) : x;
		if (!same_shape(&x->type, &part))
			x = op_new(at->parent, at, O_reshape, at->src, 1, &x, 1, &part)->out[0];
	}
	return op_new(at->parent, at, v->def->code, at->src, 1, &x, 1, &t)->out[0];
}

Val *
fold_round_trip(Op *o, const Type *to)
{
	Val *in[3];
	bool reshaped = false;
	Type t;
	Op *n;

	if (!op_is(o, F_ELT) || o->out[0]->type.space != S_reg || o->nin > (int)COUNT_OF(in))
		return NULL;
	for (int i = 0; i < o->nin; i++) {
		if (!has_shape(o->in[i], to))
			return NULL;
		reshaped |= before_ones(o->in[i]) != NULL;
	}
	if (!reshaped)
		return NULL;
	for (int i = 0; i < o->nin; i++)
		in[i] = in_shape(o, o->in[i], to);
	t = type_tile(o->out[0]->type.dtype, S_reg, to->rank, to->shape);
	n = op_new(o->parent, o, o->code, o->src, o->nin, in, 1, &t);
	memcpy(n->imm, o->imm, sizeof n->imm);
	n->fimm = o->fimm;
	return op_new(o->parent, o, O_reshape, o->src, 1, n->out, 1, &o->out[0]->type)->out[0];
}

/* ---- views of shared tiles ---------------------------------------------------------------------------- */

static bool
starts_at_0(const Op *view, int d)
{
	int64_t c;

	return !view_gathers(view, d) && val_is_const(view_start(view, d), &c) && c == 0;
}

/* The dims of a shared tile as a view of its reshape has them: those of extent 1 are any. */
typedef struct Seen {
	Val *start[DIM_MAX]; /* NULL: 0 */
	int64_t dropped;
} Seen;

/* Finds the starts along the dims of x from which view o of a reshape of x starts; false: the view keeps an
 * extent of 1 that x does not have. */
static bool
see_through(const Op *o, const Type *x, Seen *s)
{
	const Type *y = &view_source(o)->type;
	int i = 0, j = 0;

	*s = (Seen){ 0 };
	for (;;) {
		int kept = 0;

		for (; j < y->rank && y->shape[j] == 1; j++) {
			kept += !(IMM(o, dropped) >> j & 1);
			if (!starts_at_0(o, j))
				return false;
		}
		for (; i < x->rank && x->shape[i] == 1; i++)
			if (kept-- <= 0)
				s->dropped |= (int64_t)1 << i;
		if (kept > 0)
			return false;
		if (i == x->rank || j == y->rank)
			return i == x->rank && j == y->rank;
		if (x->shape[i] != y->shape[j] || view_gathers(o, j))
			return false;
		s->start[i] = starts_at_0(o, j) ? NULL : view_start(o, j);
		s->dropped |= (IMM(o, dropped) >> j++ & 1) << i++;
	}
}

static bool
is_all(const Op *view)
{
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (!starts_at_0(view, d))
			return false;
	return type_same(&view_source(view)->type, &view->out[0]->type);
}

/* Views of all of a shared tile are the tile. Those of a reshape that only adds or drops extents of 1 are
 * views of its operand. */
Val *
fold_view(Op *o)
{
	const Type *t = &o->out[0]->type;
	Val *x = view_source(o), *in[DIM_MAX + 1];
	Seen s = { 0 };
	Op *n;

	if (x->type.space != S_shared)
		return NULL;
	if (is_all(o))
		return x;
	if (!val_is_alias(x) || !see_through(o, &op_source(x->def)->type, &s))
		return NULL;
	x = op_source(x->def);
	in[0] = x;
	for (int d = 0; d < x->type.rank; d++)
		in[1 + d] = s.start[d] ? s.start[d] : ir_const(o->parent, o, 0);
	n = op_new(o->parent, o, O_view, o->src, x->type.rank + 1, in, 1, t);
	IMM_SET(n, dropped, s.dropped);
	return is_all(n) ? x : n->out[0];
}
