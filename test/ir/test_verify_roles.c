/* test_verify_roles.c - tests the verifier's rules of each op of warp roles, hexc/IR.md from `roles` to
 * `wgmma`, and those of a kernel's header. What holds across roles: test_warp_role.c. In C: a row of a table
 * each is as short as text. */
#include "test/check.h"
#include "test/ir/util_ir.h"
#include "test/ir/util_verify.h"
#include <stdio.h>
#include <string.h>

static const char prelude[] =
	"%10 = alloc offset -1 : shared f16[3, 64, 64]\n"
	"%11 = alloc offset -1 : shared f16[64, 64]\n"
	"%12 = mbarrier offset -1 arrivals 1 : shared u64[2]\n"
	"%13 = const value 0 : i64\n"
	"%14 = const value 1 : i32\n"
	"%15 = const value 1 : bool\n"
	"%16 = view %1, %5, %5 : global f16[64, 64]\n"
	"%17 = view %10, %5, %5, %5 dropped 1 : shared f16[64, 64]\n"
	"%18 = view %2, %5, %5 : global f16[64, 64]\n"
	"%19 = mbarrier offset -1 arrivals 1 : shared u64[1]\n";
static const char producers[] = "producer_warps 4";

/* ---- roles ---- */

static const VerifyRow roles[] = {
	{ "roles { yield } else { yield }", NULL },
	{ "roles { yield } else { yield } barrier", "not the last op of the body" },
	{ "roles { yield } else { yield } roles { yield } else { yield }", "not the last op of the body" },
	{ "if %15 { roles { yield } else { yield } yield } else { yield }", "not the last op of the body" },
	{ "roles { roles { yield } else { yield } yield } else { yield }", "not the last op of the body" },
	{ "roles { yield } else { roles { yield } else { yield } yield }", "not the last op of the body" },
	{ "roles { yield }", "wrong number of regions" },
	{ "roles", "wrong number of regions" },
	{ "roles { (%30 : i64) yield } else { yield }", "a region has arguments or yields values" },
	{ "roles { yield } else { (%30 : i64) yield }", "a region has arguments or yields values" },
	{ "roles { yield %5 } else { yield }", "a region has arguments or yields values" },
	{ "roles { yield } else { yield %5 }", "a region has arguments or yields values" },
	{ "roles %5 { yield } else { yield }", "1 operands; expected 0" },
	/* before it: pure ops, allocs and mbarriers */
	{ "barrier\nroles { yield } else { yield }", "barrier with side effects before `roles`" },
	{ "%30 = load %16 : reg f16[64, 64] roles { yield } else { yield }",
	  "load with side effects before `roles`" },
	{ "copy %16, %11\n%30 = add %5, %5 : i64 roles { yield } else { yield }",
	  "copy with side effects before `roles`" },
	{ "if %15 { yield } else { yield } roles { yield } else { yield }",
	  "if with side effects before `roles`" },
	/* registers per thread: both or none, multiples of 8 from 24 to 256 */
	{ "roles producer 24 consumer 256 { yield } else { yield }", NULL },
	{ "roles producer 256 consumer 24 { yield } else { yield }", NULL },
	{ "roles producer 16 consumer 240 { yield } else { yield }", "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer 24 consumer 264 { yield } else { yield }", "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer 24 consumer 16 { yield } else { yield }", "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer 28 consumer 232 { yield } else { yield }", "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer 24 consumer 236 { yield } else { yield }", "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer -24 consumer 232 { yield } else { yield }",
	  "a multiple of 8 from 24 to 256, or 0" },
	{ "roles producer 24 { yield } else { yield }", "registers are set for only one role" },
	{ "roles consumer 232 { yield } else { yield }", "registers are set for only one role" },
	/* values do not leave a region */
	{ "roles { %30 = add %5, %5 : i64 yield } else { %31 = add %30, %5 : i64 yield }",
	  "operand %30 is not defined before its use" },
};
TEST_ROWS(roles_row, producers, prelude, roles)

