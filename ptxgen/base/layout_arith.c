/* layout_arith.c - emits layouts as arithmetic on the lane and warp id, in the entry block. */
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include <string.h>

static LV
pre_mul(Codegen *g, LV x, int64_t by)
{
	if (by == 1)
		return x;
	if (is_pow2(by))
		return LLVMBuildShl(g->pre, x, const_i32(g, log2_floor(by)), "");
	return LLVMBuildMul(g->pre, x, const_i32(g, by), "");
}

/* Emits (x / stride) % extent, where x < limit. */
static LV
pre_digit(Codegen *g, LV x, int64_t stride, int64_t extent, int64_t limit)
{
	if (is_pow2(stride))
		x = stride == 1 ? x : LLVMBuildLShr(g->pre, x, const_i32(g, log2_floor(stride)), "");
	else
		x = LLVMBuildUDiv(g->pre, x, const_i32(g, stride), "");
	if (stride * extent >= limit)
		return x;
	if (is_pow2(extent))
		return LLVMBuildAnd(g->pre, x, const_i32(g, extent - 1), "");
	return LLVMBuildURem(g->pre, x, const_i32(g, extent), "");
}

/* Returns the id that an iter's mode index is computed from; NULL if it does not depend on the thread. */
static LV
iter_source(Codegen *g, const Layout *l, const Iter *it, int64_t *limit)
{
	LV x = it->axis == AX_warp ? g->warp : NULL;
	int64_t offset = l->offset[it->axis];

	if (it->axis == AX_lane)
		x = g->lane;
	*limit = it->axis == AX_lane ? WARP_SIZE : g->warps;
	if (!x || it->stride == 0 || it->extent == 1)
		return NULL;
	BUG_IF(g->a, it->stride < 0);
	if (offset) {
		x = LLVMBuildSub(g->pre, x, const_i32(g, offset), "");
		*limit = INT64_MAX / 2;
	}
	return x;
}

LV
lane_index(Codegen *g, const Layout *l, int d)
{
	LV sum = const_i32(g, 0);
	int64_t limit;

	for (Digit x = dim_digits(l, d); x.it; digit_next(&x)) {
		LV v = iter_source(g, l, x.it, &limit);

		if (!v)
			continue;
		v = pre_digit(g, v, x.it->stride, x.it->extent, limit);
		sum = LLVMBuildAdd(g->pre, sum, pre_mul(g, v, x.weight), "");
	}
	return sum;
}

int64_t
lane_index_most(const Layout *l, int d)
{
	int64_t most = 0;

	for (Digit x = dim_digits(l, d); x.it; digit_next(&x)) {
		if ((x.it->axis != AX_lane && x.it->axis != AX_warp) || x.it->stride == 0)
			continue;
		if (l->offset[x.it->axis])
			return INT64_MAX;
		most += (x.it->extent - 1) * x.weight;
	}
	return most;
}

LV
axis_digits(Codegen *g, const Layout *l, int d, Axis axis)
{
	Layout on;

	layout_project(&on, l, d, axis);
	on.offset[axis] = l->offset[axis];
	return lane_index(g, &on, 0);
}

bool
lane_index_bits(Codegen *g, const Layout *l, int d, uint64_t *bits)
{
	int64_t limit;

	*bits = 0;
	for (Digit x = dim_digits(l, d); x.it; digit_next(&x)) {
		if (!iter_source(g, l, x.it, &limit))
			continue;
		if (!is_pow2(x.it->extent) || !is_pow2(x.weight) || l->offset[x.it->axis])
			return false;
		*bits |= (uint64_t)(x.it->extent - 1) * (uint64_t)x.weight;
	}
	return true;
}

LV
lane_first(Codegen *g, const Layout *l)
{
	LV all = NULL;
	int64_t limit;

	for (int i = 0; i < l->nrep; i++) {
		LV x = iter_source(g, l, &l->rep[i], &limit);

		if (!x)
			continue;
		x = pre_digit(g, x, l->rep[i].stride, l->rep[i].extent, limit);
		x = LLVMBuildICmp(g->pre, LLVMIntEQ, x, const_i32(g, 0), "");
		all = all ? LLVMBuildAnd(g->pre, all, x, "") : x;
	}
	return all;
}

/* ---- functions of the lane given as tables --------------------------------------------------- */

LV
lane_mask(Codegen *g, uint32_t mask)
{
	LV x;

	if (mask == 0 || mask == UINT32_MAX)
		return LLVMConstInt(g->i1, mask != 0, 0);
	x = LLVMBuildLShr(g->pre, const_i32(g, mask), g->lane, "");
	return LLVMBuildTrunc(g->pre, x, g->i1, "");
}

/* Is the table xor-linear: value[l] = value[0] ^ (xor of value[2^b] ^ value[0] over the bits b of l)? */
static bool
table_is_linear(const int *value)
{
	for (int l = 0; l < WARP_SIZE; l++) {
		int x = value[0];

		for (int b = 0; b < 5; b++)
			if (l >> b & 1)
				x ^= value[1 << b] ^ value[0];
		if (x != value[l])
			return false;
	}
	return true;
}

/* Emits value[0] ^ the images of the lane's bits; bits that are shifted by the same distance are shifted
 * together. */
static LV
table_linear(Codegen *g, const int *value)
{
	LV sum = const_i32(g, value[0]);

	for (int by = -5; by < 27; by++) {
		int mask = 0;
		LV x;

		for (int b = 0; b < 5; b++)
			if (b + by >= 0 && ((value[1 << b] ^ value[0]) >> (b + by) & 1))
				mask |= 1 << b;
		if (!mask)
			continue;
		x = LLVMBuildAnd(g->pre, g->lane, const_i32(g, mask), "");
		if (by > 0)
			x = LLVMBuildShl(g->pre, x, const_i32(g, by), "");
		else if (by < 0)
			x = LLVMBuildLShr(g->pre, x, const_i32(g, -by), "");
		sum = LLVMBuildXor(g->pre, sum, x, "");
	}
	return sum;
}

LV
lane_table(Codegen *g, const int *value)
{
	LV sum = const_i32(g, 0);

	if (table_is_linear(value))
		return table_linear(g, value);
	for (int b = 0; b < 30; b++) {
		uint32_t mask = 0;
		LV x;

		for (int l = 0; l < WARP_SIZE; l++)
			mask |= (uint32_t)(value[l] >> b & 1) << l;
		if (!mask)
			continue;
		x = LLVMBuildZExt(g->pre, lane_mask(g, mask), g->i32, "");
		sum = LLVMBuildOr(g->pre, sum, LLVMBuildShl(g->pre, x, const_i32(g, b), ""), "");
	}
	return sum;
}

LV
read_sreg(Codegen *g, const char *name)
{
	const char *full = arena_printf(g->a, "llvm.nvvm.read.ptx.sreg.%s", name);
	unsigned id = LLVMLookupIntrinsicID(full, strlen(full));
	LV f;

	BUG_IF(g->a, id == 0);
	f = LLVMGetIntrinsicDeclaration(g->s->mod, id, NULL, 0);
	return LLVMBuildCall2(g->pre, LLVMGlobalGetValueType(f), f, NULL, 0, "");
}

LV
register_const(Codegen *g, uint32_t c)
{
	if (!g->nothing_set) /* the lane's bit among those of the lower lanes */
		g->nothing_set = LLVMBuildAnd(g->pre, read_sreg(g, "lanemask.eq"),
		                              read_sreg(g, "lanemask.lt"), "");
	return LLVMBuildXor(g->pre, g->nothing_set, const_i32(g, c), "");
}
