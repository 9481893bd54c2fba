/* memory.c - which instruction every load, store and copy uses, and what that asks of shared tiles. */
#include "infer/solve.h"

const Instr *
memory_row(InstrKind kind, int bits, bool trans)
{
	if (bits < 8)
		bits = 8;
	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == kind && i->bits == bits && i->trans == trans)
			return i;
	return NULL;
}

Pick *
pick_new(Solve *s, const Instr *in, int64_t vec)
{
	Pick *p = NEW(s->arena, Pick);

	p->inst = in ? in->name : NULL;
	p->vec = (int)vec;
	return p;
}

/* ---- loads ------------------------------------------------------------------------------------------ */

/* Lanes that share a run of memory each take all of it: the digits of `dim` below `run` move to registers,
 * lanes they came from hold copies.  Turns byte accesses of narrow types into wide ones. */
static bool
widen(Layout *out, const Layout *l, int dim, int64_t run)
{
	int64_t done = 1, regs = run;
	int order[ITER_MAX], n = 0;
	Layout from = *l;

	if (!layout_split(&from, dim, run))
		return false;
	layout_init(out, from.ndim);
	for (int i = 0; i < from.nrep; i++)
		layout_push_rep(out, from.rep[i].extent, from.rep[i].stride, (Axis)from.rep[i].axis);
	for (int i = from.first[dim]; done < run; i++) {
		const Iter *it = &from.it[i];
		if (it->axis == AX_warp ||
		    (it->axis == AX_lane && !layout_push_rep(out, it->extent, it->stride, AX_lane)))
			return false;
		done *= it->extent;
		from.it[i].extent = 1;
	}
	layout_push(out, dim, run, 1, AX_reg);
	for (int i = 0; i < from.n; i++)
		if (from.it[i].axis == AX_reg && from.it[i].extent > 1) {
			int j = n++;
			for (; j > 0 && from.it[order[j - 1]].stride > from.it[i].stride; j--)
				order[j] = order[j - 1];
			order[j] = i;
		}
	for (int j = 0; j < n; j++) {
		from.it[order[j]].stride = regs;
		regs *= from.it[order[j]].extent;
	}
	for (int d = 0; d < from.ndim; d++)
		for (int i = from.first[d]; i < from.first[d + 1]; i++)
			if (!layout_push(out, d, from.it[i].extent, from.it[i].stride,
			                 (Axis)from.it[i].axis))
				return false;
	return true;
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

static void
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
	int64_t vec = load_vec(s, o, l), copies = 1;
	double n = (double)(layout_cosize(l, AX_reg) / vec * s->k->warps) +
	           (double)global_sectors(s, o->in[0]->def, l, (int)vec, bits_of(o->out[0]), false);

	for (int i = 0; i < l->nrep; i++)
		if (l->rep[i].axis == AX_warp)
			copies *= l->rep[i].extent;
	return n / (double)copies;
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
static const Layout *
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

static void
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

/* ---- atomic updates ----------------------------------------------------------------------------------- */

static const Instr *
red_row(const Solve *s, const Op *o, int64_t vec)
{
	const Type *t = &o->in[0]->type;
	int bits = (int)vec * dtype_info[t->dtype].bits;

	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == IK_red && (int64_t)i->atom == o->imm[0] && i->ta == t->dtype &&
		    i->bits == bits && instr_on(i, s->k->unit->target))
			return i;
	return NULL;
}

/* Elements that one update may take: those of a row that exists. */
static int64_t
red_vec(const Solve *s, const Op *o, int64_t vec)
{
	while (vec > 1 && !red_row(s, o, vec))
		vec /= 2;
	return vec;
}

/* ---- stores and copies ------------------------------------------------------------------------------ */

/* The widest coalesced layout for a store to global memory. */
static bool
store_layout(Solve *s, Op *o, Layout *l)
{
	const Type *t = &o->in[0]->type;
	int order[DIM_MAX];
	int64_t vec;

	memory_order(s, o->in[1], order);
	vec = global_vec(s, o->in[1]->def, order[0], t->shape[order[0]]);
	if (o->imm[0])
		vec = red_vec(s, o, vec);
	return coalesced(l, t->rank, t->shape, order, vec, s->k->warps, false);
}

/* A register digit of dim d behind digit `after`, whose first f can be had as a digit of its own; -1 none. */
static int
free_digit(Layout *l, int d, int after, int64_t f)
{
	int64_t weight = 1;

	for (int i = l->first[d]; i < l->first[d + 1]; i++) {
		const Iter *it = &l->it[i];

		if (i > after && it->axis == AX_reg && it->stride != 0 && it->extent % f == 0)
			return layout_split(l, d, weight * f) ? i : -1;
		weight *= it->extent;
	}
	return -1;
}

