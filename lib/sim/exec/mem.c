/* mem.c - executes loads and stores of every space, and address conversion. */
#include <string.h>
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static u32
space_origin(sim_space sp, u32 line)
{
	return (sp == SIM_SPACE_SHARED ? ORG_SHARED : sp == SIM_SPACE_LOCAL ? ORG_LOCAL : ORG_GLOBAL) | line;
}

/* One element from memory, extended to the register by its type. */
static u64
element(const u8 *p, PtxType t, u32 bytes)
{
	u64 v = 0;

	switch (bytes) {
	case 1: v = *p; return t == T_s8 ? (u64)(s64)(s8)v : v;
	case 2: memcpy(&v, p, 2); return t == T_s16 ? (u64)(s64)(s16)v : v;
	case 4: memcpy(&v, p, 4); return t == T_s32 ? (u64)(s64)(s32)v : v;
	default: memcpy(&v, p, 8); return v;
	}
}

static void
load_lane(Warp *w, const Ins *in, int l, const u8 *p)
{
	for (u32 i = 0; i < in->mem.vec; i++, p += in->mem.ebytes) {
		const Ref *d = &in->d[i];
		if (in->mem.ebytes == 4 && d->chunks == 2) {
			memcpy(dst32(w, d) + l, p, 4);
		} else if (in->mem.ebytes == 16) {
			memcpy(dst64(w, d) + l, p, 8);
			memcpy(dst64(w, d) + WARP + l, p + 8, 8);
		} else {
			lane_set(w, d, l, element(p, (PtxType)in->type, in->mem.ebytes));
		}
	}
}

/* Returns the number of element bytes in chunk k of its register: two, or all for a narrower element. */
static u32
chunk_of(const Ins *in, u32 k, u32 *at)
{
	bool wide = in->mem.ebytes > 1 && 2 * k < in->mem.ebytes;

	*at = wide ? 2 * k : 0;
	return wide ? 2 : in->mem.ebytes;
}

/* A chunk is defined if any byte of it is: copying data with padding in it causes no false positives. */
static void
load_defs(Warp *w, const Ins *in, int l, const Ref *d, const MemAccess *a)
{
	u32 at, n, bit = 1u << l;

	for (u32 k = 0; k < d->chunks; k++) {
		MemAccess c = *a;
		bool any = false;
		n = chunk_of(in, k, &at);
		for (u32 i = 0; i < n; i++) {
			c.addr = a->addr + at + i;
			any |= check_init(w, l, &c, 1);
		}
		if (!any) {
			for (u32 i = 2 * k; i < 2 * k + 2 && i < d->bytes; i++)
				w->def[d->def + i] &= ~bit;
			w->org[d->unit] = space_origin(a->space, in->line);
		}
	}
}

/* Loads elements of a word each, register by register. */
static void
load_words(Warp *w, const Ins *in, u32 mask, const MemAccess *acc)
{
	int l;

	for (u32 i = 0; i < in->mem.vec; i++) {
		u32 *o = dst32(w, &in->d[i]);
		FOR_LANES(l, mask)
			memcpy(&o[l], acc[l].p + 4 * i, 4);
	}
}

static void
load_checks(Warp *w, const Ins *in, u32 mask, u32 good, const MemAccess *acc)
{
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec, undef = 0;
	int l;

	if (in->flags & F_NC)
		check_noncoherent(w, in, good, acc, bytes);
	if (!(in->flags & (F_STRONG | F_GUESS)))
		check_reads(w, in, good, acc, bytes);
	FOR_LANES(l, good) {
		if (in->flags & (F_STRONG | F_GUESS) && (acc[l].space == SIM_SPACE_SHARED || acc[l].al))
			check_access(w, in, l, &acc[l], bytes, A_SREAD, NULL);
		if (!check_init(w, l, &acc[l], bytes))
			undef |= 1u << l;
	}
	for (u32 i = 0; i < in->mem.vec; i++)
		def_set(w, &in->d[i], mask, ALL_LANES, 0);
	FOR_LANES(l, undef)                     /* element by element */
		for (u32 i = 0; i < in->mem.vec; i++) {
			MemAccess a = acc[l];
			a.addr += i * in->mem.ebytes;
			load_defs(w, in, l, &in->d[i], &a);
		}
}

