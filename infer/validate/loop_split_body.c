/* loop_split_body.c - validates loop splitting: compares the body of the main loop with that of the
 * remainder, op by op. */
#include "infer/validate/loop_split.h"
#include <string.h>

static const Val *
mapped(const Pair *x, const Val *v)
{
	return x->to[v->id] ? x->to[v->id] : v;
}

/* Is a in the main loop equal to b in the other? Ignores regions and the condition of an if. */
static bool
does_same(const Pair *x, const Op *a, const Op *b)
{
	if (a->code != b->code || a->nin != b->nin || a->nout != b->nout ||
	    memcmp(a->imm, b->imm, sizeof a->imm) != 0 || memcmp(&a->fimm, &b->fimm, sizeof a->fimm) != 0 ||
	    (a->text != b->text && (!a->text || !b->text || strcmp(a->text, b->text) != 0)) ||
	    !prove_same_way(a->lowering, b->lowering))
		return false;
	for (int i = b->code == O_if ? 1 : 0; i < a->nin; i++)
		if (a->in[i] != mapped(x, b->in[i]))
			return false;
	for (int i = 0; i < a->nout; i++)
		if (!type_same(&a->out[i]->type, &b->out[i]->type) ||
		    !prove_same_layout(a->out[i]->type.layout, b->out[i]->type.layout))
			return false;
	return true;
}

static bool same_block(Pair *x, const Op **at, const Block *b);

/* Is b redundant in the main loop, or an `if` of which only one region is executed? Then advances *at past
 * that region. */
static bool
is_idle(Pair *x, const Op **at, const Op *b)
{
	int way;

	if (b->code == O_mask && split_masks_nothing(x, b)) {
		x->to[b->out[0]->id] = mapped(x, mask_source(b));
		return true;
	}
	if (b->code != O_select && b->code != O_if)
		return false;
	if (!split_always(x, choice_cond(b), true) && !split_always(x, choice_cond(b), false))
		return false;
	way = split_always(x, choice_cond(b), true) ? 0 : 1;
	if (b->code == O_select) {
		x->to[b->out[0]->id] = mapped(x, way ? select_no(b) : select_yes(b));
		return true;
	}
	if (!same_block(x, at, b->blk[way]))
		return false;
	for (int i = 0; i < b->nout; i++)
		x->to[b->out[i]->id] = mapped(x, b->blk[way]->last->in[i]);
	return true;
}

/* Validates an equal `if`, under the same condition or a known true one. */
static bool
same_if(Pair *x, const Op *a, const Op *b)
{
	int64_t c;

	if (if_cond(a) != mapped(x, if_cond(b)) &&
	    !(val_is_const(if_cond(a), &c) && split_always(x, if_cond(b), c != 0)))
		return split_wrong(x, "an `if` takes another path");
	for (int i = 0; i < 2; i++) {
		const Op *first = a->blk[i]->first;

		if (!same_block(x, &first, b->blk[i]))
			return false;
		if (first != a->blk[i]->last)
			return split_wrong(x, "an unmasked region has extra ops");
		for (int j = 0; j < b->nout; j++)
			if (first->in[j] != mapped(x, b->blk[i]->last->in[j]))
				return split_wrong(x, "an unmasked region yields a different value");
	}
	return true;
}

static bool
lacks(Pair *x, const Op *o)
{
	const char *name = op_info[o->code].name;

	return split_wrong(x, arena_printf(x->p->arena,
	                                   "%s of line %u is missing or different in the unmasked loop", name,
	                                   o->src.line));
}

/* Validates that the ops of b occur from *at on, and advances *at. Additional constants are allowed. */
static bool
same_block(Pair *x, const Op **at, const Block *b)
{
	for (const Op *o = b->first; o != b->last; o = o->next) {
		const Op *a = *at;

		while (a && a->code == O_const && !does_same(x, a, o))
			a = a->next;
		if (!a || !does_same(x, a, o)) {
			if (!is_idle(x, at, o))
				return lacks(x, o);
			continue;
		}
		if (o->code == O_for)
			return split_wrong(x, "contains a nested loop");
		for (int i = 0; i < o->nout; i++)
			x->to[o->out[i]->id] = a->out[i];
		if (o->code == O_if && !same_if(x, a, o))
			return false;
		*at = a->next;
	}
	return true;
}

bool
split_same_turns(Pair *x)
{
	const Block *a = x->clear->blk[0], *b = x->rest->blk[0];
	const Op *at = a->first;

	if (a->narg != b->narg)
		return split_wrong(x, "the loops carry a different number of values");
	for (int i = 0; i < b->narg; i++)
		x->to[b->arg[i]->id] = a->arg[i];
	if (!same_block(x, &at, b))
		return false;
	if (at != a->last)
		return split_wrong(x, "unmasked loop has an extra op");
	for (int i = 0; i < at->nin; i++)
		if (at->in[i] != mapped(x, b->last->in[i]))
			return split_wrong(x, "the unmasked loop carries a different value");
	return true;
}
