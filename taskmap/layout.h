/* layout.h - one algebra for layouts and task mappings.
 *
 * A Layout is a function from element indices to coordinates.  Its domain is a list of top-level modes
 * ("dims"); each is a list of iters (extent, stride, axis), FASTEST FIRST (colexicographic, as in CuTe).  A
 * coordinate is one integer per named axis: the sum of digit * stride over the iters of that axis, plus the
 * axis' offset.  Replication iters add further coordinates that hold the same element (Axe, "R").
 *
 *   register tile   dims = tile dims, axes lane/warp/reg: which lane of which warp owns element
 *                   (i0,i1,..) in which register.  An iter of stride 0 on AX_reg (extent > 1) means that
 *                   one register serves all its positions (a broadcast dim).
 *   memory tile     all iters on AX_mem, in elements; a swizzle xors bits of the mem offset
 *   task mapping    dims = task dims, worker axes (lane, warp) and AX_reg = time: worker w does the
 *                   tasks whose coordinate is w, in the order of their reg coordinate
 *   CuTe layout     all iters on AX_mem; nesting kept in `open`/`close`, so it prints as CuTe prints it
 *
 * `lane` is 0..31 within a warp, `warp` counts warps of the block.  Extents need not be powers of two.
 * Every operation that can be infeasible returns bool: false is an answer, not an error. */
#ifndef HEXC_LAYOUT_H
#define HEXC_LAYOUT_H
#include "taskmap/support/support.h"

enum { ITER_MAX = 40, REP_MAX = 8, DIM_MAX = 8, WARP_SIZE = 32 };

/* name, what its coordinates count */
#define AXES(X)                                                                                    \
	X(mem, "elements of memory")                                                               \
	X(reg, "registers of a lane (values), or time")                                            \
	X(lane, "lanes of a warp")                                                                 \
	X(warp, "warps of a block")                                                                \
	X(warpgroup, "warpgroups of a block")                                                      \
	X(block, "blocks of a cluster")                                                            \
	X(cluster, "clusters of the grid")                                                         \
	X(device, "devices")

typedef enum Axis {
#define X(name, help) AX_##name,
	AXES(X)
#undef X
	AX_COUNT
} Axis;

typedef struct Iter {
	int64_t extent; /* >= 1 */
	int64_t stride; /* on `axis`; 0: all digits share one coordinate */
	uint8_t axis;   /* Axis */
	uint8_t open;   /* parentheses opened before this iter, within its dim (nesting below depth 1) */
	uint8_t close;  /* parentheses closed after it */
} Iter;

/* x ^= ((x >> (base+shift)) & (2^bits-1)) << base on the mem offset x, in elements.
 * bits == 0: none.  Same triple as CuTe's Swizzle<bits, base, shift>, shift >= bits or <= -bits. */
typedef struct Swizzle {
	int8_t bits, base, shift;
} Swizzle;

typedef struct Layout {
	int n;                     /* iters used */
	int ndim;                  /* top-level modes; dim d owns it[first[d] .. first[d+1]) */
	int nrep;
	uint8_t first[DIM_MAX + 1];
	bool tuple;                /* prints as (..) even with one dim; CuTe text only */
	Swizzle swizzle;
	Iter it[ITER_MAX];
	Iter rep[REP_MAX];         /* replication: more coordinates, same element */
	int64_t offset[AX_COUNT];
} Layout;

/* A coordinate on every axis. */
typedef struct Coord {
	int64_t at[AX_COUNT];
} Coord;

/* One mode of a dim: the digit index / weight % it->extent of an index. */
typedef struct Digit {
	const Layout *l;
	const Iter *it; /* NULL: no more */
	int at, end;    /* it is l->it[at]; iteration stops at `end` */
	int dim;
	/* positions of the dim per step of the digit; after the last digit of a dim: its extent */
	int64_t weight;
} Digit;

static inline Digit
digit_at(const Layout *l, int dim, int at, int64_t weight)
{
	return (Digit){ l, at < l->first[dim + 1] ? &l->it[at] : NULL, at, l->first[dim + 1], dim, weight };
}

