/* test_insert_barriers.c - tests pass insert_barriers: every missing barrier is inserted, and no redundant
 * one. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <stdlib.h>
#include <string.h>

static Kernel *
until_sync(const char *src, const char *defines, bool place)
{
	Kernel *k = run_source(u, src, defines);

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pipeline", pass_pipeline);
	if (place)
		pass_apply(k, "allocate_smem", pass_allocate_smem);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	return k;
}

/* ---- every barrier is needed ----------------------------------------------------------------- */

/* Does the kernel fail for some launch, when accesses are watched? */
static bool
fails(const Program *p, Kernel *k)
{
	InterpOpt races = { .workers.threads = 1, .races = true };
	Run r;

	for (int s = 0; s < PASS_SIZES; s++) {
		run_setup(&r, k, p->sizes[s], 1);
		if (interp_run(k, r.arg, k->nparam, &races) == INTERP_E_FAULT)
			return true;
	}
	return false;
}

/* Take them out one by one: the watcher must see it. */
TEST_EACH(every_barrier_is_needed, pass_program_count() * 3)
{
	const Program *p = &pass_program[_i / 3];
	int stages = _i % 3 + 1;
	Op *o;

	for (int n = 0;; n++) {
		Unit *own = ir_unit();
		Kernel *k = pass_source(own, p, stages);

		pass_apply(k, "mask_bounds", pass_mask_bounds);
		pass_apply(k, "pipeline", pass_pipeline);
		pass_apply(k, "allocate_smem", pass_allocate_smem);
		pass_apply(k, "insert_barriers", pass_insert_barriers);
		o = pass_find(k, O_barrier, n);
		if (o) {
			op_unlink(o);
			ck_assert_msg(fails(p, k), "%s with %d stages: barrier %d can "
			"go\n%.3000s", p->name,
			              stages, n, ir_text(own, k));
		}
		ir_unit_free(own);
		if (!o)
			break;
	}
}

/* ---- counts ---------------------------------------------------------------------------------- */

