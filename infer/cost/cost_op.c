/* cost_op.c - estimates the SM resources of one execution of an op by all warps of the block, in cycles of
 * each unit.
 *
 * Counts instructions, wavefronts and sectors; the throughput of the units is in sm_throughput.def. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/bit_order.h"
#include "infer/core/sm_throughput.h"
#include "infer/core/contiguity.h"
#include "infer/cost/cost.h"
#include <math.h>
#include <string.h>

/* Adds n warp instructions of arithmetic on elements of type d. */
static void
arithmetic(const Solve *s, Res *r, DType d, double n)
{
	r->unit[R_alu] += n * alu_clocks(s->rates, d);
	r->unit[R_issue] += n / ISSUE_RATE;
}

void
memory_instructions(Res *r, double n)
{
	r->unit[R_issue] += n / ISSUE_RATE;
}

bool
is_prefetched(const Solve *s, const Op *o)
{
	const Lowering *how = s->sol->mconv[o->id][0];

	return s->prefetched[o->id] && (!how || how->kind == LW_rename);
}

/* ---- global memory ---------------------------------------------------------------------------------- */

/* Returns the global-memory operand of o. */
static const Val *
global_side(const Op *o)
{
	return o->in[0]->type.space == S_global ? o->in[0] : o->in[1];
}

/* Cached counts of an op. */
typedef struct PiecesMemo {
	Layout map;
	int vec, bytes;
	int64_t n;
	struct PiecesMemo *next;
} PiecesMemo;

void
forget_pieces(Solve *s)
{
	s->pieces = NEWN(s->arena, PiecesMemo *, s->k->nop + 1);
}

static int64_t
count_pieces(const Solve *s, const Op *o, const Layout *map, int vec, int bytes)
{
	const Val *mem = global_side(o);
	const Op *view = mem->def;
	int bits = bits_of(mem), unit = view ? view_unit_dim(s->k, view) : -1, n = 0;
	bool write = o->code == O_store;
	int64_t ninst = layout_cosize(map, AX_reg) / vec, pieces;
	int64_t seen[32];

	/* Instances differ by constants, so the first represents all.  Rows along other dims than the
	 * contiguous one never share a piece. */
	for (int lane = 0; lane < WARP_SIZE; lane++) {
		Coord p = { .at = { 0 } };
		int64_t c[DIM_MAX] = { 0 }, key;
		int j;

		p.at[AX_lane] = lane;
		if (write && !layout_first_replica(map, lane, 0))
			continue;
		layout_index(map, &p, c);
		key = unit >= 0 ? c[unit] * bits / 8 / bytes : 0;
		for (int d = 0; d < map->ndim; d++)
			if (d != unit)
				key = key * 4096 + c[d];
		for (j = 0; j < n && seen[j] != key; j++)
			;
		if (j == n)
			seen[n++] = key;
	}
	pieces = n;
	if ((int64_t)vec * bits > 8 * bytes)
		pieces *= (int64_t)vec * bits / (8 * bytes);
	for (int w = 1, first = n; w < op_warps(o); w++)
		if (!write || layout_first_replica(map, 0, w))
			pieces += first;
	return pieces * ninst;
}

/* Returns how many aligned pieces of `bytes` bytes o requests with accesses of `vec` elements, each counted
 * per request. */
static int64_t
pieces_asked(const Solve *s, const Op *o, const Layout *map, int vec, int bytes)
{
	PiecesMemo *m;

	for (m = s->pieces[o->id]; m; m = m->next)
		if (m->vec == vec && m->bytes == bytes && layout_identical(&m->map, map))
			return m->n;
	m = NEW(s->arena, PiecesMemo);
	*m = (PiecesMemo){ *map, vec, bytes, count_pieces(s, o, map, vec, bytes), s->pieces[o->id] };
	s->pieces[o->id] = m;
	return m->n;
}

int64_t
global_sectors(const Solve *s, const Op *o, const Layout *map, int vec)
{
	return pieces_asked(s, o, map, vec, SECTOR_BYTES);
}

