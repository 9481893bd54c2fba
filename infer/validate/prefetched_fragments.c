/* prefetched_fragments.c - validates pass prefetch_fragments: operands whose first words were loaded in the
 * previous iteration, and MMAs split along k. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "infer/validate/validate.h"
#include <string.h>

/* ---- the same tile, one iteration early ------------------------------------------------------ */

/* Maps values of an iteration to those of another one. */
typedef struct IterationMap {
	const Block *body;
	const Val *arg, *next; /* the one carried value that the tiles differ by; NULL: not known yet */
} IterationMap;

bool
prove_same_layout(const Layout *a, const Layout *b)
{
	return a && b ? layout_equal(a, b) : a == b;
}

static bool
same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
same_access(const LoweredAccess *a, const LoweredAccess *b)
{
	return same_name(a->inst, b->inst) && a->vec == b->vec && a->tensor_map == b->tensor_map &&
	       prove_same_layout(a->map, b->map);
}

static bool
same_matrix(const LoweredMatrix *a, const LoweredMatrix *b)
{
	return a->width == b->width && a->mn == b->mn && a->lead == b->lead && a->stride == b->stride;
}

/* Are two dots done alike, apart from their k range? */
static bool
same_product(const Lowering *a, const Lowering *b)
{
	return same_name(a->dot.inst, b->dot.inst) && a->dot.swap == b->dot.swap &&
	       prove_same_layout(a->dot.rows, b->dot.rows) && prove_same_layout(a->dot.cols, b->dot.cols) &&
	       prove_same_layout(a->dot.k, b->dot.k) && a->dot.n == b->dot.n &&
	       same_matrix(&a->dot.matrix[0], &b->dot.matrix[0]) &&
	       same_matrix(&a->dot.matrix[1], &b->dot.matrix[1]);
}

bool
prove_same_way(const Lowering *a, const Lowering *b)
{
	if (!a || !b)
		return !a && !b;
	if (a->kind != b->kind)
		return false;
	if (a->kind == LW_access)
		return same_access(&a->access, &b->access);
	if (a->kind == LW_dot)
		return same_product(a, b) && a->dot.from == b->dot.from && a->dot.to == b->dot.to;
	if (lowering_is_staged(a))
		return same_access(&a->staged.write, &b->staged.write) &&
		       same_access(&a->staged.read, &b->staged.read) &&
		       prove_same_layout(a->staged.tile, b->staged.tile) &&
		       a->staged.bytes == b->staged.bytes;
	return true;
}

/* Does y equal x in the iteration in which t->arg is t->next? */
static bool
is_turned(Prove *p, IterationMap *t, const Val *x, const Val *y)
{
	const Op *a = x->def, *b = y->def;

	if (!a && x->block == t->body) {
		if (t->arg && t->arg != x)
			return false;
		if (t->next && t->next != y)
			return false;
		t->arg = x;
		t->next = y;
		return true;
	}
	if (!block_inside(x->block, t->body))
		return x == y;
	if (!a || !b || a->code != b->code || a->nin != b->nin || !prove_same_way(a->lowering, b->lowering) ||
	    memcmp(a->imm, b->imm, sizeof a->imm) != 0 || memcmp(&a->fimm, &b->fimm, sizeof a->fimm) != 0 ||
	    !type_same(&x->type, &y->type) || x->index != y->index)
		return false;
	if (x->type.space == S_reg && !layout_equal(x->type.layout, y->type.layout))
		return false;
	for (int i = 0; i < a->nin; i++)
		if (!is_turned(p, t, a->in[i], b->in[i]))
			return false;
	return true;
}

/* Is `ahead` equal to tile `full` of the loop if carried value i is slot[i]? */
static bool
is_ahead(Prove *p, const Op *loop, const Val *full, const Val *ahead, Val *const *slot)
{
	const Op *o = ahead->def;
	IterationMap t = { .body = loop->blk[0] };
	int i;

	if (!o || o->code != O_fragment_prefetch || !is_turned(p, &t, full, op_source(o)))
		return prove_error(p, -1, 0, "the prefetched fragment belongs to another tile");
	if (!t.arg)
		return true;
	i = t.arg->index - 1;
	if (i < 0 || t.next != slot[i])
		return prove_error(p, -1, 0, "the prefetched fragment belongs to another iteration");
	return true;
}

/* Replaces each slot[i] that is a result of loop `before` by the value that its last iteration yields, or
 * (first) by its initial value, for no iterations. */
