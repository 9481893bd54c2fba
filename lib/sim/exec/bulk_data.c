/* bulk_data.c - moves the bytes of bulk copies: stages them from the source, writes them to the destination,
 * and reports both accesses to the sanitizer. */
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

enum { PAGE_BYTES = PAGE_WORDS * 4 };

static MemAccess
global_access(const ByteRange *r, u64 off)
{
	MemAccess a;

	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_GLOBAL;
	a.addr = r->addr + off;
	a.al = r->al;
	a.p = r->al->data + (a.addr - r->al->base);
	return a;
}

static MemAccess
shared_access(Cta *b, u32 addr)
{
	MemAccess a;

	memset(&a, 0, sizeof a);
	a.space = SIM_SPACE_SHARED;
	a.addr = addr;
	a.cta = b;
	a.p = b->smem + addr;
	return a;
}

/* Returns the number of contiguous shared-memory bytes that hold the data from byte `at` on: all of them, or
 * up to the end of a swizzled 16-byte chunk. */
static u32
piece(const Bulk *k, u32 base, u32 at, u32 *addr)
{
	*addr = base + at;
	if (!k->d || !k->d->swizzle)
		return k->bytes - at;
	*addr = box_swizzle(k->d, base + at);
	return 16 - at % 16;
}

/* The same for checks, for which the order within does not matter: full 128-byte lines stay full lines. */
static u32
area(const Bulk *k, u32 base, u32 at, u32 *addr)
{
	if (k->bytes % 128)
		return piece(k, base, at, addr);
	*addr = base + at;
	return k->bytes - at;
}

/* `same`: it writes the value that is already there. */
static void
check_global(const Bulk *k, int kind, bool same)
{
	Warp *w = k->w;

	for (u32 i = 0; i < k->nrun; i++) {
		const ByteRange *r = &k->run[i];
		for (u64 off = 0, n; off < r->n; off += n) {
			MemAccess a = global_access(r, off);
			n = PAGE_BYTES - (a.addr - r->al->base) % PAGE_BYTES;
			if (n > r->n - off)
				n = r->n - off;
			check_access(w, k->in, k->lane, &a, (u32)n, kind, same ? a.p : NULL);
		}
	}
}

static void
check_shared(const Bulk *k, Cta *b, u32 base, int kind)
{
	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		MemAccess a;
		n = area(k, base, at, &addr);
		a = shared_access(b, addr);
		check_access(k->w, k->in, k->lane, &a, n, kind, NULL);
	}
}

/* Shared data that is stored to global memory must be initialised. Out-of-bounds elements are not stored. */
static void
check_source(const Bulk *k, Cta *b)
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
			          addr, 1, NULL, "%.60s: copies uninitialized shared memory at 0x%x to "
			                         "global memory", k->in->text, addr);
			return;
		}
}

/* Does global memory already hold what the store would write, from its source's current data? */
static bool
is_there(const Bulk *k)
{
	for (u32 i = 0; i < k->nrun; i++)
		for (u32 off = 0, n; off < k->run[i].n; off += n) {
			const ByteRange *r = &k->run[i];
			u32 addr;
			n = piece(k, k->sh, r->at + off, &addr);
			if (n > r->n - off)
				n = r->n - off;
			if (memcmp(global_access(r, off).p, k->w->cta->smem + addr, n))
				return false;
		}
	return true;
}

bool
bulk_alike(const Bulk *k, const Bulk *other)
{
	for (u32 at = 0, n, m; at < k->bytes; at += n) {
		u32 a, b;
		n = piece(k, k->sh, at, &a);
		m = piece(other, other->sh, at, &b);
		n = n < m ? n : m;
		if (memcmp(k->w->cta->smem + a, other->w->cta->smem + b, n))
			return false;
	}
	return true;
}

/* A reduction reads its destination. */
static void
check_reduced(const Bulk *k)
{
	for (u32 i = 0; i < k->nrun; i++) {
		const ByteRange *r = &k->run[i];
		u64 off = r->addr - r->al->base;
		if (r->al->full || !memchr(r->al->init + off, 0, r->n))
			continue;
		fault_add(k->w, k->lane, SIM_FAULT_UNINIT_GLOBAL, k->in->line, SIM_SPACE_GLOBAL, r->addr,
		          r->n, NULL, "%.60s: reduction into uninitialized global memory", k->in->text);
		return;
	}
}