static const VerifyRow no_producers[] = {
	{ "roles { yield } else { yield }", "the kernel has no producer warps" },
};
TEST_ROWS(no_producers_row, "producer_warps 0", prelude, no_producers)
static const VerifyRow one_producer[] = { { "roles { yield } else { yield }", NULL } };
TEST_ROWS(one_producer_row, "producer_warps 1", prelude, one_producer)

static const VerifyRow group_ids[] = {
	{ "roles { yield } else { %30 = consumer_group_id : i64 yield }", NULL },
	{ "roles { yield } else { if %15 { %30 = consumer_group_id : i64 yield } else { yield } yield"
	  " }", NULL },
	{ "roles { %30 = consumer_group_id : i64 yield } else { yield }",
	  "not in the region of the consumer groups" },
	{ "%30 = consumer_group_id : i64", "not in the region of the consumer groups" },
	{ "roles { yield } else { %30 = consumer_group_id : i32 yield }", "the result is not an i64 scalar" },
	{ "roles { yield } else { %30 = consumer_group_id : reg i64[4] yield }",
	  "the result is not an i64 scalar" },
};
TEST_ROWS(group_ids_row, producers, prelude, group_ids)

/* ---- mbarriers ---- */

static const VerifyRow mbarriers[] = {
	{ "%30 = mbarrier offset -1 arrivals 1 : shared u64[1] %31 = mbarrier offset 8 arrivals 7 : shared"
	  " u64[9]", NULL },
	{ "%30 = mbarrier offset -2 arrivals 1 : shared u64[1]", "a negative offset" },
	{ "%30 = mbarrier offset 0 arrivals 1 : shared u64[1]", NULL },
	{ "%30 = mbarrier offset 1 arrivals 1 : shared u64[1]", "the offset is not aligned" },
	{ "%30 = mbarrier offset 4 arrivals 1 : shared u64[1]", "the offset is not aligned" },
	/* (2^20 - 1) / (32 warps of 33 arrivals) */
	{ "%30 = mbarrier offset -1 arrivals 992 : shared u64[1]", NULL },
	{ "%30 = mbarrier offset -1 arrivals 993 : shared u64[1]", "an arrival count that is not 1 to 992" },
	{ "%30 = mbarrier offset -1 : shared u64[1]", "an arrival count that is not 1 to 992" },
	{ "%30 = mbarrier offset -1 arrivals 1 : reg u64[4]", "the result is not shared u64[n]" },
	{ "%30 = mbarrier offset -1 arrivals 1 : shared i64[4]", "the result is not shared u64[n]" },
	{ "%30 = mbarrier offset -1 arrivals 1 : shared u64[2, 2]", "the result is not shared u64[n]" },
	{ "%30 = mbarrier offset -1 arrivals 1 : shared u64[]", "the result is not shared u64[n]" },
	{ "if %15 { %30 = mbarrier offset -1 arrivals 1 : shared u64[1] yield } else { yield }",
	  "not at the top level of the body" },
	{ "roles { yield } else { %30 = mbarrier offset -1 arrivals 1 : shared u64[1] yield }",
	  "not at the top level of the body" },
};
TEST_ROWS(mbarriers_row, producers, prelude, mbarriers)

