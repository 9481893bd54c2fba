/* split_loops_text.c - describes in text how pass split_loops split a loop, or why it did not. */
#include "hexc/ir/memory_effects.h"
#include "infer/explain/explain_internal.h"
#include <string.h>

enum { DEPTH = 12 };

static void index_words(Text *t, const Kernel *k, const Val *v, int depth);

/* Prints an operand: sums in parentheses. */
static void
operand_words(Text *t, const Kernel *k, const Val *v, bool tight, int depth)
{
	const Op *o = v->def;
	bool sum = tight && depth > 0 && o && !v->name && (o->code == O_add || o->code == O_sub);

	text_printf(t, sum ? "(" : "");
	index_words(t, k, v, depth);
	text_printf(t, sum ? ")" : "");
}

/* Prints scalar v as source text. */
static void
index_words(Text *t, const Kernel *k, const Val *v, int depth)
{
	static const char *const sign[O_COUNT] = { [O_add] = " + ", [O_sub] = " - ", [O_mul] = " * ",
		                                   [O_div] = " / ", [O_le] = " <= ", [O_and] = " and " };
	const Op *o = v->def;
	int64_t c;

	if (val_is_const(v, &c)) {
		text_printf(t, "%lld", (long long)c);
	} else if (o && o->code == O_block_id) {
		text_printf(t, "block.%c", "xyz"[IMM(o, axis)]);
	} else if (!v->name && o && o->code == O_cast && depth > 0) {
		index_words(t, k, op_source(o), depth - 1);
	} else if (v->name || !o || depth == 0) {
		text_printf(t, "%s", explain_name(v, k));
	} else if (o->code == O_min || o->code == O_max) {
		text_printf(t, "%s(", op_info[o->code].name);
		index_words(t, k, elt_lhs(o), depth - 1);
		text_printf(t, ", ");
		index_words(t, k, elt_rhs(o), depth - 1);
		text_printf(t, ")");
	} else if (sign[o->code] && o->nin == 2) {
		bool tight = o->code == O_mul || o->code == O_div;

		operand_words(t, k, elt_lhs(o), tight, depth - 1);
		text_printf(t, "%s", sign[o->code]);
		operand_words(t, k, elt_rhs(o), tight || o->code == O_sub, depth - 1);
	} else {
		text_printf(t, "%s", explain_name(v, k));
	}
}

/* Returns o if it is a loop, or the loop in the `if` o of pass overlap_mmas; NULL: neither. */
static const Op *
loop_of(const Op *o)
{
	const Op *loop = o->code == O_if ? o->blk[0]->last : NULL;

	while (loop && loop->code != O_for)
		loop = loop->prev;
	return o->code == O_for ? o : loop;
}

/* Returns the loop that precedes o, skipping barriers. */
static const Op *
loop_before(const Op *o)
{
	const Op *loop = NULL;

	for (o = o->prev; o && !loop; o = o->prev)
		loop = loop_of(o);
	return loop;
}

static const char *
end_words(const Kernel *k, const Op *clear)
{
	const Op *o = for_hi(clear)->def, *front = loop_before(clear);
	bool choice = o && o->code == O_select && select_no(o) == for_lo(clear);
	Text t = { .arena = k->unit->arena };

	text_printf(&t, "without masks ");
	if (front && split_goes_on(front, clear)) {
		text_printf(&t, "from ");
		index_words(&t, k, for_hi(front), DEPTH);
		text_printf(&t, ", ");
	}
	text_printf(&t, "below ");
	index_words(&t, k, choice ? select_yes(o) : for_hi(clear), DEPTH);
	if (choice) {
		text_printf(&t, ", where ");
		index_words(&t, k, select_cond(o), DEPTH);
	}
	return t.s;
}

const char *
explain_whole(const Op *loop)
{
	static const char *const why[SPLIT_KINDS] = {
		[SPLIT_NESTED_LOOP] = "not split: contains a nested loop",
		[SPLIT_OVERFLOW] = "not split: the trip count may overflow",
		[SPLIT_NO_CONDITION] = "not split: no mask changes at a provable iteration",
		[SPLIT_SHORT_TRIP] = "not split: small trip count",
		[SPLIT_CLUSTER_BARRIER] = "not split: a cluster barrier in every iteration",
		[SPLIT_CHEAP_MASKS] = "not split: masks are cheap",
		[SPLIT_CODE_SIZE] = "not split: code size",
		[SPLIT_FALLBACK] = "not split: fallback version without a dot",
		[SPLIT_SMEM] = "not split: shared memory does not fit tiles live in both loops",
	};

	return why[IMM(loop, split)];
}

const char *
explain_split(const Explained *ex, const Op *loop)
{
	if (IMM(loop, split) != SPLIT_REMAINDER)
		return explain_whole(loop);
	return loop_before(loop) ? end_words(ex->k, loop_before(loop)) : NULL;
}

bool
explain_is_twin(const Op *o)
{
	for (const Block *b = o->parent; b && b->owner; b = b->owner->parent) {
		SplitKind kind = b->owner->code == O_for ? (SplitKind)IMM(b->owner, split) : SPLIT_NONE;

		if (kind == SPLIT_MAIN || kind == SPLIT_PROLOGUE)
			return true;
	}
	return false;
}
