/* parse.h - the parser's state, shared by the files of this folder. */
#ifndef SIM_PARSE_H
#define SIM_PARSE_H
#include "lib/sim/ptx/lex.h"
#include "lib/sim/ptx/ptx.h"

typedef struct PtxParser {
	Ptx *m;
	Lex l;
	Fn *f;                  /* current function or NULL */
	Scope *sc;              /* innermost scope */
	bool bad;               /* the current statement has been reported */
} PtxParser;

/* parse.c: tokens */
bool p_fail(PtxParser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool p_want(PtxParser *p, char c);                 /* consumes c or fails */
bool p_take(PtxParser *p, char c);                 /* consumes c if present */
char *p_name(PtxParser *p);                        /* copy of the current identifier; advances */
bool p_uint(PtxParser *p, u32 *out);
void p_skip(PtxParser *p);                         /* to after the next ';' or before '}' */
void p_skip_numbers(PtxParser *p);                 /* and strings, commas, names of .loc */
/* loc.c */
void p_file(PtxParser *p);
void p_loc(PtxParser *p);
void p_no_loc(PtxParser *p);                       /* resets .loc: a function starts */
/* scope.c */
Scope *p_scope(PtxParser *p, Scope *up);
bool p_define(PtxParser *p, const char *name, int what, void *thing);
/* var.c: a variable declaration after its space directive, up to its ',' or ';' or ')'. */
Var *p_var(PtxParser *p, sim_space space, bool is_extern);
bool p_var_list(PtxParser *p, sim_space space, bool is_extern);
bool p_const(PtxParser *p, Opnd *out);             /* constant expression */
/* operand.c; deep: brackets around it */
bool p_operand(PtxParser *p, Opnd *o, int deep);
bool p_name_operand(PtxParser *p, Opnd *o);
bool p_list(PtxParser *p, Opnd *o, char close, int deep);  /* a, b, ... and the closing character */
/* body.c */
bool p_body(PtxParser *p);
enum { SYM_RANGE = 9 };
typedef struct ScalarRange { PtxType type; u32 count; } ScalarRange;
#endif
