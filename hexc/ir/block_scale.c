/* block_scale.c - recognizes dot operands that are narrow values times block scales along k, by matching the
 * ops that compute them. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/dtype_value.h"

enum { CHAIN = 16 }; /* maximum ops between an operand and its sources */

bool
dot_is_scaled(const Op *dot)
{
	return dot->nin == 5;
}

int64_t
dot_block(const Op *dot, int side)
{
	return dot->in[side]->type.shape[1 - side] / mma_extra(dot, side)->type.shape[1 - side];
}

/* ---- numbers ------------------------------------------------------------------------------------ */

/* Exponent of the smallest positive value. */
static int
least(DType d)
{
	return dtype_info[d].codes == C_scale ? -dtype_bias(d) : 1 - dtype_bias(d) - dtype_info[d].man;
}

/* Significand bits of a value; 0 for powers of two, which add none to a product. */
static int
digits(DType d)
{
	return dtype_info[d].man ? dtype_info[d].man + 1 : 0;
}

bool
scaled_holds(DType d, DType x)
{
	return dtype_info[d].man >= dtype_info[x].man && least(d) <= least(x) &&
	       num_largest(d) >= num_largest(x) && dtype_info[d].codes != C_scale;
}

/* The narrower of two types through which an operand passes. */
static DType
poorer(DType x, DType y)
{
	if (dtype_info[x].exp != dtype_info[y].exp)
		return dtype_info[x].exp < dtype_info[y].exp ? x : y;
	return dtype_info[x].man < dtype_info[y].man ? x : y;
}

/* ---- what a factor is computed from ---------------------------------------------------------------- */

/* Does the op only convert or move elements? Updates `at` from the operand's to the result's indices. */
static bool
moved(const Op *o, Layout *at)
{
	const Type *t = &o->out[0]->type;
	Layout from = *at;
	int perm[DIM_MAX];

	switch (o->code) {
	case O_cast:
		return true;
	case O_reshape:
		return layout_reshape(at, &from, t->rank, t->shape);
	case O_transpose:
		for (int d = 0; d < t->rank; d++)
			perm[d] = (int)IMM_AT(o, perm, d);
		layout_permute(at, &from, perm);
		return true;
	case O_broadcast:
		for (int d = 0; d < t->rank; d++)
			if (t->shape[d] != op_source(o)->type.shape[d] &&
			    !layout_push(at, d, t->shape[d], 0, AX_mem))
				return false;
		return true;
	default:
		return false;
	}
}

static bool
is_leaf(const Val *v)
{
	return dtype_is_narrow_float(v->type.dtype) && dtype_info[v->type.dtype].codes != C_table;
}

static bool
part_of(Val *v, ScaledPart *p, DType *through, int depth)
{
	const Op *o = v->def;

	if (v->type.space != S_reg || depth == 0)
		return false;
	if (is_leaf(v)) {
		p->v = v;
		layout_rows(&p->at, v->type.rank, v->type.shape, v->type.rank - 1,
		            v->type.shape[v->type.rank - 1]);
		return true;
	}
	if (!o || !dtype_is_float(v->type.dtype) || o->nin != 1 ||
	    !part_of(o->in[0], p, through, depth - 1))
		return false;
	*through = poorer(*through, v->type.dtype);
	if (o->code == O_abs)
		return p->magnitude = true;
	return moved(o, &p->at);
}

static bool
parts_of(Val *v, ScaledPart out[2], DType *through, int depth)
{
	DType saved = *through;
	const Op *o = v->def;

	out[0] = out[1] = (ScaledPart){ .v = NULL };
	if (part_of(v, &out[0], through, depth))
		return true;
	*through = poorer(saved, v->type.dtype);
	out[0].v = NULL;
	if (!o || v->type.space != S_reg || depth == 0)
		return false;
	if (o->code == O_mul)
		return part_of(elt_lhs(o), &out[0], through, depth - 1) &&
		       part_of(elt_rhs(o), &out[1], through, depth - 1);
	return o->nin == 1 && parts_of(o->in[0], out, through, depth - 1) && moved(o, &out[0].at) &&
	       (!out[1].v || moved(o, &out[1].at));
}

/* Number of contiguous elements along dim d that share one element. */
static int64_t
shared_along(const Layout *at, int d)
{
	int64_t n = 1;

	for (Digit g = dim_digits(at, d); g.it && g.it->stride == 0; digit_next(&g))
		n *= g.it->extent;
	return n;
}

/* Does each element occur once? */
static bool
once(const ScaledPart *p)
{
	for (Digit g = layout_digits(&p->at); g.it; digit_next(&g))
		if (g.it->stride == 0 && g.it->extent > 1)
			return false;
	return true;
}

bool
scaled_factor(const Op *dot, int side, Scaled *out)
{
	Val *v = dot->in[side];
	ScaledPart p[2];
	DType x, s;

	*out = (Scaled){ .through = D_f64, .block = v->type.shape[1 - side] };
	if (v->def && v->def->code == O_mask) {
		out->mask = v->def;
		v = mask_source(v->def);
	}
	if (v->type.rank != 2 || !parts_of(v, p, &out->through, CHAIN))
		return false;
	out->value = p[p[1].v && !once(&p[0])];
	x = out->value.v->type.dtype;
	if (!once(&out->value) || out->value.magnitude || dtype_info[x].codes == C_scale ||
	    (out->through != D_f64 && !scaled_holds(out->through, x)))
		return false;
	if (!p[1].v)
		return true;
	out->scale = p[out->value.v == p[0].v];
	out->block = shared_along(&out->scale.at, 1 - side);
	s = out->scale.v->type.dtype;
	return out->block > 1 && digits(x) + digits(s) <= digits(out->through);
}

bool
kernel_is_scaled(const Kernel *k)
{
	OpWalk w;
	Scaled s;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < 2 && o->code == O_dot && o->nin == 3; i++)
			if (scaled_factor(o, i, &s) && s.scale.v)
				return true;
	return false;
}
