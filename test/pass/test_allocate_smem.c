/* test_allocate_smem.c - tests pass allocate_smem: tiles that are live at the same time do not overlap,
 * others share memory. In C: programs are generated, and the interpreter watches every byte.
 *
 * Random programs with shared tiles in loops and ifs are allocated, given their barriers, and run with every
 * byte of shared memory watched: an overwritten live tile, or a missing barrier, is a fault. */
#include "hexc/pass/pass.h"
#include "hexc/pass/allocate_smem.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include "test/util_layout.h"
#include <stdlib.h>
#include <string.h>

/* ---- random programs ------------------------------------------------------------------------- */

enum { TILES = 64, PROGRAMS = 300 };

typedef struct Gen {
	Text t;
	uint64_t seed;
	int ntile;            /* made so far */
	int slots[TILES];     /* of each: how many planes it has */
	int visible[TILES];   /* tiles in scope that are written, innermost last */
	int nvisible;
	int loops;
} Gen;

static int
pick(Gen *g, int n)
{
	return (int)(run_random(&g->seed) % (uint64_t)n);
}

static void gen_block(Gen *g, int depth, int indent);

static void
gen_tile(Gen *g, int indent)
{
	int id = g->ntile++, n = 1 + pick(g, 3);

	g->slots[id] = n;
	text_printf(&g->t, "%*slet t%d: shared f32[%d, 8, 32];\n", indent, "", id, n);
	for (int i = 0; i < n; i++)
		text_printf(&g->t, "%*st%d[%d, :, :] = x + %d;\n", indent, "", id, i, id + i);
	g->visible[g->nvisible++] = id;
}

static void
gen_stmt(Gen *g, int depth, int indent)
{
	int id = g->nvisible ? g->visible[pick(g, g->nvisible)] : -1, what = pick(g, 10);
	int slot = id >= 0 ? pick(g, g->slots[id]) : 0, seen = g->nvisible;

	if (id < 0 || (what < 3 && g->ntile < TILES)) {
		if (g->ntile < TILES)
			gen_tile(g, indent);
	} else if (what < 6) {
		text_printf(&g->t, "%*sx = x * 0.5 + t%d[%d, :, :];\n", indent, "", id, slot);
	} else if (what < 7) {
		text_printf(&g->t, "%*st%d[%d, :, :] = x - 1;\n", indent, "", id, slot);
	} else if (what < 9 && depth > 0) {
		text_printf(&g->t, "%*sfor j%d in 0..%s {\n", indent, "", g->loops++, pick(g, 2) ? "2" : "N");
		gen_block(g, depth - 1, indent + 4);
		text_printf(&g->t, "%*s}\n", indent, "");
	} else if (depth > 0) {
		text_printf(&g->t, "%*sif N > %d {\n", indent, "", pick(g, 4));
		gen_block(g, depth - 1, indent + 4);
		g->nvisible = seen;
		text_printf(&g->t, "%*s} else {\n", indent, "");
		gen_block(g, depth - 1, indent + 4);
		text_printf(&g->t, "%*s}\n", indent, "");
	}
	if (what >= 7)
		g->nvisible = seen;
}

static void
gen_block(Gen *g, int depth, int indent)
{
	int n = 2 + pick(g, 5);

	for (int i = 0; i < n; i++)
		gen_stmt(g, depth, indent);
}

static const char *
gen_program(uint64_t seed)
{
	Gen g = { .t = { u->arena, NULL, 0, 0 }, .seed = seed };

	text_printf(&g.t, "kernel g(A: f32[8, 32], C: out f32[8, 32], N: i64)\n{\n    grid(1);\n"
	                  "    var x: register f32[8, 32] = A[:, :];\n");
	gen_block(&g, 3, 4);
	gen_block(&g, 2, 4);
	text_printf(&g.t, "    C[:, :] = x;\n}\n");
	return g.t.s;
}

