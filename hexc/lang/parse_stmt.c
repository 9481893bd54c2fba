/* parse_stmt.c - parses statements. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/parse.h"

Stmt *
parse_new_stmt(TileParser *p, StmtKind kind)
{
	Stmt *s = NEW(p->arena, Stmt);

	s->kind = kind;
	s->src = p->tok->src;
	s->type.dtype = D_COUNT;
	return s;
}

/* Parses let (a, b) = call(...); the parenthesis is the next token. */
static Stmt *
parse_let_parts(TileParser *p, bool is_var)
{
	Stmt *s = parse_new_stmt(p, ST_let);
	int cap = 0;

	s->is_var = is_var;
	s->name_src = s->src;
	parse_next(p);
	do {
		struct Part part;

		part.name = parse_name(p, is_var ? "the variable" : "the value", &part.src);
		if (s->npart == RESULT_MAX)
			parse_error(p, part.src, "a function can return at most %d values", RESULT_MAX);
		VEC_PUSH(p->arena, s->part, s->npart, cap, part);
	} while (!p->panic && parse_accept(p, TK_comma));
	parse_expect(p, TK_rparen, "after the names");
	if (parse_expect(p, TK_assign, "after the names"))
		s->value = parse_expr(p);
	return s;
}

/* Parses one `let` or `var` statement to a chain of declarations. */
static Stmt *
parse_let(TileParser *p, Stmt **last)
{
	bool is_var = parse_is(p, TK_var);
	Stmt *first = NULL, **link = &first;

	parse_next(p);
	if (parse_is(p, TK_lparen)) {
		first = *last = parse_let_parts(p, is_var);
		parse_expect(p, TK_semi, "after the declaration");
		return first;
	}
	do {
		Stmt *s = parse_new_stmt(p, ST_let);

		s->is_var = is_var;
		s->name = parse_name(p, is_var ? "the variable" : "the value", &s->name_src);
		if (parse_accept(p, TK_colon)) {
			if (parse_accept(p, TK_lbrack)) {
				s->count = parse_expr(p);
				parse_expect(p, TK_rbrack, "after the length of the array");
			}
			s->type = parse_type(p);
		}
		if (parse_accept(p, TK_assign))
			s->value = parse_expr(p);
		s->src = s->name_src;
		*link = *last = s;
		link = &s->next;
	} while (!p->panic && parse_accept(p, TK_comma));
	parse_expect(p, TK_semi, "after the declaration");
	return first;
}

Stmt *
parse_block(TileParser *p, const char *where)
{
	Src end;

	if (parse_is(p, TK_lbrace))
		p->panic = false; /* whatever the error before it, the body starts here */
	if (!parse_expect(p, TK_lbrace, where))
		return NULL;
	return parse_body(p, &end);
}

/* Skips past the parenthesis that closes the current one. */
static void
skip_parens(TileParser *p)
{
	int depth = 0;

	do {
		depth += parse_is(p, TK_lparen) - parse_is(p, TK_rparen);
		parse_next(p);
	} while (depth && !parse_at_top(p));
}

static Stmt *
parse_for(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_for);

	s->pipeline = parse_is(p, TK_pipeline);
	parse_next(p);
	if (parse_is(p, TK_lparen)) {
		parse_error(p, p->tok->src, "write a loop as `for i in first..end step s { ... }`");
		skip_parens(p);
		parse_block(p, "before the body of the loop");
		s->broken = true; /* the body's variables are not declared */
		return s;
	}
	s->name = parse_name(p, "the loop variable", &s->name_src);
	parse_expect(p, TK_in, "after the loop variable");
	s->lo = parse_expr(p);
	parse_expect(p, TK_range, "between the bounds of the loop (first..end)");
	s->hi = parse_expr(p);
	for (;;) {
		if (parse_is(p, TK_step) && !s->step) {
			parse_next(p);
			s->step = parse_expr(p);
		} else if (parse_is(p, TK_stages) && !s->stages) {
			Src src = p->tok->src;
			parse_next(p);
			s->stages = parse_expr(p);
			if (!s->pipeline)
				parse_error(p, src, "a plain `for` has no stages; write `pipeline`");
		} else {
			break;
		}
	}
	s->broken = p->panic;
	s->body = parse_block(p, "before the body of the loop");
	return s;
}

/* Parses `unroll` and the loop; NULL: another statement. */
static Stmt *
parse_unroll(TileParser *p)
{
	Stmt *s;

	if (!parse_is_word(p, "unroll") || p->tok[1].kind != TK_for)
		return NULL;
	parse_next(p);
	s = parse_for(p);
	s->unroll = true;
	return s;
}

/* Parses a keyword, its condition, and its block. */
static Stmt *
parse_conditional(TileParser *p, StmtKind kind)
{
	Stmt *s = parse_new_stmt(p, kind);

	parse_next(p);
	s->value = parse_expr(p);
	s->broken = p->panic;
	s->body = parse_block(p, "after the condition");
	return s;
}

static Stmt *
parse_if(TileParser *p)
{
	Stmt *s = parse_conditional(p, ST_if);

	if (!p->panic && parse_accept(p, TK_else)) {
		if (!parse_is(p, TK_if)) {
			s->other = parse_block(p, "after `else`");
		} else if (p->nest >= STMT_DEPTH_MAX) {
			parse_too_deep(p, p->tok->src);
		} else {
			p->nest++;
			s->other = parse_if(p);
			s->broken |= s->other->broken;
			p->nest--;
		}
	}
	return s;
}

