/* ops.h - what the files of hexc_ops.h share. */
#ifndef HEXC_OPS_INT_H
#define HEXC_OPS_INT_H
#include "lib/base/base.h"
#include "lib/hexc_ops.h"

/* What is done to m when it stands in brackets, `m = m :+ BM`; `extent` is what stands behind :+ or `of`,
 * or 1.  It runs along dim `dim` of the value, perhaps as others do. */
typedef struct OpIndex {
	const char *letter, *slice, *extent;
	int dim;
} OpIndex;

/* What the directives of a file say: hexc-op(5). */
typedef struct OpSource {
	const char *name, *text;
	const char *use[HEXC_FAMILY_STAGES]; /* files that it takes kernels from */
	int nuse;
	OpIndex index[2 * HEXC_MAX_RANK];
	int nindex, ndim;
	const char *family; /* its table, as hexc-family(5) has it */
} OpSource;

/* ---- builtin_ops.c ------------------------------------------------------------------------------------------- */

/* The text of this name, an operator's or a part's; NULL: there is none. */
const char *op_text(const char *name);

/* ---- op_metadata.c ------------------------------------------------------------------------------------------ */

/* Read the directives of a text.  False: why[0..n) has the sentence. */
bool op_read(Arena *a, const char *name, const char *text, OpSource *out, char *why, size_t n);

/* ---- placeholder.c -------------------------------------------------------------------------------------------- */

/* The program with what is put into its holes.  NULL: an expression is none, why[0..n) has the sentence.
 * used[i] becomes true for each setting that a hole took. */
const char *op_fill(Arena *a, const OpSource *s, const hexc_op_set *set, size_t nset, bool *used, char *why,
                    size_t n);
#endif
