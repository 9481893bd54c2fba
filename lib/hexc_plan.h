/* hexc_plan.h - small graphs of launches: buffers placed, launches ordered and spread over streams.
 *
 * Beside hexc_gpu.h; the same rules hold.  In libhexc and in libhexc_rt.  A host says which launches there
 * are, which buffers each reads and writes, and how long it takes; a plan says where in one piece of memory
 * the buffers are, and on which stream each launch runs, when, and after which others:
 *
 *	hexc_plan_new -> { hexc_plan_buffer, hexc_plan_outside, hexc_plan_node, hexc_plan_family,
 *	                   hexc_plan_arg }*
 *	              -> hexc_plan_solve -> hexc_plan_describe -> hexc_plan_bind
 *	              -> hexc_plan_launch, or hexc_plan_capture -> hexc_plan_replay*
 *	new sizes:       hexc_plan_set_bytes, hexc_plan_set_time, hexc_call_int, hexc_family_call_int,
 *	                 hexc_plan_changed
 *	              -> hexc_plan_refit -> hexc_plan_update -> hexc_plan_replay*
 *
 * What is meant.  Nodes are numbered in the order in which they are added; what they do is what they would do
 * one after the other in that order.  A node depends on an earlier one if one of them writes a buffer that
 * the other touches, or by hexc_plan_after.
 *
 * What is assumed.  Nodes go by stages, as in IOS (Ding et al., "IOS: Inter-Operator Scheduler for CNN
 * Acceleration", arXiv 2011.01302).  In a stage the nodes that hang together by dependencies run on one
 * stream, one after the other, and such groups side by side on at most `streams` of them.  A stage takes as
 * long as its longest stream, or, if that is more, as all its nodes' times, each times the part of the
 * device that it fills (two launches that each fill the device are not faster side by side); and sync_us on
 * top where it has several streams.  The makespan is the sum of the stages.  Of all such plans
 * hexc_plan_solve finds one with the least makespan, and of those one with the fewest bytes alive in any
 * stage: by dynamic programming over the sets that stages may end with, exactly as long as max_steps last,
 * else by a beam.
 *
 * What is done.  Stages are not waited for: a launch waits, by an event, for those launches on other streams
 * that it depends on, or whose buffers' bytes it is given.  Two buffers share bytes only if every launch that
 * touches one is ordered, by streams and events, before every launch that touches the other.
 *
 * Functions that return int: HEXC_OK; E_INVALID; E_ARGS; E_NOMEM; E_DEVICE and E_FAULT, as in hexc_gpu.h;
 * E_LIMIT: more nodes or buffers than a plan may have.  hexc_plan_why has the sentence.  A plan is used by
 * one thread at a time. */
#ifndef HEXC_PLAN_H
#define HEXC_PLAN_H
#include "lib/hexc_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_plan hexc_plan;

typedef struct hexc_plan_opts {
	size_t size;            /* sizeof(hexc_plan_opts), set by HEXC_PLAN_OPTS_INIT */
	uint32_t streams;       /* at most, 1 .. 16; 0: 1 */
	uint32_t align;         /* of buffers, bytes, a power of two; 0: 256 */
	double sync_us;         /* microseconds that a stage of several streams costs on top, 0 or more */
	uint64_t max_steps;     /* sets that the exact search of a part (up to 64 nodes) tries; 0: 500000 */
	uint32_t beam;          /* where they do not last: sets of so many nodes each that are kept; 0: 32 */
	hexc_gpu *gpu;          /* whose events order the streams; must outlive the plan; NULL: it is only a
	                         * plan, nothing is launched */
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
} hexc_plan_opts;
#define HEXC_PLAN_OPTS_INIT { sizeof(hexc_plan_opts), 0, 0, 0, 0, 0, NULL, NULL, NULL }

/* An empty plan.  opts may be NULL, and is copied.  HEXC_OK and *out, or *out = NULL and E_INVALID,
 * E_NOMEM. */
HEXC_API int hexc_plan_new(hexc_plan **out, const hexc_plan_opts *opts);
/* With its graph and events; not the calls of its nodes.  NULL is allowed. */
HEXC_API void hexc_plan_free(hexc_plan *p);
/* What the last function on p that failed has to say; "" if none did. */
HEXC_API const char *hexc_plan_why(const hexc_plan *p);

/* ---- what there is to do ----------------------------------------------------------------------------- */

