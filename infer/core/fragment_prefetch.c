/* fragment_prefetch.c - which loops can be turned, and what is loaded ahead there. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "infer/core/fragment_prefetch.h"

/* ---- what is known of an op ----------------------------------------------------------------------- */

static const Lowering *
lowering_of(const Rotate *r, const Op *o)
{
	return r->sol ? r->sol->lowering[o->id] : o->lowering;
}

/* Does o, or a conversion of what it reads or makes, go by shared memory of its own? */
static bool
stages(const Rotate *r, const Op *o)
{
	if (lowering_is_staged(lowering_of(r, o)))
		return true;
	for (int i = 0; r->sol && i < o->nin; i++)
		if (lowering_is_staged(r->sol->conv[o->id][i]))
			return true;
	for (int i = 0; r->sol && i < o->nout; i++)
		if (lowering_is_staged(r->sol->mconv[o->id][i]))
			return true;
	return false;
}

/* ---- what an operand is made from ----------------------------------------------------------------- */

int
rotate_carried(const Rotate *r, const Val *v)
{
	return v->def || v->block != r->body ? -1 : v->index - 1;
}

bool
rotate_outside(const Rotate *r, const Val *v)
{
	return !block_inside(v->block, r->body);
}

/* How many ops of the loop write the tile; *spare: how many of them are copies that fill buffers. */
static int
count_writes(const Rotate *r, const Val *root, int *spare)
{
	int n = 0;
	OpWalk w;

	*spare = 0;
	for (Op *o = walk_first(&w, r->body); o; o = walk_next(&w)) {
		Val *to = access_target(o);

		if (!to || view_root(to) != root)
			continue;
		n++;
		*spare += o->parent->owner && if_is_copies(o->parent->owner);
	}
	return n;
}

/* A view of shared memory from outside, all of it or the buffer of this turn. */
static bool
view_ok(Rotate *r, Val *v)
{
	const Op *o = v->def;
	bool ring = false;
	int n, spare;

	if (v->type.space != S_shared)
		return false;
	if (rotate_outside(r, v))
		return count_writes(r, view_root(v), &spare) == 0;
	if (!o || o->code != O_view || !rotate_outside(r, o->in[0]))
		return false;
	for (int i = 1; i < o->nin; i++) {
		int at = rotate_carried(r, o->in[i]);
		int64_t c;

		if (rotate_outside(r, o->in[i]) || val_is_const(o->in[i], &c))
			continue;
		if (at < 0 || (r->slot >= 0 && at != r->slot))
			return false;
		r->slot = at;
		ring = true;
	}
	n = count_writes(r, view_root(v), &spare);
	r->ring |= ring;
	return ring ? n > 0 && n == spare : n == 0;
}

/* Do all who read what the loop's copies fill say which buffer, of the tile as it is?  Who reads it in
 * another shape may read any (pass insert_barriers), and has the copies of a later turn wait. */
static bool
reads_ok(const Rotate *r)
{
	OpWalk w;

	for (Op *o = walk_first(&w, r->body); o; o = walk_next(&w)) {
		Val *from = access_source(o), *root = from ? view_root(from) : NULL;
		int spare;

		if (!root || from == root || from->type.space != S_shared || from->def->in[0] == root)
			continue;
		if (count_writes(r, root, &spare) > 0)
			return false;
	}
	return true;
}

/* Of a value of the body: nothing outside of it sees that. */
static int
uses(const Rotate *r, const Val *v)
{
	int n = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, r->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			n += o->in[i] == v;
	return n;
}

/* Loops carry tiles in natural order only. */
static bool
bit_order(const Rotate *r, const Val *v)
{
	return r->sol ? r->sol->bit_order[v->id] != 0 : v->type.bit_order != 0;
}

