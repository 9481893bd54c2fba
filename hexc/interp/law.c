/* law.c - implements the interpreter's rules of missing elements: those outside of their tensor, as numpy.ma
 * has masked ones (hexc/LANGUAGE.md, "Out-of-bounds elements").
 *
 * They apply to IR in front of pass mask_bounds, which turns them into code; this file shares nothing with that
 * pass. Every value has a list of conditions, each with a bool by element and the dims that it names; an element
 * exists where all hold. A rule, column `edge` of ops.def, prepares the operands, evaluates the op and computes
 * the result's conditions. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/dot.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include <math.h>
#include <string.h>

/* ---- sets of conditions ----------------------------------------------------------------------------- */

static Missing *
set_of(Interp *it, InterpValue *v, int64_t n)
{
	if (!v->missing) {
		v->missing = NEW(&it->arena, Missing);
		v->missing->n = n;
	}
	return v->missing;
}

static void
set_clear(Missing *m)
{
	if (m)
		m->count = 0;
}

/* Returns the bools of a new condition, all true. */
static uint8_t *
set_add(Interp *it, Missing *m, unsigned dims)
{
	int i = m->count < CONDS_MAX ? m->count++ : CONDS_MAX - 1;

	if (!m->there[i])
		m->there[i] = arena_alloc(&it->arena, (size_t)m->n);
	if (i == m->count - 1)
		m->dims[i] = 0;
	memset(m->there[i], 1, (size_t)m->n);
	m->dims[i] = dims;
	return m->there[i];
}

/* Removes the last condition if it holds everywhere, or another one equals it. */
static void
set_settle(Missing *m)
{
	int last = m->count - 1;

	if (!memchr(m->there[last], 0, (size_t)m->n)) {
		m->count--;
		return;
	}
	for (int i = 0; i < last; i++)
		if (m->dims[i] == m->dims[last] && memcmp(m->there[i], m->there[last], (size_t)m->n) == 0) {
			m->count--;
			return;
		}
}

/* Does element j exist? m may be NULL. */
static bool
exists(const Missing *m, int64_t j)
{
	for (int i = 0; m && i < m->count; i++)
		if (!m->there[i][j])
			return false;
	return true;
}

static bool
is_full(const Missing *m)
{
	return !m || !m->count;
}

static void
set_copy(Interp *it, Missing *to, const Missing *from)
{
	to->count = 0;
	for (int i = 0; from && i < from->count; i++)
		memcpy(set_add(it, to, from->dims[i]), from->there[i], (size_t)to->n);
}

