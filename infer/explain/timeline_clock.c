/* timeline_clock.c - advances the warps' clock in a simulated timeline, and records the spans to draw. */
#include "infer/core/sm_throughput.h"
#include "infer/explain/timeline_sim.h"
#include <math.h>
#include <string.h>

const char *const span_name[SPAN_KINDS] = {
#define X(name, letter, what) #name,
	SPANS(X)
#undef X
};

int
walk_row(Sim *s, RowKind kind, int i, const char *tiles)
{
	int r = 0;

	for (; r < s->out->nrow; r++)
		if (s->row[r].kind == kind && s->row[r].i == i &&
		    (!tiles || strcmp(s->row[r].tiles, tiles) == 0))
			return r;
	if (r < (int)COUNT_OF(s->row))
		s->row[s->out->nrow++] = (TimelineRow){ kind, i, tiles };
	return r < (int)COUNT_OF(s->row) ? r : r - 1;
}

void
walk_span(Sim *s, int row, SpanKind kind, double from, double to, const char *what)
{
	TimelineSpan x = { row, kind, s->turn, from, to, what };

	if (to - from >= 0.5)
		VEC_PUSH(s->ex->k->unit->arena, s->out->span, s->out->n, s->out->cap, x);
	s->out->total = fmax(s->out->total, to);
}

static void
warps_span(Sim *s, SpanKind kind, double to, const char *what)
{
	RowKind row = s->producer ? ROW_producer : ROW_warps;

	if (s->draw)
		walk_span(s, walk_row(s, row, 0, NULL), kind, s->clock, to, what);
	s->clock = to;
}

void
walk_unit(Sim *s, int unit, double from, double clocks, int turn, const char *what)
{
	int here = s->turn;

	if (here >= 0)
		s->load.unit[unit] += clocks;
	s->turn = turn;
	if (s->draw && clocks >= 1)
		walk_span(s, walk_row(s, ROW_unit, unit, NULL), SPAN_busy, from, from + clocks, what);
	s->turn = here;
}

const char *
walk_words(const Sim *s, const Op *o)
{
	const char *by = o->lowering ? lowering_name(o->lowering) : NULL;

	if (!s->draw)
		return "";
	return arena_printf(s->ex->k->unit->arena, "%s of line %u", by ? by : op_info[o->code].name,
	                    o->src.line);
}

double
walk_move(Sim *s, double clocks)
{
	double at = s->clock;

	for (int i = 0; i < s->nbusy; i++)
		if (at < s->busy[i].to && s->busy[i].from < at + clocks) {
			at = s->busy[i].to;
			i = -1;
		}
	if (clocks > 0)
		VEC_PUSH(s->ex->k->unit->arena, s->busy, s->nbusy, s->busycap,
		         ((BusyInterval){ at, at + clocks }));
	return at;
}

void
walk_add(Sim *s, const Op *o, const Res *r)
{
	if (res_cycles(r) * s->times > s->dearest) {
		s->dearest = res_cycles(r) * s->times;
		s->what = o;
	}
	res_add(&s->piece, r, s->times);
}

void
walk_flush(Sim *s)
{
	Res *p = &s->piece;
	double busy, issue;
	const char *what;

	if (p->unit[R_smem] >= 1) {
		p->unit[R_smem] += s->extra;
		s->extra = 0;
	}
	busy = res_busy(p);
	issue = p->unit[R_issue] * ISSUE_RATE / s->warps * WARP_CLOCKS;
	busy = fmax(busy, issue) + p->latency + p->wait;
	if (busy > 0 && s->what) {
		what = walk_words(s, s->what);
		for (int i = 0; i < RES_UNITS; i++)
			walk_unit(s, i, s->clock, p->unit[i], s->turn, what);
		if (p->unit[R_gmem] > 0)
			walk_move(s, p->unit[R_gmem]);
		warps_span(s, SPAN_work, s->clock + busy, what);
	}
	*p = (Res){ 0 };
	s->dearest = 0;
	s->what = NULL;
}

void
walk_until(Sim *s, double when, const char *what)
{
	if (when <= s->clock)
		return;
	if (s->turn >= 0 && !s->producer && *what == 'f')
		s->waited += when - s->clock;
	warps_span(s, SPAN_wait, when, what);
}
