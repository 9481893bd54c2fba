/* util_cute.h - the operations of CuTe and of Hexcute as oracles: the CuTe facts, the golden results, and
 * their known properties.
 *
 * The compiler has separate operations (taskmap/layout.h), on layouts with axes; those here are on plain
 * layouts of memory. All arithmetic that can overflow on user data goes through mul64/add64. */
#ifndef HEXC_TEST_CUTE_H
#define HEXC_TEST_CUTE_H
#include "taskmap/mode_tree.h"

/* ---- CuTe algebra on mem layouts (util_cute.c util_compose.c util_group.c) ------------------------------
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

/* ---- thread-value form (util_tv.c) ------------------------------------------------------------------- */

/* (thread, value) -> column-major logical index, as Hexcute writes it: two mem layouts.  thread = lane +
 * 32 * warp; replication and missing threads appear as stride 0.  `nwarp` warps.  Iters of stride 0 (a
 * register that serves many positions) do not appear: the TV form gives their first position.  False
 * when the layout is on other axes, has an offset, or is not mixed-radix on its axes. */
bool tv_from_layout(Layout *t, Layout *v, const Layout *l, int nwarp);
/* Inverse: shape gives the tile dims.  Modes of T with stride 0 become replication, those of V take no
 * register; positions that no mode reaches are served by the same register (stride 0).  False when an
 * iter straddles a dim it does not divide, or when two modes reach the same position. */
bool layout_from_tv(Layout *out, const Layout *t, const Layout *v, int ndim, const int64_t *shape);

/* ---- by profile and tiler (util_tiler.c) ----------------------------------------------------------- */

/* How each mode of a layout is tiled.  A shape (3,4) as a tiler is TILE_MODES of 3:1 and 4:1. */
typedef enum TilerKind {
	TILE_KEEP,   /* leave this mode alone; CuTe's "_" */
	TILE_LAYOUT, /* tile it by `layout` */
	TILE_MODES,  /* tile its first n modes by kid[0..n), keep the others */
} TilerKind;

typedef struct Tiler {
	TilerKind kind;
	int n;
	const struct Tiler *kid;
	Layout layout;
} Tiler;

/* All leaves in one tuple; a scalar stays one. */
bool cute_flatten(Layout *out, const Layout *a);
/* Coalesce the modes that the tree of `profile` names (its numbers mean nothing), each by itself. */
bool cute_coalesce_by(Layout *out, const Layout *a, const Layout *profile);
/* Each mode of the tiler composed with its mode of a; modes of a behind them are left out. */
bool cute_compose_by(Layout *out, const Layout *a, const Tiler *t);
bool cute_logical_divide_by(Layout *out, const Layout *a, const Tiler *t);
/* Logical divide, then the tiles of all modes gathered in mode 0 and what is left in mode 1. */
bool cute_zipped_divide(Layout *out, const Layout *a, const Tiler *t);
/* Logical product, mode by mode: (a, copies of it) or (copies, a) in each, flat and without extent 1. */
bool cute_blocked_product(Layout *out, const Layout *a, const Layout *b);
bool cute_raked_product(Layout *out, const Layout *a, const Layout *b);

/* ---- an mma instruction spread over warps and repeated in time (util_tiled_mma.c) -------------------- */

/* (thread, value) -> column-major index for A (m,k), B (n,k) and C (m,n), in mem layouts.  An atom is
 * one instruction; grid and repeat make larger tiles of it. */
typedef struct TiledMma {
	int64_t m, n, k;
	Layout ta, va, tb, vb, tc, vc;
} TiledMma;

/* Copies of the tile in a grid of rm x rn: more threads, each copy to the next threads.  `grid` maps a
 * copy to its place p + rm*q (a mem layout of size rm*rn); NULL: (rm,rn):(1,rm), m first.  A is the same for
 * copies along n, B for those along m.  False when a mode straddles the tile's rows without dividing. */
bool tiled_mma_grid(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid);
/* The same in time: more values of the same threads; operands that do not move get no values. */
bool tiled_mma_repeat(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid);
/* The register layouts of the three tiles. */
bool tiled_mma_layouts(const TiledMma *in, Layout *a, Layout *b, Layout *c);

/* ---- surgery (util_surgery.c) ------------------------------------------------------------------------ */

bool layout_concat_dims(Layout *out, const Layout *a, const Layout *b); /* dims of a, then of b */
/* Dim d of small, of extent 1, as in `big`: its lane and warp iters of dim d come out of small's replication
 * (false when they are not there), its registers become stride 0. */
bool layout_broadcast_like(Layout *out, const Layout *small, int dim, const Layout *big);

/* ---- trees of modes (util_modes.c) ----------------------------------------------------------------- */

/* The leaves of `m` from lo to hi as a flat layout: no leaf gives 1:0, one gives a scalar, up to
 * DIM_MAX one dim each, and more of them share one dim, which is the same function of an index. */
void modes_flat_layout(Layout *l, const Iter *it, int n);
/* Append one leaf. */
bool modes_push(Modes *m, int64_t extent, int64_t stride);
/* Append all of `part` as one child; `wrap` puts one more pair of parentheses around it. */
bool modes_append(Modes *m, const Modes *part, bool wrap);
/* Copy a child [at, end) of the tuple [lo, hi) with the parentheses that are its own. */
void modes_child(Modes *out, const Modes *m, int lo, int hi, int at, int end);
/* Number of children of the whole tree; a scalar counts as one. */
int modes_rank(const Modes *m);
/* Child i of the whole tree; the tree itself when it is a scalar and i is 0. */
bool modes_get(Modes *out, const Modes *m, int i);

/* ---- the CuTe operations on trees (util_cute.c util_compose.c) --------------------------------------- */

/* Of a Layout that is a plain function into mem: no swizzle, offset or replication. */
bool modes_plain(const Layout *l);
/* A tree as a layout; one of more than DIM_MAX modes becomes a single dim that holds them.
 * False when it has too many leaves or is not layout_in_range. */
bool modes_finish(Layout *l, const Modes *m);
void modes_coalesce(Modes *m);
bool modes_compose(Modes *out, const Modes *a, const Modes *b);
bool modes_logical_divide(Modes *out, const Modes *a, const Modes *b);
bool modes_logical_product(Modes *out, const Modes *a, const Modes *b);
int64_t modes_size(const Modes *m);
#endif
