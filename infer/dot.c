/* dot.c - the ways of doing a dot: instructions, warp grids, orders of k, the product or its transpose; and
 * without a tensor core, lanes that multiply and add.
 *
 * Fragments tile over the warps.  The order of k is free as long as both operands agree: a lane's elements of
 * several instances may be neighbours along k, so that it reads them with one access.  That pays where the
 * data is narrower in memory than in the product, or comes straight from global memory. */
#include "infer/solve.h"

static int64_t
gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

/* ---- fragments over warps ------------------------------------------------------------------------ */

/* Warps of a tile dim: `count` of them, `stride` apart in warp number. */
typedef struct WarpDim {
	int count, stride;
} WarpDim;

/* Tile an instruction's fragment over [x, y]: per dim the atom's own digits, then repeats in registers, then
 * warps, so that a warp's share is one block of the tile.  `quick`: the dim whose repeats are numbered first.
 * Warps that appear in neither dim hold copies. */
static bool
tile_fragment(Layout *out, const Layout *atom, const int64_t shape[2], const WarpDim w[2], int quick,
              const WarpDim rep[2])
{
	int64_t regs = layout_cosize(atom, AX_reg), rest[2];

	layout_init(out, 2);
	for (int d = 0; d < 2; d++) {
		int64_t per = layout_extent(atom, d) * w[d].count;
		if (shape[d] % per)
			return false;
		rest[d] = shape[d] / per;
		for (int i = atom->first[d]; i < atom->first[d + 1]; i++)
			if (!layout_push(out, d, atom->it[i].extent, atom->it[i].stride,
			                 (Axis)atom->it[i].axis))
				return false;
	}
	for (int i = 0; i < 2; i++) {
		int d = i ? 1 - quick : quick;
		if (!layout_push(out, d, rest[d], regs, AX_reg))
			return false;
		regs *= rest[d];
	}
	for (int d = 0; d < 2; d++)
		if (!layout_push(out, d, w[d].count, w[d].stride, AX_warp) ||
		    (rep[d].count > 1 && !layout_push_rep(out, rep[d].count, rep[d].stride, AX_warp)))
			return false;
	return true;
}

/* A lane's elements along dim d come in runs: the digits of k, that were a register's w, the 4 lanes, the
 * instruction's other registers, its instances, now go w, registers and instances up to `run`, lanes, the
 * rest.  Registers are numbered along the runs. */
static bool
gather_k(Layout *l, int d, int64_t run)
{
	int order[2] = { d, 1 - d };
	Layout from = *l;
	int lane, first = from.first[d], last;
	int64_t have = 1;

	if (!layout_split(&from, d, 4 * run))
		return false;
	last = from.first[d + 1];
	for (lane = first; lane < last && from.it[lane].axis != AX_lane; lane++)
		have *= from.it[lane].extent;
	/* what belongs to the run goes before the lanes */
	for (int i = lane; have < run && i + 1 < last; i++) {
		Iter t = from.it[i];
		from.it[i] = from.it[i + 1];
		from.it[i + 1] = t;
		have *= from.it[i].extent;
	}
	if (lane == last || have != run)
		return false;
	layout_compact_regs(&from, order);
	*l = from;
	return true;
}

/* At which position of the instances an index k is taken, for runs like those. */
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

/* Elements of A and B in a register of the instruction. */
static int64_t
register_elems(const Instr *in)
{
	int bits = dtype_info[in->ta].bits;

	return bits > 32 ? 1 : 32 / bits;
}

/* ---- one way --------------------------------------------------------------------------------------- */

static bool
mma_choice(Solve *s, const Op *dot, DotChoice *c)
{
	const int64_t *am = dot->in[0]->type.shape, *bn = dot->in[1]->type.shape;
	const int64_t sa[2] = { am[0], am[1] }, sb[2] = { bn[0], bn[1] }, sc[2] = { am[0], bn[1] };
	WarpDim m = { c->wm, 1 }, n = { c->wn, c->wm }, one = { 1, 0 };
	WarpDim left = { s->k->warps / (c->wm * c->wn), c->wm * c->wn };
	int64_t w = register_elems(c->inst);
	Layout fa, fb, fc;

	if (!instr_fragment(c->inst, 0, c->swap, &fa) || !instr_fragment(c->inst, 1, c->swap, &fb) ||
	    !instr_fragment(c->inst, 2, c->swap, &fc) ||
	    !tile_fragment(&c->a, &fa, sa, (WarpDim[2]){ m, one }, 1, (WarpDim[2]){ n, left }) ||
	    !tile_fragment(&c->b, &fb, sb, (WarpDim[2]){ one, n }, 0, (WarpDim[2]){ m, left }) ||
	    !tile_fragment(&c->c, &fc, sc, (WarpDim[2]){ m, n }, 1, (WarpDim[2]){ one, left }))
		return false;
	if (!c->run)
		return true;
	c->order = k_positions(s, c->inst, w, c->run, am[1]);
	return gather_k(&c->a, 1, c->run) && gather_k(&c->b, 0, c->run);
}

