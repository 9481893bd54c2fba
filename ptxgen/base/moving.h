/* moving.h - what is linear in the counter of a loop: it moves by the same each turn. */
#ifndef HEXC_PTXGEN_MOVING_H
#define HEXC_PTXGEN_MOVING_H
#include "ptxgen/base/gen.h"

/* An index of a loop's body: what it is in the first turn, and how much more in each next. */
typedef struct Linear {
	bool ok;
	int64_t by;
	LV first; /* i64, made in front of the loop */
} Linear;

/* The innermost loop around what is emitted. */
struct Loop {
	Loop *outer;
	Op *op;
	LLVMBasicBlockRef before, head;
	LV lo;
	struct Moving {
		LV now, by;
	} *moved;
	int nmoved, moved_cap;
};

/* Of v in g->loop.  Not ok: v is not linear, its step is not known, or there is no loop. */
Linear linear_of(Gen *g, Val *v);
Linear linear_add(Gen *g, Linear x, Linear y);
/* Is there a loop, of more than a few turns?  A split loop's rest makes anew what would be kept for it
 * meanwhile. */
bool moving_pays(const Gen *g);
/* Emit in front of g->loop from now on; moving_back ends that. */
LLVMBasicBlockRef moving_front(Gen *g);
void moving_back(Gen *g, LLVMBasicBlockRef block);
/* An i64 that is `first` in the first turn, and `by` more in each next; both are made in front. */
LV moving(Gen *g, LV first, LV by);
/* At the end of the loop's body. */
void moving_next(Gen *g);
#endif
