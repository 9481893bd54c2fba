/* pad.c - pass pad: tiles whose extents have factors that threads have not are made longer.
 *
 * 11008 elements are 43 * 256: four warps that share them out evenly move 4 bytes at a time, and 2880
 * leave nothing for warps to share at all.  Of 11264 each lane has 11 times 16 bytes.  So such a tile
 * gets an edge, as those at a tensor's end have: what is behind it is read as the tensor has it or as 0,
 * goes through elementwise ops as anything may, is masked where a reduction would see it, and written
 * nowhere.
 *
 * Dims that ops tie are as long as each other, and grow together.  One that something else than such ops
 * touches stays: shared memory, products, gathered dims, dims that are cut or joined; and one that is
 * stored where the tensor may have more elements behind it.  How long they become is asked of the tiles
 * that are moved from and to tensors, the largest first: what costs a lane least.
 *
 * needs   masks of ragged edges (pass bounds), plain loops
 * keeps   what the kernel computes
 * leaves  constant bounds of masks to be merged */
#include "hexc/ir/number.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include <math.h>
#include <string.h>

/* What an element and an access cost a lane, about: rows have four ops an element, and an access is an
 * address, a predicate and itself. */
enum { ELEMENT_COST = 4, ACCESS_COST = 3, TILE_MOST = 1 << 30 };

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
ends_there(const Pad *p, const Op *view, int d)
{
	int at = view_operand_dim(view, d);
	const Param *t = val_param(p->k, view->in[0]);
	Fact start = val_fact(p->k, view->in[1 + at]), size = val_fact(p->k, t->size[at]);

	return start.lo >= 0 && size.hi - start.lo <= view->out[0]->type.shape[d];
}

/* A view of a tensor that moves register tiles; NULL: it is of something else. */
static Op *
tensor_view(const Pad *p, const Val *mem)
{
	Op *view = mem->def;

	return view && view->code == O_view && val_param(p->k, view->in[0]) ? view : NULL;
}

static void
tie_view(const Pad *p, const Op *o, const Val *mem, const Val *tile)
{
	const Op *view = tensor_view(p, mem);

	if (!view || view_gather_dim(view) >= 0) {
		fix_all(p, tile);
		fix_all(p, mem);
		return;
	}
	tie_all(p, tile, mem);
	for (int d = 0; d < tile->type.rank && o->code == O_store; d++)
		if (!ends_there(p, view, d))
			fix(p, tile, d);
}

/* Reshapes that put in dims of extent 1, or take such out. */
static void
tie_reshape(const Pad *p, const Op *o)
{
	const Type *x = &o->in[0]->type, *y = &o->out[0]->type;
	int at = 0;

	for (int d = 0; d < y->rank; d++) {
		if (y->shape[d] == 1)
			continue;
		while (at < x->rank && x->shape[at] == 1)
			at++;
		if (at == x->rank || x->shape[at] != y->shape[d]) {
			fix_all(p, o->in[0]);
			fix_all(p, o->out[0]);
			return;
		}
		tie(p, o->in[0], at++, o->out[0], d);
	}
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

	if (op_is(o, F_ELT) || o->code == O_mask) {
		for (int i = 0; i < o->nin; i++)
			tie_all(p, y, o->in[i]);
	} else if (o->code == O_load) {
		tie_view(p, o, x, y);
	} else if (o->code == O_store && !IMM(o, update)) {
		tie_view(p, o, o->in[1], x);
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
	} else if (!op_is(o, F_FILL | F_TERM) && o->code != O_view) {
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

/* All extents of the dims from d on. */
static void
try_dims(const Pad *p, Shapes *x, int d)
{
	const Type *t = &x->tile->type;
	const Class *c = d < t->rank ? class_of(p, x->tile, d) : NULL;
	int64_t cost;

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

static void
shapes_of(const Pad *p, Shapes *x, const Val *tile, const Op *view)
{
	int64_t all;

	*x = (Shapes){ .tile = tile, .cost = INT64_MAX };
	x->unit = view_unit_dim(p->k, view);
	x->most = dtype_most(tile->type.dtype);
	memcpy(x->best, tile->type.shape, sizeof x->best);
	all = p->k->warps * WARP_SIZE * x->most;
	for (int64_t by = 2; by <= all && x->nby < (int)COUNT_OF(x->by); by++)
		if (all % by == 0)
			x->by[x->nby++] = by;
	try_dims(p, x, 0);
}

/* The tile that an access moves from or to a tensor; NULL: it is no such access.  *view: by what. */
static const Val *
moved(const Pad *p, const Op *o, const Op **view)
{
	const Val *tile = o->code == O_load ? o->out[0] : o->code == O_store ? o->in[0] : NULL;

	*view = tile ? tensor_view(p, o->in[o->code == O_store]) : NULL;
	return *view && tile->type.rank > 0 ? tile : NULL;
}

/* The largest one some of whose dims have not been asked yet; of several, that with the narrowest
 * elements. */
static const Val *
next_tile(const Pad *p, const Op **view)
{
	const Val *best = NULL;
	OpWalk w;

	for (const Op *o = walk_first(&w, p->k->body); o; o = walk_next(&w)) {
		const Op *by;
		const Val *tile = moved(p, o, &by);
		bool open = false;

		for (int d = 0; tile && d < tile->type.rank; d++)
			open |= !class_of(p, tile, d)->fixed && !class_of(p, tile, d)->extent;
		if (!open || (best && (type_size(&tile->type) < type_size(&best->type) ||
		                       (type_size(&tile->type) == type_size(&best->type) &&
		                        dtype_most(tile->type.dtype) <= dtype_most(best->type.dtype)))))
			continue;
		best = tile;
		*view = by;
	}
	return best;
}

/* False: nothing grows. */
static bool
choose(const Pad *p)
{
	const Op *view;
	bool grows = false;

	for (const Val *tile; (tile = next_tile(p, &view));) {
		Shapes x;

		shapes_of(p, &x, tile, view);
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
		return ends_there(p, o->in[0]->def, d);
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

/* ---- the pass ----------------------------------------------------------------------------------------- */

/* Is there a tile that is not shared out evenly as it is? */
static bool
is_uneven(Kernel *k)
{
	const Pad p = { .k = k };
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Op *view;
		const Val *tile = moved(&p, o, &view);
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

bool
pass_pad(Kernel *k)
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
	facts_drop(k);
	if (grows)
		grow_block(&p, k->body);
	return grows;
}
