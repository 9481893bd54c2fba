/* lower_lookup.c - lowers lookup(table, indices): reads elements of a table of up to 16 elements. */
#include "hexc/lang/lower.h"

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
