/* skinny_dot.c - pass lower_skinny_dot: lowers dots of few rows or columns to reductions, or pads them for
 * tensor cores, so that all lanes have work.
 *
 * requires   no layouts except pinned ones; the attributes set by kernel_make_thin
 * preserves  what the kernel computes, except the order of additions
 * produces   no dot marked THIN_SUMS; those marked THIN_PADDED with more rows or columns, unless these do
 *            not divide the tensor cores' (pass pad_tiles)
 *
 * THIN_SUMS
 *     acc + dot(a[M, K], b[K, N])  =>  acc + sum over k of a[M, 1, K] * transpose(b)[1, N, K]
 *
 * A reduction accepts its terms in any layout: each in the lane that loads it, by the widest accesses. A
 * lane adds its terms before the lanes are combined. A loop-carried value becomes [M, N, 1]. If the loop
 * only adds the sum to it, lanes keep partial sums and are combined after the loop (pass defer_reductions).
 *
 * THIN_PADDED
 *     acc + dot(a[M, K], b[K, N])  =>  acc + the same 8 / M times: [M, 8 / M, N], of which one is used
 *
 * (16 / M times if N is below 16, too: instances are 8 by 16 or 16 by 8.)
 * Replicated rows fill the tensor cores' shape without masks and zeros: lanes hold replicas. Here too a
 * loop carries the padded result. */
#include "hexc/ir/sparse.h"
#include "hexc/pass/pass.h"
#include "infer/legalize/skinny_dot.h"
#include <math.h>

enum { CORES_LEAST = 8, CORES_MOST = 16 }; /* rows and columns of an instance, or columns and rows */

Val *
thin_put(InsertPoint p, OpCode code, Val *x, Val *y, Type t)
{
	Val *in[2] = { x, y };

	return op_new(p.in, p.at, code, p.src, y ? 2 : x ? 1 : 0, in, 1, &t)->out[0];
}

