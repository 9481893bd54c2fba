/* type_check.c - checks type rules and reports violations. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/lower.h"
#include <string.h>

enum { TEXT_MAX = 48 };

const char *
check_text(const Lower *l, const Expr *e, const char *other)
{
	size_t n;

	if (!e || e->end <= e->at)
		return other;
	n = e->end - e->at;
	if (n > TEXT_MAX)
		return other;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)l->u->text[e->at + i];
		if (c < ' ' || c > '~' || (c == '/' && i + 1 < n && l->u->text[e->at + i + 1] == '/'))
			return other;
	}
	return arena_strndup(l->arena, l->u->text + e->at, n);
}

const char *
check_quoted(const Lower *l, const Operand *o, const char *other)
{
	const char *s = check_text(l, o->e, NULL);

	return s ? arena_printf(l->arena, "`%s`", s) : other;
}

/* Returns the name that an expression refers to: x of x.T, x[...], f16(x). */
static const Sym *
named(const Lower *l, const Expr *e)
{
	while (e && e->kind != EX_name && e->narg >= 1 &&
	       (e->kind == EX_index || e->kind == EX_member || (e->kind == EX_call && e->narg == 1)))
		e = e->arg[0];
	return e && e->kind == EX_name ? sym_find(l, e->name) : NULL;
}

void
check_declared(Lower *l, Src error, int n, const Operand *o)
{
	for (int i = 0; i < n; i++) {
		const Sym *s = named(l, o[i].e);

		if (s && s->src.line && s->src.line != error.line && s->val.kind != VK_none)
			diag_note(l->diag, s->src, "`%s` is %s", s->name, check_describe(l, &s->val));
	}
}

const char *
check_describe(const Lower *l, const LoweredValue *v)
{
	switch (v->kind) {
	case VK_none: return "an error";
	case VK_int: return arena_printf(l->arena, "the number %lld", (long long)v->i);
	case VK_flt: return arena_printf(l->arena, "the number %g", v->f);
	case VK_bool: return v->i ? "true" : "false";
	case VK_type: return arena_printf(l->arena, "the element type %s", dtype_info[v->i].name);
	case VK_mbar: return "barriers";
	case VK_array: return arena_printf(l->arena, "an array of %lld tiles", (long long)v->i);
	case VK_val:
	case VK_view: break;
	}
	if (v->kind == VK_view && v->v->type.space == S_global)
		return arena_printf(l->arena, "a tile %s in global memory",
		                    type_print(l->arena, &v->v->type) + strlen("global "));
	if (v->v->type.space == S_reg)
		return type_print(l->arena, &v->v->type) + strlen("reg ");
	if (v->v->type.space == S_scalar)
		return arena_printf(l->arena, "a scalar %s", type_print(l->arena, &v->v->type));
	return type_print(l->arena, &v->v->type);
}

/* ---- names that look alike ------------------------------------------------------------------- */

static bool
is_lost(const Lost *lost, const char *name)
{
	for (int i = 0; i < lost->n; i++)
		if (strcmp(lost->name[i], name) == 0)
			return true;
	return lost->more;
}

/* Stores `word` in *best if it is nearer to the name. */
static void
nearer(const char *name, const char *word, const char **best, int *least)
{
	int d = edit_distance(name, word);

	if (d < *least && d < (int)strlen(name)) {
		*least = d;
		*best = word;
	}
}

/* Suggests the visible, built-in or foreign word that is most similar: ", did you mean `acc`?" or "". */
static const char *
similar(const Lower *l, const char *name)
{
	const char *best = NULL, *b;
	const Foreign *f;
	int least = strlen(name) < 4 ? 2 : 3;

	if (l->diag->nerror >= 20) /* too many errors for suggestions to be read */
		return "";
	for (const Sym *s = l->scope; s; s = s->next)
		nearer(name, s->name, &best, &least);
	for (int i = 0; (b = lower_builtin(i)); i++)
		nearer(name, b, &best, &least);
	for (int i = 0; (f = foreign_at(i)); i++) /* short ones resemble too many names */
		if (strlen(f->word) > 4)
			nearer(name, f->word, &best, &least);
	return best ? arena_printf(l->arena, ", did you mean `%s`?%s", best,
	                           sym_find(l, best) || lower_is_builtin(best)
	                                   ? ""
	                                   : foreign_hint(l->arena, best) + strlen(";"))
	            : "";
}

void
check_no_name(Lower *l, Src src, const char *what, const char *name, const char *also)
{
	const char *hint = foreign_hint(l->arena, name);

	if (!is_lost(l->lost, name))
		diag_error(l->diag, src, "unknown %s`%s`%s%s", *what ? what : "name ", name,
		           *hint ? hint : similar(l, name), also);
}

/* ---- element types --------------------------------------------------------------------------- */

