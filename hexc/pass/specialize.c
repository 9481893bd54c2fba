/* specialize.c - pass specialize: versions of the code that moves tiles, for sizes that let accesses be wide
 * and for blocks that are inside.
 *
 * A row of X[M, N] starts at a multiple of 16 bytes only if N is a multiple of 8 (f16), and a slice is inside
 * of its tensor in all blocks but the last.  The program need not promise either: the end of the body, from
 * the first access on that would be the better for it, is made twice,
 *
 *     if N % 8 == 0 { in 16-byte accesses } else { as the facts allow }
 *
 * and inside of the branch val_fact_at and view_in_bounds know what was asked; conditions are of sizes and of
 * where the block is, so that all its threads agree.  What is asked:
 *
 *   multiples   of the sizes and strides that keep accesses from being wide.  Where only the ends of
 *               contiguous dims do, as in tensors of one dim, it is whether the block is inside;
 *   inside      in the wide version once more, whether the block is inside, if masks go by it.
 *
 * The second version costs code, so what is made twice is small and has no products: a main loop runs as the
 * facts allow.  A store in front of that, or in a kernel too large for it, gets the two versions alone.
 * Atomic updates are no wider than an element or two and ask for nothing.
 *
 * needs   views of global tensors with their sizes and strides
 * keeps   what the kernel computes
 * leaves  views in the branches that access them */
#include "hexc/ir/facts.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/specialize.h"

/* Elements that a thread computes in all versions together: of two, the only way to wide accesses, and of
 * three. */
enum { CODE_TWO = 1280, CODE_THREE = 1024 };

/* ---- which ops ---------------------------------------------------------------------------------------- */

/* Elements that a thread computes, all that is in o once; INT64_MAX / 2: o has products. */
static int64_t
code_of(const Op *o, int64_t threads)
{
	const Val *tile = o->nout ? o->out[0] : o->nin ? o->in[0] : NULL;
	int64_t sum = 0;

	if (o->code == O_dot)
		return INT64_MAX / 2;
	if (tile && tile->type.space == S_reg)
		sum = ceil_div(type_size(&tile->type), threads);
	for (int i = 0; i < 2; i++)
		for (const Op *x = o->blk[i] ? o->blk[i]->first : NULL; x; x = x->next)
			sum = min64(sum + code_of(x, threads), INT64_MAX / 2);
	return sum;
}

/* The longest end of the body of at most `most` elements; NULL: none.  *code is what they are. */
static Op *
end_of_body(const Kernel *k, int64_t most, int64_t *code)
{
	Op *first = NULL;

	*code = 0;
	for (Op *o = k->body->last->prev; o; o = o->prev) {
		int64_t more = code_of(o, (int64_t)k->warps * WARP_SIZE);

		if (more > most - *code)
			break;
		*code += more;
		first = o;
	}
	return first;
}

/* Scalars of the run that can be computed in front of it are, so that conditions may ask about them. */
static void
hoist_scalars(Run *r)
{
	r->n = r->k->nop + 1;
	r->before = NEWN(r->k->unit->arena, bool, r->n);
	for (const Op *o = r->k->body->first; o != r->first; o = o->next)
		r->before[o->id] = true;
	for (Op *o = r->first, *next; o; o = next) {
		bool scalar = op_is(o, F_PURE) && !op_is(o, F_MEM) && o->nout == 1 &&
		              o->out[0]->type.space == S_scalar;

		next = o->next;
		for (int i = 0; i < o->nin; i++)
			scalar = scalar && is_before(r, o->in[i]);
		if (!scalar)
			continue;
		r->before[o->id] = true;
		if (o == r->first)
			r->first = next;
		else
			op_move_before(o, r->first);
	}
}

/* The run starts at the first op that asks for something.  False: none does. */
static bool
start_at_wish(Run *r, Wish wish)
{
	for (Op *o = r->first; o; o = r->alone ? NULL : o->next) {
		Asked a = { .nmult = 0 };

		ask_op(r, &a, o, wish);
		if (a.nmult || a.nroom) {
			r->first = o;
			return true;
		}
	}
	return false;
}

/* ---- versions ----------------------------------------------------------------------------------------- */

static Val *
both(Op *at, Val *x, Val *y)
{
	return x ? ir_bin(at->parent, at, O_and, x, y) : y;
}

static Val *
condition(Op *at, const Asked *a)
{
	Block *b = at->parent;
	Val *all = NULL;

	for (int i = 0; i < a->nmult; i++) {
		Val *rest = ir_bin(b, at, O_mod, a->mult[i].v, ir_const(b, at, a->mult[i].by));

		all = both(at, all, ir_bin(b, at, O_eq, rest, ir_const(b, at, 0)));
	}
	for (int i = 0; i < a->nroom; i++) {
		Val *end = ir_bin(b, at, O_add, a->room[i].start, ir_const(b, at, a->room[i].extent));

		all = both(at, all, ir_bin(b, at, O_le, end, a->room[i].size));
	}
	return all;
}

