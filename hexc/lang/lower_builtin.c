/* lower_builtin.c - lowers calls of the functions of prelude.def: checks their arguments, so that their
 * bodies cannot fail, and inlines them at the call like functions of the program. */
#include "hexc/lang/lower.h"
#include "hexc/prelude/prelude.h"

const FnDecl *
lower_prelude_text(Lower *l, const char *name, Src src)
{
	const Prelude *p = prelude_find(name);

	return p ? parse_prelude(l->u, p->text, src) : NULL;
}

/* Returns the prelude function of this name if programs may call it; NULL if there is none. */
static const Prelude *
shown(const char *name)
{
	const Prelude *p = prelude_find(name);

	return p && p->kind != PRELUDE_help ? p : NULL;
}

const FnDecl *
lower_prelude_own(Lower *l, const char *name, Src src)
{
	const Prelude *p = shown(name);

	if (!p || (p->kind != PRELUDE_own && p->kind != PRELUDE_number))
		return NULL;
	return lower_prelude_text(l, name, src);
}

bool
lower_is_prelude(const char *name)
{
	return shown(name) != NULL;
}

const char *
lower_prelude_name(int n)
{
	const Prelude *p;

	for (int i = 0; (p = prelude_at(i)) != NULL; i++)
		if (p->kind != PRELUDE_help && n-- == 0)
			return p->name;
	return NULL;
}

/* ---- arguments --------------------------------------------------------------------------------------- */

static bool
check_float(Lower *l, const Prelude *p, DType d, const Operand *o)
{
	const char *text = check_text(l, o->e, "x");

	if (dtype_info[d].use != U_any || dtype_info[d].kind != K_flt)
		diag_error(l->diag, o->e->src,
		           "`%s` is only defined on floats, not on %s; cast first, as in `%s(f32(%s))`",
		           p->name,
		           dtype_info[d].name, p->name, text);
	else if (p->kind == PRELUDE_single && d == D_f64)
		diag_error(l->diag, o->e->src,
		           "`%s` is not defined on f64; cast to f32 first, as in `f64(%s(f32(%s)))`", p->name,
		           p->name, text);
	else
		return true;
	return false;
}

static bool
check_number(Lower *l, const Prelude *p, DType d, const Operand *o)
{
	if (dtype_info[d].use == U_any && d != D_bool)
		return true;
	diag_error(l->diag, o->e->src,
	           "`%s` is only defined on types with arithmetic, not on %s; cast first, as in `%s(%s)`",
	           p->name,
	           dtype_info[d].name, dtype_info[d].kind == K_flt ? "f16" : "i32",
	           check_text(l, o->e, "x"));
	return false;
}

/* Checks for integers, whose types may differ. */
static bool
check_words(Lower *l, const Prelude *p, int n, Operand *o)
{
	for (int i = 0; i < n; i++) {
		DType d = o[i].v.kind == VK_val ? o[i].v.v->type.dtype : D_COUNT;

		if (o[i].v.kind == VK_int)
			continue;
		if (d == D_COUNT || (dtype_info[d].kind != K_sint && dtype_info[d].kind != K_uint)) {
			diag_error(l->diag, o[i].e->src, "`%s` is only defined on integers, not on %s",
			           p->name,
			           check_describe(l, &o[i].v));
			return false;
		}
	}
	return true;
}

/* Converts all to one type, that of the operands which are not constants, and to one shape. */
static bool
check_joined(Lower *l, const Prelude *p, const Expr *e, int n, Operand *o, DType *own)
{
	const Operand *first = NULL;
	Type t;

	for (int i = n - 1; i >= 0; i--)
		if (o[i].v.kind == VK_val)
			first = &o[i];
	if (!first) {
		diag_error(l->diag, e->src,
		           "`%s` cannot be evaluated at compile time for these arguments; give one a type, "
		           "as in f32(%s)",
		           p->name, check_text(l, o[0].e, "..."));
		return false;
	}
	if (!lower_join(l, e->src, n, o, &t))
		return false;
	*own = t.dtype;
	return p->kind == PRELUDE_number ? check_number(l, p, t.dtype, first)
	                                 : check_float(l, p, t.dtype, first);
}

/* Converts x, also a constant, to type d. */
static LoweredValue
in_type(Lower *l, Src src, LoweredValue x, DType d)
{
	Type t;

	if (value_is_const(&x))
		return value_of(put_const(l, &x, type_scalar(d), src));
	if (x.kind != VK_val || x.v->type.dtype == d)
		return x;
	t = x.v->type;
	t.dtype = d;
	x.v = put1(l, O_cast, src, x.v, t);
	return x;
}

LoweredValue
lower_prelude_known(Lower *l, const FnDecl *f, Src src, LoweredValue y, LoweredValue x)
{
	const PreludeKnown *k = prelude_known(f->name);
	Val *in[3] = { NULL, y.v, x.v };
	Type t;

	if (!k || y.kind != VK_val || x.kind != VK_val || !type_same(&y.v->type, &x.v->type))
		return y;
	t = y.v->type;
	t.dtype = D_bool;
	in[0] = put_op(l, O_const, src, 0, NULL, t);
	IMM_SET(in[0]->def, value, 1);
	y.v = put_op(l, O_select, src, 3, in, x.v->type);
	IMM_SET(y.v->def, known, k->form);
	IMM_SET(y.v->def, error, k->error);
	return y;
}

/* ---- the call ---------------------------------------------------------------------------------------- */

bool
lower_prelude_expr(Lower *l, const Expr *e, int want, LoweredValue *out)
{
	const Prelude *p = shown(e->name);
	Operand o[PRELUDE_ARGS];
	LoweredValue arg[PRELUDE_ARGS];
	DType own = D_COUNT;
	bool ok = true;

	for (int i = 0; i < want; i++)
		out[i] = value_none();
	if (e->narg != p->args) {
		diag_error(l->diag, e->src, "`%s` has %d argument%s; write %s", e->name, e->narg,
		           e->narg == 1 ? "" : "s", p->usage);
		return false;
	}
	for (int i = 0; i < e->narg; i++) {
		o[i] = lower_operand(l, e->arg[i]);
		o[i].v = lower_load(l, o[i]);
		ok = ok && o[i].v.kind != VK_none;
	}
	if (!ok || !check_mode(l, MODE_BODY, e->src, arena_printf(l->arena, "`%s`", e->name)) ||
	    !(p->kind == PRELUDE_word ? check_words(l, p, e->narg, o)
	                              : check_joined(l, p, e, e->narg, o, &own)))
		return false;
	for (int i = 0; i < e->narg; i++)
		arg[i] = p->kind == PRELUDE_single ? in_type(l, e->src, o[i].v, D_f32) : o[i].v;
	if (!lower_fn_call(l, lower_prelude_text(l, e->name, e->src), e->src, e->narg, arg, want, out))
		return false;
	if (p->kind == PRELUDE_single)
		out[0] = in_type(l, e->src, out[0], own);
	return true;
}

LoweredValue
lower_prelude_f32(Lower *l, const char *name, Src src, int n, const Operand *o, DType own)
{
	LoweredValue arg[PRELUDE_ARGS], v;

	for (int i = 0; i < n; i++)
		arg[i] = in_type(l, src, o[i].v, D_f32);
	lower_fn_call(l, lower_prelude_text(l, name, src), src, n, arg, 1, &v);
	return in_type(l, src, v, own);
}

LoweredValue
lower_prelude_f64(Lower *l, const char *name, Src src, LoweredValue x)
{
	LoweredValue v;

	lower_fn_call(l, lower_prelude_text(l, name, src), src, 1, &x, 1, &v);
	return v;
}
