/* test_verify_memory.c - tests the verifier's rules of ops on memory, of messages and of structure:
 * hexc/IR.md from `alloc` to `grid_barrier`, and from `print` on, in its order. In C: a row of a table each
 * is as short as text. */
#include "test/check.h"
#include "test/ir/util_verify.h"

static const char prelude[] =
	"%10 = const value 1.0 : reg f16[16, 32]\n"
	"%11 = alloc offset -1 : shared f16[16, 32]\n"
	"%12 = alloc offset -1 : shared f16[3, 16, 32]\n"
	"%13 = view %1, %5, %5 : global f16[16, 32]\n"
	"%14 = view %2, %5, %5 : global f16[16, 32]\n"
	"%15 = const value 0 : i64\n"
	"%16 = const value 1 : i32\n"
	"%17 = const value 1.0 : f16\n"
	"%18 = const value 1 : bool\n"
	"%19 = const value 0 : reg i32[16]\n"
	"%20 = const value 0 : reg i64[4, 8]\n"
	"%21 = const value 1 : reg i32[16]\n"
	"%22 = view %102, %5 : global i32[16]\n"
	"%23 = mbarrier offset -1 arrivals 1 : shared u64[2]\n"
	"%24 = const value -9223372036854775808 : i64\n"
	"%25 = const value 9223372036854775807 : i64\n"
	"%26 = const value 1.0 : reg f32[16, 8]\n"
	"%27 = alloc offset -1 : shared i32[16]\n"
	"%28 = const value 1.0 : reg f16[16]\n"
	"%29 = view %102, %5 dropped 1 : global i32[]\n";

/* ---- alloc ---- */

static const VerifyRow allocs[] = {
	{ "%30 = alloc offset -1 : shared f16[64, 32] %31 = alloc : shared f16[1] %32 = alloc offset 16 : "
	  "shared f16[8]", NULL },
	{ "%30 = alloc offset -2 : shared f16[64]", "a negative offset" },
	{ "%30 = alloc offset 0 : shared f16[64] %31 = alloc offset 1 align 1 : shared f16[64]", NULL },
	{ "%30 = alloc offset 1 : shared f16[64]", "the offset is not aligned" },
	{ "%30 = alloc offset 8 : shared f16[64]", "the offset is not aligned" },
	{ "%30 = alloc offset 128 align 128 : shared f16[64] %31 = alloc offset 8 align 8 : shared"
	  " f16[64]", NULL },
	{ "%30 = alloc offset 64 align 128 : shared f16[64]", "the offset is not aligned" },
	{ "%30 = alloc offset -1 align 1 : shared f16[64] %31 = alloc offset -1 align 1024 : shared"
	  " f16[64]", NULL },
	{ "%30 = alloc offset -1 align 3 : shared f16[64]", "an alignment that is not a power of two" },
	{ "%30 = alloc offset -1 align 48 : shared f16[64]", "an alignment that is not a power of two" },
	{ "%30 = alloc offset -1 align -1 : shared f16[64]", "an alignment that is not a power of two" },
	{ "%30 = alloc offset -1 align -16 : shared f16[64]", "an alignment that is not a power of two" },
	{ "%30 = alloc offset -1 table 5 : shared f16[64]", NULL },
	{ "%30 = alloc offset -1 table 6 : shared f16[64]", "`table` is not 0 to 5" },
	{ "%30 = alloc offset -1 table -1 : shared f16[64]", "`table` is not 0 to 5" },
	{ "%30 = alloc offset -1 : reg f16[64]", "the result is not a shared tile" },
	{ "%30 = alloc offset -1 : global f16[64]", "the result is not a shared tile" },
	{ "%30 = alloc offset -1 : shared f16[]", "the result is not a shared tile" },
	{ "%30 = alloc offset -1 : shared f16[?]", "extent -1 of dim 0" },
	{ "%30 = alloc %5 offset -1 : shared f16[64]", "1 operands; expected 0" },
};
TEST_ROWS(allocs_row, "", prelude, allocs)

/* ---- view ---- */

static const VerifyRow views[] = {
	{ "%30 = view %1, %15, %5 : global f16[16, 32] %31 = view %11, %5, %5 : shared f16[8, 8]", NULL },
	{ "%30 = view %12, %15, %5, %5 dropped 1 : shared f16[16, 32] %31 = view %30, %5, %5 : shared"
	  " f16[4, 8]", NULL },
	{ "%30 = reshape %12 : shared f16[48, 32] %31 = view %30, %5, %5 : shared f16[4, 8]", NULL },
	{ "%30 = view %1 : global f16[16, 32]", "0 starts for 2 dimensions" },
	{ "%30 = view %1, %5 : global f16[16, 32]", "1 starts for 2 dimensions" },
	{ "%30 = view %1, %5, %5, %5 : global f16[16, 32]", "3 starts for 2 dimensions" },
	{ "%30 = view %1, %5, %5, %5, %5 : global f16[16, 32]", "4 starts for 2 dimensions" },
	{ "%30 = view : global f16[16, 32]", "not a static tile in the memory space of its operand" },
	{ "%30 = view %1, %5, %5 : shared f16[16, 32]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %11, %5, %5 : global f16[16, 32]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %10, %5, %5 : reg f16[16, 32]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %1, %5, %5 : global f32[16, 32]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %1, %5, %5 : global f16[16, ?]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %1, %5, %5 : global f16[?, 32]",
	  "not a static tile in the memory space of its operand" },
	{ "%30 = view %23, %5 : shared u64[1]", "mbarriers cannot be viewed" },
	{ "%30 = view %1, %16, %5 : global f16[16, 32]",
	  "a start is neither an i64 scalar nor a tile of indices" },
	{ "%30 = view %1, %5, %16 : global f16[16, 32]",
	  "a start is neither an i64 scalar nor a tile of indices" },
	{ "%30 = view %1, %5, %28 : global f16[16, 32]",
	  "a start is neither an i64 scalar nor a tile of indices" },
	{ "%30 = view %1, %5, %27 : global f16[16, 32]",
	  "a start is neither an i64 scalar nor a tile of indices" },
	{ "%30 = const value 0 : reg u32[16] %31 = view %1, %30, %5 : global f16[16, 32]",
	  "a start is neither an i64 scalar nor a tile of indices" },
	{ "%30 = view %1, %5, %5 dropped 1 : global f16[32] %31 = view %1, %5, %5 dropped 3 : global"
	  " f16[]", NULL },
	{ "%30 = view %1, %5, %5 dropped 4 : global f16[16, 32]", "dropped dimensions out of range" },
	{ "%30 = view %1, %5, %5 dropped -1 : global f16[]", "dropped dimensions out of range" },
	{ "%30 = view %1, %5, %5 dropped 1 : global f16[1, 32]", "rank 2, but 1 dimensions remain" },
	{ "%30 = view %1, %5, %5 : global f16[32]", "rank 1, but 2 dimensions remain" },
	{ "%30 = view %1, %5, %5 : global f16[16, 32, 1]", "rank 3, but 2 dimensions remain" },
};
TEST_ROWS(views_row, "", prelude, views)

