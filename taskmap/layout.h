/* layout.h - one algebra for layouts and task mappings.
 *
 * A Layout is a function from coordinates to places.  Its domain is a list of top-level modes ("dims");
 * each is a list of iters (extent, stride, axis), FASTEST FIRST (colexicographic, as in CuTe).  The
 * place is one integer per named axis: the sum of digit * stride over the iters of that axis, plus the
 * axis' offset.  Replication iters add further places that hold the same element (Axe, "R").
 *
 *   register tile   dims = tile dims, axes lane/warp/reg: which lane of which warp holds element
 *                   (i0,i1,..) in which register.  An iter of stride 0 on AX_reg (extent > 1) says that
 *                   one register serves all its positions (a broadcast dim).
 *   memory tile     all iters on AX_mem, in elements; a swizzle xors bits of the mem offset
 *   task mapping    dims = task dims, worker axes (lane, warp) and AX_reg = time: worker w does the
 *                   tasks whose place is w, in the order of their reg coordinate
 *   CuTe layout     all iters on AX_mem; nesting kept in `open`/`close`, so it prints as CuTe prints it
 *
 * `lane` is 0..31 within a warp, `warp` counts warps of the block.  Extents need not be powers of two.
 * Every operation that can be infeasible returns bool: false is an answer, not an error. */
#ifndef HEXC_LAYOUT_H
#define HEXC_LAYOUT_H
#include "taskmap/base.h"

enum { ITER_MAX = 40, REP_MAX = 8, DIM_MAX = 8, WARP_SIZE = 32 };

/* name, what it counts */
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
	int64_t stride; /* on `axis`; 0: all digits share one place */
	uint8_t axis;   /* Axis */
	uint8_t open;   /* parentheses opened before this iter, inside its dim (nesting below depth 1) */
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
	Iter rep[REP_MAX];         /* replication: extra places, same element */
	int64_t offset[AX_COUNT];
} Layout;

typedef struct Place {
	int64_t at[AX_COUNT];
} Place;

/* ---- building and reading (build.c) ------------------------------------------------------------ */

void layout_init(Layout *l, int ndim);
/* Append an iter to dim d behind (slower than) the ones it has.  Extent-1 iters are dropped.
 * False when the table is full. */
bool layout_push(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis);
/* The same, keeping an iter of extent 1: CuTe's results print them. */
bool layout_push_unit(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis);
/* Replication iters have stride >= 0; extent 1 and stride 0 add no place and are dropped. */
bool layout_push_rep(Layout *l, int64_t extent, int64_t stride, Axis axis);
/* Row-major (last dim contiguous) memory layout of a shape. */
void layout_row_major(Layout *l, int ndim, const int64_t *shape);
int64_t layout_extent(const Layout *l, int dim);    /* product of the dim's extents */
int64_t layout_extent_on(const Layout *l, int dim, Axis axis); /* of those on one axis */
int64_t layout_size(const Layout *l);               /* elements of the domain */
/* Places used on an axis, replication included: 1 + the largest coordinate there (>= 1).  On mem under
 * a swizzle: rounded up to whole blocks of those that the xor permutes. */
int64_t layout_cosize(const Layout *l, Axis axis);
bool layout_is_mem(const Layout *l);                /* every iter on mem */
bool layout_swizzle_matters(const Layout *l);       /* false: no offset of it is changed by its swizzle */
/* Size and places stay within +-LAYOUT_FAR, so that evaluating cannot overflow.  True of all that
 * layout_parse and the CuTe operations return. */
bool layout_in_range(const Layout *l);
#define LAYOUT_FAR ((int64_t)1 << 60)
const char *axis_name(Axis a);
/* Text.  CuTe notation when every iter is on mem, else iters are written stride@axis:
 * ((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg)) and replication as +[4:1@lane], offsets
 * as +5@warp, a swizzle as "Sw<3,3,3> o " in front.  layout_parse reads all of it back. */
