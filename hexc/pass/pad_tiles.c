/* pad_tiles.c - pass pad_tiles: pads tiles whose extents do not divide over the threads, and masks the
 * padding.
 *
 * 11008 elements are 43 * 256: four warps that distribute them evenly access 4 bytes at a time. 2880 elements
 * do not divide over the warps at all, and of f32[33, 9] every thread would hold all. Of 11264 elements each
 * lane has 11 times 16 bytes. Such a tile gets an out-of-bounds region, as at a tensor's end. Its elements
 * are read as 0, pass through elementwise ops and scans undefined, are masked before a reduction or dot, and
 * are not stored.
 *
 * Dims tied by ops have equal extents and are padded together (pad_tiles_equal_dims.c). Dims with other uses
 * are fixed, such as split or collapsed ones. Extents are determined from dots first, then from tiles loaded
 * and stored, the largest first, by minimum cost per lane (pad_tiles_extents.c). Memory is unchanged: a
 * padded tile is accessed through a longer view, or past the tensor's end. Copies are padded too if they then
 * distribute better. 64 rows of 144 bytes are 576 chunks of 16 bytes, 4.5 per thread for 128 threads. 64 rows
 * of 160 bytes are five each, and half of the threads have none of the last.
 *
 * requires   masks of out-of-bounds regions (pass mask_bounds), plain loops
 * preserves  what the kernel computes
 * leaves     constant bounds of masks, to be merged */
#include "hexc/pass/pad_tiles.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/sparse.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include <math.h>
#include <string.h>

enum { SECTOR = 32 }; /* bytes */

/* ---- masks ------------------------------------------------------------------------------------------- */

/* The padded extent of v along dim d; the current one if it is not padded. */
static int64_t
extent_of(const Pad *p, const Val *v, int d)
{
	const DimClass *c = pad_class(p, v, d);

	return c->fixed || !c->extent ? v->type.shape[d] : c->extent;
}

/* Is o a mask that sets the future padding of dim d to x? */
static bool
masks_with(const Pad *p, const Op *o, int d, Constant x)
{
	if (!o || o->code != O_mask)
		return false;
	for (int i = 0, in = 1; i < o->out[0]->type.rank; i++) {
		if (!(IMM(o, dims) >> i & 1))
			continue;
		if (i == d)
			return val_fact(p->k, o->in[in]).hi <= o->out[0]->type.shape[d] &&
			       (dtype_is_float(o->out[0]->type.dtype) ? o->fimm == x.f : IMM(o, fill) == x.i);
		in++;
	}
	return false;
}

/* Is the padding of dim d of v zero without a mask? */
static bool
is_zero_behind(const Pad *p, const Val *v, int d)
{
	static const char *const rule[O_COUNT] = {
#define OP_EDGE(name, rule) [O_##name] = #rule,
#include "hexc/ir/ops.def"
	};
	const Op *o = v->def;

	if (!o || fabs(num_outside(v->type.dtype)) > 0)
		return false;
	if (o->code == O_load)
		return !pad_ends_detour(p, o);
	if (o->code == O_mask)
		return masks_with(p, o, d, (Constant){ 0, 0 });
	if (strcmp(rule[o->code], "zero") != 0 && strcmp(rule[o->code], "zeros") != 0)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!is_zero_behind(p, o->in[i], d))
			return false;
	return true;
}

/* Returns x with the padding of dim d set to the reduction's identity, computed before o. */
static Val *
masked(const Pad *p, Op *o, Val *x, int d, Constant identity)
{
	Block *b = o->parent;
	Val *in[2] = { x, ir_const(b, o, x->type.shape[d]) };
	Op *m = op_new(b, o, O_mask, o->src, 2, in, 1, &x->type);

	IMM_SET(m, dims, (int64_t)1 << d);
	if (dtype_is_float(x->type.dtype))
		m->fimm = identity.f;
	else
		IMM_SET(m, fill, identity.i);
	m->out[0]->name = x->name;
	pad_tie(p, x, m->out[0]);
	return m->out[0];
}

