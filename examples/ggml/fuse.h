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
} Chosen;

/* Does the node compute nothing? Views, and tensors without elements. */
bool is_idle(const struct ggml_tensor *t);
/* Sets *c to the longest tail of node i that is safe; it may have no members. */
void fuse(const struct ggml_cgraph *g, int i, Chosen *c);
/* Shortens it to the longest safe one of at most `nodes`. */
void fuse_shorten(Chosen *c, int nodes);
#endif
