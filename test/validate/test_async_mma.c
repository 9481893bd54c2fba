/* test_async_mma.c - tests the validator of asynchronous MMAs: it accepts the output of pass wgmma_waits and
 * explicit waits of a program, and rejects them once any wait, fence or commit is removed, or waits for one
 * group less. */
#include "hexc/pass/pass.h"
#include "hexc/ir/verify/verify.h"
#include "infer/validate/validate.h"
#include "test/check.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_arena.h"
#include <string.h>

TEST_PROGRAM(ARENA_FIXTURE);

/* A loop of consumers, and what is behind it, in a hole each. */
static const char frame[] =
	"kernel product(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    assume K %% 8 == 0, N %% 8 == 0\n"
	"    const BM = 64, BN = 32, BK = 32, STAGES = 4, WARPS = 4\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared f16[STAGES, BM, BK], b: shared f16[STAGES, BN, BK];\n"
	"    let full: mbarrier[STAGES] = 1, empty: mbarrier[STAGES] = 1;\n"
	"    roles {\n"
	"        producer warps 4 {\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn %% STAGES;\n"
	"                await empty[s], turn / STAGES + 1;\n"
	"                async copy(A[m :+ BM, k :+ BK], a[s], full[s]);\n"
	"                async copy(B[n :+ BN, k :+ BK], b[s], full[s]);\n"
	"                arrive full[s];\n"
	"            }\n"
	"        }\n"
	"        consumer warps WARPS {\n"
	"            var acc: register f32[BM, BN] = 0, sum: register f32[BM, BN] = 0;\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn %% STAGES;\n"
	"                await full[s], turn / STAGES;\n"
	"                %s\n"
	"            }\n"
	"            %s\n"
	"            C[m :+ BM, n :+ BN] = acc;\n"
	"        }\n"
	"    }\n"
	"}\n";

static const struct {
	const char *turn, *behind;
	bool late; /* the arrival may come a turn later */
	int spare; /* commits without which there is one group where there were two, for a wait for both */
} cases[] = {
	{ "acc += dot(a[s], b[s].T); arrive empty[s];", "", false, 0 },
	{ "acc += dot(a[s], b[s].T); arrive empty[s];", "", true, 0 },
	{ "acc += dot(a[s], b[s].T); acc += dot(a[s], b[s].T); arrive empty[s];", "", true, 0 },
	{ "acc += async dot(a[s], b[s].T); wait dots 1; if k > 0 { arrive empty[(turn - 1) % STAGES]; }",
	  "wait dots 0;", false, 0 },
	{ "acc += async dot(a[s], b[s].T); wait dots 0; acc *= 0.5; arrive empty[s];", "", false, 0 },
	/* a factor in registers, made anew each turn, step by step, and with another product beside it */
	{ "acc += dot(f16(exp2(f32(a[s]))), b[s].T); arrive empty[s];", "", false, 0 },
	{ "acc += dot(f16(exp2(f32(a[s]))), b[s].T); arrive empty[s];", "", true, 0 },
	{ "acc += dot(f16(exp2(f32(a[s]))), b[s].T); sum += dot(a[s], b[s].T); arrive empty[s];", "",
	  false, 0 },
	/* .. that two products read */
	{ "let x = a[s] * 2; acc += dot(x, b[s].T); acc += dot(x, b[s].T); arrive empty[s];", "", false,
	  1 },
	{ "let x = f16(exp2(f32(a[s]))); acc += dot(x, b[s].T); sum += dot(x, b[s].T); arrive empty[s];",
	  "acc += sum;", true, 1 },
	/* what a product makes is copied, changes its place, is made by either branch */
	{ "acc += dot(a[s], b[s].T); let t = acc; acc += dot(a[s], b[s].T); acc += t; arrive empty[s];", "",
	  false, 0 },
	{ "acc += dot(a[s], b[s].T); let t = acc; acc = sum; sum = t; "
	  "arrive empty[s];", "acc += sum;", false, 0 },
	{ "if turn % 2 == 0 { acc = async dot(a[s], b[s].T); } else { acc += async dot(a[s], b[s].T); } "
	  "wait dots 0; arrive empty[s];", "", false, 0 },
	{ "let x: register = a[s] + 1; acc += async dot(x, b[s].T); wait dots 0; arrive empty[s];", "",
	  false, 0 },
};