static const VerifyRow arrivals[] = {
	{ "roles { mbarrier_arrive %12, %5 yield } else { mbarrier_wait %12, %5, %13 yield }", NULL },
	{ "roles { mbarrier_wait %12, %5, %13 yield } else { if %15 { mbarrier_arrive %12, %5 yield } else"
	  " { yield } "
	  "yield }", NULL },
	{ "mbarrier_wait %12, %5, %13", "not in a role; mbarriers synchronize roles" },
	{ "mbarrier_arrive %12, %5", "not in a role; mbarriers synchronize roles" },
	{ "roles { mbarrier_wait %10, %5, %13 yield } else { yield }", "not an mbarrier" },
	{ "roles { mbarrier_wait %5, %5, %13 yield } else { yield }", "not an mbarrier" },
	{ "roles { mbarrier_wait %1, %5, %13 yield } else { yield }", "not an mbarrier" },
	{ "roles { mbarrier_wait %12, %14, %13 yield } else { yield }", "the slot is not an i64 scalar" },
	{ "roles { mbarrier_wait %12, %5, %14 yield } else { yield }", "the phase is not an i64 scalar" },
	{ "roles { mbarrier_wait %12, %5 yield } else { yield }", "2 operands; expected 3" },
	{ "roles { mbarrier_arrive %11, %5 yield } else { yield }", "not an mbarrier" },
	{ "roles { mbarrier_arrive %12, %15 yield } else { yield }", "the slot is not an i64 scalar" },
	{ "roles { mbarrier_arrive %12 yield } else { yield }", "1 operands; expected 2" },
	{ "roles { mbarrier_arrive %12, %5 expect 1 arrive_count 4 sinkable 1 pingpong 1 yield } "
	  "else { mbarrier_wait %12, %5, %13 yield }", NULL },
	{ "roles { mbarrier_arrive %12, %5 expect 2 yield } else { yield }", "`expect` is not 0 to 1" },
	{ "roles { mbarrier_arrive %12, %5 expect -1 yield } else { yield }", "`expect` is not 0 to 1" },
	{ "roles { mbarrier_arrive %12, %5 arrive_count -1 yield } else { yield }",
	  "the number of arrivals is negative" },
	{ "roles { mbarrier_arrive %12, %5 sinkable 2 yield } else { yield }", "`sinkable` is not 0 to 1" },
	{ "roles { mbarrier_arrive %12, %5 pingpong 2 yield } else { yield }", "`pingpong` is not 0 to 1" },
	{ "roles { mbarrier_arrive %12, %5 pingpong -1 yield } else { yield }", "`pingpong` is not 0 to 1" },
	/* blocks of the cluster: there is one */
	{ "roles { mbarrier_arrive %12, %5 cluster 1 yield } else { mbarrier_wait %12, %5, %13 yield"
	  " }", NULL },
	{ "roles { mbarrier_arrive %12, %5 cluster 2 yield } else { yield }", "invalid cluster blocks" },
	{ "roles { mbarrier_arrive %12, %5 cluster -1 yield } else { yield }", "invalid cluster blocks" },
};
TEST_ROWS(arrivals_row, producers, prelude, arrivals)

static const VerifyRow in_cluster[] = {
	{ "roles { mbarrier_arrive %12, %5 cluster 15 yield } else { mbarrier_wait %12, %5, %13 yield"
	  " }", NULL },
	{ "roles { mbarrier_arrive %12, %5 cluster 16 yield } else { yield }", "invalid cluster blocks" },
};
TEST_ROWS(in_cluster_row, "producer_warps 4 cluster 2, 2, 1", prelude, in_cluster)
static const VerifyRow in_large_cluster[] = {
	{ "roles { mbarrier_arrive %12, %5 cluster 65535 yield } else { mbarrier_wait %12, %5, %13 yield"
	  " }", NULL },
	{ "roles { mbarrier_arrive %12, %5 cluster 65536 yield } else { yield }", "invalid cluster blocks" },
};
TEST_ROWS(in_large_cluster_row, "producer_warps 4 cluster 16, 1, 1", prelude, in_large_cluster)

