/* graph_build.c - implements hexc_plan.h: adds nodes, buffers and their uses to a plan. */
#include "lib/plan/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct NodeTry {
	hexc_plan *p;
	int (*body)(hexc_plan *p, void *arg);
	void *arg;
	int code;
} NodeTry;

/* Runs under arena_protect. */
static void
run_body(void *user)
{
	NodeTry *t = user;

	t->code = t->body(t->p, t->arg);
}

int
plan_try(hexc_plan *p, Arena *arena, int (*body)(hexc_plan *p, void *arg), void *arg)
{
	Arena *both[2] = { arena, &p->scratch };
	NodeTry t = { p, body, arg, HEXC_OK };
	int code = arena_protect(both, 2, run_body, &t);

	arena_free(&p->scratch);
	return code ? plan_error(p, code, "%s", hexc_strerror(code)) : t.code;
}

const char *
plan_node_name(const hexc_plan *p, uint32_t i, char name[120])
{
	if (p->node[i].name)
		snprintf(name, 120, "node %u (%.100s)", i, p->node[i].name);
	else
		snprintf(name, 120, "node %u", i);
	return name;
}

/* ---- made and freed ---------------------------------------------------------------------------- */

static bool
good_opts(const hexc_plan_opts *o)
{
	return o->streams <= PLAN_STREAMS && is_pow2(o->align) && o->sync_us >= 0 && o->sync_us <= 1e9;
}

int
hexc_plan_new(hexc_plan **out, const hexc_plan_opts *opts)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan *p;

	if (!out)
		return HEXC_E_INVALID;
	*out = NULL;
	if (opts && !take_in(&o, sizeof o, opts))
		return HEXC_E_INVALID;
	o.streams = o.streams ? o.streams : 1;
	o.align = o.align ? o.align : 256;
	o.max_steps = o.max_steps ? o.max_steps : 500000;
	o.beam = o.beam ? o.beam : 32;
	if (!good_opts(&o))
		return HEXC_E_INVALID;
	p = o.realloc ? o.realloc(o.user, NULL, sizeof *p) : malloc(sizeof *p);
	if (!p)
		return HEXC_E_NOMEM;
	memset(p, 0, sizeof *p);
	p->o = o;
	arena_init(&p->arena, o.realloc, o.user);
	arena_init(&p->s.arena, o.realloc, o.user);
	arena_init(&p->run, o.realloc, o.user);
	arena_init(&p->scratch, o.realloc, o.user);
	*out = p;
	return HEXC_OK;
}

void
hexc_plan_free(hexc_plan *p)
{
	if (!p)
		return;
	plan_drop(p);
	arena_free(&p->run);
	arena_free(&p->s.arena);
	arena_free(&p->arena);
	if (p->o.realloc)
		p->o.realloc(p->o.user, p, 0);
	else
		free(p);
}

const char *
hexc_plan_why(const hexc_plan *p)
{
	return p ? p->why : "";
}

/* ---- nodes and buffers -------------------------------------------------------------------------- */

/* Reserves space for one more element in an array with capacity *cap. */
static void *
room(Arena *a, void *old, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return old;
	old = arena_grow(a, old, *cap, 2 * (size_t)*cap + 16, size);
	*cap = 2 * *cap + 16;
	return old;
}

static int
add_buffer(hexc_plan *p, void *arg)
{
	p->buffer = room(&p->arena, p->buffer, p->nbuffer, &p->buffer_cap, sizeof *p->buffer);
	p->buffer[p->nbuffer++] = *(const Buffer *)arg;
	p->solved = false;
	return HEXC_OK;
}

static int
new_buffer(hexc_plan *p, Buffer b, uint32_t *id)
{
	int code;

	if (!p || !id)
		return HEXC_E_INVALID;
	if (p->nbuffer == PLAN_BUFFERS)
		return plan_error(p, HEXC_E_LIMIT, "a plan can have at most %d buffers", PLAN_BUFFERS);
	if (b.bytes >> 48)
		return plan_error(p, HEXC_E_INVALID, "a buffer of 2^48 bytes or more");
	code = plan_try(p, &p->arena, add_buffer, &b);
	if (code == HEXC_OK)
		*id = p->nbuffer - 1;
	return code;
}

