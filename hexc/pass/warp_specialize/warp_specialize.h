/* warp_specialize.h - declares the state and steps that the files of pass warp_specialize share. */
#ifndef HEXC_WARP_SPECIALIZE_H
#define HEXC_WARP_SPECIALIZE_H
#include "hexc/pass/pipeline.h"

/* A pipeline loop whose stages the producer warps fill. */
typedef struct Feed {
	Pipe pipe;         /* the consumers' loop */
	Block *turn;       /* the body of the producers' loop, once created */
	Val *full, *empty; /* mbarriers, one per stage */
} Feed;

typedef struct Roles {
	Kernel *k;
	Feed *feed;
	int nfeed, cap;
	bool *need; /* by value id: producers compute it too */
	bool *keep; /* by op id: loops and branches that producers execute too */
	Val **as;   /* by value id: its copy in the producers' region; NULL: itself */
	Val *turn, *team; /* pingpong: number of preceding tiles, and the executing consumer group */
	const char *why; /* why the kernel is unsupported; NULL: it is not */
} Roles;

enum { TEAMS = 2 }; /* consumer groups of the pingpong schedule */

/* Iterates over the copies of p's body that fill stage buffers: returns the one after `last` (NULL: the
 * first), with its buffers in *ring. NULL: no more. */
Op *ring_copy(const Pipe *p, const Op *last, const StageBuffers **ring);

/* producer.c: computes what producers need of the body; sets r->why if that is impossible. */
void produce_plan(Roles *r);
/* Builds the producers' region without copies and waits: loops, branches, and what both need. */
void produce_body(Roles *r, const Block *from, Block *to);
/* Appends a feed's copies, with the mbarrier wait and arrive around them, to the iteration. */
void produce_copies(Roles *r, Feed *f);

/* persistent.c: makes the kernel persistent: the body becomes a loop over the block's tiles, with the number
 * of launched blocks as stride. */
void persist(Kernel *k);

/* pingpong.c: returns why the pingpong schedule is unsupported; NULL: it is supported. */
const char *pingpong_unsupported(const Roles *r);
/* Lets the consumer groups alternate over the tiles; before the loops have waits. */
void turns_take(Roles *r);
/* Makes the groups enter the mainloop in order, by `order`, with one mbarrier each; once the loops have
 * waits. */
void emit_pingpong_order(Roles *r, Val *order);

/* pipeline_state.c: adds the pipeline state to a loop of a role: stage index *slot and phase parity *phase,
 * continued over all iterations of the enclosing loops. Returns the op that replaces the loop. */
Op *loop_position(Op *loop, int64_t stages, Val **slot, Val **phase);
#endif
