/* lower_slice.c - lowers T[start :+ extent below end, :, index, newaxis] to a view of memory, or a register
 * tile. */
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"
#include <string.h>

/* Names the object that slice e selects from, for messages. */
static const char *
base_text(const Lower *l, const Expr *e)
{
	return check_text(l, e->arg[0], "it");
}

/* Finds the base of a slice: named memory, or a register tile. */
static bool
find_base(Lower *l, const Expr *e, LoweredValue *base)
{
	const Expr *x = e->arg[0];

	if (x->kind == EX_call && strcmp(x->name, "reshape") == 0 && x->narg >= 2) {
		if (!check_mode(l, MODE_BODY, e->src, "a slice"))
			return false;
		*base = lower_alias(l, x);
		return base->kind == VK_view || value_is_tile(base);
	}
	if (x->kind == EX_index) {
		diag_error(l->diag, x->src, "a slice cannot be sliced again; slice it once");
		return false;
	}
	if (!check_mode(l, MODE_BODY, e->src,
	                arena_printf(l->arena, "a slice of `%s`", check_text(l, x, "a tile"))))
		return false;
	*base = lower_expr(l, x); /* an EX_error after a report */
	if (base->kind == VK_none)
		return false;
	if (base->kind == VK_view || value_is_tile(base))
		return true;
	diag_error(l->diag, e->src, "`%s` is %s and cannot be sliced", check_text(l, x, "the value"),
	           check_describe(l, base));
	return false;
}

/* Reports known starts before the start, and ends past the end, of shared memory and registers; a tensor
 * has out-of-bounds regions instead. */
static bool
check_inside(Lower *l, const Expr *e, const Slice *s, int d, const Val *start, int64_t extent,
             const Type *t)
{
	int64_t at, last;

	if (t->space == S_global || !val_is_const(start, &at))
		return true;
	if (at < 0) {
		diag_error(l->diag, s->at->src, "slice of `%s` starts at negative index %lld",
		           base_text(l, e), (long long)at);
		return false;
	}
	if (at > t->shape[d] - extent) {
		last = at > INT64_MAX - extent ? INT64_MAX : at + extent - 1;
		diag_error(l->diag, s->src,
		           "the slice reaches element %lld of dimension %d, but `%s` has %lld there; start "
		           "at %lld or lower, or use a smaller extent",
		           (long long)last, d, base_text(l, e), (long long)t->shape[d],
		           (long long)(t->shape[d] - extent < 0 ? 0 : t->shape[d] - extent));
		check_declared(l, s->src, 1, &(Operand){ value_none(), e->arg[0] });
		return false;
	}
	return true;
}

/* Computes the slice step *step of dim d; only slices of tensors with several elements may have more than
 * 1. */
static bool
slice_step(Lower *l, const Expr *e, const Slice *s, const Type *t, int64_t extent, int64_t *step)
{
	const int64_t most = (int64_t)1 << 30;

	if (!s->step)
		return true;
	if (!lower_const_int(l, s->step, "the step of a slice", step))
		return false;
	if (*step < 1) {
		diag_error(l->diag, s->step->src,
		           "slice step must be positive, got %lld",
		           (long long)*step);
		return false;
	}
	if (t->space != S_global && *step > 1) {
		diag_error(l->diag, s->step->src,
		           "only slices of tensors can have steps, but `%s` is a %s tile; select one of "
		           "%lld elements when it is filled, or split the dimension by `reshape` and slice "
		           "that",
		           base_text(l, e), t->space == S_shared ? "shared" : "register", (long long)*step);
		return false;
	}
	if (*step > most / extent) {
		diag_error(l->diag, s->step->src,
		           "strided slice of %lld elements with step %lld spans more than %lld; use tensor "
			   "strides instead",
		           (long long)extent, (long long)*step, (long long)most);
		return false;
	}
	if (extent == 1)
		*step = 1;
	return true;
}

/* Selects all of dimension d. */
static bool
slice_all(Lower *l, const Expr *e, Src src, int d, const Type *t, Val **start, int64_t *extent)
{
	if (t->shape[d] < 0) {
		diag_error(l->diag, src,
		           "dimension %d of `%s` has a run-time size; write `start :+ EXTENT` with a "
		           "compile-time extent",
		           d, base_text(l, e));
		return false;
	}
	*start = ir_const(l->b, NULL, 0);
	*extent = t->shape[d];
	return true;
}

