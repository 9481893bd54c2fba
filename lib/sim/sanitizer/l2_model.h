/* l2_model.h - a simple L2 cache model: counts the requested sectors of a launch that come from DRAM.
 *
 * Blocks run one after the other here. The requests of each are recorded. When all blocks of a wave have
 * ended, they enter the cache as if the blocks had run concurrently: one request of each in turn. */
#ifndef SIM_L2_H
#define SIM_L2_H
#include <pthread.h>
#include "lib/sim/base/sim_base.h"
#include "lib/sim/sim.h"

typedef struct L2 L2;

/* Requests of a block: runs of contiguous sectors, in the order of its requests. */
typedef struct L2Trace {
	u64 *run;
	u32 n, cap;
	bool ended; /* the block has ended; then it may be empty */
} L2Trace;

/* For nblock blocks, `wave` of them concurrent; `bytes` is at least that of a sector. NULL: out of memory. */
L2 *l2_new(u64 bytes, u32 wave, u32 nblock);
void l2_free(L2 *l2); /* NULL is allowed */
/* Adds one sector; `begins`: it is the first of a request. Returns false when out of memory. */
bool l2_note(L2Trace *t, u64 sector, bool write, bool begins);
/* Block `lin` has ended: takes its trace, which is empty afterwards. From any thread. Returns false when out
 * of memory. */
bool l2_block(L2 *l2, u32 lin, L2Trace *t);
/* All blocks have ended, or no more will: processes the remaining ones, and the write-backs at the end. */
void l2_end(L2 *l2, sim_l2 *out);
#endif
