/* graph.c - captures launches of the simulated CUDA driver into graphs and runs these (graph.h). */
#include "lib/sim/cuda/graph.h"
#include <stdlib.h>
#include <string.h>

static bool
has(const NodeSet *s, unsigned i)
{
	return s->word[i / 64] >> i % 64 & 1;
}

static void
add(NodeSet *s, unsigned i)
{
	s->word[i / 64] |= UINT64_C(1) << i % 64;
}

static void
unite(NodeSet *s, const NodeSet *other)
{
	for (size_t w = 0; w < sizeof s->word / sizeof *s->word; w++)
		s->word[w] |= other->word[w];
}

int
kept_set(Kept *k, const sim_module *m, const char *entry, void *function, const unsigned grid[3],
         const unsigned block[3], unsigned shared, void *const *args)
{
	sim_param_info p;
	unsigned char *bytes;
	size_t at = 0, size;

	for (size_t i = 0; i < GRAPH_PARAMS && sim_param_at(m, entry, i, &p); i++)
		at = (at + 63) / 64 * 64 + p.bytes;
	size = (at + 64) / 64 * 64;
	bytes = aligned_alloc(64, size); /* tensor maps need a multiple of 64 */
	if (!bytes)
		return CUDA_OUT_OF_MEMORY;
	at = 0;
	for (size_t i = 0; i < GRAPH_PARAMS && sim_param_at(m, entry, i, &p); i++) {
		at = (at + 63) / 64 * 64;
		memcpy(bytes + at, args[i], p.bytes);
		k->arg[i] = bytes + at;
		at += p.bytes;
	}
	free(k->bytes);
	k->bytes = bytes;
	k->size = size;
	k->function = function;
	k->shared = shared;
	memcpy(k->grid, grid, sizeof k->grid);
	memcpy(k->block, block, sizeof k->block);
	return 0;
}

/* ---- captures ------------------------------------------------------------------------------------------ */

static int
join(Graph *g, Stream *s)
{
	if (g->nstream == GRAPH_STREAMS)
		return CUDA_INVALID_VALUE;
	g->stream[g->nstream++] = s;
	s->capture = g;
	s->origin = g->nstream == 1;
	memset(&s->last, 0, sizeof s->last);
	return 0;
}

int
stream_begin(Stream *s)
{
	Graph *g = s->capture ? NULL : calloc(1, sizeof *g);

	return g ? join(g, s) : s->capture ? CUDA_ILLEGAL_STATE : CUDA_OUT_OF_MEMORY;
}

/* Are all nodes in s or before a node in s? */
static bool
joined(const Graph *g, const NodeSet *s)
{
	NodeSet all = *s;

	for (unsigned i = g->n; i-- > 0;) {
		if (!has(&all, i))
			return false;
		unite(&all, &g->node[i]->before);
	}
	return true;
}

int
stream_end(Stream *s, Graph **out)
{
	Graph *g = s->capture;
	bool all;

	*out = NULL;
	if (!g)
		return CUDA_ILLEGAL_STATE;
	if (!s->origin)
		return CUDA_CAPTURE_UNMATCHED;
	all = joined(g, &s->last);
	for (unsigned i = 0; i < g->nstream; i++)
		g->stream[i]->capture = NULL;
	for (unsigned i = 0; i < g->nevent; i++) {
		g->event[i]->capture = NULL;
		g->event[i]->ended = g;
	}
	free(g->event);
	g->event = NULL;
	g->nevent = g->event_cap = g->nstream = 0;
	if (!all) {
		graph_free(g);
		return CUDA_CAPTURE_UNJOINED;
	}
	*out = g;
	return 0;
}

int
stream_add(Stream *s, const sim_module *m, const char *entry, const Kept *k, void *const *args)
{
	Graph *g = s->capture;
	GraphNode *n;
	int code;

	if (g->n == GRAPH_NODES)
		return CUDA_INVALID_VALUE;
	n = calloc(1, sizeof *n);
	if (!n)
		return CUDA_OUT_OF_MEMORY;
	if ((code = kept_set(&n->k, m, entry, k->function, k->grid, k->block, k->shared, args))) {
		free(n);
		return code;
	}
	n->k.cooperative = k->cooperative;
	n->number = g->n;
	n->enabled = 1;
	n->before = s->last;
	g->node[g->n++] = n;
	memset(&s->last, 0, sizeof s->last);
	add(&s->last, n->number);
	return 0;
}