/* Longer than its operand, from its start on; not viewed again. */
static const VerifyRow longer[] = {
	{ "%30 = view %1, %5, %5 : global f16[1000, 1000]", NULL }, /* of a tensor: past its end */
	{ "%30 = view %13, %15, %15 : global f16[17, 33] %31 = view %11, %15, %15 : shared f16[17,"
	  " 32]", NULL },
	{ "%30 = view %13, %5, %15 : global f16[16, 33] %31 = view %13, %3, %15 : global f16[16, 33]", NULL },
	{ "%30 = view %13, %15, %5 : global f16[16, 33]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = view %13, %5, %15 : global f16[17, 32]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = view %13, %3, %15 : global f16[17, 32]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = view %11, %5, %15 : shared f16[17, 32]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = view %12, %5, %5, %15 dropped 1 : shared f16[16, 33]", NULL },
	{ "%30 = view %12, %15, %5, %15 dropped 1 : shared f16[17, 32]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = view %13, %15, %15 : global f16[17, 32] %31 = view %30, %15, %15 : global f16[17, 32]",
	  "a slice of a view that is longer than its operand" },
	{ "%30 = view %13, %15, %15 : global f16[16, 33] %31 = view %30, %15, %15 : global f16[8, 8]",
	  "a slice of a view that is longer than its operand" },
	{ "%30 = view %13, %15, %15 : global f16[16, 32] %31 = view %30, %15, %15 : global f16[17,"
	  " 32]", NULL },
};
TEST_ROWS(longer_row, "", prelude, longer)

/* First indices and ends of their own. */
static const VerifyRow bounds[] = {
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3 : global f16[16, 32]", NULL },
	{ "%30 = view %1, %5, %5, %24, %24, %25, %25 : global f16[16, 32]", NULL },
	{ "%30 = view %1, %5, %5, %5, %15, %4 : global f16[16, 32]", "5 starts for 2 dimensions" },
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3, %3 : global f16[16, 32]", "7 starts for 2 dimensions" },
	{ "%30 = view %1, %5, %5, %16, %15, %4, %3 : global f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = view %1, %5, %5, %5, %19, %4, %3 : global f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = view %1, %5, %5, %5, %16, %4, %3 : global f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = view %1, %5, %5, %5, %15, %16, %3 : global f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = view %1, %5, %5, %5, %15, %4, %16 : global f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = view %1, %5, %5, %19, %15, %4, %3 : global f16[16, 32]", "a bound is not an i64 scalar" },
	/* none along indices, or of a shared tile; open ones are none */
	{ "%30 = view %1, %19, %5, %24, %5, %25, %4 : global f16[16, 32]", NULL },
	{ "%30 = view %1, %19, %5, %5, %5, %25, %4 : global f16[16, 32]",
	  "bounds along indices, or of a shared tile" },
	{ "%30 = view %1, %19, %5, %24, %5, %4, %4 : global f16[16, 32]",
	  "bounds along indices, or of a shared tile" },
	{ "%30 = view %11, %5, %5, %24, %24, %25, %25 : shared f16[8, 8]", NULL },
	{ "%30 = view %11, %5, %5, %24, %5, %25, %25 : shared f16[8, 8]",
	  "bounds along indices, or of a shared tile" },
	{ "%30 = view %11, %5, %5, %24, %24, %25, %5 : shared f16[8, 8]",
	  "bounds along indices, or of a shared tile" },
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3 : global f16[16, 32] %31 = load %30 : reg f16[16, 32]"
	  " %32 = view %2, %5, %5, %5, %15, %4, %3 : global f16[16, 32] store %31, %32", NULL },
};
TEST_ROWS(bounds_row, "", prelude, bounds)

/* After pass mask_bounds only views that copies read have bounds. */
static const VerifyRow left_bounds[] = {
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3 : global f16[16, 32] copy %30, %11 async 1", NULL },
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3 : global f16[16, 32] %31 = load %30 : reg f16[16, 32]",
	  "a load of a view with bounds of its own after pass mask_bounds" },
	{ "%30 = view %1, %5, %5, %5, %15, %4, %3 : global f16[16, 32] %31 = view %30, %5, %5 : global"
	  " f16[8, 8]"
	  " %32 = load %31 : reg f16[8,"
	  " 8]", "a load of a view with bounds of its own after pass mask_bounds" },
	{ "%30 = view %2, %5, %5, %5, %15, %4, %3 : global f16[16, 32] store %10, %30",
	  "a store to a view with bounds of its own after pass mask_bounds" },
	{ "%30 = view %2, %5, %5, %5, %15, %4, %3 : global f16[16, 32] copy %11, %30 async 3",
	  "a copy to a view with bounds of its own after pass mask_bounds" },
	{ "store %10, %14 %30 = load %13 : reg f16[16, 32] copy %11, %14 async 3", NULL },
};
TEST_ROWS(left_bounds_row, "masked", prelude, left_bounds)

