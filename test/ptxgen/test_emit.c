/* test_emit.c - tests the PTX emitter's interface: several kernels in a module, the same bytes each time,
 * errors, and an arena that runs out at every point. In C: it tests an interface; gemm.ir, roles.ir and
 * others have kernels by hand. */
#include "ptxgen/ptxgen.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

/* A kernel with shared memory, a loop and a reduction across warps: %s is its name, the element
 * type, an op. */
static const char *
kernel_text(const char *name, const char *type, const char *op)
{
	static const char text[] =
		"kernel %s {\n  warps 2\n  smem 256\n"
		"  param %%1.A tensor A : global %s[?] read size %%3 stride %%7\n"
		"  param %%2.C tensor C : global %s[?] written size %%8 stride %%7\n"
		"  param %%3.N size N : i64 mult 4 lo 1 hi 100000\n"
		"  grid {\n    %%4 = const value 1 : i64\n    yield %%4, %%4, %%4\n  }\n"
		"  body {\n    %%7 = const value 1 : i64\n    %%8 = const value 1 : i64\n"
		"    %%9 = const value 0 : i64\n"
		"    %%10 = const value 128 : i64\n"
		"    %%11 = const value 0 : reg %s[1] @{(1):(0)+[32:1@lane]+[2:1@warp]}\n"
		"    %%12 = for %%9, %%3, %%10, %%11 : reg %s[1] "
		"@{(1):(0)+[32:1@lane]+[2:1@warp]} { (%%13 : i64, %%14 : "
		"reg %s[1] @{(1):(0)+[32:1@lane]+[2:1@warp]})\n"
		"      %%15 = view %%1, %%13 : global %s[128]\n"
		"      %%16 = load %%15 : reg %s[128] @{((2,32,2)):((1@reg,1@lane,1@warp))} lowering "
		"{ access inst ld_global_64 vec 2 }\n"
		"      %%17 = %s %%16 : reg %s[128] @{((2,32,2)):((1@reg,1@lane,1@warp))}\n"
		"      barrier\n"
		"      %%18 = reduce_sum %%17 : reg %s[1] @{(1):(0)+[32:1@lane]+[2:1@warp]} lowering "
		"{ reduce_shared write { vec 1 map {(2):(1@warp)+[32:1@lane]} } read { vec 2 map "
		"{(2):(1@reg)+[32:1@lane]+[2:1@warp]} } tile {(2):(1)} bytes 32 }\n"
		"      %%19 = add %%14, %%18 : reg %s[1] @{(1):(0)+[32:1@lane]+[2:1@warp]}\n"
		"      yield %%19\n    }\n"
		"    %%20 = view %%2, %%9 : global %s[1]\n"
		"    store %%12, %%20 lowering { access inst st_global_32 vec 1 }\n    yield\n  }\n}\n";
	const char *t = type;

	return arena_printf(u->arena, text, name, t, t, t, t, t, t, t, op, t, t, t, t);
}

TEST(two_kernels)
{
	Kernel *k[2] = { ir_read(u, kernel_text("first", "f32", "exp")),
		         ir_read(u, kernel_text("second", "f32", "neg")) };
	PtxGen *g = ptxgen_new(u->arena->realloc, u->arena->user);
	PtxOut one, two;

	u->kernel = k;
	u->nkernel = 2;
	k[1]->launch_registers = 248;
	ck_assert_msg(ptxgen_emit(g, u, &one), "%s", ir_diags(u));
	ck_assert_int_eq(ptx_count(one.text, ".visible .entry"), 2);
	ck_assert_int_eq(ptx_count(one.text, ".reqntid 64"), 2);
	ck_assert_int_eq(ptx_count(one.text, ".maxnreg"), 1);
	ck_assert_int_eq(ptx_count(one.text, ".maxnreg 248"), 1);
	ck_assert_int_eq(ptx_count(one.text, ".extern .shared"), 1);
	ck_assert(one.ms_build >= 0 && one.ms_opt >= 0 && one.ms_emit >= 0);
	ptx_assembles(u, one.text);
	ck_assert(ptxgen_emit(g, u, &two));
	ptxgen_free(g);
	ck_assert_str_eq(one.text, two.text);
	ptx_compare(u, kernel_text("run", "f32", "neg"), "N=300", 1, 1e-4);
}

/* Counters next to where 32 bits end: a loop that starts past its end does not run, and one that ends at the
 * last number stops.  %7 is where it starts, from N. */
static const struct { const char *lo, *hi, *step, *sizes; } counter[] = {
	{ "%6 = const value 4294967296 : i64 %7 = mul %2, %6 : i64", "100", "1", "N=1" },
	{ "%6 = const value 4294967296 : i64 %7 = mul %2, %6 : i64", "100", "1", "N=0" },
	{ "%6 = const value 2147483600 : i64 %7 = add %2, %6 : i64", "2147483647", "32", "N=3" },
	{ "%6 = const value 2147483600 : i64 %7 = sub %2, %6 : i64", "-2147483000", "32", "N=3" },
	{ "%6 = const value 2147483648 : i64 %7 = sub %2, %6 : i64", "-2147483640", "2", "N=0" },
};