/* Lowers dim d; `one`: the value of a single index. */
static bool
slice_dim(Lower *l, const Expr *e, int d, const LoweredValue *one, const Type *t, Val **start,
	  int64_t *extent,
          int64_t *step, bool *drop)
{
	const Slice *s = d < e->nslice ? &e->slice[d] : NULL;

	*drop = false;
	if (!s || s->kind == SL_all)
		return slice_all(l, e, s ? s->src : e->src, d, t, start, extent);
	*extent = 1;
	*drop = s->kind == SL_one;
	*start = *drop ? lower_to_index(l, (Operand){ *one, s->at }, "the start of a slice")
	               : lower_index_value(l, s->at, "the start of a slice");
	if (s->kind == SL_range && (!lower_const_int(l, s->extent, "the extent of a slice", extent) ||
	                            !check_extent(l, *extent, s->extent->src) ||
	                            !slice_step(l, e, s, t, *extent, step)))
		return false;
	return *start && check_inside(l, e, s, d, *start, *extent, t);
}

/* ---- indices ----------------------------------------------------------------------------------- */

/* Replaces indices where `cond` is false by -1, which is out of bounds. */
static Val *
index_or_none(Lower *l, Src src, Val *cond, Val *v)
{
	Type t = type_free(v->type);
	LoweredValue none = value_int(-1);
	Val *in[3] = { cond, v, put_const(l, &none, t, src) };

	return put_op(l, O_select, src, 3, in, t);
}

/* Replaces indices outside of a bound by -1: those below it, or (`end`) those that are not. */
static Val *
bound_indices(Lower *l, Src src, Val *v, Val *bound, bool end)
{
	Type t = type_free(v->type), cond = t;
	Val *in[2] = { v };

	if (!bound)
		return v;
	t.dtype = D_i64;
	cond.dtype = D_bool;
	if (v->type.dtype != D_i64)
		in[0] = put1(l, O_cast, src, v, t);
	in[1] = put1(l, O_splat, src, bound, t);
	if (end) {
		in[0] = put_op(l, O_lt, src, 2, in, cond);
	} else {
		Val *swapped[2] = { in[1], in[0] };

		in[0] = put_op(l, O_le, src, 2, swapped, cond);
	}
	return index_or_none(l, src, in[0], v);
}

/* Replaces indices that were read out of bounds by -1. */
static Val *
mask_indices(Lower *l, Src src, Val *v)
{
	Type cond = type_free(v->type);

	cond.dtype = D_bool;
	return index_or_none(l, src, put1(l, O_inside, src, v, cond), v);
}

/* Is dim d of the slice indexed by an index tile? *v is its index, if it has a single one. */
static bool
find_indices(Lower *l, const Expr *e, int d, LoweredValue *v)
{
	const Slice *s = d < e->nslice ? &e->slice[d] : NULL;

	*v = value_none();
	if (!s || s->kind != SL_one)
		return false;
	*v = lower_load(l, lower_operand(l, s->at));
	return value_is_tile(v);
}

/* Checks for a tile of integers and converts it to i32 or i64. */
static bool
check_indices(Lower *l, const Expr *e, int d, LoweredValue *v)
{
	DType t = v->v->type.dtype;
	Type wide = v->v->type;
	const Expr *at = e->slice[d].at;
	const char *fix = arena_printf(l->arena, "write `i32(%s)`%s", check_text(l, at, "..."),
	                               dtype_is_float(t) ? ", which rounds toward 0" : "");

	if (dtype_is_integer(t)) {
		wide.dtype = dtype_info[t].bits < 32 || t == D_i32 ? D_i32 : D_i64;
		if (wide.dtype != t)
			v->v = put1(l, O_cast, at->src, v->v, wide);
		return true;
	}
	if (t == D_bool)
		fix = "`where(condition, x, y)` selects element by element";
	diag_error(l->diag, e->slice[d].src,
	           "the start of a slice must be a scalar or a tile of integers, but `%s` is %s; %s",
	           check_text(l, at, "it"), check_describe(l, v), fix);
	check_declared(l, e->slice[d].src, 1, &(Operand){ *v, at });
	return false;
}

/* ---- parts of register tiles ------------------------------------------------------------------- */

/* Slices [start, start + extent) of each dim, with result type r, which lacks the dims `missing`, in
 * registers; returns NULL if that is not possible. */
