/* graph.h - streams, events and graphs of a simulated CUDA driver: what is captured, and in which order it
 * runs.
 *
 * Launches on streams run when they are made, one after the other, which is one of the orders that they may
 * have. A graph runs its nodes in another one: of those that may run, the last that was captured.  So a
 * wait that somebody forgot shows, and does so each time.  Functions return results of the driver, 0 or one
 * of these. */
#ifndef HEXC_SIM_CUDA_GRAPH_H
#define HEXC_SIM_CUDA_GRAPH_H
#include "lib/sim/sim.h"
#include <stdbool.h>

enum { CUDA_INVALID_VALUE = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_ILLEGAL_STATE = 401, CUDA_CAPTURE_UNMATCHED = 903,
       CUDA_CAPTURE_UNJOINED = 904, CUDA_CAPTURE_ISOLATION = 905, CUDA_NOT_SUPPORTED = 801 };
enum { GRAPH_NODES = 1024, GRAPH_STREAMS = 32, GRAPH_PARAMS = 64 };

/* Nodes of a graph. */
typedef struct NodeSet {
	uint64_t word[GRAPH_NODES / 64];
} NodeSet;

/* A launch with its arguments as they were when it was made. */
typedef struct Kept {
	void *function;
	unsigned grid[3], block[3], shared;
	unsigned char *bytes;
	size_t size; /* of bytes */
	bool dependent; /* the next launch may start beside it; not in a graph */
	void *arg[GRAPH_PARAMS];
} Kept;

typedef struct GraphNode {
	Kept k;
	unsigned number, enabled;
	const struct GraphNode *of; /* in what is instantiated: the graph's node */
	NodeSet before;
} GraphNode;

typedef struct Graph Graph;

typedef struct Stream {
	Graph *capture;   /* NULL: it runs */
	bool origin;      /* the capture began here */
	NodeSet last;     /* what the next launch waits for */
	void *deps[GRAPH_NODES]; /* the same as stream_info gives it */
} Stream;

typedef struct CudaEvent {
	Graph *capture;   /* NULL: recorded in a stream that runs */
	NodeSet at;
	Graph *ended;     /* it was recorded in a capture that has ended: of no use */
	uint64_t launches; /* before it, for times */
} CudaEvent;

struct Graph {
	GraphNode *node[GRAPH_NODES];
	unsigned n;
	Stream *stream[GRAPH_STREAMS]; /* in the capture */
	unsigned nstream;
	CudaEvent **event; /* recorded in it */
	unsigned nevent, event_cap;
};

/* Keep a launch: the arguments' bytes are copied, as many as the entry of the module has. */
int kept_set(Kept *k, const sim_module *m, const char *entry, void *function, const unsigned grid[3],
             const unsigned block[3], unsigned shared, void *const *args);

int stream_begin(Stream *s);
int stream_end(Stream *s, Graph **out);
/* The stream is captured, and this is the next launch. */
int stream_add(Stream *s, const sim_module *m, const char *entry, void *function, const unsigned grid[3],
               const unsigned block[3], unsigned shared, void *const *args);
int stream_wait(Stream *s, const CudaEvent *e);
/* What the next launch waits for: *n nodes. */
void *const *stream_info(Stream *s, size_t *n);
int event_record(CudaEvent *e, Stream *s); /* s may be NULL: one that runs */
void event_drop(CudaEvent *e);             /* before it is freed */

/* Nodes, with copies of their launches; NULL: no memory.  Freed by graph_free, as graphs are. */
Graph *graph_copy(const Graph *g);
void graph_free(Graph *g);
/* The copy of a graph's node. */
GraphNode *graph_node(const Graph *exec, const void *node);
/* Call run for each node that is enabled, in an order that they may have; the first result that is not 0
 * ends it. */
int graph_run(const Graph *exec, int (*run)(void *user, const Kept *k), void *user);
#endif
