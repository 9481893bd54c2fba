/* test_verify.c - tests that the verifier accepts well-formed IR and diagnoses broken IR. In C: a row of a
 * table each is as short as text, and some errors have no text. */
#include "test/ir/util_unit.h"
#include "hexc/ir/verify/verify.h"
#include <stdlib.h>
#include <string.h>

/* Tiles and scalars that the broken lines use. */
static const char prelude[] =
	"    %10 = const value 1.0 : reg f16[16, 32]\n"
	"    %11 = const value 1.0 : reg f16[32, 8]\n"
	"    %12 = const value 1.0 : reg f32[16, 8]\n"
	"    %13 = const value 1 : bool\n"
	"    %14 = const value 1 : reg bool[16, 32]\n"
	"    %15 = alloc : shared f16[16, 32]\n"
	"    %16 = view %1, %5, %5 : global f16[16, 32]\n"
	"    %17 = const value 1 : i32\n"
	"    %18 = view %2, %5, %5 : global f16[16, 32]\n"
	"    %19 = const value 1.0 : f16\n";

static const char *const good[] = {
	"%20 = dot %10, %11, %12 : reg f32[16, 8]",
	"%20 = reshape %10 : reg f16[2, 8, 32] %21 = reshape %11 : reg f16[2, 32, 4]"
	" %22 = const value 0.0 : reg f32[2, 8, 4] %23 = dot %20, %21, %22 : reg f32[2, 8, 4]",
	"%20 = add %10, %10 : reg f16[16, 32] store %20, %18",
	"%20 = select %14, %10, %10 : reg f16[16, 32]",
	"%20 = mask %10, %3 dims 2 : reg f16[16, 32] %21 = mask %10, %3, %4 dims 3 : reg f16[16, 32]",
	"%20 = reshape %12 : reg f32[1, 16, 1, 8] %21 = reshape %20 : reg f32[16, 8]",
	"%20 = transpose %10 perm 1, 0 : reg f16[32, 16]",
	"%20 = slice %10 dim 1 from 20 : reg f16[16, 12] %21 = concat %10, %20 dim 1 : reg f16[16, 44]",
	"%20 = reduce_sum %10 dim 1 : reg f16[16, 1] %21 = broadcast %20 : reg f16[16, 32]",
	"copy %16, %15 async 1 async_commit async_wait barrier\n %20 = load %15 : reg f16[16, 32]",
	"%20 = view %16, %5, %5 dropped 1 : global f16[8] %21 = load %20 : reg f16[8]",
	"%20 = const value 0 : i64 %21 = view %16, %20, %20 : global f16[16, 40] %22 = load %21 : reg "
	"f16[16, 40]",
	"%20 = view %16, %5, %5 dropped 3 : global f16[] %21 = load %20 : f16",
	"%20, %21 = for %5, %4, %5, %12, %5 loop 1 stages 2 : reg f32[16, 8], i64"
	" { (%22 : i64, %23 : reg f32[16, 8], %24 : i64)"
	" yield %23, %22 }",
	"%20 = if %13 : i64 { yield %5 } else { yield %4 } %21 = add %20, %5 : i64",
	"%20 = const value 0.0 : reg f16[16, 32] @{(16,(8,4)):(1@lane,(1@reg,1@warp))+[2:16@lane]}",
};

TEST_EACH(good_is_accepted, COUNT_OF(good))
{
	const char *text = ir_wrap(u, arena_printf(u->arena, "%s    %s", prelude, good[_i]));
	Kernel *k = kernel_read(u, text, strlen(text));

	ck_assert_msg(k && kernel_verify(k, "test"), "%s", ir_diags(u));
	ck_assert_int_eq(u->diag->nerror, 0);
}