static const VerifyRow copies[] = {
	{ "roles { copy %16, %17, %12, %5 async 2 mbarrier_arrive %12, %5 expect 1 yield } "
	  "else { mbarrier_wait %12, %5, %13 yield }", NULL },
	{ "roles { copy %16, %17, %12, %5 async 2 multicast 3 mbarrier_arrive %12, %5 expect 1 yield } "
	  "else { mbarrier_wait %12, %5, %13 yield }", NULL },
	{ "roles { copy %16, %17, %12, %5 async 2 multicast 4 yield } else { yield }",
	  "`multicast` is not 0 to 3" },
	{ "roles { copy %16, %17, %12, %5 async 2 multicast -1 yield } else { yield }",
	  "`multicast` is not 0 to 3" },
	{ "roles { copy %16, %17, %11, %5 async 2 yield } else { yield }", "not an mbarrier" },
	{ "roles { copy %16, %17, %12, %14 async 2 yield } else { yield }", "the slot is not an i64 scalar" },
	{ "roles { copy %17, %18, %12, %5 async 2 yield } else { yield }", "does not copy to" },
};
TEST_ROWS(copies_row, producers, prelude, copies)

/* ---- wgmma ---- */

static const char matrices[] =
	"%10 = alloc offset -1 : shared f16[3, 64, 32]\n"
	"%11 = alloc offset -1 : shared f16[32, 8]\n"
	"%12 = const value 0.0 : reg f32[64, 8]\n"
	"%13 = view %10, %5, %5, %5 dropped 1 : shared f16[64, 32]\n"
	"%14 = const value 1.0 : reg f16[64, 32]\n"
	"%15 = const value 1 : bool\n"
	"%16 = alloc offset -1 : shared f16[32, 64]\n"
	"%17 = alloc offset -1 : shared f16[8, 32]\n"
	"%18 = const value 1.0 : reg f16[32, 8]\n"
	"%19 = const value 0 : reg i32[64]\n"
	"%20 = const value 0 : i64\n"
	"%21 = alloc offset -1 : shared f16[48, 32]\n";

static const VerifyRow products[] = {
	{ "%30 = wgmma %13, %11, %12 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %14, %11, %12 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %13, %18, %12 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %14, %18, %12 : reg f32[64, 8]",
	  "operands must be matrices in shared memory, or one of them" },
	{ "%30 = wgmma %10, %11, %12 : reg f32[64, 8]",
	  "operands must be matrices in shared memory, or one of them" },
	{ "%30 = wgmma %13, %10, %12 : reg f32[64, 8]",
	  "operands must be matrices in shared memory, or one of them" },
	{ "%30 = view %1, %5, %5 : global f16[64, 32] %31 = wgmma %30, %11, %12 : reg f32[64, 8]",
	  "operands must be matrices in shared memory, or one of them" },
	{ "%30 = view %1, %5, %5 : global f16[32, 8] %31 = wgmma %13, %30, %12 : reg f32[64, 8]",
	  "operands must be matrices in shared memory, or one of them" },
	{ "%30 = wgmma %13, %11 : reg f32[64, 8]", "expected two operands, an accumulator" },
	{ "%30 = wgmma %13, %11, %12, %15, %15 : reg f32[64, 8]", "expected two operands, an accumulator" },
	{ "%30 = wgmma %13, %11, %12, %15 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %13, %11, %12, %5 : reg f32[64, 8]", "the condition is not a bool scalar" },
	/* bit 0: a[K, M]; bit 1: b[N, K]; of operands in shared memory */
	{ "%30 = wgmma %16, %11, %12 transposed 1 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %13, %17, %12 transposed 2 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %16, %17, %12 transposed 3 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %16, %17, %12 transposed 4 : reg f32[64, 8]", "`transposed` is not 0 to 3" },
	{ "%30 = wgmma %16, %17, %12 transposed -1 : reg f32[64, 8]", "`transposed` is not 0 to 3" },
	{ "%30 = wgmma %16, %11, %12 : reg f32[64, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = wgmma %13, %17, %12 : reg f32[64, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = wgmma %13, %11, %12 transposed 1 : reg f32[64, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = wgmma %13, %11, %12 transposed 2 : reg f32[64, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = wgmma %14, %17, %12 transposed 2 : reg f32[64, 8]", NULL },
	{ "%30 = wgmma %16, %18, %12 transposed 1 : reg f32[64, 8]", NULL },
	{ "%30 = const value 1.0 : reg f16[32, 64] %31 = wgmma %30, %11, %12 transposed 1 : reg f32[64, 8]",
	  "a register operand cannot be transposed" },
	{ "%30 = const value 1.0 : reg f16[8, 32] %31 = wgmma %13, %30, %12 transposed 2 : reg f32[64, 8]",
	  "a register operand cannot be transposed" },
	{ "%30 = wgmma %13, %11, %12 : reg f32[64, 16]", "result and accumulator differ" },
	{ "%30 = alloc offset -1 : shared f32[64, 8] %31 = wgmma %13, %11, %30 : reg f32[64, 8]",
	  "operands are not matrices that `dot` supports" },
	{ "%30 = const value 0 : reg i32[64, 8] %31 = wgmma %13, %11, %30 : reg i32[64, 8]",
	  "accumulator type is too narrow for the operands" },
	/* memory that an instruction finds by strides */
	{ "%30 = view %21, %19, %20 : shared f16[64, 32] %31 = wgmma %30, %11, %12 : reg f32[64, 8]",
	  "an operand is an indexed view, or one that is longer than its operand" },
	{ "%30 = view %21, %20, %20 : shared f16[64, 32] %31 = wgmma %30, %11, %12 : reg f32[64, 8]",
	  "an operand is an indexed view, or one that is longer than its operand" },
	{ "%30 = alloc offset -1 : shared f16[24, 8] %31 = view %30, %20, %20 : shared f16[32, 8]"
	  " %32 = wgmma %13, %31, %12 : reg f32[64, 8]",
	  "an operand is an indexed view, or one that is longer than its operand" },
	{ "%30 = alloc offset -1 : shared f32[32, 8] %31 = view %30, %20, %20 : shared f32[64, 8]"
	  " %32 = wgmma %13, %11, %31 : reg f32[64, 8]", "operands are not matrices that `dot` supports" },
	{ "%30 = reshape %21 : shared f16[96, 16] %31 = view %30, %20, %20 : shared f16[64, 16]"
	  " %32 = view %11, %20, %20 : shared f16[16, 8] %33 = wgmma %31, %32, %12 : reg f32[64, 8]", NULL },
};
TEST_ROWS(products_row, "", matrices, products)

