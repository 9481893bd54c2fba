/* reduce.c - emits sum, max and min along a dim: over the registers of a lane, the lanes of a warp, and the
 * warps.
 *
 * f16 and bf16 are reduced in f32 and rounded once. Across warps a staging tile holds the partial results
 * of each result, one per warp along the dim. Its maps specify the writers and readers of each. A partial
 * result is written once, and all threads that need a result combine its partial results in the same order,
 * so replicas of a result are bitwise equal. */
#include "ptxgen/base/scheduling_barrier.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"
#include "ptxgen/element/element_value.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/shuffle.h"
#include <string.h>

enum { PARTIALS = 4 }; /* maximum independent chains within a lane */

typedef struct ReducePlan {
	int dim;
	int64_t *step; /* register offsets of one result's elements */
	int nstep;
} ReducePlan;

static LV
combine(Codegen *g, const Op *o, LV x, LV y)
{
	Op like = *o;
	LV e[3] = { x, y, NULL };

	like.code = o->code == O_reduce_max ? O_max : O_min;
	if (o->code == O_reduce_sum)
		like.code = O_add;
	like.nin = 2;
	return x ? elt_number(g, &like, op_source(o)->type.dtype, e) : y;
}

/* Returns the op that defines o's operand, through a reshape. */
static const Op *
made_by(const Op *o)
{
	const Op *p = op_source(o)->def;

	return p && p->code == O_reshape ? op_source(p)->def : p;
}

/* Returns the multiplication whose results o adds by fma, without rounding each; NULL if there is none. */
static const Op *
summed_product(const Op *o)
{
	const Op *p = made_by(o);
	bool fused = o->code == O_reduce_sum && p && p->code == O_mul && op_source(o)->type.dtype == D_f32 &&
	             !IMM(p, exact);

	return fused ? p : NULL;
}

/* Combines x with the element in register r of o's operand. */
static LV
combine_element(Codegen *g, const Op *o, LV x, int64_t r)
{
	const Op *p = summed_product(o);

	if (!x || !p)
		return combine(g, o, x, elem_get(g, op_source(o), r));
	Op like = *p;
	LV e[3];

	if (op_source(o)->def != p) {
		int64_t at[DIM_MAX] = { 0 }, in[DIM_MAX];

		tile_index(tile_of(g, op_source(o)), (int)r, at);
		r = tile_reg(g, source_coord(op_source(o)->def, at, in), in);
	}
	e[0] = elem_get(g, elt_lhs(p), r);
	e[1] = elem_get(g, elt_rhs(p), r);
	e[2] = x;

	like.code = O_fma;
	like.nin = 3;
	return elt_number(g, &like, D_f32, e);
}

/* Computes the register offsets of a lane's elements along the dim. */
static void
reduce_steps(Codegen *g, ReducePlan *p, const Layout *l)
{
	Layout regs;

	layout_project(&regs, l, p->dim, AX_reg);
	p->nstep = (int)layout_size(&regs);
	p->step = NEWN(g->a, int64_t, p->nstep);
	for (int i = 0; i < p->nstep; i++)
		p->step[i] = layout_at_index(&regs, i).at[AX_reg];
}

/* Returns the number of chains in which a result's elements are combined: for fma, which is one instruction
 * per element, fewer if there are several results to interleave. */
static int
chains(Codegen *g, const Op *o)
{
	int results = tile_of(g, o->out[0])->nreg, n = PARTIALS;

	while (n > 1 && results > 1 && summed_product(o)) {
		n /= 2;
		results /= 2;
	}
	return n;
}

/* Reduces one result element over this warp. */
static LV
reduce_warp(Codegen *g, Op *o, int64_t r)
{
	const ReducePlan *p = tile_of(g, o->out[0])->plan;
	const Layout *l = op_source(o)->type.layout;
	LV part[PARTIALS] = { NULL }, x;
	int64_t index[DIM_MAX] = { 0 }, base;
	int n = chains(g, o);

	tile_index(tile_of(g, o->out[0]), r, index);
	base = tile_reg(g, op_source(o), index);
	for (int i = 0; i < p->nstep; i++) {
		part[i % n] = combine_element(g, o, part[i % n], base + p->step[i]);
		gen_apart(g, op_source(o), 1);
	}
	x = part[0];
	for (int i = 1; i < n && part[i]; i++)
		x = combine(g, o, x, part[i]);
	for (Digit lanes = dim_digits(l, p->dim); lanes.it; digit_next(&lanes)) {
		const Iter *it = lanes.it;

		if (it->axis != AX_lane || it->extent == 1)
			continue;
		BUG_IF(g->a, !is_pow2(it->extent) || !is_pow2(it->stride));
		for (int64_t delta = it->stride; delta < it->stride * it->extent; delta *= 2)
			x = combine(g, o, x, shuffle_xor(g, x, (int)delta));
	}
	return x;
}