/* Returns how many pieces of `bytes` bytes the in-bounds part of a tile touches. */
static double
tile_pieces(const Solve *s, const Op *view, const Type *t, int bytes)
{
	int unit = view ? view_unit_dim(s->k, view) : -1;
	double rows = 1, row = 1;

	for (int d = 0; d < t->rank; d++) {
		double n = (double)(view ? view_within(view, d) : t->shape[d]);

		if (d == unit)
			row = n * dtype_info[t->dtype].bits / (8 * bytes);
		else
			rows *= n;
	}
	return rows * (row < 1 ? 1 : row);
}

double
tile_sectors(const Solve *s, const Op *view, const Type *t)
{
	return tile_pieces(s, view, t, SECTOR_BYTES);
}

/* Does every block access a different part of the tensor? */
static bool
own_part(const Solve *s, const Op *view)
{
	const Op *end = s->k->grid ? s->k->grid->last : NULL;
	int dims = view ? s->dims[view->out[0]->id] : 0, all = 0;
	int64_t one;

	for (int i = 0; end && i < end->nin && i < 3; i++)
		if (!val_is_const(end->in[i], &one) || one != 1)
			all |= 1 << i;
	return (all & ~dims) == 0;
}

double
memory_rate(const Solve *s, const Op *view)
{
	double l2 = l2_bytes(s->rates), dram = dram_bytes(s->rates);

	return own_part(s, view) && dram < l2 ? dram : l2;
}

/* Returns the elements of a sector that a lane touches with consecutive accesses of `vec` elements.  With
 * 16-byte accesses that may be both halves, which combine before the sector is transferred. */
static int
meeting(const Solve *s, const Op *view, const Layout *map, int vec, int bits)
{
	int unit = view ? view_unit_dim(s->k, view) : -1, sector = 8 * SECTOR_BYTES / bits;

	return unit >= 0 && 2 * vec == sector && layout_run(map, unit, AX_reg) % sector == 0 ? sector : vec;
}

/* Returns the in-bounds fraction of a view's elements. */
static double
there(const Op *view)
{
	double part = 1;

	for (int d = 0; view && d < view->out[0]->type.rank; d++)
		part *= (double)view_within(view, d) / (double)view->out[0]->type.shape[d];
	return part;
}

/* Returns the cycles in which `inst` accesses of `vec` elements wait for tag lookups of cache lines,
 * REQUEST_LINES per cycle.  Lookups that overlap with transfers (a line per cycle), and those of the tile's
 * distinct lines, are free.  Warps that load the same data share lookups. */
static double
line_clocks(const Solve *s, const Op *o, const Val *mem, const Layout *map, int vec, double inst)
{
	int line = REQUEST_SECTORS * SECTOR_BYTES, bits = dtype_info[mem->type.dtype].bits;
	double lines = (double)pieces_asked(s, o, map, vec, line);
	double moves = inst * (double)ceil_div(WARP_SIZE * vec * bits, 8 * line);
	double beside = fmax(REQUEST_LINES * moves, tile_pieces(s, mem->def, &mem->type, line));

	if (o->code != O_store)
		lines /= (double)layout_replicas_on(map, AX_warp);
	return fmax(lines - beside, 0) / REQUEST_LINES;
}

/* Does a lane own a longer contiguous run of the tile than the accesses of it, and of tiles with equal
 * layouts, require? */
static bool
longer_run(const Solve *s, const Op *o, const Val *mem, const Layout *map)
{
	const Val *tile = o->code == O_load ? o->out[0] : o->in[0];
	int unit = mem->def ? view_unit_dim(s->k, mem->def) : -1;

	return o->code != O_copy && unit >= 0 && layout_run(map, unit, AX_reg) > lane_run(s, tile, unit);
}

