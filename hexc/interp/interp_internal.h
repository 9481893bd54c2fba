/* interp_internal.h - what the files of the tile interpreter share. */
#ifndef HEXC_INTERP_INTERNAL_H
#define HEXC_INTERP_INTERNAL_H
#include "hexc/interp/interp.h"
#include "hexc/ir/dtype_value.h"
#include <stdatomic.h>

/* A shared tile: one alloc. */
typedef struct Shared {
	const Op *alloc;
	const int64_t *shape;
	int rank;
	DType dtype;
	int64_t n;
	double *f;      /* float dtypes */
	int64_t *i;     /* the others; same memory */
	uint8_t *init;  /* per element: has it been written? */
	int64_t base;   /* races: its team's memory, from the start of that of team 0 */
	bool watched;   /* for races */
	struct Shadow *shadow; /* watched, by element; NULL: by byte of Interp.memory */
	int64_t *place;        /* .. of each element, in elements */
} Shared;

/* A tensor or shared tile, or a part of one. */
typedef struct View {
	const Param *param; /* global */
	Shared *shared;     /* shared; exactly one of the two is set */
	const int64_t *shape;   /* shared: of the root, which is the tile or a reshape of it */
	int root_rank, rank;
	int64_t start[DIM_MAX]; /* in coordinates of the root */
	int64_t step[DIM_MAX];  /* of root dims, from one element to the next; 0: 1 */
	int64_t end[DIM_MAX];   /* where a view that a longer one is of ends there; 0: none does */
	int dim[DIM_MAX];       /* view dim -> root dim */
	struct Barriers *barriers; /* of an mbar, and nothing else then */
	const struct InterpValue *index[DIM_MAX]; /* by root dim: indices along view dims from `gather`, or NULL */
	const Type *tile[DIM_MAX];         /* .. and of what type they are */
	int gather, gathers;       /* -1; how many such dims there are */
} View;

/* What a value holds now.  Scalars and register tiles: n elements, row-major. */
typedef struct InterpValue {
	int64_t n;
	double *f;  /* float dtypes */
	int64_t *i; /* the others; same memory */
	void *spare; /* as large, for parallel copies into loop arguments */
	void *whole; /* twice as large, for the tile that a dot makes of values and their positions */
	View *view; /* tensors, shared tiles and views */
} InterpValue;

/* An async copy that has not landed. */
typedef struct Pending {
	View dst;
	InterpValue val;
	Type type;
	const Op *op;
	int64_t group; /* number of the commit that closed it; -1: still open */
	struct Barriers *barriers; /* whose phase it is part of, and no group; NULL: others */
	int64_t which;             /* of them */
	bool expected;             /* an arrival has said so */
} Pending;

/* Barriers that one mbar made. */
typedef struct Barriers {
	const Op *op;
	int64_t n;
	int64_t *phase, *arrived; /* of each: phases complete, arrivals in the one after them */
	int clock; /* races: of the first one in Task.known */
	/* races: by barrier, what those knew who arrived in phases that are complete, and in the next */
	int64_t *done, *open;
} Barriers;

/* A copy is there when this phase of a barrier is complete. */
typedef struct Phase {
	const Barriers *of;
	int64_t which, number;
} Phase;

/* Shared memory that a product or a copy to a tensor reads while it is under way, and what was there. */
typedef struct AsyncRead {
	const Op *op;
	View src;
	InterpValue val;
	Type type;
	int64_t group; /* as in Pending */
} AsyncRead;

typedef struct ReadingList {
	AsyncRead *at;
	int n, cap;
	int64_t groups; /* closed so far */
} ReadingList;

/* A block that is being run. */
typedef struct Frame {
	Block *b;
	Op *at; /* the next op; NULL: the end */
	int64_t i, hi, step;
	/* poll.c, of a loop that ends early: */
	uint64_t turns;   /* since .. */
	uint64_t effects; /* .. Common.effects became this */
	uint64_t looks;   /* Interp.looks when it last let others go on */
	uint64_t kept;    /* the state after an earlier one of these turns, as a hash */
} Frame;

/* How a task stands at the end of a turn of a loop. */
typedef enum Poll {
	POLL_NONE,
	POLL_AGAIN, /* turns changed no memory, but other things: others may go on meanwhile */
	POLL_STUCK  /* they changed nothing at all: it goes on for ever unless others write */
} Poll;

/* What the blocks of one thread share. */
typedef struct Common {
	bool takes_turns; /* loops of the kernel may wait for what other blocks write */
	const uint32_t *uses; /* of the kernel's values, then */
	uint64_t nop;     /* ops done */
	uint64_t effects; /* changes of memory that other blocks see, and what was printed */
	size_t printed;   /* bytes */
} Common;