static Kernel *
flown(int i)
{
	Text t = { .arena = &arena };
	Kernel *k;
	OpWalk w;

	text_printf(&t, frame, cases[i].turn, cases[i].behind);
	k = infer_kernel(infer_solved(&arena, t.s, "sm_90a", 0));
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive && op_role(o) == ROLE_CONSUMER && cases[i].late)
			IMM_SET(o, sinkable, 1);
	pass_wgmma_waits(k);
	ck_assert(kernel_verify(k, "wgmma_waits"));
	return k;
}

TEST_EACH(accepted, COUNT_OF(cases))
{
	prove_clean(flown(_i), pass_validate_wgmma);
}

static bool
is_site(const Op *o)
{
	return o->code == O_wgmma_wait || o->code == O_wgmma_fence || o->code == O_wgmma_commit;
}

/* Breaks the nth site of the kernel's; false: there are fewer. */
static bool
broken(Kernel *k, int nth, bool weaken)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (!is_site(o) || nth-- > 0)
			continue;
		if (weaken && o->code == O_wgmma_wait)
			IMM_SET(o, pending, IMM(o, pending) + 1);
		else
			op_unlink(o);
		return true;
	}
	return false;
}

/* Every site of every case. */
TEST_EACH(rejected, 2 * COUNT_OF(cases))
{
	int n = 0, spare = 0;

	for (Kernel *k; broken(k = flown(_i / 2), n, _i % 2); n++) {
		pass_validate_wgmma(k);
		spare += k->unit->diag->nerror == 0;
		ck_assert_msg(spare <= cases[_i / 2].spare, "case %d: nobody misses site %d", _i / 2, n);
	}
	ck_assert_int_ge(n, 3);
	ck_assert_int_eq(spare, cases[_i / 2].spare);
}

/* ---- sums that begin without zeros ------------------------------------------------------------------ */

static Op *
product(Kernel *k)
{
	Op *o = prove_op(k->body, O_wgmma, 0);

	ck_assert_int_eq(o->nin, 4);
	return o;
}

static Op *
loop_of(Kernel *k)
{
	return product(k)->parent->owner;
}

static void
from_one(Kernel *k)
{
	loop_of(k)->in[3]->def->fimm = 1;
}

static void
another_turn(Kernel *k)
{
	product(k)->in[3]->def->in[0] = loop_of(k)->in[2];
}

static void
each_turn(Kernel *k)
{
	Op *o = product(k);

	o->in[3] = ir_bin(o->parent, o, O_lt, o->in[3]->def->in[1], o->in[3]->def->in[0]);
}

static void
of_another_counter(Kernel *k)
{
	product(k)->in[3]->def->in[1] = loop_of(k)->in[1];
}

static void
before_the_loop(Kernel *k)
{
	product(k)->in[2] = loop_of(k)->in[3];
}

static const Corruption begun[] = {
	{ "a sum from 1", from_one, "the accumulator that it discards is not known to be zero" },
	{ "from the second turn on", another_turn, "discards its accumulator in an iteration other than "
	                                           "the first" },
	{ "in each turn", each_turn, "discards its accumulator in an iteration other than the first" },
	{ "by the loop's end", of_another_counter, "discards its accumulator in an iteration other than "
	                                           "the first" },
	{ "a sum that no loop carries", before_the_loop,
	  "the accumulator that it discards is not known to be zero" },
};

TEST_EACH(begins, COUNT_OF(begun))
{
	prove_rejects(flown(1), pass_validate_wgmma, &begun[_i]);
}

TEST_EACH(without_zeros, COUNT_OF(cases))
{
	product(flown(_i));
}

