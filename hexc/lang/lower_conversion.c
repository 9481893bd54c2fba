/* lower_conversion.c - lowers conversions: loads, typed constants and broadcasts. */
#include "hexc/lang/lower.h"
#include "hexc/ir/dtype_value.h"

/* ---- emission -------------------------------------------------------------------------------- */

LoweredValue
value_of(Val *v)
{
	return (LoweredValue){ .kind = VK_val, .v = v };
}

Val *
put_op(Lower *l, OpCode code, Src src, int nin, Val *const *in, Type t)
{
	Op *o;

	BUG_IF(l->arena, l->mode == MODE_CONST || !l->b);
	if (code != O_pin && code != O_alloc)
		t = type_free(t);
	o = op_new(l->b, NULL, code, src, nin, in, 1, &t);
	if (l->exact && dtype_is_float(t.dtype) && op_has_imm(code, IMM_exact))
		IMM_SET(o, exact, 1);
	return o->out[0];
}

Val *
put1(Lower *l, OpCode code, Src src, Val *x, Type t)
{
	return put_op(l, code, src, 1, &x, t);
}

Val *
put2(Lower *l, OpCode code, Src src, Val *x, Val *y, Type t)
{
	Val *in[2] = { x, y };

	return put_op(l, code, src, 2, in, t);
}

Val *
put_const(Lower *l, const LoweredValue *c, Type t, Src src)
{
	Val *v = put_op(l, O_const, src, 0, NULL, t);

	if (dtype_info[t.dtype].kind == K_flt)
		v->def->fimm = num_round(t.dtype, const_double(c));
	else
		IMM_SET(v->def, value, c->i);
	return v;
}