/* Which operand has which name: the order in which hexc/IR.md writes them. */
TEST(operands_have_their_names)
{
	static const char body[] =
		"    %21 = const value 2.0 : reg f16[16, 32]\n    %24 = const value 2 : i64\n"
		"    %20 = select %14, %10, %21 : reg f16[16, 32]\n    store %20, %18\n    copy %16, %15\n"
		"    %22 = dot %10, %11, %12 : reg f32[16, 8]\n"
		"    %23 = for %5, %4, %24, %22 : reg f32[16, 8] { (%30 : i64, %31 : reg f32[16, 8])\n"
		"      yield %31\n    }\n";
	Kernel *k = ir_read(u, ir_wrap(u, arena_printf(u->arena, "%s%s", prelude, body)));
	const Op *select = ir_val(k, 20)->def, *dot = ir_val(k, 22)->def, *loop = ir_val(k, 23)->def;
	const Op *store = select->next, *copy = store->next, *view = ir_val(k, 18)->def;

	ck_assert(select_cond(select)->id == 14 && select_yes(select)->id == 10);
	ck_assert(select_no(select)->id == 21);
	ck_assert(store_value(store)->id == 20 && store_dest(store)->id == 18);
	ck_assert(copy_source(copy)->id == 16 && copy_dest(copy)->id == 15);
	ck_assert(write_dest(copy) == copy_dest(copy) && write_dest(store) == store_dest(store));
	ck_assert(mma_a(dot)->id == 10 && mma_b(dot)->id == 11 && mma_acc(dot)->id == 12);
	ck_assert(for_lo(loop)->id == 5 && for_hi(loop)->id == 4 && for_step(loop)->id == 24);
	ck_assert(for_init(loop, 0)->id == 22 && yield_value(loop->blk[0]->last, 0)->id == 31);
	ck_assert(view_source(view)->id == 2 && view_start(view, 1)->id == 5);
}

/* An immediate that another one of its op overwrites would have no value of its own. */
TEST(immediates_have_slots_of_their_own)
{
	for (int op = 1; op < O_COUNT; op++) {
		const char *taken[DIM_MAX] = { NULL };

		for (Imm i = 0; i < IMM_COUNT; i++) {
			int end = imm_is_list(i) ? DIM_MAX : imm_slot(i) + 1;

			for (int n = imm_slot(i); n < end && op_has_imm((OpCode)op, i); n++) {
				ck_assert_msg(!taken[n], "%s: %s", op_info[op].name, imm_name[i]);
				taken[n] = imm_name[i];
			}
		}
	}
}

