/* plan.h - what the files of hexc_plan.h share. */
#ifndef HEXC_PLAN_INT_H
#define HEXC_PLAN_INT_H
#include "lib/base/base.h"
#include "lib/gpu/gpu.h"
#include "lib/hexc_plan.h"

/* Nodes are searched in parts of at most so many, whose sets are words. */
enum { PART_NODES = 64, PLAN_STREAMS = 16, PLAN_NODES = 4096, PLAN_BUFFERS = 65535 };
typedef uint64_t Set;

typedef struct Buffer {
	uint64_t bytes;
	void *ptr;    /* the host's, if it is outside */
	bool outside; /* not in the memory of hexc_plan_bind */
} Buffer;

/* A node touches a buffer. */
typedef struct BufferUse {
	uint32_t node, buffer, how;
	int param; /* of the node's call or family; -1: none; WORKSPACE */
} BufferUse;
enum { WORKSPACE = -2 };

typedef struct PlanEdge {
	uint32_t from, to;
} PlanEdge;

typedef struct PlanNode {
	const char *name;
	double us, fill; /* fill 0: to be found out */
	hexc_call *call;
	int (*launch)(void *user, void *stream);
	void *user;
	hexc_family_call *family;
	enum { UNSAID, SAME, CHANGED } said; /* of launch, since it was captured */
} PlanNode;

/* A square of bits: row i is a set of nodes. */
typedef struct BitMatrix {
	uint64_t *word;
	size_t row; /* words of a row */
} BitMatrix;

/* A launch, in the order in which the host makes them. */
typedef struct PlanStep {
	uint32_t node, stage, stream;
	uint32_t wait, nwait; /* in Solution.wait */
} PlanStep;

/* What hexc_plan_solve finds. */
typedef struct PlanSolution {
	Arena arena;
	uint32_t n;           /* nodes */
	uint64_t *ns, *work;  /* of each node: alone, and that times its part of the device */
	BitMatrix pred;            /* row v: direct predecessors of v */
	PlanStep *step;           /* n of them */
	uint32_t *at;         /* of each node: its step */
	uint32_t *wait;       /* steps whose end a step on another stream waits for */
	uint32_t nwait, nstage, streams;
	uint32_t first;       /* bit s: stream s waits for the start of stream 0 */
	uint32_t last[PLAN_STREAMS], nlast; /* steps that the end waits for */
	BitMatrix before;          /* row i: steps that end before step i begins */
	BitMatrix after;           /* the same from the other side, once it was asked for */
	uint32_t *event;      /* of each step: the number of its event; 0, that of the start: nobody waits */
	uint32_t nevent;
	uint32_t *use;        /* of each node: its first in hexc_plan.use, and behind the last node the end */
	uint64_t *offset;     /* of each buffer in the memory of hexc_plan_bind */
	uint64_t bytes, live, total; /* the memory, what is alive at a time, without sharing */
	uint64_t cost, serial, critical; /* ns */
	bool exact;
} PlanSolution;

/* A buffer where it was. */
typedef struct BoundBuffer {
	void *at;
	uint64_t bytes;
} BoundBuffer;

struct hexc_plan {
	hexc_plan_opts o;
	Arena arena;
	Buffer *buffer;
	PlanNode *node;
	BufferUse *use; /* in the order of their nodes, once sorted */
	PlanEdge *after;
	uint32_t nbuffer, nnode, nuse, nafter;
	uint32_t buffer_cap, node_cap, use_cap, after_cap;
	bool solved;
	bool fits;         /* buffers have the bytes that they had when they were placed */
	PlanSolution s;
	Arena scratch;     /* of plan_try */
	/* launches, in plan_launch.c */
	Arena run;
	void *memory;
	uint64_t memory_bytes;
	void **event;      /* nevent of them, as Solution.event counts */
	uint32_t nevent;
	void *graph, *exec;
	void **gnode;      /* of each step and stage, in the graph; NULL: none */
	struct Kept {
		size_t line;      /* of the step's family, in the graph */
		uint64_t changes; /* of its arguments, by then */
	} *kept;           /* of each step */
	BoundBuffer *seen;        /* of each buffer, when it was captured */
	void *stream[PLAN_STREAMS];
	uint32_t nstream;
	bool stale;        /* solved anew since the capture */
	uint64_t captures, updates;
	char why[600];
};

/* Keep a sentence for hexc_plan_why; returns code. */
#define plan_error(p, code, ...) why_error(code, (p)->why, sizeof (p)->why, __VA_ARGS__)
/* Run body, which allocates in arena and in p->scratch, which is empty again then: what it returns, or
 * HEXC_E_NOMEM where there is no memory.  Not from within a body. */
int plan_try(hexc_plan *p, Arena *arena, int (*body)(hexc_plan *p, void *arg), void *arg);
/* "node 3 (gemm)", in a buffer of the caller's. */
const char *plan_node_name(const hexc_plan *p, uint32_t i, char name[120]);

/* plan_launch.c: give back the graph and the events. */
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

BitMatrix bits_new(Arena *a, uint32_t n); /* n rows of n, empty */

/* ---- dependences.c: who needs whom --------------------------------------------------------------- */

/* Direct predecessors; HEXC_E_INVALID: somebody reads what nobody wrote. */
int plan_depend(hexc_plan *p, PlanSolution *s);
uint64_t plan_critical(Arena *a, const PlanSolution *s); /* ns of the longest chain */
/* Sizes of parts that follow each other, n of them: no stage of two streams has nodes of both sides unless
 * a part would be larger than a set.  *cut: there was such a one. */
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
	/* buffers of the plan that it touches, or that live through it */
	uint32_t nbuffer;
	struct PartBuffer {
		Set touch;
		bool before, after; /* touched in parts before, behind */
		uint64_t bytes;
	} *buffer;
} PlanComponent;

/* The nodes that hang together with `from` within the set. */
Set stage_component(const PlanComponent *p, Set among, Set from);
/* ns that the nodes take as one stage; lane, if it is not NULL, gets a number from 0 for each node of the
 * set. *exact becomes false where the best distribution was not looked for. */
uint64_t stage_cost(const PlanComponent *p, Set nodes, uint8_t *lane, bool *exact);
/* Bytes alive while `stage` runs, after `done`. */
uint64_t stage_live(const PlanComponent *p, Set done, Set stage);

/* ---- stage_search.c: stages --------------------------------------------------------------------------- */

/* The best stages of the part, in order: sets in stage[0..), which has room for n of them.  Returns how many;
 * adds what they cost, and raises *live to what is alive. */
uint32_t search_part(hexc_plan *p, const PlanComponent *part, Set *stage, uint64_t *cost, uint64_t *live, bool *exact);

/* ---- stream_order.c: streams and who waits for whom --------------------------------------------------- */

/* After steps have a stage and a lane of it: which stream each has. */
void order_streams(PlanSolution *s);
/* Row u: steps that stages, and the order on a stream, put behind u. */
BitMatrix order_stages(PlanSolution *s);
/* Waits that predecessors and buffers in the same bytes need, and before. */
void order_waits(const hexc_plan *p, PlanSolution *s);

/* ---- buffer_placement.c: bytes ------------------------------------------------------------------------------ */

/* Offsets of all buffers of the memory, which share bytes only where `after` (row u: steps behind step u)
 * has all steps of one behind all of the other. */
void place_buffers(hexc_plan *p, PlanSolution *s, BitMatrix after);
#endif
