/* modes.h - inside taskmap/: the working form of the CuTe operations and of the text.
 *
 * A Modes is a tree of modes written as it prints: its leaves in order, each with the parentheses
 * opened before it and closed after it, the outermost ones included.  "4:1" is one leaf without
 * parentheses, "(4):(1)" one leaf inside one pair, "()" no leaf.  A Layout leaves two of these pairs
 * out (the one around all dims, the one around a dim of several iters); the two functions below
 * convert.  All arithmetic that can overflow on user data goes through mul64/add64. */
#ifndef HEXC_TASKMAP_MODES_H
#define HEXC_TASKMAP_MODES_H
#include "taskmap/layout.h"

enum { MODES_MAX = ITER_MAX + DIM_MAX }; /* empty dims need a leaf of their own */

typedef struct Modes {
	int n;
	Iter it[MODES_MAX];
} Modes;

/* An empty dim becomes a leaf 1:0. */
void modes_from_layout(Modes *m, const Layout *l);
/* Offset, replication and swizzle of *l are cleared.  False when there are too many dims. */
bool modes_to_layout(Layout *l, const Modes *m);
/* The leaves of `m` from lo to hi as a flat layout: no leaf gives 1:0, one gives a scalar, up to
 * DIM_MAX one dim each, and more of them share one dim, which is the same function of an index. */
void modes_flat_layout(Layout *l, const Iter *it, int n);
/* Append one leaf. */
bool modes_push(Modes *m, int64_t extent, int64_t stride);
/* Append all of `part` as one child; `wrap` puts one more pair of parentheses around it. */
bool modes_append(Modes *m, const Modes *part, bool wrap);
/* The node [lo, hi) of `m` is a leaf or a tuple: index behind its child that starts at `at`, where the
 * node's own outermost pair is not counted. */
int modes_child_end(const Modes *m, int lo, int hi, int at);
/* Copy a child [at, end) of the tuple [lo, hi) with the parentheses that are its own. */
void modes_child(Modes *out, const Modes *m, int lo, int hi, int at, int end);
/* Number of children of the whole tree; a scalar counts as one. */
int modes_rank(const Modes *m);
/* Child i of the whole tree; the tree itself when it is a scalar and i is 0. */
bool modes_get(Modes *out, const Modes *m, int i);
/* Put a pair of parentheses around everything; an empty tree stays. */
void modes_wrap(Modes *m);

/* Of a Layout that is a plain function into mem: no swizzle, offset or replication. */
bool modes_plain(const Layout *l);
/* A tree as a layout; one of more than DIM_MAX modes becomes a single dim that holds them.
 * False when it has too many leaves or is not layout_in_range. */
bool modes_finish(Layout *l, const Modes *m);
/* The CuTe operations on trees. */
void modes_coalesce(Modes *m);
bool modes_compose(Modes *out, const Modes *a, const Modes *b);
bool modes_logical_divide(Modes *out, const Modes *a, const Modes *b);
bool modes_logical_product(Modes *out, const Modes *a, const Modes *b);
int64_t modes_size(const Modes *m);

static inline bool
modes_is_tuple(const Modes *m)
{
	return m->n == 0 || m->it[0].open > 0;
}

#if defined(__GNUC__)
#define CTZ64(x) __builtin_ctzll((unsigned long long)(x))
#else
#define CTZ64(x) modes_ctz(x)
static inline int
modes_ctz(int64_t x)
{
	int n = 0;

	while (!(x >> n & 1))
		n++;
	return n;
}
#endif

/* a / b for a >= 0, b > 0.  Most extents are powers of two, and the 32-bit divider is several times
 * faster than the 64-bit one. */
static inline int64_t
fast_div(int64_t a, int64_t b)
{
	if ((b & (b - 1)) == 0)
		return a >> CTZ64(b);
	if ((((uint64_t)a | (uint64_t)b) >> 32) == 0)
		return (int64_t)((uint32_t)a / (uint32_t)b);
	return a / b;
}
#endif
