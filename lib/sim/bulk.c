/* bulk.c - bulk copies and reductions: how one is issued, read and written, and their groups.
 *
 * PTX ISA, "Asynchronous data copy": cp.async.bulk, cp.reduce.async.bulk.  A copy reads its
 * source and writes its destination as late as it may: when its flight lands, or when the thread
 * waits for its group.  So code that does not wait reads stale data, and is told. */
#include <stdlib.h>
#include <string.h>
#include "bulk_int.h"

enum {
	PAGE_BYTES = PAGE_WORDS * 4,
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
		w->blk->k->nomem = true;
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
bulk_shared(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes, u32 align, Access *a)
{
	Access last;

	if (addr % align)
		return misaligned(w, in, lane, SIM_SPACE_SHARED, addr, align);
	if (!mem_access(w, in, lane, SIM_SPACE_CLUSTER, addr, 1, true, a))
		return false;
	/* the first byte behind the block's memory: it fails, and says so */
	return a->addr + bytes <= a->blk->smem_bytes
	    || mem_access(w, in, lane, SIM_SPACE_CLUSTER, addr - a->addr + a->blk->smem_bytes, 1, true,
	                  &last);
}

static bool
wrong_block(const Bulk *k, const char *what, const Block *b)
{
	fault_add(k->w, k->lane, SIM_FAULT_CLUSTER, k->in->line, SIM_SPACE_SHARED, k->sh, k->bytes, NULL,
	          "%.60s: %s block %u,%u,%u (rank %u)", k->in->text, what, b->id[0], b->id[1], b->id[2],
	          b->rank);
	return false;
}

/* The ranks of .multicast::cluster, else that of the destination address. */
static bool
target_ranks(Bulk *k, const Block *dst)
{
	const BulkArg *arg = bulk_arg(k->in);
	const Cluster *c = k->w->blk->cl;

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
bulk_target(Bulk *k, const Access *dst)
{
	const BulkArg *arg = bulk_arg(k->in);
	u64 mbar = bulk_value(k->w, &arg->mbar, k->lane);
	const Cluster *c = k->w->blk->cl;
	bool ok = true;
	Access mb;
	int r;

	bulk_use_addr(k->w, k->in, &arg->mbar, 1u << k->lane, "the address of an mbarrier");
	if (!mem_access(k->w, k->in, k->lane, SIM_SPACE_CLUSTER, mbar, 8, true, &mb)
	    || !target_ranks(k, dst->blk))
		return false;
	if (!arg->multicast && mb.blk != dst->blk)
		return wrong_block(k, "the destination is in another block than the mbarrier, which is in",
		                   mb.blk);
	if (arg->own && dst->blk != k->w->blk)
		return wrong_block(k, "a .shared::cta destination in", dst->blk);
	if (arg->dir == B_SEND && dst->blk == k->w->blk)
		return wrong_block(k, "the destination has to be in another block than its own,", dst->blk);
	k->mbar = (u32)mb.addr;
	FOR_LANES(r, k->ranks)
		ok &= cluster_reach(k->w, k->in, k->lane, c->blk[r], k->mbar, 8)
		   && mbar_async_use(k->w, k->in, k->lane, c->blk[r], k->mbar);
	return ok;
}

void
bulk_run(Bulk *k, u64 addr, u32 at, u32 n)
{
	const BulkArg *arg = bulk_arg(k->in);
	Run *last = k->nrun ? &k->run[k->nrun - 1] : NULL;
	bool write = arg->dir == B_STORE;
	Access a, end;

	if (last && last->addr + last->n == addr && last->at + last->n == at
	    && addr + n <= last->al->base + last->al->size) {
		last->n += n;
		return;
	}
	if (!mem_access(k->w, k->in, k->lane, SIM_SPACE_GLOBAL, addr, 1, write, &a)) {
		k->told = true;
		return;
	}
	if (addr + n > a.al->base + a.al->size) {       /* gaps follow: this one fails, and says so */
		mem_access(k->w, k->in, k->lane, SIM_SPACE_GLOBAL, a.al->base + a.al->size, 1, write, &end);
		n = (u32)(a.al->base + a.al->size - addr);
		k->told = true;
	}
	k->run[k->nrun].al = a.al;
	k->run[k->nrun].addr = addr;
	k->run[k->nrun].at = at;
	k->run[k->nrun].n = n;
	k->nrun++;
}

/* ---- what the checks are told ---- */

static Access
global_access(const Run *r, u64 off)
{
	Access a;

	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_GLOBAL;
	a.addr = r->addr + off;
	a.al = r->al;
	a.p = r->al->data + (a.addr - r->al->base);
	return a;
}

static Access
shared_access(Block *b, u32 addr)
{
	Access a;

	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_SHARED;
	a.addr = addr;
	a.blk = b;
	a.p = b->smem + addr;
	return a;
}

/* Pieces of shared memory that hold bytes [at, ...) of the data, contiguous: all of it, or what
 * one swizzled 16-byte piece is. */
static u32
piece(const Bulk *k, u32 base, u32 at, u32 *addr)
{
	*addr = base + at;
	if (!k->d || !k->d->swizzle)
		return k->bytes - at;
	*addr = box_swizzle(k->d, base + at);
	return 16 - at % 16;
}

/* The same for checks, which do not care for the order within: whole lines stay whole lines. */
static u32
area(const Bulk *k, u32 base, u32 at, u32 *addr)
{
	if (k->bytes % 128)
		return piece(k, base, at, addr);
	*addr = base + at;
	return k->bytes - at;
}

static void
check_global(const Bulk *k, int kind)
{
	Warp *w = k->w;

	for (u32 i = 0; i < k->nrun; i++) {
		const Run *r = &k->run[i];
		for (u64 off = 0, n; off < r->n; off += n) {
			Access a = global_access(r, off);
			n = PAGE_BYTES - (a.addr - r->al->base) % PAGE_BYTES;
			if (n > r->n - off)
				n = r->n - off;
			check_access(w, k->in, k->lane, &a, (u32)n, kind, NULL);
		}
	}
}

static void
check_shared(const Bulk *k, Block *b, u32 base, int kind)
{
	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		Access a;
		n = area(k, base, at, &addr);
		a = shared_access(b, addr);
		check_access(k->w, k->in, k->lane, &a, n, kind, NULL);
	}
}

/* Shared data that goes to global memory has to be there.  Elements outside of the tensor do not
 * go anywhere. */
static void
check_source(const Bulk *k, Block *b)
{
	for (u32 i = 0; i < k->nrun; i++)
		for (u32 off = 0, n; off < k->run[i].n; off += n) {
			u32 at = k->run[i].at + off, addr;
			const u8 *bad;
			n = piece(k, k->sh, at, &addr);
			if (n > k->run[i].n - off)
				n = k->run[i].n - off;
			bad = memchr(b->sinit + addr, 0, n);
			if (!bad)
				continue;
			addr = (u32)(bad - b->sinit);
			fault_add(k->w, k->lane, SIM_FAULT_UNINIT_SHARED, k->in->line, SIM_SPACE_SHARED,
			          addr, 1, NULL, "%.60s: shared memory at 0x%x, which nobody has written, "
			          "goes to global memory", k->in->text, addr);
			return;
		}
}

/* A reduction reads its destination. */
static void
check_reduced(const Bulk *k)
{
	for (u32 i = 0; i < k->nrun; i++) {
		const Run *r = &k->run[i];
		u64 off = r->addr - r->al->base;
		if (r->al->full || !memchr(r->al->init + off, 0, r->n))
			continue;
		fault_add(k->w, k->lane, SIM_FAULT_UNINIT_GLOBAL, k->in->line, SIM_SPACE_GLOBAL, r->addr,
		          r->n, NULL, "%.60s: reduction into global memory nobody has written", k->in->text);
		return;
	}
}

static void
check_operands(const Bulk *k)
{
	const BulkArg *arg = bulk_arg(k->in);
	Block *own = k->w->blk;
	Access a;
	int r;

	if (arg->dir == B_LOAD) {
		for (u32 i = 0; i < k->nrun; i++) {
			a = global_access(&k->run[i], 0);
			proxy_read(k->w, k->in, k->lane, &a, k->run[i].n);
		}
		check_global(k, A_AREAD);
	} else {
		for (u32 at = 0, n; at < k->bytes; at += n) {
			u32 addr;
			n = area(k, k->sh, at, &addr);
			a = shared_access(own, addr);
			proxy_read(k->w, k->in, k->lane, &a, n);
		}
		check_shared(k, own, k->sh, A_AREAD);
	}
	if (arg->dir == B_STORE) {
		check_source(k, own);
		check_global(k, arg->reduce ? A_SWRITE : A_ASYNC);
		if (arg->reduce)
			check_reduced(k);
		return;
	}
	/* Reductions into shared memory may meet each other in flight: they are not remembered. */
	FOR_LANES(r, arg->reduce ? 0 : k->ranks)
		check_shared(k, own->cl->blk[r], arg->dir == B_SEND ? k->to : k->sh, A_ASYNC);
}

/* ---- data ---- */

static void
read_global(Bulk *k)
{
	u32 e = k->d ? tmap_esize(k->d) : 0;

	if (k->d) {
		u64 v = box_fill(k->d);
		for (u32 at = 0; at < k->bytes; at += e)
			memcpy(k->data + at, &v, e);
	}
	memset(k->def, 1, k->bytes);
	for (u32 i = 0; i < k->nrun; i++) {
		const Run *r = &k->run[i];
		u64 off = r->addr - r->al->base;
		memcpy(k->data + r->at, r->al->data + off, r->n);
		if (!r->al->full)
			memcpy(k->def + r->at, r->al->init + off, r->n);
		if (k->d)
			box_convert(k->d, k->data + r->at, r->n);
	}
}

static void
read_shared(Bulk *k)
{
	const Block *b = k->w->blk;

	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		n = piece(k, k->sh, at, &addr);
		memcpy(k->data + at, b->smem + addr, n);
		if (b->l->checks)
			memcpy(k->def + at, b->sinit + addr, n);
	}
}

