/* read.h - inside read*.c: a cursor on the IR's text form. */
#ifndef HEXC_READ_H
#define HEXC_READ_H
#include "hexc/ir/text/text.h"

enum { READ_ID_MAX = 1 << 20, READ_DEPTH = 100 };

typedef struct IrReader {
	Unit *u;
	Arena *arena;
	Kernel *k;
	const char *s;
	size_t n, at;
	bool bad; /* an error was reported; everything after returns false */
	Val **val; /* by id */
	size_t nval;
	int depth;
} IrReader;

/* Everything below skips blanks and // comments first.  The ones that return bool say whether the
 * thing was there; `want` ones report an error when it is not. */

bool read_error(IrReader *r, const char *fmt, ...) PRINTF_LIKE(2, 3); /* false */
bool read_end(IrReader *r);
bool read_sign(IrReader *r, const char *sign);        /* punctuation */
bool want_sign(IrReader *r, const char *sign);
bool read_word(IrReader *r, const char *word);        /* a whole bare name */
bool want_word(IrReader *r, const char *word);
/* A bare or quoted name; NULL after an error. */
const char *want_name(IrReader *r);
Imm read_imm_name(IrReader *r, OpCode code);          /* IMM_COUNT: none that the op has */
bool want_quoted(IrReader *r, const char **out);
bool want_int(IrReader *r, int64_t lo, int64_t hi, int64_t *out);
bool want_value(IrReader *r, int64_t *out);           /* of a constant: a number, or an element type */
bool want_float(IrReader *r, double *out);
bool read_source(IrReader *r, Src *out);              /* optional; false only after an error */
bool want_type(IrReader *r, Type *out);
bool want_layout(IrReader *r, const Layout **out);    /* {..} */

/* A new value's id and name; entered with read_define once it exists. */
typedef struct Name {
	uint32_t id;
	const char *name;
} Name;
bool read_id(IrReader *r, Name *out);                 /* %12 or %12.name, if there is one */
bool read_define(IrReader *r, Name n, Val *v);
/* A defined value, or NULL for %0. */
bool want_val(IrReader *r, Val **out);
/* The ops of a block up to its closing brace (read_op.c). */
bool read_block(IrReader *r, Block *b);
#endif
