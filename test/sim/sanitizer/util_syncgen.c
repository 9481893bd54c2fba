/* util_syncgen.c - selects legal Ops for random kernels (syncgen.h). */
#include <stdlib.h>
#include <string.h>
#include "test/sim/sanitizer/syncgen.h"

enum { NIDS = 16, TRIES = 8, MORE = 64 };

typedef struct BarId {          /* a named barrier of a block */
	bool open;
	uint32_t left, arrivers, waiters;       /* warps that have yet to arrive; of the phase */
	int done;               /* thread that waited in the last phase, -1: none yet */
	uint32_t clock;         /* its clock then */
} BarId;

typedef struct MbarState {
	uint32_t arrived;       /* warps, in this phase */
	uint32_t phase;
	uint32_t waited;        /* warps that have waited for the phase that ended last: all who arrive in the
	                         * next one have to know of that */
	uint32_t clock[SG_THREADS];
	bool ended;             /* all have arrived: it may be waited for */
} MbarState;

typedef struct Gen {
	SgList *l;
	SgModel *m;
	uint64_t rnd;
	BarId bar[2][NIDS];
	MbarState mbar[SG_MBARS];
	uint32_t flag[SG_FLAGS];
	unsigned cap;
} Gen;

static uint32_t
pick(Gen *g, uint32_t below)
{
	g->rnd = g->rnd * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(g->rnd >> 33) % below;
}

static unsigned
warps(const Gen *g)
{
	return g->l->s.blocks * g->l->s.warps;
}

static unsigned
block_of(const Gen *g, unsigned warp)
{
	return warp / g->l->s.warps;
}

static uint32_t
block_warps(const Gen *g, unsigned block)
{
	return ((1u << g->l->s.warps) - 1) << block * g->l->s.warps;
}

static void
emit(Gen *g, const SgOp *op)
{
	if (g->l->n == g->cap)
		return;
	g->l->op[g->l->n] = *op;
	sg_apply(g->m, g->l->op, g->l->n++, false);
}

/* ---- memory ---- */

/* A region that the warp can reach: its block's, the cluster's, global. */
static uint8_t
region(Gen *g, unsigned warp)
{
	unsigned b = block_of(g, warp);

	if (pick(g, 3) == 0)
		return (uint8_t)(2 * SG_SHARED + pick(g, SG_GLOBAL));
	if (g->l->s.cluster && pick(g, 3) == 0)
		b = 1 - b;
	return (uint8_t)(SG_SHARED * b + pick(g, SG_SHARED));
}

static uint8_t
own_region(Gen *g, unsigned warp)
{
	return (uint8_t)(SG_SHARED * block_of(g, warp) + pick(g, SG_SHARED));
}

static bool
memory_op(Gen *g, SgKind kind, unsigned warp)
{
	SgOp op = { 0 };

	op.kind = (uint8_t)kind;
	op.warp = (uint8_t)warp;
	for (unsigned i = 0; i < TRIES; i++) {
		bool copy = kind == SG_COPY || kind == SG_LDMATRIX;
		op.region = copy ? own_region(g, warp) : region(g, warp);
		op.region2 = own_region(g, warp);
		op.mask = pick(g, 2) ? 0 : (uint8_t)pick(g, SG_MASKS);
		op.perm = (uint8_t)pick(g, kind == SG_LOAD || kind == SG_ATOMIC || op.mask == 4 ? 4 : 3);
		op.k = (uint8_t)pick(g, 32);
		op.form = (uint8_t)pick(g, 2);
		op.wide = kind != SG_ATOMIC && kind != SG_LDMATRIX && !pick(g, 4);
		op.n = kind == SG_COPY ? 4 * pick(g, SG_IN / 4 - 8) : pick(g, 100000);
		if (op.wide || kind == SG_LDMATRIX)
			op.mask = op.perm = 0;
		if (sg_legal(g->m, &op)) {
			emit(g, &op);
			return true;
		}
	}
	return false;
}

static bool
bulk_store(Gen *g, unsigned warp)
{
	SgOp op = { 0 };

	op.kind = SG_BULKSTORE;
	op.warp = (uint8_t)warp;
	op.region = own_region(g, warp);
	op.region2 = (uint8_t)(2 * SG_SHARED + pick(g, SG_GLOBAL));
	if (!sg_legal(g->m, &op))
		return false;
	emit(g, &op);
	return true;
}

/* ---- order ---- */

/* May these warps use a barrier again, whose last phase one of them may not know to be over? */
static bool
bar_free(Gen *g, const BarId *b, uint32_t who)
{
	if (b->open)
		return false;
	for (unsigned t = 0; b->done >= 0 && t < 32 * warps(g); t++)
		if (who >> t / 32 & 1 && !sg_knows_at(g->m, t, (unsigned)b->done, b->clock))
			return false;
	return true;
}

static void
bar_done(Gen *g, BarId *b, uint32_t waiters)
{
	b->open = false;
	b->done = 32 * __builtin_ctz(waiters);
	b->clock = sg_now(g->m, (unsigned)b->done);
}

