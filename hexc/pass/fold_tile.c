/* fold_tile.c - folds casts, selects, and shape ops on constants, splats and each other, for pass fold. */
#include "hexc/pass/fold.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

static bool
type_equal(const Type *x, const Type *y)
{
	return type_same(x, y) && x->layout == y->layout && x->pinned == y->pinned;
}

/* Does float type `mid` represent every value of float type `from` exactly, including NaNs and infinities? */
static bool
holds_float(DType mid, DType from)
{
	const DTypeInfo *m = &dtype_info[mid], *f = &dtype_info[from];

	if (f->codes == C_table) /* table values are f32 */
		return m->exp >= 8 && m->man >= 23;
	return m->exp >= f->exp && m->man >= f->man && num_largest(mid) >= num_largest(from) &&
	       (m->codes == C_ieee || f->codes == C_none || (m->codes != C_none && f->codes != C_ieee));
}

/* Does `mid` represent every value of `from` exactly? */
static bool
holds(DType mid, DType from)
{
	const DTypeInfo *m = &dtype_info[mid], *f = &dtype_info[from];

	if (dtype_is_float(from))
		return dtype_is_float(mid) && holds_float(mid, from);
	if (dtype_is_float(mid))
		return f->bits <= m->man && num_largest(mid) >= ldexp(1, f->bits);
	return mid != D_bool && m->bits >= f->bits; /* the low bits are preserved */
}

static Val *
fold_cast(Op *o)
{
	Val *x = op_source(o);
	DType to = o->out[0]->type.dtype, mid = x->type.dtype;
	Op *p = x->def;

	if (to == mid)
		return x;
	if (p && p->code == O_cast && op_source(p)->type.dtype == to && holds(mid, to))
		return op_source(p);
	return NULL;
}

/* Merges two bitcasts into one. */
static Val *
fold_bitcast(Op *o)
{
	Val *x = op_source(o);
	Op *p = x->def;

	if (x->type.dtype == o->out[0]->type.dtype)
		return x;
	if (!p || p->code != O_bitcast)
		return NULL;
	if (op_source(p)->type.dtype == o->out[0]->type.dtype)
		return op_source(p);
	return op_new(o->parent, o, O_bitcast, o->src, 1, p->in, 1, &o->out[0]->type)->out[0];
}

static Val *
fold_select(Op *o)
{
	Constant c;

	if (select_yes(o) == select_no(o))
		return select_yes(o);
	if (const_get(select_cond(o), &c))
		return c.i ? select_yes(o) : select_no(o);
	return NULL;
}

/* Clones o with another operand and immediates. */
static Val *
remake(Op *o, Val *x, const int64_t *imm)
{
	Op *n = op_new(o->parent, o, o->code, o->src, 1, &x, 1, &o->out[0]->type);

	if (imm)
		memcpy(n->imm, imm, sizeof n->imm);
	return n->out[0];
}

/* Is a shape op from x to type t the identity? imm: that of a transpose. */
static bool
changes_nothing(OpCode code, const Val *x, const Type *t, const int64_t *imm)
{
	for (int d = 0; code == O_transpose && d < x->type.rank; d++)
		if (imm[d] != d)
			return false;
	return type_equal(&x->type, t);
}

/* broadcast, transpose, reshape: equal elements stay equal; two in a row are merged. */
static Val *
fold_shape(Op *o)
{
	const Type *t = &o->out[0]->type;
	Val *x = op_source(o);
	Op *p = x->def;
	int64_t imm[DIM_MAX] = { 0 };
	Constant c;

	if (changes_nothing(o->code, x, t, o->imm))
		return x;
	if (const_get(x, &c))
		return const_make(o, t, c);
	if (p && p->code == O_splat)
		return op_new(o->parent, o, O_splat, o->src, 1, p->in, 1, t)->out[0];
	if (!p || p->code != o->code)
		return NULL;
	for (int d = 0; o->code == O_transpose && d < x->type.rank; d++)
		imm[d] = IMM_AT(p, perm, IMM_AT(o, perm, d));
	if (changes_nothing(o->code, op_source(p), t, imm))
		return op_source(p);
	return remake(o, op_source(p), imm);
}

