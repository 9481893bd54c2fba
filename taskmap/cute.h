/* cute.h - the CuTe operations that take a profile or a tiler, beyond those of layout.h. */
#ifndef HEXC_TASKMAP_CUTE_H
#define HEXC_TASKMAP_CUTE_H
#include "taskmap/layout.h"

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
#endif
