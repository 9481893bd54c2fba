/* lex.h - declares the tokens of the tile language. */
#ifndef HEXC_LEX_H
#define HEXC_LEX_H
#include "hexc/ir/diag.h"

#define KEYWORDS(X)                                                                                \
	X(kernel) X(assume) X(const) X(tune) X(default) X(grid) X(let) X(var) X(for) X(pipeline)   \
	X(while) X(break) X(continue) X(in) X(step) X(stages) X(if) X(else) X(async) X(commit)     \
	X(wait) X(barrier) X(shared) X(register) X(out) X(inout) X(strides) X(fn) X(return)        \
	X(static_assert) X(true) X(false)

/* If one is a prefix of another, the longer comes first. */
#define PUNCTUATION(X)                                                                             \
	X(slice, ":+") X(range, "..") X(addeq, "+=") X(subeq, "-=") X(muleq, "*=") X(diveq, "/=")  \
	X(modeq, "%=") X(shleq, "<<=") X(shreq, ">>=") X(andeq, "&=") X(oreq, "|=") X(xoreq, "^=") \
	X(shl, "<<") X(shr, ">>") X(andand, "&&") X(oror, "||") X(eq, "==") X(ne, "!=")            \
	X(le, "<=") X(ge, ">=") X(lt, "<") X(gt, ">") X(lparen, "(") X(rparen, ")")                \
	X(lbrack, "[") X(rbrack, "]") X(lbrace, "{") X(rbrace, "}") X(comma, ",") X(semi, ";")     \
	X(colon, ":") X(dot, ".") X(assign, "=") X(plus, "+") X(minus, "-") X(star, "*")           \
	X(slash, "/") X(percent, "%") X(amp, "&") X(bar, "|") X(caret, "^") X(bang, "!")           \
	X(tilde, "~")

typedef enum TileToken {
	TK_end,
	TK_bad, /* bytes of no token, reported by the lexer */
	TK_name,
	TK_int,
	TK_float,
	TK_string,
#define X(id) TK_##id,
	KEYWORDS(X)
#undef X
#define X(id, text) TK_##id,
	PUNCTUATION(X)
#undef X
} TileToken;

typedef struct Token {
	TileToken kind;
	Src src;
	uint32_t at; /* byte offset in the source */
	union {
		const char *name; /* TK_string: the text */
		int64_t i;
		double f;
	} u;
} Token;

/* Converts the source to tokens, the last one TK_end. Never returns NULL. */
Token *lex_all(Arena *a, Diag *d, const char *text, size_t len);
/* Returns the operator of an assignment: `+` of `+=`, TK_assign of `=`; TK_end: k assigns nothing. */
TileToken tok_assigned_op(TileToken k);
/* Names a kind of token in messages: "`;`", "`for`", "a name". */
const char *tok_name(TileToken k);
#endif
