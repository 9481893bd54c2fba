/* bulk.c - bulk copies and reductions: how one is issued, and their groups; bulk_data.c moves the bytes.
 *
 * PTX ISA, "Asynchronous data copy": cp.async.bulk, cp.reduce.async.bulk.  A copy reads its
 * source and writes its destination as late as it may: when its flight lands, or when the thread
 * waits for its group.  So code that does not wait reads stale data, and is reported. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/exec/mbar.h"
#include "lib/sim/judge/check.h"
#include "lib/sim/state/fault.h"

enum {
	STORES_MAX = 256,       /* of a warp in flight: the oldest then complete by themselves */
	LOADS_MAX = 4096        /* bytes of an instruction; above it others get their turn, so that what is
	                         * in flight stays bounded */
};

u64
bulk_value(const Warp *w, const BulkAddr *a, int lane)
{
	return lane_get(w, &a->base, lane) + (u64)a->off;
}

void
bulk_use_addr(Warp *w, const Ins *in, const BulkAddr *a, u32 mask, const char *what)
{
	use_check(w, in, &a->base, mask, what);
}

Bulk *
bulk_new(Warp *w, const Ins *in, int lane, u32 bytes, u32 runs, const sim_tmap_desc *d)
{
	size_t head = sizeof(Bulk) + (d ? sizeof *d : 0) + runs * sizeof(Run);
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
	k->run = (Run *)(void *)at;
	k->data = at + runs * sizeof(Run);
	k->def = k->data + bytes;
	return k;
}

/* ---- operands ---- */

static bool
misaligned(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 align)
{
	fault_add(w, lane, SIM_FAULT_ALIGN, in->line, sp, addr, align, NULL,
	          "%.60s: address 0x%llx is no multiple of %u", in->text, (unsigned long long)addr, align);
	return false;
}

bool
bulk_shared(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes, u32 align, MemAccess *a)
{
	MemAccess last;

	if (addr % align)
		return misaligned(w, in, lane, SIM_SPACE_SHARED, addr, align);
	if (!mem_access(w, in, lane, SIM_SPACE_CLUSTER, addr, 1, true, a))
		return false;
	/* the first byte behind the block's memory: it fails, and says so */
	return a->addr + bytes <= a->cta->smem_bytes ||
	       mem_access(w, in, lane, SIM_SPACE_CLUSTER, addr - a->addr + a->cta->smem_bytes, 1, true,
	                  &last);
}

static bool
wrong_block(const Bulk *k, const char *what, const Cta *b)
{
	fault_add(k->w, k->lane, SIM_FAULT_CLUSTER, k->in->line, SIM_SPACE_SHARED, k->sh, k->bytes, NULL,
	          "%.60s: %s block %u,%u,%u (rank %u)", k->in->text, what, b->id[0], b->id[1], b->id[2],
	          b->rank);
	return false;
}

/* The ranks of .multicast::cluster, else that of the destination address. */
static bool
target_ranks(Bulk *k, const Cta *dst)
{
	const BulkArg *arg = k->in->bulk;
	const Cluster *c = k->w->cta->cl;

	k->ranks = 1u << dst->rank;
	if (!arg->multicast)
		return true;
	k->ranks = (u32)lane_get(k->w, &arg->mask, k->lane) & 0xffff;
	if (k->ranks >> c->n == 0)
		return true;
	fault_add(k->w, k->lane, SIM_FAULT_CLUSTER, k->in->line, SIM_SPACE_SHARED, k->sh, k->bytes, NULL,
	          "%.60s: block mask 0x%x, the cluster has %u blocks", k->in->text, k->ranks, c->n);
	return false;
}

bool
bulk_target(Bulk *k, const MemAccess *dst)
{
	const BulkArg *arg = k->in->bulk;
	u64 mbar = bulk_value(k->w, &arg->mbar, k->lane);
	const Cluster *c = k->w->cta->cl;
	bool ok = true;
	MemAccess mb;
	int r;

	bulk_use_addr(k->w, k->in, &arg->mbar, 1u << k->lane, "the address of an mbarrier");
	if (!mem_access(k->w, k->in, k->lane, SIM_SPACE_CLUSTER, mbar, 8, true, &mb) ||
	    !target_ranks(k, dst->cta))
		return false;
	if (!arg->multicast && mb.cta != dst->cta)
		return wrong_block(k, "the destination is in another block than the mbarrier, which is in",
		                   mb.cta);
	if (arg->own && dst->cta != k->w->cta)
		return wrong_block(k, "a .shared::cta destination in", dst->cta);
	if (arg->dir == B_SEND && dst->cta == k->w->cta)
		return wrong_block(k, "the destination has to be in another block than its own,", dst->cta);
	k->mbar = (u32)mb.addr;
	FOR_LANES(r, k->ranks)
		ok &= cluster_reach(k->w, k->in, k->lane, c->cta[r], k->mbar, 8) &&
		      mbar_async_use(k->w, k->in, k->lane, c->cta[r], k->mbar);
	return ok;
}

void
bulk_run(Bulk *k, u64 addr, u32 at, u32 n)
{
	const BulkArg *arg = k->in->bulk;
	Run *last = k->nrun ? &k->run[k->nrun - 1] : NULL;
	bool write = arg->dir == B_STORE;
	MemAccess a, end;

	if (last && last->addr + last->n == addr && last->at + last->n == at &&
	    addr + n <= last->al->base + last->al->size) {
		last->n += n;
		return;
	}
	if (!mem_access(k->w, k->in, k->lane, SIM_SPACE_GLOBAL, addr, 1, write, &a)) {
		k->reported = true;
		return;
	}
	if (addr + n > a.al->base + a.al->size) {       /* gaps follow: this one fails, and says so */
		mem_access(k->w, k->in, k->lane, SIM_SPACE_GLOBAL, a.al->base + a.al->size, 1, write, &end);
		n = (u32)(a.al->base + a.al->size - addr);
		k->reported = true;
	}
	k->run[k->nrun].al = a.al;
	k->run[k->nrun].addr = addr;
	k->run[k->nrun].at = at;
	k->run[k->nrun].n = n;
	k->nrun++;
}

/* A copy that signals an mbarrier. */
static void
land(Flight *f)
{
	Bulk *k = (Bulk *)(void *)f;
	const Cluster *c = k->w->cta->cl;
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

/* A store is done: out of the list *at. */
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

/* After an instruction that issued copies. */
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

/* Is `other` under way to the same place with the same data?  It has yet to read: both write the same. */
static bool
repeats(const Bulk *k, const Bulk *other)
{
	const BulkArg *a = k->in->bulk, *b = other->in->bulk;

	return other->w->cta == k->w->cta && !other->have && !other->idle && !other->reported &&
	       a->dir == b->dir && !a->reduce && !b->reduce && k->ranks == other->ranks &&
	       (a->dir == B_STORE || k->to == other->to) && k->bytes == other->bytes && k->nrun == other->nrun &&
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
	for (const Flight *f = b->cl->flights; f; f = f->next)
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
		          "%.60s: size %u is no multiple of 16", in->text, bytes);
		return false;
	}
	if (global % 16)
		return misaligned(w, in, lane, SIM_SPACE_GLOBAL, global, 16);
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

/* Complete the stores of `mask` but those of the newest `keep` groups; `all`: also those not
 * committed. */
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

/* The block has ended: stores that nobody waited for arrive all the same. */
void
bulk_finish(Cta *b)
{
	for (u32 i = 0; i < b->nwarp; i++)
		finish(&b->warp[i], ALL_LANES, 0, false, true);
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