/* A buffer of the plan's own, of so many bytes: what one node leaves for another.  Its contents are kept from
 * the first node that touches it to the last, no longer.  *id is its number, from 0. */
HEXC_API int hexc_plan_buffer(hexc_plan *p, uint64_t bytes, uint32_t *id);
/* One of the host's, at this device address (NULL: hexc_plan_set_ptr says it later): inputs, weights,
 * results. It is not moved and shares its bytes with nobody. */
HEXC_API int hexc_plan_outside(hexc_plan *p, void *ptr, uint64_t bytes, uint32_t *id);

typedef struct hexc_plan_work {
	size_t size;            /* sizeof(hexc_plan_work), set by HEXC_PLAN_WORK_INIT */
	const char *name;       /* for messages; NULL is allowed; copied */
	double us;              /* alone on the device, predicted or measured; microseconds, at most 10^9 */
	double fill;            /* the part of the device that it occupies, up to 1; 0: what its call's grid
	                         * says, 1 without a call */
	hexc_call *call;        /* what it launches; stays the host's and outlives the plan; NULL: launch, */
	int (*launch)(void *user, void *stream); /* which works on a CUstream, asynchronously, and returns a
	                         * HEXC_ code; NULL, too: nothing */
	void *user;             /* handed to launch */
} hexc_plan_work;
#define HEXC_PLAN_WORK_INIT { sizeof(hexc_plan_work), NULL, 0, 0, NULL, NULL, NULL }

/* One more node; *id is its number, from 0. */
HEXC_API int hexc_plan_node(hexc_plan *p, const hexc_plan_work *work, uint32_t *id);
/* The node, which has neither a call nor a launch, launches a family: with each update of a graph, too,
 * the line for the sizes that it has then.  The family call stays the host's and outlives the plan. */
HEXC_API int hexc_plan_family(hexc_plan *p, uint32_t node, hexc_family_call *family);
enum { HEXC_PLAN_READ = 1, HEXC_PLAN_WRITE = 2 };
/* The node reads or writes the buffer, or both (how: a sum of the two). */
HEXC_API int hexc_plan_use(hexc_plan *p, uint32_t node, uint32_t buffer, uint32_t how);
/* Tensor `param` of the node's call (hexc_call_find) or family (hexc_family_call_find) is the buffer: it
 * is used as the kernel does, and the call is given its address before it is launched. */
HEXC_API int hexc_plan_arg(hexc_plan *p, uint32_t node, int param, uint32_t buffer);
/* The workspace of the node's family is the buffer, whose bytes are those of hexc_family_call_line: more
 * do no harm, and hexc_plan_set_bytes says new ones. */
HEXC_API int hexc_plan_workspace(hexc_plan *p, uint32_t node, uint32_t buffer);
/* The node depends on an earlier one, whatever they touch. */
HEXC_API int hexc_plan_after(hexc_plan *p, uint32_t node, uint32_t before);

/* New bytes of a buffer, address of one of the host's, time and fill of a node, as they were given at
 * first. */
HEXC_API int hexc_plan_set_bytes(hexc_plan *p, uint32_t buffer, uint64_t bytes);
HEXC_API int hexc_plan_set_ptr(hexc_plan *p, uint32_t buffer, void *ptr);
HEXC_API int hexc_plan_set_time(hexc_plan *p, uint32_t node, double us, double fill);
/* What a node's `launch` would do now is not what it did when it was captured (changed = 1), as with
 * other sizes, or it is the same (0).  Nobody else knows: hexc_plan_update asks for one of the two, of
 * each `launch`, since the last capture or update. */
HEXC_API int hexc_plan_changed(hexc_plan *p, uint32_t node, int changed);

/* ---- the plan ---------------------------------------------------------------------------------------- */

/* Order, spread and place all of it.  E_INVALID: a node reads a buffer of the plan that no earlier one
 * wrote. */
HEXC_API int hexc_plan_solve(hexc_plan *p);
/* After new bytes and times: the same order and streams, buffers placed anew so that they still suffice.  A
 * graph of it needs other arguments only, not another capture; it may take more bytes than hexc_plan_solve
 * would. E_INVALID before hexc_plan_solve, or where there are more nodes, buffers or uses since. */
HEXC_API int hexc_plan_refit(hexc_plan *p);

