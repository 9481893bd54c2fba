/* lower_sort.c - lowers sort, argsort and topk along a dim.
 *
 * Elements become integers in their order (hexc/prelude/prelude.def, "order"), joined with their places
 * if these are wanted, so that no two are equal. A bitonic network orders them in registers. Missing
 * elements are larger than all others, and the result ends before them. */
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"
#include <string.h>

enum { LINE_MAX = 32768 };

/* A call. */
typedef struct Sorting {
	const Expr *e;
	Operand x;
	int dim;
	bool places, down;
	DType type;      /* of the values: f16, bf16, f32, or an integer */
	bool narrow;     /* keys have 16 bits */
	int64_t outer, n, inner; /* the tile is [outer, n, inner] */
} Sorting;

/* Calls a function of the prelude with up to 6 arguments. */
static LoweredValue
prelude(Lower *l, const Sorting *s, const char *name, int n, const LoweredValue *arg)
{
	LoweredValue v;

	lower_fn_call(l, lower_prelude_text(l, name, s->e->src), s->e->src, n, arg, 1, &v);
	return v;
}

static LoweredValue
prelude1(Lower *l, const Sorting *s, const char *name, LoweredValue x)
{
	return prelude(l, s, name, 1, &x);
}

static LoweredValue
cast(Lower *l, const Sorting *s, LoweredValue x, DType d)
{
	Type t = type_free(x.v->type);

	t.dtype = d;
	return x.v->type.dtype == d ? x : value_of(put1(l, O_cast, s->e->src, x.v, t));
}

/* Returns the type in which values of type d are ordered; D_COUNT: none. */
static DType
ordered_type(DType d, bool places)
{
	const DTypeInfo *info = &dtype_info[d];

	if (d == D_f16 || d == D_bf16 || d == D_f32)
		return d;
	if (info->kind == K_flt)
		return info->bits < 32 || d == D_tf32 ? D_f32 : D_COUNT;
	if (d == D_bool || (info->bits == 64 && (places || d == D_u64)))
		return D_COUNT;
	if (info->bits == 64 || d == D_u32 || d == D_u16)
		return d;
	return D_i32;
}

static bool
check(Lower *l, Sorting *s)
{
	const Type *t;
	DType d;

	if (!lower_tile_arg(l, s->e, 0, &s->x) ||
	    !lower_dim_arg(l, s->e, s->e->narg - 1, s->x.v.v->type.rank, &s->dim))
		return false;
	t = &s->x.v.v->type;
	d = t->dtype;
	s->type = ordered_type(d, s->places);
	if (s->type == D_COUNT) {
		diag_error(l->diag, s->x.e->src, "`%s` is not defined on %s; %s", s->e->name,
		           dtype_info[d].name,
		           d == D_bool ? "cast to u8"
		           : s->places ? "it orders floats up to f32 and integers up to 32 bits"
		                       : "it orders floats up to f32 and integers up to i64");
		return false;
	}
	s->narrow = s->type == D_f16 || s->type == D_bf16 ||
	            (dtype_info[d].kind != K_flt && dtype_info[d].bits <= 16);
	s->n = t->shape[s->dim];
	s->outer = s->inner = 1;
	for (int i = 0; i < t->rank; i++) {
		s->outer *= i < s->dim ? t->shape[i] : 1;
		s->inner *= i > s->dim ? t->shape[i] : 1;
	}
	if (s->n <= LINE_MAX)
		return true;
	diag_error(l->diag, s->e->src, "`%s` orders up to %d elements of a line, not %lld", s->e->name,
	           LINE_MAX, (long long)s->n);
	return false;
}

/* The names of functions end with the type. */
static const char *
for_type(Lower *l, const char *name, const Sorting *s)
{
	return arena_printf(l->arena, "%s_%s", name, dtype_info[s->type].name);
}

/* Has the order of this type functions of its own? Else the values are their keys. */
static bool
has_keys(const Sorting *s)
{
	return dtype_is_float(s->type) || s->type == D_u32 || s->type == D_u16;
}

static LoweredValue
turned_around(Lower *l, const Sorting *s, LoweredValue key)
{
	int64_t nan = s->type == D_f32    ? 0x7fc00000
	              : s->type == D_f16  ? 0x7e00
	              : s->type == D_bf16 ? 0x7fc0
	                                  : 0;
	LoweredValue arg[2] = { key, value_int(nan) };

	return s->down ? prelude(l, s, "sort_down", 2, arg) : key;
}

/* Returns x, all elements of which exist: the missing ones are the largest number of the type. */
static LoweredValue
largest_outside(Lower *l, const Sorting *s, LoweredValue x)
{
	Val *v = put1(l, O_fill, s->e->src, x.v, type_free(x.v->type));
	bool narrow = s->places && s->narrow;

	IMM_SET(v->def, fill, narrow ? 32767 : x.v->type.dtype == D_i64 ? INT64_MAX : INT32_MAX);
	return value_of(v);
}

