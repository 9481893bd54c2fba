/* hexc_plan.h - schedule small graphs of launches on streams and place their buffers in memory.
 *
 * Accompanies hexc_gpu.h; the same rules apply. In libhexc and libhexc_rt. A host specifies the launches,
 * which buffers each reads and writes, and how long each takes. A plan determines the offset of each
 * buffer in one allocation, the stream and position of each launch, and which launches it waits for:
 *
 *	hexc_plan_new -> { hexc_plan_buffer, hexc_plan_outside, hexc_plan_node, hexc_plan_family,
 *	                   hexc_plan_arg }*
 *	              -> hexc_plan_solve -> hexc_plan_describe -> hexc_plan_bind
 *	              -> hexc_plan_launch, or hexc_plan_capture -> hexc_plan_replay*
 *	new sizes:       hexc_plan_set_bytes, hexc_plan_set_time, hexc_call_int, hexc_family_call_int,
 *	                 hexc_plan_changed
 *	              -> hexc_plan_refit -> hexc_plan_update -> hexc_plan_replay*
 *
 * Semantics. Nodes are numbered in the order in which they are added; the plan computes what sequential
 * execution in that order would. A node depends on an earlier one if one of them writes a buffer that the
 * other accesses, or by hexc_plan_after.
 *
 * Model. Nodes run in stages, as in IOS (Ding et al., "IOS: Inter-Operator Scheduler for CNN
 * Acceleration", arXiv 2011.01302). In a stage, each group of nodes connected by dependences runs
 * sequentially on one stream; groups run concurrently on at most `streams` streams. A stage takes the
 * larger of two times: that of its longest stream, and the sum over its nodes of time times occupied
 * fraction of the device (two launches that each fill the device are not faster concurrently). A stage of
 * several streams takes sync_us more. The makespan is the sum of the stages. hexc_plan_solve finds a plan
 * with the least makespan and, among those, one with the fewest bytes alive in any stage. It uses dynamic
 * programming over the sets of nodes that stages may end with: exactly, while max_steps lasts, else with a
 * beam.
 *
 * Execution. Stages do not synchronize globally. A launch waits, by an event, for the launches on other
 * streams that it depends on, or whose buffers' memory it reuses. Two buffers share bytes only if streams
 * and events order every launch that accesses one before every launch that accesses the other.
 *
 * Functions that return int: HEXC_OK; E_INVALID; E_ARGS; E_NOMEM; E_DEVICE and E_FAULT, as in hexc_gpu.h;
 * E_LIMIT: more nodes or buffers than a plan may have. hexc_plan_why returns the sentence. A plan is used
 * by one thread at a time. */
#ifndef HEXC_PLAN_H
#define HEXC_PLAN_H
#include "lib/hexc_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_plan hexc_plan;

typedef struct hexc_plan_opts {
	size_t size;            /* sizeof(hexc_plan_opts), set by HEXC_PLAN_OPTS_INIT */
	uint32_t streams;       /* maximum number of streams, 1 .. 16; 0: 1 */
	uint32_t align;         /* alignment of buffers in bytes, a power of two; 0: 256 */
	double sync_us;         /* microseconds that a stage with several streams costs in addition, 0 or
	                         * more */
	uint64_t max_steps;     /* node sets that the exact search of a part (up to 64 nodes) tries; 0:
	                         * 500000 */
	uint32_t beam;          /* beam search, after max_steps: sets retained per number of nodes; 0: 32 */
	hexc_gpu *gpu;          /* device whose events order the streams; must outlive the plan; NULL: plan
	                         * only, no launches */
	void *(*realloc)(void *user, void *p, size_t n); /* as in hexc_opts */
	void *user;
} hexc_plan_opts;
#define HEXC_PLAN_OPTS_INIT { sizeof(hexc_plan_opts), 0, 0, 0, 0, 0, NULL, NULL, NULL }

/* Creates an empty plan. opts may be NULL, and is copied. Returns HEXC_OK and sets *out, or sets *out =
 * NULL and returns E_INVALID or E_NOMEM. */
HEXC_API int hexc_plan_new(hexc_plan **out, const hexc_plan_opts *opts);
/* Frees a plan with its graph and events, not the calls of its nodes. p may be NULL. */
HEXC_API void hexc_plan_free(hexc_plan *p);
/* Returns the message of the last function on p that failed; "" if none did. */
HEXC_API const char *hexc_plan_why(const hexc_plan *p);

