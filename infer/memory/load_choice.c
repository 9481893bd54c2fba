/* load_choice.c - selects the instruction and layout of loads to registers: ldmatrix, accesses in the
 * layout of the tile, or wider accesses whose elements several lanes share. */
#include "infer/core/cost_constants.h"
#include "infer/memory/memory.h"

/* Widens loads: each lane that shares a contiguous run loads all of it.  Modes of `dim` below `run` move to
 * registers, and their former lanes hold replicas.  Turns byte accesses of narrow types into wide ones. */
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

/* Returns the cost per lane of loading l with accesses of `vec` elements: wavefronts, instructions, and
 * packing of elements narrower than 32 bits. */
static double
load_cost(const Layout *l, int64_t vec, DType d)
{
	double n = (double)(layout_cosize(l, AX_reg) / vec * dtype_pieces(d));
	double bytes = (double)(vec * dtype_grain(d)) / 8;
	double pack = bytes < 4 ? n - n * bytes / 4 : 0;

	return n * (bytes > 4 ? bytes / 4 : 1) + INSTRUCTION_SHARE * n + PACK_SHARE * pack;
}

/* Returns the steps to extract a lane's elements from whole 32-bit words, `vec` contiguous ones at a time.
 * Byte permutations read every source word, the first for free; elements below a byte take shifts each. */
static double
pick_cost(const Layout *from, const Layout *to, int64_t vec, DType d)
{
	int bits = dtype_slot_bits(d);
	double have = (double)(layout_cosize(from, AX_reg) * bits) / 32;
	double need = (double)(layout_cosize(to, AX_reg) * bits) / 32;

	if (vec * bits < 8)
		return BITS_SHARE * (double)layout_cosize(to, AX_reg);
	return PACK_SHARE * (have - (need < 1 ? 1 : need));
}

/* Elements that straddle bytes are loaded in runs of whole bytes, or singly. */
static int64_t
whole_bytes(DType d, int64_t vec)
{
	return dtype_pieces(d) > 1 && vec * dtype_grain(d) < 8 ? 1 : vec;
}

const Layout *
along_memory(Solve *s, const Layout *l, int unit, int grain)
{
	Layout *out = NEW(s->arena, Layout);
	int order[DIM_MAX];

	if (unit < 0)
		return l;
	*out = *l;
	for (int i = 0; i < l->ndim; i++)
		order[i] = (unit + i) % l->ndim;
	layout_compact_regs(out, order);
	if (!s->sol->plan.turned && reg_run(out, unit) * grain < 32)
		return l;
	return reg_run(out, unit) > reg_run(l, unit) ? out : l;
}

void
load_shared(Solve *s, Op *o)
{
	const Layout *l = s->sol->val[o->out[0]->id];
	DType d = o->out[0]->type.dtype;
	int grain = dtype_grain(d), unit = unit_dim(s, load_source(o));
	const Layout *ordered = along_memory(s, l, unit, grain), *made = NULL;
	int64_t vec = unit < 0 ? 1 : whole_bytes(d, shared_vec(s, load_source(o), reg_run(ordered, unit)));
	Lowering *p = lowering_ldmatrix(s, o, l, &made);

	if (p) {
		if (made)
			s->sol->made[o->id][0] = made;
		s->sol->lowering[o->id] = p;
		return;
	}
	if (s->sol->plan.widen == NARROW_WORDS && unit >= 0 && vec * grain < 32) {
		int64_t wide = shared_vec(s, load_source(o), o->out[0]->type.shape[unit]);
		Layout *w = NEW(s->arena, Layout);
		if (wide * grain >= 32 && widen(w, l, unit, wide) &&
		    load_cost(w, wide, d) + pick_cost(w, l, vec, d) < load_cost(l, vec, d)) {
			s->sol->lowering[o->id] =
				lowering_new(s, memory_row(IK_ld_shared, (int)wide * grain, false), wide);
			s->sol->made[o->id][0] = w;
			return;
		}
	}
	if (ordered != l)
		s->sol->made[o->id][0] = ordered;
	s->narrow = s->narrow || vec * grain < 32;
	s->sol->lowering[o->id] = lowering_new(s, memory_row(IK_ld_shared, (int)vec * grain, false), vec);
}

int64_t
load_vec(const Solve *s, const Op *o, const Layout *l)
{
	int unit = unit_dim(s, load_source(o));

	return unit < 0 ? 1
	                : whole_bytes(o->out[0]->type.dtype,
	                              global_vec(s, load_source(o)->def, unit, reg_run(l, unit)));
}

void
load_global_as(Solve *s, Op *o, const Layout *l)
{
	int64_t vec = load_vec(s, o, l);
	int bits = (int)vec * dtype_grain(o->out[0]->type.dtype);

	if (l != known_layout(s, o->out[0]))
		s->sol->made[o->id][0] = l;
	require_indices(s, load_source(o), l);
	s->sol->lowering[o->id] = lowering_new(s, memory_row(IK_ld_global, bits, false), vec);
}