/* Returns the integers that are to be ordered. */
static LoweredValue
keys(Lower *l, const Sorting *s)
{
	LoweredValue x = cast(l, s, s->x.v, s->type), key = x, arg[3];
	Type place = type_free(s->x.v.v->type);
	Val *i;

	if (has_keys(s))
		key = prelude1(l, s, for_type(l, "sort_key", s), x);
	key = largest_outside(l, s, turned_around(l, s, key));
	if (!s->places)
		return key;
	place.dtype = D_i32;
	i = put_op(l, O_iota, s->e->src, 0, NULL, place);
	IMM_SET(i->def, dim, s->dim);
	arg[0] = s->x.v;
	arg[1] = value_of(i);
	arg[2] = value_int(s->narrow ? 0x8000 : 0x40000000);
	arg[1] = prelude(l, s, "sort_place", 3, arg);
	arg[0] = key;
	return prelude(l, s, s->narrow ? "sort_join_16" : "sort_join_32", 2, arg);
}

/* Orders each line of the tile. */
static LoweredValue
ordered(Lower *l, const Sorting *s, LoweredValue x)
{
	Type t = type_free(x.v->type);
	int64_t n = 1, all;
	LoweredValue arg[5] = { x, value_int(s->outer), value_int(s->n), { 0 }, value_int(s->inner) };

	while (n < s->n)
		n *= 2;
	if (n == 1)
		return x;
	if (n > s->n) {
		arg[3] = value_int(n - s->n);
		x = prelude(l, s, t.dtype == D_i64 ? "sort_pad_i64" : "sort_pad_i32", 5, arg);
		if (x.kind == VK_none)
			return x;
	}
	all = s->outer * n * s->inner;
	arg[0] = value_of(put_reshape(l, s->e->src, x.v, 1, &all));
	arg[2] = arg[4] = value_int(n);
	arg[3] = value_int(s->inner);
	x = prelude(l, s, "sort_lines", 5, arg);
	if (x.kind == VK_none)
		return x;
	x.v = put_reshape(l, s->e->src, x.v, 3, (int64_t[]){ s->outer, n, s->inner });
	if (n > s->n) {
		AssignedPart p = { .extent = { s->outer, s->n, s->inner } };

		for (int d = 0; d < 3; d++)
			p.start[d] = ir_const(l->b, NULL, 0);
		p.full = p.type = type_tile(t.dtype, S_reg, 3, p.extent);
		x = lower_part_value(l, s->e, &x, &p);
		if (x.kind == VK_none)
			return x;
	}
	x.v = put_reshape(l, s->e->src, x.v, t.rank, t.shape);
	return x;
}

/* Returns the first k of the ordered elements y, which exist as far as those of x do. */
static LoweredValue
first_of(Lower *l, const Sorting *s, LoweredValue y, int64_t k)
{
	Val *in[2] = { y.v, s->x.v.v };
	Type t = type_free(y.v->type);
	AssignedPart p = { .dropped = 0 };

	y.v = put_op(l, O_front, s->e->src, 2, in, t);
	IMM_SET(y.v->def, dim, s->dim);
	if (k == s->n)
		return y;
	t.shape[s->dim] = k;
	for (int d = 0; d < t.rank; d++) {
		p.start[d] = ir_const(l->b, NULL, 0);
		p.extent[d] = t.shape[d];
	}
	p.full = p.type = t;
	return lower_part_value(l, s->e, &y, &p);
}

/* Returns the values of ordered keys. */
static LoweredValue
values(Lower *l, const Sorting *s, LoweredValue key)
{
	if (s->places)
		key = prelude1(l, s, s->narrow ? "sort_left_16" : "sort_left_32", key);
	key = turned_around(l, s, key);
	if (has_keys(s))
		key = prelude1(l, s, for_type(l, "sort_value", s), key);
	return cast(l, s, key, s->x.v.v->type.dtype);
}

LoweredValue
lower_sort(Lower *l, const Expr *e)
{
	Sorting s = { .e = e, .places = strcmp(e->name, "argsort") == 0 };
	LoweredValue y;

	if (!check(l, &s))
		return value_none();
	y = ordered(l, &s, keys(l, &s));
	if (y.kind == VK_none)
		return y;
	y = s.places ? prelude1(l, &s, s.narrow ? "sort_right_16" : "sort_right_32", y) : values(l, &s, y);
	return y.kind == VK_none ? y : first_of(l, &s, y, s.n);
}

bool
lower_topk(Lower *l, const Expr *e, int want, LoweredValue *out)
{
	Sorting s = { .e = e, .places = true, .down = true };
	LoweredValue y;
	int64_t k;

	for (int i = 0; i < want; i++)
		out[i] = value_none();
	if (want > 2) {
		diag_error(l->diag, e->src, "`topk` returns 2 values, but %d are expected here", want);
		return false;
	}
	if (e->narg != 3) {
		diag_error(l->diag, e->src, "`topk` has %d arguments; write topk(x, k, dim)", e->narg);
		return false;
	}
	if (!check(l, &s) || !lower_const_int(l, e->arg[1], "the number of largest elements", &k))
		return false;
	if (k < 1 || k > s.n) {
		diag_error(l->diag, e->arg[1]->src, "`topk` of %lld elements: the line has %lld",
		           (long long)k, (long long)s.n);
		return false;
	}
	y = ordered(l, &s, keys(l, &s));
	if (y.kind == VK_none)
		return false;
	out[0] = first_of(l, &s, values(l, &s, y), k);
	if (want > 1)
		out[1] = first_of(l, &s, prelude1(l, &s, s.narrow ? "sort_right_16" : "sort_right_32", y), k);
	return out[0].kind != VK_none;
}

LoweredValue
lower_topk_values(Lower *l, const Expr *e)
{
	LoweredValue v;

	lower_topk(l, e, 1, &v);
	return v;
}
