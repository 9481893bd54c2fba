/* mma_choices.c - enumerates the lowerings of a dot: instruction, warp layout, order of k, the dot or its
 * transpose.
 *
 * Fragments are tiled over the warps.  The order of k is free if both operands agree: a thread's elements
 * of several instances may be contiguous along k, so that it reads them with one access.  That pays if the
 * data is narrower in memory than in the dot, or is loaded directly from global memory.  The orders of m
 * and n are free too; only the result depends on them.  If narrow data is contiguous along m or n,
 * ldmatrix.trans transposes units of 16 bits, that is, several elements at a time.  These elements are
 * assigned to adjacent instances. */
#include "infer/rules/mma_choices.h"
#include "infer/core/mma_instr.h"
#include "infer/core/sm_throughput.h"
#include "infer/core/tile_origin.h"
#include "infer/core/wgmma.h"
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

/* ---- fragments over warps ------------------------------------------------------------------------ */

/* Warps along a tile dim: `count` of them, with stride `stride` in warp index. */
typedef struct WarpDim {
	int count, stride;
} WarpDim;

/* Tiles an instruction's fragment over [x, y]: per dim the atom's modes, then repeats in registers, then
 * warps, so that a warp's share is one block of the tile.  `quick`: the dim whose repeats are numbered first.
 * Warps in neither dim hold replicas. */
static bool
tile_fragment(Layout *out, const Layout *atom, const int64_t shape[2], const WarpDim w[2], int quick,
              const WarpDim rep[2])
{
	int64_t rest[2];

	layout_init(out, 2);
	for (int d = 0; d < 2; d++) {
		int64_t per = layout_extent(atom, d) * w[d].count;
		if (shape[d] % per)
			return false;
		rest[d] = shape[d] / per;
		if (!layout_push_dim(out, d, atom, d))
			return false;
	}
	if (!mapping_repeat(out, quick, rest[quick]) || !mapping_repeat(out, 1 - quick, rest[1 - quick]))
		return false;
	for (int d = 0; d < 2; d++)
		if (!layout_push(out, d, w[d].count, w[d].stride, AX_warp) ||
		    (rep[d].count > 1 && !layout_push_rep(out, rep[d].count, rep[d].stride, AX_warp)))
			return false;
	return true;
}

/* Makes a lane's elements along dim d contiguous.  The modes of k were: a register's w, the 4 lanes, the
 * instruction's other registers, its instances.  Now they are: w, registers and instances up to `run`, lanes,
 * the rest.  Registers are numbered along the runs. */
static bool
gather_k(Layout *l, int d, int64_t run)
{
	int order[2] = { d, 1 - d };
	Layout from = *l;
	Digit lane = dim_digits(&from, d);

	while (lane.it && lane.it->axis != AX_lane)
		digit_next(&lane);
	if (!lane.it || lane.weight > run ||
	    !layout_swap_digits(&from, d, lane.weight, 4 * lane.weight, 4 * run))
		return false;
	layout_compact_regs(&from, order);
	*l = from;
	return true;
}

/* Returns the position in the instances of each index of k, for such runs. */
static const Layout *
k_positions(Solve *s, const Instr *in, int64_t w, int64_t run, int64_t k)
{
	Layout *l = NEW(s->arena, Layout);
	int64_t halves = in->k / (4 * w), steps = run / (w * halves);

	layout_init(l, 1);
	layout_push(l, 0, w, 1, AX_mem);
	layout_push(l, 0, halves, 4 * w, AX_mem);
	layout_push(l, 0, steps, in->k, AX_mem);
	layout_push(l, 0, 4, w, AX_mem);
	layout_push(l, 0, k / (4 * run), in->k * steps, AX_mem);
	return l;
}

/* Along dim d, which instances of extent q tile, interleaves e adjacent instances: the modes q, e become e,
 * q.  Registers remain registers; returns false unless only registers distinguish the instances. */
static bool
take_turns(Layout *l, int d, int64_t q, int64_t e)
{
	if (!layout_swap_digits(l, d, 1, q, q * e))
		return false;
	for (Digit g = dim_digits(l, d); g.it && g.weight < e; digit_next(&g))
		if (g.it->axis != AX_reg)
			return false;
	return true;
}

