/* fuse.h - operations of a graph that one launch computes. */
#ifndef GGML_HEXC_FUSE_H
#define GGML_HEXC_FUSE_H
#include "examples/ggml/work.h"

struct ggml_cgraph;

/* The tail of a node: its members, and where they are in the graph. */
typedef struct Chosen {
	Tail tail;
	int at[TAIL_MOST];
	bool safe[TAIL_MOST]; /* may the tail end here? */
	int second, rows;     /* where these are; 0 if the tail has none */
	int also;             /* likewise; -1 */
} Chosen;

/* A node that a later one may compute with its launch. */
typedef struct Waiting {
	int node, with;       /* -1: there is none */
} Waiting;

/* Does the node compute nothing? Views, and tensors without elements. */
bool is_idle(const struct ggml_tensor *t);
/* Sets *c to the longest tail of node i that is safe, and to a later product like it that is not done.
 * Returns false if there is neither. */
bool fuse(const struct ggml_cgraph *g, int i, const bool *done, Chosen *c);
/* A later node with which node i, which has no tail, can be launched. -1: there is none. */
int fuse_later(const struct ggml_cgraph *g, int i, const bool *done);
/* Must a waiting node be launched before node i with this tail? c may be NULL. */
bool fuse_disturbs(const struct ggml_cgraph *g, int waiting, int i, const Chosen *c);
/* Takes the next shorter one. Returns false if there is none. */
bool fuse_less(Chosen *c);
/* Marks what is computed with the node as done, and returns how many that are. */
int fuse_mark(const Chosen *c, bool *done);
#endif
