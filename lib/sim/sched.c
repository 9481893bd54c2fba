/* sched.c - blocks and warps: memory of a block, the instruction loop, who runs next. */
#include <stdlib.h>
#include <string.h>
#include "wgmma.h"

enum { WARP_SLICE = 1 << 14 };

static size_t
align64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* Give out parts of one allocation; with base NULL only measures. */
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
lay_out(Block *b, Launch *l, Cut *c)
{
	u32 units = l->units + 2;

	b->warp = cut(c, l->nwarp * sizeof *b->warp);
	b->wg = l->m->wgmma ? cut(c, sizeof *b->wg) : NULL;
	b->smem = cut(c, l->smem + 16);
	if (l->checks) {
		b->sinit = cut(c, l->smem + 64);
		b->shadow = cut(c, ((size_t)l->smem / 4 + 16) * SHARED_SLOTS * sizeof(Slot));
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
		w->def = w->org = w->pdef = w->porg = NULL;
		w->linit = NULL;
		if (l->checks) {
			w->def = cut(c, (8 + 2 * (size_t)units) * sizeof(u32));
			w->org = cut(c, units * sizeof(u32));
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
warp_start(Warp *w, Block *b, u32 id)
{
	Launch *l = b->l;
	u32 threads = l->a.block[0] * l->a.block[1] * l->a.block[2], left = threads - id * WARP;
	u32 units = l->units + 2;

	w->blk = b;
	w->konst = l->m->konst;
	w->id = id;
	w->live = w->start = left >= WARP ? ALL_LANES : (1u << left) - 1;
	w->done = w->blocked = w->told = false;
	w->clock = 1;
	w->met = 0;
	w->paired = false;
	memset(&w->know, 0, sizeof w->know);
	memset(&w->rel, 0, sizeof w->rel);
	memset(&w->acq, 0, sizeof w->acq);
	memset(w->ncommit, 0, sizeof w->ncommit);
	w->grel = 0;
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
		memset(w->def, 0xff, 8 * sizeof(u32));
		memset(w->def + 8, 0, 2 * (size_t)units * sizeof(u32));
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

Block *
sim_block_new(Worker *k)
{
	Block *b = k->free;
	Cut c = { NULL, 0 };
	Block dummy = { 0 };

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
	c.base = (u8 *)(((uintptr_t)b->mem + 63) & ~(uintptr_t)63);
	c.at = 0;
	lay_out(b, k->l, &c);
	return b;
}

void
block_start(Worker *k, Block *b)
{
	Launch *l = k->l;

	b->k = k;
	b->l = l;
	memset(&b->reach, 0, sizeof b->reach);
	b->nwarp = l->nwarp;
	b->smem_bytes = l->smem;
	b->dead = b->fenced = b->ended = b->gone = false;
	b->next_warp = 0;
	b->nsv = 0;
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
block_free(Block *b)
{
	mbar_free(b);
	free(b->sv);
	free(b->tmap);
	free(b->sect);
	free(b->mem);
	free(b);
}

/* ---- one warp ---- */

static bool
pick(Warp *w)
{
	for (u32 i = w->npath; i-- > 0;)
		if (w->path[i].state == P_RUN) {
			w->cur = (s32)i;
			return true;
		}
	w->cur = -1;
	return false;
}

/* Another path's turn, so that lanes spinning on lanes of their own warp get on. */
static void
rotate(Warp *w)
{
	if (w->cur < 0)
		return;
	for (u32 i = 1; i <= w->npath; i++) {
		u32 k = ((u32)w->cur + i) % w->npath;
		if (w->path[k].state == P_RUN) {
			w->cur = (s32)k;
			return;
		}
	}
}

static u32
guarded(Warp *w, const Ins *in, u32 mask)
{
	if (in->guard < 0)
		return mask;
	return mask & (in->guard_neg ? ~w->p[in->guard] : w->p[in->guard]);
}

static void
count(Warp *w, const Ins *in, u32 mask)
{
	Count *c = &w->blk->k->n[in - w->blk->l->m->code];

	c->warps++;
	c->threads += popcount(mask);
}

/* Paths that wait for each other at one .sync instruction execute it together. */
static bool
resolve_sync(Warp *w)
{
	const Ins *code = w->blk->l->m->code;

	for (u32 i = 0; i < w->npath; i++) {
		Path *q = &w->path[i];
		const Ins *in;
		u32 all = 0, need = 0;
		int r;
		if (q->state != P_SYNC)
			continue;
		in = &code[q->pc];
		for (u32 k = 0; k < w->npath; k++)
			if (w->path[k].state == P_SYNC && w->path[k].pc == q->pc) {
				all |= guarded(w, in, w->path[k].mask);
				need |= w->path[k].need;
			}
		if (need & w->live & ~all)
			continue;
		w->cur = (s32)i;
		if (w->blk->l->shown && !view_show(w, in, all, all))
			return true;
		if (in->wg && w->def)
			wgmma_touch(w, in);
		r = in->exec(w, in, all);
		count(w, in, all);
		for (u32 k = 0; k < w->npath; k++) {
			Path *p = &w->path[k];
			if (p->pc != q->pc || (p->state != P_SYNC && k != i))
				continue;
			if (r == R_BLOCK) {
				p->state = q->state;
				p->bar = q->bar;
			} else if (k != i) {
				p->state = P_RUN;
				p->pc++;
			}
		}
		if (r != R_BLOCK) {
			q->state = P_RUN;
			q->pc++;
		}
		bar_try(w->blk);
		return true;
	}
	return false;
}

static bool
has_paths(const Warp *w)
{
	for (u32 i = 0; i < w->npath; i++)
		if (w->path[i].state != P_FREE)
			return true;
	return false;
}

/* No path can run.  False if the warp has ended or waits for other warps. */
static bool
unblock(Warp *w)
{
	if (!has_paths(w)) {
		w->done = true;
		return false;
	}
	if (!resolve_sync(w) && !path_unpark(w)) {
		w->blocked = true;
		return false;
	}
	w->cur = -1;
	return !w->blk->dead;
}

/* Run until the warp ends, waits for others, or its slice is over. */
static inline __attribute__((always_inline)) int
run(Warp *w, u64 *steps, const bool traced, const u64 most)
{
	Block *b = w->blk;
	const Ins *code = b->l->m->code;
	Count *counts = b->k->n;
	u64 n = 0, slice = b->l->max_steps < most ? b->l->max_steps + 1 : most;
	int r;

	while (n < slice) {
		Path *q;
		const Ins *in;
		u32 mask;
		s32 pc;
		if ((w->cur < 0 || w->path[w->cur].state != P_RUN) && !pick(w)) {
			if (!unblock(w))
				break;
			n++;
			continue;
		}
		q = &w->path[w->cur];
		pc = q->pc;
		if (pc == q->rpc) {
			path_meet(w);
			continue;
		}
		in = &code[pc];
		mask = q->mask;
		n++;
		if (in->guard >= 0) {
			if (w->def && mask & ~w->pdef[in->guard])
				use_pred(w, in, in->guard, mask, "a predicate");
			mask &= in->guard_neg ? ~w->p[in->guard] : w->p[in->guard];
			if (!mask && !traced) {
				counts[pc].warps++;
				q->pc++;
				continue;
			}
		}
		if (traced && !view_show(w, in, q->mask, mask)) {
			b->dead = true;
			break;
		}
		if (traced && !mask) {
			counts[pc].warps++;
			q->pc++;
			continue;
		}
		if (in->wg && w->def)
			wgmma_touch(w, in);
		r = in->exec(w, in, mask);
		if (r == R_BLOCK && q->state == P_SYNC)
			continue;               /* not executed yet */
		counts[pc].warps++;
		counts[pc].threads += popcount(mask);
		if (r == R_NEXT) {
			q->pc = pc + 1;
			q->forced = false;
		} else if (r == R_AGAIN) {
			q->pc = pc + 1;
			break;
		} else if (r == R_STOP) {
			b->dead = true;
			break;
		} else if (r == R_BLOCK) {
			bar_try(b);
		}
	}
	rotate(w);
	w->steps += n;
	*steps += n;
	return b->dead ? R_STOP : w->done ? R_NEXT : w->blocked ? R_BLOCK : R_AGAIN;
}

static int
warp_run(Warp *w, u64 *steps)
{
	return w->blk->l->shown ? run(w, steps, true, WARP_SLICE) : run(w, steps, false, WARP_SLICE);
}

int
warp_step(Warp *w, u64 *steps)
{
	return run(w, steps, false, 1);
}

/* ---- one block ---- */

bool
block_unstick(Block *b)
{
	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		for (u32 k = 0; k < w->npath; k++)
			if (w->path[k].state == P_SYNC) {
				w->path[k].state = P_RUN;
				w->path[k].forced = true;
				w->blocked = false;
				return true;
			}
	}
	return false;
}

bool
block_round(Block *b, u64 *steps, bool *moved)
{
	bool alive = false;

	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		if (w->done || w->blocked) {
			alive |= !w->done;
			continue;
		}
		*moved = true;
		if (warp_run(w, steps) == R_STOP || __atomic_load_n(&b->l->stop, __ATOMIC_RELAXED))
			return false;
		alive |= !w->done;
	}
	b->ended = !alive;
	return true;
}
