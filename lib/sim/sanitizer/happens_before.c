/* happens_before.c - maintains the happens-before relation for racecheck.c: vector clocks passed on by
 * fences, acquire and release. bar.c passes clocks on at barriers. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

/* For a whole warp one clock suffices. For a part, the matrix is used: each lane learns what any of them
 * knows. */
void
check_sync_warp(Warp *w, u32 lanes)
{
	u32 known[WARP] = { 0 };
	int l;

	if (!(w->live & ~lanes)) {
		w->met = ++w->clock;
		w->paired = false;
		return;
	}
	if (!w->paired)
		memset(w->pair, 0, sizeof w->pair);
	w->paired = true;
	FOR_LANES(l, lanes)
		for (u32 j = 0; j < WARP; j++)
			known[j] = known[j] < w->pair[l][j] ? w->pair[l][j] : known[j];
	FOR_LANES(l, lanes)
		known[l] = w->clock;
	FOR_LANES(l, lanes)
		memcpy(w->pair[l], known, sizeof known);
	w->clock++;
}

/* Returns the widest distinguished scope up to this one: there is one GPU. */
static u32
told(u32 scope)
{
	return scope < SCOPE_GPU ? scope : SCOPE_GPU;
}

static void
take_far(Warp *w, Vec *v)
{
	const Vec *before = w->know.far;

	vec_join(w->cta->l, &w->know.far, v);
	if (w->know.far != before)
		vec_own(w);
}

/* A fence: acquires what was strongly read before it; accesses before it will be released by the next strong
 * write. */
void
check_fence(Warp *w, u32 scope)
{
	u32 t = time_tick(w->cta->l), wide = told(scope);

	for (u32 s = wide + 1; s < NSCOPES; s++)        /* `rel` is about to change */
		vec_fenced(w, s);
	know_take(w, &w->acq);
	for (u32 s = 0; s <= wide; s++) {
		know_far(&w->know, &w->far[s], s);
		if (s != SCOPE_CTA)
			take_far(w, w->vfar[s]);
		w->grel[s] = t;
		w->unmade[s] = s != SCOPE_CTA && w->cta->l->nblock > 1;
	}
	know_release(w, &w->rel);
	w->cta->fenced = true;
}

static SyncVar *
sync_var(Cta *b, u64 addr, bool make)
{
	SyncVar *v;

	for (u32 i = 0; i < b->nsv; i++)
		if (b->sv[i].addr == addr)
			return &b->sv[i];
	if (!make)
		return NULL;
	if (b->nsv == b->csv) {
		u32 n = b->csv ? 2 * b->csv : 16;
		v = n > 1024 ? NULL : realloc(b->sv, n * sizeof *v);
		if (!v)
			return NULL;
		b->sv = v;
		b->csv = n;
	}
	v = &b->sv[b->nsv++];
	memset(v, 0, sizeof *v);
	v->addr = addr;
	return v;
}

/* Returns the entry of an address, existing or free: half of the table is free. */
static GSync *
place(GSync *table, u32 n, u64 addr)
{
	u32 h = (u32)((addr * 0x9e3779b97f4a7c15ull) >> 40);

	for (;; h++) {
		GSync *g = &table[h & (n - 1)];
		if (!g->addr || g->addr == addr)
			return g;
	}
}

static bool
grow(Launch *l)
{
	u32 n = l->cgs ? 2 * l->cgs : 1024;
	GSync *table = calloc(n, sizeof *table);

	if (!table)
		return false;
	for (u32 i = 0; i < l->cgs; i++)
		if (l->gs[i].addr)
			*place(table, n, l->gs[i].addr) = l->gs[i];
	free(l->gs);
	l->gs = table;
	l->cgs = n;
	return true;
}

static GSync *
global_sync(Launch *l, u64 addr, bool make)
{
	GSync *g;

	if (make && 2 * l->ngs >= l->cgs && !grow(l)) {
		launch_stop(l, SIM_E_NOMEM, "out of memory");
		return NULL;
	}
	g = l->cgs ? place(l->gs, l->cgs, addr) : NULL;
	if (!g || (!g->addr && !make))
		return NULL;
	l->ngs += !g->addr;
	g->addr = addr;
	return g;
}

