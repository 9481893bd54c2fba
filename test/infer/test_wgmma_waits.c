/* test_wgmma_waits.c - tests pass wgmma_waits: waits are placed at the first use of a result; arrivals that
 * may come an iteration later are delayed; results are unchanged. */
#include "hexc/pass/pass.h"
#include "hexc/ir/verify/verify.h"
#include "infer/core/solution.h"
#include "infer/infer.h"
#include "infer/validate/validate.h"
#include "test/infer/util_infer.h"
#include "test/interp/util_interp.h"
#include "test/util_arena.h"
#include <string.h>

TEST_PROGRAM(ARENA_FIXTURE);

/* Two products a turn, with a hole behind each and behind the loop. */
static const char frame[] =
	"kernel product(A: f16[M, K], B: f16[N, K], C: out f32[M, N], D: out f32[M, N])\n"
	"    assume K %% 8 == 0, N %% 8 == 0\n"
	"    const BM = 64, BN = 32, BK = 32, STAGES = 4, WARPS = 4\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared f16[STAGES, BM, BK], b: shared f16[STAGES, BN, BK];\n"
	"    let c: shared f32[BM, BN];\n"
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
	"                acc += dot(a[s], b[s].T);\n"
	"                %s\n"
	"                arrive empty[s];\n"
	"            }\n"
	"            C[m :+ BM, n :+ BN] = acc;\n"
	"            D[m :+ BM, n :+ BN] = sum;\n"
	"        }\n"
	"    }\n"
	"}\n";

static const struct {
	const char *between;
	/* of a turn: f w c products, d of warps, W a wait with how many left, a; + something else */
	const char *ops;
	const char *late; /* of a turn whose arrivals may come later; NULL: it stays */
} cases[] = {
	{ "", "fwcW0a", "fwcW1(a)" },
	{ "sum += dot(a[s], b[s].T);", "fwcwcW0a", "fwcwcW2(a)" },
	{ "acc += dot(a[s], b[s].T);", "fwcwcW0a", "fwcwcW2(a)" },
	/* the first product is needed while the second is under way */
	{ "let t = dot(a[s], b[s].T); sum = sum * 0.5 + acc; sum += t;", "fwcfwcW1+W0+a", NULL },
	{ "sum = sum * 0.5 + acc;", "fwcW0+a", NULL },
	{ "c[:, :] = acc; barrier; sum += c[:, :];", "fwcW0+a", NULL },
	{ "sum += 1; let t = dot(a[s], b[s].T); sum += t;", "fwc+fwcW0+a", NULL },
	/* the sum in front of a product is needed behind it: a copy is made at a fence, behind a wait */
	{ "let t = acc; acc += dot(a[s], b[s].T); sum += t;", "fwcW0fwc+W0a", NULL },
	{ "sum = acc; sum += dot(a[s], b[s].T);", "fwcW0fwcW0a", NULL },
	/* sums that change places at the end of a turn */
	{ "sum += dot(a[s], b[s].T); let t = acc; acc = sum; sum = t;", "fwcfwcW0a", NULL },
	{ "if turn % 2 == 0 { acc = dot(a[s], b[s].T); } else { acc += dot(a[s], b[s].T); }",
	  "fwcW0(fwcW0)a", NULL },
};

static Kernel *
solved(int i)
{
	Text t = { .arena = &arena };

	text_printf(&t, frame, cases[i].between);
	return infer_solved(&arena, t.s, "sm_90a", 0)->k;
}

static void
turn_words(Text *t, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		switch (o->code) {
		case O_wgmma_fence: text_printf(t, "f"); break;
		case O_wgmma: text_printf(t, "w"); break;
		case O_dot: text_printf(t, "d"); break;
		case O_wgmma_commit: text_printf(t, "c"); break;
		case O_wgmma_wait: text_printf(t, "W%lld", (long long)IMM(o, pending)); break;
		case O_mbarrier_arrive: text_printf(t, "a"); break;
		case O_if:
			text_printf(t, "(");
			turn_words(t, o->blk[0]);
			text_printf(t, ")");
			break;
		default:
			if (op_is(o, F_ELT) && o->out[0]->type.space == S_reg && t->n &&
			    t->s[t->n - 1] != '+')
				text_printf(t, "+");
		}
	}
}

static const Op *
consumers_loop(const Kernel *k)
{
	const Op *o = kernel_roles(k)->blk[1]->first;

	while (o->code != O_for)
		o = o->next;
	return o;
}

static void
check(Kernel *k, const char *words)
{
	Text t = { .arena = &arena };

	ck_assert(kernel_verify(k, "wgmma_waits"));
	pass_validate(k);
	ck_assert_msg(k->unit->diag->nerror == 0, "%s", k->unit->diag->n ? k->unit->diag->msg[0].text : "");
	turn_words(&t, consumers_loop(k)->blk[0]);
	ck_assert_str_eq(t.s, words);
}

static Run
launched(Kernel *k, const char *sizes)
{
	Run r = { .u = k->unit, .k = k };

	run_setup(&r, k, sizes, 7);
	run_ok(&r, NULL);
	return r;
}

static Op *
release(const Kernel *k)
{
	Op *o = consumers_loop(k)->blk[0]->last;

	while (o->code != O_mbarrier_arrive)
		o = o->prev;
	return o;
}