static void
read_source(Bulk *k)
{
	const BulkArg *arg = bulk_arg(k->in);

	if (k->have || k->idle)
		return;
	k->have = true;
	if (arg->dir == B_LOAD)
		read_global(k);
	else
		read_shared(k);
	if (!k->w->def)
		return;
	for (u32 i = 0; arg->dir == B_LOAD && i < k->nrun; i++) {
		Access a = global_access(&k->run[i], 0);
		check_copied(k->w, k->in, k->lane, &a, k->run[i].n, A_NONE);
	}
	for (u32 at = 0, n; arg->dir != B_LOAD && at < k->bytes; at += n) {
		u32 addr;
		Access a;
		n = area(k, k->sh, at, &addr);
		a = shared_access(k->w->blk, addr);
		check_copied(k->w, k->in, k->lane, &a, n, arg->dir == B_STORE ? A_READ : A_NONE);
	}
}

/* The operation of a reduction as atom has it. */
static void
reduce(const Bulk *k, u8 *to, const u8 *data, u32 n, bool global)
{
	Ins op = *k->in;
	u32 e;

	if (k->d)
		op.type = (u8)tmap_ptx_type(k->d);
	e = type_bits((Type)op.type) / 8;
	for (u32 i = 0; i + e <= n; i += e) {
		u64 v = 0;
		memcpy(&v, data + i, e);
		atom_rmw(to + i, e, &op, v, 0, global);
	}
}