/* ---- what there is to do ----------------------------------------------------------------------------- */

/* Adds a buffer of `bytes` bytes that the plan places: data passed between nodes. Its contents are valid
 * from the first node that accesses it to the last. *id is its index, from 0. */
HEXC_API int hexc_plan_buffer(hexc_plan *p, uint64_t bytes, uint32_t *id);
/* Adds a buffer of the host at this device address (NULL: set later by hexc_plan_set_ptr): inputs,
 * weights, results. It is not moved and shares its bytes with no other buffer. */
HEXC_API int hexc_plan_outside(hexc_plan *p, void *ptr, uint64_t bytes, uint32_t *id);

typedef struct hexc_plan_work {
	size_t size;            /* sizeof(hexc_plan_work), set by HEXC_PLAN_WORK_INIT */
	const char *name;       /* for messages; may be NULL; copied */
	double us;              /* time of the node alone on the device, predicted or measured, in
	                         * microseconds, at most 10^9 */
	double fill;            /* fraction of the device that it occupies, up to 1; 0: computed from its
	                         * call's grid, 1 without a call */
	hexc_call *call;        /* the call to launch; owned by the host, must outlive the plan; NULL: use
	                         * launch */
	int (*launch)(void *user, void *stream); /* enqueues the work on a CUstream, asynchronously, and
	                                          * returns a HEXC_ code; NULL as well: no work */
	void *user;             /* passed to launch */
} hexc_plan_work;
#define HEXC_PLAN_WORK_INIT { sizeof(hexc_plan_work), NULL, 0, 0, NULL, NULL, NULL }

/* Adds a node; *id is its index, from 0. */
HEXC_API int hexc_plan_node(hexc_plan *p, const hexc_plan_work *work, uint32_t *id);
/* Makes a node that has neither a call nor a launch launch a family; a graph update, too, selects the line
 * for the sizes at that time. The family call is owned by the host and must outlive the plan. */
HEXC_API int hexc_plan_family(hexc_plan *p, uint32_t node, hexc_family_call *family);
enum { HEXC_PLAN_READ = 1, HEXC_PLAN_WRITE = 2 };
/* Specifies that the node reads or writes the buffer, or both (how: a sum of the two). */
HEXC_API int hexc_plan_use(hexc_plan *p, uint32_t node, uint32_t buffer, uint32_t how);
/* Binds tensor `param` of the node's call (hexc_call_find) or family (hexc_family_call_find) to the
 * buffer. The kernel determines whether it is read or written; the call gets its address before it is
 * launched. */
HEXC_API int hexc_plan_arg(hexc_plan *p, uint32_t node, int param, uint32_t buffer);
/* Binds the workspace of the node's family to the buffer, which needs the bytes of hexc_family_call_line;
 * more are allowed, and hexc_plan_set_bytes sets new ones. */
HEXC_API int hexc_plan_workspace(hexc_plan *p, uint32_t node, uint32_t buffer);
/* Adds a dependence of the node on an earlier one, regardless of buffers. */
HEXC_API int hexc_plan_after(hexc_plan *p, uint32_t node, uint32_t before);

/* Set a buffer's bytes, the address of a host's buffer, and a node's time and fill, as in the calls that
 * created them. */
HEXC_API int hexc_plan_set_bytes(hexc_plan *p, uint32_t buffer, uint64_t bytes);
HEXC_API int hexc_plan_set_ptr(hexc_plan *p, uint32_t buffer, void *ptr);
HEXC_API int hexc_plan_set_time(hexc_plan *p, uint32_t node, double us, double fill);
/* States whether a node's `launch` would now do something else than when it was captured (changed = 1), as
 * with other sizes, or the same (0). Only the host knows this: hexc_plan_update requires one of the two,
 * for each `launch`, since the last capture or update. */
HEXC_API int hexc_plan_changed(hexc_plan *p, uint32_t node, int changed);

/* ---- the plan ---------------------------------------------------------------------------------------- */

/* Schedules all nodes, assigns streams and places all buffers. Returns E_INVALID if a node reads a buffer
 * of the plan that no earlier node wrote. */
HEXC_API int hexc_plan_solve(hexc_plan *p);
/* Places the buffers again after changed bytes and times, and keeps order and streams. A graph of the plan
 * then needs only other arguments, not another capture. It may need more bytes than hexc_plan_solve would.
 * Returns E_INVALID before hexc_plan_solve, or if nodes, buffers or uses were added since. */
