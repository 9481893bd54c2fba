/* version_accesses.c - pass version_accesses: creates code versions with wide or in-bounds accesses, selected
 * per block by run-time checks.
 *
 * A row of X[M, N] is 16-byte aligned only if N is a multiple of 8 (f16). A slice is in bounds in all
 * blocks but the last. The program need not promise either. The end of the body, from the first access
 * that would benefit, gets two versions,
 *
 *     if N % 8 == 0 { with 16-byte accesses } else { as range analysis allows }
 *
 * Inside the branch val_fact_at and view_in_bounds use the condition. Conditions depend on sizes and block
 * position only, so all threads of a block agree. Conditions:
 *   multiples   of the strides and sizes that limit the access width, including sizes that determine starts.
 *               If only the ends of contiguous dims limit it, as in 1-D tensors, it is whether the block is
 *               in bounds;
 *   inside      within the wide version, also whether the block is in bounds, if that removes masks.
 * The second version costs code size, so the versioned part is limited in size; main loops with dots exceed
 * it. A store before it, or in a kernel that is too large, is versioned by itself, and so are the producers'
 * copies, in each iteration. Atomic updates are at most two elements wide and need no versions.
 *
 * requires   views of global tensors with their sizes and strides
 * preserves  what the kernel computes
 * leaves     views in the branches that access them */
#include "hexc/pass/pass.h"
#include "hexc/pass/version_accesses.h"

/* Limits on elements per thread in all versions: two versions (needed for wide accesses), and three. CODE_OP:
 * the minimum count per op. */
enum { CODE_TWO = 5120, CODE_THREE = 1024, CODE_OP = 8 };

/* ---- which ops ---------------------------------------------------------------------------------------- */

/* Elements per thread of o and all ops inside, each once; INT64_MAX / 2: roles, which exceed any limit. */
static int64_t
code_of(const Op *o, int64_t threads)
{
	const Val *tile = o->nout ? o->out[0] : o->nin ? o->in[0] : NULL;
	int64_t sum = 0;

	if (o->code == O_roles)
		return INT64_MAX / 2;
	if (tile && tile->type.space == S_reg)
		sum = ceil_div(type_size(&tile->type), threads);
	for (int i = 0; i < 2; i++)
		for (const Op *x = o->blk[i] ? o->blk[i]->first : NULL; x; x = x->next)
			sum = min64(sum + code_of(x, threads), INT64_MAX / 2);
	return sum;
}

/* Number of ops in o, itself included. */
static int64_t
ops_of(const Op *o)
{
	int64_t n = 1;

	for (int i = 0; i < 2; i++)
		for (const Op *x = o->blk[i] ? o->blk[i]->first : NULL; x; x = x->next)
			n += ops_of(x);
	return n;
}

/* Returns the start of the longest end of the body within `most` elements and the matching number of ops;
 * NULL: none. *code is its element count. */
static Op *
end_of_body(const Kernel *k, int64_t most, int64_t *code)
{
	Op *first = NULL;
	int64_t ops = 0;

	*code = 0;
	for (Op *o = k->body->last->prev; o; o = o->prev) {
		int64_t more = code_of(o, (int64_t)k->warps * WARP_SIZE);

		ops += ops_of(o);
		if (more > most - *code || ops * CODE_OP > most)
			break;
		*code += more;
		first = o;
	}
	return first;
}

/* Scalars of the range that can be computed before it count as available, so that conditions may use them. */
static void
find_before(OpRange *r)
{
	r->n = r->k->nop + 1;
	r->before = NEWN(r->k->unit->arena, bool, r->n);
	for (const Op *o = r->k->body->first; o != r->first; o = o->next)
		r->before[o->id] = true;
	for (const Op *o = r->first; o; o = o->next) {
		bool scalar = op_is(o, F_PURE) && !op_is(o, F_MEM) && o->nout == 1 &&
		              o->out[0]->type.space == S_scalar;

		for (int i = 0; i < o->nin; i++)
			scalar = scalar && is_before(r, o->in[i]);
		r->before[o->id] = scalar;
	}
}

/* Moves these scalars before the range. */
static void
hoist_scalars(const OpRange *r)
{
	for (Op *o = r->first, *next; o && o != r->last; o = next) {
		next = o->next;
		if (o->id < r->n && r->before[o->id])
			op_move_before(o, r->first);
	}
}

static bool
has_copies(const Op *o)
{
	bool has = o->code == O_copy;

	for (int i = 0; i < 2; i++)
		for (const Op *x = o->blk[i] ? o->blk[i]->first : NULL; x; x = x->next)
			has |= has_copies(x);
	return has;
}

