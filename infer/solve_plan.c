/* solve_plan.c - solves one plan: collects the kernel's properties, computes a complete solution under the
 * plan's choices, and predicts its cost. */
#include "infer/core/smem_atom.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/grid_dependence.h"
#include "infer/core/sm_throughput.h"
#include "infer/core/tile_origin.h"
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"
#include "infer/search.h"
#include <string.h>

/* ---- constant during the search ------------------------------------------------------------------- */

/* Returns an upper bound of the trip count; UNKNOWN_TRIPS: unknown. */
static double
most_trips(Kernel *k, const Op *loop)
{
	int64_t lo, hi, step;
	Fact f = val_fact(k, for_hi(loop));

	if (for_step(loop)->def && for_step(loop)->def->code == O_linear_block_id)
		return 1; /* persistent loop: one iteration per block of the grid */
	if (val_is_const(for_step(loop), &step) && step > 0 && val_is_const(for_lo(loop), &lo)) {
		if (val_is_const(for_hi(loop), &hi))
			return hi > lo ? (double)(ceil_div(hi - lo, step)) : 0;
		if (f.hi - lo < UNKNOWN_TRIPS * step)
			return (double)(f.hi - lo) / (double)step;
	}
	return UNKNOWN_TRIPS;
}

double
loop_trips(Kernel *k, const Op *loop)
{
	double most = most_trips(k, loop);

	return loop_ends_early(loop) && most > UNKNOWN_TRIPS ? UNKNOWN_TRIPS : most;
}

static void
note_val(Solve *s, Val *v)
{
	s->vals[v->id] = v;
}

static void
walk_block(Solve *s, Block *b, double weight)
{
	for (int i = 0; i < b->narg; i++)
		note_val(s, b->arg[i]);
	for (Op *o = b->first; o; o = o->next) {
		s->op[o->id] = o;
		s->weight[o->id] = weight;
		s->order[s->norder++] = o;
		for (int i = 0; i < o->nout; i++)
			note_val(s, o->out[i]);
		for (int i = 0; i < o->nin; i++)
			s->nuse[o->in[i]->id]++;
		if (o->code == O_dot || o->code == O_wgmma) {
			s->dot_at[o->id] = s->ndot;
			s->dot[s->ndot++] = o;
		}
		if (o->code == O_for)
			walk_block(s, o->blk[0], weight * loop_trips(s->k, o));
		else
			for (int i = 0; i < 2; i++)
				if (o->blk[i])
					walk_block(s, o->blk[i], weight);
	}
}

static void
find_uses(Solve *s)
{
	for (uint32_t v = 0; v <= s->k->nval; v++) {
		s->use[v] = s->nuse[v] ? NEWN(s->arena, OperandUse, s->nuse[v]) : NULL;
		s->nuse[v] = 0;
	}
	for (int i = 0; i < s->norder; i++)
		for (int j = 0; j < s->order[i]->nin; j++) {
			uint32_t v = s->order[i]->in[j]->id;
			s->use[v][s->nuse[v]++] = (OperandUse){ s->order[i], j };
		}
}

/* Returns the dim along which a tile with a pinned layout is contiguous; else the last dim. */
static int
pinned_unit(const Type *t)
{
	for (int d = 0; t->pinned && d < t->rank; d++)
		if (dim_digits(t->layout, d).it && dim_digits(t->layout, d).it->stride == 1)
			return d;
	return t->rank - 1;
}

/* Returns the dim of a reshaped tile whose row-major stride equals that of the tile's contiguous dim; -1:
 * none. */
static int
alias_unit(const Solve *s, const Op *o)
{
	const Type *t = &op_source(o)->type, *r = &o->out[0]->type;
	int unit = s->unit[op_source(o)->id];
	int64_t weight = 1, at = 1;

	for (int d = t->rank - 1; d > unit; d--)
		weight *= t->shape[d];
	for (int d = r->rank - 1; d >= 0 && unit >= 0; d--) {
		if (at == weight && r->shape[d] > 1)
			return d;
		at *= r->shape[d];
	}
	return -1;
}

/* Chooses the contiguous dim of each shared tile: the one that is contiguous in the source of its copies,
 * else the last. */
static void
find_units(Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_alloc)
			s->unit[s->order[i]->out[0]->id] = pinned_unit(&s->order[i]->out[0]->type);
	for (int i = s->norder - 1; i >= 0; i--) {
		Op *o = s->order[i];
		int src, dim_of[DIM_MAX];
		Val *root, *mem;

		if (o->code != O_copy)
			continue;
		root = view_dims(copy_side(o, S_shared), dim_of);
		mem = copy_side(o, S_global);
		if (root->type.pinned || val_is_alias(root))
			continue;
		src = mem->def ? view_unit_dim(s->k, mem->def) : mem->type.rank - 1;
		if (src >= 0)
			s->unit[root->id] = dim_of[src];
	}
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->nout == 1 && val_is_alias(s->order[i]->out[0]))
			s->unit[s->order[i]->out[0]->id] = alias_unit(s, s->order[i]);
}

