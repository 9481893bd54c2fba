/* reduce_dot.c - implements the interpreter's reductions and matrix products (dot, wgmma). */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include <math.h>

/* ---- reductions ------------------------------------------------------------------------------ */

static double
join_f(OpCode code, double a, double b)
{
	if (code == O_reduce_sum)
		return a + b;
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	return code == O_reduce_max ? (a > b || (a == b && !signbit(a)) ? a : b)
	                            : (a < b || (a == b && signbit(a)) ? a : b);
}

static int64_t
join_i(OpCode code, DType d, int64_t a, int64_t b)
{
	bool less = dtype_past_i64(d) ? (uint64_t)a < (uint64_t)b : a < b;

	if (code == O_reduce_sum)
		return (int64_t)((uint64_t)a + (uint64_t)b);
	return less == (code == O_reduce_max) ? b : a;
}

bool
eval_reduce(Interp *it, Op *o)
{
	const Type *t = &op_source(o)->type;
	const InterpValue *x = slot_of(it, op_source(o));
	InterpValue *r = slot_of(it, o->out[0]);
	bool flt = dtype_is_float(t->dtype);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d), extent = t->shape[d];

	for (int64_t j = 0; j < r->n; j++) {
		int64_t from = j / inner * inner * extent + j % inner;
		double size = flt ? fabs(x->f[from]) : 0;

		slot_move(r, j, x, from);
		for (int64_t e = 1; e < extent; e++) {
			from += inner;
			if (flt)
				r->f[j] = join_f(o->code, r->f[j], x->f[from]), size += fabs(x->f[from]);
			else
				r->i[j] = join_i(o->code, t->dtype, r->i[j], x->i[from]);
		}
		if (flt && it->opt.noise && o->code == O_reduce_sum)
			r->f[j] = interp_noise_sum(it, t->dtype, r->f[j], extent, size, j);
	}
	if (flt)
		num_round_n(t->dtype, r->f, (size_t)r->n);
	else
		num_wrap_n(t->dtype, r->i, (size_t)r->n);
	return race_scratch(it, o);
}

/* ---- dot ------------------------------------------------------------------------------------- */

/* c += a b; four k per pass, to access each row of c a quarter as often */
static void
dot_f(int64_t m, int64_t n, int64_t k, double *c, const double *a, const double *b)
{
	for (int64_t i = 0; i < m; i++, a += k, c += n) {
		int64_t p = 0;

		for (; p + 4 <= k; p += 4) {
			const double *b0 = b + p * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
			double a0 = a[p], a1 = a[p + 1], a2 = a[p + 2], a3 = a[p + 3];

			for (int64_t j = 0; j < n; j++)
				c[j] = c[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
		}
		for (; p < k; p++)
			for (int64_t j = 0; j < n; j++)
				c[j] += a[p] * b[p * n + j];
	}
}

static void
dot_i(int64_t m, int64_t n, int64_t k, int64_t *c, const int64_t *a, const int64_t *b)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t p = 0; p < k; p++)
			for (int64_t j = 0; j < n; j++)
				c[i * n + j] = (int64_t)((uint64_t)c[i * n + j] +
				                         (uint64_t)a[i * k + p] * (uint64_t)b[p * n + j]);
}

/* Selects the k slice of a partial dot: operand elements at other positions become zero. */
static void
take_part(Interp *it, const Op *o, int64_t k, const InterpValue *a, InterpValue *out)
{
	const Lowering *p = o->lowering;
	const Type *t = &o->out[0]->type;
	int64_t m = type_size(t) / t->shape[t->rank - 1]; /* rows, over all batches */

	*out = (InterpValue){ .n = a->n, .f = NEWN(&it->arena, double, a->n) };
	out->i = (void *)out->f;
	for (int64_t x = 0; x < k; x++) {
		int64_t at = p->dot.k ? layout_at_index(p->dot.k, x).at[AX_mem] : x;

		for (int64_t i = 0; i < m && at >= p->dot.from && at < p->dot.to; i++)
			out->i[i * k + x] = a->i[i * k + x];
	}
}

/* Computes operand `side` of a dot times its scales; exact. */
static void
scale_factor(Interp *it, const Op *o, int side, InterpValue *out)
{
	const InterpValue *x = slot_of(it, o->in[side]), *s = slot_of(it, mma_extra(o, side));
	const int64_t *shape = o->in[side]->type.shape;
	int64_t step[2] = { 1, 1 };

	step[1 - side] = dot_block(o, side);
	*out = (InterpValue){ .n = x->n, .f = NEWN(&it->arena, double, x->n) };
	for (int64_t i = 0; i < shape[0]; i++)
		for (int64_t j = 0; j < shape[1]; j++) {
			int64_t at = i / step[0] * (shape[1] / step[1]) + j / step[1];

			out->f[i * shape[1] + j] = x->f[i * shape[1] + j] * fabs(s->f[at]);
		}
}

