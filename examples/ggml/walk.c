/* walk.c - which launches a graph is: each node, with the longest tail for which there is a kernel. */
#include "examples/ggml/walk.h"
#include "examples/ggml/fuse.h"
#include <ggml-impl.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_MOST = 600 };

typedef struct Walk {
	struct ggml_cgraph *g;
	const Limits *limits;
	VisitWork visit;
	void *user;
	bool *done;             /* nodes that need no launch any more */
	Waiting waiting;
	char *why;
	size_t n;
} Walk;

static bool
visit_work(Walk *a, const Work *w, int nodes)
{
	return a->visit(a->user, w, nodes, a->why, a->n);
}

/* Visits node i alone. */
static bool
visit_alone(Walk *a, int i)
{
	Work w;

	if (describe(&w, a->limits, a->g->nodes[i], NULL))
		return visit_work(a, &w, 1);
	snprintf(a->why, a->n, "no kernel computes it");
	return false;
}

static bool
visit_waiting(Walk *a)
{
	int i = a->waiting.node;

	a->waiting = (Waiting){ -1, -1 };
	return i < 0 || visit_alone(a, i);
}

/* Describes node i with the longest tail for which there is a kernel, and with the node that waits for it.
 * Returns false if there is none: it is to be launched alone. */
static bool
describe_fused(const Walk *a, int i, Chosen *c, Work *w)
{
	bool fused = fuse(a->g, i, a->done, c);

	if (a->waiting.with == i && !c->tail.also) {
		c->tail.also = a->g->nodes[a->waiting.node];
		c->also = a->waiting.node;
		fused = true;
	}
	while (fused && !describe(w, a->limits, a->g->nodes[i], &c->tail))
		fused = fuse_less(c);
	return fused;
}

/* Visits node i, and with it its tail and the node that waits for it, if there is a kernel. Another node that
 * waits is visited first if this launch, as it is, disturbs it. Marks what is visited as done. */
static bool
visit_node(Walk *a, int i)
{
	bool fused;
	Chosen c;
	Work w;

	fused = describe_fused(a, i, &c, &w);
	if (a->waiting.node >= 0 && fuse_disturbs(a->g, a->waiting.node, i, fused ? &c : NULL)) {
		if (!visit_waiting(a))
			return false;
		fused = describe_fused(a, i, &c, &w);
	}
	if (!fused)
		return visit_alone(a, i);
	if (c.also == a->waiting.node)
		a->waiting = (Waiting){ -1, -1 };
	return visit_work(a, &w, 1 + fuse_mark(&c, a->done));
}

/* Visits node i, or lets it wait for a later one. */
static bool
visit_or_wait(Walk *a, int i)
{
	int with = a->waiting.node < 0 ? fuse_later(a->g, i, a->done) : -1;

	if (with >= 0) {
		a->waiting = (Waiting){ i, with };
		return true;
	}
	return visit_node(a, i) && (a->waiting.with != i || visit_waiting(a));
}

bool
walk_graph(struct ggml_cgraph *g, const Limits *limits, VisitWork visit, void *user, char *why, size_t n)
{
	int nodes = ggml_graph_n_nodes(g);
	bool *done = calloc((size_t)nodes + 1, sizeof *done), ok = done;
	char reason[REASON_MOST];
	Walk a = { g, limits, visit, user, done, { -1, -1 }, reason, sizeof reason };

	if (!ok)
		snprintf(why, n, "out of memory");
	for (int i = 0; ok && i < nodes; i++) {
		if (done[i] || is_idle(g->nodes[i]))
			continue;
		ok = visit_or_wait(&a, i);
		if (!ok)
			snprintf(why, n, "%s: %s", ggml_op_desc(g->nodes[i]), reason);
	}
	if (ok && !visit_waiting(&a)) {
		snprintf(why, n, "%s", reason);
		ok = false;
	}
	free(done);
	return ok;
}

/* ---- before tensors have memory ------------------------------------------------------------------------ */

/* Tensors that have an address for the time of a walk. */
typedef struct Placed {
	struct ggml_tensor **tensor;
	size_t tensors, room;
	uintptr_t next;         /* address, where no memory is */
} Placed;

static void
place_at(Placed *p, struct ggml_tensor *t, void *data)
{
	if (p->tensors == p->room) {
		size_t room = 2 * p->room + 256;
		struct ggml_tensor **more = realloc(p->tensor, room * sizeof *more);

		if (!more)
			return;
		p->tensor = more;
		p->room = room;
	}
	p->tensor[p->tensors++] = t;
	t->data = data;
}

static void
place(Placed *p, struct ggml_tensor *t)
{
	struct ggml_tensor *whole = t->view_src;

	if (t->data)
		return;
	if (whole) {
		place(p, whole);
		if (whole->data)
			place_at(p, t, (char *)whole->data + t->view_offs);
		return;
	}
	place_at(p, t, (void *)p->next);
	p->next += (ggml_nbytes(t) + 511) & ~(uintptr_t)255;
}

static void
place_node(Placed *p, struct ggml_tensor *t)
{
	for (int k = 0; k < GGML_MAX_SRC; k++)
		if (t->src[k])
			place(p, t->src[k]);
	place(p, t);
}

void
walk_unallocated(struct ggml_cgraph *g, const Limits *limits, VisitWork visit, void *user)
{
	Placed p = { .next = (uintptr_t)1 << 56 };
	char why[REASON_MOST];

	for (int i = 0; i < g->n_nodes; i++)
		place_node(&p, g->nodes[i]);
	walk_graph(g, limits, visit, user, why, sizeof why);
	for (size_t i = 0; i < p.tensors; i++)
		p.tensor[i]->data = NULL;
	free(p.tensor);
}

/* ---- graphs alike -------------------------------------------------------------------------------------- */

static uint64_t
mix(uint64_t h, const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t word;

	for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
		memcpy(&word, at, sizeof word);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	for (; size; size--)
		h = (h ^ *at++) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t
mix_tensor(uint64_t h, const struct ggml_tensor *t)
{
	h = mix(h, &t->type, sizeof t->type);
	h = mix(h, t->ne, sizeof t->ne);
	return mix(h, t->nb, sizeof t->nb);
}

uint64_t
graph_shape(const struct ggml_cgraph *g)
{
	uint64_t h = (uint64_t)g->n_nodes;

	for (int i = 0; i < g->n_nodes; i++) {
		const struct ggml_tensor *t = g->nodes[i];

		h = mix_tensor(h, t);
		h = mix(h, &t->op, sizeof t->op);
		h = mix(h, &t->flags, sizeof t->flags);
		h = mix(h, t->op_params, sizeof t->op_params);
		for (int k = 0; k < GGML_MAX_SRC; k++)
			h = t->src[k] ? mix_tensor(h, t->src[k]) : mix(h, &k, 1);
	}
	return h;
}
