/* l2_model.h - a simple L2 cache: what of the sectors that a launch asks for comes from memory.
 *
 * Blocks run here one after the other.  What each asks for is kept, and when all blocks of a wave have
 * ended it goes to the cache as if they had run side by side: a request of each in turn. */
#ifndef SIM_L2_H
#define SIM_L2_H
#include <pthread.h>
#include "lib/sim/base/sim_base.h"
#include "lib/sim/sim.h"

typedef struct L2 L2;

/* What a block has asked for: runs of sectors side by side, in the order of its requests. */
typedef struct L2Trace {
	u64 *run;
	u32 n, cap;
	bool ended; /* the block has; then it may be empty */
} L2Trace;

/* For nblock blocks, `wave` of them at once; `bytes` is at least that of a sector.  NULL: no memory. */
L2 *l2_new(u64 bytes, u32 wave, u32 nblock);
void l2_free(L2 *l2); /* NULL is allowed */
/* One more sector; `begins`: it is the first of a request.  False: no memory. */
bool l2_note(L2Trace *t, u64 sector, bool write, bool begins);
/* Block `lin` has ended: takes its trace, which is empty then.  From any thread.  False: no memory. */
bool l2_block(L2 *l2, u32 lin, L2Trace *t);
/* All blocks have ended, or none will: what is left of them, and what is to be written at the end. */
void l2_end(L2 *l2, sim_l2 *out);
#endif
