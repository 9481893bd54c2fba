/* error_bound_internal.h - declares what kernel_bound.c (structure of the kernel) and the per-op rules
 * share. */
#ifndef HEXC_ERROR_BOUND_INTERNAL_H
#define HEXC_ERROR_BOUND_INTERNAL_H
#include "lib/error_bound/error_bound.h"

/* For memory that floats are added to: the memory that holds its BOUND_* per element. */
typedef struct BoundSums {
	Val *at[BOUND_SUMS];
} BoundSums;

/* State of the rewriting of one kernel. */
typedef struct Twin {
	Kernel *from, *to;
	Arena *a;
	Block *at;   /* insertion point */
	Val **val;   /* by value id of `from`: its copy */
	Val **err;   /* by value id: its bound; NULL: exact. For memory: the memory that holds the bounds */
	Val **unsure; /* by value id, for views: infinite where they may select another element; NULL:
	               * nowhere */
	BoundSums **sums; /* by value id, for memory that floats are added to, and views of it */
	Val *doubt, *cell[BOUND_CELLS]; /* the tensor of BOUND_CELLS, and its indices */
	BoundOps *ops;
	const Op *now; /* the op of `from` being rewritten */
	/* by id of a shared tile, or of an integer tile that a loop or if returns: its bounds are tracked;
	 * they must be tracked in the next attempt, because this one already assumed exact results */
	bool *marked, *wanted;
	bool missed;  /* some are wanted that are not marked */
	bool failed; /* no bound is known */
} Twin;

/* One op: the copy's operands and result, and the operands' bounds. */
typedef struct Site {
	const Op *o;
	Val *x[3], *e[3], *r;
} Site;

/* Rules by column `bound` of ops.def. Return the bound of the copy's result; NULL: exact, or no result.
 * For ops with regions, and for yield, the rule creates the copy and sets the bounds of its results. */
typedef Val *BoundFn(Twin *t, const Site *s);
#define OP_BOUND(name, rule) BoundFn bound_of_##rule;
#include "hexc/ir/ops.def"

Val *bound_val(const Twin *t, const Val *v); /* Returns v's copy. */
Val *bound_or_zero(Twin *t, const Val *v);   /* Returns v's bound as a value: 0 if v is exact. */
void bound_want(Twin *t, const Val *v);      /* Requests that v's bounds are tracked. */
Type bound_type(const Type *t);              /* Returns the f64 type of that shape, without a layout. */

/* Atomic updates (atomic.c): bounds what store o updates. Returns true for a plain store, whose bounds the
 * caller must store. */
bool bound_update(Twin *t, const Op *o);
/* Does o add floats to a shared tile in an unspecified order? */
bool bound_sums_shared(const Op *o);

/* Control flow or an element index depends on rounded data (control_dependence.c): if e > 0 it may differ,
 * and no bound of this run is valid. e NULL: exact. */
void bound_doubt(Twin *t, Val *e);
/* Records that the op loses the bound e of its result although its operands have bounds. */
void bound_loses(Twin *t, const Site *s, Val *e);
void bound_doubt_param(Twin *t, Param *p); /* Declares the tensor of BOUND_CELLS. */
void bound_doubt_size(Twin *t);            /* Defines its size at t->at, the start of the body. */
void bound_unsure(Twin *t, const Op *view); /* Sets t->unsure of a view. */
/* Is s the index of a largest or smallest element? Sets *e to its bound: the distance to other
 * candidates. */
bool bound_arg(Twin *t, const Site *s, Val **e);

/* Inserts an op at t->at with a result of that type; returns the result. */
Val *bound_op(Twin *t, OpCode code, int nin, Val *const *in, Type type);
/* Rearranges or masks x, an f64 tile, as o does its first operand; masked elements become 0. */
Val *bound_moved(Twin *t, const Op *o, Val *x);
/* f64 arithmetic at t->at, on tiles or scalars of equal shape */
Val *bound_op1(Twin *t, OpCode code, Val *x);
Val *bound_op2(Twin *t, OpCode code, Val *x, Val *y);
/* Returns the constant c in x's shape. */
Val *bound_const(Twin *t, const Val *x, double c);
/* Inserts an op with `nin` operands and a result of type d with the last operand's shape. */
Val *bound_opn(Twin *t, OpCode code, int nin, Val *const *in, DType d);
Val *bound_f64(Twin *t, Val *x); /* Casts x to f64. */
Val *bound_cmp(Twin *t, OpCode code, Val *x, Val *y); /* result: bool */
Val *bound_where(Twin *t, Val *c, Val *x, Val *y);
Val *bound_if_positive(Twin *t, Val *x, Val *y); /* Returns y where x > 0 or NaN, else 0. */
Val *bound_add(Twin *t, Val *a, Val *b); /* Adds the bounds that are not NULL; returns NULL if both are. */
/* Adds the rounding of both executions to the bound e of an exact result; NULL stays NULL. */
Val *bound_rounded(Twin *t, const Site *s, Val *e);
bool bound_is_float(const Val *v);
double bound_roundoff(DType d); /* Returns the unit roundoff of a float type. */
/* Returns a number up to which sums of magnitudes of integers are exact in any order. */
double bound_integers(DType d);
double bound_smallest(DType d, bool normal); /* Returns the smallest positive, or smallest normal, number. */

/* Bounds a select that names the function of its third operand that its second operand is
 * (library_functions.c). */
Val *bound_known(Twin *t, const Site *s);

/* Sums (sum.c) */
/* Returns the distance of float x from an integer; infinite for infinities and NaN. */
Val *bound_fraction(Twin *t, Val *x);
Val *bound_reduce(Twin *t, OpCode code, Val *x, int dim); /* Reduces an f64 tile. */
/* Bounds the dot of x[0] and x[1], tiles in registers, accumulated onto x[2]. */
Val *bound_product(Twin *t, const Site *s);
/* Bounds op s, which adds the result of reduction `sum` to a loop-carried value, in any order. */
Val *bound_late(Twin *t, const Site *s, const Op *sum);
Val *bound_broadcast_to(Twin *t, Val *x, const Val *like); /* x broadcast to the shape of `like` */

/* Formulas for functions with a Twin *t and a Site *s. */
#define ADD(x, y) bound_op2(t, O_add, x, y)
#define SUB(x, y) bound_op2(t, O_sub, x, y)
#define MUL(x, y) bound_op2(t, O_mul, x, y)
#define DIV(x, y) bound_op2(t, O_div, x, y)
#define MAX(x, y) bound_op2(t, O_max, x, y)
#define MIN(x, y) bound_op2(t, O_min, x, y)
#define ABS(x) bound_op1(t, O_abs, x)
#define NUM(c) bound_const(t, s->r, c)
#endif
