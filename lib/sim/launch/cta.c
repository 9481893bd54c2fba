/* cta.c - allocates and frees the memory of a block, and starts and ends it. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/l2_model.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/launch/sched.h"

static size_t
align64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* Divides one allocation into parts; with base NULL only measures. */
typedef struct Cut { u8 *base; size_t at; } Cut;

static void *
cut(Cut *c, size_t n)
{
	void *p = c->base ? c->base + c->at : NULL;

	c->at = align64(c->at + n);
	return p;
}

static void
wgmma_lay_out(WgBlock *out, const Launch *l, Cut *c)
{
	WgBlock scratch, *g = c->base ? out : &scratch;
	u32 n = g->nchunk = l->smem / WG_PITCH + 2;

	g->busy = NULL;
	if (!l->checks)
		return;
	g->busy = cut(c, n * sizeof *g->busy);
	g->wrote = cut(c, n * sizeof *g->wrote);
	g->seen = cut(c, (size_t)n * l->nwarp * sizeof *g->seen);
	g->read = cut(c, (size_t)n * (l->nwarp / WG_WARPS + 1) * sizeof *g->read);
}

static void
lay_out(Cta *b, Launch *l, Cut *c)
{
	u32 units = l->units + 2;

	b->warp = cut(c, l->nwarp * sizeof *b->warp);
	b->wg = l->m->wgmma ? cut(c, sizeof *b->wg) : NULL;
	b->smem = cut(c, l->smem + 16);
	if (l->checks) {
		b->sinit = cut(c, l->smem + 64);
		b->shadow = cut(c, ((size_t)l->smem / 4 + 16) * SHARED_SLOTS * sizeof(ShadowCell));
		b->word_state = cut(c, ((size_t)l->smem / 4 + 16) * sizeof *b->word_state);
		b->word.w = cut(c, ((size_t)l->smem / 4 + 16) * sizeof *b->word.w);
		for (u32 i = 0; i < 2; i++)
			b->word.r[i] = cut(c, ((size_t)l->smem / 4 + 16) * sizeof *b->word.w);
	}
	if (l->m->wgmma)
		wgmma_lay_out(b->wg, l, c);
	for (u32 i = 0; i < l->nwarp; i++) {
		Warp scratch, *w = c->base ? &b->warp[i] : &scratch;
		w->r = cut(c, (size_t)units * WARP * sizeof(u32));
		w->p = cut(c, (l->preds + 1) * sizeof(u32));
		w->path = cut(c, l->paths * sizeof *w->path);
		w->local = cut(c, (size_t)l->local * WARP + 32);
		w->wg = l->m->wgmma ? cut(c, sizeof *w->wg) : NULL;
		w->def = w->org = w->pdef = w->porg = w->undef = NULL;
		w->linit = NULL;
		if (l->checks) {
			w->def = cut(c, (DEF_CONST + DEF_UNIT * (size_t)units) * sizeof(u32));
			w->org = cut(c, units * sizeof(u32));
			w->undef = cut(c, (size_t)units * WARP * sizeof(u32));
			w->pdef = cut(c, (l->preds + 1) * sizeof(u32));
			w->porg = cut(c, (l->preds + 1) * sizeof(u32));
			w->linit = cut(c, (size_t)l->local * WARP + 32);
		}
		if (l->m->wgmma) {
			WgReg *reg = l->checks ? cut(c, units * sizeof *reg) : NULL;
			if (c->base)
				w->wg->reg = reg;
		}
	}
}

static void
warp_forget(Warp *w)
{
	know_drop(&w->know);
	know_drop(&w->rel);
	know_drop(&w->acq);
	for (u32 s = 0; s < NSCOPES; s++) {
		vec_drop(&w->vfar[s]);
		vec_drop(&w->vrel[s]);
		w->unmade[s] = false;
	}
}

static void
cta_forget(Cta *b, u32 nwarp)
{
	for (u32 i = 0; i < nwarp; i++)
		warp_forget(&b->warp[i]);
	for (u32 i = 0; i < NBAR; i++)
		know_drop(&b->bar[i].know);
	for (u32 i = 0; i < b->nsv; i++)
		know_drop(&b->sv[i].know);
	b->nsv = 0;
}