/* l with runs of `vec` along `unit`: lanes that hold neighbours trade them, and what they give instead is the
 * next register digit, of this dim if it can be. */
static bool
traded(Layout *out, const Layout *l, int unit, int64_t vec)
{
	int64_t have = reg_run(l, unit), f = have ? vec / have : 0;
	int order[DIM_MAX], lane, reg;

	*out = *l;
	if (f < 2 || f > 4 || !layout_split(out, unit, have) || !layout_split(out, unit, have * f))
		return false;
	lane = out->first[unit] + (have > 1);
	if (lane >= out->first[unit + 1] || out->it[lane].axis != AX_lane || out->it[lane].extent != f)
		return false;
	reg = free_digit(out, unit, lane, f);
	for (int d = out->ndim - 1; d > unit && reg < 0; d--)
		reg = free_digit(out, d, -1, f);
	for (int d = 0; d < unit && reg < 0; d++) {
		int before = out->n;
		reg = free_digit(out, d, -1, f);
		lane += out->n - before;
	}
	if (reg < 0)
		return false;
	out->it[reg].axis = AX_lane;
	out->it[reg].stride = out->it[lane].stride;
	out->it[lane].axis = AX_reg;
	for (int i = 0; i < out->ndim; i++)
		order[i] = (unit + i) % out->ndim;
	layout_compact_regs(out, order);
	return true;
}

/* For a tile of elements that share bytes: a layout in which a lane has whole bytes of shared memory. */
static bool
byte_layout(Solve *s, const Op *o, int unit, Layout *l)
{
	const Type *t = &o->in[0]->type;
	int64_t vec = shared_vec(s, o->in[1], t->shape[unit]);
	int order[DIM_MAX], n = 1;

	order[0] = unit;
	for (int d = t->rank - 1; d >= 0; d--)
		if (d != unit)
			order[n++] = d;
	return vec * dtype_grain(t->dtype) >= 8 &&
	       coalesced(l, t->rank, t->shape, order, vec, s->k->warps, false);
}

static void
select_store(Solve *s, Op *o)
{
	DType d = o->in[0]->type.dtype;
	int grain = dtype_grain(d), unit = unit_dim(s, o->in[1]);
	bool global = o->in[1]->type.space == S_global, red = o->imm[0] != STORE_PLAIN;
	const Layout *l = operand(s, o, 0);
	const Instr *in;
	int64_t vec;

	if (red && !red_row(s, o, 1)) {
		fails_no_red(s, o);
		return;
	}
	if (global && s->sol->plan.store && s->sol->want[o->id][0] == NULL && !pinned(s, o->in[0])) {
		Layout *w = NEW(s->arena, Layout);
		bool trade = s->sol->plan.store == 2;
		if (trade ? unit >= 0 && !red &&
		                    traded(w, l, unit, global_vec(s, o->in[1]->def, unit, dtype_most(d)))
		          : store_layout(s, o, w) && !layout_equal(w, l)) {
			s->sol->want[o->id][0] = w;
			l = w;
		}
	}
	if (!global && s->sol->want[o->id][0] == NULL && !pinned(s, o->in[0]) && unit >= 0 &&
	    shared_vec(s, o->in[1], reg_run(l, unit)) * grain < 8) {
		Layout *w = NEW(s->arena, Layout);

		if (byte_layout(s, o, unit, w))
			s->sol->want[o->id][0] = l = w;
	}
	if (s->sol->want[o->id][0] == NULL && along_memory(s, l, unit, grain) != l)
		s->sol->want[o->id][0] = l = along_memory(s, l, unit, grain);
	if (!global && !red && (s->sol->pick[o->id] = pick_stmatrix(s, o, l)) != NULL)
		return;
	demand_indices(s, o->in[1], l);
	vec = unit < 0 ? 1 : reg_run(l, unit);
	if (unit >= 0)
		vec = global ? global_vec(s, o->in[1]->def, unit, vec) : shared_vec(s, o->in[1], vec);
	if (vec * grain < 8) {
		fails_half_bytes(s, o, l, unit);
	}
	if (red)
		vec = red_vec(s, o, vec);
	in = red ? red_row(s, o, vec)
	         : memory_row(global ? IK_st_global : IK_st_shared, (int)vec * grain, false);
	s->sol->pick[o->id] = pick_new(s, in, vec);
}

