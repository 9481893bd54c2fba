/* parse.h - declares what the parser's files share.
 *
 * After the first error inside a statement or clause the parser is in panic mode: it reports nothing more
 * until parse_sync finds a token to resume at. */
#ifndef HEXC_PARSE_H
#define HEXC_PARSE_H
#include "hexc/lang/ast.h"

typedef struct TileParser {
	Arena *arena;
	Diag *diag;
	const char *text;
	size_t len;
	bool prelude; /* the text is not the program's: everything in it has one location of the program */
	const Token *tok; /* the next token */
	const Token *last; /* the preceding token */
	bool panic;
	int npanic; /* number of panics so far */
	Lost *lost; /* names skipped in panic mode */
	bool stop; /* nothing more is parsed or reported */
	int depth; /* nesting of the current expression */
	int nest; /* nesting of the current statement */
} TileParser;

/* ---- parse.c --------------------------------------------------------------------------------- */

bool parse_is(const TileParser *p, TileToken k);
/* A name, or a word that is reserved only in places where no name is allowed (`step`). */
bool parse_is_name(const TileParser *p);
/* At the end, or at the start of a kernel or function? */
bool parse_at_top(const TileParser *p);
/* Is the next token this (unreserved) word? */
bool parse_is_word(const TileParser *p, const char *word);
/* Consumes the next token if it is a `k`. */
bool parse_accept(TileParser *p, TileToken k);
void parse_next(TileParser *p);
/* Consumes a `k`, or reports that it is missing `where` ("after the condition"). */
bool parse_expect(TileParser *p, TileToken k, const char *where);
const char *parse_name(TileParser *p, const char *what, Src *src);
void parse_error(TileParser *p, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Describes the next token, for messages. */
const char *parse_found(TileParser *p);
/* The location from one token to the end of another, cut at the end of the line. */
Src parse_span(const TileParser *p, const Token *from, const Token *to);
/* Reports that the program is nested too deeply, and stops parsing. */
void parse_too_deep(TileParser *p, Src src);
/* Skips past the next `;`, or to a `}` or a word that starts a statement. */
void parse_sync(TileParser *p);

/* ---- parse_expr.c, parse_type.c, parse_stmt.c ------------------------------------------------ */

Expr *parse_expr(TileParser *p);
/* Parses an expression, or `(a, b, ...)` on the left of an assignment. */
Expr *parse_tuple(TileParser *p);
/* Without comparisons and bit operators: an alternative between `|` in a tune clause. */
Expr *parse_sum(TileParser *p);
/* Parses expr {"," expr} and consumes `close`. */
Expr **parse_list(TileParser *p, TileToken close, const char *where, int *n);
TypeSpec parse_type(TileParser *p);
/* Parses everything between `kernel NAME` and `{`. */
void parse_header(TileParser *p, KernelDecl *k);
/* Parses statements and consumes `}`. */
Stmt *parse_body(TileParser *p, Src *end);
/* The same with the `{`, which must be present `where`. */
Stmt *parse_block(TileParser *p, const char *where);
Stmt *parse_new_stmt(TileParser *p, StmtKind kind);

/* ---- parse_async.c --------------------------------------------------------------------------- */

Stmt *parse_async(TileParser *p); /* async copy(...), async store(...) */
Stmt *parse_wait(TileParser *p);
/* roles, await, arrive, which are not reserved words; NULL: another statement. */
Stmt *parse_role_stmt(TileParser *p);
#endif
