/* loop_split.c - pass_validate_loop_split: validates that each main loop made by pass split_loops, without
 * masks, equals its remainder loop, with masks.
 *
 * The loops are compared op by op (loop_split_body.c). What the main loop lacks must be redundant in all
 * its iterations (redundant_masks.c), and the remainder must continue where it ends. */
#include "infer/validate/loop_split.h"
#include "hexc/analysis/analysis.h"

bool
split_wrong(Pair *x, const char *what)
{
	return prove_error(x->p, -1, 0, "split loop: %s", what);
}

/* ---- consecutive loops ----------------------------------------------------------------------- */

/* Returns the value q with q * step = x; NULL if x has no such form. */
static const Val *
factor_of_step(const LinearForm *x, const Val *step)
{
	const Op *o = x->ok && x->n == 1 && x->c == 0 ? x->v[0]->def : NULL;
	int64_t c;

	if (o && val_is_const(step, &c))
		return x->k[0] == c ? x->v[0] : NULL;
	return o && x->k[0] == 1 && o->code == O_mul && elt_rhs(o) == step ? elt_lhs(o) : NULL;
}

/* Returns the other operand of o, which must have this code and an operand x; NULL if there is none. */
static const Val *
beside(const Op *o, OpCode code, const Val *x)
{
	if (!o || o->code != code)
		return NULL;
	return elt_lhs(o) == x ? elt_rhs(o) : code != O_sub && elt_rhs(o) == x ? elt_lhs(o) : NULL;
}

/* Is o literally lo + (end - lo + (step - 1)) / step * step? With a step known only at run time, range
 * analysis cannot exclude an overflow in it. If one occurs, lo + step overflows as well, and with it the
 * loop's own counter. */
static bool
ends_as_written(const Op *loop, const Op *o)
{
	const Val *lo = for_lo(loop), *step = for_step(loop), *x = beside(o, O_add, lo), *less;
	int64_t one;

	x = x && x->def && x->def->code == O_mul && elt_rhs(x->def) == step ? elt_lhs(x->def) : NULL;
	x = x && x->def && x->def->code == O_div && elt_rhs(x->def) == step ? elt_lhs(x->def) : NULL;
	o = x ? x->def : NULL;
	if (!o || o->code != O_add || !elt_lhs(o)->def || elt_lhs(o)->def->code != O_sub)
		return false;
	less = beside(elt_rhs(o)->def, O_sub, step);
	return less && val_is_const(less, &one) && one == 1 && elt_lhs(elt_lhs(o)->def) == for_hi(loop) &&
	       elt_rhs(elt_lhs(o)->def) == lo;
}

/* Is v the end of a loop from lo to end by step: lo + (end - lo + step - 1) / step * step, or lo? */
static bool
is_behind(Kernel *k, const Op *loop, const Val *v)
{
	const Op *o = v->def;
	const Val *lo = for_lo(loop), *step = for_step(loop), *q;
	LinearForm start = affine_of(k, lo), want, n;
	int64_t c, from, to, at;

	if (val_is_const(lo, &from) && val_is_const(for_hi(loop), &to) && val_is_const(step, &c) && c > 0 &&
	    val_is_const(v, &at))
		return at == from + (to > from ? ceil_div(to - from, c) * c : 0);
	if (!o || o->code != O_max || (elt_lhs(o) != lo && elt_rhs(o) != lo))
		return false;
	if (ends_as_written(loop, (elt_lhs(o) == lo ? elt_rhs(o) : elt_lhs(o))->def))
		return true;
	n = affine_add(affine_of(k, elt_lhs(o) == lo ? elt_rhs(o) : elt_lhs(o)), start, -1);
	want = affine_add(affine_of(k, for_hi(loop)), start, -1);
	if (val_is_const(step, &c) && c == 1)
		return affine_equal(&n, &want);
	q = factor_of_step(&n, step);
	if (!q || !q->def || q->def->code != O_div || elt_rhs(q->def) != step)
		return false;
	want = affine_add(affine_add(want, affine_of(k, step), 1), affine_const(1), -1);
	n = affine_of(k, elt_lhs(q->def));
	return affine_equal(&n, &want);
}

