/* cpasync.c - executes cp.async and its groups.
 *
 * The source is read when the copy is issued; the destination is written as late as the ISA allows, when the
 * thread waits for the group. So a missing wait also shows in the results. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"

/* Source bytes each lane reads; the rest is zero-filled. */
static void
sizes(Warp *w, const Ins *in, u32 mask, u8 *n)
{
	int l;

	if (in->ns > 2)
		use_check(w, in, &in->s[2], mask, "a copy size");
	if (in->ps >= 0)
		use_pred(w, in, in->ps, mask, "the predicate of a copy");
	FOR_LANES(l, mask) {
		u32 k = in->copy.bytes;
		if (in->ns > 2)
			k = src32(w, &in->s[2])[l];
		if (in->ps >= 0 && (w->p[in->ps] >> l & 1) != in->ps_neg)
			k = 0;          /* ignore-src */
		n[l] = (u8)(k > in->copy.bytes ? in->copy.bytes : k);
	}
}

/* Checks one lane's source: aligned to the copy size, but only `n` bytes need exist. */
static bool
source(Warp *w, const Ins *in, int l, u64 addr, u32 n, MemAccess *a)
{
	MemAccess last;

	if (addr & (in->copy.bytes - 1))
		return mem_access(w, in, l, SIM_SPACE_GLOBAL, addr, in->copy.bytes, false, a);
	if (n == in->copy.bytes)
		return mem_access(w, in, l, SIM_SPACE_GLOBAL, addr, n, false, a);
	return mem_access(w, in, l, SIM_SPACE_GLOBAL, addr, 1, false, a) &&
	       mem_access(w, in, l, SIM_SPACE_GLOBAL, addr + n - 1, 1, false, &last);
}

int
exec_cpasync(Warp *w, const Ins *in, u32 mask)
{
	MemAccess dst[WARP], src[WARP];
	u32 good, addr[WARP] = { 0 }, from = 0;
	u8 n[WARP];
	Copy *c;
	int l;

	inner_effect(w->cta->cl);
	sizes(w, in, mask, n);
	use_check(w, in, &in->s[1], mask, "an address");
	good = mem_resolve(w, in, &in->s[0], in->off, SIM_SPACE_SHARED, mask, in->copy.bytes, true, dst);
	c = calloc(1, sizeof *c);
	if (!c) {
		w->cta->k->nomem = true;
		return R_STOP;
	}
	FOR_LANES(l, good) {
		u64 a = lane_get(w, &in->s[1], l) + (u64)(s64)in->copy.src;
		bool ok = true;
		if (n[l] && source(w, in, l, a, n[l], &src[l])) {
			memcpy(c->data[l], src[l].p, n[l]);
			from |= 1u << l;
			if (w->def) {
				ok = check_init(w, l, &src[l], n[l]);
				check_access(w, in, l, &src[l], n[l], A_READ, NULL);
			}
		}
		c->defined[l] = ok;
		addr[l] = (u32)dst[l].addr;
		c->dst[l] = addr[l];
		c->group[l] = w->ncommit[l];
		if (w->def)
			check_access(w, in, l, &dst[l], in->copy.bytes, A_ASYNC, NULL);
	}
	if (w->cta->l->counts) {
		LineCounters *k = &w->cta->k->n[in - w->cta->l->m->code];
		k->req += from != 0;
		count_sectors(w, in, src, from, n, false);
		count_banks(w, in, addr, good, in->copy.bytes);
	}
	c->mask = good;
	c->bytes = (u8)in->copy.bytes;
	c->line = in->line;
	c->seq = w->ncopies++;
	c->pc = (s32)(in - w->cta->l->m->code);
	*w->copies_end = c;
	w->copies_end = &c->next;
	return R_NEXT;
}

static void
land(Warp *w, Copy *c, int l)
{
	MemAccess a;

	memcpy(w->cta->smem + c->dst[l], c->data[l], c->bytes);
	if (!w->def)
		return;
	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_SHARED;
	a.cta = w->cta;
	a.addr = c->dst[l];
	mark_init(w, l, &a, c->bytes, c->defined[l] != 0);
	check_async_done(w, l, c->dst[l], c->bytes, c->pc);
}

/* Lands these lanes of the copy at *at, and frees it when none is left. Returns the link to the next copy. */
static Copy **
land_lanes(Warp *w, Copy **at, u32 mask)
{
	Copy *c = *at;
	int l;

	FOR_LANES(l, mask)
		land(w, c, l);
	c->mask &= ~mask;
	if (c->mask)
		return &c->next;
	*at = c->next;
	free(c);
	return at;
}

/* Completes the copies of `mask` except those of the newest `keep` committed groups. */
void
copies_finish(Warp *w, u32 mask, u32 keep, bool all)
{
	Copy **at = &w->copies, *c;
	int l;

	while ((c = *at) != NULL) {
		u32 done = 0;
		FOR_LANES(l, c->mask & mask)
			if (all || c->group[l] + keep < w->ncommit[l])
				done |= 1u << l;
		at = land_lanes(w, at, done);
	}
	w->copies_end = at;
}

void
copies_before(Warp *w, u32 mask, u32 seq)
{
	Copy **at = &w->copies, *c;

	while ((c = *at) != NULL)
		at = land_lanes(w, at, c->seq < seq ? c->mask & mask : 0);
	w->copies_end = at;
}

void
copies_free(Warp *w)
{
	Copy *c, *next;

	for (c = w->copies; c; c = next) {
		next = c->next;
		free(c);
	}
	w->copies = NULL;
	w->copies_end = &w->copies;
}

int
exec_cpcommit(Warp *w, const Ins *in, u32 mask)
{
	int l;

	(void)in;
	FOR_LANES(l, mask)
		w->ncommit[l]++;
	return R_NEXT;
}

int
exec_cpwait(Warp *w, const Ins *in, u32 mask)
{
	copies_finish(w, mask, in->wait.keep, in->id == OP_cpwaitall);
	return R_NEXT;
}
