/* access_width.c - determines the contiguous dim of a view and the widest access that alignment and bounds
 * permit there. */
#include "infer/memory/memory.h"
#include "hexc/analysis/analysis.h"

/* Of a view of global memory: its contiguous dim (-1: none) and the elements of the widest access along
 * it. */
typedef struct ViewFact {
	bool known;
	int unit;
	int64_t vec;
} ViewFact;

Val *
view_dims(Val *v, int *dim_of)
{
	int rank = v->type.rank;

	for (int d = 0; d < rank; d++)
		dim_of[d] = d;
	while (v->def && v->def->code == O_view) {
		for (int d = 0; d < rank; d++)
			dim_of[d] = view_operand_dim(v->def, dim_of[d]);
		v = view_source(v->def);
	}
	return v;
}

int64_t
reg_run(const Layout *l, int dim)
{
	return pow2_part(layout_run(l, dim, AX_reg));
}

/* Returns at most `cap` contiguous elements along dim that are all inside the view's operand or all
 * outside. */
static int64_t
within_vec(const Op *view, int dim, int64_t cap)
{
	int64_t within = view_within(view, dim);

	return within < view->out[0]->type.shape[dim] ? min64(cap, pow2_part(within)) : cap;
}

/* Returns the longest vector, up to `cap` elements, along the contiguous dim that never straddles the
 * tensor's boundary: its start and the tensor's extent are multiples of it. */
static int64_t
edge_vec(Kernel *k, const Op *view, int dim, int64_t cap)
{
	int dim_of[DIM_MAX];
	Val *root = view_dims(view->out[0], dim_of);
	const Param *p = val_param(k, root);
	int rd = dim_of[dim];
	int64_t size, start;

	cap = within_vec(view, dim, cap);
	if (view_in_bounds(k, view, dim))
		return cap;
	if (view_is_longer(view)) {
		dim = view_operand_dim(view, dim);
		view = view_source(view)->def;
	}
	if (!p || view->code != O_view || view_source(view) != root)
		return 1;
	size = val_fact_at(k, view, view_end(k, view, rd)).mult;
	start = val_fact_at(k, view, view_start(view, rd)).mult;
	if (view_first(view, rd))
		start = gcd64(start, val_fact_at(k, view, view_first(view, rd)).mult);
	while (cap > 1 && (size % cap || start % cap))
		cap /= 2;
	return cap;
}

int64_t
view_width(Kernel *k, const Op *view, int dim, int64_t cap)
{
	int64_t vec = view_align(k, view, cap), edge = edge_vec(k, view, dim, cap);

	return vec < edge ? vec : edge;
}

void
forget_views(Solve *s)
{
	s->view = NEWN(s->arena, ViewFact, s->k->nval + 1);
}

/* Returns the cached properties of a view of global memory, by range analysis. */
static const ViewFact *
view_fact(const Solve *s, const Op *view)
{
	ViewFact *f = &s->view[view->out[0]->id];
	int64_t cap = dtype_most(view->out[0]->type.dtype);

	if (f->known)
		return f;
	f->known = true;
	f->unit = view_unit_dim(s->k, view);
	f->vec = f->unit >= 0 ? view_width(s->k, view, f->unit, cap) : 1;
	return f;
}

static bool
is_along_indices(const Op *view, int d)
{
	return view && view->code == O_view && view_is_gathered(view, d);
}

/* Returns the view dim along which memory is contiguous; -1: none. */
int
unit_dim(const Solve *s, Val *mem)
{
	int dim_of[DIM_MAX];
	Val *root;

	if (mem->type.space == S_global)
		return mem->def ? view_fact(s, mem->def)->unit : mem->type.rank - 1;
	root = view_dims(mem, dim_of);
	for (int d = 0; d < mem->type.rank; d++)
		if (dim_of[d] == s->unit[root->id] && !is_along_indices(mem->def, d))
			return d;
	return -1;
}

void
memory_order(const Solve *s, Val *view, int *order)
{
	int n = 0, u = unit_dim(s, view);

	if (u >= 0)
		order[n++] = u;
	for (int d = view->type.rank - 1; d >= 0; d--)
		if (d != u)
			order[n++] = d;
}

int64_t
global_vec(const Solve *s, const Op *view, int dim, int64_t run)
{
	int64_t vec = pow2_part(run);
	const ViewFact *f = view ? view_fact(s, view) : NULL;

	if (!f || f->unit != dim)
		return 1;
	return vec < f->vec ? vec : f->vec;
}

