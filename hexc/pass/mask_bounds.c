/* mask_bounds.c - pass mask_bounds: masks the out-of-bounds elements that reductions and dots would read.
 *
 * requires   IR as lowered (or any without layouts)
 * preserves  everything else; a second run changes nothing
 * produces   IR whose meaning does not depend on out-of-bounds elements: masks are explicit
 *
 * A tile loaded from a slice that extends past a tensor's end has out-of-bounds elements. Along each dim of
 * each register tile there is a symbolic bound: elements at or above it are out of bounds. It originates in
 * loads, and in copies to shared tiles, of views not proved in bounds: size - start. If the slice may start
 * before the tensor, there is a first in-bounds element too: -start. Both are divided by the stride.
 *
 * Bounds propagate through elementwise ops (the smallest bound, the largest first), transposes, reshapes that
 * keep the dim, and broadcasts along other dims. A reduction drops those of its dim; a dot takes m from a and
 * n from b, a slice the rest. Loop-carried values, results of ifs, concats, and shared tiles without a unique
 * copy or store (apart from zeros stored to parts) have no bounds: all their elements are in bounds, computed
 * from the zeros read. After a loop a carried value has the bounds of its last iteration, if these are
 * loop-invariant.
 *
 * A reduction over a bounded dim gets a mask with its identity. A dot with bounded k gets a mask with zero on
 * each operand, unless out-of-bounds elements are known to be zero. Loads read zeros, which survive
 * transposes, broadcasts, casts and arithmetic that maps zeros to zero, if all operands have the same bounds.
 * For floats both operands are masked, since 0 * inf is not 0. A tile masked with zero replaces the unmasked
 * one from there on: out-of-bounds elements may be anything, and later sums and dots can use the zeros. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/pass.h"
#include <math.h>
#include <string.h>

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

const TileBounds *
edge_of(const Bounds *b, const Val *v)
{
	static const TileBounds none;

	return v->id < b->n && b->edge[v->id] ? b->edge[v->id] : &none;
}

static bool
edge_known(const TileBounds *e)
{
	for (int d = 0; d < DIM_MAX; d++)
		if (e->at[d])
			return true;
	return false;
}

void
edge_set(Bounds *b, const Val *v, const TileBounds *e)
{
	if (!edge_known(e))
		return;
	grow(b, v->id);
	b->edge[v->id] = NEW(b->k->unit->arena, TileBounds);
	*b->edge[v->id] = *e;
}

/* ---- where bounds come from ------------------------------------------------------------------ */

/* Returns the start of dim d of memory value v in its root, computed before `at`; *root_dim is the root's
 * dim, *step the stride in elements. */
static Val *
start_of(const Val *v, int d, Op *at, int *root_dim, int64_t *step)
{
	Val *sum = NULL;

	*step = 1;
	for (; v->def && v->def->code == O_view; v = view_source(v->def)) {
		d = view_operand_dim(v->def, d);
		*step *= view_step(v->def, d); /* views of a strided view start at 0 */
		sum = sum ? ir_bin(at->parent, at, O_add, view_start(v->def, d), sum) : view_start(v->def, d);
	}
	*root_dim = d;
	return sum;
}

/* Maps dim rd of v's base to its root, if the base is a reshape of a shared tile; -1: no single dim. */
static int
alias_dim(const Val *v, int rd)
{
	for (v = view_base(v); rd >= 0 && val_is_alias(v); v = op_source(v->def))
		rd = reshape_source(&op_source(v->def)->type, &v->type, rd);
	return rd;
}

/* Converts x elements of the root to the view's stride, rounded up. A negative x gives some number below
 * 1. */
static Val *
in_steps(Op *o, Val *x, int64_t step)
{
	if (step == 1)
		return x;
	x = ir_bin(o->parent, o, O_add, x, ir_const(o->parent, o, step - 1));
	return ir_bin(o->parent, o, O_div, x, ir_const(o->parent, o, step));
}

