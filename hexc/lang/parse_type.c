/* parse_type.c - parses types, parameters and the clauses of a kernel's header. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/parse.h"
#include <string.h>

/* `layout "text"`: `layout` is not reserved. */
static bool
parse_is_layout(const TileParser *p)
{
	return p->tok->kind == TK_name && strcmp(p->tok->u.name, "layout") == 0 &&
	       p->tok[1].kind == TK_string;
}

TypeSpec
parse_type(TileParser *p)
{
	TypeSpec t = { .given = true, .dtype = D_COUNT };
	const Token *from = p->tok;

	if (parse_accept(p, TK_shared))
		t.space = S_shared;
	else if (parse_accept(p, TK_register))
		t.space = S_reg;
	if (parse_is(p, TK_name) && !parse_is_layout(p)) {
		const char *name = p->tok->u.name;

		t.dtype = dtype_find(name, strlen(name));
		t.name = t.dtype == D_COUNT ? name : NULL;
		t.name_src = p->tok->src;
		parse_next(p);
		if (parse_accept(p, TK_lbrack)) {
			t.shaped = true;
			t.dim = parse_list(p, TK_rbrack, "in the shape", &t.ndim);
		}
	} else if (t.space == S_scalar) {
		parse_error(p, p->tok->src, "expected a type such as f16[M, K] or f32, but %s",
		            parse_found(p));
	}
	t.src = parse_span(p, from, p->last && p->last >= from ? p->last : from);
	if (t.space != S_scalar && parse_is_layout(p)) {
		parse_next(p);
		t.layout = p->tok->u.name;
		t.layout_src = p->tok->src;
		parse_next(p);
	}
	return t;
}

/* `packed` is not reserved: a type or `("description")` follows. */
static void
parse_packed(TileParser *p, ParamDecl *d)
{
	TileToken next = p->tok->kind == TK_end ? TK_end : p->tok[1].kind;

	if (!parse_is_word(p, "packed") || (next != TK_name && next != TK_lparen))
		return;
	d->packed = true;
	d->pack_src = p->tok->src;
	parse_next(p);
	if (!parse_accept(p, TK_lparen))
		return;
	d->pack_src = p->tok->src;
	if (parse_is(p, TK_string))
		d->pack = p->tok->u.name;
	if (parse_expect(p, TK_string, "that describes the pack"))
		parse_expect(p, TK_rparen, "after the pack");
}

static ParamDecl
parse_param(TileParser *p)
{
	ParamDecl d = { .in = true };

	d.name = parse_name(p, "the parameter", &d.src);
	if (parse_is(p, TK_name) || parse_is(p, TK_star))
		parse_error(p, d.src,
		            "write a parameter as `NAME: TYPE`, as in `n: i32` or `A: f16[M, K]`%s",
		            foreign_hint(p->arena, d.name));
	parse_expect(p, TK_colon, "and a type after the parameter's name");
	if (parse_accept(p, TK_out)) {
		d.in = false;
		d.out = true;
	} else if (parse_accept(p, TK_inout)) {
		d.out = true;
	}
	d.type.dtype = D_COUNT;
	if (!p->panic)
		parse_packed(p, &d);
	if (!p->panic)
		d.type = parse_type(p);
	if (!p->panic && d.type.space != S_scalar)
		parse_error(p, d.type.src, "parameter `%.40s` is in global memory; omit the memory space",
		            d.name);
	if (parse_is(p, TK_strides)) {
		d.stride_src = p->tok->src;
		parse_next(p);
		if (parse_expect(p, TK_lbrack, "after `strides`"))
			d.stride = parse_list(p, TK_rbrack, "in the strides", &d.nstride);
	}
	return d;
}

static void
parse_params(TileParser *p, KernelDecl *k)
{
	int cap = 0;

	if (!parse_expect(p, TK_lparen, "after the kernel's name") || parse_accept(p, TK_rparen))
		return;
	do {
		ParamDecl d = parse_param(p);

		if (k->nparam == PARAM_MAX)
			parse_error(p, d.src, "the kernel has more than %d parameters", PARAM_MAX);
		else
			VEC_PUSH(p->arena, k->param, k->nparam, cap, d);
	} while (!p->panic && parse_accept(p, TK_comma));
	if (!p->panic && !parse_is(p, TK_rparen))
		parse_error(p, p->tok->src, "expected `,` or `)` after the parameter, but %s",
		            parse_found(p));
	parse_accept(p, TK_rparen);
}

static void
parse_tune_values(TileParser *p, Clause *c)
{
	int cap = 0;

	do {
		ValueRange r = { .lo = parse_sum(p) };

		if (parse_accept(p, TK_range))
			r.hi = parse_sum(p);
		VEC_PUSH(p->arena, c->range, c->nrange, cap, r);
	} while (!p->panic && parse_accept(p, TK_bar));
	if (parse_accept(p, TK_default))
		c->value = parse_expr(p);
}

static Clause
parse_clause(TileParser *p, ClauseKind kind)
{
	Clause c = { .kind = kind };

	if (kind == CL_assume) {
		c.value = parse_expr(p);
		c.src = c.value->src;
		return c;
	}
	c.name = parse_name(p, kind == CL_const ? "the constant" : "the tunable", &c.src);
	parse_expect(p, TK_assign, "after the name");
	if (kind == CL_tune)
		parse_tune_values(p, &c);
	else
		c.value = parse_expr(p);
	return c;
}

/* Skips to the next clause, or to the body. */
static void
sync_clause(TileParser *p)
{
	if (!p->panic)
		return;
	while (!parse_is(p, TK_assume) && !parse_is(p, TK_const) && !parse_is(p, TK_tune) &&
	       !parse_is(p, TK_lbrace) && !parse_is(p, TK_kernel) && !parse_is(p, TK_end))
		parse_next(p);
	p->panic = false;
}

void
parse_header(TileParser *p, KernelDecl *k)
{
	int cap = 0;

	parse_params(p, k);
	for (;;) {
		ClauseKind kind;

		sync_clause(p);
		if (parse_accept(p, TK_assume))
			kind = CL_assume;
		else if (parse_accept(p, TK_const))
			kind = CL_const;
		else if (parse_accept(p, TK_tune))
			kind = CL_tune;
		else
			break;
		do {
			Clause c = parse_clause(p, kind);

			if (k->nclause == CLAUSE_MAX)
				parse_error(p, c.src, "the kernel has more than %d clauses", CLAUSE_MAX);
			else
				VEC_PUSH(p->arena, k->clause, k->nclause, cap, c);
		} while (!p->panic && parse_accept(p, TK_comma));
	}
	if (!parse_is(p, TK_lbrace))
		parse_error(p, p->tok->src,
		            "expected assume, const, tune or `{` in the kernel's header, but %s",
		            parse_found(p));
}