/* Strides along dimensions of a tensor with several elements in the view. */
static const VerifyRow steps[] = {
	{ "%30 = view %1, %5, %5 step 1, 2 : global f16[16, 32] %31 = view %1, %5, %5 step 2 : global"
	  " f16[16, 1]", NULL },
	{ "%30 = view %1, %5, %5 step 0, 33554432 : global f16[16, 32]", NULL }, /* to 2^30 elements */
	{ "%30 = view %1, %5, %5 step 0, 33554433 : global f16[16, 32]",
	  "a step is not positive, or too large" },
	{ "%30 = view %1, %5, %5 step 67108864 : global f16[16, 32]", NULL },
	{ "%30 = view %1, %5, %5 step 67108865 : global f16[16, 32]",
	  "a step is not positive, or too large" },
	{ "%30 = view %1, %5, %5 step -1 : global f16[16, 32]", "a step is not positive, or too large" },
	{ "%30 = view %1, %5, %5 dropped 1 step 1 : global f16[32]", NULL },
	{ "%30 = view %1, %5, %5 dropped 1 step -1 : global f16[32]",
	  "a step is not positive, or too large" },
	{ "%30 = view %1, %5, %5 dropped 1 step 1073741825 : global f16[32]",
	  "a step is not positive, or too large" },
	{ "%30 = view %1, %5, %5 dropped 1 step 1073741824 : global f16[32]",
	  "steps along a dimension with one element or with indices" },
	{ "%30 = view %1, %5, %5 dropped 1 step 2 : global f16[32]",
	  "steps along a dimension with one element or with indices" },
	{ "%30 = view %100, %5, %5, %5 dropped 1 step 2 : global u32[4, 8]",
	  "steps along a dimension with one element or with indices" },
	{ "%30 = view %1, %5, %5 step 2 : global f16[1, 32]",
	  "steps along a dimension with one element or with indices" },
	{ "%30 = view %1, %19, %5 step 1, 2 : global f16[16, 32]", NULL },
	{ "%30 = view %1, %19, %5 step 2 : global f16[16, 32]",
	  "steps along a dimension with one element or with indices" },
	{ "%30 = view %1, %5, %5 step 0, 0, 0, 0, 0, 0, 2 : global f16[16, 32]",
	  "steps along more dimensions than the operand has" },
	{ "%30 = view %1, %5, %5 step 0, 0, 2 : global f16[16, 32]",
	  "steps along more dimensions than the operand has" },
	{ "%30 = view %13, %5, %5 step 2 : global f16[4, 32]", "steps on an operand that is not a tensor" },
	{ "%30 = view %11, %5, %5 step 2 : shared f16[4, 32]", "steps on an operand that is not a tensor" },
	{ "%30 = view %13, %5, %5 step 1, 1 : global f16[4, 32]", NULL },
	/* a view of it starts at 0, and drops no dimension */
	{ "%30 = view %1, %5, %5 step 2 : global f16[16, 32] %31 = view %30, %15, %15 : global f16[8,"
	  " 32]", NULL },
	{ "%30 = view %1, %5, %5 step 2 : global f16[16, 32] %31 = view %30, %5, %15 : global f16[8, 32]",
	  "a slice of a view with steps" },
	{ "%30 = view %1, %5, %5 step 2 : global f16[16, 32] %31 = view %30, %15, %5 : global f16[8, 8]",
	  "a slice of a view with steps" },
	{ "%30 = view %1, %5, %5 step 2 : global f16[16, 32] %31 = view %30, %3, %15 : global f16[8, 32]",
	  "a slice of a view with steps" },
	{ "%30 = view %1, %5, %5 step 2 : global f16[16, 32] %31 = view %30, %15, %15 dropped 1 : global"
	  " f16[32]",
	  "a slice of a view with steps" },
};
TEST_ROWS(steps_row, "", prelude, steps)

/* Starts that are tiles of indices. */
static const VerifyRow indexed[] = {
	{ "%30 = view %1, %19, %5 : global f16[16, 32] %31 = view %1, %5, %19 dropped 1 : global"
	  " f16[16]", NULL },
	{ "%30 = view %1, %20, %5 : global f16[4, 8, 32] %31 = view %1, %5, %20 : global f16[7, 4,"
	  " 8]", NULL },
	{ "%30 = view %1, %19, %19 dropped 2 : global f16[16]", NULL },
	{ "%30 = const value 0 : reg i32[4, 1] %31 = const value 0 : reg i64[1, 16]"
	  " %32 = view %1, %30, %31 dropped 2 : global f16[4, 16]", NULL },
	{ "%30 = const value 0 : reg i32[4, 1] %31 = const value 0 : reg i64[1, 16]"
	  " %32 = view %1, %30, %31 dropped 2 : global f16[4, 1]",
	  "the indices' shape does not broadcast to the result's" },
	{ "%30 = const value 0 : reg i32[1] %31 = view %1, %30, %30 dropped 2 : global f16[1]", NULL },
	{ "%30 = const value 0 : reg i32[1] %31 = view %1, %30, %30 dropped 2 : global f16[2]",
	  "the result is longer than its indices" },
	{ "%30 = const value 0 : reg i32[4, 1] %31 = view %1, %30, %5 : global f16[4, 2, 32]",
	  "the result is longer than its indices" },
	{ "%30 = view %1, %19, %5 : global f16[17, 32]",
	  "the indices' shape does not broadcast to the result's" },
	{ "%30 = view %1, %19, %5 : global f16[8, 32]",
	  "the indices' shape does not broadcast to the result's" },
	{ "%30 = view %1, %20, %5 : global f16[4, 7, 32]",
	  "the indices' shape does not broadcast to the result's" },
	{ "%30 = view %1, %20, %19 dropped 2 : global f16[4, 8]",
	  "the indices' shape does not broadcast to the result's" }, /* ranks differ */
	{ "%30 = view %1, %20, %5 : global f16[4, 32]", "rank 2, but 3 dimensions remain" },
	{ "%30 = view %1, %19, %19 dropped 1 : global f16[16]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%30 = view %1, %19, %19 : global f16[16, 16]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%30 = view %1, %19, %19 dropped 3 : global f16[]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%30 = view %1, %19, %5 dropped 3 : global f16[]",
	  "of the indexed dimensions, only the first may remain" },
	{ "%30 = view %12, %5, %19, %19 dropped 5 : shared f16[16]", NULL },
	{ "%30 = view %12, %19, %19, %19 dropped 6 : shared f16[16]", NULL },
	{ "%30 = view %12, %19, %19, %19 dropped 2 : shared f16[16, 16]",
	  "of the indexed dimensions, only the first may remain" },
	/* of a tensor, a shared tile, or a view that covers all of one along that dimension */
	{ "%30 = view %11, %19, %5 : shared f16[16, 8] %31 = view %11, %5, %19 dropped 1 : shared"
	  " f16[16]", NULL },
	{ "%30 = reshape %12 : shared f16[48, 32] %31 = view %30, %19, %5 : shared f16[16, 8]", NULL },
	{ "%30 = view %12, %5, %15, %5 dropped 1 : shared f16[16, 8] %31 = view %30, %19, %5 : shared"
	  " f16[16, 4]", NULL },
	{ "%30 = view %12, %5, %15, %5 dropped 1 : shared f16[16, 8] %31 = view %30, %5, %19 : shared"
	  " f16[4, 16]",
	  "indexed view of a view" },
	{ "%30 = view %12, %5, %5, %5 dropped 1 : shared f16[16, 8] %31 = view %30, %19, %5 : shared"
	  " f16[16, 4]",
	  "indexed view of a view" },
	{ "%30 = view %12, %5, %3, %5 dropped 1 : shared f16[16, 8] %31 = view %30, %19, %5 : shared"
	  " f16[16, 4]",
	  "indexed view of a view" },
	{ "%30 = view %12, %5, %15, %5 dropped 1 : shared f16[15, 8] %31 = view %30, %19, %5 : shared"
	  " f16[16, 4]",
	  "indexed view of a view" },
	{ "%30 = view %12, %5, %15, %5 : shared f16[1, 16, 8] %31 = view %30, %15, %15, %15 dropped 1 : "
	  "shared f16[16, 4] %32 = view %31, %19, %5 : shared f16[16, 4]", NULL },
	{ "%30 = view %12, %5, %15, %5 : shared f16[1, 8, 8] %31 = view %30, %15, %15, %15 dropped 1 : "
	  "shared f16[8, 4] %32 = view %31, %19, %5 : shared f16[16, 4]", "indexed view of a view" },
	{ "%30 = view %13, %15, %15 : global f16[16, 32] %31 = view %30, %19, %5 : global f16[16, 8]",
	  "indexed view of a view" },
	/* it is not viewed again */
	{ "%30 = view %1, %19, %5 : global f16[16, 32] %31 = view %30, %15, %15 : global f16[16, 32]",
	  "a slice of an indexed view" },
	{ "%30 = view %11, %5, %19 : shared f16[4, 16] %31 = view %30, %15, %15 : shared f16[4, 4]",
	  "a slice of an indexed view" },
	/* its other dimensions are those of any view: not longer, but from the start on */
	{ "%30 = view %11, %19, %15 : shared f16[16, 33] %31 = view %11, %15, %20 : shared f16[17, 4,"
	  " 8]", NULL },
	{ "%30 = view %11, %19, %5 : shared f16[16, 33]",
	  "longer than its operand, and does not start at its start" },
	{ "%30 = const value 0 : reg i32[64] %31 = view %11, %30, %5 : shared f16[64, 8]", NULL },
};
TEST_ROWS(indexed_row, "", prelude, indexed)

