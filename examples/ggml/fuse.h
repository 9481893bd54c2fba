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
} Chosen;

/* Does the node compute nothing? Views, and tensors without elements. */
bool is_idle(const struct ggml_tensor *t);
/* Sets *c to the longest tail of node i that is safe. Returns false if there is none. */
bool fuse(const struct ggml_cgraph *g, int i, Chosen *c);
/* Takes the next shorter one. Returns false if there is none. */
bool fuse_less(Chosen *c);
/* Marks what is computed with the node as done, and returns how many that are. */
int fuse_mark(const Chosen *c, bool *done);
#endif