static Val *
put_reduce(InsertPoint p, OpCode code, Val *x, int dim)
{
	Type t = type_free(x->type);
	Val *v;

	t.shape[dim] = 1;
	v = thin_put(p, code, x, NULL, t);
	IMM_SET(v->def, dim, dim);
	return v;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Transposes the last two dims of x. */
static Val *
turned(InsertPoint p, Val *x)
{
	const Op *t = x->def;
	int last = x->type.rank - 1;
	Type type = type_free(x->type);
	bool back = t && t->code == O_transpose;
	Val *v;

	for (int d = 0; d <= last && back; d++)
		back = IMM_AT(t, perm, d) == (d < last - 1 ? d : 2 * last - 1 - d);
	if (back)
		return op_source(t);
	type.shape[last] = x->type.shape[last - 1];
	type.shape[last - 1] = x->type.shape[last];
	v = thin_put(p, O_transpose, x, NULL, type);
	for (int d = 0; d <= last; d++)
		IMM_SET_AT(v->def, perm, d, d < last - 1 ? d : 2 * last - 1 - d);
	return v;
}

/* Returns operand i, v, as [.., M, N, K], of the sum's type. */
static Val *
term(InsertPoint p, Val *v, int i, Type all)
{
	Val *x = i ? turned(p, v) : v;
	Type t = type_free(x->type);

	t.dtype = all.dtype;
	if (t.dtype != x->type.dtype)
		x = thin_put(p, O_cast, x, NULL, t);
	t = all;
	t.shape[all.rank - (i ? 3 : 2)] = 1;
	x = thin_put(p, O_reshape, x, NULL, t);
	return type_same(&t, &all) ? x : thin_put(p, O_broadcast, x, NULL, all);
}

Val *
thin_add_terms(InsertPoint p, Val *const *factor, Type all, int64_t n, Val *sum)
{
	Val *in[3];

	all.shape[all.rank - 1] = n;
	in[0] = term(p, factor[0], 0, all);
	in[1] = term(p, factor[1], 1, all);
	in[2] = sum;
	return sum ? op_new(p.in, p.at, O_fma, p.src, 3, in, 1, &all)->out[0]
	           : thin_put(p, O_mul, in[0], in[1], all);
}

static Val *
sum_of_terms(Kernel *k, InsertPoint p, const Op *dot)
{
	Type all = type_free(dot->out[0]->type);
	Val *terms;

	all.shape[all.rank++] = dot_k(dot);
	terms = thin_terms_in_parts(k, p, dot, all);
	if (!terms)
		terms = thin_add_terms(p, dot->in, all, dot_k(dot), NULL);
	return put_reduce(p, O_reduce_sum, terms, all.rank - 1);
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Returns the padded number of rows or columns d of the result. */
static int64_t
enough(const Op *dot, int d)
{
	return dot->out[0]->type.shape[dot_batch(dot) + 1 - d] < CORES_MOST ? CORES_MOST : CORES_LEAST;
}

/* Returns the dim of the result to pad: 0 rows, 1 columns; -1 leaves it to pass pad_tiles. */
static int
few_dim(const Op *dot)
{
	const int64_t *mn = &dot->out[0]->type.shape[dot_batch(dot)];
	int d = mn[1] < mn[0];

	return mn[d] < enough(dot, d) && enough(dot, d) % mn[d] == 0 ? d : -1;
}

/* Repeats each index of dim d of x `times` times. */
static Val *
repeated(InsertPoint p, Val *x, int d, int64_t times)
{
	Type t = type_free(x->type), one = t;

	for (int e = one.rank++; e > d; e--)
		one.shape[e] = one.shape[e - 1];
	one.shape[d + 1] = 1;
	t.shape[d] *= times;
	x = thin_put(p, O_reshape, x, NULL, one);
	one.shape[d + 1] = times;
	return thin_put(p, O_reshape, thin_put(p, O_broadcast, x, NULL, one), NULL, t);
}

/* Selects one of the replicas along dim d, as type t. */
static Val *
one_of(InsertPoint p, Val *x, int d, Type t)
{
	Type apart = type_free(x->type);

	for (int e = apart.rank++; e > d; e--)
		apart.shape[e] = apart.shape[e - 1];
	apart.shape[d] = t.shape[d];
	apart.shape[d + 1] = x->type.shape[d] / t.shape[d];
	x = thin_put(p, O_reshape, x, NULL, apart);
	return thin_put(p, O_reshape, put_reduce(p, O_reduce_max, x, d + 1), NULL, t);
}

/* ---- accumulators ---------------------------------------------------------------------------- */

static bool
is_zero(const Val *v)
{
	const Op *o = v->def;

	return o && o->code == O_const &&
	       (dtype_is_float(v->type.dtype) ? !(fabs(o->fimm) > 0) : IMM(o, value) == 0);
}

/* Returns the index of the carried value, initially 0, that is used only as the dot's accumulator; -1 if
 * there is none. */
static int
carried(const uint32_t *uses, const Op *dot)
{
	const Val *acc = mma_acc(dot), *out = dot->out[0];
	const Op *loop = dot->parent->owner;
	int i = (int)acc->index - 1;

	if (acc->def || !loop || loop->code != O_for || acc->block != dot->parent || i < 0 ||
	    uses[acc->id] != 1 || uses[out->id] != 1 || dot->parent->last->in[i] != out ||
	    !is_zero(for_init(loop, i)))
		return -1;
	return dtype_accumulator(out->type.dtype) == out->type.dtype && !acc->type.pinned ? i : -1;
}

static Val *
zero_like(Op *at, Op *zero, Type t)
{
	Op *o = op_clone(at->parent, at, zero, NULL, NULL);

	o->out[0]->type = t;
	return o->out[0];
}

/* Converts x, an unreduced or padded result of type t, to the result `out`. */
static Val *
as_result(InsertPoint p, Val *x, int few, Type out)
{
	return few < 0 ? thin_put(p, O_reshape, x, NULL, out) : one_of(p, x, out.rank - 2 + few, out);
}

/* Changes the loop's accumulator to the unreduced or padded type t. */
static void
carry(Kernel *k, const Op *dot, int i, int few, Type t)
{
	Op *loop = dot->parent->owner;
	InsertPoint behind = { loop->parent, loop->next, dot->src };
	Type was = type_free(loop->out[i]->type);
	Val *out = loop->out[i], *back;

	loop->in[IN_for_init + i] = zero_like(loop, for_init(loop, i)->def, t);
	loop->blk[0]->arg[1 + i]->type = t;
	out->type = t;
	back = as_result(behind, out, few, was);
	back->name = out->name;
	val_replace(k, out, back);
	loop->next->in[IN_op_source] = out;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns the result of a padded dot with accumulator `more`, or zeros; few: the dim to pad. */
static Val *
padded(InsertPoint p, const Op *dot, int few, Val *more)
{
	int d = dot->out[0]->type.rank - 2 + few;
	int64_t times = enough(dot, few) / dot->out[0]->type.shape[d];
	Type t = type_free(dot->out[0]->type);
	Val *in[3] = { mma_a(dot), mma_b(dot), more };

	t.shape[d] *= times;
	in[few] = repeated(p, in[few], d, times);
	in[2] = more ? more : thin_put(p, O_const, NULL, NULL, t);
	return op_new(p.in, p.at, O_dot, p.src, 3, in, 1, &t)->out[0];
}

static void
rewrite(Kernel *k, const uint32_t *uses, Op *dot, int few)
{
	InsertPoint p = { dot->parent, dot, dot->src };
	Val *acc = mma_acc(dot), *x;
	int at = carried(uses, dot);

	x = few < 0 ? sum_of_terms(k, p, dot) : padded(p, dot, few, at < 0 ? NULL : acc);
	if (at >= 0) {
		carry(k, dot, at, few, x->type);
		if (few < 0) {
			IMM_SET(x->def, deferrable, 1);
			x = thin_put(p, O_add, acc, x, x->type);
		}
	} else {
		x = as_result(p, x, few, type_free(dot->out[0]->type));
		if (!is_zero(acc))
			x = thin_put(p, O_add, acc, x, x->type);
	}
	x->name = dot->out[0]->name;
	val_replace(k, dot->out[0], x);
	op_unlink(dot);
}

bool
pass_lower_skinny_dot(Kernel *k)
{
	const uint32_t *uses = kernel_uses(k);
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		SkinnyDotKind way = o->code == O_dot ? (SkinnyDotKind)IMM(o, skinny) : THIN_AS_IS;
		int few = way == THIN_PADDED ? few_dim(o) : -1;

		if (way == THIN_SUMS || few >= 0) {
			rewrite(k, uses, o, few);
			changed = true;
		}
	}
	return changed;
}
