/* anchor.c - where layouts come from: the fragments of tensor-core instructions tiled over warps, and
 * accesses spread over the threads so that neighbours in memory meet neighbouring lanes. */
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

/* ---- dots --------------------------------------------------------------------------------------- */

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

static bool
mma_choice(Solve *s, const Op *dot, const Instr *in, int wm, int wn, DotChoice *c)
{
	const int64_t *am = dot->in[0]->type.shape, *bn = dot->in[1]->type.shape;
	const int64_t sa[2] = { am[0], am[1] }, sb[2] = { bn[0], bn[1] }, sc[2] = { am[0], bn[1] };
	WarpDim m = { wm, 1 }, n = { wn, wm }, one = { 1, 0 };
	WarpDim left = { s->k->warps / (wm * wn), wm * wn };
	Layout fa, fb, fc;

	if (!instr_fragment(in, 0, &fa) || !instr_fragment(in, 1, &fb) || !instr_fragment(in, 2, &fc))
		return false;
	c->inst = in;
	c->wm = wm;
	c->wn = wn;
	return tile_fragment(&c->a, &fa, sa, (WarpDim[2]){ m, one }, 1, (WarpDim[2]){ n, left }) &&
	       tile_fragment(&c->b, &fb, sb, (WarpDim[2]){ one, n }, 0, (WarpDim[2]){ m, left }) &&
	       tile_fragment(&c->c, &fc, sc, (WarpDim[2]){ m, n }, 1, (WarpDim[2]){ one, left });
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

static bool
fits(const Instr *in, const Op *dot, const Target *t)
{
	return in->kind == IK_mma && instr_on(in, t) && in->ta == dot->in[0]->type.dtype &&
	       in->tb == dot->in[1]->type.dtype && in->acc == dot->out[0]->type.dtype;
}

bool
instr_divides(const Instr *i, const Op *dot)
{
	const int64_t *a = dot->in[0]->type.shape, *b = dot->in[1]->type.shape;

	return a[0] % i->m == 0 && a[1] % i->k == 0 && b[1] % i->n == 0;
}

/* An instruction of the same kind that does more at once makes this one needless. */
static bool
dominated(const Instr *in, const Op *dot, const Target *t)
{
	for (const Instr *x = instrs; x->name; x++)
		if (x != in && fits(x, dot, t) && x->m >= in->m && x->n >= in->n && x->k >= in->k &&
		    instr_divides(x, dot) &&
		    x->issue * in->m * in->n * in->k <= in->issue * x->m * x->n * x->k)
			return true;
	return false;
}

int
dot_choices(Solve *s, const Op *dot, DotChoice **out)
{
	const Target *t = s->k->unit->target;
	int n = 0, cap = 0;

	*out = NULL;
	for (const Instr *in = instrs; in->name; in++) {
		int most = 0; /* prefer grids that give every warp its own work */
		if (!fits(in, dot, t) || dominated(in, dot, t))
			continue;
		for (int use = s->k->warps; use >= 1 && !most; use--) {
			if (s->k->warps % use)
				continue;
			for (int wm = 1; wm <= use; wm++) {
				DotChoice c;
				if (use % wm || !mma_choice(s, dot, in, wm, use / wm, &c))
					continue;
				VEC_PUSH(s->arena, *out, n, cap, c);
				most = use;
			}
		}
	}
	if (n == 0) {
		DotChoice c;
		if (fma_choice(s, dot, instr_find("fma"), &c))
			VEC_PUSH(s->arena, *out, n, cap, c);
	}
	return n;
}

/* ---- accesses ----------------------------------------------------------------------------------- */

bool
coalesced(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps, bool outer)
{
	int64_t rest[DIM_MAX], warp_of[DIM_MAX], lanes = 32, left = warps, regs = vec;
	int64_t wstride = 1;

	layout_init(out, rank);
	for (int d = 0; d < rank; d++) {
		rest[d] = shape[d];
		warp_of[d] = 1;
	}
	if (rank) {
		layout_push(out, order[0], vec, 1, AX_reg);
		rest[order[0]] /= vec;
	}
	for (int i = 0; i < rank; i++) {
		int64_t g = gcd(lanes, rest[order[i]]);
		if (!layout_push(out, order[i], g, 32 / lanes, AX_lane))
			return false;
		lanes /= g;
		rest[order[i]] /= g;
	}
	for (int i = 0; i < rank; i++) {
		int d = order[outer ? rank - 1 - i : i];
		int64_t g = gcd(left, rest[d]);
		warp_of[d] = g;
		left /= g;
		rest[d] /= g;
	}
	for (int i = 0; i < rank; i++) {
		int d = order[i];
		if (!outer && !layout_push(out, d, warp_of[d], wstride, AX_warp))
			return false;
		if (!layout_push(out, d, rest[d], regs, AX_reg))
			return false;
		regs *= rest[d];
		if (outer && !layout_push(out, d, warp_of[d], wstride, AX_warp))
			return false;
		wstride *= warp_of[d];
	}
	return (lanes == 1 || layout_push_rep(out, lanes, 32 / lanes, AX_lane)) &&
	       (left == 1 || layout_push_rep(out, left, warps / left, AX_warp));
}
