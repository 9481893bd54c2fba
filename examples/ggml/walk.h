/* walk.h - which launches a graph is. */
#ifndef GGML_HEXC_WALK_H
#define GGML_HEXC_WALK_H
#include "examples/ggml/work.h"

struct ggml_cgraph;

/* Is called with the launches of `nodes` nodes: of w->op, with those of w->tail. Returns false to stop, with
 * one sentence in why[0..n). */
typedef bool (*VisitWork)(void *user, const Work *w, int nodes, char *why, size_t n);

/* Visits all launches of a graph in their order. Returns false if a visit does, or no kernel computes a node;
 * the sentence in why[0..n) then starts with the operation. */
bool walk_graph(struct ggml_cgraph *g, const Limits *limits, VisitWork visit, void *user, char *why,
                size_t n);
/* The same before the graph's tensors have memory: the launches it will be if no tensor takes the place of
 * one that is still read there. Stops at nodes that no kernel computes. */
void walk_unallocated(struct ggml_cgraph *g, const Limits *limits, VisitWork visit, void *user);
/* A number of the operations, types, shapes and strides of a graph, from which its launches follow but for
 * what memory they use. */
uint64_t graph_shape(const struct ggml_cgraph *g);
#endif
