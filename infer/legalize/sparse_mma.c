/* sparse_mma.c - pass legalize: fuses dots of sparse tiles into MMAs that skip the zeros.
 *
 * `dot(sparse_expand(values, positions), b)` becomes one op with four operands if an instruction supports
 * it. Casts and transposes between the two are applied to the values instead: they keep zeros in place. */
#include "infer/core/mma_instr.h"
#include "infer/legalize/legalize.h"

enum { CHAIN_MAX = 8 };

/* Returns the sparse_expand that defines operand `side` of a dot, with the ops in between, nearest to the
 * dot first. */
static Op *
sparse_expand_of(const Op *dot, int side, Op **chain, int *n)
{
	int kdim = 1 - side;
	Op *o = dot->in[side]->def;

	for (*n = 0; o && *n < CHAIN_MAX; o = op_source(o)->def) {
		if (o->code == O_sparse_expand)
			return IMM(o, dim) == kdim && !IMM(o, dense) && o->out[0]->type.rank == 2 ? o : NULL;
		if (o->code == O_transpose && o->out[0]->type.rank == 2)
			kdim = IMM_AT(o, perm, 0) == 1 ? 1 - kdim : kdim;
		else if (o->code != O_cast)
			return NULL;
		chain[(*n)++] = o;
	}
	return NULL;
}

/* Applies the chain to one of sparse_expand's operands. */
static Val *
again(Op *dot, Op *const *chain, int n, Val *x, bool casts)
{
	for (int i = n - 1; i >= 0; i--) {
		bool cast = chain[i]->code == O_cast;
		Type t = x->type;
		Op *o;

		if (cast && !casts)
			continue;
		if (cast)
			t.dtype = chain[i]->out[0]->type.dtype;
		for (int d = 0; d < 2 && !cast; d++)
			t.shape[d] = x->type.shape[IMM_AT(chain[i], perm, d)];
		o = op_new(dot->parent, dot, chain[i]->code, chain[i]->src, 1, &x, 1, &t);
		for (int d = 0; d < 2 && !cast; d++)
			IMM_SET_AT(o, perm, d, IMM_AT(chain[i], perm, d));
		x = o->out[0];
	}
	return x;
}

/* Is there an instruction for `dot` with these operands? */
static bool
has_row(const Op *sp, const Target *t)
{
	bool swap = dot_side(sp) == 1;

	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == IK_mma_sp && instr_on(i, t) && i->acc == sp->out[0]->type.dtype &&
		    i->ta == sp->in[swap]->type.dtype && i->tb == sp->in[!swap]->type.dtype &&
		    instr_takes(i, sp) && instr_divides(i, swap, sp))
			return true;
	return false;
}

static bool
fuse(Kernel *k, Op *dot, int side)
{
	Op *chain[CHAIN_MAX], *e, *o;
	Val *in[4];
	int n;

	e = dot_batch(dot) ? NULL : sparse_expand_of(dot, side, chain, &n);
	if (!e)
		return false;
	in[side] = again(dot, chain, n, sparse_values(e), true);
	in[1 - side] = dot->in[1 - side];
	in[2] = mma_acc(dot);
	in[3] = again(dot, chain, n, sparse_positions(e), false);
	o = op_new(dot->parent, dot, O_dot, dot->src, 4, in, 1, &dot->out[0]->type);
	IMM_SET(o, sparse, side);
	if (!has_row(o, k->unit->target)) {
		op_unlink(o);
		return false;
	}
	o->out[0]->name = dot->out[0]->name;
	val_replace(k, dot->out[0], o->out[0]);
	op_unlink(dot);
	return true;
}

bool
fuse_sparse(Kernel *k)
{
	bool any = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && !dot_is_sparse(o))
			any |= fuse(k, o, 0) || fuse(k, o, 1);
	return any;
}
