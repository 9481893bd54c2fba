/* pad.c - pass pad: tiles whose extents have factors that threads have not are made longer.
 *
 * 11008 elements are 43 * 256: four warps that share them out evenly move 4 bytes at a time, and 2880
 * leave nothing for warps to share at all; of f32[33, 9] every thread would hold all.  Of 11264 each lane has 11
 * times 16 bytes.  So such a tile gets an edge, as those at a tensor's end have: what is behind it is read as 0,
 * goes through elementwise ops and scans as anything may, is masked where a reduction would see it, and written
 * nowhere.
 *
 * Dims that ops tie are as long as each other, and grow together.  One that something else than such ops
 * touches stays: products, gathered dims, dims that are cut or joined.  Memory stays as it is: a tile that has
 * grown is moved by a view that is longer than what it shows, or reaches past the tensor's end.  How long tiles
 * become is asked of those that are moved from and to memory, the largest first: what costs a lane least.
 *
 * needs   masks of ragged edges (pass bounds), plain loops
 * keeps   what the kernel computes
 * leaves  constant bounds of masks to be merged */
#include "hexc/ir/number.h"
#include "hexc/ir/sparse.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include <math.h>
#include <string.h>

/* What an element and an access cost a lane, about: rows have four ops an element, and an access is an
 * address, a predicate and itself. */
enum { ELEMENT_COST = 4, ACCESS_COST = 3, TILE_MOST = 1 << 30, SECTOR = 32 };

/* Dims that grow together, all of one extent. */
typedef struct Class {
	int parent; /* number of a dim; itself: this one stands for all */
	bool fixed;
	int64_t extent; /* what it becomes; 0: not asked yet */
} Class;

typedef struct Pad {
	Kernel *k;
	Class *class; /* by dim_number */
} Pad;

static int
dim_number(const Val *v, int d)
{
	return (int)v->id * DIM_MAX + d;
}

static Class *
class_of(const Pad *p, const Val *v, int d)
{
	int i = dim_number(v, d);

	while (p->class[i].parent != i)
		i = p->class[i].parent = p->class[p->class[i].parent].parent;
	return &p->class[i];
}

static void
tie(const Pad *p, const Val *x, int dx, const Val *y, int dy)
{
	Class *a = class_of(p, x, dx), *b = class_of(p, y, dy);

	a->fixed |= b->fixed;
	b->parent = a->parent;
}

static void
tie_all(const Pad *p, const Val *x, const Val *y)
{
	for (int d = 0; d < x->type.rank && d < y->type.rank; d++)
		tie(p, x, d, y, d);
}

static void
fix(const Pad *p, const Val *v, int d)
{
	class_of(p, v, d)->fixed = true;
}

static void
fix_all(const Pad *p, const Val *v)
{
	for (int d = 0; d < v->type.rank; d++)
		fix(p, v, d);
}

/* ---- which dims grow together ------------------------------------------------------------------------- */

/* Is nothing of the tensor behind extent e of dim d of a view? */
static bool
ends_there(Kernel *k, const Op *view, int d)
{
	int at = view_operand_dim(view, d);
	const Param *t = val_param(k, view->in[0]);
	Fact start = val_fact(k, view->in[1 + at]), size = val_fact(k, t->size[at]);

	return start.lo >= 0 && size.hi - start.lo <= view->out[0]->type.shape[d];
}

/* A view of a tensor that moves register tiles; NULL: it is of something else. */
static Op *
tensor_view(const Kernel *k, const Val *mem)
{
	Op *view = mem->def;

	return view && view->code == O_view && val_param(k, view->in[0]) ? view : NULL;
}

/* What an access moves between a register tile and memory; NULL: it is no such access. */
static Val *
moved(const Op *o)
{
	Val *tile = o->code == O_load ? o->out[0] : o->code == O_store ? o->in[0] : NULL;

	return tile && tile->type.space == S_reg && tile->type.rank ? tile : NULL;
}