TEST_EACH(counters_in_32_bits, COUNT_OF(counter))
{
	static const char text[] =
		"kernel count {\n  warps 1\n"
		"  param %%1.C tensor C : global f32[1] written size %%4 stride %%4\n"
		"  param %%2.N size N : i64 mult 1 lo 0 hi 40\n"
		"  grid {\n    %%3 = const value 1 : i64\n    yield %%3, %%3, %%3\n  }\n"
		"  body {\n    %%4 = const value 1 : i64\n    %s\n    %%8 = const value 0 : i64\n"
		"    %%9 = const value %s : i64\n    %%10 = const value %s : i64\n"
		"    %%11 = const value 0.0 : reg f32[1] @{(1):(0)+[32:1@lane]}\n"
		"    %%12 = const value 1.0 : reg f32[1] @{(1):(0)+[32:1@lane]}\n"
		"    %%13 = for %%7, %%9, %%10, %%11 : reg f32[1] @{(1):(0)+[32:1@lane]}"
		" { (%%14 : i64, %%15 : reg f32[1] @{(1):(0)+[32:1@lane]})\n"
		"      %%16 = add %%15, %%12 : reg f32[1] @{(1):(0)+[32:1@lane]}\n      yield %%16\n    }\n"
		"    %%17 = view %%1, %%8 : global f32[1]\n"
		"    store %%13, %%17 lowering { access inst st_global_32 vec 1 }\n    yield\n  }\n}\n";

	const char *ir = arena_printf(u->arena, text, counter[_i].lo, counter[_i].hi, counter[_i].step);

	ptx_compare(u, ir, counter[_i].sizes, 1, 0);
}

/* The arena's end in the middle of emission closes LLVM's session (a leak checker sees it) and
 * lands in the compilation's setjmp; the next emission works. */
TEST(memory)
{
	Kernel *k = ir_read(u, kernel_text("first", "f32", "exp"));
	jmp_buf *outer = u->arena->fail, here;
	volatile int failed = 0;
	volatile bool worked = false;
	PtxGen *g = ptxgen_new(u->arena->realloc, u->arena->user);
	PtxOut out;

	u->kernel = &k;
	u->nkernel = 1;
	for (volatile size_t more = 0; !worked; more += 2048) {
		/* just `more` bytes are left */
		arena_alloc(u->arena, 1 << 20);
		u->arena->used -= more;
		u->arena->limit = u->arena->held;
		u->arena->fail = &here;
		if (setjmp(here) == 0) {
			worked = ptxgen_emit(g, u, &out);
		} else {
			ck_assert_ptr_eq(u->arena->fail, &here);
			failed++;
		}
		u->arena->limit = 0;
		u->arena->fail = outer;
		ck_assert_int_lt(failed, 500);
	}
	ptxgen_free(g);
	ck_assert_int_gt(failed, 3);
	ck_assert_int_eq(u->diag->nerror, 0);
}

static void
fails(const char *text, const char *words)
{
	Kernel *k = ir_read(u, text);
	PtxGen *g = ptxgen_new(u->arena->realloc, u->arena->user);
	PtxOut out;

	u->kernel = &k;
	u->nkernel = 1;
	ck_assert(!ptxgen_emit(g, u, &out));
	ptxgen_free(g);
	ck_assert_ptr_null(out.text);
	ck_assert_msg(strstr(ir_diags(u), words) != NULL, "%s", ir_diags(u));
}

TEST(unsupported)
{
	const char *text = kernel_text("t", "f64", "exp");
	char *at = arena_strndup(u->arena, text, strlen(text));

	/* twice the bits: other accesses */
	memcpy(strstr(at, "ld_global_64 vec 2"), "ld_global_64 vec 1", 18);
	fails(at, "GPUs have no exp for f64; cast to f32 first");
}

TEST(reserved_name)
{
	fails(kernel_text("WARP_SZ", "f32", "exp"), "PTX keeps the name WARP_SZ");
}

TEST(old_llvm)
{
	Target t = *u->target;

	t.llvm = ptxgen_llvm_major() + 1;
	u->target = &t;
	fails(kernel_text("t", "f32", "exp"), "this hexc was built with LLVM");
}

/* A lowering that names an instruction the target has not is a bug of inference, found before LLVM sees
 * it. */
TEST(wrong_pick)
{
	jmp_buf *outer = u->arena->fail, here;
	const char *text = kernel_text("t", "f32", "exp");
	char *at = arena_strndup(u->arena, text, strlen(text));
	Kernel *k;
	PtxGen *g = ptxgen_new(u->arena->realloc, u->arena->user);
	PtxOut out;

	memcpy(strstr(at, "ld_global_64 vec 2"), "st_global_64 vec 2", 18);
	k = ir_read(u, at);
	u->kernel = &k;
	u->nkernel = 1;
	u->arena->fail = &here;
	if (setjmp(here) == 0) {
		ptxgen_emit(g, u, &out);
		ck_abort_msg("nothing happened");
	}
	u->arena->fail = outer;
	ptxgen_free(g);
	ck_assert_ptr_nonnull(strstr(u->arena->why, "ptxgen/memory/load.c"));
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
