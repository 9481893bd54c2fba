/* synccheck_wgmma.c - checks accesses to registers and shared memory of wgmma before its wait, as wgmma is
 * asynchronous.
 *
 * PTX ISA, "Async proxy", "wgmma.fence", "wgmma.wait_group". For each register of a warp:
 *  - a register accessed by another instruction, or written by an earlier wgmma of another shape, may be
 *    used by wgmma only after a wgmma.fence;
 *  - accumulators and registers of A may not be accessed before the wait.
 * A plain mov of a register used by a wgmma, or moved from one, to another register is treated as a renaming:
 * compilers insert them anywhere. A mov of any other value is a write. The warps of a warpgroup wait for each
 * other at a wgmma.fence. Their earlier writes are visible to the wgmma that follows, which they execute
 * together, if each has executed a proxy fence: CUTLASS has no barrier there. Where nothing else orders them
 * it is a warning, since the ISA only mentions registers. Shared memory that a wgmma reads may not be written
 * before one of its warps has waited; what that warp then knows, the others know when they have waited for
 * the same. A wait ends only when all warps of the group have issued the wgmma waited for. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/state/fault.h"

static Wgroup *
group_of(const Warp *w)
{
	return &w->cta->wg->group[w->id / WG_WARPS];
}

static void
out_of_step(Warp *w, const Ins *in, const char *why, u32 line)
{
	sim_place other;

	place_of(w->cta, w->id * WARP, line, &other);
	fault_add(w, 0, SIM_FAULT_ALIGNED, in->line, SIM_SPACE_NONE, 0, 0, line ? &other : NULL,
	          "%.60s: warp %u executes it%s", in->text, w->id, why);
}

void
wgmma_turn(Warp *w, const Ins *in)
{
	Wgroup *g = group_of(w);
	const Ins *code = w->cta->l->m->code;
	u32 n = w->wg->turns++, pc = (u32)(in - code), first = w->id / WG_WARPS * WG_WARPS;

	if ((w->id / WG_WARPS + 1) * WG_WARPS > w->cta->nwarp)
		out_of_step(w, in, ", but its warpgroup has fewer than four warps", 0);
	if (n >= g->turns) {
		g->ring[n % WG_RING] = pc;
		g->turns = n + 1;
	} else if (g->turns - n <= WG_RING && g->ring[n % WG_RING] != pc) {
		out_of_step(w, in, " while another warp of its warpgroup is in another line",
		            code[g->ring[n % WG_RING]].line);
	}
	for (u32 i = first; i < first + WG_WARPS && i < w->cta->nwarp; i++)
		paths_wake(&w->cta->warp[i], P_WG, false);
}

/* ---- the warps of a group synchronize ---- */

bool
wgmma_meet(Warp *w)
{
	WgWarp *g = w->wg;
	Cta *b = w->cta;
	u32 first = w->id / WG_WARPS * WG_WARPS, end = first + WG_WARPS;

	if (end > b->nwarp)
		end = b->nwarp;
	if (g->arrived == g->fences) {
		g->arrived++;
		g->clock = w->clock++;
		g->pf = w->know.pf[0][w->id];
		for (u32 i = first; i < end; i++)
			paths_wake(&b->warp[i], P_WG, false);
	}
	for (u32 i = first; i < end; i++)
		if (!b->warp[i].done && b->warp[i].wg->arrived < g->arrived)
			return false;
	for (u32 i = first; i < end; i++) {
		g->met.vc[i - first] = b->warp[i].wg->clock;
		g->met.pf[i - first] = b->warp[i].wg->pf;
	}
	g->fences++;
	return true;
}

static void
raise_to(u32 *have, u32 least, u32 *before)
{
	*before = *have;
	*have = least > *have ? least : *have;
}

void
wgmma_know(Warp *w, WgKnow *before)
{
	u32 first = w->id / WG_WARPS * WG_WARPS;

	for (u32 i = 0; i < WG_WARPS; i++) {
		raise_to(&w->know.vc[first + i], w->wg->met.vc[i], &before->vc[i]);
		raise_to(&w->know.pf[0][first + i], w->wg->met.pf[i], &before->pf[i]);
	}
}

void
wgmma_forget(Warp *w, const WgKnow *before)
{
	u32 first = w->id / WG_WARPS * WG_WARPS;

	memcpy(w->know.vc + first, before->vc, sizeof before->vc);
	memcpy(w->know.pf[0] + first, before->pf, sizeof before->pf);
}

/* ---- registers ---- */

static void
wgmma_fault(Warp *w, const Ins *in, u32 line, const char *why)
{
	sim_place other;

	place_of(w->cta, w->id * WARP, line, &other);
	fault_add(w, 0, SIM_FAULT_WGMMA, in->line, SIM_SPACE_REG, 0, 0, &other, "%.60s: %s line %u%s",
	          in->text, why, line,
	          in->id == OP_wgmma || in->id == OP_wgmmasp ?
				"" : ", which is still in flight (missing wait)");
}

