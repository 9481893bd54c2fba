/* version_emit.c - emits the branch between two versions of an op range, for pass version_accesses. */
#include "hexc/analysis/value_range.h"
#include "hexc/pass/version_accesses.h"

static Val *
both(Op *at, Val *x, Val *y)
{
	return x ? ir_bin(at->parent, at, O_and, x, y) : y;
}

static Val *
condition(Op *at, const Asked *a)
{
	Block *b = at->parent;
	Val *all = NULL;

	for (int i = 0; i < a->nmult; i++) {
		Val *rest = ir_bin(b, at, O_mod, a->mult[i].v, ir_const(b, at, a->mult[i].by));

		all = both(at, all, ir_bin(b, at, O_eq, rest, ir_const(b, at, 0)));
	}
	for (int i = 0; i < a->nroom; i++) {
		Val *end = ir_bin(b, at, O_add, a->room[i].start, ir_const(b, at, a->room[i].extent));

		all = both(at, all, ir_bin(b, at, O_le, end, a->room[i].size));
	}
	return all;
}

/* Gives access o its own clone of `view`, or of the longer view through which it accesses it. */
static void
own_view(Op *o, const Op *view)
{
	Val **mem = &o->in[o->code == O_store];
	Op *own = op_clone(o->parent, o, view, NULL, NULL), *longer;

	if (*mem != view->out[0]) {
		longer = op_clone(o->parent, o, (*mem)->def, NULL, NULL);
		longer->in[IN_view_source] = own->out[0];
		own = longer;
	}
	*mem = own->out[0];
}

/* Range analysis depends on a view's position: each access gets its own view inside the branch. */
static void
views_beside(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		const Op *view = moved_by(o);

		if (view && !block_inside(view->parent, b))
			own_view(o, view);
	}
}

/* Is dim d of mask o, with bound i, in bounds wherever op `at` runs? */
static bool
ends_inside(Kernel *k, const Op *at, const Op *o, int d, int i)
{
	return prove_inside(k, at, NULL, 0, o->out[0]->type.shape[d], o->in[i]);
}

/* Would a mask among o and the following ops be redundant at op `at`? */
static bool
is_spared(Kernel *k, const Op *at, const Op *o)
{
	for (; o; o = o->next) {
		for (int d = 0, i = 1; o->code == O_mask && d < o->out[0]->type.rank; d++)
			if (IMM(o, dims) >> d & 1 && ends_inside(k, at, o, d, i++))
				return true;
		for (int i = 0; i < 2; i++)
			if (o->blk[i] && is_spared(k, at, o->blk[i]->first))
				return true;
	}
	return false;
}

static void
drop_masks(Kernel *k, Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b), *next; o; o = next) {
		int n = 1;
		int64_t dims = 0;

		next = walk_next(&w);
		if (o->code != O_mask)
			continue;
		for (int d = 0, i = 1; d < o->out[0]->type.rank; d++) {
			if (!(IMM(o, dims) >> d & 1))
				continue;
			if (!ends_inside(k, o, o, d, i)) {
				o->in[n++] = o->in[i];
				dims |= (int64_t)1 << d;
			}
			i++;
		}
		o->nin = n;
		IMM_SET(o, dims, dims);
		if (dims)
			continue;
		val_replace(k, o->out[0], mask_source(o));
		op_unlink(o);
	}
}

Op *
branch_new(const OpRange *r, const Asked *a)
{
	Val *cond = condition(r->first, a);
	Op *branch = op_new(r->first->parent, r->first, O_if, r->first->src, 1, &cond, 0, NULL);

	for (int i = 0; i < 2; i++)
		branch->blk[i] = block_new(r->k, branch);
	op_new(branch->blk[0], NULL, O_yield, branch->src, 0, NULL, 0, NULL);
	IMM_SET(branch, versions, 1);
	return branch;
}

bool
branch_spares_masks(const OpRange *r, const Op *branch)
{
	return is_spared(r->k, branch->blk[0]->last, r->first);
}

void
branch_fill(const OpRange *r, Op *branch)
{
	Op *yield = branch->blk[0]->last;

	for (Op *o = r->first, *next; o; o = next) {
		next = run_next(r, o);
		op_move_before(o, yield);
	}
	views_beside(branch->blk[0]);
	block_clone(branch->blk[1], branch->blk[0]);
	drop_masks(r->k, branch->blk[0]);
}
