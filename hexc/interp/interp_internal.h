/* interp_internal.h - declares the state of the tile interpreter (tasks, memory, race shadows) that its files
 * share. */
#ifndef HEXC_INTERP_INTERNAL_H
#define HEXC_INTERP_INTERNAL_H
#include "hexc/interp/interp.h"
#include "hexc/ir/dtype_value.h"
#include <stdatomic.h>

/* Which elements of a value exist (law.c): those for which all conditions hold. */
enum { CONDS_MAX = 12 };
typedef struct Missing {
	int64_t n;                 /* elements */
	int count;
	unsigned dims[CONDS_MAX + 1];  /* bit d: the condition names dim d; the last one is being added */
	uint8_t *there[CONDS_MAX + 1]; /* by element */
} Missing;

/* A shared tile: one alloc. */
typedef struct Shared {
	const Op *alloc;
	const int64_t *shape;
	int rank;
	DType dtype;
	int64_t n;
	double *f;      /* float dtypes */
	int64_t *i;     /* the others; same memory */
	uint8_t *init;  /* per element: initialized? */
	int64_t base;   /* races: byte offset of its consumer group's memory from that of group 0 */
	bool watched;   /* tracked for races */
	struct Shadow *shadow; /* shadow state by element if tracked; NULL: by byte in Interp.memory */
	int64_t *place;        /* .. offset of each element, in elements */
	Missing *missing; /* which elements exist; NULL: all */
} Shared;

/* A view of a tensor or shared tile, or all of it. */
typedef struct View {
	const Param *param; /* global, else NULL */
	Shared *shared;     /* shared; exactly one of the two is set */
	const int64_t *shape;   /* shared: shape of the root, which is the tile or a reshape of it */
	int root_rank, rank;
	int64_t start[DIM_MAX]; /* in the root's coordinates */
	int64_t step[DIM_MAX];  /* stride along root dims, elements; 0: 1 */
	int64_t end[DIM_MAX];   /* end of the base along a dim, if a longer view exceeds it; 0: none does */
	unsigned bounded;       /* bit d: root dim d has bounds of the view's own, .. */
	int64_t from[DIM_MAX], below[DIM_MAX]; /* .. in the root's coordinates */
	int dim[DIM_MAX];       /* view dim -> root dim */
	struct Barriers *barriers; /* mbar only; all other fields are unset then */
	const struct InterpValue *index[DIM_MAX]; /* by root dim: index tile from dim `gather`; or NULL */
	const Type *tile[DIM_MAX];         /* .. and its type */
	int gather, gathers;       /* first gathered dim, -1: none; number of gathered dims */
} View;

/* The current value. Scalars and register tiles: n elements, row-major. */
typedef struct InterpValue {
	int64_t n;
	double *f;  /* float dtypes */
	int64_t *i; /* the others; same memory */
	void *spare; /* buffer of equal size, for parallel copies into loop arguments */
	void *whole; /* buffer of twice the size, for an expanded sparse operand of a dot */
	View *view; /* tensors, shared tiles and views */
	Missing *missing, *spare_missing; /* which elements exist (law.c); NULL: all */
	void *filled; /* buffer for its elements without missing ones */
} InterpValue;

/* An async copy in flight. */
typedef struct Pending {
	View dst;
	InterpValue val;
	Type type;
	const Op *op;
	int64_t group; /* number of the commit that closed it; -1: not committed */
	struct Barriers *barriers; /* mbarriers that track it instead of a group; NULL: others */
	int64_t which;             /* index of the mbarrier */
	bool expected;             /* an `expect` arrival has included it */
} Pending;

/* The mbarriers of one mbar op. */
typedef struct Barriers {
	const Op *op;
	int64_t n;
	int64_t *phase, *arrived; /* of each: completed phases, and arrivals in the current one */
	int clock; /* races: index of the first one in Task.known */
	/* races: by mbarrier, vector clocks of arrivals in completed phases, and in the current one */
	int64_t *done, *open;
} Barriers;

/* A copy has landed once this phase of an mbarrier completes. */
typedef struct Phase {
	const Barriers *of;
	int64_t which, number;
} Phase;

