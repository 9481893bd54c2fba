/* wgmma_webs.c - computes webs: sets of register tiles that share registers with results of asynchronous
 * MMAs.
 *
 * An MMA accumulates in place. Its accumulator and result form one web if nothing reads the accumulator
 * afterwards. Values that loops and branches forward join the web if no two of its values are live at once.
 * All other values are copied; a result in flight cannot be copied. */
#include "hexc/ir/ir.h"

typedef struct WebUse {
	const Op *o;
	const struct WebUse *next;
} WebUse;

typedef struct Webs {
	Arena *arena;
	uint32_t *web;   /* by value id: the first value of its web; 0: cannot be in a web */
	const Val **val; /* by value id: values that have a web */
	const Val **more; /* by value id: the next value of its web; NULL: the last */
	const WebUse **use; /* by value id */
	int *place;      /* by op id: position in its block, from 1 */
} Webs;

/* ---- who lives when -------------------------------------------------------------------------- */

static int
place(const Webs *w, const Op *o)
{
	return o ? w->place[o->id] : 0;
}

/* Returns the op of block b that is, or contains, op o of block `in`; o NULL: the start of `in`. */
static const Op *
around(const Block *b, const Block *in, const Op *o)
{
	for (; in != b; in = o->parent)
		o = in->owner;
	return o;
}

/* Is v defined where x is defined? */
static bool
is_there(const Webs *w, const Val *v, const Val *x)
{
	int at;

	if (!block_inside(x->block, v->block))
		return false;
	at = place(w, around(v->block, x->block, x->def));
	return at > place(w, v->def) || (at == place(w, v->def) && x->block == v->block);
}

/* May use u of v execute after x's definition, on the same instance of v? */
static bool
is_behind(const Webs *w, const Val *v, const Val *x, const Op *u)
{
	const Block *both = x->block;

	while (!block_inside(u->parent, both))
		both = both->owner->parent;
	for (const Block *b = both; b != v->block; b = b->owner->parent)
		if (b->owner->code == O_for)
			return true;
	return place(w, around(both, u->parent, u)) > place(w, around(both, x->block, x->def));
}

static bool
lives_at(const Webs *w, const Val *v, const Val *x)
{
	if (!is_there(w, v, x))
		return false;
	for (const WebUse *u = w->use[v->id]; u; u = u->next)
		if (is_behind(w, v, x, u->o))
			return true;
	return false;
}

static bool
at_once(const Webs *w, const Val *a, const Val *b)
{
	for (const Val *x = w->val[w->web[a->id]]; x; x = w->more[x->id])
		for (const Val *y = w->val[w->web[b->id]]; y; y = w->more[y->id])
			if (lives_at(w, x, y) || lives_at(w, y, x))
				return true;
	return false;
}

/* ---- joining --------------------------------------------------------------------------------- */

static void
begin(Webs *w, const Val *v)
{
	if (v->type.space != S_reg)
		return;
	w->web[v->id] = v->id;
	w->val[v->id] = v;
}

static void
find_values(Webs *w, Block *body)
{
	OpWalk walk;

	for (Op *o = walk_first(&walk, body); o; o = walk_next(&walk)) {
		w->place[o->id] = place(w, o->prev) + 1;
		for (int i = 0; i < o->nin; i++) {
			WebUse *u = NEW(w->arena, WebUse);

			*u = (WebUse){ o, w->use[o->in[i]->id] };
			w->use[o->in[i]->id] = u;
		}
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			begin(w, o->blk[0]->arg[1 + i]);
		bool makes = o->code == O_for || o->code == O_if || o->code == O_wgmma;

		for (int i = 0; makes && i < o->nout; i++)
			begin(w, o->out[i]);
	}
}

static void
merge(Webs *w, const Val *a, const Val *b)
{
	const Val *last = w->val[w->web[a->id]];

	while (w->more[last->id])
		last = w->more[last->id];
	w->more[last->id] = w->val[w->web[b->id]];
	for (const Val *x = w->more[last->id]; x; x = w->more[x->id])
		w->web[x->id] = w->web[a->id];
}

/* Unites the webs of a and b, of which b continues a, unless two values would be live at once. */
static void
union_webs(Webs *w, const Val *a, const Val *b)
{
	if (w->web[a->id] && w->web[b->id] && w->web[a->id] != w->web[b->id] && !at_once(w, a, b))
		merge(w, a, b);
}

static void
join_all(Webs *w, Block *body)
{
	OpWalk walk;

	for (Op *o = walk_first(&walk, body); o; o = walk_next(&walk)) {
		if (o->code == O_wgmma)
			union_webs(w, mma_acc(o), o->out[0]);
		for (int i = 0; o->code == O_for && i < o->nout; i++) {
			union_webs(w, o->blk[0]->last->in[i], o->out[i]);
			union_webs(w, for_init(o, i), o->out[i]);
		}
		for (int i = 0; o->code == O_if && i < 2 * o->nout; i++)
			union_webs(w, o->blk[i % 2]->last->in[i / 2], o->out[i / 2]);
	}
}

/* A loop's result is the final value of its argument: both always share a web. */
static void
join_loops(Webs *w, Block *body)
{
	OpWalk walk;

	for (Op *o = walk_first(&walk, body); o; o = walk_next(&walk))
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			if (w->web[o->out[i]->id])
				merge(w, o->blk[0]->arg[1 + i], o->out[i]);
}

const uint32_t *
kernel_webs(const Kernel *k)
{
	Arena *a = k->unit->arena;
	size_t n = (size_t)k->nval + 1;
	Webs w = { .arena = a };

	w.web = NEWN(a, uint32_t, n);
	w.val = NEWN(a, const Val *, n);
	w.more = NEWN(a, const Val *, n);
	w.use = NEWN(a, const WebUse *, n);
	w.place = NEWN(a, int, (size_t)k->nop + 1);
	find_values(&w, k->body);
	join_loops(&w, k->body);
	join_all(&w, k->body);
	return w.web;
}

const Val *
handed_to(const Op *o, int i)
{
	const Op *owner = o->code == O_yield ? o->parent->owner : NULL;

	if (o->code == O_wgmma && i == 2)
		return o->out[0];
	if (o->code == O_for && i >= 3)
		return o->out[i - 3];
	return owner && i < owner->nout ? owner->out[i] : NULL;
}

bool
val_is_zero(const Val *v)
{
	return v->def && v->def->code == O_const && v->def->fimm == 0 && IMM(v->def, value) == 0;
}
