/* test_matrix.c - tests conversions through shared memory with and without stmatrix and ldmatrix: what
 * inference selects for a target is validated, run on the simulator, and its cost compared with the scalar
 * path. */
#include "hexc/pass/pass.h"
#include "infer/convert/convert.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include "test/util_layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, TILE = SIDE * SIDE, WARPS = 4 };

/* Fragments of 64 x 64 over 4 warps: accumulators of m16n8, their transpose, A of 8 and 32 bits; and rows. */
#define FRAG "((8,2,2,2),(2,4,4,2)):((4@lane,2@reg,16@reg,1@warp),(1@reg,1@lane,4@reg,2@warp))"
#define TURN "((2,4,4,2),(8,2,2,2)):((1@reg,1@lane,4@reg,2@warp),(4@lane,2@reg,16@reg,1@warp))"
#define FRAG8 "((8,2,4),(4,4,2,2)):((4@lane,4@reg,1@warp),(1@reg,1@lane,8@reg,16@reg))"
#define FRAG32 "((8,2,4),(4,2,8)):((4@lane,1@reg,1@warp),(1@lane,2@reg,4@reg))"
#define ROWS "((4,4,4),(8,8)):((8@lane,1@warp,8@reg),(1@reg,1@lane))"
#define ROWS8 "((8,4,2),(16,4)):((4@lane,1@warp,16@reg),(1@reg,1@lane))"
#define ROWS32 "((2,4,8),(4,16)):((16@lane,1@warp,4@reg),(1@reg,1@lane))"
/* the same data in two warps each */
#define TWICE "((8,2,2,2),(2,4,4,2)):((4@lane,2@reg,32@reg,2@warp),(1@reg,1@lane,4@reg,16@reg))+[2:1@warp]"

static const struct Way {
	const char *arch, *type, *from, *to, *wr, *rd;
} way[] = {
	{ "sm_90a", "f16", FRAG, ROWS, "stmatrix_x4", NULL },
	{ "sm_90a", "bf16", TURN, ROWS, "stmatrix_x4_trans", NULL },
	{ "sm_90a", "f16", ROWS, FRAG, NULL, "ldmatrix_x4" },
	{ "sm_80", "u16", ROWS, FRAG, NULL, "ldmatrix_x4" },
	{ "sm_75", "f16", ROWS, TURN, NULL, "ldmatrix_x4_trans" },
	{ "sm_90a", "f16", FRAG, TURN, "stmatrix_x4_trans", "ldmatrix_x4" },
	{ "sm_90a", "i8", FRAG8, ROWS8, "stmatrix_x4", NULL },
	{ "sm_89", "u8", ROWS8, FRAG8, NULL, "ldmatrix_x4" },
	{ "sm_90a", "f32", FRAG32, ROWS32, "stmatrix_x4", NULL },
	{ "sm_80", "i32", ROWS32, FRAG32, NULL, "ldmatrix_x4" },
	/* no matrices: half the lanes' neighbours are in memory too; and before sm_90 nothing stores them */
	{ "sm_80", "f16", FRAG, ROWS, NULL, NULL },
	{ "sm_90a", "i64", FRAG, ROWS, NULL, NULL },
};

/* What inference takes on a target that has no other features than these. */
static Staging
choice(const struct Way *w, unsigned features)
{
	const int64_t shape[2] = { SIDE, SIDE };
	Type type = type_tile(dtype_find(w->type, strlen(w->type)), S_reg, 2, shape);
	Target target = *target_find(w->arch);
	Unit unit = { .arena = u->arena, .target = &target };
	Kernel kernel = { .unit = &unit, .warps = WARPS };
	Solve s = { .k = &kernel, .arena = u->arena };
	const Layout from = layout_of(w->from), to = layout_of(w->to);
	Staging p;
	int64_t waves[2];

	target.features &= features;
	stage_find(&s, &type, &from, &to, true, &p, waves);
	return p;
}

static void
side_text(Text *t, const char *word, const LoweredAccess *a)
{
	text_printf(t, " %s {", word);
	if (a->inst)
		text_printf(t, " inst %s", a->inst);
	text_printf(t, " vec %d", a->vec);
	if (a->map)
		text_printf(t, " map {%s}", layout_print(t->arena, a->map));
	text_printf(t, " }");
}

/* A is loaded as `from`, converted as p says, stored as `to`. */
static const char *
kernel_text(const struct Way *w, const Staging *p)
{
	Text t = { u->arena, NULL, 0, 0 };
	int bits = dtype_info[dtype_find(w->type, strlen(w->type))].bits;

	text_printf(
		&t,
		"kernel t {\n  warps %d\n  smem %d\n"
		"  param %%1.A tensor A : global %s[?, ?] read size %%3, %%6 stride %%6, %%7\n"
		"  param %%2.C tensor C : global %s[?, ?] written size %%3, %%6 stride %%6, %%7\n"
		"  param %%3.M size M : i64 mult 64 lo 1 hi 100000\n"
		"  grid {\n    %%4 = const value 1 : i64\n    yield %%4, %%4, %%4\n  }\n"
		"  body {\n    %%6 = const value 64 : i64\n    %%7 = const value 1 : i64\n"
		"    %%10 = const value 0 : i64\n    %%12 = view %%1, %%10, %%10 : global %s[64, 64]\n"
		"    %%20 = load %%12 : reg %s[64, 64] @{%s} lowering { access inst ld_global_%d vec 1 }\n",
		WARPS, (int)p->bytes, w->type, w->type, w->type, w->type, w->from, bits);
	text_printf(&t, "    %%21 = convert_layout %%20 : reg %s[64, 64] @{%s} lowering { shared",
	            w->type, w->to);
	side_text(&t, "write", &p->write);
	side_text(&t, "read", &p->read);
	text_printf(&t,
	            " tile {%s} bytes %d off 0 }\n    %%91 = view %%2, %%10, %%10 : global %s[64, 64]\n"
	            "    store %%21, %%91 lowering { access inst st_global_%d vec 1 }\n    yield\n  }\n}\n",
	            layout_print(u->arena, p->tile), (int)p->bytes, w->type, bits);
	return t.s;
}

