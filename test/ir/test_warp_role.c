/* test_warp_role.c - tests warp roles: the verifier's diagnostics for each op, and for all together; which
 * roles execute an op. In C: a row of a table each is as short as text. */
#include "test/ir/util_unit.h"
#include "hexc/ir/verify/verify.h"
#include <string.h>

static const char front[] =
	"%10 = alloc offset -1 align 1024 : shared f16[2, 64, 64]\n"
	"%11 = alloc offset -1 align 1024 : shared f16[2, 64, 64]\n"
	"%12 = mbarrier offset -1 arrivals 1 : shared u64[2]\n"
	"%13 = mbarrier offset -1 arrivals 1 : shared u64[2]\n"
	"%14 = const value 64 : i64\n"
	"%15 = const value 0 : i64\n"
	"%16 = view %1.A, %15, %14 : global f16[64, 64]\n"
	"%17 = view %10, %15, %15, %15 dropped 1 : shared f16[64, 64]\n"
	"%18 = view %11, %15, %15, %15 dropped 1 : shared f16[64, 64]\n"
	"%19 = lt %15, %14 : bool\n"
	"%20 = const value 0.0 : reg f32[64, 64]\n";

static const char producer[] =
	"mbarrier_wait %13, %15, %5 copy %16, %17, %12, %15 async 2 copy %16, %18, %12, %15 async 2 "
	"mbarrier_arrive %12, %15 expect 1 yield";
static const char waits[] = "mbarrier_wait %12, %15, %15 ";
static const char product[] = "wgmma_fence\n%30 = wgmma %17, %18, %20 transposed 2 : reg f32[64, "
			      "64]\nwgmma_commit\n";
static const char leaves[] = " mbarrier_arrive %13, %15 yield";

static Kernel *
read_roles(const char *first, const char *second)
{
	Kernel *k = ir_read(u, ir_wrap(u, arena_printf(u->arena, "%sroles { %s } else { %s }\n", front, first,
	                                               second)));

	k->producer_warps = 4;
	return k;
}

static const char *
consumer(const char *middle)
{
	return arena_printf(u->arena, "%s%s%s%s", waits, product, middle, leaves);
}

static void
says(Kernel *k, const char *want)
{
	ck_assert_msg(!kernel_verify(k, "test"), "accepted, not: %s", want);
	ck_assert_int_eq(u->diag->nerror, 1);
	ck_assert_msg(strstr(ir_diags(u), want) != NULL, "%s: %s", want, ir_diags(u));
}

TEST(whole)
{
	Kernel *k = read_roles(producer, consumer("wgmma_wait\n%31 = cast %30 : reg f16[64, 64]"));
	const char *text;

	ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
	text = ir_text(u, k);
	ck_assert_str_eq(ir_text(u, ir_read(u, text)), text);
	ck_assert_str_eq(ir_text(u, kernel_copy(k)), text);
}

/* Between the wait for the stage and its release. */
static const struct {
	const char *middle, *say;
} flight[] = {
	{ "%31 = cast %30 : reg f16[64, 64]", "asynchronous MMA in flight" },
	{ "wgmma_wait pending 1\n%31 = cast %30 : reg f16[64, 64]", "asynchronous MMA in flight" },
	{ "%31 = wgmma %17, %18, %20 transposed 2 : reg f32[64, 64]\nwgmma_wait\n%32 = cast %31 : reg "
	  "f16[64, 64]",
	  "asynchronous MMA in flight" },
	{ "%31 = if %19 : reg f32[64, 64] { yield %30 } else { yield %20 } %32 = neg %31 : reg f32[64, 64]",
	  "asynchronous MMA in flight" },
	{ "if %19 { wgmma_wait\nyield } else { yield } %31 = neg %30 : reg f32[64, 64]",
	  "asynchronous MMA in flight" },
	{ "%31 = for %15, %14, %5, %30 : reg f32[64, 64] { (%32 : i64, %33 : reg f32[64, 64]) "
	  "%34 = neg %33 : reg f32[64, 64] yield %34 }",
	  "asynchronous MMA in flight" },
	{ "wgmma_wait\n%31 = for %15, %14, %5, %30 : reg f32[64, 64] { (%32 : i64, %33 : reg f32[64, 64]) "
	  "%34 = neg %33 : reg f32[64, 64] %35 = wgmma %17, %18, %34 transposed 2 : reg f32[64, 64]\n"
	  "wgmma_commit\nyield %35 }",
	  "asynchronous MMA in flight" },
	/* its registers would be copied: it is read again, or changes places with another */
	{ "%31 = wgmma %17, %18, %30 transposed 2 : reg f32[64, 64]\nwgmma_commit\nwgmma_wait\n"
	  "%32 = add %31, %30 : reg f32[64, 64]",
	  "the result of an asynchronous MMA in flight changes its registers, or is read again later; "
	  "missing wait" },
	{ "%31, %32 = for %15, %14, %5, %20, %20 : reg f32[64, 64], reg f32[64, 64] "
	  "{ (%33 : i64, %34 : reg f32[64, 64], %35 : reg f32[64, 64]) "
	  "%36 = wgmma %17, %18, %34 transposed 2 : reg f32[64, 64]\nwgmma_commit\nyield %35, %36 } "
	  "wgmma_wait",
	  "the result of an asynchronous MMA in flight changes its registers, or is read again later; "
	  "missing wait" },
	{ "mbarrier_arrive %13, %15", "releases a stage that an asynchronous MMA in flight reads; missing "
	                              "wait before it" },
	{ "wgmma_wait pending 1\nif %19 { mbarrier_arrive %13, %15 yield } else { yield } wgmma_wait",
	  "releases a stage that an asynchronous MMA in flight reads; missing wait before it" },
};