bool
copy_map(Solve *s, const Op *o, Layout *map, int64_t *vec)
{
	const Type *t = &o->in[1]->type;
	int grain = dtype_grain(t->dtype), order[DIM_MAX], unit = unit_dim(s, o->in[1]);

	*vec = 1;
	memory_order(s, o->in[0], order);
	if (unit == order[0] && t->rank)
		*vec = shared_vec(s, o->in[1], global_vec(s, o->in[0]->def, unit, t->shape[unit]));
	if (*vec * grain < 8) {
		fails(s, o->src,
		      "rows of %s cannot be copied in whole bytes: %s and its neighbour share one, which lane 0 "
		      "of warp 0 cannot copy alone: assume that the last dimension is a multiple of %d",
		      dtype_info[t->dtype].name, elem_words(s, t, 0), 8 / grain);
		fails_note_tensor(s, o->in[0]);
		return false;
	}
	return coalesced(map, t->rank, t->shape, order, *vec, s->k->warps, false);
}

static bool
select_copy(Solve *s, Op *o)
{
	int grain = dtype_grain(o->in[1]->type.dtype);
	Layout *map = NEW(s->arena, Layout);
	const Instr *in = NULL;
	int64_t vec;
	Pick *p;

	if (!copy_map(s, o, map, &vec))
		return false;
	demand_indices(s, o->in[0], map);
	if (o->imm[0]) {
		in = memory_row(IK_cp_async, (int)vec * grain, false);
		if (in && (in->bits != (int)vec * grain || !instr_on(in, s->k->unit->target)))
			in = NULL;
	}
	if (!in)
		in = memory_row(IK_ld_st, (int)vec * grain, false);
	p = pick_new(s, in, vec);
	p->map = map;
	s->sol->pick[o->id] = p;
	return true;
}

/* ---- shared tiles ------------------------------------------------------------------------------------- */

/* How o touches the tile under its memory operand; false: it does not touch shared memory. */
static bool
access_of(const Solve *s, const Op *o, Access *a)
{
	Val *mem = shared_operand(o);
	const Pick *p = s->sol->pick[o->id];
	const Instr *in;

	if (!mem || !p)
		return false;
	in = instr_find(p->inst);
	*a = (Access){
		.op = o,
		.rank = mem->type.rank,
		.vec = p->vec,
		.bits = bits_of(mem),
		.lanes = 32,
		.weight = s->weight[o->id],
		.write = o->code != O_load,
	};
	view_dims(mem, a->dim_of);
	if (in && (in->kind == IK_ldmatrix || in->kind == IK_stmatrix))
		a->lanes = in->bits / 32 * 8;
	a->map = p->map;
	if (!a->map && o->code == O_load)
		a->map = result(s, o, 0);
	if (!a->map)
		a->map = operand(s, o, 0);
	return true;
}

static void
select_shared(Solve *s, Op *alloc)
{
	Val *tile = alloc->out[0];
	Access *acc = NULL;
	int n = 0, cap = 0;
	Layout *l = NEW(s->arena, Layout);
	int64_t *waves;

	for (int i = 0; i < s->ntouch[tile->id]; i++) {
		Access a;

		if (access_of(s, s->touch[tile->id][i], &a))
			VEC_PUSH(s->arena, acc, n, cap, a);
	}
	waves = NEWN(s->arena, int64_t, n + 1);
	if (tile->type.pinned) {
		*l = *tile->type.layout;
		for (int i = 0; i < n; i++) {
			int64_t least;
			access_waves(s->arena, &acc[i], l, s->k->warps, &waves[i], &least);
		}
	} else {
		shared_layout(s, &tile->type, s->unit[tile->id], acc, n, l, waves);
	}
	s->sol->val[tile->id] = l;
	for (int i = 0; i < n; i++)
		s->sol->res[acc[i].op->id].unit[R_smem] += (double)waves[i];
}

bool
select_memory(Solve *s)
{
	for (int i = 0; i < s->norder && !s->why.text; i++) {
		Op *o = s->order[i];

		if (o->code == O_load && o->out[0]->type.space == S_scalar)
			continue; /* all threads read one element: nothing to choose */
		if (o->code == O_load && o->in[0]->type.space == S_shared)
			load_shared(s, o);
		else if (o->code == O_load)
			load_global(s, o);
		else if (o->code == O_store)
			select_store(s, o);
		else if (o->code == O_copy && !select_copy(s, o) && !s->why.text)
			fails(s, o->src, "the copy cannot be spread over the threads");
	}
	if (s->why.text)
		return false;
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_alloc)
			select_shared(s, s->order[i]);
	return true;
}
