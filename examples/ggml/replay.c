/* replay.c - captures a graph that comes again as a CUDA graph: a plan (hexc_plan.h) with one node, which
 * launches all of it. */
#include "examples/ggml/replay.h"
#include <ggml-impl.h>
#include "lib/hexc_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Graphs remembered at a time: a model's splits, for prompts and for one token. */
enum { GRAPHS_MOST = 24 };

/* Bytes that are equal for equal graphs. */
typedef struct Facts {
	char *data;
	size_t size, room;
	bool failed;            /* no memory */
} Facts;

typedef struct Recording {
	uint64_t uid;           /* ggml's, if it is not 0 */
	Facts facts;
	uint64_t epoch;         /* of the capture */
	hexc_plan *plan;        /* NULL: seen once */
	uint64_t used;          /* the time of its last use */
} Recording;

struct Replays {
	Device *d;
	void *stream;
	Recording recording[GRAPHS_MOST];
	Facts facts;            /* of the graph that runs */
	uint64_t time;
	bool off;               /* the driver cannot capture */
	ReplayStats stats;
};

/* ---- which graphs are the same -------------------------------------------------------------------- */

static void
append(Facts *f, const void *data, size_t size)
{
	if (f->size + size > f->room) {
		size_t room = 2 * f->room + size + 4096;
		char *more = realloc(f->data, room);

		f->failed = f->failed || !more;
		if (!more)
			return;
		f->data = more;
		f->room = room;
	}
	memcpy(f->data + f->size, data, size);
	f->size += size;
}

static void
append_tensor(Facts *f, const struct ggml_tensor *t)
{
	append(f, &t, sizeof t);
	append(f, &t->data, sizeof t->data);
	append(f, &t->type, sizeof t->type);
	append(f, t->ne, sizeof t->ne);
	append(f, t->nb, sizeof t->nb);
}

static void
append_node(Facts *f, const struct ggml_cgraph *g, int i)
{
	const struct ggml_tensor *t = g->nodes[i];
	int32_t uses = ggml_node_get_use_count(g, i);

	append_tensor(f, t);
	append(f, &t->op, sizeof t->op);
	append(f, &t->flags, sizeof t->flags);
	append(f, t->op_params, sizeof t->op_params);
	append(f, &t->view_src, sizeof t->view_src);
	append(f, &uses, sizeof uses);
	for (int k = 0; k < GGML_MAX_SRC; k++)
		if (t->src[k])
			append_tensor(f, t->src[k]);
		else
			append(f, &t->src[k], sizeof t->src[k]);
}

static void
write_facts(Facts *f, const struct ggml_cgraph *g)
{
	f->size = 0;
	f->failed = false;
	for (int i = 0; i < g->n_nodes; i++)
		append_node(f, g, i);
}

static bool
same_facts(const Facts *a, const Facts *b)
{
	return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* The recording of g. NULL: there is none, and r->facts are those of g. */
static Recording *
find(Replays *r, const struct ggml_cgraph *g)
{
	for (int i = 0; g->uid && i < GRAPHS_MOST; i++)
		if (r->recording[i].uid == g->uid)
			return &r->recording[i];
	write_facts(&r->facts, g);
	for (int i = 0; !r->facts.failed && i < GRAPHS_MOST; i++) {
		Recording *x = &r->recording[i];

		if (x->used && same_facts(&x->facts, &r->facts)) {
			x->uid = g->uid;
			return x;
		}
	}
	return NULL;
}

/* ---- recordings -------------------------------------------------------------------------------------- */

static void
forget(Recording *x)
{
	hexc_plan_free(x->plan);
	free(x->facts.data);
	*x = (Recording){ 0 };
}

/* Remembers the graph with r->facts in the place of the one that was not used for the longest time. */
static void
remember(Replays *r, const struct ggml_cgraph *g)
{
	Recording *x = r->recording;

	for (int i = 1; i < GRAPHS_MOST; i++)
		if (r->recording[i].used < x->used)
			x = &r->recording[i];
	forget(x);
	if (r->facts.failed)
		return;
	x->uid = g->uid;
	x->facts = r->facts;
	x->used = ++r->time;
	r->facts = (Facts){ 0 };
}

/* What the node of a plan launches. */
typedef struct Launching {
	struct ggml_cgraph *g;
	LaunchGraph launch;
	void *user;
	char *why;
	size_t n;
} Launching;

static int
launch_all(void *user, void *stream)
{
	const Launching *l = user;

	(void)stream;
	return l->launch(l->user, l->g, l->why, l->n) ? HEXC_OK : HEXC_E_DEVICE;
}

static bool
capture(Replays *r, Recording *x, Launching *l)
{
	hexc_plan_opts opts = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work work = HEXC_PLAN_WORK_INIT;
	uint32_t node;

	hexc_plan_free(x->plan);
	x->plan = NULL;
	opts.gpu = r->d->gpu;
	work.launch = launch_all;
	work.user = l;
	if (hexc_plan_new(&x->plan, &opts) || hexc_plan_node(x->plan, &work, &node) ||
	    hexc_plan_solve(x->plan) || hexc_plan_capture(x->plan, &r->stream, 1)) {
		GGML_LOG_DEBUG("%s: graphs are not captured: %s\n", r->d->name, hexc_plan_why(x->plan));
		return false;
	}
	r->stats.captured++;
	return true;
}

static bool
replay_plan(Replays *r, const Recording *x, char *why, size_t n)
{
	if (hexc_plan_replay(x->plan, r->stream)) {
		snprintf(why, n, "%s", hexc_plan_why(x->plan));
		return false;
	}
	r->stats.replayed++;
	return true;
}

bool
replay(Replays *r, struct ggml_cgraph *g, uint64_t epoch, LaunchGraph launch, void *user, char *why,
       size_t n)
{
	Recording *x = r->off ? NULL : find(r, g);
	Launching l = { g, launch, user, why, n };

	if (!x) {
		if (!r->off)
			remember(r, g);
		return launch(user, g, why, n);
	}
	x->used = ++r->time;
	if (x->plan && x->epoch == epoch)
		return replay_plan(r, x, why, n);
	x->epoch = epoch;
	if (capture(r, x, &l))
		return replay_plan(r, x, why, n);
	forget(x);
	r->off = true;
	return launch(user, g, why, n);
}

ReplayStats
replay_stats(const Replays *r)
{
	return r->stats;
}

Replays *
replays_new(Device *d, void *stream)
{
	Replays *r = calloc(1, sizeof *r);

	if (r) {
		r->d = d;
		r->stream = stream;
	}
	return r;
}

void
replays_free(Replays *r)
{
	if (!r)
		return;
	for (int i = 0; i < GRAPHS_MOST; i++)
		forget(&r->recording[i]);
	free(r->facts.data);
	free(r);
}
