/* collapse_dims.c - pass collapse_dims: merges the last two dims of tensors and shared tiles if accesses
 * become wider.
 *
 *     A: f16[M, K, 2]                            A: f16[M, K * 2]
 *     a = load A[m :+ 16, k :+ 64, 0 :+ 2]  =>   a = reshape (load A[m :+ 16, k * 2 :+ 128])
 *
 * For example complex numbers, or pixels with few channels: an access takes contiguous elements along one
 * dim, and the last dim has few. If every slice covers all of the last dim, and rows follow each other
 * without a gap, elements that are contiguous in memory become contiguous along one dim. Repeated until
 * nothing changes.
 *
 * requires   pass mask_bounds is done; nothing has a layout
 * preserves  what the kernel computes, and the parameters as the host sees them
 * produces   reshapes of register tiles after loads and before stores */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include <math.h>

typedef struct Join {
	Kernel *k;
	bool *taken; /* [nval + 1] tensors and allocs to collapse */
	bool *copied; /* [nval + 1] allocs that copies write or read */
	bool *fits; /* [nop + 1] views and accesses that can be rewritten */
	Val **to; /* [nval + 1] the replacement of a memory value */
	uint32_t n;
} Join;

static bool
is_number(const Val *v, int64_t n)
{
	Constant c;

	return v && const_get(v, &c) && c.i == n;
}

static bool
is_taken(const Join *j, const Val *v)
{
	return v && v->id < j->n && j->taken[v->id];
}

/* Returns the extent of the last dim; 0 if it is unknown. */
static int64_t
row_of(const Kernel *k, const Val *root)
{
	const Param *p = val_param(k, root);
	int last = root->type.rank - 1;
	Constant c;

	if (!p)
		return root->type.shape[last];
	return const_get(p->size[last], &c) ? c.i : 0;
}

/* Returns the work per lane for n elements distributed over `lanes` lanes, accessed `wide` at a time: one
 * access costs about as much as computing with four elements. */
static double
work_of(double n, double lanes, int wide)
{
	return n / lanes * (1 + 4.0 / wide);
}

/* Is the work smaller with collapsed dims? Accesses are then wide, but the number of lanes is limited by
 * the largest power of two that divides the extent. Without collapsing, pass pad_tiles pads the tile, which
 * it cannot do for dims that are cut. */
static bool
pays(const Kernel *k, const Type *t, int64_t row)
{
	double lanes = 32 * k->warps, others = 1, n, apart, joined = INFINITY;
	int64_t rows = t->shape[t->rank - 2] * row, even = rows & -rows;

	for (int d = 0; d < t->rank - 2; d++)
		while (others < (double)t->shape[d])
			others *= 2;
	n = (double)rows * others;
	apart = fmax(work_of(n, lanes, (int)min64(row & -row, dtype_most(t->dtype))), 1);
	for (int w = 1; w <= dtype_most(t->dtype); w *= 2)
		joined = fmin(joined, work_of(n, fmax(fmin(lanes, (double)even * others / w), 1), w));
	return joined <= apart;
}

/* Are all rows of the preceding dim together full accesses of the widest kind, or a part of one, which may
 * be collapsed again? */
static bool
goes_in_wide(const Kernel *k, const Type *t, int64_t row)
{
	int64_t n = t->shape[t->rank - 2] * row, most = dtype_most(t->dtype);

	return (n % most == 0 || most % n == 0) && pays(k, t, row);
}

/* Does it have rows shorter than the widest access, without gaps? */
static bool
has_short_rows(const Kernel *k, const Val *root)
{
	const Param *p = val_param(k, root);
	int last = root->type.rank - 1;
	int64_t n = last > 0 ? row_of(k, root) : 0;

	if (n < 2 || n % dtype_most(root->type.dtype) == 0)
		return false;
	if (p)
		return p->kind == P_tensor && !p->pack && is_number(p->stride[last], 1) &&
		       is_number(p->stride[last - 1], n);
	return !root->type.pinned && goes_in_wide(k, &root->type, n);
}

/* Returns the type of memory or a tile with the last two dims collapsed. */
static Type
joined(Type t, int64_t row)
{
	t = type_free(t);
	if (t.shape[t.rank - 2] > 0)
		t.shape[t.rank - 2] *= row;
	t.rank--;
	return t;
}

/* Does the view keep the second-to-last dim, if there is one? */
static bool
keeps_rows(const Op *view)
{
	return view->nin < 3 || !(IMM(view, dropped) >> (view->nin - 3) & 1);
}

/* Does memory v, a root or a view of one, have a separate dim for its rows? */
static bool
has_rows(const Val *v)
{
	return !v->def || v->def->code != O_view || keeps_rows(v->def);
}

