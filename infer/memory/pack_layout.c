/* pack_layout.c - converts between the register layout of a packed tensor's tile and the pack, which is its
 * memory layout.
 *
 * A layout of the element tile is split at the blocks of the pack.  Within a block, its modes are
 * registers and lanes: lanes are the pack's streams, registers the elements of a stream; this determines
 * the layout of every element in the block.  Whole blocks are distributed over the remaining registers,
 * lanes and warps.  The layout of the 32-bit words follows: a lane owns the words of its streams, one run of
 * contiguous words after another (pack_run). */
#include "infer/memory/pack_layout.h"

/* Is the mode inside a block, whose dims are at[0] and at[1] of the layout? */
static bool
inside(const Digit *g, const int at[2], const int64_t block[2])
{
	return g->weight < (g->dim == at[0] ? block[0] : g->dim == at[1] ? block[1]
	                                                                 : 1);
}

/* ---- layout to pack ---------------------------------------------------------------------------------- */

static bool
block_is_shared_well(const Layout *l, const int at[2], const Pack *p, int64_t *each)
{
	*each = 1;
	for (Digit g = layout_digits(l); g.it; digit_next(&g)) {
		if (!inside(&g, at, p->block) || g.it->extent == 1)
			continue;
		if (g.it->axis == AX_reg && g.it->stride)
			*each *= g.it->extent;
		else if (g.it->axis != AX_lane)
			return false;
	}
	return *each * dtype_info[p->dtype].bits % 32 == 0;
}

/* Numbers the registers of a block below `each`, those along the dim of the first register first. */
static void
number_inside(Layout *l, const int at[2], const int64_t block[2])
{
	int first = at[1];
	int64_t next = 1;

	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		if (inside(&g, at, block) && g.it->axis == AX_reg && g.it->stride == 1 && g.it->extent > 1)
			first = g.dim;
	for (int pass = 0; pass < 2; pass++)
		for (Digit g = layout_digits(l); g.it; digit_next(&g)) {
			if (!inside(&g, at, block) || g.it->axis != AX_reg || (g.dim == first) != (pass == 0))
				continue;
			if (g.it->extent > 1)
				l->it[g.at].stride = next;
			next *= g.it->extent;
		}
}

/* Numbers the other registers, keeping their order. */
static void
number_outside(Layout *l, const int at[2], const int64_t block[2], int64_t next)
{
	bool in[ITER_MAX];
	int order[ITER_MAX], n = layout_by_stride(l, AX_reg, order);

	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		in[g.at] = inside(&g, at, block);
	for (int i = 0; i < n; i++) {
		Iter *it = &l->it[order[i]];

		if (in[order[i]])
			continue;
		it->stride = next;
		next *= it->extent;
	}
}

bool
pack_arrange(Layout *l, const int at[2], const Pack *p)
{
	int64_t each;

	for (int i = 0; i < 2; i++)
		if (layout_extent(l, at[i]) > p->block[i] && !layout_split(l, at[i], p->block[i]))
			return false;
	if (l->offset[AX_reg] || !block_is_shared_well(l, at, p, &each))
		return false;
	number_inside(l, at, p->block);
	number_outside(l, at, p->block, each);
	return true;
}

/* Returns the number of lanes of modes inside the block with strides below `stride`. */
static int64_t
lanes_below(const Layout *l, const int at[2], const int64_t block[2], int64_t stride)
{
	int64_t lanes = 1;

	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		if (inside(&g, at, block) && g.it->axis == AX_lane && g.it->stride < stride)
			lanes *= g.it->extent;
	return lanes;
}

void
pack_read(Solve *s, Layout *l, const int at[2], Pack *p)
{
	Layout *layout = NEW(s->arena, Layout);
	int64_t each;

	block_is_shared_well(l, at, p, &each);
	layout_init(layout, 2);
	for (Digit g = layout_digits(l); g.it; digit_next(&g))
		if (inside(&g, at, p->block))
			layout_push(layout, g.dim == at[1], g.it->extent,
			            g.it->axis == AX_reg ? g.it->stride
			                                 : each * lanes_below(l, at, p->block, g.it->stride),
			            AX_mem);
	p->layout = layout;
	p->streams = p->block[0] * p->block[1] / each;
}

