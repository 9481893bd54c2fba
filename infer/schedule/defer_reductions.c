/* defer_reductions.c - pass defer_reductions: what a loop reduces meets across lanes and warps once, behind the loop.
 *
 * needs   what pass infer leaves; the marks of pass mark_reductions
 * keeps   what the kernel computes, but for the order of additions that the marks leave open
 * gives   loops that carry, in place of a reduction's result, the part of it that each lane holds
 *
 * A reduction adds up the registers of a lane, then lanes, then warps.  Where all that happens to the result
 * is that a loop adds it to a carried value, x = x * u + sum(y), the lanes' parts do as well, since u is one
 * for all of them; they take as many registers as the result, of which every lane has a copy.  A tile of n
 * elements along the dim, in registers and lanes, is reshaped so that its registers stand in dims of their
 * own, reduced along these, and what is left is one element for each lane.  The reduction itself, in the way
 * inference has chosen, moves behind the loop. */
#include "hexc/pass/mark_reductions.h"
#include "hexc/pass/pass.h"

typedef struct Meet {
	Kernel *k;
	Op *reduce;
	DeferredReduction late;
	int dim;
	/* digits of the dim, the slowest first: those of threads and those of registers in turns */
	int64_t extent[DIM_MAX];
	bool threads[DIM_MAX];
	int ndigit;
	Type part; /* what the loop is to carry */
} Meet;

/* False: too many digits, or some that are no registers of their own. */
static bool
find_digits(Meet *m)
{
	const Layout *l = m->reduce->in[0]->type.layout;
	int at = DIM_MAX;

	for (Digit g = dim_digits(l, m->dim); g.it; digit_next(&g)) {
		bool threads = g.it->axis != AX_reg;

		if (g.it->extent == 1)
			continue;
		if (g.it->stride == 0)
			return false;
		if (at == DIM_MAX || m->threads[at] != threads) {
			if (at == 0)
				return false;
			m->extent[--at] = 1;
			m->threads[at] = threads;
		}
		m->extent[at] *= g.it->extent;
	}
	m->ndigit = DIM_MAX - at;
	for (int i = 0; i < m->ndigit; i++) {
		m->extent[i] = m->extent[at + i];
		m->threads[i] = m->threads[at + i];
	}
	return m->reduce->in[0]->type.rank - 1 + m->ndigit <= DIM_MAX;
}

static int64_t
threads_of(const Meet *m)
{
	int64_t n = 1;

	for (int i = 0; i < m->ndigit; i++)
		n *= m->threads[i] ? m->extent[i] : 1;
	return n;
}

/* The reduction's operand with a dim for each of its digits. */
static bool
taken_apart(const Meet *m, Type *t)
{
	const Type *x = &m->reduce->in[0]->type;
	Layout *l = NEW(m->k->unit->arena, Layout);

	*t = *x;
	t->rank = 0;
	for (int d = 0; d < x->rank; d++)
		if (d == m->dim)
			for (int i = 0; i < m->ndigit; i++)
				t->shape[t->rank++] = m->extent[i];
		else
			t->shape[t->rank++] = x->shape[d];
	t->layout = l;
	return layout_reshape(l, x->layout, t->rank, t->shape);
}

/* t without what a lane holds along dim d. */
static void
reduced(const Meet *m, Type *t, int d)
{
	Layout *l = NEW(m->k->unit->arena, Layout);

	BUG_IF(m->k->unit->arena, !layout_reduce(l, t->layout, d));
	t->shape[d] = 1;
	t->layout = l;
}

/* The types on the way: taken apart, and m->part. */
static bool
find_types(Meet *m, Type *apart)
{
	const Type *x = &m->reduce->in[0]->type, *r = &m->reduce->out[0]->type;
	Layout *l = NEW(m->k->unit->arena, Layout), back;
	Type t;

	if (!taken_apart(m, apart))
		return false;
	t = *apart;
	for (int i = 0; i < m->ndigit; i++)
		if (!m->threads[i])
			reduced(m, &t, m->dim + i);
	m->part = *x;
	m->part.shape[m->dim] = threads_of(m);
	m->part.layout = l;
	return layout_reshape(l, t.layout, x->rank, m->part.shape) && layout_reduce(&back, l, m->dim) &&
	       layout_equal(&back, r->layout);
}

