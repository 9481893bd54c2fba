/* racecheck_fast.c - checks shared memory for races on a fast path, for nearly all accesses: full words that
 * one warp writes, or some warps read, between two barriers of the block.
 *
 * When every thread of a block has waited at one barrier, all earlier accesses are ordered before all later
 * ones: a new era begins. The first access to a word in an era need not inspect earlier records. So a word
 * has a state, with its era, and three records in the form of ShadowCell.b: the last write, which remains for
 * the proxy check, and in this era two readers, preferably of different warps. With two of them a further one
 * adds nothing: any write would race with one of the two. Other cases - a word read by one thread and written
 * by another within an era, parts of words, strong accesses - use the slots of racecheck.c: shadow_open moves
 * the records there, and the first access of a later era takes the word back. Blocks of clusters use only the
 * slots: other blocks may access their memory.
 */
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"

enum {
	S_READ, S_LANES, S_READ2,       /* by one thread, by lanes of a warp, by two warps or more */
	S_WRITTEN, S_PENDING,           /* by a thread; will be, by a copy in flight */
	S_SLOTS, ERA = 3                /* the era starts at this bit */
};

static inline bool
same_warp(u64 x, u64 y)
{
	return !((x ^ y) >> 12 & 31);
}

static inline bool
same_thread(u64 x, u64 y)
{
	return !((x ^ y) >> 7 & 1023);
}

/* In words not yet accessed by this block (state 0) the records are stale, from another block. */
void
shadow_start(Cta *b)
{
	const u32 *dim = b->l->cdim;

	b->quick = b->l->checks && dim[0] * dim[1] * dim[2] == 1;
	b->era = 1;
	b->era_time = __atomic_load_n(&b->l->time, __ATOMIC_RELAXED);
	if (b->l->checks)
		memset(b->word_state, 0, (b->smem_bytes / 4 + 16) * sizeof *b->word_state);
}

void
shadow_era(Cta *b)
{
	b->era++;
	b->era_time = __atomic_load_n(&b->l->time, __ATOMIC_RELAXED);
}

static void
open_word(Cta *b, u32 i)
{
	u32 s = b->word_state[i], n = 0;
	ShadowCell *slot = b->shadow + (size_t)i * SHARED_SLOTS;
	u64 a = (u64)(b->lin + 1) << 36 | (s >> ERA == b->era ? b->era_time : 0);

	b->word_state[i] = b->era << ERA | S_SLOTS;
	if ((s & 7) == S_SLOTS)
		return;
	memset(slot, 0, SHARED_SLOTS * sizeof *slot);
	if (!s)
		return;
	if (b->word.w[i])
		slot[n++] = (ShadowCell){ a, b->word.w[i] };
	if ((s & 7) <= S_READ2)
		slot[n++] = (ShadowCell){ a, b->word.r[0][i] };
	if ((s & 7) == S_LANES || (s & 7) == S_READ2)
		slot[n] = (ShadowCell){ a, b->word.r[1][i] };
}

bool
shadow_in_slots(const Cta *b, u32 addr, u32 bytes)
{
	u32 odd = 0;

	for (u32 i = addr / 4; b->quick && i <= (addr + bytes - 1) / 4; i++)
		odd |= (b->word_state[i] & 7) ^ S_SLOTS;
	return !odd;
}

void
shadow_open(Cta *b, u32 addr, u32 bytes)
{
	if (!b->quick)
		return;
	for (u32 i = addr / 4; i <= (addr + bytes - 1) / 4; i++)
		if (b->word_state[i] != (b->era << ERA | S_SLOTS))
			open_word(b, i);
}

/* Takes the word back from the slots, in a new era; not if copies are in flight, or several writes to parts
 * of the word are recorded. */
static bool
take_back(Cta *b, u32 i)
{
	const ShadowCell *slot = b->shadow + (size_t)i * SHARED_SLOTS;
	u64 w = 0;

	for (u32 k = 0; k < SHARED_SLOTS; k++) {
		u32 kind = slot[k].b & 7;
		if (slot[k].a >> 36 != b->lin + 1 || kind == A_NONE || kind == A_READ || kind == A_SREAD)
			continue;
		if (w || (kind != A_WRITE && kind != A_SWRITE))
			return false;
		w = slot[k].b;
	}
	b->word.w[i] = w;
	return true;
}

/* Handles the first access of an era. Returns false if the word stays with the slots. */
static inline bool
fresh(Cta *b, u32 i, u32 s)
{
	if (!s)
		b->word.w[i] = 0;
	return (s & 7) < S_PENDING || ((s & 7) == S_SLOTS && take_back(b, i));
}

static inline bool
word_read(Cta *b, u32 i, u64 rec)
{
	u32 s = b->word_state[i], now = b->era << ERA;
	u64 *r = &b->word.r[0][i];

	if (s == (now | S_READ2))
		return true;
	if (s == (now | S_READ) || s == (now | S_LANES)) {
		if (!same_warp(*r, rec)) {
			b->word.r[1][i] = rec;
			b->word_state[i] = now | S_READ2;
		} else if ((*r ^ rec) >> 17 & 0x7ffffff) {
			*r = rec;               /* later: anything ordered after this read is ordered after
			                         * the former */
			b->word_state[i] = now | S_READ;
		} else if (!same_thread(*r, rec) && s == (now | S_READ)) {
			b->word.r[1][i] = rec;
			b->word_state[i] = now | S_LANES;
		}
		return true;
	}
	if (s < now) {
		if (!fresh(b, i, s))
			return false;
		b->word_state[i] = now | S_READ;
		*r = rec;
		return true;
	}
	return s == (now | S_WRITTEN) && same_thread(b->word.w[i], rec);
}

