/* oob_fill.c - pass oob_fill: chooses each load's out-of-bounds value: zero, the fill value of its only mask
 * (which is then removed), or undefined if no use observes it.
 *
 * The default is zero, set in registers before the load. Example: a row of 2880 is padded to 3072, and
 * each element of the result depends on preceding ones only, as in a scan. The padding is then not
 * observed and may be undefined. If all its uses go through a mask, the load supplies the mask's fill
 * value, and the mask is removed.
 *
 * Observed elements are tracked as boxes from 0 to an end in each dim, with constant ends. Loop-carried tiles
 * count as fully observed.
 *
 * requires   masks of out-of-bounds regions and of padding (passes mask_bounds, pad_tiles), plain loops
 * preserves  what the kernel computes
 * produces   loads with IMM outside */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include "taskmap/layout.h"
#include <stdlib.h>
#include <string.h>

/* Observed are elements 0 .. end[d] - 1 of each dim; an end of 0 in any dim: none. Dims d and d + 1
 * collapsed: those before two[d]. With three elements per group, the last one may be observed in fewer
 * groups. */
typedef struct ObservedBox {
	int64_t end[DIM_MAX], two[DIM_MAX];
} ObservedBox;

typedef struct OobFill {
	Kernel *k;
	ObservedBox *seen; /* by value: a register tile, or all of an alloc */
} OobFill;

static void
mark_observed(const OobFill *x, const Val *v, const int64_t *end)
{
	ObservedBox *s = &x->seen[v->id];

	for (int d = 0; d < v->type.rank; d++)
		if (end[d] <= 0)
			return;
	for (int d = 0; d < v->type.rank; d++)
		s->end[d] = max64(s->end[d], min64(end[d], v->type.shape[d]));
	for (int d = 0; d + 1 < v->type.rank; d++) {
		int64_t n = v->type.shape[d + 1], row = min64(end[d], v->type.shape[d]) - 1;

		s->two[d] = max64(s->two[d], row * n + min64(end[d + 1], n));
	}
}

