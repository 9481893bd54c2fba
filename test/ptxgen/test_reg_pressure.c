/* test_reg_pressure.c - tests the register pressure of PTX: what counts, loops, other orders, roles. In C:
 * the numbers are in no output. */
#include "ptxgen/reg_pressure.h"
#include "test/check.h"
#include "test/util_arena.h"

TEST_PROGRAM(ARENA_FIXTURE);

/* Of an entry with this body and, in front of it, these directives. */
static Pressure
of(const char *directives, const char *body)
{
	static const char entry[] = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n"
				    ".reqntid 128, 1, 1\n%s{\n"
				    "\t.reg .pred %%p<9>;\n\t.reg .b16 %%rs<9>;\n"
				    "\t.reg .b32 %%r<40>;\n\t.reg .b64 %%rd<9>;\n\n%s\n\tret;\n}\n";

	return ptx_pressure(&arena, target_find("sm_80"), arena_printf(&arena, entry, directives, body), "k");
}

static int
live(const char *body)
{
	return of("", body).live;
}

#define LANE "\tmov.u32 %r1, %tid.x;\n"

TEST(values_live_from_what_writes_them_to_the_last_reader)
{
	ck_assert_int_eq(live(LANE "\tadd.s32 %r2, %r1, 1;\n\tst.global.b32 [%rd1], %r2;\n"), 1);
	ck_assert_int_eq(live(LANE "\tadd.s32 %r2, %r1, 1;\n\tadd.s32 %r3, %r1, 2;\n"
	                      "\tadd.s32 %r4, %r2, %r3;\n"
	                      "\tst.global.v2.b32 [%rd1], {%r4, %r1};\n"),
	                 3);
}

TEST(what_nobody_reads_is_there_for_its_writer)
{
	ck_assert_int_eq(live(LANE "\t{ ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
	                      "{%r2, %r3, %r4, %r5}, [%r1]; }\n"
	                      "\tst.global.b32 [%rd1], %r1;\n"),
	                 5);
}

TEST(registers_have_their_sizes)
{
	ck_assert_int_eq(live(LANE "\tmul.wide.s32 %rd2, %r1, 4;\n\tst.global.b32 [%rd2], 0;\n"), 2);
	ck_assert_int_eq(live(LANE "\tmov.b32 {%rs1, %rs2}, %r1;\n"
	                      "\tst.global.v2.b16 [%rd1], {%rs1, %rs2};\n"), 1);
	ck_assert_int_eq(live(LANE "\tsetp.eq.s32 %p1, %r1, 0;\n\t@%p1 st.global.b32 [%rd1], 0;\n"), 1);
}

TEST(what_a_warp_shares_and_copies_count_nothing)
{
	ck_assert_int_eq(live("\tld.param.b64 %rd2, [k_param_0];\n\tmov.u32 %r2, %ctaid.x;\n"
	                      "\tmul.wide.s32 %rd3, %r2, 4;\n"
	                      "\tadd.s64 %rd4, %rd2, %rd3;\n\tst.global.b32 [%rd4], %r2;\n"),
	                 0);
	ck_assert_int_eq(live(LANE "\tmov.b32 %r2, %r1;\n\tmov.b32 %r3, %r2;\n"
	                      "\tst.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r1};\n"),
	                 1);
}

TEST(a_loop_keeps_what_is_read_behind_it_and_hands_on)
{
	/* %r2 is read behind the loop, %r3 goes from turn to turn */
	ck_assert_int_eq(live(LANE "\tadd.s32 %r2, %r1, 1;\n\tmov.b32 %r3, %r1;\n$L__BB0_1:\n"
	                      "\tadd.s32 %r3, %r3, 5;\n\tadd.s32 %r4, %r3, 1;\n\tst.global.b32 [%rd1], %r4;\n"
	                      "\tsetp.lt.s32 %p1, %r3, 9;\n\t@%p1 bra \t$L__BB0_1;\n"
	                      "\tst.global.b32 [%rd1], %r2;\n"),
	                 3);
}

/* %r3 is what %r2 was: both are read, the one in the next turn and the other behind the loop, in one
 * register; where %r2 is written anew, or there is more to be read, that takes two. */
