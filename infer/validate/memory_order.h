/* memory_order.h - declares the state, numbers and steps of the walk shared by the files that validate
 * memory order. */
#ifndef HEXC_MEMORY_ORDER_H
#define HEXC_MEMORY_ORDER_H
#include "infer/validate/validate.h"
#include "infer/validate/paths.h"

enum { SUM_TERMS = 6 };

/* k * v; with by > 0: k * ((v + plus) / by); with of > 0 also, before multiplication by k: plus `turn`,
 * modulo `of`. Divisions round down; remainders are nonnegative. */
typedef struct OrderTerm {
	int64_t k;
	const Val *v;
	int64_t by, plus, of, turn;
} OrderTerm;

/* The sum of the terms and an unknown value in [lo, hi]; INT64_MIN and INT64_MAX: unbounded. Values are
 * those at the start of the walk. */
typedef struct OrderSum {
	int n;
	int64_t lo, hi;
	OrderTerm term[SUM_TERMS];
} OrderSum;

/* A scalar whose value has changed since the start of the walk. */
typedef struct Bound {
	const Val *v;
	OrderSum is;
} Bound;

/* The changed scalars of a state, sorted by value; uniqued. */
typedef struct OrderBounds {
	const Bound *a;
	int n;
	uint64_t hash;
} OrderBounds;

/* A loop that the walk has advanced to another iteration of, and how often. */
typedef struct Turned {
	const Op *loop;
	int times;
} Turned;

/* The state of one path from the access at which the walk began. */
typedef struct OrderState {
	const OrderBounds *bounds; /* NULL: no scalars have changed */
	Turned *turned;
	int nturned;
	int age; /* of an asynchronous access: groups closed since its own; OPEN: its own is still open */
	bool done;    /* no longer in flight: as if the thread had made the access itself */
	bool shown;   /* .. and a proxy fence followed */
	bool told;    /* .. and an mbarrier arrive followed */
	bool taken;   /* .. and then an mbarrier wait: what follows may or may not be ordered */
	bool ordered; /* .. and a barrier followed, without a proxy fence before it */
} OrderState;

typedef struct States {
	OrderState *a;
	int n, cap;
} States;

enum { INNER_MOST = 4 };

/* One memory operand of an op, or its staging tile. */
typedef struct OrderTouch {
	const Op *op;
	Val *mem;           /* NULL: the staging tile */
	const Val *root;    /* tensor or alloc; NULL: the staging tile */
	const Op *view;     /* its location in the root; NULL: all of it, or unknown */
	const Op *inner[INNER_MOST]; /* views of that view; the last one is what the op accesses */
	int ninner;
	bool plain;         /* the op accesses the view, or all of the root, itself and not a reshape of it */
	int64_t first, end; /* bytes of shared memory; end 0: not placed, or a tensor */
	bool write, update;
	bool engine;        /* through the async proxy: PTX ISA, "Async proxy" */
	bool group, bulk;   /* in flight until a wait for its group; .. a bulk copy */
} OrderTouch;

/* Range along the first dim of a tile, whatever the shape of the others: n from `at` on. */
typedef struct Stages {
	bool known;
	OrderSum at;
	int64_t n;
} Stages;

/* Why an access is not validated, as reported. */
typedef enum Gap {
	GAP_none,
	GAP_ring,   /* stages with unknown indices */
	GAP_bulk,   /* unknown distance of bulk copies to a tensor */
	GAP_shapes, /* a tile accessed under two shapes */
	GAP_roles,  /* between an arrival and a later wait */
	GAP_ways,   /* too many paths */
} Gap;

typedef struct Order {
	Kernel *k;
	Gap gap; /* the first one */
	const Op *gap_at;
	struct Known **known; /* [nop+1] order_known of ops, computed on demand */
	/* hash table of uniqued OrderBounds; the next state's, sorted; memory for a full state's */
	const OrderBounds **place;
	Bound *next_bound, *all;
	int nplace, nkept, nnext, nextcap, nall;
	States *spare; /* freed memory for reuse */
	int nspare, sparecap;
	Prove prove;      /* for ownership tables */
	bool ok;
	bool blind;       /* stage indices are unknown: what depends on them is not validated */
	bool engines;     /* some op reads shared memory through the async proxy */
	uint8_t *roles;   /* [nval+1] of a shared tile: bit r is set if role r has views of it */
	PathWalk follow;    /* the path walk that tracks stage indices */
	uint8_t *wanted;  /* [nval+1] scalars that addresses in the root of `from` depend on */
	const Op **next; /* [nop+1] the next op of its block that accesses or orders memory, or has regions */
	int16_t **owner[2];  /* [nop+1] owner thread of each element, for the target and for the old value */
	int64_t *bytes;   /* [nval+1] of a shared tile */
	int64_t steps;    /* remaining */
	size_t held;      /* bytes of the arena when the pass began */
	bool vague;       /* a queried number depends on an unknown stage index */
	/* Values can be reached in exponentially many ways: [nval+1] the last walk of order_same that met a
	 * value, and their number; the sums found for one query. */
	uint32_t *met, walk;
	struct OrderFound *found;
	int nfound;
	/* the access at which the walk began, and the tracked numbers there */
	OrderTouch from;
	const Way *way;
	OrderSum start[DIM_MAX];
	bool start_vague;
	Stages stages;
} Order;

