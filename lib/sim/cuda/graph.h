/* graph.h - streams, events and graphs of a simulated CUDA driver: capture, and the order of execution.
 *
 * Launches on streams run when they are issued, one after the other, which is one of the permitted orders. A
 * graph runs its nodes in another one: of the ready nodes, the last captured. So a missing dependency shows,
 * and does so each time. Functions return driver results, 0 or one of these. */
#ifndef HEXC_SIM_CUDA_GRAPH_H
#define HEXC_SIM_CUDA_GRAPH_H
#include "lib/sim/sim.h"
#include <stdbool.h>

enum { CUDA_INVALID_VALUE = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_ILLEGAL_STATE = 401,
       CUDA_CAPTURE_UNSUPPORTED = 900, CUDA_CAPTURE_UNMATCHED = 903, CUDA_CAPTURE_UNJOINED = 904,
       CUDA_CAPTURE_ISOLATION = 905, CUDA_NOT_SUPPORTED = 801 };
enum { GRAPH_NODES = 1024, GRAPH_STREAMS = 32, GRAPH_PARAMS = 64 };

/* Nodes of a graph. */
typedef struct NodeSet {
	uint64_t word[GRAPH_NODES / 64];
} NodeSet;

/* A launch with a copy of its arguments at the time of the call. */
typedef struct Kept {
	void *function;
	unsigned grid[3], block[3], shared;
	unsigned char *bytes;
	size_t size; /* of bytes */
	bool dependent; /* the next launch may overlap it; not in a graph */
	bool cooperative; /* all of its blocks are resident */
	void *arg[GRAPH_PARAMS];
} Kept;

typedef struct GraphNode {
	Kept k;
	unsigned number, enabled;
	const struct GraphNode *of; /* in an instantiated graph: the graph's node */
	NodeSet before;
} GraphNode;

typedef struct Graph Graph;

typedef struct Stream {
	Graph *capture;   /* NULL: not capturing */
	bool origin;      /* the capture began here */
	NodeSet last;     /* dependencies of the next launch */
	void *deps[GRAPH_NODES]; /* the same as returned by stream_info */
} Stream;

typedef struct CudaEvent {
	Graph *capture;   /* NULL: recorded in a stream that is not capturing */
	NodeSet at;
	Graph *ended;     /* it was recorded in a capture that has ended: unusable */
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

/* Records a launch: copies the bytes of the arguments that the module's entry has. */
int kept_set(Kept *k, const sim_module *m, const char *entry, void *function, const unsigned grid[3],
             const unsigned block[3], unsigned shared, void *const *args);

int stream_begin(Stream *s);
int stream_end(Stream *s, Graph **out);
/* Adds the next launch of a captured stream: k, without its bytes. */
int stream_add(Stream *s, const sim_module *m, const char *entry, const Kept *k, void *const *args);
int stream_wait(Stream *s, const CudaEvent *e);
/* The dependencies of the next launch: *n nodes. */
void *const *stream_info(Stream *s, size_t *n);
int event_record(CudaEvent *e, Stream *s); /* s may be NULL: one that is not capturing */
void event_drop(CudaEvent *e);             /* before it is freed */

/* Copies nodes and their launches; NULL: out of memory. Freed by graph_free, like graphs. */
Graph *graph_copy(const Graph *g);
void graph_free(Graph *g);
/* The copy of a graph's node. */
GraphNode *graph_node(const Graph *exec, const void *node);
/* Calls run for each enabled node, in a permitted order; stops at the first nonzero result and returns it. */
int graph_run(const Graph *exec, int (*run)(void *user, const Kept *k), void *user);
#endif