const char *layout_print(Arena *a, const Layout *l);
/* On failure false, and *at is the byte where the text went wrong. */
bool layout_parse(Layout *l, const char *s, size_t n, size_t *at);

/* ---- evaluation (eval.c) ----------------------------------------------------------------------- */

/* Place of the element at coord[0..ndim); swizzle applied to mem; first replica. */
Place layout_at(const Layout *l, const int64_t *coord);
/* The same for a flat colexicographic index. */
Place layout_at_index(const Layout *l, int64_t index);
/* Inverse, for layouts whose iters are mixed-radix on their axes (every register layout is): the
 * coordinates held at a place.  Digits not determined by the place (stride 0) are 0. */
void layout_coord(const Layout *l, const Place *p, int64_t *coord);
/* Is this lane of this warp the first of those that hold the same: the one that acts? */
bool layout_first_replica(const Layout *l, int64_t lane, int64_t warp);
int64_t swizzle_apply(Swizzle s, int64_t x);
/* True when the swizzle of base+x equals swizzle(base)+x for every base that is a multiple of `align` and
 * every x the layout reaches: then a base address is swizzled once. */
bool swizzle_commutes(Swizzle s, const Layout *offsets, int64_t align);

/* ---- normal form and equality (normal.c) ------------------------------------------------------- */

/* Merge neighbouring iters of a dim that continue each other, drop extent 1, sort replication. */
void layout_canon(Layout *l);
/* Equal as functions with equal replication: canonical forms first, evaluation when not conclusive. */
bool layout_equal(const Layout *a, const Layout *b);
/* Equal up to a renaming of registers: the same lanes and warps hold the same elements. */
bool layout_equal_threads(const Layout *a, const Layout *b);
/* Split an iter of dim `d` so that a boundary falls at digit weight `w` (a product of extents), keeping
 * the boundaries there are.  False when w does not divide so; *l is then as before. */
bool layout_split(Layout *l, int dim, int64_t weight);
/* Number registers anew: reg strides become compact in the order the iters are given by
 * (dim order[0] first, fastest iter first), skipping stride-0 ones. */
void layout_compact_regs(Layout *l, const int *order);
/* The same in the order the registers have now: gaps close, the order of numbers stays.  Both number
 * from 0 (the reg offset goes). */
void layout_squeeze_regs(Layout *l);

/* ---- surgery on dims (surgery.c): what transpose, reduce, broadcast, slice do to a tile's layout -- */

void layout_permute(Layout *out, const Layout *l, const int *perm);     /* out dim i = l dim perm[i] */
/* Dim d becomes extent 1: its lane/warp iters turn into replication, its registers vanish
 * (register numbers of the rest are compacted, order kept). */
bool layout_reduce(Layout *out, const Layout *l, int dim);
/* The inverse of reduce, seen from below: dim d (extent 1) of `small` takes the iters that `big` has
 * there, registers as stride 0.  What an operand of extent 1 looks like inside a broadcast. */
bool layout_broadcast(Layout *out, const Layout *small, int dim, int64_t extent);
/* The same with `big` at hand: its lane and warp iters of dim d come out of small's replication (false
 * when they are not there), its registers become stride 0. */
bool layout_broadcast_like(Layout *out, const Layout *small, int dim, const Layout *big);
bool layout_drop_dim(Layout *out, const Layout *l, int dim);            /* extent must be 1 */
bool layout_insert_dim(Layout *out, const Layout *l, int dim);          /* new dim of extent 1 */
/* The same elements in row-major order under another shape; false where an iter would straddle a new dim
 * that it does not divide, or the sizes differ. */
bool layout_reshape(Layout *out, const Layout *l, int ndim, const int64_t *shape);
bool layout_concat_dims(Layout *out, const Layout *a, const Layout *b); /* dims of a, then of b */
/* Keep [lo, lo+extent) of a dim held wholly in registers; false otherwise, or when the range is no
 * product of iters.  Register numbers are compacted, order kept. */
