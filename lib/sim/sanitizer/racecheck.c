/* racecheck.c - detects hazards, incomplete copies and uninitialised bytes in shared and global memory.
 *
 * Each 4-byte word records its last few accesses. A recorded access is ordered before the current one if it
 * is by the same thread; or by another lane of the warp before a bar.warp.sync of both; or by a warp of the
 * block whose clock at that time is known here (vector clocks, passed on by barriers, fences with strong
 * accesses, acquire and release); or by a warp of another block likewise. Two unordered accesses race if one
 * writes, unless both are strong (atomic, volatile, relaxed...) or both write the same value. Words record
 * few accesses, so a race can be missed; there are no false positives.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/racecheck.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"

/* Is the access of another block ordered before us? */
static bool
known_far(const Warp *w, const ShadowCell *s)
{
	bool landed = s_kind(s) == A_LANDED;
	u32 i = landed ? MAX_WARPS + s_agent(s) : s_thread(s) / WARP;

	return (landed ? s_landed(s) : s_clock(s)) <= vec_clock(w->cta->l, w->know.far, s_block(s) - 1, i);
}

static bool
ordered(const Now *n, const ShadowCell *s)
{
	const Warp *w = n->w;
	u32 t = s_thread(s), v = t / WARP;

	if (s_block(s) != n->block)
		return s_time(s) < w->know.gacq && known_far(w, s);
	if (s_kind(s) == A_LANDED)
		return s_landed(s) <= w->know.vc[MAX_WARPS + s_agent(s)];
	if (v == w->id && (t == n->thread || s_clock(s) < w->met ||
	                   (w->paired && s_clock(s) <= w->pair[n->lane][t % WARP])))
		return true;
	/* cuda::pipeline invalidates its mbarriers after a match.sync: lanes of a warp that reconverged are
	 * done */
	if (v == w->id && n->in->id == OP_mbinval)
		return true;
	return s_clock(s) <= w->know.vc[v];
}

/* Shared memory is reused by consecutive blocks: is this one of the same cluster? */
static bool
in_cluster(const Now *n, u32 lin)
{
	const SimCluster *c = n->w->cta->cl;

	for (u32 i = 0; c->n > 1 && i < c->n; i++)
		if (c->cta[i]->lin == lin)
			return true;
	return false;
}

/* Do the scopes of the two include each other's thread? */
static bool
in_scope(const Now *n, const ShadowCell *s)
{
	u32 far = s_block(s) == n->block                ? SCOPE_CTA
	          : in_cluster(n, s_block(s) - 1) ? SCOPE_CLUSTER
	                                          : SCOPE_GPU;

	return n->in->scope >= far && n->w->cta->l->m->code[s_pc(s)].scope >= far;
}

static bool
morally_strong(const Now *n, const ShadowCell *s)
{
	return strong(n->kind) && strong(s_kind(s)) && in_scope(n, s);
}

static bool
same_value(const Now *n)
{
	return n->value && !memcmp(n->acc->p, n->value, n->bytes);
}

/* Eviction priority when a word has no free slot: the lowest goes first. */
static u32
worth(u32 kind)
{
	return !writes(kind) ? 0 : strong(kind) ? 1 : 2;
}

/* Is the slot free? It was unused, or of a block that used this shared memory before. */
static inline bool
vacant(const Now *n, ShadowCell *s, u32 slots)
{
	if (s_kind(s) != A_NONE &&
	    (slots != SHARED_SLOTS || s_block(s) == n->block || in_cluster(n, s_block(s) - 1)))
		return false;
	s->a = s->b = 0;
	return true;
}

/* Is it a read of these bytes by this warp, at the same time? */
static inline bool
read_now(const Now *n, const ShadowCell *s, u32 m4)
{
	return !writes(n->kind) && s_kind(s) == n->kind && !(m4 & ~s_mask(s)) && s_block(s) == n->block &&
	       s_thread(s) / WARP == n->w->id && s_clock(s) == n->w->clock;
}

/* The strong writes of a word, one bit per slot, that the current access observes or knows to be observed.
 * Overwritten ones all count: in doubt there is no report. */
