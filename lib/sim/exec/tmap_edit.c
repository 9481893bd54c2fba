/* tmap_edit.c - executes instructions that modify tensor maps in a kernel: tensormap.replace,
 * tensormap.cp_fenceproxy, and the fences of the tensormap proxy.
 *
 * PTX ISA: bulk tensor copies read their map through the tensormap proxy. A map written by a kernel is
 * visible there after fence.proxy.tensormap::generic.acquire on the map's address. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

enum { SEEN_MAX = 4096 };

/* ---- the tensormap proxy ---- */

/* The block's fence on the map at addr; NULL if there was none. */
static TmapSeen *
seen(const Cta *b, u64 addr)
{
	for (u32 i = 0; i < b->ntmap; i++)
		if (b->tmap[i].addr == addr)
			return &b->tmap[i];
	return NULL;
}

static TmapSeen *
see(Cta *b, u64 addr)
{
	TmapSeen *t = seen(b, addr), *v;

	if (t)
		return t;
	if (b->ntmap == b->ctmap) {
		u32 n = b->ctmap ? 2 * b->ctmap : 16;
		v = n > SEEN_MAX ? NULL : realloc(b->tmap, n * sizeof *v);
		if (!v)
			return NULL;
		b->tmap = v;
		b->ctmap = n;
	}
	t = &b->tmap[b->ntmap++];
	t->addr = addr;
	return t;
}

bool
tmap_seen(Warp *w, const Ins *in, int lane, const MemAccess *a)
{
	const TmapSeen *t = seen(w->cta, a->addr);
	sim_place other;
	u64 time;

	for (u32 i = 0; i < TMAP_BYTES; i += TMAP_ALIGN) {
		MemAccess part = *a;
		part.addr += i;
		check_access(w, in, lane, &part, TMAP_ALIGN, A_READ, NULL);
	}
	if (!check_written(w, a, TMAP_BYTES, &time, &other) || (t && time < t->time))
		return true;
	fault_add(w, lane, SIM_FAULT_PROXY, in->line, SIM_SPACE_GLOBAL, a->addr, TMAP_BYTES, &other,
	          "%.60s: the tensor map was modified in line %u, and this block has not executed "
	          "fence.proxy.tensormap::generic.acquire on it since", in->text, other.line);
	return true;
}

int
exec_tmacquire(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	TmapSeen *t;
	int l;

	if (!w->def)
		return R_NEXT;
	bulk_use_addr(w, in, &arg->src, mask, "an address");
	check_fence(w, in->scope);
	FOR_LANES(l, mask)
		if ((t = see(w->cta, bulk_value(w, &arg->src, l))) != NULL)
			t->time = time_tick(w->cta->l);
	return R_NEXT;
}

int
exec_tmrelease(Warp *w, const Ins *in, u32 mask)
{
	(void)mask;
	if (w->def)
		check_fence(w, in->scope);
	return R_NEXT;
}

/* ---- tensormap.replace ---- */

/* Values of .elemtype, in the ISA's order (Table "Tensormap new_val validity"). */
static const u8 elemtypes[] = { SIM_TMAP_U8, SIM_TMAP_U16, SIM_TMAP_U32, SIM_TMAP_S32, SIM_TMAP_U64,
	SIM_TMAP_S64, SIM_TMAP_F16, SIM_TMAP_F32, SIM_TMAP_F32_FTZ, SIM_TMAP_F64, SIM_TMAP_BF16,
	SIM_TMAP_TF32, SIM_TMAP_TF32_FTZ };

static u8
byte(u64 v)
{
	return v > 255 ? 255 : (u8)v;
}

