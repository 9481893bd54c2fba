/* reduce.c - sum, max, min along a dim: over the registers of a lane, the lanes of a warp, the warps.
 *
 * f16 and bf16 are reduced in f32 and rounded once.  Across warps each thread leaves its partial result in
 * the scratch at slot (register, thread) and adds up those of the warps that share its elements, in the same
 * order everywhere, so all replicas of a result are equal bit for bit. */
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

	like.code = o->code == O_reduce_sum ? O_add : o->code == O_reduce_max ? O_max : O_min;
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
		part[i % PARTIALS] = combine(g, o, part[i % PARTIALS], elem_get(g, o->in[0], base + p->step[i]));
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
	LV e[8];
	int n = 0;

	for (; n < t->epw && w * t->epw + n < t->nreg; n++)
		e[n] = reduce_warp(g, o, t->plan, w * t->epw + n);
	t->word[w] = elem_pack(g, t->dtype, e, n);
}

/* ---- across warps ------------------------------------------------------------------------------------- */

typedef struct Across {
	int64_t *delta; /* warp offsets of those that share an element */
	int ndelta;
	int words;      /* 32-bit words of a partial result */
	LV mine, group; /* i32: address of this thread's slot; of its slot in the first warp of the group */
} Across;

static int
warp_iters(const Layout *l, int dim)
{
	int n = 0;

	for (int i = l->first[dim]; i < l->first[dim + 1]; i++)
		n += l->it[i].axis == AX_warp && l->it[i].extent > 1;
	return n;
}

/* Warps of the group relative to its first, and the number of the first. */
static LV
warp_group(Gen *g, const Layout *l, int dim, Across *a)
{
	LV first = g->warp;

	a->delta = arena_alloc(g->a, sizeof *a->delta * (size_t)g->k->warps);
	a->ndelta = 1;
	for (int i = l->first[dim]; i < l->first[dim + 1]; i++) {
		const Iter *it = &l->it[i];
		int have = a->ndelta;
		LV digit;

		if (it->axis != AX_warp || it->extent == 1)
			continue;
		digit = LLVMBuildUDiv(g->pre, g->warp, const_i32(g, it->stride), "");
		digit = LLVMBuildURem(g->pre, digit, const_i32(g, it->extent), "");
		first = LLVMBuildSub(g->pre, first, LLVMBuildMul(g->pre, digit, const_i32(g, it->stride), ""), "");
		for (int64_t k = 1; k < it->extent; k++)
			for (int j = 0; j < have; j++) {
				BUG_IF(g->a, a->ndelta >= g->k->warps);
				a->delta[a->ndelta++] = a->delta[j] + k * it->stride;
			}
	}
	return first;
}

static LV
partial_slot(Gen *g, const Op *o, const Across *a, LV thread)
{
	LV at = LLVMBuildMul(g->pre, thread, const_i32(g, 4 * a->words), "");

	at = LLVMBuildAdd(g->pre, at, const_i32(g, o->pick->scratch_off), "");
	return LLVMBuildAdd(g->pre, at, smem_base(g), "");
}

static void
across_new(Gen *g, const Op *o, Across *a, int dim)
{
	LV first = warp_group(g, o->in[0]->type.layout, dim, a);

	a->words = dtype_info[o->in[0]->type.dtype].bits == 64 ? 2 : 1;
	a->mine = partial_slot(g, o, a, g->tid);
	first = LLVMBuildAdd(g->pre, LLVMBuildShl(g->pre, first, const_i32(g, 5), ""), g->lane, "");
	a->group = partial_slot(g, o, a, first);
}

static void
partial_write(Gen *g, const Across *a, int64_t r, LV x)
{
	LV in[4], i;
	int n = 0;

	if (a->words == 2) {
		i = LLVMBuildBitCast(g->b, x, g->i64, "");
		in[n++] = LLVMBuildTrunc(g->b, i, g->i32, "");
		in[n++] = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, i, const_i64(g, 32), ""), g->i32, "");
	} else {
		in[n++] = as_i32(g, x);
	}
	in[n++] = a->mine;
	in[n++] = const_i32(g, r * g->k->warps * WARP_SIZE * 4 * a->words);
	asm_instr(g, mem_instr(g, IK_st_shared, 32 * a->words), in, n, NULL, NULL);
}

static LV
partial_read(Gen *g, const Op *o, const Across *a, int64_t r, int64_t delta)
{
	LV in[2], out[2], x;
	DType d = o->in[0]->type.dtype;

	in[0] = a->group;
	in[1] = const_i32(g, (r * g->k->warps + delta) * WARP_SIZE * 4 * a->words);
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

	BUG_IF(g->a, !o->pick || o->pick->scratch_off < 0 ||
	                 o->pick->scratch_bytes < instr_reduce_scratch(t->dtype, t->nreg, g->k->warps));
	across_new(g, o, &a, (int)o->imm[0]);
	for (int r = 0; r < t->nreg; r++)
		e[r] = reduce_warp(g, o, t->plan, r);
	emit_block_barrier(g); /* the scratch may still be read by its last user */
	for (int r = 0; r < t->nreg; r++)
		partial_write(g, &a, r, e[r]);
	emit_block_barrier(g);
	for (int r = 0; r < t->nreg; r++) {
		e[r] = NULL;
		for (int i = 0; i < a.ndelta; i++)
			e[r] = combine(g, o, e[r], partial_read(g, o, &a, r, a.delta[i]));
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
	if (!warp_iters(l, p->dim)) {
		tile_lazy(g, o, pull_reduce, p);
		return;
	}
	Tile *t = tile_new(g, o->out[0]);

	t->plan = p;
	reduce_across(g, o, t);
}
