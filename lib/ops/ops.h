/* ops.h - declares what the files of hexc_ops.h share. */
#ifndef HEXC_OPS_INT_H
#define HEXC_OPS_INT_H
#include "lib/base/base.h"
#include "lib/hexc_ops.h"

/* How dimension m is indexed in brackets, `m = m :+ BM`; `extent` is the text after :+ or `of`, or 1. It
 * is dim `dim` of the value, which several indices may share. */
typedef struct OpIndex {
	const char *letter, *slice, *extent;
	int dim;
} OpIndex;

/* The host's settings, and which of them something used. */
typedef struct OpSettings {
	const hexc_op_set *set;
	size_t nset;
	bool *used;
} OpSettings;

/* The directives of a file: hexc-op(5). */
typedef struct OpSource {
	const char *name, *text;
	const char *use[HEXC_FAMILY_STAGES]; /* files whose kernels it uses */
	int nuse;
	OpIndex index[2 * HEXC_MAX_RANK];
	int nindex, ndim;
	const char *family; /* its dispatch table, in the format of hexc-family(5) */
} OpSource;

/* ---- builtin_ops.c ---------------------------------------------------------------------------------- */

/* Returns the text of an operator or a part by name; NULL if there is none. */
const char *op_text(const char *name);

/* The arch of a plan whose options have none. */
#define OP_DEFAULT_ARCH "sm_80"

/* ---- op_metadata.c ---------------------------------------------------------------------------------- */

/* Parses the directives that a text has with these settings. Returns false with a sentence in why[0..n). */
bool op_read(Arena *a, const char *name, const char *text, const OpSettings *set, OpSource *out, char *why,
             size_t n);
/* Returns its table: `families` if the host gives one; with the program's first kernel for all sizes if the
 * text has no line. */
const char *op_table(Arena *a, const OpSource *s, const char *families);

/* ---- placeholder.c ---------------------------------------------------------------------------------- */

/* Returns the program with its placeholders filled; NULL with a sentence in why[0..n) if an expression is
 * invalid. Sets used[i] for each setting that a placeholder used. */
const char *op_fill(Arena *a, const OpSource *s, const OpSettings *set, char *why, size_t n);
/* Returns the directive of a line, without "//:"; NULL if it has none with these settings. Sets used as
 * op_fill. */
char *op_directive(Arena *a, const OpSettings *set, const char *line, size_t n);
/* Has each setting a name of its own, and a value? */
bool op_settings_valid(const hexc_op_set *set, size_t nset);
#endif
