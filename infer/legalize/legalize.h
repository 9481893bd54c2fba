/* legalize.h - declares the steps of pass legalize, one per file. */
#ifndef HEXC_LEGALIZE_H
#define HEXC_LEGALIZE_H
#include "hexc/ir/ir.h"

/* Casts the operands of dots that the target has no instruction for to a type that it supports. */
void promote_dots(Kernel *k);
/* Rewrites dots of sparse tiles to take values and metadata if the target has an instruction for them,
 * unless their expand is marked dense. Returns true if any was rewritten. */
bool fuse_sparse(Kernel *k);
/* Rewrites dots of values times scales likewise if the target multiplies both, unless they are marked
 * dense. Leaves unused ops. */
void fuse_scales(Kernel *k);
/* Lowers consumer dots of shared-tile stages to wgmma, each followed by a wait. Returns true if any was
 * lowered. */
bool take_warpgroups(Kernel *k);
/* The copies to each tile, by value id: read once, before the steps that ask about many dots. NULL if the
 * kernel has no warp roles. */
typedef struct TileCopies TileCopies;
TileCopies *tile_copies(Kernel *k);
/* Would take_warpgroups lower this dot? */
bool warpgroups_take(const TileCopies *t, const Op *dot);
/* Stores tiles from consumer warps to tensors through shared memory and TMA, where TMA supports them and
 * shared memory suffices. Returns true if any store was rewritten. */
bool store_by_slabs(Kernel *k);
#endif
