/* parse_async.c - parses asynchronous operations and warp roles. */
#include "hexc/lang/parse.h"

/* Parses (source, destination), and an mbarrier if `most` is 3. */
static void
parse_tiles(TileParser *p, Stmt *s, const char *what, int most)
{
	parse_next(p);
	if (parse_expect(p, TK_lparen, arena_printf(p->arena, "after `%s`", what)))
		s->arg = parse_list(p, TK_rparen, arena_printf(p->arena, "in the %s", what), &s->narg);
	if (!p->panic && (s->narg < 2 || s->narg > most))
		parse_error(p, s->src, "async %s requires a source and a destination%s, not %d operand%s",
		            what,
		            most == 3 ? ", and an mbarrier if there is one" : "", s->narg,
		            s->narg == 1 ? "" : "s");
	parse_expect(p, TK_semi, arena_printf(p->arena, "after the %s", what));
	if (p->panic)
		return;
	s->value = s->arg[0];
	s->target = s->arg[1];
	s->slot = s->narg == 3 ? s->arg[2] : NULL;
}

Stmt *
parse_async(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_copy);

	parse_next(p);
	if (parse_is_word(p, "copy")) {
		parse_tiles(p, s, "copy", 3);
	} else if (parse_is_word(p, "store")) {
		s->kind = ST_store;
		parse_tiles(p, s, "store", 2);
	} else {
		parse_error(p, p->tok->src, "expected `copy(source, destination)` after `async`, but %s",
		            parse_found(p));
	}
	return s;
}

/* `dots` and `stores` before a number; otherwise they are names. */
Stmt *
parse_wait(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_wait);

	parse_next(p);
	if (parse_is(p, TK_name) && (p->tok[1].kind == TK_int || p->tok[1].kind == TK_name)) {
		s->wait_for = parse_is_word(p, "dots")     ? WAIT_DOTS
		              : parse_is_word(p, "stores") ? WAIT_STORES
		                                           : WAIT_COPIES;
		if (s->wait_for != WAIT_COPIES)
			parse_next(p);
	}
	s->value = parse_expr(p);
	parse_expect(p, TK_semi, "after the statement");
	return s;
}

/* ---- roles ----------------------------------------------------------------------------------- */

/* Parses the word and an expression; returns NULL without the word. */
static Expr *
parse_number(TileParser *p, const char *word)
{
	if (!parse_is_word(p, word))
		return NULL;
	parse_next(p);
	return parse_expr(p);
}

static Stmt *
parse_role(TileParser *p, const char *name, RoleSpec *r)
{
	r->src = p->tok->src;
	if (!parse_is_word(p, name))
		parse_error(p, r->src, "expected `%s warps n { ... }`, but %s", name, parse_found(p));
	else
		parse_next(p);
	r->warps = parse_number(p, "warps");
	r->teams = parse_number(p, "teams");
	r->registers = parse_number(p, "registers");
	return parse_block(p, arena_printf(p->arena, "before what a %s does", name));
}

static Stmt *
parse_roles(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_roles);

	parse_next(p);
	parse_expect(p, TK_lbrace, "after `roles`");
	s->body = parse_role(p, "producer", &s->role[0]);
	s->other = parse_role(p, "consumer", &s->role[1]);
	s->broken = p->panic;
	parse_expect(p, TK_rbrace, "after the two roles");
	return s;
}

static Stmt *
parse_await(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_await);

	parse_next(p);
	s->slot = parse_expr(p);
	if (parse_expect(p, TK_comma, "and a phase after the barrier"))
		s->value = parse_expr(p);
	parse_expect(p, TK_semi, "after the statement");
	return s;
}

static Stmt *
parse_arrive(TileParser *p)
{
	Stmt *s = parse_new_stmt(p, ST_arrive);

	parse_next(p);
	s->slot = parse_expr(p);
	parse_expect(p, TK_semi, "after the statement");
	return s;
}

Stmt *
parse_role_stmt(TileParser *p)
{
	if (!parse_is(p, TK_name))
		return NULL;
	if (parse_is_word(p, "roles") && p->tok[1].kind == TK_lbrace)
		return parse_roles(p);
	if (p->tok[1].kind != TK_name)
		return NULL;
	if (parse_is_word(p, "await"))
		return parse_await(p);
	return parse_is_word(p, "arrive") ? parse_arrive(p) : NULL;
}
