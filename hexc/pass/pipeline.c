/* pipeline.c - pass pipeline: software-pipelines the copies of pipeline loops, by multi-buffering and
 * async-copy groups.
 *
 * requires   copies and loads where the program has them, each tile of a stage allocated in the loop's body
 * preserves  what the kernel computes; sizes, range analysis results, bounds of views
 * produces   no FOR_PIPELINE loop (IMM stages still holds the number of stages)
 *
 * A tile allocated in the body gets `stages` buffers before the loop, if only copies fill it whose source
 * depends on the counter and on values from outside. With S stages, iteration i executes
 *
 *     wait S-2                     copies of iteration i have landed for the thread that issued them,
 *     barrier                      for all threads; and all have read the buffer of iteration i-1
 *     if next < hi { copies of iteration i + S-1 into the buffer of iteration i-1 }
 *     commit                       one group per iteration, also if empty: the waits count them
 *     the computation of the body, on the buffer of iteration i
 *
 * The copies of the first S-1 iterations precede the loop. Copies are issued before the computation to
 * overlap with all of it. The buffer index is carried and wraps. A `wait 0` after the loop states that no
 * copy is in flight.
 *
 * With one stage: copies, commit, wait 0, compute; pass insert_barriers adds both barriers.
 *
 * With two stages or more, loads of register tiles and single floats from global memory, whose address
 * likewise depends only on the counter, are prefetched one iteration ahead, and carried with what is computed
 * from them alone (pipeline_prefetch.c). Integers may be addresses of copies, which are moved with these.
 *
 * Other copies and loads stay in place, synchronous; pass insert_barriers orders them: those with an address
 * that depends on a carried value, those of tensors that the loop writes, and in a loop that observes signals
 * of other blocks those of all tensors that the kernel writes. Another block may have written them shortly
 * before its signal. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/pipeline.h"
#include <string.h>

enum { STAGES_MAX = 64 };

/* ---- the slice of the body that an address depends on ---------------------------------------- */

/* Does an iteration of the loop observe signals of other blocks? */
static bool
observes_blocks(Block *body)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, body); o; o = walk_next(&w))
		if (access_is_signal(o) && access_found(o))
			return true;
	return false;
}

/* Can the tensor change before an iteration reads it: does the loop store to it, or observe that other blocks
 * have? */
static bool
can_change(const Pipe *p, const Val *tile)
{
	const Param *par = val_param(p->k, tile);
	OpWalk w;

	if (!par || !par->written)
		return par == NULL;
	if (p->observes)
		return true;
	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w))
		if (o->code == O_store && view_root(store_dest(o)) == tile)
			return true;
	return false;
}

/* May o compute an index tile for a copy? Producers compute it where they copy; without roles each prologue
 * stage would recompute it. */
static bool
makes_indices(const Pipe *p, const Op *o)
{
	return schedule_has_roles(p->k->schedule) && op_is_index(o);
}

/* Can v be computed for another counter value? Only pure index arithmetic, views, and loads of single
 * elements of tensors that do not change before it (block tables). */
static bool
movable(const Pipe *p, const Val *v, const Val *tile)
{
	const Op *o = v->def;

	if (v == p->body->arg[0] || v == tile || !block_inside(v->block, p->body))
		return true;
	if (p->met[ids_val(&p->ids, v)] == p->walk)
		return true;
	p->met[ids_val(&p->ids, v)] = p->walk; /* the walk ends at the first value that is not movable */
	if (!o || o->parent != p->body)
		return false;
	if (o->code == O_load) {
		if ((v->type.space != S_scalar && !makes_indices(p, o)) ||
		    can_change(p, view_root(load_source(o))))
			return false;
	} else if (!op_is(o, F_PURE) || (v->type.space == S_reg && !makes_indices(p, o))) {
		return false;
	}
	for (int i = 0; i < o->nin; i++)
		if (!movable(p, o->in[i], tile))
			return false;
	return true;
}

Val *
move_val(Move *m, Val *v)
{
	Val *in[2 * DIM_MAX];
	Op *o = v->def, *n;
	ValueMap done;
	Type t;

	if (v == m->pipe->body->arg[0])
		return m->iv;
	if (v == m->tile)
		return m->buffer;
	if (!block_inside(v->block, m->pipe->body))
		return v;
	for (int i = 0; i < m->n; i++)
		if (m->done[i].from == v)
			return m->done[i].to;
	BUG_IF(m->pipe->k->unit->arena, o->nin > (int)COUNT_OF(in) || o->nout != 1);
	for (int i = 0; i < o->nin; i++)
		in[i] = move_val(m, o->in[i]);
	t = o->out[0]->type;
	n = op_new(m->block, m->at, o->code, o->src, o->nin, in, 1, &t);
	memcpy(n->imm, o->imm, sizeof n->imm);
	n->fimm = o->fimm;
	n->out[0]->name = v->name;
	done.from = v;
	done.to = n->out[0];
	VEC_PUSH(m->pipe->k->unit->arena, m->done, m->n, m->cap, done);
	return done.to;
}