/* ---- load ---- */

static const VerifyRow loads[] = {
	{ "%30 = load %13 : reg f16[16, 32] %31 = load %11 : reg f16[16, 32]", NULL },
	{ "%30 = load %29 : i32", NULL },
	{ "%30 = view %11, %5, %5 dropped 3 : shared f16[] %31 = load %30 : f16", NULL },
	{ "%30 = load %29 : reg i32[]", "a register tile of rank 0" },
	{ "%30 = load %29 : shared i32[]", "shared i32[] does not load from global i32[]" },
	{ "%30 = load %29 : global i32[]", "does not load from" },
	{ "%30 = view %102, %5 : global i32[1] %31 = load %30 : i32",
	  "i32 does not load from global i32[1]" },
	{ "%30 = load %13 : f16", "f16 does not load from global f16[16, 32]" },
	{ "%30 = load %13 : reg f16[32, 16]", "reg f16[32, 16] does not load from global f16[16, 32]" },
	{ "%30 = load %13 : reg bf16[16, 32]", "does not load from" },
	{ "%30 = load %13 : shared f16[16, 32]", "does not load from" },
	{ "%30 = load %13 : global f16[16, 32]", "does not load from" },
	{ "%30 = load %10 : reg f16[16, 32]", "does not load from" },
	{ "%30 = load %17 : f16", "does not load from" },
	{ "%30 = load %1 : reg f16[16, 32]", "does not load from" },
	{ "%30 = load %23 : reg u64[2]", "mbarriers cannot be read" },
	{ "%30 = load %14 : reg f16[16, 32]", "the source is an out parameter" },
	{ "%30 = view %14, %5, %5 dropped 3 : global f16[] %31 = load %30 : f16",
	  "the source is an out parameter" },
	{ "%30 = load %22 : reg i32[16] store %30, %22", NULL }, /* inout */
	{ "%30 = view %11, %5, %19 dropped 1 : shared f16[16] %31 = load %30 : reg f16[16]", NULL },
	{ "%30 = load %13 space_open 1 : reg f16[16, 32]", NULL },
	{ "%30 = load %13 space_open 2 : reg f16[16, 32]",
	  "`space_open` is not 0 to 1" },
	{ "%30 = load %13 space_open -1 : reg f16[16, 32]",
	  "`space_open` is not 0 to 1" },
	{ "%30 = load %11 space_open 1 : reg f16[16, 32]",
	  "but not a load of a tensor's tile" },
	{ "%30 = load %29 space_open 1 : i32", "but not a load of a tensor's tile" },
	{ "%30 = load %13 oob_fill 1 fill_value -inf : reg f16[16, 32] %31 = load %13 oob_fill 2 : reg"
	  " f16[16, 32]", NULL },
	{ "%30 = load %13 oob_fill 3 : reg f16[16, 32]",
	  "`oob_fill` is not 0 to 2" },
	{ "%30 = load %13 oob_fill -1 : reg f16[16, 32]",
	  "`oob_fill` is not 0 to 2" },
	{ "%30 = load %11 oob_fill 1 : reg f16[16, 32]",
	  "but not a load of a tensor's tile" },
	{ "%30 = load %29 oob_fill 2 : i32", "but not a load of a tensor's tile" },
	{ "%30 = load %22 oob_fill 1 fill_value 2147483647 : reg i32[16]", NULL },
	{ "%30 = load %22 oob_fill 1 fill_value 2147483648 : reg i32[16]",
	  "the fill value is out of range for the type" },
};
TEST_ROWS(loads_row, "", prelude, loads)

/* ---- store ---- */

static const VerifyRow stores[] = {
	{ "store %10, %14 store %10, %11", NULL },
	{ "%30 = load %29 : i32 store %30, %29", NULL },
	{ "store %10", "1 operands" },
	{ "store", "0 operands" },
	{ "store %10, %13", "the destination is not an out or inout parameter" },
	{ "%30 = view %13, %5, %5 dropped 3 : global f16[] store %17, %30",
	  "the destination is not an out or inout parameter" },
	{ "store %17, %14", "f16 does not store to global f16[16, 32]" },
	{ "store %28, %14", "does not store to" },
	{ "store %26, %14", "does not store to" },
	{ "store %11, %14", "does not store to" },
	{ "store %10, %10", "does not store to" },
	{ "store %10, %2", "does not store to" },
	{ "%30 = view %27, %5 dropped 1 : shared i32[] store %30, %29", "does not store to" },
	{ "%30 = const value 1 : reg u64[2] store %30, %23", "does not store to" },
	{ "%30 = view %102, %5 : global i32[1] store %16, %30", "does not store to" },
	{ "store %10, %14, %11", "the old value is not stored in" },
	{ "store %10, %14, %11, %10", "4 operands" },
	{ "store %10, %14 imm 9", "`update` is not 0 to 8" },
	{ "store %10, %14 update -1", "`update` is not 0 to 8" },
	{ "store %10, %14 placed 1", "placed, but not in a shared tile" },
	{ "store %10, %11 placed 1", NULL },
	{ "store %10, %11 placed 2", "`placed` is not 0 to 1" },
	{ "store %10, %11 update 1 placed 1", "placed, but not in a shared tile" },
};
TEST_ROWS(stores_row, "", prelude, stores)

