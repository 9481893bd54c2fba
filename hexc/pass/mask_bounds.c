/* mask_bounds.c - pass mask_bounds: makes explicit in the IR which elements are out of bounds.
 *
 * requires   IR as lowered (or any without layouts)
 * preserves  everything else; a second run changes nothing
 * produces   IR whose meaning does not depend on out-of-bounds elements: masks are explicit
 *
 * hexc/LANGUAGE.md, "Out-of-bounds elements", specifies which elements of each op's results are out of
 * bounds, and what ops do without them. The pass computes bounds for each register tile and shared tile.
 *
 * Bounds are conditions; an element is in bounds if it satisfies all of them. A condition is a range of the
 * index along a single dim, a linear form of the indices along several dims with two ends, or a bool tile
 * (mask_conditions.c). The ends are scalars of the IR, either of which may be open. Each condition names
 * dims, which decide what a reduction makes of it.
 *
 * Bounds originate in loads, and in copies to shared tiles, of views not proved in bounds: the end size -
 * start, and the first element -start if the slice may start before the tensor, both divided by the stride. A
 * single index gives a condition that names no dim. A gathered view has the conditions of its index tiles. A
 * shared tile has the bounds of what was last stored to each part (mask_memory.c). After a loop, branch or
 * role that writes it, all its elements are in bounds.
 *
 * The rule of an op, column `edge` of ops.def, masks its operands and computes the bounds of its results:
 *
 *     moves of elements  the operand's conditions in terms of the result (mask_bounds_rules.c, mask_shapes.c)
 *     elementwise ops    the conditions of all operands (mask_elementwise.c)
 *     reductions         those that do not name the dim, and lines that have an element (mask_reductions.c);
 *                        the operand is masked with the identity (mask_products.c)
 *     dots               likewise for k; the operands are masked with zeros (mask_products.c)
 *     inside, fill, ..   the op is replaced by code computed from the operand's bounds (mask_inside.c)
 *     loops, branches    loops carry the ends of conditions, branches choose them (mask_carried.c)
 *     stores             leave out missing elements (mask_stores.c)
 *
 * Which conditions a loop carries is known after its body. If they are more than assumed, the pass runs again
 * on a copy of the kernel.
 *
 * Out-of-bounds elements that are known to be zero need no mask in sums and dots. Loads read zeros, which
 * survive moves, casts and arithmetic that maps zeros to zero, if all operands are zero outside of the same
 * condition. In a dot of floats both operands are masked, since 0 * inf is not 0, unless one is known to be
 * finite. A tile masked with zeros replaces the unmasked one in the following ops: its out-of-bounds elements
 * may have any value, and later sums and dots can use the zeros. */
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

bool
bounds_known(const TileBounds *e)
{
	for (int d = 0; d < DIM_MAX; d++)
		if (e->at[d] || e->from[d])
			return true;
	return e->nmore > 0;
}

void
edge_set(Bounds *b, const Val *v, const TileBounds *e)
{
	if (!bounds_known(e)) {
		if (v->id < b->n)
			b->edge[v->id] = NULL;
		return;
	}
	grow(b, v->id);
	b->edge[v->id] = NEW(b->k->unit->arena, TileBounds);
	*b->edge[v->id] = *e;
}

/* ---- where bounds come from ------------------------------------------------------------------ */

/* Returns the start of dim d of memory value v in its root, computed before `at`; NULL: 0. *root_dim is the
 * root's dim, *step the stride in elements. */
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

/* Returns the first in-bounds element of a view that starts at `start` of a tensor. NULL: element 0. */
static Val *
first_of(Bounds *b, Op *o, Val *start, int64_t step)
{
	if (!start || val_fact(b->k, start).lo >= 0)
		return NULL;
	return mask_shares(o, ir_bin(o->parent, o, O_sub, ir_const(o->parent, o, 0), start), step);
}

/* Adds to e, the bounds of a gathered view, the conditions of its index tiles. Dim i of an index tile is the
 * view's dim g + i. A missing index is -1 (hexc/lang/lower_slice.c), which reads 0. */
void
edge_of_indices(Bounds *b, Op *o, const Op *view, TileBounds *e)
{
	const Type *t = &view->out[0]->type;
	int g = view_gather_dim(view);
	bool zero = !(fabs(num_outside(t->dtype)) > 0);

	for (int i = 0; i < view_source(view)->type.rank; i++) {
		const Val *x = view_start(view, i);
		TileBounds of;

		if (!view_gathers(view, i))
			continue;
		of = *edge_of(b, x);
		for (int d = 0; d < x->type.rank; d++) {
			MaskCond c = cond_of_range(&of, d);

			if (!of.at[d] && !of.from[d])
				continue;
			c = cond_placed(o, &c, &x->type, t, g);
			c.zero = zero;
			c.finite = true;
			cond_add(b, o, e, t, c);
		}
		for (int j = 0; j < of.nmore; j++) {
			MaskCond c = cond_placed(o, &of.more[j], &x->type, t, g);

			c.zero = zero;
			c.finite = true;
			cond_add(b, o, e, t, c);
		}
	}
}

/* Adds to e a condition for each single index of a view of tensor p: it holds for all elements or for
 * none. */
static void
edge_of_single(Bounds *b, Op *o, const Op *view, const Param *p, TileBounds *e)
{
	const Type *t = &view->out[0]->type;

	for (int d = 0; d < view_source(view)->type.rank; d++) {
		MaskCond c = { .zero = !(fabs(num_outside(t->dtype)) > 0), .finite = true };
		Val *start = view_start(view, d);

		if (view_gathers(view, d) || view_result_dim(view, d) >= 0 ||
		    view_operand_in_bounds(b->k, view, d))
			continue;
		c.hi = ir_bin(o->parent, o, O_sub, p->size[d], start);
		if (val_fact(b->k, start).lo < 0)
			c.lo = ir_bin(o->parent, o, O_sub, ir_const(o->parent, o, 0), start);
		cond_add(b, o, e, t, c);
	}
}

