/* test_memory_order.c - tests the validators of barriers, of proxy fences and of range analysis: they accept
 * the output of passes, and reject it without one of its barriers or fences, or with a false range. */
#include "hexc/pass/pass.h"
#include "infer/validate/validate.h"
#include "test/pass/util_pass.h"
#include "test/validate/util_prove.h"
#include "test/ir/util_unit.h"
#include <string.h>

static const char header[] =
	"kernel t(A: f32[N * 8], Y: inout f32[N * 8], Z: out f32[8], G: out i32[8], F: inout i32[8],\n"
	" H: inout i32[8], L: i32[8])\n{\n grid(4);\n%s}\n";

/* `together`: all tiles at the start of the block's shared memory. */
static Kernel *
synced(const char *body, bool together)
{
	Kernel *k = run_source(u, arena_printf(u->arena, header, body), "");
	OpWalk w;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pipeline", pass_pipeline);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	for (Op *o = walk_first(&w, k->body); o && together; o = walk_next(&w))
		if (o->code == O_alloc)
			IMM_SET(o, offset, 0);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	return k;
}

/* Something was said of an access that is not judged. */
static bool left_out;

static bool
is_refused(Kernel *k)
{
	Diag *d = u->diag;
	bool refused;

	d->wanted |= 1u << DW_unjudged;
	pass_validate_barriers(k);
	refused = d->nerror > 0;
	left_out = false;
	for (int i = 0; i < d->n; i++)
		left_out = left_out || d->msg[i].warning == DW_unjudged;
	d->nerror = d->n = d->nwarning = 0;
	return refused;
}

static bool
is_accepted(Kernel *k)
{
	return !is_refused(k) && !left_out;
}

/* Each barrier of these is needed. */
static const struct {
	const char *body;
	bool together;
} ordered[] = {
	{ "let b: shared = A[0 :+ 8];\n Z[0 :+ 8] = b + 1;\n", false },
	{ "let b: shared f32[8];\n b[:] = A[0 :+ 8];\n let x = b + 1;\n b[:] = x;\n Z[0 :+ 8] "
	  "= b + 1;\n", false },
	/* parts that meet; updates, and what is no update */
	{ "let b: shared f32[16];\n b[0 :+ 16] = A[0 :+ 16];\n Z[0 :+ 8] = b[8 :+ 8] * 2;\n", false },
	{ "let b: shared f32[8] = 0;\n let i = iota(0, 8);\n atomic_add(b[i], 1);\n "
	  "atomic_max(b[i], 2);\n"
	  " Z[0 :+ 8] = b;\n",
	  false },
	/* around a loop, behind it, and in front of one that may have no turn */
	{ "let b: shared f32[8];\n for i in 0..N { b[:] = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b + "
	  "1; }\n", false },
	{ "let b: shared f32[64];\n for i in 0..4 { b[i :+ 8] = A[i * 8 :+ 8]; }\n", false },
	{ "let b: shared f32[128];\n for i in 0..4 { b[i * 16 :+ 8] = A[0 :+ 8];\n"
	  " Y[i * 8 :+ 8] = b[i * 16 + 16 :+ 8] * 2; }\n",
	  false },
	{ "let b: shared f32[2, 64];\n var s = 0;\n for i in 0..4 { s = 1 - s;\n b[s, i :+ 8] "
	  "= A[i * 8 :+ 8]; }\n",
	  false },
	{ "pipeline i in 0..N stages 3 { let b: shared = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b + "
	  "1; }\n", false },
	/* stages that are read in another shape, or a part of each */
	{ "pipeline i in 0..N stages 3 { let b: shared = A[i * 8 :+ 8];\n"
	  " Z[0 :+ 4] = reshape(b, 2, 4)[1] * 2; }\n",
	  false },
	{ "let b: shared = A[0 :+ 8];\n Z[0 :+ 4] = reshape(b, 2, 4)[1] * 2;\n", false },
	/* on both sides of a branch, or on one */
	{ "let b: shared = A[0 :+ 8];\n if N > 2 { Z[0 :+ 8] = b + 1; } else { Z[0 :+ 8] = b + "
	  "2; }\n", false },
	{ "let b: shared = A[0 :+ 8];\n if N > 2 { b[:] = A[8 :+ 8]; }\n Z[0 :+ 8] = b + 1;\n", false },
	/* a condition that was read of memory that is written behind a loop without a turn */
	{ "while atomic_add(F[0], 1) == 5 { }\n let b: shared = A[0 :+ 8];\n Z[0 :+ 8] = b + "
	  "1;\n", true },
	{ "let b: shared = A[0 :+ 8];\n let x = b + 1;\n while atomic_add(F[0], 1) == 5 { Z[0 "
	  ":+ 8] = x; }\n"
	  " let c: shared = A[8 :+ 8];\n Z[0 :+ 8] = c + x;\n",
	  true },
	{ "let a = atomic_add(F[0 :+ 8], 1);\n if N > 2 { G[0 :+ 8] = a; }\n G[0 :+ 8] = "
	  "atomic_add(H[0 :+ 8], 1);\n",
	  true },
	/* memory of the grid: an element that others of the block have written */
	{ "Y[0 :+ 8] = A[0 :+ 8];\n Z[0 :+ 8] = Y[1 :+ 8] * 2;\n", false },
	{ "for i in 0..N { Y[i * 8 :+ 8] = A[0 :+ 8];\n Z[0 :+ 8] = Y[i * 8 + 4 :+ 8] * 2; "
	  "}\n", false },
	/* what blocks hand on */
	{ "Y[block.x * 8 :+ 8] = A[0 :+ 8];\n if atomic_add(F[0], 1) == 3 { Z[0 :+ 8] = Y[8 :+ "
	  "8] + 1; }\n", false },
};

