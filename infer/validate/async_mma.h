/* async_mma.h - declares the register and stage queries shared by the files that validate asynchronous
 * MMAs. */
#ifndef HEXC_ASYNC_MMA_H
#define HEXC_ASYNC_MMA_H
#include "hexc/ir/ir.h"

/* May v, as used by o, be read by an op that runs after o starts? */
bool read_behind(const Val *v, const Op *o);
/* Returns the value whose registers v has if all MMAs on the path accumulate in place: a loop argument, or
 * the first value. */
const Val *value_home(const Val *v);

/* May stage indices a and b be equal where o runs? With o NULL: are they always equal? */
bool slots_meet(const Op *o, const Val *a, const Val *b);
/* Do producers wait at that barrier before they fill the tile? */
bool is_leave(Block *producer, const Val *barrier, const Val *tile);
/* Returns the stage index of a view: its index in the tile dim that the producers index by the stage that
 * they waited for; NULL if there is none. */
const Val *stage_of(Block *producer, Val *view);
#endif
