/* pad_copy.c - pass pad: copies of tiles whose accesses do not share out evenly are of longer ones.
 *
 * 64 rows of 144 bytes are 576 pieces of 16 bytes, 4.5 times as many as 128 threads: of 64 rows of 160 each
 * makes five, and half of them none of the last, which is behind the end of the view. */
#include "hexc/pass/pad.h"
#include <string.h>

enum { SECTOR = 32 }; /* bytes */

Op *
pad_view_of_all(Op *o, Val *mem)
{
	Val *in[1 + DIM_MAX] = { mem };
	Type t = type_free(mem->type);

	for (int d = 0; d < mem->type.rank; d++)
		in[1 + d] = ir_const(o->parent, o, 0);
	return op_new(o->parent, o, O_view, o->src, 1 + mem->type.rank, in, 1, &t);
}

/* What a copy of these extents costs a lane, by accesses of vec along dim `unit`: rows of which neighbouring
 * lanes take less than a sector have sectors asked for several times. */
static int64_t
copy_cost(const Kernel *k, const Type *t, const int64_t *shape, int unit, int64_t vec)
{
	int64_t size = 1, run, row, asked = 1;

	for (int d = 0; d < t->rank; d++)
		size *= shape[d];
	if (size > TILE_MOST)
		return INT64_MAX;
	run = gcd64(shape[unit] / vec, WARP_SIZE) * vec * dtype_grain(t->dtype) / 8;
	row = t->shape[unit] * dtype_grain(t->dtype) / 8;
	if (run < SECTOR)
		asked = min64(row, SECTOR) / run;
	size /= vec;
	return size / gcd64(size, (int64_t)k->warps * WARP_SIZE) * (ACCESS_COST + asked);
}

/* Extents of a copy's dims from d on, the cheapest in best[]. */
static void
copy_shapes(const Kernel *k, const Type *t, int unit, int64_t vec, int d, int64_t *shape, int64_t *best,
            int64_t *least)
{
	int64_t cost, step = d == unit ? vec : 1;

	if (d < t->rank) {
		for (int64_t by = 1; by <= (int64_t)k->warps * WARP_SIZE; by *= 2) {
			shape[d] = align_up(t->shape[d], by * step);
			if (by == 1 || shape[d] < 2 * t->shape[d])
				copy_shapes(k, t, unit, vec, d + 1, shape, best, least);
		}
		return;
	}
	cost = copy_cost(k, t, shape, unit, vec);
	if (cost >= *least)
		return;
	*least = cost;
	memcpy(best, shape, (size_t)t->rank * sizeof *best);
}

/* Is a copy made by threads, of whole bytes, each of its elements where it is in the tensor? */
static bool
is_shared_out(Kernel *k, const Op *o)
{
	const Op *view = o->code == O_copy ? pad_tensor_view(k, o->in[0]) : NULL;

	return view && IMM(o, async) <= COPY_GROUP && o->in[1]->type.space == S_shared &&
	       o->in[1]->type.rank && !pad_is_fixed(k, o->in[0]) && view_unit_dim(k, view) >= 0;
}

bool
pad_copy(Kernel *k, Op *o)
{
	const Type *t = &o->in[1]->type;
	int64_t shape[DIM_MAX], best[DIM_MAX], least = INT64_MAX, vec;
	int unit;

	if (!is_shared_out(k, o))
		return false;
	unit = view_unit_dim(k, o->in[0]->def);
	vec = min64(pad_widest(k, o->in[0], o->in[1], unit), pow2_part(t->shape[unit]));
	if (vec * dtype_grain(t->dtype) < 8)
		return false;
	copy_shapes(k, t, unit, vec, 0, shape, best, &least);
	if (memcmp(best, t->shape, (size_t)t->rank * sizeof *best) == 0)
		return false;
	for (int i = 0; i < 2; i++) {
		Op *longer = pad_view_of_all(o, o->in[i]);

		memcpy(longer->out[0]->type.shape, best, (size_t)t->rank * sizeof *best);
		o->in[i] = longer->out[0];
	}
	return true;
}