static const struct {
	const char *line, *say;
} bad[] = {
	{ "%20 = add %10, %11 : reg f16[16, 32]", "op add: operand and result differ" },
	{ "%20 = add %10 : reg f16[16, 32]", "1 operands; expected 2" },
	{ "barrier %10", "1 operands; expected 0" },
	{ "%20, %21 = add %10, %10 : reg f16[16, 32], reg f16[16, 32]", "2 results; expected 1" },
	{ "%20 = add %13, %13 : bool", "not defined on bool" },
	{ "%20 = exp %5 : i64", "not defined on i64" },
	{ "%20 = lt %10, %10 : reg f16[16, 32]", "not a bool" },
	{ "%20 = select %13, %10, %10 : reg f16[16, 32]", "condition" },
	{ "%20 = cast %10 : reg f32[32, 16]", "shapes differ" },
	{ "%20 = const value 300 : u8", "300 is out of range for u8" },
	{ "%20 = const value 8 : i4", "8 is out of range for i4" },
	{ "%20 = splat %17 : reg f32[8]", "not a scalar and a register tile of its type" },
	{ "%20 = iota dim 2 : reg i32[8, 8]", "no such dimension" },
	{ "%20 = block_id axis 3 : i64", "`axis` is not 0 to 2" },
	{ "%20 = mask %10, %3 dims 3 : reg f16[16, 32]", "1 bounds for 2 dimensions" },
	{ "%20 = mask %10, %17 dims 1 : reg f16[16, 32]", "not an i64" },
	{ "%20 = broadcast %10 : reg f16[16, 64]", "not 1 changes" },
	{ "%20 = transpose %10 perm 1, 1 : reg f16[32, 32]", "permutation" },
	{ "%20 = transpose %10 perm 1, 0 : reg f16[16, 32]", "permutation" },
	{ "%20 = reshape %10 : reg f16[32, 15]", "the number of elements differs" },
	{ "%20 = slice %10 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%20 = slice %10 : reg f16[8, 16]", "another dimension changes" },
	{ "%20 = slice %10 dim 1 from 20 : reg f16[16, 13]", "outside" },
	{ "%20 = slice %10 dim 1 from -1 : reg f16[16, 8]", "outside" },
	{ "%20 = slice %10 dim 1 : reg f32[16, 8]", "one type" },
	{ "%20 = concat %10, %10 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%20 = concat %10, %10 dim 1 : reg f16[16, 63]",
	  "the result's extent is not the sum of the operands'" },
	{ "%20 = transpose %10 perm 1, 0 : reg f16[32, 16] %21 = concat %10, %20 dim 1 : reg f16[16, 48]",
	  "other extents" },
	{ "%20 = reduce_max %10 dim 1 : reg f16[1, 32]", "the result's shape does not match" },
	{ "%20 = dot %10, %10, %12 : reg f32[16, 8]", "do not match" },
	{ "%20 = dot %10, %11, %12 : reg f16[16, 8]", "result and accumulator differ" },
	{ "%20 = reshape %10 : reg f16[2, 8, 32] %21 = reshape %11 : reg f16[4, 32, 2]"
	  " %22 = const value 0.0 : reg f32[2, 8, 2] %23 = dot %20, %21, %22 : reg f32[2, 8, 2]",
	  "operands have different batch dimensions" },
	{ "%20 = reshape %10 : reg f16[2, 8, 32] %22 = const value 0.0 : reg f32[2, 8, 8]"
	  " %23 = dot %20, %11, %22 : reg f32[2, 8, 8]", "operands are not matrices that `dot` supports" },
	{ "%20 = const value 1.0 : reg e8m0[16, 1]\n    %21 = dot %10, %11, %12, %20, %20 : reg f32[16, 8]",
	  "operand and scales do not match" },
	{ "%20 = dot %10, %11, %12, %10, %11 : reg f32[16, 8]",
	  "scales are not a matrix of floats of up to 8 bits" },
	{ "%20 = load %15 : reg f32[16, 32]", "does not load" },
	{ "%20 = load %1 : reg f16[16, 32]", "does not load" },
	{ "store %10, %16", "not an out or inout" },
	{ "store %12, %15", "does not store" },
	{ "copy %15, %16", "does not copy" },
	{ "%20 = view %1, %5 : global f16[16, 32]", "1 starts for 2 dimensions" },
	{ "%20 = view %1, %5, %5 dropped 1 : global f16[16, 32]", "rank 2, but 1 dimensions" },
	{ "%20 = view %1, %5, %5 : shared f16[16, 32]", "not a static tile" },
	{ "%20 = view %1, %5, %17 : global f16[16, 32]", "neither an i64" },
	{ "%20 = view %16, %5, %5 : global f16[16, 40]",
	  "longer than its operand, and does not start at its start" },
	{ "%20 = const value 0 : i64 %21 = view %15, %20, %20 : shared f16[17, 32]"
	  " %22 = view %21, %20, %20 : shared f16[8, 8]", "longer than its operand" },
	{ "%20 = view %1, %5, %5 step 0, -2 : global f16[16, 32]", "a step is not positive, or too large" },
	{ "%20 = view %1, %5, %5 step 0, 33554433 : global f16[16, 32]",
	  "a step is not positive, or too large" },
	{ "%20 = view %16, %5, %5 step 2 : global f16[4, 32]", "steps on an operand that is not a tensor" },
	{ "%20 = view %15, %5, %5 step 2 : shared f16[4, 32]", "steps on an operand that is not a tensor" },
	{ "%20 = view %1, %5, %5 dropped 1 step 2 : global f16[32]",
	  "steps along a dimension with one element or with indices" },
	{ "%20 = const value 0 : reg i32[16] %21 = view %1, %20, %5 step 2 : global f16[16, 32]",
	  "steps along a dimension with one element or with indices" },
	{ "%20 = const value 4 : i64 %21 = view %1, %5, %5 step 2 : global f16[16, 32]"
	  " %22 = view %21, %20, %5 : global f16[8, 32]", "a slice of a view with steps" },
	{ "%20 = const value 0 : reg i32[8] %21 = view %1, %20, %5 : global f16[16, 32]", "does not "
	                                                                                  "broadcast" },
	{ "%20 = const value 0 : reg i32[1] %21 = view %1, %20, %5 : global f16[16, 32]", "longer than its "
	                                                                                  "indices" },
	{ "%20 = const value 0 : reg i32[4, 4] %21 = const value 0 : reg i32[4]"
	  " %22 = view %1, %20, %21 dropped 2 : global f16[4, 4]", "does not broadcast" },
	{ "%20 = const value 0 : reg i32[4, 4] %21 = view %1, %20, %5 : global f16[16, 32]",
	  "rank 2, but 3 dimensions" },
	{ "%20 = const value 0 : reg i32[16] %21 = view %1, %20, %20 : global f16[16, 16]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%20 = const value 0 : reg i32[16] %21 = view %1, %20, %5 dropped 1 : global f16[32]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%20 = const value 0 : reg i32[16] %21 = alloc : shared f16[16] %22 = view %21, %20 : shared "
	  "f16[16]"
	  " %23 = view %1, %5, %5 dropped 1 : global f16[16] copy %23, %22",
	  "indexed shared tiles only support loads and stores" },
	{ "%20 = alloc offset -1 align 3 : shared f16[16]", "power of two" },
	{ "%20 = alloc : reg f16[16]", "not a shared tile" },
	{ "%20 = alloc : shared f16[0]", "extent 0 of dim 0" },
	{ "%20 = alloc : shared f16[1000000000, 1000]", "2^30" },
	{ "%20 = for %5, %4, %5, %12 : reg f32[16, 8] { (%21 : i64) yield %12 }", "differ in number" },
	{ "%20 = for %5, %4, %5, %12 : reg f32[16, 8]"
	  " { (%21 : i64, %22 : reg f32[16, 8]) yield %10 }",
	  "region yields" },
	{ "%20 = for %5, %4, %5, %12 : reg f32[16, 8]"
	  " { (%21 : i64, %22 : f32) yield %12 }",
	  "carried value 0 has different types" },
	{ "for %5, %4, %5 loop 1 stages -1 { (%21 : i64) yield }", "the number of stages is negative" },
	{ "%20 = const value 0 : i64 for %5, %4, %20 { (%21 : i64) yield }", "step is not positive" },
	{ "for %5, %4, %5 breaks 1 { (%21 : i64) yield }", "not a bool scalar" },
	{ "%20 = for %5, %4, %5, %5 breaks 1 : i64 { (%21 : i64, %22 : i64) yield %22 }",
	  "not a bool scalar" },
	{ "%20 = for %5, %4, %5, %13 loop 1 stages 2 breaks 1 : bool { (%21 : i64, %22 : bool) yield %22 }",
	  "a pipeline loop cannot break" },
	{ "for %5, %4, %5 { (%21 : i64) }", "does not end in yield" },
	{ "for %5, %4, %5 { (%21 : i64) yield barrier }", "does not end in yield" },
	{ "for %5, %4, %5 { (%21 : i64) yield yield }", "not the last" },
	{ "for %5, %4, %5", "number of regions" },
	{ "if %13 { yield }", "number of regions" },
	{ "if %5 { yield } else { yield }", "not a bool scalar" },
	{ "%20 = if %13 : i64 { yield %5 } else { yield }", "yields 0" },
	{ "if %13 { %21 = const value 0 : i64 yield } else { yield }"
	  " %20 = add %21, %21 : i64",
	  "%21 is not defined before" },
	{ "%20 = add %5, %0 : i64", "operand is missing" },
	{ "%20 = const value 0.0 : reg f16[16] @{8:1@lane}", "extent 16 of dim 0, but 8" },
	{ "%20 = const value 0.0 : reg f16[64] @{64:1@lane}", "more than 32 lanes" },
	{ "%20 = const value 0.0 : reg f16[8] @{8:1@warp}", "more warps" },
	{ "%20 = const value 0.0 : reg f16[8] @{8:1}", "axis 0" },
	{ "%20 = const value 0.0 : reg f16[8] @{(4,2):(1@reg,4@reg)}", "rank 1, but 2" },
	{ "%20 = alloc : shared f16[8] @{8:1@reg}", "axis 1" },
	{ "%20 = alloc : shared f16[8] kept", "pinned in registers, but not a register tile" },
	{ "%20 = const value 0 : reg u4[8] order 16 @{8:1@reg}", "requires tiles in row-major order" },
	{ "%20 = const value 0 : reg u4[8] order 4 @{8:1@reg}", "order 4" },
	{ "%20 = const value 0 : reg u4[8] order 16 @{((4,2)):((1@reg,1@lane))}",
	  "4 elements/thread do not fill 32-bit registers in order" },
	{ "%20 = const value 0.0 : reg f16[8] order 16 @{8:1@reg}", "at most 8 bits" },
	{ "%20 = const value 0 : reg bool[8] order 8 @{8:1@reg}", "at most 8 bits" },
	{ "%20 = const value 0 : shared u4[8] order 16", "at most 8 bits" },
	{ "%20 = const value 0 : reg u4[8] %21 = cast %20 : reg u8[8] order 8", "row-major order" },
	{ "%20 = const value 0 : reg u4[8] %21 = reshape %20 : reg u4[8] order 16", "of one type" },
};

