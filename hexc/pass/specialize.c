/* specialize.c - pass specialize: versions of the code that moves tiles, for sizes that let accesses be wide and
 * for blocks that are inside.
 *
 * A row of X[M, N] starts at a multiple of 16 bytes only if N is a multiple of 8 (f16), and a slice is inside of
 * its tensor in all blocks but the last.  The program need not promise either: the end of the body, from the
 * first access on that would be the better for it, is made twice,
 *
 *     if N % 8 == 0 { in 16-byte accesses } else { as the facts allow }
 *
 * and inside of the branch val_fact_at and view_in_bounds know what was asked; conditions are of sizes and of
 * where the block is, so that all its threads agree.  What is asked:
 *
 *   multiples   of the sizes and strides that keep accesses from being wide.  Where only the ends of
 *               contiguous dims do, as in tensors of one dim, it is whether the block is inside;
 *   inside      in the wide version once more, whether the block is inside, if there are masks: then nothing is
 *               masked.
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

enum {
	ASKED_MAX = 12,  /* conditions of one kind */
	CODE_MAX = 1024, /* elements that a thread computes in all versions together */
};

/* v % by == 0 */
typedef struct Multiple {
	Val *v;
	int64_t by;
} Multiple;

/* start + extent <= size */
typedef struct Room {
	Val *start, *size;
	int64_t extent;
} Room;

/* What would help: multiples first of strides, then of the sizes of contiguous dims. */
typedef struct Asked {
	Multiple mult[ASKED_MAX];
	Room room[ASKED_MAX];
	int nmult, nroom;
	bool strides; /* there are such */
	bool no_room; /* a contiguous dim's end cannot be asked about */
} Asked;

/* The ops from `first` to the end of its block, or `first` alone. */
typedef struct Run {
	Kernel *k;
	Op *first;
	bool alone;
	bool *before; /* by id of ops: stands in the body, in front of the run */
	uint32_t n;
} Run;

/* ---- accesses --------------------------------------------------------------------------------------- */

/* The view of a tensor that o moves a tile by; NULL: none. */
static Op *
moved_by(const Op *o)
{
	const Val *mem = o->code == O_load || o->code == O_copy     ? o->in[0]
	                 : o->code == O_store && !IMM(o, update) ? o->in[1]
	                                                         : NULL;

	if (!mem || mem->type.space != S_global || mem->type.rank == 0 || !mem->def ||
	    mem->def->code != O_view || mem->def->in[0]->def)
		return NULL;
	return mem->def;
}

static bool
is_before(const Run *r, const Val *v)
{
	if (!v->def)
		return v->block == r->k->body;
	return v->def->id < r->n && r->before[v->def->id];
}

static bool
is_multiple(const Run *r, const Op *view, const Val *v, int64_t by)
{
	return val_fact_at(r->k, view, v).mult % by == 0;
}

static bool
ask_multiple(const Run *r, Asked *a, Val *v, int64_t by)
{
	int i = 0;

	while (i < a->nmult && a->mult[i].v != v)
		i++;
	if (i == ASKED_MAX || !is_before(r, v))
		return false;
	if (i == a->nmult)
		a->mult[a->nmult++] = (Multiple){ v, by };
	else if (by > a->mult[i].by)
		a->mult[i].by = by;
	return true;
}

/* Room along dim d of the view's operand.  Where a view may start below 0, no room at its end helps. */
static bool
ask_room(const Run *r, Asked *a, const Op *view, int d)
{
	int dim = view_result_dim(view, d), i = 0;
	Room x = { view->in[1 + d], val_param(r->k, view->in[0])->size[d],
		   dim < 0 ? 1 : view->out[0]->type.shape[dim] };

	if (!is_before(r, x.start) || !is_before(r, x.size) || val_fact(r->k, x.start).lo < 0)
		return false;
	while (i < a->nroom && (a->room[i].start != x.start || a->room[i].size != x.size))
		i++;
	if (i == ASKED_MAX)
		return false;
	if (i == a->nroom)
		a->room[a->nroom++] = x;
	else if (x.extent > a->room[i].extent)
		a->room[i].extent = x.extent;
	return true;
}

static void
ask_inside(const Run *r, Asked *a, const Op *view)
{
	for (int d = 0; d < view->in[0]->type.rank; d++)
		if (!view_operand_in_bounds(r->k, view, d))
			ask_room(r, a, view, d);
}

/* Elements of the widest access along dim `unit` of a tile; 1 of a tile that has but one for a thread. */
static int64_t
widest(const Kernel *k, const Type *t, int unit)
{
	if (unit < 0 || type_size(t) < (int64_t)2 * k->warps * WARP_SIZE)
		return 1;
	return min64(pow2_part(t->shape[unit]), dtype_most(t->dtype));
}

/* What keeps accesses by the view from being as wide as its tile allows.  False: something does that cannot be
 * asked about. */
static bool
ask_wide(const Run *r, Asked *a, const Op *view)
{
	const Param *p = val_param(r->k, view->in[0]);
	int unit = view_unit_dim(r->k, view), end = unit < 0 ? -1 : view_operand_dim(view, unit);
	int64_t vec = widest(r->k, &view->out[0]->type, unit);

	if (vec == 1 || !is_multiple(r, view, view->in[1 + end], vec))
		return false;
	for (int d = 0; d < view->in[0]->type.rank; d++) {
		if (d == end || is_multiple(r, view, p->stride[d], vec))
			continue;
		a->strides = true;
		if (!ask_multiple(r, a, p->stride[d], vec))
			return false;
	}
	if (view_in_bounds(r->k, view, unit) || is_multiple(r, view, p->size[end], vec))
		return true;
	a->no_room |= !ask_room(r, a, view, end);
	return ask_multiple(r, a, p->size[end], vec);
}

typedef enum Wish { WIDE, INSIDE } Wish;

static void ask_block(const Run *r, Asked *a, const Op *first, Wish wish);

/* What o, with all that is in it, asks for. */
static void
ask_op(const Run *r, Asked *a, const Op *o, Wish wish)
{
	const Op *view = moved_by(o);
	Asked more = *a;

	if (view && wish == INSIDE)
		ask_inside(r, a, view);
	else if (view && ask_wide(r, &more, view))
		*a = more;
	for (int i = 0; i < 2; i++)
		if (o->blk[i])
			ask_block(r, a, o->blk[i]->first, wish);
}

static void
ask_block(const Run *r, Asked *a, const Op *first, Wish wish)
{
	for (const Op *o = first; o; o = o->next)
		ask_op(r, a, o, wish);
}

static void
ask_run(const Run *r, Asked *a, Wish wish)
{
	if (r->alone)
		ask_op(r, a, r->first, wish);
	else
		ask_block(r, a, r->first, wish);
}

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

	r.first = end_of_body(k, CODE_MAX / 2, &code);
	if (!r.first)
		return NULL;
	hoist_scalars(&r);
	wide = split_wide(&r);
	if (wide)
		r.first = wide->blk[0]->first;
	if ((wide ? 3 : 2) * code <= CODE_MAX)
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
