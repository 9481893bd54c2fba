/* pipeline_emit.c - emits the ops of pass pipeline: stage buffers, prologue, steady state. */
#include "hexc/analysis/value_range.h"
#include "hexc/pass/pipeline.h"

static Op *
sync_new(Block *b, Op *at, OpCode code, Src src, int64_t groups)
{
	Op *o = op_new(b, at, code, src, 0, NULL, 0, NULL);

	if (code == O_async_wait)
		IMM_SET(o, pending, groups);
	return o;
}

Val *
ring_stage(Block *b, Op *at, const StageBuffers *r, Val *stage)
{
	Type t = r->alloc->out[0]->type;
	Val *in[DIM_MAX + 1];
	Op *o;

	in[0] = r->memory;
	in[1] = stage;
	for (int d = 0; d < t.rank; d++)
		in[d + 2] = ir_const(b, at, 0);
	t.layout = NULL;
	t.pinned = false;
	o = op_new(b, at, O_view, r->alloc->src, t.rank + 2, in, 1, &t);
	IMM_SET(o, dropped, 1); /* the stage dim is dropped */
	o->out[0]->name = r->alloc->out[0]->name;
	return o->out[0];
}

/* Layout of the stage buffers of a tile with a pinned layout: consecutive, with the same swizzle each. */
static const Layout *
staged_layout(Arena *a, const Type *t, int64_t stages)
{
	Layout *l = NEW(a, Layout);
	const Layout *one = t->layout;
	int far = one->swizzle.shift < 0 ? -one->swizzle.shift : one->swizzle.shift;
	int64_t unit = one->swizzle.bits ? (int64_t)1 << (one->swizzle.base + far + one->swizzle.bits) : 1;

	if (unit < 1024 / dtype_info[t->dtype].bits)
		unit = 1024 / dtype_info[t->dtype].bits;
	BUG_IF(a, !layout_insert_dim(l, one, 0) ||
	                  !layout_push(l, 0, stages, align_up(layout_cosize(one, AX_mem), unit), AX_mem));
	return l;
}

void
ring_alloc(const Pipe *p, StageBuffers *r, Block *b, Op *at)
{
	const Type *t = &r->alloc->out[0]->type;
	int64_t shape[DIM_MAX];
	Type all;
	Op *o;

	shape[0] = p->stages;
	for (int d = 0; d < t->rank; d++)
		shape[d + 1] = t->shape[d];
	all = type_tile(t->dtype, S_shared, t->rank + 1, shape);
	if (t->pinned) {
		all.layout = staged_layout(p->k->unit->arena, t, p->stages);
		all.pinned = true;
	}
	o = op_new(b, at, O_alloc, r->alloc->src, 0, NULL, 1, &all);
	IMM_SET(o, align, IMM(r->alloc, align));
	o->out[0]->name = r->alloc->out[0]->name;
	r->memory = o->out[0];
}

Move
move_start(const Pipe *p, Block *b, Op *at, Val *iv, Val *tile, Val *buffer)
{
	Move m = { .pipe = p, .block = b, .at = at, .iv = iv, .tile = tile, .buffer = buffer };

	return m;
}

/* Emits the copies that fill one tile's stage, for counter value iv, into `buffer`. */
static void
issue_ring(const Pipe *p, const StageBuffers *r, Block *b, Op *at, Val *iv, Val *buffer)
{
	Val *tile = r->alloc->out[0];
	Move m = move_start(p, b, at, iv, tile, buffer);

	for (Op *o = p->body->first; o; o = o->next) {
		Val *in[2];

		if (o->code != O_copy || view_root(copy_dest(o)) != tile)
			continue;
		in[0] = move_val(&m, copy_source(o));
		in[1] = move_val(&m, copy_dest(o));
		IMM_SET(op_new(b, at, O_copy, o->src, 2, in, 0, NULL), async, 1);
	}
}

/* Replaces reshapes of the body's tile by reshapes of all buffers before the loop, viewed at `slot`. */
static void
ring_reshapes(const Pipe *p, const StageBuffers *r)
{
	Op **found = NULL;
	int n = 0, cap = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		if (o->nout == 1 && val_is_alias(o->out[0]) && view_root(o->out[0]) == r->alloc->out[0])
			VEC_PUSH(p->k->unit->arena, found, n, cap, o);
	for (int i = 0; i < n; i++) {
		Op *o = found[i];
		StageBuffers like = { o, NULL, NULL };
		Type t = o->out[0]->type;
		Val *memory = r->memory;

		for (int d = t.rank++; d > 0; d--)
			t.shape[d] = t.shape[d - 1];
		t.shape[0] = p->stages;
		like.memory = op_new(p->loop->parent, p->loop, O_reshape, o->src, 1, &memory, 1, &t)->out[0];
		val_replace(p->k, o->out[0], ring_stage(o->parent, o, &like, p->slot));
	}
	while (n--)
		op_unlink(found[n]);
}

void
ring_replace(const Pipe *p, const StageBuffers *r)
{
	Val *tile = r->alloc->out[0];

	for (Op *o = p->body->first, *next; o; o = next) {
		next = o->next;
		if (o->code == O_copy && view_root(copy_dest(o)) == tile)
			op_unlink(o);
	}
	if (p->stages > 1)
		ring_reshapes(p, r);
	val_replace(p->k, tile, r->now);
	op_unlink(r->alloc);
}

/* Creates an `if` with an empty else, for copies that are read only if they were made. *then is the insertion
 * point, before its yield. */