/* Returns the positions of n indices in that order. */
static const Layout *
turn_positions(Solve *s, int64_t n, int64_t q, int64_t e)
{
	Layout *l = NEW(s->arena, Layout);

	layout_init(l, 1);
	layout_push(l, 0, e, q, AX_mem);
	layout_push(l, 0, q, 1, AX_mem);
	layout_push(l, 0, n / (q * e), q * e, AX_mem);
	return l;
}

/* Returns the elements of A or B per register of the instruction. */
static int64_t
register_elems(const Instr *in)
{
	int bits = dtype_info[in->ta].bits;

	return bits > 32 ? 1 : 32 / bits;
}

/* ---- one choice ------------------------------------------------------------------------------------ */

/* Computes the layout of sparsity metadata: a group of four lanes shares it for as many instances along k as
 * possible; warps that share the operand share it too. */
static bool
positions(DotChoice *c, const Op *dot, WarpDim m, WarpDim n, WarpDim left)
{
	const int64_t *shape = mma_extra(dot, 0)->type.shape;
	int side = dot_side(dot), k = 1 - side;
	int steps = (int)gcd64(dot_k(dot) / c->inst->k, instr_selectors(c->inst));
	WarpDim one = { 1, 0 }, own[2] = { side ? one : m, side ? n : one };
	Layout e;

	if (!instr_positions(c->inst, steps, c->swap, &e) ||
	    !tile_fragment(&c->e[0], &e, shape, own, k, (WarpDim[2]){ side ? m : n, left }))
		return false;
	return layout_push_reps(&c->e[0], &e);
}

/* Computes the layouts of both operands' scales: a register has those of adjacent k for as many instances as
 * fit; further instances take them from other lanes of a group of four. */
static bool
scales(DotChoice *c, const Op *dot, WarpDim m, WarpDim n, WarpDim left)
{
	WarpDim one = { 1, 0 }, own[2][2] = { { m, one }, { one, n } };

	for (int i = 0; i < 2; i++) {
		Layout e;

		if (!instr_scales(c->inst, (int)(dot_k(dot) / c->inst->k), i, c->swap, &e) ||
		    !tile_fragment(&c->e[i], &e, mma_extra(dot, i)->type.shape, own[i], 1 - i,
		                   (WarpDim[2]){ i ? m : n, left }) ||
		    !layout_push_reps(&c->e[i], &e))
			return false;
	}
	return true;
}

/* Is v computed from elements of fewer bits in memory?  Such data prefers runs along k.  Other fragments
 * number their k steps last, so that one load serves one k step. */
static bool
comes_narrow(const Solve *s, const Val *v)
{
	return s->origin[v->id].bits < bits_of(v);
}

/* Extends the layouts of operands and result to all batches, and arranges operands from packed tensors by
 * their packs. */
static bool
for_batches(const Solve *s, const Op *dot, DotChoice *c)
{
	int stride = c->wm * c->wn;

	return dot_push_batches(&c->a, dot, 1, 1, c->wb, stride) &&
	       dot_push_batches(&c->b, dot, 1, 1, c->wb, stride) &&
	       dot_push_batches(&c->c, dot, 1, 1, c->wb, stride) &&
	       (c->run || (suit_pack(s, mma_a(dot), &c->a) && suit_pack(s, mma_b(dot), &c->b)));
}