static const struct {
	const char *body;
	int barriers;
} counted[] = {
	/* write, read */
	{ "let b: shared = A[0 :+ 8];\n Y[0 :+ 8] = b + 1;\n", 1 },
	/* two writes, two reads: one barrier */
	{ "let b: shared = A[0 :+ 8];\n let c: shared = A[8 :+ 8];\n Y[0 :+ 8] = b + c;\n", 1 },
	/* updates of one kind need none among them, of another kind they do; nor does a thread know its
	 * own */
	{ "let b: shared f32[8] = 0;\n let i = iota(0, 8);\n atomic_add(b[i], 1);\n"
	  " atomic_add(b[7 - i], 2);\n"
	  " Y[0 :+ 8] = b;\n",
	  2 },
	{ "let b: shared f32[8] = 0;\n let i = iota(0, 8);\n atomic_add(b[i], 1);\n "
	  "atomic_max(b[i], 2);\n"
	  " Y[0 :+ 8] = b;\n",
	  3 },
	/* parts of a tile: one of 8 bits updates words */
	{ "let b: shared i32[16] = 0;\n atomic_add(b[0 :+ 7], 1);\n b[7 :+ 9] = i32(A[0 :+ 9]);\n"
	  " Y[0 :+ 16] = f32(b[0 :+ 16]);\n",
	  2 },
	{ "let b: shared i8[16] = 0;\n atomic_add(b[0 :+ 7], 1);\n b[7 :+ 9] = i8(A[0 :+ 9]);\n"
	  " Y[0 :+ 16] = f32(b[0 :+ 16]);\n",
	  3 },
	/* the program's own is enough */
	{ "let b: shared = A[0 :+ 8];\n barrier;\n Y[0 :+ 8] = b + 1;\n", 1 },
	/* nothing is read */
	{ "let b: shared f32[8];\n b[:] = A[0 :+ 8];\n", 0 },
	/* read, write again, read */
	{ "let b: shared f32[8];\n b[:] = A[0 :+ 8];\n let x = b + 1;\n b[:] = x;\n"
	  " Y[0 :+ 8] = b + 1;\n",
	  3 },
	/* other parts of a tile do not meet */
	{ "let b: shared f32[2, 8];\n b[0, :] = A[0 :+ 8];\n barrier;\n let x = b[0, :] + 1;\n"
	  " b[1, :] = x;\n barrier;\n Y[0 :+ 8] = b[1, :] * 2;\n b[0, :] = x;\n",
	  2 },
	/* parts of different sizes that meet, whichever begins first */
	{ "let b: shared f32[16];\n b[0 :+ 16] = A[0 :+ 16];\n Y[0 :+ 8] = b[8 :+ 8] * 2;\n", 1 },
	{ "let b: shared f32[16];\n b[8 :+ 8] = A[0 :+ 8];\n Y[0 :+ 16] = b[0 :+ 16] * 2;\n", 1 },
	/* in a loop: behind the write, and in front of the next one */
	{ "let b: shared f32[8];\n for i in 0..N { b[:] = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b + "
	  "1; }\n", 2 },
	/* written in front of the loop, read in it: one, in front */
	{ "let b: shared = A[0 :+ 8];\n for i in 0..N { Y[i * 8 :+ 8] = b + 1; }\n", 1 },
	/* the same thread writes over its own element */
	{ "let b: shared f32[8];\n for i in 0..N { b[:] = A[i * 8 :+ 8]; }\n", 0 },
	/* .. but not over that of another one */
	{ "let b: shared f32[64];\n for i in 0..4 { b[i :+ 8] = A[i * 8 :+ 8]; }\n", 1 },
	/* parts that move with the counter: meeting in their iteration, or never */
	{ "let b: shared f32[128];\n for i in 0..4 { b[i * 16 :+ 8] = A[0 :+ 8];\n"
	  " Y[i * 8 :+ 8] = b[i * 16 + 4 :+ 8] * 2; }\n",
	  1 },
	{ "let b: shared f32[128];\n for i in 0..4 { b[i * 16 :+ 8] = A[0 :+ 8];\n"
	  " Y[i * 8 :+ 8] = b[i * 16 + 8 :+ 8] * 2; }\n",
	  0 },
	{ "let b: shared f32[128];\n for i in 0..4 { b[i * 16 :+ 8] = A[0 :+ 8];\n"
	  " Y[i * 8 :+ 8] = b[i * 16 + 16 :+ 8] * 2; }\n",
	  1 },
	/* a loop that runs once needs none against its next turn */
	{ "let b: shared f32[8];\n for i in 0..1 { b[:] = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b + "
	  "1; }\n", 1 },
	{ "let b: shared f32[8];\n for i in 0..2 { b[:] = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b + "
	  "1; }\n", 2 },
	/* two parts in turns: without a barrier in each, the one before the last meets this one; so does what
	 * was written in front */
	{ "let b: shared f32[2, 64];\n var s = 0;\n for i in 0..4 { s = 1 - s;\n"
	  " b[s, i :+ 8] = A[i * 8 :+ 8]; }\n",
	  1 },
	{ "let b: shared f32[2, 16];\n b[0, 0 :+ 8] = A[0 :+ 8];\n var s = 0;\n for i in 0..4 {\n"
	  " Y[i * 8 :+ 8] = b[1 - s, 1 :+ 8] * 2;\n s = 1 - s; }\n",
	  1 },
	/* a barrier in a loop that may not run at all, and in one that does */
	{ "let b: shared = A[0 :+ 8];\n for i in 0..N { barrier; }\n Y[0 :+ 8] = b + 1;\n", 2 },
	{ "let b: shared = A[0 :+ 8];\n for i in 0..4 { barrier; }\n Y[0 :+ 8] = b + 1;\n", 1 },
	/* each branch reads what was written in front: one barrier in front of both */
	{ "let b: shared = A[0 :+ 8];\n if N > 2 { Y[0 :+ 8] = b + 1; } else { Y[0 :+ 8] = b + "
	  "2; }\n", 1 },
	/* a branch writes over what was written: one in front of it, one behind */
	{ "let b: shared = A[0 :+ 8];\n var x: register f32[8] = 0;\n"
	  " if N > 2 { b[:] = A[8 :+ 8]; }\n Y[0 :+ 8] = b + 1;\n",
	  2 },
};

