/* multicast_legality.h - legality of TMA multicast in clusters; see infer/schedule/multicast.c. */
#ifndef HEXC_MULTICAST_LEGALITY_H
#define HEXC_MULTICAST_LEGALITY_H
#include "hexc/ir/ir.h"

/* A cluster of adjacent blocks along a grid dimension. */
typedef struct MulticastQuery {
	Kernel *k;
	const uint8_t *dims; /* grid_dims(k) */
	int axis, blocks;
} MulticastQuery;

/* Does v depend on that grid dimension? */
static inline bool
share_depends(const MulticastQuery *c, const Val *v)
{
	return c->dims[v->id] >> c->axis & 1;
}

/* Returns the reason why blocks of k cannot form clusters; NULL: they can, and *number is a block_id of
 * the grid. */
const char *share_refused(const MulticastQuery *c, const Op **number);
bool writes_tensor(const Op *o);
/* Returns the producers' wait before copy o that lets them overwrite its stage; NULL: none in this
 * iteration. */
Op *leave_of(const Op *o);
/* Returns the dim of a map along which its boxes can be split evenly over the blocks, such that each part
 * starts at the start of a swizzle pattern; 0: none. */
int share_cut(const MulticastQuery *c, const TensorMap *m);
/* Is the number of boxes a multiple of the number of blocks? */
bool share_by_boxes(const MulticastQuery *c, const Op *o, const TensorMap *m);
/* Can one block of a cluster load each part of TMA copy o, with map m, and multicast it to all others? */
bool share_copy_fits(const MulticastQuery *c, const Op *o, const TensorMap *m);
#endif
