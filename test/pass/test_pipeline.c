/* test_pipeline.c - tests pass pipeline: the structure of the loop, and that each wait is needed. */
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

static int
count_in(Block *b, OpCode code)
{
	int n = 0;

	for (Op *o = b->first; o; o = o->next)
		n += o->code == code;
	return n;
}

/* The steady state, in order: wait, barrier, next copies, commit, then what is computed. */
TEST_RANGE(steady_state, 2, 6)
{
	Kernel *k = gemm_with("", "shared", _i);
	Op *loop = pass_find(k, O_for, 0), *o;
	Block *b = loop->blk[0];
	static const OpCode order[] = { O_async_wait, O_barrier, O_if, O_async_commit, O_load, O_load,
					O_dot, O_yield };
	size_t at = 0;

	ck_assert_int_eq(loop->imm[0], FOR_PLAIN);
	for (o = b->first; o; o = o->next)
		if (!(op_info[o->code].flags & F_PURE) || o->code == O_dot) {
			ck_assert(at < COUNT_OF(order));
			ck_assert_msg(o->code == order[at], "%s", ir_text(u, k));
			at++;
		}
	ck_assert_uint_eq(at, COUNT_OF(order));
	for (o = b->first; o->code != O_async_wait;)
		o = o->next;
	ck_assert_int_eq(o->imm[0], _i - 2);
	/* two copies for each iteration made ahead, and in the loop; one group each */
	ck_assert_int_eq(ir_count(k, O_copy), 2 * _i);
	ck_assert_int_eq(ir_count(k, O_async_commit), _i);
	/* the buffers stand in front of the loop */
	ck_assert_int_eq(ir_count(k, O_alloc), 2);
	ck_assert_int_eq(count_in(b, O_alloc), 0);
	ck_assert_int_eq(pass_find(k, O_alloc, 0)->out[0]->type.shape[0], _i);
	ck_assert(!pass_pipeline(k));
}

TEST(one_stage)
{
	Kernel *k = gemm_with("", "shared", 1);
	Op *loop = pass_find(k, O_for, 0);
	static const OpCode order[] = { O_alloc, O_copy,   O_alloc, O_copy, O_async_commit, O_async_wait,
	                                O_load,  O_load, O_dot,   O_yield };
	size_t at = 0;

	for (Op *o = loop->blk[0]->first; o; o = o->next)
		if (!(op_info[o->code].flags & F_PURE) || o->code == O_dot) {
			ck_assert(at < COUNT_OF(order));
			ck_assert_msg(o->code == order[at], "%s", ir_text(u, k));
			at++;
		}
	ck_assert_uint_eq(at, COUNT_OF(order));
	ck_assert_int_eq(pass_find(k, O_copy, 0)->imm[0], 1);
}