void
law_copy(Interp *it, InterpValue *to, const InterpValue *from)
{
	if (is_full(from->missing))
		set_clear(to->missing);
	else
		set_copy(it, set_of(it, to, from->missing->n), from->missing);
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

/* ---- operands ----------------------------------------------------------------------------------------- */

/* A value whose missing elements were replaced, and its own elements. */
typedef struct Filled {
	InterpValue *slot;
	double *was;
} Filled;

static void
put_number(InterpValue *x, DType t, int64_t j, double f, int64_t i)
{
	if (dtype_is_float(t))
		x->f[j] = num_round(t, f);
	else
		x->i[j] = num_wrap(t, i);
}

/* Replaces the missing elements of v by a number until `restore`. */
static Filled
filled(Interp *it, const Val *v, double f, int64_t i)
{
	Filled r = { slot_of(it, v), NULL };
	InterpValue *x = r.slot;

	if (is_full(x->missing))
		return r;
	r.was = x->f;
	if (!x->filled)
		x->filled = arena_alloc(&it->arena, sizeof *x->f * (size_t)x->n);
	memcpy(x->filled, x->f, sizeof *x->f * (size_t)x->n);
	x->f = x->filled;
	x->i = x->filled;
	for (int64_t j = 0; j < x->n; j++)
		if (!exists(x->missing, j))
			put_number(x, v->type.dtype, j, f, i);
	return r;
}

static void
restore(Filled r)
{
	if (!r.was)
		return;
	r.slot->f = r.was;
	r.slot->i = (void *)r.was;
}

/* ---- ops without tiles, and those that make whole ones --------------------------------------------------- */

#define LAW(name) static bool rule_##name(Interp *it, Op *o, EvalFn *eval)

LAW(no_tile)
{
	return eval(it, o);
}

LAW(whole)
{
	for (int i = 0; i < o->nout && !o->blk[0]; i++)
		set_clear(slot_of(it, o->out[i])->missing);
	return eval(it, o);
}

LAW(wgmma)
{
	return rule_whole(it, o, eval);
}

/* ---- elementwise -------------------------------------------------------------------------------------- */

LAW(elt)
{
	InterpValue *r;

	if (!eval(it, o))
		return false;
	r = slot_of(it, o->out[0]);
	set_clear(r->missing);
	if (o->out[0]->type.space != S_reg)
		return true;
	for (int i = 0; i < o->nin; i++) {
		const Missing *m = slot_of(it, o->in[i])->missing;

		for (int c = 0; m && c < m->count; c++) {
			memcpy(set_add(it, set_of(it, r, r->n), m->dims[c]), m->there[c], (size_t)r->n);
			set_settle(r->missing);
		}
	}
	return true;
}

/* What is assigned to a part of a tile is there as it was, and so are the tile's other elements. */
LAW(select)
{
	const Val *from[2] = { select_no(o), select_yes(o) };
	const InterpValue *cond = slot_of(it, select_cond(o));
	InterpValue *r = slot_of(it, o->out[0]);
	unsigned dims = (unsigned)(IMM(o, part) >> 1);
	bool any = false;
	uint8_t *there;

	if (!IMM(o, part))
		return rule_elt(it, o, eval);
	if (!eval(it, o))
		return false;
	set_clear(r->missing);
	for (int i = 0; i < 2; i++) {
		const Missing *m = slot_of(it, from[i])->missing;

		for (int c = 0; m && c < m->count; c++)
			dims |= m->dims[c];
		any = any || !is_full(m);
	}
	if (!any)
		return true;
	there = set_add(it, set_of(it, r, r->n), dims);
	for (int64_t j = 0; j < r->n; j++)
		there[j] = exists(slot_of(it, from[cond->i[j] != 0])->missing, j);
	set_settle(r->missing);
	return true;
}

LAW(zero)
{
	return rule_elt(it, o, eval);
}

LAW(zeros)
{
	return rule_elt(it, o, eval);
}

LAW(mask)
{
	bool ok = eval(it, o);

	law_copy(it, slot_of(it, o->out[0]), slot_of(it, mask_source(o)));
	return ok;
}

/* Conditions of a gathered tile that do not name its last dim, in which the indices select. */
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
		there = set_add(it, r, dims);
		for (int64_t j = 0; j < r->n; j++) {
			int64_t at[DIM_MAX], n = 0;

			type_coord(t, j, at);
			for (int d = 0; d < last; d++)
				n = n * x->shape[d] + (x->shape[d] == 1 ? 0 : at[d]);
			there[j] = m->there[c][n * x->shape[last]];
		}
		set_settle(r);
	}
}

/* Elements of a table that do not exist are read as 0. */
LAW(lookup)
{
	Filled table = filled(it, lookup_table(o), 0, 0), index = filled(it, lookup_index(o), 0, 0);
	InterpValue *r = slot_of(it, o->out[0]);
	bool ok = eval(it, o);

	restore(table);
	restore(index);
	law_copy(it, r, slot_of(it, lookup_index(o)));
	if (o->code == O_gather)
		add_table_conditions(it, set_of(it, r, r->n), o, table.slot->missing);
	return ok;
}

/* ---- shapes --------------------------------------------------------------------------------------------- */

/* Row-major number of the element of x that element j of the result is. */
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

/* Dims of a reshape's result that are named for dims of its operand: all of a group of dims that are cut or
 * joined together. */
static unsigned
names_reshaped(unsigned dims, const Type *x, const Type *t)
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