static void
load_once(Warp *w, const Ins *in, int l, const MemAccess *a, u32 bytes)
{
	u64 v;

	if (bytes != 4 && bytes != 8) {
		load_lane(w, in, l, a->p);
		return;
	}
	v = bytes == 4 ? __atomic_load_n((u32 *)(void *)a->p, __ATOMIC_ACQUIRE)
	               : __atomic_load_n((u64 *)(void *)a->p, __ATOMIC_ACQUIRE);
	load_lane(w, in, l, (const u8 *)&v); /* the host is little-endian, as PTX is */
}

/* If a block releases for the first time meanwhile, the value may be from before that or after it, and is
 * loaded again. */
static void
load_strong(Warp *w, const Ins *in, int l, const MemAccess *a, u32 bytes)
{
	bool checked = w->def && (a->space == SIM_SPACE_SHARED || a->al);

	if (!checked || !hands_over(w, a, in))
		load_once(w, in, l, a, bytes);
	if (!checked)
		return;
	check_strong(w, a, in, true, false);
	if (!hands_over(w, a, in))
		return;
	launch_lock(w->cta->l);
	load_once(w, in, l, a, bytes);
	check_between_blocks(w, a, in, true, false);
	launch_unlock(w->cta->l);
}

int
exec_ld(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec, good;
	int l;

	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask, bytes, false, acc);
	if (in->space != SIM_SPACE_SHARED && in->space != SIM_SPACE_LOCAL)
		note_look(w, in, in->flags & F_STRONG);
	if (w->cta->l->counts)
		count_access(w, in, acc, good, bytes, true, false);
	if (w->def)
		load_checks(w, in, mask, good, acc);
	if (in->mem.ebytes == 4 && !(in->flags & F_STRONG) && in->d[0].chunks == 2)
		load_words(w, in, good, acc);
	else
		FOR_LANES(l, good) {
			if (in->flags & F_STRONG)
				load_strong(w, in, l, &acc[l], bytes);
			else
				load_lane(w, in, l, acc[l].p);
		}
	if (mask != good)
		FOR_LANES(l, mask & ~good)
			for (u32 i = 0; i < in->mem.vec; i++)
				lane_set(w, &in->d[i], l, 0);
	return R_NEXT;
}

/* A kernel parameter at a fixed address: the same for all lanes. */
int
exec_ldparam(Warp *w, const Ins *in, u32 mask)
{
	u64 addr = src64(w, &in->s[0])[0] + (u64)in->off;
	MemAccess acc;
	int l;

	if (!mem_access(w, in, low_lane(mask), SIM_SPACE_PARAM, addr, (u32)in->mem.ebytes * in->mem.vec,
	                false, &acc))
		return R_NEXT;
	FOR_LANES(l, mask)
		load_lane(w, in, l, acc.p);
	if (w->def)
		for (u32 i = 0; i < in->mem.vec; i++)
			def_set(w, &in->d[i], mask, ALL_LANES, 0);
	return R_NEXT;
}

static void
gather(const Warp *w, const Ins *in, int l, u8 *buf)
{
	for (u32 i = 0; i < in->mem.vec; i++, buf += in->mem.ebytes) {
		const Ref *s = &in->s[1 + i];
		u64 v = lane_get(w, s, l);
		memcpy(buf, &v, in->mem.ebytes < 8 ? in->mem.ebytes : 8);
		if (in->mem.ebytes == 16) {
			v = src64(w, s)[WARP + l];
			memcpy(buf + 8, &v, 8);
		}
	}
}

