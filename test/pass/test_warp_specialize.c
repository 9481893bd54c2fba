/* test_warp_specialize.c - tests pass warp_specialize: the same bits as the program, and the reason where
 * it does not apply. In C: the interpreter watches accesses only there. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <string.h>

static Kernel *
bounded(Kernel *k)
{
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	return k;
}

/* Each role's numbers are its own: what it reads from in front is memory, a barrier, a constant or a
 * parameter. */
static void
each_its_own(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	OpWalk w;

	for (Op *o = roles ? walk_first(&w, k->body) : NULL; o; o = walk_next(&w))
		for (int i = 0; i < o->nin && o->parent != k->body; i++) {
			const Val *v = o->in[i];

			ck_assert_msg(!v->def || v->def->parent != k->body || v->def->code == O_const ||
			                      v->type.space != S_scalar,
			              "%s reads %s of both\n%.4000s",
			              op_info[o->code].name, op_info[v->def->code].name, ir_text(u, k));
		}
}

static Kernel *
parted(Kernel *k, Schedule schedule)
{
	u->target = target_find("sm_90a");
	k->warps = 4;
	k->schedule = schedule;
	pass_apply(k, "warp_specialize", pass_warp_specialize);
	pass_apply(k, "pipeline", pass_pipeline);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	pass_apply(k, "remat_uniforms", pass_remat_uniforms);
	each_its_own(k);
	return k;
}

/* Runs it and what the program says, for these sizes. */
static void
same(Kernel *k, Kernel *plain, const char *sizes, const char *what)
{
	Run a, b;

	run_setup(&a, plain, sizes, 1);
	run_ok(&a, NULL);
	for (int blocks = 0; blocks <= 3; blocks++) { /* as many as the grid has, or so few */
		InterpOpt races = { .races = true, .workers.threads = 1, .blocks = blocks };

		run_setup(&b, k, sizes, 1);
		ck_assert_msg(interp_run(k, b.arg, k->nparam, &races) == INTERP_OK,
		              "%s %s, %d blocks: %s\n%.4000s", what, sizes, blocks, ir_diags(u),
		              ir_text(u, k));
		run_same(&a, &b, what);
	}
}