static const VerifyRow updates[] = {
	{ "store %10, %11 update 1 store %10, %11 update 2 store %21, %22 update 3", NULL },
	{ "store %21, %22 update 4 store %21, %22 update 5 store %21, %22 update 6", NULL },
	{ "store %10, %14 update 1", "an update reads, too, but the destination is an out parameter" },
	{ "store %10, %11 update 4", "shared f16[16, 32] has no bitwise updates" },
	{ "store %10, %14 update 5", "global f16[16, 32] has no bitwise updates" },
	{ "store %10, %11 update 6", "shared f16[16, 32] has no bitwise updates" },
	{ "store %21, %22 update 7", "missing destination for the old value" },
	{ "store %21, %22 update 8", "missing destination for the old value" },
	{ "store %21, %22 update 9", "`update` is not 0 to 8" },
	{ "store %21, %22, %27 update 1 store %21, %22, %27 update 6 store %21, %22, %27 update 7", NULL },
	{ "%30 = alloc offset -1 : shared f16[16, 32] store %10, %30, %11 update 7", NULL },
	{ "store %21, %22, %27, %21 update 8", NULL },
	{ "store %21, %22, %27 update 8", "3 operands" },
	{ "store %21, %22, %27, %21 update 7", "4 operands" },
	{ "store %21, %22, %27, %21, %21 update 8", "5 operands" },
	{ "store %21, %22, %21 update 1", "the old value is not stored in reg i32[16]" },
	{ "store %21, %22, %22 update 1", "the old value is not stored in global i32[16]" },
	{ "store %21, %22, %11 update 1", "the old value is not stored in shared f16[16, 32]" },
	{ "%30 = const value 1 : reg u64[2] %31 = alloc offset -1 : shared u64[2] store %30, %31, %23"
	  " update 1",
	  "the old value is not stored in shared u64[2]" },
	{ "store %21, %22, %27, %5 update 8", "the compared value has another type" },
	{ "store %21, %22, %27, %28 update 8", "the compared value has another type" },
	{ "store %21, %22, %27, %27 update 8", "the compared value has another type" },
	{ "%30 = alloc offset -1 : shared bool[16] %31 = eq %21, %21 : reg bool[16] store %31, %30 update 1",
	  "shared bool[16] cannot be updated atomically" },
	{ "%30 = alloc offset -1 : shared u4[16] %31 = cast %21 : reg u4[16] store %31, %30 update 1",
	  "shared u4[16] cannot be updated atomically" },
	{ "%30 = alloc offset -1 : shared u8[16] %31 = cast %21 : reg u8[16] store %31, %30 update 1", NULL },
	{ "%30 = alloc offset -1 : shared tf32[16] %31 = cast %21 : reg tf32[16] store %31, %30"
	  " store %31, %30 update 2", "shared tf32[16] cannot be updated atomically" },
	/* one element of a tensor */
	{ "store %16, %29 update 1 ordered 1", NULL },
	{ "store %16, %29 update 1 ordered 2", "`ordered` is not 0 to 1" },
	{ "store %16, %29 ordered 1", "ordered, but not an update of one element of a tensor" },
	{ "store %21, %22 update 1 ordered 1", "ordered, but not an update of one element of a tensor" },
	{ "%30 = view %27, %5 dropped 1 : shared i32[] store %16, %30 update 1 ordered 1",
	  "ordered, but not an update of one element of a tensor" },
	/* along indices */
	{ "%30 = view %11, %5, %19 dropped 1 : shared f16[16] store %28, %30 store %28, %30 update 1", NULL },
	{ "%30 = view %2, %5, %19 dropped 1 : global f16[16] store %28, %30", NULL },
	{ "%30 = view %102, %19 : global i32[16] store %21, %30 store %21, %30 update 1", NULL },
};
TEST_ROWS(updates_row, "", prelude, updates)

/* ---- packed tensors ---- */

static const VerifyRow packs[] = {
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : reg u4[32, 64]"
	  " %32 = pack %31, %100 : reg u32[2, 1, 128]", NULL },
	{ "%30 = const value 1 : reg u32[5, 2, 3, 128] %31 = unpack %30, %100 : reg u4[5, 32, 192]", NULL },
	{ "%30 = const value 1 : reg u32[5, 2, 3, 128] %31 = unpack %30, %100 : reg u4[4, 32, 192]",
	  "does not match the blocks of" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : reg u4[31, 64]",
	  "reg u32[2, 1, 128] does not match the blocks of reg u4[31, 64]" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : reg u4[32, 128]",
	  "does not match the blocks of" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : reg u4[64, 32]",
	  "does not match the blocks of" },
	{ "%30 = const value 1 : reg u32[2, 1, 127] %31 = unpack %30, %100 : reg u4[32, 64]",
	  "reg u32[2, 1, 127] does not consist of words of reg u4[32, 64]" },
	{ "%30 = const value 1 : reg u32[2, 128] %31 = unpack %30, %100 : reg u4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u32[1, 128] %31 = unpack %30, %100 : reg u4[64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u32[1, 2, 1, 128] %31 = unpack %30, %100 : reg u4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg i32[2, 1, 128] %31 = unpack %30, %100 : reg u4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : reg i4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %100 : shared u4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = alloc offset -1 : shared u32[2, 1, 128] %31 = unpack %30, %100 : reg u4[32, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %1 : reg u4[32, 64]",
	  "not a packed tensor, or one whose pack is not chosen" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %30 : reg u4[32, 64]",
	  "not a packed tensor, or one whose pack is not chosen" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %3 : reg u4[32, 64]",
	  "not a packed tensor, or one whose pack is not chosen" },
	{ "%30 = const value 1 : reg u4[32, 64] %31 = pack %30, %100 : reg u32[2, 1, 64]",
	  "does not consist of words of" },
	{ "%30 = const value 1 : reg u4[32, 64] %31 = pack %30, %100 : reg u32[1, 1, 128]",
	  "does not match the blocks of" },
	{ "%30 = const value 1 : reg u4[32, 64] %31 = pack %30, %2 : reg u32[2, 1, 128]",
	  "not a packed tensor, or one whose pack is not chosen" },
	{ "%30 = const value 1 : reg u4[32, 64] %31 = pack %30 : reg u32[2, 1, 128]",
	  "1 operands; expected 2" },
};
TEST_ROWS(packs_row, "", prelude, packs)

