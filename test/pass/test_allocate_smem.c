/* test_allocate_smem.c - tests pass allocate_smem with random programs, and the bytes of a swizzled tile. In
 * C: programs are generated, and the interpreter watches every byte. allocate_*.hexc have where tiles are.
 *
 * Random programs with shared tiles in loops and ifs are allocated, given their barriers, and run: an
 * overwritten live tile, or a missing barrier, is a fault. */
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

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
