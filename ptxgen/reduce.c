/* reduce.c - sum, max, min along a dim: over the registers of a lane, the lanes of a warp, the warps.
 *
 * f16 and bf16 are reduced in f32 and rounded once.  Across warps the scratch is an array [warps
 * along the dim][elements of the result, first dim fastest] of partial results, 4 bytes each (8 for
 * 64-bit types).  Each partial result is written once; all threads that want an element add up its
 * partial results in the same order, so the replicas of a result are equal bit for bit. */
#include "ptxgen/elt.h"
#include "ptxgen/shuffle.h"

enum { PARTIALS = 4 }; /* independent chains within a lane */

typedef struct ReducePlan {
	int dim;
	int64_t *step; /* register offsets that belong to one result */
	int nstep;
} ReducePlan;

static LV
combine(Gen *g, const Op *o, LV x, LV y)
{
	Op like = *o;
	LV e[3] = { x, y, NULL };

	like.code = o->code == O_reduce_max ? O_max : O_min;
	if (o->code == O_reduce_sum)
		like.code = O_add;
	like.nin = 2;
	return x ? elt_number(g, &like, o->in[0]->type.dtype, e) : y;
}

/* Register offsets of the elements along the dim that a lane holds. */
static void
reduce_steps(Gen *g, ReducePlan *p, const Layout *l)
{
	int n = 1;

	for (int i = l->first[p->dim]; i < l->first[p->dim + 1]; i++)
		if (l->it[i].axis == AX_reg)
			n *= (int)l->it[i].extent;
	p->step = arena_alloc(g->a, sizeof *p->step * (size_t)n);
	p->nstep = 1;
	for (int i = l->first[p->dim]; i < l->first[p->dim + 1]; i++) {
		const Iter *it = &l->it[i];
		int have = p->nstep;

		if (it->axis != AX_reg)
			continue;
		for (int64_t k = 1; k < it->extent; k++)
			for (int j = 0; j < have; j++)
				p->step[p->nstep++] = p->step[j] + k * it->stride;
	}
}

/* One result element over this warp. */
static LV
reduce_warp(Gen *g, Op *o, const ReducePlan *p, int64_t r)
{
	const Layout *l = o->in[0]->type.layout;
	LV part[PARTIALS] = { NULL }, x;
	int64_t coord[DIM_MAX] = { 0 }, base;

	tile_coord(tile_of(g, o->out[0]), r, coord);
	base = tile_reg(g, o->in[0], coord);
	for (int i = 0; i < p->nstep; i++)
		part[i % PARTIALS] =
			combine(g, o, part[i % PARTIALS], elem_get(g, o->in[0], base + p->step[i]));
	x = part[0];
	for (int i = 1; i < PARTIALS && part[i]; i++)
		x = combine(g, o, x, part[i]);
	for (int i = l->first[p->dim]; i < l->first[p->dim + 1]; i++) {
		const Iter *it = &l->it[i];

		if (it->axis != AX_lane || it->extent == 1)
			continue;
		BUG_IF(g->a, (it->extent & (it->extent - 1)) || (it->stride & (it->stride - 1)));
		for (int64_t delta = it->stride; delta < it->stride * it->extent; delta *= 2)
			x = combine(g, o, x, shuffle_xor(g, x, (int)delta));
	}
	return x;
}

static void
pull_reduce(Gen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LV e[WORD_ELEMS];
	int n = 0;

	for (; n < t->epw && w * t->epw + n < t->nreg; n++)
		e[n] = reduce_warp(g, o, t->plan, w * t->epw + n);
	t->word[w] = elem_pack(g, t->dtype, e, n);
}

/* ---- across warps ---------------------------------------------------------------------------- */

typedef struct Across {
	int64_t warps, size; /* warps along the dim; elements of the result */
	int words; /* 32-bit words of a partial result */
	LV mine,
		group; /* i32: address of this thread's slot of register 0; the same of warp 0 of the dim */
	LV exec; /* lanes that write; NULL: all */
} Across;

static int64_t
warps_along(const Layout *l, int dim)
{
	int64_t n = 1;

	for (int i = l->first[dim]; i < l->first[dim + 1]; i++)
		if (l->it[i].axis == AX_warp)
			n *= l->it[i].extent;
	return n;
}

/* Byte offset of the slot of the element at `coord` of lane 0. */
static int64_t
slot_offset(const Op *o, const Across *a, const int64_t *coord)
{
	int64_t at = 0, weight = 4 * a->words;

	for (int d = 0; d < o->out[0]->type.rank; d++) {
		at += coord[d] * weight;
		weight *= o->out[0]->type.shape[d];
	}
	return at;
}