static int
memory_at(const Op *o)
{
	return o->code == O_store;
}

/* Tiles of indices name elements one by one, those of packed tensors are whole blocks. */
static bool
is_fixed_memory(const Kernel *k, Val *mem)
{
	const Param *t = val_param(k, view_root(mem));

	return (mem->def && mem->def->code == O_view && view_gather_dim(mem->def) >= 0) || (t && t->pack);
}

/* Dims that stay as they are through a reshape, and those that are cut or joined. */
static void
tie_reshape(const Pad *p, const Op *o)
{
	const Val *x = o->in[0], *y = o->out[0];
	int i = 0, j = 0;

	while (i < x->type.rank || j < y->type.rank) {
		int from = i, to = j;
		int64_t m = i < x->type.rank ? x->type.shape[i++] : 1;
		int64_t n = j < y->type.rank ? y->type.shape[j++] : 1;

		if (m == n) {
			if (from < x->type.rank && to < y->type.rank)
				tie(p, x, from, y, to);
			continue;
		}
		if (m == 1 || n == 1) { /* an extent of 1 is put in or taken out */
			i -= n == 1 && from < x->type.rank;
			j -= m == 1 && to < y->type.rank;
			continue;
		}
		while (m != n)
			if (m < n)
				m *= x->type.shape[i++];
			else
				n *= y->type.shape[j++];
		for (int d = from; d < i; d++)
			fix(p, x, d);
		for (int d = to; d < j; d++)
			fix(p, y, d);
	}
}

/* Pieces side by side along a dim, which stays. */
static void
tie_pieces(const Pad *p, const Op *o)
{
	int at = (int)IMM(o, dim);

	for (int i = 0; i < o->nin; i++)
		for (int d = 0; d < o->out[0]->type.rank; d++)
			if (d != at)
				tie(p, o->out[0], d, o->in[i], d);
			else
				fix(p, o->in[i], d);
	fix(p, o->out[0], at);
}

static void
tie_dot(const Pad *p, const Op *o)
{
	tie(p, o->in[0], 0, o->out[0], 0);
	tie(p, o->in[1], 1, o->out[0], 1);
	tie(p, o->in[0], 1, o->in[1], 0);
	tie_all(p, o->in[2], o->out[0]);
}

static void
tie_for(const Pad *p, const Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		tie_all(p, o->out[i], o->in[3 + i]);
		tie_all(p, o->out[i], o->blk[0]->arg[1 + i]);
		tie_all(p, o->out[i], o->blk[0]->last->in[i]);
	}
}

static void
tie_op(const Pad *p, const Op *o)
{
	const Val *x = o->nin ? o->in[0] : NULL, *y = o->nout ? o->out[0] : NULL;

	if (op_is(o, F_ELT) || o->code == O_mask || o->code == O_shift || o->code == O_relayout) {
		for (int i = 0; i < o->nin; i++)
			tie_all(p, y, o->in[i]);
	} else if (moved(o)) {
		if (is_fixed_memory(p->k, o->in[memory_at(o)]))
			fix_all(p, moved(o));
	} else if (o->code == O_slice || o->code == O_concat) {
		tie_pieces(p, o);
	} else if (o->code == O_dot && !dot_is_sparse(o)) {
		tie_dot(p, o);
	} else if (o->code == O_reshape && y->type.space == S_reg) {
		tie_reshape(p, o);
	} else if (o->code == O_transpose) {
		for (int d = 0; d < y->type.rank; d++)
			tie(p, y, d, x, (int)IMM_AT(o, perm, d));
	} else if (o->code == O_broadcast || op_is(o, F_REDUCE)) {
		for (int d = 0; d < y->type.rank; d++)
			if (x->type.shape[d] == y->type.shape[d])
				tie(p, y, d, x, d);
	} else if (o->code == O_for) {
		tie_for(p, o);
	} else if (o->code == O_if) {
		for (int i = 0; i < 2 * o->nout; i++)
			tie_all(p, o->out[i / 2], o->blk[i % 2]->last->in[i / 2]);
	} else if (!op_is(o, F_FILL | F_TERM)) { /* of views: tiles of indices */
		for (int i = 0; i < o->nin; i++)
			fix_all(p, o->in[i]);
		for (int i = 0; i < o->nout; i++)
			fix_all(p, o->out[i]);
	}
	for (int i = 0; i < o->nout; i++)
		for (int d = 0; d < o->out[i]->type.rank; d++)
			if (o->out[i]->type.pinned || o->out[i]->type.shape[d] == 1)
				fix(p, o->out[i], d);
}