TEST_EACH(bad_is_named, COUNT_OF(bad))
{
	Kernel *k = ir_read(u, ir_wrap(u, arena_printf(u->arena, "%s    %s", prelude, bad[_i].line)));

	ck_assert_msg(!kernel_verify(k, "test"), "%s", bad[_i].line);
	ck_assert_int_eq(u->diag->nerror, 1);
	ck_assert_int_eq(u->diag->msg[0].cls, DC_INTERNAL);
	ck_assert_msg(strstr(ir_diags(u), "internal: after test: kernel t") != NULL, "%s", ir_diags(u));
	ck_assert_msg(strstr(ir_diags(u), bad[_i].say) != NULL, "%s: %s", bad[_i].line, ir_diags(u));
}

/* What text cannot say: links, ids and counts that are wrong in memory. */
#define BROKEN(X)                                                                                            \
	X(add->prev = NULL, "the list of ops is inconsistent")                                         \
	X(add->parent = k->grid, "the list of ops is inconsistent")                                    \
	X((op_unlink(k->body->last), k->body->last = loop->blk[0]->last), "the list of ops is")        \
	X(k->body->last = add, "the list of ops is inconsistent")                                      \
	X(op_unlink(k->body->last), "a block does not end in yield")                                   \
	X(op_unlink(k->grid->last), "a block does not end in yield")                                   \
	X(add->out[0]->id = 0, "op add: id %0 is used twice or out of range")                          \
	X(add->out[0]->id = 5, "op add: id %5 is used twice or out of range")                          \
	X(add->out[0]->id = k->nval + 1, "is used twice or out of range")                              \
	X(add->out[0]->index = 1, "value %20 has a wrong back-reference")                              \
	X(add->out[0]->def = NULL, "value %20 has a wrong back-reference")                             \
	X(add->out[0]->block = k->grid, "value %20 has a wrong back-reference")                        \
	X(add->out[0] = NULL, "op add: a result is missing")                                          \
	X(loop->blk[0]->arg[0] = NULL, "op for: a result or argument is missing")                     \
	X(loop->blk[0]->owner = add, "op for: a region belongs to another op")                         \
	X(loop->blk[0]->kernel = NULL, "op for: a region belongs to another op")                       \
	X(loop->nin = -1, "op for: a negative number of operands or results")                          \
	X(loop->nout = -1, "op for: a negative number of operands or results")                         \
	X(add->code = O_none, "kernel t: an op has an invalid code")                                   \
	X(add->code = O_COUNT, "kernel t: an op has an invalid code")                                  \
	X(add->blk[0] = block_new(k, add), "op add: wrong number of regions")                          \
	X(op_move_before(ir_val(k, 5)->def, k->body->last), "operand %5 is not defined before")        \
	X(add->in[1] = ir_val(k, 8), "operand %8 is not defined before its use") /* of the grid */     \
	X(block_arg(k->body, type_index()), "body arguments and parameters differ")                    \
	X(k->body->owner = loop, "body arguments and parameters differ")                               \
	X(k->nparam--, "body arguments and parameters differ")                                         \
	X(k->param[1].val = NULL, "body arguments and parameters differ")                              \
	X(k->param[1].val = k->param[0].val, "body arguments and parameters differ")                   \
	X(k->param[1].val->index = 0, "value %2 has a wrong back-reference")                           \
	X(k->param[0].size[0] = NULL, "a size is missing")                                             \
	X(k->param[0].size[0] = k->param[0].val, "a size or stride is not an i64 scalar")              \
	X(k->body = NULL, "missing body")                                                             \
	X(k->grid = NULL, "the grid block is missing, or has an owner or arguments")                   \
	X(k->grid->owner = add, "the grid block is missing, or has an owner or arguments")             \
	X(block_arg(k->grid, type_index()), "the grid block is missing, or has an owner or arguments") \
	X(k->map[0].param = -1, "a tensor map without a tensor, or of more than 5 dimensions")        \
	X(k->map[0].param = k->nparam, "a tensor map without a tensor, or of more than 5 dimensions")  \
	X(k->map[0].rank = 0, "a tensor map without a tensor, or of more than 5 dimensions")           \
	X(k->map[0].rank = 6, "a tensor map without a tensor, or of more than 5 dimensions")          \
	X(k->map[0].box[0] = 0, "a tensor map's box is not 1 to 256 elements in each dimension")       \
	X(k->producer_warps = -1, "warps per block are not 1 to 32")                                   \
	X(k->launch_registers = -1, "the register limit per thread is out of range")                   \
	X(k->order = ((GridOrder){ -1, 0, 1 }), "the raster order is not a group")                     \
	X(k->order = ((GridOrder){ 8, -1, 1 }), "the raster order is not a group")                     \
	X(k->order = ((GridOrder){ 8, 0, 3 }), "the raster order is not a group")                      \
	X(k->order = ((GridOrder){ 8, GRID_OTHERS, -1 }), "the raster order is not a group")           \
	X(k->order = ((GridOrder){ 8, GRID_OTHERS_DOWN + 1, 1 }), "the raster order is not a group")

