/* fragment_prefetch.c - decides which loops can prefetch the fragments of their first MMA one iteration
 * ahead, and finds the loads to prefetch. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "infer/core/fragment_prefetch.h"

/* ---- properties of an op -------------------------------------------------------------------------- */

static const Lowering *
lowering_of(const Rotate *r, const Op *o)
{
	return r->sol ? r->sol->lowering[o->id] : o->lowering;
}

/* Does o, or a conversion of its operands or results, use a staging tile in shared memory? */
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

/* ---- definition of an operand --------------------------------------------------------------------- */

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

/* Returns the number of ops in the loop that write the tile; *spare: how many of these are copies that
 * fill stages. */
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

/* Is v shared memory that is allocated outside of the loop: all of a tile that the loop does not write, or
 * the stage of this iteration? */
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
	if (!o || o->code != O_view || !rotate_outside(r, view_source(o)))
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

/* Does every op that reads a tile filled by the loop's copies index the stage directly, in the tile's own
 * shape?  Under another shape pass insert_barriers must assume that any stage is read, so the copies of a
 * later iteration would wait. */
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

/* Counts the uses of a value of the body; it has none outside. */
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

/* Does v have a bit order other than natural?  Loops cannot carry those. */
static bool
bit_order(const Rotate *r, const Val *v)
{
	return r->sol ? r->sol->bit_order[v->id] != 0 : v->type.bit_order != 0;
}

/* Adds the load, which the dot may need in several places: two parts of one tile. */
static void
add_load(Rotate *r, Op *load)
{
	for (int i = 0; i < r->nload; i++)
		if (r->load[i] == load)
			return;
	VEC_PUSH(r->k->unit->arena, r->load, r->nload, r->cap, load);
}

/* Can v be computed one iteration ahead: from shared memory and values that the loop does not change? */
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
		    !view_ok(r, load_source(o)))
			return false;
		add_load(r, load);
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

/* ---- loops ------------------------------------------------------------------------------------------ */

static bool
is_mma(const Rotate *r, const Op *o)
{
	const Lowering *p = lowering_of(r, o);
	const Instr *in = o->code == O_dot && p ? instr_of(p) : NULL;

	return in && in->kind == IK_mma && !dot_is_sparse(o);
}

/* Does o, or an op inside it, access shared memory or synchronize threads? */
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

/* Finds `wait` and `barrier` at the top of the body, preceded only by index arithmetic. */
static bool
find_top(Rotate *r)
{
	for (Op *o = r->body->first; o; o = o->next) {
		if (o->code == O_async_wait && o->next && o->next->code == O_barrier) {
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

/* Does the iteration write shared memory synchronously before its first MMA?  Then a barrier follows, and
 * the prefetched stage is no longer read. */
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

/* Does an op between the barrier and the first MMA use a staging tile? */
static bool
meets_in_front(const Rotate *r)
{
	for (const Op *o = r->barrier->next; o != r->first; o = o->next)
		if (stages(r, o))
			return true;
	return false;
}

/* Returns the reason why the loop cannot prefetch fragments; NULL: it can. */
static const char *
obstacle(Rotate *r)
{
	enum { DEPTH = 24 };

	r->body = r->loop->blk[0];
	r->slot = -1;
	if (loop_ends_early(r->loop))
		return "the loop may exit in any iteration";
	if (!find_top(r))
		return "it does not start with a wait for prefetched copies";
	if (!find_products(r))
		return r->last ? "shared memory is used after its last MMA"
		               : "no dense MMA directly in its body";
	if (fills_in_front(r))
		return "it writes shared memory before its first MMA";
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
		return "its first MMA reads no pipeline stage directly";
	if (r->expands)
		return "a sparse operand needs the registers";
	return reads_ok(r) ? NULL : "a stage is read under another shape than it is written";
}

bool
rotate_find(Rotate *r)
{
	r->why = obstacle(r);
	return !r->why;
}