/* ---- how long they become ----------------------------------------------------------------------------- */

/* What a tile of these extents costs a lane, where an access takes up to `most` elements along dim `unit`. */
static int64_t
lane_cost(const Kernel *k, const int64_t *shape, int rank, int unit, int64_t most)
{
	int64_t size = 1, threads = (int64_t)k->warps * WARP_SIZE, vec = 1, lane;

	for (int d = 0; d < rank; d++)
		size *= shape[d];
	while (unit >= 0 && vec < most && shape[unit] % (2 * vec) == 0 && size % (2 * vec * threads) == 0)
		vec *= 2;
	lane = size / gcd64(size, threads);
	return size > TILE_MOST ? INT64_MAX : ELEMENT_COST * lane + ACCESS_COST * (lane / vec);
}

/* Extents that a tile may have. */
typedef struct Shapes {
	const Val *tile;
	int unit; /* dim that is contiguous in memory, -1: none */
	int64_t most; /* elements of its widest access */
	int64_t by[64]; /* what extents may be made multiples of */
	int nby;
	int64_t shape[DIM_MAX]; /* the one being made */
	int64_t best[DIM_MAX], cost; /* the cheapest so far, and what it costs */
} Shapes;

static void try_dims(const Pad *p, Shapes *x, int d);

static void
try_extent(const Pad *p, Shapes *x, int d, int64_t extent)
{
	x->shape[d] = extent;
	try_dims(p, x, d + 1);
}

/* Do so many elements alone cost as much as the best that has been found? */
static bool
is_hopeless(const Pad *p, const Shapes *x, int d)
{
	int64_t size = 1;

	for (int i = 0; i < x->tile->type.rank; i++)
		size *= i < d ? x->shape[i] : x->tile->type.shape[i];
	return ELEMENT_COST * (size / ((int64_t)p->k->warps * WARP_SIZE)) >= x->cost;
}

/* All extents of the dims from d on. */
static void
try_dims(const Pad *p, Shapes *x, int d)
{
	const Type *t = &x->tile->type;
	const Class *c = d < t->rank ? class_of(p, x->tile, d) : NULL;
	int64_t cost;

	if (is_hopeless(p, x, d))
		return;

	if (c) {
		for (int e = 0; e < d; e++)
			if (class_of(p, x->tile, e) == c) {
				try_extent(p, x, d, x->shape[e]);
				return;
			}
		try_extent(p, x, d, c->extent ? c->extent : t->shape[d]);
		for (int i = 0; i < x->nby && !c->fixed && !c->extent; i++)
			if (t->shape[d] % x->by[i])
				try_extent(p, x, d, align_up(t->shape[d], x->by[i]));
		return;
	}
	cost = lane_cost(p->k, x->shape, t->rank, x->unit, x->most);
	if (cost >= x->cost)
		return;
	x->cost = cost;
	memcpy(x->best, x->shape, sizeof x->best);
}

/* Neighbours along dim `unit` that an access of a tile in memory may take, for what is known and cannot be
 * asked about (pass specialize). */