TEST_EACH(no_barrier_less, COUNT_OF(ordered))
{
	Kernel *k = synced(ordered[_i].body, ordered[_i].together);
	int n = ir_count(k, O_barrier);

	ck_assert_int_gt(n, 0);
	ck_assert_msg(is_accepted(k), "%s", ir_text(u, k));
	for (int i = 0; i < n; i++) {
		Op *o = pass_find(k, O_barrier, i), *next = o->next;
		Block *b = o->parent;

		op_unlink(o);
		ck_assert_msg(is_refused(k), "nobody misses barrier %d\n%s", i, ir_text(u, k));
		op_new(b, next, O_barrier, o->src, 0, NULL, 0, NULL);
		ck_assert(is_accepted(k));
	}
}

/* Rings whose slots the program counts itself: one barrier in each turn is enough, in front of the turn or of
 * what it reads there, and of one slot less it is not.  #: how many there are. */
static const struct {
	const char *body;
	bool reads; /* the barrier stands in front of those */
	int slots;
} counted[] = {
	{ "let b: shared f32[#, 8];\n b[0] = A[0 :+ 8];\n"
	  " for i in 0..N { b[(i + 1) % #] = A[i * 8 :+ 8];\n Y[i * 8 :+ 8] = b[i % #] * 2; }\n",
	  false, 2 },
	{ "let b: shared f32[#, 8];\n b[0] = A[0 :+ 8];\n"
	  " for i in 0..N step 4 { b[i / 4 % #] = A[i * 8 :+ 8];\n"
	  " Z[0 :+ 8] = b[(i + 8) / 4 % #] * 2; }\n",
	  false, 3 },
	{ "let b: shared f32[# * 8];\n for i in block.x..N step 4 {\n"
	  " b[(i - block.x) / 4 % # * 8 :+ 8] = A[i * 8 :+ 8];\n"
	  " Z[0 :+ 8] = b[(i - block.x) / 4 % # * 8 :+ 8] * 2; }\n",
	  true, 2 },
};

static Kernel *
counted_ring(int i, int slots, bool barrier)
{
	char *body = arena_printf(u->arena, "%s", counted[i].body);
	Block *turn;
	Kernel *k;
	OpWalk w;
	Op *at;

	for (char *c = strchr(body, '#'); c; c = strchr(c, '#'))
		*c = (char)('0' + slots);
	k = synced(body, false);
	turn = prove_op(k->body, O_for, 0)->blk[0];
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_barrier && o->parent == turn)
			op_unlink(o);
	at = counted[i].reads ? prove_op(turn, O_load, 0) : turn->first;
	if (barrier)
		op_new(turn, at, O_barrier, at->src, 0, NULL, 0, NULL);
	return k;
}