TEST_EACH(counts, COUNT_OF(counted))
{
	Kernel *k = until_sync(arena_printf(u->arena,
	                                    "kernel t(A: f32[N * 8], Y: out f32[N * 8])\n{\n "
	                                    "grid(1);\n%s}\n",
	                                    counted[_i].body),
	                       "", false);

	ck_assert_msg(ir_count(k, O_barrier) == counted[_i].barriers, "%d, not %d:\n%s",
	              ir_count(k, O_barrier), counted[_i].barriers, ir_text(u, k));
	ck_assert(!pass_insert_barriers(k));
}

/* Updates of one element by whose old value blocks may tell who came before: they order, with a
 * barrier in front and behind, what the kernel writes and reads of tensors, where there is such a
 * thing. */
static const struct {
	const char *body;
	int barriers, ordered; /* barriers -1: as many as it takes */
} signals[] = {
	/* the last one reads what the others have written */
	{ "Y[block.x * 8 :+ 8] = A[0 :+ 8];\n"
	  " if atomic_add(F[0], 1) == 3 { Z[0 :+ 8] = Y[8 :+ 8] + 1; }\n",
	  2, 1 },
	/* whoever comes waits, in front of the loop and in it, and tells the next one by another update */
	{ "while atomic_add(F[0], 0) < 3 { }\n Z[0 :+ 8] = Y[8 :+ 8] + 1;\n Y[0 :+ 8] = A[0 :+ 8];\n"
	  " atomic_add(F[0], 1);\n",
	  4, 3 },
	/* nothing is read that is written */
	{ "let at = atomic_add(F[0], 8);\n Y[i64(at) :+ 8] = A[0 :+ 8];\n", 1, 0 },
	/* nobody asks what was there (a barrier is between the read of Y and its write) */
	{ "Y[block.x * 8 :+ 8] += A[0 :+ 8];\n atomic_add(F[0], 1);\n", 1, 0 },
	/* nor of one element */
	{ "Y[block.x * 8 :+ 8] += A[0 :+ 8];\n G[0 :+ 8] = atomic_add(F[0 :+ 8], 1);\n", 2, 0 },
	/* a tensor that is updated only, read plainly by the last one */
	{ "G[block.x :+ 1] = atomic_add(H[block.x % 3 :+ 1], 1);\n"
	  " if atomic_add(F[0], 1) == 3 { for e in 0..8 { G[e] = H[e]; } }\n",
	  -1, 1 },
	/* .. also where what the updates found is dropped, where they are of many elements, or in a loop */
	{ "atomic_add(H[block.x % 3], 1);\n if atomic_add(F[0], 1) == 3 { G[0 :+ 8] = H[0 :+ "
	  "8]; }\n", -1, 1 },
	{ "atomic_max(H[0 :+ 8], 3);\n if atomic_add(F[0], 1) == 3 { G[0 :+ 8] = H[0 :+ 8]; "
	  "}\n", -1, 1 },
	{ "for i in 0..4 { atomic_add(H[i], 1); }\n while atomic_add(F[0], 0) < 1 { }\n "
	  "atomic_add(F[0], 1);\n"
	  " G[0 :+ 8] = H[0 :+ 8];\n",
	  -1, 3 },
	/* .. of the tensor that the signal is of, another element of it */
	{ "atomic_add(F[1], 2);\n if atomic_add(F[0], 1) == 3 { G[0] = F[1]; }\n", -1, 2 },
	{ "atomic_add(F[1], 2);\n if atomic_add(F[0], 1) == 3 { G[0] = atomic_add(F[1], 0); "
	  "}\n", -1, 3 },
	/* read by what updates find: where the signal says so, or behind it as the text stands */
	{ "atomic_add(H[0 :+ 8], 2);\n if atomic_add(F[0], 1) == 3 { G[0 :+ 8] = "
	  "atomic_add(H[0 :+ 8], 0); }\n", -1,
	  1 },
	{ "atomic_add(H[0 :+ 8], 2);\n G[0] = atomic_add(F[0], 1);\n G[0 :+ 8] = "
	  "atomic_add(H[0 :+ 8], 0);\n", -1,
	  1 },
	{ "Y[block.x * 8 :+ 8] = A[0 :+ 8];\n if atomic_add(F[0], 1) == 3 { atomic_add(Y[0 :+ "
	  "8], 1); }\n", -1, 1 },
	/* a flag for each block, the next one waits for it and goes on */
	{ "if block.x > 0 { while atomic_add(F[block.x - 1], 0) < 1 { } }\n atomic_add(H[0 :+ 8], 1);\n"
	  " G[0 :+ 8] = atomic_max(H[0 :+ 8], 0);\n atomic_add(F[block.x], 1);\n",
	  -1, 3 },
	/* what a block has read may be written over by the last one; what it has written too */
	{ "Z[0 :+ 8] = Y[block.x * 8 :+ 8];\n if atomic_add(F[0], 1) == 3 { Y[0 :+ 8] = A[0 :+ "
	  "8]; }\n", -1, 1 },
	{ "Z[0 :+ 8] = A[0 :+ 8];\n if atomic_add(F[0], 1) == 3 { Z[0 :+ 8] = A[8 :+ 8]; }\n", -1, 1 },
	/* nothing is handed on: all that is read and written is behind the signal, or in front of it */
	{ "let at = atomic_add(F[0], 1);\n Y[i64(at) * 8 :+ 8] = A[0 :+ 8];\n Z[0 :+ 8] = "
	  "Y[i64(at) * 8 :+ 8] * 2;\n",
	  -1, 0 },
	{ "Z[0 :+ 8] = Y[block.x * 8 :+ 8];\n Y[block.x * 8 :+ 8] = A[0 :+ 8];\n G[0] = "
	  "atomic_add(F[0], 1);\n", -1, 0 },
	/* .. places are taken, once and in a loop, of one counter or two */
	{ "for i in 0..4 { let at = atomic_add(F[i % 3], 1);\n G[i64(at) :+ 1] = 1; }\n", -1, 0 },
	{ "for i in 0..4 { let at = atomic_add(F[0], 1), b = atomic_add(H[i], 1);\n if at < 8 "
	  "{ G[i64(at) :+ 1] = b; }"
	  " }\n",
	  -1, 0 },
	{ "var go = 1;\n while go > 0 { let at = atomic_add(F[0], 1);\n"
	  " if at < 64 { Y[i64(at) * 8 :+ 8] = A[0 :+ 8]; }\n go = where(at < 64, 1, 0); }\n",
	  -1, 0 },
	/* .. behind an update that nobody looks at */
	{ "Y[block.x * 8 :+ 8] = A[0 :+ 8];\n atomic_add(F[0], 1);\n Z[0 :+ 8] = Y[8 :+ 8] * 2;\n"
	  " G[0] = atomic_add(F[0], 0);\n",
	  -1, 0 },
	/* .. all meet, and go on */
	{ "atomic_add(F[0], 1);\n while atomic_add(F[0], 0) < 4 { }\n Y[block.x * 8 :+ 8] = "
	  "A[0 :+ 8];\n", -1, 0 },
};