/* Folds reductions of one element, and of constants. */
static Val *
fold_reduce(Op *o)
{
	Constant c;

	if (type_equal(&op_source(o)->type, &o->out[0]->type))
		return op_source(o);
	if (o->code != O_reduce_sum && const_get(op_source(o), &c))
		return const_make(o, &o->out[0]->type, c);
	if (o->code == O_reduce_sum && !dtype_is_float(o->out[0]->type.dtype) &&
	    const_get(op_source(o), &c)) {
		i64_eval(O_mul, c.i, op_source(o)->type.shape[IMM(o, dim)], &c.i);
		c.i = num_wrap(o->out[0]->type.dtype, c.i);
		return const_make(o, &o->out[0]->type, c);
	}
	return NULL;
}

/* Removes bounds that are never below the extent. */
static Val *
fold_mask(Op *o)
{
	const Type *t = &o->out[0]->type;
	Val *in[1 + DIM_MAX];
	int64_t mask = 0;
	int n = 1, at = 1;
	Op *c;

	in[0] = mask_source(o);
	for (int d = 0; d < t->rank; d++) {
		if (!(IMM(o, dims) >> d & 1))
			continue;
		if (val_fact(o->parent->kernel, o->in[at]).lo < t->shape[d]) {
			in[n++] = o->in[at];
			mask |= (int64_t)1 << d;
		}
		at++;
	}
	if (n == o->nin)
		return NULL;
	if (n == 1)
		return in[0];
	c = op_new(o->parent, o, O_mask, o->src, n, in, 1, t);
	IMM_SET(c, dims, mask);
	IMM_SET(c, fill, IMM(o, fill));
	c->fimm = o->fimm;
	return c->out[0];
}

/* Folds an elementwise op on splats and constants only: computes the scalar, then splats it. */
static Val *
fold_splats(Op *o)
{
	Val *in[3];
	Type t = type_scalar(o->out[0]->type.dtype);
	bool splat = false;
	Val *x;
	Constant c;

	if (!op_is(o, F_ELT) || o->out[0]->type.space != S_reg || o->nin < 1 || o->nin > 3)
		return NULL;
	for (int i = 0; i < o->nin; i++) {
		const Op *p = o->in[i]->def;
		if (!p || (p->code != O_splat && p->code != O_const))
			return NULL;
		splat = splat || p->code == O_splat;
	}
	if (!splat)
		return NULL;
	for (int i = 0; i < o->nin; i++) {
		Type ti = type_scalar(o->in[i]->type.dtype);
		in[i] = const_get(o->in[i], &c) ? const_make(o, &ti, c) : op_source(o->in[i]->def);
	}
	x = op_new(o->parent, o, o->code, o->src, o->nin, in, 1, &t)->out[0];
	memcpy(x->def->imm, o->imm, sizeof o->imm);
	return op_new(o->parent, o, O_splat, o->src, 1, &x, 1, &o->out[0]->type)->out[0];
}

Val *
fold_tile(Op *o)
{
	Val *r;
	Constant c;

	switch (o->code) {
	case O_splat: return const_get(op_source(o), &c) ? const_make(o, &o->out[0]->type, c) : NULL;
	case O_iota:
		c.i = 0;
		c.f = 0;
		return o->out[0]->type.shape[IMM(o, dim)] == 1 ? const_make(o, &o->out[0]->type, c) : NULL;
	case O_broadcast:
	case O_transpose:
	case O_reshape: return fold_shape(o);
	case O_reduce_sum:
	case O_reduce_max:
	case O_reduce_min: return fold_reduce(o);
	case O_mask: return fold_mask(o);
	case O_view: return fold_view(o);
	case O_cast:
		r = fold_cast(o);
		break;
	case O_bitcast:
		r = fold_bitcast(o);
		break;
	case O_select:
		r = fold_select(o);
		break;
	default:
		r = NULL;
		break;
	}
	return r ? r : fold_splats(o);
}
