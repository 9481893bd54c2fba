/* parse_expr.c - parses expressions, by precedence climbing. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/parse.h"

typedef struct BinOp {
	TileToken tok;
	int prec;
} BinOp;

enum { PREC_OR = 1, PREC_AND, PREC_COMPARE, PREC_BITOR, PREC_XOR, PREC_BITAND, PREC_SHIFT, PREC_SUM,
       PREC_PRODUCT };

/* Bit operators have higher precedence than comparisons: `x & 1 == 0` tests the bit. */
static const BinOp binop[] = {
	{ TK_oror, PREC_OR },
	{ TK_andand, PREC_AND },
	{ TK_lt, PREC_COMPARE },
	{ TK_le, PREC_COMPARE },
	{ TK_gt, PREC_COMPARE },
	{ TK_ge, PREC_COMPARE },
	{ TK_eq, PREC_COMPARE },
	{ TK_ne, PREC_COMPARE },
	{ TK_bar, PREC_BITOR },
	{ TK_caret, PREC_XOR },
	{ TK_amp, PREC_BITAND },
	{ TK_shl, PREC_SHIFT },
	{ TK_shr, PREC_SHIFT },
	{ TK_plus, PREC_SUM },
	{ TK_minus, PREC_SUM },
	{ TK_star, PREC_PRODUCT },
	{ TK_slash, PREC_PRODUCT },
	{ TK_percent, PREC_PRODUCT },
};

static int
precedence(TileToken k)
{
	for (int i = 0; i < (int)COUNT_OF(binop); i++)
		if (binop[i].tok == k)
			return binop[i].prec;
	return 0;
}

/* Creates a node whose text started at `from` and ends with the last consumed token. */
static Expr *
node(TileParser *p, ExprKind kind, const Token *from)
{
	Expr *e = NEW(p->arena, Expr);
	const Token *to = p->last && p->last >= from ? p->last : from;

	e->kind = kind;
	e->src = parse_span(p, from, to);
	if (!p->prelude) { /* the prelude's text is not in the program */
		e->at = from->at;
		e->end = to->at + to->src.len;
	}
	e->depth = 1;
	return e;
}

static void
append_arg(TileParser *p, Expr *e, Expr *arg)
{
	if (arg->depth >= e->depth)
		e->depth = arg->depth + 1;
	if (e->depth > EXPR_DEPTH_MAX) {
		parse_error(p, e->src, "the expression has more than %d levels; split it with `let`",
		            EXPR_DEPTH_MAX);
		e->depth = 1;
		e->kind = EX_error;
	}
}

static void
set_args(TileParser *p, Expr *e, int n, Expr **arg)
{
	e->arg = arg;
	e->narg = n;
	for (int i = 0; i < n; i++)
		append_arg(p, e, arg[i]);
}

static Expr **
one(TileParser *p, Expr *x)
{
	Expr **arg = NEW(p->arena, Expr *);

	arg[0] = x;
	return arg;
}

Expr **
parse_list(TileParser *p, TileToken close, const char *where, int *n)
{
	Expr **list = NULL;
	int cap = 0;

	*n = 0;
	if (parse_accept(p, close))
		return list;
	do
		VEC_PUSH(p->arena, list, *n, cap, parse_expr(p));
	while (!p->panic && parse_accept(p, TK_comma));
	if (!p->panic && !parse_is(p, close))
		parse_error(p, p->tok->src, "expected `,` or %s %s, but %s", tok_name(close), where,
		            parse_found(p));
	parse_accept(p, close);
	return list;
}

/* Parses `from first` and `below end`, in any order. */
static void
parse_bounds(TileParser *p, Slice *s)
{
	while (!p->panic && (parse_is_word(p, "from") || parse_is_word(p, "below"))) {
		Expr **bound = parse_is_word(p, "from") ? &s->from : &s->below;

		if (*bound)
			parse_error(p, p->tok->src,
			            "the slice has two bounds `%s`; use `max` or `min` of both",
			            p->tok->u.name);
		parse_next(p);
		*bound = parse_expr(p);
	}
}

/* Parses one dim of a slice. */
static Slice
parse_dim(TileParser *p)
{
	const Token *start = p->tok;
	Slice s = { .kind = SL_all };

	if (!parse_accept(p, TK_colon)) {
		s.kind = SL_one;
		s.at = parse_expr(p);
		if (parse_accept(p, TK_slice)) {
			s.kind = SL_range;
			s.extent = parse_expr(p);
			if (parse_accept(p, TK_step))
				s.step = parse_expr(p);
		}
		if (parse_is(p, TK_range) || parse_is(p, TK_colon))
			parse_error(p, p->tok->src, "write a slice as `start :+ extent`, not with %s",
			            tok_name(p->tok->kind));
		else if (parse_is(p, TK_step))
			parse_error(p, p->tok->src,
			            "`step` must follow an extent: `start :+ extent step s`");
	}
	parse_bounds(p, &s);
	s.src = parse_span(p, start, p->last ? p->last : start);
	return s;
}

