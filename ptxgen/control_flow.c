/* control_flow.c - emits for, if and yield as basic blocks and phis. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/cost_constants.h"
#include "infer/core/wgmma.h"
#include "ptxgen/base/named_registers.h"
#include "ptxgen/base/divmod_iv.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/index_arith.h"
#include "ptxgen/emit.h"

/* Forces a value that a region uses, if it was defined outside: values inside have no tile yet. */
static void
gen_enter_val(Codegen *g, Val *v)
{
	if ((v->type.space == S_reg || v->type.space == S_scalar) && g->tile[v->id])
		tile_force(g, v);
}

/* Forces the sizes and strides of a tensor. */
static void
gen_enter_tensor(Codegen *g, const Val *v)
{
	const Param *p = v->type.space == S_global ? val_param(g->k, v) : NULL;

	for (int d = 0; p && d < v->type.rank; d++) {
		if (p->size[d])
			gen_enter_val(g, p->size[d]);
		if (p->stride[d])
			gen_enter_val(g, p->stride[d]);
	}
}

/* Before a region: forces what its ops use from outside. */
void
gen_enter(Codegen *g, Block *b)
{
	OpWalk w;

	gen_flush(g, NULL);
	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			gen_enter_val(g, o->in[i]);
			gen_enter_tensor(g, o->in[i]);
		}
}

/* Creates phis for the words of a tile. */
static void
phi_words(Codegen *g, Tile *t)
{
	for (int w = 0; w < t->nword && !t->web; w++)
		if (tile_has(t, w))
			t->word[w] = LLVMBuildPhi(g->b, word_type(g, t->dtype), "");
}

/* Adds words from predecessor `from` to the phis of t's words. */
static void
phi_add(Codegen *g, const Tile *t, LV *phi, LV *word, LLVMBasicBlockRef from)
{
	for (int w = 0; w < t->nword && !t->web; w++) {
		BUG_IF(g->a, tile_has(t, w) != (word[w] != NULL));
		if (!word[w])
			continue;
		BUG_IF(g->a, LLVMTypeOf(word[w]) != LLVMTypeOf(phi[w]));
		LLVMAddIncoming(phi[w], &word[w], &from, 1);
	}
}

/* Returns the words of n values at the end of the current block, for the tiles `to`. Words of tiles in
 * named registers are written there after all have been read, except unread ones (unread NULL: none is). */
static LV **
all_words(Codegen *g, Val *const *v, Val *const *to, int n, const bool *unread)
{
	LV **all = arena_alloc(g->a, sizeof *all * (size_t)(n + 1));

	for (int i = 0; i < n; i++) {
		const Tile *t = tile_of(g, v[i]);

		if (t->web && t->web == file_web(g, to[i]))
			continue;
		all[i] = lv_array(g, t->nword + 1); /* a trailing NULL detects a wrong count */
		for (int w = 0; w < t->nword; w++)
			all[i][w] = tile_has(t, w) ? word_get(g, v[i], w) : NULL;
	}
	for (int i = 0; i < n; i++)
		if (file_web(g, to[i]) && all[i] && !(unread && unread[i]))
			web_put(g, file_web(g, to[i]), all[i]);
	return all;
}

static void
tile_copy_words(Codegen *g, Tile *to, const Tile *from)
{
	BUG_IF(g->a, to->web != from->web);
	to->part = from->part;
	for (int w = 0; w < to->nword; w++)
		to->word[w] = from->word[w];
}

/* Emits the values that a region yields to its owner. */
void
emit_yield(Codegen *g, Op *o)
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

/* What a loop forwards to its next iteration: words of its body's arguments. */
typedef struct Carried {
	Block *body;
	LV **phi; /* by argument */
} Carried;

/* Does the counter fit 32 bits from its start to where it stops, past the end? */
static bool
counter_narrow(Codegen *g, const Op *loop)
{
	return index_narrow(g, for_lo(loop)) && index_narrow(g, for_hi(loop)) &&
	       index_narrow(g, for_step(loop)) &&
	       val_fact(g->k, for_hi(loop)).hi <= INT32_MAX - val_fact(g->k, for_step(loop)).hi;
}

