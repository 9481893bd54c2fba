/* liveness.c - which register tiles are there at the same time, and how many registers that takes.
 *
 * The emitter pulls words (ptxgen/base/codegen.h): an elementwise op makes a word of its result when somebody
 * asks for it, and what was made is kept until it has been asked for the last time.  So in a block a tile
 * is there from the first op that asks for all of it to the last: products, reductions, stores, loops, the
 * block's end; between them elementwise ops take no registers of their own, and what only moves elements
 * has those of its operand.  Loads from global memory and what is behind them go out at their place. */
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/core/wgmma.h"
#include "infer/cost/cost.h"

/* A tile that is there from behind op number `from` of its block up to number `to`. */
typedef struct LiveRange {
	const Val *v;
	int from, to;
} LiveRange;

typedef struct Live { /* of a block */
	LiveRange *span;
	int n, cap;
	int64_t *sum; /* [number of ops + 2] for live_registers() */
} Live;

struct Lives {
	Live *of; /* [2 * (nop+1)] by the block's owner, twice its id; 0: the kernel's body */
	bool *stays; /* [nval+1] has a span: more than one op asks for it */
	int *at; /* [nop+1] number of an op in its block, from 1 */
};

typedef struct LivenessState {
	Solve *s;
	int *at; /* [nop+1] number in its block, from 1 */
	int *pulled; /* [nop+1] of an op: when it is asked for */
	int *until; /* [nval+1] */
} LivenessState;

static Live *
live_of(const Solve *s, const Block *b)
{
	return &s->live->of[b->owner ? 2 * (size_t)b->owner->id + (b == b->owner->blk[1]) : 0];
}

static bool
reads_shared(const Op *o)
{
	return o->code == O_load && o->in[0]->type.space == S_shared;
}

/* Are its words made one by one? */
static bool
is_lazy(const Op *o)
{
	return op_is(o, F_ELT | F_MOVE | F_FILL) || o->code == O_mask || o->code == O_lookup ||
	       o->code == O_gather || reads_shared(o);
}

/* When is v first asked for, and until when is it there? */
static void
find_span(LivenessState *f, const Val *v, int *first, int *last)
{
	const Solve *s = f->s;

	*first = INT32_MAX;
	*last = 0;
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const Op *o = s->use[v->id][i].op;
		bool inside = o->parent != v->block;
		int from, to;

		while (o->parent != v->block)
			o = o->parent->owner;
		from = to = f->at[o->id];
		if (o->code == O_view)
			to = f->until[o->out[0]->id] > to ? f->until[o->out[0]->id] : to + 1;
		else if (inside)
			to++;
		else if (is_lazy(o))
			from = to = f->pulled[o->id];
		if (!inside && op_is(o, F_MOVE) && f->until[o->out[0]->id] > to)
			to = f->until[o->out[0]->id];
		*first = from < *first ? from : *first;
		*last = to > *last ? to : *last;
	}
}

static void
add_span(LivenessState *f, const Val *v, int from, int to)
{
	Live *l = live_of(f->s, v->block);
	LiveRange x = { v, from, to };

	f->until[v->id] = to;
	if (v->type.space != S_reg || to <= from || (v->def && op_is(v->def, F_FILL | F_MOVE)))
		return;
	f->s->live->stays[v->id] = true;
	VEC_PUSH(f->s->arena, l->span, l->n, l->cap, x);
}

static void
find_block(LivenessState *f, Block *b)
{
	int n = 0, fence;

	for (Op *o = b->first; o; o = o->next)
		f->at[o->id] = ++n;
	live_of(f->s, b)->sum = NEWN(f->s->arena, int64_t, n + 2);
	fence = n;
	for (Op *o = b->last; o; o = o->prev) {
		int at = f->at[o->id], first, last;

		if (op_is(o, F_SYNC))
			fence = at;
		f->pulled[o->id] = at;
		for (int i = 0; i < o->nout; i++) {
			find_span(f, o->out[i], &first, &last);
			if (is_lazy(o) && last)
				f->pulled[o->id] = reads_shared(o) && fence < first ? fence : first;
			add_span(f, o->out[i], f->pulled[o->id], last);
		}
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				find_block(f, o->blk[i]);
	}
	for (int i = 0; i < b->narg; i++) {
		int first, last;

		find_span(f, b->arg[i], &first, &last);
		add_span(f, b->arg[i], 0, last);
	}
}

void
live_init(Solve *s)
{
	LivenessState f = { .s = s };

	s->live = NEW(s->arena, struct Lives);
	s->live->of = NEWN(s->arena, Live, 2 * ((size_t)s->k->nop + 1));
	s->live->stays = NEWN(s->arena, bool, s->k->nval + 1);
	f.at = s->live->at = NEWN(s->arena, int, s->k->nop + 1);
	f.pulled = NEWN(s->arena, int, s->k->nop + 1);
	f.until = NEWN(s->arena, int, s->k->nval + 1);
	find_block(&f, s->k->body);
}