static inline bool
word_write(Cta *b, u32 i, u64 rec)
{
	u32 s = b->word_state[i], now = b->era << ERA;

	if (s < now ? !fresh(b, i, s)
	    : s == (now | S_READ) ? !same_thread(b->word.r[0][i], rec)
	                          : s != (now | S_WRITTEN) || !same_thread(b->word.w[i], rec))
		return false;
	b->word_state[i] = now | S_WRITTEN;
	b->word.w[i] = rec;
	return true;
}

/* All n words or none: a copy split between the word states and the slots would conflict with itself. */
static inline bool
words_async(Cta *b, u32 i, u32 n, u64 rec)
{
	for (u32 k = i; k < i + n; k++)
		if (b->word_state[k] >= b->era << ERA || !fresh(b, k, b->word_state[k]))
			return false;
	for (u32 k = i; k < i + n; k++) {
		b->word_state[k] = b->era << ERA | S_PENDING;
		b->word.w[k] = rec;
	}
	return true;
}

static inline u64
record(const Warp *w, const Ins *in, u32 kind)
{
	return (u64)(in - w->cta->l->m->code) << 44 | (u64)(w->clock & 0x7ffffff) << 17 |
	       (u64)w->id << 12 | 15u << 3 | kind;
}

static inline bool
lane_words(Cta *b, u32 i, u32 n, u64 rec, u32 kind)
{
	u32 k = 0;

	if (kind == A_READ)
		while (k < n && word_read(b, i + k, rec))
			k++;
	else if (kind == A_WRITE)
		while (k < n && word_write(b, i + k, rec))
			k++;
	else
		return words_async(b, i, n, rec);
	return k == n;
}

bool
side_by_side(const u32 *addr, u32 step)
{
	u32 odd = 0;

	for (u32 l = 0; l < WARP; l++)
		odd |= addr[l] ^ (addr[0] + l * step);
	return !odd;
}

static bool
fits(const Cta *b, u32 bytes, u32 kind)
{
	return b->quick && bytes % 4 == 0 && (kind == A_READ || kind == A_WRITE || kind == A_ASYNC);
}

/* Handles words i to i + n - 1, 1 << shift of them contiguous per lane, if all are fresh, or all already read
 * by two warps. Returns false if each must be handled separately. */
static bool
row(Cta *b, u32 i, u32 n, u32 shift, u64 rec, u32 kind)
{
	u32 *restrict st = b->word_state + i, now = b->era << ERA, same = 0, old = 1;
	u64 *restrict to = (kind == A_READ ? b->word.r[0] : b->word.w) + i, *restrict w = b->word.w + i;
	u32 next = now | (kind == A_READ ? S_READ : kind == A_WRITE ? S_WRITTEN : S_PENDING);

	for (u32 k = 0; k < n; k++) {
		same |= st[k] ^ (now | S_READ2);
		old &= (st[k] < now) & ((st[k] & 7) < S_PENDING);
	}
	if (!same)
		return kind == A_READ;
	if (!old)
		return false;
	if (kind == A_READ)
		for (u32 k = 0; k < n; k++)
			w[k] = st[k] ? w[k] : 0;
	for (u32 k = 0; k < n; k++) {
		st[k] = next;
		to[k] = rec | (u64)(k >> shift) << 7;
	}
	return true;
}

u32
shadow_lanes(Warp *w, const Ins *in, u32 mask, const u32 *addr, u32 bytes, u32 kind)
{
	u64 rec = record(w, in, kind);
	u32 left = 0, last = ~0u, again = 0;
	int l;

	if (w->cta->wg && kind != A_READ && kind != A_SREAD)
		FOR_LANES(l, mask)
			wgmma_written(w, in, l, w->cta, addr[l], bytes);
	if (!fits(w->cta, bytes, kind))
		return mask;
	if (mask == ALL_LANES && side_by_side(addr, bytes) &&
	    row(w->cta, addr[0] / 4, 8 * bytes, bytes / 8, rec, kind))
		return 0;
	FOR_LANES(l, mask) {
		again = addr[l] == last ? again + 1 : 0;
		if (kind == A_READ && again > 1)        /* the same word for many lanes: two suffice */
			continue;
		if (lane_words(w->cta, addr[l] / 4, bytes / 4, rec | (u64)l << 7, kind))
			last = addr[l];
		else
			left |= 1u << l;
	}
	return left;
}

bool
shadow_lane(Warp *w, const Ins *in, u32 lane, u32 addr, u32 bytes, u32 kind)
{
	return fits(w->cta, bytes, kind) &&
	       lane_words(w->cta, addr / 4, bytes / 4, record(w, in, kind) | (u64)lane << 7, kind);
}

bool
shadow_done(Warp *w, u32 lane, u32 i, s32 pc)
{
	Cta *b = w->cta;
	u64 async = (u64)(u32)pc << 44 | (u64)w->id << 12 | (u64)lane << 7;
	u64 *rec = &b->word.w[i];

	if (!b->quick || (b->word_state[i] & 7) != S_PENDING)
		return false;
	if (*rec >> 44 == (u32)pc && same_thread(*rec, async)) {
		*rec = async | (u64)(w->clock & 0x7ffffff) << 17 | 15u << 3 | A_WRITE;
		b->word_state[i] = b->era << ERA | S_WRITTEN;
	}
	return true;
}