HEXC_API int hexc_plan_refit(hexc_plan *p);

typedef struct hexc_plan_info {
	size_t size;            /* bytes of this struct that hexc_plan_describe filled */
	double makespan_us;     /* predicted */
	double serial_us;       /* sum of all nodes' times */
	double critical_us;     /* longest chain of dependences: no plan is shorter */
	uint64_t bytes;         /* memory that the placed buffers need together */
	uint64_t live;          /* most bytes alive in a stage, counted per stage. Placement needs less if
	                         * one stream finishes with buffers early, and more if gaps remain */
	uint64_t total;         /* sum of all buffers, without sharing */
	uint32_t align;         /* alignment of that memory, in bytes */
	uint32_t nodes;
	uint32_t stages;
	uint32_t streams;       /* streams used */
	uint32_t waits;         /* number of waits for launches on another stream */
	uint32_t exact;         /* 1: no plan under the model described at the top of this file is shorter */
	uint64_t captures;      /* graphs captured so far */
	uint64_t updates;       /* graph nodes whose arguments were updated */
} hexc_plan_info;
#define HEXC_PLAN_INFO_INIT { sizeof(hexc_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* Fills at most out->size bytes and returns 1; returns 0 if the plan is not solved. */
HEXC_API int hexc_plan_describe(const hexc_plan *p, hexc_plan_info *out);

typedef struct hexc_plan_step {
	size_t size;            /* bytes of this struct that hexc_plan_step_at filled */
	uint32_t node;
	uint32_t stage;         /* from 0 */
	uint32_t stream;        /* from 0 */
	uint32_t nwait;         /* number of steps on other streams that it waits for, hexc_plan_wait_at */
} hexc_plan_step;
#define HEXC_PLAN_STEP_INIT { sizeof(hexc_plan_step), 0, 0, 0, 0 }
/* Fills *out, at most out->size bytes, for the i-th launch in the host's launch order. Returns 1, or 0
 * past the end. */
HEXC_API int hexc_plan_step_at(const hexc_plan *p, size_t i, hexc_plan_step *out);
/* Returns the k-th step that step i waits for; -1 past the end. Steps on one stream run in order. */
HEXC_API int64_t hexc_plan_wait_at(const hexc_plan *p, size_t i, size_t k);
/* Computes the buffer's offset in bytes from the start of the memory; 0 for a buffer of the host. Returns
 * E_INVALID if the buffer does not exist, or the plan is not solved. */
HEXC_API int hexc_plan_offset(const hexc_plan *p, uint32_t buffer, uint64_t *offset);

/* ---- launches ---------------------------------------------------------------------------------------- */

/* Sets the memory of the buffers: at least hexc_plan_info.bytes on the device, aligned to its align. It is
 * owned by the host. Replaces the memory bound before. */
HEXC_API int hexc_plan_bind(hexc_plan *p, void *memory, uint64_t bytes);
/* Launches the plan on the host's CUstreams stream[0..n), n >= hexc_plan_info.streams, after the current
 * contents of stream[0]; later work in stream[0] runs after the plan. If stream[0] is being captured, the
 * plan becomes part of that graph. Returns E_ARGS if an argument is missing or does not fit, or if memory
 * is not bound or too small. */
HEXC_API int hexc_plan_launch(hexc_plan *p, void *const *stream, uint32_t n);
/* Captures the plan into a CUDA graph that the plan owns. No stream may be under capture, nor be the
 * default one (NULL). */
HEXC_API int hexc_plan_capture(hexc_plan *p, void *const *stream, uint32_t n);
/* Launches that graph on a stream. Returns E_INVALID if a node changed (hexc_plan_changed, or other
 * arguments of a family) without a hexc_plan_update since. */
HEXC_API int hexc_plan_replay(hexc_plan *p, void *stream);
/* Updates that graph with the addresses, sizes and memory set since. Nodes of calls and families get new
 * arguments (cuGraphExecKernelNodeSetParams). The graph is captured again, on the streams of
 * hexc_plan_capture, only where that is insufficient: after hexc_plan_solve, for a `launch` that changed
 * or whose buffers moved or were resized, for a family whose sizes select another line, for a call whose
 * grid was empty at capture. hexc_plan_info counts both. Returns E_INVALID, and leaves the graph
 * unchanged, if it need not be captured again but hexc_plan_changed was not called for some `launch`. */
HEXC_API int hexc_plan_update(hexc_plan *p);

#ifdef __cplusplus
}
#endif
#endif
