/* law_products.c - implements the interpreter's rules of missing elements for reductions, sparse tiles and
 * dots. */
#include "hexc/interp/law.h"
#include "hexc/ir/dot.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include <math.h>
#include <string.h>

/* ---- reductions ------------------------------------------------------------------------------ */

/* Adds to r the conditions of the result of a reduction along d of a tile of type x with conditions m.
 * Conditions that do not name d stay; those on d alone are used up. If others name d too, a line exists if
 * it has an element that does; where the conditions on d alone leave none, only the others count. */
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
		there = law_set_add(it, r, m->dims[c]);
		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][j / inner * inner * extent + j % inner];
		law_set_settle(r);
	}
	if (!tied)
		return;
	for (int64_t j = 0; j < m->n && !own_left; j++) {
		own_left = true;
		for (int c = 0; c < m->count; c++)
			if (m->dims[c] == 1u << d && !m->there[c][j])
				own_left = false;
	}
	there = law_set_add(it, r, names & ~(1u << d));
	for (int64_t j = 0; j < r->n; j++) {
		there[j] = 0;
		for (int64_t e = 0; e < extent; e++) {
			bool all = true;

			for (int c = 0; c < m->count; c++)
				if (m->dims[c] >> d & 1 && (own_left || m->dims[c] != 1u << d))
					all = all &&
					      m->there[c][(j / inner * extent + e) * inner + j % inner];
			there[j] |= all;
		}
	}
	law_set_settle(r);
}

LAW(reduce)
{
	DType t = o->out[0]->type.dtype;
	double f = o->code == O_reduce_sum ? 0
	           : o->code == O_reduce_max ? -(double)INFINITY
	                                     : (double)INFINITY;
	int64_t i = o->code == O_reduce_sum || dtype_is_float(t)
	                    ? 0
	            : o->code == O_reduce_max ? num_min(t)
	                                      : num_max(t);
	Filled x = law_filled(it, op_source(o), f, i);
	InterpValue *r = slot_of(it, o->out[0]);
	bool ok = eval(it, o);

	law_restore(x);
	law_set_clear(r->missing);
	if (ok && !law_is_full(x.slot->missing))
		lines_of(it, law_set_of(it, r, r->n), x.slot->missing, &op_source(o)->type, (int)IMM(o, dim));
	return ok;
}

/* Elements 2 * i and 2 * i + 1 of the expanded tile exist where value i does. */
LAW(sparse_expand)
{
	Filled x = law_filled(it, sparse_values(o), 0, 0), p = law_filled(it, sparse_positions(o), 0, 0);
	const Type *t = &o->out[0]->type;
	const Missing *m = x.slot->missing;
	InterpValue *r = slot_of(it, o->out[0]);
	int d = (int)IMM(o, dim);
	int64_t inner = inner_size(t, d);
	bool ok = eval(it, o);

	law_restore(x);
	law_restore(p);
	law_set_clear(r->missing);
	for (int c = 0; m && c < m->count; c++) {
		uint8_t *there = law_set_add(it, law_set_of(it, r, r->n), m->dims[c]);

		for (int64_t j = 0; j < r->n; j++)
			there[j] = m->there[c][(j / inner / t->shape[d] * (t->shape[d] / 2) +
			                        j / inner % t->shape[d] / 2) *
			                               inner +
			                       j % inner];
		law_set_settle(r->missing);
	}
	return ok;
}

/* ---- dot ------------------------------------------------------------------------------------- */

typedef struct LawFactors {
	const InterpValue *x[2];
	int64_t m, n, k;
} LawFactors;

/* Return the row-major indices of elements (row, p) of a and (p, col) of b in batch `at`. */
static int64_t
in_a(const LawFactors *f, int64_t at, int64_t row, int64_t p)
{
	return (at * f->m + row) * f->k + p;
}

static int64_t
in_b(const LawFactors *f, int64_t at, int64_t p, int64_t col)
{
	return (at * f->k + p) * f->n + col;
}

/* Computes a dot from the pairs of elements that both exist. A NaN whose partner is missing does not
 * count. */
