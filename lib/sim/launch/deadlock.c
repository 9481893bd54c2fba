/* deadlock.c - detects deadlock of a cluster in which no warp makes progress, and reports what each one waits
 * for.
 *
 * A wait for an mbarrier sleeps until a phase of its block ends. When no other warp can progress, it returns
 * false, as the ISA permits. If the whole cluster then returns to the same state without having written,
 * arrived or read global memory, no other answer will ever come. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/launch/sched.h"
#include "lib/sim/state/fault.h"

enum { TIMEOUT_STEPS = 1 << 16, REPORT_MAX = 1 << 18 };

/* ---- the same state? ---- */

u64
state_mix(u64 h, const void *p, size_t bytes)
{
	const u8 *b = p;
	u64 v;

	for (; bytes >= 8; bytes -= 8, b += 8) {
		memcpy(&v, b, 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (; bytes; bytes--)
		h = (h ^ *b++) * 0x100000001b3ull;
	return h;
}

u64
warps_state(const SimCluster *c)
{
	const Launch *l = c->l;
	u64 h = c->n;

	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++) {
			const Warp *w = &c->cta[i]->warp[n];
			h = state_mix(h, w->r, (size_t)(l->units + 2) * WARP * sizeof(u32));
			h = state_mix(h, w->p, (l->preds + 1) * sizeof(u32));
			h = state_mix(h, w->local, (size_t)l->local * WARP);
			h = state_mix(h, w->sp, sizeof w->sp);
			u32 own[4] = { w->live, w->cc, w->carrived, w->cdone };
			h = state_mix(h, own, sizeof own);
			for (u32 k = 0; k < w->npath; k++) {
				const Path *q = &w->path[k];
				u32 v[5] = { (u32)q->pc, q->mask, q->state, q->arrived, q->bar };
				h = state_mix(h, v, sizeof v);
			}
		}
	return h;
}

bool
mbar_unstick(SimCluster *c, u64 *steps)
{
	u64 h = warps_state(c), seen[3] = { c->effects, c->reads, c->clocks };
	bool any = false;

	if (c->timed_out && h == c->state && !memcmp(seen, c->seen, sizeof seen))
		return false;
	c->timed_out = true;
	c->state = h;
	memcpy(c->seen, seen, sizeof seen);
	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++)
			any |= paths_wake(&c->cta[i]->warp[n], P_MBAR, true);
	*steps += TIMEOUT_STEPS;        /* time passes: other clusters run, the step budget is used up */
	return any;
}

/* ---- the report ---- */

typedef struct Report { char *s; size_t n, cap; } Report;

static void say(Report *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
say(Report *t, const char *fmt, ...)
{
	char line[300];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (n < 0 || t->n >= REPORT_MAX)
		return;
	n = n < (int)sizeof line ? n : (int)sizeof line - 1;
	if (t->n + (size_t)n + 1 > t->cap) {
		size_t cap = 2 * t->cap + 1024;
		char *s = realloc(t->s, cap);
		if (!s)
			return;
		t->s = s;
		t->cap = cap;
	}
	memcpy(t->s + t->n, line, (size_t)n + 1);
	t->n += (size_t)n;
}

/* Adds the program's source line, if the PTX has it. */
static void
say_source(Report *t, const Warp *w, u32 ptx_line)
{
	u32 line;
	const char *file = source_of(&w->cta->l->m->ptx, ptx_line, &line);

	if (file)
		say(t, "[%.160s:%u] ", file, line);
}

static void
say_path(Report *t, const Warp *w, const Path *q)
{
	const Ins *in = &w->cta->l->m->code[q->pc];
	u32 lanes = q->mask & w->live;

	say(t, "    lanes 0x%08x, line %u, ", lanes, in->line);
	say_source(t, w, in->line);
	say(t, "%.60s: ", in->text);
	switch (q->state) {
	case P_BAR: say(t, "wait in barrier %u\n", q->bar); break;
	case P_CLUSTER: say(t, "wait for the cluster\n"); break;
	case P_SYNC: say(t, "wait for lanes 0x%08x of the warp\n", q->need & ~lanes); break;
	case P_MBAR: say(t, "wait for the mbarrier at 0x%x\n", q->need); break;
	case P_WG: say(t, "wait for the warpgroup\n"); break;
	case P_REGS: say(t, "wait for registers\n"); break;
	default: say(t, "can run\n"); break;
	}
}

static void
say_warp(Report *t, const Warp *w)
{
	if (w->done) {
		say(t, "  warp %u has exited\n", w->id);
		return;
	}
	say(t, "  warp %u\n", w->id);
	for (u32 k = 0; k < w->npath; k++) {
		const Path *q = &w->path[k];
		if (q->state == P_WAIT && q->arrived & w->live)
			say(t, "    lanes 0x%08x wait at the reconvergence point, line %u\n",
			    q->arrived & w->live, q->pc == NO_PC ? 0 : w->cta->l->m->code[q->pc].line);
		else if (q->state != P_FREE && q->state != P_WAIT)
			say_path(t, w, q);
	}
}

static void
say_bars(Report *t, const Cta *b)
{
	for (u32 n = 0; n < NBAR; n++) {
		const Bar *bar = &b->bar[n];
		u32 arrived = 0;
		if (!bar->open)
			continue;
		for (u32 i = 0; i < b->nwarp; i++)
			arrived += popcount(bar->arrived[i]);
		say(t, "  barrier %u, first reached in line %u: %u threads have arrived of ", n, bar->line,
		    arrived);
		if (bar->expect)
			say(t, "%u\n", bar->expect);
		else
			say(t, "the whole block\n");
	}
	for (u32 i = 0; i < b->mb.cap; i++) {
		const Mbar *m = b->mb.slot[i];
		if (m && m->live)
			say(t, "  mbarrier at 0x%x, init in line %u: phase %u, %u of %u arrivals missing, "
			       "tx-count %d\n",
			    m->addr, m->line, m->phase, m->pending, m->expected, m->tx);
	}
}

static void
say_cluster_bar(Report *t, const SimCluster *c)
{
	u32 come = 0, live = 0;

	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++) {
			come += popcount(c->cta[i]->warp[n].carrived);
			live += popcount(c->cta[i]->warp[n].live);
		}
	if (come)
		say(t, "barrier.cluster: phase %llu, %u threads have arrived of %u\n",
		    (unsigned long long)c->phase, come, live);
}