static void
cost_global(const Solve *s, const Op *o, const Val *mem, const Layout *map, int vec, Res *r)
{
	int bits = dtype_info[mem->type.dtype].bits;
	double inst = (double)(layout_cosize(map, AX_reg) / vec * dtype_pieces(mem->type.dtype)) *
	              op_warps(o);
	int met = meeting(s, mem->def, map, vec, bits);
	double asked = (double)global_sectors(s, o, map, vec), moved = (double)global_sectors(s, o, map, met);
	double parts = longer_run(s, o, mem, map) ? asked - moved : 0;

	if (o->code != O_store) {
		double tile = tile_sectors(s, mem->def, &mem->type);
		moved = tile < moved ? tile : moved;
	} else {
		moved *= there(mem->def) * (IMM(o, update) ? UPDATE_SECTORS : 1);
		parts *= there(mem->def);
	}
	r->unit[R_gmem] += PART_SHARE * parts * SECTOR_BYTES / l2_bytes(s->rates);
	r->unit[R_gmem] += moved * SECTOR_BYTES / memory_rate(s, mem->def);
	r->unit[R_gmem] += LINE_SHARE * line_clocks(s, o, mem, map, vec, inst);
	/* cp.async: bytes pass once, into shared memory: smem_swizzle.c */
	if (!(o->code == O_copy && IMM(o, async)))
		r->unit[R_smem] += asked / REQUEST_SECTORS > inst ? asked / REQUEST_SECTORS : inst;
	if (o->code != O_store && !(o->code == O_copy && IMM(o, async)) && !is_prefetched(s, o))
		r->wait = s->rates->l2_wait;
}

/* Does o store to a shared tile that gathers read?  The warps synchronize after it. */
static bool
stores_table(const Solve *s, const Op *o)
{
	const Val *mem = o->code == O_store ? store_dest(o) : NULL;

	for (int i = 0; mem && mem->type.space == S_shared && i < s->nuse[mem->id]; i++)
		if (view_gather_dim(s->use[mem->id][i].op) >= 0)
			return true;
	return false;
}

static void
cost_memory(const Solve *s, const Op *o, Res *r)
{
	const LoweredAccess *p = &s->sol->lowering[o->id]->access;
	const Val *mem = o->code == O_load ? load_source(o) : o->code == O_copy ? copy_source(o)
	                                                                        : store_dest(o);
	const Layout *map = p->map ? p->map : o->code == O_load ? result_layout(s, o, 0)
	                                                        : operand_layout(s, o, 0);
	const Instr *in = instr_of(s->sol->lowering[o->id]);
	int bits = dtype_info[mem->type.dtype].bits, pieces = dtype_pieces(mem->type.dtype);
	double inst = (double)(layout_cosize(map, AX_reg) / p->vec * pieces) * op_warps(o);

	memory_instructions(r, in && in->kind == IK_ld_st ? 2 * inst : inst);
	if (o->code == O_copy && IMM(o, async) == COPY_BARRIER && in && in->kind != IK_cp_async)
		r->wait = s->rates->l2_wait *
		          (double)ceil_div(layout_cosize(map, AX_reg) / p->vec, COPIES_AHEAD);
	if (in && in->kind == IK_ld_bits) {
		double one = (double)layout_cosize(map, AX_reg) * (pieces > 1 ? 2 : 1) * op_warps(o);
		memory_instructions(r, one);
		arithmetic(s, r, D_i32, BITS_STEPS * one);
	}
	if (o->code == O_load && p->vec * bits < 32) /* elements narrower than 32 bits are packed */
		arithmetic(s, r, D_i32, inst * (1 - p->vec * bits / 32.0));
	if (pieces > 1 && o->code != O_copy) /* elements move between the bit stream and their slots */
		arithmetic(s, r, D_i32, (double)layout_cosize(map, AX_reg) * op_warps(o));
	if (mem->type.space == S_global) {
		if (o->code == O_load && is_prefetched(s, o))
			arithmetic(s, r, D_i32, AHEAD_STEPS * inst * (1 - p->vec * bits / 128.0));
		cost_global(s, o, mem, map, p->vec, r);
	} else {
		r->latency += (double)s->rates->shared_wait / SHARED_OVERLAP;
	}
	if (stores_table(s, o)) {
		r->latency += BARRIER_CLOCKS;
		r->barrier = true;
	}
}

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