static int
handed_on(const char *before, const char *after, const char *behind)
{
	return live(arena_printf(&arena, "%s%s%s%s%s%s",
	                         LANE "\tmov.b32 %r3, %r1;\n$L__BB0_1:\n\tadd.s32 %r2, %r3, 5;\n"
	                         "\tsetp.lt.s32 %p1, %r2, 9;\n",
	                         before, "\tmov.b32 %r3, %r2;\n", after, "\t@%p1 bra \t$L__BB0_1;\n",
	                         behind));
}

TEST(what_is_handed_on_and_read_behind_the_loop_has_one_register)
{
	ck_assert_int_eq(handed_on("", "", "\tst.global.b32 [%rd1], %r2;\n"), 1);
	ck_assert_int_eq(handed_on("", "\tadd.s32 %r2, %r2, 1;\n", "\tst.global.b32 [%rd1], %r2;\n"), 2);
	ck_assert_int_eq(handed_on("\tadd.s32 %r4, %r3, 1;\n", "",
	                           "\tst.global.v2.b32 [%rd1], {%r2, %r4};\n"),
	                 2);
}

/* Thirty loads in front of all that is made of them: so many live, but one is enough. */
TEST(another_order_needs_fewer)
{
	Text t = { .arena = &arena };
	Pressure p;

	text_printf(&t, "%s", LANE);
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tadd.s32 %%r%d, %%r1, %d;\n", i, i);
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tst.global.b32 [%%rd1], %%r%d;\n", i);
	p = of(".maxnreg 24\n", t.s);
	ck_assert_int_eq(p.live, 30);
	ck_assert_int_eq(p.least, 2);
	ck_assert_int_eq(p.limit, 24);
	p = of("", t.s); /* there are enough: nobody looks */
	ck_assert_int_eq(p.least, 30);
	ck_assert_int_eq(p.limit, LANE_REGISTERS);
}

/* The same with a trap in between, which is never taken: all live there. */
TEST(nothing_changes_places_with_a_trap)
{
	Text t = { .arena = &arena };
	Pressure p;

	text_printf(&t, "%s", LANE);
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tadd.s32 %%r%d, %%r1, %d;\n", i, i);
	text_printf(&t, "\t{ .reg .pred p; setp.eq.u32 p, %%r1, 9999; @p trap; }\n");
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tst.global.b32 [%%rd1], %%r%d;\n", i);
	p = of(".maxnreg 24\n", t.s);
	ck_assert_int_eq(p.least, 30);
	ck_assert_int_eq(p.limit, 24);
}

/* Sums of what loads bring, and behind a barrier of what is made of each and its part in the first: from the
 * end all wait for both, from the begin what a load brings is used up before the next. */
TEST(an_order_from_the_begin_needs_fewer)
{
	Text t = { .arena = &arena };
	Pressure p;

	text_printf(&t, "%s\tadd.s32 %%r2, %%r1, 1;\n\tadd.s32 %%r3, %%r1, 2;\n", LANE);
	for (int i = 4; i < 16; i += 4)
		text_printf(&t, "\tld.global.v4.b32 {%%r%d, %%r%d, %%r%d, %%r%d}, [%%rd1+%d];\n", i, i + 1,
		            i + 2, i + 3, 4 * i);
	for (int i = 4; i < 16; i++)
		text_printf(&t, "\tmul.lo.s32 %%r%d, %%r%d, 3;\n\tadd.s32 %%r2, %%r2, %%r%d;\n", i + 12, i,
		            i + 12);
	text_printf(&t, "\tst.shared.b32 [%%r1], %%r2;\n\tbar.sync 0;\n");
	for (int i = 4; i < 16; i++)
		text_printf(&t, "\tsub.s32 %%r%d, %%r%d, %%r%d;\n\tadd.s32 %%r3, %%r3, %%r%d;\n", i + 24, i,
		            i + 12, i + 24);
	text_printf(&t, "\tst.shared.b32 [%%r1], %%r3;\n");
	p = of(".maxnreg 16\n", t.s);
	ck_assert_int_ge(p.live, 24);
	ck_assert_int_le(p.least, 12);
}

/* Stores stay where they are, and loads between them; so all values are there at the barrier. */
TEST(an_order_that_memory_forbids_is_not_tried)
{
	Text t = { .arena = &arena };

	text_printf(&t, "%s", LANE);
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tld.shared.b32 %%r%d, [%%r1+%d];\n", i, 4 * i);
	text_printf(&t, "\tbar.sync 0;\n");
	for (int i = 2; i < 32; i++)
		text_printf(&t, "\tst.shared.b32 [%%r1+%d], %%r%d;\n", 4 * i, 33 - i);
	ck_assert_int_eq(of(".maxnreg 24\n", t.s).least, 31);
}