static void
store_bytes(Warp *w, const Ins *in, int l, const Ref *s, const MemAccess *a)
{
	MemAccess c = *a;

	for (u32 k = 0; k < s->bytes && k < in->mem.ebytes; k++, c.addr++)
		mark_init(w, l, &c, 1, stored_def(w, s, k) >> l & 1);
}

/* Definedness is copied with the data to shared and local memory; data stored to global memory must be
 * defined. */
static void
store_defs(Warp *w, const Ins *in, u32 good, const MemAccess *acc)
{
	u32 global = 0, whole;
	int l;

	FOR_LANES(l, good)
		global |= (u32)(acc[l].al != NULL) << l;
	for (u32 i = 0; i < in->mem.vec; i++) {
		const Ref *s = &in->s[1 + i];
		Ref low = *s; /* of a register wider than the element the low part is stored */
		if (low.bytes > in->mem.ebytes)
			low.bytes = in->mem.ebytes;
		use_check(w, in, &low, global, "data stored to global memory");
		whole = def_of(w, &low) | global;
		FOR_LANES(l, good) {
			MemAccess a = acc[l];
			a.addr += i * in->mem.ebytes;
			if (whole >> l & 1)
				mark_init(w, l, &a, in->mem.ebytes, true);
			else
				store_bytes(w, in, l, s, &a);
		}
	}
}

/* Strong accesses of a word or two are atomic between host threads as well. */
static void
strong_store(u8 *p, const u8 *buf, u32 bytes)
{
	u32 a;
	u64 b;

	if (bytes == 4) {
		memcpy(&a, buf, 4);
		__atomic_store_n((u32 *)(void *)p, a, __ATOMIC_RELEASE);
	} else if (bytes == 8) {
		memcpy(&b, buf, 8);
		__atomic_store_n((u64 *)(void *)p, b, __ATOMIC_RELEASE);
	} else {
		memcpy(p, buf, bytes);
	}
}

/* A lane is about to store: counts effects visible to other clusters, and to its own. A polling block stores
 * values that are already there. */
static inline void
note_store(SimCluster *c, const MemAccess *a, const u8 *buf, u32 bytes)
{
	if (a->space == SIM_SPACE_LOCAL || (a->al && c->polls && !memcmp(a->p, buf, bytes)))
		return;
	c->effects++;
	c->inner += !a->al;
}

static void
store_strong(Warp *w, const Ins *in, const MemAccess *a, const u8 *buf, u32 bytes)
{
	bool checked = w->def && a->space != SIM_SPACE_LOCAL, locked = checked && hands_over(w, a, in);

	if (checked)
		check_strong(w, a, in, false, true);
	if (locked) {
		launch_lock(w->cta->l);
		check_between_blocks(w, a, in, false, true);
	}
	strong_store(a->p, buf, bytes);
	if (locked)
		launch_unlock(w->cta->l);
}

int
exec_st(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	u8 buf[32];
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec, good;
	int l, kind = in->flags & F_STRONG ? A_SWRITE : A_WRITE;

	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask, bytes, true, acc);
	if (w->cta->l->counts)
		count_access(w, in, acc, good, bytes, false, true);
	if (w->def)
		store_defs(w, in, good, acc);
	FOR_LANES(l, good) {            /* check and store lane by lane: a later lane sees the earlier one's
	                                 * store */
		u8 *p = acc[l].p;
		gather(w, in, l, buf);
		note_store(w->cta->cl, &acc[l], buf, bytes);
		if (w->def && acc[l].space != SIM_SPACE_LOCAL)
			check_access(w, in, l, &acc[l], bytes, kind, buf);
		if (in->flags & F_STRONG)
			store_strong(w, in, &acc[l], buf, bytes);
		else
			memcpy(p, buf, bytes);
		if (!w->def && acc[l].al && !acc[l].al->full)
			memset(acc[l].al->init + (acc[l].addr - acc[l].al->base), 1, bytes);
	}
	return R_NEXT;
}

