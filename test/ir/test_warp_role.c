/* test_warp_role.c - tests which roles execute an op, and which registers the verifier lets roles have: fields of the
 * kernel. roles.ir and mma_*.ir have what the verifier says of ops. */
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