TEST_EACH(slots_that_are_counted, COUNT_OF(counted))
{
	Kernel *k = counted_ring(_i, counted[_i].slots, true);

	ck_assert_msg(is_accepted(k), "%s", ir_text(u, k));
	k = counted_ring(_i, counted[_i].slots, false);
	ck_assert_msg(is_refused(k), "%s", ir_text(u, k));
	k = counted_ring(_i, counted[_i].slots - 1, true);
	ck_assert_msg(is_refused(k), "%s", ir_text(u, k));
}

/* Two slots next to each other, of three: one step on they share one. */
TEST(slots_side_by_side)
{
	Kernel *k = synced("let b: shared f32[32];\n"
	                   " for i in 0..N - 1 { b[i % 3 * 8 :+ 16] = A[i * 8 :+ 16];\n"
	                   " Y[i * 8 :+ 16] = b[(i + 1) % 3 * 8 :+ 16] * 2; }\n",
	                   false);
	Block *turn = prove_op(k->body, O_for, 0)->blk[0];
	OpWalk w;

	ck_assert_msg(is_accepted(k), "%s", ir_text(u, k));
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_barrier && o->parent == turn)
			op_unlink(o);
	op_new(turn, turn->first, O_barrier, turn->first->src, 0, NULL, 0, NULL);
	ck_assert_msg(is_refused(k), "%s", ir_text(u, k));
}

/* Loops with a barrier that have a turn, as the branch says that they stand in: what comes behind needs no
 * other; and those that may have none. */
static const struct {
	const char *branch;
	bool turn;
} between[] = {
	{ "if N > 4 { for i in 0..N - 4 {", true },
	{ "if N >= 4 { for i in 0..N - 4 {", false },
	{ "if N < 4 { } else { for i in 0..N - 4 {", false },
	{ "if N % 4 == 0 { } else { for i in 0..N {", true },
	{ "if N % 4 == 0 { for i in 0..N {", false },
	{ "if N > 3 && block.x > 0 { for i in max(0, (N - 4) / 2 * 2)..N {", true },
	{ "if N > 3 && block.x > 0 { for i in max(0, (N - 3) / 2 * 2)..N - 3 {", false },
	{ "if N < 1 || block.x < 1 { } else { for i in 0..N {", true },
	{ "if N < 1 && block.x < 1 { } else { for i in 0..N {", false },
	/* division truncates: at N = 4 the loop starts at 1, behind its end */
	{ "if N > 3 { for i in (N - 7) / 4 * 4 + 1..N - 5 {", false },
};

TEST_EACH(a_loop_has_a_turn, COUNT_OF(between))
{
	const char *body = arena_printf(u->arena, "let b: shared f32[8];\n b[:] = A[0 :+ 8];\n"
	                                          " let x = b + 1;\n %s barrier;"
	                                          " Y[i * 8 :+ 8] = A[0 :+ 8]; }\n b[:] = x; }\n",
	                                between[_i].branch);
	Kernel *k = synced(body, false);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_barrier && (o->next->code == O_if || o->next->code == O_view))
			op_unlink(o); /* pass insert_barriers's own, behind the loop or in front of all */
	ck_assert_msg(between[_i].turn ? is_accepted(k) : is_refused(k), "%s", ir_text(u, k));
}

/* Loops of at most one iteration, as a remainder behind a main loop: the tile that it writes and then reads
 * needs no barrier between iterations. With dividends of either sign: division truncates. */
static const struct {
	const char *range;
	bool once;
} rests[] = {
	{ "max(0, (N - 6 + 3) / 4 * 4)..N - 2", true },
	{ "max(0, (N - 7 + 3) / 4 * 4)..N - 2", false },
	{ "(0 - N) / 4 * 4..4 - N", true },
	{ "(0 - N) / 4 * 4..5 - N", false },
	{ "0 - (5 - N) / 4 * 4..N - 4", true },
	{ "0 - (6 - N) / 4 * 4..N - 1", false },
};

