/* sim_mem.c - reads and writes global memory for the host. */
#include <string.h>
#include "lib/sim/state/module.h"

uint64_t
sim_alloc(sim *s, size_t bytes, const char *name)
{
	Alloc *al = mem_new(s, bytes, name);

	return al ? al->base : 0;
}

int
sim_free(sim *s, uint64_t ptr)
{
	if (!ptr)
		return SIM_OK;
	for (u32 i = 0; i < s->nalloc; i++)
		if (s->alloc[i]->base == ptr && !s->alloc[i]->freed) {
			mem_drop(s->alloc[i]);
			return SIM_OK;
		}
	return SIM_E_INVALID;
}

static Alloc *
range(const sim *s, u64 ptr, size_t bytes)
{
	Alloc *al = mem_find(s, ptr);

	return al && bytes <= al->size && ptr - al->base <= al->size - bytes ? al : NULL;
}

int
sim_write(sim *s, uint64_t ptr, const void *src, size_t bytes)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memcpy(al->data + (ptr - al->base), src, bytes);
	memset(al->init + (ptr - al->base), 1, bytes);
	return SIM_OK;
}

int
sim_read(sim *s, uint64_t ptr, void *dst, size_t bytes)
{
	const Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memcpy(dst, al->data + (ptr - al->base), bytes);
	return SIM_OK;
}

int
sim_fill(sim *s, uint64_t ptr, int byte, size_t bytes)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memset(al->data + (ptr - al->base), byte, bytes);
	memset(al->init + (ptr - al->base), 1, bytes);
	return SIM_OK;
}

int
sim_mark(sim *s, uint64_t ptr, size_t bytes, int initialised)
{
	Alloc *al = range(s, ptr, bytes);

	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	memset(al->init + (ptr - al->base), initialised != 0, bytes);
	al->full = al->full && initialised;
	return SIM_OK;
}

int
sim_uninitialised(sim *s, uint64_t ptr, size_t bytes, size_t *count)
{
	const Alloc *al = range(s, ptr, bytes);

	*count = 0;
	if (!bytes)
		return SIM_OK;
	if (!al)
		return SIM_E_INVALID;
	for (size_t i = 0; !al->full && i < bytes; i++)
		*count += !al->init[ptr - al->base + i];
	return SIM_OK;
}
