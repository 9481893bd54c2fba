/* slow_path.c - emits the rare operand of a select as a slow path, executed only by warps with a lane that
 * selects it.
 *
 * If the first operand of a select is marked rare, ops used only by it are emitted in a separate block, for
 * several words together. A warp branches there only if one of its lanes has an element that selects it.
 * Selects with the same condition share the block, for example the remainder and the quadrant of large
 * arguments of sin. If the branch is taken, it adds about a tenth of the slow path's cost. */
#include "ptxgen/element/slow_path.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"

/* minimum number of ops per word that justify a vote and a branch; words that share these; selects per
 * condition */
enum { LEAST = 8, TOGETHER = 4, SELECTS_MAX = 4 };

struct Rare {
	struct Rare *next;
	const Val *cond;
	Op *sel[SELECTS_MAX];
	int nsel;
	bool *behind; /* by Val.id: is computed in the slow path */
	Val **input;  /* values from outside that the slow path needs */
	int ninput, input_cap;
	int nop;      /* ops in the slow path */
	bool busy;    /* its inputs are being emitted */
};

/* ---- contents of the slow path --------------------------------------------------------------- */

/* Does each register of v have a separate word? */
static bool
is_plain(const Val *v)
{
	return v->type.space == S_reg && dtype_per_word(v->type.dtype) == 1 && !v->type.bit_order;
}

static bool
is_select_of(const Op *o, const Val *cond)
{
	return o->code == O_select && IMM(o, rare) && select_cond(o) == cond && is_plain(o->out[0]) &&
	       is_plain(cond);
}

static void
input_add(Codegen *g, struct Rare *r, Val *v)
{
	for (int i = 0; i < r->ninput; i++)
		if (r->input[i] == v)
			return;
	if (!r->behind[v->id])
		VEC_PUSH(g->a, r->input, r->ninput, r->input_cap, v);
}

/* Backward from the last select: an op is in the slow path if all its uses are. */
static void
read_block(Codegen *g, struct Rare *r)
{
	const uint32_t *uses = kernel_uses(g->k);
	uint32_t *there = NEWN(g->a, uint32_t, g->k->nval + 1);
	const Op *last = r->sel[r->nsel - 1];

	r->behind = NEWN(g->a, bool, g->k->nval + 1);
	for (int i = 0; i < r->nsel; i++)
		there[select_yes(r->sel[i])->id]++;
	for (const Op *o = last->prev; o; o = o->prev) {
		if (!op_is(o, F_ELT) || is_select_of(o, r->cond) || !is_plain(o->out[0]) ||
		    there[o->out[0]->id] != uses[o->out[0]->id])
			continue;
		r->nop++;
		r->behind[o->out[0]->id] = true;
		for (int i = 0; i < o->nin; i++)
			there[o->in[i]->id]++;
	}
	for (int i = 0; i < r->nsel; i++)
		input_add(g, r, select_yes(r->sel[i]));
	for (const Op *o = last->prev; o; o = o->prev)
		for (int i = 0; o->nout == 1 && r->behind[o->out[0]->id] && i < o->nin; i++)
			input_add(g, r, o->in[i]);
}

/* Returns the selects with o's condition, up to the number that share a branch. */
static struct Rare *
rare_of(Codegen *g, const Op *o)
{
	struct Rare *r = g->rare;

	while (r && (r->cond != select_cond(o) || r->sel[0]->parent != o->parent))
		r = r->next;
	if (r)
		return r;
	r = NEW(g->a, struct Rare);
	r->cond = select_cond(o);
	for (Op *p = o->parent->first; p; p = p->next)
		if (is_select_of(p, r->cond) && r->nsel < SELECTS_MAX)
			r->sel[r->nsel++] = p;
	read_block(g, r);
	r->next = g->rare;
	g->rare = r;
	return r;
}

/* ---- emission -------------------------------------------------------------------------------- */

