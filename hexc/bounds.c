/* bounds.c - pass bounds: ragged edges, made explicit where they can be seen.
 *
 * needs   IR as lowered (or any without layouts)
 * keeps   everything else; a second run changes nothing
 * gives   an IR whose meaning needs no notion of "outside": clips stand where one is needed
 *
 * A tile read from a slice that reaches past a tensor's end has elements that do not exist.  Along
 * each dim of each register tile we know a bound: elements at that index or above do not exist.
 * It comes from loads and from copies to shared tiles, of views not proved inside their tensor:
 * size - start.  It is carried along by elementwise ops (the smallest of the operands' bounds),
 * transposes, reshapes that leave the dim whole, broadcasts along other dims; a reduction drops that of its
 * dim; a dot takes m from a and n from b, a slice what is left.  Carried values, results of ifs, concats
 * and shared tiles that are not filled by exactly one copy or store have no bounds: all their elements
 * exist, and are what was computed from the zeros read outside.
 *
 * A reduction over a bounded dim gets a clip with its identity, a dot whose k is bounded a clip with zero on
 * each operand, unless what lies outside is known to be zero already: loads read zeros, which survive
 * transposes, broadcasts, casts, neg and abs.  For floats both operands are cleared, since 0 * inf is not 0.
 * A tile clipped with zero takes the place of the unclipped one from there on: elements that do not exist
 * may be anything, and zeros serve later sums and products. */
#include "hexc/facts.h"
#include "hexc/number.h"
#include "hexc/sparse.h"
#include <math.h>
#include <string.h>

/* What lies outside of a tile. */
typedef struct Edge {
	Val *at[DIM_MAX]; /* bound along the dim; NULL: none */
	unsigned zero;    /* bit d: elements outside along d are zero */
} Edge;

typedef struct Instead {
	uint32_t id;
	Val *old;
} Instead;

typedef struct Bounds {
	Kernel *k;
	Edge **edge;     /* by value id */
	Val **instead;   /* by value id: the clipped tile that takes its place; NULL: itself */
	uint32_t n;      /* entries of both; values made later have none unless set */
	uint32_t *copies, *stores; /* by id of an alloc's result: how many write it */
	Instead *undo;
	int nundo, undo_cap;
	bool changed;
} Bounds;

static void
grow(Bounds *b, uint32_t id)
{
	uint32_t n = id + id / 2 + 64;

	if (id < b->n)
		return;
	b->edge = arena_grow(b->k->unit->arena, b->edge, b->n, n, sizeof *b->edge);
	b->instead = arena_grow(b->k->unit->arena, b->instead, b->n, n, sizeof *b->instead);
	b->n = n;
}

static const Edge *
edge_of(const Bounds *b, const Val *v)
{
	static const Edge none;

	return v->id < b->n && b->edge[v->id] ? b->edge[v->id] : &none;
}

static bool
edge_known(const Edge *e)
{
	for (int d = 0; d < DIM_MAX; d++)
		if (e->at[d])
			return true;
	return false;
}

static void
edge_set(Bounds *b, const Val *v, const Edge *e)
{
	if (!edge_known(e))
		return;
	grow(b, v->id);
	b->edge[v->id] = NEW(b->k->unit->arena, Edge);
	*b->edge[v->id] = *e;
}

/* ---- where bounds come from ------------------------------------------------------------------ */

/* Where dim d of memory value v starts in its root, in front of `at`; *root_dim is the dim there. */
static Val *
start_of(const Val *v, int d, Op *at, int *root_dim)
{
	Val *sum = NULL;

	for (; v->def && v->def->code == O_view; v = v->def->in[0]) {
		d = view_operand_dim(v->def, d);
		sum = sum ? ir_bin(at->parent, at, O_add, v->def->in[1 + d], sum) : v->def->in[1 + d];
	}
	*root_dim = d;
	return sum;
}

/* The dim of the root that dim rd of v's base is, where that is a reshape of a shared tile; -1: none. */
static int
alias_dim(const Val *v, int rd)
{
	for (v = view_base(v); rd >= 0 && val_is_alias(v); v = v->def->in[0])
		rd = reshape_source(&v->def->in[0]->type, &v->type, rd);
	return rd;
}

