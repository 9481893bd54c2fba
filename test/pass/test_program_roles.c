/* test_program_roles.c - tests passes allocate_smem and insert_barriers on warp roles: which tiles may
 * share memory, and which writes the async proxy sees. In C: the interpreter watches accesses only there. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <string.h>

/* Two products into one slab, stored by the copy engine; sums of rows meet in scratch or by shuffles. */
static const char slabs[] =
	"kernel slabs(A: f16[M, K], B: f16[N, K], C: out f32[M, N], D: out f32[M, N])\n"
	"    assume K % 8 == 0\n"
	"    const BM = 32, BN = 32, BK = 16, STAGES = 2\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared f16[STAGES, BM, BK], b: shared f16[STAGES, BN, BK];\n"
	"    let full: mbarrier[STAGES] = 1, empty: mbarrier[STAGES] = TEAMS;\n"
	"    roles {\n"
	"        producer warps 1 {\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await empty[s], turn / STAGES + 1;\n"
	"                async copy(A[m :+ BM, k :+ BK], a[s], full[s]);\n"
	"                async copy(B[n :+ BN, k :+ BK], b[s], full[s]);\n"
	"                arrive full[s];\n"
	"            }\n"
	"        }\n"
	"        consumer warps 4 teams TEAMS {\n"
	"            var acc: register f32[BM / TEAMS, BN] = 0;\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await full[s], turn / STAGES;\n"
	"                acc += async dot(a[s, team * (BM / TEAMS) :+ BM / TEAMS, :], b[s].T);\n"
	"                wait dots 0;\n"
	"                arrive empty[s];\n"
	"            }\n"
	"            let c: shared f32[BM / TEAMS, BN];\n"
	"            c[:, :] = acc;\n"
	"            async store(c, C[m + team * (BM / TEAMS) :+ BM / TEAMS, n :+ BN]);\n"
	"            wait stores 0;\n"
	"            c[:, :] = acc * 2;\n"
	"            async store(c, D[m + team * (BM / TEAMS) :+ BM / TEAMS, n :+ BN]);\n"
	"            wait stores 0;\n"
	"        }\n"
	"    }\n"
	"}\n";

/* The text with TEAMS a number. */
static const char *
with_teams(int teams)
{
	const char *at = strstr(slabs, "\n{");

	return arena_printf(u->arena, "%.*s, TEAMS = %d%s", (int)(at - slabs), slabs, teams, at);
}

static Kernel *
until_sync(Unit *own, const char *src)
{
	Kernel *k = run_source(own, src, "");

	own->target = target_find("sm_90a");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "cleanup", pass_cleanup);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	return k;
}

static InterpCode
watched(Kernel *k, Run *r)
{
	const InterpOpt races = { .workers.threads = 1, .races = true };

	run_setup(r, k, "M=40 N=56 K=72", 1);
	return interp_run(k, r->arg, k->nparam, &races);
}

static const int teams[] = { 1, 2 };

TEST_EACH(all_is_in_order, COUNT_OF(teams))
{
	Kernel *k = until_sync(u, with_teams(teams[_i]));
	Run r;

	ck_assert_msg(watched(k, &r) == INTERP_OK, "%s\n%.3000s", ir_diags(u), ir_text(u, k));
	for (int64_t i = 0; i < 40; i++)
		for (int64_t j = 0; j < 56; j++)
			ck_assert(run_get(&r, "D", i * 56 + j) == 2 * run_get(&r, "C", i * 56 + j));
	ck_assert(!pass_insert_barriers(k));
}

/* One store is shown to the copy engine, the other too; between the first copy and the second store threads
 * meet. */
TEST(proxies_and_barriers)
{
	Kernel *k = until_sync(u, with_teams(1));

	ck_assert_int_eq(ir_count(k, O_fence_proxy_async), 2);
	ck_assert_int_eq(ir_count(k, O_barrier), 3);
}

/* What is taken out, one by one: the watcher sees it. */
static const OpCode needed[] = { O_barrier, O_fence_proxy_async, O_mbarrier_wait, O_wgmma_wait };

TEST_EACH(all_are_needed, COUNT_OF(needed))
{
	for (int n = 0;; n++) {
		Unit *own = ir_unit();
		Kernel *k = until_sync(own, with_teams(1));
		Op *o = pass_find(k, needed[_i], n);
		Run r;

		ck_assert(n || o);
		if (o) {
			op_unlink(o);
			ck_assert_msg(watched(k, &r) == INTERP_E_FAULT, "%s %d can go\n%.3000s",
			              op_info[needed[_i]].name, n, ir_text(own, k));
		}
		ir_unit_free(own);
		if (!o)
			break;
	}
}

/* The arrival in front of the wait for the product that reads the stage. */
TEST(a_stage_left_too_early)
{
	Kernel *k = until_sync(u, with_teams(1));
	Op *wait = pass_find(k, O_wgmma_wait, 0), *arrive = pass_find(k, O_mbarrier_arrive, 1);
	Run r;

	op_move_before(arrive, wait);
	ck_assert_int_eq(watched(k, &r), INTERP_E_FAULT);
	ck_assert_msg(strstr(ir_diags(u), "wgmma") || strstr(ir_diags(u), "copy"), "%s", ir_diags(u));
}

static int64_t
end_of(const Op *o)
{
	const Type *t = &o->out[0]->type;

	return IMM(o, offset) + type_size(t) * dtype_info[t->dtype].bits / 8;
}

/* Rings, barriers and the slab lie apart, whatever the order of text says of when they live. */
TEST(what_roles_have_lies_apart)
{
	Kernel *k = until_sync(u, with_teams(1));
	const Op *at[5] = { pass_find(k, O_alloc, 0), pass_find(k, O_alloc, 1), pass_find(k, O_alloc, 2),
		            pass_find(k, O_mbarrier, 0), pass_find(k, O_mbarrier, 1) };

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < i; j++)
			ck_assert_msg(end_of(at[i]) <= IMM(at[j], offset) ||
			                      end_of(at[j]) <= IMM(at[i], offset),
			              "%d and %d", i, j);
	ck_assert_int_eq(k->team_smem, 0);
}

/* Slabs of both behind what all have, and as far apart as a slab is long. */
TEST(each_team_has_its_own)
{
	Kernel *k = until_sync(u, with_teams(2));
	const Op *slab = pass_find(k, O_alloc, 2);

	ck_assert_int_eq(k->team_smem, 16 * 32 * 4);
	ck_assert_int_eq(IMM(slab, offset) % 1024, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_le(end_of(pass_find(k, O_alloc, i)), IMM(slab, offset));
		ck_assert_int_le(end_of(pass_find(k, O_mbarrier, i)), IMM(slab, offset));
	}
	ck_assert_int_eq(k->smem, IMM(slab, offset) + 2 * k->team_smem);
}

TEST_PROGRAM(UNIT_FIXTURE);