static unsigned
names_after(const Op *o, unsigned dims, const Type *x, const Type *t)
{
	unsigned r = 0;

	if (o->code == O_reshape && !type_same(x, t))
		return names_reshaped(dims, x, t);
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
	set_clear(r->missing);
	for (int c = 0; m && c < m->count; c++) {
		uint8_t *there = set_add(it, set_of(it, r, r->n), names_after(o, m->dims[c], x, t));

		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][element_from(o, x, t, j)];
		set_settle(r->missing);
	}
	return true;
}

LAW(slice)
{
	return rule_shape(it, o, eval);
}

/* Conditions of a concatenation along d: of the elements of both pieces, under all names and d. */
LAW(concat)
{
	const Type *x = &concat_first(o)->type, *t = &o->out[0]->type;
	const Missing *m[2] = { slot_of(it, concat_first(o))->missing, slot_of(it, concat_second(o))->missing };
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t line = inner_size(t, d) * t->shape[d], first = inner_size(t, d) * x->shape[d];
	unsigned dims = 1u << d;
	uint8_t *there;

	set_clear(r->missing);
	if (!eval(it, o) || (is_full(m[0]) && is_full(m[1])))
		return it->code == INTERP_OK;
	for (int i = 0; i < 2; i++)
		for (int c = 0; m[i] && c < m[i]->count; c++)
			dims |= m[i]->dims[c];
	there = set_add(it, set_of(it, r, r->n), dims);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j % line;

		there[j] = at < first ? exists(m[0], j / line * first + at)
		                      : exists(m[1], j / line * (line - first) + at - first);
	}
	set_settle(r->missing);
	return true;
}

LAW(shift)
{
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Filled x = filled(it, op_source(o), flt ? o->fimm : 0, flt ? 0 : IMM(o, fill_in));
	bool ok = eval(it, o);

	restore(x);
	law_copy(it, slot_of(it, o->out[0]), slot_of(it, op_source(o)));
	return ok;
}

/* ---- reductions ------------------------------------------------------------------------------------------- */

/* Adds to r, the conditions of a reduction of x along d, those of m: conditions that do not name d stay; those of d
 * alone are used up; where others name d, lines that have an element. `more` (or NULL) are conditions of d alone. */
static void
lines_of(Interp *it, Missing *r, const Missing *m, const Type *x, int d)
{
	int64_t inner = inner_size(x, d), extent = x->shape[d];
	unsigned names = 0;
	bool own_left = false, tied = false;
	uint8_t *there;

	for (int c = 0; c < m->count; c++) {
		if (m->dims[c] >> d & 1) {
			tied = tied || m->dims[c] != 1u << d;
			names |= m->dims[c] != 1u << d ? m->dims[c] : 0;
			continue;
		}
		there = set_add(it, r, m->dims[c]);
		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][j / inner * inner * extent + j % inner];
		set_settle(r);
	}
	if (!tied)
		return;
	for (int64_t j = 0; j < m->n && !own_left; j++) {
		own_left = true;
		for (int c = 0; c < m->count; c++)
			if (m->dims[c] == 1u << d && !m->there[c][j])
				own_left = false;
	}
	there = set_add(it, r, names & ~(1u << d));
	for (int64_t j = 0; j < r->n; j++) {
		there[j] = 0;
		for (int64_t e = 0; e < extent; e++) {
			bool all = true;

			for (int c = 0; c < m->count; c++)
				if (m->dims[c] >> d & 1 && (own_left || m->dims[c] != 1u << d))
					all = all && m->there[c][(j / inner * extent + e) * inner + j % inner];
			there[j] |= all;
		}
	}
	set_settle(r);
}

LAW(reduce)
{
	DType t = o->out[0]->type.dtype;
	double f = o->code == O_reduce_sum ? 0 : o->code == O_reduce_max ? -(double)INFINITY : (double)INFINITY;
	int64_t i = o->code == O_reduce_sum || dtype_is_float(t) ? 0 : o->code == O_reduce_max ? num_min(t) : num_max(t);
	Filled x = filled(it, op_source(o), f, i);
	InterpValue *r = slot_of(it, o->out[0]);
	bool ok = eval(it, o);

	restore(x);
	set_clear(r->missing);
	if (ok && !is_full(x.slot->missing))
		lines_of(it, set_of(it, r, r->n), x.slot->missing, &op_source(o)->type, (int)IMM(o, dim));
	return ok;
}

