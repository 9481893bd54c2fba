/* block_scaled_mma.c - pass legalize: fuses dots of narrow values and scales of blocks along k into
 * block-scaled MMAs.
 *
 * `dot(values * scales, ..)` becomes one op with five operands if an instruction supports it. Values are
 * cast to a wider type with the same numbers if it lacks theirs; an operand without scales gets scales of
 * 1. */
#include "hexc/ir/block_scale.h"
#include "infer/core/mma_instr.h"
#include "infer/legalize/legalize.h"

enum { RANK = 6 }; /* maximum rank of intermediate tiles */

static Val *
as_type(Op *dot, OpCode code, Val *x, Type t)
{
	t.layout = NULL;
	t.pinned = false;
	return op_new(dot->parent, dot, code, dot->src, 1, &x, 1, &t)->out[0];
}

static Val *
reshaped(Op *dot, Val *x, int rank, const int64_t *shape)
{
	Type t = x->type;
	bool same = t.rank == rank;

	for (int d = 0; d < rank; d++) {
		same = same && t.shape[d] == shape[d];
		t.shape[d] = shape[d];
	}
	t.rank = rank;
	return same ? x : as_type(dot, O_reshape, x, t);
}

/* Transposes x: dim d of the result is dim perm[d] of x. */
static Val *
turned(Op *dot, Val *x, const int *perm)
{
	Type t = x->type;
	bool same = true;
	Val *r;

	for (int d = 0; d < t.rank; d++) {
		same = same && perm[d] == d;
		t.shape[d] = x->type.shape[perm[d]];
	}
	if (same)
		return x;
	r = as_type(dot, O_transpose, x, t);
	for (int d = 0; d < t.rank; d++)
		IMM_SET_AT(r->def, perm, d, perm[d]);
	return r;
}

/* Returns the matrix of that shape whose elements are at the layout's positions in x, if that is x in
 * row-major or column-major order; else NULL. */
static Val *
in_order(Op *dot, Val *x, const Layout *at, const int64_t shape[2])
{
	const int64_t back[2] = { shape[1], shape[0] };
	Layout rows;

	layout_rows(&rows, 2, shape, 1, shape[1]);
	if (layout_equal(at, &rows))
		return reshaped(dot, x, 2, shape);
	layout_rows(&rows, 2, shape, 0, shape[0]);
	return layout_equal(at, &rows) ? turned(dot, reshaped(dot, x, 2, back), (int[2]){ 1, 0 }) : NULL;
}

/* Returns the matrix of the elements of x at the layout's positions: x is split into the layout's modes,
 * which are permuted, broadcast where the layout has stride 0, and merged. NULL if there are too many
 * modes, or they skip elements. */
static Val *
arranged(Op *dot, Val *x, const Layout *from)
{
	int64_t shape[2] = { layout_extent(from, 0), layout_extent(from, 1) }, next = 1;
	int64_t cut[RANK], full[RANK];
	int perm[RANK], order[ITER_MAX], n, used;
	Layout canon = *from, *at = &canon;
	bool taken = true;
	Val *r;
	Type t;

	layout_canon(at);
	n = at->n;
	if (n > RANK)
		return NULL;
	r = type_size(&x->type) == shape[0] * shape[1] ? in_order(dot, x, from, shape) : NULL;
	if (r)
		return r;
	used = layout_by_stride(at, AX_mem, order);
	for (int i = 0; i < used; i++) { /* the dims of x, last first */
		taken = taken && at->it[order[i]].stride == next;
		next *= at->it[order[i]].extent;
		cut[n - 1 - i] = at->it[order[i]].extent;
	}
	if (!taken || next != type_size(&x->type))
		return NULL;
	for (int d = 0; d < n - used; d++)
		cut[d] = 1;
	used = n - used;
	for (int d = 0, to = 0, one = 0; d < 2; d++) /* modes are fastest first, dims slowest first */
		for (int i = at->first[d + 1] - 1; i >= at->first[d]; i--, to++) {
			full[to] = at->it[i].extent;
			perm[to] = at->it[i].stride ? -1 : one++;
			for (int j = 0; perm[to] < 0 && j < n - used; j++)
				if (order[j] == i)
					perm[to] = n - 1 - j;
		}
	x = turned(dot, reshaped(dot, x, n, cut), perm);
	t = x->type;
	for (int d = 0; d < n; d++)
		t.shape[d] = full[d];
	if (used)
		x = as_type(dot, O_broadcast, x, t);
	return reshaped(dot, x, 2, shape);
}

/* Reduces the layout to one of each `block` adjacent indices along dim d, which are the same element. */
static bool
one_of_block(Layout *at, int d, int64_t block)
{
	Layout from = *at;

	if (!layout_split(&from, d, block))
		return false;
	layout_init(at, 2);
	for (Digit g = layout_digits(&from); g.it; digit_next(&g))
		if (g.dim != d || g.weight >= block)
			layout_push(at, g.dim, g.it->extent, g.it->stride, AX_mem);
	return true;
}

