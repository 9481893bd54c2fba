/* store_copy_choice.c - selects the instructions of stores and copies, and collects the accesses that
 * determine the layouts of shared tiles. */
#include "hexc/ir/memory_effects.h"
#include "infer/core/cost_constants.h"
#include "infer/memory/memory.h"

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

Lowering *
lowering_new(Solve *s, const Instr *in, int64_t vec)
{
	Lowering *p = NEW(s->arena, Lowering);

	p->kind = LW_access;
	p->access.inst = in ? in->name : NULL;
	p->access.vec = (int)vec;
	return p;
}

/* ---- atomic updates ----------------------------------------------------------------------------------- */

static const Instr *
red_row(const Solve *s, const Op *o, int64_t vec)
{
	const Type *t = &store_value(o)->type;
	int bits = (int)vec * dtype_info[t->dtype].bits;
	InstrKind kind = instr_store_kind(o);

	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == kind && (int64_t)i->atom == IMM(o, update) && i->ta == t->dtype &&
		    i->bits == bits && instr_on(i, s->k->unit->target))
			return i;
	return NULL;
}

/* Reduces `vec` to the elements that one atomic instruction of the table can update. */
static int64_t
red_vec(const Solve *s, const Op *o, int64_t vec)
{
	while (vec > 1 && !red_row(s, o, vec))
		vec /= 2;
	return vec;
}

/* ---- stores and copies ------------------------------------------------------------------------------ */

/* Computes the widest coalesced layout of a store to global memory. */
static bool
store_layout(Solve *s, Op *o, Layout *l)
{
	const Type *t = &store_value(o)->type;
	int order[DIM_MAX];
	int64_t vec;

	memory_order(s, store_dest(o), order);
	vec = global_vec(s, store_dest(o)->def, order[0], t->shape[order[0]]);
	if (IMM(o, update))
		vec = red_vec(s, o, vec);
	return coalesced_layout(l, t->rank, t->shape, order, vec, s->k->warps, false);
}

/* Returns the weight of a register mode of dim d, from `from` on, after splitting off its first f; 0:
 * none. */
static int64_t
free_digit(Layout *l, int d, int64_t from, int64_t f)
{
	for (Digit g = dim_digits(l, d); g.it; digit_next(&g))
		if (g.weight >= from && g.it->axis == AX_reg && g.it->stride != 0 && g.it->extent % f == 0)
			return layout_split(l, d, g.weight * f) ? g.weight : 0;
	return 0;
}

/* Computes l with runs of `vec` along `unit`: lanes with contiguous elements exchange them for the next
 * register mode, of this dim if possible. */
static bool
traded(Layout *out, const Layout *l, int unit, int64_t vec)
{
	int64_t have = reg_run(l, unit), f = have ? vec / have : 0, reg;
	int order[DIM_MAX], dim = unit;

	*out = *l;
	if (f < 2 || f > 4 || !layout_split(out, unit, have) || !layout_split(out, unit, have * f) ||
	    layout_digit(out, unit, have).it->axis != AX_lane)
		return false;
	reg = free_digit(out, unit, have * f, f);
	for (int d = out->ndim - 1; d > unit && !reg; d--)
		reg = free_digit(out, dim = d, 1, f);
	for (int d = 0; d < unit && !reg; d++)
		reg = free_digit(out, dim = d, 1, f);
	if (!reg || !layout_trade(out, unit, have, dim, reg))
		return false;
	for (int i = 0; i < out->ndim; i++)
		order[i] = (unit + i) % out->ndim;
	layout_compact_regs(out, order);
	return true;
}

/* Computes a layout in which a thread owns whole bytes of a shared tile of sub-byte elements. */
static bool
byte_layout(Solve *s, const Op *o, int unit, Layout *l)
{
	const Type *t = &store_value(o)->type;
	int64_t vec = shared_vec(s, store_dest(o), t->shape[unit]);
	int order[DIM_MAX], n = 1;

	order[0] = unit;
	for (int d = t->rank - 1; d >= 0; d--)
		if (d != unit)
			order[n++] = d;
	return vec * dtype_grain(t->dtype) >= 8 &&
	       coalesced_layout(l, t->rank, t->shape, order, vec, s->k->warps, false);
}