/* Moves the start of the range to the first op that benefits. If that copies, to the preceding allocs: each
 * version has its own shared tiles, which may share memory. Returns false if no op benefits. */
static bool
start_at_wish(OpRange *r, VersionGoal wish)
{
	Op *tiles = NULL;

	for (Op *o = r->first; o; o = run_next(r, o)) {
		Asked a = { .nmult = 0 };

		if (!tiles && o->code == O_alloc)
			tiles = o;
		ask_op(r, &a, o, wish);
		if (a.nmult || a.nroom) {
			r->first = tiles && has_copies(o) ? tiles : o;
			return true;
		}
	}
	return false;
}

/* ---- versions ----------------------------------------------------------------------------------------- */

/* Returns the conditions for a goal. If only the ends of contiguous dims limit the width, the condition is
 * that the block is in bounds. */
static Asked
version_condition(const OpRange *r, VersionGoal wish)
{
	Asked a = { .nmult = 0 };

	ask_run(r, &a, wish);
	if (wish == WIDE && !a.strides && !a.starts && !a.no_room)
		return version_condition(r, INSIDE);
	if (wish == WIDE)
		a.nroom = 0;
	return a;
}

/* Versions the range for a goal. Returns the branch, or NULL if there is no condition, or no mask depends on
 * the block's position. */
static Op *
split_run(OpRange *r, VersionGoal wish)
{
	Op *branch;
	Asked a;

	if (!start_at_wish(r, wish))
		return NULL;
	a = version_condition(r, wish);
	hoist_scalars(r);
	branch = branch_new(r, &a);
	if (wish == INSIDE && !branch_spares_masks(r, branch)) {
		op_unlink(branch);
		return NULL;
	}
	branch_fill(r, branch);
	return branch;
}

/* Versions the end of the body. Returns the op that replaces its first one. */
static Op *
split_end(Kernel *k)
{
	OpRange r = { .k = k };
	int64_t code;
	Op *wide, *inside = NULL;

	r.first = end_of_body(k, CODE_TWO / 2, &code);
	if (!r.first)
		return NULL;
	find_before(&r);
	wide = split_run(&r, WIDE);
	if (wide)
		r.first = wide->blk[0]->first;
	if ((wide ? 3 : 2) * code <= CODE_THREE)
		inside = split_run(&r, INSIDE);
	return wide ? wide : inside;
}

/* For producers' conditions only scalars before the roles are available. */
static void
find_common(OpRange *r)
{
	r->n = r->k->nop + 1;
	r->before = NEWN(r->k->unit->arena, bool, r->n);
	for (const Op *o = r->k->body->first; o; o = o->next)
		r->before[o->id] = o->code != O_roles;
}

/* Versions the copies of a producer's `expect` arrival, with the arrival: with TMA boxes or full chunks if
 * row starts are multiples of these, else as range analysis allows. */
static bool
split_fetch(Kernel *k, Op *arrive)
{
	OpRange r = { .k = k, .last = arrive };
	Asked a = { .nmult = 0 };

	for (Op *o = arrive->parent->first; o != arrive && !r.first; o = o->next)
		if (o->code == O_copy && op_mbar(o) && copy_arrival(o) == arrive)
			r.first = o;
	if (!r.first)
		return false;
	find_common(&r);
	ask_run(&r, &a, WIDE);
	if (!a.nmult)
		return false;
	a.nroom = 0;
	for (Op *o = r.first, *next; o; o = next) { /* values with other uses */
		next = run_next(&r, o);
		if (op_is(o, F_PURE) && !op_is(o, F_MEM))
			op_move_before(o, r.first);
	}
	branch_fill(&r, branch_new(&r, &a));
	return true;
}

static bool
split_fetches(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	if (!schedule_has_roles(k->schedule) || !kernel_roles(k))
		return false;
	for (Op *o = walk_first(&w, kernel_roles(k)->blk[0]), *next; o; o = next) {
		next = walk_next(&w);
		if (o->code == O_mbarrier_arrive && IMM(o, expect))
			changed |= split_fetch(k, o);
	}
	return changed;
}

bool
pass_version_accesses(Kernel *k)
{
	Op *end = split_end(k);
	bool changed = end != NULL || split_fetches(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body), *next; o && o != end; o = next) {
		OpRange r = { .k = k, .first = o, .last = o };

		next = walk_next(&w);
		if (o->code == O_store && split_run(&r, WIDE))
			changed = true;
	}
	if (changed)
		pass_dce(k);
	return changed;
}