/* A stage is released by whatever name its slot has. */
static const char *const early[] = {
	"acc += async dot(a[s], b[s].T); wait dots 1; arrive empty[(turn + STAGES) % STAGES];",
	"acc += async dot(a[s], b[s].T); wait dots 1; if turn > 3 { arrive empty[(s + 4) % STAGES]; }",
	"acc += async dot(a[s], b[s].T); wait dots 1; arrive empty[turn * 3 % STAGES];",
};

TEST_EACH(released_early, COUNT_OF(early))
{
	Text t = { .arena = &arena };
	Kernel *k;

	text_printf(&t, frame, early[_i], "wait dots 0;");
	k = infer_kernel(infer_solved(&arena, t.s, "sm_90a", 0));
	pass_wgmma_waits(k);
	pass_validate_wgmma(k);
	ck_assert_int_eq(k->unit->diag->nerror, 1);
}

/* ---- copies by lanes, and who tells of them --------------------------------------------------------- */

/* Rows that begin anywhere: lanes of the producers copy element by element, and one proxy shows it. */
static Kernel *
by_lanes(void)
{
	Text t = { .arena = &arena };
	Kernel *k;
	char *assumed;

	text_printf(&t, frame, cases[0].turn, cases[0].behind);
	assumed = strstr(t.s, "    assume");
	memset(assumed, ' ', strcspn(assumed, "\n"));
	k = infer_kernel(infer_solved(&arena, t.s, "sm_90a", 0));
	pass_wgmma_waits(k);
	ck_assert(kernel_verify(k, "wgmma_waits"));
	return k;
}

static Block *
producers(Kernel *k)
{
	return prove_op(k->body, O_roles, 0)->blk[0];
}

/* What tells of the copies: the arrival at their barrier, in their slot, that expects them. */
static Op *
arrival(Kernel *k)
{
	return prove_op(producers(k), O_mbarrier_arrive, 0);
}

static void
no_proxy(Kernel *k)
{
	op_unlink(prove_op(producers(k), O_fence_proxy_async, 0));
}

static void
late_proxy(Kernel *k)
{
	Op *o = arrival(k), *proxy = op_new(o->parent, o->next, O_fence_proxy_async, o->src, 0, NULL,
					    0, NULL);

	IMM_SET(proxy, space, S_shared);
	no_proxy(k);
}

/* An arrival in front of the proxy, like theirs but for one thing, which tells nothing of them. */
static Op *
another(Kernel *k)
{
	Op *o = arrival(k), *proxy = prove_op(producers(k), O_fence_proxy_async, 0);
	Op *other = op_new(o->parent, proxy, O_mbarrier_arrive, o->src, 2, o->in, 0, NULL);

	memcpy(other->imm, o->imm, sizeof o->imm);
	return other;
}

static void
same_slot(Kernel *k)
{
	another(k);
}

static void
other_slot(Kernel *k)
{
	Op *o = another(k);

	o->in[1] = ir_bin(o->parent, o, O_add, o->in[1], ir_const(o->parent, o, 1));
}

static void
other_barrier(Kernel *k)
{
	another(k)->in[0] = prove_op(prove_op(k->body, O_roles, 0)->blk[1], O_mbarrier_arrive, 0)->in[0];
}

static void
expects_nothing(Kernel *k)
{
	IMM_SET(another(k), expect, 0);
}

static const char hidden[] = "no proxy fence between stores of producer warps and their mbarrier arrive";
static const Corruption told[] = {
	{ "no proxy", no_proxy, hidden },
	{ "a proxy behind the arrival", late_proxy, hidden },
	{ "an arrival in front of the proxy", same_slot, hidden },
	{ "one in another slot", other_slot, NULL },
	{ "one at another barrier", other_barrier, NULL },
	{ "one that expects no copies", expects_nothing, NULL },
};

TEST_EACH(arrivals_tell_of_copies, COUNT_OF(told))
{
	Kernel *k = by_lanes();

	if (told[_i].says) {
		prove_rejects(k, pass_validate_wgmma, &told[_i]);
		return;
	}
	told[_i].corrupt(k);
	prove_clean(k, pass_validate_wgmma);
}
