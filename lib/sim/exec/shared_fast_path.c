/* shared_fast_path.c - executes loads and stores of the block's own shared memory on a fast path: every
 * address in range and aligned, all data initialised. Other cases fall back to the general path in mem.c.
 * dec_ld and dec_st select these for plain accesses whose elements have the size of their registers. */
#include <string.h>
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"

/* Offsets of all lanes; returns false if an active one is out of range, misaligned or undefined. */
static bool
offsets(Warp *w, const Ins *in, u32 mask, u32 bytes, u32 *addr)
{
	const Ref *base = &in->s[0];
	u32 from = 0, to = w->cta->smem_bytes, last, odd = 0;
	int l;

	if (in->owner && w->def)
		owner_range(w->cta, in->owner, &from, &to);
	last = to - from - bytes;
	if (to < from + bytes || (w->def && mask & ~def_of(w, base)))
		return false;
	if (base->chunks >= 4) {
		const u64 *s = src64(w, base);
		for (u32 i = 0; i < WARP; i++) {
			u64 a = s[i] + (u64)in->off;
			addr[i] = (u32)(a >> 32) ? ~0u : (u32)a;
		}
	} else {
		const u32 *s = src32(w, base), off = (u32)in->off;
		for (u32 i = 0; i < WARP; i++)
			addr[i] = s[i] + off;
	}
	if (mask == ALL_LANES)
		for (u32 i = 0; i < WARP; i++)
			odd |= (u32)(addr[i] - from > last) | (addr[i] & (bytes - 1));
	else
		FOR_LANES(l, mask)
			odd |= (u32)(addr[l] - from > last) | (addr[l] & (bytes - 1));
	return !odd;
}

/* Is the data of all lanes initialised? `size` is a compile-time constant after inlining. */
static inline __attribute__((always_inline)) bool
each_initialised(const u8 *init, const u32 *addr, u32 mask, const u32 size)
{
	u64 all = ~0ull, v = ~0ull;
	int l;

	FOR_LANES(l, mask) {
		memcpy(&v, init + addr[l], size < 8 ? size : 8);
		all &= v;
		if (size == 16) {
			memcpy(&v, init + addr[l] + 8, 8);
			all &= v;
		}
	}
	v = size == 2 ? 0x0101 : size == 4 ? 0x01010101 : 0x0101010101010101;
	return (all & v) == v;
}

static bool
initialised(const u8 *init, const u32 *addr, u32 mask, u32 bytes, bool in_row)
{
	u8 all = 1;

	if (in_row) {
		for (u32 i = 0; i < WARP * bytes; i++)
			all &= init[addr[0] + i];
		return all;
	}
	switch (bytes) {
	case 2: return each_initialised(init, addr, mask, 2);
	case 4: return each_initialised(init, addr, mask, 4);
	case 8: return each_initialised(init, addr, mask, 8);
	default: return each_initialised(init, addr, mask, 16);
	}
}

/* Runs the race check of lanes whose offsets are valid. */
static void
races(Warp *w, const Ins *in, u32 mask, const u32 *addr, u32 bytes, u32 kind)
{
	u32 left = shadow_lanes(w, in, mask, addr, bytes, kind);
	MemAccess a;
	int l;

	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_SHARED;
	a.cta = w->cta;
	FOR_LANES(l, left) {
		a.addr = addr[l];
		a.p = w->cta->smem + addr[l];
		check_access(w, in, l, &a, bytes, (int)kind, NULL);
	}
}

static void
fetch(Warp *w, const Ins *in, u32 mask, const u32 *addr, const u8 *p, const Ref *d)
{
	u32 *o = dst32(w, d);
	u64 *o2 = dst64(w, d);
	u16 v;
	int l;

	switch (in->mem.ebytes) {
	case 2:
		FOR_LANES(l, mask) {
			memcpy(&v, p + addr[l], 2);
			o[l] = v;
		}
		return;
	case 4:
		if (mask == ALL_LANES)
			for (u32 i = 0; i < WARP; i++)
				memcpy(&o[i], p + addr[i], 4);
		else
			FOR_LANES(l, mask)
				memcpy(&o[l], p + addr[l], 4);
		return;
	default:
		FOR_LANES(l, mask)
			memcpy(&o2[l], p + addr[l], 8);
		return;
	}
}