/* Does the view cover each row in full, and are its rows together wide accesses? */
static bool
takes_rows(const Join *j, const Op *view)
{
	const Val *root = view_source(view);
	const Type *t = &view->out[0]->type;
	int last = root->type.rank - 1;
	int64_t n = row_of(j->k, root);

	if (IMM(view, dropped) >> last & 1 || t->rank == 0 || t->shape[t->rank - 1] != n ||
	    !is_number(view_start(view, last), 0))
		return false;
	for (int d = last - 1; d <= last; d++)
		if (view_gathers(view, d) || view_step(view, d) != 1)
			return false;
	return !keeps_rows(view) || goes_in_wide(j->k, t, n);
}

/* Returns the operand of mem if it is a view, else mem. */
static const Val *
root_of(const Val *mem)
{
	const Op *o = mem->def;

	return o && o->code == O_view ? view_source(o) : mem;
}

/* Is o a copy, or a view that a copy accesses? */
static bool
is_copied(const Join *j, const Op *o)
{
	OpWalk w;

	if (o->code != O_view)
		return o->code == O_copy;
	for (const Op *x = walk_first(&w, j->k->body); x; x = walk_next(&w))
		if (x->code == O_copy && (copy_source(x) == o->out[0] || copy_dest(x) == o->out[0]))
			return true;
	return false;
}

/* Can o access operand i, memory, in collapsed form? */
static bool
can_join(const Join *j, const Op *o, int i)
{
	const Val *mem = o->in[i], *other;

	switch (o->code) {
	case O_view: return i == 0 && !view_is_bounded(o) && takes_rows(j, o);
	case O_load: return i == 0 && o->out[0]->type.space == S_reg && !o->out[0]->type.pinned;
	case O_store: return i == 1 && o->nin == 2 && o->nout == 0;
	case O_copy:
		other = o->in[1 - i];
		return i < 2 && is_taken(j, root_of(other)) && has_rows(mem) == has_rows(other) &&
		       row_of(j->k, root_of(other)) == row_of(j->k, root_of(mem));
	default: return false;
	}
}

/* Selects memory with short rows if several rows are accessed together. */
static void
find_short_rows(Join *j)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			const Val *root = root_of(o->in[i]);

			if ((root->type.space != S_global && root->type.space != S_shared) ||
			    !(val_param(j->k, root) || (root->def && root->def->code == O_alloc)))
				continue;
			j->copied[root->id] |= o->code == O_copy && !val_param(j->k, root);
			if (o->code == O_view ? i == 0 && view_source(o) == root && keeps_rows(o)
			                      : has_rows(o->in[i]))
				j->taken[root->id] = has_short_rows(j->k, root);
		}
}

/* Deselects memory with uses that cannot be rewritten. For a shared tile that is copied, other ops may use
 * it unchanged, under its old shape. */
