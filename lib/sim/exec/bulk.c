/* bulk.c - issues bulk copies and reductions and tracks their groups; bulk_operand.c resolves the operands,
 * bulk_data.c moves the bytes.
 *
 * PTX ISA, "Asynchronous data copy": cp.async.bulk, cp.reduce.async.bulk. A copy reads its source and writes
 * its destination as late as permitted: when its transfer lands, or when the thread waits for its group. So
 * code that does not wait reads stale data, and is reported. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/exec/mbar.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

enum {
	STORES_MAX = 256,       /* of a warp in flight: beyond that the oldest complete by themselves */
	LOADS_MAX = 4096        /* bytes of an instruction; beyond that other warps run first, which bounds
	                         * the data in flight */
};

Bulk *
bulk_new(Warp *w, const Ins *in, int lane, u32 bytes, u32 runs, const sim_tmap_desc *d)
{
	size_t head = sizeof(Bulk) + (d ? sizeof *d : 0) + runs * sizeof(ByteRange);
	Bulk *k = calloc(1, head + 2 * (size_t)bytes);
	u8 *at = (u8 *)(k + 1);

	if (!k) {
		w->cta->k->nomem = true;
		return NULL;
	}
	k->w = w;
	k->in = in;
	k->lane = lane;
	k->bytes = bytes;
	if (d) {
		memcpy(at, d, sizeof *d);
		k->d = (const sim_tmap_desc *)(void *)at;
		at += sizeof *d;
	}
	k->run = (ByteRange *)(void *)at;
	k->data = at + runs * sizeof(ByteRange);
	k->def = k->data + bytes;
	return k;
}

/* Lands a copy that signals an mbarrier. */
static void
land(PendingOp *f)
{
	Bulk *k = (Bulk *)(void *)f;
	const SimCluster *c = k->w->cta->cl;
	const BulkArg *arg = k->in->bulk;
	int r;

	bulk_read(k);
	FOR_LANES(r, k->ranks) {
		Cta *b = c->cta[r];
		if (k->idle || k->reported ? b->ended
		                           : !cluster_reach(k->w, k->in, k->lane, b, k->sh, k->bytes))
			continue;
		if (!k->idle)
			bulk_write_shared(k, b, arg->dir == B_SEND ? k->to : k->sh);
		mbar_complete_tx(f, b, k->mbar, k->bytes);
	}
}

/* Completes a store and removes it from the list *at. */
static void
complete(Warp *w, Bulk **at)
{
	Bulk *k = *at;

	bulk_read(k);
	if (!k->idle)
		bulk_write_global(k);
	w->cta->cl->effects++;
	w->nstore--;
	*at = k->next;
	if (!*at)
		w->bulk_end = at;
	free(k);
}

/* ---- issue ---- */

/* Called after an instruction that issued copies. */
int
bulk_issued(Warp *w)
{
	bool many = w->issued > LOADS_MAX;

	w->issued = 0;
	return many ? R_AGAIN : R_NEXT;
}

static void
count(const Bulk *k)
{
	const BulkArg *arg = k->in->bulk;

	if (!k->w->cta->l->counts || arg->dir == B_SEND)
		return;
	if (arg->dir == B_LOAD || arg->reduce)
		count_runs(k->w, k->in, k->run, k->nrun, false);
	if (arg->dir == B_STORE)
		count_runs(k->w, k->in, k->run, k->nrun, true);
}

/* Is `other` in flight to the same destination with the same data, not yet read? Then both write the same. */
static bool
repeats(const Bulk *k, const Bulk *other)
{
	const BulkArg *a = k->in->bulk, *b = other->in->bulk;

	return other->w->cta == k->w->cta && !other->have && !other->idle && !other->reported &&
	       a->dir == b->dir && !a->reduce && !b->reduce && k->ranks == other->ranks &&
	       (a->dir == B_STORE || k->to == other->to) && k->bytes == other->bytes &&
	       k->nrun == other->nrun &&
	       !memcmp(k->run, other->run, k->nrun * sizeof *k->run) && !k->d == !other->d &&
	       (!k->d || !memcmp(k->d, other->d, sizeof *k->d)) &&
	       (k->sh == other->sh || (a->dir == B_STORE && bulk_alike(k, other)));
}

static bool
repeats_any(const Bulk *k)
{
	const Cta *b = k->w->cta;

	if (k->in->bulk->dir == B_STORE) {
		for (u32 i = 0; i < b->nwarp; i++)
			for (const Bulk *o = b->warp[i].bulk; o; o = o->next)
				if (repeats(k, o))
					return true;
		return false;
	}
	for (const PendingOp *f = b->cl->flights; f; f = f->next)
		if (f->land == land && repeats(k, (const Bulk *)(const void *)f))
			return true;
	return false;
}

void
bulk_issue(Bulk *k)
{
	Warp *w = k->w;

	if (!k->idle) {
		if (w->def)
			bulk_check(k, repeats_any(k));
		count(k);
	}
	if (k->in->bulk->dir == B_STORE) {
		k->group = w->nbulk[k->lane];
		*w->bulk_end = k;
		w->bulk_end = &k->next;
		if (++w->nstore > STORES_MAX)
			complete(w, &w->bulk);
		return;
	}
	w->issued += k->bytes;
	k->f.land = land;
	flight_add(w, k->in, &k->f);
}