/* Iterates over the digits of a dim, fastest first: for (Digit g = dim_digits(l, d); g.it; digit_next(&g)) */
static inline Digit
dim_digits(const Layout *l, int dim)
{
	return digit_at(l, dim, l->first[dim], 1);
}

/* The same for all dims, dim after dim. */
static inline Digit
layout_digits(const Layout *l)
{
	Digit g = { l, l->n ? l->it : NULL, 0, l->n, 0, 1 };

	while (g.it && l->first[g.dim + 1] == 0)
		g.dim++;
	return g;
}

static inline void
digit_next(Digit *g)
{
	g->weight *= g->it->extent;
	g->it = ++g->at < g->end ? g->it + 1 : NULL;
	for (; g->it && g->at == g->l->first[g->dim + 1]; g->weight = 1)
		g->dim++;
}

/* Returns iter i of n + nrep: those of the dims, then replication. */
static inline const Iter *
layout_iter(const Layout *l, int i)
{
	return i < l->n ? &l->it[i] : &l->rep[i - l->n];
}

/* ---- building and reading (construct.c) ------------------------------------------------------------ */

void layout_init(Layout *l, int ndim);
/* Appends an iter to dim d, slower than the existing ones.  Extent-1 iters are dropped.  Returns false if the
 * table is full. */
bool layout_push(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis);
/* The same, but keeps an iter of extent 1: CuTe's results print them. */
bool layout_push_unit(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis);
/* The same before (faster than) the iters of the dim. */
bool layout_push_front(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis);
/* Appends the iters of dim `from` of x to dim `dim`, or all replication of x: x may not be *l. */
bool layout_push_dim(Layout *l, int dim, const Layout *x, int from);
bool layout_push_reps(Layout *l, const Layout *x);
/* Appends a replication iter: stride must be >= 0; extent 1 and stride 0 add no coordinate and are
 * dropped. */
bool layout_push_rep(Layout *l, int64_t extent, int64_t stride, Axis axis);
/* Builds a memory layout of rows along dim `unit`, with a pitch of `pitch` elements; the other dims are
 * row-major over them. */
void layout_rows(Layout *l, int ndim, const int64_t *shape, int unit, int64_t pitch);
int64_t layout_extent(const Layout *l, int dim);    /* product of the dim's extents */
int64_t layout_extent_on(const Layout *l, int dim, Axis axis); /* of iters on one axis only */
int64_t layout_size(const Layout *l);               /* elements of the domain */
/* Returns the number of coordinates used on an axis, replication included: 1 + the largest coordinate (>= 1).
 * On mem under a swizzle: rounded up to whole blocks that the xor permutes. */
int64_t layout_cosize(const Layout *l, Axis axis);
bool layout_is_mem(const Layout *l);                /* every iter on mem */
bool layout_swizzle_matters(const Layout *l);       /* false: the swizzle changes no offset */
/* Do size and coordinates stay within +-LAYOUT_FAR, so that evaluating cannot overflow?  True of all that
 * layout_parse returns. */
bool layout_in_range(const Layout *l);
#define LAYOUT_FAR ((int64_t)1 << 60)

/* ---- text (print_parse.c) --------------------------------------------------------------------------- */

const char *axis_name(Axis a);
/* Prints CuTe notation if every iter is on mem, else iters as stride@axis:
 * ((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg)).  Replication follows as +[4:1@lane], offsets as
 * +5@warp; a swizzle precedes as "Sw<3,3,3> o ".  layout_parse reads all of it back. */
const char *layout_print(Arena *a, const Layout *l);
/* Returns false on failure, with the byte of the syntax error in *at. */
bool layout_parse(Layout *l, const char *s, size_t n, size_t *at);

/* ---- evaluation (evaluate.c) ----------------------------------------------------------------------- */

