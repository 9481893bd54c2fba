/* tma_store_epilogue.c - pass legalize: stores tiles of consumer warps through epilogue subtiles in shared
 * memory, from which TMA stores copy them to the tensor, clipped at its bounds, while the next subtile is
 * computed.
 *
 *     store x, C[m, n]     =>     store x[.., 0 : w], s0;  copy s0, C[m, n], out;  commit
 *                                 store x[.., w : 2w], s1;  copy s1, C[m, n + w], out;  commit
 *                                 wait 1, reads;  store x[.., 2w : 3w], s0;  ..
 *                                 .. and where the role ends, wait 0, reads
 *
 * TMA stores are unordered with the threads' accesses to the tensor. The kernel must therefore neither read
 * nor write the tensor elsewhere, and a store inside a loop waits until the previous one is complete. */
#include "infer/core/cost_constants.h"
#include "infer/core/smem_atom.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/wgmma.h"
#include "infer/legalize/legalize.h"

enum { SLABS = 2, SLAB_BYTES = 16 << 10, PARTS_MOST = 16, WARP_ROWS = WGMMA_M / WARPGROUP };

typedef struct Slabs {
	Op *store;
	Val *tensor;  /* the view that is stored to */
	int unit;     /* the tile's dim that is contiguous in the tensor */
	int cut;      /* .. along which subtiles follow each other */
	int64_t each; /* elements along that dim per subtile */
	int parts, n; /* subtiles per tile, and buffers */
} Slabs;

/* Is o in another code version than the store? */
static bool
is_instead(const Op *store, const Op *o)
{
	for (const Block *b = o->parent; b->owner; b = b->owner->parent) {
		const Op *x = b->owner;

		if (x->code == O_if && IMM(x, versions) &&
		    block_inside(store->parent, x->blk[b == x->blk[0]]))
			return true;
	}
	return false;
}

/* Does an op other than the store, and its counterparts in other versions, access the tensor? */
static bool
is_touched(Kernel *k, const Op *store, const Val *tensor)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin && o != store && o->code != O_view; i++)
			if (o->in[i]->type.space == S_global && view_root(o->in[i]) == tensor &&
			    !is_instead(store, o))
				return true;
	return false;
}

static Type
slab_type(const Slabs *s)
{
	Type t = type_free(store_value(s->store)->type);

	t.space = S_shared;
	t.shape[s->cut] = s->each;
	return t;
}

/* Returns the elements of the widest rows that the tile consists of; 0 if TMA supports none for it. */
static int64_t
row_of(const Type *tile, int unit)
{
	Layout l;

	for (int w = 0; w < FORM_WIDTHS && form_widths[w] > FORM_CHUNK; w++) {
		SmemAtom f = { unit, 0, form_widths[w] };

		if (form_layout(&f, tile, &l))
			return form_row(&f, tile);
	}
	return 0;
}

static int64_t
tile_bytes(const Type *t)
{
	return align_up(type_size(t) * dtype_info[t->dtype].bits / 8, FORM_ROWS * form_widths[0]);
}

/* Returns the bytes of shared memory that the program leaves unused. */
static int64_t
available_smem(Kernel *k)
{
	int64_t left = k->unit->target->smem;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier)
			left -= (int64_t)sizeof(int64_t) * o->out[0]->type.shape[0];
		else if (o->code == O_alloc)
			left -= tile_bytes(&o->out[0]->type) * (op_role(o) == ROLE_CONSUMER ? k->teams : 1);
	return left;
}

/* Is the tile as large as the result of an MMA with the second operand in registers? Each warp then has
 * columns of it. */
static bool
has_columns(Kernel *k, const Type *tile)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (product_factor(o) && product_factor(o) == mma_b(o) && tile->rank == 2 &&
		    o->out[0]->type.shape[0] == tile->shape[0] && o->out[0]->type.shape[1] == tile->shape[1])
			return true;
	return false;
}

/* Chooses subtiles that all warps have equal parts of: if warps have columns, as many rows as fit a
 * subtile; if warps have rows, one TMA row of each; otherwise the full tile. */
static void
choose_epilogue_subtile(Slabs *s, const Type *t, int64_t row, bool columns)
{
	int64_t rows = type_size(t) / t->shape[s->unit];

	s->cut = s->unit;
	if (columns) {
		s->cut = 1 - s->unit;
		s->each = t->shape[s->cut];
		while (s->each % (2 * FORM_ROWS) == 0 &&
		       s->each * t->shape[s->unit] * dtype_info[t->dtype].bits / 8 > SLAB_BYTES)
			s->each /= 2;
	} else if (rows < (int64_t)WARP_ROWS * op_warps(s->store) ||
	           t->shape[s->unit] / row > PARTS_MOST) {
		s->each = t->shape[s->unit];
	} else {
		s->each = row;
	}
	s->parts = (int)(t->shape[s->cut] / s->each);
}

