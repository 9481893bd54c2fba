/* test_layout_text.c - tests that printed layouts parse back to the same layout. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* Random trees of modes, as CuTe nests them. */
static void
rnd_tree(Text *shape, Text *stride, int depth, int *leaves)
{
	if (depth == 0 || rnd_in(0, 2) == 0 || *leaves > 12) {
		text_printf(shape, "%d", (int)rnd_in(1, 5));
		text_printf(stride, "%d", (int)rnd_in(0, 20));
		++*leaves;
		return;
	}
	text_printf(shape, "(");
	text_printf(stride, "(");
	for (int n = (int)rnd_in(1, 3); n > 0; n--) {
		rnd_tree(shape, stride, depth - 1, leaves);
		if (n > 1) {
			text_printf(shape, ",");
			text_printf(stride, ",");
		}
	}
	text_printf(shape, ")");
	text_printf(stride, ")");
}

static bool
same_form(const Layout *a, const Layout *b)
{
	bool same = a->ndim == b->ndim && a->n == b->n && a->nrep == b->nrep &&
	            memcmp(a->first, b->first, (size_t)a->ndim + 1) == 0 &&
	            memcmp(a->offset, b->offset, sizeof a->offset) == 0 &&
	            memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) == 0;

	for (int i = 0; same && i < a->n + a->nrep; i++) {
		const Iter *x = i < a->n ? &a->it[i] : &a->rep[i - a->n];
		const Iter *y = i < a->n ? &b->it[i] : &b->rep[i - a->n];

		same = x->extent == y->extent && x->stride == y->stride && x->axis == y->axis &&
		       x->open == y->open && x->close == y->close;
	}
	return same;
}

TEST(text)
{
	tm_seed = 27;
	for (int k = 0; k < TRIALS; k++) {
		Text s = { .arena = &tm_arena }, t = { .arena = &tm_arena };
		Layout l, back;
		int leaves = 0;
		size_t at;
		const char *p;

		/* CuTe text comes back to the letter */
		rnd_tree(&s, &t, 4, &leaves);
		p = arena_printf(&tm_arena, "%s:%s", s.s, t.s);
		l = lay(p);
		ck_assert_str_eq(show(&l), p);
		/* register layouts come back as the same thing */
		l = rnd_tile((int)rnd_in(1, 4));
		if (rnd_bool())
			l.offset[AX_warp] = rnd_in(-5, 5);
		if (rnd_bool())
			l.offset[AX_mem] = rnd_in(-5, 5);
		if (rnd_in(0, 9) == 0)
			l.swizzle = (Swizzle){ 3, 3, 3 };
		p = show(&l);
		back = lay(p);
		ck_assert_str_eq(show(&back), p);
		TM_MSG(same_form(&back, &l) || layout_is_mem(&l), "%s", p);
		TM(layout_equal(&l, &back));
		/* any cut or changed text is refused or read, never worse; where it stops is inside */
		char buf[512];
		snprintf(buf, sizeof buf, "%s", p);
		size_t n = strlen(buf), cut = (size_t)rnd_in(0, (int64_t)n);
		if (rnd_bool() && n)
			buf[rnd_in(0, (int64_t)n - 1)] = "(),:@+[]<>-0129 regSw"[rnd_in(0, 20)];
		if (!layout_parse(&back, buf, cut, &at))
			TM_INT(at, <=, cut);
		else
			show(&back);
		if (k % 100 == 0)
			arena_free(&tm_arena);
	}
}

TEST(text_forms)
{
	static const char *const bad[] = {
		"",
		"4",
		"4:",
		"(4:1",
		"(4,2):(1)",
		"(4,2):(1,2",
		"(4,2):1",
		"4:1 x",
		"0:1",
		"-2:1",
		"():1",
		"(4,(2,3)):(1,2,3)",
		"4:1@",
		"4:1@lanes",
		"4:1@foo",
		"4:1+[4]",
		"4:1+[2:1@lane",
		"4:1+[2:-1@lane]",
		"Sw<3,3> o 4:1",
		"Sw<3,3,2> o 4:1",
		"Sw<3,3,3> 4:1",
		"Sw<40,3,40> o 4:1",
		"Sw<0,61,0> o 4:1",
		"Sw<1,59,1> o 4:1",
		"Sw<1,59,-1> o 4:1",
		"Sw<0,0,-61> o 4:1",
		"Sw<-1,3,3> o 4:1",
		"Sw<1,-1,3> o 4:1",
		"Sw<3,0,-2> o 4:1",
		"4:1+",
		"99999999999999999999:1",
		"(1073741824,1073741824,1073741824):(1,1,1)",
		"1073741824:1073741824000",
		"(1,1,1,1,1,1,1,1,1):(0,0,0,0,0,0,0,0,0)",
		"(,):(,)",
		"(()):(())",
	};
	static const char *const same[][2] = {
		{ " ( 4 , 8 ) : ( 32 ,1 ) ", "(4,8):(32,1)" },
		{ "(8,(4,2)):(4@lane,(1@lane,1@reg))", "(8,(4,2)):(4@lane,(1@lane,1@reg))" },
		{ "((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg)) + [4:1@warp] + 5@warp",
		  "((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg))+[4:1@warp]+5@warp" },
		{ "Sw<3,3,3> o (8,64):(64,1)", "Sw<3,3,3> o (8,64):(64,1)" },
		{ "Sw<2,0,-2> o 16:1", "Sw<2,0,-2> o 16:1" },
		{ "Sw<0,0,-60> o 16:1", "16:1" },
		{ "Sw<1,58,1> o 16:1", "Sw<1,58,1> o 16:1" },
		{ "Sw<1,0,59> o 16:1", "Sw<1,0,59> o 16:1" },
		{ "Sw<30,0,30> o 16:1", "Sw<30,0,30> o 16:1" },
		{ "4:1+3", "4:1+3@mem" },
		{ "4:-1+3", "4:-1+3@mem" },
		{ "4:1@warp-2@reg", "4:1@warp-2@reg" },
		{ "4:1@warpgroup", "4:1@warpgroup" },
		{ "(4,1):(1@lane,0)", "(4,1):(1@lane,0)" },
		{ "(((1,4),(1,1)),2):(((0,1@reg),(0,0)),1@lane)", "((4),2):((1@reg),1@lane)" },
		{ "(((1,1),4),2):(((0,0),1@reg),1@lane)", "(4,2):(1@reg,1@lane)" },
		{ "():()", "():()" },
		{ "(((2,3),3),2):(((36,1),12),3)", "(((2,3),3),2):(((36,1),12),3)" },
	};
	Layout l;
	size_t at;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		TM_MSG(!layout_parse(&l, bad[i], strlen(bad[i]), &at), "'%s' was read", bad[i]);
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		l = lay(same[i][0]);
		want(&l, same[i][1]);
	}
	TM(!layout_parse(&l, "(4,x):(1,2)", 11, &at));
	TM_INT(at, ==, 3);
}

TEST_PROGRAM(TM_FIXTURE);