TEST_EACH(orders, COUNT_OF(signals))
{
	Kernel *k = until_sync(arena_printf(u->arena,
	                                    "kernel t(A: f32[N * 8], Y: inout f32[N * 8], Z: "
	                                    "out f32[8],\n"
	                                    " G: out i32[8], F: inout i32[8], H: inout "
	                                    "i32[8])\n{\n grid(4);\n%s}\n",
	                                    signals[_i].body),
	                       "", false);
	int ordered = 0, barriers = signals[_i].barriers;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		ordered += o->code == O_store && IMM(o, ordered);
	ck_assert_msg((barriers < 0 || ir_count(k, O_barrier) == barriers) && ordered == signals[_i].ordered,
	              "%d barriers, %d that "
	              "order:\n%s", ir_count(k, O_barrier), ordered, ir_text(u, k));
	ck_assert(!pass_insert_barriers(k));
}

/* One block has no other to hand memory to. */
TEST(one_block_hands_nothing_on)
{
	Kernel *k = until_sync("kernel t(A: f32[N * 8], Y: inout f32[N * 8], Z: out f32[8], F: "
	"inout i32[8])\n{\n grid(1);\n"
	                       " Y[0 :+ 8] = A[0 :+ 8];\n if atomic_add(F[0], 1) == 3 { Z[0 :+ "
	                       "8] = Y[8 :+ 8] + 1; }\n}\n",
	                       "", false);
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		ck_assert(o->code != O_store || !IMM(o, ordered));
}

