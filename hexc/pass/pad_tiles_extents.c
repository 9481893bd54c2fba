/* pad_tiles_extents.c - determines the padded extents of tiles for pass pad_tiles, by estimated cost per
 * lane. */
#include "hexc/ir/sparse.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/pad_tiles.h"
#include <string.h>

/* Cost per lane of a tile with these extents; an access covers up to `most` elements along dim `unit`. */
static int64_t
lane_cost(const Kernel *k, const int64_t *shape, int rank, int unit, int64_t most)
{
	int64_t size = 1, threads = (int64_t)k->warps * WARP_SIZE, vec = 1, lane;

	for (int d = 0; d < rank; d++)
		size *= shape[d];
	while (unit >= 0 && vec < most && shape[unit] % (2 * vec) == 0 && size % (2 * vec * threads) == 0)
		vec *= 2;
	lane = size / gcd64(size, threads);
	return size > TILE_MOST ? INT64_MAX : ELEMENT_COST * lane + ACCESS_COST * (lane / vec);
}

/* Search over the extents of a tile. */
typedef struct Shapes {
	const Val *tile;
	int unit; /* dim that is contiguous in memory; -1: none */
	int64_t most; /* elements of its widest access */
	int64_t by[64]; /* candidates: extents are padded to multiples of these */
	int nby;
	int64_t shape[DIM_MAX]; /* the current candidate */
	int64_t best[DIM_MAX], cost; /* the cheapest so far, and its cost */
} Shapes;

static void try_dims(const Pad *p, Shapes *x, int d);

static void
try_extent(const Pad *p, Shapes *x, int d, int64_t extent)
{
	x->shape[d] = extent;
	try_dims(p, x, d + 1);
}

/* Do the elements alone cost at least as much as the best so far? */
static bool
is_hopeless(const Pad *p, const Shapes *x, int d)
{
	int64_t size = 1;

	for (int i = 0; i < x->tile->type.rank; i++)
		size *= i < d ? x->shape[i] : x->tile->type.shape[i];
	return ELEMENT_COST * (size / ((int64_t)p->k->warps * WARP_SIZE)) >= x->cost;
}

/* Tries all extents of the dims from d on. */
static void
try_dims(const Pad *p, Shapes *x, int d)
{
	const Type *t = &x->tile->type;
	const DimClass *c = d < t->rank ? pad_class(p, x->tile, d) : NULL;
	int64_t cost;

	if (is_hopeless(p, x, d))
		return;

	if (c) {
		for (int e = 0; e < d; e++)
			if (pad_class(p, x->tile, e) == c) {
				try_extent(p, x, d, x->shape[e]);
				return;
			}
		try_extent(p, x, d, c->extent ? c->extent : t->shape[d]);
		for (int i = 0; i < x->nby && !c->fixed && !c->extent; i++)
			if (t->shape[d] % x->by[i])
				try_extent(p, x, d, align_up(t->shape[d], x->by[i]));
		return;
	}
	cost = lane_cost(p->k, x->shape, t->rank, x->unit, x->most);
	if (cost >= x->cost)
		return;
	x->cost = cost;
	memcpy(x->best, x->shape, sizeof x->best);
}

int64_t
pad_widest(Kernel *k, const Val *mem, const Val *tile, int unit)
{
	const Op *view = pad_tensor_view(k, mem);
	const Param *t = view ? val_param(k, view_source(view)) : NULL;
	int64_t most = dtype_most(tile->type.dtype), mult[DIM_MAX + 2];
	int n = 0;

	if (unit < 0)
		return 1;
	if (!view || !pad_ends_there(k, view, unit))
		mult[n++] = mem->def ? view_within(mem->def, unit) : tile->type.shape[unit];
	for (int d = 0; view && d < view_source(view)->type.rank; d++) {
		bool along = d == view_operand_dim(view, unit);
		Fact f = val_fact(k, along ? view_start(view, d) : t->stride[d]);

		if (f.mult && (along || f.lo == f.hi))
			mult[n++] = f.mult;
	}
	for (int i = 0; i < n; i++)
		most = min64(most, pow2_part(mult[i]));
	return most;
}

static void
shapes_of(const Pad *p, Shapes *x, const Val *tile, const Val *mem)
{
	const Op *view = pad_tensor_view(p->k, mem);
	int64_t all;

	*x = (Shapes){ .tile = tile, .cost = INT64_MAX };
	x->unit = view ? view_unit_dim(p->k, view) : mem->type.rank - 1;
	x->most = pad_widest(p->k, mem, tile, x->unit);
	memcpy(x->best, tile->type.shape, sizeof x->best);
	all = p->k->warps * WARP_SIZE * x->most;
	for (int64_t by = 2; by <= all && x->nby < (int)COUNT_OF(x->by); by++)
		if (all % by == 0)
			x->by[x->nby++] = by;
	try_dims(p, x, 0);
}

/* Returns the largest tile with undetermined dims; among several, that with the narrowest elements. */
static const Val *
next_tile(const Pad *p, const Val **mem)
{
	const Val *best = NULL;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w)) {
		const Val *tile = pad_moved(o);
		bool open = false;

		for (int d = 0; tile && d < tile->type.rank; d++)
			open |= !pad_class(p, tile, d)->fixed && !pad_class(p, tile, d)->extent;
		if (!open || (best && (type_size(&tile->type) < type_size(&best->type) ||
		                       (type_size(&tile->type) == type_size(&best->type) &&
		                        dtype_most(tile->type.dtype) <= dtype_most(best->type.dtype)))))
			continue;
		best = tile;
		*mem = o->in[pad_memory_at(o)];
	}
	return best;
}

