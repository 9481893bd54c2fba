/* lower_tunables.c - assigns values to constants and tunables: from the program or from -D. */
#include "hexc/lang/migration_hints.h"
#include "hexc/analysis/analysis.h"
#include "hexc/lang/lower.h"
#include <string.h>

/* Maximum number of values of a tunable. */
enum { CHOICE_MAX = 4096 };

typedef struct Choices {
	int64_t *v;
	int n, cap;
} Choices;

/* Returns the last -D of that name, or NULL. */
static const Define *
find_define(const Lower *l, const char *name)
{
	for (int i = l->ndef - 1; i >= 0; i--)
		if (strcmp(l->def[i].name, name) == 0)
			return &l->def[i];
	return NULL;
}

static bool
has(const Choices *c, int64_t x)
{
	for (int i = 0; i < c->n; i++)
		if (c->v[i] == x)
			return true;
	return false;
}

static void
add_choice(Lower *l, Choices *c, int64_t x)
{
	if (c->n <= CHOICE_MAX && !has(c, x))
		VEC_PUSH(l->arena, c->v, c->n, c->cap, x);
}

static void
too_many(Lower *l, const Clause *c)
{
	diag_error(l->diag, c->src, "tunable `%s` lists more than %d values", c->name, CHOICE_MAX);
}

/* ---- element types ----------------------------------------------------------------------------- */

DType
lower_find_dtype(const Lower *l, const char *name)
{
	DType d = dtype_find(name, strlen(name));
	const Sym *s = d == D_COUNT ? sym_find(l, name) : NULL;

	return s && s->val.kind == VK_type ? (DType)s->val.i : d;
}

DType
lower_expr_dtype(const Lower *l, const Expr *e)
{
	const Sym *s = e->kind == EX_name ? sym_find(l, e->name) : NULL;

	return e->kind != EX_name || (s && s->val.kind != VK_type) ? D_COUNT : lower_find_dtype(l, e->name);
}

DType
lower_dtype(Lower *l, const TypeSpec *t)
{
	DType d = t->name ? lower_find_dtype(l, t->name) : t->dtype;

	const Sym *s = t->name ? sym_find(l, t->name) : NULL;

	if (t->name && d == D_COUNT && !(s && s->val.kind == VK_none))
		diag_error(l->diag, t->name_src,
		           "`%.40s` is not an element type; write f16, bf16, f32, i8, u8, i32, u32, i4, "
		           "u4, bool or similar%s",
		           t->name, foreign_hint(l->arena, t->name));
	return d;
}

/* Returns the type of a constant or tunable whose first value names an element type; D_COUNT otherwise. */
static DType
type_of_clause(const Lower *l, const Expr *e)
{
	return e && e->kind == EX_name ? lower_find_dtype(l, e->name) : D_COUNT;
}

static const char *
types_text(Lower *l, const Clause *c)
{
	Text t = { .arena = l->arena };

	for (int i = 0; i < c->nrange; i++)
		text_printf(&t, "%s%s", i ? ", " : "", c->range[i].lo->name);
	return t.s;
}

static const char *
value_text(Lower *l, int64_t x)
{
	return value_type(x) < D_COUNT ? dtype_info[value_type(x)].name
	                               : arena_printf(l->arena, "%lld", (long long)x);
}

