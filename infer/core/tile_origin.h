/* tile_origin.h - from which memory the elements of register tiles come. */
#ifndef HEXC_TILE_ORIGIN_H
#define HEXC_TILE_ORIGIN_H
#include "infer/core/search_state.h"

struct TileOrigin {
	int bits;         /* the fewest of an element in memory that it is computed from; INT_MAX: none */
	const Op *unpack; /* from whose tile it is computed elementwise, transposed, reshaped; NULL: none */
	const Val *from;  /* the operand on this way; NULL: it is that tile */
};

/* Fills s->origin. */
void find_origins(Solve *s);
#endif
