/* test_pipeline.c - tests pass pipeline with the interpreter, whose copies land as late as the waits allow,
 * and with range analysis; neither is in the IR's text. pipeline*.hexc have the IR. */
#include "hexc/analysis/analysis.h"
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

static Kernel *
piped(const char *src, const char *defines)
{
	Kernel *k = run_source(u, src, defines);

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pipeline", pass_pipeline);
	return k;
}

static const char gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[K, N], C: out f32[M, N])\n"
	"    assume M % 32 == 0, N % 32 == 0, K % 32 == 0%s\n"
	"    tune STAGES = 1..6\n"
	"{\n"
	"    grid(M / 32, N / 32);\n"
	"    let m = block.x * 32, n = block.y * 32;\n"
	"    var acc: register f32[32, 32] = 0;\n"
	"    pipeline k in 0..K step 32 stages STAGES {\n"
	"        let a: shared = A[m :+ 32, k :+ 32];\n"
	"        let b: %s = B[k :+ 32, n :+ 32];\n"
	"        acc += dot(a, b);\n"
	"    }\n"
	"    C[m :+ 32, n :+ 32] = acc;\n"
	"}\n";

static Kernel *
gemm_with(const char *assume, const char *space, int stages)
{
	Text t = { u->arena, NULL, 0, 0 };
	const char *p = strstr(gemm, "%s"), *q = strstr(p + 2, "%s");

	text_printf(&t, "%.*s%s%.*s%s%s", (int)(p - gemm), gemm, assume, (int)(q - p - 2),
	            p + 2, space, q + 2);
	return piped(t.s, arena_printf(u->arena, "STAGES=%d", stages));
}

/* What is proved inside stays proved when it is made ahead: no predicates in the main loop. */
TEST_EACH(views_stay_inside, 2)
{
	Kernel *k = gemm_with("", _i ? "register" : "shared", 3);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int d = 0; o->code == O_view && d < 2; d++)
			if (o->in[0]->type.space == S_global)
				ck_assert_msg(view_in_bounds(k, o, d), "view %%%u dim %d:\n%.3500s",
				              (unsigned)o->out[0]->id, d, ir_text(u, k));
}

/* A wait that allows one group more lets a copy land too late. */
TEST(waits_are_needed)
{
	InterpOpt late = { .late = true, .workers.threads = 1 };

	for (int stages = 1; stages < 5; stages++) {
		Kernel *k = gemm_with("", "shared", stages);
		Run r;

		run_setup(&r, k, "M=32 N=32 K=256", 1);
		run_ok(&r, &late);
		pass_find(k, O_async_wait, 0)->imm[0]++;
		run_setup(&r, k, "M=32 N=32 K=256", 1);
		run_fails(&r, &late, INTERP_E_FAULT, "uninitialized element");
		u->diag->n = u->diag->nerror = 0;
	}
}

/* Two copies fill one tile: both are made ahead, into the parts they belong to. */
TEST(one_tile_two_copies)
{
	static const char text[] =
		"    %10 = const value 0 : i64\n    %11 = const value 128 : i64\n"
		"    %12 = const value 64 : i64\n"
		"    %13 = const value 0.0 : reg f16[128, 128]\n"
		"    %14 = block_id : i64\n    %15 = mul %14, %11 : i64\n"
		"    %16 = for %10, %4, %11, %13 loop 1 stages 3 : reg f16[128, 128] { "
		"(%17 : i64, %18 : reg f16[128, 128])\n"
		"      %20 = alloc offset -1 : shared f16[128, 128]\n"
		"      %21 = view %20, %10, %10 : shared f16[128, 64]\n"
		"      %22 = view %20, %10, %12 : shared f16[128, 64]\n"
		"      %23 = add %17, %12 : i64\n"
		"      %24 = view %1, %15, %17 : global f16[128, 64]\n"
		"      %25 = view %1, %15, %23 : global f16[128, 64]\n"
		"      copy %24, %22\n      copy %25, %21\n"
		"      %26 = load %20 : reg f16[128, 128]\n"
		"      %27 = add %18, %26 : reg f16[128, 128]\n"
		"      yield %27\n    }\n"
		"    %30 = view %2, %15, %10 : global f16[128, 128]\n    store %16, %30\n";
	InterpOpt late = { .late = true };
	Kernel *k = ir_read(u, ir_wrap(u, text)), *p;
	Run r, s;

	pass_apply(k, "none", pass_mask_bounds);
	run_setup(&r, k, "M=100 K=512", 1);
	run_ok(&r, NULL);
	p = ir_read(u, ir_wrap(u, text));
	pass_apply(p, "pipeline", pass_pipeline);
	ck_assert_int_eq(ir_count(p, O_copy), 6);
	run_setup(&s, p, "M=100 K=512", 1);
	run_ok(&s, &late);
	run_same(&r, &s, "two copies");
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