static void
select_collapsible(Join *j)
{
	bool changed = true;
	OpWalk w;

	while (changed) {
		changed = false;
		for (Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
			for (int i = 0; i < o->nin; i++) {
				const Val *root = root_of(o->in[i]);
				bool whole = o->code == O_view ? o->in[i] == root : true;

				if (!is_taken(j, root) || (whole && can_join(j, o, i)) ||
				    (j->copied[root->id] && !is_copied(j, o)))
					continue;
				j->taken[root->id] = false;
				changed = true;
			}
	}
}

/* Can a view or access, and all users of the view, use collapsed memory? */
static bool
is_collapsible_use(const Join *j, const Op *o)
{
	bool fit = true;
	OpWalk w;

	for (int i = 0; i < o->nin; i++)
		if (is_taken(j, o->in[i]) && !can_join(j, o, i))
			return false;
	for (const Op *x = o->code == O_view ? walk_first(&w, j->k->body) : NULL; x && fit; x = walk_next(&w))
		for (int i = 0; i < x->nin; i++)
			fit = fit && (x->in[i] != o->out[0] || can_join(j, x, i));
	return fit;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void
join_param(Kernel *k, Param *p)
{
	int last = p->val->type.rank - 1;
	Val *size = p->size[last - 1];
	Op *at = size->def ? size->def->next : k->body->first;
	Constant c;

	if (p->size[last]->def) { /* after both */
		for (Op *o = at; o; o = o->next)
			if (o == p->size[last]->def)
				at = o->next;
	}
	p->size[last - 1] = const_get(size, &c) ? ir_const(k->body, at, c.i * row_of(k, p->val))
	                                        : ir_bin(k->body, at, O_mul, size, p->size[last]);
	p->val->type = joined(p->val->type, row_of(k, p->val));
	p->stride[last - 1] = p->stride[last];
	p->size[last] = p->stride[last] = NULL;
}

static void
join_alloc(Join *j, Op *o)
{
	Val *was = o->out[0];
	Type t = joined(was->type, row_of(j->k, was));
	Op *n = op_clone(o->parent, o, o, NULL, NULL);

	n->out[0]->type = t;
	n->out[0]->name = was->name;
	j->to[was->id] = n->out[0];
	o->code = O_reshape; /* for uses that are not rewritten */
	o->nin = 1;
	o->in = NEWN(j->k->unit->arena, Val *, 1);
	o->in[IN_op_source] = n->out[0];
	for (int i = 0; i < (int)COUNT_OF(o->imm); i++)
		o->imm[i] = 0;
}

/* Replaces a view of root, whose type is unchanged. */
static void
join_view(Join *j, Op *o, const Val *root, int64_t row)
{
	Val *in[1 + DIM_MAX], *was = o->out[0];
	int rank = o->nin - IN_view_start, rows = rank - 2;
	Type t = keeps_rows(o) ? joined(was->type, row) : type_free(was->type);
	Op *n;

	in[0] = j->to[root->id];
	for (int d = 0; d < rank - 1; d++)
		in[1 + d] = view_start(o, d);
	in[1 + rows] = ir_bin(o->parent, o, O_mul, in[1 + rows], ir_const(o->parent, o, row));
	n = op_new(o->parent, o, O_view, o->src, rank, in, 1, &t);
	IMM_SET(n, dropped, IMM(o, dropped) & ~((int64_t)1 << rows));
	for (int d = 0; d < rows; d++)
		IMM_SET_AT(n, step, d, IMM_AT(o, step, d));
	n->out[0]->name = was->name;
	j->to[was->id] = n->out[0];
}

static Val *
reshaped(Op *at, Val *x, Type t)
{
	return op_new(at->parent, at, O_reshape, at->src, 1, &x, 1, &t)->out[0];
}

/* Rewrites an access to collapsed memory. */
static void
join_access(Join *j, Op *o)
{
	for (int i = 0; i < o->nin; i++) {
		Val *mem = o->in[i], *to = mem->id < j->n ? j->to[mem->id] : NULL;
		Type t;

		if (!to || (is_taken(j, mem) && !j->fits[o->id]))
			continue;
		o->in[i] = to;
		if (o->code == O_copy || !has_rows(mem))
			continue;
		t = to->type;
		t.space = S_reg;
		if (o->code == O_store) {
			o->in[IN_store_value] = reshaped(o, store_value(o), t);
		} else {
			Type was = o->out[0]->type;
			Op *back = op_new(o->parent, o->next, O_reshape, o->src, 1, o->out, 1, &was);

			val_replace(j->k, o->out[0], back->out[0]);
			back->in[IN_op_source] = o->out[0];
			back->out[0]->name = o->out[0]->name;
			o->out[0]->type = t;
		}
	}
}

static void
rewrite(Join *j)
{
	int64_t *row = NEWN(j->k->unit->arena, int64_t, j->n);
	OpWalk w;

	j->fits = NEWN(j->k->unit->arena, bool, j->k->nop + 1);
	for (Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
		j->fits[o->id] = is_collapsible_use(j, o);
	for (int i = 0; i < j->k->nparam; i++) {
		Param *p = &j->k->param[i];

		if (p->kind != P_tensor || !is_taken(j, p->val))
			continue;
		row[p->val->id] = row_of(j->k, p->val);
		join_param(j->k, p);
		j->to[p->val->id] = p->val;
	}
	for (Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
		if (o->code == O_alloc && is_taken(j, o->out[0])) {
			row[o->out[0]->id] = row_of(j->k, o->out[0]);
			join_alloc(j, o);
		}
	for (Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
		if (o->code == O_view && o->out[0]->id < j->n && is_taken(j, view_source(o)) &&
		    j->fits[o->id])
			join_view(j, o, view_source(o), row[view_source(o)->id]);
	for (Op *o = walk_first(&w, j->k->body); o; o = walk_next(&w))
		if (o->code == O_load || o->code == O_store || o->code == O_copy)
			join_access(j, o);
	for (Op *o = walk_first(&w, j->k->body), *next; o; o = next) {
		next = walk_next(&w);
		if (o->code == O_view && o->out[0]->id < j->n && j->to[o->out[0]->id])
			op_unlink(o);
	}
}

/* Collapses one dim of each. */
static bool
collapse_dims_once(Kernel *k)
{
	Join j = { .k = k, .n = k->nval + 1 };
	bool some = false;

	j.copied = NEWN(k->unit->arena, bool, j.n);
	j.taken = NEWN(k->unit->arena, bool, j.n);
	j.to = NEWN(k->unit->arena, Val *, j.n);
	find_short_rows(&j);
	select_collapsible(&j);
	for (uint32_t i = 0; i < j.n; i++)
		some |= j.taken[i];
	if (some)
		rewrite(&j);
	return some;
}

bool
pass_collapse_dims(Kernel *k)
{
	bool changed = false;

	if (kernel_roles(k))
		return false;
	while (collapse_dims_once(k))
		changed = true;
	return changed;
}
