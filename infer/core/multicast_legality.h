/* multicast_legality.h - what blocks of a cluster can fetch together: see infer/schedule/multicast.c. */
#ifndef HEXC_MULTICAST_LEGALITY_H
#define HEXC_MULTICAST_LEGALITY_H
#include "hexc/ir/ir.h"

/* Blocks side by side along a dim of the grid. */
typedef struct MulticastQuery {
	Kernel *k;
	const uint8_t *dims; /* grid_dims(k) */
	int axis, blocks;
} MulticastQuery;

/* Does v depend on the dim? */
static inline bool
share_depends(const MulticastQuery *c, const Val *v)
{
	return c->dims[v->id] >> c->axis & 1;
}

/* Why blocks of k cannot come in clusters; NULL: they can, and *number is a block_id, of the grid that all
 * have. */
const char *share_refused(const MulticastQuery *c, const Op **number);
bool writes_tensor(const Op *o);
/* Where the producers wait for leave to fill what o, a copy, fills; NULL: not in this turn. */
Op *leave_of(const Op *o);
/* The dim of a map along which its boxes can be cut into parts for all blocks, so that each part begins where
 * the pattern of the swizzle does; 0: none. */
int share_cut(const MulticastQuery *c, const TensorMap *m);
/* Are there as many boxes for each block? */
bool share_by_boxes(const MulticastQuery *c, const Op *o, const TensorMap *m);
/* Can all blocks of a cluster get what o, a copy of boxes of m, fetches from one of them? */
bool share_copy_fits(const MulticastQuery *c, const Op *o, const TensorMap *m);
#endif
