/* test_cost.c - tests the cost model: its rate table against the simulator's, which was written separately;
 * its ranking where the order is certain. */
#include "infer/core/sm_throughput.h"
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search_single.h"
#include "infer/search.h"
#include "test/infer/util_infer.h"
#include "test/util_arena.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
	int sm, i32, f32, f16, f64, mufu, cvt, lsu, f64mma;
} lanes[] = {
#define RATE(...) { __VA_ARGS__ },
#include "lib/sim/launch/rates.def"
};

static const struct {
	const char *name;
	int cc, sms, mhz, dram, l2, mma;
	const char *source;
} gpus[] = {
#define GPU(...) { __VA_ARGS__ },
#include "lib/sim/launch/gpus.def"
};

TEST(tables)
{
	int n = 0;

	for (const Target *t = targets; t->name; t++) {
		const Rates *r = rates_of(t);
		bool gpu = false, rate = false;

		ck_assert_int_eq(r->sm, t->sm);
		for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
			if (lanes[i].sm == r->sm) {
				ck_assert_int_eq(lanes[i].i32, r->i32);
				ck_assert_int_eq(lanes[i].f32, r->f32);
				ck_assert_int_eq(lanes[i].f16, r->f16);
				ck_assert_int_eq(lanes[i].f64, r->f64);
				ck_assert_int_eq(lanes[i].mufu, r->mufu);
				ck_assert_int_eq(lanes[i].cvt, r->cvt);
				/* without such tensor cores the rate is the ordinary units' */
				if (lanes[i].f64mma)
					ck_assert_int_eq(lanes[i].f64mma, r->mma_f64);
				else
					ck_assert_int_le(r->mma_f64, r->f64);
				rate = true;
			}
		for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
			if (!strcmp(gpus[i].name, r->gpu)) {
				ck_assert_int_eq(gpus[i].cc, r->sm);
				ck_assert_int_eq(gpus[i].sms, r->sms);
				ck_assert_int_eq(gpus[i].mhz, r->mhz);
				ck_assert_int_eq(gpus[i].dram, r->dram);
				ck_assert_int_eq(gpus[i].mma, r->mma_f16);
				if (gpus[i].l2)
					ck_assert_int_eq(gpus[i].l2, r->l2);
				gpu = true;
			}
		ck_assert_msg(gpu && rate, "%s: the simulator knows no %s", t->name, r->gpu);
		/* narrower operands are no slower where there are tensor cores for them; memory is slower
		 * than cache */
		ck_assert(!r->mma_tf32 || 2 * r->mma_tf32 <= r->mma_f16);
		ck_assert_int_ge(r->mma_i8, r->mma_f16);
		ck_assert(dram_bytes(r) < l2_bytes(r));
		ck_assert(r->shared_wait < r->l2_wait && r->l2_wait < r->dram_wait);
		n++;
	}
	ck_assert_int_eq(n, 7);
}

/* Blocks on an SM, by hand: NVIDIA's occupancy rules. */
TEST(resident)
{
	static const struct {
		const char *target;
		int warps;
		int64_t regs, shared;
		int blocks;
	} want[] = {
		{ "sm_80", 4, 32, 0, 16 },         /* 64 warps */
		{ "sm_80", 1, 32, 0, 32 },         /* 32 blocks */
		{ "sm_75", 1, 32, 0, 16 },         /* 16 blocks */
		{ "sm_86", 8, 32, 0, 6 },          /* 48 warps */
		{ "sm_80", 4, 255, 0, 2 },         /* 8192 registers a warp: 8 warps */
		{ "sm_80", 4, 128, 0, 4 },         /* 4096: 16 warps */
		{ "sm_80", 4, 129, 0, 3 },         /* 4352 with the grain: 15 warps */
		{ "sm_80", 4, 64, 49152, 3 },      /* 167936 / 50176 */
		{ "sm_90a", 4, 64, 49152, 4 },     /* 233472 / 50176 */
		{ "sm_100a", 4, 64, 49152, 4 },    /* the same */
		{ "sm_120a", 4, 32, 0, 12 },       /* 48 warps */
		{ "sm_120a", 1, 32, 0, 24 },       /* 24 blocks */
		{ "sm_120a", 4, 64, 33792, 2 },    /* 102400 / 34816 */
		{ "sm_75", 4, 64, 32768, 2 },      /* 65536 / 32768 */
		{ "sm_80", 32, 255, 166912, 1 },   /* at least the one that the program asks for */
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const Target *t = target_find(want[i].target);

		ck_assert_msg(occupancy(t, want[i].warps, want[i].regs, want[i].shared) ==
		                      want[i].blocks,
		              "row %zu: %d", i,
		              occupancy(t, want[i].warps, want[i].regs, want[i].shared));
	}
}

