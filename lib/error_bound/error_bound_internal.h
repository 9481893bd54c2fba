/* error_bound_internal.h - what kernel_bound.c (structure of the kernel) and bound/rule.c (one value) share. */
#ifndef HEXC_ERROR_BOUND_INTERNAL_H
#define HEXC_ERROR_BOUND_INTERNAL_H
#include "lib/error_bound/error_bound.h"

/* Of memory that floats are added to: memory that holds its BOUND_* by element. */
typedef struct BoundSums {
	Val *at[BOUND_SUMS];
} BoundSums;

/* The rewriting of one kernel. */
typedef struct Twin {
	Kernel *from, *to;
	Arena *a;
	Block *at;   /* where ops are added */
	Val **val;   /* by id of a value of `from`: its copy */
	Val **err;   /* likewise: its bound; NULL: exact.  Of memory: the memory that holds the bounds */
	Val **unsure; /* likewise, of views: infinite where they may be of another element; NULL: nowhere */
	BoundSums **sums; /* likewise, of such memory and views of it */
	Val *doubt, *cell[BOUND_CELLS]; /* the tensor of BOUND_CELLS, and the indices */
	BoundOps *ops;
	const Op *now; /* of `from`, being rewritten */
	/* by id of a shared tile, or an integer tile that a loop or if gives: its bounds are kept; are to be
	 * in the next try, as in this one results are counted already */
	bool *marked, *wanted;
	bool missed;  /* some are wanted that are not marked */
	bool failed; /* no bound is known */
} Twin;

/* The copy's operands and result of one op, and the operands' bounds. */
typedef struct Site {
	const Op *o;
	Val *x[3], *e[3], *r;
} Site;

/* The rules: column `bound` of ops.def.  The bound of the copy's result; NULL: exact, or there is none.  Ops
 * with regions, and yield, have no copy yet: they make it, and set the bounds of their results. */
typedef Val *BoundFn(Twin *t, const Site *s);
#define OP_BOUND(name, rule) BoundFn bound_of_##rule;
#include "hexc/ir/ops.def"

Val *bound_val(const Twin *t, const Val *v); /* its copy */
Val *bound_or_zero(Twin *t, const Val *v);   /* its bound as a value: 0 when it is exact */
void bound_want(Twin *t, const Val *v);      /* its bounds are to be kept */
Type bound_type(const Type *t);              /* the same of f64, with no layout */

/* Atomic updates (bound/atomic.c): the bounds of what store o updates.  True: a plain store, whose bounds are
 * yet to be stored. */
bool bound_update(Twin *t, const Op *o);
/* Does o add floats to a shared tile, in an order that nobody knows? */
bool bound_sums_shared(const Op *o);

/* Where the program goes, or which element it means, depends on rounded data (bound/doubt.c).  When e > 0
 * that may be another: then no bound of this run counts.  e NULL: it is exact. */
void bound_doubt(Twin *t, Val *e);
/* Ops that lose the bound of an element, whose operands have one, are told: e is of the result. */
void bound_loses(Twin *t, const Site *s, Val *e);
void bound_doubt_param(Twin *t, Param *p); /* the cell that says so */
void bound_doubt_size(Twin *t);            /* its size, at t->at: the start of the body */
void bound_unsure(Twin *t, const Op *view); /* t->unsure of a view */
/* Is s the place of a largest or smallest element?  Its bound: how far away others may be as good. */
bool bound_arg(Twin *t, const Site *s, Val **e);

/* f64 arithmetic at t->at, on tiles or scalars of one shape */
Val *bound_op1(Twin *t, OpCode code, Val *x);
Val *bound_op2(Twin *t, OpCode code, Val *x, Val *y);
/* The number c in x's shape. */
Val *bound_const(Twin *t, const Val *x, double c);
/* An op of `nin` operands with a result of the last one's shape and type d. */
Val *bound_opn(Twin *t, OpCode code, int nin, Val *const *in, DType d);
Val *bound_f64(Twin *t, Val *x); /* x as f64 */
Val *bound_cmp(Twin *t, OpCode code, Val *x, Val *y); /* bool */
Val *bound_where(Twin *t, Val *c, Val *x, Val *y);
Val *bound_if_positive(Twin *t, Val *x, Val *y); /* y where x > 0, else 0 */
Val *bound_add(Twin *t, Val *a, Val *b); /* the sum of those bounds that are there; NULL: none */
/* The bound e of an exact result, and the rounding of both executions on top; NULL stays NULL. */
Val *bound_rounded(Twin *t, const Site *s, Val *e);
bool bound_is_float(const Val *v);
double bound_roundoff(DType d); /* unit roundoff of a float type */
double bound_smallest(DType d, bool normal); /* smallest positive number, smallest normal one */

/* Of a select that says what function of its third operand the second one is (bound/known.c). */
Val *bound_known(Twin *t, const Site *s);

/* Sums (bound/sum.c) */
Val *bound_fraction(Twin *t, Val *x); /* how far x is from an integer */
Val *bound_reduce(Twin *t, OpCode code, Val *x, int dim); /* a reduction of an f64 tile */
/* Of the product of x[0] and x[1], tiles in registers, added to x[2]. */
Val *bound_product(Twin *t, const Site *s);
/* Op s adds the sum that op `sum` gives to what a loop carries, in whatever order. */
Val *bound_late(Twin *t, const Site *s, const Op *sum);
Val *bound_broadcast_to(Twin *t, Val *x, const Val *like); /* x broadcast to the shape of `like` */

/* Formulas, in functions that have a Twin *t and a Site *s. */
#define ADD(x, y) bound_op2(t, O_add, x, y)
#define SUB(x, y) bound_op2(t, O_sub, x, y)
#define MUL(x, y) bound_op2(t, O_mul, x, y)
#define DIV(x, y) bound_op2(t, O_div, x, y)
#define MAX(x, y) bound_op2(t, O_max, x, y)
#define MIN(x, y) bound_op2(t, O_min, x, y)
#define ABS(x) bound_op1(t, O_abs, x)
#define NUM(c) bound_const(t, s->r, c)
#endif
