/* parse.h - the parser's own state, shared by the files of this folder. */
#ifndef SIM_PARSE_H
#define SIM_PARSE_H
#include "lib/sim/ptx/lex.h"
#include "lib/sim/ptx/ptx.h"

typedef struct Parser {
	Ptx *m;
	Lex l;
	Fn *f;                  /* current function or NULL */
	Scope *sc;              /* innermost scope */
	bool bad;               /* the current statement has been reported */
} Parser;

/* parse.c: tokens */
bool p_fail(Parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool p_want(Parser *p, char c);                 /* take c or fail */
bool p_take(Parser *p, char c);                 /* take c if it is there */
char *p_name(Parser *p);                        /* copy of the current identifier; advances */
bool p_uint(Parser *p, u32 *out);
void p_skip(Parser *p);                         /* to after the next ';' or before '}' */
void p_skip_numbers(Parser *p);                 /* and strings, commas, names of .loc */
/* loc.c */
void p_file(Parser *p);
void p_loc(Parser *p);
void p_no_loc(Parser *p);                       /* what .loc has said is over: a function begins */
/* scope.c */
Scope *p_scope(Parser *p, Scope *up);
bool p_define(Parser *p, const char *name, int what, void *thing);
/* var.c: a variable declaration after its space directive, up to its ',' or ';' or ')'. */
Var *p_var(Parser *p, sim_space space, bool is_extern);
bool p_var_list(Parser *p, sim_space space, bool is_extern);
bool p_const(Parser *p, Opnd *out);             /* constant expression */
/* operand.c; deep: brackets around it */
bool p_operand(Parser *p, Opnd *o, int deep);
bool p_name_operand(Parser *p, Opnd *o);
bool p_list(Parser *p, Opnd *o, char close, int deep);  /* a, b, ... and what closes it */
/* body.c */
bool p_body(Parser *p);
enum { SYM_RANGE = 9 };
typedef struct Range { PtxType type; u32 count; } Range;
#endif
