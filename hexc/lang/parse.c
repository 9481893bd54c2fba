/* parse.c - parses the kernels of a file; parts common to the parser's files. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/parse.h"
#include <stdio.h>
#include <string.h>

bool
parse_is(const TileParser *p, TileToken k)
{
	return p->tok->kind == k;
}

bool
parse_is_word(const TileParser *p, const char *word)
{
	return p->tok->kind == TK_name && strcmp(p->tok->u.name, word) == 0;
}

/* Words that are reserved only in places where no name is allowed: they are names elsewhere. */
static bool
is_free_word(TileToken k)
{
	switch (k) {
	case TK_in:
	case TK_step:
	case TK_stages:
	case TK_default:
	case TK_out:
	case TK_inout:
	case TK_strides: return true;
	default: return false;
	}
}

bool
parse_is_name(const TileParser *p)
{
	return parse_is(p, TK_name) || is_free_word(p->tok->kind);
}

bool
parse_at_top(const TileParser *p)
{
	return parse_is(p, TK_end) || parse_is(p, TK_kernel) || parse_is(p, TK_fn);
}

static void
lose(Lost *lost, const char *name)
{
	if (lost->n < LOST_MAX)
		lost->name[lost->n++] = name;
	else
		lost->more = true;
}

void
parse_next(TileParser *p)
{
	if (p->panic && parse_is(p, TK_name))
		lose(p->lost, p->tok->u.name);
	p->last = p->tok;
	if (p->tok->kind != TK_end)
		p->tok++;
}

bool
parse_accept(TileParser *p, TileToken k)
{
	if (!parse_is(p, k))
		return false;
	parse_next(p);
	return true;
}

void
parse_error(TileParser *p, Src src, const char *fmt, ...)
{
	char msg[400];
	va_list ap;

	if (p->panic || p->stop)
		return;
	p->panic = true;
	p->npanic++;
	if (p->tok->kind == TK_bad) /* the lexer has reported it */
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	diag_error(p->diag, src, "%s", msg);
}

void
parse_too_deep(TileParser *p, Src src)
{
	parse_error(p, src, "statements are nested more than %d levels deep", STMT_DEPTH_MAX);
	while (!parse_is(p, TK_end))
		parse_next(p);
	p->stop = true;
}

/* Does the text between a token and the end of its line look like the rest of a statement: "// 2;"? */
static bool
is_commented_out(const char *s, size_t n)
{
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
		n--;
	return n > 2 && strchr(";,)", s[n - 1]);
}

/* Returns a hint for syntax of another language here: an operator that starts or ends at the token, `if`
 * within an expression, or `//` before an operand; "" if none applies. */
static const char *
found_foreign(TileParser *p)
{
	const Token *t = p->tok, *last = p->last;
	const char *line = p->text + (last ? last->at + last->src.len : 0), *at = p->text + t->at, *end;
	bool same = last && last->src.line == t->src.line;
	size_t joined = same && line == at ? last->src.len : 0;

	if (p->prelude)
		return "";
	if (t->kind == TK_if)
		return same ? foreign_operator(p->arena, "if", 2) : "";
	for (size_t back = joined + 1; back-- && t->kind >= TK_slice;) {
		const char *hint = foreign_operator(p->arena, at - back, p->len - t->at + back);

		if (*hint)
			return hint;
	}
	end = last && !same ? memchr(line, '\n', p->len - (size_t)(line - p->text)) : NULL;
	if (end) {
		size_t n = (size_t)(end - line), skip = strspn(line, " \t");

		if (n > skip + 2 && line[skip] == '/' && line[skip + 1] == '/' && is_commented_out(line, n))
			return foreign_operator(p->arena, "//", 2);
	}
	return "";
}

const char *
parse_found(TileParser *p)
{
	const Token *t = p->tok;
	const char *hint = t->kind == TK_name ? foreign_hint(p->arena, t->u.name) : "";

	if (t->kind == TK_end)
		return "the file ends";
	return arena_printf(p->arena, "found `%.*s`%s", (int)(t->src.len > 40 ? 40 : t->src.len),
	                    p->text + t->at, *hint ? hint : found_foreign(p));
}

bool
parse_expect(TileParser *p, TileToken k, const char *where)
{
	Src src = p->tok->src;

	if (parse_accept(p, k))
		return true;
	/* A missing end mark is reported at the end of the preceding line. */
	if ((k == TK_semi || p->tok->kind == TK_end) && p->last && p->last->src.line != src.line)
		src = (Src){ p->last->src.line, p->last->src.col + p->last->src.len, 1 };
	parse_error(p, src, "expected %s %s, but %s", tok_name(k), where, parse_found(p));
	return false;
}

const char *
parse_name(TileParser *p, const char *what, Src *src)
{
	*src = p->tok->src;
	if (parse_is_name(p)) {
		parse_next(p);
		return p->last->u.name;
	}
	if (p->tok->kind >= TK_kernel && p->tok->kind <= TK_false)
		parse_error(p, *src, "%s is a keyword and cannot name %s; choose another name",
		            tok_name(p->tok->kind), what);
	else
		parse_error(p, *src, "expected a name for %s, but %s", what, parse_found(p));
	return "?";
}

Src
parse_span(const TileParser *p, const Token *from, const Token *to)
{
	size_t end = (size_t)to->at + to->src.len, at = from->at;

	if (p->prelude)
		return from->src;
	if (to->kind == TK_end)
		end = p->len;
	while (at < end && p->text[at] != '\n' && p->text[at] != '\r')
		at++;
	return (Src){ from->src.line, from->src.col, at > from->at ? (uint32_t)(at - from->at) : 1 };
}