/* Shared memory read asynchronously by wgmma or a bulk copy in flight, and its contents at issue. */
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
	int64_t groups; /* groups committed so far */
} ReadingList;

/* Execution state of an IR block. */
typedef struct Frame {
	Block *b;
	Op *at; /* the next op; NULL: at the end */
	int64_t i, hi, step;
	/* poll.c, for a loop that ends early: */
	uint64_t turns;   /* iterations since .. */
	uint64_t effects; /* .. Common.effects reached this value */
	uint64_t looks;   /* Interp.looks when it last yielded to other blocks */
	uint64_t kept;    /* hash of the state after an earlier one of these iterations */
} Frame;

/* Polling state of a task at the end of a loop iteration. */
typedef enum Poll {
	POLL_NONE,
	POLL_AGAIN, /* iterations changed only private state: other blocks may run meanwhile */
	POLL_STUCK  /* iterations changed nothing: it loops forever unless others write */
} Poll;

/* State shared by the blocks of one thread. */
typedef struct Common {
	bool takes_turns; /* blocks are interleaved: loops may wait for memory that other blocks write */
	const uint32_t *uses; /* kernel_uses, if so */
	uint64_t nop;     /* ops executed */
	uint64_t effects; /* changes visible to other blocks, and prints */
	size_t printed;   /* bytes printed */
	int64_t arrived;  /* blocks at the grid barrier that not all have reached */
} Common;

/* The latest read of memory that the kernel writes. */
typedef struct Look {
	const Op *op;
	const Param *param;
	int64_t at; /* index of the first element */
} Look;

/* races: when groups completed, as observed by waits. */
typedef struct Waits {
	int64_t done;  /* completed groups, numbered from 1 */
	int64_t *time; /* by group */
	int64_t cap;
} Waits;

/* Warps that execute ops together, concurrently with others: the whole block, its producers, or one consumer
 * group. */
typedef struct Task {
	InterpValue *slot; /* by value id */
	Frame *frame; /* innermost last; empty: finished */
	int nframe, frame_cap;
	int team; /* group index, for ROLE_CONSUMER */
	Role role;
	const Op *blocked; /* the op that it waits at */
	bool turn; /* it yields to the other tasks */
	Poll poll;
	uint64_t steps; /* ops executed */
	bool blank; /* copies fill with zeros */
	bool at_grid_barrier; /* it has arrived there, .. */
	int64_t grid_word;    /* .. when the barrier's word was this */
	/* async copies */
	Pending *pending;
	int npending, pending_cap;
	int64_t groups; /* commits so far */
	ReadingList product, out; /* wgmma; bulk copies to tensors */
	/* races: its own clock, which advances at barriers, arrivals and proxy fences */
	int number;      /* index of the task */
	int64_t now;
	int64_t fence;   /* time of its last barrier */
	int64_t proxied; /* .. of its last proxy fence, and of the last one that a barrier follows */
	int64_t shown;
	int64_t *known;  /* vector clock: ordered time by task; then completed phases by mbarrier */
	Waits in_done, out_done; /* copies to shared memory; to tensors */
} Task;

