/* dot.h - what a dot multiplies, and ways in which passes do it. */
#ifndef HEXC_DOT_H
#define HEXC_DOT_H
#include "hexc/ir/ir.h"

/* Products summed for each element of a dot: the k of its whole operand. */
int64_t dot_k(const Op *dot);
/* Leading dims of a dot's tiles, 0 or more: each index there has a product of its own. */
int dot_batch(const Op *dot);

/* How a product of few rows or columns is done: IMM(o, thin). */
typedef enum SkinnyDotKind {
	THIN_AS_IS,
	THIN_PADDED, /* with as many as tensor cores take (pass pad_tiles) */
	THIN_SUMS,   /* lanes multiply what memory brings them, and meet at the end (pass lower_skinny_dot) */
	THIN_WAYS
} SkinnyDotKind;
#endif