/* ---- plain copies ---- */

static bool
plain_size(Warp *w, const Ins *in, int lane, u64 global, u32 bytes)
{
	if (bytes % 16) {
		fault_add(w, lane, SIM_FAULT_COPY, in->line, SIM_SPACE_NONE, global, bytes, NULL,
		          "%.60s: size %u is not a multiple of 16", in->text, bytes);
		return false;
	}
	if (global % 16)
		return bulk_misaligned(w, in, lane, SIM_SPACE_GLOBAL, global, 16);
	return true;
}

static bool
plain(Warp *w, const Ins *in, int l)
{
	const BulkArg *arg = in->bulk;
	u32 bytes = (u32)lane_get(w, &arg->size, l);
	u64 to = bulk_value(w, &arg->dst, l), from = bulk_value(w, &arg->src, l);
	u64 global = arg->dir == B_LOAD ? from : arg->dir == B_STORE ? to : 0;
	bool ok = plain_size(w, in, l, global, bytes);
	MemAccess sh, dst;
	Bulk *k;

	if (!bulk_shared(w, in, l, arg->dir == B_LOAD ? to : from, bytes, 16, &sh))
		return true;
	dst = sh;
	if (arg->dir == B_SEND && !bulk_shared(w, in, l, to, bytes, 16, &dst))
		return true;
	k = bulk_new(w, in, l, bytes, 1, NULL);
	if (!k)
		return false;
	k->sh = (u32)sh.addr;
	k->to = (u32)dst.addr;
	k->idle = !ok;
	if (arg->dir != B_STORE && !bulk_target(k, &dst)) {
		free(k);
		return true;
	}
	if (ok && bytes && arg->dir != B_SEND)
		bulk_run(k, global, 0, bytes);
	bulk_issue(k);
	return true;
}

int
exec_bulk(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	int l;

	bulk_use_addr(w, in, &arg->dst, mask, "an address");
	bulk_use_addr(w, in, &arg->src, mask, "an address");
	use_check(w, in, &arg->size, mask, "a copy size");
	if (arg->multicast)
		use_check(w, in, &arg->mask, mask, "a block mask");
	if (w->cta->l->counts)
		w->cta->k->n[in - w->cta->l->m->code].req += arg->dir != B_SEND;
	FOR_LANES(l, mask)
		if (!plain(w, in, l))
			return R_STOP;
	return bulk_issued(w);
}

int
exec_bulkpre(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	int l;

	bulk_use_addr(w, in, &arg->src, mask, "an address");
	use_check(w, in, &arg->size, mask, "a copy size");
	FOR_LANES(l, mask)
		plain_size(w, in, l, bulk_value(w, &arg->src, l), (u32)lane_get(w, &arg->size, l));
	return R_NEXT;
}

/* ---- bulk groups ---- */

int
exec_bulkcommit(Warp *w, const Ins *in, u32 mask)
{
	int l;

	(void)in;
	FOR_LANES(l, mask)
		w->nbulk[l]++;
	return R_NEXT;
}

/* Completes the stores of `mask` except those of the newest `keep` groups; `all`: also uncommitted ones. */
static void
finish(Warp *w, u32 mask, u32 keep, bool read_only, bool all)
{
	Bulk **at = &w->bulk, *k;

	while ((k = *at) != NULL) {
		if (!(mask >> k->lane & 1) || (!all && k->group + keep >= w->nbulk[k->lane])) {
			at = &k->next;
			continue;
		}
		bulk_read(k);
		if (read_only)
			at = &k->next;
		else
			complete(w, at);
	}
}

int
exec_bulkwait(Warp *w, const Ins *in, u32 mask)
{
	finish(w, mask, in->wait.keep, in->wait.read, false);
	return R_NEXT;
}

/* PTX ISA, "Shared State Space": shared memory lives as long as its block. A store without a wait, with .read
 * or without, may read it later than that. */
static void
check_unread(const Warp *w)
{
	for (const Bulk *k = w->bulk; k; k = k->next)
		if (!k->have && !k->idle) {
			fault_add(k->w, k->lane, SIM_FAULT_EXIT, k->in->line, SIM_SPACE_SHARED, k->sh,
			          k->bytes, NULL,
			          "%.60s: the block exits without a cp.async.bulk.wait_group for this read "
			          "of its shared memory", k->in->text);
			return;
		}
}

/* At the end of the block, stores without a wait land nevertheless. */
void
bulk_finish(Cta *b)
{
	for (u32 i = 0; i < b->nwarp; i++) {
		if (b->l->checks)
			check_unread(&b->warp[i]);
		finish(&b->warp[i], ALL_LANES, 0, false, true);
	}
}

void
bulk_free(Warp *w)
{
	for (Bulk *k = w->bulk, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	w->bulk = NULL;
	w->bulk_end = &w->bulk;
}