TEST_EACH(what_is_under_way_is_not_read, COUNT_OF(flight))
{
	says(read_roles(producer, consumer(flight[_i].middle)), flight[_i].say);
}

static const char *const covered[] = {
	"wgmma_wait\n%31 = neg %30 : reg f32[64, 64]",
	"%31 = wgmma %17, %18, %30, %19 transposed 2 : reg f32[64, 64]\nwgmma_commit\nwgmma_wait\n"
	"%32 = neg %31 : reg f32[64, 64]",
	"%31 = wgmma %17, %18, %20 transposed 2 : reg f32[64, 64]\nwgmma_commit\nwgmma_wait pending 1\n"
	"%32 = neg %30 : reg f32[64, 64] wgmma_wait",
	"if %19 { wgmma_wait\nyield } else { wgmma_wait\nyield } %31 = neg %30 : reg f32[64, 64]",
	"%31 = if %19 : reg f32[64, 64] { %32 = wgmma %17, %18, %20 transposed 2 : reg f32[64, 64]\nyield "
	"%32 } "
	"else { %33 = wgmma %17, %18, %30 transposed 2 : reg f32[64, 64]\nyield %33 } "
	"wgmma_commit\nwgmma_wait\n%34 = neg %31 : reg f32[64, 64]",
	"%31 = for %15, %14, %5, %30 : reg f32[64, 64] { (%32 : i64, %33 : reg f32[64, 64]) "
	"%34 = wgmma %17, %18, %33 transposed 2 : reg f32[64, 64]\nwgmma_commit\nwgmma_wait pending 1 "
	"yield %34 } "
	"wgmma_wait\n%35 = neg %31 : reg f32[64, 64]",
};

TEST_EACH(what_was_waited_for_is_read, COUNT_OF(covered))
{
	Kernel *k = read_roles(producer, consumer(covered[_i]));

	ck_assert_msg(kernel_verify(k, "test"), "%s: %s", covered[_i], ir_diags(u));
}

