/* law.c - implements the interpreter's rules of missing elements: the elements outside of their
 * tensor, which numpy.ma would mask (hexc/LANGUAGE.md, "Out-of-bounds elements").
 *
 * The rules apply to IR before pass mask_bounds, which turns them into code. The pass and this file share no
 * code. Each value has a list of conditions. A condition has a bool per element and the dims that it names;
 * an element exists if all conditions hold for it. The rule of an op, column `edge` of ops.def, prepares the
 * operands, evaluates the op and computes the conditions of its results. */
#include "hexc/interp/law.h"
#include "hexc/ir/dot.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include <math.h>
#include <string.h>

/* ---- sets of conditions ---------------------------------------------------------------------- */

Missing *
law_set_of(Interp *it, InterpValue *v, int64_t n)
{
	if (!v->missing) {
		v->missing = NEW(&it->arena, Missing);
		v->missing->n = n;
	}
	return v->missing;
}

void
law_set_clear(Missing *m)
{
	if (m)
		m->count = 0;
}

/* Joins the last condition with condition i. */
static void
join_last(Missing *m, int i)
{
	const uint8_t *last = m->there[--m->count];

	m->dims[i] |= m->dims[m->count];
	for (int64_t j = 0; j < m->n; j++)
		m->there[i][j] &= last[j];
}

/* Adds a condition that names `dims`. Returns its bools, all true. */
uint8_t *
law_set_add(Interp *it, Missing *m, unsigned dims)
{
	int i;

	if (m->count > CONDS_MAX)
		join_last(m, 0);
	i = m->count++;
	if (!m->there[i])
		m->there[i] = arena_alloc(&it->arena, (size_t)m->n);
	memset(m->there[i], 1, (size_t)m->n);
	m->dims[i] = dims;
	return m->there[i];
}

/* Removes the last condition if it holds for all elements, or joins it with one that names the same dims. */
void
law_set_settle(Missing *m)
{
	int last = m->count - 1;

	if (!memchr(m->there[last], 0, (size_t)m->n)) {
		m->count--;
		return;
	}
	for (int i = 0; i < last; i++)
		if (m->dims[i] == m->dims[last]) {
			join_last(m, i);
			return;
		}
}

/* Does element j exist? m may be NULL. */
bool
law_exists(const Missing *m, int64_t j)
{
	for (int i = 0; m && i < m->count; i++)
		if (!m->there[i][j])
			return false;
	return true;
}

bool
law_is_full(const Missing *m)
{
	return !m || !m->count;
}

void
law_set_copy(Interp *it, Missing *to, const Missing *from)
{
	to->count = 0;
	for (int i = 0; from && i < from->count; i++)
		memcpy(law_set_add(it, to, from->dims[i]), from->there[i], (size_t)to->n);
}

void
law_copy(Interp *it, InterpValue *to, const InterpValue *from)
{
	if (law_is_full(from->missing))
		law_set_clear(to->missing);
	else
		law_set_copy(it, law_set_of(it, to, from->missing->n), from->missing);
}

void
law_next(Interp *it, InterpValue *arg, const InterpValue *y)
{
	InterpValue spare = { .missing = arg->spare_missing };

	if (!arg->missing && !arg->spare_missing && !y->missing)
		return;
	law_copy(it, &spare, y);
	arg->spare_missing = spare.missing;
}

void
law_swap(InterpValue *arg)
{
	Missing *now = arg->spare_missing;

	arg->spare_missing = arg->missing;
	arg->missing = now;
}

/* ---- operands -------------------------------------------------------------------------------- */

void
law_put_number(InterpValue *x, DType t, int64_t j, double f, int64_t i)
{
	if (dtype_is_float(t))
		x->f[j] = num_round(t, f);
	else
		x->i[j] = num_wrap(t, i);
}

/* Replaces the missing elements of v by f or i until law_restore. */
Filled
law_filled(Interp *it, const Val *v, double f, int64_t i)
{
	Filled r = { slot_of(it, v), NULL };
	InterpValue *x = r.slot;

	if (law_is_full(x->missing) || x->f == x->filled) /* it is filled for another operand of the op */
		return r;
	r.was = x->f;
	if (!x->filled)
		x->filled = arena_alloc(&it->arena, sizeof *x->f * (size_t)x->n);
	memcpy(x->filled, x->f, sizeof *x->f * (size_t)x->n);
	x->f = x->filled;
	x->i = x->filled;
	for (int64_t j = 0; j < x->n; j++)
		if (!law_exists(x->missing, j))
			law_put_number(x, v->type.dtype, j, f, i);
	return r;
}

void
law_restore(Filled r)
{
	if (!r.was)
		return;
	r.slot->f = r.was;
	r.slot->i = (void *)r.was;
}

/* ---- ops without tiles, and those that make whole ones --------------------------------------- */