/* As masked, but masks the operand of a square, so that the sum remains a sum of products. */
static Val *
masked_square(const Pad *p, Op *o, const Op *square, int d)
{
	Val *x = masked(p, o, elt_lhs(square), d, (Constant){ 0, 0 });
	Op *c = op_clone(o->parent, o, square, NULL, NULL);

	c->in[IN_elt_lhs] = c->in[IN_elt_rhs] = x;
	pad_tie(p, square->out[0], c->out[0]);
	return c->out[0];
}

/* The identity element of reduction `code`. */
static Constant
identity_of(OpCode code, DType t)
{
	bool flt = dtype_is_float(t);

	if (code == O_reduce_max)
		return (Constant){ flt ? 0 : num_min(t), -(double)INFINITY };
	if (code == O_reduce_min)
		return (Constant){ flt ? 0 : num_max(t), (double)INFINITY };
	return (Constant){ 0, 0 };
}

static void
mask_reduction(const Pad *p, Op *o)
{
	Val *x = op_source(o);
	int d = (int)IMM(o, dim);
	bool sum = o->code == O_reduce_sum;
	Constant identity = identity_of(o->code, x->type.dtype);

	if (extent_of(p, x, d) == x->type.shape[d] || masks_with(p, x->def, d, identity) ||
	    (sum && is_zero_behind(p, x, d)))
		return;
	if (sum && x->def && x->def->code == O_mul && elt_lhs(x->def) == elt_rhs(x->def))
		o->in[IN_op_source] = masked_square(p, o, x->def, d);
	else
		o->in[IN_op_source] = masked(p, o, x, d, identity);
}

/* Masks both operands with zeros past the end of k: a zero times an undefined element need not be 0. */
static void
mask_product(const Pad *p, Op *o)
{
	for (int i = 0; i < 2; i++) {
		int d = dot_batch(o) + 1 - i;

		if (extent_of(p, o->in[i], d) != o->in[i]->type.shape[d] && !is_zero_behind(p, o->in[i], d))
			o->in[i] = masked(p, o, o->in[i], d, (Constant){ 0, 0 });
	}
}

/* Masks a table with zeros past its end, which indices may select. */
static void
mask_table(const Pad *p, Op *o)
{
	Val *x = lookup_table(o);
	int d = x->type.rank - 1;

	if (extent_of(p, x, d) != x->type.shape[d] && !is_zero_behind(p, x, d))
		o->in[IN_lookup_table] = masked(p, o, x, d, (Constant){ 0, 0 });
}

/* Makes indices in the padding out of bounds. */
static void
mask_indices(const Pad *p, Op *view)
{
	int first = view_gather_dim(view);

	for (int e = 0; e < view_gather_rank(view); e++)
		for (int d = 0; d < view_source(view)->type.rank; d++) {
			Val *v = view_start(view, d);

			if (!view_gathers(view, d) || extent_of(p, v, e) == v->type.shape[e])
				continue;
			view->in[IN_view_start + d] = masked(p, view, v, e, (Constant){ -1, -1 });
			pad_tie_dim(p, view->out[0], first + e, view_start(view, d), e);
			break; /* one index out of bounds suffices */
		}
}

/* ---- copies ------------------------------------------------------------------------------------------ */

/* Returns a view of all of mem, created before o. */
static Op *
view_of_all(Op *o, Val *mem)
{
	Val *in[1 + DIM_MAX] = { mem };
	Type t = type_free(mem->type);

	for (int d = 0; d < mem->type.rank; d++)
		in[1 + d] = ir_const(o->parent, o, 0);
	return op_new(o->parent, o, O_view, o->src, 1 + mem->type.rank, in, 1, &t);
}

/* Cost per lane of a copy with these extents, by accesses of `vec` elements along dim `unit`. Sectors are
 * requested several times if neighbouring lanes cover less than a sector of a row. */
