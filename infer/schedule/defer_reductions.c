/* defer_reductions.c - pass defer_reductions: defers the cross-lane and cross-warp part of a loop-carried
 * reduction to after the loop; the loop carries per-thread partial sums.
 *
 * requires   the result of pass infer; the attributes set by pass mark_reductions
 * preserves  what the kernel computes, except the order of additions that the attributes leave unspecified
 * produces   loops that carry each lane's partial result instead of a reduction's result
 *
 * A reduction adds up a lane's registers, then lanes, then warps. If the loop only adds the result to a
 * carried value, x = x * u + sum(y), it can add the lanes' partial sums instead, since u is the same for
 * all of them. They need as many registers as the result, which is replicated in every lane. A tile of n
 * elements along the dim, in registers and lanes, is reshaped so that its register modes become separate
 * dims. It is reduced along these, which leaves one element per lane. The reduction itself, with the
 * lowering chosen by inference, moves after the loop. */
#include "hexc/pass/mark_reductions.h"
#include "hexc/pass/pass.h"

typedef struct Meet {
	Kernel *k;
	Op *reduce;
	DeferredReduction late;
	int dim;
	/* modes of the dim, slowest first: thread modes and register modes alternate */
	int64_t extent[DIM_MAX];
	bool threads[DIM_MAX];
	int ndigit;
	Type part; /* the type that the loop will carry */
} Meet;

/* Returns false if there are too many modes, or a register mode has no separate register. */
static bool
find_digits(Meet *m)
{
	const Layout *l = op_source(m->reduce)->type.layout;
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
	return op_source(m->reduce)->type.rank - 1 + m->ndigit <= DIM_MAX;
}

static int64_t
threads_of(const Meet *m)
{
	int64_t n = 1;

	for (int i = 0; i < m->ndigit; i++)
		n *= m->threads[i] ? m->extent[i] : 1;
	return n;
}

/* Computes the type of the reduction's operand with one dim for each of its modes. */
static bool
taken_apart(const Meet *m, Type *t)
{
	const Type *x = &op_source(m->reduce)->type;
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

/* Reduces t along dim d to the elements that differ between lanes. */
static void
reduced(const Meet *m, Type *t, int d)
{
	Layout *l = NEW(m->k->unit->arena, Layout);

	BUG_IF(m->k->unit->arena, !layout_reduce(l, t->layout, d));
	t->shape[d] = 1;
	t->layout = l;
}

/* Computes the intermediate types: the operand split into modes, and m->part. */
static bool
find_types(Meet *m, Type *apart)
{
	const Type *x = &op_source(m->reduce)->type, *r = &m->reduce->out[0]->type;
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

/* Inserts the per-lane part of the reduction before the reduction; returns its result. */
static Val *
lane_part(const Meet *m, Type t)
{
	Op *at = m->reduce;
	Val *x = op_new(at->parent, at, O_reshape, at->src, 1, &at->in[IN_op_source], 1, &t)->out[0];

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

/* Replicates v, which every lane has in full, for each lane: a factor, an extreme, or the 0 that deferrable
 * sums start with. */
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

/* Do all values of the loop-carried variable have the layout of the reduction's result, and is none
 * pinned? */
static bool
is_plain(const Meet *m)
{
	const Layout *l = m->reduce->out[0]->type.layout;
	const DeferredReduction *a = &m->late;
	const Val *v[] = { for_init(a->loop, a->i), a->loop->out[a->i], a->loop->blk[0]->arg[1 + a->i],
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
	a->loop->in[IN_for_init + a->i] = repeated(m, a->loop, for_init(a->loop, a->i));
	last = reduction(m, a->loop->parent, a->loop->next, carried, m->dim, &carried->type);
	last->lowering = m->reduce->lowering;
	carried->type = m->part;
	val_replace(m->k, carried, last->out[0]);
	last->in[IN_op_source] = carried;
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
			uses = kernel_uses(k); /* of the values that exist now */
		}
	return changed;
}