/* No tensor core: lanes 4 x 8 over the result, runs of up to 4 columns in registers, all k in each lane. */
static bool
fma_choice(Solve *s, const Op *dot, const Instr *in, DotChoice *c)
{
	const Type *t = &dot->out[0]->type;
	int64_t k = dot->in[0]->type.shape[1], m = t->shape[0], n = t->shape[1];
	int64_t vec = gcd(n, 4), ln = gcd(n / vec, 8), lm = gcd(m, 32 / ln);
	int64_t wm = gcd(m / lm, s->k->warps), wn = gcd(n / vec / ln, s->k->warps / wm);
	int64_t rn = n / vec / ln / wn, rm = m / lm / wm, lrep = 32 / (lm * ln);
	Layout *l[3] = { &c->a, &c->b, &c->c };

	c->inst = in;
	c->wm = (int)wm;
	c->wn = (int)wn;
	for (int i = 0; i < 3; i++) {
		bool has_m = i != 1, has_n = i != 0;
		int dm = 0, dn = 1, dk = i == 0 ? 1 : 0;
		int64_t regs = 1;

		layout_init(l[i], 2);
		if (has_n) {
			layout_push(l[i], dn, vec, regs, AX_reg);
			regs *= vec;
		}
		if (!has_m || !has_n) {
			layout_push(l[i], dk, k, regs, AX_reg);
			regs *= k;
		}
		if (has_n) {
			layout_push(l[i], dn, ln, 1, AX_lane);
			layout_push(l[i], dn, rn, regs, AX_reg);
			layout_push(l[i], dn, wn, wm, AX_warp);
			regs *= rn;
		} else {
			layout_push_rep(l[i], ln, 1, AX_lane);
			layout_push_rep(l[i], wn, wm, AX_warp);
		}
		if (has_m) {
			layout_push(l[i], dm, lm, ln, AX_lane);
			layout_push(l[i], dm, rm, regs, AX_reg);
			layout_push(l[i], dm, wm, 1, AX_warp);
		} else {
			layout_push_rep(l[i], lm, ln, AX_lane);
			layout_push_rep(l[i], wm, 1, AX_warp);
		}
		layout_push_rep(l[i], lrep, lm * ln, AX_lane);
		layout_push_rep(l[i], s->k->warps / (wm * wn), wm * wn, AX_warp);
	}
	return true;
}

/* ---- which ------------------------------------------------------------------------------------------ */

static bool
fits(const Instr *in, bool swap, const Op *dot, const Target *t)
{
	return in->kind == IK_mma && instr_on(in, t) && in->acc == dot->out[0]->type.dtype &&
	       (swap ? in->tb : in->ta) == dot->in[0]->type.dtype &&
	       (swap ? in->ta : in->tb) == dot->in[1]->type.dtype;
}

bool
instr_divides(const Instr *i, bool swap, const Op *dot)
{
	const int64_t *a = dot->in[0]->type.shape, *b = dot->in[1]->type.shape;

	return a[0] % (swap ? i->n : i->m) == 0 && a[1] % i->k == 0 && b[1] % (swap ? i->m : i->n) == 0;
}

static int64_t
work(const Instr *in)
{
	return (int64_t)in->m * in->n * in->k;
}

/* Another instruction, or this one the other way round, does more at once and no slower. */
static bool
dominated(const Instr *in, bool swap, const Op *dot, const Target *t)
{
	for (const Instr *x = instrs; x->name; x++)
		for (int way = 0; way < 2; way++) {
			if (!fits(x, way, dot, t) || !instr_divides(x, way, dot) ||
			    x->m * x->n < in->m * in->n || x->k < in->k ||
			    x->issue * work(in) > in->issue * work(x))
				continue;
			if (work(x) > work(in) || (way < swap && work(x) == work(in)))
				return true;
		}
	return false;
}

/* Runs along k worth trying: what makes 32 and 128 bits of what an operand comes from. */
static int
k_runs(Solve *s, const Op *dot, const Instr *in, int64_t *run)
{
	int64_t k = dot->in[0]->type.shape[1], w = register_elems(in), least = in->k / 4;
	int n = 0;

	run[n++] = 0;
	for (int i = 0; i < 2; i++) {
		int bits = k_source_bits(s, dot->in[i], 1 - i);
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

enum { RUNS_MAX = 5 };

/* All warp grids of an instruction; those that give every warp its own work are preferred. */
static void
grids(Solve *s, const Op *dot, const Instr *in, bool swap, DotChoice **out, int *n, int *cap)
{
	int64_t run[RUNS_MAX];
	int nrun = k_runs(s, dot, in, run);
	bool some = false;

	for (int use = s->k->warps; use >= 1 && !some; use--) {
		if (s->k->warps % use)
			continue;
		for (int wm = 1; wm <= use; wm++)
			for (int r = 0; use % wm == 0 && r < nrun; r++) {
				DotChoice c = {
					.inst = in,
					.swap = swap,
					.wm = wm,
					.wn = use / wm,
					.run = run[r],
				};
				if (!mma_choice(s, dot, &c))
					continue;
				VEC_PUSH(s->arena, *out, *n, *cap, c);
				some = true;
			}
	}
}

int
dot_choices(Solve *s, const Op *dot, DotChoice **out)
{
	const Target *t = s->k->unit->target;
	int n = 0, cap = 0;

	*out = NULL;
	for (const Instr *in = instrs; in->name; in++)
		for (int swap = 0; swap < 2; swap++)
			if (fits(in, swap, dot, t) && instr_divides(in, swap, dot) &&
			    !dominated(in, swap, dot, t))
				grids(s, dot, in, swap, out, &n, &cap);
	if (n == 0) {
		DotChoice c = { .inst = instr_find("fma") };
		if (fma_choice(s, dot, c.inst, &c))
			VEC_PUSH(s->arena, *out, n, cap, c);
	}
	return n;
}
