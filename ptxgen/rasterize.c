/* rasterize.c - emits the block index in the raster order k->order. */
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"

/* Reads %ctaid or %nctaid of a dim. */
static LV
read_dim(Codegen *g, const char *what, int dim)
{
	return read_sreg(g, arena_printf(g->a, "%s.%c", what, "xyz"[dim]));
}

/* Is there more than one group of rows of `fast`, and do 32 bits suffice for the block index? Otherwise the
 * order is unchanged. */
static LV
has_groups(Codegen *g, LLVMBuilderRef b, LV fast, LV slow)
{
	LV n = LLVMBuildMul(b, LLVMBuildZExt(b, fast, g->i64, ""),
	                    LLVMBuildZExt(b, slow, g->i64, ""), "");
	LV numbered = LLVMBuildICmp(b, LLVMIntULE, n, LLVMConstInt(g->i64, UINT32_MAX, 0), "");
	LV several = LLVMBuildICmp(b, LLVMIntUGE, fast, const_i32(g, 2 * g->k->order.group), "");

	return LLVMBuildAnd(b, several, numbered, "");
}

/* Computes the position of the block with this index in groups of `rows` rows of `fast`. */
static void
grouped(Codegen *g, LLVMBuilderRef b, LV number, LV rows, LV fast, LV slow, LV at[2])
{
	LV size = LLVMBuildMul(b, rows, slow, "");
	LV last = LLVMBuildSub(b, LLVMBuildUDiv(b, fast, rows, ""), const_i32(g, 1), "");
	LV group = LLVMBuildUDiv(b, number, size, ""), before;
	LV whole = LLVMBuildICmp(b, LLVMIntULT, group, last, "");

	group = LLVMBuildSelect(b, whole, group, last, "");
	before = LLVMBuildMul(b, group, rows, "");
	rows = LLVMBuildSelect(b, whole, rows, LLVMBuildSub(b, fast, before, ""), "");
	number = LLVMBuildSub(b, number, LLVMBuildMul(b, group, size, ""), "");
	at[1] = LLVMBuildUDiv(b, number, rows, "");
	at[0] = LLVMBuildSub(b, number, LLVMBuildMul(b, at[1], rows, ""), "");
	at[0] = LLVMBuildAdd(b, at[0], before, "");
}

/* block: in hardware order; becomes that of k->order. */
static void
order_blocks(Codegen *g, LV block[3])
{
	const GridOrder *o = &g->k->order;
	LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(g->pre) };
	LLVMBasicBlockRef join = LLVMInsertBasicBlockInContext(g->ctx, LLVMGetNextBasicBlock(from[0]), "");
	LV fast = read_dim(g, "nctaid", o->fast), slow = read_dim(g, "nctaid", o->slow);
	LV plain[2] = { block[o->fast], block[o->slow] }, number, at[2], phi[2];

	from[1] = LLVMInsertBasicBlockInContext(g->ctx, join, "");
	LLVMBuildCondBr(g->pre, has_groups(g, g->pre, fast, slow), from[1], join);
	LLVMPositionBuilderAtEnd(g->pre, from[1]);
	number = LLVMBuildAdd(g->pre, LLVMBuildMul(g->pre, plain[1], fast, ""), plain[0], "");
	grouped(g, g->pre, number, const_i32(g, o->group), fast, slow, at);
	LLVMBuildBr(g->pre, join);
	LLVMPositionBuilderAtEnd(g->pre, join);
	for (int i = 0; i < 2; i++) {
		LV come[2] = { plain[i], at[i] };

		phi[i] = LLVMBuildPhi(g->pre, g->i32, "");
		LLVMAddIncoming(phi[i], come, from, 2);
	}
	block[o->fast] = phi[0];
	block[o->slow] = phi[1];
}