Val *
put_index(Lower *l, OpCode code, Src src, Val *x, Val *y)
{
	Val *v = ir_bin(l->b, NULL, code, x, y);

	if (v->def && v->def->src.line == 0)
		v->def->src = src;
	return v;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool
value_is_tile(const LoweredValue *v)
{
	return v->kind == VK_val && v->v->type.space == S_reg;
}

static const Param *
root_param(const Lower *l, const Val *v)
{
	if (v->def && v->def->code == O_view)
		v = view_source(v->def);
	return v->def ? NULL : &l->k->param[v->index];
}

/* Loads one element as a scalar, as all threads read the same value. In a tensor that the kernel writes
 * they might not, so there it stays a tile. */
static LoweredValue
load_single(Lower *l, Operand o)
{
	const Op *view = o.v.v->def;
	Type t = type_tile(o.v.v->type.dtype, o.v.v->type.space, 0, NULL);
	Val *v = put_op(l, O_view, o.e->src, view->nin, view->in, t);

	IMM_SET(v->def, dropped, ((int64_t)1 << view_source(view)->type.rank) - 1);
	return value_of(put1(l, O_load, o.e->src, v, type_scalar(t.dtype)));
}

/* Loads a slice of a tensor, to registers or to shared memory (hexc/pass/assign_space.h). */
static LoweredValue
load_free(Lower *l, Operand o)
{
	LoweredValue v = lower_load_tile(l, o);

	if (o.v.kind == VK_view && v.kind == VK_val && o.v.v->type.space == S_global)
		IMM_SET(v.v->def, space_open, 1);
	return v;
}

LoweredValue
lower_load(Lower *l, Operand o)
{
	const Param *p = o.v.kind == VK_view && o.v.single ? root_param(l, o.v.v) : NULL;

	if (o.v.kind == VK_view && o.v.single && !(p && (p->written || !p->read)))
		return load_single(l, o);
	return load_free(l, o);
}

LoweredValue
lower_load_tile(Lower *l, Operand o)
{
	const Param *p;
	Type t;

	if (o.v.kind != VK_view)
		return o.v;
	if (!check_mode(l, MODE_BODY, o.e->src, "a tile"))
		return value_none();
	p = root_param(l, o.v.v);
	if (p && !p->read) {
		diag_error(l->diag, o.e->src, "`%s` is an output and cannot be read; declare it `inout`",
		           p->name);
		return value_none();
	}
	t = o.v.v->type;
	for (int i = 0; i < t.rank; i++) {
		if (t.shape[i] >= 0)
			continue;
		diag_error(l->diag, o.e->src,
		           "tensor `%s` has no compile-time shape; use a slice, as in %s[i :+ 64%s]",
		           p->name, p->name, t.rank > 1 ? ", ..." : "");
		return value_none();
	}
	if (!check_shape(l, t.rank, t.shape, o.e->src))
		return value_none();
	t.space = S_reg;
	o.v.v = put1(l, O_load, o.e->src, lower_whole(l, o.e->src, o.v.v), t);
	o.v.kind = VK_val;
	return o.v;
}

Val *
put_reshape(Lower *l, Src src, Val *v, int rank, const int64_t *shape)
{
	Type t = type_tile(v->type.dtype, S_reg, rank, shape);

	return type_same(&v->type, &t) ? v : put1(l, O_reshape, src, v, t);
}

Val *
put_leading_dims(Lower *l, Src src, Val *v, int rank)
{
	int64_t shape[RANK_MAX];
	int skip = rank - v->type.rank;

	if (!skip)
		return v;
	for (int i = 0; i < rank; i++)
		shape[i] = i < skip ? 1 : v->type.shape[i - skip];
	v = put_reshape(l, src, v, rank, shape);
	IMM_SET(v->def, added, ((int64_t)1 << skip) - 1);
	return v;
}

Val *
lower_broadcast_to(Lower *l, Src src, LoweredValue v, Type t)
{
	if (value_is_const(&v))
		return put_const(l, &v, t, src);
	if (t.space == S_scalar)
		return v.v;
	if (v.v->type.space == S_scalar)
		return put1(l, O_splat, src, v.v, t);
	v.v = put_leading_dims(l, src, v.v, t.rank);
	return type_same(&v.v->type, &t) ? v.v : put1(l, O_broadcast, src, v.v, t);
}

/* ---- meeting --------------------------------------------------------------------------------- */

static bool
shape_error(Lower *l, Src src, const Operand *x, const Operand *y)
{
	const Type *a = &x->v.v->type, *b = &y->v.v->type;
	const char *fix = "";

	if (a->rank == 2 && b->rank == 2 && a->shape[0] == b->shape[1] && a->shape[1] == b->shape[0])
		fix = arena_printf(l->arena, ", or transpose one, as in `%s.T`",
		                   check_text(l, y->e, "(...)"));
	diag_error(l->diag, src, "shapes of %s (%s) and %s (%s) do not match: extents must be equal or 1%s",
	           check_describe(l, &x->v), check_text(l, x->e, "left"), check_describe(l, &y->v),
	           check_text(l, y->e, "right"), fix);
	check_declared(l, src, 1, x);
	check_declared(l, src, 1, y);
	return false;
}

bool
lower_join_shape(Lower *l, Src src, int n, const Operand *o, Type *t)
{
	const Operand *owner[RANK_MAX] = { NULL };

	t->rank = 0;
	t->space = S_scalar;
	for (int i = 0; i < n; i++)
		if (value_is_tile(&o[i].v)) {
			t->space = S_reg;
			t->rank = o[i].v.v->type.rank > t->rank ? o[i].v.v->type.rank : t->rank;
		}
	for (int d = 0; d < t->rank; d++)
		t->shape[d] = 1;
	for (int i = 0; i < n; i++) {
		const Type *x;
		int skip;

		if (!value_is_tile(&o[i].v))
			continue;
		x = &o[i].v.v->type;
		skip = t->rank - x->rank;
		for (int d = 0; d < x->rank; d++) {
			int64_t *e = &t->shape[skip + d];
			if (x->shape[d] == 1 || x->shape[d] == *e)
				continue;
			if (*e != 1)
				return shape_error(l, src, owner[skip + d], &o[i]);
			*e = x->shape[d];
			owner[skip + d] = &o[i];
		}
	}
	return check_shape(l, t->rank, t->shape, src);
}

bool
lower_join(Lower *l, Src src, int n, Operand *o, Type *t)
{
	const Operand *first = NULL, *plain = NULL;
	bool flt = false;

	for (int i = 0; i < n; i++) {
		o[i].v = lower_load(l, o[i]);
		if (o[i].v.kind == VK_none)
			return false;
		flt |= lower_has_fraction(&o[i].v);
		if (o[i].v.kind != VK_val)
			continue;
		if (lower_plain_of(&o[i].v))
			plain = plain ? plain : &o[i];
		else if (!first)
			first = &o[i];
		else if (!check_same_dtype(l, src, first, &o[i]))
			return false;
	}
	BUG_IF(l->arena, !first && !plain);
	*t = type_scalar(first ? first->v.v->type.dtype : flt ? D_f32
	                                                      : plain->v.v->type.dtype);
	for (int i = 0; i < n; i++)
		if (!lower_plain(l, &o[i], t->dtype))
			return false;
	for (int i = 0; i < n; i++)
		if (value_is_const(&o[i].v) && !check_fits(l, &o[i].v, t->dtype, o[i].e->src))
			return false;
	return lower_join_shape(l, src, n, o, t);
}

Val *
lower_to_type(Lower *l, Operand o, Type t, Src src, const char *what)
{
	Type got = t;
	bool fit;

	o.v = lower_load(l, o);
	if (o.v.kind == VK_none)
		return NULL;
	if (value_is_const(&o.v))
		return check_fits(l, &o.v, t.dtype, o.e->src) ? put_const(l, &o.v, t, src) : NULL;
	if (!lower_plain(l, &o, t.dtype))
		return NULL;
	got = o.v.v->type;
	if (got.dtype != t.dtype) {
		diag_error(l->diag, o.e->src, "%s is %s but `%s` is %s; write `%s(%s)`", what,
		           dtype_info[t.dtype].name, check_text(l, o.e, "the value"),
		           dtype_info[got.dtype].name, dtype_info[t.dtype].name,
		           check_text(l, o.e, "..."));
		check_declared(l, o.e->src, 1, &o);
		return NULL;
	}
	fit = got.rank <= t.rank && (t.space == S_reg || got.space == S_scalar);
	for (int i = 0; fit && i < got.rank; i++)
		fit = got.shape[i] == 1 || got.shape[i] == t.shape[t.rank - got.rank + i];
	if (!fit) {
		LoweredValue want = { .kind = VK_val, .v = NEW(l->arena, Val) };

		want.v->type = t;
		diag_error(l->diag, o.e->src, "%s is %s but `%s` is %s; the shapes do not match%s", what,
		           check_describe(l, &want), check_text(l, o.e, "the value"),
		           check_describe(l, &o.v),
		           got.rank > t.rank && t.space == S_reg ? ", drop dimensions with reshape(x, ...)"
		           : t.space == S_scalar && type_size(&got) == 1
		                   ? arena_printf(l->arena,
		                                  ", declare a tile of one element, `register %s[1]`",
		                                  dtype_info[t.dtype].name)
		                   : "");
		check_declared(l, o.e->src, 1, &o);
		return NULL;
	}
	return lower_broadcast_to(l, src, o.v, t);
}

Val *
lower_index_value(Lower *l, const Expr *e, const char *what)
{
	return lower_to_index(l, lower_operand(l, e), what);
}

Val *
lower_to_index(Lower *l, Operand o, const char *what)
{
	const Expr *e = o.e;

	o.v = lower_load(l, o);
	if (o.v.kind == VK_none)
		return NULL;
	if (o.v.kind == VK_int)
		return ir_const(l->b, NULL, o.v.i);
	if (o.v.kind == VK_val && type_is_index(&o.v.v->type))
		return o.v.v;
	if (o.v.kind == VK_val && o.v.v->type.space == S_scalar && dtype_is_integer(o.v.v->type.dtype))
		return put1(l, O_cast, e->src, o.v.v, type_index());
	if (value_is_tile(&o.v))
		diag_error(l->diag, e->src,
		           "%s must be a scalar, not a tile %s; index every dimension of a read-only "
		           "tensor, a shared tile, or a named register tile to get one element",
		           what, check_describe(l, &o.v));
	else
		diag_error(l->diag, e->src, "%s must be an integer, not %s", what, check_describe(l, &o.v));
	return NULL;
}