/* Which of the programs have loops that fetch all that they read, from tensors that they do not write. */
static bool
can_be_parted(const char *name, Schedule schedule)
{
	static const char *const names[] = { "gemm", "w4a16", "sequence", "attention", "nested" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (!strcmp(name, names[i]))
			return schedule == SCHEDULE_WARP_SPECIALIZED || strcmp(name, "nested") != 0;
	return false;
}

TEST_EACH(programs, 2 * 5 * pass_program_count())
{
	const Program *p = &pass_program[_i / 10];
	int stages = 1 + _i % 5;
	Schedule schedule = _i / 5 % 2 ? SCHEDULE_TEAMS : SCHEDULE_WARP_SPECIALIZED;
	Kernel *plain = bounded(pass_source(u, p, stages));
	Kernel *k = parted(bounded(pass_source(u, p, stages)), schedule);

	ck_assert_msg((kernel_roles(k) != NULL) == (stages > 1 && can_be_parted(p->name, schedule)),
	              "%s, %d stages: %s", p->name, stages, k->unscheduled ? k->unscheduled : "parted");
	ck_assert((kernel_roles(k) != NULL) == !k->unscheduled);
	for (int s = 0; s < PASS_SIZES && p->sizes[s]; s++)
		same(k, plain, p->sizes[s], p->name);
}

/* Loops around, branches between, ends and places that depend on what the launch says, or a table. */
static const char steered[] =
	"kernel s(A: f16[L, M, K], T: i32[L], C: out f32[L, M, 1])\n"
	"    tune STAGES = 2..5, REVERSED = 0|1\n"
	"{\n"
	"    grid(ceil(M, 16));\n"
	"    let m = block.x * 16;\n"
	"    var from = 0;\n"
	"    for l in 0..L {\n"
	"        var x: register f32[16, 1] = 0;\n"
	"        if l % 3 != 1 {\n"
	"            for turn in 0..2 {\n"
	"                pipeline k in from..K step 16 stages STAGES {\n"
	"                    let a: shared = A[(i64(T[l]) & 7) % L, m :+ 16, k :+ 16];\n"
	"                    x += sum(f32(a), 1) * f32(k + 1);\n"
	"                }\n"
	"            }\n"
	"        } else {\n"
	"            x = x + 1;\n"
	"        }\n"
	"        from = (from + 16) % 48;\n"
	"        C[l, m :+ 16, :] = x;\n"
	"    }\n"
	"}\n";

TEST_RANGE(steered_loops, 2, 6)
{
	const char *defines = arena_printf(u->arena, "STAGES=%d REVERSED=0", _i);
	Kernel *plain = bounded(run_source(u, steered, defines));
	Kernel *k = parted(bounded(run_source(u, steered, defines)), SCHEDULE_WARP_SPECIALIZED);

	ck_assert_msg(kernel_roles(k) != NULL, "%s", k->unscheduled);
	same(k, plain, "L=7 M=20 K=100", "steered");
	same(k, plain, "L=1 M=16 K=16", "steered");
	same(k, plain, "L=5 M=33 K=0", "steered");
}

/* Rows by tiles of indices: computed in front of a loop, or in each turn from what it loads. */
static const char gathered[] =
	"kernel g(A: f16[M, K], T: i32[L], C: out f32[N, 1])\n"
	"    tune STAGES = 2..4\n"
	"{\n"
	"    grid(ceil(N, 16));\n"
	"    let at = iota(0, 16) + i32(block.x);\n"
	"    var x: register f32[16, 1] = 0;\n"
	"    pipeline k in 0..K step 16 stages STAGES {\n"
	"        let a: shared = A[at * 2 - 1, k :+ 16];\n"
	"        x += sum(f32(a), 1) * f32(k + 1);\n"
	"    }\n"
	"    pipeline l in 0..L step 16 stages STAGES {\n"
	"        let row: register = T[l :+ 16];\n"
	"        let b: shared = A[row, 0 :+ 16], c: shared = A[max(row, at) - 2, 16 :+ 16];\n"
	"        x += sum(f32(b) + f32(c), 1);\n"
	"    }\n"
	"    C[block.x * 16 :+ 16, :] = x;\n"
	"}\n";

TEST_RANGE(gathered_rows, 0, 6)
{
	const char *defines = arena_printf(u->arena, "STAGES=%d", 2 + _i / 2);
	Schedule schedule = _i % 2 ? SCHEDULE_TEAMS : SCHEDULE_WARP_SPECIALIZED;
	Kernel *plain = bounded(run_source(u, gathered, defines));
	Kernel *k = parted(bounded(run_source(u, gathered, defines)), schedule);

	ck_assert_msg(kernel_roles(k) != NULL, "%s", k->unscheduled);
	same(k, plain, "M=20 K=100 L=48 N=33", "gathered");
	same(k, plain, "M=1 K=16 L=7 N=16", "gathered");
	same(k, plain, "M=7 K=0 L=0 N=5", "gathered");
}

/* Versions of what is fetched: copies and their arrival once more. */
TEST(fetched_versions)
{
	static const char src[] = "kernel v(A: f16[M, K], C: out f32[M, 1])\n{\n    grid(ceil(M, 32));\n"
				  "    var x: register f32[32, 1] = 0;\n"
				  "    pipeline k in 0..K step 32 stages 2 {\n"
				  "        let a: shared = A[block.x * 32 :+ 32, k :+ 32];\n"
				  "        x += sum(f32(a), 1);\n    }\n"
				  "    C[block.x * 32 :+ 32, :] = x;\n}\n";
	Kernel *plain = bounded(run_source(u, src, ""));
	Kernel *k = parted(bounded(run_source(u, src, "")), SCHEDULE_WARP_SPECIALIZED);
	int arrivals = 0;
	OpWalk w;

	pass_apply(k, "version_accesses", pass_version_accesses);
	for (Op *o = walk_first(&w, kernel_roles(k)->blk[0]); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive) {
			ck_assert(o->parent->owner->code == O_if && IMM(o->parent->owner, versions));
			ck_assert_ptr_nonnull(arrival_copy(o, o));
			arrivals++;
		}
	ck_assert_int_eq(arrivals, 2);
	same(k, plain, "M=70 K=100", "versions");
	same(k, plain, "M=33 K=7", "versions");
	same(k, plain, "M=40 K=128", "versions");
}

/* What a consumer reads is told to be free behind its last reader, and nothing of the ring is read there. */
TEST(release_behind_readers)
{
	Kernel *k = parted(bounded(pass_source(u, &pass_program[0], 3)), SCHEDULE_WARP_SPECIALIZED);
	const Op *free = NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive && op_role(o) == ROLE_CONSUMER)
			free = o;
	ck_assert_ptr_nonnull(free);
	ck_assert_int_eq(IMM(free, sinkable), 1);
	ck_assert(free->prev->code == O_dot || free->prev->code == O_add);
	for (const Op *o = free; o; o = o->next)
		for (int i = 0; i < o->nin; i++)
			ck_assert(o == free || o->in[i]->type.space != S_shared);
}

/* Why a program stays as it is. */
static const struct {
	const char *what, *src, *why;
} refused[] = {
	{ "a table of rows that is written",
	  "kernel r(A: f16[M, 64], I: inout i32[N], C: out f32[16, 1])\n{\n    grid(1);\n"
	  "    var x: register f32[16, 1] = 0;\n"
	  "    pipeline n in 0..N step 16 stages 3 {\n"
	  "        let rows = I[n :+ 16];\n        I[n :+ 16] = rows + 1;\n"
	  "        let a: shared = A[rows, 0 :+ 64];\n"
	  "        x += sum(f32(a), 1);\n    }\n    C[:, :] = x;\n}\n",
	  "a copy's address depends on the loop's computation" },
	{ "what is computed",
	  "kernel r(A: f16[M, 64], C: out f32[16, 1])\n{\n    grid(1);\n"
	  "    var x: register f32[16, 1] = 0;\n    var at = 0;\n"
	  "    pipeline n in 0..M step 16 stages 3 {\n"
	  "        let a: shared = A[at :+ 16, 0 :+ 64];\n"
	  "        x += sum(f32(a), 1);\n        at = at + 16;\n    }\n    C[:, :] = x;\n}\n",
	  "a copy's address depends on the loop's computation" },
	{ "what is written",
	  "kernel r(A: inout f32[M, 64])\n{\n    grid(1);\n"
	  "    pipeline n in 0..M step 16 stages 3 {\n"
	  "        let a: shared = A[n :+ 16, :];\n"
	  "        A[n :+ 16, :] = a + 1;\n    }\n}\n",
	  "" },
};

TEST_EACH(refusals, COUNT_OF(refused))
{
	Kernel *k = parted(bounded(run_source(u, refused[_i].src, "")), SCHEDULE_WARP_SPECIALIZED);

	ck_assert_msg(!kernel_roles(k), "%s", refused[_i].what);
	ck_assert_msg(strstr(k->unscheduled, refused[_i].why) != NULL, "%s: %s", refused[_i].what,
	              k->unscheduled);
}

TEST_PROGRAM(UNIT_FIXTURE);
