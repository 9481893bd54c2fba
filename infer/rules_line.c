/* rules_line.c - ops that move elements along one dim: shift, slice, concat.  Their layouts keep what moves
 * within registers, or within a warp. */
#include "infer/memory/memory.h"
#include "infer/rules.h"

/* Along dim d: registers of a lane, then lanes in one row, then registers again; what a shift can do with
 * static registers and one lane distance. */
static bool
shiftable(const Layout *l, int d)
{
	int64_t lanes = 1, stride = 0;
	int i = l->first[d], end = l->first[d + 1];

	for (; i < end && (l->it[i].axis == AX_reg || l->it[i].extent == 1); i++)
		if (l->it[i].extent > 1 && l->it[i].stride == 0)
			return false;
	for (; i < end && (l->it[i].axis == AX_lane || l->it[i].extent == 1); i++) {
		if (l->it[i].extent == 1)
			continue;
		if (stride && l->it[i].stride != stride * lanes)
			return false;
		stride = stride ? stride : l->it[i].stride;
		lanes *= l->it[i].extent;
	}
	for (; i < end && (l->it[i].axis == AX_reg || l->it[i].extent == 1); i++)
		if (l->it[i].extent > 1 && l->it[i].stride == 0)
			return false;
	return i == end;
}

/* How many lanes the dims but d may take so that enough is left of them for all warps: what warps do not
 * share each of them does again. */
static int64_t
lanes_beside(const Type *t, int d, int warps)
{
	int64_t others = 1, lanes = 1;

	for (int i = 0; i < t->rank; i++)
		others *= i == d ? 1 : t->shape[i];
	others /= gcd64(others, warps);
	while (lanes < WARP_SIZE && 2 * lanes <= others)
		lanes *= 2;
	return lanes;
}

/* The tile with dim d within a warp: the other dims take lanes first, then d, in a row over its registers. */
static bool
along(Layout *out, const Type *t, int d, int warps)
{
	int64_t rest[DIM_MAX], beside = lanes_beside(t, d, warps), lanes = WARP_SIZE, left = warps;
	int64_t regs = 1, g;

	layout_init(out, t->rank);
	for (int i = t->rank - 1; i >= 0; i--) {
		rest[i] = t->shape[i];
		g = i == d ? 1 : gcd64(beside, rest[i]);
		if (!layout_push(out, i, g, WARP_SIZE / lanes, AX_lane))
			return false;
		lanes /= g;
		beside /= g;
		rest[i] /= g;
	}
	g = gcd64(lanes, rest[d]);
	rest[d] /= g;
	if (!layout_push(out, d, rest[d], 1, AX_reg) || !layout_push(out, d, g, WARP_SIZE / lanes, AX_lane))
		return false;
	lanes /= g;
	regs = rest[d];
	for (int i = t->rank - 1; i >= 0; i--) {
		if (i == d)
			continue;
		g = gcd64(left, rest[i]);
		if (!layout_push(out, i, g, warps / left, AX_warp) ||
		    !layout_push(out, i, rest[i] / g, regs, AX_reg))
			return false;
		left /= g;
		regs *= rest[i] / g;
	}
	return (lanes == 1 || layout_push_rep(out, lanes, WARP_SIZE / lanes, AX_lane)) &&
	       (left == 1 || layout_push_rep(out, left, warps / left, AX_warp));
}

void
anchor_shift(Solve *s, Op *o)
{
	Layout l;

	if (!known(s, o->in[0]) && !known(s, o->out[0]) &&
	    along(&l, &o->out[0]->type, (int)o->imm[0], s->k->warps))
		give(s, o->in[0], &l, o);
}

void
rule_shift(Solve *s, Op *o)
{
	const Layout *l = known(s, o->in[0]);
	int d = (int)o->imm[0];
	Layout own;

	if (!l)
		l = known(s, o->out[0]);
	if (!l)
		return;
	if (!shiftable(l, d)) {
		if (!along(&own, &o->out[0]->type, d, s->k->warps))
			return;
		l = &own;
	}
	demand(s, o, 0, l);
	deliver(s, o, 0, l);
}

