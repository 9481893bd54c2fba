/* bulk_tensor.c - executes cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and their prefetches on TMA
 * boxes of tensors described by a tensor map. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static bool bad(Warp *w, const Ins *in, int lane, u64 addr, const char *fmt, ...) PRINTF_LIKE(5, 6);

static bool
bad(Warp *w, const Ins *in, int lane, u64 addr, const char *fmt, ...)
{
	char text[180];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fault_add(w, lane, SIM_FAULT_TMAP, in->line, SIM_SPACE_GLOBAL, addr, TMAP_BYTES, NULL, "%.60s: %s",
	          in->text, text);
	return false;
}

/* Reads the 128 bytes at a generic address, or at one of the given space. */
static bool
fetch(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, TmapBits *b)
{
	MemAccess half[2];
	char what[100];

	for (u32 i = 0; i < 2; i++) {
		MemAccess *a = &half[i];
		if (!mem_access(w, in, lane, sp, addr + 64 * i, 64, false, a))
			return false;
		if (a->space == SIM_SPACE_SHARED || a->space == SIM_SPACE_LOCAL)
			return bad(w, in, lane, addr,
			           "the tensor map is in %s memory, not in global, constant or parameter "
			           "memory",
			           a->space == SIM_SPACE_SHARED ? "shared" : "local");
		memcpy((u8 *)b + 64 * i, a->p, 64);
	}
	if (!tmap_intact(b) && tmap_edited(b, what, sizeof what))
		return bad(w, in, lane, addr, "the tensor map at 0x%llx was modified other than by "
		                              "tensormap.replace: %s", (unsigned long long)addr, what);
	if (!tmap_intact(b))
		return bad(w, in, lane, addr, "no tensor map at 0x%llx, or it was overwritten",
		           (unsigned long long)addr);
	if (w->def && half[0].al)
		return tmap_seen(w, in, lane, &half[0]);
	return true;
}

static bool
tmap_fetch(Warp *w, const Ins *in, int lane, sim_space sp, u64 addr, sim_tmap_desc *d)
{
	TmapBits b;
	char why[160];

	if (!fetch(w, in, lane, sp, addr, &b))
		return false;
	tmap_unpack(&b, d);
	return tmap_check(d, why, sizeof why) || bad(w, in, lane, addr, "invalid tensor map: %s", why);
}

/* Does the map match the instruction? */
static bool
fits(Warp *w, const Ins *in, int lane, u64 addr, const sim_tmap_desc *d)
{
	const BulkArg *arg = in->bulk;

	if (d->rank != arg->rank)
		return bad(w, in, lane, addr, "the tensor map has %u dimensions, the instruction %u", d->rank,
		           arg->rank);
	if (!d->im2col != !arg->im2col)
		return bad(w, in, lane, addr, "the tensor map is for %s mode, the instruction is not",
		           d->im2col ? "im2col" : "tiled");
	if (arg->reduce && !tmap_reduces(d, arg->op))
		return bad(w, in, lane, addr, "this reduction does not support the tensor map's element "
		                              "type");
	return true;
}

static void
coordinates(Warp *w, const Ins *in, int l, s32 *at, u32 *off)
{
	const BulkArg *arg = in->bulk;

	memset(off, 0, 3 * sizeof *off);
	for (u32 i = 0; i < arg->rank; i++)
		at[i] = (s32)lane_get(w, &arg->coord[i], l);
	for (u32 i = 0; arg->offsets && i + 2 < arg->rank; i++)
		off[i] = (u32)lane_get(w, &arg->off[i], l);
}

/* Starts a box at the instruction's coordinates. Returns false after reporting a fault. */
static bool
start(Warp *w, const Ins *in, int l, u64 map, const sim_tmap_desc *d, Box *box)
{
	char why[160];
	s32 at[5];
	u32 off[3];

	if (!fits(w, in, l, map, d))
		return false;
	coordinates(w, in, l, at, off);
	return box_start(box, d, at, off, why, sizeof why) || bad(w, in, l, map, "%s", why);
}

static void
add_runs(Bulk *k, Box *box)
{
	u32 row = tmap_row(k->d), e = tmap_esize(k->d), nrun = 0;
	BoxRow r;

	box->d = k->d;
	for (u32 i = 0; box_next(box, &r); i++) {
		if (r.from == r.to)
			continue;
		bulk_run(k, r.addr, i * row + r.from * e, (r.to - r.from) * e);
		if (k->nrun == nrun && nrun == 0)       /* the first row failed: so will the rest */
			break;
		nrun = k->nrun;
	}
}

static bool
tensor(Warp *w, const Ins *in, int l)
{
	const BulkArg *arg = in->bulk;
	bool store = arg->dir == B_STORE;
	u64 map = bulk_value(w, store ? &arg->dst : &arg->src, l);
	u64 at = bulk_value(w, store ? &arg->src : &arg->dst, l), bytes, area;
	sim_tmap_desc d;
	MemAccess sh;
	Box box;
	Bulk *k;
	bool ok;

	if (!tmap_fetch(w, in, l, SIM_SPACE_NONE, map, &d))
		return true;
	ok = start(w, in, l, map, &d, &box);
	bytes = tmap_bytes(&d);
	area = d.swizzle ? (bytes + 127) & ~127ull : bytes;
	if (!bulk_shared(w, in, l, at, area > UINT32_MAX ? UINT32_MAX : (u32)area, 128, &sh))
		return true;
	k = bulk_new(w, in, l, (u32)bytes, ok ? (u32)box.rows : 0, &d);
	if (!k)
		return false;
	k->sh = (u32)sh.addr;
	k->idle = !ok;
	if (!store && !bulk_target(k, &sh)) {
		free(k);
		return true;
	}
	if (ok)
		add_runs(k, &box);
	bulk_issue(k);
	return true;
}

static void
use_operands(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;

	if (arg->dir != B_FETCH)
		bulk_use_addr(w, in, &arg->dst, mask, "an address");
	bulk_use_addr(w, in, &arg->src, mask, "an address");
	for (u32 i = 0; i < arg->rank; i++)
		use_check(w, in, &arg->coord[i], mask, "a tensor coordinate");
	for (u32 i = 0; arg->offsets && i + 2 < arg->rank; i++)
		use_check(w, in, &arg->off[i], mask, "an im2col offset");
	if (arg->multicast)
		use_check(w, in, &arg->mask, mask, "a block mask");
}

int
exec_btensor(Warp *w, const Ins *in, u32 mask)
{
	int l;

	use_operands(w, in, mask);
	if (w->cta->l->counts)
		w->cta->k->n[in - w->cta->l->m->code].req++;
	FOR_LANES(l, mask)
		if (!tensor(w, in, l))
			return R_STOP;
	return bulk_issued(w);
}

/* A hint, but its map and coordinates must be valid. */
int
exec_btensorpre(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	sim_tmap_desc d;
	Box box;
	int l;

	use_operands(w, in, mask);
	FOR_LANES(l, mask) {
		u64 map = bulk_value(w, &arg->src, l);
		if (tmap_fetch(w, in, l, SIM_SPACE_NONE, map, &d))
			start(w, in, l, map, &d, &box);
	}
	return R_NEXT;
}

int
exec_tmprefetch(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	sim_tmap_desc d;
	int l;

	bulk_use_addr(w, in, &arg->src, mask, "an address");
	FOR_LANES(l, mask)
		tmap_fetch(w, in, l, (sim_space)in->space, bulk_value(w, &arg->src, l), &d);
	return R_NEXT;
}