/* Instructions per 32-bit register of the result, estimated by kind of op. */
static double
alu_weight(const Op *o)
{
	switch (o->code) {
	case O_log:
	case O_sqrt:
	case O_rsqrt:
		return GUARD_STEPS;
	case O_div:
		if (dtype_info[o->out[0]->type.dtype].kind != K_flt)
			return INT_DIV_STEPS;
		return IMM(o, exact) ? EXACT_DIV_STEPS : FLOAT_DIV_STEPS;
	case O_mod:
		return MOD_STEPS;
	case O_sparse_expand:
		return EXPAND_STEPS;
	case O_unpack:
	case O_pin:
	case O_relabel_layout:
	case O_transpose:
	case O_slice:
	case O_concat:
	case O_broadcast:
	case O_bitcast:
	case O_exp2:
	case O_const:
	case O_splat:
	case O_reshape:
		return 0;
	default:
		return 1;
	}
}

/* Instructions of the special function unit per element of the result. */
static double
mufu_weight(const Op *o)
{
	switch (o->code) {
	case O_exp:
	case O_exp2:
	case O_log:
	case O_sqrt:
	case O_rsqrt:
	case O_tanh:
	case O_floor:
	case O_ceil:
	case O_round:
	case O_trunc:
	case O_popcount:
	case O_clz:
		return 1;
	case O_div:
		return dtype_info[o->out[0]->type.dtype].kind == K_flt ? 1 : INT_DIV_MUFU;
	default:
		return 0;
	}
}

static bool
is_reduce(const Op *o)
{
	return o->code == O_reduce_sum || o->code == O_reduce_max || o->code == O_reduce_min;
}

/* Casts from narrow types use cast sequences, or convert element by element; others have an instruction. */
static void
cost_cast(const Solve *s, const Op *o, Res *r)
{
	DType from = op_source(o)->type.dtype, to = o->out[0]->type.dtype;
	int64_t regs = layout_cosize(result_layout(s, o, 0), AX_reg);
	double n = s->k->warps, words = n * (double)(ceil_div(regs * dtype_slot_bits(to), 32));
	const CastCost *p;

	if (dtype_info[from].bits > 8 && to != D_bool) {
		r->unit[R_alu] += words * WARP_SIZE / s->rates->cvt;
		r->unit[R_issue] += words / ISSUE_RATE;
		return;
	}
	p = cast_cost(s, o, s->sol->bit_order[op_source(o)->id]);
	if (p->any) {
		double groups = n * (double)regs / BIT_GROUP;
		arithmetic(s, r, D_i32, groups * p->steps);
		arithmetic(s, r, to, groups * p->last);
		return;
	}
	arithmetic(s, r, D_i32, ELEMENT_CAST * n * (double)regs);
}

/* Returns the registers of a lane's part of a gather table, any of which an index may select; *lanes: lanes
 * with parts. */
static double
gather_words(const Solve *s, const Op *o, int64_t *lanes)
{
	const Layout *l = operand_layout(s, o, 0);
	int d = lookup_table(o)->type.rank - 1, slot = dtype_slot_bits(lookup_table(o)->type.dtype);
	int64_t regs = layout_extent_on(l, d, AX_reg);

	*lanes = layout_extent_on(l, d, AX_lane);
	return (double)(slot > 32 ? regs * slot / 32 : ceil_div(regs * slot, 32));
}

/* For each element, all registers that it may be in are shuffled from one lane, and one is selected. */
static void
cost_gather(const Solve *s, const Op *o, Res *r)
{
	DType d = o->out[0]->type.dtype;
	double elems = (double)layout_cosize(result_layout(s, o, 0), AX_reg) * s->k->warps, words;
	int64_t lanes;

	words = gather_words(s, o, &lanes);
	arithmetic(s, r, D_i32, elems * (words - 1));
	if (words > 1 || dtype_per_word(d) > 1)
		arithmetic(s, r, D_i32, elems * GATHER_STEPS);
	if (dtype_per_word(d) > 1) /* extracted from its slot and inserted into another */
		arithmetic(s, r, D_i32, elems * 2);
	if (lanes < 2)
		return;
	r->unit[R_smem] += elems * words;
	r->unit[R_issue] += elems * words / ISSUE_RATE;
	r->latency += SHUFFLE_CLOCKS;
}

