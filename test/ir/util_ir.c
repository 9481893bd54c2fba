/* util_ir.c - parses IR text for tests. */
#include "test/ir/util_ir.h"
#include "test/check.h"
#include <stdlib.h>
#include <string.h>

typedef struct Home {
	Unit unit;
	Arena arena;
	Diag diag;
} Home;

Unit *
ir_unit(void)
{
	Home *h = calloc(1, sizeof *h);

	ck_assert_ptr_nonnull(h);
	test_arena(&h->arena);
	h->diag.arena = &h->arena;
	h->unit.arena = &h->arena;
	h->unit.diag = &h->diag;
	h->unit.target = target_find("sm_80");
	h->unit.file = "test.ir";
	return &h->unit;
}

void
ir_unit_free(Unit *u)
{
	arena_free(u->arena);
	free((Home *)u);
}

const char *
ir_wrap(Unit *u, const char *body)
{
	static const char text[] =
		"kernel t {\n  warps 4\n"
		"  param %%1.A tensor A : global f16[?, ?] read size %%3, %%4 stride %%4, %%5\n"
		"  param %%2.C tensor C : global f16[?, ?] written size %%3, %%4 stride %%4, %%5\n"
		"  param %%3.M size M : i64 mult 1 lo 1 hi 9223372036854775807\n"
		"  param %%4.K size K : i64 mult 128 lo 128 hi 9223372036854775807\n"
		"  param %%100.W tensor W : global u32[?, ?, 128] read size %%3, %%4, %%101 "
		"stride %%4, %%101, %%5 pack \"hexc-pack 1 u4 block 16x64\"\n"
		"  param %%102.S tensor S : global i32[?] read written size %%3 stride %%5\n"
		"  grid {\n"
		"    %%6 = const value 127 : i64\n"
		"    %%7 = const value 128 : i64\n"
		"    %%8 = add %%3, %%6 : i64\n"
		"    %%9 = div %%8, %%7 : i64\n"
		"    yield %%9, %%9, %%9\n"
		"  }\n"
		"  body {\n"
		"    %%5 = const value 1 : i64\n"
		"    %%101 = const value 128 : i64\n"
		"%s\n"
		"    yield\n  }\n}\n";

	return arena_printf(u->arena, text, body);
}

const char *
ir_diags(Unit *u)
{
	Text t = { u->arena, NULL, 0, 0 };

	text_printf(&t, "%s", "");
	for (int i = 0; i < u->diag->n; i++)
		text_printf(&t, "%u:%u: %s\n", (unsigned)u->diag->msg[i].src.line,
		            (unsigned)u->diag->msg[i].src.col, u->diag->msg[i].text);
	return t.s ? t.s : "";
}

Kernel *
ir_read(Unit *u, const char *text)
{
	Kernel *k = kernel_read(u, text, strlen(text));

	ck_assert_msg(k != NULL, "%s", ir_diags(u));
	return k;
}

const char *
ir_text(Unit *u, const Kernel *k)
{
	Text t = { u->arena, NULL, 0, 0 };

	kernel_print(&t, k);
	return t.s;
}

static Val *
find(Block *b, uint32_t id)
{
	OpWalk w;

	for (int i = 0; i < b->narg; i++)
		if (b->arg[i]->id == id)
			return b->arg[i];
	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->id == id)
				return o->out[i];
		for (int r = 0; r < 2 && o->blk[r]; r++)
			for (int i = 0; i < o->blk[r]->narg; i++)
				if (o->blk[r]->arg[i]->id == id)
					return o->blk[r]->arg[i];
	}
	return NULL;
}

Val *
ir_val(Kernel *k, uint32_t id)
{
	Val *v = find(k->body, id);

	v = v || !k->grid ? v : find(k->grid, id);
	ck_assert_msg(v != NULL, "no value %%%u", (unsigned)id);
	return v;
}

int
ir_count(Kernel *k, OpCode code)
{
	OpWalk w;
	int n = 0;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		n += o->code == code;
	return n;
}