/* The edges of what is read from memory value v by op o. */
static Edge
edges_of_memory(Bounds *b, Op *o, Val *v)
{
	Val *root = view_root(v), *start, *size;
	const Param *p = val_param(b->k, root);
	Edge e = { { NULL }, fabs(num_outside(v->type.dtype)) > 0 ? 0 : ~0u };

	for (int d = 0; d < v->type.rank; d++) {
		int rd;

		if (v->def && d == view_gather_dim(v->def)) { /* where the indices end */
			e.at[d] = edge_of(b, v->def->in[1 + view_operand_dim(v->def, d)])->at[0];
			continue;
		}
		if (p && (!v->def || view_in_bounds(b->k, v->def, d)))
			continue;
		if (!p && !edge_known(edge_of(b, root)))
			continue;
		start = start_of(v, d, o, &rd);
		rd = alias_dim(v, rd);
		if (rd < 0)
			continue;
		if (!p && !(edge_of(b, root)->zero >> rd & 1))
			e.zero &= ~(1u << d);
		size = p ? p->size[rd] : edge_of(b, root)->at[rd];
		if (size)
			e.at[d] = start ? ir_bin(o->parent, o, O_sub, size, start) : size;
	}
	return e;
}

/* ---- clips ----------------------------------------------------------------------------------- */

static Val *
clip_new(Bounds *b, Op *o, Val *x, int d, Val *bound, double f, int64_t i)
{
	Val *in[2] = { x, bound };
	Type t = type_free(x->type);
	Op *c = op_new(o->parent, o, O_clip, o->src, 2, in, 1, &t);

	c->imm[0] = (int64_t)1 << d;
	if (num_is_float(t.dtype))
		c->fimm = f;
	else
		c->imm[1] = i;
	c->out[0]->name = x->name;
	b->changed = true;
	return c->out[0];
}

/* x with zeros outside along d, for o and all that follows it. */
static Val *
clip_zero(Bounds *b, Op *o, Val *x, int d, Val *bound)
{
	Val *c = clip_new(b, o, x, d, bound, 0, 0);
	Instead old = { x->id, NULL };
	Edge e = *edge_of(b, x);

	e.at[d] = bound;
	e.zero |= 1u << d;
	edge_set(b, c, &e);
	grow(b, x->id);
	old.old = b->instead[x->id];
	VEC_PUSH(b->k->unit->arena, b->undo, b->nundo, b->undo_cap, old);
	b->instead[x->id] = c;
	return c;
}

static Val *
bound_min(Op *o, Val *x, Val *y)
{
	if (!x || !y)
		return x ? x : y;
	return index_equal(o, x, y) ? x : ir_bin(o->parent, o, O_min, x, y);
}

/* ---- one op ---------------------------------------------------------------------------------- */

static void
bounds_reduce(Bounds *b, Op *o)
{
	int d = (int)o->imm[0];
	DType t = o->out[0]->type.dtype;
	Edge e = *edge_of(b, o->in[0]);
	Val *bound = e.at[d];

	if (bound && o->code == O_reduce_max)
		o->in[0] = clip_new(b, o, o->in[0], d, bound, -(double)INFINITY,
		                    num_is_float(t) ? 0 : num_min(t));
	else if (bound && o->code == O_reduce_min)
		o->in[0] = clip_new(b, o, o->in[0], d, bound, (double)INFINITY,
		                    num_is_float(t) ? 0 : num_max(t));
	else if (bound && !(e.zero >> d & 1))
		o->in[0] = clip_zero(b, o, o->in[0], d, bound);
	e.at[d] = NULL;
	if (o->code != O_reduce_sum)
		e.zero = 0;
	edge_set(b, o->out[0], &e);
}

/* Is every element a number whatever the input, so that zero times it is zero? */
static bool
surely_finite(const Val *v)
{
	for (;;) {
		const Op *o = v->def;

		if (!num_is_float(v->type.dtype))
			return true;
		if (!o)
			return false;
		if (o->code == O_const)
			return isfinite(o->fimm) != 0;
		if (o->code != O_splat && o->code != O_broadcast && o->code != O_transpose &&
		    o->code != O_reshape)
			return false;
		v = o->in[0];
	}
}