int
hexc_plan_buffer(hexc_plan *p, uint64_t bytes, uint32_t *id)
{
	return new_buffer(p, (Buffer){ .bytes = bytes }, id);
}

int
hexc_plan_outside(hexc_plan *p, void *ptr, uint64_t bytes, uint32_t *id)
{
	return new_buffer(p, (Buffer){ .bytes = bytes, .ptr = ptr, .outside = true }, id);
}

/* Are they a valid time and fraction of the device? */
static int
check_time(hexc_plan *p, double us, double fill)
{
	if (!(us >= 0 && us <= 1e9))
		return plan_error(p, HEXC_E_INVALID, "time of %g microseconds is out of range: 0 to 10^9",
		                  us);
	if (!(fill >= 0 && fill <= 1))
		return plan_error(p, HEXC_E_INVALID, "device fraction %g of a node is out of range: 0 to 1",
		                  fill);
	return HEXC_OK;
}

static int
add_node(hexc_plan *p, void *arg)
{
	const hexc_plan_work *w = arg;
	PlanNode n = { .us = w->us, .fill = w->fill };

	n.name = w->name ? arena_strndup(&p->arena, w->name, strlen(w->name)) : NULL;
	p->node = room(&p->arena, p->node, p->nnode, &p->node_cap, sizeof *p->node);
	n.call = w->call;
	n.launch = w->launch;
	n.user = w->user;
	p->node[p->nnode++] = n;
	p->solved = false;
	return HEXC_OK;
}

int
hexc_plan_node(hexc_plan *p, const hexc_plan_work *work, uint32_t *id)
{
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	int code;

	if (!p || !work || !id)
		return HEXC_E_INVALID;
	if (!take_in(&w, sizeof w, work))
		return plan_error(p, HEXC_E_INVALID, "the work descriptor uses fields of a newer hexc.h");
	if (p->nnode == PLAN_NODES)
		return plan_error(p, HEXC_E_LIMIT, "a plan can have at most %d nodes", PLAN_NODES);
	if (w.call && w.launch)
		return plan_error(p, HEXC_E_INVALID, "node %u has both a call and a launch callback",
		                  p->nnode);
	if ((code = check_time(p, w.us, w.fill)))
		return code;
	code = plan_try(p, &p->arena, add_node, &w);
	if (code == HEXC_OK)
		*id = p->nnode - 1;
	return code;
}

static int
check_node(hexc_plan *p, uint32_t node)
{
	return node < p->nnode ? HEXC_OK
	                       : plan_error(p, HEXC_E_INVALID,
	                                    "node %u does not exist: valid indices are 0 to %d",
	                                    node, (int)p->nnode - 1);
}

static int
check_buffer(hexc_plan *p, uint32_t buffer)
{
	return buffer < p->nbuffer
	               ? HEXC_OK
	               : plan_error(p, HEXC_E_INVALID, "buffer %u does not exist: valid indices are 0 to %d",
	                            buffer, (int)p->nbuffer - 1);
}

int
hexc_plan_family(hexc_plan *p, uint32_t node, hexc_family_call *family)
{
	char name[120];
	PlanNode *n;
	int code;

	if (!p || !family)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)))
		return code;
	n = &p->node[node];
	if (n->call || n->launch || n->family)
		return plan_error(p, HEXC_E_INVALID,
		                  "%s already has a launch; a family requires a node without call and launch",
		                  plan_node_name(p, node, name));
	n->family = family;
	p->solved = false;
	return HEXC_OK;
}

static int
add_use(hexc_plan *p, void *arg)
{
	p->use = room(&p->arena, p->use, p->nuse, &p->use_cap, sizeof *p->use);
	p->use[p->nuse++] = *(const BufferUse *)arg;
	p->solved = false;
	return HEXC_OK;
}

static int
use(hexc_plan *p, BufferUse u)
{
	if (p->nuse == UINT32_MAX / 4) /* untested: it needs too much memory */
		return plan_error(p, HEXC_E_LIMIT, "too many uses of buffers");
	return plan_try(p, &p->arena, add_use, &u);
}

