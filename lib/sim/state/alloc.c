/* alloc.c - allocates global memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/state/module.h"

Alloc *
mem_find(const sim *s, u64 addr)
{
	u32 lo = 0, hi = s->nalloc;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->alloc[mid]->base + s->alloc[mid]->size <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->nalloc && addr >= s->alloc[lo]->base && !s->alloc[lo]->freed)
		return s->alloc[lo];
	return NULL;
}

Alloc *
mem_new(sim *s, u64 bytes, const char *name)
{
	Alloc *al, **v;

	if (bytes > 1ull << 40)
		return NULL;
	if (s->nalloc == s->calloc_) {
		u32 n = s->calloc_ ? s->calloc_ * 2 : 16;
		v = realloc(s->alloc, n * sizeof *v);
		if (!v)
			return NULL;
		s->alloc = v;
		s->calloc_ = n;
	}
	al = calloc(1, sizeof *al);
	if (!al)
		return NULL;
	al->data = malloc(bytes + 64);
	al->init = calloc(1, bytes + 64);
	if (!al->data || !al->init) {
		free(al->data);
		free(al->init);
		free(al);
		return NULL;
	}
	memset(al->data, 0xA5, bytes + 64);
	al->base = s->next;
	al->size = bytes;
	s->next += (bytes + ALLOC_GUARD + 255) & ~255ull;
	snprintf(al->name, sizeof al->name, "%s", name ? name : "");
	s->alloc[s->nalloc++] = al;
	return al;
}

void
mem_drop(Alloc *al)
{
	free(al->data);
	free(al->init);
	al->data = al->init = NULL;
	al->freed = true;
}