/* The part that is worst off is told, with what it was handed. */
TEST(roles_have_what_they_are_handed)
{
	Pressure p = of(".maxnreg 32\n", LANE "\tsetp.lt.s32 %p1, %r1, 128;\n"
	                "\t@%p1 bra \t$L__BB0_2;\n"
	                "\tsetmaxnreg.inc.sync.aligned.u32 40;\n"
	                "\tld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];\n"
	                "\tst.global.v4.b32 [%rd1], {%r2, %r3, %r4, %r5};\n"
	                "\tbra.uni \t$L__BB0_3;\n$L__BB0_2:\n"
	                "\tsetmaxnreg.dec.sync.aligned.u32 8;\n"
	                "\tld.global.v2.b32 {%r6, %r7}, [%rd1];\n"
	                "\tst.global.v2.b32 [%rd1], {%r6, %r7};\n$L__BB0_3:\n");

	ck_assert_int_eq(p.limit, 8);
	ck_assert_int_eq(p.live, 2);
}

TEST(an_entry_that_is_not_there)
{
	static const char other[] = ".visible .entry other()\n{\n\tret;\n}\n";

	ck_assert_int_eq(ptx_pressure(&arena, target_find("sm_80"), other, "k").limit, 0);
}

/* ---- what ptxas takes ------------------------------------------------------------------------------- */

/* n loads of 32 bits, each in front of what adds it to the sum, and beside them `more` values that live all
 * the time: a store is between the loads that bring them and what they are for. */
static int
used_by_loads(const char *arch, const char *directives, int n, int more)
{
	Text t = { .arena = &arena };

	text_printf(&t, ".visible .entry k(\n)\n.reqntid 256, 1, 1\n%s{\n", directives);
	text_printf(&t, "\t.reg .b32 %%r<400>;\n\tmov.u32 %%r1, %%tid.x;\n");
	for (int i = 0; i < more; i++)
		text_printf(&t, "\tld.global.b32 %%r%d, [%%r1+%d];\n", 100 + i, 4 * i);
	text_printf(&t, "\tst.global.b32 [%%r1], 0;\n");
	for (int i = 0; i < n; i++)
		text_printf(&t, "\tld.global.nc.b32 %%r%d, [%%r1+%d];\n\tadd.s32 %%r90, %%r90, %%r%d;\n",
		            2 + i, 4 * i, 2 + i);
	for (int i = 0; i < more; i++)
		text_printf(&t, "\tadd.s32 %%r90, %%r90, %%r%d;\n", 100 + i);
	text_printf(&t, "\tst.global.b32 [%%r1], %%r90;\n\tret;\n}\n");
	return ptx_pressure(&arena, target_find(arch), t.s, "k").used;
}

TEST(loads_are_under_way_together)
{
	int one = used_by_loads("sm_80", "", 1, 0), eight = used_by_loads("sm_80", "", 8, 0);

	ck_assert_int_eq(eight - one, 7);
}

/* 64 warps on an SM of sm_80 have 32 registers of a lane, and 48 on one of sm_86 have 40: with no more than
 * that loads cost no block. */
TEST(loads_cost_no_block)
{
	ck_assert_int_eq(used_by_loads("sm_80", "", 60, 0), 32);
	ck_assert_int_eq(used_by_loads("sm_86", "", 60, 0), 40);
}

/* What has to live has its registers; with 8 warps and more than 80 of them there are 2 blocks, of 128. */
TEST(what_lives_says_how_many_blocks_there_are)
{
	int used = used_by_loads("sm_80", "", 60, 90);

	ck_assert_int_gt(used, 90);
	ck_assert_int_le(used, 128);
	ck_assert_int_eq(used_by_loads("sm_80", ".maxnreg 104\n", 60, 90), 104);
}

TEST(turns_of_a_short_loop_are_under_way_together)
{
	static const char loop[] = LANE
		"$L_1:\n\tld.global.b32 %r2, [%r1];\n\tadd.s32 %r3, %r3, %r2;\n"
		"\tadd.s32 %r1, %r1, 4;\n\tsetp.lt.s32 %p1, %r1, 99;\n\t@%p1 bra $L_1;\n"
		"\tst.global.b32 [%r1], %r3;\n";
	static const char straight[] = LANE
		"\tld.global.b32 %r2, [%r1];\n\tadd.s32 %r3, %r3, %r2;\n"
		"\tadd.s32 %r1, %r1, 4;\n\tst.global.b32 [%r1], %r3;\n";

	ck_assert_int_gt(of("", loop).used, of("", straight).used);
}

