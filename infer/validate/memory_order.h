/* memory_order.h - between the files of the checker of barriers. */
#ifndef HEXC_MEMORY_ORDER_H
#define HEXC_MEMORY_ORDER_H
#include "infer/validate/validate.h"
#include "infer/validate/paths.h"

enum { SUM_TERMS = 6 };

/* k * v; by > 0: k * ((v + plus) / by), of > 0: that, before it is multiplied, plus `turn`, modulo `of`.
 * Quotients are rounded down, and remainders are none below 0. */
typedef struct OrderTerm {
	int64_t k;
	const Val *v;
	int64_t by, plus, of, turn;
} OrderTerm;

/* Terms and something from lo to hi: INT64_MIN and INT64_MAX are no bounds.  The values are those that
 * they were where the walk began. */
typedef struct OrderSum {
	int n;
	int64_t lo, hi;
	OrderTerm term[SUM_TERMS];
} OrderSum;

/* A scalar that is another one since the walk began. */
typedef struct Bound {
	const Val *v;
	OrderSum is;
} Bound;

/* All that are in one state, by value; there is one of each. */
typedef struct OrderBounds {
	const Bound *a;
	int n;
	uint64_t hash;
} OrderBounds;

/* A loop whose turns the walk went on to, so many times. */
typedef struct Turned {
	const Op *loop;
	int times;
} Turned;

/* What is so on one of the ways from the access that the walk began with. */
typedef struct OrderState {
	const OrderBounds *bounds; /* NULL: none */
	Turned *turned;
	int nturned;
	int age;      /* of an asynchronous access: groups closed since its own; OPEN: its own is not */
	bool done;    /* nothing of it is under way: it is as a thread's own */
	bool shown;   /* .. a proxy stands behind it */
	bool told;    /* .. an arrival at a barrier in memory does */
	bool taken;   /* .. and a wait for one behind it: what follows may be ordered, or not */
	bool ordered; /* .. a barrier does, but no proxy in front of that */
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
	const Val *root;    /* tensor or alloc; NULL likewise */
	const Op *view;     /* where in the root; NULL: all of it, or it is not known */
	const Op *inner[INNER_MOST]; /* views of that view, the last one of what the op touches */
	int ninner;
	bool plain;         /* the view, or the whole, is what the op touches, and no alias of it */
	int64_t first, end; /* bytes of shared memory; end 0: not placed, or a tensor */
	bool write, update;
	bool engine;        /* by the asynchronous proxy: PTX ISA, "Async proxy" */
	bool group, bulk;   /* under way until a wait for its group; .. of bulk copies */
} OrderTouch;

/* Along the first dim of a tile, whatever shape the others have: n from `at` on. */
typedef struct Stages {
	bool known;
	OrderSum at;
	int64_t n;
} Stages;

/* What is not judged, and is said so. */
typedef enum Gap {
	GAP_none,
	GAP_ring,   /* stages of a ring whose numbers are not known */
	GAP_bulk,   /* how far apart bulk copies to a tensor are */
	GAP_shapes, /* a tile seen in two shapes */
	GAP_roles,  /* what stands between an arrival and a later wait for one */
	GAP_ways,   /* too many ways */
} Gap;