int
exec_lds(Warp *w, const Ins *in, u32 mask)
{
	u32 addr[WARP], bytes = (u32)in->mem.ebytes * in->mem.vec;
	const Cta *b = w->cta;
	bool in_row;

	if (!offsets(w, in, mask, bytes, addr))
		return exec_ld(w, in, mask);
	in_row = mask == ALL_LANES && side_by_side(addr, bytes);
	if (w->def && !initialised(b->sinit, addr, mask, bytes, in_row))
		return exec_ld(w, in, mask);
	if (b->l->counts)
		count_banks(w, in, addr, mask, bytes);
	if (w->def) {
		races(w, in, mask, addr, bytes, A_READ);
		for (u32 i = 0; i < in->mem.vec; i++)
			def_set(w, &in->d[i], mask, ALL_LANES, 0);
	}
	if (in_row && bytes == 4 && in->mem.vec == 1) {
		memcpy(dst32(w, in->d), b->smem + addr[0], WARP * sizeof(u32));
		return R_NEXT;
	}
	for (u32 i = 0; i < in->mem.vec; i++)
		fetch(w, in, mask, addr, b->smem + (size_t)i * in->mem.ebytes, &in->d[i]);
	return R_NEXT;
}

/* Might the lanes' range overlap an mbarrier? exec_st checks exactly. */
static bool
near_mbars(const Cta *b, u32 mask, const u32 *addr, u32 bytes)
{
	int l;

	if (b->mb.hi)
		FOR_LANES(l, mask)
			if (addr[l] < b->mb.hi && addr[l] + bytes > b->mb.lo)
				return true;
	return false;
}

/* Stored data is as initialised as the registers are. */
static void
mark_stored(Warp *w, const Ins *in, u32 mask, const u32 *addr, u32 bytes)
{
	u8 *init = w->cta->sinit;
	u32 all = mask;
	int l;

	for (u32 i = 0; i < in->mem.vec; i++)
		all &= def_of(w, &in->s[1 + i]);
	if (all == ALL_LANES && side_by_side(addr, bytes)) {
		memset(init + addr[0], 1, WARP * (size_t)bytes);
		return;
	}
	FOR_LANES(l, all)
		memset(init + addr[l], 1, bytes);
	for (u32 i = 0; i < in->mem.vec && all != mask; i++, init += in->mem.ebytes) {
		const Ref *s = &in->s[1 + i];
		for (u32 k = 0; k < s->bytes && k < in->mem.ebytes; k++) {
			u32 def = stored_def(w, s, k);
			FOR_LANES(l, mask & ~all)
				init[addr[l] + k] = def >> l & 1;
		}
	}
}

/* Lanes that write one word race with each other unless they write the same value: exec_st compares the
 * values. */
int
exec_sts(Warp *w, const Ins *in, u32 mask)
{
	u32 addr[WARP], bytes = (u32)in->mem.ebytes * in->mem.vec, size = in->mem.ebytes;
	int l;

	if (!offsets(w, in, mask, bytes, addr) || near_mbars(w->cta, mask, addr, bytes) ||
	    (w->def && shadow_lanes(w, in, mask, addr, bytes, A_WRITE)))
		return exec_st(w, in, mask);
	inner_effect(w->cta->cl);
	if (w->cta->l->counts)
		count_banks(w, in, addr, mask, bytes);
	for (u32 i = 0; i < in->mem.vec; i++) {
		const u32 *s = src32(w, &in->s[1 + i]);
		const u64 *s2 = src64(w, &in->s[1 + i]);
		u8 *p = w->cta->smem + size * i;
		if (size == 4)
			FOR_LANES(l, mask)
				memcpy(p + addr[l], &s[l], 4);
		else
			FOR_LANES(l, mask)
				memcpy(p + addr[l], &s2[l], 8);
	}
	if (w->def)
		mark_stored(w, in, mask, addr, bytes);
	return R_NEXT;
}