/* Applies mask to x too, where one index of x along dim d represents `block` indices. */
static Val *
masked(Op *dot, const Op *mask, Val *x, int d, int64_t block, double fill)
{
	Op *o;

	if (!mask)
		return x;
	o = op_clone(dot->parent, dot, mask, NULL, NULL);
	o->in[IN_mask_source] = x;
	o->out[0]->type = x->type;
	o->fimm = fill;
	if (block > 1 && IMM(mask, dims) >> d & 1) {
		Val **end = &o->in[IN_mask_bound + (d == 1 && IMM(mask, dims) & 1)];

		*end = ir_bin(dot->parent, o, O_add, *end, ir_const(dot->parent, o, block - 1));
		*end = ir_bin(dot->parent, o, O_div, *end, ir_const(dot->parent, o, block));
	}
	return o->out[0];
}

static Val *
values(Op *dot, const Scaled *f, int side, DType as)
{
	Val *x = arranged(dot, f->value.v, &f->value.at);
	Type t;

	if (!x)
		return NULL;
	x = masked(dot, f->mask, x, 1 - side, 1, 0);
	t = x->type;
	t.dtype = as;
	return x->type.dtype == as ? x : as_type(dot, O_cast, x, t);
}

static Val *
scales(Op *dot, const Scaled *f, int side, const Instr *in)
{
	Layout at = f->scale.at;
	int64_t block = in->k / in->scales;
	Type t = dot->in[side]->type;
	Val *x;

	if (!f->scale.v) {
		t.dtype = in->scale;
		t.shape[1 - side] /= block;
		t.layout = NULL;
		t.pinned = false;
		x = op_new(dot->parent, dot, O_const, dot->src, 0, NULL, 1, &t)->out[0];
		x->def->fimm = 1;
		return x;
	}
	if (!one_of_block(&at, 1 - side, block))
		return NULL;
	x = arranged(dot, f->scale.v, &at);
	return x ? masked(dot, f->mask, x, 1 - side, block, 1) : NULL;
}

/* Does the instruction accept the operand in type d? */
static bool
instr_accepts_operand(const Instr *in, const Scaled *f, DType d)
{
	DType s;

	if (!scaled_holds(d, f->value.v->type.dtype))
		return false;
	if (!f->scale.v)
		return true;
	s = f->scale.v->type.dtype;
	return s == in->scale && f->block % (in->k / in->scales) == 0 &&
	       (dtype_info[s].codes == C_scale || f->scale.magnitude);
}

/* Returns the instruction that needs the fewest casts, and of these the one with the most MACs. */
static const Instr *
row_for(const Op *dot, const Scaled f[2], const Target *t, bool *swap)
{
	const Instr *best = NULL;
	int cost = 0;

	for (const Instr *i = instrs; i->name; i++)
		for (int way = 0; way < 2; way++) {
			DType d[2] = { way ? i->tb : i->ta, way ? i->ta : i->tb };
			int casts = 0;

			if (i->kind != IK_mma_scaled || !instr_on(i, t) ||
			    i->acc != dot->out[0]->type.dtype || !instr_accepts_operand(i, &f[0], d[0]) ||
			    !instr_accepts_operand(i, &f[1], d[1]) || !instr_divides(i, way, dot))
				continue;
			for (int side = 0; side < 2; side++)
				casts += d[side] != f[side].value.v->type.dtype;
			if (best && (casts > cost || (casts == cost && i->k <= best->k)))
				continue;
			best = i;
			cost = casts;
			*swap = way;
		}
	return best;
}

static void
fuse(Kernel *k, Op *dot)
{
	Scaled f[2];
	const Instr *row;
	bool swap = false;
	Val *in[5];
	Op *o;

	for (int side = 0; side < 2; side++)
		if (!scaled_factor(dot, side, &f[side]))
			return;
	if ((!f[0].scale.v && !f[1].scale.v) || !(row = row_for(dot, f, k->unit->target, &swap)))
		return;
	for (int side = 0; side < 2; side++) {
		in[side] = values(dot, &f[side], side, side == swap ? row->ta : row->tb);
		in[3 + side] = scales(dot, &f[side], side, row);
		if (!in[side] || !in[3 + side])
			return; /* the new ops are unused */
	}
	in[2] = mma_acc(dot);
	o = op_new(dot->parent, dot, O_dot, dot->src, 5, in, 1, &dot->out[0]->type);
	o->out[0]->name = dot->out[0]->name;
	val_replace(k, dot->out[0], o->out[0]);
	op_unlink(dot);
}

void
fuse_scales(Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && o->nin == 3 && !IMM(o, dense))
			fuse(k, o);
}
