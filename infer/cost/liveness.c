/* liveness.c - computes the live ranges of register tiles, and the largest number of registers per thread
 * that is live at once.
 *
 * The emitter is demand-driven (ptxgen/base/codegen.h): an elementwise op computes a 32-bit register of
 * its result at the first request, and the register is live until the last request.  So within a block a
 * tile is live from the first op that requests all of it to the last: dots, reductions, stores, loops, the
 * end of the block.  Elementwise ops in between take no registers of their own, and ops that only move
 * elements use those of their operand.  Loads from global memory, and ops after them, are issued in
 * program order. */
#include "hexc/ir/sparse.h"
#include "infer/core/cost_constants.h"
#include "infer/core/wgmma.h"
#include "infer/cost/cost.h"

/* A tile that is live from after op `from` of its block up to op `to`. */
typedef struct LiveRange {
	const Val *v;
	int from, to;
} LiveRange;

typedef struct Live { /* live ranges of one block */
	LiveRange *span;
	int n, cap;
	int64_t *sum; /* [number of ops + 2] changes at each op, for live_registers() */
} Live;

struct Lives {
	Live *of; /* [2 * (nop+1)] by 2 * id of the block's owner + region; 0: the kernel's body */
	bool *stays; /* [nval+1] has a range: more than one op requests it */
	uint32_t *seen, walk; /* [nval+1] the last walk that met it; their number */
	int *at; /* [nop+1] index of an op in its block, from 1 */
};

typedef struct LivenessState {
	Solve *s;
	int *at; /* [nop+1] index of an op in its block, from 1 */
	int *pulled; /* [nop+1] index at which an op's result is first requested */
	int *until; /* [nval+1] index of the last request */
} LivenessState;

static Live *
live_of(const Solve *s, const Block *b)
{
	return &s->live->of[b->owner ? 2 * (size_t)b->owner->id + (b == b->owner->blk[1]) : 0];
}

static bool
reads_shared(const Op *o)
{
	return o->code == O_load && load_source(o)->type.space == S_shared;
}

/* Does the emitter compute o's registers one by one, on request? */
static bool
is_lazy(const Op *o)
{
	return op_is(o, F_ELT | F_MOVE | F_FILL) || o->code == O_mask || o->code == O_lookup ||
	       o->code == O_gather || reads_shared(o);
}

/* Finds where v is first requested, and until where it is live. */
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
	s->live->seen = NEWN(s->arena, uint32_t, s->k->nval + 1);
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

/* Returns the load that gathers v from global memory in a loop, once its instruction is selected; NULL: none.
 * Outside of loops the result is mostly stored at once. */
static const Op *
gathered_by(const Solve *s, const Val *v)
{
	const Op *o = v->def, *view = o && o->code == O_load ? load_source(o)->def : NULL;

	if (!view || v->type.space != S_reg || load_source(o)->type.space != S_global || !in_loop(o))
		return NULL;
	return s->sol->lowering[o->id] && view_gather_dim(view) >= 0 ? o : NULL;
}

static int64_t
accesses(const Solve *s, const Op *load)
{
	const LoweredAccess *p = &s->sol->lowering[load->id]->access;

	return layout_cosize(p->map ? p->map : result_layout(s, load, 0), AX_reg) / p->vec;
}

/* Returns the registers of v.  Each access of a gathering load needs a separate register, however narrow:
 * elements are packed only on request, as all loads are in flight before. */
static int64_t
held_words(const Solve *s, const Val *v)
{
	const Op *o = gathered_by(s, v);
	int64_t words = lane_words(s, v);

	return o ? max64(words, accesses(s, o)) : words;
}

/* Returns the registers of the 64-bit offsets of a gathering load o beyond those of its results.  If each
 * offset serves one access only, the result replaces the address. */
static int64_t
offset_words(const Solve *s, const Op *o)
{
	const Op *view;
	int64_t sum = 0;

	if (!o->nout || !gathered_by(s, o->out[0]))
		return 0;
	view = load_source(o)->def;
	for (int d = 0; d + 1 < view->nin; d++)
		if (view_gathers(view, d))
			sum += layout_cosize(s->sol->val[view_start(view, d)->id], AX_reg);
	return accesses(s, o) > sum ? 2 * sum : max64(0, 2 * sum - held_words(s, o->out[0]));
}

/* Does the emitter compute v within o, register by register? */
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

/* Returns the run of contiguous elements along k in a lane's registers of operand j: for FMA lowering, as in
 * memory (fma_choice). */
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

/* Returns the number of indices along k for which one access loads elements of v, from which operand j of dot
 * is computed. */
static int64_t
made_of_k(const Op *dot, const DotChoice *c, int j, const Val *v)
{
	int64_t access = ACCESS_BITS / bits_of(v), k = dot_k(dot);
	int64_t held = c->run ? MMA_LANES * (c->run < access ? c->run : access) : k;

	if (c->inst->kind == IK_fma)
		held = min64(fma_run(dot, c, j), access);
	return held < k ? held : k;
}

/* Returns the registers of the shared loads from which v is computed, and that this walk has not met. */
static int64_t
loaded(const Solve *s, const Op *dot, const DotChoice *c, int j, const Val *v)
{
	int64_t sum = 0;

	if (!made_there(s, v, dot) || s->live->seen[v->id] == s->live->walk)
		return 0;
	s->live->seen[v->id] = s->live->walk;
	if (reads_shared(v->def))
		return lane_words(s, v) * made_of_k(dot, c, j, v) / dot_k(dot);
	for (int i = 0; i < v->def->nin; i++)
		sum += loaded(s, dot, c, j, v->def->in[i]);
	return sum;
}

/* Returns the conversion of operand j of o through shared memory, once known: all of it is read at once;
 * NULL: none. */
static const Lowering *
read_back(const Solve *s, const Op *o, int j)
{
	const Lowering *how = s->sol->conv[o->id][j];

	return how && how->kind == LW_shared ? how : NULL;
}

/* Returns the registers that dot o needs for one MMA k step, in addition to live tiles; *next: for the step
 * that is loaded meanwhile. */
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
		} else { /* with fragment prefetch ptxas computes operands early */
			sum += s->sol->rotate ? words : ceil_div(words * step, k);
			s->live->walk++;
			sum += loaded(s, o, c, i, v);
		}
		/* with FMA lowering ptxas loads the next step early */
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
	all = layout_words(operand_layout(s, o, v == mma_b(o)), dtype_slot_bits(v->type.dtype));
	parts = wgmma_parts(o, s->sol->plan.dot[s->dot_at[o->id]]->inst->k);
	return all / parts * wgmma_sets(parts, all, lane_words(s, o->out[0]));
}

/* Returns the registers of all wgmma operands in the loop's iteration: each keeps its registers. */
static int64_t
held_around(const Solve *s, const Op *o)
{
	int64_t sum = 0;

	for (const Op *x = o->parent->first; o->code == O_wgmma && x; x = x->next)
		sum += held_factor(s, x);
	return sum;
}

/* Adds operands of ops in b that are converted through shared memory: they are live from the first op that
 * needs the conversion to the last. */
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