static Expr *
parse_slices(TileParser *p, Expr *base, const Token *from)
{
	Slice *list = NULL;
	int n = 0, cap = 0;
	Expr *e;

	do {
		Slice s = parse_dim(p);

		VEC_PUSH(p->arena, list, n, cap, s);
	} while (!p->panic && parse_accept(p, TK_comma));
	if (!p->panic && !parse_is(p, TK_rbrack))
		parse_error(p, p->tok->src, "expected `,`, `:+` or `]` in the slice, but %s",
		            parse_found(p));
	parse_accept(p, TK_rbrack);
	e = node(p, EX_index, from);
	set_args(p, e, 1, one(p, base));
	e->slice = list;
	e->nslice = n;
	for (int i = 0; i < n; i++) {
		if (list[i].at)
			append_arg(p, e, list[i].at);
		if (list[i].extent)
			append_arg(p, e, list[i].extent);
		if (list[i].step)
			append_arg(p, e, list[i].step);
		if (list[i].from)
			append_arg(p, e, list[i].from);
		if (list[i].below)
			append_arg(p, e, list[i].below);
	}
	return e;
}

static Expr *
parse_postfix(TileParser *p, Expr *x, const Token *from)
{
	while (!p->panic) {
		if (parse_accept(p, TK_lbrack)) {
			x = parse_slices(p, x, from);
		} else if (parse_accept(p, TK_dot)) {
			Src src;
			const char *name = parse_name(p, "the part after `.`", &src);
			Expr *e = node(p, EX_member, from);
			const char *hint = foreign_hint(p->arena, name);

			if (parse_is(p, TK_lparen))
				parse_error(p, e->src, "methods and modules are not supported%s",
				            *hint ? hint : "; call functions without a prefix, as in "
				                           "`exp(x)`");
			e->name = name;
			set_args(p, e, 1, one(p, x));
			x = e;
		} else {
			break;
		}
	}
	return x;
}

static Expr *
parse_primary(TileParser *p)
{
	const Token *from = p->tok;
	Expr *e;

	if (parse_accept(p, TK_int)) {
		e = node(p, EX_int, from);
		e->i = from->u.i;
	} else if (parse_accept(p, TK_float)) {
		e = node(p, EX_float, from);
		e->f = from->u.f;
	} else if (parse_is(p, TK_true) || parse_is(p, TK_false)) {
		parse_next(p);
		e = node(p, EX_bool, from);
		e->i = from->kind == TK_true;
	} else if (parse_accept(p, TK_string)) {
		e = node(p, EX_text, from);
		e->name = from->u.name;
	} else if (parse_accept(p, TK_lparen)) {
		e = parse_expr(p);
		parse_expect(p, TK_rparen, "to close the parenthesis");
	} else if (parse_is_name(p)) {
		parse_next(p);
		if (parse_accept(p, TK_lparen)) {
			int n;
			Expr **arg = parse_list(p, TK_rparen, "in the call", &n);
			e = node(p, EX_call, from);
			set_args(p, e, n, arg);
		} else {
			e = node(p, EX_name, from);
		}
		e->name = from->u.name;
	} else {
		if (from->kind >= TK_kernel && from->kind <= TK_false)
			parse_error(p, from->src,
			            "%s is a keyword; expected an expression here%s",
			            tok_name(from->kind),
			            from->kind == TK_if ? foreign_operator(p->arena, "if", 2) : "");
		else
			parse_error(p, from->src, "expected an expression, but %s", parse_found(p));
		return node(p, EX_error, from);
	}
	return parse_postfix(p, e, from);
}

static Expr *
parse_unary(TileParser *p)
{
	const Token *from = p->tok;
	Expr *e, *x;

	if (p->depth >= EXPR_DEPTH_MAX) {
		parse_error(p, from->src, "the expression has more than %d levels; split it with `let`",
		            EXPR_DEPTH_MAX);
		return node(p, EX_error, from);
	}
	if (!parse_is(p, TK_minus) && !parse_is(p, TK_bang) && !parse_is(p, TK_tilde)) {
		p->depth++;
		e = parse_primary(p);
		p->depth--;
		return e;
	}
	parse_next(p);
	p->depth++;
	x = parse_unary(p);
	p->depth--;
	e = node(p, EX_unary, from);
	e->op = from->kind;
	set_args(p, e, 1, one(p, x));
	return e;
}

static Expr *
parse_binary(TileParser *p, int min)
{
	const Token *from = p->tok;
	Expr *x = parse_unary(p);

	while (!p->panic) {
		TileToken op = p->tok->kind;
		int prec = precedence(op);
		Expr **arg, *e;

		if (prec == 0 || prec < min)
			break;
		if (prec == PREC_COMPARE && x->kind == EX_binary && precedence(x->op) == PREC_COMPARE &&
		    p->text[from->at] != '(')
			parse_error(p, p->tok->src,
			            "comparisons do not chain; write `a < b && b < c`");
		parse_next(p);
		arg = NEWN(p->arena, Expr *, 2);
		arg[0] = x;
		arg[1] = parse_binary(p, prec + 1);
		e = node(p, EX_binary, from);
		e->op = op;
		set_args(p, e, 2, arg);
		x = e;
	}
	return x;
}

Expr *
parse_expr(TileParser *p)
{
	return parse_binary(p, PREC_OR);
}

Expr *
parse_tuple(TileParser *p)
{
	const Token *from = p->tok;
	Expr *e, **list, *x;
	int n;

	if (from->kind != TK_lparen || from[1].kind != TK_name || from[2].kind != TK_comma)
		return parse_expr(p);
	parse_next(p);
	list = parse_list(p, TK_rparen, "after the variables", &n);
	e = node(p, EX_tuple, from);
	set_args(p, e, n, list);
	for (int i = 0; i < n && !p->panic; i++) {
		x = list[i];
		if (x->kind != EX_name)
			parse_error(p, x->src, "only variables can be assigned together; write a name here");
	}
	return e;
}

Expr *
parse_sum(TileParser *p)
{
	return parse_binary(p, PREC_SUM);
}