/* Does o compute a value elementwise, without carried ones, as pass pipeline does for the next iteration? */
static bool
computes_ahead(const Op *o)
{
	bool ahead = o->nout == 1 && (op_is(o, F_ELT) || o->code == O_splat);

	for (int i = 0; i < o->nin; i++)
		ahead = ahead && o->in[i]->def;
	return ahead;
}

typedef enum IterationUse { USE_UNKNOWN, USE_NOW, USE_LATER } IterationUse;

/* Is v only passed to the next iteration of a loop, or what is computed from it? `known`, by value id: what
 * was found before, since a value may be reached in many ways. */
static bool
only_carried(const Solve *s, IterationUse *known, const Val *v)
{
	bool carried = s->nuse[v->id] > 0;

	if (known[v->id] != USE_UNKNOWN)
		return known[v->id] == USE_LATER;
	for (int i = 0; i < s->nuse[v->id] && carried; i++) {
		const OperandUse *u = &s->use[v->id][i];
		const Op *owner = u->op->parent->owner;

		if (u->op->code == O_yield)
			carried = owner && (owner->code == O_for || only_carried(s, known, owner->out[u->i]));
		else
			carried = computes_ahead(u->op) && only_carried(s, known, u->op->out[0]);
	}
	known[v->id] = carried ? USE_LATER : USE_NOW;
	return carried;
}

static void
find_prefetched(Solve *s)
{
	IterationUse *known = NEWN(s->arena, IterationUse, s->k->nval + 1);

	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];

		if (o->code == O_load && load_source(o)->type.space == S_global)
			s->prefetched[o->id] = only_carried(s, known, o->out[0]);
	}
}

void
solve_init(Solve *s, Kernel *k, const VariantChoices *spaces)
{
	size_t nv = k->nval + 1, no = k->nop + 1;

	s->k = k;
	s->spaces = spaces;
	s->arena = k->unit->arena;
	s->rates = rates_of(k->unit->target);
	s->op = NEWN(s->arena, Op *, no);
	s->order = NEWN(s->arena, Op *, no);
	s->vals = NEWN(s->arena, Val *, nv);
	s->use = NEWN(s->arena, OperandUse *, nv);
	s->nuse = NEWN(s->arena, int, nv);
	s->weight = NEWN(s->arena, double, no);
	s->prefetched = NEWN(s->arena, bool, no);
	s->unit = NEWN(s->arena, int, nv);
	s->dot = NEWN(s->arena, Op *, no);
	s->dot_at = NEWN(s->arena, int, no);
	s->queued = NEWN(s->arena, bool, no);
	forget_views(s);
	forget_casts(s);
	forget_pieces(s);
	s->dims = grid_dims(k);
	s->under_way = products_under_way(k);
	walk_block(s, k->body, 1);
	find_uses(s);
	find_prefetched(s);
	live_init(s);
	find_units(s);
	find_origins(s);
	find_accesses(s);
	find_runs(s);
	find_told(s);
}

/* Lays out the tables of a solution of s->k in one memory block at `room`.  Returns its size in bytes; room
 * NULL: only measures. */
#define TABLE(of, n) ((of) = room ? (void *)(room + bytes) : NULL, bytes += (n) * sizeof *(of))
static size_t
lay_tables(const Solve *s, LayoutSolution *sol, char *room)
{
	size_t nv = s->k->nval + 1, no = s->k->nop + 1, bytes = 0;
	struct {
		const Layout **want, **made;
		Lowering **conv, **mconv;
	} of;

	TABLE(sol->res, no); /* must be first: solution_drop() derives `room` from it */
	TABLE(sol->val, nv);
	TABLE(sol->origin, nv);
	TABLE(sol->want, no);
	TABLE(sol->conv, no);
	TABLE(sol->made, no);
	TABLE(sol->mconv, no);
	TABLE(sol->lowering, no);
	TABLE(sol->form, nv);
	TABLE(sol->pack, (size_t)s->k->nparam + 1);
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];

		TABLE(of.want, (size_t)o->nin + 1);
		TABLE(of.conv, (size_t)o->nin + 1);
		TABLE(of.made, (size_t)o->nout + 1);
		TABLE(of.mconv, (size_t)o->nout + 1);
		if (!room)
			continue;
		sol->want[o->id] = of.want;
		sol->conv[o->id] = of.conv;
		sol->made[o->id] = of.made;
		sol->mconv[o->id] = of.mconv;
	}
	TABLE(sol->bit_order, nv);
	return bytes;
}
#undef TABLE

static LayoutSolution *
sol_new(Solve *s, const SearchPlan *plan)
{
	LayoutSolution *sol = NEW(s->arena, LayoutSolution);
	char *room = s->room;

	if (!s->room_size)
		s->room_size = lay_tables(s, sol, NULL);
	if (room)
		memset(room, 0, s->room_size);
	else
		room = NEWN(s->arena, char, s->room_size);
	s->room = NULL;
	lay_tables(s, sol, room);
	sol->k = s->k;
	sol->spaces = s->spaces;
	sol->plan = *plan;
	return sol;
}