static u32
observed(const Now *n, const ShadowCell *cell, u32 slots, u32 m4)
{
	bool reads = n->kind == A_SREAD || (n->kind == A_SWRITE && n->in->id != OP_st);
	u32 saw = 0;

	for (u32 i = 0; i < slots; i++) {
		const ShadowCell *s = &cell[i];
		if (s_saw(s) && ((s_block(s) == n->block && s_thread(s) / WARP == n->w->id) || ordered(n, s)))
			saw |= s_saw(s);
		if (reads && s_kind(s) == A_SWRITE && s_mask(s) & m4 && morally_strong(n, s))
			saw |= 1u << i;
	}
	return saw;
}

/* The slot now records another access, which no access has observed. */
static void
unsee(ShadowCell *cell, u32 slots, u32 at)
{
	for (u32 i = 0; i < slots; i++)
		cell[i].a &= ~(1ull << (SAW_SHIFT + at));
}

/* Writes whose only observer is evicted are forgotten with it: otherwise accesses ordered after that observer
 * would be false positives. */
static void
replace(ShadowCell *cell, u32 slots, u32 at, ShadowCell by)
{
	u32 lost = s_saw(&cell[at]) & ~s_saw(&by) & ~(1u << at);

	for (u32 i = 0; i < slots; i++)
		lost &= i == at ? ~0u : ~s_saw(&cell[i]);
	for (u32 i = 0; i < slots; i++)
		if (lost >> i & 1) {
			cell[i] = (ShadowCell){ 0, 0 };
			unsee(cell, slots, i);
		}
	cell[at] = by;
	unsee(cell, slots, at);
}

/* Checks the current access against a recorded one of the same bytes. Returns true if s was a copy in
 * flight. */
static inline bool
meet(const Now *n, const ShadowCell *s, bool ord, bool *reported)
{
	u32 k = s_kind(s);

	if (k == A_ASYNC || (k == A_LANDED && !ord) || (k == A_AREAD && writes(n->kind))) {
		if (!*reported)
			unfinished_fault(n, s);
		*reported = true;
		return true;
	}
	if (!ord && (writes(k) || writes(n->kind)) && !morally_strong(n, s) &&
	    !(writes(k) && writes(n->kind) && same_value(n))) {
		if (!*reported)
			race_fault(n, s);
		*reported = true;
	}
	return false;
}

/* Does any access that races with s also race with the current one, so that s can be replaced? Not after a
 * weak write: an access ordered only after a later strong one races with the weak one. */
static inline bool
covers(const Now *n, const ShadowCell *s, u32 m4, bool ord)
{
	u32 k = s_kind(s);

	return ord && !(s_mask(s) & ~m4) && (writes(n->kind) || !writes(k)) &&
	       !(strong(n->kind) && writes(k) && !strong(k));
}

/* One word: compares with the recorded accesses, then records the current one. */
static void
word(const Now *n, ShadowCell *cell, u32 slots, u32 m4, bool *reported)
{
	u64 b = n->b | (u64)m4 << 3;
	s32 spare = -1, victim = -1;
	u32 lanes = 0, saw = observed(n, cell, slots, m4);
	u64 seen_now = (u64)saw << SAW_SHIFT;

	for (u32 i = 0; i < slots; i++) {
		ShadowCell *s = &cell[i];
		u32 k = s_kind(s);
		bool ord;
		if ((s->a & ~SAW_BITS) == n->a && s->b == b) {
			if (writes(n->kind))
				unsee(cell, slots, i);
			s->a |= seen_now & ~(1ull << (SAW_SHIFT + i));
			return;
		}
		if (vacant(n, s, slots)) {
			spare = spare < 0 ? (s32)i : spare;     /* the first: see seen() */
			continue;
		}
		if (read_now(n, s, m4)) {
			s->a |= seen_now;
			if (s_thread(s) == n->thread || ++lanes == 2)
				return;         /* two lanes of this warp have just read it */
		}
		ord = saw >> i & 1 || ordered(n, s);
		if (s_mask(s) & m4 && meet(n, s, ord, reported))
			continue;
		if (k == A_ASYNC || k == A_AREAD)
			continue;
		if (covers(n, s, m4, ord))
			spare = (s32)i;
		else if (victim < 0 || worth(k) < worth(s_kind(&cell[victim])))
			victim = (s32)i;
	}
	if (n->look)
		return;
	if (spare < 0)
		spare = victim;
	if (spare >= 0)
		replace(cell, slots, (u32)spare, (ShadowCell){ n->a | seen_now, b });
}