static uint32_t
some_warps(Gen *g, unsigned with)
{
	uint32_t all = block_warps(g, block_of(g, with));

	return (pick(g, 1u << SG_WARPS) & all) | 1u << with;
}

static bool
barrier(Gen *g, SgKind kind, unsigned warp, bool all)
{
	unsigned b = block_of(g, warp), id = all ? 0 : 1 + pick(g, NIDS - 1);
	SgOp op = { 0 };

	op.kind = (uint8_t)kind;
	op.warp = (uint8_t)warp;
	op.id = (uint8_t)id;
	op.form = (uint8_t)pick(g, 2);
	op.warps = all ? block_warps(g, b) : some_warps(g, warp);
	if (!bar_free(g, &g->bar[b][id], op.warps))
		return false;
	emit(g, &op);
	bar_done(g, &g->bar[b][id], op.warps);
	return true;
}

static bool
arrive_start(Gen *g, unsigned warp)
{
	unsigned b = block_of(g, warp), id = 1 + pick(g, NIDS - 1);
	uint32_t arrivers = some_warps(g, warp), waiters = some_warps(g, warp) & ~arrivers;

	if (!waiters || !bar_free(g, &g->bar[b][id], arrivers | waiters))
		return false;
	g->bar[b][id].open = true;
	g->bar[b][id].left = g->bar[b][id].arrivers = arrivers;
	g->bar[b][id].waiters = waiters;
	return true;
}

/* The next arrival of an open barrier, or its wait. */
static void
arrive_go_on(Gen *g, unsigned block, unsigned id)
{
	BarId *b = &g->bar[block][id];
	SgOp op = { 0 };

	op.id = (uint8_t)id;
	op.warps = b->waiters;
	op.arrivers = b->arrivers;
	if (b->left) {
		op.kind = SG_ARRIVE;
		op.warp = (uint8_t)__builtin_ctz(b->left);
		b->left &= b->left - 1;
		emit(g, &op);
		return;
	}
	op.kind = SG_BARWAIT;
	op.warp = (uint8_t)__builtin_ctz(b->waiters);
	emit(g, &op);
	bar_done(g, b, b->waiters);
}

static bool
flag_op(Gen *g, unsigned warp)
{
	unsigned f = pick(g, SG_FLAGS), owner = f % warps(g), b = block_of(g, warp);
	bool global = f >= SG_FLAGS / 2;
	SgOp op = { 0 };

	op.id = (uint8_t)f;
	op.warp = (uint8_t)warp;
	op.form = (uint8_t)pick(g, 4);
	if (owner == warp) {
		op.kind = SG_RELEASE;
		op.n = ++g->flag[f];
	} else {        /* blocks of a grid wait only for those before them: they may not run together */
		bool reach = block_of(g, owner) == b ||
		             (global && (g->l->s.cluster || block_of(g, owner) < b));
		if (!reach || !g->flag[f])
			return false;
		op.kind = SG_ACQUIRE;
		op.mask = pick(g, 2) ? 0 : 4;
		op.n = g->flag[f];
	}
	emit(g, &op);
	return true;
}

/* Does thread t know that all who waited for the last phase have done so? */
static bool
phase_known(Gen *g, const MbarState *s, unsigned t)
{
	for (unsigned u = 0; u < 32 * warps(g); u++)
		if (s->waited >> u / 32 & 1 && !sg_knows_at(g->m, t, u, s->clock[u]))
			return false;
	return true;
}

static bool
mbar_wait(Gen *g, unsigned id, unsigned warp)
{
	MbarState *s = &g->mbar[id];
	SgOp op = { 0 };

	if (!s->ended)
		return false;
	/* parity: who does not know that the phase before is over may see the end of the one before that */
	for (unsigned l = 0; l < 32; l++)
		if (s->phase > 1 && !sg_knows_at(g->m, 32 * warp + l, SG_THREADS + id, s->phase - 1))
			return false;
	op.kind = SG_MWAIT;
	op.warp = (uint8_t)warp;
	op.id = (uint8_t)id;
	op.form = (uint8_t)pick(g, 2);
	op.phase = s->phase - 1;
	emit(g, &op);
	s->waited |= 1u << warp;
	for (unsigned l = 0; l < 32; l++)
		s->clock[32 * warp + l] = sg_now(g->m, 32 * warp + l);
	return true;
}