/* The same for rows of all dimensions other than `slow`. */
static void
order_others(Codegen *g, LLVMBuilderRef b, const LV extent[3], LV block[3])
{
	int slow = g->k->order.slow, low = slow == 0, high = slow == 2 ? 1 : 2;
	LV one = const_i32(g, 1), rows = const_i32(g, g->k->order.group), others, along, all, number, fits;
	LV at[2], to[3];

	others = LLVMBuildMul(b, LLVMBuildZExt(b, extent[low], g->i64, ""),
	                      LLVMBuildZExt(b, extent[high], g->i64, ""), "");
	all = LLVMBuildMul(b, others, LLVMBuildZExt(b, extent[slow], g->i64, ""), "");
	fits = LLVMBuildICmp(b, LLVMIntULE, all, LLVMConstInt(g->i64, UINT32_MAX, 0), "");
	/* divisors that overflow could be 0 */
	others = LLVMBuildSelect(b, fits, LLVMBuildTrunc(b, others, g->i32, ""), one, "");
	along = LLVMBuildSelect(b, fits, extent[slow], one, "");
	number = LLVMBuildAdd(b, LLVMBuildMul(b, block[2], extent[1], ""), block[1], "");
	number = LLVMBuildAdd(b, LLVMBuildMul(b, number, extent[0], ""), block[0], "");
	rows = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, others, rows, ""), others, rows, "");
	grouped(g, b, number, rows, others, along, at);
	to[slow] = at[1];
	if (g->k->order.fast == GRID_OTHERS_DOWN)
		to[slow] = LLVMBuildSub(b, LLVMBuildSub(b, along, one, ""), at[1], "");
	to[high] = LLVMBuildUDiv(b, at[0], extent[low], "");
	to[low] = LLVMBuildSub(b, at[0], LLVMBuildMul(b, to[high], extent[low], ""), "");
	for (int d = 0; d < 3; d++)
		block[d] = LLVMBuildSelect(b, fits, to[d], block[d], "");
}

void
block_numbers(Codegen *g)
{
	if (g->block[0])
		return;
	for (int d = 0; d < 3; d++)
		g->block[d] = read_dim(g, "ctaid", d);
	if (g->k->order.group && g->k->order.fast >= GRID_OTHERS) {
		LV extent[3];

		for (int d = 0; d < 3; d++)
			extent[d] = read_dim(g, "nctaid", d);
		order_others(g, g->pre, extent, g->block);
	} else if (g->k->order.group) {
		order_blocks(g, g->block);
	}
}

/* The same for clusters, if a persistent kernel takes the grid's blocks by full clusters. */
static void
cluster_of_number(Codegen *g, LV number, const LV extent[3], LV block[3])
{
	const GridOrder *o = &g->k->order;
	LV rest = number, at[2], several;

	for (int d = 0; d < 3; d++) {
		block[d] = d == 2 ? rest : LLVMBuildURem(g->b, rest, extent[d], "");
		rest = d == 2 ? rest : LLVMBuildUDiv(g->b, rest, extent[d], "");
	}
	if (!o->group)
		return;
	if (o->fast >= GRID_OTHERS) {
		order_others(g, g->b, extent, block);
		return;
	}
	number = LLVMBuildMul(g->b, block[o->slow], extent[o->fast], "");
	number = LLVMBuildAdd(g->b, number, block[o->fast], "");
	several = has_groups(g, g->b, extent[o->fast], extent[o->slow]);
	grouped(g, g->b, number, const_i32(g, o->group), extent[o->fast], extent[o->slow], at);
	block[o->fast] = LLVMBuildSelect(g->b, several, at[0], block[o->fast], "");
	block[o->slow] = LLVMBuildSelect(g->b, several, at[1], block[o->slow], "");
}

/* Computes the block with this one's rank in the cluster of that index, for a grid of these extents, in 32
 * bits: no grid of a persistent kernel has more blocks. */
