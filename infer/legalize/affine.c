/* affine.c - pass affine: tiles of indices that are a start and steps become slices.
 *
 * X[b, l + i64(iota(0, 256))] chooses what X[b, l :+ 256] does, and an access by indices moves one element.
 * Indices are looked through as start + step * number: iota, scalars, sums, products with a number, and
 * casts, where facts say that nothing wraps around.
 *
 * needs   pass bounds done: what indices choose outside of a tensor exists and is 0, what is outside of a
 *         slice does not exist, and the IR says what follows from that
 * keeps   what the kernel computes; steps below 1 stay indices, and those into shared tiles, of which slices
 *         reach past no end
 * leaves  tiles of indices for dce */
#include "hexc/pass/pass.h"
#include "hexc/ir/number.h"

enum { DEPTH = 16 };

/* Element i is start + step * i; start: a scalar of i64, NULL is 0. */
typedef struct Line {
	Val *start;
	int64_t step;
} Line;

typedef struct Affine {
	Kernel *k;
	Op *at; /* ops go in front of it */
} Affine;

static bool line_of(Affine *a, Val *v, int depth, Line *out);

/* Of n elements of type d, do none wrap around?  Starts that may be next to what 64 bits hold are none. */
static bool
line_fits(const Affine *a, DType d, int64_t n, const Line *x)
{
	const int64_t most = INT64_MAX >> 3;
	int64_t lo = d == D_i64 ? -most : num_min(d), hi = d == D_i64 ? most : num_max(d), far;
	Fact f = x->start ? val_fact_at(a->k, a->at, x->start) : (Fact){ 0, 0, 0 };

	return mul64(x->step, n - 1, &far) && f.lo >= lo - min64(far, 0) && f.hi <= hi - max64(far, 0);
}

static bool
line_const(Affine *a, int64_t c, Line *out)
{
	*out = (Line){ c ? ir_const(a->at->parent, a->at, c) : NULL, 0 };
	return true;
}

static bool
line_splat(Affine *a, Val *s, Line *out)
{
	Type t = type_index();

	if (s->type.dtype != D_i64)
		s = op_new(a->at->parent, a->at, O_cast, a->at->src, 1, &s, 1, &t)->out[0];
	*out = (Line){ s, 0 };
	return true;
}

static bool
line_sum(Affine *a, const Op *o, int depth, Line *out)
{
	Line x, y;
	Block *b = a->at->parent;

	if (!line_of(a, o->in[0], depth, &x) || !line_of(a, o->in[1], depth, &y))
		return false;
	out->start = x.start;
	if (y.start)
		out->start = ir_bin(b, a->at, o->code, x.start ? x.start : ir_const(b, a->at, 0), y.start);
	return i64_eval(o->code, x.step, y.step, &out->step);
}

static bool
line_product(Affine *a, const Op *o, int depth, Line *out)
{
	for (int i = 0; i < 2; i++) {
		const Op *c = o->in[i]->def;

		if (!c || c->code != O_const)
			continue;
		if (!line_of(a, o->in[1 - i], depth, out) || !mul64(out->step, IMM(c, value), &out->step))
			return false;
		if (out->start)
			out->start = ir_bin(a->at->parent, a->at, O_mul, out->start,
			                    ir_const(a->at->parent, a->at, IMM(c, value)));
		return true;
	}
	return false;
}

static bool
line_of(Affine *a, Val *v, int depth, Line *out)
{
	const Op *o = v->def;
	DType d = v->type.dtype;
	bool found;

	if (!o || depth == 0 || (d != D_i32 && d != D_i64) || v->type.rank != 1)
		return false;
	switch (o->code) {
	case O_const: found = line_const(a, IMM(o, value), out); break;
	case O_splat: found = line_splat(a, o->in[0], out); break;
	case O_cast: found = line_of(a, o->in[0], depth - 1, out); break;
	case O_add:
	case O_sub: found = line_sum(a, o, depth - 1, out); break;
	case O_mul: found = line_product(a, o, depth - 1, out); break;
	case O_iota:
		*out = (Line){ NULL, 1 };
		found = true;
		break;
	default: return false;
	}
	return found && line_fits(a, d, v->type.shape[0], out);
}

/* Is dim d of the operand, of those that indices address, where the first of them is: are there none between
 * that the view has? */
static bool
stays_in_place(const Op *view, int d)
{
	int first = view_operand_dim(view, view_gather_dim(view));

	for (int i = first + 1; i < d; i++)
		if (!(IMM(view, dropped) >> i & 1))
			return false;
	return true;
}

/* The line that the view's indices are along one dim, *dim, being one number in each of the others. */
static bool
view_line(Affine *a, const Op *view, Line *line, int *dim)
{
	*dim = -1;
	for (int d = 0; d < view->in[0]->type.rank; d++) {
		if (!view_gathers(view, d))
			continue;
		if (!line_of(a, view->in[1 + d], DEPTH, &line[d]))
			return false;
		if (view->in[1 + d]->type.shape[0] == 1) /* one for all */
			line[d].step = 0;
		if (line[d].step == 0)
			continue;
		if (line[d].step < 0 || *dim >= 0)
			return false;
		*dim = d;
	}
	return *dim >= 0 && stays_in_place(view, *dim);
}

static bool
make_slice(Kernel *k, Op *view)
{
	Affine a = { k, view };
	int64_t n, most = (int64_t)1 << 30;
	Line line[DIM_MAX];
	int dim, gathers = view_gather_dim(view);

	if (gathers < 0 || !view_line(&a, view, line, &dim))
		return false;
	n = view->out[0]->type.shape[gathers];
	if (line[dim].step > most / n)
		return false;
	for (int d = 0; d < view->in[0]->type.rank; d++) {
		int64_t bit = (int64_t)1 << d;

		if (!view_gathers(view, d))
			continue;
		view->in[1 + d] = line[d].start ? line[d].start : ir_const(view->parent, view, 0);
		IMM_SET(view, dropped, d == dim ? IMM(view, dropped) & ~bit : IMM(view, dropped) | bit);
	}
	if (n > 1 && line[dim].step > 1)
		IMM_SET_AT(view, step, dim, line[dim].step);
	return true;
}

bool
pass_affine(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		changed |= o->code == O_view && o->in[0]->type.space == S_global && make_slice(k, o);
	return changed;
}
