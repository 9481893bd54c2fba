/* mask_bounds.c - pass mask_bounds: makes explicit in the IR which elements are out of bounds.
 *
 * requires   IR as lowered (or any without layouts)
 * preserves  everything else; a second run changes nothing
 * produces   IR whose meaning does not depend on out-of-bounds elements: masks are explicit
 *
 * hexc/LANGUAGE.md, "Out-of-bounds elements", specifies which elements of each op's results are out of
 * bounds, and what ops do without them. The pass computes bounds for each register tile and shared tile.
 *
 * Bounds are conditions; an element is in bounds if it satisfies all of them. A condition is a range of
 * the index along a single dim, a linear form of the indices along several dims with two ends, or a bool
 * tile (mask_conditions.c). The ends are scalars of the IR, either of which may be open. Each condition
 * names dims, which decide what a reduction makes of it.
 *
 * Bounds originate in loads, and in copies to shared tiles, of views not proved in bounds: the end size
 * - start, and the first element -start if the slice may start before the tensor, both divided by the
 * stride. A single index gives a condition that names no dim. A gathered view has the conditions of its
 * index tiles. The bounds that a view has of its own (view_from, view_below) are further ends; the pass
 * removes them from the view, but for copies that write zeros there (mask_copies.c). A shared tile has the
 * bounds of what was last stored to each part (mask_shared.c).
 *
 * The rule of an op, column `edge` of ops.def, masks its operands and computes the bounds of its
 * results:
 *
 *     moves of elements  the operand's conditions in terms of the result (mask_moves.c, mask_shapes.c)
 *     elementwise ops    the conditions of all operands (mask_elementwise.c)
 *     reductions         those that do not name the dim, and lines that have an element (mask_reductions.c);
 *                        the operand is masked with the identity (mask_products.c)
 *     dots               likewise for k; the operands are masked with zeros (mask_products.c)
 *     inside, fill, ..   the op is replaced by code computed from the operand's bounds (mask_inside.c); fill
 *                        leaves out those past which nothing sees an element (mask_unseen.c)
 *     loops, branches    loops carry the ends of conditions, branches choose them (mask_carried.c)
 *     stores             leave out missing elements (mask_stores.c)
 *     loads, copies      the bounds of the memory that they read (mask_memory.c, mask_copies.c)
 *
 * Which conditions a loop carries is known after its body. If they are more than assumed, the pass runs
 * again on a copy of the kernel.
 *
 * Out-of-bounds elements that are known to be zero need no mask in sums and dots. Loads read zeros,
 * which survive moves, casts and arithmetic that maps zeros to zero, if all operands are zero outside of
 * the same condition. In a dot of floats both operands are masked, since 0 * inf is not 0, unless one is
 * known to be finite. A tile masked with zeros replaces the unmasked one in the following ops: its
 * out-of-bounds elements may have any value, and later sums and dots can use the zeros. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/pass.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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

/* Returns the first element (`front`) or the end along dim d of memory value v that its views' own
 * bounds leave, computed before o. NULL: open. */
static Val *
own_bound(Bounds *b, Op *o, const Val *v, int d, bool front, int64_t extent)
{
	Val *sum = NULL, *r = NULL;
	int64_t step = 1;

	for (; v->def && v->def->code == O_view; v = view_source(v->def)) {
		Val *bound;

		d = view_operand_dim(v->def, d);
		step *= view_step(v->def, d);
		sum = sum ? ir_bin(o->parent, o, O_add, view_start(v->def, d), sum) : view_start(v->def, d);
		bound = front ? view_from(v->def, d) : view_below(v->def, d);
		if (!bound)
			continue;
		bound = mask_shares(o, ir_bin(o->parent, o, O_sub, bound, sum), step);
		if (front ? val_fact(b->k, bound).hi > 0 : val_fact(b->k, bound).lo < extent)
			r = bound_tighter(o, front ? O_max : O_min, r, bound);
	}
	return r;
}

/* Returns the first in-bounds element of a view that starts at `start` of a tensor. NULL: element 0. */
static Val *
first_of(Bounds *b, Op *o, Val *start, int64_t step)
{
	if (!start || val_fact(b->k, start).lo >= 0)
		return NULL;
	return mask_shares(o, ir_bin(o->parent, o, O_sub, ir_const(o->parent, o, 0), start), step);
}

bool
memory_is_bounded(const Val *v)
{
	for (; v->def && v->def->code == O_view; v = view_source(v->def))
		if (view_is_bounded(v->def))
			return true;
	return false;
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

		if (view_gathers(view, d) || view_result_dim(view, d) >= 0)
			continue;
		if (!view_operand_in_tensor(b->k, view, d)) {
			c.hi = ir_bin(o->parent, o, O_sub, p->size[d], start);
			if (val_fact(b->k, start).lo < 0)
				c.lo = ir_bin(o->parent, o, O_sub, ir_const(o->parent, o, 0), start);
		}
		if (view_from(view, d) || view_below(view, d))
			c.zero = c.finite = false;
		if (view_from(view, d))
			c.lo = bound_tighter(o, O_max, c.lo,
			                     ir_bin(o->parent, o, O_sub, view_from(view, d), start));
		if (view_below(view, d))
			c.hi = bound_tighter(o, O_min, c.hi,
			                     ir_bin(o->parent, o, O_sub, view_below(view, d), start));
		if (c.lo || c.hi)
			cond_add(b, o, e, t, c);
	}
}

