/* pipeline_prefetch.c - prefetches loads from global memory to registers one iteration ahead, for pass
 * pipeline.
 *
 * The current and the next tile are both in registers from the load to the last use of the current one. If at
 * most half of an iteration's MMA work falls between the first and last use of a tile, the next one is loaded
 * right after the last use. The rest of the iteration then covers the latency, and no thread holds both
 * tiles. Otherwise it is loaded at the start of the iteration.
 *
 * What an iteration computes elementwise from such loads alone, as a product of scales, is computed at the
 * end of the preceding one. Otherwise the use of a load would follow the next load into the same registers,
 * and ptxas would make it wait for that one. */
#include "hexc/ir/ids.h"
#include "hexc/pass/pipeline.h"
#include <string.h>

/* A tile of zeros, in place of a load past the last iteration. */
static Val *
zero_tile(Block *b, Op *at, const Type *t, Src src)
{
	Type r = *t;

	r.layout = NULL;
	return op_new(b, at, O_const, src, 0, NULL, 1, &r)->out[0];
}

/* Emits load `like` for counter value iv if it is below the loop's end, else zeros. */
static Val *
prefetch_load(const Pipe *p, Op *like, Block *b, Op *at, Val *iv)
{
	Src src = like->src;
	const Type *t = &like->out[0]->type;
	int sure = pipe_inside(p, iv);
	Val *cond, *view;
	Op *o;

	if (sure == 0)
		return zero_tile(b, at, t, src);
	if (sure > 0) {
		Move m = move_start(p, b, at, iv, NULL, NULL);

		view = move_val(&m, load_source(like));
		return op_new(b, at, O_load, src, 1, &view, 1, t)->out[0];
	}
	cond = ir_bin(b, at, O_lt, iv, for_hi(p->loop));
	o = op_new(b, at, O_if, src, 1, &cond, 1, t);
	for (int r = 0; r < 2; r++) {
		Block *then = o->blk[r] = block_new(p->k, o);
		Move m = move_start(p, then, NULL, iv, NULL, NULL);
		Val *v;

		if (r == 0) {
			view = move_val(&m, load_source(like));
			v = op_new(then, NULL, O_load, src, 1, &view, 1, t)->out[0];
		} else {
			v = zero_tile(then, NULL, t, src);
		}
		op_new(then, NULL, O_yield, src, 1, &v, 0, NULL);
	}
	return o->out[0];
}

/* ---- what is computed from loads alone --------------------------------------------------------------- */

static bool
is_ahead(const Pipe *p, const Val *v)
{
	int64_t i = ids_val(&p->ids, v);

	return i >= 0 && p->ahead[i];
}

static bool
is_constant(const Pipe *p, const Val *v)
{
	const Op *o = v->def;

	return !block_inside(v->block, p->body) ||
	       (o && (o->code == O_const || (o->code == O_splat && is_constant(p, o->in[0]))));
}

/* A splat is as large as its scalar. */
static int64_t
bits_of_value(const Val *v)
{
	const Type *t = v->def && v->def->code == O_splat ? &v->def->in[0]->type : &v->type;

	return type_size(t) * dtype_info[t->dtype].bits;
}

/* Is o an elementwise op of values computed ahead and of constants, and no larger than the former? */
static bool
follows_loads(const Pipe *p, const Op *o)
{
	int64_t most = 0;

	if (o->nout != 1 || !op_is(o, F_PURE) || !(op_is(o, F_ELT) || o->code == O_splat))
		return false;
	for (int i = 0; i < o->nin; i++) {
		const Val *v = o->in[i];

		if (is_ahead(p, v))
			most = max64(most, bits_of_value(v));
		else if (!is_constant(p, v))
			return false;
	}
	return most > 0 && bits_of_value(o->out[0]) <= most;
}

/* A splat that others use, too, is left where it is: its scalar is computed ahead. */
static void
leave_splats(Pipe *p, const bool *used)
{
	for (Op *o = p->body->first; o; o = o->next)
		if (o->code == O_splat && is_ahead(p, o->out[0]) && used[ids_val(&p->ids, o->out[0])])
			p->ahead[ids_val(&p->ids, o->out[0])] = false;
}

/* Marks the values computed ahead that other ops use. */
static void
find_frontier(Pipe *p, bool *used)
{
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (is_ahead(p, o->in[i]) && !(o->nout == 1 && is_ahead(p, o->out[0])))
				used[ids_val(&p->ids, o->in[i])] = true;
}