/* Returns the sum of magnitudes accumulated in each element of r, its initial value included. */
static double *
magnitudes(Interp *it, int64_t m, int64_t n, int64_t k, const InterpValue *r, const InterpValue *a,
	   const InterpValue *b)
{
	double *size = NEWN(&it->arena, double, r->n), *x = NEWN(&it->arena, double, a->n + b->n);
	double *y = x + a->n;

	for (int64_t j = 0; j < r->n; j++)
		size[j] = fabs(r->f[j]);
	for (int64_t j = 0; j < a->n; j++)
		x[j] = fabs(a->f[j]);
	for (int64_t j = 0; j < b->n; j++)
		y[j] = fabs(b->f[j]);
	for (int64_t at = 0; at * m * n < r->n; at++)
		dot_f(m, n, k, size + at * m * n, x + at * m * k, y + at * k * n);
	return size;
}

/* Computes accumulator + a b; rounds it unless further slices follow. */
static void
add_product(Interp *it, const Op *o, const InterpValue *a, const InterpValue *b, int64_t k, bool goes_on)
{
	double *size = NULL;

	const int64_t *shape = &o->out[0]->type.shape[dot_batch(o)];
	int64_t m = shape[0], n = shape[1];
	DType d = o->out[0]->type.dtype;
	InterpValue *r = slot_of(it, o->out[0]);

	if (dtype_is_float(d) && it->opt.noise)
		size = magnitudes(it, m, n, k, r, a, b);
	for (int64_t at = 0; at * m * n < r->n; at++)
		if (dtype_is_float(d))
			dot_f(m, n, k, r->f + at * m * n, a->f + at * m * k, b->f + at * k * n);
		else
			dot_i(m, n, k, r->i + at * m * n, a->i + at * m * k, b->i + at * k * n);
	for (int64_t j = 0; size && j < r->n; j++)
		r->f[j] = interp_noise_sum(it, d, r->f[j], k + 1, size[j], j);
	if (!dtype_is_float(d))
		num_wrap_n(d, r->i, (size_t)r->n);
	else if (!goes_on)
		num_round_n(d, r->f, (size_t)r->n);
}

bool
eval_dot(Interp *it, Op *o)
{
	const InterpValue *a = slot_of(it, mma_a(o)), *b = slot_of(it, mma_b(o));
	InterpValue whole, scaled[2];
	bool part = o->lowering && o->lowering->kind == LW_dot && o->lowering->dot.to, goes_on;
	int64_t k = dot_k(o);

	goes_on = part && o->lowering->dot.to < k;
	if (dot_is_sparse(o)) {
		int side = dot_side(o);

		whole = interp_whole(it, o->in[side]);
		if (!interp_sparse_expand(it, o, o->in[side], mma_extra(o, 0), 1 - side, &whole))
			return false;
		*(side ? &b : &a) = &whole;
	}
	if (dot_is_scaled(o)) {
		for (int i = 0; i < 2; i++)
			scale_factor(it, o, i, &scaled[i]);
		a = &scaled[0];
		b = &scaled[1];
	}
	if (part) {
		take_part(it, o, k, a, &whole);
		a = &whole;
	}
	slot_copy(it, o->out[0], mma_acc(o));
	add_product(it, o, a, b, k, goes_on);
	return true;
}

/* Returns operand i as multiplied, with its transpose applied; NULL after an error. */
static const InterpValue *
wgmma_factor(Interp *it, const Op *o, int i)
{
	const Type *t = &o->in[i]->type;
	const InterpValue *x = slot_of(it, o->in[i]);
	InterpValue *r = interp_scratch(it, i, 2 * type_size(t));
	const View *v = x->view;
	int64_t n = type_size(t);

	if (!v)
		return x;
	if (!interp_read(it, o, v, t, r))
		return NULL;
	interp_reading(it, &it->task->product, o, v, t, r);
	if (!(IMM(o, transposed) >> i & 1))
		return r;
	for (int64_t j = 0; j < n; j++)
		r->i[n + j] = r->i[j];
	for (int64_t row = 0; row < t->shape[0]; row++)
		for (int64_t col = 0; col < t->shape[1]; col++)
			r->i[col * t->shape[0] + row] = r->i[n + row * t->shape[1] + col];
	return r;
}

bool
eval_wgmma(Interp *it, Op *o)
{
	const InterpValue *a = wgmma_factor(it, o, 0), *b = a ? wgmma_factor(it, o, 1) : NULL;
	InterpValue *r = slot_of(it, o->out[0]), part;
	int64_t k = product_k(o), from, n = product_part(o, &from);

	if (!b || it->opt.order)
		return b != NULL;
	if (n < k) {
		take_part(it, o, k, a, &part);
		a = &part;
	}
	if (o->nin == 4 && !slot_of(it, wgmma_keeps_acc(o))->i[0])
		for (int64_t j = 0; j < r->n; j++)
			r->i[j] = 0;
	else
		slot_copy(it, o->out[0], mma_acc(o));
	add_product(it, o, a, b, k, from + n < k);
	return true;
}