int
stream_wait(Stream *s, const CudaEvent *e)
{
	int code;

	if (!e->capture)
		return s->capture || e->ended ? CUDA_CAPTURE_ISOLATION : 0;
	if (!s->capture && (code = join(e->capture, s)))
		return code;
	if (s->capture != e->capture)
		return CUDA_CAPTURE_ISOLATION;
	unite(&s->last, &e->at);
	return 0;
}

void *const *
stream_info(Stream *s, size_t *n)
{
	*n = 0;
	for (unsigned i = 0; i < s->capture->n; i++)
		if (has(&s->last, i))
			s->deps[(*n)++] = s->capture->node[i];
	return s->deps;
}

int
event_record(CudaEvent *e, Stream *s)
{
	Graph *g = s ? s->capture : NULL;
	CudaEvent **more;

	event_drop(e);
	e->ended = NULL;
	if (!g)
		return 0;
	if (g->nevent == g->event_cap) {
		more = realloc(g->event, (2 * (size_t)g->event_cap + 16) * sizeof *more);
		if (!more)
			return CUDA_OUT_OF_MEMORY;
		g->event = more;
		g->event_cap = 2 * g->event_cap + 16;
	}
	g->event[g->nevent++] = e;
	e->capture = g;
	e->at = s->last;
	return 0;
}

void
event_drop(CudaEvent *e)
{
	Graph *g = e->capture;

	for (unsigned i = 0; g && i < g->nevent; i++)
		if (g->event[i] == e) {
			g->event[i] = g->event[--g->nevent];
			break;
		}
	e->capture = NULL;
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

static GraphNode *
node_copy(const GraphNode *n)
{
	GraphNode *to = malloc(sizeof *to);

	if (!to)
		return NULL;
	*to = *n;
	to->of = n;
	to->k.bytes = aligned_alloc(64, n->k.size);
	if (!to->k.bytes) {
		free(to);
		return NULL;
	}
	memcpy(to->k.bytes, n->k.bytes, n->k.size);
	for (int i = 0; i < GRAPH_PARAMS; i++)
		if (n->k.arg[i])
			to->k.arg[i] = to->k.bytes + ((unsigned char *)n->k.arg[i] - n->k.bytes);
	return to;
}

Graph *
graph_copy(const Graph *g)
{
	Graph *to = calloc(1, sizeof *to);

	for (; to && to->n < g->n; to->n++)
		if (!(to->node[to->n] = node_copy(g->node[to->n]))) {
			graph_free(to);
			return NULL;
		}
	return to;
}

void
graph_free(Graph *g)
{
	for (unsigned i = 0; g && i < g->n; i++) {
		free(g->node[i]->k.bytes);
		free(g->node[i]);
	}
	free(g);
}

GraphNode *
graph_node(const Graph *exec, const void *node)
{
	for (unsigned i = 0; i < exec->n; i++)
		if (exec->node[i]->of == node)
			return exec->node[i];
	return NULL;
}

static bool
subset(const NodeSet *s, const NodeSet *of)
{
	for (size_t w = 0; w < sizeof s->word / sizeof *s->word; w++)
		if (s->word[w] & ~of->word[w])
			return false;
	return true;
}

int
graph_run(const Graph *exec, int (*run)(void *user, const Kept *k), void *user)
{
	NodeSet done;
	int code;

	memset(&done, 0, sizeof done);
	for (unsigned left = exec->n; left > 0; left--) {
		unsigned i = exec->n;

		while (i-- > 0 && (has(&done, i) || !subset(&exec->node[i]->before, &done)))
			;
		if (exec->node[i]->enabled && (code = run(user, &exec->node[i]->k)))
			return code;
		add(&done, i);
	}
	return 0;
}