/* Values in front of the sparse expansion exist or not in groups. */
LAW(sparse_expand)
{
	Filled x = filled(it, sparse_values(o), 0, 0), p = filled(it, sparse_positions(o), 0, 0);
	const Type *t = &o->out[0]->type;
	const Missing *m = x.slot->missing;
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d);
	bool ok = eval(it, o);

	restore(x);
	restore(p);
	set_clear(r->missing);
	for (int c = 0; m && c < m->count; c++) {
		uint8_t *there = set_add(it, set_of(it, r, r->n), m->dims[c]);

		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][(j / inner / t->shape[d] * (t->shape[d] / 2) + j / inner % t->shape[d] / 2) *
			                               inner +
			                       j % inner];
		set_settle(r->missing);
	}
	return ok;
}

/* ---- dot ---------------------------------------------------------------------------------------------------- */

typedef struct Factors {
	const InterpValue *x[2];
	int64_t m, n, k;
} Factors;

/* Elements (row, p) of a and (p, col) of b, in a batch. */
static int64_t
in_a(const Factors *f, int64_t at, int64_t row, int64_t p)
{
	return (at * f->m + row) * f->k + p;
}

static int64_t
in_b(const Factors *f, int64_t at, int64_t p, int64_t col)
{
	return (at * f->k + p) * f->n + col;
}

/* The sum of the products of which both factors exist; a NaN of a partner of a missing element does not count. */
static void
dot_of_pairs(Interp *it, const Op *o, const Factors *f)
{
	const Type *t = &o->out[0]->type;
	InterpValue *r = slot_of(it, o->out[0]);
	const InterpValue *a = f->x[0], *b = f->x[1];

	slot_copy(it, o->out[0], mma_acc(o));
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j / (f->m * f->n), row = j / f->n % f->m, col = j % f->n;

		for (int64_t p = 0; p < f->k; p++) {
			int64_t x = in_a(f, at, row, p), y = in_b(f, at, p, col);

			if (!exists(a->missing, x) || !exists(b->missing, y))
				continue;
			if (dtype_is_float(t->dtype))
				r->f[j] += a->f[x] * b->f[y];
			else
				r->i[j] = (int64_t)((uint64_t)r->i[j] + (uint64_t)a->i[x] * (uint64_t)b->i[y]);
		}
	}
	if (dtype_is_float(t->dtype))
		num_round_n(t->dtype, r->f, (size_t)r->n);
	else
		num_wrap_n(t->dtype, r->i, (size_t)r->n);
}

/* Conditions of factor `side` that do not name k stay. Others than of k alone leave lines with a pair. */
static void
dot_conditions(Interp *it, const Op *o, const Factors *f, Missing *r)
{
	int m = dot_batch(o), kdim[2] = { m + 1, m };
	bool tied = false, own_left = false;
	unsigned names = 0;
	uint8_t *there;

	for (int side = 0; side < 2; side++) {
		const Missing *x = f->x[side]->missing;

		for (int c = 0; x && c < x->count; c++) {
			if (x->dims[c] >> kdim[side] & 1) {
				tied = tied || x->dims[c] != 1u << kdim[side];
				names |= x->dims[c] & ~(1u << kdim[side]);
				continue;
			}
			there = set_add(it, r, x->dims[c]);
			for (int64_t j = 0; j < r->n; j++) {
				int64_t at = j / (f->m * f->n);

				there[j] = x->there[c][side ? in_b(f, at, 0, j % f->n) : in_a(f, at, j / f->n % f->m, 0)];
			}
			set_settle(r);
		}
	}
	if (!tied)
		return;
	/* does k have an element by the conditions on k alone? */
	for (int64_t p = 0; p < f->k; p++) {
		bool all = true;

		for (int side = 0; side < 2; side++) {
			const Missing *x = f->x[side]->missing;

			for (int c = 0; x && c < x->count; c++)
				if (x->dims[c] == 1u << kdim[side])
					all = all && x->there[c][side ? in_b(f, 0, p, 0) : in_a(f, 0, 0, p)];
		}
		own_left = own_left || all;
	}
	there = set_add(it, r, names);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j / (f->m * f->n), row = j / f->n % f->m, col = j % f->n;

		there[j] = 0;
		for (int64_t p = 0; p < f->k; p++) {
			bool all = true;

			for (int side = 0; side < 2; side++) {
				const Missing *x = f->x[side]->missing;

				for (int c = 0; x && c < x->count; c++)
					if (x->dims[c] >> kdim[side] & 1 && (own_left || x->dims[c] != 1u << kdim[side]))
						all = all && x->there[c][side ? in_b(f, at, p, col) : in_a(f, at, row, p)];
			}
			there[j] |= all;
		}
	}
	set_settle(r);
}