TEST_EACH(a_rest_runs_once, COUNT_OF(rests))
{
	const char *body = arena_printf(u->arena, "let b: shared f32[8];\n for i in %s step 4 {\n"
	                                          " b[:] = A[0 :+ 8];\n Z[0 :+ 8] = b + 1; }\n",
	                                rests[_i].range);
	Kernel *k = synced(body, false);
	Block *turn = prove_op(k->body, O_for, 0)->blk[0];
	Op *read = prove_op(turn, O_load, 0);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_barrier)
			op_unlink(o);
	ck_assert(is_refused(k));
	op_new(turn, read, O_barrier, read->src, 0, NULL, 0, NULL);
	ck_assert_msg(rests[_i].once ? is_accepted(k) : is_refused(k), "%s", ir_text(u, k));
}

/* Elements narrower than a byte that are written and read in these layouts, without a barrier. */
#define ROWS "((4,4),(8,8)):((8@lane,1@warp),(1@reg,1@lane))"
#define COLUMNS "((4,4),(8,8)):((8@lane,1@warp),(1@lane,1@reg))"
#define SHIFTED "((4,4),(8,8)):((1@warp,8@lane),(1@reg,1@lane))"

static const struct {
	const char *written, *read;
	int vec;
	bool own; /* each byte belongs to one thread */
} halves[] = {
	{ ROWS, ROWS, 8, true },
	{ ROWS, ROWS, 2, true },
	{ ROWS, ROWS, 1, false },
	{ COLUMNS, COLUMNS, 1, false },
	{ ROWS, SHIFTED, 8, false },
	{ ROWS, COLUMNS, 8, false },
};

static const Layout *
layout_of(const char *text)
{
	Layout *l = NEW(u->arena, Layout);
	size_t at = 0;

	ck_assert(layout_parse(l, text, strlen(text), &at));
	return l;
}

TEST_EACH(bytes_of_several_elements, COUNT_OF(halves))
{
	Kernel *k = run_source(u,
	                       "kernel t(X: i4[16, 64], Y: out i4[16, 64])\n{\n grid(1);\n"
	                       " let x: register = X[:, :];\n let b: shared = x;\n Y[:, :] = b;\n}\n",
	                       "");
	Op *write, *read;

	u->target = target_find("sm_80");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "legalize", pass_legalize);
	pass_apply(k, "infer", pass_infer);
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	write = prove_op(k->body, O_store, 0);
	read = prove_op(k->body, O_load, 1);
	ck_assert_ptr_eq(view_root(store_dest(write)), view_root(load_source(read)));
	store_value(write)->type.layout = layout_of(halves[_i].written);
	read->out[0]->type.layout = layout_of(halves[_i].read);
	write->lowering->access.vec = halves[_i].vec;
	ck_assert_msg(halves[_i].own ? is_accepted(k) : is_refused(k), "%s", ir_text(u, k));
}

/* What updates of one kind find is no update where it goes: on the way without a barrier of its own,
 * too. */
TEST(what_is_found_is_written_plainly)
{
	Kernel *k = synced("let a = atomic_add(F[0 :+ 8], 1);\n if N > 2 { G[0 :+ 8] = a;\n "
	"barrier; }\n"
	                   " G[0 :+ 8] = atomic_add(H[0 :+ 8], 1);\n",
	                   true);

	ck_assert_msg(!is_refused(k), "%s", ir_text(u, k));
	ck_assert_int_eq(ir_count(k, O_barrier), 4);
}

