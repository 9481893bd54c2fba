/* dot.c - emits dots as tensor-core MMA instances, or as FMAs.
 *
 * Instances are at multiples of the instruction's tile. Those whose first element belongs to lane 0 of warp
 * 0 are this warp's (all warps do the same, at other positions). The words that an instance reads follow
 * from the operands' layouts and the instruction's fragments. The k steps are the outer loop. The operands
 * of a step are pulled one step ahead, so that loads and dequantization overlap the MMAs. An accumulator is
 * pulled just before its first instance, so arithmetic on accumulators overlaps them too.
 *
 * The order of k is free if A and B agree. lowering->dot.k, if present, is a layout of one dim [K] -> mem
 * that maps a k index to its position in the instances' k. Likewise dot.rows for m, of A and C, and
 * dot.cols for n, of B and C. Instances are counted by positions. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"
#include "ptxgen/emit.h"
#include "ptxgen/element/element_value.h"
#include "ptxgen/sparse.h"
#include <string.h>

enum { FRAG_MAX = 8 };

typedef struct OperandFragment { /* one operand of the instruction */
	Layout l;
	int nword;    /* words per lane */
	int epw;
} OperandFragment;

typedef struct DotPlan {
	Op *o;
	const Instr *inst;
	bool swap;       /* the instruction computes the transpose */
	OperandFragment a, b, c;
	int nm, nn, nk;  /* instances of this warp along m and n; steps along k */
	int64_t *m, *n;  /* positions of these instances */
	int first, nbatch; /* the dim of m; number of this warp's batches, */
	int64_t *batch;    /* as row-major indices over the preceding dims */
	int64_t *row, *col, *k; /* index along m, n, k by position */
	/* a sparse operand: metadata by instance and group of steps, NULL until created; steps per group */
	LV *meta;
	int turns;
	LV *acc;         /* words of the result, in register order */
} DotPlan;

static void
frag_init(Codegen *g, OperandFragment *f, const DotPlan *p, int operand, DType d)
{
	bool ok = instr_fragment(p->inst, operand, p->swap, &f->l);

	BUG_IF(g->a, !ok);
	f->epw = dtype_per_word(d);
	f->nword = (int)layout_cosize(&f->l, AX_reg) / f->epw;
	BUG_IF(g->a, f->nword < 1 || f->nword > FRAG_MAX);
}

/* Returns the word of `v` that is word i of the fragment at position (row, col) of a batch; by0[] and
 * by1[]: the indices of both dims by position. */
static int
frag_word(Codegen *g, const OperandFragment *f, Val *v, int i, int64_t batch, int64_t row, int64_t col,
	  const int64_t *by0,
          const int64_t *by1)
{
	Coord p = { { 0 } };
	int64_t at[DIM_MAX] = { 0 }, own[DIM_MAX] = { 0 };
	int d = v->type.rank - 2;
	int64_t first = 0;

	for (int e = 0; e < f->epw; e++) {
		int64_t r;

		p.at[AX_reg] = (int64_t)i * f->epw + e;
		layout_index(&f->l, &p, own);
		row_major_coord(d, v->type.shape, batch, at);
		at[d] = by0[own[0] + row];
		at[d + 1] = by1[own[1] + col];
		r = layout_at(v->type.layout, at).at[AX_reg];
		first = e == 0 ? r : first;
		BUG_IF(g->a, r != first + e || first % f->epw);
	}
	return (int)(first / f->epw);
}

/* Returns an operand word; tf32 is passed as 32 bits. */
static LV
operand_word(Codegen *g, Val *v, int w)
{
	LV x = word_get(g, v, w);

	return v->type.dtype == D_tf32 ? as_i32(g, x) : x;
}

/* Reads the words of operand i for the instance of a batch at position `at` along its own dim, m or n, and
 * k; a sparse operand has half as many k. */
static void
pull_operand(Codegen *g, const DotPlan *p, int i, int64_t batch, int64_t at, int64_t k, LV *out)
{
	Val *v = p->o->in[i];
	const OperandFragment *f = i ? &p->b : &p->a;

	if (dot_is_sparse(p->o) && dot_side(p->o) == i)
		k /= 2;
	for (int w = 0; w < f->nword; w++)
		out[w] = operand_word(g, v,
		                      i ? frag_word(g, f, v, w, batch, k, at, p->k, p->col)
		                        : frag_word(g, f, v, w, batch, at, k, p->row, p->k));
}