LAW(no_tile)
{
	return eval(it, o);
}

LAW(whole)
{
	for (int i = 0; i < o->nout && !o->blk[0]; i++)
		law_set_clear(slot_of(it, o->out[i])->missing);
	return eval(it, o);
}

LAW(wgmma)
{
	return law_rule_whole(it, o, eval);
}

/* ---- elementwise ----------------------------------------------------------------------------- */

LAW(elt)
{
	InterpValue *r;

	if (!eval(it, o))
		return false;
	r = slot_of(it, o->out[0]);
	law_set_clear(r->missing);
	if (o->out[0]->type.space != S_reg)
		return true;
	for (int i = 0; i < o->nin; i++) {
		const Missing *m = slot_of(it, o->in[i])->missing;

		for (int c = 0; m && c < m->count; c++) {
			memcpy(law_set_add(it, law_set_of(it, r, r->n), m->dims[c]), m->there[c],
			       (size_t)r->n);
			law_set_settle(r->missing);
		}
	}
	return true;
}

/* After an assignment to a part of a tile, the part's elements exist as in the assigned value, the others as
 * before. `part`: 1 + 2 * the dims that the part cuts; 0: no such assignment. */
LAW(select)
{
	const Val *from[2] = { select_no(o), select_yes(o) };
	const InterpValue *cond = slot_of(it, select_cond(o));
	InterpValue *r = slot_of(it, o->out[0]);
	unsigned dims = (unsigned)(IMM(o, part) >> 1);
	bool any = false;
	uint8_t *there;

	if (!IMM(o, part))
		return law_rule_elt(it, o, eval);
	if (!eval(it, o))
		return false;
	law_set_clear(r->missing);
	for (int i = 0; i < 2; i++) {
		const Missing *m = slot_of(it, from[i])->missing;

		for (int c = 0; m && c < m->count; c++)
			dims |= m->dims[c];
		any = any || !law_is_full(m);
	}
	if (!any)
		return true;
	there = law_set_add(it, law_set_of(it, r, r->n), dims);
	for (int64_t j = 0; j < r->n; j++)
		there[j] = law_exists(slot_of(it, from[cond->i[j] != 0])->missing, j);
	law_set_settle(r->missing);
	return true;
}

LAW(zero)
{
	return law_rule_elt(it, o, eval);
}

LAW(zeros)
{
	return law_rule_elt(it, o, eval);
}

LAW(mask)
{
	bool ok = eval(it, o);

	law_copy(it, slot_of(it, o->out[0]), slot_of(it, mask_source(o)));
	return ok;
}

/* Adds to r those of the table's conditions m that do not name its last dim, along which the indices
 * select. */
static void
add_table_conditions(Interp *it, Missing *r, const Op *o, const Missing *m)
{
	const Type *x = &lookup_table(o)->type, *t = &o->out[0]->type;
	int last = x->rank - 1;

	for (int c = 0; m && c < m->count; c++) {
		unsigned dims = 0;
		uint8_t *there;

		if (m->dims[c] >> last & 1)
			continue;
		for (int d = 0; d < last; d++)
			if (x->shape[d] == t->shape[d])
				dims |= m->dims[c] & 1u << d;
		there = law_set_add(it, r, dims);
		for (int64_t j = 0; j < r->n; j++) {
			int64_t at[DIM_MAX], n = 0;

			type_coord(t, j, at);
			for (int d = 0; d < last; d++)
				n = n * x->shape[d] + (x->shape[d] == 1 ? 0 : at[d]);
			there[j] = m->there[c][n * x->shape[last]];
		}
		law_set_settle(r);
	}
}