static void
cost_elements(const Solve *s, const Op *o, Res *r)
{
	const Layout *l = is_reduce(o) ? operand_layout(s, o, 0) : result_layout(s, o, 0);
	DType d = o->out[0]->type.dtype;
	double n = s->k->warps, elems = n * (double)layout_cosize(l, AX_reg);

	if (o->code == O_cast) {
		cost_cast(s, o, r);
		return;
	}
	if (o->code == O_lookup) {
		arithmetic(s, r, D_i32, elems * lookup_weight(s, o));
		return;
	}
	arithmetic(s, r, d, n * (double)layout_words(l, dtype_slot_bits(d)) * alu_weight(o));
	r->unit[R_mufu] += elems * mufu_weight(o) * WARP_SIZE / s->rates->mufu;
	r->unit[R_issue] += elems * mufu_weight(o) / ISSUE_RATE;
}

/* Returns the index of dim d (0: m, 1: n, 2: k) that the instances of a dot use at a position. */
static int64_t
index_at(const DotChoice *c, int d, int64_t position)
{
	const Layout *order = d < 2 ? c->side[d] : c->order;
	int64_t i = 0;

	if (!order)
		return position;
	while (layout_at_index(order, i).at[AX_mem] != position)
		i++;
	return i;
}

/* Returns the registers of operand j of an instance that must be moved before it.  The MMA needs consecutive
 * registers, and a vector load writes consecutive ones.  Where these differ, ptxas repeats the moves for most
 * instances. */
static int64_t
moved_words(const Solve *s, const Op *dot, int j)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[dot->id]];
	const Op *load = dot->in[j]->def;
	const Lowering *how = load ? s->sol->lowering[load->id] : NULL;
	const Layout *regs = operand_layout(s, dot, j);
	int epw = dtype_per_word(dot->in[j]->type.dtype);
	int64_t together, nword, first = 0;
	int b = dot_batch(dot);
	Layout f;

	if (!load || load->code != O_load || s->sol->mconv[load->id][0] || s->sol->conv[dot->id][j] ||
	    !instr_fragment(c->inst, j, c->swap, &f))
		return 0;
	if (how->access.map && instr_of(how)->kind != IK_ldmatrix)
		regs = how->access.map;
	nword = layout_cosize(&f, AX_reg) / epw;
	together = how->access.vec / epw < nword ? how->access.vec / epw : nword;
	for (int64_t i = 0; together > 1 && i < nword; i++) {
		Coord at = { .at = { [AX_reg] = i * epw } };
		int64_t in[DIM_MAX] = { 0 }, x[DIM_MAX] = { 0 }, word;

		layout_index(&f, &at, in);
		x[b + j] = index_at(c, j, in[j]);
		x[b + 1 - j] = index_at(c, 2, in[1 - j]);
		word = layout_at(regs, x).at[AX_reg] / epw;
		if (i % together == 0)
			first = word;
		if (first % together || word != first + i % together)
			return nword;
	}
	return 0;
}

static void
cost_dot(const Solve *s, const Op *o, Res *r)
{
	const Instr *in = instr_of(s->sol->lowering[o->id]);
	const Layout *lc = s->sol->val[o->out[0]->id];
	double work = (double)type_size(&o->out[0]->type) * (double)dot_k(o);

	work *= (double)layout_replicas(lc); /* replicated work of warps */
	if (dot_is_sparse(o)) {
		bool one = mma_extra(o, 0)->type.dtype == D_u1;
		int64_t words = layout_words(operand_layout(s, o, 3), bits_of(mma_extra(o, 0)));
		arithmetic(s, r, D_i32, (double)words * s->k->warps * (one ? WIDEN_STEPS : ORDER_STEPS));
	}
	if (in && in->kind != IK_fma) {
		double instances = work / ((double)in->m * in->n * in->k);
		r->unit[R_mma] += instances * mma_clocks(s->rates, in);
		r->unit[R_issue] += instances * MMA_SLOTS / ISSUE_RATE;
		arithmetic(s, r, D_i32, instances * (double)(moved_words(s, o, 0) + moved_words(s, o, 1)));
	} else {
		arithmetic(s, r, mma_a(o)->type.dtype, work / WARP_SIZE);
	}
	r->latency += DOT_CLOCKS;
}

