/* read.h - declares the cursor on the IR's textual form that the files read*.c share. */
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
	bool bad; /* an error was reported; all later calls return false */
	Val **val; /* by id */
	size_t nval;
	int depth;
} IrReader;

/* All functions below skip blanks and // comments first. A bool result is whether the item was present;
 * `want_` functions report an error if it was not. */

bool read_error(IrReader *r, const char *fmt, ...) PRINTF_LIKE(2, 3); /* returns false */
bool read_end(IrReader *r);
bool read_sign(IrReader *r, const char *sign);        /* punctuation */
bool want_sign(IrReader *r, const char *sign);
bool read_word(IrReader *r, const char *word);        /* a complete bare name */
bool want_word(IrReader *r, const char *word);
/* Returns a bare or quoted name; NULL after an error. */
const char *want_name(IrReader *r);
Imm read_imm_name(IrReader *r, OpCode code);          /* IMM_COUNT: the op has no such immediate */
bool want_quoted(IrReader *r, const char **out);
bool want_int(IrReader *r, int64_t lo, int64_t hi, int64_t *out);
bool want_value(IrReader *r, int64_t *out);           /* value of a constant: a number, or an element type */
bool want_float(IrReader *r, double *out);
bool read_source(IrReader *r, Src *out);              /* optional; false only after an error */
bool want_type(IrReader *r, Type *out);
bool want_layout(IrReader *r, const Layout **out);    /* {..} */

/* A new value's id and name; read_define registers the value once it exists. */
typedef struct Name {
	uint32_t id;
	const char *name;
} Name;
bool read_id(IrReader *r, Name *out);                 /* %12 or %12.name, if there is one */
bool read_define(IrReader *r, Name n, Val *v);
/* Gets a defined value, or NULL for %0. */
bool want_val(IrReader *r, Val **out);
/* Parses the ops of a block up to its closing brace (read_op.c). */
bool read_block(IrReader *r, Block *b);
#endif