/* The dims m, n and k of a dot, and their padded extents. */
typedef struct DotExtents {
	DimClass *of[3];
	int64_t extent[3], to[3];
	int64_t area; /* elements of m x n per warp after padding */
} DotExtents;

/* Is padding dim i to that extent compatible with decisions so far? */
static bool
may_be(const DotExtents *x, int i)
{
	const DimClass *c = x->of[i];

	return x->to[i] == x->extent[i] ? !c->extent || c->extent == x->to[i]
	                                : !c->fixed && (!c->extent || c->extent == x->to[i]);
}

/* Elements of m x n per warp in units of um x un, distributed over as many warps as possible. */
static int64_t
warp_area(int64_t m, int64_t n, int64_t um, int64_t un, int warps)
{
	int64_t least = m * n;

	for (int wm = 1; wm <= warps; wm++)
		for (int wn = 1; wm * wn <= warps; wn++)
			if (warps % (wm * wn) == 0 && m / um % wm == 0 && n / un % wn == 0)
				least = min64(least, m * n / (wm * wn));
	return least;
}

/* Pads m and n for wm x wn warps with units of um x un; kept if a warp, or the tile, then has fewer
 * elements. */
static void
try_warps(const Pad *p, DotExtents *x, int64_t um, int64_t un, int wm, int wn)
{
	int64_t m = align_up(x->extent[0], um * wm), n = align_up(x->extent[1], un * wn);
	int64_t area = warp_area(m, n, um, un, p->k->warps);
	DotExtents now = *x;

	now.to[0] = m;
	now.to[1] = n;
	if (!may_be(&now, 0) || !may_be(&now, 1) || area > x->area ||
	    (area == x->area && m * n >= x->to[0] * x->to[1]))
		return;
	*x = now;
	x->area = area;
}

/* MMAs take 16 rows and 8 columns, or vice versa. Pads to the smallest such extents. With many accumulators
 * per lane, pads for an even distribution over warps instead, if that leaves a warp at most two thirds. */
static void
for_cores(const Pad *p, DotExtents *x)
{
	enum { MANY = 32 * WARP_SIZE };
	int64_t m = x->extent[0], n = x->extent[1], warps = p->k->warps;
	bool tall = align_up(m, 16) * align_up(n, 8) <= align_up(m, 8) * align_up(n, 16);
	int64_t um = tall ? 16 : 8, un = tall ? 8 : 16;
	DotExtents more = *x;

	x->to[0] = align_up(m, um);
	x->to[1] = align_up(n, un);
	x->area = warp_area(x->to[0], x->to[1], um, un, p->k->warps);
	more.area = x->area;
	for (int i = 0; i < 2; i++)
		for (int wm = 1; wm <= warps; wm++)
			for (int wn = 1; wm * wn <= warps; wn++)
				if (warps % (wm * wn) == 0)
					try_warps(p, &more, i ? 8 : 16, i ? 16 : 8, wm, wn);
	if (x->area > MANY && 3 * more.area <= 2 * x->area)
		*x = more;
}

/* MMAs take 32 bytes along k, of some types 16. FMA lowerings distribute 8 x 8, and powers of two
 * unpadded. */
static DotExtents
product_of(const Pad *p, const Op *o)
{
	const Type *a = &mma_a(o)->type, *y = &o->out[0]->type;
	int bits = dtype_info[a->dtype].bits, b = dot_batch(o);
	bool cores = bits < 32 || a->dtype == D_tf32;
	int64_t m = y->shape[b], n = y->shape[b + 1], k = a->shape[b + 1];
	DotExtents x = { { pad_class(p, o->out[0], b), pad_class(p, o->out[0], b + 1),
		        pad_class(p, mma_a(o), b + 1) },
		      { m, n, k },
		      { align_up(m, 8), align_up(n, 8), k }, 0 };

	for (int i = 0; i < 2 && !cores; i++)
		if (is_pow2(x.extent[i]))
			x.to[i] = x.extent[i];
	if (cores)
		for_cores(p, &x);
	if (cores && k * bits % 128) /* element widths that are no power of two are computed as f16 */
		x.to[2] = align_up(k, is_pow2(bits) ? 256 / bits : 16);
	return x;
}

/* Dots decide first: they are padded to the instruction shape, in all dims or none. */
static bool
choose_product(const Pad *p, const Op *o)
{
	DotExtents x = product_of(p, o);
	bool grows = false, may = may_be(&x, 0) && may_be(&x, 1) && may_be(&x, 2);

	for (int i = 0; i < 3; i++) {
		DimClass *c = x.of[i];

		c->extent = c->extent ? c->extent : may ? x.to[i] : x.extent[i];
		grows |= c->extent != x.extent[i];
	}
	return grows;
}

bool
pad_choose(const Pad *p)
{
	const Val *mem;
	bool grows = false;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w))
		if (o->code == O_dot && !dot_is_sparse(o))
			grows |= choose_product(p, o);
	grows |= pad_detours(p);
	for (const Val *tile; (tile = next_tile(p, &mem));) {
		Shapes x;

		shapes_of(p, &x, tile, mem);
		for (int d = 0; d < tile->type.rank; d++) {
			pad_class(p, tile, d)->extent = x.best[d];
			grows |= x.best[d] != tile->type.shape[d];
		}
	}
	return grows;
}