TileBounds
edges_of_memory(Bounds *b, Op *o, Val *v)
{
	Val *root = view_root(v);
	const Param *p = val_param(b->k, root);
	TileBounds e = { .zero = fabs(num_outside(v->type.dtype)) > 0 ? 0 : ~0u, .finite = ~0u };

	if (!p)
		return bounds_of_shared(b, o, v);
	for (int d = 0; v->def && d < v->type.rank; d++) {
		Val *start, *size;
		int64_t step;
		int rd;

		if (view_is_gathered(v->def, d) || view_in_bounds(b->k, v->def, d))
			continue;
		start = start_of(v, d, o, &rd, &step);
		size = p->size[rd];
		if (size)
			e.at[d] = mask_shares(o, start ? ir_bin(o->parent, o, O_sub, size, start) : size, step);
		e.from[d] = first_of(b, o, start, step);
	}
	if (v->def && v->def->code == O_view && view_gather_dim(v->def) >= 0)
		edge_of_indices(b, o, v->def, &e);
	if (v->def && view_source(v->def) == root)
		edge_of_single(b, o, v->def, p, &e);
	return e;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Returns x with f or i in the elements before index `from` along d. */
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
	Op *c;

	b->changed = true;
	if (!bound)
		return in[0];
	c = op_new(o->parent, o, O_mask, o->src, 2, in, 1, &t);
	IMM_SET(c, dims, (int64_t)1 << d);
	if (dtype_is_float(t.dtype))
		c->fimm = f;
	else
		IMM_SET(c, fill, i);
	c->out[0]->name = x->name;
	return c->out[0];
}

void
replace_after(Bounds *b, const Val *v, Val *x)
{
	Instead old = { v->id, NULL };

	grow(b, v->id);
	old.old = b->instead[v->id];
	VEC_PUSH(b->k->unit->arena, b->undo, b->nundo, b->undo_cap, old);
	b->instead[v->id] = x;
}

Val *
mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound)
{
	Val *c = mask_new(b, o, x, d, from, bound, 0, 0);
	TileBounds e = *edge_of(b, x);

	e.at[d] = bound;
	e.from[d] = from;
	e.zero |= 1u << d;
	e.finite |= 1u << d;
	edge_set(b, c, &e);
	replace_after(b, x, c);
	return c;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

static void
bounds_block(Bounds *b, Block *blk)
{
	static void (*const rule[O_COUNT])(Bounds *, Op *) = {
#define OP_EDGE(name, rule) [O_##name] = edge_##rule,
#include "hexc/ir/ops.def"
	};
	int mark = b->nundo;

	for (Op *o = blk->first, *next; o; o = next) {
		CarriedBounds carried;
		SharedStates tiles;

		next = o->next;
		for (int i = 0; i < o->nin; i++)
			while (o->in[i]->id < b->n && b->instead[o->in[i]->id])
				o->in[i] = b->instead[o->in[i]->id];
		shared_enter(b, o, &tiles);
		rule[o->code](b, o);
		if (o->code == O_for)
			o = bounds_into_loop(b, o, &carried);
		if (op_is(o, F_BOUNDS) && o->code != O_unmask)
			op_unlink(o);
		for (int r = 0; r < 2; r++)
			if (o->blk[r]) {
				bounds_block(b, o->blk[r]);
				shared_next(b, &tiles, r);
			}
		if (o->code == O_for)
			bounds_after_loop(b, o, &carried);
		else if (o->code == O_if && o->nout)
			o = bounds_after_if(b, o);
		shared_leave(b, o, &tiles);
	}
	/* masked tiles of this block are not visible outside */
	while (b->nundo > mark) {
		b->nundo--;
		b->instead[b->undo[b->nundo].id] = b->undo[b->nundo].old;
	}
}

/* Replaces the results of unmask by their operands. The ops only gave their uses a tile without bounds. */
static void
drop_unmask(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			while (o->in[i]->def && o->in[i]->def->code == O_unmask)
				o->in[i] = op_source(o->in[i]->def);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_unmask)
			op_unlink(o);
}

/* Does a loop carry a register tile, so that the pass may have to start again? */
static bool
carries_tiles(const Kernel *k)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			if (o->out[i]->type.space == S_reg)
				return true;
	return false;
}

static void
run(Bounds *b, Kernel *k)
{
	b->k = k;
	b->edge = NULL;
	b->instead = NULL;
	b->n = b->nshared = 0;
	b->shared = NULL;
	b->nundo = b->nstore = 0;
	b->changed = b->grew = false;
	b->tiles = kernel_has(k, O_alloc);
	grow(b, k->nval);
	facts_keep(k);
	bounds_block(b, k->body);
	for (int i = 0; i < b->nstore && !b->grew; i++)
		store_leaves_out(b, b->store[i].op, &b->store[i].value);
	facts_drop(k);
}

bool
pass_mask_bounds(Kernel *k)
{
	Bounds b = { .k = k };
	Kernel *before;

	if (k->masked)
		return false;
	before = carries_tiles(k) ? kernel_copy(k) : NULL;
	run(&b, k);
	while (b.grew && !k->unit->diag->nerror) {
		kernel_restore(k, before);
		run(&b, k);
	}
	drop_unmask(k);
	k->masked = true;
	return b.changed;
}
