/* lower_call.c - lowers calls: casts and elementwise functions; dispatches the others. */
#include "hexc/ir/dtype_value.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/lang/lower.h"
#include <string.h>

typedef LoweredValue CallFn(Lower *l, const Expr *e);

typedef struct Builtin {
	const char *name;
	int min, max; /* number of arguments */
	OpCode code; /* elementwise op, or the op for reduce */
	CallFn *fn; /* NULL: elementwise */
	const char *usage;
} Builtin;

static CallFn lower_where, lower_rarely, lower_bitcast, lower_exact, lower_ceil, call_sum, call_max, call_min,
	call_argmax, call_argmin, call_scan, call_dot;

static const Builtin builtin[] = {
	{ "exp", 1, 1, O_exp, NULL, "exp(x)" },
	{ "exp2", 1, 1, O_exp2, NULL, "exp2(x)" },
	{ "log", 1, 1, O_log, NULL, "log(x)" },
	{ "sqrt", 1, 1, O_sqrt, NULL, "sqrt(x)" },
	{ "rsqrt", 1, 1, O_rsqrt, NULL, "rsqrt(x)" },
	{ "tanh", 1, 1, O_tanh, NULL, "tanh(x)" },
	{ "floor", 1, 1, O_floor, NULL, "floor(x)" },
	{ "round", 1, 1, O_round, NULL, "round(x)" },
	{ "trunc", 1, 1, O_trunc, NULL, "trunc(x)" },
	{ "popcount", 1, 1, O_popcount, NULL, "popcount(x)" },
	{ "clz", 1, 1, O_clz, NULL, "clz(x)" },
	{ "mulhi", 2, 2, O_mulhi, NULL, "mulhi(a, b)" },
	{ "abs", 1, 1, O_abs, NULL, "abs(x)" },
	{ "max", 2, 2, O_max, NULL, "max(a, b); along a dimension: reduce_max(x, dim)" },
	{ "min", 2, 2, O_min, NULL, "min(a, b); along a dimension: reduce_min(x, dim)" },
	{ "fma", 3, 3, O_fma, NULL, "fma(a, b, c)" },
	{ "bitcast", 2, 2, O_bitcast, lower_bitcast, "bitcast(x, TYPE)" },
	{ "where", 3, 3, O_select, lower_where, "where(condition, a, b)" },
	{ "rarely", 3, 3, O_select, lower_rarely, "rarely(condition, a, b)" },
	{ "lookup", 2, 2, O_none, lower_lookup, "lookup(table, indices)" },
	{ "ceil", 1, 2, O_ceil, lower_ceil, "ceil(x), or ceil(a, b): a / b rounded up" },
	{ "inside", 1, 1, O_none, lower_inside, "inside(x)" },
	{ "fill", 2, 2, O_none, lower_fill, "fill(x, number)" },
	{ "exact", 1, 1, O_none, lower_exact, "exact(x)" },
	{ "cdiv", 2, 2, O_none, lower_ceil, "cdiv(a, b): a / b rounded up" },
	{ "sum", 2, 2, O_none, call_sum, "sum(x, dim)" },
	{ "reduce_max", 2, 2, O_none, call_max, "reduce_max(x, dim)" },
	{ "reduce_min", 2, 2, O_none, call_min, "reduce_min(x, dim)" },
	{ "reduce_last", 2, 2, O_none, lower_reduce_last, "reduce_last(x, dim)" },
	{ "argmax", 2, 2, O_none, call_argmax, "argmax(x, dim)" },
	{ "argmin", 2, 2, O_none, call_argmin, "argmin(x, dim)" },
	{ "sort", 2, 2, O_none, lower_sort, "sort(x, dim)" },
	{ "argsort", 2, 2, O_none, lower_sort, "argsort(x, dim)" },
	{ "topk", 3, 3, O_none, lower_topk_values, "topk(x, k, dim)" },
	{ "mean", 2, 2, O_none, lower_mean, "mean(x, dim)" },
	{ "dot", 2, 4, O_none, call_dot, "dot(a, b) or dot(a, b, accumulator)" },
	{ "sparse", 2, 2, O_none, lower_sparse, "sparse(values, positions)" },
	{ "transpose", 2, 1 + RANK_MAX, O_none, lower_transpose, "transpose(x, dim, dim, ...)" },
	{ "reshape", 2, 1 + RANK_MAX, O_none, lower_reshape, "reshape(x, extent, extent, ...)" },
	{ "shift", 3, 4, O_none, lower_shift, "shift(x, dim, places) or shift(x, dim, places, number)" },
	{ "cumsum", 2, 2, O_none, lower_cumulative, "cumsum(x, dim)" },
	{ "cumprod", 2, 2, O_none, lower_cumulative, "cumprod(x, dim)" },
	{ "cummax", 2, 2, O_none, lower_cumulative, "cummax(x, dim)" },
	{ "cummin", 2, 2, O_none, lower_cumulative, "cummin(x, dim)" },
	{ "scan", 3, 2 + RESULT_MAX, O_none, call_scan, "scan(f, dim, x, ...)" },
	{ "reduce", 3, 2 + RESULT_MAX, O_none, call_scan, "reduce(f, dim, x, ...)" },
	{ "concat", 3, 1 + CALL_ARG_MAX, O_none, lower_concat, "concat(dim, x, y, ...)" },
	{ "atomic_add", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_add(T[slice], x);" },
	{ "atomic_max", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_max(T[slice], x);" },
	{ "atomic_min", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_min(T[slice], x);" },
	{ "atomic_and", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_and(T[slice], x);" },
	{ "atomic_or", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_or(T[slice], x);" },
	{ "atomic_xor", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_xor(T[slice], x);" },
	{ "atomic_swap", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_swap(T[slice], x)" },
	{ "atomic_cas", 0, CALL_ARG_MAX, O_none, lower_atomic_value, "atomic_cas(T[slice], x, expected)" },
	{ "grid_barrier", 0, CALL_ARG_MAX, O_none, lower_grid_barrier_value, "grid_barrier(T[index]);" },
	{ "relayout", 1, 1, O_none, lower_relayout, "relayout(x)" },
	{ "print", 0, 1 + CALL_ARG_MAX, O_none, lower_message_value, "print(\"text {}\", x, ...);" },
	{ "assert", 0, 1 + CALL_ARG_MAX, O_none, lower_message_value, "assert(condition, \"text\");" },
	{ "iota", 2, 1 + RANK_MAX, O_none, lower_iota, "iota(dim, extent, extent, ...)" },
};

static const Builtin *
find(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(builtin); i++)
		if (strcmp(builtin[i].name, name) == 0)
			return &builtin[i];
	return NULL;
}

/* May a function of the program have its name, as with those of prelude.def? */
static bool
lends(const Builtin *b)
{
	return b->code == O_floor || b->code == O_round || b->code == O_trunc || b->code == O_popcount ||
	       b->code == O_clz || b->code == O_mulhi;
}

bool
lower_is_builtin(const char *name)
{
	return find(name) || lower_is_prelude(name);
}

bool
lower_keeps_name(const char *name)
{
	const Builtin *b = find(name);

	return b && !lends(b);
}

const char *
lower_builtin(int i)
{
	return i < (int)COUNT_OF(builtin) ? builtin[i].name : lower_prelude_name(i - (int)COUNT_OF(builtin));
}

static LoweredValue
call_sum(Lower *l, const Expr *e)
{
	return lower_reduce(l, e, O_reduce_sum);
}

static LoweredValue
call_max(Lower *l, const Expr *e)
{
	return lower_reduce(l, e, O_reduce_max);
}

static LoweredValue
call_min(Lower *l, const Expr *e)
{
	return lower_reduce(l, e, O_reduce_min);
}

static LoweredValue
call_argmax(Lower *l, const Expr *e)
{
	return lower_arg_extreme(l, e, O_reduce_max);
}

static LoweredValue
call_argmin(Lower *l, const Expr *e)
{
	return lower_arg_extreme(l, e, O_reduce_min);
}

static LoweredValue
call_scan(Lower *l, const Expr *e)
{
	LoweredValue v;

	lower_scan(l, e, 1, &v);
	return v;
}

static LoweredValue
call_dot(Lower *l, const Expr *e)
{
	return lower_dot(l, e, NULL);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static LoweredValue
lower_cast(Lower *l, const Expr *e, DType d)
{
	Operand x;
	Type t;

	if (e->narg != 1) {
		diag_error(l->diag, e->src, "a cast has one operand, as in `%s(x)`", e->name);
		return value_none();
	}
	x = lower_operand(l, e->arg[0]);
	x.v = lower_load(l, x);
	if (x.v.kind == VK_none || !check_mode(l, MODE_SHAPE, e->src, "a cast"))
		return value_none();
	if (value_is_const(&x.v)) {
		if (x.v.kind == VK_flt && dtype_info[d].kind != K_flt)
			diag_error(l->diag, e->src,
			           "%s cannot be cast to %s at compile time; write an integer",
			           check_describe(l, &x.v), e->name);
		else if (check_fits(l, &x.v, d, e->src))
			return value_of(put_const(l, &x.v, type_scalar(d), e->src));
		return value_none();
	}
	/* selects of constants that d represents are created in d: rounded once */
	if (dtype_is_float(d) && dtype_info[d].use == U_any && !lower_plain(l, &x, d))
		return value_none();
	x.v.plain = NULL;
	t = x.v.v->type;
	if (t.dtype == d)
		return x.v;
	t.dtype = d;
	x.v.v = put1(l, O_cast, e->src, x.v.v, t);
	return x.v;
}

static LoweredValue
lower_bitcast(Lower *l, const Expr *e)
{
	Operand x = lower_operand(l, e->arg[0]);
	DType d = e->arg[1]->kind == EX_name ? lower_find_dtype(l, e->arg[1]->name) : D_COUNT;
	Type t;

	x.v = lower_load(l, x);
	if (x.v.kind == VK_none || !check_mode(l, MODE_BODY, e->src, "a bitcast"))
		return value_none();
	if (d == D_COUNT) {
		diag_error(l->diag, e->arg[1]->src, "the second argument of `bitcast` must be an element "
		                                    "type, as in bitcast(x, i32)");
		return value_none();
	}
	if (value_is_const(&x.v)) {
		diag_error(l->diag, e->src, "%s is an untyped constant, which has no bit representation; "
					    "give it a type, as in f32(%s)",
		           check_describe(l, &x.v), check_text(l, x.e, "1"));
		return value_none();
	}
	t = x.v.v->type;
	if (t.dtype == d)
		return x.v;
	if (!dtype_has_pattern(t.dtype) || !dtype_has_pattern(d) ||
	    dtype_info[t.dtype].bits != dtype_info[d].bits) {
		diag_error(l->diag, e->src, "cannot `bitcast` %s to %s, which have different sizes or "
		                            "kinds; use a type of %d bits, or the cast `%s(x)`",
		           dtype_info[t.dtype].name, dtype_info[d].name, dtype_info[t.dtype].bits,
		           dtype_info[d].name);
		check_declared(l, e->src, 1, &x);
		return value_none();
	}
	t.dtype = d;
	x.v.v = put1(l, O_bitcast, e->src, x.v.v, t);
	return x.v;
}

/* ---- elementwise ----------------------------------------------------------------------------- */

static LoweredValue
lower_elementwise(Lower *l, const Expr *e, OpCode code)
{
	Operand o[3];
	Val *in[3];
	LoweredValue r = { .kind = VK_val };
	bool any = false;
	Type t;

	for (int i = 0; i < e->narg; i++) {
		o[i] = lower_operand(l, e->arg[i]);
		if (o[i].v.kind == VK_none)
			return o[i].v;
		any |= !value_is_const(&o[i].v);
	}
	if (!any) {
		if (const_call(l, code, e->src, e->narg, o, &r))
			return r;
		diag_error(l->diag, e->src,
		           "`%s` cannot be evaluated at compile time for these arguments; give one a type, "
		           "as in f32(%s)",
		           e->name, check_text(l, o[0].e, "..."));
		return value_none();
	}
	if (!lower_join(l, e->src, e->narg, o, &t) ||
	    !check_dtype(l, code, t.dtype, e->src, value_is_const(&o[0].v) ? o[1].e : o[0].e))
		return value_none();
	for (int i = 0; i < e->narg; i++)
		in[i] = lower_broadcast_to(l, e->src, o[i].v, t);
	if (t.dtype == D_f64 && (code == O_exp || code == O_log))
		return lower_prelude_f64(l, code == O_exp ? "exp_f64" : "log_f64", e->src, o[0].v);
	if (type_is_index(&t) && (code == O_max || code == O_min))
		r.v = put_index(l, code, e->src, in[0], in[1]);
	else
		r.v = put_op(l, code, e->src, e->narg, in, t);
	return r;
}

/* Marks the operations inside, including those of called functions, as exact. */
static LoweredValue
lower_exact(Lower *l, const Expr *e)
{
	bool outer = l->exact;
	LoweredValue v;

	l->exact = true;
	v = lower_expr(l, e->arg[0]);
	l->exact = outer;
	return v;
}

/* ---- choices ------------------------------------------------------------------------------------ */

const Plain *
lower_plain_of(const LoweredValue *v)
{
	return v->plain && v->plain->v == v->v ? v->plain : NULL;
}

bool
lower_has_fraction(const LoweredValue *v)
{
	const Plain *p = lower_plain_of(v);

	return p ? p->flt : v->kind == VK_flt;
}

static bool
is_firm(const Operand *o)
{
	return o->v.kind == VK_val && !lower_plain_of(&o->v);
}

/* Selects o[1] or o[2] by condition o[0], in type d. */
static bool
lower_select(Lower *l, const Expr *e, Operand *o, DType d, LoweredValue *r)
{
	Val *in[3];
	Type t, tc;

	for (int i = 1; i < 3; i++)
		if (!lower_plain(l, &o[i], d) ||
		    (value_is_const(&o[i].v) && !check_fits(l, &o[i].v, d, o[i].e->src)))
			return false;
	if (!lower_join_shape(l, e->src, 3, o, &t))
		return false;
	t = t.space == S_reg ? type_tile(d, S_reg, t.rank, t.shape) : type_scalar(d);
	tc = t;
	tc.dtype = D_bool;
	for (int i = 0; i < 3; i++)
		in[i] = lower_broadcast_to(l, e->src, o[i].v, i ? t : tc);
	*r = (LoweredValue){ .kind = VK_val, .v = put_op(l, O_select, e->src, 3, in, t) };
	return true;
}

bool
lower_plain(Lower *l, Operand *o, DType d)
{
	const Plain *found = lower_plain_of(&o->v);
	Plain p;

	if (!found || o->v.v->type.dtype == d)
		return true;
	p = *found;
	return lower_select(l, p.e, p.o, d, &o->v);
}

/* Does it exceed i32? */
static bool
is_long(const LoweredValue *v)
{
	const Plain *p = lower_plain_of(v);

	if (p)
		return is_long(&p->o[1].v) || is_long(&p->o[2].v);
	return v->kind == VK_int && (v->i < INT32_MIN || v->i > INT32_MAX);
}

/* Creates a select of constants: in f32 or an index type, until it meets another type. */
static LoweredValue
plain_choice(Lower *l, const Expr *e, const Operand *o)
{
	Plain *p = NEW(l->arena, Plain);
	Operand own[3] = { o[0], o[1], o[2] };
	bool narrow = value_is_tile(&o[0].v) && !is_long(&o[1].v) && !is_long(&o[2].v);
	LoweredValue r = value_none();

	p->e = e;
	memcpy(p->o, o, sizeof p->o);
	for (int i = 1; i < 3; i++)
		p->flt |= lower_has_fraction(&o[i].v);
	if (!lower_select(l, e, own, p->flt ? D_f32 : narrow ? D_i32 : D_i64, &r))
		return r;
	r.plain = p;
	p->v = r.v;
	return r;
}

/* Does no op from a to b, in the same block, write shared memory? `a` may be the later one. */
static bool
no_write_between(const Op *a, const Op *b)
{
	for (int turn = 0; turn < 2; turn++) {
		const Op *o = turn ? b : a, *end = turn ? a : b;
		bool writes = false;

		for (; o && o != end; o = o->next) {
			const Val *to = access_target(o);

			writes = writes || o->blk[0] || (to && to->type.space == S_shared);
		}
		if (o)
			return !writes;
	}
	return false;
}

/* Are they one value, or computed in the same way from the same values and memory? */
static bool
same_tile(const Val *x, const Val *y)
{
	return x == y || (x->def && y->def && val_same_way(x, y) && no_write_between(x->def, y->def));
}

/* Is the condition inside(x), or does it join that with others? */
static bool
asks_inside(const Val *cond, const Val *x)
{
	Joined all = val_joined(cond, O_and);

	for (int i = 0; i < all.n; i++) {
		const Op *o = all.part[i]->def;

		if (o && o->code == O_inside && same_tile(op_source(o), x))
			return true;
	}
	return false;
}

/* Is the condition !inside(x), or does it join that with others by ||? */
static bool
asks_outside(const Val *cond, const Val *x)
{
	Joined all = val_joined(cond, O_or);

	for (int i = 0; i < all.n; i++) {
		const Op *o = all.part[i]->def;

		if (o && o->code == O_not && asks_inside(op_source(o), x))
			return true;
	}
	return false;
}

/* where(inside(x) && .., x, y) is there everywhere that y is: it selects no missing element of x. So is
 * where(!inside(x) || .., y, x). `yes`: x is selected where the condition is true. */
static LoweredValue
filled_operand(Lower *l, Src src, const Operand *cond, const Operand *x, bool yes)
{
	if (x->v.kind != VK_val || x->v.v->type.space != S_reg ||
	    !(yes ? asks_inside(cond->v.v, x->v.v) : asks_outside(cond->v.v, x->v.v)))
		return x->v;
	return value_of(lower_unmask(l, src, x->v.v));
}

static LoweredValue
lower_where(Lower *l, const Expr *e)
{
	Operand o[3];
	LoweredValue r = value_none();

	for (int i = 0; i < 3; i++) {
		o[i] = lower_operand(l, e->arg[i]);
		o[i].v = lower_load(l, o[i]);
		if (o[i].v.kind == VK_none)
			return value_none();
	}
	if (o[0].v.kind == VK_bool)
		return o[o[0].v.i ? 1 : 2].v;
	if (o[0].v.kind != VK_val || o[0].v.v->type.dtype != D_bool) {
		diag_error(l->diag, o[0].e->src, "the first argument of `%s` must be a condition, not %s%s",
		           e->name, check_describe(l, &o[0].v),
		           o[0].v.kind == VK_val && !dtype_is_narrow(o[0].v.v->type.dtype)
		                   ? arena_printf(l->arena, "; write `%s != 0`", check_text(l, o[0].e, "x"))
		                   : "");
		return value_none();
	}
	for (int i = 1; i < 3; i++)
		o[i].v = filled_operand(l, e->src, &o[0], &o[i], i == 1);
	if (o[1].v.kind == VK_bool || o[2].v.kind == VK_bool) {
		lower_select(l, e, o, D_bool, &r);
		return r;
	}
	if (!is_firm(&o[1]) && !is_firm(&o[2]))
		return plain_choice(l, e, o);
	if (!is_firm(&o[1]) || !is_firm(&o[2]) || check_same_dtype(l, e->src, &o[1], &o[2]))
		lower_select(l, e, o, o[is_firm(&o[1]) ? 1 : 2].v.v->type.dtype, &r);
	return r;
}

/* `where` whose first operand is rarely selected. */
static LoweredValue
lower_rarely(Lower *l, const Expr *e)
{
	LoweredValue r = lower_where(l, e);

	if (r.kind == VK_val && r.v->def && r.v->def->code == O_select)
		IMM_SET(r.v->def, rare, 1);
	return r;
}

/* A product or sum of sizes or similar values, assumed not to overflow. */
static bool
is_extent(const Lower *l, const Val *x)
{
	const Op *o = x->def;

	if (val_fact(l->k, x).lo >= 0)
		return true;
	return o && (o->code == O_mul || o->code == O_add) && type_is_index(&x->type) &&
	       is_extent(l, elt_lhs(o)) && is_extent(l, elt_rhs(o));
}

/* Returns the known range of an integer. */
static Fact
range_of(const Lower *l, const LoweredValue *x)
{
	if (x->kind == VK_val && type_is_index(&x->v->type) && is_extent(l, x->v))
		return (Fact){ 1, max64(val_fact(l->k, x->v).lo, 0), INT64_MAX / 2 };
	if (x->kind == VK_val && x->v->type.space == S_scalar)
		return val_fact(l->k, x->v);
	if (x->kind == VK_val)
		return (Fact){ 1, num_min(x->v->type.dtype), num_max(x->v->type.dtype) };
	return (Fact){ 1, x->i, x->i };
}

/* Is (a + (b - 1)) / b the quotient rounded up, of type d? True if a >= 0, b > 0, and the sum does not
 * overflow. */
static bool
rounds_up(DType d, Fact a, Fact b)
{
	int64_t most;

	return !dtype_past_i64(d) && a.lo >= 0 && b.lo >= 1 && add64(a.hi, b.hi - 1, &most) &&
	       most <= num_max(d);
}

/* Returns x where `condition` is true, else y. */
static LoweredValue
choice(Lower *l, const Expr *e, LoweredValue condition, LoweredValue x, LoweredValue y, DType d)
{
	Operand o[3] = { { condition, e }, { x, e }, { y, e } };
	LoweredValue r = value_none();

	if (condition.kind == VK_bool)
		return condition.i ? x : y;
	if (condition.kind == VK_val)
		lower_select(l, e, o, d, &r);
	return r;
}

static LoweredValue
op2(Lower *l, const Expr *e, TileToken op, LoweredValue x, LoweredValue y)
{
	return lower_op2(l, op, e->src, (Operand){ x, e }, (Operand){ y, e });
}

/* a / b rounded up, for any signs. Division truncates, so a positive quotient rounded up is 1 more than
 * the quotient of the dividend moved by one towards 0. */
static LoweredValue
quotient_up(Lower *l, const Expr *e, Operand a, Operand b, DType d)
{
	LoweredValue zero = value_int(0), one = value_int(1), above, up, nearer, negative;

	if (range_of(l, &b.v).lo >= 0) {
		above = op2(l, e, TK_gt, a.v, zero);
		up = nearer = choice(l, e, above, one, zero, d);
	} else {
		negative = op2(l, e, TK_lt, b.v, zero);
		above = op2(l, e, TK_eq, op2(l, e, TK_lt, a.v, zero), negative);
		above = op2(l, e, TK_andand, above, op2(l, e, TK_ne, a.v, zero));
		up = choice(l, e, above, one, zero, d);
		nearer = choice(l, e, above, choice(l, e, negative, value_int(-1), one, d), zero, d);
	}
	a.v = op2(l, e, TK_minus, a.v, nearer);
	return op2(l, e, TK_plus, lower_op2(l, TK_slash, e->src, a, b), up);
}

static LoweredValue
const_ceil(Lower *l, const Expr *e, const Operand *a, const Operand *b)
{
	LoweredValue q = lower_op2(l, TK_slash, e->src, *a, *b);

	if (q.kind == VK_int && a->v.i % b->v.i != 0 && (a->v.i < 0) == (b->v.i < 0))
		q.i++;
	return q;
}

static bool
is_integer(const LoweredValue *v)
{
	return v->kind == VK_int ||
	       (v->kind == VK_val && (dtype_info[v->v->type.dtype].kind == K_sint ||
	                              dtype_info[v->v->type.dtype].kind == K_uint));
}

static LoweredValue
lower_ceil(Lower *l, const Expr *e)
{
	Operand o[2], one = { value_int(1), e };
	DType d;
	Type t;

	if (e->narg == 1)
		return lower_elementwise(l, e, O_ceil);
	for (int i = 0; i < 2; i++) {
		o[i] = lower_operand(l, e->arg[i]);
		if (o[i].v.kind != VK_int)
			o[i].v = lower_load(l, o[i]);
		if (o[i].v.kind == VK_none)
			return value_none();
		if (!is_integer(&o[i].v)) {
			diag_error(l->diag, e->src, "`%s(a, b)` divides integers, rounding up; %s is %s",
			           e->name, i ? "b" : "a", check_describe(l, &o[i].v));
			return value_none();
		}
	}
	if (o[0].v.kind == VK_int && o[1].v.kind == VK_int)
		return const_ceil(l, e, &o[0], &o[1]);
	if (!lower_join(l, e->src, 2, o, &t))
		return value_none();
	d = t.dtype;
	if (!rounds_up(d, range_of(l, &o[0].v), range_of(l, &o[1].v)))
		return quotient_up(l, e, o[0], o[1], d);
	one.v = lower_op2(l, TK_minus, e->src, o[1], one);
	o[0].v = lower_op2(l, TK_plus, e->src, o[0], one);
	return lower_op2(l, TK_slash, e->src, o[0], o[1]);
}

static LoweredValue
call_builtin(Lower *l, const Builtin *b, const Expr *e)
{
	if (e->narg >= b->min && e->narg <= b->max)
		return b->fn ? b->fn(l, e) : lower_elementwise(l, e, b->code);
	diag_error(l->diag, e->src, "`%s` has %d argument%s; write %s", e->name, e->narg,
	           e->narg == 1 ? "" : "s", b->usage);
	return value_none();
}

LoweredValue
lower_call(Lower *l, const Expr *e)
{
	DType d = lower_find_dtype(l, e->name);
	const Builtin *b = find(e->name);
	const FnDecl *f;
	LoweredValue v;

	if (d != D_COUNT)
		return lower_cast(l, e, d);
	if (b && !lends(b))
		return call_builtin(l, b, e);
	f = lower_find_fn(l, e->name, e->src);
	if (f) {
		lower_fn_expr(l, f, e, 1, &v);
		return v;
	}
	if (b)
		return call_builtin(l, b, e);
	if (lower_is_prelude(e->name)) {
		lower_prelude_expr(l, e, 1, &v);
		return v;
	}
	check_no_name(l, e->src, "function ", e->name, "");
	return value_none();
}