/* Returns the first in-bounds element of a view that starts at `start` of a tensor. NULL: element 0. */
static Val *
first_of(Bounds *b, Op *o, Val *start, int64_t step)
{
	if (!start || val_fact(b->k, start).lo >= 0)
		return NULL;
	return in_steps(o, ir_bin(o->parent, o, O_sub, ir_const(o->parent, o, 0), start), step);
}

/* Dim d of a gathered view has the bounds of the first index tile that spans it. */
static void
edge_of_indices(Bounds *b, const Op *view, int d, TileBounds *e)
{
	int at = d - view_gather_dim(view);

	for (int i = 0; i < view_source(view)->type.rank && !e->at[d] && !e->from[d]; i++) {
		const Val *x = view_start(view, i);
		const TileBounds *of = view_gathers(view, i) ? edge_of(b, x) : NULL;

		if (!of || x->type.shape[at] != view->out[0]->type.shape[d])
			continue;
		e->at[d] = of->at[at];
		e->from[d] = of->from[at];
	}
}

TileBounds
edges_of_memory(Bounds *b, Op *o, Val *v)
{
	Val *root = view_root(v), *start, *size, *from;
	const Param *p = val_param(b->k, root);
	TileBounds e = { .zero = fabs(num_outside(v->type.dtype)) > 0 ? 0 : ~0u };

	for (int d = 0; d < v->type.rank; d++) {
		int64_t step;
		int rd;

		if (v->def && view_is_gathered(v->def, d)) {
			edge_of_indices(b, v->def, d, &e);
			continue;
		}
		if (p && (!v->def || view_in_bounds(b->k, v->def, d)))
			continue;
		if (!p && !edge_known(edge_of(b, root)))
			continue;
		start = start_of(v, d, o, &rd, &step);
		rd = alias_dim(v, rd);
		if (rd < 0)
			continue;
		if (!p && !(edge_of(b, root)->zero >> rd & 1))
			e.zero &= ~(1u << d);
		size = p ? p->size[rd] : edge_of(b, root)->at[rd];
		from = p ? NULL : edge_of(b, root)->from[rd];
		if (size)
			e.at[d] = in_steps(o, start ? ir_bin(o->parent, o, O_sub, size, start) : size, step);
		if (p)
			e.from[d] = first_of(b, o, start, step);
		else if (from)
			e.from[d] = start ? ir_bin(o->parent, o, O_sub, from, start) : from;
	}
	return e;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Returns x with f or i before element `from` along d. */
static Val *
mask_front(Op *o, Val *x, int d, Val *from, double f, int64_t i)
{
	Block *b = o->parent;
	Type t = type_free(x->type), at = type_tile(D_i32, S_reg, t.rank, t.shape), n = type_scalar(D_i32);
	Type cond = type_tile(D_bool, S_reg, t.rank, t.shape);
	Val *in[3], *first;
	Op *fill;

	first = ir_bin(b, o, O_max, from, ir_const(b, o, 0));
	first = ir_bin(b, o, O_min, first, ir_const(b, o, t.shape[d]));
	first = op_new(b, o, O_cast, o->src, 1, &first, 1, &n)->out[0];
	in[0] = op_new(b, o, O_splat, o->src, 1, &first, 1, &at)->out[0];
	in[1] = op_new(b, o, O_iota, o->src, 0, NULL, 1, &at)->out[0];
	IMM_SET(in[1]->def, dim, d);
	in[0] = op_new(b, o, O_le, o->src, 2, in, 1, &cond)->out[0];
	fill = op_new(b, o, O_const, o->src, 0, NULL, 1, &t);
	if (dtype_is_float(t.dtype))
		fill->fimm = f;
	else
		IMM_SET(fill, value, i);
	in[1] = x;
	in[2] = fill->out[0];
	return op_new(b, o, O_select, o->src, 3, in, 1, &t)->out[0];
}

Val *
mask_new(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound, double f, int64_t i)
{
	Val *in[2] = { from ? mask_front(o, x, d, from, f, i) : x, bound };
	Type t = type_free(x->type);
	Op *c = op_new(o->parent, o, O_mask, o->src, 2, in, 1, &t);

	IMM_SET(c, dims, (int64_t)1 << d);
	if (dtype_is_float(t.dtype))
		c->fimm = f;
	else
		IMM_SET(c, fill, i);
	c->out[0]->name = x->name;
	b->changed = true;
	return c->out[0];
}

Val *
mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound)
{
	Val *c = mask_new(b, o, x, d, from, bound, 0, 0);
	Instead old = { x->id, NULL };
	TileBounds e = *edge_of(b, x);

	e.at[d] = bound;
	e.from[d] = from;
	e.zero |= 1u << d;
	edge_set(b, c, &e);
	grow(b, x->id);
	old.old = b->instead[x->id];
	VEC_PUSH(b->k->unit->arena, b->undo, b->nundo, b->undo_cap, old);
	b->instead[x->id] = c;
	return c;
}