static int64_t
copy_cost(const Kernel *k, const Type *t, const int64_t *shape, int unit, int64_t vec)
{
	int64_t size = 1, run, row, asked = 1;

	for (int d = 0; d < t->rank; d++)
		size *= shape[d];
	if (size > TILE_MOST)
		return INT64_MAX;
	run = gcd64(shape[unit] / vec, WARP_SIZE) * vec * dtype_grain(t->dtype) / 8;
	row = t->shape[unit] * dtype_grain(t->dtype) / 8;
	if (run < SECTOR)
		asked = min64(row, SECTOR) / run;
	size /= vec;
	return size / gcd64(size, (int64_t)k->warps * WARP_SIZE) * (ACCESS_COST + asked);
}

/* Searches extents of a copy's dims from d on; the cheapest are in best[]. */
static void
copy_shapes(const Kernel *k, const Type *t, int unit, int64_t vec, int d, int64_t *shape, int64_t *best,
            int64_t *least)
{
	int64_t cost, step = d == unit ? vec : 1;

	if (d < t->rank) {
		for (int64_t by = 1; by <= (int64_t)k->warps * WARP_SIZE; by *= 2) {
			shape[d] = align_up(t->shape[d], by * step);
			if (by == 1 || shape[d] < 2 * t->shape[d])
				copy_shapes(k, t, unit, vec, d + 1, shape, best, least);
		}
		return;
	}
	cost = copy_cost(k, t, shape, unit, vec);
	if (cost >= *least)
		return;
	*least = cost;
	memcpy(best, shape, (size_t)t->rank * sizeof *best);
}

/* Is it a copy by threads, of contiguous bytes, without gather or pack? */
static bool
is_shared_out(Kernel *k, const Op *o)
{
	const Op *view = o->code == O_copy ? pad_tensor_view(k, copy_source(o)) : NULL;

	return view && IMM(o, async) <= COPY_GROUP && copy_dest(o)->type.space == S_shared &&
	       copy_dest(o)->type.rank && !pad_is_fixed(k, copy_source(o)) && view_unit_dim(k, view) >= 0;
}

/* Replaces the copy's views by longer ones if they distribute better over the threads. Returns false if o is
 * unchanged. */
static bool
pad_copy(Kernel *k, Op *o)
{
	int64_t shape[DIM_MAX], best[DIM_MAX], least = INT64_MAX, vec;
	const Type *t;
	int unit;

	if (!is_shared_out(k, o))
		return false;
	t = &copy_dest(o)->type;
	unit = view_unit_dim(k, copy_source(o)->def);
	vec = min64(pad_widest(k, copy_source(o), copy_dest(o), unit), pow2_part(t->shape[unit]));
	if (vec * dtype_grain(t->dtype) < 8)
		return false;
	copy_shapes(k, t, unit, vec, 0, shape, best, &least);
	if (memcmp(best, t->shape, (size_t)t->rank * sizeof *best) == 0)
		return false;
	for (int i = 0; i < 2; i++) {
		Op *longer = view_of_all(o, o->in[i]);

		memcpy(longer->out[0]->type.shape, best, (size_t)t->rank * sizeof *best);
		o->in[i] = longer->out[0];
	}
	return true;
}

/* ---- the pass ---------------------------------------------------------------------------------------- */

/* Is there a tile that does not distribute evenly over the threads? */
static bool
is_uneven(Kernel *k)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *tile = pad_moved(o);
		int64_t size = tile ? type_size(&tile->type) : 1;

		if (o->code == O_dot && IMM(o, skinny) == THIN_PADDED)
			return true;
		if (!is_pow2(size) && size % ((int64_t)k->warps * WARP_SIZE * dtype_most(tile->type.dtype)))
			return true;
	}
	return false;
}

/* Upper bound of values added by masks: each has a bound, and a square is recomputed after it. */
static uint32_t
values_added(const Kernel *k)
{
	uint32_t n = 0;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		n += o->code == O_dot ? 4 : o->code == O_view ? 2 * DIM_MAX : 3;
	return n;
}

static void
grow(const Pad *p, Val *v)
{
	for (int d = 0; d < v->type.rank; d++)
		v->type.shape[d] = extent_of(p, v, d);
}

static void
grow_block(const Pad *p, Block *b)
{
	for (int i = 0; i < b->narg; i++)
		if (b->arg[i]->type.space == S_reg)
			grow(p, b->arg[i]);
	for (Op *o = b->first; o; o = o->next) {
		for (int i = 0; i < o->nout; i++)
			grow(p, o->out[i]);
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				grow_block(p, o->blk[i]);
	}
}