/* Reads missing elements of the table as 0, and uses index 0 for missing indices. */
LAW(lookup)
{
	Filled table = law_filled(it, lookup_table(o), 0, 0), index = law_filled(it, lookup_index(o), 0, 0);
	InterpValue *r = slot_of(it, o->out[0]);
	bool ok = eval(it, o);

	law_restore(table);
	law_restore(index);
	law_copy(it, r, slot_of(it, lookup_index(o)));
	if (o->code == O_gather)
		add_table_conditions(it, law_set_of(it, r, r->n), o, table.slot->missing);
	return ok;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Returns the row-major index of the element of x that becomes element j of the result. */
static int64_t
element_from(const Op *o, const Type *x, const Type *t, int64_t j)
{
	int64_t c[DIM_MAX], at[DIM_MAX], n = 0;

	if (o->code == O_reshape)
		return j;
	type_coord(t, j, c);
	for (int d = 0; d < t->rank; d++)
		if (o->code == O_transpose)
			at[IMM_AT(o, perm, d)] = c[d];
		else if (o->code == O_broadcast)
			at[d] = x->shape[d] == 1 ? 0 : c[d];
		else /* a slice */
			at[d] = c[d] + (d == IMM(o, dim) ? IMM(o, from) : 0);
	for (int d = 0; d < x->rank; d++)
		n = n * x->shape[d] + at[d];
	return n;
}

/* Returns the dims that a condition on `dims` of x names after a reshape to t: where it names one dim of a
 * group that is split or joined together, it names all of them. */
unsigned
law_names_reshaped(unsigned dims, const Type *x, const Type *t)
{
	unsigned r = 0;
	int i = 0, j = 0;

	while (i < x->rank || j < t->rank) {
		int i0 = i, j0 = j;
		int64_t p = i < x->rank ? x->shape[i++] : 1, q = j < t->rank ? t->shape[j++] : 1;
		bool named = false;

		while (p != q)
			if (p < q)
				p *= x->shape[i++];
			else
				q *= t->shape[j++];
		for (; i0 < i; i0++)
			named = named || (x->shape[i0] > 1 && dims >> i0 & 1);
		for (; j0 < j; j0++)
			r |= (unsigned)(named && t->shape[j0] > 1) << j0;
	}
	return r;
}

/* Returns the dims of o's result, of type t, that a condition on `dims` of its operand names. */
static unsigned
names_after(const Op *o, unsigned dims, const Type *x, const Type *t)
{
	unsigned r = 0;

	if (o->code == O_reshape && (IMM(o, dropped) || IMM(o, added))) {
		for (int d = 0, to = 0; d < x->rank; d++) {
			if (IMM(o, dropped) >> d & 1)
				continue;
			while (IMM(o, added) >> to & 1)
				to++;
			r |= (dims >> d & 1) << to++;
		}
		return r;
	}
	if (o->code == O_reshape && !type_same(x, t))
		return law_names_reshaped(dims, x, t);
	if (o->code == O_transpose) {
		for (int d = 0; d < t->rank; d++)
			r |= (dims >> IMM_AT(o, perm, d) & 1) << d;
		return r;
	}
	for (int d = 0; d < t->rank && o->code == O_broadcast; d++)
		if (x->shape[d] != t->shape[d])
			dims &= ~(1u << d);
	return dims;
}

LAW(shape)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	const Missing *m;
	InterpValue *r;

	if (!eval(it, o) || t->space != S_reg)
		return it->code == INTERP_OK;
	m = slot_of(it, op_source(o))->missing;
	r = slot_of(it, o->out[0]);
	law_set_clear(r->missing);
	for (int c = 0; m && c < m->count; c++) {
		uint8_t *there = law_set_add(it, law_set_of(it, r, r->n), names_after(o, m->dims[c], x, t));

		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][element_from(o, x, t, j)];
		law_set_settle(r->missing);
	}
	return true;
}

LAW(slice)
{
	return law_rule_shape(it, o, eval);
}

/* Gives a concatenation along d one condition: the element exists in its piece. The condition names d and all
 * dims that the pieces' conditions name. */
LAW(concat)
{
	const Type *x = &concat_first(o)->type, *t = &o->out[0]->type;
	const Missing *m[2] = { slot_of(it, concat_first(o))->missing,
		                slot_of(it, concat_second(o))->missing };
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t line = inner_size(t, d) * t->shape[d], first = inner_size(t, d) * x->shape[d];
	unsigned dims = 1u << d;
	uint8_t *there;

	law_set_clear(r->missing);
	if (!eval(it, o) || (law_is_full(m[0]) && law_is_full(m[1])))
		return it->code == INTERP_OK;
	for (int i = 0; i < 2; i++)
		for (int c = 0; m[i] && c < m[i]->count; c++)
			dims |= m[i]->dims[c];
	there = law_set_add(it, law_set_of(it, r, r->n), dims);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j % line;

		there[j] = at < first ? law_exists(m[0], j / line * first + at)
		                      : law_exists(m[1], j / line * (line - first) + at - first);
	}
	law_set_settle(r->missing);
	return true;
}

LAW(shift)
{
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Filled x = law_filled(it, op_source(o), flt ? o->fimm : 0, flt ? 0 : IMM(o, fill_in));
	bool ok = eval(it, o);

	law_restore(x);
	law_copy(it, slot_of(it, o->out[0]), slot_of(it, op_source(o)));
	return ok;
}

/* ---- ops on the conditions themselves -------------------------------------------------------- */

LAW(inside)
{
	InterpValue *r = slot_of(it, o->out[0]);

	(void)eval;
	law_set_clear(r->missing);
	for (int64_t j = 0; j < r->n; j++)
		r->i[j] = law_exists(slot_of(it, op_source(o))->missing, j);
	return true;
}

/* Does element j satisfy all conditions that name dim d? */
static bool
exists_along(const Missing *m, int d, int64_t j)
{
	for (int c = 0; m && c < m->count; c++)
		if (m->dims[c] >> d & 1 && !m->there[c][j])
			return false;
	return true;
}

