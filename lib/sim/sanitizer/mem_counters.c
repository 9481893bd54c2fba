/* mem_counters.c - counts memory traffic: sectors of global requests, bank wavefronts of shared ones. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/l2_model.h"

static LineCounters *
counter(Warp *w, const Ins *in)
{
	return &w->cta->k->n[in - w->cta->l->m->code];
}

static bool
grow_set(Cta *b)
{
	u32 n = b->csect ? b->csect * 2 : 1024;
	u64 *old = b->sect, *t = calloc(n, sizeof *t);

	if (!t)
		return false;
	for (u32 i = 0; i < b->csect; i++) {
		if (!old[i])
			continue;
		u32 h = (u32)((old[i] * 0x9e3779b97f4a7c15ull) >> 32) & (n - 1);
		while (t[h])
			h = (h + 1) & (n - 1);
		t[h] = old[i];
	}
	free(old);
	b->sect = t;
	b->csect = n;
	return true;
}

/* Records that the block accessed a sector; the first time also for the grid. */
static void
touch(Cta *b, const Alloc *al, u64 sector, bool write)
{
	u64 key = sector << 1 | write, i;
	u32 h;
	u8 bit;

	if (b->nsect * 2 >= b->csect && !grow_set(b)) {
		b->k->nomem = true;
		return;
	}
	h = (u32)((key * 0x9e3779b97f4a7c15ull) >> 32) & (b->csect - 1);
	for (; b->sect[h]; h = (h + 1) & (b->csect - 1))
		if (b->sect[h] == key)
			return;
	b->sect[h] = key;
	b->nsect++;
	b->sect_n[write]++;
	if (!al->sect[write])
		return;
	i = sector - al->base / 32;
	bit = (u8)(1u << (i & 7));
	if (!(__atomic_load_n(&al->sect[write][i / 8], __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&al->sect[write][i / 8], bit, __ATOMIC_RELAXED);
}

/* Adds one more sector of a request to the L2 trace; `first` of it. */
static void
ask(Cta *b, u64 sector, bool write, bool first)
{
	if (b->l2 && !l2_note(b->l2, sector, write, first))
		b->k->nomem = true;
}

/* Do all lanes access equally many contiguous bytes of one buffer? */
static bool
in_row(const MemAccess *acc, const u8 *bytes)
{
	u64 odd = !bytes[0] || (acc[0].space != SIM_SPACE_GLOBAL && acc[0].space != SIM_SPACE_CONST);

	for (u32 l = 1; l < WARP; l++)
		odd |= (acc[l].addr ^ (acc[0].addr + (u64)l * bytes[0])) | (u64)(bytes[l] ^ bytes[0]) |
		       (u64)(acc[l].space != acc[0].space) | (u64)(acc[l].al != acc[0].al);
	return !odd;
}

/* Counts the different sectors of a request. bytes[l] is the size of lane l's access (0: none). */
void
count_sectors(Warp *w, const Ins *in, const MemAccess *acc, u32 mask, const u8 *bytes, bool wr)
{
	LineCounters *c = counter(w, in);
	u64 seen[2 * WARP + 2];
	u32 n = 0;
	u64 total = 0;
	int l;

	if (mask == ALL_LANES && in_row(acc, bytes)) {
		u64 s = acc[0].addr / 32, e = (acc[0].addr + 32ull * bytes[0] - 1) / 32;
		n = (u32)(e - s + 1);
		total = 32u * bytes[0];
		for (u64 i = s; i <= e; i++) {
			touch(w->cta, acc[0].al, i, wr);
			ask(w->cta, i, wr, i == s);
		}
		mask = 0;
	}
	FOR_LANES(l, mask) {
		u64 s, e;
		if (acc[l].space != SIM_SPACE_GLOBAL && acc[l].space != SIM_SPACE_CONST)
			continue;
		if (!bytes[l])
			continue;
		total += bytes[l];
		e = (acc[l].addr + bytes[l] - 1) / 32;
		for (s = acc[l].addr / 32; s <= e; s++) {
			u32 i = n;
			while (i > 0 && seen[i - 1] != s)
				i--;
			if (i)
				continue;
			ask(w->cta, s, wr, n == 0);
			seen[n++] = s;
			touch(w->cta, acc[l].al, s, wr);
		}
	}
	if (wr) {
		c->swr += n;
		c->bwr += total;
	} else {
		c->srd += n;
		c->brd += total;
	}
}

static int
by_sector(const void *x, const void *y)
{
	const u64 *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Counts one bulk copy: the different sectors of all its runs. Runs are usually in ascending order. */
void
count_runs(Warp *w, const Ins *in, const ByteRange *run, u32 n, bool wr)
{
	LineCounters *c = counter(w, in);
	u64 total = 0, room = 0, *s, ns = 0, different = 0;
	bool sorted = true;

	for (u32 i = 0; i < n; i++)
		room += run[i].n / 32 + 2;
	s = malloc(room * sizeof *s + 1);
	if (!s) {
		w->cta->k->nomem = true;
		return;
	}
	for (u32 i = 0; i < n; i++) {
		total += run[i].n;
		for (u64 k = run[i].addr / 32; k <= (run[i].addr + run[i].n - 1) / 32; k++) {
			touch(w->cta, run[i].al, k, wr);
			if (ns && s[ns - 1] == k)
				continue;
			sorted &= !ns || s[ns - 1] < k;
			s[ns++] = k;
		}
	}
	if (!sorted)
		qsort(s, ns, sizeof *s, by_sector);
	for (u64 i = 0; i < ns; i++) {
		if (i && s[i] == s[i - 1])
			continue;
		ask(w->cta, s[i], wr, i == 0);
		different++;
	}
	free(s);
	*(wr ? &c->swr : &c->srd) += different;
	*(wr ? &c->bwr : &c->brd) += total;
}

/* Wavefronts of one phase: lanes from..to-1, `words` words each. Each bank has a chain of its different
 * words; the longest chain is the result. */
static u32
phase(const u32 *addr, u32 mask, u32 from, u32 to, u32 words)
{
	u32 word[WARP * 4], n = 0, most = 1;
	u8 head[32], depth[32], next[WARP * 4];

	memset(head, 255, sizeof head);
	memset(depth, 0, sizeof depth);
	for (u32 l = from; l < to; l++) {
		if (!(mask >> l & 1))
			continue;
		for (u32 k = 0; k < words; k++) {
			u32 x = addr[l] / 4 + k, bank = x & 31, i = head[bank];
			while (i != 255 && word[i] != x)
				i = next[i];
			if (i != 255)
				continue;
			word[n] = x;
			next[n] = head[bank];
			head[bank] = (u8)n++;
			if (++depth[bank] > most)
				most = depth[bank];
		}
	}
	return most;
}

void
count_banks(Warp *w, const Ins *in, const u32 *addr, u32 mask, u32 bytes)
{
	LineCounters *c = counter(w, in);
	u32 words = bytes <= 4 ? 1 : bytes / 4, lanes = words >= 4 ? 8 : 32 / words;

	if (!mask)
		return;
	c->sreq++;
	if (mask == ALL_LANES && bytes >= 4 && bytes <= 16 &&
	    (side_by_side(addr, bytes) || side_by_side(addr, 0))) {
		c->wave += words;       /* no phase has a conflict */
		c->wmin += words;
		return;
	}
	for (u32 f = 0; f < WARP; f += lanes) {
		u32 part = mask >> f & (lanes == 32 ? ALL_LANES : (1u << lanes) - 1);
		if (!part)
			continue;
		for (u32 k = 0; k < words; k += 4) {    /* 32-byte accesses take two passes */
			u32 shifted[WARP];
			for (u32 l = f; l < f + lanes; l++)
				shifted[l] = mask >> l & 1 ? addr[l] + 4 * k : 0;
			c->wave += phase(shifted, mask, f, f + lanes, words < 4 ? words : 4);
			c->wmin++;
		}
	}
}

void
count_matrix(Warp *w, const Ins *in, const u32 *rows, u32 nmat)
{
	LineCounters *c = counter(w, in);

	c->sreq++;
	for (u32 i = 0; i < nmat; i++) {
		c->wave += phase(rows + 8 * i, 0xff, 0, 8, 4);
		c->wmin++;
	}
}

/* A load, store or atomic: lanes may be in different spaces when the address is generic. */
void
count_access(Warp *w, const Ins *in, const MemAccess *acc, u32 mask, u32 bytes, bool rd, bool wr)
{
	u32 shared = 0, global = 0, addr[WARP] = { 0 };
	u8 n[WARP];
	int l;

	FOR_LANES(l, mask) {
		if (acc[l].space == SIM_SPACE_SHARED) {
			shared |= 1u << l;
			addr[l] = (u32)acc[l].addr;
		} else if (acc[l].al) {
			global |= 1u << l;
			n[l] = (u8)bytes;
		}
	}
	count_banks(w, in, addr, shared, bytes);
	if (!global)
		return;
	counter(w, in)->req++;
	if (rd)
		count_sectors(w, in, acc, global, n, false);
	if (wr)
		count_sectors(w, in, acc, global, n, true);
}