static int64_t
widest(const Pad *p, const Val *mem, const Val *tile, int unit)
{
	const Op *view = tensor_view(p->k, mem);
	const Param *t = view ? val_param(p->k, view->in[0]) : NULL;
	int64_t most = dtype_most(tile->type.dtype), mult[DIM_MAX + 2];
	int n = 0;

	if (unit < 0)
		return 1;
	if (!view || !ends_there(p->k, view, unit))
		mult[n++] = mem->def ? view_within(mem->def, unit) : tile->type.shape[unit];
	for (int d = 0; view && d < view->in[0]->type.rank; d++) {
		bool along = d == view_operand_dim(view, unit);
		Fact f = val_fact(p->k, along ? view->in[1 + d] : t->stride[d]);

		if (f.mult && (along || f.lo == f.hi))
			mult[n++] = f.mult;
	}
	for (int i = 0; i < n; i++)
		most = min64(most, pow2_part(mult[i]));
	return most;
}

static void
shapes_of(const Pad *p, Shapes *x, const Val *tile, const Val *mem)
{
	const Op *view = tensor_view(p->k, mem);
	int64_t all;

	*x = (Shapes){ .tile = tile, .cost = INT64_MAX };
	x->unit = view ? view_unit_dim(p->k, view) : mem->type.rank - 1;
	x->most = widest(p, mem, tile, x->unit);
	memcpy(x->best, tile->type.shape, sizeof x->best);
	all = p->k->warps * WARP_SIZE * x->most;
	for (int64_t by = 2; by <= all && x->nby < (int)COUNT_OF(x->by); by++)
		if (all % by == 0)
			x->by[x->nby++] = by;
	try_dims(p, x, 0);
}

/* The largest one some of whose dims have not been asked yet; of several, that with the narrowest
 * elements. */
static const Val *
next_tile(const Pad *p, const Val **mem)
{
	const Val *best = NULL;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w)) {
		const Val *tile = moved(o);
		bool open = false;

		for (int d = 0; tile && d < tile->type.rank; d++)
			open |= !class_of(p, tile, d)->fixed && !class_of(p, tile, d)->extent;
		if (!open || (best && (type_size(&tile->type) < type_size(&best->type) ||
		                       (type_size(&tile->type) == type_size(&best->type) &&
		                        dtype_most(tile->type.dtype) <= dtype_most(best->type.dtype)))))
			continue;
		best = tile;
		*mem = o->in[memory_at(o)];
	}
	return best;
}

/* The three dims of a product, m, n and k, with what they may grow to. */
typedef struct Product {
	Class *of[3];
	int64_t extent[3], to[3];
} Product;

/* Tensor cores take 16 rows and 8 columns, or columns and rows, and 32 bytes of k, some types also 16; lanes
 * that multiply share out 8 by 8. */
static Product
product_of(const Pad *p, const Op *o)
{
	const Type *a = &o->in[0]->type, *y = &o->out[0]->type;
	int bits = dtype_info[a->dtype].bits;
	int64_t least = dtype_is_float(a->dtype) && bits >= 32 && a->dtype != D_tf32 ? 8 : 16;
	int64_t m = y->shape[0], n = y->shape[1], k = a->shape[1];
	int64_t area[2] = { align_up(m, least) * align_up(n, 8), align_up(m, 8) * align_up(n, least) };
	int tall = area[0] <= area[1];
	Product x = { { class_of(p, o->out[0], 0), class_of(p, o->out[0], 1), class_of(p, o->in[0], 1) },
		      { m, n, k },
		      { align_up(m, tall ? least : 8), align_up(n, tall ? 8 : least), k } };

	if (least > 8 && k * bits % 128)
		x.to[2] = align_up(k, 256 / bits);
	return x;
}

