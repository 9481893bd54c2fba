/* pad_tiles_equal_dims.c - determines for pass pad_tiles which dims have equal extents and are padded
 * together, and which are fixed. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/sparse.h"
#include "hexc/pass/pad_tiles.h"

static int
dim_number(const Val *v, int d)
{
	return (int)v->id * DIM_MAX + d;
}

DimClass *
pad_class(const Pad *p, const Val *v, int d)
{
	int i = dim_number(v, d);

	while (p->class[i].parent != i)
		i = p->class[i].parent = p->class[p->class[i].parent].parent;
	return &p->class[i];
}

void
pad_tie_dim(const Pad *p, const Val *x, int dx, const Val *y, int dy)
{
	DimClass *a = pad_class(p, x, dx), *b = pad_class(p, y, dy);

	a->fixed |= b->fixed;
	b->parent = a->parent;
}

void
pad_tie(const Pad *p, const Val *x, const Val *y)
{
	for (int d = 0; d < x->type.rank && d < y->type.rank; d++)
		pad_tie_dim(p, x, d, y, d);
}

static void
fix(const Pad *p, const Val *v, int d)
{
	pad_class(p, v, d)->fixed = true;
}

static void
fix_all(const Pad *p, const Val *v)
{
	for (int d = 0; d < v->type.rank; d++)
		fix(p, v, d);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

bool
pad_ends_there(Kernel *k, const Op *view, int d)
{
	int at = view_operand_dim(view, d);
	const Param *t = val_param(k, view_source(view));
	Fact start = val_fact(k, view_start(view, at)), size = val_fact(k, t->size[at]);

	return start.lo >= 0 && size.hi - start.lo <= view->out[0]->type.shape[d];
}

Op *
pad_tensor_view(const Kernel *k, const Val *mem)
{
	Op *view = mem->def;

	return view && view->code == O_view && val_param(k, view_source(view)) ? view : NULL;
}

Val *
pad_moved(const Op *o)
{
	Val *tile = o->code == O_load ? o->out[0] : o->code == O_store ? store_value(o) : NULL;

	return tile && tile->type.space == S_reg && tile->type.rank ? tile : NULL;
}

int
pad_memory_at(const Op *o)
{
	return o->code == O_store;
}

static bool
is_gathered(const Val *mem)
{
	return mem->def && mem->def->code == O_view && view_gather_dim(mem->def) >= 0;
}

bool
pad_is_fixed(const Kernel *k, Val *mem)
{
	const Param *t = val_param(k, view_root(mem));

	return is_gathered(mem) || (t && t->pack);
}

/* A tile gathered from memory is padded with its indices. Its other dims are fixed unless they end with the
 * tensor: then nothing lies past the end. */
static void
tie_gathered(const Pad *p, const Val *tile, Val *mem)
{
	Op *view = pad_tensor_view(p->k, mem);

	for (int d = 0; d < tile->type.rank; d++) {
		int i = is_gathered(mem) ? d - view_gather_dim(mem->def) : -1;

		if (i >= 0 && i < view_gather_rank(mem->def))
			pad_tie_dim(p, tile, d, mem, d);
		else if (!view || !pad_ends_there(p->k, view, d))
			fix(p, tile, d);
	}
}

/* A gathered view has the extents of its indices. */
static void
tie_indices(const Pad *p, const Op *view)
{
	int first = view_gather_dim(view);
	Val *v = view->out[0];

	fix_all(p, view_source(view));
	for (int d = 0; d < view_source(view)->type.rank; d++)
		for (int i = 0; view_gathers(view, d) && i < view_start(view, d)->type.rank; i++)
			if (view_start(view, d)->type.shape[i] == v->type.shape[first + i])
				pad_tie_dim(p, v, first + i, view_start(view, d), i);
}

/* A gather: a table shared by all rows remains one; the length of tables is free. */
static void
tie_gather(const Pad *p, const Op *o)
{
	const Val *table = lookup_table(o), *y = o->out[0];

	pad_tie(p, y, lookup_index(o));
	for (int d = 0; d < y->type.rank; d++)
		if (table->type.shape[d] == y->type.shape[d])
			pad_tie_dim(p, y, d, table, d);
}

/* A lookup: the index width fixes the table length; per-row tables are padded with the rows. */
static void
tie_lookup(const Pad *p, const Op *o)
{
	const Val *table = lookup_table(o), *y = o->out[0];
	int last = table->type.rank - 1;

	pad_tie(p, y, lookup_index(o));
	fix(p, table, last);
	for (int d = 0; d < last; d++)
		if (table->type.shape[d] == y->type.shape[d])
			pad_tie_dim(p, y, d, table, d);
}