/* Returns the n indices of a dim, sorted by the positions that map gives them. */
static int64_t *
by_position(Codegen *g, int64_t n, const Layout *map)
{
	int64_t *by = arena_alloc(g->a, sizeof *by * (size_t)n);

	BUG_IF(g->a, map && layout_size(map) != n);
	for (int64_t i = 0; i < n; i++) {
		int64_t at = map ? layout_at_index(map, i).at[AX_mem] : i;

		BUG_IF(g->a, at < 0 || at >= n);
		by[at] = i;
	}
	return by;
}

/* Does the element at c belong to the first lane of the first warp? */
static bool
is_first(const Val *acc, const int64_t *c)
{
	Coord p = layout_at(acc->type.layout, c);

	return p.at[AX_lane] == 0 && p.at[AX_warp] == 0;
}

/* Returns the batches of this warp. */
static int64_t *
own_batches(Codegen *g, const Val *acc, int *count)
{
	int first = acc->type.rank - 2;
	int64_t n = 1, c[DIM_MAX] = { 0 }, *batch;

	for (int d = 0; d < first; d++)
		n *= acc->type.shape[d];
	batch = arena_alloc(g->a, sizeof *batch * (size_t)n);
	*count = 0;
	for (int64_t i = 0; i < n; i++) {
		row_major_coord(first, acc->type.shape, i, c);
		if (is_first(acc, c))
			batch[(*count)++] = i;
	}
	BUG_IF(g->a, *count == 0);
	return batch;
}

/* Returns the positions of this warp's instances along dim d of the accumulator. */
static int64_t *
own_positions(Codegen *g, const Val *acc, int d, const int64_t *by, int step, int *count)
{
	int64_t n = acc->type.shape[d] / step, c[DIM_MAX] = { 0 };
	int64_t *at = arena_alloc(g->a, sizeof *at * (size_t)(n + 1));

	BUG_IF(g->a, acc->type.shape[d] % step);
	*count = 0;
	for (int64_t i = 0; i < n; i++) {
		c[d] = by[i * step];
		if (is_first(acc, c))
			at[(*count)++] = i * step;
	}
	BUG_IF(g->a, *count == 0);
	return at;
}

/* Returns the metadata of instance i (along the sparse dim) and step k, which a group of steps shares. */
static LV
metadata(Codegen *g, const DotPlan *p, int i, int k)
{
	Val *v = mma_extra(p->o, 0);
	int side = dot_side(p->o), group = k / p->turns;
	LV *meta = &p->meta[i * p->nk / p->turns + group];
	int64_t at[DIM_MAX] = { 0 };

	if (*meta)
		return *meta;
	at[side] = side ? p->n[i] : p->m[i];
	at[1 - side] = v->type.shape[1 - side] / p->nk * group * p->turns;
	return *meta = sparse_metadata(g, v, tile_reg(g, v, at));
}

/* Returns the register of scales of operand `side` for the instance at position `at` of its own dim, m or
 * n, and k; the byte where they start; and the lane, of four, that supplies them. Scales are unsigned. */
static void
scale_pull(Codegen *g, const DotPlan *p, int side, int64_t at, int64_t k, LV *out)
{
	Val *v = mma_extra(p->o, side);
	bool signs = dtype_info[v->type.dtype].codes != C_scale;
	int64_t c[DIM_MAX] = { 0 };
	Coord here;
	LV word;

	c[side] = at;
	c[1 - side] = k / dot_block(p->o, side);
	here = layout_at(v->type.layout, c);
	BUG_IF(g->a, here.at[AX_reg] % p->inst->scales);
	word = word_get(g, v, (int)(here.at[AX_reg] / 4));
	out[0] = signs ? LLVMBuildAnd(g->b, word, const_i32(g, 0x7f7f7f7f), "") : word;
	out[1] = const_i32(g, here.at[AX_reg] % 4);
	out[2] = const_i32(g, here.at[AX_lane] % 4 / (side == p->swap ? 2 : 1));
}