/* ---- what a loop has to offer ---------------------------------------------------------------- */

static bool
can_move(Pipe *p, const Val *v, const Val *tile)
{
	p->walk++;
	return movable(p, v, tile);
}

/* Is the tile written only by copies that can be prefetched, before any read? */
static bool
fill_ok(Pipe *p, const Op *alloc)
{
	Val *tile = alloc->out[0];
	bool filled = false, read = false;
	OpWalk w;

	if (p->stages > 1 && tile->type.rank == DIM_MAX)
		return false; /* no dim left for the stages */
	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		if (o->code == O_copy && view_root(copy_dest(o)) == tile) {
			if (o->parent != p->body || read || val_is_alias(view_base(copy_dest(o))) ||
			    !can_move(p, copy_source(o), tile) ||
			    !can_move(p, copy_dest(o), tile) || can_change(p, view_root(copy_source(o))))
				return false;
			filled = true;
		} else if (o->code == O_store && view_root(store_dest(o)) == tile) {
			if (!filled)
				return false;
			read = true;
		} else if (o->code == O_load && view_root(load_source(o)) == tile) {
			read = true;
		}
	}
	return filled;
}

static bool
load_ok(Pipe *p, const Op *o)
{
	const Type *t = o->code == O_load ? &o->out[0]->type : NULL;

	return t && (t->space == S_reg || (t->space == S_scalar && dtype_is_float(t->dtype))) &&
	       load_source(o)->type.space == S_global && can_move(p, load_source(o), NULL) &&
	       !can_change(p, view_root(load_source(o)));
}

/* Rejects explicit async copies, whose groups would be counted with the pass's own. */
static bool
check_body(const Pipe *p)
{
	const char *what;
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		if (o->code != O_async_commit && o->code != O_async_wait &&
		    !(o->code == O_copy && IMM(o, async)))
			continue;
		what = o->code == O_async_wait ? "`wait`" : "`commit`";
		what = o->code == O_copy ? "`async copy`" : what;
		diag_error(p->k->unit->diag, o->src,
		           "%s is not allowed in a `pipeline` loop (the compiler schedules its copies); "
			   "use `for`, or `let x: shared = ...`",
		           what);
		diag_note(p->k->unit->diag, p->loop->src, "the pipeline loop, of %lld stages",
		          (long long)p->stages);
		return false;
	}
	return true;
}

void
pipe_open(Pipe *p, Kernel *k, Op *loop)
{
	Arena *a = k->unit->arena;

	memset(p, 0, sizeof *p);
	p->k = k;
	p->loop = loop;
	p->body = loop->blk[0];
	p->stages = IMM(loop, stages) < 1 ? 1 : IMM(loop, stages);
	p->ids = ids_of(p->body);
	p->met = NEWN(a, uint32_t, p->ids.nval);
	p->ahead = NEWN(a, bool, p->ids.nval);
	p->observes = observes_blocks(p->body);
	for (Op *o = p->body->first; o; o = o->next) {
		if (o->code == O_alloc && fill_ok(p, o)) {
			StageBuffers r = { o, NULL, NULL };
			VEC_PUSH(a, p->ring, p->nring, p->ring_cap, r);
		} else if (p->stages > 1 && load_ok(p, o)) {
			p->ahead[ids_val(&p->ids, o->out[0])] = true;
		}
	}
	prefetch_find(p);
}

static void
pipe_loop(Kernel *k, Op *loop)
{
	Pipe p;

	pipe_open(&p, k, loop);
	IMM_SET(loop, loop, FOR_PLAIN);
	if (p.stages > STAGES_MAX) {
		diag_error(k->unit->diag, loop->src, "%lld stages exceed the maximum of %d for a pipeline "
		                                     "loop",
		           (long long)p.stages, STAGES_MAX);
		return;
	}
	if (!check_body(&p))
		return;
	if (p.nring && p.stages == 1)
		pipe_single(&p);
	else if (p.nring || p.nprefetch)
		pipe_multi(&p);
}

/* Returns all pipeline loops, outer ones first. Their bodies remain valid when a loop is replaced. */
static Op **
pipeline_loops(Kernel *k, int *n)
{
	Op **loop = NULL;
	int cap = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_for && IMM(o, loop) == FOR_PIPELINE)
			VEC_PUSH(k->unit->arena, loop, *n, cap, o);
	return loop;
}

bool
pass_pipeline(Kernel *k)
{
	int n = 0;
	Op **loop = pipeline_loops(k, &n);

	for (int i = 0; i < n; i++)
		pipe_loop(k, loop[i]);
	return n > 0;
}
