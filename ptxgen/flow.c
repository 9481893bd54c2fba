/* flow.c - for, if, yield: basic blocks and phis. */
#include "hexc/ir/access.h"
#include "ptxgen/base/word.h"
#include "ptxgen/emit.h"

/* Force a value that a region uses, if it was made outside: the values inside have no tile yet. */
static void
gen_enter_val(Gen *g, Val *v)
{
	if ((v->type.space == S_reg || v->type.space == S_scalar) && g->tile[v->id])
		tile_force(g, v);
}

/* Before a region: force what its ops use from outside. */
static void
gen_enter(Gen *g, Block *b)
{
	OpWalk w;

	gen_flush(g, NULL);
	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			gen_enter_val(g, o->in[i]);
}

/* Phis for the words of a tile. */
static void
phi_words(Gen *g, Tile *t)
{
	for (int w = 0; w < t->nword; w++)
		if (tile_has(t, w))
			t->word[w] = LLVMBuildPhi(g->b, word_type(g, t->dtype), "");
}

static void
phi_add(Gen *g, Tile *t, LV *word, LLVMBasicBlockRef from)
{
	for (int w = 0; w < t->nword; w++) {
		BUG_IF(g->a, tile_has(t, w) != (word[w] != NULL));
		if (!word[w])
			continue;
		BUG_IF(g->a, LLVMTypeOf(word[w]) != LLVMTypeOf(t->word[w]));
		LLVMAddIncoming(t->word[w], &word[w], &from, 1);
	}
}

/* The words of n values at the end of the current block. */
static LV **
all_words(Gen *g, Val *const *v, int n)
{
	LV **all = arena_alloc(g->a, sizeof *all * (size_t)(n + 1));

	for (int i = 0; i < n; i++) {
		const Tile *t = tile_of(g, v[i]);

		all[i] = lv_array(g, t->nword + 1); /* a NULL behind tells a wrong count */
		for (int w = 0; w < t->nword; w++)
			all[i][w] = tile_has(t, w) ? word_get(g, v[i], w) : NULL;
	}
	return all;
}

static void
tile_copy_words(Tile *to, const Tile *from)
{
	to->part = from->part;
	for (int w = 0; w < to->nword; w++)
		to->word[w] = from->word[w];
}

/* The values a region hands to its owner. */
void
emit_yield(Gen *g, Op *o)
{
	const Op *owner = o->parent->owner;

	if (owner && if_is_copies(owner))
		return;
	gen_flush(g, NULL);
	if (!owner)
		return;
	for (int i = 0; i < o->nin; i++)
		tile_force(g, o->in[i]);
}

/* Head of a loop: phis of the counter and the carried values.  Returns the counter. */
static LV
loop_head(Gen *g, Op *o, LV lo, LV *const *init, LLVMBasicBlockRef before)
{
	Block *b = o->blk[0];
	Tile *counter = tile_new(g, b->arg[0]);

	phi_words(g, counter);
	LLVMAddIncoming(counter->word[0], &lo, &before, 1);
	for (int i = 0; i < o->nout; i++) {
		Tile *t = tile_new(g, b->arg[1 + i]);

		t->part = tile_of(g, o->in[3 + i])->part;
		phi_words(g, t);
		phi_add(g, t, init[i], before);
	}
	return counter->word[0];
}

/* Where the counter starts.  That of a split loop's later part has got there in the loop in front, which is
 * less to keep than the same number once more. */
static LV
counter_start(Gen *g, const Op *o)
{
	const Op *before = o->prev;

	while (before && before->code != O_for)
		before = before->prev;
	if (before && split_goes_on(before, o))
		return tile_of(g, before->blk[0]->arg[0])->word[0];
	return scalar_get(g, o->in[0]);
}

void
emit_for(Gen *g, Op *o)
{
	Block *b = o->blk[0];
	LLVMBasicBlockRef before, head, body, exit, last;
	LV lo, hi, step, iv, next, **word;

	gen_enter(g, b);
	word = all_words(g, o->in + 3, o->nout);
	lo = counter_start(g, o);
	hi = scalar_get(g, o->in[1]);
	step = scalar_get(g, o->in[2]);
	before = LLVMGetInsertBlock(g->b);
	head = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	body = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	exit = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMBuildBr(g->b, head);
	LLVMPositionBuilderAtEnd(g->b, head);
	iv = loop_head(g, o, lo, word, before);
	LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, iv, hi, ""), body, exit);
	LLVMPositionBuilderAtEnd(g->b, body);
	gen_block(g, b);
	if (g->u->diag->nerror)
		return;
	word = all_words(g, b->last->in, o->nout);
	next = LLVMBuildNSWAdd(g->b, iv, step, "");
	last = LLVMGetInsertBlock(g->b);
	LLVMBuildBr(g->b, head);
	LLVMAddIncoming(iv, &next, &last, 1);
	for (int i = 0; i < o->nout; i++) {
		Tile *t = tile_of(g, b->arg[1 + i]);

		phi_add(g, t, word[i], last);
		tile_copy_words(tile_new(g, o->out[i]), t);
	}
	LLVMPositionBuilderAtEnd(g->b, exit);
}

/* Without a branch: copies move nothing where the condition does not hold, and fill with zeros. */
static void
emit_guarded(Gen *g, Op *o)
{
	BUG_IF(g->a, g->guard); /* such an if holds none */
	g->guard = o->in[0];
	gen_block(g, o->blk[0]);
	g->guard = NULL;
}

void
emit_if(Gen *g, Op *o)
{
	LLVMBasicBlockRef start[2], from[2], join;
	LV cond, **word[2];

	if (if_is_copies(o)) {
		emit_guarded(g, o);
		return;
	}
	cond = scalar_get(g, o->in[0]);
	gen_enter(g, o->blk[0]);
	gen_enter(g, o->blk[1]);
	start[0] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	start[1] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	join = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMBuildCondBr(g->b, cond, start[0], start[1]);
	for (int r = 0; r < 2; r++) {
		LLVMPositionBuilderAtEnd(g->b, start[r]);
		gen_block(g, o->blk[r]);
		if (g->u->diag->nerror)
			return;
		word[r] = all_words(g, o->blk[r]->last->in, o->nout);
		from[r] = LLVMGetInsertBlock(g->b);
		LLVMBuildBr(g->b, join);
	}
	LLVMPositionBuilderAtEnd(g->b, join);
	for (int i = 0; i < o->nout; i++)
		phi_words(g, tile_new(g, o->out[i]));
	for (int i = 0; i < o->nout; i++)
		for (int r = 0; r < 2; r++)
			phi_add(g, tile_of(g, o->out[i]), word[r][i], from[r]);
}