static void
write_global(Bulk *k)
{
	const BulkArg *arg = bulk_arg(k->in);

	for (u32 i = 0; i < k->nrun; i++) {
		const Run *r = &k->run[i];
		Access a = global_access(r, 0);
		if (arg->reduce)
			reduce(k, a.p, k->data + r->at, r->n, true);
		else
			memcpy(a.p, k->data + r->at, r->n);
		if (!r->al->full)
			memset(r->al->init + (r->addr - r->al->base), 1, r->n);
		if (k->w->def && !arg->reduce)
			check_copied(k->w, k->in, k->lane, &a, r->n, A_WRITE);
	}
}

static void
write_shared(Bulk *k, Block *b, u32 base)
{
	bool red = bulk_arg(k->in)->reduce;

	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		n = piece(k, base, at, &addr);
		if (red)
			reduce(k, b->smem + addr, k->data + at, n, false);
		else
			memcpy(b->smem + addr, k->data + at, n);
		if (!b->l->checks)
			continue;
		for (u32 i = 0; i < n; i++)     /* what is reduced into stays undefined if it was */
			b->sinit[addr + i] = red ? b->sinit[addr + i] & k->def[at + i] : k->def[at + i];
	}
	for (u32 at = 0, n; !red && at < k->bytes; at += n) {
		u32 addr;
		n = area(k, base, at, &addr);
		mbar_landed(b, addr, n, k->w->blk, k->w->id * WARP + (u32)k->lane,
		            (s32)(k->in - b->l->m->code), k->mbar);
	}
}