/* Breaks the kernel in one of these ways; returns the verifier's message. */
static const char *
hurt(Kernel *k, int way)
{
	Op *add = ir_val(k, 20)->def, *loop = ir_val(k, 21)->block->owner;
	int n = 0;

#define X(how, say)                                                                                  \
	if (n++ == way) {                                                                                    \
		how;                                                                                         \
		return say;                                                                                  \
	}
	BROKEN(X)
#undef X
	return NULL;
}

/* A kernel with a loop and a tensor map. */
static Kernel *
read_whole(void)
{
	static const char map[] = "map %1 f16 box 8, 8 size %4, %3 stride %4 swizzle 0 l2 0";
	const char *text = ir_wrap(u, "%20 = add %5, %5 : i64 for %5, %4, %5 { (%21 : i64) yield }");
	const char *grid = strstr(text, "  grid {");

	return ir_read(u, arena_printf(u->arena, "%.*s%s%s", (int)(grid - text), text, map, grid));
}

enum {
#define X(how, say) 1 +
	NBROKEN = BROKEN(X) 0
#undef X
};

TEST_EACH(broken_links, NBROKEN)
{
	Kernel *k = read_whole();
	const char *say;

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	say = hurt(k, _i);
	ck_assert_msg(!kernel_verify(k, "test"), "%s", say);
	ck_assert_int_eq(u->diag->nerror, 1);
	ck_assert_msg(strstr(ir_diags(u), say) != NULL, "%s: %s", say, ir_diags(u));
	ir_text(u, k); /* can be printed all the same */
}