/* ---- the header ---- */

/* A kernel with these header items, grid block and body. */
static void
verify_kernel(const char *head, const char *grid, const char *body, const char *say)
{
	char text[2000];

	snprintf(text, sizeof text, "kernel t {\n%s\ngrid {\n%s\n}\nbody {\n%s\n}\n}\n", head, grid, body);
	verify_text(text, say);
}

static const char plain_grid[] = "%90 = const value 1 : i64 yield %90, %90, %90";

static const VerifyRow heads[] = {
	{ "warps 1", NULL },
	{ "warps 32", NULL },
	{ "warps 0", "warps per block are not 1 to 32" },
	{ "warps 33", "warps per block are not 1 to 32" },
	{ "warps 4 teams 0", "warps per block are not 1 to 32" },
	{ "warps 4 teams 7 producer_warps 4", NULL },
	{ "warps 4 teams 8 producer_warps 0", NULL },
	{ "warps 4 teams 7 producer_warps 5", "warps per block are not 1 to 32" },
	{ "warps 4 cluster 1, 1, 1", NULL },
	{ "warps 4 cluster 0, 1, 1", "a cluster without blocks" },
	{ "warps 4 cluster 1, 0, 1", "a cluster without blocks" },
	{ "warps 4 cluster 1, 1, 0", "a cluster without blocks" },
	{ "warps 4 registers 0", NULL },
	{ "warps 4 registers 255", NULL },
	{ "warps 4 registers 256", "the register limit per thread is out of range" },
	/* groups of 1 to 1024 blocks, in two grid dimensions, the lower first, or in one and the others */
	{ "warps 4 group 1 of 0, 1", NULL },
	{ "warps 4 group 1024 of 1, 2", NULL },
	{ "warps 4 group 8 of 0, 2", NULL },
	{ "warps 4 group 1025 of 0, 1", "the raster order is not a group of 1 to 1024 blocks" },
	{ "warps 4 group 8 of 1, 0", "the raster order is not a group of 1 to 1024 blocks" },
	{ "warps 4 group 8 of 1, 1", "the raster order is not a group of 1 to 1024 blocks" },
	{ "warps 4 group 8 of 2, 2", "the raster order is not a group of 1 to 1024 blocks" },
	{ "warps 4 group 8 of others, 0", NULL },
	{ "warps 4 group 8 of others, 2 descending", NULL },
	{ "warps 4 group 0 of 2, 1", NULL }, /* the hardware's order */
};