/* Returns malloc'd text; NULL: out of memory */
static char *
hang_report(const SimCluster *c)
{
	Report t = { NULL, 0, 0 };

	say_cluster_bar(&t, c);
	for (u32 i = 0; i < c->n; i++) {
		const Cta *b = c->cta[i];
		say(&t, "block %u,%u,%u", b->id[0], b->id[1], b->id[2]);
		say(&t, c->n > 1 ? ", rank %u of %u in its cluster\n" : "\n", b->rank, c->n);
		for (u32 n = 0; n < b->nwarp; n++)
			say_warp(&t, &b->warp[n]);
		say_bars(&t, b);
	}
	return t.s;
}

/* ---- the fault ---- */

static void
others(const Cta *b, char *text, size_t size)
{
	size_t at = 0;

	*text = 0;
	for (u32 i = 0; i < b->nwarp && at < size - 40; i++)
		for (u32 k = 0; k < b->warp[i].npath && at < size - 40; k++)
			if (b->warp[i].path[k].state >= P_SYNC)
				at += (size_t)snprintf(text + at, size - at, " warp %u in line %u,", i,
				                       b->l->m->code[b->warp[i].path[k].pc].line);
			else if (b->warp[i].done && k == 0)
				at += (size_t)snprintf(text + at, size - at, " warp %u has exited,", i);
}

static void
hang_fault(Warp *w, const Path *q)
{
	Cta *b = w->cta;
	const SimCluster *c = b->cl;
	const Bar *bar = &b->bar[q->bar % NBAR];
	const Mbar *m = q->state == P_MBAR ? mbar_find(b, q->need) : NULL;
	char rest[140], what[120];
	u32 arrived = 0, line = b->l->m->code[q->pc].line, lanes = q->mask;

	others(b, rest, sizeof rest);
	for (u32 i = 0; i < b->nwarp; i++)
		arrived += popcount(bar->arrived[i]);
	if (m)
		snprintf(what, sizeof what, "mbarrier 0x%x (init in line %u) is in phase %u and lacks %u "
		         "of %u arrivals, tx-count %d;", m->addr, m->line, m->phase, m->pending, m->expected,
		         m->tx);
	else if (q->state == P_CLUSTER)
		snprintf(what, sizeof what, "barrier.cluster waits for threads of the cluster;");
	else if (q->state == P_RUN)
		snprintf(what, sizeof what, "livelock: the loop polls memory that no other thread will "
					    "write;");
	else if (q->state == P_WG || q->state == P_REGS)
		snprintf(what, sizeof what, "a warp waits for %s;",
		         q->state == P_WG ? "its warpgroup" : "registers");
	else if (bar->expect)
		snprintf(what, sizeof what, "barrier %u has %u threads and waits for %u;", q->bar, arrived,
		         bar->expect);
	else
		snprintf(what, sizeof what, "barrier %u has %u threads and waits for all;", q->bar, arrived);
	if (q->state == P_RUN && c->look && c->looker->live) { /* more informative than the loop's location */
		w = c->looker;
		line = c->look->line;
		lanes = w->live;
	}
	fault_add(w, low_lane(lanes), SIM_FAULT_DEADLOCK, line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%s%s no other thread will arrive", what, rest);
}

void
hang_tell(SimCluster *c)
{
	Warp *who = NULL;
	const Path *cause = hang_cause(c, &who);

	if (!cause)
		return;
	hang_fault(who, cause);
	launch_hang(c->l, hang_report(c));
}