bool layout_slice(Layout *out, const Layout *l, int dim, int64_t lo, int64_t extent);

/* ---- CuTe algebra on mem layouts (cute.c compose.c group.c); cute.h goes by profile and tiler ------
 *
 * A result of several modes has one dim each; when there are more than DIM_MAX they share a dim, which
 * is the same function of a flat index.  The last mode of a layout takes indices beyond its extent.
 * All but coalesce and the left side of compose want layouts without swizzle and offset. */

bool cute_coalesce(Layout *out, const Layout *a);
/* a o b, in the modes of b.  True only when it is the exact composition: out(i) = a(b(i)) for all i. */
bool cute_compose(Layout *out, const Layout *a, const Layout *b);
/* What a leaves out below `bound`: disjoint from a's places, ordered.  bound 0: no bound. */
bool cute_complement(Layout *out, const Layout *a, int64_t bound);
/* a(r(i)) = i for as far as a's places go without a gap. */
bool cute_right_inverse(Layout *out, const Layout *a);
/* l(a(i)) = i for injective a (0 in place of the digits of stride 0). */
bool cute_left_inverse(Layout *out, const Layout *a);
bool cute_logical_divide(Layout *out, const Layout *a, const Layout *b);  /* a o (b, complement) */
bool cute_logical_product(Layout *out, const Layout *a, const Layout *b); /* (a, complement o b) */
/* Cut after n elements; skip0: modes of stride 0 do not count, and stay on the side they are on. */
bool cute_group(const Layout *a, int64_t n, bool skip0, Layout *head, Layout *tail);
/* Both as flat layouts with the same sequence of extents; sizes must be equal. */
bool cute_common_reshape(const Layout *a, const Layout *b, Layout *ra, Layout *rb);
/* The parts of modes with strides in [lo, hi) get stride 0 (filter), or are left out (remove). */
bool cute_filter_lo_hi(Layout *out, const Layout *a, int64_t lo, int64_t hi);
bool cute_remove_lo_hi(Layout *out, const Layout *a, int64_t lo, int64_t hi);

/* ---- thread-value form (tv.c) ------------------------------------------------------------------- */

/* (thread, value) -> column-major logical index, as Hexcute writes it: two mem layouts.  thread = lane +
 * 32 * warp; replication and missing threads appear as stride 0.  `nwarp` warps.  Iters of stride 0 (a
 * register that serves many positions) do not appear: the TV form gives their first position.  False
 * when the layout is on other axes, has an offset, or is not mixed-radix on its axes. */
bool tv_from_layout(Layout *t, Layout *v, const Layout *l, int nwarp);
/* Inverse: shape gives the tile dims.  Modes of T with stride 0 become replication, those of V take no
 * register; positions that no mode reaches are served by the same register (stride 0).  False when an
 * iter straddles a dim it does not divide, or when two modes reach the same position. */
bool layout_from_tv(Layout *out, const Layout *t, const Layout *v, int ndim, const int64_t *shape);

/* ---- task mappings (mapping.c), with Hidet's meaning -------------------------------- */

/* spatial(d..): worker -> one task, row-major (last dim fastest); repeat(d..): one worker, all tasks in
 * row-major order.  Workers are on AX_lane here (any count); time on AX_reg. */
bool mapping_spatial(Layout *out, int ndim, const int64_t *shape);
bool mapping_repeat(Layout *out, int ndim, const int64_t *shape);
/* The same with the order given: order[0] is the slowest dim.  Row-major is 0, 1, .. */
bool mapping_spatial_order(Layout *out, int ndim, const int64_t *shape, const int *order);
bool mapping_repeat_order(Layout *out, int ndim, const int64_t *shape, const int *order);
/* outer * inner: tasks t1*d2+t2, worker w = w1*n2+w2, outer tasks are the outer loop. */
bool mapping_product(Layout *out, const Layout *outer, const Layout *inner);
#endif
