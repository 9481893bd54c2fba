/* subtile.h - declares the part of a shared tile that an operand is. */
#ifndef HEXC_SUBTILE_H
#define HEXC_SUBTILE_H
#include "hexc/ir/ir.h"

/* n indices of the tile's first dim, starting at `first`. */
typedef struct TilePart {
	Val *tile;
	const Val *first; /* i64; NULL: 0 */
	int64_t n;        /* 0: unknown which */
	bool whole;       /* all elements of these indices; else some, at least one */
} TilePart;

/* Follows views and reshapes from v to the tile. */
TilePart tile_part(Val *v);
#endif
