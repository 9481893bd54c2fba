/* pinned_layouts.c - verifies that pinned layouts do not conflict with the constraints of other ops.
 *
 * A pinned layout propagates like any other constraint, but no conversion is inserted for it.  If another
 * constraint conflicts with it, the plan fails, unless the program contains a relayout() in between. */
#include "infer/core/cost_constants.h"
#include "infer/rules/layout_rules.h"

static bool
is_pin(const Op *o)
{
	return o && o->code == O_pin;
}

/* Returns the first element with different owners; -1: the layouts differ in replication only. */
static int64_t
first_difference(const Layout *a, const Layout *b, const Type *t)
{
	for (int64_t e = 0; e < type_size(t); e++) {
		int64_t c[DIM_MAX] = { 0 };
		Coord p, q;

		type_coord(t, e, c);
		p = layout_at(a, c);
		q = layout_at(b, c);
		if (p.at[AX_reg] != q.at[AX_reg] || p.at[AX_lane] != q.at[AX_lane] ||
		    p.at[AX_warp] != q.at[AX_warp])
			return e;
	}
	return -1;
}

/* Returns a distance from 0 to 2048: elements in other threads count twice those in other registers. */
static int64_t
distance(const Layout *a, const Layout *b, const Type *t)
{
	int64_t n = type_size(t), tried = n < PIN_SAMPLES ? n : PIN_SAMPLES, sum = 0;

	for (int64_t i = 0; i < tried; i++) {
		int64_t c[DIM_MAX] = { 0 };
		Coord p, q;

		type_coord(t, i * n / tried, c);
		p = layout_at(a, c);
		q = layout_at(b, c);
		if (p.at[AX_lane] != q.at[AX_lane] || p.at[AX_warp] != q.at[AX_warp])
			sum += 2;
		else if (p.at[AX_reg] != q.at[AX_reg])
			sum++;
	}
	return sum * PIN_SAMPLES / tried;
}

/* Describes op `who` as the subject of "... requires it in register 0 of lane 1". */
static const char *
demand_words(Solve *s, const Op *who)
{
	Arena *a = s->arena;

	if (who->code == O_dot) {
		const DotChoice *c = s->sol->plan.dot[s->dot_at[who->id]];
		return arena_printf(a, "the dot in line %u, by %s%s on %dx%d warps,", who->src.line,
		                    c->inst->name, c->swap ? " swapped" : "", c->wm, c->wn);
	}
	if (is_pin(who))
		return arena_printf(a, "the pin of %s in line %u", tile_words(s, who->out[0]), who->src.line);
	return arena_printf(a, "the %s in line %u", op_info[who->code].name, who->src.line);
}

/* Reports that `pin` requires tile v in layout `ours`, but `other` in `theirs`. */
static void
conflict(Solve *s, const Val *v, const Op *pin, const Layout *ours, const Op *other, const Layout *theirs)
{
	const Type *t = &v->type;
	int64_t e = first_difference(ours, theirs, t);
	bool itself = v == pin->out[0] || v == op_source(pin);
	const char *pin_it = arena_printf(s->arena, "pin %s%s", itself ? "" : "it so that this tile is ",
	                                  layout_print(s->arena, theirs));
	const char *name = tile_words(s, pin->out[0]), *cut;
	const char *them = demand_words(s, other);

	cut = other->src.line != pin->src.line
	              ? arena_printf(s->arena, "put `relayout(...)` between lines %u and %u",
	                             pin->src.line < other->src.line ? pin->src.line : other->src.line,
	                             pin->src.line < other->src.line ? other->src.line : pin->src.line)
	              : "put `relayout(...)` between the two";
	if (e < 0)
		infer_error(s, pin->src,
		      "the pinned layout of %s gives %s the layout %s, but %s requires another "
		      "replication; %s, remove the pin, or %s",
		            name, type_print(s->arena, t), layout_print(s->arena, ours), them, pin_it, cut);
	else
		infer_error(s, pin->src,
		            "the pinned layout of %s puts element %s of %s into %s, but %s has it in %s; "
		            "%s, remove the pin, or %s",
		            name, elem_words(s, t, e), type_print(s->arena, t), coord_text(s, ours, t, e),
		            them, coord_text(s, theirs, t, e), pin_it, cut);
	infer_error_note(s, other->src, "%s requires %s to have layout %s", them, type_print(s->arena, t),
	                 layout_print(s->arena, theirs));
	s->failure.excess = distance(ours, theirs, t);
}

/* Returns the op that determined the layouts of o's operands: a pin if there is one. */
static const Op *
cause_of_operands(const Solve *s, const Op *o)
{
	const Op *cause = NULL;

	if (o->code == O_dot)
		return o;
	for (int i = 0; i < o->nin; i++) {
		const Op *x = s->sol->origin[o->in[i]->id];
		if (x && (!cause || is_pin(x)))
			cause = x;
	}
	return cause ? cause : o;
}

/* Returns the op whose constraint operand i of o has: for a yield that of its region op's result, for indices
 * the access through their view. */
static const Op *
cause_of_demand(const Solve *s, const Op *o, int i)
{
	const Op *who = NULL;

	if (o->code == O_yield && o->parent->owner)
		who = s->sol->origin[o->parent->owner->out[i]->id];
	if (o->code == O_view && s->nuse[o->out[0]->id]) {
		const Op *access = s->use[o->out[0]->id][0].op;
		who = access->code == O_load ? s->sol->origin[access->out[0]->id] : access;
	}
	return who ? who : first_cause(s, o);
}

static bool
operand_holds(Solve *s, Op *o, int i)
{
	const Layout *want = s->sol->want[o->id][i], *have = s->sol->val[o->in[i]->id];
	const Op *from = s->sol->origin[o->in[i]->id], *to = cause_of_demand(s, o, i);
	Val *v = o->in[i];

	if (!want || !have || o->code == O_relabel_layout || (!is_pin(from) && !is_pin(to)))
		return true;
	if (is_pin(to) && (!is_pin(from) || from->src.line > to->src.line))
		conflict(s, v, to, want, from ? from : o, have);
	else
		conflict(s, v, from, have, to == from ? o : to, want);
	return false;
}

static bool
result_holds(Solve *s, Op *o, int i)
{
	const Layout *made = s->sol->made[o->id][i], *have = s->sol->val[o->out[i]->id];
	const Op *to = s->sol->origin[o->out[i]->id], *from = cause_of_operands(s, o);

	if (!made || !have || o->code == O_load || (!is_pin(from) && !is_pin(to)))
		return true;
	if (is_pin(to))
		conflict(s, o->out[i], to, have, from == to ? o : from, made);
	else
		conflict(s, o->out[i], from, made, to ? to : o, have);
	return false;
}

bool
pins_hold(Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		for (int j = 0; j < o->nin; j++)
			if (o->in[j]->type.space == S_reg && !operand_holds(s, o, j))
				return false;
		for (int j = 0; j < o->nout; j++)
			if (o->out[j]->type.space == S_reg && !result_holds(s, o, j))
				return false;
	}
	return true;
}