void
select_store(Solve *s, Op *o)
{
	DType d = store_value(o)->type.dtype;
	int grain = dtype_grain(d), unit = unit_dim(s, store_dest(o));
	bool global = store_dest(o)->type.space == S_global, red = IMM(o, update) != STORE_PLAIN;
	const Layout *l = operand_layout(s, o, 0);
	const Instr *in;
	int64_t vec;

	if (red && !red_row(s, o, 1)) {
		infer_error_no_red(s, o);
		return;
	}
	if (access_found(o)) { /* element by element, each lane its own */
		require_indices(s, store_dest(o), l);
		s->sol->lowering[o->id] = lowering_new(s, red_row(s, o, 1), 1);
		return;
	}
	if (global && s->sol->plan.store != STORE_AS_IS && s->sol->want[o->id][0] == NULL &&
	    !value_is_pinned(s, store_value(o))) {
		Layout *w = NEW(s->arena, Layout);
		bool trade = s->sol->plan.store == STORE_TRADED;
		if (trade ? unit >= 0 && !red &&
		                    traded(w, l, unit, global_vec(s, store_dest(o)->def, unit, dtype_most(d)))
		          : store_layout(s, o, w) && !layout_equal(w, l)) {
			s->sol->want[o->id][0] = w;
			l = w;
		}
	}
	if (!global && s->sol->want[o->id][0] == NULL && !value_is_pinned(s, store_value(o)) && unit >= 0 &&
	    shared_vec(s, store_dest(o), reg_run(l, unit)) * grain < 8) {
		Layout *w = NEW(s->arena, Layout);

		if (byte_layout(s, o, unit, w))
			s->sol->want[o->id][0] = l = w;
	}
	if (s->sol->want[o->id][0] == NULL && along_memory(s, l, unit, grain) != l)
		s->sol->want[o->id][0] = l = along_memory(s, l, unit, grain);
	if (!global && !red && (s->sol->lowering[o->id] = lowering_stmatrix(s, o, l)) != NULL)
		return;
	require_indices(s, store_dest(o), l);
	vec = unit < 0 ? 1 : reg_run(l, unit);
	if (unit >= 0)
		vec = global ? global_vec(s, store_dest(o)->def, unit, vec)
		             : shared_vec(s, store_dest(o), vec);
	if (vec * grain < 8) {
		infer_error_half_bytes(s, o, l, unit);
	}
	if (red)
		vec = red_vec(s, o, vec);
	in = red ? red_row(s, o, vec)
	         : memory_row(global ? IK_st_global : IK_st_shared, (int)vec * grain, false);
	s->sol->lowering[o->id] = lowering_new(s, in, vec);
}

/* Returns the vector width (elements) of shared stores for bit-unaligned global elements, which are loaded
 * singly: whole bytes, at most 32 bits while every lane has work; 0 if the tile's rows are not whole
 * bytes. */
static int64_t
single_vec(const Solve *s, Val *tile, int unit, int warps)
{
	const Type *t = &tile->type;
	int grain = dtype_grain(t->dtype);
	int64_t most = unit < 0 ? 1 : shared_vec(s, tile, t->shape[unit]), vec = 8 / grain;

	while (vec * grain < 32 && type_size(t) >= 2 * vec * warps * WARP_SIZE)
		vec *= 2;
	while (vec > most)
		vec /= 2;
	return vec * grain < 8 ? 0 : vec;
}

/* Returns the number of sub-32-bit accesses of a lane along a row, while adjacent lanes still cover a sector.
 * Their addresses differ by constants; those of rows differ by a stride that is unknown before launch. */
static int64_t
times_along(const Type *t, int unit, int64_t vec, int warps)
{
	int64_t bits = vec * dtype_grain(t->dtype), lanes = t->shape[unit] / vec, n = 1;

	while (bits < 32 && lanes % (2 * n) == 0 && lanes / (2 * n) * bits >= 8 * SECTOR_BYTES &&
	       type_size(t) >= 2 * n * vec * warps * WARP_SIZE)
		n *= 2;
	return n;
}

bool
copy_map(Solve *s, const Op *o, Layout *map, int64_t *vec, InstrKind *kind)
{
	const Type *t = &copy_dest(o)->type;
	int grain = dtype_grain(t->dtype), order[DIM_MAX], unit = unit_dim(s, copy_dest(o));
	int64_t times = 1, shape[DIM_MAX];
	int warps = op_warps(o);

	*vec = 1;
	*kind = IMM(o, async) ? IK_cp_async : IK_ld_st;
	memory_order(s, copy_source(o), order);
	if (unit == order[0] && t->rank)
		*vec = shared_vec(s, copy_dest(o), global_vec(s, copy_source(o)->def, unit, t->shape[unit]));
	if (*vec * grain < 8) {
		*kind = IK_ld_bits;
		*vec = single_vec(s, copy_dest(o), unit, warps);
		memory_order(s, copy_dest(o), order);
	}
	if (*vec == 0) {
		infer_error(s, o->src,
		      "rows of %s cannot be copied in whole bytes: %s shares a byte with an adjacent "
		      "element, and lane 0 of warp 0 cannot copy it alone; make the rows of the shared "
		      "tile, and the extents copied, multiples of %d",
		            dtype_info[t->dtype].name, elem_words(s, t, 0), 8 / grain);
		infer_error_tensor(s, copy_source(o));
		return false;
	}
	for (int d = 0; d < t->rank; d++)
		shape[d] = t->shape[d];
	if (unit == order[0] && t->rank && *kind != IK_ld_bits && unit == unit_dim(s, copy_source(o))) {
		times = times_along(t, unit, *vec, warps);
		shape[unit] /= times;
	}
	if (!coalesced_layout(map, t->rank, shape, order, *vec, warps, false) ||
	    (times > 1 && !mapping_repeat(map, unit, times)))
		return false;
	if (times > 1)
		layout_compact_regs(map, order);
	return true;
}