/* ---- how many registers --------------------------------------------------------------------------- */

int64_t
layout_words(const Layout *l, int bits)
{
	return ceil_div(layout_cosize(l, AX_reg) * bits, 32);
}

int64_t
lane_words(const Solve *s, const Val *v)
{
	return v->type.space == S_reg ? layout_words(s->sol->val[v->id], dtype_slot_bits(v->type.dtype)) : 0;
}

/* The load that gathers v from global memory in a loop, once it is known by what instruction; NULL: none.
 * What is not in a loop is mostly stored as it comes. */
static const Op *
gathered_by(const Solve *s, const Val *v)
{
	const Op *o = v->def, *view = o && o->code == O_load ? o->in[0]->def : NULL;

	if (!view || v->type.space != S_reg || o->in[0]->type.space != S_global || !in_loop(o))
		return NULL;
	return s->sol->lowering[o->id] && view_gather_dim(view) >= 0 ? o : NULL;
}

static int64_t
accesses(const Solve *s, const Op *load)
{
	const LoweredAccess *p = &s->sol->lowering[load->id]->access;

	return layout_cosize(p->map ? p->map : result_layout(s, load, 0), AX_reg) / p->vec;
}

/* Each access of a load that gathers has a register of its own, however narrow it is: words are packed when
 * they are asked for, as all loads are under way. */
static int64_t
held_words(const Solve *s, const Val *v)
{
	const Op *o = gathered_by(s, v);
	int64_t words = lane_words(s, v);

	return o ? max64(words, accesses(s, o)) : words;
}

/* Words of the offsets, of 64 bits, that indices become, beside what load o brings: where each is for one
 * access alone, that comes to where its address was. */
static int64_t
offset_words(const Solve *s, const Op *o)
{
	const Op *view;
	int64_t sum = 0;

	if (!o->nout || !gathered_by(s, o->out[0]))
		return 0;
	view = o->in[0]->def;
	for (int d = 0; d + 1 < view->nin; d++)
		if (view_gathers(view, d))
			sum += layout_cosize(s->sol->val[view->in[1 + d]->id], AX_reg);
	return accesses(s, o) > sum ? 2 * sum : max64(0, 2 * sum - held_words(s, o->out[0]));
}

/* Is v made by the op that asks for it, word for word? */
static bool
made_there(const Solve *s, const Val *v, const Op *o)
{
	return v->def && v->block == o->parent && is_lazy(v->def) && !s->live->stays[v->id];
}

const Val *
moved_from(const Val *v)
{
	while (v->def && op_is(v->def, F_MOVE))
		v = v->def->in[0];
	return v;
}

/* Of how many neighbours along k a lane's registers of operand j follow each other: where products are by fma
 * they do so where memory does (fma_choice). */
static int64_t
fma_run(const Op *dot, const DotChoice *c, int j)
{
	return max64(layout_run(j ? &c->b : &c->a, dot->in[j]->type.rank - (j ? 2 : 1), AX_reg), 1);
}

int64_t
dot_k_step(const Op *dot, const DotChoice *c, int j)
{
	const Op *from = moved_from(dot->in[j])->def;
	int64_t vec = dtype_most(dot->in[j]->type.dtype), k = dot_k(dot), run = c->run;

	if (c->inst->kind == IK_fma)
		return min64(fma_run(dot, c, j), min64(vec, k));
	if (!from || from->code != O_load)
		run = 0;
	if (run > vec)
		run = vec;
	return MMA_LANES * run > c->inst->k ? MMA_LANES * run : c->inst->k;
}

/* Of how many indices along k does one access to v, of which dot's operand j is made, bring elements? */
static int64_t
made_of_k(const Op *dot, const DotChoice *c, int j, const Val *v)
{
	int64_t access = ACCESS_BITS / bits_of(v), k = dot_k(dot);
	int64_t held = c->run ? MMA_LANES * (c->run < access ? c->run : access) : k;

	if (c->inst->kind == IK_fma)
		held = min64(fma_run(dot, c, j), access);
	return held < k ? held : k;
}

/* Words of the loads from shared memory that v is made from. */
static int64_t
loaded(const Solve *s, const Op *dot, const DotChoice *c, int j, const Val *v)
{
	int64_t sum = 0;

	if (!made_there(s, v, dot))
		return 0;
	if (reads_shared(v->def))
		return lane_words(s, v) * made_of_k(dot, c, j, v) / dot_k(dot);
	for (int i = 0; i < v->def->nin; i++)
		sum += loaded(s, dot, c, j, v->def->in[i]);
	return sum;
}

/* The way of operand j of o through shared memory, once it is known: all of it is read at once; NULL:
 * none. */