/* May a block end here, and have all selects, including o, and their operands been visited? */
static bool
can_branch(Codegen *g, const struct Rare *r, const Op *o)
{
	bool among = false;

	if (g->rarely || r->busy || r->nop < LEAST || (g->loop && kernel_has(g->k, O_dot)) ||
	    LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(g->b)))
		return false;
	for (int i = 0; i < r->nsel; i++) {
		const Tile *t = g->tile[r->sel[i]->out[0]->id];

		among = among || r->sel[i] == o;
		if (!t || t->nword != tile_of(g, o->out[0])->nword)
			return false;
	}
	for (int i = 0; i < r->ninput; i++)
		if (!g->tile[r->input[i]->id])
			return false;
	return among;
}

/* Emits before the branch the selects' second operands and the slow path's inputs, for word w. */
static void
word_before(Codegen *g, const struct Rare *r, int w)
{
	for (int i = 0; i < r->nsel; i++)
		word_get(g, select_no(r->sel[i]), w);
	for (int i = 0; i < r->ninput; i++) {
		const Tile *t = tile_of(g, r->input[i]);

		if (!t->l || t->v->type.bit_order)
			tile_force(g, r->input[i]);
		else
			word_get(g, r->input[i], w / t->epw);
	}
}

/* Returns an i1: does a lane of the warp have an element, in those words, that selects the slow path? */
static LV
any_of(Codegen *g, const struct Rare *r, const int *word, int n)
{
	LV any = NULL, c;

	for (int i = 0; i < n; i++) {
		c = word_get(g, select_cond(r->sel[0]), word[i]);
		any = any ? LLVMBuildOr(g->b, any, c, "") : c;
	}
	any = asm_op(g, A_any, any, NULL, NULL);
	return LLVMBuildICmp(g->b, LLVMIntNE, any, const_i32(g, 0), "");
}

/* Creates a block after the current one. */
static LLVMBasicBlockRef
block_behind(Codegen *g)
{
	LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");

	LLVMMoveBasicBlockAfter(block, LLVMGetInsertBlock(g->b));
	return block;
}

/* Emits those words of all selects. */
static void
emit_together(Codegen *g, struct Rare *r, const int *word, int n)
{
	LV any = any_of(g, r, word, n), x[TOGETHER][SELECTS_MAX], y, phi[TOGETHER][SELECTS_MAX];
	LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(g->b) };
	LLVMBasicBlockRef join = block_behind(g), far = block_behind(g);

	LLVMBuildCondBr(g->b, any, far, join);
	LLVMPositionBuilderAtEnd(g->b, far);
	g->rarely = true;
	for (int i = 0; i < n; i++)
		for (int s = 0; s < r->nsel; s++)
			x[i][s] = word_get(g, select_yes(r->sel[s]), word[i]);
	g->rarely = false;
	from[1] = LLVMGetInsertBlock(g->b);
	LLVMBuildBr(g->b, join);
	LLVMPositionBuilderAtEnd(g->b, join);
	for (int i = 0; i < n; i++)
		for (int s = 0; s < r->nsel; s++) {
			y = word_get(g, select_no(r->sel[s]), word[i]);
			phi[i][s] = LLVMBuildPhi(g->b, LLVMTypeOf(y), "");
			LLVMAddIncoming(phi[i][s], &y, &from[0], 1);
			LLVMAddIncoming(phi[i][s], &x[i][s], &from[1], 1);
		}
	for (int i = 0; i < n; i++)
		for (int s = 0; s < r->nsel; s++) {
			y = word_get(g, select_no(r->sel[s]), word[i]);
			y = LLVMBuildSelect(g->b, word_get(g, select_cond(r->sel[s]), word[i]), phi[i][s],
			                    y, "");
			tile_of(g, r->sel[s]->out[0])->word[word[i]] = y;
		}
}

bool
rarely_select(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	struct Rare *r;
	int word[TOGETHER], n = 0;

	if (!is_select_of(o, select_cond(o)) || g->rarely)
		return false;
	r = rare_of(g, o);
	if (!can_branch(g, r, o))
		return false;
	r->busy = true;
	for (int i = w / TOGETHER * TOGETHER; i < t->nword && i / TOGETHER == w / TOGETHER; i++)
		if (tile_has(t, i) && !t->word[i]) {
			word_before(g, r, i);
			word[n++] = i;
		}
	r->busy = false;
	if (!t->word[w])
		emit_together(g, r, word, n);
	return true;
}