/* Clocks of an instance: A100 makes 1024 f16 products a clock; Turing half as many; fp8 on Ada twice those
 * of f16. */
TEST(tensor_cores)
{
	const Rates *t75 = rates_of(target_find("sm_75")), *t80 = rates_of(target_find("sm_80"));
	const Rates *t89 = rates_of(target_find("sm_89")), *t90 = rates_of(target_find("sm_90a"));
	const Rates *t100 = rates_of(target_find("sm_100a")), *t120 = rates_of(target_find("sm_120a"));
	const Instr *f16 = instr_find("mma_m16n8k16_f32_f16"), *f8 = instr_find("mma_m16n8k32_f32_e4m3");
	const Instr *half = instr_find("mma_m16n8k8_f32_f16");

	ck_assert(fabs(mma_clocks(t80, f16) - 2) < 1e-9);
	ck_assert(fabs(mma_clocks(t75, half) - 2) < 1e-9);
	ck_assert(fabs(mma_clocks(t89, f8) - mma_clocks(t89, f16)) < 1e-9); /* twice the depth */
	ck_assert(mma_clocks(t90, f16) < mma_clocks(t80, f16) && mma_clocks(t80, f16) < mma_clocks(t89, f16));
	/* an SM of RTX PRO 6000 as one of L40S; of B200 mma.sync is assumed to have what A100 has */
	ck_assert(fabs(mma_clocks(t120, f16) - mma_clocks(t89, f16)) < 1e-9);
	ck_assert(fabs(mma_clocks(t100, f16) - mma_clocks(t80, f16)) < 1e-9);
}

/* Multiply-accumulates a clock and SM that the A100 whitepaper gives for operands of each type. */
TEST(tensor_core_types)
{
	static const struct {
		const char *type;
		int rate;
	} want[] = {
		{ "f16", 1024 }, { "bf16", 1024 }, { "tf32", 512 }, { "f64", 64 },
		{ "i8", 2048 }, { "u8", 2048 }, { "i4", 4096 }, { "u4", 4096 },
	};
	const Target *t = target_find("sm_80");

	for (const Instr *in = instrs; in->name; in++) {
		double rate;
		bool found = false;

		if ((in->kind != IK_mma && in->kind != IK_mma_sp) || !instr_on(in, t))
			continue;
		rate = (double)in->m * in->n * in->k / mma_clocks(rates_of(t), in);
		for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
			if (strcmp(want[i].type, dtype_info[in->ta].name) != 0)
				continue;
			found = true;
			ck_assert_msg(fabs(rate - want[i].rate * (in->kind == IK_mma_sp ? 2 : 1)) < 1e-6,
			              "%s: %g", in->name, rate);
		}
		ck_assert_msg(found, "%s: operands of what type?", in->name);
	}
}

/* ---- rankings -------------------------------------------------------------------------------- */