static void
bounds_dot(Bounds *b, Op *o)
{
	Edge ea = *edge_of(b, o->in[0]), eb = *edge_of(b, o->in[1]), e = { { NULL }, 0 };
	Val *own[2] = { ea.at[1], eb.at[0] }, *k = bound_min(o, own[0], own[1]);
	bool zero[2], flt = num_is_float(o->in[0]->type.dtype);

	zero[0] = own[0] && own[0] == k && (ea.zero >> 1 & 1);
	zero[1] = own[1] && index_equal(o, own[1], k) && (eb.zero & 1);
	for (int i = 0; i < 2 && k; i++) {
		bool other = zero[1 - i] && (!flt || surely_finite(o->in[i]));

		if (zero[i] || other)
			continue;
		o->in[i] = clip_zero(b, o, o->in[i], 1 - i, k);
		zero[i] = true;
	}
	e.at[0] = ea.at[0];
	e.at[1] = eb.at[1];
	edge_set(b, o->out[0], &e);
}

/* Values and positions end together.  Half a group would have positions that do not rise, and outside the
 * values' end there shall be zeros. */
static void
bounds_expand(Bounds *b, Op *o)
{
	int d = (int)o->imm[0];
	Val *end = edge_of(b, o->in[1])->at[d], *own;
	Edge e;
	Sparse s;

	if (end && sparse_of(&o->in[0]->type, &o->in[1]->type, d, &s) && val_fact(b->k, end).mult % s.places)
		diag_error(b->k->unit->diag, o->src,
		           "the end of the positions may lie within a group of %d: assume that their last "
		           "dimension is a multiple of %d",
		           s.places, s.places);
	own = edge_of(b, o->in[0])->at[d];
	if (own && !(edge_of(b, o->in[0])->zero >> d & 1))
		o->in[0] = clip_zero(b, o, o->in[0], d, own);
	e = *edge_of(b, o->in[0]);
	if (own)
		e.at[d] = ir_bin(o->parent, o, O_mul, own, ir_const(o->parent, o, 2));
	edge_set(b, o->out[0], &e);
}

/* The result ends where the indices do; index 0, which is outside, may name any number. */
static void
bounds_lookup(Bounds *b, Op *o)
{
	Edge e = *edge_of(b, o->in[1]);

	e.zero = 0;
	edge_set(b, o->out[0], &e);
}

/* Type by type: bits of zero that are read as nf4 are none. */
static bool
keeps_zero(OpCode code)
{
	return code == O_cast || code == O_bitcast || code == O_neg || code == O_abs || code == O_convert ||
	       code == O_hold || code == O_relayout;
}

static void
bounds_elt(Bounds *b, Op *o)
{
	Edge e = { { NULL }, 0 };

	for (int i = 0; i < o->nin; i++) {
		const Edge *x = edge_of(b, o->in[i]);

		for (int d = 0; d < o->out[0]->type.rank; d++)
			e.at[d] = bound_min(o, e.at[d], x->at[d]);
		if (keeps_zero(o->code) && !(fabs(num_outside(o->out[0]->type.dtype)) > 0))
			e.zero = x->zero;
	}
	edge_set(b, o->out[0], &e);
}

static void
bounds_clip(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type;
	Edge e = *edge_of(b, o->in[0]);
	bool zero = num_is_float(t->dtype) ? o->fimm == 0 : o->imm[1] == 0;
	int in = 1;

	for (int d = 0; d < t->rank; d++) {
		if (!(o->imm[0] >> d & 1))
			continue;
		e.at[d] = zero ? o->in[in] : NULL;
		e.zero = zero ? e.zero | 1u << d : e.zero;
		in++;
	}
	if (!zero)
		e.zero = 0; /* the fill lies outside along the other dims too */
	edge_set(b, o->out[0], &e);
}

static void
bounds_shape(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type, *x = &o->in[0]->type;
	const Edge *f = edge_of(b, o->in[0]);
	Edge e = { { NULL }, 0 };
	int from = 0;

	for (int d = 0; d < t->rank; d++) {
		if (o->code == O_transpose) {
			from = (int)o->imm[d];
		} else if (o->code == O_broadcast) {
			from = d;
			if (x->shape[d] != t->shape[d])
				continue;
		} else if ((from = reshape_source(x, t, d)) < 0) {
			continue;
		}
		e.at[d] = f->at[from];
		e.zero |= (f->zero >> from & 1) << d;
	}
	edge_set(b, o->out[0], &e);
}