static void
acquire_from(Warp *w, const GSync *g, const Ins *in)
{
	for (u32 s = 0; s <= told(in->scope); s++) {
		const struct Released *r = &g->at[s];
		u32 own = r->block == w->cta->lin + 1 ? 0 : r->time;
		Far far = { r->time, own };
		if (s == SCOPE_CLUSTER && r->cluster != w->cta->cl->lin + 1)
			continue;
		if (far.acq > w->far[s].acq)
			w->far[s].acq = far.acq;
		if (far.own > w->far[s].own)
			w->far[s].own = far.own;
		vec_join(w->cta->l, &w->vfar[s], r->vec);
		if (in->flags & F_ACQ)
			know_far(&w->know, &far, s);
		if (in->flags & F_ACQ && s != SCOPE_CTA)
			take_far(w, r->vec);
	}
}

/* PTX ISA, "Observation order": a thread that reads the result of an update observes the writes before it,
 * too. A thread that reads a plain store does not, except what the same thread has released there before. */
static void
release_to(Warp *w, GSync *g, const Ins *in)
{
	u32 now = in->flags & F_REL ? time_tick(w->cta->l) : 0, self = w->cta->lin + 1;
	u64 bit = 1ull << (w->cta->lin * w->cta->l->nwarp + w->id) % 64;
	bool plain = in->id == OP_st, own = g->releasers & bit;
	Vec *room = NULL, *all = now ? vec_now(w, &room) : NULL;

	g->releasers |= now ? bit : 0;
	for (u32 s = 0; s < NSCOPES; s++) {
		struct Released *r = &g->at[s];
		u32 t = now ? now : w->grel[s];
		if (plain && own)
			vec_join(w->cta->l, &r->vec, r->old);
		else if (plain)
			vec_join(w->cta->l, &r->old, r->vec);
		if ((plain && !own) ||
		    (s == SCOPE_CLUSTER && r->cluster && r->cluster != w->cta->cl->lin + 1))
			vec_drop(&r->vec);
		if (s > told(in->scope))
			continue;
		vec_join(w->cta->l, &r->vec, now ? all : vec_fenced(w, s));
		if (t > r->time)
			r->time = t;
		r->block = !r->block || r->block == self ? self : ~0u;
		r->cluster = w->cta->cl->lin + 1;
	}
	vec_drop(&room);
}

void
check_between_blocks(Warp *w, const MemAccess *a, const Ins *in, bool read, bool write)
{
	u64 key = a->space == SIM_SPACE_GLOBAL ? a->addr
	                                       : 1ull << 63 | (u64)a->cta->lin << 32 | (u32)a->addr;
	GSync *g = global_sync(w->cta->l, key, write);

	if (g && read)
		acquire_from(w, g, in);
	if (g && write)
		release_to(w, g, in);
}

bool
hands_over(const Warp *w, const MemAccess *a, const Ins *in)
{
	Launch *l = w->cta->l;

	if (a->space != SIM_SPACE_GLOBAL && (a->space != SIM_SPACE_SHARED || w->cta->cl->n == 1))
		return false;
	if (__atomic_load_n(&l->hands, __ATOMIC_ACQUIRE))
		return true;
	if (!w->grel[SCOPE_CTA] && !(in->flags & F_REL))
		return false;
	__atomic_store_n(&l->hands, true, __ATOMIC_RELEASE);
	return true;
}

void
check_strong(Warp *w, const MemAccess *a, const Ins *in, bool read, bool write)
{
	Cta *b = w->cta;

	if (a->space == SIM_SPACE_SHARED || a->space == SIM_SPACE_GLOBAL) {
		bool own = a->space == SIM_SPACE_GLOBAL || a->cta == b;
		bool matters = own && (b->fenced || in->flags & (F_ACQ | F_REL) || b->nsv);
		SyncVar *v = matters ? sync_var(b, a->addr, write) : NULL;
		if (v && read) {
			know_join(b->l, &w->acq, &v->know);
			if (in->flags & F_ACQ)
				know_take(w, &v->know);
		}
		if (v && write) {
			if (in->flags & F_REL)
				know_release(w, &v->know);
			else
				know_join(b->l, &v->know, &w->rel);
		}
	}
}