/* Does the op depend on the operand's sign? It is rejected as a probable mistake for unsigned types. */
static bool
needs_sign(OpCode code)
{
	return code == O_neg || code == O_abs;
}

bool
check_dtype(Lower *l, OpCode code, DType d, Src src, const Expr *e)
{
	const char *name = dtype_info[d].name, *text = check_text(l, e, "x");
	unsigned k = op_info[code].types;

	if (dtype_info[d].use != U_any && code != O_select)
		diag_error(l->diag, src,
		           "%s is a storage type without arithmetic; cast first, as in `f16(%s)` or `%s(%s)`",
		           name, text, dtype_info[d].kind == K_flt ? "f32" : "i32", text);
	else if (k >> dtype_info[d].kind & 1 && !(needs_sign(code) && dtype_info[d].kind == K_uint))
		return true;
	else if (k == 1u << K_flt)
		diag_error(l->diag, src, "%s is not defined on %s; cast first, as in `f32(%s)`",
		           op_info[code].name, name, text);
	else if (d == D_bool)
		diag_error(l->diag, src,
		           "%s is not defined on bool; select numbers with `where(%s, 1, 0)` or cast, as "
		           "in `i32(%s)`",
		           op_info[code].name, text, text);
	else if (dtype_info[d].kind == K_flt)
		diag_error(l->diag, src, "%s is not defined on %s; cast to integers first, as in `i32(%s)`",
		           op_info[code].name, name, text);
	else
		diag_error(l->diag, src,
		           "%s is not defined on the unsigned type %s; cast first, as in `i32(%s)`",
		           op_info[code].name, name, text);
	return false;
}

/* Returns the richer of two types: the one that a fix would cast to. */
static DType
richer(DType a, DType b)
{
	bool fa = dtype_info[a].kind == K_flt, fb = dtype_info[b].kind == K_flt;

	if (fa != fb)
		return fa ? a : b;
	return dtype_info[a].bits >= dtype_info[b].bits ? a : b;
}

static void
check_mismatch(Lower *l, Src src, const Operand *x, const Operand *y)
{
	DType dx = x->v.v->type.dtype, dy = y->v.v->type.dtype, to = richer(dx, dy);
	const Operand *weak = dx == to ? y : x;
	bool weak_is_bool = weak->v.v->type.dtype == D_bool;
	const char *fix = arena_printf(l->arena, "%s(%s)", dtype_info[to].name,
	                               check_text(l, weak->e, "..."));

	diag_error(l->diag, src, "%s is %s but %s is %s; write %s`%s`%s", check_quoted(l, x, "the left "
	                                                                                     "operand"),
	           dtype_info[dx].name, check_quoted(l, y, "the right operand"), dtype_info[dy].name,
	           weak_is_bool ? arena_printf(l->arena, "`%s != 0` for a condition, ",
	                                       check_text(l, weak == x ? y->e : x->e, "..."))
	                        : "",
	           fix, weak_is_bool ? " for a number" : "");
	check_declared(l, src, 1, x);
	check_declared(l, src, 1, y);
}

bool
check_same_dtype(Lower *l, Src src, const Operand *x, const Operand *y)
{
	if (x->v.v->type.dtype == y->v.v->type.dtype)
		return true;
	check_mismatch(l, src, x, y);
	return false;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool
check_extent(Lower *l, int64_t n, Src src)
{
	if (n >= 1 && n <= TILE_MAX)
		return true;
	diag_error(l->diag, src, "extent %lld is out of range: a tile has 1 to %d elements in each dimension",
	           (long long)n, TILE_MAX);
	return false;
}

bool
check_shape(Lower *l, int rank, const int64_t *shape, Src src)
{
	int64_t n = 1;

	if (rank > RANK_MAX) {
		diag_error(l->diag, src, "the tile has %d dimensions; at most %d are "
					 "supported", rank, RANK_MAX);
		return false;
	}
	for (int i = 0; i < rank; i++) {
		if (!check_extent(l, shape[i], src))
			return false;
		n *= shape[i];
		if (n > TILE_MAX) {
			diag_error(l->diag, src, "the tile has more than %d elements; use smaller tiles",
			           TILE_MAX);
			return false;
		}
	}
	return true;
}

bool
check_mode(Lower *l, Mode least, Src src, const char *thing)
{
	if (l->mode >= least)
		return true;
	if (l->mode == MODE_CONST)
		diag_error(l->diag, src,
		           "%s is a run-time value, but %s must be a compile-time constant; use a `const` "
			   "or `tune` parameter",
		           thing, l->what);
	else
		diag_error(l->diag, src,
		           "%s is not allowed in %s, which is evaluated on the host from sizes and integer "
			   "parameters",
		           thing, l->what);
	return false;
}