static void
pull_reduce(Codegen *g, Op *o, int w)
{
	number_word(g, o, w, reduce_warp);
}

/* ---- across warps (infer/convert/cross_warp_reduce.c) ---------------------------------------- */

/* Returns the result's register for register `reg` of a map of partial results, and the position of the
 * partial result. */
static int
part_at(Codegen *g, const Op *o, const Layout *map, int64_t reg, int64_t *index)
{
	Coord p = { { 0 } };
	int64_t c[DIM_MAX];

	p.at[AX_reg] = reg;
	layout_index(map, &p, index);
	memcpy(c, index, sizeof c);
	c[IMM(o, dim)] = 0;
	return (int)tile_reg(g, o->out[0], c);
}

static int
part_words(Codegen *g, DType d, LV x, LV *out)
{
	if (dtype_info[d].bits < 64) {
		out[0] = as_i32(g, x);
		return 1;
	}
	split64(g, x, out);
	return 2;
}

static LV
part_number(Codegen *g, DType d, const LV *word)
{
	LV x;

	if (dtype_info[d].bits < 64)
		return dtype_reg(d) == REG_f32 ? as_f32(g, word[0]) : word[0];
	x = join64(g, word[0], word[1]);
	return LLVMBuildBitCast(g->b, x, word_type(g, d), "");
}

static void
parts_write(Codegen *g, const Op *o, DType d, const LV *e)
{
	const LoweredAccess *p = &o->lowering->staged.write;
	Access *x = access_staging(g, &o->lowering->staged, p->map, d);
	LV exec = lane_first(g, p->map);
	int nreg = (int)layout_cosize(p->map, AX_reg);

	for (int m = 0; m < nreg; m += p->vec) {
		int64_t index[DIM_MAX] = { 0 }, imm;
		LV in[6];
		int n = 0;

		for (int i = 0; i < p->vec; i++)
			n += part_words(g, d, e[part_at(g, o, p->map, m + i, index)], in + n);
		part_at(g, o, p->map, m, index);
		access_at(x, index, &in[n], &imm, NULL);
		in[n + 1] = const_i32(g, imm);
		asm_instr(g, mem_instr(g, IK_st_shared, p->vec * dtype_info[d].bits), in, n + 2, exec, NULL);
	}
}

/* Reads all partial results of this thread's results, access by access, and combines them in e[], which is
 * empty. */
static void
parts_read(Codegen *g, const Op *o, DType d, LV *e)
{
	const LoweredAccess *p = &o->lowering->staged.read;
	Access *x = access_staging(g, &o->lowering->staged, p->map, d);
	int nreg = (int)layout_cosize(p->map, AX_reg), bits = dtype_info[d].bits;

	for (int m = 0; m < nreg; m += p->vec) {
		int64_t index[DIM_MAX] = { 0 }, imm;
		LV in[2], out[4];

		part_at(g, o, p->map, m, index);
		access_at(x, index, &in[0], &imm, NULL);
		in[1] = const_i32(g, imm);
		asm_instr(g, mem_instr(g, IK_ld_shared, p->vec * bits), in, 2, NULL, out);
		for (int i = 0; i < p->vec; i++) {
			int r = part_at(g, o, p->map, m + i, index);

			e[r] = combine(g, o, e[r], part_number(g, d, out + i * bits / 32));
		}
	}
}

static void
reduce_over_warps(Codegen *g, Op *o, Tile *t)
{
	const LoweredAccess *w = &o->lowering->staged.write, *r = &o->lowering->staged.read;
	DType d = dtype_accumulator(t->dtype);
	LV *e = lv_array(g, t->nreg);

	BUG_IF(g->a, !w->map || !r->map || !o->lowering->staged.tile || w->vec < 1 || r->vec < 1 ||
	                     layout_cosize(w->map, AX_reg) % w->vec ||
	                     layout_cosize(r->map, AX_reg) % r->vec ||
	                     w->vec * dtype_info[d].bits > 128 || r->vec * dtype_info[d].bits > 128);
	for (int i = 0; i < t->nreg; i++)
		e[i] = reduce_warp(g, o, i);
	parts_write(g, o, d, e);
	emit_block_barrier(g);
	for (int i = 0; i < t->nreg; i++)
		e[i] = NULL;
	parts_read(g, o, d, e);
	number_words(g, t, e);
}

void
emit_reduce(Codegen *g, Op *o)
{
	ReducePlan *p = NEW(g->a, ReducePlan);
	const Layout *l = op_source(o)->type.layout;

	p->dim = (int)IMM(o, dim);
	reduce_steps(g, p, l);
	if (layout_extent_on(l, p->dim, AX_warp) == 1) {
		tile_lazy(g, o, pull_reduce, p);
		return;
	}
	Tile *t = tile_new(g, o->out[0]);

	t->plan = p;
	reduce_over_warps(g, o, t);
}
