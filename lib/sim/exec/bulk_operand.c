/* bulk_operand.c - resolves the operands of bulk copies to addresses, blocks and memory. */
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

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

bool
bulk_misaligned(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 align)
{
	fault_add(w, lane, SIM_FAULT_ALIGN, in->line, sp, addr, align, NULL,
	          "%.60s: address 0x%llx is not a multiple of %u", in->text, (unsigned long long)addr, align);
	return false;
}

bool
bulk_shared(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes, u32 align, MemAccess *a)
{
	MemAccess last;

	if (addr % align)
		return bulk_misaligned(w, in, lane, SIM_SPACE_SHARED, addr, align);
	if (!mem_access(w, in, lane, SIM_SPACE_CLUSTER, addr, 1, true, a))
		return false;
	/* the first byte past the end of the block's memory: it fails and reports that */
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

/* Sets the ranks from .multicast::cluster, otherwise that of the destination address. */
static bool
target_ranks(Bulk *k, const Cta *dst)
{
	const BulkArg *arg = k->in->bulk;
	const SimCluster *c = k->w->cta->cl;

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
	const SimCluster *c = k->w->cta->cl;
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
		return wrong_block(k, "the destination must be in another block, not in", dst->cta);
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
	ByteRange *last = k->nrun ? &k->run[k->nrun - 1] : NULL;
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
	if (addr + n > a.al->base + a.al->size) {       /* gaps follow: this access fails and reports that */
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
