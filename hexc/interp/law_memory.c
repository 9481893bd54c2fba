/* law_memory.c - implements the interpreter's rules of missing elements for loads, stores and copies. */
#include "hexc/interp/law.h"
#include "hexc/ir/dot.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include <math.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* Sets `at` to the coordinates in the root of element j of a view of type t. */
static void
root_place(Interp *it, const View *v, const Type *t, int64_t j, int64_t *at)
{
	int64_t c[DIM_MAX], number[DIM_MAX] = { 0 };

	(void)it;
	type_coord(t, j, c);
	for (int d = 0; d < v->rank; d++)
		number[v->dim[d]] = c[d];
	for (int d = 0; d < v->root_rank; d++) {
		const Type *x = v->tile[d];
		int64_t n = 0;

		if (!v->index[d]) {
			at[d] = v->start[d] + number[d] * (v->step[d] ? v->step[d] : 1);
			continue;
		}
		for (int i = 0; i < x->rank; i++)
			n = n * x->shape[i] + (x->shape[i] == 1 ? 0 : c[v->gather + i]);
		at[d] = v->index[d]->i[n];
	}
}

/* Adds the conditions of a view's index tiles to r. Dim i of an index tile is the view's dim v->gather +
 * i. */
static void
add_index_conditions(Interp *it, Missing *r, const View *v, const Type *t)
{
	for (int d = 0; d < v->root_rank; d++) {
		const Missing *m = v->index[d] ? v->index[d]->missing : NULL;

		for (int c = 0; m && c < m->count; c++) {
			const Type *x = v->tile[d];
			unsigned dims = 0;
			uint8_t *there;

			for (int i = 0; i < x->rank; i++)
				if (x->shape[i] == t->shape[v->gather + i])
					dims |= (m->dims[c] >> i & 1) << (v->gather + i);
			there = law_set_add(it, r, dims);
			for (int64_t j = 0; j < r->n; j++) {
				int64_t at[DIM_MAX], n = 0;

				type_coord(t, j, at);
				for (int i = 0; i < x->rank; i++)
					n = n * x->shape[i] + (x->shape[i] == 1 ? 0 : at[v->gather + i]);
				there[j] = m->there[c][n];
			}
			law_set_settle(r);
		}
	}
}

/* Returns the view's dim that runs along a root dim; -1: the view has a single index there. */
static int
view_dim(const View *v, int root)
{
	for (int d = 0; d < v->rank; d++)
		if (v->dim[d] == root)
			return d;
	return -1;
}

/* Is index i of root dim d within the bounds of the view's own? */
static bool
in_own_bounds(const View *v, int d, int64_t i)
{
	return !(v->bounded >> d & 1) || (i >= v->from[d] && i < v->below[d]);
}

/* Adds the conditions of a slice of a tensor to r: per dim, that the index is within the tensor and the
 * slice's own bounds. */
static void
add_tensor_conditions(Interp *it, Missing *r, const View *v, const Type *t)
{
	for (int d = 0; d < v->root_rank; d++) {
		int64_t size = slot_of(it, v->param->size[d])->i[0];
		int dim = view_dim(v, d);
		uint8_t *there;

		if (v->index[d])
			continue;
		there = law_set_add(it, r, dim >= 0 ? 1u << dim : 0);
		for (int64_t j = 0; j < r->n; j++) {
			int64_t at[DIM_MAX];

			root_place(it, v, t, j, at);
			there[j] = at[d] >= 0 && at[d] < size && in_own_bounds(v, d, at[d]);
		}
		law_set_settle(r);
	}
}

/* Adds the conditions of a part of a shared tile to r. Conditions on a dim that indices select from are not
 * kept: an element that does not satisfy them becomes 0 in x, and exists. */
