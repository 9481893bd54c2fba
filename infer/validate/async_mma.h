/* async_mma.h - between the files of the checker of products under way. */
#ifndef HEXC_ASYNC_MMA_H
#define HEXC_ASYNC_MMA_H
#include "hexc/ir/ir.h"

/* Does anything read v that may run behind the start of o, an op that has it, with the v that o had? */
bool read_behind(const Val *v, const Op *o);
/* The value in whose registers v is made, if all products on the way add in place: an argument of a loop, or
 * what begins there. */
const Val *value_home(const Val *v);

/* May slots a and b be one where o runs?  o NULL: are they always?   */
bool slots_meet(const Op *o, const Val *a, const Val *b);
/* Do producers wait at that barrier for leave to fill the tile? */
bool is_leave(Block *producer, const Val *barrier, const Val *tile);
/* Which stage a view is of: its index in the dim of the tile of which the producers take the slot to fill
 * that they waited for; NULL: none is. */
const Val *stage_of(Block *producer, Val *view);
#endif