/* State of an interpreter thread, which runs one block at a time. */
typedef struct Interp {
	Kernel *k;
	const InterpArg *arg;
	InterpOpt opt;
	Arena arena;
	jmp_buf fail;
	Task all;   /* all warps of the block */
	Task *role; /* producers, then consumer groups; NULL: no roles executed yet */
	Task *task; /* the task in execution */
	InterpValue scratch[2]; /* operands of dots */
	int64_t block[3];
	int64_t linear; /* linear block index; with clusters: cluster index */
	int64_t launched; /* number of blocks or clusters launched */
	int64_t rank; /* block rank in the cluster */
	Common *common;   /* NULL: no block is running */
	bool in_roles;    /* execution is between start and end of the roles */
	uint64_t looks;   /* reads of memory that the kernel writes */
	Look look;
	const uint8_t *left_out; /* by element: the write in execution leaves it out; NULL: none */
	const Op *loop;   /* the loop at which its task last yielded to others, .. */
	Task *waiter;     /* .. and the task */
	Text *held;       /* output buffer while earlier blocks have not ended; NULL: print directly */
	Shared **shared; /* allocated tiles */
	int nshared, shared_cap;
	/* races */
	uint64_t serial;        /* number of memory-access executions */
	int nclock, clock_used; /* size of Task.known, and entries assigned to tasks and mbarriers */
	const Phase *phase;     /* phase of the copy in execution; NULL: another op */
	struct Shadow *memory;  /* by byte, if tiles are allocated */
	int64_t memory_size;
	struct Shadow **global; /* by parameter, by element; NULL: not accessed yet */
	/* the first error */
	InterpCode code;
	Src src;
	char text[400];
	/* other threads */
	int (*cancel)(void *);
	void *user;
	const _Atomic int64_t *bound; /* blocks after this one may stop */
} Interp;

typedef bool EvalFn(Interp *it, Op *o);
#define OP_EVAL(name, rule) EvalFn eval_##rule;
#include "hexc/ir/ops.def"

/* interp_start initializes an interpreter of one launch. Once it->fail is set, interp_setup sets the values
 * of parameters. */