static void
see_all(const OobFill *x, const Val *v)
{
	mark_observed(x, v, v->type.shape);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

/* Along dim d the view contains elements of its operand from 0 to *end at most; *exact: exactly these.
 * Returns false if there may be fewer, or some before the operand's start. */
static bool
shown(Kernel *k, const Op *view, int d, int64_t *end, bool *exact)
{
	int rd = view_operand_dim(view, d);
	const Param *p = val_param(k, view_source(view));
	int64_t extent = view_within(view, d);
	Fact start = val_fact(k, view_start(view, rd)), size;

	*end = extent;
	*exact = true;
	if (view_in_bounds(k, view, d))
		return true;
	if (!p || view_step(view, rd) != 1 || start.lo != start.hi || start.lo < 0)
		return false;
	size = val_fact(k, p->size[rd]);
	*end = max64(0, min64(extent, size.hi - start.lo));
	*exact = size.lo == size.hi;
	return true;
}

/* Computes the in-bounds box of mem. Returns false if it is unknown. *more: there are out-of-bounds
 * elements. */
static bool
inside(Kernel *k, const Val *mem, int64_t *end, bool *more)
{
	const Op *view = mem->def;

	*more = false;
	if (!view || view->code != O_view || view_gather_dim(view) >= 0)
		return false;
	for (const Op *v = view; v && v->code == O_view; v = view_source(v)->def)
		for (int rd = 0; rd < view_source(v)->type.rank; rd++)
			if (view_result_dim(v, rd) < 0 && !view_operand_in_bounds(k, v, rd))
				return false;
	for (int d = 0; d < mem->type.rank; d++) {
		bool exact;

		if (!shown(k, view, d, &end[d], &exact) || !exact)
			return false;
		*more |= end[d] < mem->type.shape[d];
	}
	return true;
}

/* Marks what o observes of allocs: the box of a load through a view with constant starts; everything for
 * other uses. */
static void
see_alloc(const OobFill *x, const Op *o)
{
	for (int i = 0; i < o->nin; i++) {
		const Val *v = o->in[i];
		const Op *view = v->def;
		int64_t end[DIM_MAX] = { 0 };
		bool plain = o->code == O_load;

		if (v->type.space != S_shared || (o->code == O_view && i == 0) ||
		    (o->code == O_store && i == 1 && IMM(o, update) == STORE_PLAIN))
			continue;
		if (!view || view->code != O_view) {
			see_all(x, v);
			continue;
		}
		for (int d = 0; plain && d < view_source(view)->type.rank; d++) {
			int at = view_result_dim(view, d);
			int64_t start;

			plain = !view_gathers(view, d) && view_step(view, d) == 1 &&
			        val_is_const(view_start(view, d), &start);
			end[d] = plain ? start + (at < 0 ? 1 : view->out[0]->type.shape[at]) : 0;
		}
		if (plain)
			mark_observed(x, view_source(view), end);
		else
			see_all(x, view_source(view));
		if (view_source(view)->def && view_source(view)->def->code != O_alloc)
			see_all(x, view_root(view_source(view)));
	}
}

/* Marks what a store observes: for an alloc, the elements observed of it; else those in bounds. */
static void
see_stored(const OobFill *x, const Op *o)
{
	const Val *mem = store_dest(o);
	int64_t end[DIM_MAX];
	bool exact;

	for (int i = 2; i < o->nin; i++)
		if (o->in[i]->type.space == S_reg)
			see_all(x, o->in[i]);
	memcpy(end, mem->type.shape, sizeof end);
	if (mem->def && mem->def->code == O_alloc && IMM(o, update) == STORE_PLAIN)
		memcpy(end, x->seen[mem->id].end, sizeof end);
	for (int d = 0; mem->def && mem->def->code == O_view && d < mem->type.rank; d++)
		if (d != view_gather_dim(mem->def))
			shown(x->k, mem->def, d, &end[d], &exact);
	if (store_value(o)->type.space == S_reg)
		mark_observed(x, store_value(o), end);
}

/* ---- tiles ------------------------------------------------------------------------------------------- */

/* For split or collapsed dims: converts the observed box of n dims to an end in row-major order, and back. */
static int64_t
row_end(int n, const int64_t *shape, const int64_t *end)
{
	int64_t last[DIM_MAX];

	for (int d = 0; d < n; d++)
		last[d] = end[d] - 1;
	return row_major_index(n, shape, last) + 1;
}

static void
box_of(int n, const int64_t *shape, int64_t end, int64_t *box)
{
	bool rows = false; /* several rows: all of each is observed */

	row_major_coord(n, shape, end - 1, box);
	for (int d = 0; d < n; d++) {
		bool first = box[d] == 0;

		box[d] = rows ? shape[d] : box[d] + 1;
		rows |= !first;
	}
}

static void
see_reshaped(const OobFill *x, const Op *o)
{
	const Type *t = &op_source(o)->type, *y = &o->out[0]->type;
	const ObservedBox *out = &x->seen[o->out[0]->id];
	int64_t end[DIM_MAX] = { 0 };
	int i = 0, j = 0;

	while (i < t->rank || j < y->rank) {
		int from = i, to = j;
		int64_t m = i < t->rank ? t->shape[i++] : 1, n = j < y->rank ? y->shape[j++] : 1;

		while (m != n)
			if (m < n)
				m *= t->shape[i++];
			else
				n *= y->shape[j++];
		if (i > from)
			box_of(i - from, t->shape + from,
			       j == to       ? 1
			       : j == to + 2 ? out->two[to]
			                     : row_end(j - to, y->shape + to, out->end + to),
			       end + from);
	}
	mark_observed(x, op_source(o), end);
}

/* Is v = *by * index along *dim + *add, with constants? *dim -1: no index, *by is 0. */
static bool
is_affine(const Val *v, int *dim, int64_t *by, int64_t *add)
{
	const Op *o = v->def;
	int64_t m[2], n[2];
	int d[2];
	Constant c;

	*dim = -1;
	*by = *add = 0;
	if (const_get(v, &c)) {
		*add = c.i;
		return true;
	}
	if (o && o->code == O_iota) {
		*dim = (int)IMM(o, dim);
		*by = 1;
		return true;
	}
	if (!o || (o->code != O_add && o->code != O_mul))
		return false;
	for (int i = 0; i < 2; i++)
		if (!is_affine(o->in[i], &d[i], &m[i], &n[i]) || llabs(m[i]) > INT32_MAX ||
		    llabs(n[i]) > INT32_MAX)
			return false;
	if (d[0] >= 0 && d[1] >= 0)
		return false;
	*dim = d[0] >= 0 ? d[0] : d[1];
	*by = o->code == O_add ? m[0] + m[1] : m[0] * n[1] + m[1] * n[0];
	*add = o->code == O_add ? n[0] + n[1] : n[0] * n[1];
	return true;
}

/* For cond = by * index + add < bound: returns the dim, and in *end the index where it becomes false. -1:
 * cond has another form. */
static int
holds_before(const Val *cond, int64_t *end)
{
	const Op *o = cond->def;
	int64_t by, add;
	Constant bound;
	int dim;

	if (!o || o->code != O_lt || dtype_info[elt_lhs(o)->type.dtype].kind == K_flt ||
	    !is_affine(elt_lhs(o), &dim, &by, &add) || dim < 0 || by <= 0 || !const_get(elt_rhs(o), &bound))
		return -1;
	*end = max64(0, ceil_div(bound.i - add, by));
	return dim;
}

static void
see_operand(const OobFill *x, const Op *o, int i)
{
	const Type *t = &o->in[i]->type, *y = &o->out[0]->type;
	const int64_t *out = x->seen[o->out[0]->id].end;
	int64_t end[DIM_MAX], from = 0, bound;
	int dim = o->code == O_shift || o->code == O_slice || o->code == O_concat ? (int)IMM(o, dim) : -1;

	if (o->code == O_select && i == 0 && IMM(o, rare)) { /* a warp branches on all its elements */
		see_all(x, select_cond(o));
		return;
	}
	memcpy(end, out, sizeof end);
	switch (o->code) {
	case O_shift: end[dim] -= IMM(o, by); break;
	case O_slice: end[dim] += IMM(o, from); break;
	case O_concat:
		for (int j = 0; j < i; j++)
			from += o->in[j]->type.shape[dim];
		end[dim] -= from;
		break;
	case O_mask:
		for (int d = 0, in = 1; d < y->rank; d++)
			if (IMM(o, dims) >> d & 1 && val_is_const(o->in[in++], &bound))
				end[d] = min64(end[d], bound);
		break;
	case O_select:
		dim = i == 1 ? holds_before(select_cond(o), &bound) : -1;
		if (dim >= 0)
			end[dim] = min64(end[dim], bound);
		break;
	case O_transpose:
		for (int d = 0; d < y->rank; d++)
			end[IMM_AT(o, perm, d)] = out[d];
		break;
	case O_broadcast:
		for (int d = 0; d < y->rank; d++)
			end[d] = t->shape[d] == y->shape[d] ? out[d] : 1;
		break;
	default:
		for (int d = 0; op_is(o, F_REDUCE) && d < y->rank; d++)
			if (d == IMM(o, dim))
				end[d] = t->shape[d];
		break;
	}
	mark_observed(x, o->in[i], end);
}

/* Marks what o observes of its operands, given what is observed of its result. */
static void
see_op(const OobFill *x, const Op *o)
{
	bool known = op_is(o, F_ELT | F_REDUCE) || o->code == O_mask || o->code == O_shift ||
	             o->code == O_slice || o->code == O_concat || o->code == O_transpose ||
	             o->code == O_broadcast || o->code == O_relabel_layout;
	bool tile = o->nout == 1 && o->out[0]->type.space == S_reg;

	if (o->code == O_store) {
		see_stored(x, o);
		return;
	}
	for (int d = 0; tile && op_is(o, F_PURE) && d < o->out[0]->type.rank; d++)
		if (!x->seen[o->out[0]->id].end[d])
			return; /* nothing of it is observed */
	if (tile && o->code == O_reshape) {
		see_reshaped(x, o);
		return;
	}
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_reg && tile && known &&
		    o->in[i]->type.rank == o->out[0]->type.rank)
			see_operand(x, o, i);
		else if (o->in[i]->type.space == S_reg)
			see_all(x, o->in[i]);
}