static const struct {
	const char *first, *second, *say;
} bad[] = {
	{ "%30 = const value 0.0 : reg f16[64] yield", "yield",
	  "a register tile other than indices in the producer role" },
	{ "mbarrier_wait %12, %15, %15 yield", "yield", "mbarrier is awaited, but has no arrive" },
	{ "mbarrier_wait %12, %15, %15 mbarrier_arrive %12, %15 yield", "yield",
	  "one role both arrives at and awaits this mbarrier" },
	{ "copy %16, %17, %12, %15 async 2 yield", "mbarrier_wait %12, %15, %15 yield",
	  "mbarrier is awaited, but has no arrive" },
	{ "copy %16, %17, %12, %15 async 2 mbarrier_arrive %12, %15 expect 1 yield", "yield",
	  "mbarrier tracks copies, but is never awaited" },
	{ "copy %16, %17, %12, %15 async 2 mbarrier_arrive %12, %15 yield",
	  "mbarrier_wait %12, %15, %15 yield",
	  "no `arrive` at `an mbarrier` expects this copy" },
	{ "copy %16, %17, %12, %15 async 2 mbarrier_arrive %12, %5 expect 1 yield",
	  "mbarrier_wait %12, %15, %15 "
	                                                                        "yield",
	  "no `arrive` at `an mbarrier` expects this copy" },
	{ "if %19 { copy %16, %17, %12, %15 async 2 yield } else { yield } mbarrier_arrive %12, %15 expect 1 "
	  "yield",
	  "mbarrier_wait %12, %15, %15 yield", "no `arrive` at `an mbarrier` expects this copy" },
	{ "%30 = consumer_group_id : i64 yield", "yield", "not in the region of the consumer groups" },
	{ "yield %15", "yield", "yields values" },
	{ "%30 = mbarrier offset -1 arrivals 1 : shared u64[2] yield", "yield",
	  "not at the top level of the body" },
	{ "roles { yield } else { yield } yield", "yield", "not the last op of the body" },
	{ "mbarrier_arrive %10, %15 yield", "yield", "not an mbarrier" },
	{ "mbarrier_arrive %12, %19 yield", "yield", "the slot is not an i64 scalar" },
	{ "mbarrier_arrive %12, %15 expect 2 yield", "yield", "`expect` is not 0 to 1" },
	{ "mbarrier_wait %12, %15, %19 yield", "yield", "the phase is not an i64 scalar" },
	{ "copy %16, %17 async 2 yield", "yield", "expected two tiles, and an mbarrier with its slot if "
	                                          "there is one" },
	{ "copy %16, %17, %12, %15 async 1 yield", "yield",
	  "expected two tiles, and an mbarrier with its slot if there is one" },
	{ "copy %16, %17 async 3 yield", "yield", "does not copy to" },
	{ "copy %17, %16 async 3 yield", "yield", "not an out or inout parameter" },
	{ "copy %16, %17 async 1 multicast 1 yield", "yield",
	  "`multicast`, but no mbarrier in each block" },
	{ "yield", "%30 = wgmma %17, %18, %20 : reg f32[64, 64] yield", NULL },
	{ "yield", "%30 = wgmma %17, %18, %20 transposed 4 : reg f32[64, 64] yield",
	  "`transposed` is not 0 to 3" },
	{ "yield", "%30 = wgmma %20, %20, %20 : reg f32[64, 64] yield",
	  "operands must be matrices in shared memory, or one of them in registers" },
	{ "yield", "%30 = wgmma %17, %18, %20, %15 : reg f32[64, 64] yield", "not a bool scalar" },
	{ "yield", "%30 = wgmma %17, %18, %20 : reg f32[64, 32] yield", "result and accumulator differ" },
	{ "fence_proxy_async yield", "yield", "neither shared nor global" },
	{ "%30 = load %12 : reg u64[2] yield", "yield", "mbarriers cannot be read" },
	{ "%30 = view %12, %15 : shared u64[1] yield", "yield", "barriers" },
};

TEST_EACH(bad_is_named, COUNT_OF(bad))
{
	Kernel *k = read_roles(bad[_i].first, bad[_i].second);

	if (bad[_i].say)
		says(k, bad[_i].say);
	else
		ck_assert_msg(kernel_verify(k, "test"), "%s", ir_diags(u));
}

TEST(what_the_kernel_says_of_roles)
{
	Kernel *k = read_roles("yield", "yield");

	k->producer_warps = 0;
	says(k, "the kernel has no producer warps");
}

TEST(registers_of_roles)
{
	static const struct {
		int64_t producer, consumer;
		bool ok;
	} row[] = { { 0, 0, true },     { 40, 232, true },  { 24, 256, true },
		    { 40, 0, false },   { 0, 232, false },  { 16, 232, false },
		    { 40, 236, false }, { 40, 264, false } };

	for (size_t i = 0; i < COUNT_OF(row); i++) {
		Kernel *k = read_roles("yield", "yield");
		Op *o = k->body->last->prev;

		IMM_SET(o, producer, row[i].producer);
		IMM_SET(o, consumer, row[i].consumer);
		ck_assert_msg(kernel_verify(k, "test") == row[i].ok, "%d, %d", (int)row[i].producer,
		              (int)row[i].consumer);
	}
}