/* The latest read of memory that the kernel writes. */
typedef struct Look {
	const Op *op;
	const Param *param;
	int64_t at; /* the first element */
} Look;

/* races: when groups were done, as far as waits have said so. */
typedef struct Waits {
	int64_t done;  /* groups, from 1 on */
	int64_t *time; /* by group */
	int64_t cap;
} Waits;

/* Warps that run ops together, beside others: all of the block, its producers, or a team. */
typedef struct Task {
	InterpValue *slot; /* by value id */
	Frame *frame; /* innermost last; none: it is at its end */
	int nframe, frame_cap;
	int team; /* of ROLE_CONSUMER */
	Role role;
	const Op *blocked; /* the op that it cannot do yet */
	bool turn; /* it is the others' turn */
	Poll poll;
	uint64_t steps; /* ops done */
	bool blank; /* copies fill with zeros */
	/* async copies */
	Pending *pending;
	int npending, pending_cap;
	int64_t groups; /* commits so far */
	ReadingList product, out; /* wgmma, copies to tensors */
	/* races: its own time goes on at barriers, arrivals and proxies */
	int number;      /* of the task */
	int64_t now;
	int64_t fence;   /* when its last barrier was */
	int64_t proxied; /* .. its last proxy, and the last one that a barrier stands behind */
	int64_t shown;
	int64_t *known;  /* by task: what it did before that time is done; then by barrier: phases complete */
	Waits in_done, out_done; /* copies to shared memory, to tensors */
} Task;

/* What a thread of the interpreter works with: one block at a time. */
typedef struct Interp {
	Kernel *k;
	const InterpArg *arg;
	InterpOpt opt;
	Arena arena;
	jmp_buf fail;
	Task all;   /* the block's warps together */
	Task *role; /* producers, then teams; NULL: no roles met yet */
	Task *task; /* whose ops are being run */
	InterpValue scratch[2]; /* factors of products */
	int64_t block[3];
	int64_t linear; /* number of the block, with clusters: of its cluster */
	int64_t launched; /* how many there are */
	int64_t rank; /* in the cluster */
	Common *common;   /* NULL: no block is run */
	bool in_roles;    /* they have begun and not ended */
	uint64_t looks;   /* reads of memory that the kernel writes */
	Look look;
	const Op *loop;   /* that last made its task stop for others, .. */
	Task *waiter;     /* .. and the task */
	Text *held;       /* where the block's prints wait for those of earlier blocks; NULL: they need not */
	Shared **shared; /* tiles that were made */
	int nshared, shared_cap;
	/* races */
	uint64_t serial;        /* executions of ops that touch memory */
	int nclock, clock_used; /* entries of Task.known, and those that tasks and barriers have taken */
	const Phase *phase;     /* of the copy that is being made; NULL: another op */
	struct Shadow *memory;  /* by byte, when tiles are placed */
	int64_t memory_size;
	struct Shadow **global; /* by parameter, by element; NULL: not accessed yet */
	/* the first fault */
	InterpCode code;
	Src src;
	char text[400];
	/* other threads */
	int (*cancel)(void *);
	void *user;
	const _Atomic int64_t *bound; /* blocks after this one need not go on */
} Interp;

typedef bool EvalFn(Interp *it, Op *o);
#define OP_EVAL(name, rule) EvalFn eval_##rule;
#include "hexc/ir/ops.def"

/* An interpreter of one launch: start it, and once it->fail is set give parameters and constants their
 * values. */