static const char *
product(const char *type, int tile, int stages)
{
	return arena_printf(&arena,
	                    "kernel p(A: %s[M, K], B: %s[N, K], C: out f32[M, N])\n"
	                    "    const T = %d, WARPS = 4\n    assume K %% 64 == 0\n{\n"
	                    "    grid(ceil(M, T), ceil(N, T));\n    let m = block.x * T, n = block.y * T;\n"
	                    "    var acc: register f32[T, T] = 0;\n"
	                    "    pipeline k in 0..K step T stages %d {\n"
	                    "        let a: shared = A[m :+ T, k :+ T], b: shared = B[n :+ T, k :+ T];\n"
	                    "        acc += dot(a, b.T);\n    }\n    C[m :+ T, n :+ T] = acc;\n}\n",
	                    type, type, tile, stages);
}

static const LayoutSolution *
best(const char *source, const char *target)
{
	return infer_solved(&arena, source, target, 0)->sol[0];
}

/* More stages wait less for memory.  Iterations of a small tile are shorter than the way to memory and
 * back, so a block alone gains by the third stage; the fourth then finds nothing to hide, and has its own
 * prologue. */
TEST(stages_hide_latency)
{
	for (const Target *t = target_find("sm_80"); t->name; t++) {
		double was = HUGE_VAL;

		for (int stages = 2; stages <= 4; stages++) {
			const LayoutSolution *s = best(product("f16", 32, stages), t->name);

			ck_assert_msg(s->alone < was, "%s, %d stages: %g, before %g", t->name, stages,
			              s->alone, was);
			was = s->alone * (stages == 2 ? 0.95 : 1.02);
		}
	}
}

/* The same product in a type that the tensor cores do faster, and on a target that has more of them. */
TEST(faster_products)
{
	const LayoutSolution *f16 = best(product("f16", 64, 3), "sm_89"),
		       *f8 = best(product("e4m3", 64, 3), "sm_89");
	const LayoutSolution *f64 = best("kernel p(A: f64[M, K], B: f64[N, K], C: out f64[M, N])\n"
	                      "    assume K % 16 == 0\n{\n    grid(ceil(M, 64), ceil(N, 64));\n"
	                      "    let m = block.x * 64, n = block.y * 64;\n"
	                      "    var acc: register f64[64, 64] = 0;\n"
	                      "    pipeline k in 0..K step 16 stages 3 {\n"
	                      "        let a: shared = A[m :+ 64, k :+ 16], b: shared = B[n :+ 64, k :+ "
	                      "16];\n"
	                      "        acc += dot(a, b.T);\n    }\n    C[m :+ 64, n :+ 64] = acc;\n}\n",
	                      "sm_80");

	ck_assert(f8->cycles < f16->cycles);
	ck_assert(fabs(f8->total.unit[R_mma] * 2 - f16->total.unit[R_mma]) < 1);
	ck_assert(f64->total.unit[R_mma] > best(product("f16", 64, 3), "sm_80")->total.unit[R_mma] / 4 * 15);
	ck_assert(best(product("f16", 64, 3), "sm_90a")->total.unit[R_mma] <
	          best(product("f16", 64, 3), "sm_80")->total.unit[R_mma]);
}

/* A row that four warps read, each for a row of its own: sectors are asked for four times, which the
 * load-store unit sees, but come from L2 once, since the first-level cache has them then.  It gives 128
 * bytes a clock, as shared memory does: to keep the row there costs its copy and a barrier more, and to
 * spread each row over all warps, so that nothing is asked for twice, costs the reductions' barriers; the
 * registers that it takes, 32 a lane, leave fewer blocks on an SM, which is worth as much.  So
 * layer_norm reads gamma and beta again in each warp; 18432 sectors in test/quality-*.tsv, where 9216 would
 * do. */