static const VerifyRow other_packs[] = {
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %103 : reg u4[32, 64]",
	  "not a packed tensor, or one whose pack is not chosen" },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %105 : reg u4[32, 64]", NULL },
	{ "%30 = const value 1 : reg u32[2, 1, 128] %31 = unpack %30, %104 : reg u4[32, 64]",
	  "not a packed tensor, or one whose pack is not chosen" },
};
TEST_ROWS(other_packs_row,
          "param %103.V tensor V : global u32[?, ?, 128] read size %3, %4, %101 stride %4, %101, %5 "
          "pack \"hexc-pack 1 u4\"\n"
          "param %104.U tensor U : global u4[?, ?] read size %3, %4 stride %4, %5 "
          "pack \"hexc-pack 1 u4 block 16x64\"\n"
          "param %105.T tensor T : global u32[?, ?, 128] read size %3, %4, %101 stride %4, %101, %5 "
          "pack \"hexc-pack 1 u4 block 16x64 spread 16 streams 1 place (16,64):(64,1)\"\n",
          prelude, other_packs)

/* ---- copy and waits ---- */

static const VerifyRow copies[] = {
	{ "copy %13, %11 copy %13, %11 async 1 filled 1 copy %11, %14 async 3", NULL },
	{ "copy %13, %11 async 4", "`async` is not 0 to 3" },
	{ "copy %13, %11 async -1", "`async` is not 0 to 3" },
	{ "copy %13, %11 filled 2", "`filled` is not 0 to 1" },
	{ "copy %13", "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %13, %11, %23", "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %13, %11, %23, %5", "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %11, %14, %23, %5 async 3",
	  "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %13, %11 async 2", "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %13, %11, %23, %5, %5 async 2",
	  "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %13, %11, %23, %5 async 2", "not in a role; mbarriers synchronize roles" },
	{ "copy %11, %14", "shared f16[16, 32] does not copy to global f16[16, 32]" },
	{ "copy %11, %11", "does not copy to" },
	{ "copy %13, %14", "does not copy to" },
	{ "copy %10, %11", "does not copy to" },
	{ "copy %13, %10", "does not copy to" },
	{ "copy %13, %27", "does not copy to" },
	{ "%30 = view %13, %5, %5 : global f16[8, 32] copy %30, %11", "does not copy to" },
	{ "%30 = alloc offset -1 : shared bf16[16, 32] copy %13, %30", "does not copy to" },
	{ "copy %1, %11", "does not copy to" },
	{ "copy %13, %11 async 3", "does not copy to" },
	{ "copy %11, %11 async 3", "does not copy to" },
	{ "copy %13, %14 async 3", "does not copy to" },
	{ "copy %11, %13 async 3", "the destination is not an out or inout parameter" },
	{ "copy %14, %11", "the source is an out parameter" },
	{ "copy %22, %27 copy %27, %22 async 3", NULL }, /* inout */
	{ "copy %13, %11 async 1 multicast 1", "`multicast`, but no mbarrier in each block" },
	{ "copy %13, %11 multicast -1", "`multicast` is not 0 to 3" },
	{ "%30 = view %1, %19, %5 : global f16[16, 32] copy %30, %11", NULL },
	{ "%30 = view %1, %19, %5 : global f16[16, 8] %31 = view %11, %19, %5 : shared f16[16, 8] copy"
	  " %30, %31",
	  "indexed shared tiles only support loads and stores" },
	{ "%31 = view %11, %19, %15 : shared f16[16, 32] copy %31, %14 async 3",
	  "indexed shared tiles only support loads and stores" },
};
TEST_ROWS(copies_row, "", prelude, copies)

static const VerifyRow barriers_copied[] = {
	{ "%30 = view %103, %5 : global u64[2] copy %30, %23", "mbarriers cannot be copied" },
	{ "%30 = view %103, %5 : global u64[2] copy %23, %30 async 3", "mbarriers cannot be copied" },
	{ "%30 = view %103, %5 : global u64[2] %31 = alloc offset -1 : shared u64[2] copy %30, %31"
	  " copy %31, %30 async 3", NULL },
};
TEST_ROWS(barriers_copied_row,
          "param %103.V tensor V : global u64[?] read written size %3 stride %5\n", prelude, barriers_copied)

static const VerifyRow waits[] = {
	{ "async_commit\nasync_commit bulk 1\nasync_wait\nasync_wait pending 7\nasync_wait pending 1 bulk"
	  " 1 reads 1\n", NULL },
	{ "async_commit bulk 2", "`bulk` is not 0 to 1" },
	{ "async_commit bulk -1", "`bulk` is not 0 to 1" },
	{ "async_wait bulk 1 reads 2", "`reads` is not 0 to 1" },
	{ "async_wait reads 1", "only bulk groups tell when they have read" },
	{ "async_wait pending -1", "the number of groups is negative" },
	{ "wgmma_wait pending 1 sinkable 1\n", NULL },
	{ "wgmma_wait pending -1", "the number of groups is negative" },
	{ "wgmma_wait sinkable 2", "`sinkable` is not 0 to 1" },
	{ "barrier\nwgmma_fence\nwgmma_commit\ngrid_dependency_wait\ngrid_launch_dependents\n", NULL },
	{ "barrier %5", "1 operands; expected 0" },
	{ "fence_proxy_async space 2\nfence_proxy_async space 3\n", NULL },
	{ "fence_proxy_async space 1", "neither shared nor global memory" },
	{ "fence_proxy_async space 4", "neither shared nor global memory" },
	{ "fence_proxy_async", "neither shared nor global memory" },
};
TEST_ROWS(waits_row, "", prelude, waits)

static const VerifyRow grid_barriers[] = {
	{ "grid_barrier %29 %30 = view %102, %5 : global i32[1] grid_barrier %30", NULL },
	{ "grid_barrier %22", "global i32[16] is not a 32-bit integer of a tensor" },
	{ "grid_barrier %102", "global i32[?] is not a 32-bit integer of a tensor" },
	{ "%30 = view %27, %5 dropped 1 : shared i32[] grid_barrier %30",
	  "is not a 32-bit integer of a tensor" },
	{ "%30 = view %100, %5, %5, %5 dropped 7 : global u32[] grid_barrier %30",
	  "its tensor is not read and written" },
	{ "%30 = view %2, %5, %5 dropped 3 : global f16[] grid_barrier %30",
	  "is not a 32-bit integer of a tensor" },
	{ "if %18 { grid_barrier %29 yield } else { yield }", NULL },
	{ "for %5, %4, %5 { (%30 : i64) grid_barrier %29 yield }", NULL },
	{ "for %5, %4, %5 loop 1 stages 2 { (%30 : i64) grid_barrier %29 yield }", "in a pipeline loop" },
	{ "for %5, %4, %5 loop 1 stages 2 { (%30 : i64) if %18 { grid_barrier %29 yield } else { yield }"
	  " yield }",
	  "in a pipeline loop" },
	{ "grid_barrier", "0 operands; expected 1" },
};
TEST_ROWS(grid_barriers_row, "", prelude, grid_barriers)