/* Memory that is handed on by updates: last.hexc and its kin. */
static const char *const handed[] = {
	"G[block.x :+ 1] = atomic_add(H[i64(L[block.x]) :+ 1], 1);\n"
	" if atomic_add(F[0], 1) == 3 { for e in 0..8 { G[e] = H[e]; } }\n",
	"Y[block.x * 8 :+ 8] = A[0 :+ 8];\n if atomic_add(F[0], 1) == 3 { Z[0 :+ 8] = Y[8 :+ "
	"8] + 1; }\n",
	"while atomic_add(F[0], 0) < 3 { }\n Z[0 :+ 8] = Y[8 :+ 8] + 1;\n Y[0 :+ 8] = A[0 :+ "
	"8];\n atomic_add(F[0], 1);\n",
	"atomic_add(F[1], 2);\n if atomic_add(F[0], 1) == 3 { G[0] = F[1]; }\n",
	"atomic_add(H[0 :+ 8], 2);\n if atomic_add(F[0], 1) == 3 { G[0 :+ 8] = atomic_add(H[0 "
	":+ 8], 0); }\n",
	"atomic_add(H[0 :+ 8], 2);\n G[0] = atomic_add(F[0], 1);\n G[0 :+ 8] = atomic_add(H[0 "
	":+ 8], 0);\n",
	"for i in 0..4 { if i == 2 { atomic_max(H[i], 1); } }\n var go = 1;\n"
	" while go > 0 { go = 3 - i64(atomic_add(F[0], 1)); }\n G[0 :+ 8] = H[0 :+ 8];\n",
	"for i in 0..N { if atomic_add(F[0], 1) == 3 { G[0 :+ 8] = H[0 :+ 8]; }\n "
	"atomic_add(H[0 :+ 8], 1); }\n",
	"Z[0 :+ 8] = Y[block.x * 8 :+ 8];\n if atomic_add(F[0], 1) == 3 { Y[0 :+ 8] = A[0 :+ 8]; }\n",
	"Z[0 :+ 8] = A[0 :+ 8];\n if atomic_cas(F[0], 1, 0) == 1 { Z[0 :+ 8] = A[8 :+ 8]; }\n",
	"for i in 0..N { while atomic_add(F[1], 0) < i32(i) { }\n let x = atomic_add(H[0 :+ 8], 1);\n"
	" if i > 2 { G[0 :+ 8] = x; }\n atomic_add(F[1], 1); }\n",
};

TEST_EACH(no_fence_less, COUNT_OF(handed))
{
	Kernel *k = synced(handed[_i], false);
	int n = 0;
	OpWalk w;

	ck_assert_msg(!is_refused(k), "%s", ir_text(u, k));
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code != O_store || !IMM(o, ordered))
			continue;
		n++;
		IMM_SET(o, ordered, 0);
		ck_assert_msg(is_refused(k), "nobody misses fence %d\n%s", n, ir_text(u, k));
		IMM_SET(o, ordered, 1);
	}
	ck_assert_int_gt(n, 0);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static Kernel *
inferred(void)
{
	Kernel *k = run_source(u,
	                       "kernel t(X: f16[M, N], Y: out f16[M, N])\n assume N % 8 == 0, "
	                       "N >= 64\n{\n"
	                       " grid(ceil(M, 16));\n"
	                       " Y[block.x * 16 :+ 16, 0 :+ 64] = X[block.x * 16 :+ 16, 0 :+ "
	                       "64] * 2;\n}\n",
	                       "");

	u->target = target_find("sm_80");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "legalize", pass_legalize);
	pass_apply(k, "infer", pass_infer);
	return k;
}

static Param *
columns(Kernel *k)
{
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_size && !strcmp(k->param[i].name, "N"))
			return &k->param[i];
	ck_abort_msg("no N");
	return NULL;
}

static bool
claims(Kernel *k)
{
	prove_claims(k);
	return true;
}

/* Rows begin at multiples of 2 elements, and accesses have 8. */
static void
odd_rows(Kernel *k)
{
	columns(k)->mult = 2;
}

static const Corruption numbers[] = {
	{ "rows", odd_rows, "rows of its tensor do not start at multiples of the access width" },
};

TEST_EACH(numbers_are_as_known, COUNT_OF(numbers))
{
	Kernel *k = inferred();

	ck_assert_int_gt(prove_op(k->body, O_load, 0)->lowering->access.vec, 2);
	prove_rejects(k, claims, &numbers[_i]);
}

TEST_PROGRAM(UNIT_FIXTURE);