/* Is it an `if` in an expression: `a if c else b`, `= if c { a } else { b }`? */
static bool
is_value_if(const TileParser *p)
{
	const Token *last = p->last;

	return parse_is(p, TK_if) && last && last->src.line == p->tok->src.line && last->kind != TK_semi &&
	       last->kind != TK_lbrace && last->kind != TK_rbrace && last->kind != TK_else;
}

static void
skip_stmt(TileParser *p)
{
	int depth = 0;
	bool value = false; /* braces do not end the statement */

	for (;; parse_next(p)) {
		value = value || is_value_if(p);
		switch (p->tok->kind) {
		case TK_end:
		case TK_kernel:
		case TK_fn:
			return;
		case TK_lbrace: depth++; break;
		case TK_rbrace:
			if (depth == 0)
				return;
			if (--depth == 0 && !value) {
				parse_next(p);
				return;
			}
			break;
		case TK_semi:
			if (depth == 0) {
				parse_next(p);
				return;
			}
			break;
		case TK_let:
		case TK_var:
		case TK_for:
		case TK_pipeline:
		case TK_while:
		case TK_break:
		case TK_continue:
		case TK_if:
		case TK_grid:
		case TK_async:
		case TK_commit:
		case TK_wait:
		case TK_barrier:
		case TK_return:
		case TK_static_assert:
			if (depth == 0 && !value)
				return;
			break;
		default: break;
		}
	}
}

void
parse_sync(TileParser *p)
{
	skip_stmt(p);
	p->panic = false;
}

static KernelDecl *
parse_kernel(TileParser *p)
{
	KernelDecl *k = NEW(p->arena, KernelDecl);
	int n = p->npanic;

	parse_next(p);
	k->name = parse_name(p, "the kernel", &k->src);
	parse_header(p, k);
	k->broken_header = p->npanic != n;
	/* After a broken header, continues with the body, which may be valid. */
	while (!parse_is(p, TK_lbrace) && !parse_at_top(p))
		parse_next(p);
	p->panic = false;
	n = p->npanic;
	if (parse_accept(p, TK_lbrace))
		k->body = parse_body(p, &k->end);
	k->broken_body = p->npanic != n;
	return k;
}

static FnDecl *
parse_fn(TileParser *p)
{
	FnDecl *f = NEW(p->arena, FnDecl);
	int cap = 0, n = p->npanic;

	parse_next(p);
	f->name = parse_name(p, "the function", &f->src);
	if (parse_expect(p, TK_lparen, "after the function's name") && !parse_accept(p, TK_rparen)) {
		do {
			FnParam a;

			a.name = parse_name(p, "the parameter", &a.src);
			if (f->nparam == PARAM_MAX)
				parse_error(p, a.src, "the function has more than %d parameters", PARAM_MAX);
			VEC_PUSH(p->arena, f->param, f->nparam, cap, a);
		} while (!p->panic && parse_accept(p, TK_comma));
		parse_expect(p, TK_rparen, "after the function's parameters");
	}
	if (p->panic || !parse_is(p, TK_lbrace)) {
		parse_error(p, p->tok->src, "expected the function's body `{ ... }`, but %s", parse_found(p));
		while (!parse_is(p, TK_lbrace) && !parse_at_top(p))
			parse_next(p);
	}
	p->panic = false;
	if (parse_accept(p, TK_lbrace))
		f->body = parse_body(p, &f->end);
	f->broken = p->npanic != n;
	return f;
}

const FnDecl *
parse_prelude(Unit *u, const char *text, Src at)
{
	TileParser p = { .arena = u->arena, .diag = u->diag, .text = text, .len = strlen(text),
			 .prelude = true };
	Token *first = lex_all(u->arena, u->diag, text, p.len);
	FnDecl *f;

	for (Token *t = first; t->kind != TK_end; t++)
		t->src = at;
	p.tok = first;
	p.lost = NEW(u->arena, Lost);
	f = parse_fn(&p);
	f->prelude = true;
	BUG_IF(u->arena, f->broken);
	return f;
}

File
parse_file(Unit *u)
{
	TileParser p = { .arena = u->arena, .diag = u->diag, .text = u->text, .len = u->len };
	File file = { .lost = NEW(u->arena, Lost) };
	KernelDecl **kernel = &file.kernel;
	FnDecl **fn = &file.fn;
	int n = 0, nfn = 0;

	p.lost = file.lost;
	p.tok = lex_all(u->arena, u->diag, u->text, u->len);
	while (!parse_is(&p, TK_end)) {
		p.panic = false;
		if (parse_is(&p, TK_kernel) ? n++ == KERNEL_MAX : parse_is(&p, TK_fn) && nfn++ == FN_MAX) {
			diag_error(p.diag, p.tok->src, "the file has more than %d kernels or %d functions",
			           KERNEL_MAX, FN_MAX);
			break;
		}
		if (parse_is(&p, TK_kernel)) {
			*kernel = parse_kernel(&p);
			kernel = &(*kernel)->next;
			continue;
		}
		if (parse_is(&p, TK_fn)) {
			*fn = parse_fn(&p);
			fn = &(*fn)->next;
			continue;
		}
		parse_error(&p, p.tok->src,
		            "expected `kernel NAME(...) { ... }` or `fn NAME(...) { ... }`, but %s",
		            parse_found(&p));
		while (!parse_at_top(&p))
			parse_next(&p);
	}
	if (!file.kernel && !u->diag->nerror)
		diag_error(u->diag, p.tok->src,
		           "no kernel in the file; declare one with `kernel NAME(...) { ... }`");
	file.stop = p.stop;
	return file;
}