static Val *
slice_registers(Lower *l, Src src, const LoweredValue *x, Val *const *start, const int64_t *extent,
                int64_t missing, Type r)
{
	const Type *t = &x->v->type;
	int64_t at[DIM_MAX];
	Val *v = x->v;

	for (int d = 0; d < t->rank; d++)
		if (!val_is_const(start[d], &at[d]))
			return NULL;
	if (!lower_slice_shared_out(l, t, at, extent))
		return NULL;
	for (int d = 0; d < t->rank; d++)
		v = lower_put_slice(l, src, v, d, at[d], extent[d]);
	if (v->type.rank == r.rank)
		return v;
	v = put1(l, O_reshape, src, v, r);
	IMM_SET(v->def, dropped, missing);
	return v;
}

/* ---- the slice --------------------------------------------------------------------------------- */

/* A slice, dim by dim. */
typedef struct Taken {
	const Expr *e;
	LoweredValue base;
	Val *in[RANK_MAX + 1];      /* the base, and the start in each of its dims */
	Val *from[RANK_MAX], *below[RANK_MAX]; /* bounds of the slice's own; NULL: none */
	bool bounded;               /* there are some */
	bool value;                 /* it is read */
	int64_t extent[RANK_MAX];   /* of dims with a scalar start */
	int64_t step[RANK_MAX];     /* per dim; 0: 1 */
	int64_t missing;            /* bit set: dims of the base that the result lacks */
	int dropped;                /* bit set: dims of the base with a single index */
	int kept;                   /* dims that stay, so far; all with index tiles count once */
	Operand index[RANK_MAX];    /* index tiles, in the order of the dims that they address */
	int dim[RANK_MAX];          /* those dims */
	int nindex;
	Type along;                 /* the shape to which the index tiles broadcast */
	LoweredValue res;
	int64_t shape[2 * RANK_MAX];
	int rank;
	int fresh[RANK_MAX + 1];    /* new dims before each dim of the base, and after the last one */
	bool added;                 /* there are some */
	Type full;                  /* the shape with them */
} Taken;

static bool
is_tensor(const Taken *t)
{
	return t->base.kind == VK_view && t->base.v->type.space == S_global;
}

/* Lowers the bounds that the slice gives for dim d. */
static bool
take_bounds(Lower *l, Taken *t, int d)
{
	const Slice *s = d < t->e->nslice ? &t->e->slice[d] : NULL;

	if (!s || (!s->from && !s->below))
		return true;
	t->bounded = true;
	if (!t->value && !is_tensor(t)) {
		diag_error(l->diag, s->src,
		           "only slices that are read can have bounds here, but `%s` is a %s tile that is "
		           "written; bound the value, or use `where`",
		           base_text(l, t->e), t->base.kind == VK_view ? "shared" : "register");
		return false;
	}
	if (s->from)
		t->from[d] = lower_index_value(l, s->from, "the first index of a slice");
	if (s->below)
		t->below[d] = lower_index_value(l, s->below, "the end of a slice");
	return (!s->from || t->from[d]) && (!s->below || t->below[d]);
}

static bool
take_dim(Lower *l, Taken *t, int d)
{
	int64_t *extent = &t->extent[d], step = 1;
	Operand one = { value_none(), d < t->e->nslice ? t->e->slice[d].at : NULL };
	bool drop;

	if (!take_bounds(l, t, d))
		return false;
	if (find_indices(l, t->e, d, &one.v)) {
		t->missing |= t->nindex ? (int64_t)1 << d : 0;
		t->kept += t->nindex == 0;
		t->dim[t->nindex] = d;
		if (!check_indices(l, t->e, d, &one.v))
			return false;
		t->index[t->nindex++] = one;
		return true;
	}
	if (!slice_dim(l, t->e, d, &one.v, &t->base.v->type, &t->in[1 + d], extent, &step, &drop))
		return false;
	t->step[d] = step == 1 ? 0 : step;
	t->dropped += drop;
	/* A single element is a tile of one, so the last dim stays. */
	if (drop && (t->kept || d + 1 < t->base.v->type.rank)) {
		t->missing |= (int64_t)1 << d;
		return true;
	}
	t->kept++;
	return true;
}