TEST(heads_row)
{
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		verify_kernel(heads[i].line, plain_grid, "yield", heads[i].say);
}

static const VerifyRow params[] = {
	{ "param %1 size N : i64 read mult 8 lo 8 hi 8 param %2 scalar x : f32 read param %3 scalar y :"
	  " bool read", NULL },
	{ "param %1 size N : i32 read mult 1 lo 0 hi 9", "a parameter's type does not fit its kind" },
	{ "param %1 size N : reg i64[4] read mult 1 lo 0 hi 9", "a parameter's type does not fit its kind" },
	{ "param %1 scalar x : reg f32[4] read", "a parameter's type does not fit its kind" },
	{ "param %1 scalar x : global f32[4] read", "a parameter's type does not fit its kind" },
	{ "param %1 tensor A : f32 read", "a parameter's type does not fit its kind" },
	{ "param %1 tensor A : shared f32[4] read size %50 stride %51",
	  "a parameter's type does not fit its kind" },
	{ "param %1 tensor A : global tf32[4] read size %50 stride %51",
	  "an element type that is not allowed in global memory" },
	{ "param %1 size N : i64 read mult 8 lo 9 hi 8",
	  "a parameter's range attributes contradict each other" },
	{ "param %1 size N : i64 read mult -1 lo 0 hi 8",
	  "a parameter's range attributes contradict each other" },
	{ "param %1 scalar x : i32 read mult 4 lo -8 hi -8", NULL },
	{ "param %1 scalar x : i32 read mult 4 lo -8 hi -9",
	  "a parameter's range attributes contradict each other" },
	{ "param %1 tensor A : global f32[] read", "a tensor of rank 0" },
	/* sizes and strides: i64 scalars of the body's top level, and the static extents */
	{ "param %1 tensor A : global f32[4] read size %50 stride %51", NULL },
	{ "param %1 tensor A : global f32[?] read size %50 stride %51", NULL },
	{ "param %1 tensor A : global f32[1] read size %50 stride %51",
	  "a static extent differs from the tensor's size" },
	{ "param %1 tensor A : global f32[?, 4] read size %51, %50 stride %50, %51", NULL },
	{ "param %1 tensor A : global f32[5] read size %50 stride %51",
	  "a static extent differs from the tensor's size" },
	{ "param %1 tensor A : global f32[4] read size %52 stride %51",
	  "a static extent differs from the tensor's size" },
	{ "param %1 tensor A : global f32[?] read size %52 stride %52", NULL },
	{ "param %1 tensor A : global f32[4, 4] read size %50, %51 stride %50, %51",
	  "a static extent differs from the tensor's size" },
	{ "param %1 tensor A : global f32[?] read size %53 stride %51",
	  "a size or stride is not an i64 scalar" },
	{ "param %1 tensor A : global f32[?] read size %50 stride %53",
	  "a size or stride is not an i64 scalar" },
	{ "param %1 tensor A : global f32[?, 4] read size %51, %54 stride %50, %51",
	  "a size or stride is not an i64 scalar" },
	{ "param %1 tensor A : global f32[?] read size %0 stride %51", "a size is missing" },
	{ "param %1 tensor A : global f32[?] read size %50 stride %0", "a stride is missing" },
	{ "param %1 tensor A : global f32[?, ?] read size %50, %50 stride %50, %0", "a stride is missing" },
	{ "param %1 tensor A : global f32[?] read size %55 stride %51",
	  "a size %55 is not defined before its use" },
	{ "param %1 tensor A : global f32[?] read size %50 stride %55",
	  "a stride %55 is not defined before its use" },
	{ "param %1 tensor A : global f32[?] read size %90 stride %51",
	  "a size %90 is not defined before its use" },
};

