/* view.c - implements queries on views: operand, root, dims, gathered dims, strides. */
#include "hexc/ir/ir.h"

Val *
view_root(Val *v)
{
	while (v->def && (v->def->code == O_view || val_is_alias(v)))
		v = v->def->in[0];
	return v;
}

const Val *
view_base(const Val *v)
{
	while (v->def && v->def->code == O_view)
		v = view_source(v->def);
	return v;
}

bool
val_is_alias(const Val *v)
{
	return v->def && v->def->code == O_reshape && v->type.space == S_shared;
}

const Param *
val_param(const Kernel *k, const Val *root)
{
	if (root->def || root->block != k->body || root->index >= k->nparam)
		return NULL;
	return &k->param[root->index];
}

/* Number of view dims that correspond to dim d of the operand. */
static int
dims_of(const Op *view, int d)
{
	if (IMM(view, dropped) >> d & 1)
		return 0;
	return view_gathers(view, d) ? view_start(view, d)->type.rank : 1;
}

int
view_operand_dim(const Op *view, int d)
{
	int kept = 0;

	for (int i = 0; i < view_source(view)->type.rank; i++) {
		kept += dims_of(view, i);
		if (d < kept)
			return i;
	}
	return -1;
}

int
view_result_dim(const Op *view, int d)
{
	int kept = 0;

	if (IMM(view, dropped) >> d & 1)
		return -1;
	for (int i = 0; i < d; i++)
		kept += dims_of(view, i);
	return kept;
}

bool
view_gathers(const Op *view, int d)
{
	return view_start(view, d)->type.space == S_reg;
}

/* The first operand dim indexed by an index tile; -1: none. */
static int
first_gathered(const Op *view)
{
	for (int d = 0; view && view->code == O_view && d < view_source(view)->type.rank; d++)
		if (view_gathers(view, d))
			return d;
	return -1;
}

int
view_gather_dim(const Op *view)
{
	int d = first_gathered(view);

	return d < 0 ? -1 : view_result_dim(view, d); /* the first one is not dropped */
}

int
view_gather_rank(const Op *view)
{
	int d = first_gathered(view);

	return d < 0 ? 0 : view_start(view, d)->type.rank;
}

bool
view_is_gathered(const Op *view, int d)
{
	int first = view_gather_dim(view);

	return first >= 0 && d >= first && d < first + view_gather_rank(view);
}

int64_t
view_within(const Op *view, int d)
{
	int64_t extent = view->out[0]->type.shape[d];

	if (view->code != O_view || !view_source(view)->def || view_is_gathered(view, d))
		return extent;
	return min64(extent, view_source(view)->type.shape[view_operand_dim(view, d)]);
}

bool
view_is_longer(const Op *view)
{
	for (int d = 0; d < view->out[0]->type.rank; d++)
		if (view_within(view, d) < view->out[0]->type.shape[d])
			return true;
	return false;
}

/* The operands of a bounded view are its operand, the starts, the first indices and the ends. */
bool
view_is_bounded(const Op *view)
{
	return view->nin > IN_view_start + view_source(view)->type.rank;
}

static Val *
bound_of(const Op *view, int d, int part, int64_t open)
{
	int at = IN_view_start + part * view_source(view)->type.rank + d;
	Val *v = view_is_bounded(view) ? view->in[at] : NULL;
	int64_t c;

	return v && val_is_const(v, &c) && c == open ? NULL : v;
}

Val *
view_from(const Op *view, int d)
{
	return bound_of(view, d, 1, INT64_MIN);
}

Val *
view_below(const Op *view, int d)
{
	return bound_of(view, d, 2, INT64_MAX);
}

int64_t
view_step(const Op *view, int d)
{
	int64_t step = d + 1 < DIM_MAX ? IMM_AT(view, step, d) : 0; /* tensors do not have that many dims */

	return step ? step : 1;
}

int64_t
view_span(const Op *view, int d)
{
	int r = view_result_dim(view, d);

	return r < 0 ? 1 : (view_within(view, r) - 1) * view_step(view, d) + 1;
}

bool
view_has_steps(const Op *view)
{
	for (; view && view->code == O_view; view = view_source(view)->def)
		for (int d = 0; d < view_source(view)->type.rank; d++)
			if (view_step(view, d) != 1)
				return true;
	return false;
}