static void
block_of_number(Codegen *g, LV number, const LV extent[3], LV block[3])
{
	LV clusters[3], rank = cluster_blocks(g->k) > 1 ? read_sreg(g, "cluster.ctarank") : NULL;

	for (int d = 0; d < 3; d++) {
		LV n = const_i32(g, g->k->cluster[d]), more = const_i32(g, g->k->cluster[d] - 1);

		clusters[d] = g->k->cluster[d] == 1
		                      ? extent[d]
		                      : LLVMBuildUDiv(g->b, LLVMBuildAdd(g->b, extent[d], more, ""), n, "");
	}
	cluster_of_number(g, number, clusters, block);
	for (int d = 0; d < 3; d++) {
		LV n = const_i32(g, g->k->cluster[d]);

		if (g->k->cluster[d] == 1)
			continue;
		block[d] = LLVMBuildAdd(g->b, LLVMBuildMul(g->b, block[d], n, ""),
		                        LLVMBuildURem(g->pre, rank, n, ""), "");
		rank = LLVMBuildUDiv(g->pre, rank, n, "");
	}
}

static LV
low_word(Codegen *g, Val *v)
{
	return LLVMBuildTrunc(g->b, scalar_get(g, v), g->i32, "");
}

/* .. for the index and extents of o's operands. */
static void
operand_block(Codegen *g, const Op *o, LV extent[3], LV block[3])
{
	for (int d = 0; d < 3; d++)
		extent[d] = low_word(g, block_extent(o, d));
	block_of_number(g, low_word(g, block_linear(o)), extent, block);
}

void
emit_block_id(Codegen *g, Op *o)
{
	int64_t axis = IMM(o, axis);
	LLVMBuilderRef b = o->nin ? g->b : g->pre;
	Tile *t = tile_new(g, o->out[0]);
	LV extent[3], block[3];

	BUG_IF(g->a, axis < 0 || axis > 2);
	if (o->nin) {
		operand_block(g, o, extent, block);
		if (g->k->cluster[axis] > 1) {
			LV last = LLVMBuildSub(b, extent[axis], const_i32(g, 1), "");
			LV inside = LLVMBuildICmp(b, LLVMIntULT, block[axis], extent[axis], "");

			block[axis] = LLVMBuildSelect(b, inside, block[axis], last, "");
		}
	} else {
		block_numbers(g);
		block[axis] = g->block[axis];
	}
	/* at most 2^31 - 1, so never negative */
	t->word[0] = LLVMBuildZExt(b, block[axis], g->i64, "");
}

void
emit_block_in_grid(Codegen *g, Op *o)
{
	LV extent[3], block[3], has = LLVMConstInt(g->i1, 1, 0);

	operand_block(g, o, extent, block);
	for (int d = 0; d < 3; d++)
		if (g->k->cluster[d] > 1)
			has = LLVMBuildAnd(g->b, has,
			                   LLVMBuildICmp(g->b, LLVMIntULT, block[d], extent[d], ""), "");
	tile_new(g, o->out[0])->word[0] = has;
}

void
emit_linear_block_id(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	bool clusters = cluster_blocks(g->k) > 1;
	const char *number = clusters ? "clusterid" : "ctaid", *count = clusters ? "nclusterid" : "nctaid";
	LV extent[3], all;

	for (int d = 0; d < 3; d++)
		extent[d] = LLVMBuildZExt(g->pre, read_dim(g, count, d), g->i64, "");
	if (IMM(o, all)) {
		all = LLVMBuildMul(g->pre, extent[1], extent[2], "");
		t->word[0] = LLVMBuildMul(g->pre, extent[0], all, "");
		return;
	}
	all = LLVMBuildZExt(g->pre, read_dim(g, number, 2), g->i64, "");
	for (int d = 1; d >= 0; d--) {
		LV at = LLVMBuildZExt(g->pre, read_dim(g, number, d), g->i64, "");

		all = LLVMBuildAdd(g->pre, LLVMBuildMul(g->pre, all, extent[d], ""), at, "");
	}
	t->word[0] = all;
}