/* Sizes, and a value that is not visible at the top level. */
static const char sizes[] =
	"%50 = const value 4 : i64\n"
	"%51 = const value 1 : i64\n"
	"%52 = block_id : i64\n"
	"%53 = const value 4 : i32\n"
	"%54 = const value 4 : reg i64[4]\n"
	"%56 = const value 1 : bool\n"
	"if %56 { %55 = const value 4 : i64 yield } else { yield }\n";

TEST(params_row)
{
	char body[600];

	snprintf(body, sizeof body, "%s yield", sizes);
	for (size_t i = 0; i < sizeof params / sizeof *params; i++)
		verify_kernel(params[i].line, plain_grid, body, params[i].say);
}

static const VerifyRow maps[] = {
	{ "map %1 f32 box 1 size %50 swizzle 0 l2 0", NULL },
	{ "map %1 f32 box 256, 1, 2, 3, 256 size %50, %50, %50, %50, %50 stride %51, %50, %50, %50 swizzle"
	  " 128 l2 256", NULL },
	{ "map %1 f32 box 257 size %50 swizzle 0 l2 0", "a tensor map's box is not 1 to 256 elements" },
	{ "map %1 f32 box 256, 257 size %50, %50 stride %50 swizzle 0 l2 0",
	  "a tensor map's box is not 1 to 256 elements" },
	{ "map %1 f32 box 8 size %50 swizzle 32 l2 64", NULL },
	{ "map %1 f32 box 8 size %50 swizzle 64 l2 128", NULL },
	{ "map %1 f32 box 8 size %50 swizzle 16 l2 0",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 33 l2 0",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 63 l2 0",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 127 l2 0",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 1 l2 0", "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 32",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 1", "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 65",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 127",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 255",
	  "a tensor map has an invalid swizzle or L2 promotion" },
	{ "map %2 f32 box 8 size %50 swizzle 0 l2 0", "a tensor map without a tensor" },
	{ "map %1 f32 box 8 size %53 swizzle 0 l2 0", "a tensor map's size or stride is not an i64 scalar" },
	{ "map %1 f32 box 8, 8 size %50, %54 stride %50 swizzle 0 l2 0",
	  "a tensor map's size or stride is not an i64 scalar" },
	{ "map %1 f32 box 8, 8 size %50, %50 stride %53 swizzle 0 l2 0",
	  "a tensor map's size or stride is not an i64 scalar" },
	{ "map %1 f32 box 8 size %0 swizzle 0 l2 0", "a tensor map's size is missing" },
	{ "map %1 f32 box 8, 8 size %50, %50 stride %0 swizzle 0 l2 0", "a tensor map's stride is missing" },
	{ "map %1 f32 box 8 size %55 swizzle 0 l2 0",
	  "a tensor map's size %55 is not defined before its use" },
	{ "map %1 f32 box 8, 8 size %50, %50 stride %55 swizzle 0 l2 0",
	  "a tensor map's stride %55 is not defined before its use" },
	/* each of several */
	{ "map %1 f32 box 8 size %50 swizzle 0 l2 0 map %1 f32 box 257 size %50 swizzle 0 l2 0",
	  "a tensor map's box is not 1 to 256 elements" },
};