void
bulk_check(const Bulk *k, bool again)
{
	const BulkArg *arg = k->in->bulk;
	Cta *own = k->w->cta;
	MemAccess a;
	int r;

	if (arg->dir == B_LOAD) {
		for (u32 i = 0; i < k->nrun; i++) {
			a = global_access(&k->run[i], 0);
			proxy_read(k->w, k->in, k->lane, &a, k->run[i].n);
		}
		check_global(k, A_AREAD, false);
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
		if (!again)
			check_global(k, arg->reduce ? A_SWRITE : A_ASYNC, !arg->reduce && is_there(k));
		if (arg->reduce)
			check_reduced(k);
		return;
	}
	/* Reductions into shared memory may overlap each other in flight: they are not recorded. */
	FOR_LANES(r, arg->reduce || again ? 0 : k->ranks)
		check_shared(k, own->cl->cta[r], arg->dir == B_SEND ? k->to : k->sh, A_ASYNC);
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
		const ByteRange *r = &k->run[i];
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
	const Cta *b = k->w->cta;

	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		n = piece(k, k->sh, at, &addr);
		memcpy(k->data + at, b->smem + addr, n);
		if (b->l->checks)
			memcpy(k->def + at, b->sinit + addr, n);
	}
}

void
bulk_read(Bulk *k)
{
	const BulkArg *arg = k->in->bulk;

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
		MemAccess a = global_access(&k->run[i], 0);
		check_copied(k->w, k->in, k->lane, &a, k->run[i].n, A_NONE);
	}
	for (u32 at = 0, n; arg->dir != B_LOAD && at < k->bytes; at += n) {
		u32 addr;
		MemAccess a;
		n = area(k, k->sh, at, &addr);
		a = shared_access(k->w->cta, addr);
		check_copied(k->w, k->in, k->lane, &a, n, arg->dir == B_STORE ? A_READ : A_NONE);
	}
}

/* PTX ISA, cp.reduce.async.bulk: valid combinations of operation and type. */
bool
bulk_reduces(u32 op, PtxType t, bool shared)
{
	bool half = t == T_f16 || t == T_bf16, wide = t == T_b64 || t == T_u64 || t == T_s64;

	if (shared && (half || type_float(t) || (wide && !(op == AT_ADD && t == T_u64))))
		return false;
	switch (op) {
	case AT_AND: case AT_OR: case AT_XOR: return t == T_b32 || t == T_b64;
	case AT_ADD: return t == T_u32 || t == T_s32 || t == T_u64 || t == T_f32 || t == T_f64 || half;
	case AT_MIN: case AT_MAX: return t == T_u32 || t == T_s32 || t == T_u64 || t == T_s64 || half;
	default: return t == T_u32;
	}
}

/* Applies a reduction with the operation of atom. */
static void
reduce(const Bulk *k, u8 *to, const u8 *data, u32 n, bool global)
{
	PtxType t = k->d ? tmap_ptx_type(k->d) : (PtxType)k->in->type;
	u32 e = type_bits(t) / 8;

	for (u32 i = 0; i + e <= n; i += e) {
		u64 v = 0;
		memcpy(&v, data + i, e);
		atom_rmw(to + i, e, k->in->bulk->op, t, v, 0, global);
	}
}

void
bulk_write_global(Bulk *k)
{
	const BulkArg *arg = k->in->bulk;

	for (u32 i = 0; i < k->nrun; i++) {
		const ByteRange *r = &k->run[i];
		MemAccess a = global_access(r, 0);
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

void
bulk_write_shared(Bulk *k, Cta *b, u32 base)
{
	bool red = k->in->bulk->reduce;

	for (u32 at = 0, n; at < k->bytes; at += n) {
		u32 addr;
		n = piece(k, base, at, &addr);
		if (red)
			reduce(k, b->smem + addr, k->data + at, n, false);
		else
			memcpy(b->smem + addr, k->data + at, n);
		if (!b->l->checks)
			continue;
		for (u32 i = 0; i < n; i++)     /* the destination of a reduction stays undefined if it was */
			b->sinit[addr + i] = red ? b->sinit[addr + i] & k->def[at + i] : k->def[at + i];
	}
	for (u32 at = 0, n; !red && at < k->bytes; at += n) {
		u32 addr;
		n = area(k, base, at, &addr);
		mbar_landed(b, addr, n, k->w->cta, k->w->id * WARP + (u32)k->lane,
		            (s32)(k->in - b->l->m->code), k->mbar);
	}
}
