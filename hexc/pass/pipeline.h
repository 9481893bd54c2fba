/* pipeline.h - declares the state and steps that the files of passes pipeline and warp_specialize share. */
#ifndef HEXC_PIPELINE_H
#define HEXC_PIPELINE_H
#include "hexc/ir/ids.h"
#include "hexc/ir/ir.h"

/* A tile that gets one buffer per stage. */
typedef struct StageBuffers {
	Op *alloc;   /* in the body */
	Val *memory; /* all buffers, allocated before the loop */
	Val *now;    /* the buffer that the current iteration reads */
} StageBuffers;

/* A value of one iteration that is loaded, or computed from loads alone, in the preceding one. */
typedef struct Prefetch {
	Val *value; /* in the body */
	Val *first; /* that of the first iteration */
	Val *now;   /* carried */
} Prefetch;

/* One pipeline loop. */
typedef struct Pipe {
	Kernel *k;
	Op *loop;
	Block *body;
	int64_t stages;
	bool observes; /* signals of other blocks */
	StageBuffers *ring;
	int nring, ring_cap;
	bool *ahead; /* by ids_val: is it computed one iteration ahead? */
	Prefetch *prefetch;
	int nprefetch, prefetch_cap;
	Val *slot, *fill; /* in the body: index of the buffer to read, and of the one to fill */
	Ids ids;             /* of the body */
	uint32_t *met, walk; /* by ids_val: the last walk of can_move that met the value; their number */
} Pipe;

typedef struct ValueMap {
	Val *from, *to;
} ValueMap;

/* Clones values of the body for another iteration, before `at` in `block`. */
typedef struct Move {
	const Pipe *pipe;
	Block *block;
	Op *at;
	Val *iv;              /* replaces the counter */
	Val *tile, *buffer;   /* buffer replaces tile */
	ValueMap *done;
	int n, cap;
} Move;

/* Analyses a pipeline loop: tiles to buffer, and loads to prefetch. */
void pipe_open(Pipe *p, Kernel *k, Op *loop);
/* Allocates all stage buffers of a tile, before `at` in b. */
void ring_alloc(const Pipe *p, StageBuffers *r, Block *b, Op *at);
/* Returns a view of buffer `stage`. */
Val *ring_stage(Block *b, Op *at, const StageBuffers *r, Val *stage);
/* Returns select(c, x, y). */
Val *ring_choose(Block *b, Op *at, Val *c, Val *x, Val *y);
/* Removes the body's own tile and the copies to it; reads use `now` instead. */
void ring_replace(const Pipe *p, const StageBuffers *r);

/* Returns v for another iteration: clones the slice of the body that computes it. */
Val *move_val(Move *m, Val *v);
Move move_start(const Pipe *p, Block *b, Op *at, Val *iv, Val *tile, Val *buffer);
void pipe_single(Pipe *p);
void pipe_multi(Pipe *p);

/* Is counter value iv below the loop's end? 1: yes, 0: no, -1: known only at run time. */
int pipe_inside(const Pipe *p, Val *iv);
/* Returns from + ahead * step, computed before `at`. */
Val *pipe_counter(const Pipe *p, Block *b, Op *at, Val *from, int64_t ahead);
/* pipe_carry adds a carried value, initially `first`, and returns the body's argument; pipe_carry_next sets
 * the next iteration's value. */
Val *pipe_carry(Pipe *p, Val *first);
void pipe_carry_next(Pipe *p, Val *next);

/* pipeline_prefetch.c. prefetch_find finds the values to compute ahead: p->ahead marks loads on entry.
 * prefetch_first emits those of the first iteration before the loop. prefetch_carry emits those of the next
 * iteration: loads before `start` or after the last use of the current value, the rest at the end.
 * prefetch_replace removes the original ops. */
void prefetch_find(Pipe *p);
void prefetch_first(Pipe *p);
void prefetch_carry(Pipe *p, Op *start);
void prefetch_replace(Pipe *p);
#endif