/* With layouts: each thread reads what it wrote, of the whole tile or of a part of it that begins
 * where its next row does; or another thread's. */
static const struct {
	const char *body;
	int barriers;
} owned[] = {
	{ "Y[0 :+ 16, :] = s[0 :+ 16, :] + 1;\n", 0 },
	{ "Y[0 :+ 8, :] = s[8 :+ 8, :] + 1;\n", 0 },
	{ "Y[0 :+ 8, :] = s[4 :+ 8, :] + 1;\n", 1 },
	{ "Y[0 :+ 4, :] = s[4 :+ 4, :] + 1;\n", 1 }, /* of threads of higher numbers only */
	{ "Y[0 :+ 8, :] = s[8 :+ 8, :].T.T + s[4 :+ 8, :];\n", 1 },
	{ "for i in 0..2 { Y[i * 8 :+ 8, :] = s[i * 8 :+ 8, :] + 1; }\n", 1 },
	        /* i is not known: taken for another's */
};

TEST_EACH(own_elements, COUNT_OF(owned))
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f32[M, 64], Y: out f32[M, 64])\n"
	                                    " assume M %% 16 == 0\n{\n"
	                                    " grid(1);\n let s: shared f32[16, 64];\n"
	                                    " s[:, :] = X[0 :+ 16, :] * 2;\n%s}\n",
	                                    owned[_i].body),
	                       "");

	u->target = target_find("sm_80");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "legalize", pass_legalize);
	pass_apply(k, "infer", pass_infer);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	ck_assert_msg(ir_count(k, O_barrier) == owned[_i].barriers, "%d, not "
	"%d:\n%s", ir_count(k, O_barrier),
	              owned[_i].barriers, ir_text(u, k));
}

/* ---- async copies ---------------------------------------------------------------------------- */

static const char group[] =
	"kernel t(A: f32[N * 8], Y: out f32[N * 8])\n{\n grid(1);\n let b: shared f32[8];\n"
	" async copy(A[0 :+ 8], b);\n%s Y[0 :+ 8] = b + 1;\n}\n";

TEST(async_without_commit)
{
	Kernel *k = until_sync(arena_printf(u->arena, group, ""), "", true);
	Op *o = pass_find(k, O_copy, 0)->next;
	InterpOpt races = { .races = true }, late = { .late = true };
	Run r;

	while (o && o->code != O_async_commit)
		o = o->next;
	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(o->next->code, O_async_wait);
	ck_assert_int_eq(o->next->imm[0], 0);
	ck_assert_int_eq(o->next->next->code, O_barrier);
	run_setup(&r, k, "N=2", 1);
	run_ok(&r, &races);
	run_ok(&r, &late);
}

TEST(async_waited_without_barrier)
{
	Kernel *k = until_sync(arena_printf(u->arena, group, "commit; wait 0;\n"), "", true);

	ck_assert_int_eq(ir_count(k, O_barrier), 1);
	ck_assert_int_eq(ir_count(k, O_async_wait), 1);
	ck_assert_int_eq(ir_count(k, O_async_commit), 1);
}