/* Creates the phis of argument i; its words are emitted after all phis. */
static void
carried_phi(Codegen *g, Carried *c, int i, const bool *part)
{
	Tile *t = tile_new(g, c->body->arg[i]);

	t->part = part;
	c->phi[i] = t->word;
	if (i == 0 ? counter_narrow(g, c->body->owner) : index_narrow(g, t->v)) { /* in 32 bits */
		c->phi[i] = lv_array(g, 1);
		c->phi[i][0] = LLVMBuildPhi(g->b, g->i32, "");
	} else {
		phi_words(g, t);
	}
}

/* Emits the head of a loop: phis of the counter and the carried values. */
static Carried
loop_head(Codegen *g, const Op *o)
{
	Carried c = { .body = o->blk[0] };

	c.phi = arena_alloc(g->a, sizeof *c.phi * (size_t)c.body->narg);
	for (int i = 0; i < c.body->narg; i++)
		carried_phi(g, &c, i, i > 0 ? tile_of(g, for_init(o, i - 1))->part : NULL);
	for (int i = 0; i < c.body->narg; i++) {
		Tile *t = tile_of(g, c.body->arg[i]);

		if (c.phi[i] != t->word)
			t->word[0] = index_widen(g, t->v, c.phi[i][0]);
	}
	return c;
}

/* Branches to the head from here, with these words of all arguments. */
static LV
loop_enter(Codegen *g, const Carried *c, LV **word, LLVMBasicBlockRef head)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);

	for (int i = 0; i < c->body->narg; i++) {
		const Tile *t = tile_of(g, c->body->arg[i]);

		if (c->phi[i] != t->word)
			word[i][0] = index_low(g, word[i][0]);
		phi_add(g, t, c->phi[i], word[i], from);
	}
	return LLVMBuildBr(g->b, head);
}

/* Do a loop's carried words, its addresses, the largest tile that it masks, and as many element positions
 * as that has words, occupy all registers? */
static bool
is_crowded(Codegen *g, const Block *body)
{
	int carried = 0, largest = 0;

	for (int i = 1; i < body->narg; i++)
		for (int w = 0; w < tile_of(g, body->arg[i])->nword; w++)
			carried += tile_has(tile_of(g, body->arg[i]), w);
	for (const Op *o = body->first; o; o = o->next)
		if (o->code == O_mask || o->code == O_select) {
			int n = tile_of(g, o->out[0])->nword;

			largest = n > largest ? n : largest;
		}
	return carried + 2 * largest + LEAST_REGISTERS > STEP_REGISTERS;
}

/* Disables LICM for the loop with this back edge, so that no values are kept in registers through it. */
static void
loop_keep_nothing(Codegen *g, LV back)
{
	static const char kind[] = "llvm.loop", disable[] = "llvm.licm.disable";
	LLVMMetadataRef say = LLVMMDStringInContext2(g->ctx, disable, sizeof disable - 1);
	LLVMMetadataRef node[2] = { LLVMTemporaryMDNode(g->ctx, NULL, 0),
		                    LLVMMDNodeInContext2(g->ctx, &say, 1) };
	LLVMMetadataRef loop = LLVMMDNodeInContext2(g->ctx, node, 2);

	LLVMMetadataReplaceAllUsesWith(node[0], loop); /* a loop's node starts with itself */
	LLVMSetMetadata(back, LLVMGetMDKindIDInContext(g->ctx, kind, sizeof kind - 1),
	                LLVMMetadataAsValue(g->ctx, loop));
}

/* Returns the words of the counter and the carried values, by argument. */
static LV **
turn_words(Codegen *g, LV counter, Val *const *carried, const Op *loop, const bool *unread)
{
	int n = loop->nout;
	LV **word = arena_alloc(g->a, sizeof *word * (size_t)(n + 1));
	LV **rest = all_words(g, carried, loop->blk[0]->arg + 1, n, unread);

	word[0] = lv_array(g, 1);
	word[0][0] = counter;
	for (int i = 0; i < n; i++)
		word[1 + i] = rest[i];
	return word;
}

/* Returns the counter's start. The second loop of a split takes it from the preceding loop's counter, which
 * saves a register for the same number. */
static LV
counter_start(Codegen *g, const Op *o)
{
	const Op *before = o->prev;

	while (before && before->code != O_for)
		before = before->prev;
	if (before && split_goes_on(before, o))
		return tile_of(g, before->blk[0]->arg[0])->word[0];
	return scalar_get(g, for_lo(o));
}