static Op *
reduction(const Meet *m, Block *b, Op *at, Val *x, int dim, const Type *t)
{
	Op *o = op_new(b, at, m->reduce->code, m->reduce->src, 1, &x, 1, t);

	IMM_SET(o, dim, dim);
	return o;
}

/* The reduction's operand as far as each lane has it, in front of the reduction. */
static Val *
lane_part(const Meet *m, Type t)
{
	Op *at = m->reduce;
	Val *x = op_new(at->parent, at, O_reshape, at->src, 1, &at->in[0], 1, &t)->out[0];

	for (int i = 0; i < m->ndigit; i++) {
		Op *o;

		if (m->threads[i])
			continue;
		reduced(m, &t, m->dim + i);
		o = reduction(m, at->parent, at, x, m->dim + i, &t);
		o->lowering = NEW(m->k->unit->arena, Lowering);
		o->lowering->kind = LW_reduce_shuffle;
		x = o->out[0];
	}
	return op_new(at->parent, at, O_reshape, at->src, 1, &x, 1, &m->part)->out[0];
}

/* v, which every lane has whole, once for each of them: a factor, an extreme, or the 0 that marked sums start
 * at. */
static Val *
repeated(const Meet *m, Op *at, Val *v)
{
	Op *c = v->def;

	if (!c || c->code != O_const)
		return op_new(at->parent, at, O_broadcast, at->src, 1, &v, 1, &m->part)->out[0];
	c = op_clone(at->parent, at, c, NULL, NULL);
	c->out[0]->type = m->part;
	return c->out[0];
}

/* All of the loop's value is laid out as the reduction's result, and no program says so. */
static bool
is_plain(const Meet *m)
{
	const Layout *l = m->reduce->out[0]->type.layout;
	const DeferredReduction *a = &m->late;
	const Val *v[] = { a->loop->in[3 + a->i], a->loop->out[a->i], a->loop->blk[0]->arg[1 + a->i],
		           a->join->out[0], a->factor };

	for (int i = 0; i < (int)COUNT_OF(v); i++)
		if (v[i] && (v[i]->type.pinned || !layout_equal(v[i]->type.layout, l)))
			return false;
	return true;
}

static void
defer(Meet *m, const Type *apart)
{
	const DeferredReduction *a = &m->late;
	Val *part = lane_part(m, *apart), *whole = m->reduce->out[0], *carried = a->loop->out[a->i];
	Val *factor = a->factor ? repeated(m, a->join, a->factor) : NULL;
	Op *last;

	for (int i = 0; i < a->join->nin; i++)
		if (a->join->in[i] == whole)
			a->join->in[i] = part;
		else if (a->factor && a->join->in[i] == a->factor)
			a->join->in[i] = factor;
	a->join->out[0]->type = a->loop->blk[0]->arg[1 + a->i]->type = m->part;
	a->loop->in[3 + a->i] = repeated(m, a->loop, a->loop->in[3 + a->i]);
	last = reduction(m, a->loop->parent, a->loop->next, carried, m->dim, &carried->type);
	last->lowering = m->reduce->lowering;
	carried->type = m->part;
	val_replace(m->k, carried, last->out[0]);
	last->in[0] = carried;
	op_unlink(m->reduce);
}

static bool
defer_reduction(Kernel *k, const uint32_t *uses, Op *o)
{
	Meet m = { .k = k, .reduce = o, .dim = (int)IMM(o, dim) };
	Type apart;

	if (!late_find(uses, o, &m.late) || !o->lowering || !is_plain(&m) || !find_digits(&m) ||
	    threads_of(&m) == 1 || !find_types(&m, &apart))
		return false;
	defer(&m, &apart);
	return true;
}

bool
pass_defer_reductions(Kernel *k)
{
	const uint32_t *uses = kernel_uses(k);
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (op_is_late(o) && defer_reduction(k, uses, o)) {
			changed = true;
			uses = kernel_uses(k); /* of the values that there are now */
		}
	return changed;
}
