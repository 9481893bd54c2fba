/* lex.h - the tokens of PTX. */
#ifndef SIM_LEX_H
#define SIM_LEX_H
#include "lib/sim/base/sim_base.h"

typedef enum PtxToken {
	K_END, K_ID, K_INT, K_F32, K_F64, K_STR, K_PUNCT, K_BAD
} PtxToken;
typedef struct Lex {
	const char *p, *end;
	u32 line;
	PtxToken tok;                /* current token */
	u32 tline;              /* its line */
	const char *s;          /* its text */
	size_t n;
	u64 num;                /* K_INT value; K_F32, K_F64: the bits */
	char c;                 /* K_PUNCT: the character */
} Lex;
void lex_init(Lex *l, const char *text, size_t len);
void lex_next(Lex *l);
void lex_opcode(Lex *l);        /* re-reads the current token as a dotted opcode */
bool lex_is(const Lex *l, char c);
bool lex_word(const Lex *l, const char *word);
#endif
