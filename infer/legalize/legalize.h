/* legalize.h - between the files of pass legalize. */
#ifndef HEXC_LEGALIZE_H
#define HEXC_LEGALIZE_H
#include "hexc/ir/ir.h"

/* Dots of types that the target has no instruction for take their operands through a type that it has. */
void promote_dots(Kernel *k);
/* Dots of a sparse tile take its values and positions where the target has an instruction for them, unless
 * its expand is marked dense.  True: some do. */
bool fuse_sparse(Kernel *k);
/* Likewise dots of values and scales, where the target multiplies the two, unless they are marked dense.
 * Leaves ops that nobody reads. */
void fuse_scales(Kernel *k);
/* Dots of consumers whose factors are stages of shared tiles become wgmma, each waited for at once. 
 * True: some do. */
bool take_warpgroups(Kernel *k);
/* Would it take this one? */
bool warpgroups_take(Kernel *k, const Op *dot);
/* Tiles that consumers store to tensors go through shared memory and the copy engine, where it takes them and
 * there is room.  True: some do. */
bool store_by_slabs(Kernel *k);
#endif