TEST_EACH(random_programs, PROGRAMS)
{
	InterpOpt races = { .races = true, .workers.threads = 1 };
	const char *src = gen_program((uint64_t)_i);
	Kernel *plain = run_source(u, src, ""), *k = run_source(u, src, "");
	int64_t total = 0;
	Run a, b;

	u->target = NULL; /* as much memory as it takes */
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	pass_apply(k, "insert_barriers", pass_insert_barriers);
	for (int i = 0; pass_find(k, O_alloc, i); i++)
		total += 4 * type_size(&pass_find(k, O_alloc, i)->out[0]->type);
	ck_assert_int_le(k->smem, total);
	for (int n = 0; n < 4; n++) {
		const char *size = arena_printf(u->arena, "N=%d", n);

		run_setup(&a, plain, size, 1);
		run_ok(&a, NULL);
		run_setup(&b, k, size, 1);
		ck_assert_msg(interp_run(k, b.arg, k->nparam, &races) == INTERP_OK, "%s\n%.3000s",
		              ir_diags(u), src);
		run_same(&a, &b, "random");
	}
}

/* ---- sharing --------------------------------------------------------------------------------- */

static Kernel *
placed(const char *body)
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(A: f32[64], C: out f32[64], N: i64)\n{\n    grid(1);\n"
	                                    "    var x: register f32[64] = A[:];\n%s    C[:] = x;\n}\n",
	                                    body),
	                       "");

	pass_apply(k, "allocate_smem", pass_allocate_smem);
	return k;
}

#define TILE(name) "    let " name ": shared f32[64];\n    " name "[:] = x;\n"
#define FILL "    let a: shared f32[64];\n    async copy(A[:], a);\n    commit;\n"
#define READ(name) "    x += " name ";\n"

static const struct {
	const char *body;
	int64_t bytes;
} shared[] = {
	{ "", 0 },
	{ TILE("a") READ("a") TILE("b") READ("b"), 256 },
	{ TILE("a") TILE("b") READ("a") READ("b"), 512 },
	{ TILE("a") READ("a") TILE("b") READ("b") TILE("c") READ("b") READ("c"), 512 },
	/* made outside, used in the loop: lives through it */
	{ TILE("a") "    for i in 0..N {\n" READ("a") TILE("b") READ("b") "    }\n", 512 },
	/* made inside: a new one each time */
	{ "    for i in 0..N {\n" TILE("a") READ("a") TILE("b") READ("b") "    }\n", 256 },
	{ "    if N > 2 {\n" TILE("a") READ("a") "    } else {\n" TILE("b") READ("b") "    }\n", 256 },
	/* dead tiles take no room of their own */
	{ "    let a: shared f32[64];\n" TILE("b") READ("b"), 256 },
	/* an async copy writes until it is waited for */
	{ FILL TILE("b") READ("b") "    wait 0;\n", 512 },
	{ FILL "    wait 0;\n" TILE("b") READ("b"), 256 },
};

TEST_EACH(sharing, COUNT_OF(shared))
{
	Kernel *k = placed(shared[_i].body);

	ck_assert_msg(k->smem == shared[_i].bytes, "%lld bytes:\n%.3500s", (long long)k->smem, ir_text(u, k));
}

/* A tile goes into the smallest gap that holds it, not into the first. */
TEST(smallest_gap)
{
	Kernel *k = run_source(u,
	                       "kernel t(A: f32[256], C: out f32[256])\n{\n    grid(1);\n"
	                       "    let x: shared = A[0 :+ 256], y: shared = A[0 :+ 240];\n"
	                       "    let z: shared = A[0 :+ 128], w: shared = A[0 :+ 120];\n"
	                       "    C[0 :+ 256] = x + 1;\n    C[0 :+ 128] = z + 1;\n"
	                       "    let t: shared = A[0 :+ 100];\n    C[0 :+ 100] = t + 1;\n"
	                       "    C[0 :+ 240] = y + 1;\n    C[0 :+ 120] = w + 1;\n}\n",
	                       "");

	pass_apply(k, "allocate_smem", pass_allocate_smem);
	ck_assert_int_eq(IMM(pass_find(k, O_alloc, 2), offset), 1024 + 960);
	ck_assert_int_eq(IMM(pass_find(k, O_alloc, 4), offset), 1024 + 960);
}

/* A swizzle moves elements about in whole blocks: 24 elements take 32. */
TEST(swizzled_end)
{
	Kernel *k = run_source(u,
	                       "kernel t(A: f16[3, 8], C: out f16[3, 8])\n{\n    grid(1);\n"
	                       "    let x: shared = A[0 :+ 3, :];\n    C[0 :+ 3, :] = x + 1;\n}\n",
	                       "");
	Op *alloc = pass_find(k, O_alloc, 0);
	Layout l = layout_of("Sw<2,3,2> o (3,8):(8,1)");

	ck_assert_int_eq(smem_alloc_bytes(alloc), 48);
	alloc->out[0]->type.layout = &l;
	ck_assert_int_eq(smem_alloc_bytes(alloc), 64);
}