static void
add_shared_conditions(Interp *it, Missing *r, const View *v, const Type *t, InterpValue *x)
{
	const Missing *m = v->shared->missing;
	Type root = type_tile(v->shared->dtype, S_reg, v->root_rank, v->shape);
	Type whole = type_tile(v->shared->dtype, S_reg, v->shared->rank, v->shared->shape);

	for (int c = 0; m && c < m->count; c++) {
		unsigned names = type_same(&root, &whole)
		                         ? m->dims[c]
		                         : law_names_reshaped(m->dims[c], &whole, &root);
		unsigned dims = 0;
		bool gathered = false;
		uint8_t *there;

		for (int d = 0; d < v->root_rank; d++) {
			int dim = view_dim(v, d);

			gathered = gathered || (names >> d & 1 && v->index[d]);
			if (names >> d & 1 && dim >= 0)
				dims |= 1u << dim;
		}
		there = law_set_add(it, r, gathered ? 0 : dims);
		for (int64_t j = 0; j < r->n; j++) {
			int64_t at[DIM_MAX], n = 0;
			bool in = true;

			root_place(it, v, t, j, at);
			for (int d = 0; d < v->root_rank; d++) {
				if (v->index[d] && !(names >> d & 1))
					at[d] = 0;
				in = in && at[d] >= 0 && at[d] < v->shape[d];
				n = n * v->shape[d] + at[d];
			}
			if (in && !m->there[c][n] && gathered)
				law_put_number(x, v->shared->dtype, j, 0, 0);
			else
				there[j] = !in || m->there[c][n];
		}
		law_set_settle(r);
	}
}

/* Sets r to the conditions of a read through a view of type t. x has the elements read. */
static void
read_conditions(Interp *it, Missing *r, const View *v, const Type *t, InterpValue *x)
{
	law_set_clear(r);
	if (v->param)
		add_tensor_conditions(it, r, v, t);
	else if (v->shared && v->shared->missing)
		add_shared_conditions(it, r, v, t, x);
	if (v->gather >= 0)
		add_index_conditions(it, r, v, t);
}

/* Returns a bool per element, true where a write of n elements to the view leaves the element out, since the
 * value or its index is missing. Returns NULL if none is left out. */
static const uint8_t *
left_out(Interp *it, const View *v, const Type *t, const Missing *value, int64_t n)
{
	Missing index = { .n = n };
	uint8_t *out;
	bool any = false;

	if (v->gather >= 0)
		add_index_conditions(it, &index, v, t);
	if (law_is_full(value) && law_is_full(&index))
		return NULL;
	out = arena_alloc(&it->arena, (size_t)n);
	for (int64_t j = 0; j < n; j++) {
		out[j] = !law_exists(value, j) || !law_exists(&index, j);
		any = any || out[j];
	}
	return any ? out : NULL;
}

/* Is `to` a whole shared tile, or a part of one at compile-time positions, not of a reshape? */
static bool
part_known(const Val *to)
{
	for (; to->def && (to->def->code == O_view || val_is_alias(to)); to = to->def->in[0]) {
		if (to->def->code != O_view)
			return false;
		for (int d = 0; d < view_source(to->def)->type.rank; d++)
			if (!val_is_const(view_start(to->def, d), NULL))
				return false;
	}
	return true;
}

/* Makes all elements of a shared tile exist: the missing ones are 0. */
static void
all_exist(Shared *s)
{
	InterpValue x = { .f = s->f, .i = s->i, .n = s->n };

	if (law_is_full(s->missing))
		return;
	for (int64_t j = 0; j < s->n; j++)
		if (!law_exists(s->missing, j))
			law_put_number(&x, s->dtype, j, 0, 0);
	law_set_clear(s->missing);
}

/* Updates the conditions of a shared tile after a write of elements with conditions m (NULL: all exist)
 * to a part of it at a position known at compile time. The part's elements exist as m says, and others
 * as before. */