static const char *const sizes[] = { "M=64 N=32 K=0", "M=70 N=40 K=32", "M=64 N=32 K=96", "M=64 N=72 K=360" };

TEST_EACH(where_it_is_needed, COUNT_OF(cases))
{
	Kernel *plain = solved(_i), *k = kernel_copy(plain);

	ck_assert(pass_wgmma_waits(k));
	check(k, cases[_i].ops);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		Run a = launched(plain, sizes[i]), b = launched(k, sizes[i]);

		run_same(&a, &b, sizes[i]);
	}
}

TEST_EACH(a_turn_later, COUNT_OF(cases))
{
	Kernel *plain = solved(_i), *k = kernel_copy(plain);
	const Op *behind;

	IMM_SET(release(k), sinkable, 1);
	ck_assert(pass_wgmma_waits(k));
	check(k, cases[_i].late ? cases[_i].late : cases[_i].ops);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		Run a = launched(plain, sizes[i]), b = launched(k, sizes[i]);

		run_same(&a, &b, sizes[i]);
	}
	if (!cases[_i].late)
		return;
	for (behind = consumers_loop(k)->next; behind->code != O_wgmma_wait; behind = behind->next)
		;
	ck_assert_int_eq(IMM(behind, pending), 0);
}

/* Warps that multiply by themselves say that they have read before they multiply what they read last; of a
 * product of one step before all of it. */
TEST_EACH(when_it_is_read, 3)
{
	static const struct {
		const char *between, *depth, *early, *late;
	} way[] = {
		{ "", "BK = 32", "dad", "da" },
		{ "", "BK = 16", "ad", "da" },
		{ "sum = acc; sum += dot(a[s], b[s].T);", "BK = 32", "ddad", "dda" },
	};
	Text t = { .arena = &arena };
	Kernel *plain, *k;
	char *depth;

	text_printf(&t, frame, way[_i].between);
	depth = strstr(t.s, "BK = 32");
	ck_assert_ptr_nonnull(depth);
	memcpy(depth, way[_i].depth, 7);
	plain = infer_solved(&arena, t.s, "sm_120a", 0)->k;
	for (int movable = 0; movable < 2; movable++) {
		k = kernel_copy(plain);
		IMM_SET(release(k), sinkable, movable);
		ck_assert(pass_wgmma_waits(k));
		check(k, movable ? way[_i].early : way[_i].late);
		pass_validate_wgmma(k);
		ck_assert_int_eq(k->unit->diag->nerror, 0);
		for (size_t i = 0; i < COUNT_OF(sizes); i++) {
			Run a = launched(plain, sizes[i]), b = launched(k, sizes[i]);

			run_same(&a, &b, sizes[i]);
		}
	}
}

/* Of producers one thread arrives; of consumers each warpgroup, or each warp where warps read by
 * themselves what copies bring. */
TEST(arrivals)
{
	Kernel *k;
	OpWalk w;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		k = solved((int)i);
		pass_wgmma_waits(k);
		for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
			if (o->code == O_mbarrier_arrive)
				ck_assert_int_eq(IMM(o, arrive_count), 1);
	}
	k = infer_solved(&arena,
	                 "kernel copy(A: f16[M, 64], C: out f16[M, 64])\n"
	                 "    const WARPS = 8\n"
	                 "{\n"
	                 "    grid(ceil(M, 64));\n"
	                 "    let m = block.x * 64, a: shared f16[64, 64];\n"
	                 "    let full: mbarrier[1] = 1, empty: mbarrier[1] = 1;\n"
	                 "    roles {\n"
	                 "        producer warps 4 {\n"
	                 "            async copy(A[m :+ 64, :], a, full[0]);\n"
	                 "            arrive full[0];\n"
	                 "            await empty[0], 0;\n"
	                 "        }\n"
	                 "        consumer warps WARPS {\n"
	                 "            await full[0], 0;\n"
	                 "            let x: register = a[:, :];\n"
	                 "            arrive empty[0];\n"
	                 "            C[m :+ 64, :] = x;\n"
	                 "        }\n"
	                 "    }\n"
	                 "}\n",
	                 "sm_90a", 0)->k;
	pass_wgmma_waits(k);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive)
			ck_assert_int_eq(IMM(o, arrive_count), op_role(o) == ROLE_CONSUMER ? 8 : 1);
}

/* What lanes copy by themselves is ordinary writing: who waited for it says so to the engine. */
TEST(copies_by_lanes)
{
	Text t = { .arena = &arena };
	const Op *wait;
	Kernel *k;
	char *rows;

	text_printf(&t, frame, "");
	rows = strstr(t.s, "K % 8 == 0, ");
	ck_assert_ptr_nonnull(rows);
	memcpy(rows, "K % 4 == 0, ", 12); /* no multiple of 16 bytes */
	k = infer_solved(&arena, t.s, "sm_90a", 0)->k;
	ck_assert(pass_wgmma_waits(k));
	wait = consumers_loop(k)->blk[0]->first;
	while (wait->code != O_mbarrier_wait)
		wait = wait->next;
	ck_assert_int_eq(wait->next->code, O_fence_proxy_async);
	check(k, cases[0].ops);
	op_unlink(wait->next);
	pass_validate_wgmma(k);
	ck_assert_int_eq(k->unit->diag->nerror, 1);
}