/* Ties dims that a reshape keeps; fixes those that it splits or collapses. */
static void
tie_reshape(const Pad *p, const Op *o)
{
	const Val *x = op_source(o), *y = o->out[0];
	int i = 0, j = 0;

	while (i < x->type.rank || j < y->type.rank) {
		int from = i, to = j;
		int64_t m = i < x->type.rank ? x->type.shape[i++] : 1;
		int64_t n = j < y->type.rank ? y->type.shape[j++] : 1;

		if (m == n) {
			if (from < x->type.rank && to < y->type.rank)
				pad_tie_dim(p, x, from, y, to);
			continue;
		}
		if (m == 1 || n == 1) { /* an extent of 1 is inserted or removed */
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

/* slice, concat: fixes their dim, ties the others. */
static void
tie_pieces(const Pad *p, const Op *o)
{
	int at = (int)IMM(o, dim);

	for (int i = 0; i < o->nin; i++)
		for (int d = 0; d < o->out[0]->type.rank; d++)
			if (d != at)
				pad_tie_dim(p, o->out[0], d, o->in[i], d);
			else
				fix(p, o->in[i], d);
	fix(p, o->out[0], at);
}

static void
tie_dot(const Pad *p, const Op *o)
{
	int m = dot_batch(o), n = m + 1;

	for (int d = 0; d < m; d++)
		for (int i = 0; i < 2; i++)
			pad_tie_dim(p, o->in[i], d, o->out[0], d);
	pad_tie_dim(p, mma_a(o), m, o->out[0], m);
	pad_tie_dim(p, mma_b(o), n, o->out[0], n);
	pad_tie_dim(p, mma_a(o), n, mma_b(o), m);
	pad_tie(p, mma_acc(o), o->out[0]);
}

static void
tie_for(const Pad *p, const Op *o)
{
	for (int i = 0; i < o->nout; i++) {
		pad_tie(p, o->out[i], for_init(o, i));
		pad_tie(p, o->out[i], o->blk[0]->arg[1 + i]);
		pad_tie(p, o->out[i], o->blk[0]->last->in[i]);
	}
}

void
pad_tie_op(const Pad *p, const Op *o)
{
	const Val *x = o->nin ? o->in[0] : NULL, *y = o->nout ? o->out[0] : NULL;

	if (op_is(o, F_ELT) || o->code == O_mask || o->code == O_shift || o->code == O_relabel_layout) {
		for (int i = 0; i < o->nin; i++)
			pad_tie(p, y, o->in[i]);
	} else if (pad_moved(o)) {
		Val *mem = o->in[pad_memory_at(o)];
		const Param *t = val_param(p->k, view_root(mem));

		if (access_found(o) || (t && t->pack)) {
			fix_all(p, pad_moved(o));
			fix_all(p, mem); /* and with it a gathered view's indices */
		} else if (pad_is_fixed(p->k, mem))
			tie_gathered(p, pad_moved(o), mem);
	} else if (o->code == O_slice || o->code == O_concat) {
		tie_pieces(p, o);
	} else if (o->code == O_view && view_gather_dim(o) >= 0) {
		tie_indices(p, o);
	} else if (o->code == O_gather) {
		tie_gather(p, o);
	} else if (o->code == O_lookup) {
		tie_lookup(p, o);
	} else if (o->code == O_dot && !dot_is_sparse(o)) {
		tie_dot(p, o);
	} else if (o->code == O_reshape && y->type.space == S_reg) {
		tie_reshape(p, o);
	} else if (o->code == O_transpose) {
		for (int d = 0; d < y->type.rank; d++)
			pad_tie_dim(p, y, d, x, (int)IMM_AT(o, perm, d));
	} else if (o->code == O_broadcast || op_is(o, F_REDUCE)) {
		for (int d = 0; d < y->type.rank; d++)
			if (x->type.shape[d] == y->type.shape[d])
				pad_tie_dim(p, y, d, x, d);
	} else if (o->code == O_for) {
		tie_for(p, o);
	} else if (o->code == O_if) {
		for (int i = 0; i < 2 * o->nout; i++)
			pad_tie(p, o->out[i / 2], o->blk[i % 2]->last->in[i / 2]);
	} else if (!op_is(o, F_FILL | F_TERM)) {
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
