/* dot.h - declares queries on the shape of a dot and its skinny lowerings, for passes and inference. */
#ifndef HEXC_DOT_H
#define HEXC_DOT_H
#include "hexc/ir/ir.h"

/* Products accumulated per result element of a dot: the k extent of its full operand. */
int64_t dot_k(const Op *dot);
/* Number of leading batch dims of a dot's tiles, 0 or more; each index is a separate matrix product. */
int dot_batch(const Op *dot);

/* IMM(o, skinny): strategy for a dot with few rows or columns. */
typedef enum SkinnyDotKind {
	THIN_AS_IS,
	THIN_PADDED, /* padded to the smallest MMA shape (pass pad_tiles) */
	THIN_SUMS,   /* lanes multiply loaded elements, then a cross-lane reduction (pass lower_skinny_dot) */
	THIN_WAYS
} SkinnyDotKind;
#endif
