/* pad_tiles_roundtrip.c - finds round trips through shared memory that only pad or shorten a tile, for pass
 * pad_tiles, and removes them.
 *
 * Code that splits a dim into groups stores a longer tile than it has, through a longer view, and loads a
 * shorter one back. If the shorter tile may be padded to the longer one, both are the same: the padding is
 * past the end of the other, which is never read.
 *
 * A round trip is a store to all of an alloc and a load of it in the same block; the alloc has no other
 * use. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pad_tiles.h"
#include <string.h>

/* Is mem all of an alloc, directly or through a longer view without other uses? Returns the alloc's value,
 * else NULL. */
static Val *
all_of(const uint32_t *uses, Val *mem)
{
	Op *view = mem->def;

	if (!view || mem->type.space != S_shared)
		return NULL;
	if (view->code == O_alloc)
		return mem;
	if (view->code != O_view || !view_is_longer(view) || uses[mem->id] != 1 ||
	    !view_source(view)->def || view_source(view)->def->code != O_alloc)
		return NULL;
	return view_source(view);
}

/* Returns the load that ends the round trip starting at this store; NULL: none. */
static Op *
end_of(const uint32_t *uses, const Op *store)
{
	Val *tile = store->code == O_store && store->nin == 2 && IMM(store, update) == 0 && pad_moved(store)
	                    ? all_of(uses, store_dest(store))
	                    : NULL;

	if (!tile || uses[tile->id] != 2)
		return NULL;
	for (Op *o = store->next; o; o = o->next)
		if (o->code == O_load && pad_moved(o) && all_of(uses, load_source(o)) == tile)
			return load_source(o) == store_dest(store) ? NULL : o;
	return NULL;
}

bool
pad_ends_detour(const Pad *p, const Op *load)
{
	const uint32_t *uses;

	if (load_source(load)->type.space != S_shared)
		return false;
	uses = kernel_uses(p->k);
	for (const Op *o = load->parent->first; o != load; o = o->next)
		if (end_of(uses, o) == load)
			return true;
	return false;
}

void
pad_tie_detours(const Pad *p)
{
	const uint32_t *uses = kernel_uses(p->k);
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body), *load; o; o = walk_next(&w))
		for (int d = 0; (load = end_of(uses, o)) != NULL && d < load->out[0]->type.rank; d++)
			if (load->out[0]->type.shape[d] == store_value(o)->type.shape[d])
				pad_tie_dim(p, load->out[0], d, store_value(o), d);
}

static bool
may_become(const DimClass *c, int64_t extent, int64_t now)
{
	return extent == now || (!c->fixed && (!c->extent || c->extent == extent));
}

/* If dims of v are padded to most[]: is the work per thread at most twice that of v evenly distributed?
 * Undetermined dims may become multiples of 8. */
static bool
shares_out(const Pad *p, const Val *v, const int64_t *most)
{
	int64_t size = 1, threads = (int64_t)p->k->warps * WARP_SIZE;

	for (int d = 0; d < v->type.rank; d++) {
		const DimClass *c = pad_class(p, v, d);
		bool open = !c->fixed && !c->extent && most[d] == v->type.shape[d] && most[d] >= 8;

		size *= open ? align_up(most[d], 8) : max64(c->extent, most[d]);
	}
	return size / gcd64(size, threads) * threads <= 2 * max64(type_size(&v->type), threads);
}

bool
pad_detours(const Pad *p)
{
	const uint32_t *uses = kernel_uses(p->k);
	bool grows = false;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body), *load; o; o = walk_next(&w)) {
		const Val *v[2] = { o->nin ? o->in[0] : NULL, NULL };
		int64_t most[DIM_MAX];
		bool may = true;

		if (!(load = end_of(uses, o)))
			continue;
		v[1] = load->out[0];
		for (int i = 0; i < 2 * v[0]->type.rank; i++) {
			int d = i / 2;

			most[d] = max64(v[0]->type.shape[d], v[1]->type.shape[d]);
			may = may && may_become(pad_class(p, v[i % 2], d), most[d], v[i % 2]->type.shape[d]);
		}
		may = may && shares_out(p, v[0], most) && shares_out(p, v[1], most);
		for (int i = 0; i < 2 * v[0]->type.rank && may; i++) {
			DimClass *c = pad_class(p, v[i % 2], i / 2);

			if (most[i / 2] == v[i % 2]->type.shape[i / 2])
				continue;
			c->extent = most[i / 2];
			grows = true;
		}
	}
	return grows;
}

static bool
drop_detour(Kernel *k, const uint32_t *uses)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body), *load; o; o = walk_next(&w)) {
		if (!(load = end_of(uses, o)) ||
		    memcmp(load->out[0]->type.shape, store_value(o)->type.shape,
		           (size_t)store_value(o)->type.rank * sizeof(int64_t)) != 0)
			continue;
		val_replace(k, load->out[0], store_value(o));
		op_unlink(load);
		op_unlink(o);
		return true;
	}
	return false;
}

void
pad_drop_detours(Kernel *k)
{
	const uint32_t *uses = kernel_uses(k);

	while (drop_detour(k, uses))
		;
}
