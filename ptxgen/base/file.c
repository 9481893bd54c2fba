/* file.c - webs of values that products under way write, and their registers. */
#include "ptxgen/base/file.h"
#include "ptxgen/base/asm.h"
#include "ptxgen/base/word.h"

typedef struct Life {
	int64_t from, to; /* positions in text */
	Val *v;           /* NULL: no value that could be in a web */
	uint32_t web;     /* by Val.id: another of the same web, itself at last */
	bool product;     /* of a web: a product writes it */
} Life;

typedef struct Plan {
	Gen *g;
	Life *life;       /* by Val.id */
	int64_t *at, *end; /* by Op.id: position, and that of the last op of its regions */
	int64_t pos;
} Plan;

/* ---- who lives when -------------------------------------------------------------------------- */

static void
number(Plan *p, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		p->at[o->id] = p->pos++;
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				number(p, o->blk[r]);
		p->end[o->id] = p->pos - 1;
	}
}

static void
born(Plan *p, Val *v, int64_t at)
{
	Life *l = &p->life[v->id];

	if (v->type.space != S_reg)
		return;
	*l = (Life){ .from = at, .to = at, .v = v, .web = v->id };
}

static void
used(Plan *p, const Val *v, const Op *o)
{
	Life *l = &p->life[v->id];

	if (!l->v)
		return;
	l->to = max64(l->to, p->at[o->id]);
	for (const Block *b = o->parent; b != v->block && b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			l->to = max64(l->to, p->end[b->owner->id]);
}

static void
find_lives(Plan *p)
{
	OpWalk w;

	for (Op *o = walk_first(&w, p->g->k->body); o; o = walk_next(&w)) {
		for (int i = 0; i < o->nin; i++)
			used(p, o->in[i], o);
		if (o->code == O_wgmma)
			born(p, o->out[0], p->at[o->id]);
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			born(p, o->blk[0]->arg[1 + i], p->at[o->id]);
		for (int i = 0; (o->code == O_for || o->code == O_if) && i < o->nout; i++)
			born(p, o->out[i], p->end[o->id]);
	}
}

/* ---- webs ------------------------------------------------------------------------------------ */

static uint32_t
root(const Plan *p, uint32_t id)
{
	while (p->life[id].web != id)
		id = p->life[id].web;
	return id;
}

static bool
at_once(const Plan *p, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i <= p->g->k->nval; i++)
		for (uint32_t j = 0; p->life[i].v && root(p, i) == a && j <= p->g->k->nval; j++)
			if (p->life[j].v && root(p, j) == b && p->life[i].from < p->life[j].to &&
			    p->life[j].from < p->life[i].to)
				return true;
	return false;
}

/* a's elements become b's: in one web, if no two in it live at once. */
static void
join(Plan *p, const Val *a, const Val *b)
{
	uint32_t x = root(p, a->id), y = root(p, b->id);

	if (!p->life[a->id].v || !p->life[b->id].v || x == y || at_once(p, x, y))
		return;
	p->life[x].web = y;
	p->life[y].product = p->life[y].product || p->life[x].product;
}

/* First what is one value in any case: a loop's result is what its argument was at last. */
static void
join_all(Plan *p)
{
	Block *body = p->g->k->body;
	OpWalk w;

	for (Op *o = walk_first(&w, body); o; o = walk_next(&w)) {
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			join(p, o->out[i], o->blk[0]->arg[1 + i]);
		if (o->code == O_wgmma)
			p->life[o->out[0]->id].product = true;
	}
	for (Op *o = walk_first(&w, body); o; o = walk_next(&w)) {
		if (o->code == O_wgmma)
			join(p, o->in[2], o->out[0]);
		for (int i = 0; o->code == O_for && i < o->nout; i++) {
			join(p, o->blk[0]->last->in[i], o->out[i]);
			join(p, o->in[3 + i], o->out[i]);
		}
		for (int i = 0; o->code == O_if && i < 2 * o->nout; i++)
			join(p, o->blk[i % 2]->last->in[i / 2], o->out[i / 2]);
	}
}

/* ---- registers ------------------------------------------------------------------------------- */

static Web *
web_new(Gen *g, const Type *t, bool flt, int count[2])
{
	Web *web = NEW(g->a, Web);

	web->flt = flt;
	web->nword = (int)ceil_div(layout_cosize(t->layout, AX_reg), dtype_per_word(t->dtype));
	web->first = count[flt];
	count[flt] += web->nword;
	return web;
}

