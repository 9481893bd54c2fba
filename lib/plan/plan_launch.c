/* plan_launch.c - implements hexc_plan.h: launches a plan on streams, or captures it as a CUDA graph. */
#include "lib/plan/plan.h"
#include <stdio.h>
#include <string.h>

/* Converts a driver result to a HEXC_ code; reports failures. */
static int
plan_result(hexc_plan *p, const char *call, int result)
{
	if (result)
		driver_says(&p->o.gpu->cu, call, result, p->why, sizeof p->why);
	return driver_code(result);
}
#define CALL(p, function, ...) plan_result(p, #function, (p)->o.gpu->cu.function(__VA_ARGS__))

static int
enter(hexc_plan *p)
{
	return CALL(p, cuCtxPushCurrent_v2, p->o.gpu->context);
}

static int
leave(hexc_plan *p, int code)
{
	void *context;
	int popped = p->o.gpu->cu.cuCtxPopCurrent_v2(&context);

	return code ? code : plan_result(p, "cuCtxPopCurrent_v2", popped);
}

/* ---- what is needed before ------------------------------------------------------------------------- */

int
hexc_plan_bind(hexc_plan *p, void *memory, uint64_t bytes)
{
	if (!p)
		return HEXC_E_INVALID;
	if ((uintptr_t)memory % p->o.align)
		return plan_error(p, HEXC_E_ARGS, "the memory is at %p, which is not a multiple of %u",
		                  memory,
		                  p->o.align);
	p->memory = memory;
	p->memory_bytes = memory ? bytes : 0;
	return HEXC_OK;
}

static int
check_ready(hexc_plan *p, uint32_t nstream)
{
	const PlanSolution *s = &p->s;

	if (!p->o.gpu)
		return plan_error(p, HEXC_E_INVALID,
		                  "the plan has no GPU; pass one in the options of hexc_plan_new");
	if (!p->solved)
		return plan_error(p, HEXC_E_INVALID,
		                  "it is not solved, or was changed since; call hexc_plan_solve");
	if (!p->fits)
		return plan_error(p, HEXC_E_INVALID,
		                  "buffer sizes changed after placement; call hexc_plan_refit or "
				  "hexc_plan_solve");
	if (nstream < s->streams)
		return plan_error(p, HEXC_E_INVALID, "it requires %u streams, got %u", s->streams, nstream);
	if (p->memory_bytes < s->bytes)
		return plan_error(p, HEXC_E_ARGS,
		                  "its buffers need %llu bytes, but hexc_plan_bind provided %llu",
		                  (unsigned long long)s->bytes, (unsigned long long)p->memory_bytes);
	return HEXC_OK;
}