/* Can v be made a turn ahead: from shared memory and what the loop does not change? */
static bool
operand_ok(Rotate *r, const Val *v, int depth)
{
	const Op *o = v->def;

	if (rotate_outside(r, v))
		return true;
	if (!o || o->parent != r->body || depth == 0)
		return false;
	if (o->code == O_load) {
		Op *load = v->def;

		if (v->type.space != S_reg || uses(r, v) != 1 || stages(r, o) || bit_order(r, v) ||
		    !view_ok(r, o->in[0]))
			return false;
		VEC_PUSH(r->k->unit->arena, r->load, r->nload, r->cap, load);
		return true;
	}
	r->expands |= o->code == O_sparse_expand;
	if (!op_is(o, F_PURE) || stages(r, o))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!operand_ok(r, o->in[i], depth - 1))
			return false;
	return true;
}

/* ---- which loops ------------------------------------------------------------------------------------ */

static bool
is_mma(const Rotate *r, const Op *o)
{
	const Lowering *p = lowering_of(r, o);
	const Instr *in = o->code == O_dot && p ? instr_of(p) : NULL;

	return in && in->kind == IK_mma && !dot_is_sparse(o);
}

/* Does o, or an op inside it, read or write shared memory or bring threads together? */
static bool
touches_shared(const Rotate *r, Op *o)
{
	Val *from = access_source(o), *to = access_target(o);
	OpWalk w;

	if ((from && from->type.space == S_shared) || (to && to->type.space == S_shared) ||
	    op_is(o, F_SYNC) || stages(r, o))
		return true;
	for (int b = 0; b < 2 && o->blk[b]; b++)
		for (Op *x = walk_first(&w, o->blk[b]); x; x = walk_next(&w))
			if (touches_shared(r, x))
				return true;
	return false;
}

/* `wait` and `barrier` at the top, behind nothing but index arithmetic. */
static bool
find_top(Rotate *r)
{
	for (Op *o = r->body->first; o; o = o->next) {
		if (o->code == O_wait && o->next && o->next->code == O_barrier) {
			r->wait = o;
			r->barrier = o->next;
			return true;
		}
		if (!op_is(o, F_PURE))
			return false;
	}
	return false;
}

static bool
find_products(Rotate *r)
{
	for (Op *o = r->barrier->next; o; o = o->next) {
		if (is_mma(r, o)) {
			r->first = r->first ? r->first : o;
			r->last = o;
		}
	}
	for (Op *o = r->last ? r->last->next : NULL; o; o = o->next)
		if (touches_shared(r, o))
			return false;
	return r->last != NULL;
}

/* Does the turn fill shared memory by itself in front of its first product?  Then a barrier comes, and what
 * has been begun is read no more. */
static bool
fills_in_front(const Rotate *r)
{
	for (Op *o = r->barrier->next; o != r->first; o = o->next) {
		const Val *to = access_target(o);

		if (to && to->type.space == S_shared && !(o->code == O_copy && IMM(o, async)))
			return true;
	}
	return false;
}

/* Does something between the top and the first product go by shared memory of its own? */
static bool
meets_in_front(const Rotate *r)
{
	for (const Op *o = r->barrier->next; o != r->first; o = o->next)
		if (stages(r, o))
			return true;
	return false;
}

/* What is in the way, in words; NULL: nothing. */
static const char *
obstacle(Rotate *r)
{
	enum { DEPTH = 24 };

	r->body = r->loop->blk[0];
	r->slot = -1;
	if (loop_ends_early(r->loop))
		return "any of its turns may be the last";
	if (!find_top(r))
		return "it does not begin with a wait for copies that run ahead";
	if (!find_products(r))
		return r->last ? "shared memory is used behind its last product"
		               : "it has no dense product of its own on tensor cores";
	if (fills_in_front(r))
		return "it fills shared memory in front of its first product";
	r->meets = meets_in_front(r) || stages(r, r->first);
	for (int i = 0; i < 2; i++) {
		int slot = r->slot, n = r->nload;
		bool ring = r->ring;

		if (!operand_ok(r, r->first->in[i], DEPTH)) {
			r->slot = slot;
			r->nload = n;
			r->ring = ring;
		}
	}
	if (!r->ring)
		return "its first product loads nothing straight from a buffer that is filled ahead";
	if (r->expands)
		return "a sparse operand takes the registers";
	return reads_ok(r) ? NULL : "a buffer is read in another shape than it is filled in";
}

bool
rotate_find(Rotate *r)
{
	r->why = obstacle(r);
	return !r->why;
}