/* Copies of iterations that surely exist are not guarded. */
TEST(guards)
{
	ck_assert_int_eq(ir_count(gemm_with("", "shared", 4), O_if), 4);
	ck_assert_int_eq(ir_count(gemm_with(", K >= 1", "shared", 4), O_if), 3);
	ck_assert_int_eq(ir_count(gemm_with(", K >= 33", "shared", 4), O_if), 2);
	ck_assert_int_eq(ir_count(gemm_with(", K >= 96", "shared", 4), O_if), 1);
	/* one iteration: nothing to make ahead but the first */
	ck_assert_int_eq(ir_count(gemm_with(", K == 32", "shared", 3), O_copy), 2);
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

/* A load that goes to registers is carried: made one iteration ahead, used when its turn comes. */
TEST(loads_ahead)
{
	Kernel *k = gemm_with("", "register", 3);
	Op *loop = pass_find(k, O_for, 0), *load = NULL;

	ck_assert_int_eq(loop->nout, 3); /* acc, the buffer's number, b */
	for (Op *o = loop->blk[0]->first; o; o = o->next)
		if (o->code == O_load && o->in[0]->type.space == S_global)
			load = o;
	ck_assert_ptr_null(load);
	ck_assert_ptr_eq(pass_find(k, O_dot, 0)->in[1], loop->blk[0]->arg[3]);
	/* with one stage nothing is ahead */
	k = gemm_with("", "register", 1);
	ck_assert_int_eq(pass_find(k, O_for, 0)->nout, 1);
}

/* Where most products are outside of the time in which a tile is needed, the next one is loaded behind it, so
 * that a lane never has both: of the statistic l behind the second product, the first that needs it, though
 * its difference from the first product stands in front.  What most products need is loaded first of all. */
TEST(loads_late)
{
	static const char src[] =
		"kernel t(A: f16[M, 64], L: f32[M], X: f32[M, 64], C: out f32[64, 64])\n"
		"    assume M % 64 == 0\n{\n    grid(1);\n    var acc: register f32[64, 64] = 0;\n"
		"    pipeline m in 0..M step 64 stages 2 {\n"
		"        let a: shared = A[m :+ 64, :];\n"
		"        let l: register = L[m :+ 64], x: register = X[m :+ 64, :];\n"
		"        let s = dot(a, a.T) - l;\n"
		"        acc += dot(f16(s + x), a);\n"
		"        acc += dot(f16(acc), a);\n"
		"        acc += dot(f16(acc + x), a);\n"
		"    }\n    C[:, :] = acc;\n}\n";
	Op *loop = pass_find(piped(src, ""), O_for, 0);
	int dots = 0, at[2] = { -1, -1 }, n = 0;

	for (Op *o = loop->blk[0]->first; o; o = o->next) {
		dots += o->code == O_dot;
		if (o->code == O_if && o->nout == 1)
			at[n++] = dots;
		ck_assert_int_le(n, 2);
	}
	ck_assert_int_eq(dots, 4);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(at[0], 0); /* x, from the second product to the last */
	ck_assert_int_eq(at[1], 2); /* l */
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

/* The second copy comes when the first was read: neither can be made ahead. */
TEST(read_between_copies)
{
	static const char text[] =
		"    %10 = const value 0 : i64\n    %11 = const value 64 : i64\n"
		"    %12 = const value 128 : i64\n"
		"    %13 = const value 0.0 : reg f16[128, 64]\n"
		"    %14 = block_id : i64\n    %15 = mul %14, %12 : i64\n"
		"    %16 = for %10, %4, %12, %13 loop 1 stages 3 : reg f16[128, 64] { "
		"(%17 : i64, %18 : reg f16[128, 64])\n"
		"      %20 = alloc offset -1 : shared f16[128, 64]\n"
		"      %23 = add %17, %11 : i64\n"
		"      %24 = view %1, %15, %17 : global f16[128, 64]\n"
		"      %25 = view %1, %15, %23 : global f16[128, 64]\n"
		"      copy %24, %20\n      %26 = load %20 : reg f16[128, 64]\n"
		"      copy %25, %20\n      %27 = load %20 : reg f16[128, 64]\n"
		"      %28 = mul %26, %27 : reg f16[128, 64]\n      %29 = add %18, %28 : reg f16[128, 64]\n"
		"      yield %29\n    }\n"
		"    %30 = view %2, %15, %10 : global f16[128, 64]\n    store %16, %30\n";
	Kernel *k = ir_read(u, ir_wrap(u, text));

	pass_apply(k, "pipeline", pass_pipeline);
	ck_assert_int_eq(ir_count(k, O_copy), 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* What a turn stores into its tile behind the copies is gone in the next, as the tile is: there are buffers
 * still. A store in front of them is not. */
TEST_EACH(stored_behind_copies, 2)
{
	static const char *const store[] = { "", "        b[0 :+ 1, :] = 0;\n" };
	static const char text[] = "kernel k(A: f16[32, K], B: f16[K, 32], C: out f32[32, 32])\n"
				   "    assume K %% 32 == 0\n"
				   "{\n"
				   "    grid(1);\n"
				   "    var acc: register f32[32, 32] = 0;\n"
				   "    pipeline k in 0..K step 32 stages 3 {\n"
				   "        let b: shared f16[32, 32];\n"
				   "%s        b[:, :] = B[k :+ 32, 0 :+ 32];\n"
				   "        if k + 32 == K { b[31 :+ 1, :] = 0; }\n"
				   "        acc += dot(A[0 :+ 32, k :+ 32], b);\n"
				   "    }\n"
				   "    C[:, :] = acc;\n"
				   "}\n";
	Kernel *k = piped(arena_printf(u->arena, text, store[_i]), "");
	Op *alloc = pass_find(k, O_alloc, 0);

	ck_assert_int_eq(alloc->out[0]->type.rank, _i ? 2 : 3);
}

static void
refused(const char *stmt, const char *words, unsigned line)
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(A: f16[M, 32], C: out f16[M, 32])\n{\n    grid(1);\n"
	                                    "    let s: shared f16[4, 32];\n"
	                                    "    pipeline i in 0..M step 4 stages 3 {\n        %s\n"
	                                    "        let a: shared = A[i :+ 4, :];\n"
	                                    "        C[i :+ 4, :] = a + 1;\n"
	                                    "    }\n}\n",
	                                    stmt),
	                       "");

	pass_pipeline(k);
	ck_assert_int_eq(u->diag->nerror, 1);
	ck_assert_msg(strstr(ir_diags(u), words) != NULL, "%s", ir_diags(u));
	ck_assert_uint_eq(u->diag->msg[0].src.line, line);
}

TEST(own_wait)
{
	refused("wait 0;", "`wait` is not allowed in a `pipeline` loop", 6);
}

TEST(own_commit)
{
	refused("commit;", "`commit` is not allowed in a `pipeline` loop", 6);
}

TEST(own_copy)
{
	refused("async copy(A[i :+ 4, :], s);", "`async copy` is not allowed in a `pipeline` loop", 6);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
