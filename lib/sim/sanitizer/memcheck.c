/* memcheck.c - checks address windows, bounds and alignment of every access, and tracks which bytes have been
 * written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

/* Describes the nearest allocation to this global address, for a report. */
static void
describe(const sim *s, u64 addr, char *buf, size_t n)
{
	const Alloc *near = NULL;

	for (u32 i = 0; i < s->nalloc; i++)
		if (s->alloc[i]->base <= addr)
			near = s->alloc[i];
	if (!near && s->nalloc && s->alloc[0]->base - addr < ALLOC_GUARD)
		near = s->alloc[0];
	if (!near || addr > near->base + near->size + (1u << 30))
		snprintf(buf, n, "no buffer is nearby");
	else if (near->freed)
		snprintf(buf, n, "the buffer %s there was freed", near->name);
	else if (addr < near->base)
		snprintf(buf, n, "%llu bytes before buffer %s", (unsigned long long)(near->base - addr),
		         near->name);
	else
		snprintf(buf, n, "byte %llu of buffer %s of %llu bytes",
		         (unsigned long long)(addr - near->base), near->name,
		         (unsigned long long)near->size);
}

static bool
bad_bounds(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes)
{
	static const char *const names[] = { "generic", "global", "shared", "local", "parameter",
		"constant", "register", "shared::cluster" };
	char what[120];

	if (sp == SIM_SPACE_GLOBAL || sp == SIM_SPACE_NONE || sp == SIM_SPACE_CONST)
		describe(w->cta->l->s, addr, what, sizeof what);
	else
		snprintf(what, sizeof what, "the space has %u bytes",
		         sp == SIM_SPACE_SHARED || sp == SIM_SPACE_CLUSTER ? w->cta->smem_bytes
		         : sp == SIM_SPACE_LOCAL                           ? w->cta->l->local
		                                                           : w->cta->l->param_bytes);
	fault_add(w, lane, SIM_FAULT_BOUNDS, in->line, sp, addr, bytes, NULL,
	          "%.60s: %u bytes at %s address 0x%llx are out of bounds: %s", in->text, bytes,
	          names[sp], (unsigned long long)addr, what);
	return false;
}

static bool
bad_align(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes)
{
	fault_add(w, lane, SIM_FAULT_ALIGN, in->line, sp, addr, bytes, NULL,
	          "%.60s: address 0x%llx is not a multiple of %u", in->text, (unsigned long long)addr, bytes);
	return false;
}

static u32
index_of(const sim *s, const Alloc *al)
{
	u32 lo = 0, hi = s->nalloc;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->alloc[mid]->base < al->base)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns the space of a generic address; *addr becomes the address in it. */
static sim_space
space_of(u64 *addr)
{
	if (*addr - WIN_SHARED < WIN_BYTES) {
		*addr -= WIN_SHARED;
		return SIM_SPACE_SHARED;
	}
	if (*addr - WIN_LOCAL < WIN_BYTES) {
		*addr -= WIN_LOCAL;
		return SIM_SPACE_LOCAL;
	}
	if (*addr - WIN_PARAM < WIN_BYTES) {
		*addr -= WIN_PARAM;
		return SIM_SPACE_PARAM;
	}
	return SIM_SPACE_GLOBAL;
}

bool
cluster_reach(Warp *w, const Ins *in, int lane, Cta *b, u32 off, u32 bytes)
{
	bool arrives = in->id == OP_mbarrive || in->id == OP_mbdrop;

	if (b->ended) {
		fault_add(w, lane, SIM_FAULT_CLUSTER, in->line, SIM_SPACE_SHARED, off, bytes, NULL,
		          "%.60s: block %u,%u,%u (rank %u) has exited; its shared memory no longer exists",
		          in->text,
		          b->id[0], b->id[1], b->id[2], b->rank);
		return false;
	}
	if (w->def && (arrives || (!(in->flags & F_STRONG) && (in->id == OP_ld || in->id == OP_st)))) {
		b->reach.w = w;
		b->reach.lane = lane;
		b->reach.in = in;
		b->reach.off = off;
		b->reach.bytes = bytes;
		b->reach.phase = b->cl->phase;
		b->reach.time = __atomic_load_n(&b->l->time, __ATOMIC_RELAXED);
	}
	return true;
}

/* Shared memory of any block of the cluster. */
static bool
shared_access(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes, MemAccess *a)
{
	u32 off;
	Cta *b = cluster_cta(w->cta, addr, &off);

	if (!b) {
		fault_add(w, lane, SIM_FAULT_CLUSTER, in->line, SIM_SPACE_SHARED, addr, bytes, NULL,
		          "%.60s: address 0x%llx is of rank %llu, the cluster has %u blocks", in->text,
		          (unsigned long long)addr, (unsigned long long)(addr >> RANK_SHIFT) - 1,
		          w->cta->cl->n);
		return false;
	}
	a->space = SIM_SPACE_SHARED;
	a->addr = off;
	a->cta = b;
	a->p = b->smem + off;
	if (off + bytes > b->smem_bytes)
		return bad_bounds(w, in, lane, SIM_SPACE_CLUSTER, addr, bytes);
	if (off & (bytes - 1))
		return bad_align(w, in, lane, SIM_SPACE_SHARED, addr, bytes);
	return b == w->cta || cluster_reach(w, in, lane, b, off, bytes);
}