static void
dot_of_pairs(Interp *it, const Op *o, const LawFactors *f)
{
	const Type *t = &o->out[0]->type;
	InterpValue *r = slot_of(it, o->out[0]);
	const InterpValue *a = f->x[0], *b = f->x[1];

	slot_copy(it, o->out[0], mma_acc(o));
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j / (f->m * f->n), row = j / f->n % f->m, col = j % f->n;

		for (int64_t p = 0; p < f->k; p++) {
			int64_t x = in_a(f, at, row, p), y = in_b(f, at, p, col);

			if (!law_exists(a->missing, x) || !law_exists(b->missing, y))
				continue;
			if (dtype_is_float(t->dtype))
				r->f[j] += a->f[x] * b->f[y];
			else
				r->i[j] = (int64_t)((uint64_t)r->i[j] +
				                    (uint64_t)a->i[x] * (uint64_t)b->i[y]);
		}
	}
	if (dtype_is_float(t->dtype))
		num_round_n(t->dtype, r->f, (size_t)r->n);
	else
		num_wrap_n(t->dtype, r->i, (size_t)r->n);
}

/* Adds the conditions of a dot's result to r. The operands' conditions that do not name k stay; those on k
 * alone are used up. If others name k too, an element exists if it has a pair that does; where the conditions
 * on k alone leave none, only the others count. */
static void
dot_conditions(Interp *it, const Op *o, const LawFactors *f, Missing *r)
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
			there = law_set_add(it, r, x->dims[c]);
			for (int64_t j = 0; j < r->n; j++) {
				int64_t at = j / (f->m * f->n);

				there[j] = x->there[c][side ? in_b(f, at, 0, j % f->n)
				                            : in_a(f, at, j / f->n % f->m, 0)];
			}
			law_set_settle(r);
		}
	}
	if (!tied)
		return;
	/* do the conditions on k alone leave an element? */
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
	there = law_set_add(it, r, names);
	for (int64_t j = 0; j < r->n; j++) {
		int64_t at = j / (f->m * f->n), row = j / f->n % f->m, col = j % f->n;

		there[j] = 0;
		for (int64_t p = 0; p < f->k; p++) {
			bool all = true;

			for (int side = 0; side < 2; side++) {
				const Missing *x = f->x[side]->missing;

				for (int c = 0; x && c < x->count; c++)
					if (x->dims[c] >> kdim[side] & 1 &&
					    (own_left || x->dims[c] != 1u << kdim[side]))
						all = all && x->there[c][side ? in_b(f, at, p, col)
						                              : in_a(f, at, row, p)];
			}
			there[j] |= all;
		}
	}
	law_set_settle(r);
}

LAW(dot)
{
	const Type *t = &o->out[0]->type;
	LawFactors f = { { slot_of(it, mma_a(o)), slot_of(it, mma_b(o)) }, t->shape[dot_batch(o)],
		      t->shape[dot_batch(o) + 1], dot_k(o) };
	InterpValue *r = slot_of(it, o->out[0]);
	bool plain = !dot_is_sparse(o) && !dot_is_scaled(o), ok = true;
	const Missing *acc = slot_of(it, mma_acc(o))->missing;

	law_set_clear(r->missing);
	if (law_is_full(f.x[0]->missing) && law_is_full(f.x[1]->missing)) {
		ok = eval(it, o);
	} else if (plain && !it->opt.noise) {
		dot_of_pairs(it, o, &f);
	} else {
		Filled a = law_filled(it, mma_a(o), 0, 0), b = law_filled(it, mma_b(o), 0, 0);

		ok = eval(it, o);
		law_restore(a);
		law_restore(b);
	}
	if (plain)
		dot_conditions(it, o, &f, law_set_of(it, r, r->n));
	for (int c = 0; acc && c < acc->count; c++) {
		memcpy(law_set_add(it, law_set_of(it, r, r->n), acc->dims[c]), acc->there[c], (size_t)r->n);
		law_set_settle(r->missing);
	}
	return ok;
}