/* Facts are of where a view stands: each access gets its own. */
static void
views_beside(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		const Op *view = moved_by(o);

		if (view && !block_inside(view->parent, b))
			o->in[o->code == O_store] = op_clone(o->parent, o, view, NULL, NULL)->out[0];
	}
}

/* Is every element of dim d of mask o, its i-th bound's, inside wherever op `at` runs? */
static bool
ends_inside(Kernel *k, const Op *at, const Op *o, int d, int i)
{
	return prove_inside(k, at, NULL, 0, o->out[0]->type.shape[d], o->in[i]);
}

/* Would a mask among o and the ops behind it be none where op `at` stands? */
static bool
spares_masks(Kernel *k, const Op *at, const Op *o)
{
	for (; o; o = o->next) {
		for (int d = 0, i = 1; o->code == O_mask && d < o->out[0]->type.rank; d++)
			if (IMM(o, dims) >> d & 1 && ends_inside(k, at, o, d, i++))
				return true;
		for (int i = 0; i < 2; i++)
			if (o->blk[i] && spares_masks(k, at, o->blk[i]->first))
				return true;
	}
	return false;
}

static void
drop_masks(Kernel *k, Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b), *next; o; o = next) {
		int n = 1;
		int64_t dims = 0;

		next = walk_next(&w);
		if (o->code != O_mask)
			continue;
		for (int d = 0, i = 1; d < o->out[0]->type.rank; d++) {
			if (!(IMM(o, dims) >> d & 1))
				continue;
			if (!ends_inside(k, o, o, d, i)) {
				o->in[n++] = o->in[i];
				dims |= (int64_t)1 << d;
			}
			i++;
		}
		o->nin = n;
		IMM_SET(o, dims, dims);
		if (dims)
			continue;
		val_replace(k, o->out[0], o->in[0]);
		op_unlink(o);
	}
}

/* A branch in front of the run that does nothing. */
static Op *
branch_new(const Run *r, const Asked *a)
{
	Val *cond = condition(r->first, a);
	Op *branch = op_new(r->first->parent, r->first, O_if, r->first->src, 1, &cond, 0, NULL);

	for (int i = 0; i < 2; i++)
		branch->blk[i] = block_new(r->k, branch);
	op_new(branch->blk[0], NULL, O_yield, branch->src, 0, NULL, 0, NULL);
	IMM_SET(branch, versions, 1);
	return branch;
}

/* The run, if the condition holds, and a copy of it, if not. */
static void
fill(const Run *r, Op *branch)
{
	Op *yield = branch->blk[0]->last;

	for (Op *o = r->first, *next; o && o->code != O_yield; o = r->alone ? NULL : next) {
		next = o->next;
		op_move_before(o, yield);
	}
	views_beside(branch->blk[0]);
	block_clone(branch->blk[1], branch->blk[0]);
	drop_masks(r->k, branch->blk[0]);
}

/* The wide version and the other; NULL: there is nothing to ask. */
static Op *
split_wide(Run *r)
{
	Asked a = { .nmult = 0 };
	Op *branch;

	if (!start_at_wish(r, WIDE))
		return NULL;
	ask_run(r, &a, WIDE);
	if (!a.strides && !a.no_room) {
		a = (Asked){ .nmult = 0 };
		ask_run(r, &a, INSIDE);
	} else {
		a.nroom = 0;
	}
	branch = branch_new(r, &a);
	fill(r, branch);
	return branch;
}

/* The version without masks and the other; NULL: there are none, or not because of where the block is. */
static Op *
split_inside(Run *r)
{
	Asked a = { .nmult = 0 };
	Op *branch;

	if (!start_at_wish(r, INSIDE))
		return NULL;
	ask_run(r, &a, INSIDE);
	branch = branch_new(r, &a);
	if (!spares_masks(r->k, branch->blk[0]->last, r->first)) {
		op_unlink(branch);
		return NULL;
	}
	fill(r, branch);
	return branch;
}

/* The versions of the body's end; what stands for its first op. */
static Op *
split_end(Kernel *k)
{
	Run r = { .k = k };
	int64_t code;
	Op *wide, *inside = NULL;

	r.first = end_of_body(k, CODE_TWO / 2, &code);
	if (!r.first)
		return NULL;
	hoist_scalars(&r);
	wide = split_wide(&r);
	if (wide)
		r.first = wide->blk[0]->first;
	if ((wide ? 3 : 2) * code <= CODE_THREE)
		inside = split_inside(&r);
	return wide ? wide : inside;
}

bool
pass_specialize(Kernel *k)
{
	Op *end = split_end(k);
	bool changed = end != NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body), *next; o && o != end; o = next) {
		Run r = { .k = k, .first = o, .alone = true };

		next = walk_next(&w);
		if (o->code == O_store && split_wide(&r))
			changed = true;
	}
	if (changed)
		pass_dce(k);
	return changed;
}