static bool
mma_choice(Solve *s, const Op *dot, DotChoice *c)
{
	const int64_t *mn = &dot->out[0]->type.shape[dot_batch(dot)], k = dot_k(dot);
	bool sparse = dot_is_sparse(dot);
	const int64_t sa[2] = { mn[0], sparse && dot_side(dot) == 0 ? k / 2 : k };
	const int64_t sb[2] = { sparse && dot_side(dot) == 1 ? k / 2 : k, mn[1] };
	const int64_t sc[2] = { mn[0], mn[1] };
	WarpDim m = { c->wm, 1 }, n = { c->wn, c->wm }, one = { 1, 0 };
	WarpDim left = { s->k->warps / (c->wm * c->wn * c->wb), c->wm * c->wn * c->wb };
	int64_t w = register_elems(c->inst);
	int quick_a = comes_narrow(s, mma_a(dot)) ? 1 : 0;
	int quick_b = comes_narrow(s, mma_b(dot)) ? 0 : 1;
	Layout fa, fb, fc;

	if ((sparse && !positions(c, dot, m, n, left)) ||
	    (dot_is_scaled(dot) && !scales(c, dot, m, n, left)))
		return false;
	if (!instr_fragment(c->inst, 0, c->swap, &fa) || !instr_fragment(c->inst, 1, c->swap, &fb) ||
	    !instr_fragment(c->inst, 2, c->swap, &fc) ||
	    !tile_fragment(&c->a, &fa, sa, (WarpDim[2]){ m, one }, quick_a, (WarpDim[2]){ n, left }) ||
	    !tile_fragment(&c->b, &fb, sb, (WarpDim[2]){ one, n }, quick_b, (WarpDim[2]){ m, left }) ||
	    !tile_fragment(&c->c, &fc, sc, (WarpDim[2]){ m, n }, 1, (WarpDim[2]){ one, left }))
		return false;
	for (int side = 0; side < 2; side++) {
		int64_t q = (side == 0) == c->swap ? c->inst->n : c->inst->m;

		if (c->mix[side] < 2)
			continue;
		if (!take_turns(side ? &c->b : &c->a, side, q, c->mix[side]) ||
		    !take_turns(&c->c, side, q, c->mix[side]))
			return false;
		/* pairs along k, interleaved instances, the rest in order: registers of narrow elements in
		 * bit order 16 */
		layout_regs_first(side ? &c->b : &c->a, 2, (int[2]){ 1 - side, side });
		c->side[side] = turn_positions(s, sc[side], q, c->mix[side]);
		if (dtype_info[c->inst->acc].bits == 32) /* numbered as stores prefer */
			layout_compact_regs(&c->c, (int[2]){ side, 1 - side });
	}
	if (c->run) {
		c->order = k_positions(s, c->inst, w, c->run, k);
		if (!gather_k(&c->a, 1, c->run) || !gather_k(&c->b, 0, c->run))
			return false;
	}
	return for_batches(s, dot, c);
}

/* ---- enumeration ------------------------------------------------------------------------------------ */

/* Lists the runs along k worth trying: 32 and 128 bits in memory of an operand's source. */
static int
k_runs(Solve *s, const Op *dot, const Instr *in, int64_t *run)
{
	int64_t k = dot_k(dot), w = register_elems(in), least = in->k / 4;
	int n = 0;

	run[n++] = 0;
	if (dot_kind(dot) != IK_mma)
		return n; /* metadata and scales require unpermuted k */
	if (s->origin[mma_a(dot)->id].unpack || s->origin[mma_b(dot)->id].unpack)
		return n; /* packs should depend on as little as possible, and need no runs */
	for (int i = 0; i < 2; i++) {
		int bits = k_source_bits(s, dot->in[i], dot_batch(dot) + 1 - i);

		bits &= -bits; /* types that straddle bytes have several pieces per access */
		for (int64_t access = 32; bits && access <= 128; access *= 4) {
			int64_t r = access / bits;
			bool known = false;

			while (r > least && k % (4 * r))
				r /= 2;
			for (int j = 1; j < n; j++)
				known = known || run[j] == r;
			if (!known && r > w && r >= least && r % least == 0 && k % (4 * r) == 0)
				run[n++] = r;
		}
	}
	return n;
}

/* Returns the contiguous elements of operand `side`'s source that ldmatrix.trans transposes as a unit. */
static int64_t
turned_as_one(Solve *s, const Op *dot, const Instr *in, int side)
{
	int bits = side_source_bits(s, dot->in[side], dot_batch(dot) + side);

	return bits && 16 % bits == 0 && register_elems(in) == 2 ? 16 / bits : 1;
}

