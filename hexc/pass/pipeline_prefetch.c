/* pipeline_prefetch.c - prefetches loads from global memory to registers one iteration ahead, for pass
 * pipeline.
 *
 * The current and the next tile are both in registers from the load to the last use of the current one. If at
 * most half of an iteration's MMA work falls between the first and last use of a tile, the next one is loaded
 * right after the last use. The rest of the iteration then covers the latency, and no thread holds both
 * tiles. Otherwise it is loaded at the start of the iteration. */
#include "hexc/ir/ids.h"
#include "hexc/pass/pipeline.h"

/* A tile of zeros, in place of a load past the last iteration. */
static Val *
zero_tile(Block *b, Op *at, const Type *t, Src src)
{
	Type r = *t;

	r.layout = NULL;
	return op_new(b, at, O_const, src, 0, NULL, 1, &r)->out[0];
}

/* Emits the load for counter value iv if it is below the loop's end, else zeros. */
static Val *
prefetch_load(const Pipe *p, const Prefetch *h, Block *b, Op *at, Val *iv)
{
	Src src = h->load->src;
	const Type *t = &h->load->out[0]->type;
	int sure = pipe_inside(p, iv);
	Val *cond, *view;
	Op *o;

	if (sure == 0)
		return zero_tile(b, at, t, src);
	if (sure > 0) {
		Move m = move_start(p, b, at, iv, NULL, NULL);

		view = move_val(&m, load_source(h->load));
		return op_new(b, at, O_load, src, 1, &view, 1, t)->out[0];
	}
	cond = ir_bin(b, at, O_lt, iv, for_hi(p->loop));
	o = op_new(b, at, O_if, src, 1, &cond, 1, t);
	for (int r = 0; r < 2; r++) {
		Block *then = o->blk[r] = block_new(p->k, o);
		Move m = move_start(p, then, NULL, iv, NULL, NULL);
		Val *v;

		if (r == 0) {
			view = move_val(&m, load_source(h->load));
			v = op_new(then, NULL, O_load, src, 1, &view, 1, t)->out[0];
		} else {
			v = zero_tile(then, NULL, t, src);
		}
		op_new(then, NULL, O_yield, src, 1, &v, 0, NULL);
	}
	return o->out[0];
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
	for (int i = 0; i < p->nprefetch; i++)
		p->prefetch[i].first =
			prefetch_load(p, &p->prefetch[i], p->loop->parent, p->loop, for_lo(p->loop));
}

void
prefetch_carry(Pipe *p, Op *start)
{
	Val *iv;
	Needs n;

	if (!p->nprefetch)
		return;
	find_needs(p, &n);
	for (int i = 0; i < p->nprefetch; i++) {
		Op *at = load_place(p, &n, p->prefetch[i].load->out[0]);

		at = at ? at : start;
		p->prefetch[i].now = pipe_carry(p, p->prefetch[i].first);
		iv = pipe_counter(p, p->body, at, p->body->arg[0], 1);
		pipe_carry_next(p, prefetch_load(p, &p->prefetch[i], p->body, at, iv));
	}
}

void
prefetch_replace(Pipe *p)
{
	for (int i = 0; i < p->nprefetch; i++) {
		val_replace(p->k, p->prefetch[i].load->out[0], p->prefetch[i].now);
		op_unlink(p->prefetch[i].load);
	}
}