/* The values computed ahead from the same loads, by the first of them. */
typedef struct LoadGroups {
	int64_t *first;           /* by ids_val */
	int64_t *loaded, *carried; /* bits of the loads, and of the frontier */
} LoadGroups;

static int64_t
group_of(const LoadGroups *g, int64_t i)
{
	while (g->first[i] != i)
		i = g->first[i];
	return i;
}

static void
find_groups(const Pipe *p, const bool *used, LoadGroups *g)
{
	for (Op *o = p->body->first; o; o = o->next) {
		int64_t i = o->nout == 1 && is_ahead(p, o->out[0]) ? ids_val(&p->ids, o->out[0]) : -1;

		if (i < 0)
			continue;
		g->first[i] = i;
		for (int k = 0; k < o->nin && o->code != O_load; k++)
			if (is_ahead(p, o->in[k]))
				g->first[group_of(g, ids_val(&p->ids, o->in[k]))] = i;
	}
	for (Op *o = p->body->first; o; o = o->next)
		if (o->nout == 1 && is_ahead(p, o->out[0])) {
			int64_t i = ids_val(&p->ids, o->out[0]), at = group_of(g, i);

			g->loaded[at] += o->code == O_load ? bits_of_value(o->out[0]) : 0;
			g->carried[at] += used[i] ? bits_of_value(o->out[0]) : 0;
		}
}

/* Only loads are ahead in groups of which more bits would be carried than are loaded: several functions of
 * one tile. */
static void
leave_larger(Pipe *p, const bool *used)
{
	Arena *a = p->k->unit->arena;
	LoadGroups g = { NEWN(a, int64_t, p->ids.nval), NEWN(a, int64_t, p->ids.nval),
		         NEWN(a, int64_t, p->ids.nval) };

	find_groups(p, used, &g);
	for (Op *o = p->body->last; o; o = o->prev)
		if (o->nout == 1 && is_ahead(p, o->out[0]) && o->code != O_load) {
			int64_t i = ids_val(&p->ids, o->out[0]), at = group_of(&g, i);

			p->ahead[i] = g.carried[at] <= g.loaded[at];
		}
}

void
prefetch_find(Pipe *p)
{
	Arena *a = p->k->unit->arena;
	bool any = false, *used;

	for (Op *o = p->body->first; o; o = o->next) {
		any |= o->nout == 1 && is_ahead(p, o->out[0]);
		if (any && follows_loads(p, o))
			p->ahead[ids_val(&p->ids, o->out[0])] = true;
	}
	if (!any)
		return;
	used = NEWN(a, bool, p->ids.nval);
	find_frontier(p, used);
	leave_splats(p, used);
	find_frontier(p, used);
	leave_larger(p, used);
	memset(used, 0, (size_t)p->ids.nval * sizeof *used);
	find_frontier(p, used);
	for (Op *o = p->body->first; o; o = o->next)
		if (o->nout == 1 && is_ahead(p, o->out[0]) && used[ids_val(&p->ids, o->out[0])]) {
			Prefetch h = { o->out[0], NULL, NULL };
			VEC_PUSH(a, p->prefetch, p->nprefetch, p->prefetch_cap, h);
		}
}

/* Emits values for another counter value: loads before `load`, what follows them before `end`. */
typedef struct Ahead {
	const Pipe *p;
	Block *b;
	Op *load, *end;
	Val *iv;
	ValueMap *done;
	int n, cap;
} Ahead;

/* Returns v for that counter value. */
static Val *
ahead_val(void *user, Val *v)
{
	Ahead *a = user;
	Op *o = v->def;
	ValueMap done = { v, NULL };

	if (!block_inside(v->block, a->p->body))
		return v;
	for (int i = 0; i < a->n; i++)
		if (a->done[i].from == v)
			return a->done[i].to;
	if (o->code == O_load)
		done.to = prefetch_load(a->p, o, a->b, a->load, a->iv);
	else
		done.to = op_clone(a->b, a->end, o, ahead_val, a)->out[0];
	VEC_PUSH(a->p->k->unit->arena, a->done, a->n, a->cap, done);
	return done.to;
}

/* ---- when a tile is needed ------------------------------------------------------------------------ */