/* Full words of a copy with equal records get equal records: the check runs once. */
static inline u32
alike(const Now *n, ShadowCell *cells, u32 slots, u32 most, bool *reported)
{
	ShadowCell before[SHARED_SLOTS], *first = cells;
	u32 i = 1;

	memcpy(before, cells, slots * sizeof *cells);
	word(n, cells, slots, 15, reported);
	for (cells += slots; i < most && cell_same(cells, before, slots); i++, cells += slots)
		if (!n->look)
			memcpy(cells, first, slots * sizeof *cells);
	return 4 * i;
}

static inline void
words(const Now *n, ShadowCell *cells, u32 slots, u64 addr, u32 bytes, bool *reported)
{
	while (bytes) {
		u32 at = addr & 3, take = 4 - at < bytes ? 4 - at : bytes;
		if (bytes >= 16 && !at && !n->value) {
			take = alike(n, cells, slots, bytes / 4, reported);
			cells += take / 4 * slots;
			addr += take;
			bytes -= take;
			continue;
		}
		word(n, cells, slots, ((1u << take) - 1) << at, reported);
		cells += slots;
		addr += take;
		bytes -= take;
	}
}

/* Is a read of a full word of global memory redundant? It is the first of all accesses; or a repetition by
 * the same warp; or all recorded accesses are reads of the same time by two blocks, so any write would race
 * with one of them. */
static inline bool
seen(const Now *n, ShadowCell *s)
{
	const u64 other = 0xfffffull << 44 | 31u << 7;  /* fields in which these two may differ: pc and
	                                                 * lane */
	u64 b = n->b | 15u << 3;

	if (!s[0].b) {
		s[0].a = n->a;
		s[0].b = b;
		return true;
	}
	for (u32 i = 0; i < GLOBAL_SLOTS; i++)
		if (s[i].a == n->a && !((s[i].b ^ b) & ~other))
			return true;
	if (s[0].a >> 36 == s[1].a >> 36)
		return false;
	for (u32 i = 0; i < GLOBAL_SLOTS; i++)
		if ((s[i].b & 0x7f) != (b & 0x7f) || (u32)(s[i].a ^ n->a))
			return false;
	return true;
}

static void
global_words(const Now *n, bool *reported)
{
	Alloc *al = n->acc->al;
	Launch *l = n->w->cta->l;
	u64 off = n->acc->addr - al->base, page = off / 4 / PAGE_WORDS;
	ShadowCell *s;
	u32 bytes = n->bytes;

	if (!al->page)
		return;
	page_lock(l, al, page);         /* an access never crosses a page: it is aligned */
	if ((n->kind == A_READ || n->kind == A_AREAD) && granule_read(al, page, off, bytes, n->a, n->b)) {
		page_unlock(l, al, page);
		return;
	}
	if (!al->page[page]) {
		al->page[page] = calloc((size_t)PAGE_WORDS * GLOBAL_SLOTS, sizeof(ShadowCell));
		granule_spread(al, page);
	}
	if (al->page[page]) {
		s = al->page[page] + off / 4 % PAGE_WORDS * GLOBAL_SLOTS;
		if (n->kind == A_READ && bytes % 4 == 0)
			for (; bytes && seen(n, s); bytes -= 4, off += 4)
				s += GLOBAL_SLOTS;
		words(n, s, GLOBAL_SLOTS, off, bytes, reported);
	}
	page_unlock(l, al, page);
}

static void
now(Now *n, Warp *w, const Ins *in, u32 bytes, u32 kind)
{
	Cta *b = w->cta;

	n->w = w;
	n->in = in;
	n->bytes = bytes;
	n->kind = kind;
	n->look = n->odd = false;
	n->value = NULL;
	n->block = b->lin + 1;
	n->a = (u64)n->block << 36 | __atomic_load_n(&b->l->time, __ATOMIC_RELAXED);
	n->b = (u64)(in - b->l->m->code) << 44 | (u64)(w->clock & 0x7ffffff) << 17 | kind;
}

