/* target.c - defines the table of targets, and computes occupancy (blocks per SM). */
#include "hexc/ir/ir.h"
#include <string.h>

const Target targets[] = {
#define TARGET(name, ...) { #name, __VA_ARGS__ },
#include "hexc/ir/targets.def"
	{ .name = NULL },
};

const Target *
target_find(const char *name)
{
	for (const Target *t = targets; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

const char *
targets_with(Arena *a, unsigned features)
{
	const char *list = "", *last = NULL;
	int n = 0;

	for (const Target *t = targets; t->name; t++) {
		if ((t->features & features) != features)
			continue;
		if (last)
			list = arena_printf(a, "%s%s%s", list, n++ ? ", " : "", last);
		last = t->name;
	}
	return n ? arena_printf(a, "%s and %s", list, last) : last;
}

int
occupancy(const Target *t, int warps, int64_t registers, int64_t shared)
{
	int64_t per_warp = (registers * WARP_SIZE + t->grain - 1) / t->grain * t->grain;
	int64_t bytes = shared + t->system, n = t->blocks;

	if (t->warps / warps < n)
		n = t->warps / warps;
	if (per_warp && t->regs / (per_warp * warps) < n)
		n = t->regs / (per_warp * warps);
	if (bytes && t->smem_sm / bytes < n)
		n = t->smem_sm / bytes;
	return n < 1 ? 1 : (int)n;
}