LAW(dot)
{
	const Type *t = &o->out[0]->type;
	Factors f = { { slot_of(it, mma_a(o)), slot_of(it, mma_b(o)) }, t->shape[dot_batch(o)],
		      t->shape[dot_batch(o) + 1], dot_k(o) };
	InterpValue *r = slot_of(it, o->out[0]);
	bool plain = !dot_is_sparse(o) && !dot_is_scaled(o), ok = true;
	const Missing *acc = slot_of(it, mma_acc(o))->missing;

	set_clear(r->missing);
	if (is_full(f.x[0]->missing) && is_full(f.x[1]->missing)) {
		ok = eval(it, o);
	} else if (plain && !it->opt.noise) {
		dot_of_pairs(it, o, &f);
	} else {
		Filled a = filled(it, mma_a(o), 0, 0), b = filled(it, mma_b(o), 0, 0);

		ok = eval(it, o);
		restore(a);
		restore(b);
	}
	if (plain)
		dot_conditions(it, o, &f, set_of(it, r, r->n));
	for (int c = 0; acc && c < acc->count; c++) {
		memcpy(set_add(it, set_of(it, r, r->n), acc->dims[c]), acc->there[c], (size_t)r->n);
		set_settle(r->missing);
	}
	return ok;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Root coordinates of element j of a view of type t. */
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

/* Adds the conditions of a view's index tiles, on its dims from the gathered one on. */
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
			there = set_add(it, r, dims);
			for (int64_t j = 0; j < r->n; j++) {
				int64_t at[DIM_MAX], n = 0;

				type_coord(t, j, at);
				for (int i = 0; i < x->rank; i++)
					n = n * x->shape[i] + (x->shape[i] == 1 ? 0 : at[v->gather + i]);
				there[j] = m->there[c][n];
			}
			set_settle(r);
		}
	}
}

/* The view's dim of a root dim; -1: a single index. */
static int
view_dim(const View *v, int root)
{
	for (int d = 0; d < v->rank; d++)
		if (v->dim[d] == root)
			return d;
	return -1;
}

/* Conditions of a slice of a tensor: one a dim. */
static void
add_tensor_conditions(Interp *it, Missing *r, const View *v, const Type *t)
{
	for (int d = 0; d < v->root_rank; d++) {
		int64_t size = slot_of(it, v->param->size[d])->i[0];
		int dim = view_dim(v, d);
		uint8_t *there;

		if (v->index[d])
			continue;
		there = set_add(it, r, dim >= 0 ? 1u << dim : 0);
		for (int64_t j = 0; j < r->n; j++) {
			int64_t at[DIM_MAX];

			root_place(it, v, t, j, at);
			there[j] = at[d] >= 0 && at[d] < size;
		}
		set_settle(r);
	}
}

