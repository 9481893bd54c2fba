/* operands.c - pass operands: what products read of tiles that loops carry.
 *
 *     s' = cast s; dot(q, s')  =>  s' = cast s; m = alloc; store s' to m; dot(q, load m)
 *
 * A state of many elements lies best as the sums that are added to it, and its product with something best
 * as an operand, which several warps hold.  In registers one of these is the layout of all that the loop
 * carries; by way of shared memory, narrow, each is what it likes.  Which of the two is better the search
 * finds out: it makes the alloc a tile or takes it away again (assign_space.c).
 *
 * needs   nothing
 * keeps   what the kernel computes
 * leaves  allocs that are TABLE_OPERAND */
#include "hexc/pass/pass.h"
#include "hexc/pass/table.h"

enum { DEPTH = 16, FEW = 1024 }; /* elements of a tile that any lane may hold */

/* The tile that a loop around v carries and that v is computed of, elementwise and by moves alone; NULL:
 * there is none. */
static const Val *
carried(const Val *v, int depth)
{
	const Op *o = v->def;
	const Val *x = NULL;

	if (v->type.space != S_reg || depth == 0)
		return NULL;
	if (!o)
		return v->type.rank > 1 && type_size(&v->type) >= FEW && !v->type.pinned ? v : NULL;
	for (int i = 0; !x && (op_is(o, F_ELT) || op_moved(o)) && i < o->nin; i++)
		x = carried(o->in[i], depth - 1);
	return x;
}

/* What a product reads, in front of transposes and the like; NULL: it is no such tile, or the program has a
 * name for it, and may have said where it lives. */
static Op *
operand_of(const Op *dot, int i)
{
	Op *o = dot->in[i]->def;
	const Type *t;

	while (o && op_moved(o))
		o = op_moved(o)->def;
	t = o && op_is(o, F_ELT) ? &o->out[0]->type : NULL;
	return t && t->rank > 1 && !t->pinned && !o->out[0]->name && carried(o->out[0], DEPTH) ? o : NULL;
}

static void
stage(Kernel *k, Op *o)
{
	Val *x = o->out[0], *in[2] = { x, NULL }, *y;
	Type t = x->type;
	Op *next = o->next;

	t.space = S_shared;
	in[1] = op_new(o->parent, next, O_alloc, o->src, 0, NULL, 1, &t)->out[0];
	IMM_SET(in[1]->def, table, TABLE_OPERAND);
	y = op_new(o->parent, next, O_load, o->src, 1, &in[1], 1, &x->type)->out[0];
	val_replace(k, x, y);
	op_new(o->parent, y->def, O_store, o->src, 2, in, 0, NULL);
}

/* The op of a kind that has the alloc as operand i. */
static Op *
user_of(Kernel *k, const Op *alloc, OpCode code, int i)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == code && o->in[i] == alloc->out[0])
			return o;
	return NULL;
}

const char *
operand_name(Kernel *k, const Op *alloc)
{
	const Val *x = user_of(k, alloc, O_store, 1)->in[0], *of = carried(x, DEPTH);

	if (!of || !of->name)
		return NULL;
	return arena_printf(k->unit->arena, "%s(%s)", dtype_info[x->type.dtype].name, of->name);
}

void
operand_direct(Kernel *k, Op *alloc)
{
	Op *store = user_of(k, alloc, O_store, 1), *load;

	while ((load = user_of(k, alloc, O_load, 0)) != NULL) {
		val_replace(k, load->out[0], store->in[0]);
		op_unlink(load);
	}
	op_unlink(store);
	op_unlink(alloc);
}

bool
pass_operands(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; o->code == O_dot && i < 2; i++) {
			Op *x = operand_of(o, i);

			if (!x)
				continue;
			stage(k, x);
			changed = true;
		}
	return changed;
}
