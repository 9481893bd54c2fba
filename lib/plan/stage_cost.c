/* stage_cost.c - implements hexc_plan.h: predicts the time of a stage whose nodes run concurrently. */
#include "lib/plan/plan.h"
#include <string.h>

/* Up to this number, groups are distributed optimally; beyond, greedily. */
enum { GROUPS_EXACT = 10 };

Set
stage_component(const PlanComponent *p, Set among, Set from)
{
	Set all = from;

	for (Set new = from; new;) {
		int i = CTZ64((int64_t)new);

		new &= new - 1;
		new |= p->near[i] & among & ~all;
		all |= p->near[i] & among;
	}
	return all;
}

typedef struct Groups {
	uint32_t n, streams;
	Set set[PART_NODES];
	uint64_t ns[PART_NODES]; /* descending */
	uint8_t lane[PART_NODES], best_lane[PART_NODES];
	uint64_t load[PLAN_STREAMS], best, least; /* least: lower bound */
} Groups;

static void
add_group(Groups *g, Set set, uint64_t ns)
{
	uint32_t i = g->n++;

	for (; i > 0 && g->ns[i - 1] < ns; i--) {
		g->ns[i] = g->ns[i - 1];
		g->set[i] = g->set[i - 1];
	}
	g->ns[i] = ns;
	g->set[i] = set;
}

/* Assigns each group to the least loaded lane. */
static void
distribute_quickly(Groups *g)
{
	uint64_t load[PLAN_STREAMS] = { 0 };

	g->best = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t least = 0;

		for (uint32_t l = 1; l < g->streams; l++)
			if (load[l] < load[least])
				least = l;
		load[least] += g->ns[i];
		g->best_lane[i] = (uint8_t)least;
		g->best = load[least] > g->best ? load[least] : g->best;
	}
}

/* Tries all lanes for group i and the following groups; lanes below `used` are in use. */
static void
distribute(Groups *g, uint32_t i, uint32_t used, uint64_t longest)
{
	if (longest >= g->best || g->best == g->least)
		return;
	if (i == g->n) {
		g->best = longest;
		memcpy(g->best_lane, g->lane, g->n);
		return;
	}
	for (uint32_t l = 0; l < g->streams && l <= used; l++) {
		g->load[l] += g->ns[i];
		g->lane[i] = (uint8_t)l;
		distribute(g, i + 1, used + (l == used), g->load[l] > longest ? g->load[l] : longest);
		g->load[l] -= g->ns[i];
	}
}

uint64_t
stage_cost(const PlanComponent *p, Set nodes, uint8_t *lane, bool *exact)
{
	Groups g;
	uint64_t work = 0;

	g.n = 0;
	g.streams = p->streams;
	g.least = 0;
	memset(g.load, 0, sizeof g.load);

	for (Set left = nodes; left;) {
		Set group = stage_component(p, nodes, left & -left);
		uint64_t ns = 0;

		left &= ~group;
		for (Set in = group; in; in &= in - 1) {
			ns += p->ns[CTZ64((int64_t)in)];
			work += p->work[CTZ64((int64_t)in)];
		}
		g.least += ns;
		add_group(&g, group, ns);
	}
	g.least = (g.least + g.streams - 1) / g.streams;
	g.least = g.ns[0] > g.least ? g.ns[0] : g.least;
	distribute_quickly(&g);
	if (g.n > g.streams && g.n <= GROUPS_EXACT)
		distribute(&g, 0, 0, 0);
	else if (g.n > GROUPS_EXACT && g.n > g.streams)
		*exact = false;
	for (uint32_t i = 0; lane && i < g.n; i++)
		for (Set in = g.set[i]; in; in &= in - 1)
			lane[CTZ64((int64_t)in)] = g.best_lane[i];
	return (g.best > work ? g.best : work) + (g.n > 1 && g.streams > 1 ? p->sync : 0);
}

uint64_t
stage_live(const PlanComponent *p, Set done, Set stage)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->nbuffer; i++) {
		const struct PartBuffer *b = &p->buffer[i];

		if ((b->before || b->touch & (done | stage)) && (b->after || b->touch & ~done))
			bytes += b->bytes;
	}
	return bytes;
}
