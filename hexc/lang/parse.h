/* parse.h - what the parser's files share.
 *
 * After the first error inside a statement or clause the parser is in panic: it reports nothing more
 * until parse_sync found a place to go on from. */
#ifndef HEXC_PARSE_H
#define HEXC_PARSE_H
#include "hexc/lang/ast.h"

typedef struct TileParser {
	Arena *arena;
	Diag *diag;
	const char *text;
	size_t len;
	bool prelude; /* not the program's text: all stands at one place of that */
	const Token *tok; /* the next token */
	const Token *last; /* the one before it */
	bool panic;
	int npanic; /* times it fell into one */
	Lost *lost; /* names that it stepped over in panic */
	bool stop; /* nothing more is parsed or reported */
	int depth; /* of expressions being parsed */
	int nest; /* of statements being parsed */
} TileParser;

/* ---- parse.c --------------------------------------------------------------------------------- */

bool parse_is(const TileParser *p, TileToken k);
/* A name, or a word that is reserved only where no name can stand (`step`). */
bool parse_is_name(const TileParser *p);
/* At the end, or where a kernel or function starts? */
bool parse_at_top(const TileParser *p);
/* Is the next token this (not reserved) word? */
bool parse_is_word(const TileParser *p, const char *word);
/* Step over the next token if it is a `k`. */
bool parse_accept(TileParser *p, TileToken k);
void parse_next(TileParser *p);
/* Step over a `k`, or report that it is missing `where` ("after the condition"). */
bool parse_expect(TileParser *p, TileToken k, const char *where);
const char *parse_name(TileParser *p, const char *what, Src *src);
void parse_error(TileParser *p, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* What stands at the next token, for messages. */
const char *parse_found(TileParser *p);
/* From one token to the end of another, cut at the end of the line. */
Src parse_span(const TileParser *p, const Token *from, const Token *to);
/* Report and give up: the program is nested too deeply. */
void parse_too_deep(TileParser *p, Src src);
/* Skip to behind the next `;`, or to a `}` or a word that starts a statement. */
void parse_sync(TileParser *p);

/* ---- parse_expr.c, parse_type.c, parse_stmt.c ------------------------------------------------ */

Expr *parse_expr(TileParser *p);
/* An expression, or `(a, b, ...)` on the left of an assignment. */
Expr *parse_tuple(TileParser *p);
/* Without comparisons and bit operators: what may stand between `|` in a tune clause. */
Expr *parse_sum(TileParser *p);
/* expr {"," expr} up to `close`; steps over it. */
Expr **parse_list(TileParser *p, TileToken close, const char *where, int *n);
TypeSpec parse_type(TileParser *p);
/* Everything between `kernel NAME` and `{`. */
void parse_header(TileParser *p, KernelDecl *k);
/* Statements up to `}`; steps over it. */
Stmt *parse_body(TileParser *p, Src *end);
/* The same with the `{` that must stand `where`. */
Stmt *parse_block(TileParser *p, const char *where);
Stmt *parse_new_stmt(TileParser *p, StmtKind kind);

/* ---- parse_async.c --------------------------------------------------------------------------- */

Stmt *parse_async(TileParser *p); /* async copy(...), async store(...) */
Stmt *parse_wait(TileParser *p);
/* roles, await, arrive, which are no reserved words; NULL: another statement. */
Stmt *parse_role_stmt(TileParser *p);
#endif
