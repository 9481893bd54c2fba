/* order.h - between the files of the checker of barriers. */
#ifndef HEXC_PROVE_ORDER_H
#define HEXC_PROVE_ORDER_H
#include "infer/prove/prove.h"
#include "infer/prove/ways.h"

enum { SUM_TERMS = 6 };

/* k[0] * v[0] + .. and something from lo to hi: INT64_MIN and INT64_MAX are no bounds.  The values
 * are those that they were where the walk began. */
typedef struct Sum {
	int n;
	int64_t lo, hi, k[SUM_TERMS];
	const Val *v[SUM_TERMS];
} Sum;

/* A scalar that is another one since the walk began. */
typedef struct Bound {
	const Val *v;
	Sum is;
} Bound;

/* A loop whose turns the walk went on to, so many times. */
typedef struct Turned {
	const Op *loop;
	int times;
} Turned;

/* What is so on one of the ways from the access that the walk began with. */
typedef struct State {
	Bound *bound;
	Turned *turned;
	int nbound, nturned;
	int age;      /* of an asynchronous access: groups closed since its own; OPEN: its own is not */
	bool done;    /* nothing of it is under way: it is as a thread's own */
	bool shown;   /* .. a proxy stands behind it */
	bool told;    /* .. an arrival at a barrier in memory does */
	bool ordered; /* .. a barrier does, but no proxy in front of that */
} State;

typedef struct States {
	State *a;
	int n, cap;
} States;

enum { INNER_MOST = 4 };

/* One memory operand of an op, or its staging tile. */
typedef struct Touch {
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
} Touch;

/* Along the first dim of a tile, whatever shape the others have: n from `at` on. */
typedef struct Stages {
	bool known;
	Sum at;
	int64_t n;
} Stages;

typedef struct Order {
	Kernel *k;
	Prove prove;      /* for tables of who holds what */
	bool ok;
	bool blind;       /* numbers of slots are not known: what depends on them is not judged */
	bool engines;     /* something reads shared memory as the asynchronous proxy does */
	uint8_t *roles;   /* [nval+1] of a shared tile: bit r: role r has views of it */
	Follow follow;    /* whose slots they are */
	uint8_t *wanted;  /* [nval+1] scalars that places are made of */
	const Op **next;  /* [nop+1] the next op of its block that touches or orders memory, or has regions */
	int16_t **owner[2];  /* [nop+1] who moves each element, of the target and of what is found */
	int64_t *bytes;   /* [nval+1] of a shared tile */
	int64_t steps;    /* left */
	size_t held;      /* bytes of the arena when the pass began */
	bool vague;       /* a number was asked for that is made of a slot's whose number is not known */
	/* the access that the walk began with, and the numbers that slots had there */
	Touch from;
	const Way *way;
	Sum start[DIM_MAX];
	bool start_vague;
	Stages stages;
} Order;

Sum sum_const(int64_t c);
Sum sum_between(int64_t lo, int64_t hi);
Sum sum_add(Order *w, Sum x, Sum y, int64_t times);
bool sum_is_const(const Sum *x, int64_t *c);
bool sum_equal(const Sum *x, const Sum *y);
/* All that it can be. */
void sum_range(Order *w, const Sum *x, int64_t *lo, int64_t *hi);
/* Scalar v in state s. */
Sum order_value(Order *w, const State *s, const Val *v);
const Sum *order_bound(const State *s, const Val *v);
/* Is v what it was where the walk began? */
bool order_same(const Order *w, const State *s, const Val *v, int depth);

enum { TOUCHES = 4 };
/* What o touches of memory that the kernel writes; not what has its order from a barrier in memory. */
int order_touches(Order *w, const Op *o, Touch *t);
/* Where the access is that the walk begins with. */
void order_begin(Order *w);
/* May what the walk began with and t, in state s, be in one byte, by different threads if `lanes`? */
bool order_meets(Order *w, const State *s, const Touch *t, bool lanes);

/* Is o an update by which blocks hand memory on, with the fences of one? */
bool order_is_signal(const Op *o);
/* What blocks hand on goes by such updates: a violation where one is none (handed.c). */
void order_signals(Order *w);
#endif