TEST(maps_row)
{
	char head[400], body[600];

	snprintf(body, sizeof body, "%s yield", sizes);
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
		snprintf(head, sizeof head, "param %%1 tensor A : global f32[?] read size %%50 stride %%51\n"
		                            "param %%2 size N : i64 read mult 1 lo 0 hi 9\n%s", maps[i].line);
		verify_kernel(head, plain_grid, body, maps[i].say);
	}
}

static const VerifyRow grids[] = {
	{ "%10 = const value 1 : i64 yield %1, %10, %10", NULL },
	{ "%10 = const value 1 : i64 yield %10, %10", "the grid must yield x, y and z" },
	{ "%10 = const value 1 : i64 yield %10, %10, %10, %10", "the grid must yield x, y and z" },
	{ "%10 = const value 1 : i32 yield %10, %1, %1", "the grid must yield i64 scalars" },
	{ "%10 = const value 1 : i32 yield %1, %10, %1", "the grid must yield i64 scalars" },
	{ "%10 = const value 1 : i32 yield %1, %1, %10", "the grid must yield i64 scalars" },
	{ "%10 = block_id : i64 yield %10, %1, %1",
	  "op block_id: the grid block has an op with side effects" },
	{ "%10 = linear_block_id : i64 yield %10, %1, %1",
	  "op linear_block_id: the grid block has an op with side effects" },
	{ "%10 = block_in_grid %1, %1, %1, %1 : bool yield %1, %1, %1",
	  "op block_in_grid: the grid block has an op with side effects" },
	{ "barrier\nyield %1, %1, %1", "op barrier: the grid block has an op with side effects" },
	{ "%10 = alloc offset -1 : shared f16[8] yield %1, %1, %1",
	  "op alloc: the grid block has an op with side effects" },
	{ "%10 = const value 1 : bool if %10 { yield } else { yield } yield %1, %1, %1",
	  "op if: the grid block has an op with side effects" },
	{ "%10 = add %1, %0 : i64 yield %10, %1, %1", "operand is missing" },
	{ "barrier", "a block does not end in yield" },
	{ "yield %1, %1, %0", "operand is missing" },
};

static const char size_n[] = "param %1 size N : i64 read mult 1 lo 0 hi 9";

TEST(grids_row)
{
	for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
		verify_kernel(size_n, grids[i].line, "yield", grids[i].say);
}

TEST(values_of_the_grid)
{
	verify_text("kernel t { body { yield } }", "the grid block is missing, or has an owner or arguments");
	verify_kernel("", plain_grid, "%10 = add %90, %90 : i64 yield", "operand %90 is not defined before");
	verify_kernel("", plain_grid, "%1 = const value 1 : i64 yield %1", "the body must not yield values");
	verify_kernel("", plain_grid, "%1 = const value 1 : i64 yield", NULL);
}

static const VerifyRow assumptions[] = {
	{ "assume %10 \"N < 9\"", NULL },
	{ "assume %10 \"N < 9\" assume %11 \"N\"", "an assumption is not a bool scalar" },
	{ "assume %11 \"N\"", "an assumption is not a bool scalar" },
	{ "assume %12 \"N\"", "an assumption is not a bool scalar" },
	{ "assume %0 \"N\"", "an assumption is missing" },
};

static void
verify_assumption(const char *rest, const char *say)
{
	char text[600];

	snprintf(text, sizeof text, "kernel t {\n%s\ngrid {\n%s", size_n, rest);
	verify_text(text, say);
}

TEST(assumptions_row)
{
	static const char grid[] = "%10 = lt %1, %1 : bool %11 = add %1, %1 : i64 "
				   "%12 = const value 1 : reg bool[4] yield %1, %1, %1";
	char rest[300];

	for (size_t i = 0; i < sizeof assumptions / sizeof *assumptions; i++) {
		/* they name values of the grid block, which precedes them */
		snprintf(rest, sizeof rest, "%s\n}\n%s\nbody { yield }\n}\n", grid, assumptions[i].line);
		verify_assumption(rest, assumptions[i].say);
	}
}