static Op *
guard_new(Block *b, Op *at, Src src, Val *cond, Op **then)
{
	Op *o = op_new(b, at, O_if, src, 1, &cond, 0, NULL);

	IMM_SET(o, zero_fill, 1);
	for (int r = 0; r < 2; r++) {
		o->blk[r] = block_new(b->kernel, o);
		op_new(o->blk[r], NULL, O_yield, src, 0, NULL, 0, NULL);
	}
	*then = o->blk[0]->last;
	return o;
}

int
pipe_inside(const Pipe *p, Val *iv)
{
	const Val *hi = for_hi(p->loop);

	if (val_fact(p->k, iv).lo >= val_fact(p->k, hi).hi)
		return 0;
	return prove_inside(p->k, p->loop, &iv, 1, 1, hi) ? 1 : -1;
}

/* Emits the copies of all tiles for counter value iv, if it is below the loop's end; then the commit. */
static void
emit_stage_copies(const Pipe *p, Block *b, Op *at, Val *iv, Val *stage)
{
	Src src = p->loop->src;
	int sure = pipe_inside(p, iv);
	Block *into = b;
	Op *before = at;

	if (sure < 0)
		into = guard_new(b, at, src, ir_bin(b, at, O_lt, iv, for_hi(p->loop)), &before)->blk[0];
	for (int i = 0; i < p->nring && sure != 0; i++)
		issue_ring(p, &p->ring[i], into, before, iv,
		           ring_stage(into, before, &p->ring[i], stage));
	sync_new(b, at, O_async_commit, src, 0);
}

/* ---- one stage ------------------------------------------------------------------------------- */

/* Emits the copies first, then the unchanged rest. Pass insert_barriers finds the barriers after the wait and
 * before the next copies. */
void
pipe_single(Pipe *p)
{
	Src src = p->loop->src;
	Op *at = p->body->first;

	for (int i = 0; i < p->nring; i++) {
		StageBuffers *r = &p->ring[i];
		Op *o = op_clone(p->body, at, r->alloc, NULL, NULL);

		r->now = o->out[0];
		issue_ring(p, r, p->body, at, p->body->arg[0], r->now);
	}
	sync_new(p->body, at, O_async_commit, src, 0);
	sync_new(p->body, at, O_async_wait, src, 0);
	/* new copies have the new tile as root: only the old ones are removed */
	for (int i = 0; i < p->nring; i++)
		ring_replace(p, &p->ring[i]);
}

/* ---- many stages ----------------------------------------------------------------------------- */

/* Returns the body's argument for a newly carried value. */
Val *
pipe_carry(Pipe *p, Val *first)
{
	p->loop = loop_carry(p->loop, first);
	return p->body->arg[p->body->narg - 1];
}

void
pipe_carry_next(Pipe *p, Val *next)
{
	loop_carry_next(p->loop, next);
}

Val *
ring_choose(Block *b, Op *at, Val *c, Val *x, Val *y)
{
	Val *in[3] = { c, x, y };
	Src nowhere = { 0, 0, 0 };

	return op_new(b, at, O_select, nowhere, 3, in, 1, &x->type)->out[0];
}

/* Carries the index of the buffer that is read, and computes that of the one filled: the previous one. */
static void
carry_slots(Pipe *p, Op *at)
{
	Block *b = p->body, *out = p->loop->parent;
	Val *s, *last, *one, *zero, *next;

	s = p->slot = pipe_carry(p, ir_const(out, p->loop, 0));
	one = ir_const(b, at, 1);
	if (p->stages == 2) {
		p->fill = ir_bin(b, at, O_sub, one, s);
		pipe_carry_next(p, p->fill);
		return;
	}
	last = ir_const(b, at, p->stages - 1);
	zero = ir_const(b, at, 0);
	p->fill = ring_choose(b, at, ir_bin(b, at, O_eq, s, zero), last, ir_bin(b, at, O_sub, s, one));
	next = ring_choose(b, at, ir_bin(b, at, O_eq, s, last), zero, ir_bin(b, at, O_add, s, one));
	pipe_carry_next(p, next);
}

Val *
pipe_counter(const Pipe *p, Block *b, Op *at, Val *from, int64_t ahead)
{
	return ir_bin(b, at, O_add, from,
	              ir_bin(b, at, O_mul, for_step(p->loop), ir_const(b, at, ahead)));
}

/* Emits the copies of the first iterations before the loop. */
static void
prologue(Pipe *p)
{
	Block *b = p->loop->parent;
	Op *at = p->loop;

	for (int64_t j = 0; j < p->stages - 1 && p->nring; j++)
		emit_stage_copies(p, b, at, pipe_counter(p, b, at, for_lo(p->loop), j), ir_const(b, at, j));
}

void
pipe_multi(Pipe *p)
{
	Block *b = p->body;
	Op *at = b->first;
	Val *iv = b->arg[0];

	for (int i = 0; i < p->nring; i++)
		ring_alloc(p, &p->ring[i], p->loop->parent, p->loop);
	prologue(p);
	prefetch_first(p);
	if (p->nring) {
		carry_slots(p, at);
		sync_new(b, at, O_async_wait, p->loop->src, p->stages - 2);
		sync_new(b, at, O_barrier, p->loop->src, 0);
		emit_stage_copies(p, b, at, pipe_counter(p, b, at, iv, p->stages - 1), p->fill);
		/* only empty groups are pending here; the wait permits reuse of the memory */
		sync_new(p->loop->parent, p->loop->next, O_async_wait, p->loop->src, 0);
	}
	prefetch_carry(p, at);
	for (int i = 0; i < p->nring; i++)
		p->ring[i].now = ring_stage(b, at, &p->ring[i], p->slot);
	/* only now: copies and loads were cloned from these ops until here */
	for (int i = 0; i < p->nring; i++)
		ring_replace(p, &p->ring[i]);
	prefetch_replace(p);
}