static void
see_block(const OobFill *x, const Block *b)
{
	for (const Op *o = b->last; o; o = o->prev) {
		for (int i = 1; i >= 0; i--)
			if (o->blk[i])
				see_block(x, o->blk[i]);
		see_op(x, o);
	}
}

/* ---- loads ------------------------------------------------------------------------------------------- */

/* Does mask m keep exactly the in-bounds elements, up to end[]? */
static bool
masks_outside(const Op *m, const int64_t *end)
{
	const Type *t = &m->out[0]->type;

	for (int d = 0, in = 1; d < t->rank; d++) {
		int64_t bound = t->shape[d];

		if (IMM(m, dims) >> d & 1 && !val_is_const(m->in[in++], &bound))
			return false;
		if (min64(bound, t->shape[d]) != end[d])
			return false;
	}
	return true;
}

/* Returns the first mask of load o's result that replaces exactly the out-of-bounds elements; NULL: none. */
static Op *
mask_of(const OobFill *x, const Op *o, const int64_t *end)
{
	OpWalk w;

	for (Op *m = walk_first(&w, x->k->body); m; m = walk_next(&w))
		if (m->code == O_mask && mask_source(m) == o->out[0] && masks_outside(m, end))
			return m;
	return NULL;
}

static bool
load_outside(const OobFill *x, Op *o)
{
	const Val *v = o->out[0];
	int bits = dtype_info[v->type.dtype].bits;
	int64_t end[DIM_MAX];
	bool more, seen = false;
	Op *m;

	if (v->type.space != S_reg || load_source(o)->type.space != S_global || IMM(o, oob_fill) ||
	    !inside(x->k, load_source(o), end, &more) || !more)
		return false;
	for (int d = 0; d < v->type.rank; d++)
		seen |= x->seen[v->id].end[d] > end[d];
	if (seen)
		return false;
	IMM_SET(o, oob_fill, OUTSIDE_ANY);
	m = mask_of(x, o, end);
	if (!m || (bits != 16 && bits != 32))
		return true;
	IMM_SET(o, oob_fill, OUTSIDE_FILL);
	IMM_SET(o, fill_value, IMM(m, fill));
	o->fimm = m->fimm;
	val_replace(x->k, m->out[0], o->out[0]);
	return true;
}

/* Removes masks that loads have replaced. */
static void
drop_masks(Kernel *k)
{
	const uint32_t *uses = kernel_uses(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mask && !uses[o->out[0]->id])
			op_unlink(o);
}

bool
pass_oob_fill(Kernel *k)
{
	OobFill x = { .k = k, .seen = NEWN(k->unit->arena, ObservedBox, (size_t)k->nval + 1) };
	bool changed = false;
	OpWalk w;

	facts_keep(k);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		see_alloc(&x, o);
	see_block(&x, k->body);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_load)
			changed |= load_outside(&x, o);
	facts_drop(k);
	if (changed)
		drop_masks(k);
	return changed;
}
