/* control_flow.c - executes tasks of the tile interpreter, with loops and branches on an explicit stack, so
 * that tasks can be interleaved. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/memory_effects.h"
#include <string.h>

/* A missing rule is a link error. */
static EvalFn *const eval_fn[O_COUNT] = {
#define OP_EVAL(name, rule) [O_##name] = eval_##rule,
#include "hexc/ir/ops.def"
};

static Frame *
top(Task *t)
{
	return &t->frame[t->nframe - 1];
}

void
interp_enter(Interp *it, Block *b)
{
	Task *t = it->task;
	Frame f = { .b = b, .at = b->first };

	VEC_PUSH(&it->arena, t->frame, t->nframe, t->frame_cap, f);
}

bool
eval_yield(Interp *it, Op *o)
{
	(void)it;
	(void)o;
	return true; /* read by the op that owns the block */
}

/* ---- branches -------------------------------------------------------------------------------- */

bool
eval_if(Interp *it, Op *o)
{
	bool holds = slot_of(it, if_cond(o))->i[0], blank = !holds && if_is_copies(o);
	Block *b = o->blk[holds || blank ? 0 : 1];

	it->task->blank = blank; /* these copies fill with zeros then */
	if (b)
		interp_enter(it, b);
	return true;
}

static void
leave_if(Interp *it, const Op *o, const Block *b)
{
	it->task->blank = false;
	for (int i = 0; i < o->nout; i++)
		slot_copy(it, o->out[i], b->last->in[i]);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Copies yielded values to the body's arguments in parallel: an argument may be yielded as another one. */
static void
next_args(Interp *it, Block *b)
{
	for (int i = 1; i < b->narg; i++) {
		InterpValue *arg = slot_of(it, b->arg[i]), *y = slot_of(it, b->last->in[i - 1]);
		size_t n = arg->view ? sizeof *arg->view : (size_t)arg->n * sizeof *arg->f;

		if (!arg->spare)
			arg->spare = arena_alloc(&it->arena, n);
		memcpy(arg->spare, y->view ? (void *)y->view : (void *)y->f, n);
		law_next(it, arg, y);
	}
	for (int i = 1; i < b->narg; i++) {
		InterpValue *arg = slot_of(it, b->arg[i]);
		void *now = arg->spare;

		arg->spare = arg->view ? (void *)arg->view : (void *)arg->f;
		law_swap(arg);
		if (arg->view) {
			arg->view = now;
		} else {
			arg->f = now;
			arg->i = now;
		}
	}
}

bool
eval_for(Interp *it, Op *o)
{
	Block *b = o->blk[0];
	int64_t i = slot_of(it, for_lo(o))->i[0], hi = slot_of(it, for_hi(o))->i[0];
	int64_t step = slot_of(it, for_step(o))->i[0];
	bool runs = i < hi && (!loop_ends_early(o) || slot_of(it, for_init(o, 0))->i[0]);

	if (step <= 0)
		return interp_error(it, INTERP_E_FAULT, o, "loop step must be positive, got %lld",
		                    (long long)step);
	for (int c = 0; c < o->nout; c++)
		slot_copy(it, runs ? b->arg[c + 1] : o->out[c], for_init(o, c));
	if (!runs)
		return true;
	slot_of(it, b->arg[0])->i[0] = i;
	interp_enter(it, b);
	top(it->task)->i = i;
	top(it->task)->hi = hi;
	top(it->task)->step = step;
	return true;
}

/* Ends an iteration. Returns true and starts the next one, or sets the loop's results and returns false. */
static bool
next_turn(Interp *it, const Op *o, Frame *f)
{
	bool ends;

	next_args(it, f->b);
	ends = loop_ends_early(o) && !slot_of(it, f->b->arg[1])->i[0];
	if (!ends && f->i <= INT64_MAX - f->step && f->i + f->step < f->hi) {
		f->i += f->step;
		slot_of(it, f->b->arg[0])->i[0] = f->i;
		f->at = f->b->first;
		poll_turn(it, o, f);
		return true;
	}
	for (int c = 0; c < o->nout; c++)
		slot_copy(it, o->out[c], f->b->arg[c + 1]);
	return false;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Handles the end of the innermost block. */
static void
leave(Interp *it)
{
	Task *t = it->task;
	Frame *f = top(t);
	const Op *o = f->b->owner;

	if (o && o->code == O_for && next_turn(it, o, f))
		return;
	if (o && o->code == O_if)
		leave_if(it, o, f->b);
	t->nframe--;
}

static bool
may_go_on(Interp *it, const Op *o)
{
	if (it->opt.max_ops && ++it->common->nop > it->opt.max_ops)
		return interp_error(it, INTERP_E_LIMIT, o, "op budget of %llu exhausted",
		                    (unsigned long long)it->opt.max_ops);
	if (it->cancel && it->cancel(it->user))
		return interp_error(it, INTERP_E_LIMIT, o, "cancelled");
	return !it->bound || it->linear <= atomic_load_explicit(it->bound, memory_order_relaxed);
}

/* Is the op skipped with `order`? No access depends on its result. */
static bool
is_left_out(const Interp *it, const Op *o)
{
	const Type *t = o->nout ? &o->out[0]->type : NULL;

	return it->opt.order && t && t->space == S_reg && op_is(o, F_PURE) &&
	       (dtype_is_float(t->dtype) || dtype_info[t->dtype].bits < 16);
}

/* Reports the value that o has computed or stored to the trace. */
static void
tell_value(Interp *it, const Op *o)
{
	const Val *v = o->nout == 1 && !o->blk[0] ? o->out[0] : o->code == O_store ? store_value(o) : NULL;
	const InterpValue *s;

	if (!v || v->type.space == S_shared || v->type.space == S_global)
		return;
	s = slot_of(it, v);
	it->opt.value(it->opt.user, o, it->linear, &v->type, s->n, s->f, s->i);
}

bool
interp_task(Interp *it)
{
	Task *t = it->task;

	t->turn = false;
	t->poll = POLL_NONE;
	t->blocked = NULL;
	while (t->nframe && !t->turn) {
		Op *o = top(t)->at;
		int depth = t->nframe - 1;

		if (!o) {
			leave(it);
			continue;
		}
		if (!may_go_on(it, o))
			return false;
		t->frame[depth].at = o->next;
		if (!(is_left_out(it, o)  ? race_scratch(it, o)
		      : it->k->masked ? eval_fn[o->code](it, o)
		                         : law_eval(it, o, eval_fn[o->code])))
			return false;
		if (t->blocked) {
			t->frame[depth].at = o;
			return true;
		}
		if (it->opt.value)
			tell_value(it, o);
		t->steps++;
	}
	/* operations that were never waited for end now */
	if (!t->nframe && it->opt.races && !race_ends(it))
		return false;
	return t->nframe || (interp_read_done(it, &t->product, -1) && interp_read_done(it, &t->out, -1));
}

bool
interp_go_on(Interp *it)
{
	while (it->all.nframe) {
		if (!interp_task(it))
			return false;
		if (it->all.poll) /* also if it is blocked, at a grid barrier */
			return true;
		if (it->all.blocked)
			return interp_error(it, INTERP_E_FAULT, it->all.blocked,
			                    "deadlock: the block waits for a phase that no other block can "
			                    "complete");
	}
	return true;
}

bool
interp_body(Interp *it, int64_t b, int64_t blocks, const int64_t grid[3])
{
	int cluster = cluster_blocks(it->k);

	it->linear = b / cluster; /* the grid has only complete clusters */
	it->launched = blocks / cluster;
	it->rank = b % cluster;
	it->block[0] = b % grid[0];
	it->block[1] = b / grid[0] % grid[1];
	it->block[2] = b / grid[0] / grid[1];
	interp_mem_start(it);
	it->task = &it->all;
	it->task->nframe = 0;
	it->task->blank = it->task->at_grid_barrier = it->in_roles = false;
	interp_enter(it, it->k->body);
	return interp_go_on(it);
}

bool
interp_scalar(Interp *it, const Val *v, int64_t *out)
{
	int64_t unused;

	if (!out)
		out = &unused;
	if (v->def) {
		if (!op_is(v->def, F_PURE) || v->type.space != S_scalar || v->def->code == O_block_id ||
		    v->def->code == O_linear_block_id || v->def->code == O_block_in_grid)
			return interp_error(it, INTERP_E_FAULT, v->def,
			                    "a tensor's size must only depend on parameters");
		for (int i = 0; i < v->def->nin; i++)
			if (!interp_scalar(it, v->def->in[i], NULL))
				return false;
		if (!eval_fn[v->def->code](it, v->def))
			return false;
	}
	*out = slot_of(it, v)->i[0];
	return true;
}