/* Products are asked first: what an instruction takes they become, all dims or none. */
static bool
choose_product(const Pad *p, const Op *o)
{
	Product x = product_of(p, o);
	bool grows = false, may = true;

	for (int i = 0; i < 3; i++) {
		const Class *c = x.of[i];

		may &= x.to[i] == x.extent[i] || (!c->fixed && (!c->extent || c->extent == x.to[i]));
	}
	for (int i = 0; i < 3; i++) {
		Class *c = x.of[i];

		c->extent = c->extent ? c->extent : may ? x.to[i] : x.extent[i];
		grows |= c->extent != x.extent[i];
	}
	return grows;
}

/* False: nothing grows. */
static bool
choose(const Pad *p)
{
	const Val *mem;
	bool grows = false;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w))
		if (o->code == O_dot && !dot_is_sparse(o))
			grows |= choose_product(p, o);
	for (const Val *tile; (tile = next_tile(p, &mem));) {
		Shapes x;

		shapes_of(p, &x, tile, mem);
		for (int d = 0; d < tile->type.rank; d++) {
			class_of(p, tile, d)->extent = x.best[d];
			grows |= x.best[d] != tile->type.shape[d];
		}
	}
	return grows;
}

/* ---- masks -------------------------------------------------------------------------------------------- */

/* What a value is becomes of it along dim d; its extent now if it stays. */
static int64_t
extent_of(const Pad *p, const Val *v, int d)
{
	const Class *c = class_of(p, v, d);

	return c->fixed || !c->extent ? v->type.shape[d] : c->extent;
}

/* Is o a mask that puts x where the padding of dim d will be? */
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

/* Is the padding of dim d of v zero already? */
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
		return true;
	if (o->code == O_mask)
		return masks_with(p, o, d, (Constant){ 0, 0 });
	if (strcmp(rule[o->code], "zero") != 0 && strcmp(rule[o->code], "zeros") != 0)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!is_zero_behind(p, o->in[i], d))
			return false;
	return true;
}

/* x with what the reduction takes no part of in the padding of dim d, in front of it. */
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
	tie_all(p, x, m->out[0]);
	return m->out[0];
}

/* The same of a square is that of what it is of, so that a sum still adds up products. */
static Val *
masked_square(const Pad *p, Op *o, const Op *square, int d)
{
	Val *x = masked(p, o, square->in[0], d, (Constant){ 0, 0 });
	Op *c = op_clone(o->parent, o, square, NULL, NULL);

	c->in[0] = c->in[1] = x;
	tie_all(p, square->out[0], c->out[0]);
	return c->out[0];
}

/* What changes nothing where op `code` reduces. */
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
	Val *x = o->in[0];
	int d = (int)IMM(o, dim);
	bool sum = o->code == O_reduce_sum;
	Constant identity = identity_of(o->code, x->type.dtype);

	if (extent_of(p, x, d) == x->type.shape[d] || masks_with(p, x->def, d, identity) ||
	    (sum && is_zero_behind(p, x, d)))
		return;
	if (sum && x->def && x->def->code == O_mul && x->def->in[0] == x->def->in[1])
		o->in[0] = masked_square(p, o, x->def, d);
	else
		o->in[0] = masked(p, o, x, d, identity);
}

/* A view of all of mem, in front of o. */
static Op *
view_of_all(Op *o, Val *mem)
{
	Val *in[1 + DIM_MAX] = { mem };
	Type t = type_free(mem->type);

	for (int d = 0; d < mem->type.rank; d++)
		in[1 + d] = ir_const(o->parent, o, 0);
	return op_new(o->parent, o, O_view, o->src, 1 + mem->type.rank, in, 1, &t);
}

/* Both factors have zeros behind the end of k, or what is nothing in one is nothing in the product. */
static void
mask_product(const Pad *p, Op *o)
{
	for (int i = 0; i < 2; i++)
		if (extent_of(p, o->in[i], 1 - i) != o->in[i]->type.shape[1 - i] &&
		    !is_zero_behind(p, o->in[i], 1 - i))
			o->in[i] = masked(p, o, o->in[i], 1 - i, (Constant){ 0, 0 });
}