/* ---- after loops ------------------------------------------------------------------------------ */

/* Is v, derived from a carried x that is initially 0, zero out of bounds of e along d whenever x is? */
static bool
stays_zero(const Bounds *b, const Val *v, const Val *x, const TileBounds *e, int d)
{
	const TileBounds *own = edge_of(b, v);
	const Op *o = v->def;

	if (v == x || (own->at[d] == e->at[d] && own->from[d] == e->from[d] && own->zero >> d & 1))
		return true;
	return o && (o->code == O_add || o->code == O_sub) && stays_zero(b, elt_lhs(o), x, e, d) &&
	       stays_zero(b, elt_rhs(o), x, e, d);
}

static bool
is_zero(const Val *v)
{
	return v->def && v->def->code == O_const && !(fabs(v->def->fimm) > 0) && IMM(v->def, value) == 0;
}

/* Sets the bounds of loop results: those of the yielded values that are loop-invariant. */
static void
edges_behind(Bounds *b, Op *loop)
{
	const Block *body = loop->blk[0];

	for (int i = 0; i < loop->nout; i++) {
		const Val *last = body->last->in[i];
		const TileBounds *own = edge_of(b, last);
		TileBounds e = { .zero = 0 };

		for (int d = 0; d < last->type.rank; d++) {
			Val *at = own->at[d], *from = own->from[d];

			at = at ? val_outside(loop->parent, loop->next, at, body) : NULL;
			from = at && from ? val_outside(loop->parent, loop->next, from, body) : NULL;
			if (!at || (own->from[d] && !from))
				continue;
			e.at[d] = at;
			e.from[d] = from;
			if (is_zero(for_init(loop, i)) && stays_zero(b, last, body->arg[1 + i], own, d))
				e.zero |= 1u << d;
		}
		edge_set(b, loop->out[i], &e);
	}
}

static void
bounds_block(Bounds *b, Block *blk)
{
	static void (*const rule[O_COUNT])(Bounds *, Op *) = {
#define OP_EDGE(name, rule) [O_##name] = edge_##rule,
#include "hexc/ir/ops.def"
	};
	int mark = b->nundo;

	for (Op *o = blk->first; o; o = o->next) {
		for (int i = 0; i < o->nin; i++)
			while (o->in[i]->id < b->n && b->instead[o->in[i]->id])
				o->in[i] = b->instead[o->in[i]->id];
		rule[o->code](b, o);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				bounds_block(b, o->blk[r]);
		if (o->code == O_for)
			edges_behind(b, o);
	}
	/* masked tiles of this block are not visible outside */
	while (b->nundo > mark) {
		b->nundo--;
		b->instead[b->undo[b->nundo].id] = b->undo[b->nundo].old;
	}
}

/* Does o clear a part of a shared tile that another op fills? */
static bool
clears_part(const Op *o)
{
	return access_clears(o) && view_root(store_dest(o)) != store_dest(o);
}

bool
pass_mask_bounds(Kernel *k)
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
			b.copies[view_root(copy_dest(o))->id]++;
		else if (o->code == O_store && !clears_part(o))
			b.stores[view_root(store_dest(o))->id]++;
	}
	facts_keep(k);
	bounds_block(&b, k->body);
	facts_drop(k);
	return b.changed;
}