LAW(inside_along)
{
	const Type *x = &op_source(o)->type;
	const Missing *m = slot_of(it, op_source(o))->missing;
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(x, d), extent = x->shape[d];

	(void)eval;
	law_set_clear(r->missing);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t n = 0;

		for (int64_t e = 0; e < extent; e++)
			n += exists_along(m, d, (j / inner * extent + e) * inner + j % inner);
		n = o->code == O_inside_any ? n > 0 : n;
		law_put_number(r, o->out[0]->type.dtype, j, (double)n, n);
	}
	return true;
}

/* Computes the index along a dim of the first element that exists in some line, or the index after the last
 * such element. */
LAW(inside_end)
{
	const Type *x = &op_source(o)->type;
	const Missing *m = slot_of(it, op_source(o))->missing;
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(x, d), extent = x->shape[d], first = extent, end = 0;

	(void)eval;
	for (int64_t j = 0; j < type_size(x); j++)
		if (exists_along(m, d, j)) {
			int64_t at = j / inner % extent;

			first = at < first ? at : first;
			end = at + 1 > end ? at + 1 : end;
		}
	slot_of(it, o->out[0])->i[0] = o->code == O_inside_end ? end : first;
	return true;
}

/* The third operand is right for all bounds. */
LAW(if_range)
{
	(void)eval;
	slot_copy(it, o->out[0], if_range_no(o));
	law_set_clear(slot_of(it, o->out[0])->missing);
	return true;
}

/* A condition on the index along a dim, or on a single index, 0, which holds for all elements or for none. */
LAW(limit)
{
	const Type *t = &o->out[0]->type;
	int d = (int)IMM(o, dim);
	int64_t from = slot_of(it, limit_from(o))->i[0], below = slot_of(it, limit_below(o))->i[0];
	InterpValue *r = slot_of(it, o->out[0]);
	uint8_t *there;

	(void)eval;
	slot_copy(it, o->out[0], op_source(o));
	law_copy(it, r, slot_of(it, op_source(o)));
	there = law_set_add(it, law_set_of(it, r, r->n), d < 0 ? 0 : 1u << d);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t i = d < 0 ? 0 : j / inner_size(t, d) % t->shape[d];

		there[j] = i >= from && i < below;
	}
	law_set_settle(r->missing);
	return true;
}

LAW(fill)
{
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Filled x = law_filled(it, op_source(o), flt ? o->fimm : 0, flt ? 0 : IMM(o, fill));

	(void)eval;
	slot_copy(it, o->out[0], op_source(o));
	law_restore(x);
	law_set_clear(slot_of(it, o->out[0])->missing);
	return true;
}

/* Replaces missing elements by NaN or 1; no result may depend on them. */
static bool
unmask(Interp *it, Op *o)
{
	Filled x = law_filled(it, op_source(o), (double)NAN, 1);

	slot_copy(it, o->out[0], op_source(o));
	law_restore(x);
	law_set_clear(slot_of(it, o->out[0])->missing);
	return true;
}

/* The elements of the result exist as those of another tile would if they were moved to the front along a
 * dim. */
LAW(front)
{
	InterpValue *r = slot_of(it, o->out[0]);
	const Type *t = &o->out[0]->type;
	const Missing *m = slot_of(it, front_like(o))->missing;
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d), extent = t->shape[d];
	unsigned moved = 0;
	Missing *own;
	uint8_t *there;

	(void)eval;
	slot_copy(it, o->out[0], op_source(o));
	own = law_set_of(it, r, r->n);
	law_set_clear(own);
	for (int c = 0; m && c < m->count; c++) {
		if (m->dims[c] >> d & 1)
			moved |= m->dims[c];
		else
			memcpy(law_set_add(it, own, m->dims[c]), m->there[c], (size_t)r->n);
	}
	if (!moved)
		return true;
	there = law_set_add(it, own, moved);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j / inner % extent, n = 0;

		for (int64_t e = 0; e < extent; e++)
			n += exists_along(m, d, j + (e - at) * inner);
		there[j] = at < n;
	}
	law_set_settle(own);
	return true;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

bool
law_eval(Interp *it, Op *o, EvalFn *eval)
{
	static bool (*const law[O_COUNT])(Interp *, Op *, EvalFn *) = {
#define OP_EDGE(name, rule) [O_##name] = law_rule_##rule,
#include "hexc/ir/ops.def"
	};

	return o->code == O_unmask ? unmask(it, o) : law[o->code](it, o, eval);
}

bool
eval_inside(Interp *it, Op *o)
{
	return interp_error(it, INTERP_E_FAULT, o, "%s: masks are explicit after pass mask_bounds",
	                    op_info[o->code].name);
}
