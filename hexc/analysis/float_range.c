/* float_range.c - shows that no element of a float tile is NaN or negative, for any tensor contents and any
 * rounding.
 *
 * Follows ops, selects and loops. For a loop-carried value the proof is by induction: the initial value has
 * the property, and an iteration preserves it. Returns false if nothing is known. */
#include "hexc/analysis/value_range.h"
#include <math.h>

enum { DEPTH = 40, ASSUMED = 8 };

typedef struct Never {
	FloatKind kind;
	const Val *assumed[ASSUMED]; /* loop-carried values assumed at the start of an iteration */
	int n;
} Never;

static bool never(Never *x, const Val *v, int depth);

/* Carried value i of a loop. */
static bool
never_carried(Never *x, const Op *loop, int i, int depth)
{
	const Val *head = loop->blk[0]->arg[1 + i];
	bool ok;

	for (int k = 0; k < x->n; k++)
		if (x->assumed[k] == head)
			return true;
	if (x->n == ASSUMED || !never(x, for_init(loop, i), depth))
		return false;
	x->assumed[x->n++] = head;
	ok = never(x, loop->blk[0]->last->in[i], depth);
	x->n--;
	return ok;
}

/* A value without an op: a loop's, at the start of an iteration. */
static bool
never_at_head(Never *x, const Val *v, int depth)
{
	const Op *loop = v->block ? v->block->owner : NULL;

	for (int i = 0; loop && loop->code == O_for && i < loop->nout; i++)
		if (loop->blk[0]->arg[1 + i] == v)
			return never_carried(x, loop, i, depth);
	return false;
}

/* A result of a loop or an if. */
static bool
never_after(Never *x, const Op *o, const Val *v, int depth)
{
	for (int i = 0; i < o->nout; i++) {
		if (o->out[i] != v)
			continue;
		if (o->code == O_for)
			return never_carried(x, o, i, depth);
		return o->blk[0] && o->blk[1] && never(x, o->blk[0]->last->in[i], depth) &&
		       never(x, o->blk[1]->last->in[i], depth);
	}
	return false;
}

static bool
all_never(Never *x, const Op *o, int from, int depth)
{
	for (int i = from; i < o->nin; i++)
		if (!never(x, o->in[i], depth))
			return false;
	return true;
}

/* A sum, quotient or function. Operands that are not NaN may still produce a NaN. */
static bool
never_negative(Never *x, const Op *o, int depth)
{
	switch ((int)o->code) {
	case O_abs:
	case O_exp:
	case O_exp2:
	case O_sqrt:
	case O_rsqrt: return true;
	case O_mul: return elt_lhs(o) == elt_rhs(o) || all_never(x, o, 0, depth);
	case O_fma:
		return elt_lhs(o) == elt_rhs(o) ? never(x, fma_addend(o), depth) : all_never(x, o, 0, depth);
	case O_max: return never(x, elt_lhs(o), depth) || never(x, elt_rhs(o), depth);
	case O_add:
	case O_div:
	case O_min:
	case O_reduce_sum:
	case O_reduce_max:
	case O_reduce_min: return all_never(x, o, 0, depth);
	default: return false;
	}
}

static bool
never_nan(Never *x, const Op *o, int depth)
{
	switch ((int)o->code) {
	case O_max:
	case O_min: return never(x, elt_lhs(o), depth) || never(x, elt_rhs(o), depth);
	case O_neg:
	case O_abs: return never(x, o->in[0], depth);
	default: return false;
	}
}

static bool
number_never(const Never *x, double c)
{
	return x->kind == FLOAT_NAN ? !isnan(c) : c >= 0;
}

static bool
never(Never *x, const Val *v, int depth)
{
	const Op *o = v->def;

	if (depth-- == 0)
		return false;
	if (!dtype_is_float(v->type.dtype))
		return x->kind == FLOAT_NAN;
	if (!o)
		return never_at_head(x, v, depth);
	switch ((int)o->code) {
	case O_const: return number_never(x, o->fimm);
	case O_select: return all_never(x, o, 1, depth);
	case O_cast: return dtype_info[v->type.dtype].use == U_any && all_never(x, o, 0, depth);
	case O_mask: return number_never(x, o->fimm) && never(x, mask_source(o), depth);
	case O_splat:
	case O_broadcast:
	case O_transpose:
	case O_slice:
	case O_reshape: return v->type.space != S_shared && never(x, op_source(o), depth);
	case O_for:
	case O_if: return never_after(x, o, v, depth);
	default: return x->kind == FLOAT_NAN ? never_nan(x, o, depth) : never_negative(x, o, depth);
	}
}

bool
float_never(const Val *v, FloatKind kind)
{
	Never x = { .kind = kind };

	return never(&x, v, DEPTH);
}