/* Returns the power of two of contiguous elements along dim d that every run of a pinned layout has. */
static int64_t
pinned_run(const Layout *l, int d)
{
	int64_t run = layout_run(l, d, AX_mem), vec = pow2_part(run);

	for (Digit g = layout_digits(l); g.it; digit_next(&g)) /* all modes but those of the run */
		while ((g.dim != d || g.weight >= run) && g.it->stride % vec)
			vec /= 2;
	while (l->swizzle.bits && vec > (int64_t)1 << l->swizzle.base)
		vec /= 2;
	return vec;
}

/* Returns the elements that an access along the contiguous dim of a shared view may have: a divisor of the
 * row and of the view's start in it. */
int64_t
shared_vec(const Solve *s, Val *mem, int64_t run)
{
	int dim_of[DIM_MAX], u = unit_dim(s, mem);
	Val *root = view_dims(mem, dim_of);
	int64_t cap = dtype_most(mem->type.dtype), vec = pow2_part(run), row;

	if (u < 0)
		return 1;
	for (const Val *v = root; v; v = val_is_alias(v) ? op_source(v->def) : NULL) {
		row = s->unit[v->id] < 0 ? 1 : v->type.shape[s->unit[v->id]];
		cap = min64(cap, pow2_part(row));
		if (v->type.pinned && pinned_run(v->type.layout, s->unit[v->id]) < cap)
			cap = pinned_run(v->type.layout, s->unit[v->id]);
	}
	if (mem->def && mem->def->code == O_view)
		cap = within_vec(mem->def, u, cap);
	for (const Val *v = mem; v->def && v->def->code == O_view; v = view_source(v->def)) {
		/* The dim's index may differ per view of the chain, as leading dims may be dropped: look it
		 * up per link. */
		int d = s->unit[root->id];
		int link[DIM_MAX], inner = -1;
		view_dims(view_source(v->def), link);
		for (int i = 0; i < view_source(v->def)->type.rank; i++)
			if (link[i] == d)
				inner = i;
		if (inner >= 0) {
			int64_t mult = val_fact(s->k, view_start(v->def, inner)).mult;
			while (mult && mult % cap)
				cap /= 2;
		}
	}
	return vec < cap ? vec : cap;
}

/* The load of the narrowest elements from which v is computed elementwise: their bits, the dim of v that is
 * contiguous in its memory, and whether that memory is global. */
typedef struct Source {
	int bits; /* 0: none */
	int unit;
	bool global;
} Source;

static Source
source_of(const Solve *s, const Val *v, int depth)
{
	Source best = { 0 };
	const Op *o = v->def;

	if (!o || depth == 0)
		return best;
	if (o->code == O_load)
		return (Source){ bits_of(v), unit_dim(s, load_source(o)),
		                 load_source(o)->type.space == S_global };
	if (o->code == O_transpose) {
		best = source_of(s, op_source(o), depth - 1);
		for (int d = 0; d < v->type.rank; d++)
			if (best.bits && IMM_AT(o, perm, d) == best.unit) {
				best.unit = d;
				break;
			}
		return best;
	}
	if (o->code == O_lookup)
		return source_of(s, lookup_index(o), depth - 1);
	if (o->code == O_sparse_expand) { /* nonzero values, half as many along the dim */
		best = source_of(s, sparse_values(o), depth - 1);
		if (best.unit == IMM(o, dim))
			best.bits /= 2;
		return best;
	}
	if (o->code != O_mask && o->code != O_pin && !op_is(o, F_ELT))
		return best;
	for (int i = 0; i < o->nin; i++) {
		const Type *t = &o->in[i]->type;
		Source x = { 0 };

		if (t->space == S_reg && t->rank == v->type.rank)
			x = source_of(s, o->in[i], depth - 1);
		if (x.bits && (!best.bits || x.bits < best.bits))
			best = x;
	}
	return best;
}

enum { SOURCE_DEPTH = 8 };

int
k_source_bits(const Solve *s, const Val *v, int kdim)
{
	Source x = source_of(s, v, SOURCE_DEPTH);

	return x.unit == kdim && (x.global || x.bits < bits_of(v)) ? x.bits : 0;
}

int
side_source_bits(const Solve *s, const Val *v, int side)
{
	Source x = source_of(s, v, SOURCE_DEPTH);

	return x.unit == side && !x.global && x.bits < bits_of(v) ? x.bits : 0;
}

int
source_unit(const Solve *s, const Val *v)
{
	Source x = source_of(s, v, SOURCE_DEPTH);

	return x.bits ? x.unit : -1;
}