static Val **
handed_on(Prove *p, Val *const *slot, int n, const Op *before, bool first)
{
	Val **was = NEWN(p->arena, Val *, n);

	for (int i = 0; i < n; i++) {
		int at = slot[i]->index;

		was[i] = slot[i];
		if (slot[i]->def == before)
			was[i] = first ? for_init(before, at) : before->blk[0]->last->in[at];
	}
	return was;
}

/* Does o, or an op inside it, write shared memory? */
static bool
may_write(const Op *o)
{
	OpWalk w;

	if (o->code == O_copy || o->code == O_store)
		return write_dest(o)->type.space == S_shared || access_found(o);
	for (int i = 0; i < 2 && o->blk[i]; i++)
		for (const Op *x = walk_first(&w, o->blk[i]); x; x = walk_next(&w))
			if (!x->blk[0] && may_write(x))
				return true;
	return false;
}

/* Is the prefetch after the wait and barrier, and is the source not written up to the end of the
 * iteration? */
static bool
has_met(Prove *p, const Op *ahead)
{
	bool barrier = false, wait = false;

	for (const Op *o = ahead->prev; o && !may_write(o); o = o->prev) {
		wait = wait || (barrier && o->code == O_async_wait);
		barrier = barrier || op_is_barrier(o);
	}
	if (!wait)
		return prove_error(p, -1, 0, "prefetched fragment read before its wait");
	for (const Op *o = ahead->next; o; o = o->next)
		if (may_write(o))
			return prove_error(p, -1, 0, "the prefetched data may be overwritten afterwards");
	return true;
}

/* Was the first iteration's tile prefetched before the loop, or by the preceding loop that `taker`
 * continues? */
static bool
is_ahead_first(Prove *p, const Op *loop, const Op *taker, const Val *full, const Val *ahead, Val *const *slot)
{
	const Op *before = ahead->def;
	int n = loop->nout;
	const Val *last;

	if (!before || before->code != O_for || before->parent != taker->parent)
		return is_ahead(p, loop, full, ahead, slot);
	for (const Op *o = before->next; o && o != taker; o = o->next)
		if (may_write(o))
			return prove_error(p, -1, 0, "the prefetched data may be overwritten between the "
			                             "loops");
	last = before->blk[0]->last->in[ahead->index];
	return is_ahead(p, loop, full, last, handed_on(p, slot, n, before, false)) && has_met(p, last->def) &&
	       is_ahead_first(p, loop, before, full, for_init(before, ahead->index),
	                      handed_on(p, slot, n, before, true));
}

void
prove_prefetched(Prove *p, const Op *o)
{
	const Val *arg = prefetched_fragments(o);
	const Op *loop = arg->block->owner;
	const Val *ahead;

	prove_same(p, o);
	if (arg->def || !loop || loop->code != O_for || arg->index < 1) {
		prove_error(p, -1, 0, "the prefetched fragment is not a carried value");
		return;
	}
	ahead = loop->blk[0]->last->in[arg->index - 1];
	if (is_ahead_first(p, loop, loop, op_source(o), for_init(loop, arg->index - 1),
	                   loop->in + IN_for_init) &&
	    is_ahead(p, loop, op_source(o), ahead, loop->blk[0]->last->in))
		has_met(p, ahead->def);
}

/* ---- k slices -------------------------------------------------------------------------------- */

static bool
continues(const Op *a, const Op *b)
{
	const Lowering *x = a->lowering, *y = b->lowering;

	if (b->code != O_dot || !y)
		return false;
	for (int i = 0; i < 3; i++)
		if (b->in[i] != (i == IN_mma_acc ? a->out[0] : a->in[i]))
			return false;
	return y->dot.from == x->dot.to && same_product(x, y);
}

bool
prove_part(Prove *p, const Op *o, int k)
{
	int from = o->lowering->dot.from, to = o->lowering->dot.to, all = (int)dot_k(o), readers = 0;
	bool goes_on;
	OpWalk w;

	if (!to)
		return from == 0 || prove_error(p, -1, 0, "a k slice without an end");
	if (from < 0 || from >= to || to > all || from % k || to % k)
		return prove_error(p, -1, 0, "positions %d to %d of %d, by %d", from, to, all, k);
	if (from > 0 && !(mma_acc(o)->def && mma_acc(o)->def->code == O_dot && continues(mma_acc(o)->def, o)))
		return prove_error(p, -1, 0, "positions before %d are never multiplied", from);
	goes_on = to == all;
	for (Op *x = walk_first(&w, p->k->body); to < all && x; x = walk_next(&w))
		for (int i = 0; i < x->nin; i++)
			if (x->in[i] == o->out[0]) {
				readers++;
				goes_on = continues(o, x);
			}
	if (!goes_on || readers > 1)
		return prove_error(p, -1, 0, "positions from %d on are never multiplied", to);
	return true;
}