/* Do index tiles x and y broadcast, where y addresses dim d? */
static bool
check_together(Lower *l, const Taken *t, const Operand *x, const Operand *y, int d)
{
	const Type *a = &x->v.v->type, *b = &y->v.v->type;
	const char *each = "";

	for (int i = 1; i <= a->rank && i <= b->rank; i++) {
		int64_t m = a->shape[a->rank - i], n = b->shape[b->rank - i];

		if (m == n || m == 1 || n == 1)
			continue;
		if (a->rank == 1 && b->rank == 1 && x->e->kind == EX_name)
			each = arena_printf(l->arena,
			                    "; for all combinations of both write `%s[:, newaxis]`",
			                    x->e->name);
		diag_error(l->diag, t->e->slice[d].src,
		           "index tiles %s (%s) and %s (%s) must broadcast: extents must be equal or 1%s",
		           check_describe(l, &x->v), check_text(l, x->e, "the first"),
		           check_describe(l, &y->v), check_text(l, y->e, "the second"), each);
		check_declared(l, t->e->slice[d].src, 1, x);
		check_declared(l, t->e->slice[d].src, 1, y);
		return false;
	}
	return true;
}

/* Broadcasts the rank of the index tiles. */
static bool
take_indices(Lower *l, Taken *t)
{
	for (int i = 0; i < t->nindex; i++)
		for (int j = 0; j < i; j++)
			if (!check_together(l, t, &t->index[j], &t->index[i], t->dim[i]))
				return false;
	if (!lower_join_shape(l, t->e->src, t->nindex, t->index, &t->along))
		return false;
	for (int i = 0; i < t->nindex; i++) {
		const LoweredValue *v = &t->index[i].v;
		int at = t->dim[i];
		Src src = t->e->slice[at].src;
		Val *index;

		index = bound_indices(l, src, mask_indices(l, src, v->v), t->from[at], false);
		index = bound_indices(l, src, index, t->below[at], true);
		t->in[1 + at] = put_leading_dims(l, src, index, t->along.rank);
		t->from[at] = t->below[at] = NULL;
	}
	return true;
}

/* The shape of a result, dim by dim. */
typedef struct Shape {
	int64_t extent[4 * RANK_MAX];
	int rank;
} Shape;

static void
put_dim(Shape *s, int64_t extent)
{
	s->extent[s->rank++] = extent;
}

/* Computes the shape of the result; the dims of the index tiles are at the position of the first
 * of them. */
static bool
take_shape(Lower *l, Taken *t)
{
	int rank = t->base.v->type.rank;
	Shape s = { .rank = 0 };

	for (int d = 0; d <= rank; d++) {
		for (int i = 0; i < t->fresh[d]; i++)
			put_dim(&s, 1);
		if (d == rank || t->missing >> d & 1)
			continue;
		if (t->nindex && t->dim[0] == d) {
			for (int i = 0; i < t->along.rank; i++) {
				put_dim(&s, t->along.shape[i]);
				t->shape[t->rank++] = t->along.shape[i];
			}
			continue;
		}
		t->shape[t->rank++] = t->extent[d];
		if (!(t->added && t->dropped == rank)) /* else a single element, which has only new dims */
			put_dim(&s, t->extent[d]);
	}
	if (!check_shape(l, t->rank, t->shape, t->e->src) || !check_shape(l, s.rank, s.extent, t->e->src))
		return false;
	t->full = type_tile(t->base.v->type.dtype, S_reg, s.rank, s.extent);
	return true;
}

/* Returns the view, of memory in this space. */
static LoweredValue
taken_view(Lower *l, const Taken *t, Space space)
{
	const Type *type = &t->in[0]->type;
	LoweredValue res = t->res;
	bool bounded = t->bounded && space == S_global;
	Val *in[1 + 3 * RANK_MAX];
	int n = 1 + type->rank;

	memcpy(in, t->in, (size_t)n * sizeof *in);
	for (int d = 0; d < type->rank && bounded; d++) {
		in[n + d] = t->from[d] ? t->from[d] : ir_const(l->b, NULL, INT64_MIN);
		in[n + type->rank + d] = t->below[d] ? t->below[d] : ir_const(l->b, NULL, INT64_MAX);
	}
	res.kind = VK_view;
	res.v = put_op(l, O_view, t->e->src, bounded ? n + 2 * type->rank : n, in,
	               type_tile(type->dtype, space, t->rank, t->shape));
	IMM_SET(res.v->def, dropped, t->missing);
	for (int d = 0; d < type->rank; d++)
		IMM_SET_AT(res.v->def, step, d, t->step[d]);
	return res;
}