/* Conditions of a part of a shared tile. Of an element that an index addresses: none, it is 0 then. */
static void
add_shared_conditions(Interp *it, Missing *r, const View *v, const Type *t, InterpValue *x)
{
	const Missing *m = v->shared->missing;
	Type root = type_tile(v->shared->dtype, S_reg, v->root_rank, v->shape);
	Type whole = type_tile(v->shared->dtype, S_reg, v->shared->rank, v->shared->shape);

	for (int c = 0; m && c < m->count; c++) {
		unsigned names = type_same(&root, &whole) ? m->dims[c] : names_reshaped(m->dims[c], &whole, &root);
		unsigned dims = 0;
		bool gathered = false;
		uint8_t *there;

		for (int d = 0; d < v->root_rank; d++) {
			int dim = view_dim(v, d);

			gathered = gathered || (names >> d & 1 && v->index[d]);
			if (names >> d & 1 && dim >= 0)
				dims |= 1u << dim;
		}
		there = set_add(it, r, gathered ? 0 : dims);
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
				put_number(x, v->shared->dtype, j, 0, 0);
			else
				there[j] = !in || m->there[c][n];
		}
		set_settle(r);
	}
}

/* Sets r's conditions to those of what a view reads, of type t; x has its elements. */
static void
read_conditions(Interp *it, Missing *r, const View *v, const Type *t, InterpValue *x)
{
	set_clear(r);
	if (v->param)
		add_tensor_conditions(it, r, v, t);
	else if (v->shared && v->shared->missing)
		add_shared_conditions(it, r, v, t, x);
	if (v->gather >= 0)
		add_index_conditions(it, r, v, t);
}

/* A bool by element, true where a write to the view leaves the element out; NULL: nowhere. */
static const uint8_t *
left_out(Interp *it, const View *v, const Type *t, const Missing *value, int64_t n)
{
	Missing index = { .n = n };
	uint8_t *out;
	bool any = false;

	if (v->gather >= 0)
		add_index_conditions(it, &index, v, t);
	if (is_full(value) && is_full(&index))
		return NULL;
	out = arena_alloc(&it->arena, (size_t)n);
	for (int64_t j = 0; j < n; j++) {
		out[j] = !exists(value, j) || !exists(&index, j);
		any = any || out[j];
	}
	return any ? out : NULL;
}

/* Are all elements of the shared tile written, or a part at compile-time numbers? */
static bool
part_known(const Val *to)
{
	for (; to->def && (to->def->code == O_view || val_is_alias(to)); to = to->def->in[0])
		for (int d = 0; to->def->code == O_view && d < view_source(to->def)->type.rank; d++)
			if (!val_is_const(view_start(to->def, d), NULL))
				return false;
	return true;
}

/* A write of elements with conditions m (NULL: all exist) to a part of a shared tile: its elements are as m, others
 * as they were. */
static void
write_shared_conditions(Interp *it, const Val *to, const View *v, const Type *t, const Missing *m)
{
	Shared *s = v->shared;
	int64_t n = type_size(t);
	Missing *all;
	unsigned dims = 0;
	uint8_t *now;

	if (is_full(m) && is_full(s->missing))
		return;
	if (!s->missing) {
		s->missing = NEW(&it->arena, Missing);
		s->missing->n = s->n;
	}
	all = s->missing;
	if (n == s->n && v->root_rank == s->rank && v->gather < 0 && part_known(to)) {
		if (is_full(m))
			set_clear(all);
		else
			set_copy(it, all, m);
		return;
	}
	now = arena_alloc(&it->arena, (size_t)s->n);
	for (int64_t j = 0; j < s->n; j++)
		now[j] = exists(all, j);
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
			now[cell] = !part_known(to) || exists(m, j);
	}
	for (int d = 0; d < s->rank; d++) {
		int dim = view_dim(v, d);

		if (dim < 0 || t->shape[dim] != s->shape[d])
			dims |= 1u << d;
		for (int c = 0; dim >= 0 && m && c < m->count; c++)
			dims |= (m->dims[c] >> dim & 1) << d;
	}
	all->count = 0;
	memcpy(set_add(it, all, dims), now, (size_t)s->n);
	set_settle(all);
}