/* Of parameters that nothing uses too. */
TEST(unused_parameters_are_arguments)
{
	static const char text[] = "kernel t { param %1 size N : i64 read mult 1 lo 0 hi 9 "
				   "grid { %2 = const value 1 : i64 yield %2, %2, %2 } body { yield } }";

	for (int i = 0; i < 3; i++) {
		Kernel *k = ir_read(u, text);

		ck_assert(kernel_verify(k, "test"));
		if (i == 0)
			block_arg(k->body, type_index());
		else if (i == 1)
			k->param[0].val = NULL;
		else
			k->nparam = 0;
		ck_assert(!kernel_verify(k, "test"));
	}
}

/* The fault is that of a pass, or of the text that was read. */
TEST(the_text_or_a_pass)
{
	static const char *const after[] = { NULL, "fold" };
	static const char *const say[2][3] = {
		{ "invalid IR: kernel t: op add: op", "invalid IR: kernel t: warps",
		  "invalid IR: kernel ?: op add: op" },
		{ "internal: after fold: kernel t: op add: op", "internal: after fold: kernel t: warps",
		  "internal: after fold: kernel ?: op add: op" },
	};

	for (int i = 0; i < 2; i++)
		for (int n = 0; n < 3; n++) {
			Kernel *k = ir_read(u, ir_wrap(u, "%20 = add %5, %0 : i64 !7:3+2"));

			u->diag->n = u->diag->nerror = 0;
			k->warps = n == 1 ? 0 : 4;
			k->name = n == 2 ? NULL : "t";
			ck_assert(!kernel_verify(k, after[i]));
			ck_assert_int_eq(u->diag->nerror, 1);
			ck_assert_int_eq(u->diag->msg[0].cls == DC_INTERNAL, i);
			ck_assert_uint_eq(u->diag->msg[0].src.line, n == 1 ? k->src.line : 7);
			ck_assert_msg(strstr(ir_diags(u), say[i][n]) != NULL, "%s", ir_diags(u));
		}
}

TEST_PROGRAM(UNIT_FIXTURE);