/* Positions in emission order: each op of the body has a number, shared by the ops inside it. */
typedef struct Needs {
	Ids ids;
	int *place;        /* by op */
	int *first, *last; /* by value that the body defines: its first and last use; last 0: unused */
	Op **op;
	int n, cap;
} Needs;

/* Is o a pure tile that code generation emits at its use (ptxgen/base/codegen.h)? Dots are not. */
static bool
made_when_asked(const Op *o)
{
	return op_is(o, F_PURE) && o->code != O_dot && o->nout == 1;
}

/* Returns 0 if o was inserted since. */
static int
place_of(const Needs *n, const Op *o)
{
	uint32_t at = o->id - n->ids.op;

	return at < n->ids.nop ? n->place[at] : 0;
}

static void
find_needs(const Pipe *p, Needs *n)
{
	Arena *a = p->k->unit->arena;
	OpWalk w;
	int at = 0;

	*n = (Needs){ .ids = ids_of(p->body) };
	n->place = NEWN(a, int, n->ids.nop);
	n->first = NEWN(a, int, n->ids.nval);
	n->last = NEWN(a, int, n->ids.nval);
	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		if (o->parent == p->body)
			at++;
		n->place[o->id - n->ids.op] = at;
		VEC_PUSH(a, n->op, n->n, n->cap, o);
	}
	for (int i = n->n - 1; i >= 0; i--) { /* uses follow definitions */
		const Op *o = n->op[i];
		int when = place_of(n, o);

		if (made_when_asked(o) && n->last[ids_val(&n->ids, o->out[0])])
			when = n->first[ids_val(&n->ids, o->out[0])];
		for (int j = 0; j < o->nin; j++) {
			int64_t v = ids_val(&n->ids, o->in[j]);

			if (v < 0)
				continue;
			if (!n->last[v] || when < n->first[v])
				n->first[v] = when;
			if (when > n->last[v])
				n->last[v] = when;
		}
	}
}

/* Number of multiplications in the dots from place lo to hi. */
static double
products(const Needs *n, int lo, int hi)
{
	double sum = 0;

	for (int i = 0; i < n->n; i++) {
		const Op *o = n->op[i];

		if (o->code == O_dot && place_of(n, o) >= lo && place_of(n, o) <= hi)
			sum += (double)type_size(&o->out[0]->type) * (double)mma_a(o)->type.shape[1];
	}
	return sum;
}

/* Returns the op of the body before which the next iteration's tile is loaded; NULL: at the start. */
static Op *
load_place(const Pipe *p, const Needs *n, const Val *tile)
{
	int64_t v = ids_val(&n->ids, tile);
	double all = products(n, 0, n->n), during;

	if (!n->last[v])
		return NULL;
	during = products(n, n->first[v], n->last[v]);
	if (all <= 0 || 2 * during > all)
		return NULL;
	for (Op *o = p->body->first; o; o = o->next)
		if (place_of(n, o) == n->last[v])
			return o->next;
	return NULL;
}

/* ---- the loop ------------------------------------------------------------------------------------- */

void
prefetch_first(Pipe *p)
{
	Ahead a = { .p = p, .b = p->loop->parent, .load = p->loop, .end = p->loop, .iv = for_lo(p->loop) };

	for (int i = 0; i < p->nprefetch; i++)
		p->prefetch[i].first = ahead_val(&a, p->prefetch[i].value);
}

void
prefetch_carry(Pipe *p, Op *start)
{
	Ahead a = { .p = p, .b = p->body };
	Needs n;

	if (!p->nprefetch)
		return;
	find_needs(p, &n);
	for (int i = 0; i < p->nprefetch; i++) {
		Prefetch *h = &p->prefetch[i];

		a.load = load_place(p, &n, h->value);
		a.load = a.load ? a.load : start;
		a.end = h->value->def->code == O_load ? a.load : p->body->last;
		h->now = pipe_carry(p, h->first);
		a.iv = pipe_counter(p, p->body, a.load, p->body->arg[0], 1);
		pipe_carry_next(p, ahead_val(&a, h->value));
	}
}

/* Users precede what they use here, and are gone first. */
void
prefetch_replace(Pipe *p)
{
	for (int i = 0; i < p->nprefetch; i++)
		val_replace(p->k, p->prefetch[i].value, p->prefetch[i].now);
	for (Op *o = p->body->last, *before; o; o = before) {
		before = o->prev;
		if (o->nout == 1 && is_ahead(p, o->out[0]))
			op_unlink(o);
	}
}