enum { ORDERS_MAX = 6 };

/* Is the transposed dot worth trying if the dot itself is possible?  Both take the same instances, and
 * ldmatrix fills the registers of either.  But a vector load along k keeps the registers of B together, not
 * those of A.  Narrow data, which is converted first anyway, is better as A. */
static bool
turn_pays(const Solve *s, const Op *dot, int64_t run)
{
	return run && dot_kind(dot) == IK_mma &&
	       (comes_narrow(s, mma_a(dot)) ||
	        comes_narrow(s, mma_b(dot)));
}

/* Lists the orders of k, m and n worth trying, as choices of an instruction without warps. */
static int
orders(Solve *s, const Op *dot, DotChoice base, DotChoice *out)
{
	int64_t run[ORDERS_MAX], mix[2] = { 1, 1 };
	const Target *t = s->k->unit->target;
	bool either = base.swap && instr_fits(base.inst, false, dot, t) &&
	              instr_divides(base.inst, false, dot);
	int n = 0, nrun;

	if (base.inst->kind == IK_fma) {
		for (n = 0; n < (dot_batch(dot) ? 4 : 2); n++) {
			out[n] = base;
			out[n].along_k = n % 2 == 0;
			out[n].batch_lanes = n >= 2;
		}
		return n;
	}
	nrun = k_runs(s, dot, base.inst, run);
	for (int i = 0; i < nrun; i++) {
		if (either && !turn_pays(s, dot, run[i]))
			continue;
		out[n] = base;
		out[n++].run = run[i];
	}
	if (either)
		return n;
	for (int side = 0; side < 2; side++)
		/* metadata requires unpermuted rows */
		if (dot_kind(dot) == IK_mma || (dot_is_sparse(dot) && side != dot_side(dot)))
			mix[side] = turned_as_one(s, dot, base.inst, side);
	if (mix[0] * mix[1] > 1) { /* k unpermuted, m or n permuted */
		out[n] = base;
		out[n].mix[0] = mix[0];
		out[n++].mix[1] = mix[1];
	}
	return n;
}

/* Lists the warp layouts of an instruction; those in which all warps have separate work are preferred. */
static void
grids(Solve *s, const Op *dot, const Instr *in, bool swap, DotChoice **out, int *n, int *cap)
{
	DotChoice base = { .inst = in, .swap = swap, .mix = { 1, 1 } }, order[ORDERS_MAX];
	int norder = orders(s, dot, base, order);
	bool some = false, fma = in->kind == IK_fma;

	for (int use = s->k->warps; use >= 1 && !some; use--) {
		if (s->k->warps % use)
			continue;
		for (int w = 0; w < use * (dot_batch(dot) ? use : 1); w++)
			for (int r = 0; r < norder; r++) {
				DotChoice c = order[r];

				c.wm = w % use + 1;
				c.wb = w / use + 1;
				c.wn = use / (c.wm * c.wb);
				if (c.wm * c.wn * c.wb != use || !(fma ? fma_choice : mma_choice)(s, dot, &c))
					continue;
				VEC_PUSH(s->arena, *out, *n, *cap, c);
				some = true;
			}
	}
}

/* ---- wgmma -------------------------------------------------------------------------------------------- */

static bool
wgmma_fits(const Solve *s, const Op *o, const Instr *in, bool swap)
{
	const Val *held = product_factor(o);

	return in->kind == IK_wgmma && instr_on(in, s->k->unit->target) && in->acc == o->out[0]->type.dtype &&
	       in->ta == o->in[swap]->type.dtype && in->tb == o->in[!swap]->type.dtype &&
	       (in->a ? held == o->in[swap] : !held);
}

enum { WARP_ROWS = 16,  /* rows per warp of an instance */
       PACK_ROWS = 64 }; /* rows of a packed tensor's blocks, at most */

/* Gives each warp `rows` consecutive rows, from as many instances as needed, if the operand's pack can be
 * read so.  Which 64 rows an instance has is free if the accumulator has the same. */