static const Lowering *
read_back(const Solve *s, const Op *o, int j)
{
	const Lowering *how = s->sol->conv[o->id][j];

	return how && how->kind == LW_shared ? how : NULL;
}

/* Words that dot o needs beside what lives around it, in one step along k; *next: in the step that is pulled
 * meanwhile. */
static int64_t
dot_fragments(const Solve *s, const Op *o, int64_t *next)
{
	const DotChoice *c = s->sol->plan.dot[s->dot_at[o->id]];
	int64_t k = dot_k(o), sum = 0;

	*next = 0;
	for (int i = 0; i < 2; i++) {
		const Val *v = o->in[i];
		const Op *from = moved_from(v)->def;
		int64_t step = dot_k_step(o, c, i);
		int64_t words = layout_words(operand_layout(s, o, i), dtype_slot_bits(v->type.dtype));

		if (!made_there(s, v, o) || read_back(s, o, i))
			continue;
		if (from && reads_shared(from)) {
			sum += ceil_div(words * step, k);
		} else { /* ptxas makes early what a turn before has loaded */
			sum += s->sol->rotate ? words : ceil_div(words * step, k);
			sum += loaded(s, o, c, i, v);
		}
		/* of sums by lanes ptxas asks early for what the next step reads */
		if (c->inst->kind == IK_fma ? step < k : instr_is_whole(c->inst) && step < 2 * c->inst->k)
			*next += ceil_div(words * step, k);
	}
	if (k <= c->inst->k || lane_words(s, o->out[0]) + sum + *next > STEP_REGISTERS)
		*next = 0;
	return sum;
}

int64_t
held_factor(const Solve *s, const Op *o)
{
	const Val *v = product_factor(o);
	int64_t all;
	int parts;

	if (!v)
		return 0;
	all = layout_words(operand_layout(s, o, v == o->in[1]), dtype_slot_bits(v->type.dtype));
	parts = wgmma_parts(o, s->sol->plan.dot[s->dot_at[o->id]]->inst->k);
	return all / parts * wgmma_sets(parts, all, lane_words(s, o->out[0]));
}

/* At a product of warpgroups, of all that the loop's turn has: each factor keeps its registers. */
static int64_t
held_around(const Solve *s, const Op *o)
{
	int64_t sum = 0;

	for (const Op *x = o->parent->first; o->code == O_wgmma && x; x = x->next)
		sum += held_factor(s, x);
	return sum;
}

/* Operands that are converted by way of shared memory are there from the first op that wants them so to the
 * last: those of b are added. */
static void
add_converted(const Solve *s, const Block *b, Live *l)
{
	int at = 0;

	for (const Op *o = b->first; o; o = o->next) {
		at++;
		for (int j = 0; j < o->nin; j++) {
			const Lowering *how = read_back(s, o, j);
			const Val *v = o->in[j];
			int first = at, last = at, to = 0;

			for (int i = 0; how && i < s->nuse[v->id]; i++) {
				const OperandUse *u = &s->use[v->id][i];

				if (u->op->parent != b || s->sol->conv[u->op->id][u->i] != how)
					continue;
				first = s->live->at[u->op->id] < first ? s->live->at[u->op->id] : first;
				to = s->live->at[u->op->id];
				last = to > last ? to : last;
			}
			if (!how || first < at)
				continue;
			to = (int)layout_words(s->sol->want[o->id][j], dtype_slot_bits(v->type.dtype));
			l->sum[at] += to;
			l->sum[last + 1] -= to;
		}
	}
}

static int64_t
block_registers(const Solve *s, const Block *b, int64_t around)
{
	Live *l = live_of(s, b);
	int64_t now = around, most = around;
	int at = 0;

	for (int i = 0; i < l->n; i++) {
		int64_t words = held_words(s, l->span[i].v);

		l->sum[l->span[i].from] += words;
		l->sum[l->span[i].to] -= words;
	}
	add_converted(s, b, l);
	now += l->sum[0];
	l->sum[0] = 0;
	for (const Op *o = b->first; o; o = o->next) {
		int64_t next = 0, more = o->code == O_dot ? dot_fragments(s, o, &next) : held_around(s, o);
		int64_t within = 0;

		if (o->code == O_load)
			more = offset_words(s, o);
		now += l->sum[++at];
		l->sum[at] = 0;
		most = now + more + next > most ? now + more + next : most;
		for (int i = 0; i < o->nout && o->blk[0]; i++)
			within += s->nuse[o->out[i]->id] ? lane_words(s, o->out[i]) : 0;
		for (int i = 0; i < 2 && o->blk[i]; i++) {
			int64_t inside = block_registers(s, o->blk[i], now - within);

			most = inside > most ? inside : most;
		}
	}
	l->sum[at + 1] = 0;
	return most;
}

int64_t
live_registers(const Solve *s, const Block *b)
{
	return block_registers(s, b, 0);
}