/* Bytes of two scratches of `bytes`, and of a tile of 256 that lives around the first. */
static int64_t
with_scratch(int64_t bytes, Op **one, Op **two)
{
	// clang-format off
	static const char src[] =
		"kernel t(A: f32[64], C: out f32[64])\n{\n    grid(1);\n"
		"    var x: register f32[64] = A[:];\n"
		TILE("a") "    let s = sum(x, 0);\n"
		READ("a") "    let r = sum(x * 2, 0);\n"
		TILE("b") READ("b") "    C[:] = x + s + r;\n}\n";
	// clang-format on
	Kernel *k = run_source(u, src, "");
	Lowering p = { .kind = LW_reduce_shared, .staged.bytes = bytes };

	*one = pass_find(k, O_reduce_sum, 0);
	*two = pass_find(k, O_reduce_sum, 1);
	(*one)->lowering = NEW(u->arena, Lowering);
	(*two)->lowering = NEW(u->arena, Lowering);
	*(*one)->lowering = *(*two)->lowering = p;
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	return k->smem;
}

/* Scratch lives up to the next, and so do tiles; less where an SM would hold fewer blocks. */
TEST(scratch)
{
	Op *one, *two;

	ck_assert_int_eq(with_scratch(100, &one, &two), 256 + 112 + 112); /* to 16 bytes each */
	ck_assert_int_ge(one->lowering->staged.off, 256);
	ck_assert_int_eq(one->lowering->staged.off % 16, 0);
	ck_assert_int_ge(llabs(one->lowering->staged.off - two->lowering->staged.off), 112);
	/* 16 blocks of 4 warps are 10,496 bytes each, of which 1,024 are not ours: room for both, not for
	 * the tile too */
	ck_assert_int_eq(with_scratch(4640, &one, &two), 2 * 4640);
	ck_assert_int_eq(with_scratch(20000, &one, &two), 256 + 20000); /* 7 blocks in 164 KB, not 4 */
	/* two of them are more than there is */
	ck_assert_int_eq(with_scratch(100000, &one, &two), 256 + 100000);
}

TEST(alignment)
{
	Kernel *k = run_source(u,
	                       "kernel t(C: out f32[64], D: out u8[3])\n{\n    grid(1);\n"
	                       "    let a: shared u8[3];\n    let b: shared f32[64];\n"
	                       "    a[:] = u8(iota(0, 3));\n    b[:] = f32(iota(0, 64));\n"
	                       "    D[:] = a + 1;\n    C[:] = b + 1;\n}\n",
	                       "");

	pass_find(k, O_alloc, 1)->imm[1] = 128;
	pass_apply(k, "allocate_smem", pass_allocate_smem);
	ck_assert_int_eq(pass_find(k, O_alloc, 1)->imm[0] % 128, 0);
	ck_assert_int_eq(pass_find(k, O_alloc, 0)->imm[0] % 16, 0);
}

TEST(too_much)
{
	static const char src[] =
		"kernel t(A: f16[M, 256], C: out f16[M, 256])\n    tune STAGES = 2..4\n{\n    grid(1);\n"
		"    pipeline m in 0..M step 128 stages STAGES {\n"
		"        let tile: shared = A[m :+ 128, :];\n        C[m :+ 128, :] = tile + 1;\n"
		"    }\n}\n";
	Kernel *k = run_source(u, src, "STAGES=4");
	const char *got;

	pass_pipeline(k);
	pass_allocate_smem(k);
	ck_assert_int_eq(u->diag->nerror, 1);
	got = ir_diags(u);
	ck_assert_msg(strstr(got, "needs 262144 bytes of shared memory, a block has 166912 on sm_80; use a "
	                          "smaller STAGES (now 4)"),
	              "%s", got);
	ck_assert_msg(strstr(got, "262144 bytes: tile: shared f16[4, 128, 256]"), "%s", got);
	ck_assert_uint_eq(u->diag->msg[0].src.line, 6);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