static const VerifyRow grid_states[] = {
	{ "%30 = view %103, %5, %5 dropped 3 : global u32[] grid_barrier %30", NULL },
	{ "grid_barrier %103", "global u32[?, ?] is not a 32-bit integer of a tensor" },
	{ "%30 = view %104, %5 dropped 1 : global u32[] grid_barrier %30",
	  "its tensor is not read and written" },
	{ "%30 = view %105, %5 dropped 1 : global i64[] grid_barrier %30",
	  "is not a 32-bit integer of a tensor" },
	{ "%30 = view %105, %5 : global i64[1] grid_barrier %30", "is not a 32-bit integer of a tensor" },
};
TEST_ROWS(grid_states_row,
          "param %103.V tensor V : global u32[?, ?] read written size %3, %4 stride %4, %5\n"
          "param %104.U tensor U : global u32[?] written size %3 stride %5\n"
          "param %105.T tensor T : global i64[?] read written size %3 stride %5\n",
          prelude, grid_states)

/* ---- print and assert ---- */

static const VerifyRow messages[] = {
	{ "print \"here\" print %5, %16 \"{} {{}} {}\"", NULL },
	{ "%30 = const value 1.0 : f32 %31 = const value 1.0 : f64 %32 = const value 1 : u32 %33 = const"
	  " value 1 : "
	  "u64 print %30, %31, %32, %33 \"{}{}{}{}\"", NULL },
	{ "print %5 \"row\"", "does not have one {} for each of the 1 operands" },
	{ "print %5 \"{} {}\"", "does not have one {} for each of the 1 operands" },
	{ "print \"{\"", "does not have one {} for each of the 0 operands" },
	{ "print %5", "does not have one {} for each of the 1 operands" },
	{ "print %17 \"{}\"", "f16 cannot be printed" },
	{ "print %18 \"{}\"", "bool cannot be printed" },
	{ "print %19 \"{}\"", "reg i32[16] cannot be printed" },
	{ "print %5, %17 \"{}{}\"", "f16 cannot be printed" },
	{ "%30 = const value 1 : i16 print %30 \"{}\"", "i16 cannot be printed" },
	{ "assert %18 \"true\"", NULL },
	{ "assert %18", "missing text" },
	{ "assert %5 \"true\"", "i64 is not a bool scalar" },
	{ "%30 = eq %19, %19 : reg bool[16] assert %30 \"true\"", "reg bool[16] is not a bool scalar" },
	{ "assert %18, %18 \"true\"", "2 operands; expected 1" },
};
TEST_ROWS(messages_row, "", prelude, messages)

/* ---- for, if, yield ---- */

static const VerifyRow loops[] = {
	{ "for %5, %4, %5 { (%30 : i64) yield }", NULL },
	{ "%30, %31 = for %5, %4, %5, %26, %16 loop 1 stages 3 prefetch 1 : reg f32[16, 8], i32 "
	  "{ (%32 : i64, %33 : reg f32[16, 8], %34 : i32) yield %33, %34 }", NULL },
	{ "for %5, %4 { (%30 : i64) yield }",
	  "carried values, initial values and region arguments differ in number" },
	{ "for %5, %4, %5, %5 { (%30 : i64) yield }",
	  "carried values, initial values and region arguments differ in number" },
	{ "for %5, %4, %5 { yield }",
	  "carried values, initial values and region arguments differ in number" },
	{ "for %5, %4, %5 { (%30 : i64, %31 : i64) yield }",
	  "carried values, initial values and region arguments differ in number" },
	{ "%30 = for %5, %4, %5 : i64 { (%31 : i64, %32 : i64) yield %32 }",
	  "carried values, initial values and region arguments differ in number" },
	{ "for %16, %4, %5 { (%30 : i64) yield }", "a bound or the step is not an i64 scalar" },
	{ "for %5, %16, %5 { (%30 : i64) yield }", "a bound or the step is not an i64 scalar" },
	{ "for %5, %4, %16 { (%30 : i64) yield }", "a bound or the step is not an i64 scalar" },
	{ "for %5, %4, %5 { (%30 : i64, %31 : reg f16[0]) yield }", "value %31: extent 0 of dim 0" },
	{ "for %5, %4, %5 { (%30 : i32) yield }", "the counter is not an i64 scalar" },
	{ "for %5, %4, %5 { (%30 : reg i64[4]) yield }", "the counter is not an i64 scalar" },
	{ "for %5, %4, %15 { (%30 : i64) yield }", "the step is not positive" },
	{ "for %5, %4, %24 { (%30 : i64) yield }", "the step is not positive" },
	{ "for %5, %4, %3 { (%30 : i64) yield }", NULL }, /* known at run time only */
	{ "%30 = for %5, %4, %5, %11 : shared f16[16, 32] { (%31 : i64, %32 : shared f16[16, 32]) yield"
	  " %32 }",
	  "a carried value is not a scalar or register tile" },
	{ "%30 = for %5, %4, %5, %13 : global f16[16, 32] { (%31 : i64, %32 : global f16[16, 32]) yield"
	  " %32 }",
	  "a carried value is not a scalar or register tile" },
	{ "%30 = for %5, %4, %5, %16 : i64 { (%31 : i64, %32 : i64) yield %32 }",
	  "carried value 0 has different types" },
	{ "%30 = for %5, %4, %5, %5 : i64 { (%31 : i64, %32 : i32) yield %5 }",
	  "carried value 0 has different types" },
	{ "%30, %31 = for %5, %4, %5, %5, %5 : i64, i64 { (%32 : i64, %33 : i64, %34 : i32) yield %5, %5 }",
	  "carried value 1 has different types" },
	{ "%30 = for %5, %4, %5, %5 : i64 { (%31 : i64, %32 : i64) yield }",
	  "1 results, but a region yields 0" },
	{ "%30 = for %5, %4, %5, %5 : i64 { (%31 : i64, %32 : i64) yield %5, %5 }",
	  "1 results, but a region yields 2" },
	{ "%30 = for %5, %4, %5, %5 : i64 { (%31 : i64, %32 : i64) yield %16 }",
	  "result 0 is i64, but a region yields i32" },
	{ "%30, %31 = for %5, %4, %5, %5, %5 : i64, i64 { (%32 : i64, %33 : i64, %34 : i64) yield %5, %16 }",
	  "result 1 is i64, but a region yields i32" },
	{ "for %5, %4, %5 loop 2 { (%30 : i64) yield }", "`loop` is not 0 to 1" },
	{ "for %5, %4, %5 loop -1 { (%30 : i64) yield }", "`loop` is not 0 to 1" },
	{ "for %5, %4, %5 loop 1 { (%30 : i64) yield }", NULL }, /* stages are open */
	{ "for %5, %4, %5 loop 1 stages -1 { (%30 : i64) yield }", "the number of stages is negative" },
	{ "for %5, %4, %5 prefetch 2 { (%30 : i64) yield }", "`prefetch` is not 0 to 1" },
	{ "for %5, %4, %5 split 12 { (%30 : i64) yield }", NULL },
	{ "for %5, %4, %5 split 13 { (%30 : i64) yield }", "`split` is not 0 to 12" },
	{ "for %5, %4, %5 split -1 { (%30 : i64) yield }", "`split` is not 0 to 12" },
	{ "%30 = for %5, %4, %5, %18 breaks 1 : bool { (%31 : i64, %32 : bool) yield %32 }", NULL },
	{ "%30, %31 = for %5, %4, %5, %5, %18 breaks 1 : i64, bool { (%32 : i64, %33 : i64, %34 : bool) "
	  "yield %33, %34 }", "the loop breaks, but its first carried value is not a bool scalar" },
	{ "for %5, %4, %5 breaks 1 { (%31 : i64) yield }",
	  "the loop breaks, but its first carried value is not a bool scalar" },
	{ "%30 = for %5, %4, %5, %18 breaks 2 : bool { (%31 : i64, %32 : bool) yield %32 }",
	  "`breaks` is not 0 to 1" },
	{ "%30 = for %5, %4, %5, %18 loop 1 breaks 1 : bool { (%31 : i64, %32 : bool) yield %32 }",
	  "a pipeline loop cannot break" },
	{ "for %5, %4, %5 { (%30 : i64) yield } else { (%31 : i64) yield }", "wrong number of regions" },
};
TEST_ROWS(loops_row, "", prelude, loops)