/* Returns the coordinate of the element at index[0..ndim): swizzle applied to mem, first replica. */
Coord layout_at(const Layout *l, const int64_t *index);
/* The same for a flat colexicographic index. */
Coord layout_at_index(const Layout *l, int64_t index);
/* Inverse of layout_at, for layouts whose iters are mixed-radix on their axes (every register layout is): the
 * index of the element at *p.  Digits not determined by the coordinate (stride 0) are 0. */
void layout_index(const Layout *l, const Coord *p, int64_t *index);
/* Returns what index c of one dim adds to the coordinate, before offset and swizzle.  The last digit takes
 * what is left of c. */
Coord layout_dim_at(const Layout *l, int dim, int64_t c);
int64_t swizzle_apply(Swizzle s, int64_t x);
/* Convert between row-major element number (last dim fastest) and index of a shape. */
void row_major_coord(int ndim, const int64_t *shape, int64_t i, int64_t *index);
int64_t row_major_index(int ndim, const int64_t *shape, const int64_t *index);

/* ---- replication (replication.c) -------------------------------------------------------------------- */

int64_t layout_replicas(const Layout *l);                 /* coordinates per element */
int64_t layout_replicas_on(const Layout *l, Axis axis);   /* those that differ on this axis */
/* Moves p, the coordinate of a first replica, to replica i of layout_replicas. */
void layout_replica(const Layout *l, int64_t i, Coord *p);
/* Is this lane of this warp the first of the threads that own the same elements, that is, the one that
 * acts? */
bool layout_first_replica(const Layout *l, int64_t lane, int64_t warp);

/* ---- digits (modes.c) --------------------------------------------------------------------------- */

/* Returns how many positions 0, 1, .. of a dim are at coordinates 0, 1, .. of the axis, relative to the
 * first. */
int64_t layout_run(const Layout *l, int dim, Axis axis);

/* position = low digit + low * (lane digit + lanes * high digit): registers, then lanes with stride `stride`,
 * then registers again. */
typedef struct DimLine {
	int64_t low, lanes, high;
	int64_t stride; /* 1 where lanes is 1 */
} DimLine;

/* Returns false if the dim has another structure, or one register represents several positions. */
bool layout_line(const Layout *l, int dim, DimLine *out);
/* Extracts the digits of a dim on one axis as the only dim: layout_at_index enumerates their coordinates,
 * colexicographic. */
void layout_project(Layout *out, const Layout *l, int dim, Axis axis);
/* Lists the iters on the axis (extent > 1, stride > 0) by ascending stride, at most ITER_MAX; returns their
 * number. */
int layout_by_stride(const Layout *l, Axis axis, int *order);
/* Splits an iter of dim `d` at digit weight `w` (a product of extents), keeping existing boundaries.  Returns
 * false if w does not divide; *l is then unchanged. */
bool layout_split(Layout *l, int dim, int64_t weight);
/* Splits the digits of a dim at the same weights in both layouts (common refinement); bits: even ones to
 * extent 2.  Returns false, with both partly split, if boundaries do not divide each other. */
bool layout_refine(Layout *a, Layout *b, int dim, bool bits);
/* Returns the digit of a dim that starts at weight w; it is NULL if there is none. */
Digit layout_digit(const Layout *l, int dim, int64_t weight);
/* Exchanges axis and stride of the digits that start at weight wa of dim a and wb of dim b.  Returns false if
 * there are none, or their extents differ. */
bool layout_trade(Layout *l, int a, int64_t wa, int b, int64_t wb);
/* Exchanges the digits of weight lo .. mid with those of weight mid .. hi, keeping the order within each. */
bool layout_swap_digits(Layout *l, int dim, int64_t lo, int64_t mid, int64_t hi);

/* ---- normal form and equality (canonicalize.c) ------------------------------------------------------- */

/* Merges adjacent iters of a dim that continue each other, drops extent 1, sorts replication. */
void layout_canon(Layout *l);
/* Are they equal as functions, with equal replication?  Compares canonical forms first, evaluates if that is
 * inconclusive. */
