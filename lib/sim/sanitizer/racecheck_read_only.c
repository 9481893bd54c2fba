/* racecheck_read_only.c - checks global memory that is only read (inputs) for races, 16 bytes at a time.
 *
 * While a page is only read, each granule of 16 aligned bytes records two readers of different warps, or
 * copies in flight, as ShadowCells: a write would race with one of them. The first other access of the page
 * copies them to the words' slots of racecheck.c, where they stay until the launch ends. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/sanitizer/shadow_cell.h"

enum { GRANULES = PAGE_WORDS / 4 };

/* Same block and warp, at any time and clock. */
static bool
same_warp(const ShadowCell *s, u64 a, u64 b)
{
	return s->a >> 36 == a >> 36 && !((s->b ^ b) >> 12 & 31);
}

static void
remember(ShadowCell *s, u64 a, u64 b)
{
	for (u32 i = 0; i < 2; i++)
		if (!s[i].b || (same_warp(&s[i], a, b) && s_kind(&s[i]) == (b & 7))) {
			s[i].a = a;
			s[i].b = b;
			return;
		}
	/* a third: only if one of the two is older in launch time, and may be ordered before a write */
	for (u32 i = 0; i < 2; i++)
		if ((u32)(s[i].a ^ a) && s_kind(&s[i]) != A_AREAD) {
			s[i].a = a;
			s[i].b = b;
			return;
		}
}

bool
granule_read(Alloc *al, u64 page, u64 off, u32 bytes, u64 a, u64 b)
{
	ShadowCell *s = al->granule[page];

	if ((off | bytes) & 15 || al->page[page])
		return false;
	if (!s)
		s = al->granule[page] = calloc((size_t)GRANULES * 2, sizeof *s);
	if (!s)
		return false;
	for (s += off / 16 % GRANULES * 2; bytes; bytes -= 16, s += 2)
		remember(s, a, b | 15u << 3);
	return true;
}

void
granule_copied(Alloc *al, u64 page, u64 off, u32 bytes, u32 block, u32 thread, u32 pc)
{
	ShadowCell *s = al->granule[page];

	if (!s)
		return;
	for (u64 i = off / 16; i < (off + bytes + 15) / 16; i++)
		for (u32 k = 0; k < 2; k++) {
			ShadowCell *c = &s[i % GRANULES * 2 + k];
			if (s_kind(c) == A_AREAD && s_block(c) == block && s_thread(c) == thread &&
			    s_pc(c) == pc)
				*c = (ShadowCell){ 0, 0 };
		}
}

void
granule_spread(Alloc *al, u64 page)
{
	ShadowCell *from = al->granule[page], *to = al->page[page];

	if (!from)
		return;
	for (u32 i = 0; to && i < PAGE_WORDS; i++)
		for (u32 k = 0; k < 2; k++)
			to[i * GLOBAL_SLOTS + k] = from[i / 4 * 2 + k];
	free(from);
	al->granule[page] = NULL;
}

void
granule_forget(Alloc *al, u64 off, u64 bytes)
{
	for (u64 i = off / 16; al->granule && i < (off + bytes + 15) / 16; i++) {
		ShadowCell *s = al->granule[i / GRANULES];
		if (s)
			memset(s + i % GRANULES * 2, 0, 2 * sizeof *s);
	}
}
