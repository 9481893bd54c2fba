/* address.h - declares the addresses and bounds of the elements that the threads of one memory op access. */
#ifndef HEXC_ADDRESS_H
#define HEXC_ADDRESS_H
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/induction.h"

/* Cached positions: fragments of mma alternate between two rows. */
enum { ACCESS_VISITS = 2 };

/* The addresses of one access op's elements: layout `l` (tile coordinates -> lane, warp, reg) over a view
 * of a tensor or alloc. */
typedef struct Access Access;
struct Access {
	Codegen *g;
	const Layout *l;
	Space space;
	DType dtype;
	Val *root;
	const Type *whole;         /* the type that dims refer to: the tensor, the tile or a reshape of it */
	int rank, root_rank;
	int dim[DIM_MAX];          /* dims of the root, by dim of the view */
	int64_t step[DIM_MAX];     /* of root dims, between adjacent elements of the view */
	struct Start {             /* of the view in root dims: sum of values plus a constant */
		LV var;            /* i64 or NULL */
		int64_t mult;      /* var % mult == 0; 0 without var */
		int64_t lo, hi;    /* bounds of var; lo of several: -1 or 0 */
		int64_t add;
		int depth;         /* loop depth of the deepest value */
		bool big;          /* sums with it may overflow */
		InductionVar turn;       /* global: var as an induction variable of the innermost loop */
		LV steady, rest; /* global, in a loop: var in two terms, the first computed before the loop */
	} start[DIM_MAX];
	LV lane[DIM_MAX];          /* lane_index by view dim */
	/* global */
	LV base;                   /* i64 address of coordinate 0 of this thread */
	LV elems;                  /* types below 8 bits: i64 element offset; base is the tensor's start */
	int64_t fixed;             /* elements: constant starts */
	bool below;                /* terms of an offset may add up to a negative number */
	struct Visit {             /* the last instances requested, the most recent first */
		int64_t index[DIM_MAX];
		LV at;             /* base or elems plus run-time strides; NULL: none yet */
	} visit[ACCESS_VISITS];
	LV stride[DIM_MAX];        /* i64, by root dim; NULL: constant cstride */
	int64_t cstride[DIM_MAX];
	/* i32, by view dim: the tensor's end and start, relative to this thread's coordinate; NULL: no
	 * check */
	LV rem[DIM_MAX], low[DIM_MAX];
	/* i32, by view dim: the tensor index of this thread's coordinate 0, and the tensor's end, if both
	 * ends may be exceeded and 32 bits suffice; NULL: there is rem */
	LV at[DIM_MAX], size[DIM_MAX];
	struct Limit { /* by view dim, for induction-variable starts: c is in bounds if var < size - c */
		LV var, size;      /* i64; NULL: there is rem */
		LV from;           /* i64: and if var >= from - c; NULL: it always is */
	} limit[DIM_MAX];
	int pairs;                 /* register pairs used by limits */
	int64_t within[DIM_MAX];   /* by view dim: the view's end if it is a constant; 0: no check */
	LV inside;                 /* i1: indices of dropped dims are in bounds; NULL: always */
	int gather, gathers;       /* first gathered view dim, -1: none; number of gathered dims */
	Val *index[DIM_MAX];       /* by root dim: the index tile, NULL: none */
	/* shared: element offset = uni + sw(lanes ^ constant) */
	const Layout *mem;
	int64_t offset;            /* bytes from the start of the block's shared memory */
	bool of_team;              /* .. for consumer group 0, the others' follow */
	bool general;              /* computed in full for each instance */
	bool split;                /* types below 8 bits: uni may not be a multiple of a byte */
	LV uni, lanes;             /* i32; `lanes` not yet swizzled */
	LV uni_bytes;              /* of uni, unless split */
	uint64_t bits;             /* bits that `lanes` may have; ~0: unknown */
	struct Memo {
		int64_t key[DIM_MAX + 1];
		int nkey;
		LV v;
	} *memo;
	int nmemo, memo_cap;
};

/* `view`: an S_global or S_shared value; the builder must be at the op. */
Access *access_new(Codegen *g, const Layout *l, Val *view);
/* Returns the access to elements of type d of a staging tile. */
Access *access_staging(Codegen *g, const Staging *tile, const Layout *l, DType d);
/* Returns the byte address (i64 global, i32 shared) of the element at `index` (of lane 0) for this thread
 * as *base + *imm. For types under 8 bits *shift (may be NULL) receives the bit in that byte, as i32. */
void access_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
/* The same without the tile's swizzle: the start of wgmma descriptors and TMA boxes. */
Access *access_plain(Codegen *g, const Layout *l, Val *view);
/* Resolves any view, for its start only. */
Access *access_view(Codegen *g, const Layout *l, Val *view);
/* Returns the start of the view along dim rd of its root, i64. */
LV access_start(Access *x, int rd);
/* Returns the shared address of the block's dynamic memory, i32. */
LV smem_base(Codegen *g);
/* For an op with many instances: conditions common to all of a thread's accesses are evaluated once; where
 * they are false, a coordinate that is compared in 32 bits anyway is set past the end. */
void access_join_edges(Access *x);
/* For an op with many instances: compares with the bounds at their uses. Loop-invariant comparisons would
 * otherwise all be hoisted, and there are only seven predicate registers. */
void access_pin_edges(Access *x);
/* Makes all elements of `view` out of bounds where `cond` is false. */
void access_guard(Access *x, const Op *view, Val *cond);
/* Returns an i1: the element is inside the tensor; NULL if it always is. */
LV access_inside(Access *x, const int64_t *index);
/* Is view dim d gathered? */
bool access_gathers(const Access *x, int d);

/* ---- between address*.c --------------------------------------------------- */

/* Marks the dims of a chain of views that may be out of the tensor's bounds. `dim` maps the view's dims to
 * the root's. */
bool access_small(Fact f); /* is the range small enough that sums do not overflow? */
void access_edges(Access *x, const Op *view, bool outermost, int *dim);
/* May the view access elements before the tensor's start along a dim with this start? */
bool access_before(const struct Start *s);
/* Records the dims along which the view may exceed its source view. */
void access_within(Access *x, const Op *view);
LV memo_find(const Access *x, int n, const int64_t *key);
void memo_add(Access *x, int n, const int64_t *key, LV v);
/* Convert elements (i32 or i64): to bytes, if they are whole bytes; to the first bit in the byte. */
LV access_bytes(Access *x, LLVMBuilderRef b, LV elems);
LV access_bit(Access *x, LLVMBuilderRef b, LV elems);
void global_new(Access *x);
void global_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
/* Returns the index along root dim rd at `index`, i64. */
LV access_index(Access *x, int rd, const int64_t *index);
/* Returns the gathered indices' part of the address at `index`, in elements; NULL if there is none. */
LV global_index(Access *x, const int64_t *index);
void shared_new(Access *x);
void shared_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
#endif
