/* lower_atomic.c - statements that update elements of a tensor in one step each. */
#include "hexc/lang/lower.h"
#include <string.h>

static const struct {
	const char *name;
	StoreKind kind;
} atomic[] = {
	{ "atomic_add", STORE_ADD },
	{ "atomic_max", STORE_MAX },
	{ "atomic_min", STORE_MIN },
	{ "atomic_and", STORE_AND },
	{ "atomic_or", STORE_OR },
	{ "atomic_xor", STORE_XOR },
};

static StoreKind
kind_of(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(atomic); i++)
		if (strcmp(atomic[i].name, name) == 0)
			return atomic[i].kind;
	return STORE_PLAIN;
}

Value
lower_atomic_value(Lower *l, const Expr *e)
{
	diag_error(l->diag, e->src, "`%s` gives no value: write it as a statement", e->name);
	return value_none();
}

/* Is this a slice of a tensor that may be read and written, of numbers? */
static bool
check_target(Lower *l, const Expr *e, const Value *v)
{
	const char *name = e->arg[0]->kind == EX_index && e->arg[0]->arg[0]->kind == EX_name
	                           ? e->arg[0]->arg[0]->name
	                           : NULL;
	const Param *p;

	if (v->kind == VK_none)
		return false;
	if (!name || v->kind != VK_view || v->v->type.space != S_global) {
		diag_error(l->diag, e->arg[0]->src, "`%s` updates a slice of a tensor, not %s", e->name,
		           check_describe(l, v));
		return false;
	}
	p = val_param(l->k, view_root(v->v));
	if (!p->written || !p->read) {
		diag_error(l->diag, e->arg[0]->src, "`%s` reads and writes: declare tensor `%s` `inout`",
		           e->name, name);
		return false;
	}
	if (kind_of(e->name) >= STORE_AND && dtype_info[v->v->type.dtype].kind == K_flt) {
		diag_error(l->diag, e->arg[0]->src,
		           "`%s` of %s: it combines bits of integers, keep `%s` in i32 or u32", e->name,
		           dtype_info[v->v->type.dtype].name, name);
		return false;
	}
	if (v->v->type.dtype != D_bool && dtype_info[v->v->type.dtype].use == U_any)
		return true;
	diag_error(l->diag, e->arg[0]->src,
	           "`%s` of %s: it has no arithmetic, keep `%s` in i32 or f32", e->name,
	           dtype_info[v->v->type.dtype].name, name);
	return false;
}

bool
lower_atomic(Lower *l, const Expr *e)
{
	StoreKind kind = kind_of(e->name);
	Operand to, x;
	Val *in[2];
	Type t;

	if (kind == STORE_PLAIN)
		return false;
	if (e->narg != 2) {
		diag_error(l->diag, e->src, "`%s` has %d argument%s: write %s(T[slice], x)", e->name, e->narg,
		           e->narg == 1 ? "" : "s", e->name);
		return true;
	}
	to = lower_operand(l, e->arg[0]);
	x = lower_operand(l, e->arg[1]);
	if (!check_target(l, e, &to.v) || x.v.kind == VK_none)
		return true;
	t = to.v.v->type;
	t.space = S_reg;
	in[0] = lower_to_type(l, x, t, e->src,
	                      arena_printf(l->arena, "the slice of `%s`", e->arg[0]->arg[0]->name));
	in[1] = to.v.v;
	if (in[0])
		IMM_SET(op_new(l->b, NULL, O_store, e->src, 2, in, 0, NULL), update, kind);
	return true;
}