int
hexc_plan_use(hexc_plan *p, uint32_t node, uint32_t buffer, uint32_t how)
{
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)) || (code = check_buffer(p, buffer)))
		return code;
	if (how < 1 || how > (HEXC_PLAN_READ | HEXC_PLAN_WRITE))
		return plan_error(p, HEXC_E_INVALID,
		                  "buffer %u has the invalid access mode %u; expected HEXC_PLAN_READ, "
		                  "HEXC_PLAN_WRITE or both",
		                  buffer, how);
	return use(p, (BufferUse){ node, buffer, how, -1 });
}

int
hexc_plan_arg(hexc_plan *p, uint32_t node, int param, uint32_t buffer)
{
	char name[120];
	uint32_t how;
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)) || (code = check_buffer(p, buffer)))
		return code;
	if (!p->node[node].call && !p->node[node].family)
		return plan_error(p, HEXC_E_INVALID, "%s has no call; declare its buffers with hexc_plan_use",
		                  plan_node_name(p, node, name));
	how = p->node[node].call ? call_touches(p->node[node].call, param)
	                         : family_touches(p->node[node].family, param);
	if (!how)
		return plan_error(p, HEXC_E_INVALID, "parameter %d of %s is not a tensor", param,
		                  plan_node_name(p, node, name));
	return use(p, (BufferUse){ node, buffer, how, param });
}

int
hexc_plan_workspace(hexc_plan *p, uint32_t node, uint32_t buffer)
{
	char name[120];
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)) || (code = check_buffer(p, buffer)))
		return code;
	if (!p->node[node].family)
		return plan_error(p, HEXC_E_INVALID, "%s has no family that could use a workspace",
		                  plan_node_name(p, node, name));
	return use(p, (BufferUse){ node, buffer, HEXC_PLAN_WRITE, WORKSPACE });
}

static int
add_after(hexc_plan *p, void *arg)
{
	p->after = room(&p->arena, p->after, p->nafter, &p->after_cap, sizeof *p->after);
	p->after[p->nafter++] = *(const PlanEdge *)arg;
	p->solved = false;
	return HEXC_OK;
}

int
hexc_plan_after(hexc_plan *p, uint32_t node, uint32_t before)
{
	PlanEdge e = { before, node };
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)) || (code = check_node(p, before)))
		return code;
	if (before >= node)
		return plan_error(p, HEXC_E_INVALID,
		                  "node %u cannot depend on node %u; it may only depend on nodes added "
		                  "before it",
		                  node, before);
	return plan_try(p, &p->arena, add_after, &e);
}

/* ---- changes -------------------------------------------------------------------------------------- */

int
hexc_plan_set_bytes(hexc_plan *p, uint32_t buffer, uint64_t bytes)
{
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_buffer(p, buffer)))
		return code;
	if (bytes >> 48)
		return plan_error(p, HEXC_E_INVALID, "a buffer of 2^48 bytes or more");
	p->fits = p->fits && (p->buffer[buffer].outside || p->buffer[buffer].bytes == bytes);
	p->buffer[buffer].bytes = bytes;
	return HEXC_OK;
}

int
hexc_plan_set_ptr(hexc_plan *p, uint32_t buffer, void *ptr)
{
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_buffer(p, buffer)))
		return code;
	if (!p->buffer[buffer].outside)
		return plan_error(p, HEXC_E_INVALID,
		                  "buffer %u is owned by the plan: its memory is part of that of "
		                  "hexc_plan_bind",
		                  buffer);
	p->buffer[buffer].ptr = ptr;
	return HEXC_OK;
}

int
hexc_plan_set_time(hexc_plan *p, uint32_t node, double us, double fill)
{
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)) || (code = check_time(p, us, fill)))
		return code;
	p->node[node].us = us;
	p->node[node].fill = fill;
	return HEXC_OK;
}

int
hexc_plan_changed(hexc_plan *p, uint32_t node, int changed)
{
	char name[120];
	int code;

	if (!p)
		return HEXC_E_INVALID;
	if ((code = check_node(p, node)))
		return code;
	if (!p->node[node].launch)
		return plan_error(p, HEXC_E_INVALID, "%s has no launch; other changes are detected "
		                                     "automatically",
		                  plan_node_name(p, node, name));
	p->node[node].said = changed || p->node[node].said == CHANGED ? CHANGED : SAME;
	return HEXC_OK;
}
