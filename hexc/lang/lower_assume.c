/* lower_assume.c - lowers `assume` clauses: what the program guarantees about its parameters. */
#include "hexc/lang/lower.h"
#include <string.h>

/* Larger `mult` values are stored as general conditions. */
#define MULT_MAX ((int64_t)1 << 40)

static Param *
int_param(Lower *l, const Expr *e)
{
	if (e->kind != EX_name)
		return NULL;
	for (int i = 0; i < l->k->nparam; i++) {
		Param *p = &l->k->param[i];
		if (p->kind != P_tensor && strcmp(p->name, e->name) == 0 &&
		    dtype_info[p->val->type.dtype].kind != K_flt &&
		    dtype_info[p->val->type.dtype].kind != K_pred)
			return p;
	}
	return NULL;
}

/* NAME % c == 0 */
static bool
take_multiple(Lower *l, const Expr *x, const Expr *zero)
{
	Param *p;
	int64_t c, z, m;

	if (x->kind != EX_binary || x->op != TK_percent || !(p = int_param(l, x->arg[0])) ||
	    !lower_is_const(l, x->arg[1]) || !lower_is_const(l, zero))
		return false;
	if (!lower_const_int(l, zero, "a remainder", &z) || !lower_const_int(l, x->arg[1], "a divisor", &c))
		return true;
	if (z != 0 || c == INT64_MIN)
		return false;
	c = c < 0 ? -c : c;
	if (c == 0) {
		diag_error(l->diag, x->arg[1]->src, "division by zero in an assumption");
		return true;
	}
	m = c / gcd64(p->mult, c);
	if (m > MULT_MAX / p->mult)
		return false;
	p->mult *= m;
	return true;
}

static bool
is_comparison(TileToken op)
{
	return op == TK_eq || op == TK_ne || op == TK_lt || op == TK_le || op == TK_gt || op == TK_ge;
}

static TileToken
mirror(TileToken op)
{
	switch (op) {
	case TK_lt: return TK_gt;
	case TK_le: return TK_ge;
	case TK_gt: return TK_lt;
	case TK_ge: return TK_le;
	default: return op;
	}
}

/* NAME < c and similar */
static bool
take_range(Lower *l, const Expr *e, const Expr *x, TileToken op, const Expr *bound)
{
	Param *p = int_param(l, x);
	int64_t c, lo = INT64_MIN, hi = INT64_MAX;

	if (!p || !lower_is_const(l, bound) || op == TK_ne)
		return false;
	if (!lower_const_int(l, bound, "a bound", &c))
		return true;
	if ((op == TK_lt && c == INT64_MIN) || (op == TK_gt && c == INT64_MAX))
		return false;
	if (op == TK_lt || op == TK_le || op == TK_eq)
		hi = op == TK_lt ? c - 1 : c;
	if (op == TK_gt || op == TK_ge || op == TK_eq)
		lo = op == TK_gt ? c + 1 : c;
	p->lo = lo > p->lo ? lo : p->lo;
	p->hi = hi < p->hi ? hi : p->hi;
	if (p->lo > p->hi) {
		diag_error(l->diag, e->src,
		           "assumptions on %s are contradictory: >= %lld and <= %lld",
		           p->name, (long long)p->lo, (long long)p->hi);
		p->lo = p->hi;
	}
	return true;
}

static void
add_names(Lower *l, const Expr *e, Text *t)
{
	if (e->kind == EX_name) {
		const Sym *s = sym_find(l, e->name);
		if (s && s->val.kind == VK_int)
			text_printf(t, "%s%s = %lld", t->n ? ", " : ": ", e->name, (long long)s->val.i);
	}
	for (int i = 0; i < e->narg; i++)
		add_names(l, e->arg[i], t);
}

static void
check_now(Lower *l, const Expr *e)
{
	Text t = { .arena = l->arena };
	LoweredValue v;

	l->mode = MODE_CONST;
	l->what = "an assumption on constants";
	v = lower_expr(l, e);
	if (v.kind == VK_bool && !v.i) {
		add_names(l, e, &t);
		diag_error(l->diag, e->src, "the constants do not satisfy `assume %s`%s",
		           check_text(l, e, "..."), t.n ? t.s : "");
	} else if (v.kind != VK_bool && v.kind != VK_none) {
		diag_error(l->diag, e->src, "an assumption must be a condition, not %s",
		           check_describe(l, &v));
	}
}

static void
lower_assume(Lower *l, const Expr *e)
{
	LoweredValue v;

	if (e->kind == EX_binary && e->op == TK_andand) {
		lower_assume(l, e->arg[0]);
		lower_assume(l, e->arg[1]);
		return;
	}
	if (lower_is_const(l, e)) {
		VEC_PUSH(l->arena, l->k->condition, l->k->ncondition, l->condition_cap,
		         check_text(l, e, "..."));
		check_now(l, e);
		return;
	}
	if (e->kind == EX_binary) {
		const Expr *x = e->arg[0], *y = e->arg[1];

		if (e->op == TK_eq && (take_multiple(l, x, y) || take_multiple(l, y, x)))
			return;
		if (is_comparison(e->op) &&
		    (take_range(l, e, x, e->op, y) || take_range(l, e, y, mirror(e->op), x)))
			return;
	}
	l->mode = MODE_HOST;
	l->what = "an assumption";
	l->b = l->k->grid;
	v = lower_expr(l, e);
	if (v.kind == VK_val && type_is_cond(&v.v->type)) {
		Assume as = { v.v, check_text(l, e, ""), e->src };

		VEC_PUSH(l->arena, l->k->assume, l->k->nassume, l->assume_cap, as);
	} else if (v.kind != VK_none) {
		diag_error(l->diag, e->src, "an assumption must be a condition, not %s",
		           check_describe(l, &v));
	}
}

void
lower_assumes(Lower *l)
{
	for (int i = 0; i < l->decl->nclause; i++)
		if (l->decl->clause[i].kind == CL_assume)
			lower_assume(l, l->decl->clause[i].value);
}