/* A shared tile has the edges of the one store that fills it as a whole ... */
static void
bounds_store(Bounds *b, Op *o)
{
	Val *tile = o->in[1];

	if (tile->def && tile->def->code == O_alloc && tile->def->parent == o->parent &&
	    !b->copies[tile->id] && b->stores[tile->id] == 1)
		edge_set(b, tile, edge_of(b, o->in[0]));
}

/* ... or the one copy. */
static void
bounds_copy(Bounds *b, Op *o)
{
	Val *tile = o->in[1];
	Edge e;

	if (!tile->def || tile->def->code != O_alloc || tile->def->parent != o->parent ||
	    b->copies[tile->id] != 1 || b->stores[tile->id])
		return;
	e = edges_of_memory(b, o, o->in[0]);
	edge_set(b, tile, &e);
}

static void
bounds_op(Bounds *b, Op *o)
{
	Edge e;
	bool elt = op_info[o->code].flags & F_ELT || o->code == O_hold || o->code == O_relayout;

	if (o->nout == 1 && o->out[0]->type.space == S_reg && elt) {
		bounds_elt(b, o);
		return;
	}
	switch ((int)o->code) {
	case O_load:
		e = edges_of_memory(b, o, o->in[0]);
		edge_set(b, o->out[0], &e);
		break;
	case O_copy: bounds_copy(b, o); break;
	case O_store: bounds_store(b, o); break;
	case O_clip: bounds_clip(b, o); break;
	case O_broadcast:
	case O_transpose:
	case O_reshape:
		if (o->out[0]->type.space == S_reg)
			bounds_shape(b, o);
		break;
	case O_shift: /* what exists moves up: along that dim nothing is known */
		e = *edge_of(b, o->in[0]);
		e.at[o->imm[0]] = NULL;
		if (num_is_float(o->out[0]->type.dtype) ? o->fimm != 0 : o->imm[2] != 0)
			e.zero = 0;
		edge_set(b, o->out[0], &e);
		break;
	case O_slice:
		e = *edge_of(b, o->in[0]);
		if (e.at[o->imm[0]] && o->imm[1])
			e.at[o->imm[0]] = ir_bin(o->parent, o, O_sub, e.at[o->imm[0]],
			                         ir_const(o->parent, o, o->imm[1]));
		edge_set(b, o->out[0], &e);
		break;
	case O_reduce_sum:
	case O_reduce_max:
	case O_reduce_min: bounds_reduce(b, o); break;
	case O_dot: bounds_dot(b, o); break;
	case O_expand: bounds_expand(b, o); break;
	case O_lookup: bounds_lookup(b, o); break;
	default: break;
	}
}

static void
bounds_block(Bounds *b, Block *blk)
{
	int mark = b->nundo;

	for (Op *o = blk->first; o; o = o->next) {
		for (int i = 0; i < o->nin; i++)
			while (o->in[i]->id < b->n && b->instead[o->in[i]->id])
				o->in[i] = b->instead[o->in[i]->id];
		bounds_op(b, o);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				bounds_block(b, o->blk[r]);
	}
	/* clipped tiles made in here are not visible outside */
	while (b->nundo > mark) {
		b->nundo--;
		b->instead[b->undo[b->nundo].id] = b->undo[b->nundo].old;
	}
}

bool
pass_bounds(Kernel *k)
{
	Bounds b;
	OpWalk w;

	memset(&b, 0, sizeof b);
	b.k = k;
	b.copies = NEWN(k->unit->arena, uint32_t, (size_t)k->nval + 1);
	b.stores = NEWN(k->unit->arena, uint32_t, (size_t)k->nval + 1);
	grow(&b, k->nval);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_copy)
			b.copies[view_root(o->in[1])->id]++;
		else if (o->code == O_store)
			b.stores[view_root(o->in[1])->id]++;
	}
	facts_keep(k);
	bounds_block(&b, k->body);
	facts_drop(k);
	return b.changed;
}