static void
write_shared_conditions(Interp *it, const Val *to, const View *v, const Type *t, const Missing *m)
{
	Shared *s = v->shared;
	int64_t n = type_size(t);
	Missing *all;
	unsigned dims = 0;
	uint8_t *now;

	if (law_is_full(m) && law_is_full(s->missing))
		return;
	if (!s->missing) {
		s->missing = NEW(&it->arena, Missing);
		s->missing->n = s->n;
	}
	all = s->missing;
	if (n == s->n && v->rank == s->rank && v->gather < 0 && part_known(to)) {
		if (law_is_full(m))
			law_set_clear(all);
		else
			law_set_copy(it, all, m);
		return;
	}
	now = arena_alloc(&it->arena, (size_t)s->n);
	for (int64_t j = 0; j < s->n; j++)
		now[j] = law_exists(all, j);
	for (int c = 0; c < all->count; c++)
		dims |= all->dims[c];
	for (int64_t j = 0; j < n; j++) {
		int64_t at[DIM_MAX], cell = 0;
		bool in = true;

		root_place(it, v, t, j, at);
		for (int d = 0; d < v->root_rank; d++) {
			in = in && at[d] >= 0 && at[d] < v->shape[d];
			cell = cell * v->shape[d] + at[d];
		}
		if (in)
			now[cell] = law_exists(m, j);
	}
	for (int d = 0; d < s->rank; d++) {
		int dim = view_dim(v, d);

		if (dim < 0 || t->shape[dim] != s->shape[d])
			dims |= 1u << d;
		for (int c = 0; dim >= 0 && m && c < m->count; c++)
			dims |= (m->dims[c] >> dim & 1) << d;
	}
	all->count = 0;
	memcpy(law_set_add(it, all, dims), now, (size_t)s->n);
	law_set_settle(all);
}

LAW(load)
{
	const View *v = slot_of(it, load_source(o))->view;
	InterpValue *r = slot_of(it, o->out[0]);

	if (!eval(it, o))
		return false;
	if (o->out[0]->type.space == S_reg)
		read_conditions(it, law_set_of(it, r, r->n), v, &load_source(o)->type, r);
	return true;
}

LAW(store)
{
	const Val *to = store_dest(o), *found = access_found(o);
	const View *v = slot_of(it, to)->view;
	InterpValue *x = slot_of(it, store_value(o));
	const Missing *m = store_value(o)->type.space == S_reg ? x->missing : NULL;
	Filled zeros = { NULL, NULL };
	bool ok, known = part_known(to) || IMM(o, placed);

	if (v->shared && (IMM(o, update) || !known))
		all_exist(v->shared);
	it->left_out = v->param || IMM(o, update) ? left_out(it, v, &to->type, m, x->n) : NULL;
	if (v->shared && !IMM(o, update) && m)
		zeros = law_filled(it, store_value(o), 0, 0);
	ok = eval(it, o);
	law_restore(zeros);
	it->left_out = NULL;
	if (v->shared && !IMM(o, update) && known)
		write_shared_conditions(it, to, v, &to->type, m);
	if (found) { /* where nothing is written, the old value is missing */
		Missing old = { .n = x->n };

		read_conditions(it, &old, v, &to->type, x);
		for (int c = 0; m && c < m->count; c++)
			memcpy(law_set_add(it, &old, m->dims[c]), m->there[c], (size_t)old.n);
		write_shared_conditions(it, found, slot_of(it, found)->view, &found->type, &old);
	}
	return ok;
}

/* An `async copy` of the program reads zeros outside of the tensor, and these exist. */
LAW(copy)
{
	const View *from = slot_of(it, copy_source(o))->view, *to = slot_of(it, copy_dest(o))->view;
	const Type *t = &copy_source(o)->type;
	InterpValue x = { .n = type_size(t) };
	Missing m = { .n = type_size(t) };
	bool ok;

	if (to->shared && !IMM(o, async) && !IMM(o, filled) && !it->task->blank) {
		x.f = NEWN(&it->arena, double, x.n);
		x.i = (void *)x.f;
		read_conditions(it, &m, from, t, &x);
	}
	if (to->param && from->shared) {
		x.f = NEWN(&it->arena, double, x.n);
		x.i = (void *)x.f;
		read_conditions(it, &m, from, t, &x);
		it->left_out = left_out(it, to, &copy_dest(o)->type, &m, m.n);
	}
	if (to->shared && !part_known(copy_dest(o)))
		all_exist(to->shared);
	ok = eval(it, o);
	it->left_out = NULL;
	if (to->shared && part_known(copy_dest(o)))
		write_shared_conditions(it, copy_dest(o), to, &copy_dest(o)->type, &m);
	return ok;
}
