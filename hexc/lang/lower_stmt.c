/* lower_stmt.c - lowers grid and assignments, and dispatches all other statements. */
#include "hexc/lang/lower.h"

/* ---- grid ------------------------------------------------------------------------------------ */

static Val *
grid_extent(Lower *l, const Expr *e, int axis)
{
	static const int64_t most[] = { INT32_MAX, 65535, 65535 };
	Val *v = lower_index_value(l, e, "the grid");
	int64_t n;

	if (v && val_is_const(v, &n) && (n < 1 || n > most[axis])) {
		diag_error(l->diag, e->src, "the grid has %lld blocks along %c; must be 1 to %lld",
		           (long long)n, "xyz"[axis], (long long)most[axis]);
		return NULL;
	}
	return v;
}

static void
lower_grid(Lower *l, const Stmt *s)
{
	Block *body = l->b;
	Val *v[3];

	if (l->has_grid)
		diag_error(l->diag, s->src, "the kernel already has a grid; write one");
	else if (l->depth)
		diag_error(l->diag, s->src,
		           "`grid` is only allowed at the top level of a kernel");
	else if (s->narg < 1 || s->narg > 3)
		diag_error(l->diag, s->src, "the grid must have 1 to 3 extents, not %d", s->narg);
	if (l->has_grid || l->depth || s->narg < 1 || s->narg > 3) {
		if (!l->has_grid) {
			for (int i = 0; i < 3; i++)
				v[i] = ir_const(l->k->grid, NULL, 1);
			op_new(l->k->grid, NULL, O_yield, s->src, 3, v, 0, NULL);
		}
		l->has_grid = true;
		return;
	}
	l->has_grid = true;
	l->mode = MODE_HOST;
	l->what = "the grid";
	l->b = l->k->grid;
	for (int i = 0; i < 3; i++) {
		v[i] = i < s->narg ? grid_extent(l, s->arg[i], i) : NULL;
		v[i] = v[i] ? v[i] : ir_const(l->b, NULL, 1);
	}
	op_new(l->b, NULL, O_yield, s->src, 3, v, 0, NULL);
	l->mode = MODE_BODY;
	l->b = body;
}

/* ---- assignment ------------------------------------------------------------------------------ */

/* Computes target op= value; `old` is the target's current value. */
static Operand
assigned_value(Lower *l, const Stmt *s, Operand old)
{
	TileToken op = tok_assigned_op(s->op);
	Operand r = { .e = s->value };

	if (op == TK_assign)
		r.v = lower_expr(l, s->value);
	else if (op == TK_plus && lower_is_plain_dot(l, s->value))
		r.v = lower_dot(l, s->value, &old);
	else if (op == TK_plus || op == TK_minus)
		r.v = lower_sum_onto(l, op, s->src, old, s->value);
	else
		r.v = lower_op2(l, op, s->src, old, lower_operand(l, s->value));
	return r;
}

Sym *
lower_find_var(Lower *l, const Expr *e)
{
	Sym *s = sym_find(l, e->name);

	if (!s) {
		check_no_name(l, e->src, "variable ", e->name, "");
	} else if (s->kind == SY_var) {
		return s;
	} else if (s->val.kind == VK_array) {
		diag_error(l->diag, e->src, "`%s` is %s; assign to one, as in %s[0] = ...", s->name,
		           check_describe(l, &s->val), s->name);
	} else if (s->kind == SY_tensor || s->val.kind == VK_view) {
		diag_error(l->diag, e->src, "cannot assign to tensor `%s`; assign to a slice, as in %s[%s] "
					    "= ...",
		           s->name, s->name, s->val.v->type.rank > 1 ? "i :+ 64, :" : "i :+ 64");
	} else if (s->kind == SY_let) {
		diag_error(l->diag, e->src, "cannot assign to `%s`; declare it with `var`", s->name);
	} else {
		diag_error(l->diag, e->src, "`%s` is %s and cannot be assigned", s->name,
		           s->kind == SY_const ? "a constant" : "a parameter");
	}
	return NULL;
}

void
lower_set_var(Lower *l, const Stmt *s, Sym *sym, Operand v)
{
	LoweredValue r = { .kind = VK_val };
	Type t = sym->val.v->type;

	v.v = lower_load(l, v);
	if (v.v.kind == VK_none)
		return;
	r.v = lower_to_type(l, v, t, s->src, arena_printf(l->arena, "`%s`", sym->name));
	if (!r.v) {
		diag_note(l->diag, sym->src, "`%s` is %s", sym->name, check_describe(l, &sym->val));
		return;
	}
	if (sym->pin)
		r.v = lower_pin(l, sym->src, r.v, sym->pin);
	if (!r.v->name)
		r.v->name = sym->name;
	if (sym->kept)
		lower_keep(r.v);
	sym->val = r;
}

static void
assign_var(Lower *l, const Stmt *s)
{
	Sym *sym = lower_find_var(l, s->target);

	if (!sym || sym->val.kind != VK_val)
		lower_expr(l, s->value);
	else
		lower_set_var(l, s, sym, assigned_value(l, s, (Operand){ sym->val, s->target }));
}

/* (a, b) = f(x); */
static void
assign_parts(Lower *l, const Stmt *s)
{
	const Expr *t = s->target;
	LoweredValue v[RESULT_MAX];
	Sym *sym;

	if (s->op != TK_assign || t->narg > RESULT_MAX) {
		diag_error(l->diag, s->src, "only `=` can assign several variables, at most %d", RESULT_MAX);
		return;
	}
	lower_fn_parts(l, s->value, t->narg, v);
	for (int i = 0; i < t->narg; i++) {
		sym = lower_find_var(l, t->arg[i]);
		if (sym && sym->val.kind == VK_val)
			lower_set_var(l, s, sym, (Operand){ v[i], s->value });
	}
}