/* Does the main loop end no later than the original one? Its end is a select with its start, or a minimum. */
static bool
ends_inside(Pair *x, const Val *end)
{
	const Op *o = end->def;
	LinearForm room;
	Known nothing = { .k = x->p->k };

	if (o && o->code == O_select && select_no(o) == for_lo(x->clear))
		return ends_inside(x, select_yes(o));
	if (o && o->code == O_min && (ends_inside(x, elt_lhs(o)) || ends_inside(x, elt_rhs(o))))
		return true;
	room = affine_add(affine_of(x->p->k, for_hi(x->rest)), affine_of(x->p->k, end), -1);
	return known_implies(&nothing, &room);
}

/* Validates that loop b continues where a ends, with a's results. */
static bool
goes_on(Pair *x, const Op *a, const Op *b)
{
	if (!b || b->code != O_for)
		return split_wrong(x, "the remainder loop is missing");
	if (for_step(b) != for_step(a) || b->nout != a->nout || !is_behind(x->p->k, a, for_lo(b)))
		return split_wrong(x, "the remainder loop does not start where the unmasked loop ends");
	for (int i = 0; i < a->nout; i++)
		if (for_init(b, i) != a->out[i])
			return split_wrong(x, "the remainder loop does not continue with the carried values");
	return true;
}

/* Validates that the iterations of `clear`, which may be the prologue, equal the remainder's without
 * redundant masks, and end no later. */
static bool
is_part(Prove *p, const Op *front, const Op *clear, const Op *rest)
{
	Pair x = { .p = p, .front = front, .clear = clear, .rest = rest, .known = { .k = p->k } };

	if (!ends_inside(&x, for_hi(clear)))
		return split_wrong(&x, "the unmasked loop may run past the end");
	x.to = NEWN(p->arena, const Val *, p->k->nval + 1);
	split_know_turn(&x);
	return split_same_turns(&x);
}

/* Validates consecutive loops that replace one: an optional prologue, the main loop, the remainder. */
static void
prove_row(Prove *p, const Op *first)
{
	Pair x = { .p = p };
	const Op *front = IMM(first, split) == SPLIT_PROLOGUE ? first : NULL;
	const Op *clear = front ? front->next : first;

	p->op = first;
	if (front && !goes_on(&x, front, clear))
		return;
	p->op = clear;
	if (IMM(clear, split) != SPLIT_MAIN || !goes_on(&x, clear, clear->next) ||
	    IMM(clear->next, split) != SPLIT_REMAINDER) {
		split_wrong(&x, "the remainder loop is missing");
		return;
	}
	if (is_part(p, front, clear, clear->next) && front)
		is_part(p, NULL, front, clear->next);
}

/* Is o correctly placed in a sequence: after the loop that must precede it? */
static bool
is_placed(const Op *o, const Op *before)
{
	SplitKind kind = (SplitKind)IMM(o, split), in_front = SPLIT_NONE;

	if (before && before->next == o)
		in_front = (SplitKind)IMM(before, split);
	return kind == SPLIT_REMAINDER ? in_front == SPLIT_MAIN
	                               : kind == SPLIT_MAIN || in_front != SPLIT_PROLOGUE;
}

bool
pass_validate_loop_split(Kernel *k)
{
	Prove p = { .k = k, .arena = k->unit->arena, .ok = true };
	const Op *before = NULL;
	OpWalk w;

	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o && p.ok; o = walk_next(&w)) {
		bool first;

		if (o->code != O_for)
			continue;
		p.op = o;
		first = !before || before->next != o || IMM(before, split) != SPLIT_PROLOGUE;
		if (!is_placed(o, before))
			prove_error(&p, -1, 0, "split loop: a remainder loop without a main loop");
		else if (IMM(o, split) == SPLIT_PROLOGUE || (IMM(o, split) == SPLIT_MAIN && first))
			prove_row(&p, o);
		before = o;
	}
	facts_drop(k);
	return false;
}
