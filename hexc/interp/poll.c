/* poll.c - detects loops in which a block waits for memory that other blocks write, for block_interleaving.c.
 *
 * The next iteration of a loop that ends early depends on carried values, shared tiles and global memory. If
 * these equal those after an earlier iteration, and no block has changed global memory since, the loop runs
 * forever unless another block changes it. Values are compared: a store or update that leaves memory
 * unchanged has no effect; a growing counter has one. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/memory_effects.h"
#include <inttypes.h>
#include <string.h>

enum { WINDOW = 64 }; /* iterations compared after each power of 2 */

static bool
reads_written(const Kernel *k, const Op *o)
{
	bool global = o->nin && o->in[0]->type.space == S_global;
	const Param *p = global ? val_param(k, view_root(o->in[0])) : NULL;

	if (o->code == O_store)
		return IMM(o, update) && store_dest(o)->type.space == S_global;
	return (o->code == O_load || o->code == O_copy) && p && p->written;
}

bool
poll_possible(const Kernel *k)
{
	OpWalk w, in;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (const Op *x = loop_ends_early(o) ? walk_first(&in, o->blk[0]) : NULL; x;
		     x = walk_next(&in))
			if (reads_written(k, x))
				return true;
	return kernel_has(k, O_grid_barrier);
}

/* ---- states ------------------------------------------------------------------------------------- */

static uint64_t
mix(uint64_t h, const void *p, size_t bytes)
{
	const char *b = p;
	uint64_t v = bytes;

	for (;; bytes -= 8, b += 8) {
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
		if (!bytes)
			return h;
		v = 0;
		if (bytes < 8) {
			memcpy(&v, b, bytes);
			b -= 8 - bytes;
			bytes = 8;
		} else {
			memcpy(&v, b, 8);
		}
	}
}

/* Hash of the state that the next iteration depends on, except global memory and the counter. */
static uint64_t
state(Interp *it, const Block *b)
{
	const Task *t = it->task;
	uint64_t h = mix(0, &t->npending, sizeof t->npending);

	for (int i = 1; i < b->narg; i++) {
		const InterpValue *s = slot_of(it, b->arg[i]);

		h = s->view ? mix(h, s->view, sizeof *s->view) : mix(h, s->f, (size_t)s->n * sizeof *s->f);
	}
	for (int i = 0; i < it->nshared; i++) {
		const Shared *s = it->shared[i];

		h = mix(h, s->f, (size_t)s->n * sizeof *s->f);
		h = mix(h, s->init, (size_t)s->n);
	}
	return h;
}

/* Can only carried values end it? */
static bool
has_no_end(const Interp *it, const Frame *f)
{
	return f->hi == INT64_MAX && !it->common->uses[f->b->arg[0]->id];
}

void
poll_turn(Interp *it, const Op *o, Frame *f)
{
	const Common *c = it->common;
	uint64_t n, from, now;
	bool stuck = false;

	if (!c->takes_turns || !loop_ends_early(o))
		return;
	if (f->effects != c->effects)
		f->turns = 0;
	f->effects = c->effects;
	n = ++f->turns;
	from = (uint64_t)1 << log2_floor((int64_t)n);
	if (n - from <= WINDOW && has_no_end(it, f)) {
		now = state(it, f->b);
		stuck = n > 1 && now == f->kept;
		f->kept = n == from ? now : f->kept;
	}
	if (stuck)
		f->turns = 1;
	else if (n % WINDOW || it->looks == f->looks)
		return;
	f->looks = it->looks;
	it->loop = o;
	it->waiter = it->task;
	it->task->poll = stuck ? POLL_STUCK : POLL_AGAIN;
	it->task->turn = true;
}

/* ---- words -------------------------------------------------------------------------------------- */

/* Appends "BAR[0]", if strides distinguish the dims, and its current value. */
static void
say_element(Interp *it, Text *t)
{
	const Param *p = it->look.param;
	const Type *y = &p->val->type;
	const void *data = it->arg[p - it->k->param].data;
	int64_t left = it->look.at;

	text_printf(t, " polls `%s[", p->name);
	for (int d = 0; d < y->rank; d++) {
		int64_t stride = slot_of(it, p->stride[d])->i[0];

		text_printf(t, "%s%" PRId64, d ? ", " : "", stride ? left / stride : 0);
		left = stride ? left % stride : left;
	}
	if (dtype_is_float(y->dtype))
		text_printf(t, "]`, which is %g,", num_get_f(y->dtype, data, it->look.at));
	else
		text_printf(t, "]`, which is %" PRId64 ",", num_get_i(y->dtype, data, it->look.at));
}

/* Returns the loop's condition if it is an integer comparison; else NULL. */
static const Op *
comparison(const Op *loop, const char **sign)
{
	const Op *o = yield_value(loop->blk[0]->last, 0)->def;

	switch (o ? o->code : O_const) {
	case O_lt: *sign = "<"; break;
	case O_le: *sign = "<="; break;
	case O_eq: *sign = "=="; break;
	case O_ne: *sign = "!="; break;
	default: return NULL;
	}
	return elt_lhs(o)->type.space == S_scalar && !dtype_is_float(elt_lhs(o)->type.dtype) ? o : NULL;
}

void
poll_say(Interp *it, Text *t)
{
	const char *sign;
	const Op *c;

	if (it->loop->code == O_grid_barrier) {
		grid_barrier_say(it, t);
		return;
	}
	c = comparison(it->loop, &sign);
	it->task = it->waiter;
	if (it->look.op)
		say_element(it, t);
	else
		text_printf(t, " repeats a loop that changes nothing,");
	text_printf(t, " in line %u", it->loop->src.line);
	if (c)
		text_printf(t, " while %" PRId64 " %s %" PRId64, slot_of(it, elt_lhs(c))->i[0], sign,
		            slot_of(it, elt_rhs(c))->i[0]);
	it->task = &it->all;
}
