/* warp_specialize.h - what the files of pass warp_specialize share. */
#ifndef HEXC_WARP_SPECIALIZE_H
#define HEXC_WARP_SPECIALIZE_H
#include "hexc/pass/pipeline.h"

/* A pipeline loop whose rings others fill. */
typedef struct Feed {
	Pipe pipe;         /* the loop of those that compute */
	Block *turn;       /* the body of those that produce, once it is made */
	Val *full, *empty; /* barriers, one for each buffer */
} Feed;

typedef struct Roles {
	Kernel *k;
	Feed *feed;
	int nfeed, cap;
	bool *need; /* by value id: producers compute it too */
	bool *keep; /* by op id: loops and branches that they go through */
	Val **as;   /* by value id: what stands for it in their region; NULL: itself */
	Val *turn, *team; /* teams take turns: tiles before this one, and the team that runs */
	const char *why; /* it cannot be done */
} Roles;

enum { TEAMS = 2 }; /* that take turns */

/* The copies of p's body that fill rings, one after the other: behind `last`, NULL at first; *ring is the one
 * that it fills. */
Op *ring_copy(const Pipe *p, const Op *last, const StageBuffers **ring);

/* producer.c: what those that produce need of the body; r->why if that cannot be. */
void produce_plan(Roles *r);
/* Their region, without the copies and waits: loops, branches, and what they need for both. */
void produce_body(Roles *r, const Block *from, Block *to);
/* Copies of a feed, and the barriers around them, at the end of the turn. */
void produce_copies(Roles *r, Feed *f);

/* persistent.c: the body becomes what a block does for each of the grid's that it takes: every so many, as
 * blocks were launched. */
void persist(Kernel *k);

/* pingpong.c: why teams cannot take turns; NULL: they can. */
const char *pingpong_unsupported(const Roles *r);
/* What a block does for a tile is done by the team whose turn it is; before the loops wait for anything. */
void turns_take(Roles *r);
/* Teams come to the rings one after the other, by `order`, a barrier for each; once the loops wait. */
void emit_pingpong_order(Roles *r, Val *order);

/* pipeline_state.c: in each turn of a loop in a role, the number of the buffer and of the phase that it is
 * in, counted through all turns of the loops around it.  The op that stands for the loop then. */
Op *loop_position(Op *loop, int64_t stages, Val **slot, Val **phase);
#endif
