/* pack_layout.c - layouts of a packed tensor's tile, and the pack that they amount to.
 *
 * A layout of the tile of elements is cut at the blocks.  In a block its digits are registers and lanes: the
 * lanes are the pack's streams, the registers the elements of a stream, and so the place of every element.
 * Whole blocks are dealt out to the rest of the registers, lanes and warps.  The words then lie by
 * themselves: a lane holds the words of its streams, four of them at a time neighbours in memory. */
#include "infer/memory/pack_layout.h"

enum { ACCESS_BITS = 128 };

/* A digit of a layout of elements. */
typedef struct Digit {
	Iter *it;
	int dim;
	bool inside; /* of a block */
} Digit;

static int
digits(Layout *l, const int at[2], const int64_t block[2], Digit *out)
{
	int n = 0;

	for (int d = 0; d < l->ndim; d++) {
		int64_t weight = 1, most = d == at[0] ? block[0] : d == at[1] ? block[1]
		                                                              : 1;

		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			out[n++] = (Digit){ &l->it[i], d, weight < most };
			weight *= l->it[i].extent;
		}
	}
	return n;
}

/* ---- from a layout to a pack ------------------------------------------------------------------------- */

static bool
block_is_shared_well(const Digit *x, int n, int bits, int64_t *each)
{
	*each = 1;
	for (int i = 0; i < n; i++) {
		const Iter *it = x[i].it;

		if (!x[i].inside || it->extent == 1)
			continue;
		if (it->axis == AX_reg && it->stride)
			*each *= it->extent;
		else if (it->axis != AX_lane)
			return false;
	}
	return *each * bits % ACCESS_BITS == 0;
}

/* Registers of a block get numbers below `each`, those along the dim of the first register first. */
static void
number_inside(Digit *x, int n, const int at[2])
{
	int first = at[1];
	int64_t next = 1;

	for (int i = 0; i < n; i++)
		if (x[i].inside && x[i].it->axis == AX_reg && x[i].it->stride == 1 && x[i].it->extent > 1)
			first = x[i].dim;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < n; i++) {
			Iter *it = x[i].it;

			if (!x[i].inside || it->axis != AX_reg || (x[i].dim == first) != (pass == 0))
				continue;
			it->stride = it->extent > 1 ? next : it->stride;
			next *= it->extent;
		}
}

/* The other registers keep their order. */
static void
number_outside(Digit *x, int n, int64_t next)
{
	Iter *order[ITER_MAX];
	int k = 0;

	for (int i = 0; i < n; i++) {
		int j = k;

		if (x[i].inside || x[i].it->axis != AX_reg || !x[i].it->stride || x[i].it->extent == 1)
			continue;
		for (k++; j > 0 && order[j - 1]->stride > x[i].it->stride; j--)
			order[j] = order[j - 1];
		order[j] = x[i].it;
	}
	for (int i = 0; i < k; i++) {
		order[i]->stride = next;
		next *= order[i]->extent;
	}
}

bool
pack_arrange(Layout *l, const int at[2], const Pack *p)
{
	Digit x[ITER_MAX];
	int64_t each;
	int n;

	for (int i = 0; i < 2; i++)
		if (layout_extent(l, at[i]) > p->block[i] && !layout_split(l, at[i], p->block[i]))
			return false;
	n = digits(l, at, p->block, x);
	if (l->offset[AX_reg] || !block_is_shared_well(x, n, dtype_info[p->dtype].bits, &each))
		return false;
	number_inside(x, n, at);
	number_outside(x, n, each);
	return true;
}

/* Lanes of the digits inside that count slower than this stride. */
static int64_t
lanes_below(const Digit *x, int n, int64_t stride)
{
	int64_t lanes = 1;

	for (int i = 0; i < n; i++)
		if (x[i].inside && x[i].it->axis == AX_lane && x[i].it->stride < stride)
			lanes *= x[i].it->extent;
	return lanes;
}

void
pack_read(Solve *s, Layout *l, const int at[2], Pack *p)
{
	Layout *place = NEW(s->arena, Layout);
	Digit x[ITER_MAX];
	int n = digits(l, at, p->block, x);
	int64_t each;

	block_is_shared_well(x, n, dtype_info[p->dtype].bits, &each);
	layout_init(place, 2);
	for (int i = 0; i < n; i++)
		if (x[i].inside)
			layout_push(place, x[i].dim == at[1], x[i].it->extent,
			            x[i].it->axis == AX_reg ? x[i].it->stride
			                                    : each * lanes_below(x, n, x[i].it->stride),
			            AX_mem);
	p->place = place;
	p->streams = p->block[0] * p->block[1] / each;
}

