/* plan.h - declares what the files of hexc_plan.h share. */
#ifndef HEXC_PLAN_INT_H
#define HEXC_PLAN_INT_H
#include "lib/base/base.h"
#include "lib/gpu/gpu.h"
#include "lib/hexc_plan.h"

/* Nodes are searched in parts of at most PART_NODES, whose sets fit a word. */
enum { PART_NODES = 64, PLAN_STREAMS = 16, PLAN_NODES = 4096, PLAN_BUFFERS = 65535 };
typedef uint64_t Set;

typedef struct Buffer {
	uint64_t bytes;
	void *ptr;    /* the host's address, if outside */
	bool outside; /* owned by the host, not in the memory of hexc_plan_bind */
} Buffer;

/* A node accesses a buffer. */
typedef struct BufferUse {
	uint32_t node, buffer, how;
	int param; /* index of the parameter in the node's call or family; -1: none; WORKSPACE */
} BufferUse;
enum { WORKSPACE = -2 };

typedef struct PlanEdge {
	uint32_t from, to;
} PlanEdge;

typedef struct PlanNode {
	const char *name;
	double us, fill; /* fill 0: not known yet */
	hexc_call *call;
	int (*launch)(void *user, void *stream);
	void *user;
	hexc_family_call *family;
	enum { UNSAID, SAME, CHANGED } said; /* hexc_plan_changed of launch, since the capture */
} PlanNode;

/* A square bit matrix: row i is a set of nodes. */
typedef struct BitMatrix {
	uint64_t *word;
	size_t row; /* words per row */
} BitMatrix;

/* A launch, in the host's launch order. */
typedef struct PlanStep {
	uint32_t node, stage, stream;
	uint32_t wait, nwait; /* in Solution.wait */
} PlanStep;

/* The result of hexc_plan_solve. */
typedef struct PlanSolution {
	Arena arena;
	uint32_t n;           /* number of nodes */
	uint64_t *ns, *work;  /* per node: its time alone, and that times its fraction of the device */
	BitMatrix pred;            /* row v: direct predecessors of v */
	PlanStep *step;           /* n of them */
	uint32_t *at;         /* per node: its step */
	uint32_t *wait;       /* steps whose end a step on another stream waits for */
	uint32_t nwait, nstage, streams;
	uint32_t first;       /* bit s: stream s waits for the start of stream 0 */
	uint32_t last[PLAN_STREAMS], nlast; /* steps that the end of the plan waits for */
	BitMatrix before;          /* row i: steps that end before step i starts */
	BitMatrix after;           /* the transpose, built on demand */
	uint32_t *event;      /* per step: index of its event; 0, the event of the start: no step waits for
	                       * it */
	uint32_t nevent;
	uint32_t *use;        /* per node: its first use in hexc_plan.use; one more entry is the end */
	uint64_t *offset;     /* per buffer in the memory of hexc_plan_bind */
	uint64_t bytes, live, total; /* bytes of the memory, most bytes alive at a time, bytes without
	                              * sharing */
	uint64_t cost, serial, critical; /* ns */
	bool exact;
} PlanSolution;

/* A buffer's address and bytes at capture. */
typedef struct BoundBuffer {
	void *at;
	uint64_t bytes;
} BoundBuffer;

struct hexc_plan {
	hexc_plan_opts o;
	Arena arena;
	Buffer *buffer;
	PlanNode *node;
	BufferUse *use; /* sorted by node, once solved */
	PlanEdge *after;
	uint32_t nbuffer, nnode, nuse, nafter;
	uint32_t buffer_cap, node_cap, use_cap, after_cap;
	bool solved;
	bool fits;         /* buffers still have the sizes of their placement */
	PlanSolution s;
	Arena scratch;     /* for plan_try */
	/* state of launches, for plan_launch.c */
	Arena run;
	void *memory;
	uint64_t memory_bytes;
	void **event;      /* nevent events, indexed by Solution.event */
	uint32_t nevent;
	void *graph, *exec;
	void **gnode;      /* per step and stage: its graph node; NULL: none */
	struct Kept {
		size_t line;      /* of the step's family, at capture */
		uint64_t changes; /* family_changes() at capture */
	} *kept;           /* per step */
	BoundBuffer *seen;        /* per buffer, at capture */
	void *stream[PLAN_STREAMS];
	uint32_t nstream;
	bool stale;        /* solved again since the capture */
	uint64_t captures, updates;
	char why[600];
};