static void
warp_start(Warp *w, Cta *b, u32 id)
{
	Launch *l = b->l;
	u32 threads = l->a.block[0] * l->a.block[1] * l->a.block[2], left = threads - id * WARP;
	u32 units = l->units + 2;

	w->cta = b;
	w->constants = l->m->constants;
	w->id = id;
	w->live = w->start = left >= WARP ? ALL_LANES : (1u << left) - 1;
	w->done = w->blocked = w->reported = false;
	w->clock = 1;
	w->met = 0;
	w->paired = false;
	warp_forget(w);
	memset(w->ncommit, 0, sizeof w->ncommit);
	w->waited = 0;
	memset(w->far, 0, sizeof w->far);
	memset(w->grel, 0, sizeof w->grel);
	w->carrived = w->cdone = 0;
	w->copies = NULL;
	w->ncopies = 0;
	w->copies_end = &w->copies;
	w->bulk = NULL;
	w->bulk_end = &w->bulk;
	memset(w->nbulk, 0, sizeof w->nbulk);
	w->nstore = w->issued = 0;
	w->steps = 0;
	w->cc = 0;
	memset(w->r, 0, (size_t)units * WARP * sizeof(u32));
	memset(w->p, 0, (l->preds + 1) * sizeof(u32));
	w->p[0] = ALL_LANES;
	for (u32 i = 0; i < WARP; i++) {
		memset(w->local + (size_t)i * l->local, 0xA5, l->frame);
		w->sp[i] = l->frame;
	}
	w->saves = NULL;
	if (l->checks) {
		memset(w->def, 0xff, DEF_CONST * sizeof(u32));
		memset(w->def + DEF_CONST, 0, DEF_UNIT * (size_t)units * sizeof(u32));
		memset(w->org, 0, units * sizeof(u32));
		memset(w->pdef, 0, (l->preds + 1) * sizeof(u32));
		memset(w->porg, 0, (l->preds + 1) * sizeof(u32));
		w->pdef[0] = ALL_LANES;
		for (u32 i = 0; i < WARP; i++)
			memset(w->linit + (size_t)i * l->local, 0, l->frame);
	}
	memset(&w->path[0], 0, sizeof w->path[0]);
	w->npath = 1;
	w->cur = 0;
	w->path[0].pc = (s32)l->f->pc;
	w->path[0].rpc = NO_PC;
	w->path[0].mask = w->live;
	w->path[0].parent = -1;
	w->path[0].state = P_RUN;
}

Cta *
cta_new(Worker *k)
{
	Cta *b = k->free;
	Cut c = { NULL, 0 };
	Cta dummy = { 0 };

	if (b) {
		k->free = b->next;
		return b;
	}
	b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	lay_out(&dummy, k->l, &c);
	b->mem = malloc(c.at + 64);
	if (!b->mem) {
		free(b);
		return NULL;
	}
	memset(b->mem, 0, c.at + 64);
	b->l2 = k->l->l2 ? calloc(1, sizeof *b->l2) : NULL;
	if (k->l->l2 && !b->l2) {
		free(b->mem);
		free(b);
		return NULL;
	}
	c.base = (u8 *)(((uintptr_t)b->mem + 63) & ~(uintptr_t)63);
	c.at = 0;
	lay_out(b, k->l, &c);
	return b;
}

void
cta_start(Worker *k, Cta *b)
{
	Launch *l = k->l;

	b->k = k;
	b->l = l;
	memset(&b->reach, 0, sizeof b->reach);
	b->nwarp = l->nwarp;
	b->smem_bytes = l->smem;
	b->dead = b->fenced = b->ended = b->gone = false;
	b->next_warp = 0;
	cta_forget(b, 0);
	b->ntmap = 0;
	b->steps = 0;
	b->sect_n[0] = b->sect_n[1] = 0;
	b->nsect = 0;
	if (b->csect)
		memset(b->sect, 0, b->csect * sizeof *b->sect);
	memset(b->bar, 0, sizeof b->bar);
	memset(b->smem, 0xA5, l->smem);
	if (l->checks)
		memset(b->sinit, 0, l->smem + 64);
	shadow_start(b);
	mbar_reset(b);
	if (l->smem > l->smem_user) {
		memset(b->smem + l->smem - SYSTEM_SMEM, 0, SYSTEM_SMEM);
		if (l->checks)
			memset(b->sinit + l->smem - SYSTEM_SMEM, 1, SYSTEM_SMEM);
	}
	for (u32 i = 0; i < b->nwarp; i++)
		warp_start(&b->warp[i], b, i);
	if (b->wg)
		wgmma_start(b);
}

void
cta_free(Cta *b)
{
	mbar_free(b);
	cta_forget(b, b->nwarp);
	free(b->sv);
	free(b->tmap);
	free(b->sect);
	if (b->l2)
		free(b->l2->run);
	free(b->l2);
	free(b->mem);
	free(b);
}
