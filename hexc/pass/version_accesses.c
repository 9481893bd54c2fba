/* version_accesses.c - pass version_accesses: versions of the code that moves tiles, for sizes that let accesses be
 * wide and for blocks that are inside.
 *
 * A row of X[M, N] starts at a multiple of 16 bytes only if N is a multiple of 8 (f16), and a slice is
 * inside of its tensor in all blocks but the last.  The program need not promise either: the end of the
 * body, from the first access on that would be the better for it, is made twice,
 *
 *     if N % 8 == 0 { in 16-byte accesses } else { as the facts allow }
 *
 * and inside of the branch val_fact_at and view_in_bounds know what was asked; conditions are of sizes
 * and of where the block is, so that all its threads agree.  What is asked:
 *
 *   multiples   of the strides and sizes that keep accesses from being wide, those that starts are made of
 *               too.  Where only the ends of contiguous dims do, as in tensors of one dim, it is whether the
 *               block is inside;
 *   inside      in the wide version once more, whether the block is inside, if masks go by it.
 *
 * The second version costs code, so what is made twice is small; main loops of products are.  A store in
 * front of that, or in a kernel too large for it, gets the two versions alone, and what those fetch who
 * produce, in each turn. Atomic updates are no wider than an element or two and ask for nothing.
 *
 * needs   views of global tensors with their sizes and strides
 * keeps   what the kernel computes
 * leaves  views in the branches that access them */
#include "hexc/pass/pass.h"
#include "hexc/pass/version_accesses.h"

/* Elements that a thread computes in all versions together: of two, the only way to wide accesses, and of
 * three.  And how many elements an op counts for that has fewer. */
enum { CODE_TWO = 5120, CODE_THREE = 1024, CODE_OP = 8 };

/* ---- which ops ---------------------------------------------------------------------------------------- */

/* Elements that a thread computes, all that is in o once; INT64_MAX / 2: roles, which are a body's end. */
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

/* All that is in o, itself too. */
static int64_t
ops_of(const Op *o)
{
	int64_t n = 1;

	for (int i = 0; i < 2; i++)
		for (const Op *x = o->blk[i] ? o->blk[i]->first : NULL; x; x = x->next)
			n += ops_of(x);
	return n;
}

/* The longest end of the body of at most `most` elements, and of as many ops as that is; NULL: none.
 * *code is what the elements are. */
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

/* Scalars of the run that can be computed in front of it count as being there, so that conditions may ask
 * about them. */
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

/* ... and go there. */
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

/* The run starts at the first op that asks for something; if that copies, at the shared tiles in front
 * of it: each version has its own, for one may take the place of another's.  False: none does. */
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

/* What to ask for a wish.  Where only the ends of contiguous dims keep accesses from being wide, that is
 * whether the block is inside. */
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

/* The run as it wishes to be and as it is; NULL: there is nothing to ask, or no mask goes by where the block
 * is. */
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

/* The versions of the body's end; what stands for its first op. */
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

/* Of scalars only those in front of the roles are there for conditions of who produces. */
static void
find_common(OpRange *r)
{
	r->n = r->k->nop + 1;
	r->before = NEWN(r->k->unit->arena, bool, r->n);
	for (const Op *o = r->k->body->first; o; o = o->next)
		r->before[o->id] = o->code != O_roles;
}

/* The copies that an arrival of who produces expects, and the arrival: made twice, in boxes and whole chunks
 * where rows begin at multiples of these, and as the facts allow. */
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
	for (Op *o = r.first, *next; o; o = next) { /* what others read as well */
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
		if (o->code == O_mbar_arrive && IMM(o, expect))
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