static void
name_webs(Plan *p, int count[2])
{
	Gen *g = p->g;

	for (uint32_t i = 0; i <= g->k->nval; i++)
		if (p->life[i].v && root(p, i) == i && p->life[i].product)
			g->web[i] = web_new(g, &p->life[i].v->type, p->life[i].v->type.dtype == D_f32, count);
	for (uint32_t i = 0; i <= g->k->nval; i++)
		if (p->life[i].v)
			g->web[i] = g->web[root(p, i)];
}

static void
name_factors(Gen *g, int count[2])
{
	OpWalk w;

	for (Op *o = walk_first(&w, g->k->body); o; o = walk_next(&w))
		if (o->code == O_wgmma && o->in[0]->type.space == S_reg && !g->factor[o->in[0]->id])
			g->factor[o->in[0]->id] = web_new(g, &o->in[0]->type, false, count);
}

static const char *
register_type(bool flt)
{
	return flt ? "f32 hx_f" : "b32 hx_b";
}

void
file_plan(Gen *g)
{
	Kernel *k = g->k;
	size_t nval = (size_t)k->nval + 1, nop = (size_t)k->nop + 1;
	Plan p = { .g = g };
	int count[2] = { 0, 0 };

	g->web = arena_alloc(g->a, sizeof *g->web * nval);
	g->factor = arena_alloc(g->a, sizeof *g->factor * nval);
	p.life = arena_alloc(g->a, sizeof *p.life * nval);
	p.at = arena_alloc(g->a, sizeof *p.at * nop);
	p.end = arena_alloc(g->a, sizeof *p.end * nop);
	number(&p, k->body);
	find_lives(&p);
	join_all(&p);
	name_webs(&p, count);
	name_factors(g, count);
	for (int flt = 0; flt < 2; flt++)
		if (count[flt])
			asm_emit(g, arena_printf(g->a, ".reg .%s<%d>;", register_type(flt), count[flt]), "",
			         AF_MEM, NULL, 0, NULL);
}

const Web *
file_web(const Gen *g, const Val *v)
{
	return g->web[v->id];
}

const char *
web_name(Gen *g, const Web *web, int w)
{
	BUG_IF(g->a, w < 0 || w >= web->nword);
	return arena_printf(g->a, "%s%d", register_type(web->flt) + 4, web->first + w);
}

LV
web_get(Gen *g, const Web *web, int w)
{
	LV x;

	asm_emit(g, arena_printf(g->a, "mov.b32 $0, %s;", web_name(g, web, w)), web->flt ? "=f" : "=r",
	         AF_MEM, NULL, 0, &x);
	VEC_PUSH(g->a, g->taken, g->ntaken, g->taken_cap, ((struct Taken){ x, web_name(g, web, w) }));
	return x;
}

void
file_written(Gen *g)
{
	g->fresh = g->ntaken;
}

/* In the block where it was read: around a loop others may write it. */
const char *
file_name(Gen *g, LV word)
{
	for (int i = g->ntaken - 1; i >= g->fresh; i--)
		if (g->taken[i].word == word)
			return LLVMGetInstructionParent(word) == LLVMGetInsertBlock(g->b) ? g->taken[i].name
			                                                                  : NULL;
	return NULL;
}

void
file_end(Gen *g)
{
	for (int i = 0; i < g->ntaken; i++)
		if (!LLVMGetFirstUse(g->taken[i].word))
			LLVMInstructionEraseFromParent(g->taken[i].word);
}

void
web_put(Gen *g, const Web *web, LV *word)
{
	file_written(g);
	for (int w = 0; w < web->nword; w++) {
		LV x = web->flt ? word[w] : as_i32(g, word[w]);

		asm_emit(g, arena_printf(g->a, "mov.b32 %s, $0;", web_name(g, web, w)), web->flt ? "f" : "r",
		         AF_MEM, &x, 1, NULL);
	}
}

void
file_take(Gen *g, Op *o)
{
	bool named = false;

	for (int i = 0; i < o->nin; i++)
		named = named || file_web(g, o->in[i]);
	if (named && op_is(o, F_PURE))
		tile_force(g, o->out[0]);
}
