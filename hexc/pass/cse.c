/* cse.c - pass cse: replaces a pure op by an equal one that dominates it.
 *
 * requires   valid IR
 * preserves  everything else
 * leaves     dead ops for dce
 *
 * A block sees the ops that enclosing blocks computed before it, so entries live until their block ends. */
#include "hexc/ir/ir.h"
#include "hexc/pass/pass.h"
#include <string.h>

typedef struct Cse {
	Kernel *k;
	Val **to;    /* by id: its replacement, or NULL */
	Op **table;  /* open-addressing hash table of ops; NULL: free */
	size_t mask;
	size_t *undo; /* occupied slots, newest last */
	size_t nundo, cundo;
	bool changed;
} Cse;

static Val *
now(const Cse *c, Val *v)
{
	return v && c->to[v->id] ? c->to[v->id] : v;
}

static uint64_t
mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t
float_bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}

static uint64_t
hash(const Op *o)
{
	const Type *t = &o->out[0]->type;
	uint64_t h = mix(0, (uint64_t)o->code);

	h = mix(mix(mix(h, (uint64_t)t->dtype), (uint64_t)t->space), (uint64_t)t->rank);
	for (int d = 0; d < t->rank; d++)
		h = mix(h, (uint64_t)t->shape[d]);
	for (int i = 0; i < DIM_MAX; i++)
		h = mix(h, (uint64_t)o->imm[i]);
	h = mix(h, float_bits(o->fimm));
	for (int i = 0; i < o->nin; i++)
		h = mix(h, o->in[i]->id);
	return h;
}

static bool
same_layout(const Type *x, const Type *y)
{
	if (x->pinned != y->pinned || !x->layout != !y->layout)
		return false;
	return !x->layout || x->layout == y->layout || layout_equal(x->layout, y->layout);
}

static bool
same(const Op *x, const Op *y)
{
	if (x->code != y->code || x->nin != y->nin || x->lowering || y->lowering ||
	    memcmp(x->imm, y->imm, sizeof x->imm) != 0 || float_bits(x->fimm) != float_bits(y->fimm))
		return false;
	for (int i = 0; i < x->nin; i++)
		if (x->in[i] != y->in[i])
			return false;
	return type_same(&x->out[0]->type, &y->out[0]->type) &&
	       same_layout(&x->out[0]->type, &y->out[0]->type);
}

/* Sorts operands of commutative ops by id, constants last. */
static void
order(Op *o)
{
	Val *x, *y;
	bool cx, cy;

	if (!op_is(o, F_COMM))
		return;
	x = elt_lhs(o);
	y = elt_rhs(o);
	cx = x->def && x->def->code == O_const;
	cy = y->def && y->def->code == O_const;
	if (cx != cy ? cx : x->id > y->id) {
		o->in[IN_elt_lhs] = y;
		o->in[IN_elt_rhs] = x;
	}
}

static void
merge(Cse *c, Op *o)
{
	size_t i;

	if (o->nout != 1 || !op_is(o, F_PURE))
		return;
	order(o);
	for (i = hash(o) & c->mask; c->table[i]; i = (i + 1) & c->mask) {
		Op *p = c->table[i];
		if (!same(o, p))
			continue;
		c->to[o->out[0]->id] = p->out[0];
		if (!p->out[0]->name)
			p->out[0]->name = o->out[0]->name;
		if (o->out[0]->type.kept)
			p->out[0]->type.kept = true;
		c->changed = true;
		op_unlink(o);
		return;
	}
	c->table[i] = o;
	VEC_PUSH(c->k->unit->arena, c->undo, c->nundo, c->cundo, i);
}

static void
cse_block(Cse *c, Block *b)
{
	size_t mark = c->nundo;
	Op *next;

	for (Op *o = b->first; o; o = next) {
		next = o->next;
		for (int i = 0; i < o->nin; i++)
			o->in[i] = now(c, o->in[i]);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				cse_block(c, o->blk[r]);
		merge(c, o);
	}
	/* newest first, so that probe chains stay intact */
	while (c->nundo > mark)
		c->table[c->undo[--c->nundo]] = NULL;
}

bool
pass_cse(Kernel *k)
{
	Arena *a = k->unit->arena;
	Cse c = { .k = k };
	OpWalk w;
	size_t n = 64, ops = 0;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		ops++;
	for (Op *o = k->grid ? walk_first(&w, k->grid) : NULL; o; o = walk_next(&w))
		ops++;
	while (n < 2 * ops)
		n *= 2;
	c.to = NEWN(a, Val *, (size_t)k->nval + 1);
	c.table = NEWN(a, Op *, n);
	c.mask = n - 1;
	if (k->grid)
		cse_block(&c, k->grid);
	cse_block(&c, k->body);
	for (int i = 0; i < k->nassume; i++)
		k->assume[i].cond = now(&c, k->assume[i].cond);
	for (int i = 0; i < k->nparam; i++) {
		for (int d = 0; d < DIM_MAX; d++) {
			k->param[i].size[d] = now(&c, k->param[i].size[d]);
			k->param[i].stride[d] = now(&c, k->param[i].stride[d]);
		}
	}
	return c.changed;
}
