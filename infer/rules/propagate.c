/* propagate.c - computes a layout for every register tile under a plan, with a worklist over ops.
 *
 * Layouts propagate from anchors (fragments of dots first, then coalesced accesses) along the rules of
 * layout_rules.c. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/core/contiguity.h"
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

/* Anchors pinned layouts, which come first. */
static void
anchor_pins(Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_pin)
			set_layout(s, s->order[i]->out[0], s->order[i]->out[0]->type.layout, s->order[i]);
}

static void
drain(Solve *s)
{
	for (int at = 0; at < s->nqueue; at++) {
		Op *o = s->queue[at];
		s->queued[o->id] = false;
		if (rule_of[o->code])
			rule_of[o->code](s, o);
	}
	s->nqueue = 0;
}

/* Returns the access with most bytes whose tile has no layout yet; NULL: none.  All before *from have one. */
static Op *
biggest_access(const Solve *s, int *from)
{
	for (; *from < s->naccess; (*from)++) {
		Op *o = s->access[*from];

		if (!s->sol->val[(o->code == O_load ? o->out[0] : store_value(o))->id])
			return o;
	}
	return NULL;
}

/* Distributes accesses of `vec` elements along order[0], or of fewer if that leaves fewer replicas: a row of
 * 11008 is 43 times what a warp accesses by 8 elements. */
static bool
spread(const Solve *s, const Type *t, const int *order, int64_t vec, Layout *out)
{
	bool outer = s->sol->plan.warp_major == WARPS_OUTER;
	int64_t most = type_size(t) / ((int64_t)WARP_SIZE * s->k->warps);
	int grain = dtype_grain(t->dtype);
	Layout l;

	if (!coalesced_layout(out, t->rank, t->shape, order, vec, s->k->warps, outer))
		return false;
	while (vec % 2 == 0 && vec * grain > 8 && vec / 2 <= most && layout_replicas(out) > 1) {
		vec /= 2;
		if (coalesced_layout(&l, t->rank, t->shape, order, vec, s->k->warps, outer) &&
		    layout_replicas(&l) < layout_replicas(out))
			*out = l;
	}
	return true;
}

/* The same, but a lane also owns contiguous elements along dim d: as many as it has accesses, or as many as
 * an access has.  If these are below 32 bits, accesses are shortened, down to 32 bits, to have more of them.
 * With `square` they are shortened, to whole bytes, until accesses and runs along d are fewest.  Returns
 * false if there are no such runs. */
static bool
spread_turned(const Solve *s, const Type *t, const int *order, int64_t vec, int d, bool square, Layout *out)
{
	int grain = dtype_grain(t->dtype);
	int64_t most = min64(pow2_part(t->shape[d]), 128 / grain);
	int64_t lane = type_size(t) / ((int64_t)WARP_SIZE * s->k->warps); /* elements per lane */
	Type fewer = *t;
	int64_t f;

	while (vec % 2 == 0 && vec * grain > 32 && min64(lane / vec, most) * grain < 32 && lane / vec < most)
		vec /= 2;
	while (square && vec % 2 == 0 && vec * grain > 8 && lane / vec < vec / 2 && lane / vec < most)
		vec /= 2;
	f = min64(most, pow2_part(max64(lane / vec, 1)));
	fewer.shape[d] /= f;
	if (f < 2 || (square && f * grain < 8) || !spread(s, &fewer, order, vec, out))
		return false;
	layout_scale(out, AX_reg, f);
	return layout_push_front(out, d, f, 1, AX_reg);
}

static bool
anchor_access(Solve *s, Op *o)
{
	Val *tile = o->code == O_load ? o->out[0] : store_value(o);
	Val *mem = o->code == O_load ? load_source(o) : store_dest(o);
	const Type *t = &tile->type;
	int order[DIM_MAX];
	int grain = dtype_grain(t->dtype);
	Layout l;
	int64_t vec;

	memory_order(s, mem, order);
	vec = t->rank ? t->shape[order[0]] : 1;
	if (mem->type.space == S_global)
		vec = max64(global_vec(s, mem->def, order[0], vec), lane_run(s, tile, order[0]));
	else
		vec = min64(pow2_part(vec), max64(ACCESS_BITS / grain, 1));
	/* too wide for every lane to have a part: lanes would repeat work */
	while (vec % 2 == 0 && vec * grain > 8 && type_size(t) < vec * WARP_SIZE * s->k->warps)
		vec /= 2;
	if (mem->type.space == S_global && grain < 32 && (o->code == O_load || !IMM(o, update))) {
		int turned = s->sol->plan.turned - 1, others = t->rank - 1;

		s->turnable = s->turnable || turned + 1 < 2 * others;
		if (turned >= 0 && turned < 2 * others &&
		    spread_turned(s, t, order, vec, order[1 + turned % others], turned >= others, &l))
			return set_layout(s, tile, &l, o);
	}
	if (!spread(s, t, order, vec, &l))
		return false;
	return set_layout(s, tile, &l, o);
}