/* ---- memory_order_linear.c ---- */

OrderSum sum_const(int64_t c);
OrderSum sum_between(int64_t lo, int64_t hi);
OrderSum sum_add(Order *w, OrderSum x, OrderSum y, int64_t times);
bool sum_is_const(const OrderSum *x, int64_t *c);
bool sum_equal(const OrderSum *x, const OrderSum *y);
/* Are x elements from 0 on and y elements from gap on disjoint, for all values of gap? */
bool sum_apart(Order *w, const OrderSum *gap, int64_t x, int64_t y);
/* Computes the range of x. */
void sum_range(Order *w, const OrderSum *x, int64_t *lo, int64_t *hi);
/* Returns the value of scalar v in state s. */
OrderSum order_value(Order *w, const OrderState *s, const Val *v);
/* Is v unchanged since the start of the walk? */
bool order_same(Order *w, const OrderState *s, const Val *v, int depth);

/* ---- memory_order_state.c ---- */

/* Returns the value of scalar v in state s if it has changed since the start of the walk; else NULL. */
const OrderSum *order_bound(const OrderState *s, const Val *v);
/* Queues v to be bound to `is`; order_bind binds all queued scalars. */
void order_bind_next(Order *w, const Val *v, OrderSum is);
void order_bind(Order *w, OrderState *s);
/* Binds each tracked scalar of `to` to the value of its `from` in state s. */
void order_hand_over(Order *w, OrderState *s, Val *const *to, Val *const *from, int n);
/* Ends the current iteration of the loop in state s. */
void order_turn_over(Order *w, OrderState *s, const Op *loop);
/* Returns an empty list, which reuses the memory of dropped ones. */
States order_no_states(Order *w);
void order_drop(Order *w, States *s);
void order_push(Order *w, States *to, const OrderState *s);
void order_push_all(Order *w, States *to, const States *from);

/* ---- memory_order_iteration.c ---- */

/* Returns what the branches and loops around o imply. */
const struct Known *order_known(Order *w, const Op *o);
/* Evaluates a loop's condition before its first or another iteration, in state s: may there be an
 * iteration, may there be none? */
void order_ask(Order *w, const OrderState *s, const Op *loop, bool first, bool *turn, bool *none);
/* Enters the loop. */
void order_enter(Order *w, OrderState *s, const Op *loop);
/* Advances to another iteration of the loop. */
void order_next_turn(Order *w, OrderState *s, const Op *loop);

/* ---- memory_order_paths.c ---- */

/* Follows the paths from op `from` to the end of its block. */
void order_walk(Order *w, States *now, const Op *from);
/* At the loop's condition in state s: adds the state to those after the loop, to those before an iteration,
 * or to both. */
void order_part_ways(Order *w, const OrderState *s, const Op *loop, bool first, States *heads,
		     States *behind);
/* Follows iterations of the loop from those states; adds the states after it. */
void order_walk_turns(Order *w, States *heads, const Op *loop, States *behind);
/* Is it the loop of a persistent kernel over blocks of the grid? */
bool order_is_of_blocks(const Op *loop);
bool order_is_tensor(const OrderTouch *t);
/* Does o access or order memory, or have regions? */
bool order_matters(Order *w, const Op *o);
/* Do the states take too much memory? The kernel is then not validated to its end. */
bool order_is_full(const Order *w);
/* Is o an atomic update, with fences, by which blocks hand over memory? */
bool order_is_signal(const Op *o);
/* Marks the access at which the walk began as not validated; reports only the first one. */
void order_unjudged(Order *w, Gap why);

/* ---- memory_order_overlap.c ---- */

enum { TOUCHES = 4 };
/* Returns the accesses of o to memory that the kernel writes, except those ordered by mbarriers. */
int order_touches(Order *w, const Op *o, OrderTouch *t);
/* Computes the location of the access at which the walk begins. */
void order_begin(Order *w);
/* May the access at which the walk began and t, in state s, overlap in a byte, by different threads if
 * `lanes`? */
bool order_meets(Order *w, const OrderState *s, const OrderTouch *t, bool lanes);

/* ---- block_handoff.c ---- */

/* Reports a violation where blocks hand over memory without such an update (block_handoff.c). */
void order_signals(Order *w);
#endif
