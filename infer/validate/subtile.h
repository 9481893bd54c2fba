/* subtile.h - which part of a shared tile an operand is. */
#ifndef HEXC_SUBTILE_H
#define HEXC_SUBTILE_H
#include "hexc/ir/ir.h"

/* n indices of the tile's first dim, from `first` on. */
typedef struct TilePart {
	Val *tile;
	const Val *first; /* i64; NULL: 0 */
	int64_t n;        /* 0: it is not known which */
	bool whole;       /* all elements of these indices, else some, at least one */
} TilePart;

/* Along views and reshapes, from v to the tile. */
TilePart tile_part(Val *v);
#endif