/* `wait 1` may leave the copy under way: a tile in the same memory has to wait for all. */
TEST(async_still_under_way)
{
	Kernel *k = run_source(u,
	                       "kernel t(A: f32[N * 8], Y: out f32[N * 8])\n{\n grid(1);\n"
	                       " let b: shared f32[8];\n let c: shared f32[8];\n"
	                       " async copy(A[0 :+ 8], b);\n commit; wait 1; barrier;\n"
	                       " c[:] = A[8 :+ 8];\n Y[0 :+ 8] = c + 1;\n}\n",
	                       "");

	for (int i = 0; i < 2; i++)
		IMM_SET(pass_find(k, O_alloc, i), offset, 0);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	ck_assert_msg(ir_count(k, O_async_wait) == 2, "%s", ir_text(u, k));
	ck_assert_int_eq(IMM(pass_find(k, O_async_wait, 1), pending), 0);
	ck_assert_int_eq(ir_count(k, O_barrier), 3);
}

TEST(async_complete)
{
	Kernel *k = until_sync(arena_printf(u->arena, group, "commit; wait 0; barrier;\n"), "", true);

	ck_assert_int_eq(ir_count(k, O_barrier), 1);
}

/* A pipeline loop needs its one barrier an iteration and nothing else. */
TEST_RANGE(pipeline_has_one, 1, 5)
{
	Kernel *k = pass_source(u, &pass_program[0], _i);

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pipeline", pass_pipeline);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	ck_assert(pass_insert_barriers(k) == (_i == 1));
	ck_assert_int_eq(ir_count(k, O_barrier), _i == 1 ? 2 : 1);
}

/* ---- scratch --------------------------------------------------------------------------------- */

/* An op with scratch has a barrier between its writes and its reads: that orders what came before,
 * and its last read is open. */
TEST(scratch)
{
	static const char src[] =
		"kernel t(A: f32[64], Y: out f32[64])\n{\n grid(1);\n let b: shared = A[:];\n"
		" let x: register = A[:];\n let s = sum(x, 0);\n Y[:] = b + s;\n let c: shared "
		"f32[64];\n"
		" c[:] = x;\n Y[:] = c + s;\n}\n";
	Kernel *k = run_source(u, src, "");
	Op *o = pass_find(k, O_reduce_sum, 0);
	int64_t c;

	o->lowering = NEW(u->arena, Lowering);
	o->lowering->kind = LW_reduce_shared;
	o->lowering->staged.bytes = 128;
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	/* c and the scratch share memory, b was read before: in front of c's write and of its read */
	c = pass_find(k, O_alloc, 1)->imm[0];
	ck_assert(c == o->lowering->staged.off || c == pass_find(k, O_alloc, 0)->imm[0]);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	ck_assert_msg(ir_count(k, O_barrier) == 2, "%s", ir_text(u, k));
}

/* Two ops with scratch, once or in a loop: where it is, 64 bytes each, and barriers in front of
 * them. */
static const struct {
	const char *before, *after;
	int64_t one, two;
	int barriers;
} staged[] = {
	{ "", "", 0, 64, 0 },
	{ "", "", 0, 32, 1 }, /* the first is read while the second is written */
	{ "for i in 0..N {", "}", 0, 64, 0 }, /* the barrier of each keeps the other's turns apart */
	{ "for i in 0..N {", "}", 0, 32, 2 },
};

TEST_EACH(scratch_by_need, COUNT_OF(staged))
{
	const char *src = arena_printf(u->arena,
	                               "kernel t(A: f32[64], Y: out f32[64], N: i64)\n{\n grid(1);\n"
	                               " var x: register f32[64] = A[:];\n %s\n x = x + sum(x, 0);\n"
	                               " x = x * sum(x * x, 0);\n%s\n Y[:] = x;\n}\n",
	                               staged[_i].before, staged[_i].after);
	Kernel *k = run_source(u, src, "");
	Op *one = pass_find(k, O_reduce_sum, 0), *two = pass_find(k, O_reduce_sum, 1);
	Lowering p = { .kind = LW_reduce_shared, .staged.bytes = 64 };

	one->lowering = NEW(u->arena, Lowering);
	two->lowering = NEW(u->arena, Lowering);
	*one->lowering = *two->lowering = p;
	one->lowering->staged.off = staged[_i].one;
	two->lowering->staged.off = staged[_i].two;
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	ck_assert_msg(ir_count(k, O_barrier) == staged[_i].barriers, "%s", ir_text(u, k));
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