/* `const W = u4`, `tune W = u4|u2` */
static LoweredValue
clause_type(Lower *l, const Clause *c, DType d, Tunable *t)
{
	const Define *def = find_define(l, c->name);
	Choices list = { NULL, 0, 0 };
	bool listed = c->kind == CL_const;
	DType x;

	for (int i = 0; i < c->nrange; i++) {
		x = type_of_clause(l, c->range[i].lo);
		if (x == D_COUNT || c->range[i].hi) {
			diag_error(l->diag, c->range[i].lo->src,
			           "the values of tunable `%s` are element types; this is not one", c->name);
			return value_none();
		}
		listed |= def && type_value(x) == def->value;
		add_choice(l, &list, type_value(x));
	}
	if (c->kind == CL_tune && c->value && (d = type_of_clause(l, c->value)) == D_COUNT) {
		diag_error(l->diag, c->value->src,
		           "the default of tunable `%s` must be an element type, one of %s",
		           c->name, types_text(l, c));
		return value_none();
	}
	if (def && (value_type(def->value) == D_COUNT || !listed)) {
		diag_error(l->diag, c->src, "%s=%s is invalid: `%s` is an element type%s%s",
		           c->name, value_text(l, def->value), c->name,
		           c->kind == CL_tune ? ", one of " : ", such as f16",
		           c->kind == CL_tune ? types_text(l, c) : "");
		return value_none();
	}
	*t = (Tunable){ c->name, def ? def->value : type_value(d), type_value(d), list.v, list.n };
	return (LoweredValue){ .kind = VK_type, .i = def ? (int64_t)value_type(def->value) : (int64_t)d };
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static bool
add_range(Lower *l, const Clause *cl, Choices *c, const ValueRange *r)
{
	const char *what = arena_printf(l->arena, "a value of tunable `%s`", cl->name);
	int64_t lo, hi;

	if (!lower_const_int(l, r->lo, what, &lo))
		return false;
	hi = lo;
	if (r->hi && !lower_const_int(l, r->hi, what, &hi))
		return false;
	if (hi < lo) {
		diag_error(l->diag, r->lo->src,
		           "the range %lld..%lld of tunable `%s` is empty; write the smaller number first",
		           (long long)lo, (long long)hi, cl->name);
		return false;
	}
	if ((uint64_t)hi - (uint64_t)lo >= CHOICE_MAX) {
		too_many(l, cl);
		return false;
	}
	for (int64_t x = lo; x < hi; x++)
		add_choice(l, c, x);
	add_choice(l, c, hi);
	return true;
}

static const char *
choices_text(Lower *l, const Choices *c)
{
	Text t = { .arena = l->arena };

	for (int i = 0; i < c->n && i < 24; i++)
		text_printf(&t, "%s%lld", i ? ", " : "", (long long)c->v[i]);
	if (c->n > 24)
		text_printf(&t, ", ... %lld", (long long)c->v[c->n - 1]);
	return t.s;
}

static bool
tune_value(Lower *l, const Clause *c, Tunable *out)
{
	const Define *d = find_define(l, c->name);
	Choices list = { NULL, 0, 0 };
	bool ok = true;

	for (int i = 0; i < c->nrange; i++)
		ok &= add_range(l, c, &list, &c->range[i]);
	if (ok && list.n > CHOICE_MAX) {
		too_many(l, c);
		ok = false;
	}
	if (!ok)
		return false;
	*out = (Tunable){ c->name, 0, list.v[0], list.v, list.n };
	if (c->value && !lower_const_int(l, c->value, "the default of a tunable", &out->preset))
		return false;
	if (c->value && !has(&list, out->preset)) {
		diag_error(l->diag, c->value->src,
		           "default %lld of tunable `%s` is not among its values %s",
		           (long long)out->preset, c->name, choices_text(l, &list));
		return false;
	}
	if (d && !has(&list, d->value)) {
		diag_error(l->diag, c->src, "%s=%s is not a value of tunable `%s`; allowed: %s", c->name,
		           value_text(l, d->value), c->name, choices_text(l, &list));
		return false;
	}
	out->value = d ? d->value : out->preset;
	return true;
}

/* *t: set for a tunable. */
static LoweredValue
clause_value(Lower *l, const Clause *c, Tunable *t)
{
	const Define *d = find_define(l, c->name);
	DType type = type_of_clause(l, c->kind == CL_tune ? c->range[0].lo : c->value);
	int64_t x;

	if (type != D_COUNT)
		return clause_type(l, c, type, t);
	if (c->kind == CL_tune)
		return tune_value(l, c, t) ? value_int(t->value) : value_none();
	if (!lower_const_int(l, c->value, "a constant", &x))
		return value_none();
	if (d && value_type(d->value) < D_COUNT) {
		diag_error(l->diag, c->src, "%s=%s is invalid: `%s` is a number, %lld by default",
		           c->name, value_text(l, d->value), c->name, (long long)x);
		return value_none();
	}
	return value_int(d ? d->value : x);
}

static void
set_warps(Lower *l)
{
	const Sym *s = sym_find(l, "WARPS");

	l->k->open_warps = !s;
	if (!s || s->val.kind != VK_int)
		return;
	if (s->val.i < 1 || s->val.i > 32)
		diag_error(l->diag, s->src, "WARPS is %lld, but a block has 1 to 32 warps",
		           (long long)s->val.i);
	else
		l->k->warps = (int)s->val.i;
}

/* Pass rasterize reads this constant. */
static void
check_group(Lower *l)
{
	const Sym *s = sym_find(l, "BLOCK_GROUP");

	if (s && s->val.kind == VK_int && (s->val.i < 0 || s->val.i > GROUP_MOST))
		diag_error(l->diag, s->src,
		           "BLOCK_GROUP is %lld; expected 1 to %d, or 0 to disable",
		           (long long)s->val.i, GROUP_MOST);
}

/* Range analysis of views reads this constant. */
static void
check_align(Lower *l)
{
	const Sym *s = sym_find(l, "ALIGN");

	if (s && s->val.kind == VK_int && (!is_pow2(s->val.i) || s->val.i > TENSOR_ALIGN))
		diag_error(l->diag, s->src,
		           "ALIGN is %lld, but must be 1, 2, 4, 8 or %d bytes",
		           (long long)s->val.i, TENSOR_ALIGN);
}

void
lower_consts(Lower *l)
{
	Define *list = NULL;
	int n = 0, cap = 0, tcap = 0;

	for (int i = 0; i < l->decl->nclause; i++) {
		const Clause *c = &l->decl->clause[i];
		Tunable t;
		LoweredValue v;

		if (c->kind == CL_assume)
			continue;
		v = clause_value(l, c, &t);
		sym_add(l, c->name, SY_const, c->src, v);
		if (v.kind == VK_int || v.kind == VK_type)
			VEC_PUSH(l->arena, list, n, cap,
			         ((Define){ c->name, v.kind == VK_type ? type_value((DType)v.i) : v.i }));
		if (c->kind == CL_tune && v.kind != VK_none)
			VEC_PUSH(l->arena, l->k->tunable, l->k->ntunable, tcap, t);
	}
	l->k->constants = list;
	l->k->nconstants = n;
	set_warps(l);
	check_group(l);
	check_align(l);
}
