/* block_scale.c - validates that the scales of block-scaled MMAs are in the bytes and lanes that mma reads.
 *
 * PTX ISA, "Block Scaling for mma.sync": for A, row i of an instance has its scales in lane 4 (i % 8) + i /
 * 8 of a pair of lanes, 0 and 1 or 2 and 3; for B, column j in one of the lanes 4 j to 4 j + 3. They are
 * contiguous bytes of a register. The pair or lane, and the byte, are given by the layout of the instance's
 * first row or column in the first warp (IR.md). */
#include "hexc/ir/block_scale.h"
#include "infer/core/instr.h"
#include "infer/validate/validate.h"

/* Location of an instance's first scales: one of the first four lanes of warp 0, and its register. */
typedef struct Start {
	int lane;
	int64_t reg;
} Start;

static Start
start_of(const Ownership *h, int64_t elem)
{
	for (int lane = 0; lane < 4; lane++)
		for (int64_t r = 0; r < h->regs; r++)
			if (h->elem[lane * h->regs + r] == elem)
				return (Start){ lane, r };
	return (Start){ .reg = -1 };
}

static bool
prove_side(Prove *p, const Op *o, const Instr *in, int side, int64_t at, int64_t k0, int64_t (*c)[3])
{
	const Val *v = mma_extra(o, side);
	const Ownership *h = held_of(p, v);
	bool b = (side == 1) != o->lowering->dot.swap;
	int rows = b ? 8 : 16, pair = b ? 1 : 2;
	int64_t x[2];
	Start s;

	if (!h)
		return false;
	x[side] = at;
	x[1 - side] = k0 / (in->k / in->scales);
	s = start_of(h, index_elem(&v->type, x));
	if (s.reg < 0 || s.lane % pair || s.reg % in->scales || s.reg + in->scales > h->regs)
		return prove_error(p, s.lane, s.reg, "scales starting at %s do not begin at this register",
		                   elem_text(p, &v->type, index_elem(&v->type, x)));
	for (int t = 0; t < p->threads; t++) {
		int q = t % 4 - s.lane, row = t % WARP_SIZE / 4 + 8 * q;

		for (int i = 0; q >= 0 && q < pair && row < rows && i < in->scales; i++) {
			x[side] = c[t / WARP_SIZE][side] + row;
			x[1 - side] = k0 / (in->k / in->scales) + i;
			if (h->elem[t * h->regs + s.reg + i] != index_elem(&v->type, x))
				return prove_error(p, t, s.reg + i, "%s reads the scale %s here", in->name,
				                   elem_text(p, &v->type, index_elem(&v->type, x)));
		}
	}
	return true;
}

bool
prove_scales(Prove *p, const Op *o, const Instr *in, int64_t m0, int64_t n0, int64_t k0, int64_t (*c)[3])
{
	for (int i = 0; i < 2; i++)
		if (in->scale != mma_extra(o, i)->type.dtype || in->k != in->scales * dot_block(o, i))
			return prove_error(p, -1, 0, "%s does not support these scales", in->name);
	return prove_side(p, o, in, 0, m0, k0, c) && prove_side(p, o, in, 1, n0, k0, c);
}