static void
replace(TmapBits *b, u32 field, u32 i, u64 v)
{
	switch (field) {
	case TF_ADDRESS: b->address = v; break;
	case TF_RANK:
		b->rank = byte(v + 1);
		break; /* zero-based, according to the ISA */
	case TF_BOX: b->box[i] = (u32)v; break;
	case TF_DIM:
		b->dim[i] = (u32)v;
		b->full &= (u8)~(1u << i);
		break;
	case TF_STRIDE:
		if (i < 4)              /* the fifth has no effect */
			b->stride[i] = v;
		break;
	case TF_ESTRIDE: b->estride[i] = byte(v); break;
	case TF_TYPE: b->type = v < sizeof elemtypes ? elemtypes[v] : 255; break;
	case TF_INTERLEAVE: b->interleave = byte(v); break;
	case TF_SWIZZLE: b->swizzle = byte(v); break;
	default: b->fill = byte(v); break;
	}
}

static bool
blank(const TmapBits *b)
{
	static const TmapBits zero;

	return !memcmp(b, &zero, sizeof zero);
}

/* A zeroed map is as good as an encoded one: all its fields can be set. */
static void
replace_lane(Warp *w, const Ins *in, int l, const MemAccess *a)
{
	TmapBits b;

	if (w->def)
		check_access(w, in, l, a, TMAP_BYTES, A_WRITE, NULL);
	memcpy(&b, a->p, sizeof b);
	if (!tmap_intact(&b) && !blank(&b)) {
		fault_add(w, l, SIM_FAULT_TMAP, in->line, a->space, a->addr, TMAP_BYTES, NULL,
		          "%.60s: neither a tensor map nor 128 zero bytes at 0x%llx", in->text,
		          (unsigned long long)a->addr);
		return;
	}
	replace(&b, in->tmap.field, in->tmap.i, lane_get(w, &in->s[1], l));
	tmap_seal(&b);
	memcpy(a->p, &b, sizeof b);
	if (w->def)
		mark_init(w, l, a, TMAP_BYTES, true);
}

int
exec_tmreplace(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	int l;

	use_check(w, in, &in->s[1], mask, "a field of a tensor map");
	FOR_LANES(l, mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask, TMAP_BYTES, true,
	                         acc))
		replace_lane(w, in, l, &acc[l]);
	return R_NEXT;
}

/* ---- tensormap.cp_fenceproxy ---- */

static void
copy_lane(Warp *w, const Ins *in, int l, u64 to, u64 from)
{
	MemAccess dst, src;

	if (!mem_access(w, in, l, SIM_SPACE_SHARED, from, TMAP_BYTES, false, &src) ||
	    !mem_access(w, in, l, SIM_SPACE_GLOBAL, to, TMAP_BYTES, true, &dst))
		return;
	if (w->def) {
		check_access(w, in, l, &src, TMAP_BYTES, A_READ, NULL);
		check_access(w, in, l, &dst, TMAP_BYTES, A_WRITE, NULL);
		if (memchr(src.cta->sinit + src.addr, 0, TMAP_BYTES))
			fault_add(w, l, SIM_FAULT_UNINIT_SHARED, in->line, SIM_SPACE_SHARED, src.addr,
			          TMAP_BYTES, NULL, "%.60s: copies an uninitialized tensor map",
			          in->text);
		mark_init(w, l, &dst, TMAP_BYTES, true);
	}
	memcpy(dst.p, src.p, TMAP_BYTES);
}

/* All lanes usually name the same copy: it is executed once. */
int
exec_tmcopy(Warp *w, const Ins *in, u32 mask)
{
	const BulkArg *arg = in->bulk;
	u64 to = 0, from = 0;
	bool first = true;
	int l;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	bulk_use_addr(w, in, &arg->dst, mask, "an address");
	bulk_use_addr(w, in, &arg->src, mask, "an address");
	FOR_LANES(l, mask) {
		u64 t = bulk_value(w, &arg->dst, l), f = bulk_value(w, &arg->src, l);
		if (first || t != to || f != from)
			copy_lane(w, in, l, t, f);
		first = false;
		to = t;
		from = f;
	}
	if (w->def) {
		check_sync_warp(w, mask);
		check_fence(w, in->scope);
	}
	return R_NEXT;
}