static bool
mbar_op(Gen *g, unsigned warp)
{
	unsigned id = pick(g, SG_MBARS), b = id % g->l->s.blocks;
	uint32_t who = g->l->mbar_warps[id];
	bool bulk = g->l->s.hopper && id % 2;
	MbarState *s = &g->mbar[id];
	SgOp op = { 0 };

	if (block_of(g, warp) != b)
		return false;
	if (s->ended && pick(g, 3))
		return mbar_wait(g, id, warp);
	if (!(who >> warp & 1) || s->arrived >> warp & 1 || (s->ended && !s->waited))
		return false;
	for (unsigned l = 0; l < 32; l++)
		if (!phase_known(g, s, 32 * warp + l))
			return false;
	op.kind = bulk ? SG_BULKLOAD : SG_MARRIVE;
	op.warp = (uint8_t)warp;
	op.id = (uint8_t)id;
	op.phase = s->phase;
	op.region = own_region(g, warp);
	op.n = bulk ? 4 * pick(g, SG_IN / 4 - 8) : 0;
	if (bulk && !sg_legal(g->m, &op))
		return false;
	emit(g, &op);
	s->ended = false;
	s->arrived |= 1u << warp;
	if (s->arrived == who) {
		s->arrived = s->waited = 0;
		s->phase++;
		s->ended = true;
	}
	return true;
}

static bool
simple(Gen *g, SgKind kind, unsigned warp)
{
	SgOp op = { 0 };

	op.kind = (uint8_t)kind;
	op.warp = (uint8_t)warp;
	op.form = (uint8_t)pick(g, kind == SG_SHFL ? 4 : 2);
	op.k = (uint8_t)pick(g, 32);
	op.n = pick(g, 3);
	if (kind == SG_WARPSYNC)
		op.mask = pick(g, 2) ? 0 : (uint8_t)pick(g, SG_MASKS);
	if (kind == SG_CLUSTERBAR)
		op.warps = block_warps(g, 0) | block_warps(g, 1);
	emit(g, &op);
	return true;
}

/* ---- the list ---- */

static bool
try_op(Gen *g, unsigned warp)
{
	static const struct { SgKind kind; unsigned weight; } table[] = {
		{ SG_LOAD, 24 }, { SG_STORE, 20 }, { SG_ATOMIC, 7 }, { SG_LDMATRIX, 5 }, { SG_SHFL, 3 },
		{ SG_VOTE, 3 }, { SG_COPY, 7 }, { SG_COMMIT, 4 }, { SG_WAITGROUP, 4 }, { SG_WARPSYNC, 5 },
		{ SG_BAR, 4 }, { SG_BARRED, 2 }, { SG_ARRIVE, 4 }, { SG_ACQUIRE, 8 }, { SG_MWAIT, 12 },
		{ SG_BULKSTORE, 3 }, { SG_CLUSTERBAR, 1 },
	};
	unsigned n = sizeof table / sizeof *table, sum = 0, at, i;

	for (i = 0; i < n; i++)
		sum += table[i].weight;
	at = pick(g, sum);
	for (i = 0; at >= table[i].weight; i++)
		at -= table[i].weight;
	switch (table[i].kind) {
	case SG_LOAD: case SG_STORE: case SG_ATOMIC: case SG_LDMATRIX: case SG_COPY:
		return memory_op(g, table[i].kind, warp);
	case SG_BAR: case SG_BARRED: return barrier(g, table[i].kind, warp, pick(g, 4) == 0);
	case SG_ARRIVE: return arrive_start(g, warp);
	case SG_ACQUIRE: return flag_op(g, warp);
	case SG_MWAIT: return mbar_op(g, warp);
	case SG_BULKSTORE: return g->l->s.hopper && bulk_store(g, warp);
	case SG_CLUSTERBAR: return g->l->s.cluster && simple(g, SG_CLUSTERBAR, warp);
	default: return simple(g, table[i].kind, warp);
	}
}

static void
open_barriers(Gen *g, bool all)
{
	for (unsigned b = 0; b < g->l->s.blocks; b++)
		for (unsigned id = 1; id < NIDS; id++)
			while (g->bar[b][id].open && (all || pick(g, 4) == 0))
				arrive_go_on(g, b, id);
}

SgList
sg_generate(const SgShape *s)
{
	SgList l = { 0 };
	Gen g = { 0 };

	l.s = *s;
	g.l = &l;
	g.rnd = s->seed * 77 + 1;
	g.cap = s->ops + MORE * SG_WARPS;
	l.op = calloc(g.cap, sizeof *l.op);
	g.m = sg_model_new(s);
	for (unsigned b = 0; b < 2; b++)
		for (unsigned i = 0; i < NIDS; i++)
			g.bar[b][i].done = -1;
	for (unsigned i = 0; i < SG_MBARS; i++) {
		unsigned w = pick(&g, s->warps) + i % s->blocks * s->warps;
		l.mbar_warps[i] = s->hopper && i % 2 ? 1u << w : some_warps(&g, w);
	}
	while (l.n < s->ops) {
		unsigned warp = pick(&g, warps(&g));
		open_barriers(&g, false);
		if (!try_op(&g, warp) && pick(&g, 3) == 0)
			simple(&g, pick(&g, 3) ? SG_WARPSYNC : SG_WAITGROUP, warp);
	}
	open_barriers(&g, true);
	for (unsigned i = 0; i < SG_MBARS; i++)
		if (g.mbar[i].ended && !g.mbar[i].waited)
			mbar_wait(&g, i, (unsigned)__builtin_ctz(l.mbar_warps[i]));
	sg_model_free(g.m);
	return l;
}