static const Val *
root_of(const Val *v)
{
	return v->def && v->def->code == O_view ? view_source(v->def) : v;
}

bool
lower_check_read(Lower *l, Operand o)
{
	const Val *root = root_of(o.v.v);

	if (root->def || l->k->param[root->index].read)
		return true;
	lower_load(l, o); /* reports that it is only written */
	return false;
}

bool
lower_check_written(Lower *l, const Expr *e, const Val *view)
{
	const Val *root = root_of(view);

	if (root->def || l->k->param[root->index].written)
		return true;
	diag_error(l->diag, e->src, "tensor `%s` is read-only; declare it `out` or `inout` to write it",
	           l->k->param[root->index].name);
	return false;
}

static void
assign_slice(Lower *l, const Stmt *s)
{
	const Expr *name = s->target->arg[0];
	Sym *sym = name->kind == EX_name ? sym_find(l, name->name) : NULL;
	Operand dst = { value_none(), s->target }, src;
	LoweredValue slice = value_none();
	const char *what;
	Type t, g, full;
	Val *in[2];
	bool filled = false, copies;

	if (sym && value_is_tile(&sym->val)) {
		lower_assign_part(l, s, sym);
		return;
	}
	dst.v = lower_slice_memory(l, s->target, &full);
	if (dst.v.kind == VK_val)
		diag_error(l->diag, s->target->src,
		           "only a full shared tile, or one selected by leading indices, can be assigned "
		           "under another shape; `%s` is a register tile here",
		           check_text(l, name, "the reshaped tile"));
	if (dst.v.kind != VK_view) {
		lower_expr(l, s->value);
		return;
	}
	if (!lower_check_written(l, s->target, dst.v.v))
		return;
	t = g = dst.v.v->type;
	src = dst;
	if (s->op != TK_assign && full.rank != t.rank) { /* the old value has the new dims as well */
		src.v = lower_load(l, dst);
		if (src.v.kind == VK_none)
			return;
		src.v = value_of(put_reshape(l, s->target->src, src.v.v, full.rank, full.shape));
	}
	src = assigned_value(l, s, src);
	if (src.v.kind == VK_none)
		return;
	g.space = S_global;
	copies = s->op == TK_assign && t.space == S_shared && view_gather_dim(dst.v.v->def) < 0 &&
	         full.rank == t.rank;
	if (copies) {
		Type r = type_free(t);

		r.space = S_reg;
		if (value_is_tile(&src.v) && type_same(&src.v.v->type, &r))
			slice = lower_copied(l, &src.v, &filled);
		src.v = slice.kind == VK_view ? slice : src.v;
	}
	if (copies && src.v.kind == VK_view && type_same(&src.v.v->type, &g) &&
	    l->k->param[root_of(src.v.v)->index].read) {
		in[0] = lower_whole(l, src.e->src, src.v.v);
		in[1] = dst.v.v;
		IMM_SET(op_new(l->b, NULL, O_copy, s->src, 2, in, 0, NULL), filled, filled);
		return;
	}
	what = arena_printf(l->arena, "the slice of `%s`", name->name);
	in[0] = lower_to_slice(l, src, full, &t, s->src, what);
	in[1] = dst.v.v;
	if (in[0])
		op_new(l->b, NULL, O_store, s->src, 2, in, 0, NULL);
}

static void
lower_assign(Lower *l, const Stmt *st)
{
	Stmt own = *st, *s = &own;

	s->target = NEW(l->arena, Expr);
	*s->target = *lower_selected(l, st->target);
	if (s->target->kind == EX_error)
		lower_expr(l, s->value);
	else if (s->async)
		lower_async_dot(l, s);
	else if (s->target->kind == EX_name)
		assign_var(l, s);
	else if (s->target->kind == EX_tuple)
		assign_parts(l, s);
	else if (s->target->kind == EX_index)
		assign_slice(l, s);
	else if (s->target->kind != EX_error)
		diag_error(l->diag, s->target->src, "cannot assign to `%s`; write a variable or a slice",
		           check_text(l, s->target, "the left-hand side"));
}

void
lower_stmts(Lower *l, const Stmt *s)
{
	Sym *scope = l->scope;

	for (; s; s = s->next) {
		arena_step(l->arena);
		if (lower_leaving(l, s))
			break;
		switch (s->kind) {
		case ST_grid: lower_grid(l, s); break;
		case ST_let: lower_let(l, s); break;
		case ST_assign: lower_assign(l, s); break;
		case ST_for: lower_for(l, s); break;
		case ST_while: lower_while(l, s); break;
		case ST_break:
		case ST_continue: lower_leave(l, s); break;
		case ST_if: lower_if(l, s); break;
		case ST_copy: lower_copy(l, s); break;
		case ST_store: lower_async_store(l, s); break;
		case ST_roles: lower_roles(l, s); break;
		case ST_await: lower_await(l, s); break;
		case ST_arrive: lower_arrive(l, s); break;
		case ST_commit: op_new(l->b, NULL, O_async_commit, s->src, 0, NULL, 0, NULL); break;
		case ST_wait: lower_wait(l, s); break;
		case ST_call: lower_call_stmt(l, s); break;
		case ST_return: lower_return(l, s); break;
		case ST_static_assert: lower_static_assert(l, s); break;
		case ST_barrier: op_new(l->b, NULL, O_barrier, s->src, 0, NULL, 0, NULL); break;
		}
	}
	scope_leave(l, scope);
}