bool
pack_words_layout(Layout *out, Layout *l, const Pack *p)
{
	const int at[2] = { l->ndim - 2, l->ndim - 1 };
	int64_t each = p->block[0] * p->block[1] / p->streams, words = each * dtype_info[p->dtype].bits / 32;
	int64_t run = pack_run(p);
	bool in[ITER_MAX];
	int lane[ITER_MAX], n = layout_by_stride(l, AX_lane, lane);

	layout_init(out, l->ndim + 1);
	for (Digit g = layout_digits(l); g.it; digit_next(&g)) {
		int64_t stride = g.it->axis == AX_reg ? g.it->stride / each * words : g.it->stride;

		in[g.at] = inside(&g, at, p->block);
		if (!in[g.at] && !layout_push(out, g.dim, g.it->extent, stride, (Axis)g.it->axis))
			return false;
	}
	layout_push(out, l->ndim, run, 1, AX_reg);
	for (int i = 0; i < n; i++) {
		const Iter *it = &l->it[lane[i]];

		if (in[lane[i]] && !layout_push(out, l->ndim, it->extent, it->stride, AX_lane))
			return false;
	}
	return layout_push(out, l->ndim, words / run, run, AX_reg) && layout_push_reps(out, l);
}

/* ---- pack to layout ------------------------------------------------------------------------------------ */

bool
pack_default(Solve *s, Pack *p)
{
	Layout *layout = NEW(s->arena, Layout);
	int64_t each = p->block[0] * p->block[1] / WARP_SIZE, run = each < 8 ? each : 8;
	int64_t lanes = p->block[1] / run < WARP_SIZE ? p->block[1] / run : WARP_SIZE;
	int64_t more = p->block[1] / run / lanes, down = WARP_SIZE / lanes;

	if (each < 1 || p->block[1] % (run * lanes) || p->block[0] % down ||
	    each * dtype_info[p->dtype].bits % 32)
		return false;
	layout_init(layout, 2);
	layout_push(layout, 1, run, 1, AX_mem);
	layout_push(layout, 1, lanes, each, AX_mem);
	layout_push(layout, 1, more, run, AX_mem);
	layout_push(layout, 0, down, each * lanes, AX_mem);
	layout_push(layout, 0, p->block[0] / down, run * more, AX_mem);
	p->layout = layout;
	p->streams = WARP_SIZE;
	return true;
}

/* Pushes the modes of dim i of a block: positions in a stream are registers, streams are lanes. */
static bool
block_digits(Layout *l, int dim, const Layout *layout, int i, int64_t each)
{
	for (Digit g = dim_digits(layout, i); g.it; digit_next(&g)) {
		const Iter *it = g.it;
		int64_t regs = it->stride >= each ? 1 : it->extent;

		if (it->extent > 1 && it->stride >= each && it->stride % each)
			return false;
		if (regs > 1 && it->stride * it->extent > each) {
			regs = each / it->stride;
			if (each % it->stride || it->extent % regs)
				return false;
		}
		if (!layout_push(l, dim, regs, it->stride, AX_reg) ||
		    !layout_push(l, dim, it->extent / regs, it->stride * regs / each, AX_lane))
			return false;
	}
	return true;
}

bool
pack_layout(Solve *s, const Type *t, const Pack *p, Layout *l)
{
	int64_t each = p->block[0] * p->block[1] / p->streams, rest[DIM_MAX];

	if (p->streams > WARP_SIZE || WARP_SIZE % p->streams)
		return false;
	layout_init(l, t->rank);
	for (int d = 0; d < t->rank; d++)
		rest[d] = t->shape[d];
	for (int i = 0; i < 2; i++) {
		int d = t->rank - 2 + i;

		rest[d] /= p->block[i];
		if (!block_digits(l, d, p->layout, i, each))
			return false;
	}
	/* whole blocks */
	for (int d = t->rank - 1; d >= 0; d--) {
		int64_t g = mapping_workers(l, rest[d], WARP_SIZE, AX_lane);

		if (!mapping_spatial(l, d, g, AX_lane))
			return false;
		rest[d] /= g;
	}
	for (int j = 0; j < t->rank; j++) {
		int d = j < 2 ? t->rank - 2 + j : j - 2;
		int64_t g = mapping_workers(l, rest[d], s->k->warps, AX_warp);

		if (!mapping_repeat(l, d, rest[d] / g) || !mapping_spatial(l, d, g, AX_warp))
			return false;
	}
	return mapping_share(l, WARP_SIZE, AX_lane) && mapping_share(l, s->k->warps, AX_warp);
}
