/* test_prefetched_fragments.c - tests the validator of pass prefetch_fragments: it accepts transformed loops,
 * and rejects corrupted ones: the prefetched tile, its iteration, the awaited copies, the k slices of an
 * MMA. */
#include "hexc/pass/pass.h"
#include "infer/core/solution.h"
#include "infer/infer.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_arena.h"
#include "test/util_file.h"

#define GEMM "examples/gemm_f16.hexc"

static Op *
loop_of(Kernel *k)
{
	return prove_op(k->body, O_for, 0);
}

/* The nth op of a kind, in the loop or (outside) in front of it. */
static Op *
find(Kernel *k, OpCode code, bool inside, int nth)
{
	return prove_op(inside ? loop_of(k)->blk[0] : k->body, code, nth);
}

/* The view that the nth `ahead` inside (or in front) loads from. */
static Op *
view_of(Kernel *k, bool inside, int nth)
{
	return find(k, O_fragment_prefetch, inside, nth)->in[0]->def->in[0]->def;
}

static Val *
slot_of(Kernel *k)
{
	return find(k, O_prefetched, true, 0)->in[0]->def->in[0]->def->in[1];
}

/* ---- corruptions ------------------------------------------------------------------------------------- */

static void
this_turn(Kernel *k)
{
	view_of(k, true, 0)->in[1] = slot_of(k);
}

static void
second_buffer_first(Kernel *k)
{
	Op *v = view_of(k, false, 0);

	v->in[1] = ir_const(v->parent, v, 1);
}

static void
row_further(Kernel *k)
{
	Op *v = view_of(k, true, 1);

	v->in[2] = ir_const(v->parent, v, 1);
}

static void
other_tile(Kernel *k)
{
	Op *a = view_of(k, true, 0), *b = view_of(k, true, 1);

	a->in[0] = b->in[0];
}

static void
crossed(Kernel *k)
{
	Op *a = find(k, O_prefetched, true, 0), *b = find(k, O_prefetched, true, 1);
	Val *t = a->in[1];

	a->in[1] = b->in[1];
	b->in[1] = t;
}

static void
of_no_loop(Kernel *k)
{
	Op *a = find(k, O_prefetched, true, 0);

	a->in[1] = a->in[0];
}

static void
other_width(Kernel *k)
{
	find(k, O_fragment_prefetch, true, 0)->in[0]->def->lowering->access.vec = 4;
}

static void
no_barrier(Kernel *k)
{
	op_unlink(find(k, O_barrier, true, 0));
}

static void
no_wait(Kernel *k)
{
	op_unlink(find(k, O_async_wait, true, 0));
}

static void
barrier_too_early(Kernel *k)
{
	op_move_before(find(k, O_barrier, true, 0), loop_of(k)->blk[0]->first);
}

static Op *
last_part(Kernel *k)
{
	return find(k, O_dot, true, 1);
}

static void
gap(Kernel *k)
{
	last_part(k)->lowering->dot.from += 8;
}

static void
step_left_out(Kernel *k)
{
	Op *o = last_part(k);

	val_replace(k, o->out[0], o->in[2]);
	op_unlink(o);
}

static void
twice(Kernel *k)
{
	last_part(k)->lowering->dot.from = 0;
}

static void
beyond(Kernel *k)
{
	last_part(k)->lowering->dot.to += 16;
}

static void
all_and_a_part(Kernel *k)
{
	find(k, O_dot, true, 0)->lowering->dot.to = 0;
}

static void
from_nothing(Kernel *k)
{
	Op *first = find(k, O_dot, true, 0);

	last_part(k)->in[2] = first->in[2];
}

static void
other_operand(Kernel *k)
{
	Op *o = last_part(k);

	o->in[0] = find(k, O_prefetched, true, 0)->in[0];
}

static const Corruption cases[] = {
#define C(fn, says) { #fn, fn, says }
	C(this_turn, "the prefetched fragment belongs to another iteration"),
	C(second_buffer_first, "the prefetched fragment belongs to another iteration"),
	C(row_further, "the prefetched fragment belongs to another tile"),
	C(other_tile, "the prefetched fragment belongs to another tile"),
	C(crossed, "one operand has (0,8) here, the other has (8,0)"),
	C(of_no_loop, "the prefetched fragment is not a carried value"),
	C(other_width, "the prefetched fragment belongs to another tile"),
	C(no_barrier, "prefetched fragment read before its wait"),
	C(no_wait, "prefetched fragment read before its wait"),
	C(barrier_too_early, "prefetched fragment read before its wait"),
	C(gap, "positions from 16 on are never multiplied"),
	C(step_left_out, "positions from 16 on are never multiplied"),
	C(twice, "positions from 16 on are never multiplied"),
	C(beyond, "positions 16 to 48 of 32"),
	C(all_and_a_part, "positions before 16 are never multiplied"),
	C(from_nothing, "are never multiplied"),
	C(other_operand, "are never multiplied"),
#undef C
};

static Kernel *
rotated(void)
{
	Kernel *k = infer_solved(&arena, file_read(GEMM, NULL), "sm_80", 0)->k;

	ck_assert(pass_prefetch_fragments(k));
	return k;
}

TEST_EACH(rejects, COUNT_OF(cases))
{
	prove_rejects(rotated(), pass_validate, &cases[_i]);
}

#define HEAD \
	"kernel t(A: f16[M, K], B: f16[N, K], C: out f32[M, N], D: out f32[M, 1])\n" \
	"    const BM = 32, BN = 32, BK = 32, STAGES = 3, WARPS = 2\n{\n" \
	"    grid(ceil(M, BM), ceil(N, BN));\n    let m = block.x * BM, n = block.y * BN;\n" \
	"    var acc: register f32[BM, BN] = 0, total: register f32[BM, 1] = 0;\n"
#define TAIL \
	"    C[m :+ BM, n :+ BN] = acc;\n    if block.y == 0 { D[m :+ BM, :] = total; }\n}\n"
static const char *const whole[] = {
	/* what is read behind the last product would be read when the buffer may be filled again */
	HEAD "    pipeline k in 0..K step BK stages STAGES {\n"
	"        let a: shared = A[m :+ BM, k :+ BK], b: shared = B[n :+ BN, k :+ BK];\n"
	"        acc += dot(a, b.T);\n        total += sum(f32(a), 1);\n    }\n" TAIL,
	/* nobody says that copies which are not made leave something to be read */
	HEAD "    let a: shared f16[2, BM, BK], b: shared f16[2, BN, BK];\n    var s = 0;\n"
	"    async copy(A[m :+ BM, 0 :+ BK], a[0]);\n    async copy(B[n :+ BN, 0 :+ BK], b[0]);\n"
	"    commit;\n"
	"    for k in 0..K step BK {\n        wait 0;\n        barrier;\n        if k + BK < K {\n"
	"            async copy(A[m :+ BM, k + BK :+ BK], a[1 - s]);\n"
	"            async copy(B[n :+ BN, k + BK :+ BK], b[1 - s]);\n        }\n        commit;\n"
	"        acc += dot(a[s], b[s].T);\n        s = 1 - s;\n    }\n" TAIL,
};

TEST_EACH(stays_as_it_is, COUNT_OF(whole))
{
	int n = infer_ncand(infer_solved(&arena, whole[_i], "sm_80", 0));

	for (int i = 0; i < n; i++)
		ck_assert(!pass_prefetch_fragments(infer_solved(&arena, whole[_i], "sm_80", i)->k));
}

/* A second run finds nothing left to turn. */
TEST(once)
{
	ck_assert(!pass_prefetch_fragments(rotated()));
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
