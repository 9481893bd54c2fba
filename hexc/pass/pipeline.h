/* pipeline.h - what the files of pass pipeline share. */
#ifndef HEXC_PIPELINE_H
#define HEXC_PIPELINE_H
#include "hexc/ir/ir.h"

/* A tile that gets one buffer for each stage. */
typedef struct StageBuffers {
	Op *alloc;   /* in the body */
	Val *memory; /* all buffers, in front of the loop */
	Val *now;    /* the buffer that this iteration reads */
} StageBuffers;

/* A load made one iteration ahead. */
typedef struct Prefetch {
	Op *load;
	Val *first; /* of the first iteration */
	Val *now;   /* carried */
} Prefetch;

/* One pipeline loop. */
typedef struct Pipe {
	Kernel *k;
	Op *loop;
	Block *body;
	int64_t stages;
	StageBuffers *ring;
	int nring, ring_cap;
	Prefetch *prefetch;
	int nprefetch, prefetch_cap;
	Val *slot, *fill; /* in the body: the buffer read now, and the one filled now */
} Pipe;

typedef struct ValueMap {
	Val *from, *to;
} ValueMap;

/* Values of the body computed for another iteration, in front of `at` in `block`. */
typedef struct Move {
	const Pipe *pipe;
	Block *block;
	Op *at;
	Val *iv;              /* stands for the counter */
	Val *tile, *buffer;   /* buffer stands for tile */
	ValueMap *done;
	int n, cap;
} Move;

/* What a pipeline loop has to offer: rings, and loads to make ahead. */
void pipe_open(Pipe *p, Kernel *k, Op *loop);
/* All buffers of a ring, in front of `at` in b. */
void ring_alloc(const Pipe *p, StageBuffers *r, Block *b, Op *at);
/* The view of one of them. */
Val *ring_stage(Block *b, Op *at, const StageBuffers *r, Val *stage);
/* x where c, else y. */
Val *ring_choose(Block *b, Op *at, Val *c, Val *x, Val *y);
/* The body's own tile and the copies to it go: `now` is read instead, of p's `slot`. */
void ring_replace(const Pipe *p, const StageBuffers *r);

/* v for another iteration: its slice of the body, cloned. */
Val *move_val(Move *m, Val *v);
Move move_start(const Pipe *p, Block *b, Op *at, Val *iv, Val *tile, Val *buffer);
void pipe_single(Pipe *p);
void pipe_multi(Pipe *p);

/* Is the counter value iv below the loop's end for certain (1), certainly not (0), or only known when it
 * runs (-1)? */
int pipe_inside(const Pipe *p, Val *iv);
/* from + ahead * step, in front of `at`. */
Val *pipe_counter(const Pipe *p, Block *b, Op *at, Val *from, int64_t ahead);
/* The loop carries another value, `first` at first: what the body sees; and that of the next iteration. */
Val *pipe_carry(Pipe *p, Val *first);
void pipe_carry_next(Pipe *p, Val *next);

/* pipeline_prefetch.c: the loads of the first iteration, in front of the loop; those of the next, in front of
 * `start` or where their tiles are needed no more; the loads themselves go. */
void prefetch_first(Pipe *p);
void prefetch_carry(Pipe *p, Op *start);
void prefetch_replace(Pipe *p);
#endif