LAW(load)
{
	const View *v = slot_of(it, load_source(o))->view;
	InterpValue *r = slot_of(it, o->out[0]);

	if (!eval(it, o))
		return false;
	if (o->out[0]->type.space == S_reg)
		read_conditions(it, set_of(it, r, r->n), v, &load_source(o)->type, r);
	return true;
}

LAW(store)
{
	const Val *to = store_dest(o), *found = access_found(o);
	const View *v = slot_of(it, to)->view;
	InterpValue *x = slot_of(it, store_value(o));
	const Missing *m = store_value(o)->type.space == S_reg ? x->missing : NULL;
	Filled zeros = { NULL, NULL };
	bool ok;

	it->left_out = v->param || IMM(o, update) ? left_out(it, v, &to->type, m, x->n) : NULL;
	if (v->shared && !IMM(o, update) && m)
		zeros = filled(it, store_value(o), 0, 0);
	ok = eval(it, o);
	restore(zeros);
	it->left_out = NULL;
	if (v->shared && !IMM(o, update))
		write_shared_conditions(it, to, v, &to->type, m);
	if (found && v->param) { /* no old value where nothing is done */
		Missing old = { .n = x->n };

		read_conditions(it, &old, v, &to->type, x);
		for (int c = 0; m && c < m->count; c++)
			memcpy(set_add(it, &old, m->dims[c]), m->there[c], (size_t)old.n);
		m = &old;
		write_shared_conditions(it, found, slot_of(it, found)->view, &found->type, m);
	} else if (found) {
		write_shared_conditions(it, found, slot_of(it, found)->view, &found->type, m);
	}
	return ok;
}

/* A copy by the program's own `async` brings zeros from outside, which exist. */
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
	ok = eval(it, o);
	it->left_out = NULL;
	if (to->shared)
		write_shared_conditions(it, copy_dest(o), to, &copy_dest(o)->type, &m);
	return ok;
}

/* ---- ops on the conditions themselves ---------------------------------------------------------------------------- */

LAW(inside)
{
	InterpValue *r = slot_of(it, o->out[0]);

	(void)eval;
	set_clear(r->missing);
	for (int64_t j = 0; j < r->n; j++)
		r->i[j] = exists(slot_of(it, op_source(o))->missing, j);
	return true;
}

/* Counts by the conditions that name dim d. */
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
	set_clear(r->missing);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t n = 0;

		for (int64_t e = 0; e < extent; e++)
			n += exists_along(m, d, (j / inner * extent + e) * inner + j % inner);
		n = o->code == O_inside_any ? n > 0 : n;
		put_number(r, o->out[0]->type.dtype, j, (double)n, n);
	}
	return true;
}

/* The first element along a dim that exists in some line, or the end of those. */
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
	for (int64_t j = 0; j < type_size(x); j++) {
		int64_t at = j / inner % extent;

		if (at >= first && at < end && !exists_along(m, d, j))
			return interp_error(it, INTERP_E_FAULT, o,
			                    "along dimension %d, which elements are in bounds differs from line to "
			                    "line: elements cannot be taken in order; use `fill(x, value)` first",
			                    d);
	}
	slot_of(it, o->out[0])->i[0] = o->code == O_inside_end ? end : first;
	return true;
}

LAW(fill)
{
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Filled x = filled(it, op_source(o), flt ? o->fimm : 0, flt ? 0 : IMM(o, fill));

	(void)eval;
	slot_copy(it, o->out[0], op_source(o));
	restore(x);
	set_clear(slot_of(it, o->out[0])->missing);
	return true;
}

/* Missing elements become numbers that nothing may depend on. */
static bool
unmask(Interp *it, Op *o)
{
	Filled x = filled(it, op_source(o), (double)NAN, 1);

	slot_copy(it, o->out[0], op_source(o));
	restore(x);
	set_clear(slot_of(it, o->out[0])->missing);
	return true;
}

/* ---- dispatch ------------------------------------------------------------------------------------------------------ */

bool
law_eval(Interp *it, Op *o, EvalFn *eval)
{
	static bool (*const law[O_COUNT])(Interp *, Op *, EvalFn *) = {
#define OP_EDGE(name, rule) [O_##name] = rule_##rule,
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
