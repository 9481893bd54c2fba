/* lower_expr.c - lowers names, operators and members. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/lower.h"
#include <math.h>
#include <string.h>

Operand
lower_operand(Lower *l, const Expr *e)
{
	return (Operand){ lower_expr(l, e), e };
}

bool
lower_const_int(Lower *l, const Expr *e, const char *what, int64_t *out)
{
	Mode mode = l->mode;
	const char *old = l->what;
	LoweredValue v;

	l->mode = MODE_CONST;
	l->what = what;
	v = lower_expr(l, e);
	l->mode = mode;
	l->what = old;
	if (v.kind == VK_int) {
		*out = v.i;
		return true;
	}
	if (v.kind != VK_none)
		diag_error(l->diag, e->src, "%s is a compile-time integer, not %s", what,
		           check_describe(l, &v));
	return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

static LoweredValue
unknown_name(Lower *l, const Expr *e)
{
	if (strcmp(e->name, "block") == 0)
		diag_error(l->diag, e->src, "`block` is not a number; write block.x, block.y or block.z");
	else if (strcmp(e->name, "newaxis") == 0)
		diag_error(l->diag, e->src, "`newaxis` is no value; in a slice it is a new dimension of "
		                            "extent 1, as in `x[:, newaxis]`");
	else if (dtype_find(e->name, strlen(e->name)) != D_COUNT)
		diag_error(l->diag, e->src, "`%s` is an element type; cast with `%s(...)`", e->name, e->name);
	else if (lower_is_builtin(e->name) || lower_find_fn(l, e->name, e->src))
		diag_error(l->diag, e->src, "`%s` is a function; call it with `%s(...)`", e->name, e->name);
	else
		check_no_name(l, e->src, "", e->name,
		              l->call ? "; a function can only use its parameters" : "");
	return value_none();
}

static LoweredValue
lower_name(Lower *l, const Expr *e)
{
	const Sym *s = sym_find(l, e->name);
	Mode least = MODE_BODY;

	if (!s && strcmp(e->name, "team") == 0 && l->in_team)
		return value_of(put_op(l, O_consumer_group_id, e->src, 0, NULL, type_index()));
	if (!s)
		return strcmp(e->name, "inf") == 0 ? value_flt(INFINITY) : unknown_name(l, e);
	if (s->val.kind == VK_type) {
		diag_error(l->diag, e->src, "`%s` is an element type; cast with `%s(...)`", e->name, e->name);
		return value_none();
	}
	if (s->val.kind == VK_array) {
		diag_error(l->diag, e->src, "`%s` is %s; select one, as in `%s[0]`", e->name,
		           check_describe(l, &s->val), e->name);
		return value_none();
	}
	if (s->val.kind == VK_mbar) {
		diag_error(l->diag, e->src,
		           "mbarrier array `%s` is only allowed in `await`, `arrive` and `async copy`, as "
			   "`%s[s]`",
		           e->name, e->name);
		return value_none();
	}
	if (s->val.kind == VK_none || value_is_const(&s->val))
		return s->val;
	if (l->call && l->call->mode == l->mode) /* created here, or checked where it was passed */
		return s->val;
	if (l->mode == MODE_SHAPE && (s->kind == SY_scalar || s->kind == SY_tensor)) {
		diag_error(l->diag, e->src,
		           "`%s` is %s; a size in a shape must be a free name or an i64 parameter", e->name,
		           s->kind == SY_tensor ? "a tensor"
		                                : arena_printf(l->arena, "of type %s",
		                                               dtype_info[s->val.v->type.dtype].name));
		return value_none();
	}
	if (s->kind == SY_size)
		least = MODE_SHAPE;
	else if (s->kind == SY_scalar && dtype_info[s->val.v->type.dtype].kind != K_flt)
		least = MODE_HOST;
	if (!check_mode(l, least, e->src, arena_printf(l->arena, "`%s`", e->name)))
		return value_none();
	return s->val;
}

static LoweredValue
lower_member(Lower *l, const Expr *e)
{
	static const char *const axis[] = { "x", "y", "z" };
	const Expr *x = e->arg[0];

	if (x->kind == EX_name && strcmp(x->name, "block") == 0 && !sym_find(l, "block")) {
		for (int i = 0; i < 3; i++) {
			Val *v;

			if (strcmp(e->name, axis[i]) != 0)
				continue;
			if (!check_mode(l, MODE_BODY, e->src, arena_printf(l->arena, "`block.%s`", axis[i])))
				return value_none();
			v = put_op(l, O_block_id, e->src, 0, NULL, type_index());
			IMM_SET(v->def, axis, i);
			return value_of(v);
		}
		diag_error(l->diag, e->src, "unknown member `block.%s`; a block has block.x, block.y and "
		                            "block.z", e->name);
		return value_none();
	}
	if (strcmp(e->name, "T") == 0)
		return lower_swap(l, e);
	if (x->kind == EX_name && !sym_find(l, x->name) && foreign_find(x->name)) {
		check_no_name(l, x->src, "", x->name, "");
		return value_none();
	}
	diag_error(l->diag, e->src, "unknown member `.%s`; tiles only have `.T` (transpose)%s", e->name,
	           foreign_hint(l->arena, e->name));
	return value_none();
}

