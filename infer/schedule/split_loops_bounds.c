/* split_loops_bounds.c - pass split_loops: emits before the loop the counter values between which the
 * linear forms hold. */
#include "infer/schedule/split_loops.h"

/* Returns v as an index for computations before the loop. */
static Val *
value(const SplitIterations *t, const Val *v)
{
	Val *x = v->def ? v->def->out[v->index] : v->block->arg[v->index];
	Type index = type_index();

	if (type_is_index(&x->type))
		return x;
	return op_new(t->loop->parent, t->loop, O_cast, t->loop->src, 1, &x, 1, &index)->out[0];
}

/* Emits the sum of the terms of x with positive factors, or of the others, negated; without the counter. */
static Val *
side_of(const SplitIterations *t, const Lin *x, bool positive)
{
	Block *b = t->loop->parent;
	int64_t c = positive ? x->c : -x->c;
	Val *sum = NULL, *v;

	for (int i = 0; i < x->n; i++) {
		int64_t k = positive ? x->t[i].k : -x->t[i].k;

		if (k < 0 || x->t[i].v == t->body->arg[0])
			continue;
		v = value(t, x->t[i].v);
		v = k == 1 ? v : ir_bin(b, t->loop, O_mul, v, ir_const(b, t->loop, k));
		sum = sum ? ir_bin(b, t->loop, O_add, sum, v) : v;
	}
	if (c > 0 && sum)
		sum = ir_bin(b, t->loop, O_add, sum, ir_const(b, t->loop, c));
	return sum ? sum : ir_const(b, t->loop, c > 0 ? c : 0);
}

Val *
forms_start(const SplitIterations *t, const Forms *f)
{
	Block *b = t->loop->parent;
	Val *start = NULL, *v;

	for (int i = 0; i < f->n; i++) {
		const Lin *x = &f->form[i].lin;

		if (f->form[i].by <= 0) /* counter >= the rest, with reversed sign */
			continue;
		v = ir_bin(b, t->loop, O_sub, side_of(t, x, false), side_of(t, x, true));
		start = start ? ir_bin(b, t->loop, O_max, start, v) : v;
	}
	return ir_bin(b, t->loop, O_min, start, for_hi(t->loop));
}

/* Does counter <= x already imply that the counter is below the loop's end? */
static bool
ends_before(const SplitIterations *t, const Lin *x)
{
	Asking a = fact_asking(t->k);
	Lin end = lin_add(*x, lin_atom(t->body->arg[0]), 1); /* which is subtracted in x */
	Lin over = lin_add(end, lin_const(1), 1);
	Lin room = lin_add(lin_exact(t->loop, for_hi(t->loop)), over, -1);
	Lin same = lin_add(lin_atom(for_hi(t->loop)), over, -1);

	return lin_nonneg(&a, &room) || lin_nonneg(&a, &same);
}

Val *
forms_end(const SplitIterations *t, const Forms *f)
{
	Block *b = t->loop->parent;
	Val *end = NULL, *all = NULL, *in[3], *v;
	bool before = false;

	for (int i = 0; i < f->n; i++) {
		Lin x = f->form[i].lin;

		if (f->form[i].by < 0) { /* counter <= the rest */
			before |= ends_before(t, &x);
			x.c++;
			v = ir_bin(b, t->loop, O_sub, side_of(t, &x, true), side_of(t, &x, false));
			end = end ? ir_bin(b, t->loop, O_min, end, v) : v;
		} else if (f->form[i].by == 0) {
			v = ir_bin(b, t->loop, O_le, side_of(t, &x, false), side_of(t, &x, true));
			all = all ? ir_bin(b, t->loop, O_and, all, v) : v;
		}
	}
	if (!end)
		end = for_hi(t->loop);
	else if (!before)
		end = ir_bin(b, t->loop, O_min, end, for_hi(t->loop));
	if (!all)
		return end;
	in[0] = all;
	in[1] = end;
	in[2] = for_lo(t->loop);
	return op_new(b, t->loop, O_select, t->loop->src, 3, in, 1, &end->type)->out[0];
}