/* Creates the events that the solution needs. Requires the context to be current. */
static int
make_events(hexc_plan *p, void *arg)
{
	uint32_t want = p->s.nevent;

	(void)arg;
	if (p->nevent >= want)
		return HEXC_OK;
	p->event = arena_grow(&p->arena, p->event, p->nevent, want, sizeof *p->event);
	for (int code; p->nevent < want; p->nevent++)
		if ((code = CALL(p, cuEventCreate, &p->event[p->nevent], DRV_CU_EVENT_DISABLE_TIMING)))
			return code;
	return HEXC_OK;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static void *
address(const hexc_plan *p, uint32_t buffer)
{
	const Buffer *b = &p->buffer[buffer];

	return b->outside || !p->memory ? b->ptr : (char *)p->memory + p->s.offset[buffer];
}

/* Reports a failure of node v's call or family. */
static int
node_error(hexc_plan *p, uint32_t v, int code)
{
	const PlanNode *n = &p->node[v];
	char name[120];

	return plan_error(p, code, "%s: %s", plan_node_name(p, v, name),
	                  n->family ? hexc_family_call_why(n->family) : hexc_call_why(n->call));
}

/* Sets a tensor or the workspace of node v's call or family to its buffer. */
static int
give_buffer(const hexc_plan *p, uint32_t v, const BufferUse *u)
{
	const PlanNode *n = &p->node[v];
	void *at = address(p, u->buffer);
	uint64_t bytes = p->buffer[u->buffer].bytes;

	if (u->param == WORKSPACE)
		return hexc_family_call_workspace(n->family, at, bytes);
	return n->family ? hexc_family_call_ptr(n->family, u->param, at, bytes)
	                 : hexc_call_ptr(n->call, u->param, at, bytes);
}

/* Sets all buffers of node v; for a family also its stages' arguments. */
static int
give_args(hexc_plan *p, uint32_t v)
{
	int code = HEXC_OK;

	for (uint32_t i = p->s.use[v]; i < p->s.use[v + 1] && !code; i++)
		if (p->use[i].param >= 0 || p->use[i].param == WORKSPACE)
			code = give_buffer(p, v, &p->use[i]);
	if (!code && p->node[v].family)
		code = family_give(p->node[v].family);
	return code ? node_error(p, v, code) : HEXC_OK;
}

/* Launches the stages of a family's line in order; graph: captures them. */
static int
launch_family(hexc_plan *p, uint32_t v, void *stream, void **graph)
{
	hexc_family_call *f = p->node[v].family;
	hexc_call *call;
	char name[120];
	int code;

	for (size_t s = 0; (call = hexc_family_call_at(f, s)) != NULL; s++)
		if ((code = graph ? hexc_call_capture(call, stream, &graph[s])
		                  : hexc_call_launch(call, stream)))
			return plan_error(p, code, "%s: %s", plan_node_name(p, v, name), hexc_call_why(call));
	return HEXC_OK;
}

/* Launches node v. If graph is not NULL, captures it: *graph is the call's node, followed by the further
 * stages of a family. */
static int
launch_node(hexc_plan *p, uint32_t v, void *stream, void **graph)
{
	const PlanNode *n = &p->node[v];
	char name[120];
	int code;

	if (n->launch) {
		code = n->launch(n->user, stream);
		return code ? plan_error(p, code, "%s: its launch returned %d, %s",
		                         plan_node_name(p, v, name), code, hexc_strerror(code))
		            : HEXC_OK;
	}
	if (!n->call && !n->family)
		return HEXC_OK;
	if ((code = give_args(p, v)))
		return code;
	if (n->family)
		return launch_family(p, v, stream, graph);
	code = graph ? hexc_call_capture(n->call, stream, graph) : hexc_call_launch(n->call, stream);
	return code ? node_error(p, v, code) : HEXC_OK;
}

/* Returns the graph nodes of step k. */
static void **
stages_of(void **graph, uint32_t k)
{
	return &graph[(size_t)k * HEXC_FAMILY_STAGES];
}

static int
launch_step(hexc_plan *p, uint32_t k, void *const *stream, uint32_t *started, void **graph)
{
	const PlanSolution *s = &p->s;
	const PlanStep *t = &s->step[k];
	void *own = stream[t->stream];
	int code;

	if (!(*started >> t->stream & 1) && s->first >> t->stream & 1 &&
	    (code = CALL(p, cuStreamWaitEvent, own, p->event[0], 0)))
		return code;
	*started |= 1u << t->stream;
	for (uint32_t i = 0; i < t->nwait; i++)
		if ((code = CALL(p, cuStreamWaitEvent, own, p->event[s->event[s->wait[t->wait + i]]], 0)))
			return code;
	if ((code = launch_node(p, t->node, own, graph ? stages_of(graph, k) : NULL)))
		return code;
	return s->event[k] ? CALL(p, cuEventRecord, p->event[s->event[k]], own) : HEXC_OK;
}

/* Launches all steps. If graph is not NULL, captures them; it is an array of each step's nodes. Requires
 * the context to be current. */
static int
launch(hexc_plan *p, void *const *stream, void **graph)
{
	const PlanSolution *s = &p->s;
	uint32_t started = 0;
	int code;

	if (s->first && (code = CALL(p, cuEventRecord, p->event[0], stream[0])))
		return code;
	for (uint32_t k = 0; k < s->n; k++)
		if ((code = launch_step(p, k, stream, &started, graph)))
			return code;
	for (uint32_t i = 0; i < s->nlast; i++)
		if ((code = CALL(p, cuStreamWaitEvent, stream[0], p->event[s->event[s->last[i]]], 0)))
			return code;
	return HEXC_OK;
}

int
hexc_plan_launch(hexc_plan *p, void *const *stream, uint32_t n)
{
	int code;

	if (!p || !stream || n == 0)
		return HEXC_E_INVALID;
	if ((code = check_ready(p, n)) || (code = enter(p)))
		return code;
	code = p->nevent < p->s.nevent ? plan_try(p, &p->arena, make_events, NULL) : HEXC_OK;
	return leave(p, code ? code : launch(p, stream, NULL));
}

/* ---- graphs ------------------------------------------------------------------------------------------- */

static void
drop_graph(hexc_plan *p)
{
	if (p->exec)
		p->o.gpu->cu.cuGraphExecDestroy(p->exec);
	if (p->graph)
		p->o.gpu->cu.cuGraphDestroy(p->graph);
	p->exec = p->graph = NULL;
	arena_free(&p->run);
	p->gnode = NULL;
	p->seen = NULL;
	p->kept = NULL;
}

void
plan_drop(hexc_plan *p)
{
	if ((!p->nevent && !p->graph) || enter(p))
		return;
	drop_graph(p);
	for (uint32_t i = 0; i < p->nevent; i++)
		p->o.gpu->cu.cuEventDestroy_v2(p->event[i]);
	p->nevent = 0;
	leave(p, HEXC_OK);
}

/* Allocates the arrays for captured state. */
static int
graph_memory(hexc_plan *p, void *arg)
{
	(void)arg;
	p->gnode = NEWN(&p->run, void *, ((size_t)p->s.n + 1) * HEXC_FAMILY_STAGES);
	p->kept = NEWN(&p->run, struct Kept, p->s.n + 1);
	p->seen = NEWN(&p->run, BoundBuffer, p->nbuffer + 1);
	for (uint32_t b = 0; b < p->nbuffer; b++)
		p->seen[b] = (BoundBuffer){ address(p, b), p->buffer[b].bytes };
	return HEXC_OK;
}

/* Records the nodes' state that the graph represents. */
static void
keep_state(hexc_plan *p)
{
	for (uint32_t k = 0; k < p->s.n; k++) {
		PlanNode *n = &p->node[p->s.step[k].node];

		n->said = UNSAID;
		if (!n->family)
			continue;
		hexc_family_call_line(n->family, &p->kept[k].line, NULL); /* the line is known to exist */
		p->kept[k].changes = family_changes(n->family);
	}
}

static int
capture(hexc_plan *p)
{
	void *graph = NULL;
	int code, ended;

	drop_graph(p);
	if ((code = plan_try(p, &p->arena, make_events, NULL)) ||
	    (code = plan_try(p, &p->run, graph_memory, NULL)) ||
	    (code = CALL(p, cuStreamBeginCapture_v2, p->stream[0], DRV_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
		return code;
	code = launch(p, p->stream, p->gnode);
	ended = p->o.gpu->cu.cuStreamEndCapture(p->stream[0], &graph);
	p->graph = ended ? NULL : graph;
	if (code == HEXC_OK)
		code = plan_result(p, "cuStreamEndCapture", ended);
	if (code == HEXC_OK)
		code = CALL(p, cuGraphInstantiateWithFlags, &p->exec, p->graph, 0);
	if (code) {
		drop_graph(p);
		return code;
	}
	p->stale = false;
	p->captures++;
	keep_state(p);
	return HEXC_OK;
}

static int
has_graphs(hexc_plan *p)
{
	hexc_gpu *g = p->o.gpu;

	return DRIVER_HAS(&g->cu, cuStreamGetCaptureInfo_v2, p->why, sizeof p->why) &&
	                       DRIVER_HAS(&g->cu, cuGraphInstantiateWithFlags, p->why, sizeof p->why)
	               ? HEXC_OK
	               : HEXC_E_DEVICE;
}

int
hexc_plan_capture(hexc_plan *p, void *const *stream, uint32_t n)
{
	int code;

	if (!p || !stream || n == 0)
		return HEXC_E_INVALID;
	if ((code = check_ready(p, n)) || (code = has_graphs(p)))
		return code;
	for (uint32_t i = 0; i < p->s.streams; i++)
		if (!stream[i])
			return plan_error(p, HEXC_E_INVALID,
			                  "stream %u is the default stream, which cannot be captured; "
			                  "create a stream", i);
	p->nstream = n < PLAN_STREAMS ? n : PLAN_STREAMS;
	memcpy(p->stream, stream, p->nstream * sizeof *stream);
	if ((code = enter(p)))
		return code;
	return leave(p, capture(p));
}

static int
nothing_captured(hexc_plan *p)
{
	return plan_error(p, HEXC_E_INVALID, "no graph was captured; call hexc_plan_capture");
}

/* Does the graph match what its nodes would do now, as far as the host stated it? */
static int
check_fresh(hexc_plan *p)
{
	char name[120];

	for (uint32_t k = 0; k < p->s.n && !p->stale; k++) {
		uint32_t v = p->s.step[k].node;
		const PlanNode *n = &p->node[v];

		if (n->said == CHANGED || (n->family && family_changes(n->family) != p->kept[k].changes))
			return plan_error(p, HEXC_E_INVALID,
			                  "%s has changed since the graph was captured; call "
			                  "hexc_plan_update",
			                  plan_node_name(p, v, name));
	}
	return HEXC_OK;
}

int
hexc_plan_replay(hexc_plan *p, void *stream)
{
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if (!p->exec)
		return nothing_captured(p);
	if ((code = check_fresh(p)) || (code = enter(p)))
		return code;
	return leave(p, CALL(p, cuGraphLaunch, p->exec, stream));
}

/* Did the family of step k select another line, or was a stage's grid empty at capture? */
static int
family_outgrown(hexc_plan *p, uint32_t k, bool *out)
{
	uint32_t v = p->s.step[k].node;
	hexc_family_call *f = p->node[v].family;
	hexc_call *call;
	size_t line;
	int code;

	if ((code = hexc_family_call_line(f, &line, NULL)))
		return node_error(p, v, code);
	*out |= line != p->kept[k].line;
	if (*out)
		return HEXC_OK;
	if ((code = give_args(p, v)))
		return code;
	for (size_t s = 0; (call = hexc_family_call_at(f, s)) != NULL; s++) {
		uint64_t blocks = 0;
		char name[120];

		if (stages_of(p->gnode, k)[s])
			continue;
		if ((code = call_blocks(call, &blocks)))
			return plan_error(p, code, "%s: %s", plan_node_name(p, v, name), hexc_call_why(call));
		*out |= blocks > 0;
	}
	return HEXC_OK;
}

/* Does step k require another capture? */
static int
outgrown(hexc_plan *p, uint32_t k, bool *out)
{
	uint32_t v = p->s.step[k].node;
	const PlanNode *n = &p->node[v];
	uint64_t blocks = 0;
	int code;

	for (uint32_t i = p->s.use[v]; n->launch && i < p->s.use[v + 1]; i++) {
		uint32_t b = p->use[i].buffer;

		*out |= p->seen[b].at != address(p, b) || p->seen[b].bytes != p->buffer[b].bytes;
	}
	*out |= n->said == CHANGED;
	if (n->family)
		return family_outgrown(p, k, out);
	if (!n->call || *stages_of(p->gnode, k))
		return HEXC_OK;
	if ((code = call_blocks(n->call, &blocks)))
		return node_error(p, v, code);
	*out |= blocks > 0;
	return HEXC_OK;
}

/* A graph must not repeat outdated launches: hexc_plan_changed must have been called for each `launch`. */
static int
check_said(hexc_plan *p)
{
	char name[120];

	for (uint32_t k = 0; k < p->s.n; k++) {
		uint32_t v = p->s.step[k].node;

		if (p->node[v].launch && p->node[v].said == UNSAID)
			return plan_error(p, HEXC_E_INVALID,
			                  "%s is a launch callback, whose work may have changed since the "
			                  "capture; call hexc_plan_changed with 1 or 0, or make it a call "
			                  "or a family",
			                  plan_node_name(p, v, name));
	}
	return HEXC_OK;
}

/* Requires the context to be current. */
static int
update_nodes(hexc_plan *p)
{
	char name[120];

	for (uint32_t k = 0; k < p->s.n; k++) {
		uint32_t v = p->s.step[k].node;
		const PlanNode *n = &p->node[v];
		void **graph = stages_of(p->gnode, k);
		int code;

		if ((n->call && *graph) || n->family)
			if ((code = give_args(p, v)))
				return code;
		for (size_t s = 0; s < HEXC_FAMILY_STAGES; s++) {
			hexc_call *call = n->family ? hexc_family_call_at(n->family, s) : n->call;

			if (!graph[s])
				continue;
			if ((code = hexc_call_update(call, p->exec, graph[s])))
				return plan_error(p, code, "%s: %s", plan_node_name(p, v, name),
				                  hexc_call_why(call));
			p->updates++;
		}
	}
	keep_state(p);
	return HEXC_OK;
}

int
hexc_plan_update(hexc_plan *p)
{
	bool again;
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if (!p->exec)
		return nothing_captured(p);
	if ((code = check_ready(p, p->nstream)))
		return code;
	again = p->stale || !p->o.gpu->cu.cuGraphExecKernelNodeSetParams_v2 ||
	        !p->o.gpu->cu.cuGraphNodeSetEnabled;
	for (uint32_t k = 0; k < p->s.n && !again; k++)
		if ((code = outgrown(p, k, &again)))
			return code;
	if ((!again && (code = check_said(p))) || (code = enter(p)))
		return code;
	return leave(p, again ? capture(p) : update_nodes(p));
}
