/* load.c - how a tile comes to registers: by ldmatrix, by accesses as it lies or wider ones that lanes share,
 * coalesced and then converted. */
#include "infer/solve.h"

/* Lanes that share a run of memory each take all of it: the digits of `dim` below `run` move to registers,
 * lanes they came from hold copies.  Turns byte accesses of narrow types into wide ones. */
static bool
widen(Layout *out, const Layout *l, int dim, int64_t run)
{
	if (!layout_reduce_low(out, l, dim, run) ||
	    layout_replicas_on(out, AX_warp) != layout_replicas_on(l, AX_warp))
		return false;
	layout_squeeze_regs(out);
	layout_scale(out, AX_reg, run);
	return layout_push_front(out, dim, run, 1, AX_reg);
}

/* What a lane spends on loading l by accesses of vec: wavefronts, instructions, and half as much for each
 * step of packing what is narrower than a word. */
static double
load_price(const Layout *l, int64_t vec, DType d)
{
	double n = (double)(layout_cosize(l, AX_reg) / vec * dtype_pieces(d));
	double bytes = (double)(vec * dtype_grain(d)) / 8;
	double pack = bytes < 4 ? n - n * bytes / 4 : 0;

	return n * (bytes > 4 ? bytes / 4 : 1) + 0.25 * n + 0.75 * pack;
}

/* Steps to pick one's own elements out of whole words, `vec` neighbours of them at a time: byte permutations
 * that look at every source word, the first for nothing; less than a byte takes shifts for each element. */
static double
pick_price(const Layout *from, const Layout *to, int64_t vec, DType d)
{
	int bits = dtype_place(d);
	double have = (double)(layout_cosize(from, AX_reg) * bits) / 32;
	double need = (double)(layout_cosize(to, AX_reg) * bits) / 32;

	if (vec * bits < 8)
		return 2.0 * (double)layout_cosize(to, AX_reg);
	return 0.75 * (have - (need < 1 ? 1 : need));
}

/* Elements that lie across bytes are loaded in runs of whole bytes or one by one. */
static int64_t
whole_bytes(DType d, int64_t vec)
{
	return dtype_pieces(d) > 1 && vec * dtype_grain(d) < 8 ? 1 : vec;
}

void
load_shared(Solve *s, Op *o)
{
	const Layout *l = s->sol->val[o->out[0]->id];
	DType d = o->out[0]->type.dtype;
	int grain = dtype_grain(d), unit = unit_dim(s, o->in[0]);
	int64_t vec = unit < 0 ? 1 : whole_bytes(d, shared_vec(s, o->in[0], reg_run(l, unit)));
	const Layout *made = NULL;
	Pick *p = pick_ldmatrix(s, o, l, &made);

	if (p) {
		if (made)
			s->sol->made[o->id][0] = made;
		s->sol->pick[o->id] = p;
		return;
	}
	if (s->sol->plan.widen && unit >= 0 && vec * grain < 32) {
		int64_t wide = shared_vec(s, o->in[0], o->out[0]->type.shape[unit]);
		Layout *w = NEW(s->arena, Layout);
		if (wide * grain >= 32 && widen(w, l, unit, wide) &&
		    load_price(w, wide, d) + pick_price(w, l, vec, d) < load_price(l, vec, d)) {
			s->sol->pick[o->id] =
				pick_new(s, memory_row(IK_ld_shared, (int)wide * grain, false), wide);
			s->sol->made[o->id][0] = w;
			return;
		}
	}
	s->sol->pick[o->id] = pick_new(s, memory_row(IK_ld_shared, (int)vec * grain, false), vec);
}

/* Elements of one access when a global tile is loaded into l. */
static int64_t
load_vec(const Solve *s, const Op *o, const Layout *l)
{
	int unit = unit_dim(s, o->in[0]);

	return unit < 0 ? 1
	                : whole_bytes(o->out[0]->type.dtype,
	                              global_vec(s, o->in[0]->def, unit, reg_run(l, unit)));
}

/* Cycles of loading a global tile into l, once: warps that load the same meet in the cache. */
static double
load_cycles(const Solve *s, const Op *o, const Layout *l)
{
	int64_t vec = load_vec(s, o, l);
	double n = (double)(layout_cosize(l, AX_reg) / vec * s->k->warps) +
	           (double)global_sectors(s, o->in[0]->def, l, (int)vec, bits_of(o->out[0]), false);

	return n / (double)layout_replicas_on(l, AX_warp);
}

/* The widest coalesced layout for a load from global memory, if that and a conversion take less than loading
 * into l. */
static bool
load_layout(Solve *s, const Op *o, const Layout *l, Layout *out)
{
	const Type *t = &o->out[0]->type;
	double direct = load_cycles(s, o, l), staged;
	int order[DIM_MAX];
	Res res = { 0 };

	if (t->rank == 0)
		return false;
	memory_order(s, o->in[0], order);
	if (!coalesced(out, t->rank, t->shape, order,
	               global_vec(s, o->in[0]->def, order[0], t->shape[order[0]]), s->k->warps, false))
		return false;
	staged = load_cycles(s, o, out);
	if (staged >= direct)
		return false;
	conversion(s, t, out, l, &res);
	return staged + res_cycles(&res) < direct;
}

/* l with its registers numbered along `unit` first, if that makes longer runs of whole words. */
const Layout *
along_memory(Solve *s, const Layout *l, int unit, int grain)
{
	Layout *out = NEW(s->arena, Layout);
	int order[DIM_MAX];

	if (unit < 0 || reg_run(l, unit) * grain < 32)
		return l;
	*out = *l;
	for (int i = 0; i < l->ndim; i++)
		order[i] = (unit + i) % l->ndim;
	layout_compact_regs(out, order);
	return reg_run(out, unit) > reg_run(l, unit) ? out : l;
}

void
load_global(Solve *s, Op *o)
{
	const Layout *val = s->sol->val[o->out[0]->id], *l;
	int grain = dtype_grain(o->out[0]->type.dtype);
	Layout *w = NEW(s->arena, Layout);
	int64_t vec;

	l = along_memory(s, val, unit_dim(s, o->in[0]), grain);
	if (load_layout(s, o, l, w)) {
		s->load_matters = true;
		if (s->sol->plan.load)
			l = w;
	}
	if (l != val)
		s->sol->made[o->id][0] = l;
	demand_indices(s, o->in[0], l);
	vec = load_vec(s, o, l);
	s->sol->pick[o->id] = pick_new(s, memory_row(IK_ld_global, (int)vec * grain, false), vec);
}