static void
sparse_init(Codegen *g, DotPlan *p)
{
	int all = instr_selectors(p->inst);

	for (p->turns = 1; p->turns * 2 <= all && p->nk % (p->turns * 2) == 0;)
		p->turns *= 2;
	p->meta = lv_array(g, (dot_side(p->o) ? p->nn : p->nm) * p->nk);
}

/* Pulls the operands of a step: along k, and the batches of each k. */
static void
step_pull(Codegen *g, const DotPlan *p, int step)
{
	LV out[FRAG_MAX];
	int k = step / p->nbatch;
	int64_t at = (int64_t)k * p->inst->k, batch = p->batch[step % p->nbatch];

	for (int i = 0; i < p->nm; i++)
		pull_operand(g, p, 0, batch, p->m[i], at, out);
	for (int j = 0; j < p->nn; j++)
		pull_operand(g, p, 1, batch, p->n[j], at, out);
	for (int i = 0; p->meta && i < (dot_side(p->o) ? p->nn : p->nm); i++)
		metadata(g, p, i, k);
}

static void
instance(Codegen *g, DotPlan *p, int i, int j, int step)
{
	LV in[3 * FRAG_MAX + 6], out[FRAG_MAX];
	int word[FRAG_MAX], n = p->a.nword + p->b.nword;
	int k = step / p->nbatch;
	int64_t at = (int64_t)k * p->inst->k, batch = p->batch[step % p->nbatch];

	pull_operand(g, p, 0, batch, p->m[i], at, p->swap ? in + p->b.nword : in);
	pull_operand(g, p, 1, batch, p->n[j], at, p->swap ? in : in + p->a.nword);
	for (int c = 0; c < p->c.nword; c++) {
		word[c] = frag_word(g, &p->c, p->o->out[0], c, batch, p->m[i], p->n[j], p->row, p->col);
		in[n + c] = p->acc[word[c]] ? p->acc[word[c]] : word_get(g, mma_acc(p->o), word[c]);
	}
	n += p->c.nword;
	if (p->meta) {
		in[n++] = metadata(g, p, dot_side(p->o) ? j : i, k);
		in[n++] = const_i32(g, k % p->turns);
	}
	if (dot_is_scaled(p->o)) {
		scale_pull(g, p, 0, p->m[i], at, p->swap ? in + n + 3 : in + n);
		scale_pull(g, p, 1, p->n[j], at, p->swap ? in + n : in + n + 3);
		n += 6;
	}
	asm_instr(g, p->inst, in, n, NULL, out);
	for (int c = 0; c < p->c.nword; c++)
		p->acc[word[c]] = out[c];
}

/* Initializes the result's words: the first instance of each adds to the operand's word with the same
 * index. */
static void
acc_init(Codegen *g, DotPlan *p, Tile *t)
{
	BUG_IF(g->a, tile_of(g, mma_acc(p->o))->nword != t->nword);
	p->acc = t->word;
}

static DotPlan
plan_new(Codegen *g, Op *o, const Instr *inst)
{
	DotPlan p = { .o = o, .inst = inst, .swap = o->lowering->dot.swap };
	DType ta = mma_a(o)->type.dtype, tb = mma_b(o)->type.dtype;

	BUG_IF(g->a, inst->ta != (p.swap ? tb : ta) || inst->tb != (p.swap ? ta : tb) ||
	                     inst->acc != o->out[0]->type.dtype);
	BUG_IF(g->a, dot_k(o) % inst->k || (inst->kind == IK_mma_sp) != dot_is_sparse(o) ||
	                     (inst->kind == IK_mma_scaled) != dot_is_scaled(o));
	frag_init(g, &p.a, &p, 0, ta);
	frag_init(g, &p.b, &p, 1, tb);
	frag_init(g, &p.c, &p, 2, inst->acc);
	p.first = dot_batch(o);
	p.batch = own_batches(g, o->out[0], &p.nbatch);
	p.row = by_position(g, o->out[0]->type.shape[p.first], o->lowering->dot.rows);
	p.col = by_position(g, o->out[0]->type.shape[p.first + 1], o->lowering->dot.cols);
	p.k = by_position(g, dot_k(o), o->lowering->dot.k);
	p.m = own_positions(g, o->out[0], p.first, p.row, p.swap ? inst->n : inst->m, &p.nm);
	p.n = own_positions(g, o->out[0], p.first + 1, p.col, p.swap ? inst->m : inst->n, &p.nn);
	p.nk = (int)(dot_k(o) / inst->k);
	return p;
}