/* Stores a sentence for hexc_plan_why; returns code. */
#define plan_error(p, code, ...) why_error(code, (p)->why, sizeof (p)->why, __VA_ARGS__)
/* Runs body, which allocates in arena and in p->scratch; scratch is empty again afterwards. Returns body's
 * result, or HEXC_E_NOMEM if memory is short. Not reentrant. */
int plan_try(hexc_plan *p, Arena *arena, int (*body)(hexc_plan *p, void *arg), void *arg);
/* Writes "node 3 (gemm)" to the caller's buffer. */
const char *plan_node_name(const hexc_plan *p, uint32_t i, char name[120]);

/* plan_launch.c: frees the graph and the events. */
void plan_drop(hexc_plan *p);

static inline bool
bit(const uint64_t *row, uint32_t i)
{
	return row[i / 64] >> i % 64 & 1;
}

static inline void
set_bit(uint64_t *row, uint32_t i)
{
	row[i / 64] |= UINT64_C(1) << i % 64;
}

static inline uint64_t *
bits_row(BitMatrix b, uint32_t i)
{
	return b.word + i * b.row;
}

BitMatrix bits_new(Arena *a, uint32_t n); /* n empty rows of n bits */

/* ---- dependences.c: who needs whom --------------------------------------------------------------- */

/* Computes direct predecessors. Returns HEXC_E_INVALID if a node reads a buffer that no node wrote. */
int plan_depend(hexc_plan *p, PlanSolution *s);
uint64_t plan_critical(Arena *a, const PlanSolution *s); /* ns of the longest chain */
/* Returns the sizes of n consecutive parts. No stage with two streams has nodes on both sides of a cut,
 * unless a part would be larger than a set; *cut: that happened. */
uint32_t *plan_parts(PlanSolution *s, uint32_t *n, bool *cut);

/* ---- stage_cost.c: nodes that run side by side ------------------------------------------------------ */

/* Nodes first .. first + n - 1. */
typedef struct PlanComponent {
	uint32_t first, n;
	Set pred[PART_NODES];
	Set near[PART_NODES]; /* predecessors and successors */
	uint64_t ns[PART_NODES], work[PART_NODES];
	uint64_t sync;
	uint32_t streams;
	/* buffers of the plan that it accesses, or that live through it */
	uint32_t nbuffer;
	struct PartBuffer {
		Set touch;
		bool before, after; /* accessed in earlier, later parts */
		uint64_t bytes;
	} *buffer;
} PlanComponent;

/* Returns the nodes of `among` that are connected with `from` by dependences within `among`. */
Set stage_component(const PlanComponent *p, Set among, Set from);
/* Returns the ns that the nodes take as one stage. lane (may be NULL) gets a stream index from 0 for each
 * node of the set. Clears *exact if the best distribution was not searched for. */
uint64_t stage_cost(const PlanComponent *p, Set nodes, uint8_t *lane, bool *exact);
/* Returns the bytes alive while `stage` runs, after `done`. */
uint64_t stage_live(const PlanComponent *p, Set done, Set stage);

/* ---- stage_search.c: stages --------------------------------------------------------------------------- */

/* Writes the best stages of the part, in order, to stage[0..), which has space for n sets. Returns their
 * number; adds their cost, and raises *live to the bytes alive. */
uint32_t search_part(hexc_plan *p, const PlanComponent *part, Set *stage, uint64_t *cost,
		     uint64_t *live, bool *exact);

/* ---- stream_order.c: streams and who waits for whom --------------------------------------------------- */

/* Assigns a stream to each step; steps have a stage and a lane in it. */
void order_streams(PlanSolution *s);
/* Row u: steps that run after u, by stages and by stream order. */
BitMatrix order_stages(PlanSolution *s);
/* Computes the waits that predecessors and shared memory require, and `before`. */
void order_waits(const hexc_plan *p, PlanSolution *s);

/* ---- buffer_placement.c: bytes ---------------------------------------------------------------------- */

/* Computes the offsets of all buffers in the memory. Two share bytes only if `after` (row u: steps after
 * step u) orders all steps of one after all steps of the other. */
void place_buffers(hexc_plan *p, PlanSolution *s, BitMatrix after);
#endif
