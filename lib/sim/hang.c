/* hang.c - a cluster in which nothing moves: who waits for what. */
#include <stdio.h>
#include <string.h>
#include "sim_int.h"

/* Waits for an mbarrier that time out: once all of a cluster did so without any effect, it hangs. */
bool
mbar_unstick(Cluster *c)
{
	bool any = false;

	if (c->tried == c->effects + 1)
		return false;
	c->tried = c->effects + 1;
	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->blk[i]->nwarp; n++) {
			Warp *w = &c->blk[i]->warp[n];
			for (u32 k = 0; k < w->npath; k++)
				if (w->path[k].state == P_MBAR) {
					w->path[k].state = P_RUN;
					w->path[k].forced = true;
					w->blocked = false;
					any = true;
				}
		}
	return any;
}

static const char *
state_name(const Path *q)
{
	switch (q->state) {
	case P_BAR: return "in a barrier";
	case P_CLUSTER: return "in barrier.cluster.wait";
	case P_MBAR: return "waits for an mbarrier";
	case P_WG: return q->bar ? "waits for registers" : "waits for its warpgroup";
	default: return "waits for lanes of its warp";
	}
}

static bool
waits(const Path *q)
{
	return q->state == P_BAR || q->state == P_CLUSTER || q->state == P_MBAR || q->state == P_WG;
}

static void
block_report(const Block *b, char *text, size_t n, size_t *at)
{
	for (u32 i = 0; i < b->nwarp && *at < n - 80; i++)
		for (u32 k = 0; k < b->warp[i].npath && *at < n - 80; k++) {
			const Path *q = &b->warp[i].path[k];
			if (waits(q))
				*at += (size_t)snprintf(text + *at, n - *at, " warp %u %s in line %u,", i,
				                        state_name(q), b->l->m->code[q->pc].line);
			else if (b->warp[i].done && k == 0)
				*at += (size_t)snprintf(text + *at, n - *at, " warp %u has ended,", i);
		}
}

void
hang_tell(Cluster *c)
{
	char text[220];
	size_t at = 0;

	for (u32 i = 0; i < c->n; i++) {
		Block *b = c->blk[i];
		for (u32 n = 0; n < b->nwarp; n++)
			for (u32 k = 0; k < b->warp[n].npath; k++) {
				Path *q = &b->warp[n].path[k];
				u32 arrived = 0;
				if (!waits(q))
					continue;
				if (q->state == P_BAR) {
					for (u32 v = 0; v < b->nwarp; v++)
						arrived += popcount(b->bar[q->bar].arrived[v]);
					at = (size_t)snprintf(text, sizeof text, "barrier %u has %u threads and waits for ",
					                      q->bar, arrived);
					if (b->bar[q->bar].expect)
						at += (size_t)snprintf(text + at, sizeof text - at, "%u;", b->bar[q->bar].expect);
					else
						at += (size_t)snprintf(text + at, sizeof text - at, "all;");
				}
				block_report(b, text, sizeof text, &at);
				fault_add(&b->warp[n], low_lane(q->mask), SIM_FAULT_DEADLOCK,
				          b->l->m->code[q->pc].line, SIM_SPACE_NONE, 0, 0, NULL, "%s nobody else comes",
				          text);
				return;
			}
	}
}