TEST(rereading)
{
	static const char norm[] =
		"kernel p(X: f32[M, N], G: f32[N], Y: out f32[M, N])\n    const WARPS = %d\n"
		"    assume N <= 1024, N %% 4 == 0\n{\n    grid(ceil(M, 4));\n    let m = block.x * 4;\n"
		"    let g: %s = G[0 :+ 1024];\n    let x: register = X[m :+ 4, 0 :+ 1024];\n"
		"    Y[m :+ 4, 0 :+ 1024] = x * rsqrt(mean(x * x, 1)) * g;\n}\n";

	for (const Target *t = target_find("sm_75"); t->name; t++) {
		const Candidates *c =
			infer_solved(&arena, arena_printf(&arena, norm, 4, "register"), t->name, 0);
		const Kernel *k = c->k;
		const LayoutSolution *here = c->sol[0], *there;
		const Op *g = NULL, *x = NULL;
		OpWalk w;

		for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
			if (o->code == O_load)
				*(o->in[0]->type.rank == 1 ? &g : &x) = o;
		ck_assert(g && x);
		/* as many instructions of each warp for g as for x: one row */
		ck_assert(fabs(here->res[g->id].unit[R_smem] - here->res[x->id].unit[R_smem]) < 1e-9);
		/* 128 sectors of 32 bytes from L2, once for all four warps */
		ck_assert(fabs(here->res[g->id].unit[R_gmem] * l2_bytes(rates_of(t)) - 4096) < 1e-6);
		there = best(arena_printf(&arena, norm, 4, "shared"), t->name);
		ck_assert(here->alone < there->alone);
		ck_assert(here->cycles < there->cycles * 1.01);
	}
}

/* A load of 16 bytes along k has a row's words of two instances next to each other: B of the instruction, but
 * a half of A.  So where narrow weights, which are computed with, order k, the other operand is best B. */
TEST(moves_into_groups)
{
	const Candidates *c = infer_solved(
		&arena,
		"kernel p(A: f16[M, K], W: u4[N, K], C: out f32[M, N])\n    const WARPS = 4\n"
		"    assume K % 64 == 0\n{\n    grid(ceil(M, 16), ceil(N, 128));\n"
		"    let m = block.x * 16, n = block.y * 128;\n    var acc: register f32[16, 128] = 0;\n"
		"    pipeline k in 0..K step 64 stages 3 {\n"
		"        let a: shared = A[m :+ 16, k :+ 64], w: shared = W[n :+ 128, k :+ 64];\n"
		"        acc += dot(a, f16(w.T));\n    }\n    C[m :+ 16, n :+ 128] = acc;\n}\n",
		"sm_80", 0);
	double word = alu_clocks(rates_of(c->k->unit->target), D_i32);
	bool seen[2] = { false, false };

	ck_assert_ptr_nonnull(strstr(c->sol[0]->what, "swapped"));
	for (int i = 0; i < c->n; i++) {
		const DotChoice *d = c->sol[i]->plan.dot[0];
		double alu = c->sol[i]->res[c->solve->dot[0]->id].unit[R_alu];

		if (!d->run && d->swap) /* ldmatrix fills either: the product itself will do */
			ck_abort_msg("%s", c->sol[i]->what);
		seen[d->swap] |= d->run > 0;
		/* 4 words of A for each instance, of m16n8k16 */
		ck_assert_msg(fabs(alu - (d->run && !d->swap ? 4 * (128 / 8) * (64 / 16) * word : 0)) < 1e-9,
		              "%s: %g", c->sol[i]->what, alu);
	}
	ck_assert(seen[0] && seen[1]);
}

/* Every way of doing a product that has the same instructions but more wavefronts costs more. */
TEST(more_costs_more)
{
	Res a = { .unit = { 10, 20, 30, 5, 1, 8 }, .latency = 7, .wait = 100 };
	double was = res_cycles(&a);

	for (int i = 0; i < RES_UNITS; i++) {
		Res b = a;

		b.unit[i] += 1;
		ck_assert(res_cycles(&b) > was && res_busy(&b) > res_busy(&a));
	}
	a.latency += 1;
	ck_assert(res_cycles(&a) > was);
}

