/* clone.c - clones ops with their regions, blocks and whole kernels; computes the id ranges of parts of a
 * kernel. */
#include "hexc/ir/ids.h"
#include <string.h>

/* ---- ids --------------------------------------------------------------------------------------- */

/* Extends the range of n ids from *lowest to include `id`. */
static void
widen(uint32_t *lowest, uint32_t *n, uint32_t id)
{
	uint32_t end = *n && *lowest + *n > id + 1 ? *lowest + *n : id + 1;

	*lowest = *n && *lowest < id ? *lowest : id;
	*n = end - *lowest;
}

/* Adds the ids of another block; *ids may be all 0. */
static void
ids_add(Ids *ids, const Block *b)
{
	for (int i = 0; i < b->narg; i++)
		widen(&ids->val, &ids->nval, b->arg[i]->id);
	for (const Op *o = b->first; o; o = o->next) {
		widen(&ids->op, &ids->nop, o->id);
		for (int i = 0; i < o->nout; i++)
			widen(&ids->val, &ids->nval, o->out[i]->id);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				ids_add(ids, o->blk[r]);
	}
}

Ids
ids_of(const Block *b)
{
	Ids ids = { 0, 0, 0, 0 };

	ids_add(&ids, b);
	return ids;
}

int64_t
ids_val(const Ids *ids, const Val *v)
{
	return v->id - ids->val < ids->nval ? (int64_t)(v->id - ids->val) : -1;
}

/* ---- copies ------------------------------------------------------------------------------------ */

typedef struct Cloner {
	Val *(*map)(void *, Val *);
	void *user;
	Ids ids;     /* ids defined inside the cloned op */
	Val **inner; /* clone of each of these values */
	bool same_ids; /* clones keep the ids of the originals: in a kernel of their own */
} Cloner;

static Val *
clone_val(const Cloner *c, Val *v)
{
	int64_t at = ids_val(&c->ids, v);
	Val *r;

	if (at >= 0 && c->inner[at])
		return c->inner[at];
	r = c->map ? c->map(c->user, v) : NULL;
	return r ? r : v;
}

static void
clone_out(Cloner *c, Val *const *from, Val **to, int n)
{
	for (int i = 0; i < n; i++) {
		int64_t at = ids_val(&c->ids, from[i]);

		to[i]->name = from[i]->name;
		if (c->same_ids)
			to[i]->id = from[i]->id;
		if (at >= 0)
			c->inner[at] = to[i];
	}
}

static void clone_block(Cloner *c, Block *to, const Block *from);

static Op *
clone_op(Cloner *c, Block *b, Op *at, const Op *o)
{
	Arena *a = b->kernel->unit->arena;
	Val **in = NEWN(a, Val *, o->nin);
	Type *out = NEWN(a, Type, o->nout);
	Op *n;

	for (int i = 0; i < o->nin; i++)
		in[i] = clone_val(c, o->in[i]);
	for (int i = 0; i < o->nout; i++)
		out[i] = o->out[i]->type;
	n = op_new(b, at, o->code, o->src, o->nin, in, o->nout, out);
	clone_out(c, o->out, n->out, o->nout);
	if (c->same_ids)
		n->id = o->id;
	memcpy(n->imm, o->imm, sizeof n->imm);
	n->fimm = o->fimm;
	n->text = o->text;
	if (o->lowering) {
		n->lowering = NEW(a, Lowering);
		*n->lowering = *o->lowering;
	}
	for (int r = 0; r < 2; r++) {
		if (!o->blk[r])
			continue;
		n->blk[r] = block_new(b->kernel, n);
		clone_block(c, n->blk[r], o->blk[r]);
	}
	return n;
}

static void
clone_block(Cloner *c, Block *to, const Block *from)
{
	for (int i = 0; i < from->narg; i++)
		block_arg(to, from->arg[i]->type);
	clone_out(c, from->arg, to->arg, from->narg);
	for (const Op *x = from->first; x; x = x->next)
		clone_op(c, to, NULL, x);
}