bool
select_copy(Solve *s, Op *o)
{
	int grain = dtype_grain(copy_dest(o)->type.dtype);
	Layout *map = NEW(s->arena, Layout);
	const Instr *in;
	const char *why;
	InstrKind kind;
	int64_t vec;
	Lowering *p;

	if (IMM(o, async) >= COPY_BARRIER) {
		bool out = IMM(o, async) == COPY_OUT;

		why = box_refusal(s, o);
		if (!why) {
			in = instr_find(out ? "tma_store" : "tma_load");
			s->sol->lowering[o->id] = lowering_new(s, in, 1);
			return true;
		}
		if (out) {
			infer_error(s, o->src, "no asynchronous store of this tile: %s", why);
			infer_error_tensor(s, copy_dest(o));
			return false;
		}
	}
	if (!copy_map(s, o, map, &vec, &kind))
		return false;
	require_indices(s, copy_source(o), map);
	in = memory_row(kind, (int)vec * grain, false);
	if (!in || in->bits != (int)vec * grain || !instr_on(in, s->k->unit->target))
		in = memory_row(IK_ld_st, (int)vec * grain, false);
	p = lowering_new(s, in, vec);
	p->access.map = map;
	s->sol->lowering[o->id] = p;
	return true;
}

/* ---- shared tiles ------------------------------------------------------------------------------------- */

/* Describes the access of o to the tile under its memory operand; false: it does not access shared memory. */
static bool
access_of(const Solve *s, const Op *o, SmemAccess *a)
{
	Val *mem = shared_operand(o);
	const Lowering *p = s->sol->lowering[o->id];
	const Instr *in = instr_of(p);

	if (!mem || !p || (in && in->kind == IK_tma_load))
		return false;
	access_init(a, o, mem, p->access.vec, in);
	a->weight = s->weight[o->id];
	a->anywhere = view_gather_dim(mem->def) >= 0;
	a->map = p->access.map;
	if (!a->map && o->code == O_load)
		a->map = result_layout(s, o, 0);
	if (!a->map)
		a->map = operand_layout(s, o, 0);
	return true;
}

/* Reports that op o accesses the tile under another shape, whose dims would have no constant strides. */
static void
reshape_error(Solve *s, const Op *o, const Val *tile, const Layout *l)
{
	const Op *as = view_base(shared_operand(o))->def;

	infer_error(
		s, as->src,
		"%s has the memory layout %s%s, which has no equivalent with the dimensions of %s; declare "
		"it in that shape, or load all of it and reshape the result",
		tile_words(s, tile), layout_print(s->arena, l), tile->type.pinned ? " (pinned)" : "",
		type_print(s->arena, &as->out[0]->type));
	infer_error_note(s, tile->def->src, "%s is %s", tile_words(s, tile),
	                 type_print(s->arena, &tile->type));
}

void
select_shared(Solve *s, Op *alloc)
{
	Val *tile = alloc->out[0];
	SmemAccess *acc = NULL;
	int n = 0, cap = 0;
	Layout *l = NEW(s->arena, Layout);
	int64_t *waves;

	for (int i = 0; i < s->ntouch[tile->id]; i++) {
		SmemAccess a;

		if (access_of(s, s->touch[tile->id][i], &a))
			VEC_PUSH(s->arena, acc, n, cap, a);
	}
	waves = NEWN(s->arena, int64_t, n + 1);
	if (select_form(s, alloc, acc, n, l) || tile->type.pinned) {
		if (s->failure.text)
			return;
		if (!s->sol->form[tile->id])
			*l = *tile->type.layout;
		for (int i = 0; i < n; i++) {
			int64_t least;
			access_waves(s->arena, &acc[i], l, access_warps(s, &acc[i]), &waves[i], &least);
		}
	} else {
		shared_layout(s, &tile->type, s->unit[tile->id], acc, n, l, waves);
	}
	s->sol->val[tile->id] = l;
	for (int i = 0; i < n; i++) {
		Layout other;

		if (acc[i].as && !layout_reshape(&other, l, acc[i].as->rank, acc[i].as->shape)) {
			reshape_error(s, acc[i].op, tile, l);
			return;
		}
	}
	for (int i = 0; i < n; i++)
		s->sol->res[acc[i].op->id].unit[R_smem] += (double)waves[i];
}