/* A tile read across its rows: without a swizzle its accesses conflict, and the cost says so. */
TEST(conflicts_cost)
{
	static const int64_t shape[2] = { 64, 64 };
	static const int order[2] = { 1, 0 };
	Kernel *k = infer_solved(&arena, product("f16", 64, 3), "sm_80", 0)->k;
	Solve s = { .k = k, .arena = &arena, .rates = rates_of(k->unit->target) };
	Layout rows, frag, plain, *scratch;
	Type t = type_tile(D_f32, S_reg, 2, shape);
	SmemAccess a[2];
	int64_t waves[2], least[2], conflicting;

	ck_assert(coalesced_layout(&rows, 2, shape, order, 4, k->warps, false));
	layout_permute(&frag, &rows, (const int[]){ 1, 0 });
	Lowering p = { .kind = LW_shared };
	stage_find(&s, &t, &rows, &frag, true, &p.staged, waves);
	scratch = NEW(&arena, Layout);
	*scratch = *p.staged.tile;
	for (int i = 0; i < 2; i++)
		a[i] = (SmemAccess){ .map = i ? &frag : &rows, .rank = 2, .dim_of = { 0, 1 },
		        .vec = i ? p.staged.read.vec : p.staged.write.vec,
			         .bits = 32, .lanes = 32, .weight = 1, .write = !i };
	for (int i = 0; i < 2; i++) {
		access_waves(&arena, &a[i], scratch, k->warps, &waves[i], &least[i]);
		ck_assert_int_eq(waves[i], least[i]);
	}
	layout_rows(&plain, 2, shape, 1, shape[1]);
	a[1].vec = 1;
	access_waves(&arena, &a[1], &plain, k->warps, &conflicting, &least[1]);
	ck_assert_int_gt(conflicting, least[1]);
	Res clean = { 0 }, dirty = { 0 };
	int64_t bad[2] = { waves[0], conflicting };
	cost_conversion(&s, &p, 0, 0, waves, 64, &clean);
	cost_conversion(&s, &p, 0, 0, bad, 64, &dirty);
	ck_assert(res_cycles(&dirty) > res_cycles(&clean));
}

/* ---- roles ----------------------------------------------------------------------------------- */

static bool
near(double x, double y)
{
	return fabs(x - y) < 1e-6 * fabs(y);
}

/* A product of 128 x 128 tiles in f16, k by 64, with 8 warps that compute; C with its own number of rows. */
static const Candidates *
in_roles(int stages, int bk)
{
	return infer_solved(
		&arena,
		arena_printf(&arena,
	                     "kernel p(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	                     "    const S = %d, BK = %d\n    assume K %% 8 == 0\n{\n"
	                     "    grid(ceil(M, 128), ceil(N, 128));\n"
	                     "    let m = block.x * 128, n = block.y * 128;\n"
	                     "    let a: shared f16[S, 128, BK], b: shared f16[S, 128, BK];\n"
	                     "    let full: mbarrier[S] = 1, empty: mbarrier[S] = 1;\n"
	                     "    roles {\n        producer warps 4 registers 40 {\n"
	                     "            for k in 0..K step BK {\n"
	                     "                let turn = k / BK, s = turn %% S;\n"
	                     "                await empty[s], turn / S + 1;\n"
	                     "                async copy(A[m :+ 128, k :+ BK], a[s], full[s]);\n"
	                     "                async copy(B[n :+ 128, k :+ BK], b[s], full[s]);\n"
	                     "                arrive full[s];\n            }\n        }\n"
	                     "        consumer warps 8 registers 232 {\n"
	                     "            var acc: register f32[128, 128] = 0;\n"
	                     "            for k in 0..K step BK {\n"
	                     "                let turn = k / BK, s = turn %% S;\n"
	                     "                await full[s], turn / S;\n"
	                     "                acc += async dot(a[s], b[s].T);\n"
	                     "                wait dots 0;\n                arrive empty[s];\n            }\n"
	                     "            C[m :+ 128, n :+ 128] = acc;\n        }\n    }\n}\n",
	                     stages, bk),
		"sm_90a", 0);
}

static const Op *
first_op(const Kernel *k, OpCode code, Role role)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == code && op_role(o) == role)
			return o;
	ck_abort_msg("no %s", op_info[code].name);
}