static u64
window(sim_space sp)
{
	switch (sp) {
	case SIM_SPACE_SHARED: case SIM_SPACE_CLUSTER: return WIN_SHARED;
	case SIM_SPACE_LOCAL: return WIN_LOCAL;
	case SIM_SPACE_PARAM: return WIN_PARAM;
	default: return 0;
	}
}

int
exec_cvta(Warp *w, const Ins *in, u32 mask)
{
	u64 win = window((sim_space)in->space);
	int l;

	if (w->def)
		taint_alu(w, in, mask);
	FOR_LANES(l, mask) {
		u64 v = lane_get(w, in->s, l);
		lane_set(w, in->d, l, in->id == OP_cvtato ? v - win : v + win);
	}
	return R_NEXT;
}

int
exec_isspacep(Warp *w, const Ins *in, u32 mask)
{
	int l;

	if (in->pd < 0)
		return R_NEXT;
	FOR_LANES(l, mask) {
		u64 a = lane_get(w, in->s, l);
		bool sh = a - WIN_SHARED < WIN_BYTES, lo = a - WIN_LOCAL < WIN_BYTES;
		bool pa = a - WIN_PARAM < WIN_BYTES, is = false;
		const Alloc *al;
		switch (in->space) {
		case SIM_SPACE_SHARED:
			is = sh && (a - WIN_SHARED < 1u << RANK_SHIFT ||
			            (a - WIN_SHARED) >> RANK_SHIFT == w->cta->rank + 1);
			break;
		case SIM_SPACE_CLUSTER: is = sh; break;
		case SIM_SPACE_LOCAL: is = lo; break;
		case SIM_SPACE_PARAM: is = pa; break;
		case SIM_SPACE_CONST:
			al = mem_find(w->cta->l->s, a);
			is = al && al->readonly;
			break;
		default: is = !sh && !lo && !pa; break;
		}
		w->p[in->pd] = (w->p[in->pd] & ~(1u << l)) | (u32)is << l;
	}
	if (w->def)
		w->pdef[in->pd] |= mask;
	return R_NEXT;
}

/* The rank named by a shared address, or by the shared window of a generic one; own: this block's. */
static u32
rank_of(const Warp *w, u64 addr, bool *own)
{
	*own = !(addr >> RANK_SHIFT);
	return *own ? w->cta->rank : (u32)(addr >> RANK_SHIFT) - 1;
}

int
exec_mapa(Warp *w, const Ins *in, u32 mask)
{
	const u32 *rank = src32(w, &in->s[1]);
	u64 win = in->space == SIM_SPACE_NONE ? WIN_SHARED : 0;
	int l;

	if (w->def) {
		use_check(w, in, &in->s[1], mask, "a rank");
		taint_list(w, in, mask);
	}
	FOR_LANES(l, mask) {
		u64 a = lane_get(w, in->s, l) - win;
		if (rank[l] >= w->cta->cl->n)
			fault_add(w, l, SIM_FAULT_CLUSTER, in->line, SIM_SPACE_SHARED, a, 0, NULL,
			          "%.60s: rank %u is out of range: the cluster has %u blocks", in->text,
			          rank[l],
			          w->cta->cl->n);
		if (a >= WIN_BYTES)
			fault_add(w, l, SIM_FAULT_CLUSTER, in->line, SIM_SPACE_SHARED, a + win, 0, NULL,
			          "%.60s: 0x%llx is not a shared-memory address", in->text,
			          (unsigned long long)(a + win));
		lane_set(w, in->d, l, win + cluster_addr(rank[l] % MAX_CLUSTER, (u32)a));
	}
	return R_NEXT;
}

int
exec_getctarank(Warp *w, const Ins *in, u32 mask)
{
	u64 win = in->space == SIM_SPACE_NONE ? WIN_SHARED : 0;
	bool own;
	int l;

	if (w->def)
		taint_list(w, in, mask);
	FOR_LANES(l, mask)
		lane_set(w, in->d, l, rank_of(w, lane_get(w, in->s, l) - win, &own));
	return R_NEXT;
}
