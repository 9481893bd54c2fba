/* version_conditions.c - collects for pass version_accesses the run-time conditions under which accesses are
 * wide, or tiles in bounds. */
#include "hexc/analysis/value_range.h"
#include "hexc/pass/version_accesses.h"

/* Maximum depth of ops followed to the sizes that determine a start. */
enum { START_DEPTH = 6 };

Op *
run_next(const OpRange *r, const Op *o)
{
	return o == r->last || !o->next || o->next->code == O_yield ? NULL : o->next;
}

Op *
moved_by(const Op *o)
{
	const Val *mem = o->code == O_load || o->code == O_copy     ? o->in[0]
	                 : o->code == O_store && !IMM(o, update) ? store_dest(o)
	                                                         : NULL;

	if (mem && mem->def && view_is_longer(mem->def))
		mem = view_source(mem->def); /* it starts and ends there */
	if (!mem || mem->type.space != S_global || mem->type.rank == 0 || !mem->def ||
	    mem->def->code != O_view || view_source(mem->def)->def)
		return NULL;
	return mem->def;
}

bool
is_before(const OpRange *r, const Val *v)
{
	if (!v->def)
		return v->block == r->k->body;
	return v->def->id < r->n && r->before[v->def->id];
}

static bool
is_multiple(const OpRange *r, const Op *view, const Val *v, int64_t by)
{
	return val_fact_at(r->k, view, v).mult % by == 0;
}

static bool
ask_multiple(const OpRange *r, Asked *a, Val *v, int64_t by)
{
	int i = 0;

	while (i < a->nmult && a->mult[i].v != v)
		i++;
	if (i == ASKED_MAX || !is_before(r, v))
		return false;
	if (i == a->nmult)
		a->mult[a->nmult++] = (Multiple){ v, by };
	else if (by > a->mult[i].by)
		a->mult[i].by = by;
	return true;
}

/* Adds the condition that dim d of the view is in bounds at its end. Not useful if the view may start below
 * 0. */
static bool
ask_room(const OpRange *r, Asked *a, const Op *view, int d)
{
	int i = 0;
	Room x = { view_start(view, d), view_end(r->k, view, d), view_span(view, d) };

	if (!is_before(r, x.start) || !is_before(r, x.size) || val_fact(r->k, x.start).lo < 0)
		return false;
	while (i < a->nroom && (a->room[i].start != x.start || a->room[i].size != x.size))
		i++;
	if (i == ASKED_MAX)
		return false;
	if (i == a->nroom)
		a->room[a->nroom++] = x;
	else if (x.extent > a->room[i].extent)
		a->room[i].extent = x.extent;
	return true;
}

static void
ask_inside(const OpRange *r, Asked *a, const Op *view)
{
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (!view_operand_in_bounds(r->k, view, d))
			ask_room(r, a, view, d);
}

/* Elements of the widest access along dim `unit` of a tile; 1 if a thread has fewer than two elements. */
static int64_t
widest(const Kernel *k, const Type *t, int unit)
{
	if (unit < 0 || type_size(t) < (int64_t)2 * k->warps * WARP_SIZE)
		return 1;
	return min64(pow2_part(t->shape[unit]), dtype_most(t->dtype));
}

/* Is v equal in all blocks? Returns false beyond `depth` ops. */
static bool
is_of_sizes(const Kernel *k, const Val *v, int depth)
{
	const Op *o = v->def;

	if (!o)
		return v->block == k->body;
	if (depth == 0 || !op_is(o, F_PURE) || op_is(o, F_MEM) || o->code == O_block_id ||
	    o->code == O_linear_block_id || o->code == O_block_in_grid)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!is_of_sizes(k, o->in[i], depth - 1))
			return false;
	return true;
}

/* Adds conditions under which v, a term of the view's start, is a multiple of `by`: on the sizes that
 * determine it. Returns false if that is not possible; collected conditions are then useless. */
static bool
ask_start(const OpRange *r, Asked *a, const Op *view, Val *v, int64_t by)
{
	const Op *o = v->def;
	Asked before = *a;
	int64_t c;

	if (val_is_const(v, &c) || is_multiple(r, view, v, by))
		return is_multiple(r, view, v, by);
	a->starts = true;
	if (is_of_sizes(r->k, v, START_DEPTH))
		return ask_multiple(r, a, v, by);
	if (o && (o->code == O_add || o->code == O_sub) && ask_start(r, a, view, elt_lhs(o), by) &&
	    ask_start(r, a, view, elt_rhs(o), by))
		return true;
	*a = before;
	for (int i = 1; o && o->code == O_mul && i >= 0; i--)
		if (ask_start(r, a, view, o->in[i], by))
			return true;
	*a = before;
	return false;
}

/* Adds conditions under which accesses by the view are as wide as its tile allows. Returns false if no
 * condition helps. */
static bool
ask_wide(const OpRange *r, Asked *a, const Op *view)
{
	const Param *p = val_param(r->k, view_source(view));
	int unit = view_unit_dim(r->k, view), end = unit < 0 ? -1 : view_operand_dim(view, unit);
	int64_t vec = widest(r->k, &view->out[0]->type, unit), at;

	while (vec > 1 && !ask_start(r, a, view, view_start(view, end), vec))
		vec /= 2;
	if (vec == 1)
		return false;
	for (int d = 0; d < view_source(view)->type.rank; d++) {
		if (d == end || is_multiple(r, view, p->stride[d], vec))
			continue;
		a->strides = true;
		if (!ask_multiple(r, a, p->stride[d], vec))
			return false;
	}
	if (view_in_bounds(r->k, view, unit) || is_multiple(r, view, view_end(r->k, view, end), vec))
		return true;
	/* with a constant start it is in bounds in every block or in none */
	a->no_room |= val_is_const(view_start(view, end), &at) || !ask_room(r, a, view, end);
	return ask_multiple(r, a, view_end(r->k, view, end), vec);
}

static void ask_block(const OpRange *r, Asked *a, const Op *first, VersionGoal wish);

void
ask_op(const OpRange *r, Asked *a, const Op *o, VersionGoal wish)
{
	const Op *view = moved_by(o);
	Asked more = *a;

	if (view && wish == INSIDE)
		ask_inside(r, a, view);
	else if (view && ask_wide(r, &more, view))
		*a = more;
	for (int i = 0; i < 2; i++)
		if (o->blk[i])
			ask_block(r, a, o->blk[i]->first, wish);
}

static void
ask_block(const OpRange *r, Asked *a, const Op *first, VersionGoal wish)
{
	for (const Op *o = first; o; o = o->next)
		ask_op(r, a, o, wish);
}

void
ask_run(const OpRange *r, Asked *a, VersionGoal wish)
{
	facts_keep(r->k);
	for (const Op *o = r->first; o; o = run_next(r, o))
		ask_op(r, a, o, wish);
	facts_drop(r->k);
}