void
range_of_memory(Bounds *b, Op *o, Val *v, int d, TileBounds *e)
{
	const Param *p = val_param(b->k, view_root(v));
	Val *start, *size, *from, *below;
	int64_t step;
	int rd;

	if (!v->def || v->def->code != O_view || view_is_gathered(v->def, d))
		return;
	if (!view_operand_in_tensor(b->k, v->def, view_operand_dim(v->def, d))) {
		start = start_of(v, d, o, &rd, &step);
		size = p->size[rd];
		if (size && start)
			size = ir_bin(o->parent, o, O_sub, size, start);
		e->at[d] = mask_shares(o, size, step);
		e->from[d] = first_of(b, o, start, step);
	}
	from = own_bound(b, o, v, d, true, v->type.shape[d]);
	below = own_bound(b, o, v, d, false, v->type.shape[d]);
	if (below && e->at[d] && bound_at_most(o, e->at[d], below))
		below = NULL;
	if (from && e->from[d] && bound_at_most(o, from, e->from[d]))
		from = NULL;
	if (!from && !below)
		return;
	e->at[d] = bound_tighter(o, O_min, e->at[d], below);
	e->from[d] = bound_tighter(o, O_max, e->from[d], from);
	e->zero &= ~(1u << d); /* accesses read what is there */
	e->finite &= ~(1u << d);
}

TileBounds
edges_of_memory(Bounds *b, Op *o, Val *v)
{
	Val *root = view_root(v);
	const Param *p = val_param(b->k, root);
	TileBounds e = { .zero = fabs(num_outside(v->type.dtype)) > 0 ? 0 : ~0u, .finite = ~0u };

	if (!p)
		return bounds_of_shared(b, o, v);
	for (int d = 0; v->def && d < v->type.rank; d++)
		range_of_memory(b, o, v, d, &e);
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

static void report(Bounds *b, const Op *o, bool warning, const char *fmt, va_list ap) PRINTF_LIKE(4, 0);

static void
report(Bounds *b, const Op *o, bool warning, const char *fmt, va_list ap)
{
	BoundsError e = { .o = o, .warning = warning };
	char text[400];

	vsnprintf(text, sizeof text, fmt, ap);
	e.text = arena_printf(b->k->unit->arena, "%s", text);
	VEC_PUSH(b->k->unit->arena, b->error, b->nerror, b->error_cap, e);
}

void
bounds_error(Bounds *b, const Op *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(b, o, false, fmt, ap);
	va_end(ap);
}

void
bounds_warning(Bounds *b, const Op *o, const char *fmt, ...)
{
	va_list ap;

	for (int i = 0; i < b->nerror; i++)
		if (b->error[i].warning && b->error[i].o->src.line == o->src.line &&
		    b->error[i].o->src.col == o->src.col)
			return;
	va_start(ap, fmt);
	report(b, o, true, fmt, ap);
	va_end(ap);
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
			o = bounds_into_loop(b, o, &carried, &tiles);
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
		o = shared_leave(b, o, &tiles, &carried);
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

/* Does a loop carry a register tile, or are there shared tiles, so that the pass may have to start again? */
static bool
carries_tiles(const Kernel *k)
{
	OpWalk w;

	if (kernel_has(k, O_alloc) && kernel_has(k, O_for))
		return true;
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			if (o->out[i]->type.space == S_reg)
				return true;
	return false;
}

static bool
is_kept(const Bounds *b, const Op *view)
{
	for (int i = 0; i < b->nkept; i++)
		if (b->kept[i] == view)
			return true;
	return false;
}

/* Removes what the masks express now: the bounds that views have of their own, but for copies that write
 * zeros there, and which dims reshapes keep. */
static void
forget_bounds(const Bounds *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b->k->body); o; o = walk_next(&w)) {
		if (o->code == O_view && view_is_bounded(o) && !is_kept(b, o))
			o->nin = IN_view_start + view_source(o)->type.rank;
		if (o->code != O_reshape)
			continue;
		IMM_SET(o, dropped, 0);
		IMM_SET(o, added, 0);
	}
}

static void
run(Bounds *b, Kernel *k)
{
	b->k = k;
	b->edge = NULL;
	b->instead = NULL;
	b->n = b->nshared = 0;
	b->shared = NULL;
	b->nundo = b->nstore = b->nerror = b->nkept = 0;
	b->changed = b->grew = false;
	b->tiles = kernel_has(k, O_alloc);
	grow(b, k->nval);
	b->uses = kernel_has(k, O_fill) ? tile_uses(k) : NULL;
	facts_keep(k);
	bounds_block(b, k->body);
	forget_bounds(b);
	for (int i = 0; i < b->nstore && !b->grew; i++)
		store_leaves_out(b, &b->store[i]);
	for (int i = 0; i < b->nerror && !b->grew; i++)
		if (b->error[i].warning)
			diag_warn(k->unit->diag, DW_missing, b->error[i].o->src, "%s", b->error[i].text);
		else
			diag_error(k->unit->diag, b->error[i].o->src, "%s", b->error[i].text);
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