/* Returns, by carried value: is its initial value never read? */
static bool *
first_unread(Codegen *g, const Op *loop)
{
	bool *unread = arena_alloc(g->a, sizeof *unread * (size_t)(loop->nout + 1));

	for (int i = 0; i < loop->nout; i++)
		unread[i] = file_web(g, loop->blk[0]->arg[1 + i]) && wgmma_begins(loop, i);
	return unread;
}

/* Emits whether the loop has an iteration with this counter. */
static LV
turn_runs(Codegen *g, const Op *o, LV now, bool narrow)
{
	LV going = loop_ends_early(o) ? tile_of(g, o->blk[0]->arg[1])->word[0] : NULL, hi, below;
	int64_t end;

	if (going && val_is_const(for_hi(o), &end) && end == INT64_MAX)
		return going; /* the counter never reaches this bound */
	hi = scalar_get(g, for_hi(o));
	below = LLVMBuildICmp(g->b, LLVMIntSLT, now, narrow ? index_low(g, hi) : hi, "");
	return going ? LLVMBuildAnd(g->b, below, going, "") : below;
}

void
emit_for(Codegen *g, Op *o)
{
	Block *b = o->blk[0];
	Loop loop = { .outer = g->loop, .op = o };
	LLVMBasicBlockRef body, exit;
	LV step, now, next, back, **word;
	bool narrow = counter_narrow(g, o);
	Carried c;

	gen_enter(g, b);
	loop.lo = counter_start(g, o);
	scalar_get(g, for_hi(o));
	step = scalar_get(g, for_step(o));
	word = turn_words(g, loop.lo, o->in + IN_for_init, o, first_unread(g, o));
	loop.before = LLVMGetInsertBlock(g->b);
	loop.head = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	body = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	exit = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMPositionBuilderAtEnd(g->b, loop.head);
	c = loop_head(g, o);
	now = c.phi[0][0];
	LLVMBuildCondBr(g->b, turn_runs(g, o, now, narrow), body, exit);
	LLVMPositionBuilderAtEnd(g->b, loop.before);
	loop_enter(g, &c, word, loop.head);
	LLVMPositionBuilderAtEnd(g->b, body);
	g->loop = &loop;
	wheels_new(g);
	gen_block(g, b);
	if (g->u->diag->nerror)
		return;
	moving_next(g);
	next = LLVMBuildNSWAdd(g->b, now, narrow ? index_low(g, step) : step, "");
	next = narrow ? index_widen(g, b->arg[0], next) : next;
	word = turn_words(g, next, b->last->in, o, NULL);
	back = loop_enter(g, &c, word, loop.head);
	if (!moving_pays(g) && is_crowded(g, b))
		loop_keep_nothing(g, back);
	g->loop = loop.outer;
	for (int i = 0; i < o->nout; i++)
		tile_copy_words(g, tile_new(g, o->out[i]), tile_of(g, b->arg[1 + i]));
	LLVMPositionBuilderAtEnd(g->b, exit);
}

/* Emits an `if` of copies without a branch: they are predicated by the condition, and fill with zeros where
 * it is false. */
static void
emit_guarded(Codegen *g, Op *o)
{
	BUG_IF(g->a, g->guard); /* such an `if` contains no other */
	g->guard = if_cond(o);
	gen_block(g, o->blk[0]);
	g->guard = NULL;
}

void
emit_if(Codegen *g, Op *o)
{
	LLVMBasicBlockRef start[2], from[2], join;
	LV cond, **word[2];

	if (if_is_copies(o)) {
		emit_guarded(g, o);
		return;
	}
	cond = scalar_get(g, if_cond(o));
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
		word[r] = all_words(g, o->blk[r]->last->in, o->out, o->nout, NULL);
		from[r] = LLVMGetInsertBlock(g->b);
		LLVMBuildBr(g->b, join);
	}
	LLVMPositionBuilderAtEnd(g->b, join);
	for (int i = 0; i < o->nout; i++)
		phi_words(g, tile_new(g, o->out[i]));
	for (int i = 0; i < o->nout; i++)
		for (int r = 0; r < 2; r++)
			phi_add(g, tile_of(g, o->out[i]), tile_of(g, o->out[i])->word, word[r][i], from[r]);
}
