/* mode_tree.h - inside taskmap/: the tree form of a layout, nested as in its text.
 *
 * A Modes is a tree of modes, stored as it prints: its leaves in order, each with the parentheses opened
 * before it and closed after it, the outermost ones included.  "4:1" is one leaf without parentheses,
 * "(4):(1)" one leaf inside one pair, "()" no leaf.  A Layout omits two of these pairs (the one around all
 * dims, the one around a dim of several iters); the two functions below convert. */
#ifndef HEXC_MODE_TREE_H
#define HEXC_MODE_TREE_H
#include "taskmap/layout.h"

enum { MODES_MAX = ITER_MAX + DIM_MAX }; /* empty dims need a leaf each */

typedef struct Modes {
	int n;
	Iter it[MODES_MAX];
} Modes;

/* An empty dim becomes a leaf 1:0. */
void modes_from_layout(Modes *m, const Layout *l);
/* Clears offset, replication and swizzle of *l.  Returns false if there are too many dims. */
bool modes_to_layout(Layout *l, const Modes *m);

static inline bool
modes_is_tuple(const Modes *m)
{
	return m->n == 0 || m->it[0].open > 0;
}

/* Puts a pair of parentheses around everything; an empty tree is unchanged. */
static inline void
modes_wrap(Modes *m)
{
	if (m->n) {
		m->it[0].open++;
		m->it[m->n - 1].close++;
	}
}

/* Node [lo, hi) of `m` is a leaf or a tuple.  Returns the index after its child that starts at `at`; the
 * node's own outermost pair is not counted. */
static inline int
modes_child_end(const Modes *m, int lo, int hi, int at)
{
	int depth = at == lo ? -1 : 0; /* the tuple's own opening parenthesis precedes its first child */

	for (int i = at; i < hi; i++) {
		depth += m->it[i].open - m->it[i].close;
		if (depth <= 0)
			return i + 1;
	}
	return hi;
}
#endif