/* ---- arrays of tiles --------------------------------------------------------------------------- */

Sym *
lower_array_tile(const Lower *l, const char *array, int64_t i)
{
	return sym_find(l, arena_printf(l->arena, "%s[%lld]", array, (long long)i));
}

/* Evaluates the index of a[i]; returns false after a report. */
static bool
array_index(Lower *l, const Expr *e, const Sym *array, int64_t *i)
{
	if (!lower_only_index(e)) {
		diag_error(l->diag, e->src,
		           "`%s` is %s; select one by its number, as in `%s[0]`, before a slice", array->name,
		           check_describe(l, &array->val), array->name);
		return false;
	}
	if (!lower_const_int(l, e->slice[0].at, "the index of an array of tiles", i))
		return false;
	if (*i >= 0 && *i < array->val.i)
		return true;
	diag_error(l->diag, e->slice[0].src, "index %lld is out of range: `%s` is %s", (long long)*i,
	           array->name, check_describe(l, &array->val));
	return false;
}

const Expr *
lower_selected(Lower *l, const Expr *e)
{
	const Sym *s = NULL;
	int64_t i;
	Expr *r;

	if (e->kind == EX_index && e->arg[0]->kind == EX_name)
		s = sym_find(l, e->arg[0]->name);
	if (e->kind == EX_index && e->arg[0]->kind == EX_index) {
		const Expr *base = lower_selected(l, e->arg[0]);

		if (base == e->arg[0])
			return e;
		r = NEW(l->arena, Expr);
		*r = *e;
		r->arg = NEWN(l->arena, Expr *, 1);
		r->arg[0] = NEW(l->arena, Expr);
		*r->arg[0] = *base;
		return r;
	}
	if (!s || s->val.kind != VK_array)
		return e;
	r = NEW(l->arena, Expr);
	*r = *e;
	r->nslice = r->narg = 0;
	r->kind = array_index(l, e, s, &i) ? EX_name : EX_error;
	if (r->kind == EX_name)
		r->name = lower_array_tile(l, s->name, i)->name;
	return r;
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct OpRule {
	TileToken tok;
	OpCode code;
	bool swap; /* operands are swapped */
} OpRule;

static const OpRule rules[] = {
	{ TK_plus, O_add, false },
	{ TK_minus, O_sub, false },
	{ TK_star, O_mul, false },
	{ TK_slash, O_div, false },
	{ TK_percent, O_mod, false },
	{ TK_amp, O_and, false },
	{ TK_bar, O_or, false },
	{ TK_caret, O_xor, false },
	{ TK_shl, O_shl, false },
	{ TK_shr, O_shr, false },
	{ TK_lt, O_lt, false },
	{ TK_le, O_le, false },
	{ TK_gt, O_lt, true },
	{ TK_ge, O_le, true },
	{ TK_eq, O_eq, false },
	{ TK_ne, O_ne, false },
	{ TK_andand, O_and, false },
	{ TK_oror, O_or, false },
};

static const OpRule *
find_rule(TileToken tok)
{
	for (int i = 0; i < (int)COUNT_OF(rules); i++)
		if (rules[i].tok == tok)
			return &rules[i];
	return NULL;
}

static bool
is_compare(OpCode c)
{
	return c == O_lt || c == O_le || c == O_eq || c == O_ne;
}

/* Is it an integer division by a constant zero? */
static bool
divides_by_zero(const OpRule *r, const Operand *y, DType d)
{
	return (r->code == O_div || r->code == O_mod) && y->v.kind == VK_int && y->v.i == 0 &&
	       dtype_info[d].kind != K_flt;
}

static bool
check_op(Lower *l, const OpRule *r, Src src, const Operand *o, DType d)
{
	const Expr *e = value_is_const(&o[0].v) ? o[1].e : o[0].e;

	if ((r->tok == TK_andand || r->tok == TK_oror) && d != D_bool) {
		diag_error(l->diag, src,
		           "`&&` and `||` require conditions, but `%s` is %s; compare it, as in `%s != 0`",
		           check_text(l, e, "the operand"), dtype_info[d].name, check_text(l, e, "x"));
		return false;
	}
	if (!check_dtype(l, r->code, d, src, e))
		return false;
	if (!divides_by_zero(r, &o[1], d))
		return true;
	diag_error(l->diag, o[1].e->src, "division by zero");
	return false;
}

/* Lowers x % y of floats: C's fmod, computed in f32. */
static LoweredValue
lower_fmod(Lower *l, Src src, const Operand *o, const Type *t)
{
	double by = value_is_const(&o[1].v) ? const_double(&o[1].v) : 0;
	int exp;
	bool power = frexp(fabs(by), &exp) == 0.5 && exp >= 1; /* of two, from 1 on */

	if (t->dtype != D_f64)
		return lower_prelude_f32(l, power ? "fmod_power" : "fmod", src, 2, o, t->dtype);
	diag_error(l->diag, src, "`%%` is not defined on f64; cast to f32 first, as in `f32(%s)`",
	           check_text(l, value_is_const(&o[0].v) ? o[1].e : o[0].e, "x"));
	return value_none();
}

LoweredValue
lower_op2(Lower *l, TileToken op, Src src, Operand x, Operand y)
{
	const OpRule *r = find_rule(op);
	Operand o[2] = { x, y };
	LoweredValue res = { .kind = VK_val };
	Val *a, *b;
	Type t;

	if (x.v.kind == VK_none || y.v.kind == VK_none || !r)
		return value_none();
	if (value_is_const(&x.v) && value_is_const(&y.v))
		return const_binary(l, op, src, x.v, y.v);
	if (!lower_join(l, src, 2, o, &t))
		return value_none();
	if (r->code == O_mod && dtype_info[t.dtype].kind == K_flt && dtype_info[t.dtype].use == U_any)
		return lower_fmod(l, src, o, &t);
	if (!check_op(l, r, src, o, t.dtype))
		return value_none();
	a = lower_broadcast_to(l, src, o[0].v, t);
	b = lower_broadcast_to(l, src, o[1].v, t);
	if (r->swap) {
		Val *c = a;
		a = b;
		b = c;
	}
	if (type_is_index(&t)) {
		res.v = put_index(l, r->code, src, a, b);
	} else {
		DType d = is_compare(r->code) ? D_bool : t.dtype;
		Type out = t;
		out.dtype = d;
		res.v = put2(l, r->code, src, a, b, out);
	}
	return res;
}

static LoweredValue
lower_binary(Lower *l, const Expr *e)
{
	Operand x, y;

	if (e->op == TK_eq || e->op == TK_ne) {
		DType a = lower_expr_dtype(l, e->arg[0]), b = lower_expr_dtype(l, e->arg[1]);

		if (a != D_COUNT && b != D_COUNT)
			return value_bool((a == b) == (e->op == TK_eq));
	}
	/* x + dot(a, b) accumulates onto x. */
	if (e->op == TK_plus && lower_is_plain_dot(l, e->arg[1])) {
		x = lower_operand(l, e->arg[0]);
		return lower_dot(l, e->arg[1], &x);
	}
	if (e->op == TK_plus && lower_is_plain_dot(l, e->arg[0])) {
		y = lower_operand(l, e->arg[1]);
		return lower_dot(l, e->arg[0], &y);
	}
	if (e->op == TK_plus || e->op == TK_minus)
		return lower_sum(l, e->op, e->src, e->arg[0], e->arg[1]);
	x = lower_operand(l, e->arg[0]);
	y = lower_operand(l, e->arg[1]);
	return lower_op2(l, e->op, e->src, x, y);
}

LoweredValue
lower_unary_op(Lower *l, TileToken op, Src src, Operand x)
{
	OpCode code = op == TK_minus ? O_neg : O_not;
	DType d;

	x.v = lower_load(l, x);
	if (x.v.kind == VK_none)
		return x.v;
	if (value_is_const(&x.v))
		return const_unary(l, op, src, x.v);
	d = x.v.v->type.dtype;
	if (op == TK_bang && d != D_bool) {
		diag_error(l->diag, src, "`!` requires a condition, but `%s` is %s; compare it with 0",
		           check_text(l, x.e, "the operand"), dtype_info[d].name);
		return value_none();
	}
	if (!check_dtype(l, code, d, src, x.e))
		return value_none();
	x.v.v = put1(l, code, src, x.v.v, x.v.v->type);
	return x.v;
}

LoweredValue
lower_expr(Lower *l, const Expr *e)
{
	const Expr *one;

	switch (e->kind) {
	case EX_error:
	case EX_tuple: break;
	case EX_int: return value_int(e->i);
	case EX_float: return value_flt(e->f);
	case EX_bool: return value_bool(e->i != 0);
	case EX_name: return lower_name(l, e);
	case EX_text:
		diag_error(l->diag, e->src, "a string is not a value; strings are only allowed in `print`, "
		                            "`assert` and `static_assert`");
		break;
	case EX_unary: return lower_unary_op(l, e->op, e->src, lower_operand(l, e->arg[0]));
	case EX_binary: return lower_binary(l, e);
	case EX_call: return lower_call(l, e);
	case EX_index:
		one = lower_selected(l, e);
		return one->kind == EX_index ? lower_slice(l, one) : lower_expr(l, one);
	case EX_member: return lower_member(l, e);
	}
	return value_none();
}