bool
mem_access(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, u32 bytes, bool write,
           MemAccess *a)
{
	Launch *l = w->cta->l;
	u32 pc = (u32)(in - l->m->code), *hint = &w->cta->k->hint[pc];
	Alloc *al;
	bool generic = sp == SIM_SPACE_NONE;

	if (generic)
		sp = space_of(&addr);
	a->space = sp;
	a->addr = addr;
	a->al = NULL;
	a->p = NULL;
	switch (sp) {
	case SIM_SPACE_CLUSTER:
		return shared_access(w, in, lane, addr, bytes, a);
	case SIM_SPACE_SHARED:
		if (generic && addr >> RANK_SHIFT)
			return shared_access(w, in, lane, addr, bytes, a);
		if (addr + bytes > w->cta->smem_bytes || addr > WIN_BYTES)
			return bad_bounds(w, in, lane, sp, addr, bytes);
		a->cta = w->cta;
		a->p = w->cta->smem + addr;
		if (in->owner && w->def)
			check_owner(w, in, lane, (u32)addr, bytes);
		break;
	case SIM_SPACE_LOCAL:
		if (addr > WIN_BYTES || addr + bytes > l->local)
			return bad_bounds(w, in, lane, sp, addr, bytes);
		a->p = w->local + (size_t)lane * l->local + addr;
		break;
	case SIM_SPACE_PARAM:
		if (addr > WIN_BYTES || addr + bytes > l->param_bytes)
			return bad_bounds(w, in, lane, sp, addr, bytes);
		a->p = (u8 *)(uintptr_t)(l->param + addr);
		break;
	default:
		al = *hint < l->s->nalloc ? l->s->alloc[*hint] : NULL;
		if (!al || al->freed || addr - al->base >= al->size) {
			al = mem_find(l->s, addr);
			if (!al)
				return bad_bounds(w, in, lane, sp, addr, bytes);
			*hint = index_of(l->s, al);
		}
		if (addr + bytes > al->base + al->size)
			return bad_bounds(w, in, lane, sp, addr, bytes);
		a->al = al;
		a->p = al->data + (addr - al->base);
		grids_check(w, in, lane, addr, bytes);
		break;
	}
	if (addr & (bytes - 1))
		return bad_align(w, in, lane, sp, addr, bytes);
	if (write && (sp == SIM_SPACE_PARAM || sp == SIM_SPACE_CONST || (a->al && a->al->readonly))) {
		fault_add(w, lane, SIM_FAULT_READONLY, in->line, sp, addr, bytes, NULL,
		          "%.60s: store to constant memory", in->text);
		return false;
	}
	return true;
}

u32
mem_resolve(Warp *w, const Ins *in, const Ref *base, s64 off, sim_space sp, u32 mask, u32 bytes,
            bool write, MemAccess *acc)
{
	u64 addr[WARP];
	u32 good = 0;
	int l;
	Launch *L = w->cta->l;
	u32 h = w->cta->k->hint[in - L->m->code];
	const Alloc *al = h < L->s->nalloc ? L->s->alloc[h] : NULL;
	u64 ab = al && !al->freed && !(write && al->readonly) && !L->a.dependent ? al->base : 0;
	u64 as = ab && al->size >= bytes ? al->size - bytes + 1 : 0;

	use_check(w, in, base, mask, "an address");
	if (base->chunks >= 4) {
		const u64 *s = src64(w, base);
		for (u32 i = 0; i < WARP; i++)
			addr[i] = s[i] + (u64)off;
	} else {
		const u32 *s = src32(w, base);
		for (u32 i = 0; i < WARP; i++)
			addr[i] = (u32)(s[i] + (u32)off);
	}
	if (sp == SIM_SPACE_GLOBAL || sp == SIM_SPACE_NONE) {
		FOR_LANES(l, mask) {
			u64 a = addr[l];
			if (a - ab < as && !(a & (bytes - 1))) {
				acc[l].space = SIM_SPACE_GLOBAL;
				acc[l].addr = a;
				acc[l].al = L->s->alloc[h];
				acc[l].p = al->data + (a - ab);
				good |= 1u << l;
			} else if (mem_access(w, in, l, sp, a, bytes, write, &acc[l])) {
				good |= 1u << l;
			}
		}
		return good;
	}
	FOR_LANES(l, mask)
		if (mem_access(w, in, l, sp, addr[l], bytes, write, &acc[l]))
			good |= 1u << l;
	return good;
}

static u8 *
init_of(const Warp *w, int lane, const MemAccess *a)
{
	switch (a->space) {
	case SIM_SPACE_SHARED: return a->cta->sinit ? a->cta->sinit + a->addr : NULL;
	case SIM_SPACE_LOCAL: return !w->linit ? NULL : w->linit + (size_t)lane * w->cta->l->local + a->addr;
	default: return a->al && !a->al->full ? a->al->init + (a->addr - a->al->base) : NULL;
	}
}

bool
check_init(const Warp *w, int lane, const MemAccess *a, u32 bytes)
{
	static const u8 ones[32] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	const u8 *p = init_of(w, lane, a);

	return !p || !memcmp(p, ones, bytes);
}

void
mark_init(Warp *w, int lane, const MemAccess *a, u32 bytes, bool defined)
{
	u8 *p = init_of(w, lane, a);

	if (p)
		memset(p, defined, bytes);
}
