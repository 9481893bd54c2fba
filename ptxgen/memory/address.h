/* address.h - where the threads of one memory op find their elements. */
#ifndef HEXC_ADDRESS_H
#define HEXC_ADDRESS_H
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/induction.h"

/* Fragments of mma go back and forth between two rows. */
enum { ACCESS_VISITS = 2 };

/* How the threads of one access op reach their elements: layout `l` (tile coordinates -> lane,
 * warp, reg) over a view of a tensor or alloc. */
typedef struct Access Access;
struct Access {
	Codegen *g;
	const Layout *l;
	Space space;
	DType dtype;
	Val *root;
	const Type *whole;         /* what dims count in: the tensor, the tile or a reshape of it */
	int rank, root_rank;
	int dim[DIM_MAX];          /* dims of the root behind the dims of the view */
	int64_t step[DIM_MAX];     /* of root dims, between neighbours of the view */
	struct Start {             /* of the view in root dims: sum of values plus a constant */
		LV var;            /* i64 or NULL */
		int64_t mult;      /* var % mult == 0; 0 without var */
		int64_t lo, hi;    /* var is at least and at most; lo of several: -1 or 0 */
		int64_t add;
		int depth;         /* loops around the deepest value */
		bool big;          /* sums with it may wrap around */
		InductionVar turn;       /* global: var in the counter of the loop around */
		LV steady, rest;   /* global, in a loop: var in two, of which the first is made in front */
	} start[DIM_MAX];
	LV lane[DIM_MAX];          /* lane_index by view dim */
	/* global */
	LV base;                   /* i64 address of coordinate 0 of this thread */
	LV elems;                  /* types under a byte: i64 element offset; base is the tensor's start */
	int64_t fixed;             /* elements: constant starts */
	bool below;                /* parts of an offset may add up to less than 0 */
	struct Visit {             /* of the instances last asked for, the last one first */
		int64_t index[DIM_MAX];
		LV at;             /* base or elems plus run-time strides; NULL: none yet */
	} visit[ACCESS_VISITS];
	LV stride[DIM_MAX];        /* i64, by root dim; NULL: constant cstride */
	int64_t cstride[DIM_MAX];
	/* i32, by view dim: the tensor's end and start, from this thread's coordinate; NULL: not here */
	LV rem[DIM_MAX], low[DIM_MAX];
	/* i32, by view dim: the index that coordinate 0 of this thread has in the tensor, and the tensor's
	 * end, where both ends may be passed and 32 bits hold them; NULL: there is rem */
	LV at[DIM_MAX], size[DIM_MAX];
	struct Limit {             /* by view dim, where starts move: c is inside if var < size - c */
		LV var, size;      /* i64; NULL: there is rem */
		LV from;           /* i64: and if var >= from - c; NULL: it is */
	} limit[DIM_MAX];
	int pairs;                 /* register pairs that limits have taken */
	int64_t within[DIM_MAX];   /* by view dim: the view's end where that is a constant; 0: not here */
	LV inside;                 /* i1: indices of dropped dims are inside; NULL: yes */
	int gather, gathers;       /* first view dim along indices, -1 none; how many there are */
	Val *index[DIM_MAX];       /* by root dim: their tile, NULL: none */
	/* shared: element offset = uni + sw(lanes ^ constant) */
	const Layout *mem;
	int64_t offset;            /* bytes from the start of the block's shared memory */
	bool of_team;              /* .. for team 0, others have theirs behind it */
	bool general;              /* evaluated in full for each instance */
	bool split;                /* types under a byte: uni may be no whole number of bytes */
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

/* `view`: an S_global or S_shared value; needs the builder at the op. */
Access *access_new(Codegen *g, const Layout *l, Val *view);
/* Elements of type d of a staging tile. */
Access *access_staging(Codegen *g, const Staging *tile, const Layout *l, DType d);
/* Byte address (i64 global, i32 shared) of the element at `index` (of lane 0) for this thread = *base +
 * *imm.  Types under 8 bits: *shift (may be NULL) receives the bit in that byte, as i32. */
void access_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
/* The same as if the tile had no swizzle: where wgmma's descriptors and boxes of maps begin. */
Access *access_plain(Codegen *g, const Layout *l, Val *view);
/* Of any view: where it starts, and nothing else. */
Access *access_view(Codegen *g, const Layout *l, Val *view);
/* i64: where the view starts along dim rd of its root. */
LV access_start(Access *x, int rd);
/* i32: the shared address of the block's dynamic memory. */
LV smem_base(Codegen *g);
/* For an op of many instances: what holds for all of a thread's accesses or for none is asked once, and where
 * it fails a coordinate that is compared in 32 bits anyway is behind the end. */
void access_join_edges(Access *x);
/* For an op of many instances: compare with the edges where they are needed.  Comparisons that do
 * not change in a loop would all be made before it, and there are but seven predicate registers. */
void access_pin_edges(Access *x);
/* Nothing is inside of `view` where `cond` does not hold. */
void access_guard(Access *x, const Op *view, Val *cond);
/* i1: the element is inside the tensor; NULL: always. */
LV access_inside(Access *x, const int64_t *index);
/* Do indices say where the elements of view dim d are? */
bool access_gathers(const Access *x, int d);

/* ---- between access*.c ---------------------------------------------------- */

/* Which dims of the chain of views may reach past the tensor?  `dim` maps the view's dims to the root's. */
bool access_small(Fact f); /* sums of what is at most so large do not wrap around */
void access_edges(Access *x, const Op *view, bool outermost, int *dim);
/* May the view show what is in front of the tensor along a dim that starts so? */
bool access_before(const struct Start *s);
/* Where does the view reach past what it is a view of? */
void access_within(Access *x, const Op *view);
LV memo_find(const Access *x, int n, const int64_t *key);
void memo_add(Access *x, int n, const int64_t *key, LV v);
/* Elements (i32 or i64) to whole bytes, where they are such; to the first bit in the byte. */
LV access_bytes(Access *x, LLVMBuilderRef b, LV elems);
LV access_bit(Access *x, LLVMBuilderRef b, LV elems);
void global_new(Access *x);
void global_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
/* i64: the index into root dim rd at `index`. */
LV access_index(Access *x, int rd, const int64_t *index);
/* Address part of the indices at `index`, in elements; NULL: none. */
LV global_index(Access *x, const int64_t *index);
void shared_new(Access *x);
void shared_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift);
#endif