/* Slices a register tile: in registers, or through private shared memory. */
static LoweredValue
taken_tile(Lower *l, Taken *t)
{
	Type type = type_tile(t->base.v->type.dtype, S_reg, t->rank, t->shape);
	LoweredValue base = t->base, v;

	t->res.v = NULL;
	if (!t->res.single && !t->nindex)
		t->res.v = slice_registers(l, t->e->src, &t->base, t->in + 1, t->extent, t->missing,
		                           type);
	if (t->res.v) {
		t->res.kind = VK_val;
		return t->res;
	}
	t->in[0] = t->nindex ? lower_table(l, t->e->src, &base).v : lower_staged(l, t->e->src, &base).v;
	v = lower_load(l, (Operand){ taken_view(l, t, S_shared), t->e });
	type = v.v->type;
	type.dtype = t->base.v->type.dtype;
	if (type.dtype != v.v->type.dtype)
		v.v = put1(l, O_cast, t->e->src, v.v, type);
	return v;
}

const Expr *
lower_only_index(const Expr *e)
{
	const Slice *s = e->slice;

	return e->nslice == 1 && s->kind == SL_one && !s->from && !s->below ? s->at : NULL;
}

static bool
is_new_dim(const Slice *s)
{
	return s->kind == SL_one && s->at->kind == EX_name && strcmp(s->at->name, "newaxis") == 0;
}

bool
lower_has_new_dim(const Expr *e)
{
	for (int i = 0; i < e->nslice; i++)
		if (is_new_dim(&e->slice[i]))
			return true;
	return false;
}

/* Returns slice e without new dims, and counts them. */
static const Expr *
without_new(Lower *l, const Expr *e, Taken *t)
{
	Expr *bare = NEW(l->arena, Expr);

	*bare = *e;
	bare->slice = NEWN(l->arena, Slice, e->nslice + 1);
	bare->nslice = 0;
	for (int i = 0; i < e->nslice; i++) {
		if (!is_new_dim(&e->slice[i]))
			bare->slice[bare->nslice++] = e->slice[i];
		else if (bare->nslice <= RANK_MAX)
			t->fresh[bare->nslice]++;
	}
	t->added = bare->nslice < e->nslice;
	return bare;
}

/* Computes all of the slice but its value; returns false after a report. */
static bool
take_dims(Lower *l, const Expr *e, Taken *t)
{
	bool ok = true;
	int rank;

	t->e = without_new(l, e, t);
	if (e->nslice - t->e->nslice > RANK_MAX) {
		check_shape(l, e->nslice, NULL, e->src);
		return false;
	}
	if (!find_base(l, e, &t->base))
		return false;
	rank = t->base.v->type.rank;
	if (t->e->nslice > rank) {
		diag_error(l->diag, e->src, "the slice has %d dimensions but `%s` has %d", t->e->nslice,
		           base_text(l, e), rank);
		return false;
	}
	t->in[0] = t->base.v;
	for (int d = 0; d < rank; d++)
		ok = take_dim(l, t, d) && ok;
	t->res.single = t->dropped == rank && !t->added;
	return ok && take_indices(l, t) && take_shape(l, t);
}

/* Returns the scalar v, an element of a shared or register tile, or 0 if it is outside of the bounds of the
 * slice. */
static LoweredValue
bounded_scalar(Lower *l, const Taken *t, LoweredValue v)
{
	bool flt = dtype_is_float(v.v->type.dtype);
	LoweredValue none = flt ? value_flt(num_outside(v.v->type.dtype)) : value_int(0);
	Src src = t->e->src;
	Type cond = type_cond();

	for (int d = 0; d < t->base.v->type.rank; d++)
		for (int i = 0; i < 2; i++) {
			Val *bound = i ? t->below[d] : t->from[d], *start = t->in[1 + d], *in[3];

			if (!bound)
				continue;
			in[0] = i ? put2(l, O_lt, src, start, bound, cond)
			          : put2(l, O_le, src, bound, start, cond);
			in[1] = v.v;
			in[2] = put_const(l, &none, v.v->type, src);
			v.v = put_op(l, O_select, src, 3, in, v.v->type);
		}
	return v;
}

/* Limits r, a slice of a shared or register tile, to the bounds of its own. */
static LoweredValue
limited(Lower *l, const Taken *t, LoweredValue r)
{
	LoweredValue v = lower_load(l, (Operand){ r, t->e });
	int at = 0;

	if (v.kind != VK_none && v.v->type.space == S_scalar)
		return bounded_scalar(l, t, v);
	for (int d = 0; d < t->base.v->type.rank && v.kind != VK_none; d++) {
		bool missing = t->missing >> d & 1;
		Val *in[3] = { v.v, t->from[d], t->below[d] };

		if (in[1] || in[2]) {
			for (int i = 1; i < 3; i++)
				in[i] = in[i]    ? put_index(l, O_sub, t->e->src, in[i], t->in[1 + d])
				        : i == 1 ? ir_const(l->b, NULL, INT64_MIN)
				                 : ir_const(l->b, NULL, INT64_MAX);
			v.v = put_op(l, O_limit, t->e->src, 3, in, type_free(in[0]->type));
			IMM_SET(v.v->def, dim, missing ? -1 : at);
		}
		if (!missing)
			at += t->nindex && t->dim[0] == d ? t->along.rank : 1;
	}
	return v;
}