static void
dot_mma(Codegen *g, Op *o, const Instr *inst)
{
	DotPlan p = plan_new(g, o, inst);
	Tile *t = tile_new(g, o->out[0]);
	int from = o->lowering->dot.from / (int)inst->k;
	int to = o->lowering->dot.to ? o->lowering->dot.to / (int)inst->k : p.nk;
	bool ahead;

	BUG_IF(g->a, from >= to || to > p.nk);
	if (dot_is_sparse(o))
		sparse_init(g, &p);
	acc_init(g, &p, t);
	ahead = t->nword + 2 * (p.nm * p.a.nword + p.nn * p.b.nword) <= STEP_REGISTERS;
	for (int step = from * p.nbatch; step < to * p.nbatch; step++) {
		if (step == from * p.nbatch)
			step_pull(g, &p, step);
		if (step + 1 < to * p.nbatch && ahead)
			step_pull(g, &p, step + 1);
		/* the next dot's operands cannot be read after it */
		for (int i = 0; step + 1 == to * p.nbatch && to < p.nk && i < p.nbatch; i++)
			step_pull(g, &p, step + 1 + i);
		for (int i = 0; i < p.nm; i++)
			for (int jj = 0; jj < p.nn; jj++) /* back and forth: reuses the last B */
				instance(g, &p, i, i % 2 ? p.nn - 1 - jj : jj, step);
	}
}

void
dot_first_words(Codegen *g, Op *o, int operand, bool *word)
{
	DotPlan p = plan_new(g, o, instr_of(o->lowering));
	const OperandFragment *f = operand ? &p.b : &p.a;
	Val *v = o->in[operand];

	for (int i = 0; i < p.nbatch; i++)
		for (int j = 0; j < (operand ? p.nn : p.nm); j++)
			for (int w = 0; w < f->nword; w++) {
				int64_t b = p.batch[i];

				word[operand ? frag_word(g, f, v, w, b, 0, p.n[j], p.k, p.col)
				             : frag_word(g, f, v, w, b, p.m[j], 0, p.row, p.k)] = true;
			}
}

/* ---- FMA lowering ---------------------------------------------------------------------------- */

static LV
product_add(Codegen *g, DType d, LV a, LV b, LV c)
{
	LV e[3] = { a, b, c };

	if (dtype_is_float(d))
		return call_fp(g, "llvm.fma", LLVMTypeOf(a), e, 3);
	return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, a, b, ""), c, "");
}

static void
dot_fma(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	DType ta = mma_a(o)->type.dtype, tb = mma_b(o)->type.dtype;
	int64_t nk = dot_k(o);
	int m = dot_batch(o), n = m + 1;
	LV *acc = lv_array(g, t->nreg);

	for (int r = 0; r < t->nreg; r++)
		acc[r] = elem_get(g, mma_acc(o), r);
	for (int64_t k = 0; k < nk; k++) {
		for (int r = 0; r < t->nreg; r++) {
			int64_t x[DIM_MAX] = { 0 }, y[DIM_MAX] = { 0 };
			LV a, b;

			tile_index(t, r, x);
			tile_index(t, r, y);
			x[n] = y[m] = k;
			a = cast_number(g, t->dtype, ta,
			                elem_get(g, mma_a(o), tile_reg(g, mma_a(o), x)));
			b = cast_number(g, t->dtype, tb,
			                elem_get(g, mma_b(o), tile_reg(g, mma_b(o), y)));
			acc[r] = product_add(g, t->dtype, a, b, acc[r]);
		}
	}
	number_words(g, t, acc);
}

void
emit_dot(Codegen *g, Op *o)
{
	const Instr *inst = instr_of(o->lowering);

	BUG_IF(g->a, !inst || (inst->kind != IK_mma && inst->kind != IK_mma_sp &&
	                       inst->kind != IK_mma_scaled && inst->kind != IK_fma));
	g->s->products = true;
	if (inst->kind != IK_fma)
		dot_mma(g, o, inst);
	else
		dot_fma(g, o);
}