static void
across_new(Gen *g, const Op *o, Across *a, int dim)
{
	const Layout *in = o->in[0]->type.layout, *out = o->out[0]->type.layout;
	int64_t weight = 4;
	LV at, lanes;

	a->words = dtype_info[o->in[0]->type.dtype].bits == 64 ? 2 : 1;
	a->warps = warps_along(in, dim);
	a->size = type_size(&o->out[0]->type);
	weight *= a->words;
	at = LLVMBuildAdd(g->pre, smem_base(g), const_i32(g, o->pick->scratch_off), "");
	for (int d = 0; d < out->ndim; d++) {
		LV c = LLVMBuildMul(g->pre, lane_coord(g, out, d), const_i32(g, weight), "");

		at = LLVMBuildAdd(g->pre, at, c, "");
		weight *= o->out[0]->type.shape[d];
	}
	a->group = at;
	at = LLVMBuildMul(g->pre, axis_digits(g, in, dim, AX_warp), const_i32(g, weight), "");
	a->mine = LLVMBuildAdd(g->pre, a->group, at, "");
	lanes = LLVMBuildICmp(g->pre, LLVMIntEQ, axis_digits(g, in, dim, AX_lane), const_i32(g, 0), "");
	a->exec = lane_first(g, in);
	a->exec = a->exec ? LLVMBuildAnd(g->pre, a->exec, lanes, "") : lanes;
}

static void
partial_write(Gen *g, const Across *a, int64_t offset, LV x)
{
	LV in[4], i;
	int n = 0;

	if (a->words == 2) {
		i = LLVMBuildBitCast(g->b, x, g->i64, "");
		in[n++] = LLVMBuildTrunc(g->b, i, g->i32, "");
		in[n++] = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, i, const_i64(g, 32), ""), g->i32,
		                         "");
	} else {
		in[n++] = as_i32(g, x);
	}
	in[n++] = a->mine;
	in[n++] = const_i32(g, offset);
	asm_instr(g, mem_instr(g, IK_st_shared, 32 * a->words), in, n, a->exec, NULL);
}

static LV
partial_read(Gen *g, const Op *o, const Across *a, int64_t offset)
{
	LV in[2], out[2], x;
	DType d = o->in[0]->type.dtype;

	in[0] = a->group;
	in[1] = const_i32(g, offset);
	asm_instr(g, mem_instr(g, IK_ld_shared, 32 * a->words), in, 2, NULL, out);
	if (a->words == 1)
		return dtype_info[d].kind == K_flt ? as_f32(g, out[0]) : out[0];
	x = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, out[1], g->i64, ""), const_i64(g, 32), "");
	x = LLVMBuildOr(g->b, x, LLVMBuildZExt(g->b, out[0], g->i64, ""), "");
	return d == D_f64 ? LLVMBuildBitCast(g->b, x, g->f64, "") : x;
}

static void
reduce_across(Gen *g, Op *o, Tile *t)
{
	Across a = { 0 };
	LV *e = lv_array(g, t->nreg);
	int64_t coord[DIM_MAX] = { 0 };

	across_new(g, o, &a, (int)o->imm[0]);
	BUG_IF(g->a, !o->pick || o->pick->scratch_off < 0 ||
	                     o->pick->scratch_bytes < a.size * a.warps * 4 * a.words);
	for (int r = 0; r < t->nreg; r++)
		e[r] = reduce_warp(g, o, t->plan, r);
	emit_block_barrier(g); /* the scratch may still be read by its last user */
	for (int r = 0; r < t->nreg; r++) {
		tile_coord(t, r, coord);
		partial_write(g, &a, slot_offset(o, &a, coord), e[r]);
	}
	emit_block_barrier(g);
	for (int r = 0; r < t->nreg; r++) {
		e[r] = NULL;
		tile_coord(t, r, coord);
		for (int64_t i = 0; i < a.warps; i++) {
			int64_t at = slot_offset(o, &a, coord) + i * a.size * 4 * a.words;

			e[r] = combine(g, o, e[r], partial_read(g, o, &a, at));
		}
	}
	for (int w = 0; w < t->nword; w++) {
		int left = t->nreg - w * t->epw;

		t->word[w] = elem_pack(g, t->dtype, e + w * t->epw, left < t->epw ? left : t->epw);
	}
}

void
emit_reduce(Gen *g, Op *o)
{
	ReducePlan *p = NEW(g->a, ReducePlan);
	const Layout *l = o->in[0]->type.layout;

	p->dim = (int)o->imm[0];
	reduce_steps(g, p, l);
	if (warps_along(l, p->dim) == 1) {
		tile_lazy(g, o, pull_reduce, p);
		return;
	}
	Tile *t = tile_new(g, o->out[0]);

	t->plan = p;
	reduce_across(g, o, t);
}