/* The line of operation number seq, if it is in flight. */
static u32
line_of(const Warp *w, u32 seq)
{
	for (const WgOp *op = w->wg->op; op; op = op->next)
		if (op->seq == seq)
			return op->in->line;
	return 0;
}

static void
touch(Warp *w, const Ins *in, const Ref *r, bool write)
{
	WgReg *g = &w->wg->reg[r->unit];

	if (g->acc > w->wg->done)
		wgmma_fault(w, in, line_of(w, g->acc),
		            write ? "writes an accumulator of the wgmma of"
		                  : "reads an accumulator of the wgmma of");
	else if (g->a > w->wg->done)
		wgmma_fault(w, in, line_of(w, g->a),
		            write ? "writes a register of A of the wgmma of"
		                  : "reads a register of A of the wgmma of");
	if (g->acc > w->wg->done || g->a > w->wg->done)
		g->acc = g->a = 0;      /* reported once */
	g->touched = w->wg->fences;
	g->line = in->line;
}

void
wgmma_touch(Warp *w, const Ins *in)
{
	if (!w->wg || !w->wg->reg)
		return;
	if (in->wg_name) {
		w->wg->reg[in->d->unit] = w->wg->reg[in->s->unit];
		return;
	}
	for (u32 i = 0; i < in->ns; i++)
		if (!in->s[i].base)
			touch(w, in, &in->s[i], false);
	for (u32 i = 0; i < in->nd; i++)
		touch(w, in, &in->d[i], true);
}

/* Checks a register that this wgmma uses. Reports one error at most. */
static bool
usable(Warp *w, const Ins *in, const Ref *r, bool acc)
{
	const WgReg *g = &w->wg->reg[r->unit];
	u16 shape = (u16)(in->mma.n << 8 | in->mma.d);

	if (r->base)
		return true;
	if (!w->wg->fences) {
		wgmma_fault(w, in, in->line, "missing wgmma.fence before the first wgmma of");
		return false;
	}
	if (g->touched == w->wg->fences) {
		wgmma_fault(w, in, g->line,
		            "uses a register without a wgmma.fence after its access in");
		return false;
	}
	if (acc ? g->a > w->wg->done : g->acc > w->wg->done) {
		wgmma_fault(w, in, line_of(w, acc ? g->a : g->acc),
		            acc ? "writes a register that is part of A in the unfinished wgmma of"
		                : "reads as A an accumulator of the unfinished wgmma of");
		return false;
	}
	if (acc && g->acc && g->shape != shape && g->fences == w->wg->fences) {
		wgmma_fault(w, in, in->line,
		            "missing wgmma.fence after a wgmma of another shape on the same registers, "
		            "before");
		return false;
	}
	return true;
}

void
wgmma_check(Warp *w, const Ins *in)
{
	bool ok = true;

	for (u32 i = 0; i < in->mma.na && ok; i++)
		ok = usable(w, in, &in->s[i], false);
	for (u32 i = 0; i < in->nd && ok; i++)
		ok = usable(w, in, &in->d[i], true);
}

void
wgmma_issue(Warp *w, const Ins *in, WgOp *op)
{
	WgWarp *g = w->wg;
	u32 seq = ++g->seq;

	op->seq = seq;
	op->group = g->groups;
	op->turn = g->turns - 1;
	op->next = NULL;
	*g->end = op;
	g->end = &op->next;
	for (u32 i = 0; i < op->n; i++)
		w->cta->wg->busy[op->chunk[i] / WG_PITCH]++;
	for (u32 i = 0; g->reg && i < in->mma.na; i++)
		if (!in->s[i].base)
			g->reg[in->s[i].unit].a = seq;
	for (u32 i = 0; g->reg && i < in->nd; i++) {
		WgReg *r = &g->reg[in->d[i].unit];
		r->acc = seq;
		r->fences = g->fences;
		r->shape = (u16)(in->mma.n << 8 | in->mma.d);
	}
}

/* ---- shared memory ---- */

static bool
reads(const WgOp *op, u32 at)
{
	for (u32 k = 0; !op->landed && k < op->n; k++)
		if (op->chunk[k] / WG_PITCH == at)
			return true;
	return false;
}

/* Reports a write to chunk `at` while an operation reads it. */
static void
tell_busy(Warp *w, const Ins *in, int lane, const Cta *b, u32 at, u32 addr, u32 bytes)
{
	sim_place other;

	for (u32 i = 0; i < b->nwarp; i++)
		for (const WgOp *op = b->warp[i].wg->op; op; op = op->next) {
			if (!reads(op, at))
				continue;
			place_of(b, i * WARP, op->in->line, &other);
			fault_add(w, lane, SIM_FAULT_ASYNC_WRITE, in->line, SIM_SPACE_SHARED, addr, bytes,
			          &other, "write of shared memory that the wgmma of line %u (warp %u) "
			                  "reads: missing wait", op->in->line, i);
			return;
		}
}