static const VerifyRow ifs[] = {
	{ "if %18 { yield } else { yield }", NULL },
	{ "%30, %31 = if %18 : i64, reg f16[16, 32] { yield %5, %10 } else { yield %4, %10 }", NULL },
	{ "if %5 { yield } else { yield }", "the condition is not a bool scalar" },
	{ "%30 = eq %19, %19 : reg bool[16] if %30 { yield } else { yield }",
	  "the condition is not a bool scalar" },
	{ "if { yield } else { yield }", "0 operands; expected 1" },
	{ "if %18 { (%30 : i64) yield } else { yield }", "a region has arguments" },
	{ "if %18 { yield } else { (%30 : i64) yield }", "a region has arguments" },
	{ "%30 = if %18 : i64 { yield } else { yield %5 }", "1 results, but a region yields 0" },
	{ "%30 = if %18 : i64 { yield %5 } else { yield }", "1 results, but a region yields 0" },
	{ "if %18 { yield %5 } else { yield }", "0 results, but a region yields 1" },
	{ "%30 = if %18 : i64 { yield %16 } else { yield %5 }", "result 0 is i64, but a region yields i32" },
	{ "%30 = if %18 : i64 { yield %5 } else { yield %16 }", "result 0 is i64, but a region yields i32" },
	{ "%30 = if %18 : shared f16[16, 32] { yield %11 } else { yield %11 }",
	  "a result is not a scalar or register tile" },
	{ "%30, %31 = if %18 : i64, global f16[16, 32] { yield %5, %13 } else { yield %5, %13 }",
	  "a result is not a scalar or register tile" },
	{ "if %18 zero_fill 1 { copy %13, %11 yield } else { yield }", NULL },
	{ "if %18 zero_fill 2 { yield } else { yield }", "`zero_fill` is not 0 to 1" },
	{ "%30 = if %18 zero_fill 1 : i64 { yield %5 } else { yield %5 }", "`zero_fill`, but with results" },
	{ "if %18 versions 1 { yield } else { yield }", NULL },
	{ "if %18 versions 2 { yield } else { yield }", "`versions` is not 0 to 1" },
	{ "if %18", "wrong number of regions" },
	{ "if %18 { yield }", "wrong number of regions" },
	{ "barrier { yield }", "wrong number of regions" },
};
TEST_ROWS(ifs_row, "", prelude, ifs)

/* Values are visible after their definition, in their block and in its regions. */
static const VerifyRow scopes[] = {
	{ "if %18 { %30 = add %5, %5 : i64 %31 = add %30, %3 : i64 yield } else { yield }", NULL },
	{ "if %18 { %30 = add %5, %5 : i64 yield } else { %31 = add %30, %5 : i64 yield }",
	  "operand %30 is not defined before its use" },
	{ "if %18 { %30 = add %5, %5 : i64 yield } else { yield } %31 = add %30, %5 : i64",
	  "operand %30 is not defined before its use" },
	{ "for %5, %4, %5 { (%30 : i64) yield } %31 = add %30, %5 : i64",
	  "operand %30 is not defined before its use" },
	{ "for %5, %4, %5 { (%30 : i64) %31 = add %30, %5 : i64 yield } %32 = add %31, %5 : i64",
	  "operand %31 is not defined before its use" },
	{ "%30 = for %5, %4, %5, %5 : i64 { (%31 : i64, %32 : i64) yield %31 } %33 = add %30, %5 :"
	  " i64", NULL },
	{ "%30 = add %0, %5 : i64", "operand is missing" },
	{ "%30 = add %5, %0 : i64", "operand is missing" },
	{ "%30 = add %8, %5 : i64", "operand %8 is not defined before its use" }, /* of the grid block */
	{ "for %5, %4, %5 { (%30 : i64) }", "a block does not end in yield" },
	{ "for %5, %4, %5 { (%30 : i64) yield barrier }", "a block does not end in yield" },
	{ "for %5, %4, %5 { (%30 : i64) yield yield }", "not the last op of its block" },
	{ "yield", "not the last op of its block" },
};
TEST_ROWS(scopes_row, "", prelude, scopes)

/* ---- lowerings ---- */

static const char map_of_a[] = "map %1 f16 box 32, 16 size %4, %3 stride %4 swizzle 0 l2 128\n";

static const VerifyRow mapped[] = {
	{ "copy %13, %11 async 1 lowering { access vec 1 tensor_map 1 }", NULL },
	{ "copy %13, %11 async 1 lowering { access vec 1 tensor_map 2 }",
	  "the kernel has no such tensor map" },
};
TEST_ROWS(mapped_row, map_of_a, prelude, mapped)

static const VerifyRow unmapped[] = {
	{ "copy %13, %11 async 1 lowering { access vec 1 }", NULL },
	{ "copy %13, %11 async 1 lowering { access vec 1 tensor_map 1 }",
	  "the kernel has no such tensor map" },
};
TEST_ROWS(unmapped_row, "", prelude, unmapped)