void interp_start(Interp *it, Kernel *k, const InterpArg *arg, const InterpOpt *opt);
void interp_setup(Interp *it);
/* Frees all memory, then moves the error to the unit's diag. */
InterpCode interp_end(Interp *it);
/* Returns the slot of a value, with its storage allocated. */
InterpValue *slot_of(Interp *it, const Val *v);
/* Records an error of op o (NULL: of the kernel); returns false. */
bool interp_error(Interp *it, InterpCode code, const Op *o, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* interp_body starts block number b of `blocks`, in a grid of that size; interp_go_on resumes it. Return
 * false on an error. They may return with frames left, if other blocks have to run: Task.poll. */
bool interp_body(Interp *it, int64_t b, int64_t blocks, const int64_t grid[3]);
bool interp_go_on(Interp *it);
/* Runs the task's ops until it ends, blocks, or yields. Returns false on an error. */
bool interp_task(Interp *it);
/* Continues the task in block b, and then after the op that owns it. */
void interp_enter(Interp *it, Block *b);
/* Returns a buffer for n elements, valid until the next dot. */
InterpValue *interp_scratch(Interp *it, int which, int64_t n);
/* Returns the mbarriers of a wait, an arrival or a copy, and the index. Returns NULL after reporting an index
 * out of range. */
Barriers *interp_barrier(Interp *it, const Op *o, int64_t *which);
/* Lands the copies of an mbarrier phase that has just completed. */
bool interp_land_phase(Interp *it, Barriers *b, int64_t which);
/* Records that op o reads x, the contents of view v, until a group committed in r is waited for. */
void interp_reading(Interp *it, ReadingList *r, const Op *o, const View *v, const Type *t,
		    const InterpValue *x);
/* All but the latest `pending` groups complete (-1: all do): checks that the memory they read is
 * unchanged. */
bool interp_read_done(Interp *it, ReadingList *r, int64_t pending);
/* Applies an atomic store of element j of x to element `at` of a buffer. */
void interp_update(StoreKind kind, DType d, void *buf, int64_t at, const InterpValue *x, int64_t j);
/* interp_sparse_expand expands values and metadata along dim into r; interp_whole returns a buffer if no op
 * has the result. */
InterpValue interp_whole(Interp *it, const Val *values);
bool interp_sparse_expand(Interp *it, const Op *o, const Val *values, const Val *positions, int dim,
                          const InterpValue *r);
/* Copies the value of `from` into the slot of `to`. */
void slot_copy(Interp *it, const Val *to, const Val *from);
/* Copies element `from` of x to element `to` of r, bit by bit. */
void slot_move(InterpValue *r, int64_t to, const InterpValue *x, int64_t from);
/* Number of elements of the dims after d: the row-major stride of d. */
int64_t inner_size(const Type *t, int d);
/* Evaluates a scalar that depends on parameters only. */
bool interp_scalar(Interp *it, const Val *v, int64_t *out);
/* Do the arguments satisfy the kernel's assumptions, and the buffers its tensors? */
bool interp_check(Interp *it);
bool interp_find_grid(Interp *it, int64_t grid[3]);
/* Read or write the elements of a view of type t for op o. Return false on an error. `async`: by a copy that
 * may land later. */
bool interp_read(Interp *it, const Op *o, const View *v, const Type *t, InterpValue *val);
bool interp_write(Interp *it, const Op *o, const View *v, const Type *t, const InterpValue *val, bool async);
/* Evaluates an op by the rules of missing elements. */
bool law_eval(Interp *it, Op *o, EvalFn *eval);
/* Sets which elements of `to` exist, by those of `from`, of the same shape. */
void law_copy(Interp *it, InterpValue *to, const InterpValue *from);
/* Parallel copies into a loop argument: `next` stores which elements of y exist, `swap` makes them the
 * argument's. */
void law_next(Interp *it, InterpValue *arg, const InterpValue *y);
void law_swap(InterpValue *arg);
/* Starts a block of the grid with fresh memory. */
void interp_mem_start(Interp *it);

/* ---- races (interp/race.c) ---- */

/* Checks and records that op o accesses element `at` of a shared tile, as element `elt` of its own tile.
 * Returns false on a hazard. */
bool race_access(Interp *it, const Op *o, const Shared *s, int64_t at, bool write, bool async,
                 int64_t elt);
/* As race_access, for element `at` of a tensor. */
bool race_global(Interp *it, const Op *o, const Param *p, int64_t at, bool write, int64_t elt);
/* The groups of `w` up to `group` have completed, for the issuing thread. */
void race_wait(Interp *it, Waits *w, int64_t group);
/* At the end of a task: checks that no bulk copy to a tensor still reads shared memory. */
bool race_ends(Interp *it);
void race_barrier(Interp *it);
void race_proxy(Interp *it);
/* Events: the task arrives at an mbarrier; a phase completes; the task has waited for all completed
 * phases. */
void race_arrive(Interp *it, Barriers *b, int64_t which);
void race_complete(Interp *it, Barriers *b, int64_t which);
void race_seen(Interp *it, Barriers *b, int64_t which);
/* Starts the tasks of roles, ordered after everything before them. */
void race_roles(Interp *it);
/* Byte offset of the task's consumer-group memory from that of group 0. */
int64_t task_memory(const Interp *it);
int task_count(const Interp *it); /* tasks of roles, plus one for the whole block */
/* Op o stages data in its scratch memory, with a barrier between writes and reads. */
bool race_scratch(Interp *it, const Op *o);
void race_start(Interp *it); /* starts a new block of the grid */
void race_alloc(Interp *it, Shared *s);

/* noise.c: `exact` with random noise if rounding to d changes it. It is a sum of n terms with magnitudes that
 * sum to `size`; j: element index. */
double interp_noise_sum(const Interp *it, DType d, double exact, int64_t n, double size, int64_t j);
/* Adds noise to the unrounded results of elementwise op o on `in`. */
void interp_noise_elt(const Interp *it, const Op *o, DType d, InterpValue *const *in, InterpValue *r);
/* poll.c */
/* Called when a loop starts another iteration. */
void poll_turn(Interp *it, const Op *o, Frame *f);
/* Does the kernel have grid barriers, or loops that may wait for memory that other blocks write? */
bool poll_possible(const Kernel *k);
/* Appends e.g. " polls `S[0]` in line 5, which is 1: 1 < 2 holds". */
void poll_say(Interp *it, Text *t);
/* grid_barrier.c */
/* Appends e.g. " waits at the grid barrier in line 5, where 1 of 2 blocks have arrived". */
void grid_barrier_say(const Interp *it, Text *t);
/* block_interleaving.c */
/* Runs all blocks of a grid on this thread, interleaved if they wait for each other. `main` provides the
 * memory and receives the error. */
void turns_run(Interp *main, int64_t blocks, const int64_t grid[3]);
#endif