static bool
plan(Kernel *k, Op *store, Slabs *s)
{
	const Param *p;
	int64_t row, each;
	const Type *t;
	Type slab;

	if (store->code != O_store)
		return false;
	t = &store_value(store)->type;
	if (IMM(store, update) || t->space != S_reg || store_dest(store)->type.space != S_global ||
	    op_role(store) != ROLE_CONSUMER || map_refusal(k, store_dest(store)))
		return false;
	*s = (Slabs){ .store = store, .tensor = store_dest(store) };
	p = val_param(k, view_root(s->tensor));
	s->unit = view_unit_dim(k, s->tensor->def);
	row = row_of(t, s->unit);
	if (row == 0 || p->read || is_touched(k, store, view_root(s->tensor)))
		return false;
	choose_epilogue_subtile(s, t, row, has_columns(k, t));
	slab = slab_type(s);
	each = tile_bytes(&slab) * k->teams;
	s->n = (int)min64(min64(SLABS, s->parts), available_smem(k) / each);
	s->n = (int)min64(s->n, max64(1, EPILOGUE_BYTES / each));
	return s->n > 0;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void
put_wait(Block *b, Op *at, Src src, int64_t pending, bool reads)
{
	Op *o = op_new(b, at, O_async_wait, src, 0, NULL, 0, NULL);

	IMM_SET(o, bulk, 1);
	IMM_SET(o, pending, pending);
	IMM_SET(o, reads, reads);
}

static bool
is_repeated(const Op *o)
{
	for (const Block *b = o->parent; b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			return true;
	return false;
}

/* Returns the part of the tile in one subtile, from an element along `cut` on. */
static Val *
part_of(const Slabs *s, int64_t from)
{
	Op *o = s->store;
	Type t = type_free(store_value(o)->type);

	if (s->parts == 1)
		return store_value(o);
	t.shape[s->cut] = s->each;
	o = op_new(o->parent, o, O_slice, o->src, 1, &o->in[IN_store_value], 1, &t);
	IMM_SET(o, dim, s->cut);
	IMM_SET(o, from, from);
	return o->out[0];
}

static Val *
place_of(const Slabs *s, int64_t from)
{
	Op *o = s->store, *view;
	int d = IN_view_start + view_operand_dim(s->tensor->def, s->cut);
	Type t = s->tensor->type;

	if (s->parts == 1)
		return s->tensor;
	t.shape[s->cut] = s->each;
	view = op_new(o->parent, o, O_view, o->src, s->tensor->def->nin, s->tensor->def->in, 1, &t);
	IMM_SET(view, dropped, IMM(s->tensor->def, dropped));
	view->in[d] = ir_bin(o->parent, view, O_add, view->in[d], ir_const(o->parent, view, from));
	return view->out[0];
}

static void
put_part(const Slabs *s, int i, Val *slab)
{
	Op *o = s->store;
	Val *in[2] = { part_of(s, i * s->each), slab };

	if (i >= s->n)
		put_wait(o->parent, o, o->src, s->n - 1, true);
	op_new(o->parent, o, O_store, o->src, 2, in, 0, NULL);
	in[0] = slab;
	in[1] = place_of(s, i * s->each);
	IMM_SET(op_new(o->parent, o, O_copy, o->src, 2, in, 0, NULL), async, COPY_OUT);
	IMM_SET(op_new(o->parent, o, O_async_commit, o->src, 0, NULL, 0, NULL), bulk, 1);
}

static void
put_slabs(const Slabs *s)
{
	Op *o = s->store;
	Type t = slab_type(s);
	Val *slab[SLABS];

	for (int i = 0; i < s->n; i++)
		slab[i] = op_new(o->parent, o, O_alloc, o->src, 0, NULL, 1, &t)->out[0];
	if (is_repeated(o))
		put_wait(o->parent, o, o->src, 0, false);
	for (int i = 0; i < s->parts; i++)
		put_part(s, i, slab[i % s->n]);
	op_unlink(o);
}

bool
store_by_slabs(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	bool some = false;
	Slabs s;
	OpWalk w;

	if (!roles)
		return false;
	for (Op *o = walk_first(&w, roles->blk[1]); o; o = walk_next(&w))
		if (plan(k, o, &s)) {
			put_slabs(&s);
			some = true;
		}
	if (some)
		put_wait(roles->blk[1], roles->blk[1]->last, roles->src, 0, true);
	return some;
}
