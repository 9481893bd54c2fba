/* fma_choices.c - computes operand and result layouts of dots that are lowered to FMA on CUDA cores. */
#include "infer/rules/mma_choices.h"
#include "hexc/ir/sparse.h"
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

/* The split of one dim of the result: runs in registers, then lanes, registers again, warps. */
typedef struct DimSplit {
	int64_t vec, lanes, regs, warps;
	int lane, warp; /* strides of lanes and warps */
} DimSplit;

/* Pushes one dim; a result dim that the operand lacks is replicated over its lanes and warps. */
static void
push_split(Layout *l, int d, const DimSplit *x, int64_t vec, int64_t regs)
{
	layout_push(l, d, x->vec, vec, AX_reg);
	layout_push(l, d, x->lanes, x->lane, AX_lane);
	layout_push(l, d, x->regs, regs, AX_reg);
	layout_push(l, d, x->warps, x->warp, AX_warp);
}

/* Builds an operand layout with dim d of the result and all of k; `runs`: a lane's registers run along k
 * first. */
static void
fma_operand(Layout *l, int d, const DimSplit *own, const DimSplit *other, int64_t k, bool runs)
{
	int64_t vec = runs ? k : 1, kstride = runs ? 1 : own->vec;

	layout_init(l, 2);
	layout_push(l, 1 - d, k, kstride, AX_reg);
	push_split(l, d, own, vec, own->vec * k);
	layout_push_rep(l, other->lanes, other->lane, AX_lane);
	layout_push_rep(l, other->warps, other->warp, AX_warp);
}

/* Returns the most lanes, up to `most`, over which the batches can be distributed. */
static int64_t
batch_lanes(const Op *dot, int64_t warps, int64_t most)
{
	for (; most > 1; most /= 2) {
		Layout l;

		layout_init(&l, 2);
		if (dot_push_batches(&l, dot, most, 1, warps, 1))
			break;
	}
	return most;
}

bool
dot_push_batches(Layout *l, const Op *dot, int64_t lanes, int64_t lane, int64_t warps, int64_t warp)
{
	for (int d = dot_batch(dot) - 1; d >= 0; d--) {
		int64_t extent = dot->out[0]->type.shape[d], nl = gcd64(extent, lanes);
		int64_t nw = gcd64(extent / nl, warps);
		Layout one = *l;

		if (!layout_insert_dim(l, &one, 0) || !layout_push(l, 0, nl, lane, AX_lane) ||
		    !mapping_repeat(l, 0, extent / nl / nw) || !layout_push(l, 0, nw, warp, AX_warp))
			return false;
		lanes /= nl;
		lane *= nl;
		warps /= nw;
		warp *= nw;
	}
	return lanes == 1 && warps == 1;
}

/* Each lane computes a block of the result with all of k: runs of up to 4 columns and, if A is contiguous
 * along them, of 4 rows.  Batches get the lanes that rows and columns leave, or their lanes first. */
bool
fma_choice(Solve *s, const Op *dot, DotChoice *c)
{
	const Type *t = &dot->out[0]->type;
	int b = dot_batch(dot);
	int64_t k = dot_k(dot), rows = t->shape[b], cols = t->shape[b + 1];
	int64_t batch = c->batch_lanes ? batch_lanes(dot, c->wb, WARP_SIZE) : 1;
	int unit[2] = { source_unit(s, mma_a(dot)) - b, source_unit(s, mma_b(dot)) - b };
	DimSplit m = { .vec = unit[0] == 0 ? gcd64(rows, 4) : 1 }, n = { .vec = gcd64(cols, 4) };
	int warps = c->wm * c->wn, first;

	while (n.vec > 1 && gcd64(cols / n.vec, 8) < 8 && cols / n.vec > gcd64(cols / n.vec, 8))
		n.vec /= 2; /* 24 columns: 8 lanes of 3 rather than 2 of 12 */
	n.lanes = gcd64(cols / n.vec, min64(8, WARP_SIZE / batch));
	m.lanes = gcd64(rows / m.vec, WARP_SIZE / batch / n.lanes);
	first = c->batch_lanes ? (int)batch : 1;
	if (!c->batch_lanes)
		batch = batch_lanes(dot, c->wb, WARP_SIZE / (m.lanes * n.lanes));
	m.warps = c->wm;
	n.warps = c->wn;
	if (rows % (m.vec * m.lanes * m.warps) || cols % (n.vec * n.lanes * n.warps))
		return false;
	m.regs = rows / m.vec / m.lanes / m.warps;
	n.regs = cols / n.vec / n.lanes / n.warps;
	n.lane = first;
	m.warp = 1;
	m.lane = first * (int)n.lanes;
	n.warp = c->wm;
	fma_operand(&c->a, 0, &m, &n, k, c->along_k && unit[0] == 1);
	fma_operand(&c->b, 1, &n, &m, k, c->along_k && unit[1] == 0);
	layout_init(&c->c, 2);
	push_split(&c->c, 1, &n, 1, n.vec);
	push_split(&c->c, 0, &m, n.vec * n.regs, n.vec * n.regs * m.vec);
	for (int i = 0; i < 3; i++) {
		Layout *l = i == 0 ? &c->a : i == 1 ? &c->b
		                                    : &c->c;
		int64_t used = m.lanes * n.lanes * batch;

		if (!dot_push_batches(l, dot, batch, c->batch_lanes ? 1 : m.lanes * n.lanes, c->wb, warps))
			return false;
		layout_push_rep(l, WARP_SIZE / used, used, AX_lane);
		layout_push_rep(l, s->k->warps / (warps * c->wb), warps * c->wb, AX_warp);
	}
	return suit_pack(s, mma_a(dot), &c->a) && suit_pack(s, mma_b(dot), &c->b);
}