TEST(of_roles_nobody_knows)
{
	static const char body[] = LANE "\tsetmaxnreg.dec.sync.aligned.u32 40;\n"
				   "\tst.global.b32 [%r1], %r1;\n";

	ck_assert_int_eq(of("", body).used, 0);
}

/* ---- how long it takes ------------------------------------------------------------------------------- */

typedef enum Growing { CHAIN, INDEPENDENT, LOADS, BRANCHES, LOOPS, OVER_LOOPS, NGROWING } Growing;

/* Statement or piece i of n, whose result is register 10 + i. */
static void
grow(Text *t, Growing kind, int i, int n)
{
	int r = 10 + i;

	switch (kind) {
	case CHAIN: text_printf(t, "\tadd.s32 %%r%d, %%r%d, 1;\n", r, i ? r - 1 : 1); return;
	case INDEPENDENT: text_printf(t, "\tadd.s32 %%r%d, %%r1, %d;\n", r, i); break;
	case LOADS: text_printf(t, "\tld.global.b32 %%r%d, [%%r1+%d];\n", r, 4 * i); break;
	case BRANCHES:
		text_printf(t, "\tsetp.lt.s32 %%p1, %%r1, %d;\n\t@%%p1 bra $L_b%d;\n"
		               "\tadd.s32 %%r2, %%r2, 1;\n$L_b%d:\n", i, i, i);
		return;
	case LOOPS:
	case OVER_LOOPS: /* each adds what the one before has left, or the first of all that come behind it */
		text_printf(t, "\tmov.b32 %%r%d, %%r1;\n$L_b%d:\n\tadd.s32 %%r%d, %%r%d, %%r%d;\n"
		               "\tsetp.lt.s32 %%p1, %%r%d, 9;\n\t@%%p1 bra $L_b%d;\n",
		            r, i, r, r, !i ? 1 : kind == LOOPS ? r - 1 : 10 + (i - 1) / 2 * 2, r, i);
		return;
	case NGROWING: return;
	}
	if (i == n - 1) /* all of them are added up */
		for (int j = 0; j < n; j++)
			text_printf(t, "\tadd.s32 %%r2, %%r2, %%r%d;\n", 10 + j);
}

static Pressure
grown(Growing kind, int n)
{
	Text t = { .arena = &arena };

	text_printf(&t, ".visible .entry k(\n)\n.reqntid 256, 1, 1\n{\n\t.reg .pred %%p<4>;\n"
	                "\t.reg .b32 %%r<%d>;\n"
	                "\tmov.u32 %%r1, %%tid.x;\n\tmov.u32 %%r2, %%tid.y;\n", n + 10);
	for (int i = 0; i < n; i++)
		grow(&t, kind, i, n);
	text_printf(&t, "\tst.global.b32 [%%r2], %%r2;\n\tst.global.b32 [%%r1], %%r%d;\n\tret;\n}\n", 9 + n);
	return ptx_pressure(&arena, target_find("sm_80"), t.s, "k");
}

/* Twice as much text is twice as much work, and a little: heaps are deeper.  All of them need more registers
 * than there are, or none does: other orders are looked for or not. */
TEST_EACH(work_grows_as_the_text_does, NGROWING)
{
	int64_t before = grown((Growing)_i, 300).work;

	ck_assert_int_gt(before, 300);
	for (int n = 600; n <= 2400; n *= 2) {
		int64_t work = grown((Growing)_i, n).work;

		ck_assert_msg(work <= before * 23 / 10, "kind %d: %d pieces: %lld, half as many: %lld", _i, n,
		              (long long)work, (long long)before);
		before = work;
	}
}

/* What lives is counted from part to part: r1, r2, the counter and what is added to it. */
TEST(values_that_live_over_loops)
{
	ck_assert_int_eq(grown(LOOPS, 500).live, 4);
	ck_assert_int_eq(grown(BRANCHES, 500).live, 2);
	ck_assert_int_eq(grown(INDEPENDENT, 100).live, 102);
	ck_assert_int_eq(grown(INDEPENDENT, 400).least, 3);
}