/* Lowers the slice without its new dims; returns VK_none after a report. */
static LoweredValue
take(Lower *l, const Expr *e, Taken *t)
{
	LoweredValue r;

	if (!take_dims(l, e, t))
		return value_none();
	r = t->base.kind == VK_view ? taken_view(l, t, t->base.v->type.space) : taken_tile(l, t);
	return t->bounded && !is_tensor(t) && r.kind != VK_none ? limited(l, t, r) : r;
}

/* Returns a bit set: the new dims of the slice. */
static int64_t
added_dims(const Taken *t)
{
	int64_t added = 0;
	int n = 0;

	for (int d = 0; d <= t->base.v->type.rank; d++) {
		for (int i = 0; i < t->fresh[d]; i++)
			added |= (int64_t)1 << n++;
		if (d == t->base.v->type.rank || t->missing >> d & 1)
			continue;
		n += t->nindex && t->dim[0] == d ? t->along.rank : 1;
	}
	return added;
}

LoweredValue
lower_slice(Lower *l, const Expr *e)
{
	Taken t = { .e = e, .value = true };
	LoweredValue r = take(l, e, &t), v;

	if (!t.added || r.kind == VK_none)
		return r;
	v = lower_load(l, (Operand){ r, e });
	if (v.kind == VK_none)
		return v;
	r = t.res;
	r.kind = VK_val;
	r.v = put_reshape(l, e->src, v.v, t.full.rank, t.full.shape);
	if (r.v != v.v && t.dropped < t.base.v->type.rank)
		IMM_SET(r.v->def, added, added_dims(&t));
	return r;
}

LoweredValue
lower_slice_memory(Lower *l, const Expr *e, Type *full)
{
	Taken t = { .e = e };
	LoweredValue r = take(l, e, &t);

	*full = t.full;
	return r;
}

Val *
lower_to_slice(Lower *l, Operand o, Type full, const Type *t, Src src, const char *what)
{
	Val *v = lower_to_type(l, o, full, src, what);

	return v && v->type.rank != t->rank ? put_reshape(l, src, v, t->rank, t->shape) : v;
}

LoweredValue
lower_part_value(Lower *l, const Expr *e, const LoweredValue *tile, const AssignedPart *p)
{
	Taken t = { .e = e, .base = *tile, .missing = p->dropped, .rank = p->type.rank };
	LoweredValue r;

	t.res.single = false;
	t.in[0] = tile->v;
	for (int d = 0; d < tile->v->type.rank; d++) {
		t.in[1 + d] = p->start[d];
		t.extent[d] = p->extent[d];
	}
	for (int d = 0; d < t.rank; d++)
		t.shape[d] = p->type.shape[d];
	r = taken_tile(l, &t);
	if (r.kind != VK_none && !type_same(&r.v->type, &p->full))
		r.v = put_reshape(l, e->src, r.v, p->full.rank, p->full.shape);
	return r;
}

bool
lower_part(Lower *l, const Expr *e, AssignedPart *p)
{
	Taken t = { .e = e };
	int rank, n = 0;

	if (!take_dims(l, e, &t))
		return false;
	if (t.nindex) {
		diag_error(l->diag, e->slice[t.dim[0]].src,
		           "a part of register tile `%s` is assigned at scalar starts, not at index tiles; "
		           "use a shared tile, or `where` of the whole tile",
		           base_text(l, e));
		return false;
	}
	rank = t.base.v->type.rank;
	*p = (AssignedPart){ .full = t.full };
	p->type = type_tile(t.base.v->type.dtype, S_reg, t.rank, t.shape);
	p->dropped = t.missing;
	for (int d = 0; d <= rank; d++) {
		for (int i = 0; i < t.fresh[d]; i++)
			p->dim[n++] = -1;
		if (d == rank)
			break;
		p->start[d] = t.in[1 + d];
		p->extent[d] = t.extent[d];
		if (!(t.missing >> d & 1) && !(t.added && t.dropped == rank))
			p->dim[n++] = d;
	}
	return true;
}