static void
by_lane(Now *n, int lane, const MemAccess *a)
{
	n->lane = lane;
	n->acc = a;
	n->thread = n->w->id * WARP + (u32)lane;
	n->b = (n->b & ~(1023ull << 7)) | (u64)n->thread << 7;
}

void
check_access(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, int kind,
             const void *value)
{
	bool reported = false, look = kind & A_LOOK, mbar = kind & A_MBAR, odd = kind & A_ODD;
	Now n;

	kind &= 7;
	if (a->space == SIM_SPACE_SHARED) {
		if (a->addr < a->cta->mb.hi && !mbar && writes((u32)kind))
			mbar_overwrite(w, in, lane, a->cta, (u32)a->addr, bytes);
		if (a->cta->wg && writes((u32)kind))
			wgmma_written(w, in, lane, a->cta, (u32)a->addr, bytes);
		if (!look && !mbar && a->cta == w->cta &&
		    shadow_lane(w, in, (u32)lane, (u32)a->addr, bytes, (u32)kind))
			return;
		shadow_open(a->cta, (u32)a->addr, bytes);
	}
	now(&n, w, in, bytes, (u32)kind);
	by_lane(&n, lane, a);
	n.look = look;
	n.odd = odd;
	n.value = value;
	if (a->space == SIM_SPACE_SHARED)
		words(&n, a->cta->shadow + a->addr / 4 * SHARED_SLOTS, SHARED_SLOTS, a->addr, bytes,
		      &reported);
	else if (a->al && !a->al->readonly)
		global_words(&n, &reported);
}

void
check_reads(Warp *w, const Ins *in, u32 mask, const MemAccess *acc, u32 bytes)
{
	Now n;
	int l;

	now(&n, w, in, bytes, A_READ);
	FOR_LANES(l, mask) {
		bool reported = false;
		if (acc[l].space == SIM_SPACE_SHARED) {
			check_access(w, in, l, &acc[l], bytes, A_READ, NULL);
		} else if (acc[l].al && !acc[l].al->readonly) {
			by_lane(&n, l, &acc[l]);
			global_words(&n, &reported);
		}
	}
}

/* Finds the newest write of one of the bytes; returns false if there is none. */
static bool
newest_write(Launch *l, const MemAccess *a, u32 bytes, ShadowCell *out)
{
	u64 off = a->addr - a->al->base, end = off + bytes;
	bool any = false;

	for (u64 i = off / 4; a->al->page && i < (end + 3) / 4; i++) {
		const ShadowCell *s;
		u32 m4 = 15;
		if (i == off / 4)
			m4 &= 15u << off % 4;
		if (4 * i + 4 > end)
			m4 &= 15u >> (4 * i + 4 - end);
		page_lock(l, a->al, i / PAGE_WORDS);
		s = a->al->page[i / PAGE_WORDS];
		for (u32 k = 0; s && k < GLOBAL_SLOTS; k++) {
			const ShadowCell *c = &s[i % PAGE_WORDS * GLOBAL_SLOTS + k];
			if (writes(s_kind(c)) && s_mask(c) & m4 && (!any || s_time(c) > s_time(out))) {
				*out = *c;
				any = true;
			}
		}
		page_unlock(l, a->al, i / PAGE_WORDS);
	}
	return any;
}

bool
check_written(Warp *w, const MemAccess *a, u32 bytes, u64 *time, sim_place *place)
{
	ShadowCell s;

	if (!newest_write(w->cta->l, a, bytes, &s))
		return false;
	*time = s_time(&s);
	slot_place(w->cta->l, &s, place);
	return true;
}

void
check_noncoherent(Warp *w, const Ins *in, u32 mask, const MemAccess *acc, u32 bytes)
{
	sim_place place;
	u64 time;
	int l;

	FOR_LANES(l, mask) {
		const Alloc *al = acc[l].al;
		bool written = al && al->page && al->page[(acc[l].addr - al->base) / 4 / PAGE_WORDS];
		if (written && check_written(w, &acc[l], bytes, &time, &place))
			noncoherent_fault(w, in, l, &acc[l], bytes, &place);
	}
}