TEST(only_what_is_pure_in_front)
{
	const char *body = arena_printf(u->arena, "%scopy %%16, %%17\n"
	                                          "roles { yield } else { yield }\n", front);
	Kernel *k = ir_read(u, ir_wrap(u, body));

	k->producer_warps = 4;
	says(k, "copy with side effects before `roles`");
}

static const char *const outside[] = { "mbarrier_wait %12, %15, %15", "mbarrier_arrive %12, %15",
	                               "copy %16, %17, %12, %15 async 2" };

TEST_EACH(barriers_are_between_roles, COUNT_OF(outside))
{
	Kernel *k = ir_read(u, ir_wrap(u, arena_printf(u->arena, "%s%s\n", front, outside[_i])));

	says(k, "not in a role; mbarriers synchronize roles");
}

TEST(who_runs_what)
{
	Kernel *k = read_roles(producer, consumer("wgmma_wait"));
	const Op *roles = kernel_roles(k);

	k->warps = 8;
	k->teams = 2;
	ck_assert_int_eq(kernel_warps(k), 20);
	ck_assert_int_eq(op_role(roles), ROLE_ALL);
	ck_assert_int_eq(op_warps(roles), 20);
	ck_assert_int_eq(op_role(roles->blk[0]->first), ROLE_PRODUCER);
	ck_assert_int_eq(op_warps(roles->blk[0]->first), 4);
	ck_assert_int_eq(op_role(roles->blk[1]->first), ROLE_CONSUMER);
	ck_assert_int_eq(op_warps(roles->blk[1]->first), 8);
	ck_assert_ptr_eq(op_mbar(roles->blk[0]->first), ir_val(k, 13)->def);
	ck_assert_ptr_eq(op_mbar(roles->blk[0]->first->next), ir_val(k, 12)->def);
}

/* Slots in turns, one of them computed twice: each arrival expects its copies since the last that did. */
TEST(what_an_arrival_expects)
{
	Kernel *k = read_roles("%30 = add %14, %5 : i64 %31 = add %14, %5 : i64 "
	                       "copy %16, %17, %12, %15 async 2 mbarrier_arrive %12, %15 expect 1 "
	                       "copy %16, %17, %12, %15 async 2 copy %16, %18, %12, %30 async 2 "
	                       "copy %16, %18, %12, %15 async 2 mbarrier_arrive %12, %31 expect 1 "
	                       "mbarrier_arrive %13, %15 mbarrier_arrive %12, %15 expect 1 yield",
	                       "mbarrier_wait %12, %15, %15 yield");
	const Op *copy[4], *arrive[4];
	int ncopy = 0, narrive = 0;

	for (const Op *o = kernel_roles(k)->blk[0]->first; o; o = o->next) {
		if (o->code == O_copy)
			copy[ncopy++] = o;
		else if (o->code == O_mbarrier_arrive)
			arrive[narrive++] = o;
	}
	ck_assert_ptr_eq(arrival_copy(arrive[0], arrive[0]), copy[0]);
	ck_assert_ptr_null(arrival_copy(arrive[0], copy[0]));
	ck_assert_ptr_eq(arrival_copy(arrive[1], arrive[1]), copy[2]);
	ck_assert_ptr_null(arrival_copy(arrive[1], copy[2]));
	ck_assert_ptr_null(arrival_copy(arrive[2], arrive[2]));
	ck_assert_ptr_eq(arrival_copy(arrive[3], arrive[3]), copy[3]);
	ck_assert_ptr_eq(arrival_copy(arrive[3], copy[3]), copy[1]);
	ck_assert_ptr_null(arrival_copy(arrive[3], copy[1]));
	ck_assert_ptr_eq(copy_arrival(copy[0]), arrive[0]);
	ck_assert_ptr_eq(copy_arrival(copy[1]), arrive[3]);
	ck_assert_ptr_eq(copy_arrival(copy[2]), arrive[1]);
}

/* Warps and registers of a lane: those of CUTLASS's kernels, and what PTX has names for at most. */
TEST(registers_at_launch)
{
	ck_assert_int_eq(launch_registers(12), 168);
	ck_assert_int_eq(launch_registers(16), 128);
	ck_assert_int_eq(launch_registers(8), 248);
	ck_assert_int_eq(launch_registers(32), 64);
}

TEST_PROGRAM(UNIT_FIXTURE);
