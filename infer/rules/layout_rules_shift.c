/* layout_rules_shift.c - propagates layouts through ops that move elements along one dim (shift, slice,
 * concat), such that the movement stays within registers, or within a warp. */
#include "infer/core/contiguity.h"
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

/* Returns the number of lanes for dims other than d that leaves enough extent for all warps: work that is not
 * distributed over warps is repeated by each. */
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

/* Computes a layout with dim d within a warp: the other dims get lanes first, then d, over its registers. */
static bool
along(Layout *out, const Type *t, int d, int warps)
{
	int64_t rest[DIM_MAX], beside = lanes_beside(t, d, warps), g;

	layout_init(out, t->rank);
	for (int i = t->rank - 1; i >= 0; i--) {
		g = i == d ? 1 : gcd64(beside, t->shape[i]);
		if (!mapping_spatial(out, i, g, AX_lane))
			return false;
		beside /= g;
		rest[i] = t->shape[i] / g;
	}
	g = mapping_workers(out, rest[d], WARP_SIZE, AX_lane);
	if (!mapping_repeat(out, d, rest[d] / g) || !mapping_spatial(out, d, g, AX_lane))
		return false;
	for (int i = t->rank - 1; i >= 0; i--) {
		g = mapping_workers(out, rest[i], warps, AX_warp);
		if (i != d && (!mapping_spatial(out, i, g, AX_warp) || !mapping_repeat(out, i, rest[i] / g)))
			return false;
	}
	return mapping_share(out, WARP_SIZE, AX_lane) && mapping_share(out, warps, AX_warp);
}

void
anchor_shift(Solve *s, Op *o)
{
	Layout l;

	if (!known_layout(s, op_source(o)) && !known_layout(s, o->out[0]) &&
	    along(&l, &o->out[0]->type, (int)IMM(o, dim), s->k->warps))
		set_layout(s, op_source(o), &l, o);
}

void
rule_shift(Solve *s, Op *o)
{
	const Layout *l = known_layout(s, op_source(o));
	int d = (int)IMM(o, dim);
	Layout own;
	DimLine line; /* a shift supports static registers and one lane distance */

	if (!l)
		l = known_layout(s, o->out[0]);
	if (!l)
		return;
	if (!layout_line(l, d, &line)) {
		if (!along(&own, &o->out[0]->type, d, s->k->warps))
			return;
		l = &own;
	}
	require_operand(s, o, 0, l);
	set_result(s, o, 0, l);
}

/* ---- slice, concat ---------------------------------------------------------------------------------- */

/* Returns the extent of the longest pieces along dim d that operands and result of a slice or concat consist
 * of. */
static int64_t
piece_of(const Op *o)
{
	int d = (int)IMM(o, dim);
	int64_t g = gcd64(o->in[0]->type.shape[d], o->out[0]->type.shape[d]);

	return o->code == O_slice ? gcd64(g, IMM(o, from)) : g;
}

/* Computes the layout of one piece of g positions along d, if the pieces of l are in separate registers. */
static bool
piece_layout(Layout *out, const Layout *l, int d, int64_t g)
{
	if (!layout_slice(out, l, d, g))
		return false;
	layout_canon(out);
	return true;
}

/* Computes the layout of n pieces of g positions along d, each in separate registers; elements stay
 * contiguous. */
static bool
pieces_layout(Layout *out, const Layout *piece, int d, int64_t g, int64_t n)
{
	*out = *piece;
	if (g > 1)
		return mapping_repeat(out, d, n);
	layout_scale(out, AX_reg, n);
	return layout_push_front(out, d, n, 1, AX_reg);
}

/* Computes a layout of a piece distributed over all threads, as wide as memory accesses permit. */
static bool
new_piece(Layout *out, const Solve *s, const Val *v, int d, int64_t g)
{
	const Type *t = &v->type;
	int64_t shape[DIM_MAX], size = 1, vec = 1, most, share;
	int order[DIM_MAX], n = 0;

	for (int i = 0; i < t->rank; i++) {
		shape[i] = i == d ? g : t->shape[i];
		size *= shape[i];
	}
	for (int single = 0; single < 2; single++) /* last dims first, dims of extent 1 last */
		for (int i = t->rank - 1; i >= 0; i--)
			if ((shape[i] == 1) == single)
				order[n++] = i;
	most = max64(128 / dtype_info[t->dtype].bits, lane_run(s, v, order[0]));
	while (vec < most && shape[order[0]] % (2 * vec) == 0 &&
	       2 * vec * WARP_SIZE * s->k->warps <= size)
		vec *= 2;
	share = size / ((int64_t)WARP_SIZE * s->k->warps);
	/* three groups of a scan */
	if (g == 1 && share > vec && share <= 8 * most && shape[order[0]] % share == 0)
		vec = share;
	return coalesced_layout(out, t->rank, shape, order, vec, s->k->warps, false);
}

/* Lays out all tiles as pieces in consecutive registers. */
static void
lay_out_pieces(Solve *s, Op *o, const Layout *piece)
{
	int d = (int)IMM(o, dim);
	int64_t g = piece_of(o);
	Layout l;

	if (pieces_layout(&l, piece, d, g, o->out[0]->type.shape[d] / g))
		set_result(s, o, 0, &l);
	for (int i = 0; i < o->nin; i++)
		if (pieces_layout(&l, piece, d, g, o->in[i]->type.shape[d] / g))
			require_operand(s, o, i, &l);
}

void
rule_pieces(Solve *s, Op *o)
{
	int d = (int)IMM(o, dim);
	int64_t g = piece_of(o);
	bool any = known_layout(s, o->out[0]);
	Layout piece;

	if (known_layout(s, o->out[0]) && piece_layout(&piece, known_layout(s, o->out[0]), d, g)) {
		lay_out_pieces(s, o, &piece);
		return;
	}
	for (int i = 0; i < o->nin; i++) {
		any = any || known_layout(s, o->in[i]);
		if (known_layout(s, o->in[i]) && piece_layout(&piece, known_layout(s, o->in[i]), d, g)) {
			lay_out_pieces(s, o, &piece);
			return;
		}
	}
	if (any && new_piece(&piece, s, o->out[0], d, g))
		lay_out_pieces(s, o, &piece);
}

void
anchor_pieces(Solve *s, Op *o)
{
	Layout piece;

	if (new_piece(&piece, s, o->out[0], (int)IMM(o, dim), piece_of(o)))
		lay_out_pieces(s, o, &piece);
}
