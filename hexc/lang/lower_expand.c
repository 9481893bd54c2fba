/* lower_expand.c - lowers sparse(values, positions) and lookup(table, indices), which make a tile from
 * the elements of a smaller one. */
#include "hexc/ir/sparse.h"
#include "hexc/lang/lower.h"

/* ---- sparse ------------------------------------------------------------------------------------------ */

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

/* ---- tables ------------------------------------------------------------------------------------------ */

/* Checks for one table, or one per row of the indices: extents of 1 before the last broadcast. */
static bool
check_table(Lower *l, const Expr *e, const Operand *table, const Operand *index)
{
	const Type *t = &table->v.v->type, *x = &index->v.v->type;
	int64_t n = (int64_t)1 << dtype_info[x->dtype].bits;
	bool fit = t->rank == 1 || t->rank == x->rank;

	for (int d = 0; fit && d + 1 < t->rank; d++)
		fit = t->shape[d] == 1 || t->shape[d] == x->shape[d];
	if (fit && t->shape[t->rank - 1] == n)
		return true;
	diag_error(l->diag, table->e->src,
	           "the table for %s is %s; slice or reshape it to %lld elements in its last dimension, "
	           "with no preceding dimensions, or ones of extent 1 or of the indices' extents",
	           check_describe(l, &index->v), check_describe(l, &table->v), (long long)n);
	check_declared(l, e->src, 1, table);
	return false;
}

LoweredValue
lower_lookup(Lower *l, const Expr *e)
{
	Operand table, index;
	LoweredValue r = { .kind = VK_val };
	const DTypeInfo *it;
	Type t;

	if (!lower_tile_arg(l, e, 0, &table) || !lower_tile_arg(l, e, 1, &index))
		return value_none();
	it = &dtype_info[index.v.v->type.dtype];
	if (it->kind != K_uint || it->bits > 4) {
		diag_error(l->diag, index.e->src,
		           "the indices of a `lookup` must be u1, u2, u3 or u4, not %s; write u4(%s)",
		           it->name,
		           check_text(l, index.e, "..."));
		return value_none();
	}
	if (table.v.v->type.dtype == D_bool || dtype_info[table.v.v->type.dtype].bits > 32 ||
	    dtype_info[table.v.v->type.dtype].bits < 8) {
		diag_error(l->diag, table.e->src,
		           "the elements of a table must be numbers of 8 to 32 bits, not %s; cast them",
		           dtype_info[table.v.v->type.dtype].name);
		return value_none();
	}
	if (!check_table(l, e, &table, &index))
		return value_none();
	t = index.v.v->type;
	t.dtype = table.v.v->type.dtype;
	r.v = put2(l, O_lookup, e->src, table.v.v, index.v.v, t);
	return r;
}