typedef struct Order {
	Kernel *k;
	Gap gap; /* the first one */
	const Op *gap_at;
	struct Known **known; /* [nop+1] order_known of ops, made on demand */
	/* numbers that are kept, by hash; those that a state gets next, sorted; memory for all it has */
	const OrderBounds **place;
	Bound *next_bound, *all;
	int nplace, nkept, nnext, nextcap, nall;
	States *spare; /* memory of those that are done with */
	int nspare, sparecap;
	Prove prove;      /* for tables of who holds what */
	bool ok;
	bool blind;       /* numbers of slots are not known: what depends on them is not judged */
	bool engines;     /* something reads shared memory as the asynchronous proxy does */
	uint8_t *roles;   /* [nval+1] of a shared tile: bit r: role r has views of it */
	PathWalk follow;    /* whose slots they are */
	uint8_t *wanted;  /* [nval+1] scalars that places are made of */
	const Op **next;  /* [nop+1] the next op of its block that touches or orders memory, or has regions */
	int16_t **owner[2];  /* [nop+1] who moves each element, of the target and of what is found */
	int64_t *bytes;   /* [nval+1] of a shared tile */
	int64_t steps;    /* left */
	size_t held;      /* bytes of the arena when the pass began */
	bool vague;       /* a number was asked for that is made of a slot's whose number is not known */
	/* the access that the walk began with, and the numbers that slots had there */
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
/* Are x elements from 0 on and y elements from gap on apart, whatever gap is? */
bool sum_apart(Order *w, const OrderSum *gap, int64_t x, int64_t y);
/* All that it can be. */
void sum_range(Order *w, const OrderSum *x, int64_t *lo, int64_t *hi);
/* Scalar v in state s. */
OrderSum order_value(Order *w, const OrderState *s, const Val *v);
/* Is v what it was where the walk began? */
bool order_same(const Order *w, const OrderState *s, const Val *v, int depth);

/* ---- memory_order_state.c ---- */

/* What scalar v is in state s, if it is another one than where the walk began; NULL: it is not. */
const OrderSum *order_bound(const OrderState *s, const Val *v);
/* v is to be bound to `is`, with others, when order_bind is called. */
void order_bind_next(Order *w, const Val *v, OrderSum is);
void order_bind(Order *w, OrderState *s);
/* Of `to`, those that places are made of get what `from` is in state s. */
void order_hand_over(Order *w, OrderState *s, Val *const *to, Val *const *from, int n);
/* The turn of the loop that state s is in ends. */
void order_turn_over(Order *w, OrderState *s, const Op *loop);
/* None, with memory of some that were dropped. */
States order_no_states(Order *w);
void order_drop(Order *w, States *s);
void order_push(Order *w, States *to, const OrderState *s);
void order_push_all(Order *w, States *to, const States *from);

/* ---- memory_order_iteration.c ---- */

/* What the branches and loops say that o stands in. */
const struct Known *order_known(Order *w, const Op *o);
/* A loop's condition in front of its first turn or another one, in state s: may there be a turn, may
 * there be none? */
void order_ask(Order *w, const OrderState *s, const Op *loop, bool first, bool *turn, bool *none);
/* In front of the loop. */
void order_enter(Order *w, OrderState *s, const Op *loop);
/* Another turn than the one that the state is in. */
void order_next_turn(Order *w, OrderState *s, const Op *loop);

/* ---- memory_order_paths.c ---- */

/* From op `from` on to the end of its block. */
void order_walk(Order *w, States *now, const Op *from);
/* In front of the loop's condition in state s: behind the loop, or in front of a turn of it, or both. */
void order_part_ways(Order *w, const OrderState *s, const Op *loop, bool first, States *heads, States *behind);
/* In front of turns of the loop, in those states: what is behind it. */
void order_walk_turns(Order *w, States *heads, const Op *loop, States *behind);
/* Does the loop have turns for the blocks of the grid that a persistent one takes? */
bool order_is_of_blocks(const Op *loop);
bool order_is_tensor(const OrderTouch *t);
/* Does o touch or order memory, or have regions? */
bool order_matters(Order *w, const Op *o);
/* A kernel of so many ways that their states take too much memory is not judged to its end. */
bool order_is_full(const Order *w);
/* Is o an update by which blocks hand memory on, with the fences of one? */
bool order_is_signal(const Op *o);
/* What the walk began with is not judged; the first is told. */
void order_unjudged(Order *w, Gap why);

/* ---- memory_order_overlap.c ---- */

enum { TOUCHES = 4 };
/* What o touches of memory that the kernel writes; not what has its order from a barrier in memory. */
int order_touches(Order *w, const Op *o, OrderTouch *t);
/* Where the access is that the walk begins with. */
void order_begin(Order *w);
/* May what the walk began with and t, in state s, be in one byte, by different threads if `lanes`? */
bool order_meets(Order *w, const OrderState *s, const OrderTouch *t, bool lanes);

/* ---- block_handoff.c ---- */

/* What blocks hand on goes by such updates: a violation where one is none (block_handoff.c). */
void order_signals(Order *w);
#endif