/* Checks that the end of the wgmma that read it is ordered before us. */
static void
after_read(Warp *w, const Ins *in, int lane, const Cta *b, WgRead *r, u32 addr, u32 bytes)
{
	sim_place other;

	if (!r->clock || w->cta != b || r->warp == w->id || r->clock <= w->know.vc[r->warp] ||
	    r->time < w->know.gown)
		return;
	place_of(b, r->warp * WARP, r->line, &other);
	fault_add(w, lane, SIM_FAULT_RACE_SHARED, in->line, SIM_SPACE_SHARED, addr, bytes, &other,
	          "write of shared memory not ordered with the read by the wgmma of line %u (warp %u)",
	          r->line, r->warp);
	r->clock = 0;
}

/* Checks a write to shared memory of block b by any thread. */
void
wgmma_written(Warp *w, const Ins *in, int lane, const Cta *b, u32 addr, u32 bytes)
{
	WgBlock *g = b->wg;

	for (u32 at = addr / WG_PITCH; at <= (addr + bytes - 1) / WG_PITCH && at < g->nchunk; at++) {
		g->wrote[at] = ++g->epoch;
		if (g->busy[at])
			tell_busy(w, in, lane, b, at, addr, bytes);
		for (u32 i = 0; i < b->nwarp / WG_WARPS; i++)
			after_read(w, in, lane, b, &g->read[i * g->nchunk + at], addr, bytes);
	}
}

/* A warp's knowledge only grows: once it may read a chunk, it may until the next write there. */
bool
wgmma_seen(const Warp *w, u32 addr)
{
	const WgBlock *g = w->cta->wg;

	return g->seen[w->id * g->nchunk + addr / WG_PITCH] > g->wrote[addr / WG_PITCH];
}

void
wgmma_see(Warp *w, u32 addr)
{
	WgBlock *g = w->cta->wg;

	g->seen[w->id * g->nchunk + addr / WG_PITCH] = ++g->epoch;
}

void
wgmma_land(Warp *w, u32 turn)
{
	Cta *b = w->cta;
	u32 group = w->id / WG_WARPS, first = group * WG_WARPS, last = first + WG_WARPS;
	WgRead r = { w->clock, __atomic_load_n(&b->l->time, __ATOMIC_RELAXED), 0, (u8)w->id };
	bool any = false;

	if (last > b->nwarp)
		last = b->nwarp;
	for (u32 i = first; i < last; i++)
		for (WgOp *op = b->warp[i].wg->op; op && op->turn <= turn; op = op->next) {
			if (op->landed)
				continue;
			r.line = op->in->line;
			for (u32 k = 0; k < op->n; k++) {
				u32 at = op->chunk[k] / WG_PITCH;
				b->wg->busy[at]--;
				if (last == first + WG_WARPS)
					b->wg->read[group * b->wg->nchunk + at] = r;
			}
			op->landed = w->clock;
			op->lander = w->id;
			any = true;
		}
	if (any && w->def) {
		mbar_issued(b, turn, &(Moment){ w->id, w->clock, r.time });
		w->clock++;
	}
	for (const WgOp *op = w->wg->op; op && op->turn <= turn; op = op->next)
		if (w->know.vc[op->lander] < op->landed)
			w->know.vc[op->lander] = op->landed;
}

/* ---- memory and life of a block ---- */

void
wgmma_start(Cta *b)
{
	u32 units = b->l->units + 2;

	memset(b->wg->group, 0, sizeof b->wg->group);
	b->wg->pool = 0;
	b->wg->epoch = 1;
	if (b->wg->busy) {
		u32 n = b->wg->nchunk;
		memset(b->wg->busy, 0, n * sizeof *b->wg->busy);
		memset(b->wg->wrote, 0, n * sizeof *b->wg->wrote);
		memset(b->wg->seen, 0, (size_t)n * b->nwarp * sizeof *b->wg->seen);
		memset(b->wg->read, 0, (size_t)n * (b->nwarp / WG_WARPS + 1) * sizeof *b->wg->read);
	}
	for (u32 i = 0; i < b->nwarp; i++) {
		WgWarp *g = b->warp[i].wg;
		WgReg *reg = g->reg;
		memset(g, 0, sizeof *g);
		g->reg = reg;
		g->end = &g->op;
		if (reg)
			memset(reg, 0, units * sizeof *reg);
	}
}

void
wgmma_free(Warp *w)
{
	WgOp *op;

	while (w->wg && (op = w->wg->op) != NULL) {
		w->wg->op = op->next;
		free(op);
	}
}

/* At the end of the block: have all warps of each group executed the same warpgroup instructions? */
void
wgmma_end(Cta *b)
{
	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		const Wgroup *g = group_of(w);
		u32 n = w->wg->turns;
		if (n < g->turns && g->turns - n <= WG_RING) {
			const Ins *in = &b->l->m->code[g->ring[n % WG_RING]];
			fault_add(w, 0, SIM_FAULT_ALIGNED, in->line, SIM_SPACE_NONE, 0, 0, NULL,
			          "%.60s: warp %u never executes it, but others of its warpgroup do",
			          in->text,
			          i);
			return;
		}
	}
}