static bool
suit_rows(const Solve *s, const Op *o, DotChoice *c, int rows)
{
	Layout sum = c->c, held = c->swap ? c->b : c->a;
	int64_t instance = WARP_ROWS * WARPGROUP, all = instance * (rows / WARP_ROWS);

	if (rows > WARP_ROWS && (!layout_swap_digits(&sum, c->swap, WARP_ROWS, instance, all) ||
	                         !layout_swap_digits(&held, c->swap, WARP_ROWS, instance, all)))
		return false;
	if (!suit_pack(s, o->in[c->swap], &held))
		return false;
	*(c->swap ? &c->b : &c->a) = held;
	c->c = sum;
	return true;
}

/* Computes the choice with wm x wn warpgroups and the widest possible instances, up to `most` columns. */
static bool
wgmma_choice(const Solve *s, const Op *o, int64_t most, DotChoice *c)
{
	const int64_t *shape = o->out[0]->type.shape;
	int64_t mnk[3] = { shape[0], shape[1], mma_a(o)->type.shape[wgmma_k_dim(o, 0)] };
	WarpDim m = { c->wm, WARPGROUP }, n = { c->wn, WARPGROUP * c->wm }, one = { 1, 0 };
	Layout fa, fc;

	if (!wgmma_divides(c->inst, c->swap, mnk, c->wm, c->wn))
		return false;
	c->n = wgmma_widest(c->inst, shape[!c->swap] / (c->swap ? c->wm : c->wn), most);
	if (!wgmma_fragment(c->inst, c->n, 2, c->swap, &fc) ||
	    !tile_fragment(&c->c, &fc, shape, (WarpDim[2]){ m, n }, 1, (WarpDim[2]){ one, one }))
		return false;
	if (!c->inst->a)
		return true;
	if (!wgmma_fragment(c->inst, c->n, c->swap, c->swap, &fa))
		return false;
	if (!(c->swap ? tile_fragment(&c->b, &fa, mma_b(o)->type.shape, (WarpDim[2]){ one, n }, 1,
	                              (WarpDim[2]){ one, m })
	              : tile_fragment(&c->a, &fa, mma_a(o)->type.shape, (WarpDim[2]){ m, one }, 0,
	                              (WarpDim[2]){ n, one })))
		return false;
	for (int rows = WARP_ROWS; rows <= PACK_ROWS; rows *= 2)
		if (suit_rows(s, o, c, rows))
			return true;
	return false;
}

static int
wgmma_choices(Solve *s, const Op *o, DotChoice **out)
{
	int groups = op_warps(o) / WARPGROUP, n = 0, cap = 0;

	for (const Instr *in = instrs; in->name; in++)
		for (int swap = 0; swap < 2; swap++)
			for (int wm = groups; wm >= 1 && wgmma_fits(s, o, in, swap); wm--) {
				DotChoice c = { .inst = in, .swap = swap, .mix = { 1, 1 }, .wm = wm };
				int64_t whole;

				c.wn = groups / wm;
				if (wm * c.wn != groups || op_warps(o) % WARPGROUP ||
				    !wgmma_choice(s, o, WGMMA_N_MOST, &c))
					continue;
				VEC_PUSH(s->arena, *out, n, cap, c);
				whole = pow2_part(c.n); /* rows of an MN-major operand are whole then */
				if (whole < c.n && wgmma_choice(s, o, whole, &c))
					VEC_PUSH(s->arena, *out, n, cap, c);
			}
	return n;
}

int
dot_choices(Solve *s, const Op *dot, DotChoice **out)
{
	const Target *t = s->k->unit->target;
	int n = 0, cap = 0;

	*out = NULL;
	if (dot->code == O_wgmma)
		return wgmma_choices(s, dot, out);
	for (const Instr *in = instrs; in->name; in++)
		for (int swap = 0; swap < 2; swap++)
			if (instr_fits(in, swap, dot, t) && instr_divides(in, swap, dot) &&
			    !instr_dominated(in, swap, dot, t))
				grids(s, dot, in, swap, out, &n, &cap);
	if (n == 0)
		grids(s, dot, instr_find("fma"), false, out, &n, &cap);
	return n;
}