/* ---- copies ------------------------------------------------------------------------------------------- */

/* What a copy of these extents costs a lane, by accesses of vec along dim `unit`: rows of which neighbouring
 * lanes take less than a sector have sectors asked for several times. */
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

/* Extents of a copy's dims from d on, the cheapest in best[]. */
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

/* Is a copy made by threads, of whole bytes, each of its elements where it is in the tensor? */
static bool
is_shared_out(Kernel *k, const Op *o)
{
	const Op *view = o->code == O_copy ? tensor_view(k, o->in[0]) : NULL;

	return view && IMM(o, async) <= COPY_GROUP && o->in[1]->type.space == S_shared && o->in[1]->type.rank &&
	       !is_fixed_memory(k, o->in[0]) && view_unit_dim(k, view) >= 0;
}

static bool
pad_copy(Kernel *k, Op *o)
{
	const Type *t = &o->in[1]->type;
	const Pad p = { .k = k };
	int64_t shape[DIM_MAX], best[DIM_MAX], least = INT64_MAX, vec;
	int unit;

	if (!is_shared_out(k, o))
		return false;
	unit = view_unit_dim(k, o->in[0]->def);
	vec = min64(widest(&p, o->in[0], o->in[1], unit), pow2_part(t->shape[unit]));
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

/* ---- the pass ----------------------------------------------------------------------------------------- */

/* Is there a tile that is not shared out evenly as it is? */
static bool
is_uneven(Kernel *k)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *tile = moved(o);
		int64_t size = tile ? type_size(&tile->type) : 1;

		if (!is_pow2(size) && size % ((int64_t)k->warps * WARP_SIZE * dtype_most(tile->type.dtype)))
			return true;
	}
	return false;
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

/* Access o moves a tile that has grown: to where nothing more is in the tensor, or behind the end of a view. */
static void
fit_access(Kernel *k, Op *o)
{
	const int64_t *shape = moved(o)->type.shape;
	Val **mem = &o->in[memory_at(o)];
	Op *view = tensor_view(k, *mem), *own = NULL;
	int rank = (*mem)->type.rank;

	for (int d = 0; view && d < rank; d++)
		if (shape[d] != (*mem)->type.shape[d] && ends_there(k, view, d)) {
			own = own ? own : op_clone(o->parent, o, view, NULL, NULL);
			own->out[0]->type.shape[d] = shape[d];
		}
	if (own)
		*mem = own->out[0];
	if (memcmp(shape, (*mem)->type.shape, (size_t)rank * sizeof *shape) == 0)
		return;
	own = view_of_all(o, *mem);
	memcpy(own->out[0]->type.shape, shape, (size_t)rank * sizeof *shape);
	*mem = own->out[0];
}

static bool
pad_tiles(Kernel *k)
{
	Pad p = { .k = k };
	int n;
	bool grows;
	OpWalk w;

	if (!is_uneven(k))
		return false;
	n = (int)(k->nval + 1 + 3 * k->nop) * DIM_MAX; /* a reduction gets three values at most */
	p.class = NEWN(k->unit->arena, Class, n);
	for (int i = 0; i < n; i++)
		p.class[i].parent = i;
	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		tie_op(&p, o);
	grows = choose(&p);
	for (Op *o = walk_first(&w, k->body); o && grows; o = walk_next(&w))
		if (op_is(o, F_REDUCE))
			mask_reduction(&p, o);
		else if (o->code == O_dot && !dot_is_sparse(o))
			mask_product(&p, o);
	facts_drop(k);
	if (grows)
		grow_block(&p, k->body);
	for (Op *o = walk_first(&w, k->body); o && grows; o = walk_next(&w))
		if (moved(o))
			fit_access(k, o);
	return grows;
}

bool
pass_pad(Kernel *k)
{
	bool changed = pad_tiles(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		changed |= pad_copy(k, o);
	return changed;
}
