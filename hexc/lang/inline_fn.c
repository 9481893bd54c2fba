/* inline_fn.c - inlines functions of the program at each call.
 *
 * A function sees its parameters, other functions and nothing else. Parameters have no types: each call
 * checks the body again with the values it passes, including compile-time constants. */
#include "hexc/lang/lower.h"
#include <string.h>

const FnDecl *
lower_find_fn(Lower *l, const char *name, Src src)
{
	if (l->call && l->call->fn->prelude)
		return lower_prelude_text(l, name, src);
	for (const FnDecl *f = l->fns; f; f = f->next)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

void
lower_check_fns(Unit *u, const File *file)
{
	for (const FnDecl *f = file->fn; f; f = f->next) {
		const char *is = dtype_find(f->name, strlen(f->name)) != D_COUNT ? "an element type"
		                 : lower_keeps_name(f->name)                     ? "a built-in function"
		                                                                 : NULL;

		if (is)
			diag_error(u->diag, f->src, "`%s` is %s; choose another name", f->name, is);
		for (const FnDecl *g = file->fn; g != f; g = g->next) {
			if (strcmp(f->name, g->name) != 0)
				continue;
			diag_error(u->diag, f->src, "redefinition of function `%s`; rename one", f->name);
			diag_note(u->diag, g->src, "first definition is here");
			break;
		}
	}
}

/* Passes an argument: constants, tiles and scalars by value, a tensor or shared tile by reference. */
static LoweredValue
handed(Lower *l, Operand o)
{
	if (o.v.kind == VK_view && (!o.v.v->def || o.v.v->def->code == O_alloc))
		return o.v;
	return lower_load(l, o);
}

/* A function called while computing constants or the grid may only compute values. */
static bool
check_body(Lower *l, const FnDecl *f, const Stmt *s)
{
	for (; s && l->mode != MODE_BODY; s = s->next) {
		if (s->kind == ST_return || s->kind == ST_static_assert ||
		    (s->kind == ST_let && !s->is_var && !s->type.given))
			continue;
		diag_error(l->diag, s->src, "`%s` is called in %s; a function called there may only "
		                            "contain `let`, `static_assert` and `return`",
		           f->name, l->what);
		return false;
	}
	return true;
}

/* Does f return `want` values? Of several values of a prelude function, a call may use only the first. */
static bool
gives(const FnDecl *f, int n, int want)
{
	return n == want || (f->prelude && n > 1 && want == 1);
}

static bool
call(Lower *l, const FnDecl *f, Src src, const LoweredValue *arg, int want, LoweredValue *out)
{
	FnCall frame = { .fn = f, .depth = l->depth, .mode = l->mode, .outer = l->call };
	SavedScope outside = scope_enter_call(l);
	Leave *leave = l->leave;
	int errors = l->diag->nerror;

	l->call = &frame;
	l->leave = NULL;
	for (int i = 0; i < f->nparam; i++)
		sym_add(l, f->param[i].name, SY_let, f->param[i].src, arg[i]);
	if (check_body(l, f, f->body))
		lower_stmts(l, f->body);
	scope_leave_call(l, outside);
	l->call = frame.outer;
	l->leave = leave;
	if (l->diag->nerror != errors) {
		diag_note(l->diag, src, "in this call of `%s`", f->name);
	} else if (!gives(f, frame.nresult, want)) {
		diag_error(l->diag, src, "`%s` returns %d value%s, but %d %s expected here", f->name,
		           frame.nresult, frame.nresult == 1 ? "" : "s", want, want == 1 ? "is" : "are");
		if (!f->prelude)
			diag_note(l->diag, f->src, "`%s` is declared here", f->name);
	}
	for (int i = 0; i < want; i++)
		out[i] = i < frame.nresult ? frame.result[i] : value_none();
	return gives(f, frame.nresult, want);
}

bool
lower_fn_call(Lower *l, const FnDecl *f, Src src, int n, const LoweredValue *arg, int want, LoweredValue *out)
{
	int depth = 0;

	for (int i = 0; i < want; i++)
		out[i] = value_none();
	if (f->broken)
		return false;
	for (const FnCall *c = l->call; c; c = c->outer)
		depth += !c->fn->prelude;
	if (depth == CALL_DEPTH_MAX) {
		diag_error(l->diag, src, "calls of functions are nested more than %d deep", CALL_DEPTH_MAX);
		return false;
	}
	if (n != f->nparam) {
		diag_error(l->diag, src, "`%s` takes %d argument%s, not %d", f->name, f->nparam,
		           f->nparam == 1 ? "" : "s", n);
		diag_note(l->diag, f->src, "`%s` is declared here", f->name);
		return false;
	}
	for (int i = 0; i < n; i++)
		if (arg[i].kind == VK_none)
			return false;
	if (!call(l, f, src, arg, want, out))
		return false;
	if (f->prelude && want > 0)
		out[0] = lower_prelude_known(l, f, src, out[0], arg[0]);
	return true;
}

bool
lower_fn_expr(Lower *l, const FnDecl *f, const Expr *e, int want, LoweredValue *out)
{
	LoweredValue *arg = NEWN(l->arena, LoweredValue, e->narg + 1);

	for (int i = 0; i < e->narg; i++) {
		const Expr *x = e->arg[i];
		DType d = lower_expr_dtype(l, x);

		arg[i] = d == D_COUNT ? handed(l, lower_operand(l, x))
		                      : (LoweredValue){ .kind = VK_type, .i = (int64_t)d };
	}
	return lower_fn_call(l, f, e->src, e->narg, arg, want, out);
}

bool
lower_fn_parts(Lower *l, const Expr *e, int n, LoweredValue *out)
{
	const FnDecl *f = e->kind == EX_call ? lower_find_fn(l, e->name, e->src) : NULL;

	if (f)
		return lower_fn_expr(l, f, e, n, out);
	if (e->kind == EX_call && lower_is_prelude(e->name))
		return lower_prelude_expr(l, e, n, out);
	if (e->kind == EX_call && strcmp(e->name, "topk") == 0)
		return lower_topk(l, e, n, out);
	if (e->kind == EX_call && (strcmp(e->name, "scan") == 0 || strcmp(e->name, "reduce") == 0))
		return lower_scan(l, e, n, out);
	if (lower_expr(l, e).kind != VK_none)
		diag_error(l->diag, e->src,
		           "only a function call yields several values, but `%s` is one value",
		           check_text(l, e, "this"));
	for (int i = 0; i < n; i++)
		out[i] = value_none();
	return false;
}

void
lower_call_stmt(Lower *l, const Stmt *s)
{
	const FnDecl *f = lower_find_fn(l, s->value->name, s->value->src);
	int errors = l->diag->nerror;

	if (f)
		lower_fn_expr(l, f, s->value, 0, NULL);
	else if (lower_atomic(l, s->value) || lower_grid_barrier(l, s->value) || lower_message(l, s->value))
		return;
	else if (lower_expr(l, s->value).kind != VK_none && l->diag->nerror == errors)
		diag_error(l->diag, s->value->src,
		           "unused expression result; assign it or use `let`");
}

void
lower_return(Lower *l, const Stmt *s)
{
	FnCall *c = l->call;

	if (!c) {
		lower_leave(l, s);
		return;
	}
	if (s->next || l->depth != c->depth) {
		diag_error(l->diag, s->src,
		           "`return` must be the last statement of a function; in loops and conditions "
		           "set a `var` and return that");
		return;
	}
	for (int i = 0; i < s->narg; i++)
		c->result[i] = handed(l, lower_operand(l, s->arg[i]));
	c->nresult = s->narg;
}

void
lower_static_assert(Lower *l, const Stmt *s)
{
	Mode mode = l->mode;
	const char *what = l->what;
	LoweredValue v;

	l->mode = MODE_CONST;
	l->what = "the condition of a static_assert";
	v = lower_expr(l, s->value);
	l->mode = mode;
	l->what = what;
	if (v.kind == VK_bool && !v.i)
		diag_error(l->diag, s->value->src, "%s%s`%s` is false", s->text ? s->text : "",
		           s->text ? ": " : "", check_text(l, s->value, "the condition"));
	else if (v.kind != VK_bool && v.kind != VK_none)
		diag_error(l->diag, s->value->src,
		           "the condition of a static_assert must be a bool, not %s",
		           check_describe(l, &v));
}