void interp_start(Interp *it, Kernel *k, const InterpArg *arg, const InterpOpt *opt);
void interp_setup(Interp *it);
/* Free everything, then move the fault to the unit's diag. */
InterpCode interp_end(Interp *it);
/* The slot of a value, with room for its elements. */
InterpValue *slot_of(Interp *it, const Val *v);
/* Remember a fault of op o (NULL: of the kernel); returns false. */
bool interp_error(Interp *it, InterpCode code, const Op *o, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Block number b, of `blocks` and in a grid of that size, is run from the start of its body, and goes
 * on.  False on a fault.  It may stop while its task has frames left: others are to go on, see
 * Task.poll. */
bool interp_body(Interp *it, int64_t b, int64_t blocks, const int64_t grid[3]);
bool interp_go_on(Interp *it);
/* The task's ops until it has none, cannot go on, or it is the others' turn; false on a fault. */
bool interp_task(Interp *it);
/* The task goes on with block b, and then behind the op that owns it. */
void interp_enter(Interp *it, Block *b);
/* Room for n elements, until the next product. */
InterpValue *interp_scratch(Interp *it, int which, int64_t n);
/* The barriers of a wait, an arrival or a copy, and which; NULL after a report: there is no such one. */
Barriers *interp_barrier(Interp *it, const Op *o, int64_t *which);
/* The copies land that belong to the phase of a barrier which is complete now. */
bool interp_land_phase(Interp *it, Barriers *b, int64_t which);
/* Op o reads x, what is in view v, until a group closed in r is waited for. */
void interp_reading(Interp *it, ReadingList *r, const Op *o, const View *v, const Type *t, const InterpValue *x);
/* Only the latest `pending` groups are under way (-1: nothing is): what the others read must be as it
 * was. */
bool interp_read_done(Interp *it, ReadingList *r, int64_t pending);
/* Element `at` of a buffer becomes what an atomic store of element j of x makes of it. */
void interp_update(StoreKind kind, DType d, void *buf, int64_t at, const InterpValue *x, int64_t j);
/* The tile that values and positions make along dim, into r; a place for it when no op has it as a
 * result. */
InterpValue interp_whole(Interp *it, const Val *values);
bool interp_sparse_expand(Interp *it, const Op *o, const Val *values, const Val *positions, int dim,
                          const InterpValue *r);
/* Copy the value of `from` into the slot of `to`. */
void slot_copy(Interp *it, const Val *to, const Val *from);
/* Element `from` of x to `to` of r, as it is. */
void slot_move(InterpValue *r, int64_t to, const InterpValue *x, int64_t from);
/* Elements behind dim d: how far neighbours along d are apart. */
int64_t inner_size(const Type *t, int d);
/* Evaluate a scalar that depends on parameters only. */
bool interp_scalar(Interp *it, const Val *v, int64_t *out);
/* Do the arguments meet what the kernel assumes, and the buffers its tensors? */
bool interp_check(Interp *it);
bool interp_find_grid(Interp *it, int64_t grid[3]);
/* The elements of a view of type t, read or written by op o; false on a fault.  `async`: by a copy
 * that need not have landed. */
bool interp_read(Interp *it, const Op *o, const View *v, const Type *t, InterpValue *val);
bool interp_write(Interp *it, const Op *o, const View *v, const Type *t, const InterpValue *val, bool async);
/* Start of a block of the grid: memory is fresh. */
void interp_mem_start(Interp *it);

/* ---- races (interp/race.c) ---- */

/* Op o reads or writes element `at` of a shared tile, element `elt` of its own.  False: a barrier is
 * missing. */
bool race_access(Interp *it, const Op *o, const Shared *s, int64_t at, bool write, bool async,
                 int64_t elt);
/* The same for element `at` of a tensor. */
bool race_global(Interp *it, const Op *o, const Param *p, int64_t at, bool write, int64_t elt);
/* The groups of `w` up to `group` have completed, for the thread that issued them. */
void race_wait(Interp *it, Waits *w, int64_t group);
/* The task ends: is no copy to a tensor left that reads shared memory? */
bool race_ends(Interp *it);
void race_barrier(Interp *it);
void race_proxy(Interp *it);
/* The task arrives at a barrier; the phase is complete; the task has waited for all that are. */
void race_arrive(Interp *it, Barriers *b, int64_t which);
void race_complete(Interp *it, Barriers *b, int64_t which);
void race_seen(Interp *it, Barriers *b, int64_t which);
/* The tasks of roles begin: what was done before them is. */
void race_roles(Interp *it);
/* Where the memory of the task's team begins, from that of team 0. */
int64_t task_memory(const Interp *it);
int task_count(const Interp *it); /* of roles, and one for the block as a whole */
/* Op o stages data in its scratch memory, with a barrier between its writes and its reads. */
bool race_scratch(Interp *it, const Op *o);
void race_start(Interp *it); /* a new block of the grid */
void race_alloc(Interp *it, Shared *s);

/* noise.c: `exact`, off at random if rounding to d changes it, a sum of n terms whose magnitudes add up to
 * `size`; j: the number of the element. */
double interp_noise_sum(const Interp *it, DType d, double exact, int64_t n, double size, int64_t j);
/* Of elementwise op o, of `in`: its results, before they are rounded. */
void interp_noise_elt(const Interp *it, const Op *o, DType d, InterpValue *const *in, InterpValue *r);
/* poll.c */
/* A loop begins another turn. */
void poll_turn(Interp *it, const Op *o, Frame *f);
/* Does the kernel have loops that may wait for what other blocks write? */
bool poll_possible(const Kernel *k);
/* " polls `S[0]` in line 5, which is 1: 1 < 2 holds" */
void poll_say(Interp *it, Text *t);
/* block_interleaving.c */
/* All blocks of a grid, on this thread: blocks that wait for others let these go on.  `main`
 * has the memory and gets the fault. */
void turns_run(Interp *main, int64_t blocks, const int64_t grid[3]);
#endif