static bool
proved(const char *text)
{
	Unit *v = ir_unit();
	Kernel *k;
	bool ok;

	v->target = u->target;
	k = kernel_read(v, text, strlen(text));
	ck_assert_msg(k != NULL, "%s", text);
	pass_validate(k);
	ok = v->diag->nerror == 0;
	ir_unit_free(v);
	return ok;
}

typedef struct Count {
	int accesses;
	PtxCounts run;
} Count;

static Count
run(const struct Way *w, const Staging *p)
{
	const char *text = kernel_text(w, p), *ptx;
	size_t bytes = (size_t)TILE * dtype_info[dtype_find(w->type, strlen(w->type))].bits / 8;
	unsigned char *a = arena_alloc(u->arena, bytes), *c = arena_alloc(u->arena, bytes);
	PtxArg arg[3] = { { a, bytes, 0 }, { c, bytes, 0 }, { NULL, 0, SIDE } };
	uint32_t seed = 5;
	Count n;

	for (size_t i = 0; i < bytes; i++)
		a[i] = (unsigned char)ptx_random(&seed, 256);
	memset(c, 0, bytes);
	ck_assert_msg(proved(text), "%s", text);
	ptx = ptx_of(u, text);
	n.accesses = ptx_count(ptx, "st.shared") + ptx_count(ptx, "ld.shared") + ptx_count(ptx, "stmatrix") +
	             ptx_count(ptx, "ldmatrix");
	ck_assert_int_eq(ptx_count(ptx, "stmatrix") > 0, p->write.inst != NULL);
	ck_assert_int_eq(ptx_count(ptx, "ldmatrix") > 0, p->read.inst != NULL);
	ptx_run(u, text, (const uint32_t[3]){ 1, 1, 1 }, arg, 3, &n.run);
	ck_assert_mem_eq(a, c, bytes);
	return n;
}

static bool
named(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

TEST_EACH(ways, COUNT_OF(way))
{
	const struct Way *w = &way[_i];
	Staging plain, best;
	Count n, m;

	u->target = target_find(w->arch);
	plain = choice(w, ~(unsigned)(T_LDMATRIX | T_STMATRIX));
	best = choice(w, ~0u);
	ck_assert_msg(named(best.write.inst, w->wr) && named(best.read.inst, w->rd),
	              "%s to %s: written by %s, read by %s", w->from, w->to,
	              best.write.inst ? best.write.inst : "-", best.read.inst ? best.read.inst : "-");
	ck_assert(!plain.write.inst && !plain.read.inst);
	n = run(w, &plain);
	m = run(w, &best);
	ck_assert_uint_eq(m.run.wavefronts, m.run.wavefronts_min);
	ck_assert_uint_le(m.run.wavefronts, n.run.wavefronts);
	ck_assert_int_le(m.accesses, n.accesses);
	if (w->wr || w->rd)
		ck_assert_int_lt(m.accesses, n.accesses);
	printf("%-7s %-4s %-18s %-18s %3d accesses for %3d, %3d wavefronts for %3d\n", w->arch, w->type,
	       best.write.inst ? best.write.inst : "st", best.read.inst ? best.read.inst : "ld", m.accesses,
	       n.accesses, (int)m.run.wavefronts, (int)n.run.wavefronts);
}

/* Of several warps that hold an element one stores it, and all of them read it. */
TEST(copies)
{
	static const struct Way w = { "sm_90a", "f16", TWICE, ROWS, "stmatrix_x4", NULL };
	static const struct Way back = { "sm_90a", "f16", ROWS, TWICE, NULL, "ldmatrix_x4" };
	Staging p;

	u->target = target_find("sm_90a");
	p = choice(&w, ~0u);
	ck_assert_msg(named(p.write.inst, w.wr), "%s", p.write.inst ? p.write.inst : "-");
	run(&w, &p);
	p = choice(&back, ~0u);
	ck_assert_msg(named(p.read.inst, back.rd), "%s", p.read.inst ? p.read.inst : "-");
	run(&back, &p);
}

/* The independent checker sees a matrix the wrong way round, addresses of another one, a row of another kind,
 * and one that the target lacks. */
TEST(corrupted)
{
	static const struct Way w = { "sm_90a", "f16", FRAG, TURN, "stmatrix_x4_trans", "ldmatrix_x4" };
	Staging p, bad;

	u->target = target_find("sm_90a");
	p = choice(&w, ~0u);
	ck_assert(p.write.inst && p.read.inst && proved(kernel_text(&w, &p)));
	bad = p;
	bad.write.inst = "stmatrix_x4";
	ck_assert(!proved(kernel_text(&w, &bad)));
	bad = p;
	bad.read.inst = "ldmatrix_x4_trans";
	ck_assert(!proved(kernel_text(&w, &bad)));
	bad = p;
	bad.write.inst = "stmatrix_x2_trans";
	ck_assert(!proved(kernel_text(&w, &bad)));
	bad = p;
	bad.write.inst = "ldmatrix_x4";
	ck_assert(!proved(kernel_text(&w, &bad)));
	bad = p;
	bad.read.map = p.write.map; /* addresses for the other side */
	ck_assert(!proved(kernel_text(&w, &bad)));
	u->target = target_find("sm_80");
	ck_assert(!proved(kernel_text(&w, &p)));
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