void
solution_drop(Solve *s)
{
	s->room = (char *)s->sol->res;
	s->sol = NULL;
}

/* ---- one plan ------------------------------------------------------------------------------------- */

/* Returns the conversion of operand j of o; one to an equal layout for an earlier op is reused. */
static Lowering *
convert_operand(Solve *s, const Conversion **done, const Op *o, int j)
{
	const Val *v = o->in[j];
	const Layout *to = s->sol->want[o->id][j];
	Conversion *c;

	for (const Conversion *x = done[v->id]; x; x = x->next)
		if (block_inside(o->parent, x->b) && layout_equal(x->to, to))
			return x->how;
	c = NEW(s->arena, Conversion);
	*c = (Conversion){ to, o->parent, NULL, done[v->id] };
	c->how = lowering_convert(s, &v->type, s->sol->val[v->id], to, &s->sol->res[o->id]);
	done[v->id] = c;
	return c->how;
}

static Lowering *
lowering_dot(Solve *s, const Op *o)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[o->id]];
	Lowering *p = NEW(s->arena, Lowering);

	p->kind = LW_dot;
	p->dot.inst = c->inst->name;
	p->dot.n = c->n;
	p->dot.swap = c->swap;
	p->dot.rows = c->side[0];
	p->dot.cols = c->side[1];
	p->dot.k = c->order;
	for (int i = 0; o->code == O_wgmma && i < 2; i++) {
		const Val *tile = view_root(o->in[i]);
		int outer = tile->type.rank - o->in[i]->type.rank;

		if (tile->type.space == S_shared)
			p->dot.matrix[c->swap ? 1 - i : i] =
				form_matrix(s->sol->form[tile->id], &tile->type,
			                    outer + 1 - wgmma_k_dim(o, i));
	}
	return p;
}

static void
cost_conversions(Solve *s)
{
	const Conversion **done = NEWN(s->arena, const Conversion *, s->k->nval + 1);

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		for (int j = 0; j < o->nin; j++) {
			if (s->sol->want[o->id][j] && !wanted_as_made(s, o, j))
				s->sol->conv[o->id][j] = convert_operand(s, done, o, j);
		}
		for (int j = 0; j < o->nout; j++)
			if (s->sol->made[o->id][j])
				s->sol->mconv[o->id][j] = lowering_convert(s, &o->out[j]->type,
				                                           s->sol->made[o->id][j],
				                                           s->sol->val[o->out[j]->id],
				                                           &s->sol->res[o->id]);
		if (o->code == O_dot || o->code == O_wgmma)
			s->sol->lowering[o->id] = lowering_dot(s, o);
		if (op_is(o, F_REDUCE))
			s->sol->lowering[o->id] = lowering_reduce(s, o, &s->sol->res[o->id]);
	}
}

/* Are accumulators of asynchronous wgmmas left in their registers while in flight?  A conversion is possible
 * only after the wait, which must be in the same block as the wgmma. */
static bool
sums_stay(Solve *s)
{
	for (int i = 0; s->under_way && i < s->norder; i++) {
		const Op *o = s->order[i];
		bool moved = o->code == O_wgmma && s->sol->made[o->id][0] &&
		             result_place(o)->prev->code != O_wgmma_wait;

		for (int j = 0; j < o->nin && j < UNDER_WAY_MOST; j++)
			moved |= s->under_way[o->id] >> j & 1 && s->sol->want[o->id][j] &&
			         !wanted_as_made(s, o, j);
		if (moved) {
			infer_error(s, o->src, "the accumulator of an asynchronous MMA in flight is "
			                       "required in another layout; wait for it first");
			return false;
		}
	}
	return true;
}

LayoutSolution *
solve_plan(Solve *s, const SearchPlan *plan)
{
	bool (*const stage[])(Solve *) = { propagate_layouts, pins_hold, registers_of_producers,
		                           registers_fit, select_memory, pins_hold, sums_stay };

	s->sol = sol_new(s, plan);
	s->nqueue = 0;
	s->failure = (Failure){ .text = NULL };
	s->load_matters = s->narrow = s->turnable = false;
	s->unpackable = NULL;
	for (size_t i = 0; i < COUNT_OF(stage); i++)
		if (!stage[i](s)) {
			s->failure.stage = (int)i;
			return NULL;
		}
	settle_packs(s);
	cost_conversions(s);
	s->sol->smem = solution_smem(s);
	cost_block(s);
	for (int i = 0; i < s->norder; i++)
		if (s->sol->lowering[s->order[i]->id])
			s->sol->lowering[s->order[i]->id]->cost = res_cycles(&s->sol->res[s->order[i]->id]);
	s->sol->what = solution_describe(s, s->sol);
	return s->sol;
}
