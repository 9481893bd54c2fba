/* tile_values.c - creates the values of tiles, and emits their words on demand (pull). */
#include "ptxgen/base/named_registers.h"
#include "ptxgen/base/debug_lines.h"
#include "ptxgen/base/packed_word.h"
#include <string.h>

/* Longer chains of lazy ops are emitted immediately, so that pulling never recurses deeply. */
enum { PULL_DEPTH = 100 };

LV *
lv_array(Codegen *g, int n)
{
	return arena_alloc(g->a, sizeof(LV) * (size_t)(n > 0 ? n : 1));
}

Tile *
tile_new(Codegen *g, Val *v)
{
	Tile *t = NEW(g->a, Tile);

	t->v = v;
	t->dtype = v->type.dtype;
	t->l = v->type.space == S_reg ? v->type.layout : NULL;
	BUG_IF(g->a, v->type.space == S_reg && !t->l);
	t->nreg = t->l ? (int)layout_cosize(t->l, AX_reg) : 1;
	BUG_IF(g->a, t->nreg < 1 || t->nreg > 1 << 16);
	t->epw = dtype_per_word(t->dtype);
	t->nword = (int)ceil_div(t->nreg, t->epw);
	if (v->type.bit_order)
		t->nword = t->nreg * dtype_info[t->dtype].bits / 32;
	t->word = lv_array(g, t->nword);
	t->web = file_web(g, v);
	BUG_IF(g->a, v->id > g->k->nval || g->tile[v->id]);
	g->tile[v->id] = t;
	return t;
}

Tile *
tile_of(Codegen *g, const Val *v)
{
	BUG_IF(g->a, v->id > g->k->nval || !g->tile[v->id]);
	return g->tile[v->id];
}

Tile *
tile_lazy(Codegen *g, Op *o, PullFn pull, void *plan)
{
	Tile *t = tile_new(g, o->out[0]);

	t->pull = pull;
	t->plan = plan;
	for (int i = 0; i < o->nin; i++) {
		Tile *x = g->tile[o->in[i]->id];

		if (x && x->depth >= t->depth)
			t->depth = x->depth + 1;
	}
	if (!t->l || t->depth > PULL_DEPTH) {
		tile_force(g, o->out[0]);
		t->depth = 0;
	}
	return t;
}

/* Stops the compilation: LLVM's time and memory grow with its input, and cannot be limited there. */
static void
too_much(Codegen *g)
{
	const Tile *most = NULL;
	int tiles = 0;

	for (uint32_t i = 0; i <= g->k->nval; i++) {
		const Tile *t = g->tile[i];

		tiles += t && t->made;
		if (t && t->made && (!most || t->made > most->made))
			most = t;
	}
	diag_class_error(g->u->diag, DC_LIMIT, most && most->v->def ? most->v->def->src : g->k->src,
	                 "a thread of %s computes more than %llu values (max_values), of %d tiles, and most "
	                 "of them, %llu, for this one: take smaller tiles or more warps, or a loop in place "
	                 "of statements that repeat",
	                 g->k->name, (unsigned long long)g->u->max_values, tiles,
	                 (unsigned long long)(most ? most->made : 0));
	arena_fail(g->a, ARENA_LIMIT, "max_values");
}

/* Counts a word of t that will be emitted. */
static void
count_word(Codegen *g, Tile *t)
{
	enum { POLL_EACH = 256, ROOM_EACH = 8192 };

	t->made++;
	if (++g->s->made % POLL_EACH == 0)
		arena_poll(g->a);
	if (g->s->made % ROOM_EACH == 0 && !session_has_room(g->s))
		arena_fail(g->a, ARENA_NOMEM, NULL);
	if (g->u->max_values && g->s->made > g->u->max_values)
		too_much(g);
}

bool
tile_has(const Tile *t, int w)
{
	return !t->part || t->part[w];
}

LV
word_get(Codegen *g, Val *v, int w)
{
	Tile *t = tile_of(g, v);
	Src before;
	LV x;

	BUG_IF(g->a, w < 0 || w >= t->nword);
	if (t->web)
		return web_get(g, t->web, w);
	if (!t->word[w]) {
		BUG_IF(g->a, !t->pull);
		count_word(g, t);
		before = lines_at(g, v->def->src);
		t->pull(g, v->def, w);
		lines_at(g, before);
	}
	x = t->word[w];
	BUG_IF(g->a, !x);
	if (t->remat)
		t->word[w] = NULL;
	return x;
}

void
tile_force(Codegen *g, Val *v)
{
	Tile *t = tile_of(g, v);

	for (int w = 0; w < t->nword && !t->remat && !t->web; w++)
		if (tile_has(t, w))
			word_get(g, v, w);
}

LV
scalar_get(Codegen *g, Val *v)
{
	BUG_IF(g->a, v->type.space != S_scalar);
	return word_get(g, v, 0);
}

int64_t
tile_reg(Codegen *g, const Val *v, const int64_t *index)
{
	const Tile *t = tile_of(g, v);
	Coord p;

	if (!t->l)
		return 0;
	p = layout_at(t->l, index);
	BUG_IF(g->a, p.at[AX_reg] < 0 || p.at[AX_reg] >= t->nreg);
	return p.at[AX_reg];
}

void
tile_index(const Tile *t, int64_t reg, int64_t *index)
{
	Coord p;

	memset(&p, 0, sizeof p);
	p.at[AX_reg] = reg;
	if (t->l)
		layout_index(t->l, &p, index);
}

/* ---- what must not be pulled too late -------------------------------------------------------- */

void
gen_reads(Codegen *g, Op *o, Val *root, void (*force)(Codegen *g, Op *o))
{
	struct Read r = { o, root, force };

	VEC_PUSH(g->a, g->read, g->nread, g->read_cap, r);
}

/* Nothing of the tile will be pulled any more. */
static void
seal(Codegen *g, Op *o)
{
	tile_of(g, o->out[0])->pull = NULL;
}

void
gen_seal(Codegen *g, const Op *load)
{
	for (int i = 0; i < g->nread; i++)
		if (g->read[i].op == load)
			g->read[i].force = seal;
}

void
gen_flush(Codegen *g, const Val *root)
{
	int kept = 0;

	for (int i = 0; i < g->nread; i++) {
		struct Read r = g->read[i];

		if (root && r.root != root)
			g->read[kept++] = r;
		else
			r.force(g, r.op);
	}
	g->nread = kept;
}

void
gen_unsupported(Codegen *g, const Op *o, const char *what)
{
	diag_class_error(g->u->diag, DC_ARCH, o->src, "%s of %s cannot be emitted for %s",
	                 op_info[o->code].name, what, g->u->target->name);
}