bool layout_equal(const Layout *a, const Layout *b);
/* Are they equal up to a renaming of registers: do the same lanes and warps own the same elements? */
bool layout_equal_threads(const Layout *a, const Layout *b);
/* Do they consist of the same iters?  Identical layouts have equal hashes. */
bool layout_identical(const Layout *a, const Layout *b);
uint64_t layout_hash(const Layout *l);

/* ---- register numbers (axis_strides.c) -------------------------------------------------------------- */

/* Renumbers registers: reg strides become compact in the order of the iters (dim order[0] first, fastest iter
 * first), except for stride-0 ones. */
void layout_compact_regs(Layout *l, const int *order);
/* The same in the current order of registers: gaps close.  Both number from 0 (the reg offset is cleared). */
void layout_squeeze_regs(Layout *l);
/* The same, with the first digits of dims dim[0], .. dim[n-1] numbered before all others, in that order. */
void layout_regs_first(Layout *l, int n, const int *dim);
/* Multiplies strides on an axis by `by`, which leaves gaps between the coordinates. */
void layout_scale(Layout *l, Axis axis, int64_t by);

/* ---- surgery on dims (dim_ops.c): what transpose, reduce, broadcast, slice do to a tile's layout -- */

void layout_permute(Layout *out, const Layout *l, const int *perm);     /* out dim i = l dim perm[i] */
/* Dim d becomes extent 1: its lane/warp iters become replication, its registers are dropped (the other
 * register indices are compacted, order kept). */
bool layout_reduce(Layout *out, const Layout *l, int dim);
/* The same for the digits of dim d below `extent` only; registers keep their indices. */
bool layout_reduce_low(Layout *out, const Layout *l, int dim, int64_t extent);
/* Dim d of extent 1 gets `extent`, such that reducing it gives `small` again: replicas of small become digits
 * of the dim as far as they divide it, the rest are separate registers. */
bool layout_broadcast(Layout *out, const Layout *small, int dim, int64_t extent);
bool layout_drop_dim(Layout *out, const Layout *l, int dim);            /* extent must be 1 */
bool layout_insert_dim(Layout *out, const Layout *l, int dim);          /* new dim of extent 1 */
/* Computes the layout of one slice of `extent` positions of dim d, if the slices are in separate registers:
 * all slices have this layout.  Register indices are compacted, order kept. */
bool layout_slice(Layout *out, const Layout *l, int dim, int64_t extent);

/* ---- other shapes (reshape.c) --------------------------------------------------------------------- */

/* Computes the layout of the same elements in row-major order under another shape; false if an iter would
 * straddle a new dim that it does not divide, or the sizes differ. */
bool layout_reshape(Layout *out, const Layout *l, int ndim, const int64_t *shape);

/* ---- task mappings (task_mapping.c)
 * -------------------------------------------------------------------------
 *
 * A task mapping is built from the inside out, as Hidet's product of spatial(..) and repeat(..) read from the
 * right: each step repeats the mapping so far n times along one dim.  Workers (lanes, warps) and times
 * (AX_reg) of a step have strides beyond those that the preceding steps use. */

/* Assigns n workers along dim d, one to each position. */
bool mapping_spatial(Layout *m, int dim, int64_t n, Axis workers);
/* Repeats n times along dim d, sequentially. */
bool mapping_repeat(Layout *m, int dim, int64_t n);
/* Returns the gcd of `tasks` and the number of workers, of `all`, that the steps so far leave unused. */
int64_t mapping_workers(const Layout *m, int64_t tasks, int64_t all, Axis workers);
/* Lets the remaining ones of `all` workers repeat what the others do. */
bool mapping_share(Layout *m, int64_t all, Axis workers);
/* Prints "repeat(4,1) warps(4,1) lanes(4,8) repeat(1,8)", outermost first.  warps(..) and lanes(..) are
 * spatial; n workers that do the same are "copies(2 lanes)".  Returns NULL if the layout is no such
 * composition. */
const char *mapping_print(Arena *a, const Layout *m);
#endif
