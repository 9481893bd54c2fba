/* order.c - what is ordered before what: clocks handed over by fences, acquire and release.
 * check.c asks, bar.c hands clocks over at barriers. */
#include <stdlib.h>
#include <string.h>
#include "sim_int.h"

void
check_sync_warp(Warp *w)
{
	w->clock++;
}

static void
join(u32 *to, const u32 *from)
{
	for (u32 i = 0; i < MAX_WARPS; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

/* A fence: what was strongly read before it is now acquired; what was done before it will be
 * released by the next strong write. */
void
check_fence(Warp *w)
{
	Launch *l = w->blk->l;

	join(w->vc, w->acq);
	if (w->gacq_next > w->gacq)
		w->gacq = w->gacq_next;
	memcpy(w->rel, w->vc, sizeof w->rel);
	w->rel[w->id] = w->clock;
	w->clock++;
	w->grel = __atomic_add_fetch(&l->time, 1, __ATOMIC_ACQ_REL);
	w->blk->fenced = true;
}

static SyncVar *
sync_var(Block *b, u64 addr, bool make)
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

static GSync *
global_sync(Launch *l, u64 addr, bool make)
{
	GSync *g;
	u32 i, h = (u32)((addr * 0x9e3779b97f4a7c15ull) >> 40);

	if (!l->cgs) {
		l->gs = calloc(4096, sizeof *l->gs);
		if (!l->gs)
			return NULL;
		__atomic_store_n(&l->cgs, 4096, __ATOMIC_RELAXED);
	}
	for (i = 0; i < 64; i++) {
		g = &l->gs[(h + i) % l->cgs];
		if (g->addr == addr)
			return g;
		if (!g->addr && !make)
			return NULL;
		if (!g->addr)
			break;
	}
	g->addr = addr;         /* a full neighbourhood: forget the last, keep its time (ordering) */
	return g;
}

/* The same between blocks, where a moment of launch time stands for all clocks. */
static void
between_blocks(Warp *w, const Access *a, const Ins *in, bool read, bool write)
{
	Launch *l = w->blk->l;
	GSync *g;

	launch_lock(l);
	g = global_sync(l, a->addr, write);
	if (g && read) {
		if (g->time > w->gacq_next)
			w->gacq_next = g->time;
		if (in->flags & F_ACQ && g->time > w->gacq)
			w->gacq = g->time;
	}
	if (g && write) {
		u32 t = in->flags & F_REL ? __atomic_add_fetch(&l->time, 1, __ATOMIC_ACQ_REL) : w->grel;
		if (t > g->time)
			g->time = t;
	}
	launch_unlock(l);
}

/* A strong access: relaxed ones work with the fences around them. */
void
check_strong(Warp *w, const Access *a, const Ins *in, bool read, bool write)
{
	Block *b = w->blk;
	Launch *l = b->l;
	u32 mine[MAX_WARPS];

	if (a->space == SIM_SPACE_SHARED || a->space == SIM_SPACE_GLOBAL) {
		SyncVar *v = b->fenced || in->flags & (F_ACQ | F_REL) || b->nsv
		           ? sync_var(b, a->addr, write) : NULL;
		if (v && read) {
			join(w->acq, v->vc);
			if (in->flags & F_ACQ)
				join(w->vc, v->vc);
		}
		if (v && write) {
			if (in->flags & F_REL) {
				memcpy(mine, w->vc, sizeof mine);
				mine[w->id] = w->clock;
				w->clock++;
				join(v->vc, mine);
			} else {
				join(v->vc, w->rel);
			}
		}
	}
	if (a->space == SIM_SPACE_GLOBAL
	    && (__atomic_load_n(&l->cgs, __ATOMIC_RELAXED) || w->grel || in->flags & F_REL))
		between_blocks(w, a, in, read, write);
}
