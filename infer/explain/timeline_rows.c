/* timeline_rows.c - converts a simulation to rows of the timeline: stages, units, and the steady-state
 * iteration. */
#include "infer/explain/timeline_sim.h"
#include <math.h>
#include <string.h>

/* Adds spans for copies, by stage: in flight, landed, in use. */
void
walk_stages(Sim *s)
{
	for (int i = 0; i < s->nfill; i++) {
		Fill *f = &s->fill[i];
		int stages = f->ring ? f->ring->stages : f->stages, row;
		double end = f->freed >= 0 ? f->freed : s->clock;

		if (!*f->tiles)
			continue;
		row = walk_row(s, ROW_stage, f->number % stages, f->tiles);
		s->turn = f->number;
		walk_span(s, row, SPAN_way, f->issued, f->landed, f->tiles);
		if (f->used < 0) {
			walk_span(s, row, SPAN_there, f->landed, end, f->tiles);
			continue;
		}
		walk_span(s, row, SPAN_there, f->landed, f->used, f->tiles);
		walk_span(s, row, SPAN_use, f->used, end, f->tiles);
	}
	s->turn = -1;
}

static bool
row_before(const TimelineRow *a, const TimelineRow *b)
{
	int c = a->tiles && b->tiles ? strcmp(a->tiles, b->tiles) : 0;

	if (a->kind != b->kind)
		return a->kind < b->kind;
	return c ? c < 0 : a->i < b->i;
}

static const char *
row_name(const Sim *s, const TimelineRow *r)
{
	Arena *a = s->ex->k->unit->arena;
	bool roles = kernel_roles(s->ex->k) != NULL;

	switch (r->kind) {
	case ROW_producer: return "producer";
	case ROW_warps: return roles ? (s->ex->k->teams > 1 ? "consumer warpgroup" : "consumers") : "warps";
	case ROW_stage: return arena_printf(a, "%s: %d", r->tiles, r->i);
	case ROW_unit: break;
	}
	return res_unit[r->i];
}

/* Sorts the rows and names them. */
void
walk_order(Sim *s)
{
	Timeline *t = s->out;
	int place[COUNT_OF(s->row)];

	t->row = NEWN(s->ex->k->unit->arena, const char *, t->nrow + 1);
	for (int i = 0; i < t->nrow; i++) {
		place[i] = 0;
		for (int j = 0; j < t->nrow; j++)
			place[i] += row_before(&s->row[j], &s->row[i]);
		t->row[place[i]] = row_name(s, &s->row[i]);
	}
	for (int i = 0; i < t->n; i++)
		t->span[i].row = place[t->span[i].row];
}

/* Computes the steady-state cycles/iteration once the stages are full, and the limiting resource. */
void
walk_steady(Sim *s)
{
	Timeline *t = s->out;
	int n = s->nstart, over = t->stages < n ? t->stages : n, most = 0;
	double loop = n ? s->start[n] - s->start[0] : 0, busy = res_busy(&s->load);

	if (n < 2)
		return;
	t->turn = (s->start[n] - s->start[n - over]) / over;
	for (int i = 1; i < RES_UNITS; i++)
		if (s->load.unit[i] > s->load.unit[most])
			most = i;
	if (s->waited > 0.1 * loop && s->load.unit[most] / n < 0.9 * t->turn)
		t->limit = "memory latency (too few stages)";
	else if (busy / n >= 0.8 * t->turn)
		t->limit = res_unit[most];
	else
		t->limit = "dependency latency";
}
