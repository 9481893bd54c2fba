/* parse_int.h - the parser's own state, shared by parse.c, parse_body.c and parse_var.c. */
#ifndef SIM_PARSE_INT_H
#define SIM_PARSE_INT_H
#include "sim_int.h"

typedef struct Parser {
	sim_module *m;
	Lex l;
	Fn *f;                  /* current function or NULL */
	Scope *sc;              /* innermost scope */
	bool bad;               /* the current statement has been reported */
} Parser;

bool p_fail(Parser *p, const char *fmt, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 2, 3)))
#endif
	;
bool p_want(Parser *p, char c);                 /* take c or fail */
bool p_take(Parser *p, char c);                 /* take c if it is there */
char *p_name(Parser *p);                        /* copy of the current identifier; advances */
void p_skip(Parser *p);                         /* to after the next ';' or before '}' */
void p_skip_numbers(Parser *p);                 /* .version, .address_size, .file, .loc */
bool p_const(Parser *p, Opnd *out);             /* constant expression */
bool p_uint(Parser *p, u32 *out);
Scope *p_scope(Parser *p, Scope *up);
bool p_define(Parser *p, const char *name, int what, void *thing);
/* A variable declaration after its space directive, up to its ',' or ';' or ')'. */
Var *p_var(Parser *p, sim_space space, bool is_extern);
bool p_var_list(Parser *p, sim_space space, bool is_extern);
bool p_body(Parser *p);
enum { SYM_RANGE = 9 };
typedef struct Range { Type type; u32 count; } Range;
#endif
