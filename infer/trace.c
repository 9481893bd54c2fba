/* trace.c - what the search tries, a line on each plan, for --trace-search. */
#include "infer/search.h"

/* "m16n8k16 2x2": the instruction and the warps along m and n. */
static void
put_dot(Text *t, const DotChoice *c)
{
	text_printf(t, " %s %dx%d", c->inst->name, c->wm, c->wn);
	if (c->wb > 1)
		text_printf(t, "x%d", c->wb);
	text_printf(t, "%s", c->swap ? " swapped" : "");
	if (c->run)
		text_printf(t, " run %lld", (long long)c->run);
	if (c->mix[0] > 1 || c->mix[1] > 1)
		text_printf(t, " mix %lldx%lld", (long long)c->mix[0], (long long)c->mix[1]);
}

static void
put_plan(Text *t, const Solve *s, const Plan *p)
{
	static const char *const store[STORE_WAYS] = { "", ", stores coalesced", ", stores traded" };

	for (int i = 0; i < s->ndot; i++) {
		text_printf(t, i ? "," : " dots");
		put_dot(t, p->dot[i]);
	}
	text_printf(t, "%s%s%s%s%s", store[p->store], p->load == LOAD_COALESCED ? ", loads coalesced" : "",
	            p->line == LINE_AS_IS ? ", lines as they are" : "",
	            p->widen == NARROW_WORDS ? ", narrow loads by words" : "",
	            p->warp_major == WARPS_OUTER ? ", warps over outer dims" : "");
	if (p->turned)
		text_printf(t, ", narrow tiles along dim %d", p->turned);
}

void
trace_plan(Solve *s, const Plan *p, int n, const Solution *sol, int added)
{
	const Unit *u = s->k->unit;
	Text t = { s->arena, NULL, 0, 0 };

	if (!u->trace)
		return;
	text_printf(&t, "%s, %d warps, %s, plan %d:", s->k->name, s->k->warps, schedule_name[s->k->schedule], n);
	put_plan(&t, s, p);
	if (!sol)
		text_printf(&t, ": fails at stage %d: %s", s->failure.stage, s->failure.text);
	else
		text_printf(&t, ": %.0f cycles, %d registers%s, %lld bytes shared%s", sol->cycles, sol->lane,
		            sol->spills ? " (spills)" : "", (long long)sol->smem,
		            added ? "" : "; dominated: the same choices and cycles are in the list");
	u->trace(u->trace_user, t.s);
}