static void
anchor_dot(Solve *s, Op *o, const DotChoice *c)
{
	/* the accumulator first: it is live longest, so others convert to it */
	set_result(s, o, 0, &c->c);
	require_operand(s, o, 2, &c->c);
	if (o->code == O_wgmma) {
		for (int i = 0; i < 2; i++)
			if (is_reg(o->in[i]))
				require_operand(s, o, i, i ? &c->b : &c->a);
		return;
	}
	require_operand(s, o, 0, &c->a);
	require_operand(s, o, 1, &c->b);
	if (dot_is_sparse(o))
		require_operand(s, o, 3, &c->e[0]);
	for (int i = 0; i < 2 && dot_is_scaled(o); i++)
		require_operand(s, o, 3 + i, &c->e[i]);
}

/* Anchors indices of copies as the copies require: their mapping does not depend on other layouts, and copies
 * run in the innermost loops. */
static void
anchor_indices(Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		InstrKind kind;
		Layout map;
		int64_t vec;

		if (o->code != O_copy || !copy_source(o)->def || view_gather_dim(copy_source(o)->def) < 0 ||
		    !copy_map(s, o, &map, &vec, &kind))
			continue;
		require_indices(s, copy_source(o), &map);
		drain(s);
	}
}

/* Is o, which moves elements along a dim, still without layouts? */
static bool
is_open_line(const Solve *s, const Op *o)
{
	return (o->code == O_shift || o->code == O_slice || o->code == O_concat) &&
	       !known_layout(s, o->in[0]) && !known_layout(s, o->out[0]);
}

/* Anchors the largest tiles first, as smaller ones derive from them and are cheaper to convert; of equal ones
 * those of shifts. */
static void
anchor_lines(Solve *s)
{
	for (;;) {
		Op *best = NULL;
		int64_t most = 0;

		for (int i = 0; i < s->norder; i++) {
			Op *o = s->order[i];
			int64_t size;

			if (!is_open_line(s, o))
				continue;
			size = 2 * max64(type_size(&o->in[0]->type), type_size(&o->out[0]->type));
			size += o->code == O_shift;
			if (size > most) {
				most = size;
				best = o;
			}
		}
		if (!best)
			return;
		if (best->code == O_shift)
			anchor_shift(s, best);
		else
			anchor_pieces(s, best);
		drain(s);
		if (is_open_line(s, best))
			return;
	}
}

static bool
anchor_packed(Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		if (!(o->code == O_unpack && !known_layout(s, o->out[0])) &&
		    !(o->code == O_pack && !known_layout(s, pack_source(o))))
			continue;
		if (!anchor_unpack(s, o))
			s->unpackable = o;
		drain(s);
	}
	if (s->unpackable)
		infer_error(s, s->unpackable->src, "the blocks of `%s` cannot be distributed over %d warps",
		            val_param(s->k, pack_tensor(s->unpackable))->name, s->k->warps);
	return !s->unpackable;
}

static bool
anchor_accesses(Solve *s)
{
	int next = 0;

	for (Op *o; (o = biggest_access(s, &next)) != NULL; drain(s))
		if (!anchor_access(s, o)) {
			infer_error(s, o->src, "the tile cannot be distributed over %d warps", s->k->warps);
			return false;
		}
	return true;
}

static bool
all_known(Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		for (int j = 0; j < s->order[i]->nout; j++) {
			const Val *v = s->order[i]->out[j];

			if (is_reg(v) && !known_layout(s, v)) {
				infer_error(s, s->order[i]->src,
						"no layout satisfies the constraints on this tile");
				return false;
			}
		}
	return true;
}

bool
propagate_layouts(Solve *s)
{
	anchor_pins(s);
	drain(s);
	anchor_indices(s);
	for (int i = 0; i < s->ndot; i++) {
		anchor_dot(s, s->dot[i], s->sol->plan.dot[i]);
		drain(s);
	}
	if (s->sol->plan.line == LINE_FIRST)
		anchor_lines(s);
	if (!anchor_packed(s) || !anchor_accesses(s))
		return false;
	/* from results of reductions back to their operands, the last reductions first */
	for (int i = s->norder - 1; i >= 0; i--)
		if (rule_backward(s, s->order[i]))
			drain(s);
	/* unconstrained: reductions of reductions, constants, unread carried values */
	for (int i = 0; i < s->norder; i++)
		if (rule_backward(s, s->order[i]) || rule_default(s, s->order[i]))
			drain(s);
	return all_known(s);
}
