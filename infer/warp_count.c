/* warp_count.c - chooses which numbers of warps per block the search tries if the program leaves the number
 * unspecified.
 *
 * The default of four warps suits most kernels, and programs with dots specify the number.  Long rows need
 * more: a thread's elements of the row take registers, fewer blocks fit on an SM, and each warp has much
 * work.  If four warps would own more than LANE_ELEMENTS elements of a tile per thread, 2 to 4 times as many
 * are tried: those that distribute the row in 16-byte accesses with the least padding (pass pad_tiles), if
 * that padding is small.  A large loop-carried tile has the same effect, however short the rows that the
 * kernel reads.
 *
 * Warps that reduce a short row together wait for each other.  So fewer warps are tried too, if they would
 * not own many elements per thread, neither of a row nor of a loop-carried tile.
 *
 * If every solution with four warps spills, twice as many are tried, also for kernels with dots. */
#include "infer/core/cost_constants.h"
#include "infer/infer.h"

/* Padding is small up to 1 / PADDED_PART of a row. */
enum { PADDED_PART = 16 };

/* A tile loaded or stored: its elements, and those of a warp's widest access. */
typedef struct TileWidth {
	int64_t size, access;
} TileWidth;

/* Is something specified for the kernel's current number of warps: packs or pinned layouts? */
static bool
is_settled(const Kernel *k)
{
	OpWalk w;

	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].pack)
			return true;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_pin)
			return true;
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.pinned)
				return true;
	}
	return false;
}

static bool
has_products(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot)
			return true;
	return false;
}

/* Returns the longest row; of equally long ones that with the widest accesses. */
static TileWidth
longest_row(const Kernel *k)
{
	TileWidth r = { 0, 1 };
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *v = o->code == O_load ? o->out[0] : o->code == O_store ? store_value(o) : NULL;
		int64_t access;

		if (!v || v->type.space != S_reg || v->type.rank == 0)
			continue;
		access = (int64_t)dtype_most(v->type.dtype) * WARP_SIZE;
		if (type_size(&v->type) > r.size)
			r = (TileWidth){ type_size(&v->type), access };
		else if (type_size(&v->type) == r.size && access > r.access)
			r.access = access;
	}
	return r;
}

/* Elements of the largest loop-carried tile, which is always in registers. */
static int64_t
largest_carried(const Kernel *k)
{
	int64_t most = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Block *b = o->code == O_for ? o->blk[0] : NULL;

		for (int i = 0; b && i < b->narg; i++)
			if (b->arg[i]->type.space == S_reg && type_size(&b->arg[i]->type) > most)
				most = type_size(&b->arg[i]->type);
	}
	return most;
}

/* Returns the number of warps, from `from` to less than twice as many, that pads the row the least; 0: none
 * has small padding. */
static int
best_sharers(const TileWidth *r, int from)
{
	int64_t least = r->size / PADDED_PART + 1;
	int best = 0;

	for (int w = from; w < 2 * from && w <= ROW_WARPS; w++) {
		int64_t padding = align_up(r->size, w * r->access) - r->size;

		if (padding < least) {
			least = padding;
			best = w;
		}
	}
	return best;
}

/* Do lanes combine parts of a row, in a reduction or scan? */
static bool
lanes_meet(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (op_is(o, F_REDUCE) || o->code == O_shift)
			return true;
	return false;
}

int
warps_tried(const Kernel *k, const int **out)
{
	int *warps = NEWN(k->unit->arena, int, WARPS_TRIED);
	int64_t held = (int64_t)LANE_ELEMENTS * WARP_SIZE;
	int n = 0;
	int64_t kept;
	TileWidth r;

	*out = warps;
	warps[n++] = k->warps;
	if (!k->open_warps || is_settled(k) || has_products(k))
		return n;
	r = longest_row(k);
	if (r.size <= held * k->warps) {
		kept = largest_carried(k);
		for (int w = 2 * k->warps; w <= ROW_WARPS && n < WARPS_TRIED && 2 * kept > held * w; w *= 2)
			warps[n++] = w;
		for (int w = k->warps / 2; w > 0 && n < WARPS_TRIED && lanes_meet(k); w /= 2)
			if (r.size <= held * w && kept <= held * w)
				warps[n++] = w;
		return n;
	}
	for (int w = 0; n < WARPS_TRIED && (w = best_sharers(&r, 2 * warps[n - 1])) != 0;)
		warps[n++] = w;
	return n;
}

bool
warps_may_grow(const Kernel *k)
{
	return k->open_warps && !is_settled(k);
}

int
warps_more(const Kernel *k, int warps, int64_t need)
{
	return 2 * warps <= ROW_WARPS && need * warps * WARP_SIZE <= k->unit->target->regs ? 2 * warps : 0;
}
