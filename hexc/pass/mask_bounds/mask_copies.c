/* mask_copies.c - implements the rule of pass mask_bounds for copies, and makes those of slices with
 * bounds of their own write zeros outside of these.
 *
 * Past a tensor's end every copy writes zeros. Past the end of `X[n :+ 64 below len]` it writes what the
 * tensor has there, as long as nothing needs the zeros. If something does, a dot along that dim or a
 * read by index, the copy's view keeps its bounds, which then are inside of the tensor, for accesses to
 * end there. Where these would have to be narrow, along the contiguous dim, for packed elements, and for
 * slices of slices, dots mask their operands, and other tiles go through registers. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/analysis/value_range.h"

/* Is the bound (NULL: none) along the contiguous dim a multiple of the widest access? */
static bool
is_between_accesses(const Bounds *b, const Val *bound, DType d)
{
	return !bound || val_fact(b->k, bound).mult % dtype_most(d) == 0;
}

/* Can accesses end where the view does? */
static bool
fits_accesses(const Bounds *b, const Op *view)
{
	const Param *p = val_param(b->k, view_source(view));
	DType dtype = view->out[0]->type.dtype;
	int unit = p ? view_unit_dim(b->k, view) : -1;

	if (!p || p->pack || dtype_info[dtype].bits < 8)
		return false;
	if (unit >= 0)
		unit = view_operand_dim(view, unit);
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (!p->size[d] || (d == unit && (!is_between_accesses(b, view_from(view, d), dtype) ||
		                                  !is_between_accesses(b, view_below(view, d), dtype))))
			return false;
	return true;
}

/* Gives copy o a view of its own whose bounds are inside of the tensor; those that leave out nothing are
 * open. */
static void
keep_bounds(Bounds *b, Op *o)
{
	Op *view = op_clone(o->parent, o, copy_source(o)->def, NULL, NULL);
	const Param *p = val_param(b->k, view_source(view));
	int rank = view_source(view)->type.rank;

	for (int d = 0; d < rank; d++) {
		Val **from = &view->in[IN_view_start + rank + d], **below = from + rank, *start;

		if (view_from(view, d) && prove_inside(b->k, view, from, 1, 0, view_start(view, d)))
			*from = ir_const(o->parent, view, INT64_MIN);
		else if (view_from(view, d))
			*from = ir_bin(o->parent, view, O_max, *from, ir_const(o->parent, view, 0));
		start = view_start(view, d);
		if (view_below(view, d) && prove_inside(b->k, view, &start, 1, view_span(view, d), *below))
			*below = ir_const(o->parent, view, INT64_MAX);
		else if (view_below(view, d))
			*below = ir_bin(o->parent, view, O_min, *below, p->size[d]);
	}
	o->in[IN_copy_source] = view->out[0];
	VEC_PUSH(b->k->unit->arena, b->kept, b->nkept, b->kept_cap, view);
}

/* Replaces copy o of elements with bounds e by a load, which is masked with zeros, and a store. */
static void
through_registers(Bounds *b, Op *o, const TileBounds *e)
{
	Val *in[2] = { copy_source(o), copy_dest(o) };
	Type t = type_free(in[0]->type);

	t.space = S_reg;
	in[0] = op_new(o->parent, o, O_load, o->src, 1, in, 1, &t)->out[0];
	in[0] = mask_all(b, o, in[0], e, 0, 0);
	op_new(o->parent, o, O_store, o->src, 2, in, 0, NULL);
	op_unlink(o);
}

bool
copy_is_bounded(const Op *o)
{
	return o->code == O_copy && memory_is_bounded(copy_source(o));
}

bool
copy_can_be_bounded(const Bounds *b, const Op *o)
{
	const Op *view = copy_source(o)->def;

	return view_is_bounded(view) && fits_accesses(b, view);
}

void
copy_zeros(Bounds *b, Op *o, const TileBounds *e)
{
	if (copy_can_be_bounded(b, o))
		keep_bounds(b, o);
	else
		through_registers(b, o, e);
}

/* An `async copy` of the program reads zeros outside of the tensor, and these exist; likewise a copy of
 * `fill(x, 0)`. */
void
edge_copy(Bounds *b, Op *o)
{
	bool bounded = memory_is_bounded(copy_source(o)), shared = copy_dest(o)->type.space == S_shared;
	bool exist = shared && (IMM(o, async) || IMM(o, filled));
	TileBounds from = { .zero = 0 }, e = from;

	if ((!shared && memory_is_bounded(copy_dest(o))) || (IMM(o, async) && bounded)) {
		bounds_error(b, o,
		             "an asynchronous copy does not support slices with bounds of their own");
		return;
	}
	if (bounded || !exist)
		from = edges_of_memory(b, o, copy_source(o));
	if (!shared) {
		if (bounds_known(&from))
			VEC_PUSH(b->k->unit->arena, b->store, b->nstore, b->store_cap,
			         ((MaskedStore){ o, from, false }));
		return;
	}
	if (!exist)
		e = from;
	if (!shared_written(b, o, copy_dest(o), &e)) {
		shared_all_exist(b, o, view_root(copy_dest(o)));
		exist = true;
	}
	if (bounded && exist)
		copy_zeros(b, o, &from);
}