static Stmt *
parse_grid(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_grid);

	parse_next(p);
	if (parse_expect(p, TK_lparen, "after `grid`"))
		s->arg = parse_list(p, TK_rparen, "in the grid", &s->narg);
	parse_expect(p, TK_semi, "after the grid");
	return s;
}

static Stmt *
parse_simple(TileParser *p, StmtKind kind)
{
	Stmt *s = parse_new_stmt(p, kind);

	parse_next(p);
	parse_expect(p, TK_semi, "after the statement");
	return s;
}

static Stmt *
parse_return(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_return);

	parse_next(p);
	if (!parse_is(p, TK_semi)) {
		int cap = 0;

		do
			VEC_PUSH(p->arena, s->arg, s->narg, cap, parse_expr(p));
		while (!p->panic && parse_accept(p, TK_comma));
	}
	if (s->narg > RESULT_MAX)
		parse_error(p, s->src, "a function can return at most %d values", RESULT_MAX);
	parse_expect(p, TK_semi, "after the values returned");
	return s;
}

static Stmt *
parse_static_assert(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_static_assert);

	parse_next(p);
	parse_expect(p, TK_lparen, "after `static_assert`");
	s->value = parse_expr(p);
	if (!p->panic && parse_accept(p, TK_comma)) {
		if (parse_is(p, TK_string))
			s->text = p->tok->u.name;
		parse_expect(p, TK_string, "with the error message");
	}
	parse_expect(p, TK_rparen, "to close the assertion");
	parse_expect(p, TK_semi, "after the assertion");
	return s;
}

/* Returns a hint if the first word of the statement belongs to another language. */
static const char *
foreign_start(const TileParser *p, const Expr *e)
{
	return e->kind == EX_name || e->kind == EX_call ? foreign_hint(p->arena, e->name) : "";
}

static Stmt *
parse_assign(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_assign);

	s->target = parse_tuple(p);
	s->op = p->tok->kind;
	if (tok_assigned_op(s->op) != TK_end) {
		parse_next(p);
		s->src = p->last->src;
		s->async = parse_accept(p, TK_async);
		s->value = parse_expr(p);
	} else if (!parse_is(p, TK_semi)) {
		parse_error(p, p->tok->src, "expected a statement, but %s%s", parse_found(p),
		            foreign_start(p, s->target));
	} else if (s->target->kind == EX_call) {
		s->kind = ST_call;
		s->value = s->target;
	} else {
		parse_error(p, s->target->src, "unused value; assign it, or name it with `let`");
	}
	parse_expect(p, TK_semi, "after the assignment");
	return s;
}

static Stmt *
parse_stmt(TileParser *p, Stmt **last)
{
	Stmt *s = parse_role_stmt(p);

	s = s ? s : parse_unroll(p);
	switch (s ? TK_end : p->tok->kind) {
	case TK_end: s = s ? s : parse_assign(p); break;
	case TK_let:
	case TK_var: return parse_let(p, last);
	case TK_for:
	case TK_pipeline: s = parse_for(p); break;
	case TK_while: s = parse_conditional(p, ST_while); break;
	case TK_break: s = parse_simple(p, ST_break); break;
	case TK_continue: s = parse_simple(p, ST_continue); break;
	case TK_if: s = parse_if(p); break;
	case TK_grid: s = parse_grid(p); break;
	case TK_async: s = parse_async(p); break;
	case TK_commit: s = parse_simple(p, ST_commit); break;
	case TK_wait: s = parse_wait(p); break;
	case TK_barrier: s = parse_simple(p, ST_barrier); break;
	case TK_return: s = parse_return(p); break;
	case TK_static_assert: s = parse_static_assert(p); break;
	default: s = parse_assign(p); break;
	}
	*last = s;
	return s;
}

/* Parses a statement; if it is broken, keeps only the names that it declares. */
static Stmt *
parse_whole(TileParser *p, Stmt **last)
{
	Stmt *s = parse_stmt(p, last);

	if (!p->panic && !s->broken)
		return s;
	if (s->kind != ST_let)
		return NULL;
	for (Stmt *one = s; one; one = one->next)
		one->broken = true;
	return s;
}

Stmt *
parse_body(TileParser *p, Src *end)
{
	Stmt *first = NULL, **link = &first, *last = NULL;

	if (++p->nest > STMT_DEPTH_MAX)
		parse_too_deep(p, p->last->src);
	while (!parse_is(p, TK_rbrace) && !parse_at_top(p) && !p->panic) {
		const Token *from = p->tok;

		if (parse_accept(p, TK_semi))
			continue;
		*link = parse_whole(p, &last);
		if (*link)
			link = &last->next;
		if (p->panic) {
			if (p->tok == from)
				parse_next(p);
			if (p->last->kind == TK_semi)
				p->panic = false; /* the broken statement has ended */
			else
				parse_sync(p);
		}
	}
	p->nest--;
	*end = p->tok->src;
	parse_expect(p, TK_rbrace, "to end the block");
	return first;
}