/* A copy that signals an mbarrier. */
static void
land(Flight *f)
{
	Bulk *k = (Bulk *)(void *)f;
	const Cluster *c = k->w->blk->cl;
	const BulkArg *arg = bulk_arg(k->in);
	int r;

	read_source(k);
	FOR_LANES(r, k->ranks) {
		Block *b = c->blk[r];
		if (k->idle || k->told ? b->ended : !cluster_reach(k->w, k->in, k->lane, b, k->sh, k->bytes))
			continue;
		if (!k->idle)
			write_shared(k, b, arg->dir == B_SEND ? k->to : k->sh);
		mbar_complete_tx(f, b, k->mbar, k->bytes);
	}
}

/* A store is done: out of the list *at. */
static void
complete(Warp *w, Bulk **at)
{
	Bulk *k = *at;

	read_source(k);
	if (!k->idle)
		write_global(k);
	w->blk->cl->effects++;
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
	const BulkArg *arg = bulk_arg(k->in);

	if (!k->w->blk->l->counts || arg->dir == B_SEND)
		return;
	if (arg->dir == B_LOAD || arg->reduce)
		count_runs(k->w, k->in, k->run, k->nrun, false);
	if (arg->dir == B_STORE)
		count_runs(k->w, k->in, k->run, k->nrun, true);
}

void
bulk_issue(Bulk *k)
{
	Warp *w = k->w;

	if (!k->idle) {
		if (w->def)
			check_operands(k);
		count(k);
	}
	if (bulk_arg(k->in)->dir == B_STORE) {
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
	const BulkArg *arg = bulk_arg(in);
	u32 bytes = (u32)lane_get(w, &arg->size, l);
	u64 to = bulk_value(w, &arg->dst, l), from = bulk_value(w, &arg->src, l);
	u64 global = arg->dir == B_LOAD ? from : arg->dir == B_STORE ? to : 0;
	bool ok = plain_size(w, in, l, global, bytes);
	Access sh, dst;
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
	const BulkArg *arg = bulk_arg(in);
	int l;

	bulk_use_addr(w, in, &arg->dst, mask, "an address");
	bulk_use_addr(w, in, &arg->src, mask, "an address");
	use_check(w, in, &arg->size, mask, "a copy size");
	if (arg->multicast)
		use_check(w, in, &arg->mask, mask, "a block mask");
	if (w->blk->l->counts)
		w->blk->k->n[in - w->blk->l->m->code].req += arg->dir != B_SEND;
	FOR_LANES(l, mask)
		if (!plain(w, in, l))
			return R_STOP;
	return bulk_issued(w);
}

int
exec_bulkpre(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = bulk_arg(in);
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
		read_source(k);
		if (read_only)
			at = &k->next;
		else
			complete(w, at);
	}
}

int
exec_bulkwait(Warp *w, const Ins *in, u32 mask)
{
	finish(w, mask, in->aux, in->sub != 0, false);
	return R_NEXT;
}

/* The block has ended: stores that nobody waited for arrive all the same. */
void
bulk_finish(Block *b)
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
