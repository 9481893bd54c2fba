/* lower_sparse.c - lowers sparse(values, positions): the tile that the retained elements and their
 * positions define. */
#include "hexc/lang/lower.h"
#include "hexc/ir/sparse.h"

static bool
check_positions(Lower *l, const Expr *e, const Operand *v, const Operand *p)
{
	const Type *a = &v->v.v->type, *b = &p->v.v->type;
	int last = a->rank - 1;
	bool fit = a->rank == b->rank && a->rank > 0;
	Sparse s;

	if (b->dtype != D_u2 && b->dtype != D_u1) {
		diag_error(l->diag, p->e->src,
		           "sparse metadata must be u2 (2:4) or u1 (1:2), not %s; declare %s accordingly",
		           dtype_info[b->dtype].name, check_text(l, p->e, "them"));
		return false;
	}
	for (int d = 0; fit && d < last; d++)
		fit = a->shape[d] == b->shape[d];
	if (fit && sparse_of(a, b, last, &s))
		return true;
	if (fit && b->dtype == D_u2 && a->shape[last] % 2)
		diag_error(l->diag, e->src,
		           "`sparse` keeps two values of four, but %s has rows of %lld; make them even",
		           check_text(l, v->e, "the first operand"), (long long)a->shape[last]);
	else
		diag_error(l->diag, e->src,
		           "`sparse` of %s and %s: expected one position for each value%s; the second must "
		           "be %s with the shape of the first",
		           check_describe(l, &v->v), check_describe(l, &p->v),
		           b->dtype == D_u2 ? ", or for each pair of adjacent values" : "",
		           dtype_info[b->dtype].name);
	return false;
}

LoweredValue
lower_sparse(Lower *l, const Expr *e)
{
	Operand v, p;
	LoweredValue r = { .kind = VK_val };
	Type t;
	int last;

	if (!lower_tile_arg(l, e, 0, &v) || !lower_tile_arg(l, e, 1, &p))
		return value_none();
	t = v.v.v->type;
	if (t.dtype == D_bool) {
		diag_error(l->diag, v.e->src, "`sparse` is not defined on bool; write u8(%s)",
		           check_text(l, v.e, "..."));
		return value_none();
	}
	if (!check_positions(l, e, &v, &p))
		return value_none();
	last = t.rank - 1;
	t.shape[last] *= 2;
	if (!check_shape(l, t.rank, t.shape, e->src))
		return value_none();
	r.v = put2(l, O_sparse_expand, e->src, v.v.v, p.v.v, t);
	IMM_SET(r.v->def, dim, last);
	return r;
}