bool
pack_words_layout(Layout *out, Layout *l, const Pack *p)
{
	const int at[2] = { l->ndim - 2, l->ndim - 1 };
	int64_t each = p->block[0] * p->block[1] / p->streams, words = each * dtype_info[p->dtype].bits / 32;
	int64_t quad = words % 4 ? words : 4, done = 0;
	Digit x[ITER_MAX];
	int n = digits(l, at, p->block, x);

	layout_init(out, l->ndim + 1);
	for (int i = 0; i < n; i++) {
		const Iter *it = x[i].it;
		int64_t stride = it->axis == AX_reg ? it->stride / each * words : it->stride;

		if (!x[i].inside && !layout_push(out, x[i].dim, it->extent, stride, (Axis)it->axis))
			return false;
	}
	layout_push(out, l->ndim, quad, 1, AX_reg);
	for (bool more = true; more;) { /* lanes from the fastest */
		const Iter *next = NULL;

		for (int i = 0; i < n; i++)
			if (x[i].inside && x[i].it->axis == AX_lane && x[i].it->stride > done &&
			    x[i].it->extent > 1 && (!next || x[i].it->stride < next->stride))
				next = x[i].it;
		more = next && layout_push(out, l->ndim, next->extent, next->stride, AX_lane);
		done = next ? next->stride : done;
	}
	if (!layout_push(out, l->ndim, words / quad, quad, AX_reg))
		return false;
	for (int i = 0; i < l->nrep; i++)
		if (!layout_push_rep(out, l->rep[i].extent, l->rep[i].stride, (Axis)l->rep[i].axis))
			return false;
	return true;
}

/* ---- from a pack to a layout --------------------------------------------------------------------------- */

bool
pack_default(Solve *s, Pack *p)
{
	Layout *place = NEW(s->arena, Layout);
	int64_t each = p->block[0] * p->block[1] / WARP_SIZE, run = each < 8 ? each : 8;
	int64_t lanes = p->block[1] / run < WARP_SIZE ? p->block[1] / run : WARP_SIZE;
	int64_t more = p->block[1] / run / lanes, down = WARP_SIZE / lanes;

	if (each < 1 || p->block[1] % (run * lanes) || p->block[0] % down ||
	    each * dtype_info[p->dtype].bits % ACCESS_BITS)
		return false;
	layout_init(place, 2);
	layout_push(place, 1, run, 1, AX_mem);
	layout_push(place, 1, lanes, each, AX_mem);
	layout_push(place, 1, more, run, AX_mem);
	layout_push(place, 0, down, each * lanes, AX_mem);
	layout_push(place, 0, p->block[0] / down, run * more, AX_mem);
	p->place = place;
	p->streams = WARP_SIZE;
	return true;
}

/* Digits of dim i of a block: places in a stream are registers, streams are lanes. */
static bool
block_digits(Layout *l, int dim, const Layout *place, int i, int64_t each)
{
	for (int j = place->first[i]; j < place->first[i + 1]; j++) {
		const Iter *it = &place->it[j];
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
	int64_t each = p->block[0] * p->block[1] / p->streams, regs = each, rest[DIM_MAX];
	int64_t lanes = WARP_SIZE, warps = s->k->warps;

	if (p->streams > WARP_SIZE || WARP_SIZE % p->streams)
		return false;
	layout_init(l, t->rank);
	lanes /= p->streams;
	for (int d = t->rank - 1; d >= 0; d--) {
		int i = d - (t->rank - 2);
		int64_t g;

		if (i >= 0 && !block_digits(l, d, p->place, i, each))
			return false;
		rest[d] = t->shape[d] / (i >= 0 ? p->block[i] : 1);
		g = gcd64(lanes, rest[d]);
		if (!layout_push(l, d, g, WARP_SIZE / lanes, AX_lane))
			return false;
		lanes /= g;
		rest[d] /= g;
	}
	for (int j = 0; j < t->rank; j++) {
		int d = j < 2 ? t->rank - 2 + j : j - 2;
		int64_t g = gcd64(warps, rest[d]);

		if (!layout_push(l, d, rest[d] / g, regs, AX_reg) ||
		    !layout_push(l, d, g, s->k->warps / warps, AX_warp))
			return false;
		regs *= rest[d] / g;
		warps /= g;
	}
	return (lanes == 1 || layout_push_rep(l, lanes, WARP_SIZE / lanes, AX_lane)) &&
	       (warps == 1 || layout_push_rep(l, warps, s->k->warps / warps, AX_warp));
}