/* H100: 2048 products a clock of f16, 128 bytes a clock of shared memory.  A stage is of two tiles of 128 x
 * 64 elements.  Two warpgroups of 64 rows make 4 steps of k with n = 128 each: 64 clocks a step, in which
 * they read 64 rows and 128 columns of 32 bytes, 48 clocks. */
TEST(roles_by_hand)
{
	const Candidates *c = in_roles(4, 64);
	const LayoutSolution *s = c->sol[0];
	const Op *dot = first_op(c->k, O_wgmma, ROLE_CONSUMER), *copy = first_op(c->k, O_copy, ROLE_PRODUCER);
	const Op *full = first_op(c->k, O_mbarrier_wait, ROLE_CONSUMER);
	const Op *empty = first_op(c->k, O_mbarrier_wait, ROLE_PRODUCER);
	const Rates *r = rates_of(c->k->unit->target);
	double tile = 128 * 64 * 2, l2 = 5120.0 / 132, turns;
	Res fill;

	c->solve->sol = c->sol[0];
	ck_assert_int_eq(s->plan.dot[0]->n, 128);
	ck_assert(near(s->res[dot->id].unit[R_mma], 2 * 4 * 64));
	ck_assert(near(s->res[dot->id].unit[R_smem], 2 * 4 * 48));
	ck_assert(near(s->res[dot->id].unit[R_issue], 2 * 4 * 4 / 4.0)); /* 4 warps of each, 4 a clock */
	ck_assert(near(s->res[copy->id].unit[R_smem], tile / 128));
	ck_assert(near(s->res[copy->id].unit[R_gmem], tile / l2));
	ck_assert(near(s->res[copy->id].unit[R_issue], 3 / 4.0)); /* one thread, three instructions */
	/* both copies, for each wait; nothing is copied for those who wait for room */
	fill = fill_of(c->solve, full);
	ck_assert(near(fill.unit[R_smem], 2 * tile / 128) && near(fill.unit[R_gmem], 2 * tile / l2));
	ck_assert(fill.unit[R_issue] <= 0 && fill.unit[R_mma] <= 0);
	fill = fill_of(c->solve, empty);
	ck_assert(fill.unit[R_smem] <= 0 && fill.unit[R_gmem] <= 0);
	ck_assert(near(fill_wait(c->solve, full), r->dram_wait + BOX_CLOCKS));
	ck_assert(fill_wait(c->solve, empty) <= 0);
	/* 32 turns of 16 KB for each factor: 845 clocks of L2, which is the busiest; products 512, shared
	 * memory 256 + 384, a wait and an arrival of 8 warps issue 2 * 16 * 8 / 4, of which a tenth is in its
	 * way.  Then C, which nobody else touches, goes to DRAM; what does not overlap is short beside it */
	ck_assert(near(s->total.unit[R_mma], 32 * 512));
	turns = 32 * (2 * tile / l2 * 1.1 + 0.1 * (512 + 640 + 64)) + 128 * 128 * 4 / dram_bytes(r);
	ck_assert_msg(s->alone > turns && s->alone < 1.2 * turns, "%g, not %g", s->alone, turns);
	/* the launch takes all registers of the SM */
	ck_assert_int_eq(s->blocks, 1);
	ck_assert_int_eq(s->lane, c->k->launch_registers);
}

/* One stage on its way while one is used: a turn takes no less than the way.  A deeper ring shares it out,
 * until other things take longer. */
TEST(rings_hide_the_way)
{
	double way = rates_of(target_find("sm_90a"))->dram_wait + BOX_CLOCKS, was = HUGE_VAL, turn[5];

	for (int stages = 2; stages <= 4; stages++) {
		const Candidates *c = in_roles(stages, 16);

		turn[stages] = c->sol[0]->alone / 32;
		ck_assert(turn[stages] > way / (stages - 1));
		ck_assert(turn[stages] < was);
		was = turn[stages];
	}
	/* of 649 clocks 325, then 216, and what fetching the tile takes, 4096 bytes each, 211 */
	ck_assert(fabs(turn[2] - turn[3] - way / 2) < 1);
}

TEST_PROGRAM(ARENA_FIXTURE);