typedef struct hexc_plan_info {
	size_t size;            /* bytes of this struct that hexc_plan_describe filled */
	double makespan_us;     /* predicted */
	double serial_us;       /* of all nodes one after the other */
	double critical_us;     /* of the longest chain of dependencies: no plan is shorter */
	uint64_t bytes;         /* of the memory that the buffers need together */
	uint64_t live;          /* most that a stage has alive, counted by whole stages: placed they take less
	                         * where one stream is done with some, and more where gaps are left */
	uint64_t total;         /* all of them, without sharing */
	uint32_t align;         /* bytes that its address must be a multiple of */
	uint32_t nodes;
	uint32_t stages;
	uint32_t streams;       /* that are used */
	uint32_t waits;         /* for launches on another stream */
	uint32_t exact;         /* 1: no plan of the kind that the head of this file describes is shorter */
	uint64_t captures;      /* graphs that were captured so far */
	uint64_t updates;       /* nodes of graphs that were given other arguments */
} hexc_plan_info;
#define HEXC_PLAN_INFO_INIT { sizeof(hexc_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* Fills at most the bytes that out->size says, returns 1; 0: it is not solved. */
HEXC_API int hexc_plan_describe(const hexc_plan *p, hexc_plan_info *out);

typedef struct hexc_plan_step {
	size_t size;            /* bytes of this struct that hexc_plan_step_at filled */
	uint32_t node;
	uint32_t stage;         /* from 0 */
	uint32_t stream;        /* from 0 */
	uint32_t nwait;         /* steps on other streams that it waits for, hexc_plan_wait_at */
} hexc_plan_step;
#define HEXC_PLAN_STEP_INIT { sizeof(hexc_plan_step), 0, 0, 0, 0 }
/* The i-th launch, in the order in which the host makes them: fills at most the bytes that out->size says,
 * returns 1, or 0 past the end. */
HEXC_API int hexc_plan_step_at(const hexc_plan *p, size_t i, hexc_plan_step *out);
/* The k-th step that step i waits for; -1 past the end.  Steps on one stream follow each other. */
HEXC_API int64_t hexc_plan_wait_at(const hexc_plan *p, size_t i, size_t k);
/* Where the buffer is, in bytes from the start of the memory; 0 for one of the host's.  E_INVALID: there is
 * none, or it is not solved. */
HEXC_API int hexc_plan_offset(const hexc_plan *p, uint32_t buffer, uint64_t *offset);

/* ---- launches ---------------------------------------------------------------------------------------- */

/* The memory of the buffers: at least hexc_plan_info.bytes on the device, at a multiple of its align.  It
 * stays the host's.  Replaces what was bound before. */
HEXC_API int hexc_plan_bind(hexc_plan *p, void *memory, uint64_t bytes);
/* Launch all of it on the host's CUstreams, stream[0..n), n at least hexc_plan_info.streams: after what is in
 * stream[0] now, and what comes into stream[0] afterwards comes behind it.  Where stream[0] is being
 * captured, it becomes part of that graph.  E_ARGS: an argument is missing or does not fit, memory is not
 * bound or too small. */
HEXC_API int hexc_plan_launch(hexc_plan *p, void *const *stream, uint32_t n);
/* Capture it into a CUDA graph of the plan's own.  None of the streams is being captured, nor the default one
 * (NULL). */
HEXC_API int hexc_plan_capture(hexc_plan *p, void *const *stream, uint32_t n);
/* Launch that graph on a stream.  E_INVALID: a node has changed (hexc_plan_changed, or other arguments of a
 * family), and there was no hexc_plan_update since. */
HEXC_API int hexc_plan_replay(hexc_plan *p, void *stream);
/* Bring that graph up to date with what was given since: addresses, sizes, memory.  Nodes of calls and
 * families are given new arguments (cuGraphExecKernelNodeSetParams); it is captured again, on the streams
 * of hexc_plan_capture, only where that does not do: after hexc_plan_solve, for a `launch` that changed
 * or whose buffers moved or have other bytes, for a family whose sizes take another line, for a call that
 * had nothing to do when it was captured.  hexc_plan_info tells which.  E_INVALID, where it is not
 * captured again: there is a `launch` of which hexc_plan_changed has not said whether it would do the
 * same; the graph stays as it was. */
HEXC_API int hexc_plan_update(hexc_plan *p);

#ifdef __cplusplus
}
#endif
#endif