/* ---- across lanes and warps ------------------------------------------------------------------ */

static void
cost_reduce(const Solve *s, const Op *o, Res *r)
{
	const Layout *in = operand_layout(s, o, 0);
	int d = (int)IMM(o, dim), bits = dtype_info[o->out[0]->type.dtype].bits;
	double words = (double)layout_words(s->sol->val[o->out[0]->id], bits < 32 ? 32 : bits) * s->k->warps;

	for (Digit g = dim_digits(in, d); g.it; digit_next(&g)) {
		if (g.it->axis == AX_lane) {
			for (int64_t e = g.it->extent; e > 1; e /= 2) {
				r->unit[R_smem] += words;
				arithmetic(s, r, o->out[0]->type.dtype, words);
				r->unit[R_issue] += words / ISSUE_RATE;
				r->latency += SHUFFLE_CLOCKS;
			}
		} else if (g.it->axis == AX_warp) {
			/* partial sums: cross_warp_reduce.c */
			arithmetic(s, r, o->out[0]->type.dtype, words * (double)g.it->extent);
		}
	}
}

/* Elements that cross lanes take one shuffle, or two if they may come from the preceding row, and a
 * select. */
static void
cost_shift(const Solve *s, const Op *o, Res *r)
{
	const Layout *l = result_layout(s, o, 0);
	int d = (int)IMM(o, dim);
	DimLine line;
	double n, cross;

	if (!layout_line(l, d, &line))
		return;
	cross = IMM(o, by) >= line.low ? 1 : (double)IMM(o, by) / (double)line.low;
	n = (double)layout_cosize(l, AX_reg) * s->k->warps * (line.lanes > 1 ? cross : 0);
	if (line.high > 1)
		n *= 2;
	r->unit[R_smem] += n;
	arithmetic(s, r, D_i32, n);
	r->unit[R_issue] += n / ISSUE_RATE;
	r->latency += n > 0 ? SHUFFLE_CLOCKS : 0;
}

void
cost_conversion(const Solve *s, const Lowering *p, double shuffles, double steps, const int64_t *waves,
                double accesses,
                Res *r)
{
	arithmetic(s, r, D_i32, steps);
	r->unit[R_smem] += shuffles;
	r->unit[R_issue] += shuffles / ISSUE_RATE;
	r->latency += shuffles > 0 ? SHUFFLE_CLOCKS : 0;
	if (!lowering_is_staged(p))
		return;
	r->unit[R_smem] += (double)(waves[0] + waves[1]);
	memory_instructions(r, accesses);
	r->latency += 2 * BARRIER_CLOCKS + s->rates->shared_wait;
	r->barrier = true;
}

void
cost_op(Solve *s, Op *o)
{
	Res *r = &s->sol->res[o->id];

	if (o->code == O_load && o->out[0]->type.space == S_scalar)
		r->latency += load_source(o)->type.space == S_global ? s->rates->l2_wait
		                                                     : s->rates->shared_wait;
	else if (o->code == O_copy && instr_is_box(instr_of(s->sol->lowering[o->id])))
		cost_boxes(s, o, r);
	else if (o->code == O_load || o->code == O_store || o->code == O_copy)
		cost_memory(s, o, r);
	else if (o->code == O_wgmma)
		cost_wgmma(s, o, r);
	else if (o->code == O_dot)
		cost_dot(s, o, r);
	else if (o->code == O_shift)
		cost_shift(s, o, r);
	else if (o->code == O_gather)
		cost_gather(s, o, r);
	else if (op_is_barrier(o))
		r->latency += BARRIER_CLOCKS;
	else if (o->code == O_mbarrier_wait || o->code == O_mbarrier_arrive)
		cost_signal(o, r);
	else if (o->nout == 1 && o->out[0]->type.space == S_reg && op_is(o, F_PURE))
		cost_elements(s, o, r);
	if (op_is_barrier(o))
		r->barrier = true;
	if (is_reduce(o))
		cost_reduce(s, o, r);
}