/* ---- slice, concat ---------------------------------------------------------------------------------- */

/* The longest pieces of dim d that the operands and the result of a slice or concat consist of. */
static int64_t
piece_of(const Op *o)
{
	int d = (int)o->imm[0];
	int64_t g = gcd64(o->in[0]->type.shape[d], o->out[0]->type.shape[d]);

	return o->code == O_slice ? gcd64(g, o->imm[1]) : g;
}

/* The layout of one piece of g along d, if those of l lie in registers behind each other. */
static bool
piece_layout(Layout *out, const Layout *l, int d, int64_t g)
{
	int64_t weight = 1;

	*out = *l;
	if (!layout_split(out, d, g))
		return false;
	for (int i = out->first[d]; i < out->first[d + 1]; i++) {
		Iter *it = &out->it[i];

		if (weight >= g && it->extent > 1) {
			if (it->axis != AX_reg || it->stride == 0)
				return false;
			it->extent = 1;
		} else {
			weight *= it->extent;
		}
	}
	layout_squeeze_regs(out);
	layout_canon(out);
	return true;
}

/* n pieces, each in registers of its own. */
static bool
pieces_layout(Layout *out, const Layout *piece, int d, int64_t n)
{
	*out = *piece;
	return layout_push(out, d, n, layout_cosize(piece, AX_reg), AX_reg);
}

/* Pieces spread over all threads, as wide as memory may take them. */
static bool
new_piece(Layout *out, const Solve *s, const Type *t, int d, int64_t g)
{
	int64_t shape[DIM_MAX], size = 1, vec = 1;
	int order[DIM_MAX], n = 0;

	for (int i = 0; i < t->rank; i++) {
		shape[i] = i == d ? g : t->shape[i];
		size *= shape[i];
	}
	for (int single = 0; single < 2; single++) /* last dims first, those of one element behind them */
		for (int i = t->rank - 1; i >= 0; i--)
			if ((shape[i] == 1) == single)
				order[n++] = i;
	while (vec * dtype_info[t->dtype].bits < 128 && shape[order[0]] % (2 * vec) == 0 &&
	       2 * vec * WARP_SIZE * s->k->warps <= size)
		vec *= 2;
	return coalesced(out, t->rank, shape, order, vec, s->k->warps, false);
}

/* All tiles consist of the pieces, one behind the other in registers. */
static void
spread_pieces(Solve *s, Op *o, const Layout *piece)
{
	int d = (int)o->imm[0];
	int64_t g = piece_of(o);
	Layout l;

	if (pieces_layout(&l, piece, d, o->out[0]->type.shape[d] / g))
		deliver(s, o, 0, &l);
	for (int i = 0; i < o->nin; i++)
		if (pieces_layout(&l, piece, d, o->in[i]->type.shape[d] / g))
			demand(s, o, i, &l);
}

void
rule_pieces(Solve *s, Op *o)
{
	int d = (int)o->imm[0];
	int64_t g = piece_of(o);
	bool any = known(s, o->out[0]);
	Layout piece;

	if (known(s, o->out[0]) && piece_layout(&piece, known(s, o->out[0]), d, g)) {
		spread_pieces(s, o, &piece);
		return;
	}
	for (int i = 0; i < o->nin; i++) {
		any = any || known(s, o->in[i]);
		if (known(s, o->in[i]) && piece_layout(&piece, known(s, o->in[i]), d, g)) {
			spread_pieces(s, o, &piece);
			return;
		}
	}
	if (any && new_piece(&piece, s, &o->out[0]->type, d, g))
		spread_pieces(s, o, &piece);
}

void
anchor_pieces(Solve *s, Op *o)
{
	Layout piece;

	if (new_piece(&piece, s, &o->out[0]->type, (int)o->imm[0], piece_of(o)))
		spread_pieces(s, o, &piece);
}
