/* sparse.c - emits structured-sparsity metadata for mma.sp, and the expansion of sparse tiles without it. */
#include "ptxgen/sparse.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/sparse.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/element_value.h"
#include <string.h>

/* ---- metadata -------------------------------------------------------------------------------- */

/* 2:4: positions in a group increase, so the upper one is never 0. If it is, the group was loaded out of
 * bounds, all zeros: it becomes 0 and 1, since the instruction requires distinct positions. */
static LV
make_rising(Codegen *g, LV x)
{
	LV some = LLVMBuildOr(g->b, x, LLVMBuildLShr(g->b, x, const_i32(g, 1), ""), "");
	LV none = LLVMBuildAnd(g->b, LLVMBuildNot(g->b, some, ""), const_i32(g, 0x44444444), "");

	return LLVMBuildOr(g->b, x, none, "");
}

/* 1:2 as tensor cores require it: 0 is 0b0100 and 1 is 0b1110. Moves bits to nibbles in steps of 12, 6 and
 * 3; then computes 0 * 10 + 4 and 1 * 10 + 4. */
static LV
widen_bits(Codegen *g, LV x)
{
	static const struct {
		int shift;
		uint32_t mask;
	} step[3] = { { 12, 0x000f000f }, { 6, 0x03030303 }, { 3, 0x11111111 } };

	x = LLVMBuildAnd(g->b, x, const_i32(g, 0xff), "");
	for (int i = 0; i < 3; i++) {
		x = LLVMBuildOr(g->b, x, LLVMBuildShl(g->b, x, const_i32(g, step[i].shift), ""), "");
		x = LLVMBuildAnd(g->b, x, const_i32(g, step[i].mask), "");
	}
	return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, x, const_i32(g, 10), ""), const_i32(g, 0x44444444), "");
}

LV
sparse_metadata(Codegen *g, Val *v, int64_t reg)
{
	bool one = v->type.dtype == D_u1;
	int epw = dtype_per_word(v->type.dtype), each = one ? 8 : 16;
	LV x;

	BUG_IF(g->a, reg % each);
	x = word_get(g, v, (int)(reg / epw));
	if (reg % epw)
		x = LLVMBuildLShr(g->b, x, const_i32(g, reg % epw * dtype_info[v->type.dtype].bits), "");
	return one ? widen_bits(g, x) : make_rising(g, x);
}

/* ---- without sparse tensor cores ------------------------------------------------------------- */

typedef struct SparseExpandPlan {
	Sparse s;
	int dim;
	LV lane; /* i32: this lane's index along the dim, for its register 0 */
} SparseExpandPlan;

static LV
zero_of(Codegen *g, DType d)
{
	return LLVMConstNull(dtype_is_float(d) && dtype_reg(d) == REG_b32 ? g->f32 : word_type(g, d));
}

static LV
sum_of(Codegen *g, DType d, LV x, LV y)
{
	return dtype_info[d].kind == K_flt ? LLVMBuildFAdd(g->b, x, y, "") : LLVMBuildAdd(g->b, x, y, "");
}

/* Returns an i1: value j of the group is at index `at` of it. */
static LV
stands(Codegen *g, const SparseExpandPlan *p, const LV *pos, int j, LV at)
{
	LV to = pos[j / p->s.unit];

	if (p->s.unit > 1)
		to = LLVMBuildAdd(g->b, LLVMBuildMul(g->b, to, const_i32(g, p->s.unit), ""),
		                  const_i32(g, j % p->s.unit), "");
	return LLVMBuildICmp(g->b, LLVMIntEQ, to, at, "");
}

static LV
sparse_element(Codegen *g, Op *o, int64_t r)
{
	const Tile *t = tile_of(g, o->out[0]);
	const SparseExpandPlan *p = t->plan;
	DType d = t->dtype;
	LV pos[2], at, sum = NULL;
	int64_t c[DIM_MAX], here;

	tile_index(t, r, c);
	here = c[p->dim];
	at = LLVMBuildAdd(g->b, p->lane, const_i32(g, here % p->s.group), "");
	at = LLVMBuildAnd(g->b, at, const_i32(g, p->s.group - 1), "");
	for (int q = 0; q < p->s.npos; q++) {
		c[p->dim] = here / p->s.group * p->s.npos + q;
		pos[q] = elem_get(g, sparse_positions(o), tile_reg(g, sparse_positions(o), c));
	}
	for (int j = 0; j < p->s.kept; j++) {
		LV x;

		c[p->dim] = here / p->s.group * p->s.kept + j;
		x = elem_get(g, sparse_values(o), tile_reg(g, sparse_values(o), c));
		x = LLVMBuildSelect(g->b, stands(g, p, pos, j, at), x, zero_of(g, d), "");
		sum = sum ? sum_of(g, d, sum, x) : x;
	}
	return sum;
}

static void
pull_sparse_expand(Codegen *g, Op *o, int w)
{
	number_word(g, o, w, sparse_element);
}

void
emit_sparse_expand(Codegen *g, Op *o)
{
	SparseExpandPlan *p = NEW(g->a, SparseExpandPlan);
	bool ok;

	p->dim = (int)IMM(o, dim);
	ok = sparse_of(&sparse_values(o)->type, &sparse_positions(o)->type, p->dim, &p->s);
	BUG_IF(g->a, !ok);
	p->lane = lane_index(g, o->out[0]->type.layout, p->dim);
	tile_lazy(g, o, pull_sparse_expand, p);
}
