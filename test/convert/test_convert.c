/* test_convert.c - tests how layout conversions are classified: the class that convert.c assigns to each
 * mode. */
#include "infer/core/cost_constants.h"
#include "infer/core/sm_throughput.h"
#include "infer/convert/convert.h"
#include "infer/search.h"
#include "test/infer/util_infer.h"
#include "test/interp/util_interp.h"
#include "test/ir/util_unit.h"
#include "test/util_file.h"
#include "test/util_layout.h"

#define PINNED "test/infer/reductions/pinned.hexc"

enum { WARPS = 2 };

static const struct {
	int64_t shape[2];
	const char *from, *to;
	LoweringKind kind;
} way[] = {
	{ { 32, 4 }, "(32,(2,2)):(1@lane,(1@reg,2@reg))+[2:1@warp]",
	  "(32,(2,2)):(1@lane,(2@reg,1@reg))+[2:1@warp]", LW_rename },
	{ { 16, 2 }, "(16,2):(1@lane,1@reg)+[2:16@lane]+[2:1@warp]",
	  "(16,2):(1@lane,16@lane)+[2:1@warp]", LW_select },
	{ { 32, 2 }, "(32,2):(1@lane,1@reg)+[2:1@warp]", "((2,16),2):((16@lane,1@lane),1@reg)+[2:1@warp]",
	  LW_shuffle },
	/* a warp has registers and lanes of its own, and which of a thread's registers is static */
	{ { 32, 2 }, "(32,2):(1@lane,1@warp)", "(32,2):(1@lane,1@reg)+[2:1@warp]", LW_shared },
	{ { 32, 2 }, "(32,2):(1@lane,1@reg)+[2:1@warp]", "(32,2):(1@lane,1@warp)", LW_shared },
};

TEST_EACH(means, COUNT_OF(way))
{
	Type t = type_tile(D_f32, S_reg, 2, way[_i].shape);
	Unit unit = { .arena = u->arena, .target = target_find("sm_80") };
	Kernel kernel = { .unit = &unit, .warps = WARPS };
	Solve s = { .k = &kernel, .arena = u->arena, .rates = rates_of(unit.target) };
	const Layout from = layout_of(way[_i].from), to = layout_of(way[_i].to);
	Res res = { 0 };
	const Lowering *p = lowering_convert(&s, &t, &from, &to, &res);

	ck_assert_int_eq(p->kind, way[_i].kind);
}

/* Lanes that have every 32nd element get 8 neighbours each: by shuffles every word would be sent 8 times, of
 * which one is wanted, and 32 of them come by less through shared memory.  What is a butterfly stays one. */
TEST(lanes_meet_where_that_costs_less)
{
	Type t = type_tile(D_f32, S_reg, 1, (int64_t[]){ 1024 });
	Unit unit = { .arena = u->arena, .target = target_find("sm_80") };
	Kernel kernel = { .unit = &unit, .warps = 1 };
	Solve s = { .k = &kernel, .arena = u->arena, .rates = rates_of(unit.target) };
	const Layout apart = layout_of("((32,32)):((1@lane,1@reg))");
	const Layout eights = layout_of("((8,32,4)):((1@reg,1@lane,8@reg))");
	const Layout traded = layout_of("((2,16,2,16)):((1@reg,1@lane,16@lane,2@reg))");
	const Layout plain = layout_of("((32,2,16)):((1@lane,1@reg,2@reg))");
	Res res = { 0 }, other = { 0 };
	const Lowering *p = lowering_convert(&s, &t, &apart, &eights, &res);

	ck_assert_int_eq(p->kind, LW_shared);
	ck_assert_int_eq(lowering_convert(&s, &t, &plain, &traded, &other)->kind, LW_shuffle);
}

/* Elements of a word from any lanes and registers to any: no more than if each went alone and none
 * waited. */
TEST(no_conflicts)
{
	Type t = type_tile(D_f32, S_reg, 2, (int64_t[]){ 32, 32 });
	Unit unit = { .arena = u->arena, .target = target_find("sm_80") };
	Kernel kernel = { .unit = &unit, .warps = 1 };
	Solve s = { .k = &kernel, .arena = u->arena, .rates = rates_of(unit.target) };
	uint64_t seed = 1;

	for (int round = 0; round < 100; round++) {
		Layout l[2];
		Staging p;
		int64_t waves[2];
		double cost;

		for (int side = 0; side < 2; side++) {
			int bit[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

			layout_init(&l[side], 2);
			for (int i = 0; i < 10; i++) {
				int j = i + (int)(run_random(&seed) % (uint64_t)(10 - i)), b = bit[j];

				bit[j] = bit[i];
				ck_assert(layout_push(&l[side], i / 5, 2, (int64_t)1 << b % 5,
				                      b < 5 ? AX_lane : AX_reg));
			}
			layout_canon(&l[side]);
		}
		stage_find(&s, &t, &l[0], &l[1], false, &p, waves);
		cost = (double)(waves[0] + waves[1]) +
		       INSTRUCTION_SHARE * (32.0 / p.write.vec + 32.0 / p.read.vec);
		ck_assert_msg(cost <= (1 + INSTRUCTION_SHARE) * 64, "%s to %s: %d and %d wavefronts",
		              layout_print(u->arena, &l[0]), layout_print(u->arena, &l[1]), (int)waves[0],
		              (int)waves[1]);
	}
}

/* Parts of several warps: side by side by result or by warp, whichever is cheaper.  Lanes that have two rows
 * of a result write and read both at once only where the parts of a warp are together. */
TEST(parts_of_warps)
{
	const char *source = file_read(PINNED, NULL);
	const Kernel *k = infer_solved(u->arena, source, "sm_80", 0)->k;
	const Op *found = NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o && !found; o = walk_next(&w))
		found = o->code == O_reduce_sum ? o : NULL;
	ck_assert(found && found->lowering->kind == LW_reduce_shared);
	ck_assert_int_eq(found->lowering->staged.write.vec, 2);
	ck_assert_int_eq(found->lowering->staged.read.vec, 2);
}

TEST_PROGRAM(UNIT_FIXTURE);