Op *
op_clone(Block *b, Op *at, const Op *o, Val *(*map)(void *, Val *), void *user)
{
	Cloner c = { .map = map, .user = user };

	for (int r = 0; r < 2; r++)
		if (o->blk[r])
			ids_add(&c.ids, o->blk[r]);
	if (c.ids.nval)
		c.inner = NEWN(b->kernel->unit->arena, Val *, c.ids.nval);
	return clone_op(&c, b, at, o);
}

static Val *
outside_at(Block *b, Op *at, Val *v, const Block *body, int depth)
{
	const Op *o = v->def;
	Val **in;
	Op *c;

	if (!block_inside(v->block, body))
		return v;
	if (!o || depth == 0 || !op_is(o, F_PURE) || o->nout != 1 || v->type.space != S_scalar)
		return NULL;
	in = NEWN(b->kernel->unit->arena, Val *, o->nin + 1);
	for (int i = 0; i < o->nin; i++) {
		in[i] = outside_at(b, at, o->in[i], body, depth - 1);
		if (!in[i])
			return NULL;
	}
	c = op_clone(b, at, o, NULL, NULL);
	for (int i = 0; i < o->nin; i++)
		c->in[i] = in[i];
	return c->out[0];
}

Val *
val_outside(Block *b, Op *at, Val *v, const Block *body)
{
	enum { DEPTH = 8 };

	return outside_at(b, at, v, body, DEPTH);
}

void
block_clone(Block *to, const Block *from)
{
	Cloner c = { .ids = ids_of(from) };

	c.inner = NEWN(to->kernel->unit->arena, Val *, c.ids.nval);
	clone_block(&c, to, from);
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static void
clone_param(const Cloner *c, Param *to, const Param *from)
{
	*to = *from;
	to->val = clone_val(c, from->val);
	for (int d = 0; d < DIM_MAX; d++) {
		to->size[d] = from->size[d] ? clone_val(c, from->size[d]) : NULL;
		to->stride[d] = from->stride[d] ? clone_val(c, from->stride[d]) : NULL;
	}
}

static void
clone_map(const Cloner *c, TensorMap *to, const TensorMap *from)
{
	*to = *from;
	for (int d = 0; d < from->rank; d++) {
		to->size[d] = from->size[d] ? clone_val(c, from->size[d]) : NULL;
		to->stride[d] = from->stride[d] ? clone_val(c, from->stride[d]) : NULL;
	}
}

Kernel *
kernel_copy(const Kernel *k)
{
	Arena *a = k->unit->arena;
	Kernel *n = kernel_new(k->unit, k->name);
	Block *body = n->body, *grid = n->grid;
	Cloner c = { .same_ids = true, .ids = { .nval = k->nval + 1 } };

	c.inner = NEWN(a, Val *, c.ids.nval);
	*n = *k;
	n->body = body;
	n->grid = k->grid ? grid : NULL;
	n->facts = NULL;
	clone_block(&c, body, k->body);
	if (k->grid)
		clone_block(&c, grid, k->grid);
	n->param = NEWN(a, Param, k->nparam);
	for (int i = 0; i < k->nparam; i++)
		clone_param(&c, &n->param[i], &k->param[i]);
	n->map = NEWN(a, TensorMap, k->nmap);
	for (int i = 0; i < k->nmap; i++)
		clone_map(&c, &n->map[i], &k->map[i]);
	n->assume = NEWN(a, Assume, k->nassume);
	for (int i = 0; i < k->nassume; i++) {
		n->assume[i] = k->assume[i];
		n->assume[i].cond = clone_val(&c, k->assume[i].cond);
	}
	n->nval = k->nval;
	n->nop = k->nop;
	return n;
}

static void
adopt(Kernel *k, Block *b)
{
	b->kernel = k;
	for (Op *o = b->first; o; o = o->next)
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				adopt(k, o->blk[r]);
}

void
kernel_restore(Kernel *k, const Kernel *from)
{
	*k = *kernel_copy(from);
	adopt(k, k->body);
	if (k->grid)
		adopt(k, k->grid);
}