/* Adapts the memory operand of access o to its padded tile: extends the view if the tensor ends there, else
 * uses a longer view. */
static void
fit_access(Kernel *k, Op *o)
{
	const int64_t *shape = pad_moved(o)->type.shape;
	Val **mem = &o->in[pad_memory_at(o)];
	Op *view = pad_tensor_view(k, *mem), *own = NULL;
	int rank = (*mem)->type.rank;

	for (int d = 0; view && d < rank; d++)
		if (shape[d] != (*mem)->type.shape[d] && pad_ends_there(k, view, d)) {
			own = own ? own : op_clone(o->parent, o, view, NULL, NULL);
			own->out[0]->type.shape[d] = shape[d];
		}
	if (own)
		*mem = own->out[0];
	if (memcmp(shape, (*mem)->type.shape, (size_t)rank * sizeof *shape) == 0)
		return;
	view = (*mem)->def;
	own = view && view->code == O_view && view_is_longer(view) ? op_clone(o->parent, o, view, NULL, NULL)
	                                                           : view_of_all(o, *mem);
	memcpy(own->out[0]->type.shape, shape, (size_t)rank * sizeof *shape);
	*mem = own->out[0];
}

static Val *
combine(Op *at, OpCode code, Val *x, Val *y)
{
	Val *in[2] = { x, y };

	return op_new(at->parent, at, code, at->src, 2, in, 1, &x->type)->out[0];
}

/* Replaces a reshaped 1-D iota by a sum of iotas along its dims: a dim that is split could not be padded. */
static bool
count_along_dims(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Op *line = o->code == O_reshape ? op_source(o)->def : NULL;
		const Type *t = o->nout ? &o->out[0]->type : NULL;
		int64_t stride = 1;
		Val *sum = NULL;

		if (!line || line->code != O_iota || line->out[0]->type.rank != 1 || t->pinned)
			continue;
		for (int d = t->rank - 1; d >= 0; stride *= t->shape[d--]) {
			Op *count;
			Val *v;

			if (t->shape[d] == 1)
				continue;
			count = op_new(o->parent, o, O_iota, o->src, 0, NULL, 1, t);
			IMM_SET(count, dim, d);
			v = count->out[0];
			if (stride > 1)
				v = combine(o, O_mul, v, const_make(o, t, (Constant){ stride, 0 }));
			sum = sum ? combine(o, O_add, v, sum) : v;
		}
		if (sum)
			val_replace(k, o->out[0], sum);
		changed |= sum != NULL;
	}
	return changed;
}

static bool
pad_tiles(Kernel *k)
{
	Pad p = { .k = k };
	int n;
	bool grows, counted;
	OpWalk w;

	if (!is_uneven(k))
		return false;
	counted = count_along_dims(k);
	n = (int)(k->nval + 1 + values_added(k)) * DIM_MAX;
	p.class = NEWN(k->unit->arena, DimClass, n);
	for (int i = 0; i < n; i++)
		p.class[i].parent = i;
	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		pad_tie_op(&p, o);
	pad_tie_detours(&p);
	grows = pad_choose(&p);
	for (Op *o = walk_first(&w, k->body); o && grows; o = walk_next(&w))
		if (op_is(o, F_REDUCE))
			mask_reduction(&p, o);
		else if (o->code == O_dot && !dot_is_sparse(o))
			mask_product(&p, o);
		else if (o->code == O_gather)
			mask_table(&p, o);
		else if (o->code == O_view && view_gather_dim(o) >= 0)
			mask_indices(&p, o);
	facts_drop(k);
	if (grows) {
		grow_block(&p, k->body);
		pad_drop_detours(k);
	}
	for (Op *o = walk_first(&w, k->body); o && grows; o = walk_next(&w))
		if (pad_moved(o))
			fit_access(k, o);
	return grows || counted;
}

bool
pass_pad_tiles(Kernel *k)
{
	bool changed = pad_tiles(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		changed |= pad_copy(k, o);
	return changed;
}
