/* named_registers.c - names the registers of webs, and emits reads and writes of them. */
#include "ptxgen/base/named_registers.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"

static Web *
web_new(Codegen *g, const Type *t, bool flt, int count[2])
{
	Web *web = NEW(g->a, Web);

	web->flt = flt;
	web->nword = (int)ceil_div(layout_cosize(t->layout, AX_reg), dtype_per_word(t->dtype));
	web->first = count[flt];
	count[flt] += web->nword;
	return web;
}

/* Names the webs that an MMA writes. */
static void
name_webs(Codegen *g, int count[2])
{
	const uint32_t *web = kernel_webs(g->k);
	const Web **named = arena_alloc(g->a, sizeof *named * ((size_t)g->k->nval + 1));
	OpWalk w;

	for (Op *o = walk_first(&w, g->k->body); o; o = walk_next(&w)) {
		const Type *t = o->code == O_wgmma ? &o->out[0]->type : NULL;

		if (t && !named[web[o->out[0]->id]])
			named[web[o->out[0]->id]] = web_new(g, t, t->dtype == D_f32, count);
	}
	for (uint32_t i = 0; i <= g->k->nval; i++)
		g->web[i] = web[i] ? named[web[i]] : NULL;
}

/* Names an operand whose k slices alternate between register sets: slice p uses set p % sets. */
static const Web *
factor_web(Codegen *g, const Op *o, const Val *v, int count[2])
{
	Web *web = web_new(g, &v->type, false, count);
	int along = v == mma_a(o) ? 1 : 0, sets = o->lowering->dot.sets, n = web->nword;
	int64_t from, step = product_part(o, &from), parts = v->type.shape[along] / step;
	int *at = arena_alloc(g->a, sizeof *at * (size_t)n), *next = NEWN(g->a, int, parts);
	int each = n / (int)parts;

	if (!sets)
		return web;
	for (int w = 0; w < n; w++) {
		Coord p = { { 0 } };
		int64_t index[DIM_MAX] = { 0 }, part;

		p.at[AX_reg] = (int64_t)w * dtype_per_word(v->type.dtype);
		layout_index(v->type.layout, &p, index);
		part = index[along] / step;
		at[w] = (int)(part % sets) * each + next[part]++;
	}
	web->at = at;
	count[false] += sets * each - n;
	return web;
}

static void
name_factors(Codegen *g, int count[2])
{
	OpWalk w;

	for (Op *o = walk_first(&w, g->k->body); o; o = walk_next(&w)) {
		const Val *v = product_factor(o);

		if (v && !g->factor[v->id])
			g->factor[v->id] = factor_web(g, o, v, count);
	}
}

static const char *
register_type(bool flt)
{
	return flt ? "f32 hx_f" : "b32 hx_b";
}

void
file_plan(Codegen *g)
{
	Kernel *k = g->k;
	size_t nval = (size_t)k->nval + 1;
	int count[2] = { 0, 0 };

	g->web = arena_alloc(g->a, sizeof *g->web * nval);
	g->factor = arena_alloc(g->a, sizeof *g->factor * nval);
	name_webs(g, count);
	name_factors(g, count);
	for (int flt = 0; flt < 2; flt++)
		if (count[flt])
			asm_emit(g, arena_printf(g->a, ".reg .%s<%d>;", register_type(flt), count[flt]), "",
			         AF_MEM, NULL, 0, NULL);
}

const Web *
file_web(const Codegen *g, const Val *v)
{
	return g->web[v->id];
}

const char *
web_name(Codegen *g, const Web *web, int w)
{
	BUG_IF(g->a, w < 0 || w >= web->nword);
	return arena_printf(g->a, "%s%d", register_type(web->flt) + 4,
	                    web->first + (web->at ? web->at[w] : w));
}

LV
web_get(Codegen *g, const Web *web, int w)
{
	LV x;

	asm_emit(g, arena_printf(g->a, "mov.b32 $0, %s;", web_name(g, web, w)), web->flt ? "=f" : "=r",
	         AF_MEM, NULL, 0, &x);
	VEC_PUSH(g->a, g->taken, g->ntaken, g->taken_cap, ((struct Taken){ x, web_name(g, web, w) }));
	return x;
}

void
file_written(Codegen *g)
{
	g->fresh = g->ntaken;
}

/* Only in the block where it was read: other code may write it around a loop. */
const char *
file_name(Codegen *g, LV word)
{
	for (int i = g->ntaken - 1; i >= g->fresh; i--)
		if (g->taken[i].word == word)
			return LLVMGetInstructionParent(word) == LLVMGetInsertBlock(g->b) ? g->taken[i].name
			                                                                  : NULL;
	return NULL;
}

void
file_end(Codegen *g)
{
	for (int i = 0; i < g->ntaken; i++)
		if (!LLVMGetFirstUse(g->taken[i].word))
			LLVMInstructionEraseFromParent(g->taken[i].word);
}

void
web_put(Codegen *g, const Web *web, LV *word)
{
	file_written(g);
	for (int w = 0; w < web->nword; w++) {
		LV x = !word[w] || web->flt ? word[w] : as_i32(g, word[w]);

		if (!x)
			continue;
		asm_emit(g, arena_printf(g->a, "mov.b32 %s, $0;", web_name(g, web, w)), web->flt ? "f" : "r",
		         AF_MEM, &x, 1, NULL);
	}
}

void
file_take(Codegen *g, Op *o)
{
	bool named = false;

	for (int i = 0; i < o->nin; i++)
		named = named || file_web(g, o->in[i]);
	if (named && op_is(o, F_PURE))
		tile_force(g, o->out[0]);
}
