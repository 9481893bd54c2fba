/* type.c - implements value types and their checks: extents in range, and a matching layout. */
#include "hexc/ir/bit_order.h"
#include "hexc/ir/ir.h"
#include <string.h>

int64_t
type_value(DType d)
{
	return INT64_MIN + (int64_t)d;
}

DType
value_type(int64_t x)
{
	return x < INT64_MIN + D_COUNT ? (DType)(x - INT64_MIN) : D_COUNT;
}

int
reshape_source(const Type *x, const Type *y, int d)
{
	int64_t inner = 1, size = 1;

	for (int i = d + 1; i < y->rank; i++)
		inner *= y->shape[i];
	for (int i = x->rank - 1; i >= 0 && y->shape[d] > 1; i--) {
		if (size == inner && x->shape[i] == y->shape[d])
			return i;
		size *= x->shape[i];
	}
	return -1;
}

Type
type_scalar(DType d)
{
	Type t;

	memset(&t, 0, sizeof t);
	t.dtype = d;
	t.space = S_scalar;
	return t;
}

Type
type_index(void)
{
	return type_scalar(D_i64);
}

Type
type_cond(void)
{
	return type_scalar(D_bool);
}

bool
type_is_index(const Type *t)
{
	return t->space == S_scalar && t->dtype == D_i64;
}

bool
type_is_cond(const Type *t)
{
	return t->space == S_scalar && t->dtype == D_bool;
}

Type
type_tile(DType d, Space s, int rank, const int64_t *shape)
{
	Type t = type_scalar(d);

	t.space = s;
	t.rank = rank;
	for (int i = 0; i < rank; i++)
		t.shape[i] = shape[i];
	return t;
}

Type
type_free(Type t)
{
	t.layout = NULL;
	t.pinned = false;
	t.kept = false;
	return t;
}

int64_t
type_size(const Type *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

void
type_coord(const Type *t, int64_t elem, int64_t *index)
{
	row_major_coord(t->rank, t->shape, elem, index);
}

bool
type_same(const Type *a, const Type *b)
{
	if (a->dtype != b->dtype || a->space != b->space || a->rank != b->rank ||
	    a->bit_order != b->bit_order)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

const char *
type_print(Arena *a, const Type *t)
{
	static const char *const space[] = { "", "reg ", "shared ", "global " };
	Text s = { a, NULL, 0, 0 };

	text_printf(&s, "%s%s", space[t->space], dtype_info[t->dtype].name);
	if (t->space == S_scalar)
		return s.s;
	text_printf(&s, "[");
	for (int i = 0; i < t->rank; i++) {
		text_printf(&s, i ? ", " : "");
		if (t->shape[i] < 0)
			text_printf(&s, "?");
		else
			text_printf(&s, "%lld", (long long)t->shape[i]);
	}
	text_printf(&s, "]");
	if (t->bit_order)
		text_printf(&s, " order %d", t->bit_order);
	return s.s;
}

/* ---- checks -------------------------------------------------------------------------------------- */

enum { EXTENT_MAX = 1 << 30 };

static const char *
check_axes(Arena *a, const Type *t, int warps)
{
	const Layout *l = t->layout;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);
		bool mem = it->axis == AX_mem;
		bool thread = it->axis == AX_reg || it->axis == AX_lane || it->axis == AX_warp;
		if (it->extent > 1 && (t->space == S_reg ? !thread : !mem))
			return arena_printf(a, "axis %d in the layout of a %s tile", it->axis,
			                    t->space == S_reg ? "register" : "shared");
		if (it->extent < 1 || it->stride < 0)
			return "a layout with a negative stride or an empty iter";
	}
	if (t->space == S_reg && layout_cosize(l, AX_lane) > WARP_SIZE)
		return "a layout on more than 32 lanes";
	if (t->space == S_reg && layout_cosize(l, AX_warp) > warps)
		return "a layout on more warps than the block's";
	return NULL;
}

static const char *
check_layout(Arena *a, const Type *t, int warps)
{
	const Layout *l = t->layout;

	if (t->space != S_reg && t->space != S_shared)
		return "a layout on a scalar or a global tile";
	if (l->ndim != t->rank)
		return arena_printf(a, "rank %d, but %d in its layout", t->rank, l->ndim);
	for (int d = 0; d < t->rank; d++) {
		int64_t e = layout_extent(l, d);
		if (e != t->shape[d])
			return arena_printf(a, "extent %lld of dim %d, but %lld in its layout",
			                    (long long)t->shape[d], d, (long long)e);
	}
	return check_axes(a, t, warps);
}

/* Only narrow numeric types in registers may have a bit order other than 0; tiles must fill complete
 * words. */
static const char *
check_bit_order(Arena *a, const Type *t)
{
	int bits = dtype_info[t->dtype].bits;
	int64_t regs;

	if (t->space != S_reg || !dtype_is_narrow(t->dtype))
		return "a bit order of other than a register tile of at most 8 bits";
	if (!bit_order_valid(bits, t->bit_order))
		return arena_printf(a, "order %d", t->bit_order);
	regs = t->layout ? layout_cosize(t->layout, AX_reg) : 0;
	if (regs % bit_order_unit(bits, t->bit_order))
		return arena_printf(a, "%lld elements/thread do not fill 32-bit registers in order %d",
		                    (long long)regs,
		                    t->bit_order);
	return NULL;
}

const char *
type_check(Arena *a, const Type *t, int warps)
{
	int64_t size = 1;
	const char *bad;

	if ((int)t->dtype < 0 || t->dtype >= D_COUNT || (int)t->space < 0 || t->space > S_global)
		return "no such element type or space";
	if (t->space == S_global && dtype_info[t->dtype].use == U_temp)
		return "an element type that is not allowed in global memory";
	if (t->rank < 0 || t->rank > DIM_MAX || (t->space == S_scalar && t->rank != 0))
		return "a rank out of range";
	if (t->space == S_reg && t->rank == 0)
		return "a register tile of rank 0";
	for (int d = 0; d < t->rank; d++) {
		if (t->shape[d] == -1 && t->space == S_global)
			continue;
		if (t->shape[d] < 1 || (t->space != S_global && t->shape[d] > EXTENT_MAX))
			return arena_printf(a, "extent %lld of dim %d", (long long)t->shape[d], d);
		if (t->space == S_global)
			continue;
		size *= t->shape[d];
		if (size > EXTENT_MAX)
			return "more than 2^30 elements";
	}
	if (t->kept && t->space != S_reg)
		return "pinned in registers, but not a register tile";
	if (t->pinned && !t->layout)
		return "pinned without a layout";
	bad = t->layout ? check_layout(a, t, warps) : NULL;
	return bad || t->bit_order == 0 ? bad : check_bit_order(a, t);
}
