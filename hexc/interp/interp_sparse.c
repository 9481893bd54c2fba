/* interp_sparse.c - expands sparse values and metadata to dense tiles, for the interpreter's dot and
 * sparse_expand. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/sparse.h"
#include <string.h>

InterpValue
interp_whole(Interp *it, const Val *values)
{
	InterpValue *s = slot_of(it, values);
	InterpValue r = { .n = 2 * s->n };

	if (!s->whole)
		s->whole = arena_alloc(&it->arena, sizeof *s->f * (size_t)r.n);
	r.f = s->whole;
	r.i = s->whole;
	return r;
}

/* Positions of a group must increase; both 0 is allowed for an all-zero group. */
static bool
check_order(Interp *it, const Op *o, const int64_t *p, int64_t group)
{
	if (p[0] < p[1] || (p[0] == 0 && p[1] == 0))
		return true;
	return interp_error(it, INTERP_E_FAULT, o,
	                    "group %lld has the positions %lld and %lld; positions of a group must increase",
	                    (long long)group, (long long)p[0], (long long)p[1]);
}

bool
interp_sparse_expand(Interp *it, const Op *o, const Val *values, const Val *positions, int dim,
		     const InterpValue *r)
{
	const Type *t = &values->type;
	const InterpValue *v = slot_of(it, values), *at = slot_of(it, positions);
	bool flt = dtype_is_float(t->dtype);
	int64_t inner = 1, n = t->shape[dim], m = positions->type.shape[dim];
	Sparse s;

	if (!sparse_of(t, &positions->type, dim, &s))
		return interp_error(it, INTERP_E_FAULT, o, "values and positions do not match");
	for (int d = dim + 1; d < t->rank; d++)
		inner *= t->shape[d];
	memset(r->f, 0, sizeof *r->f * (size_t)r->n);
	for (int64_t row = 0; row < v->n / (n * inner); row++)
		for (int64_t j = 0; j < inner; j++)
			for (int64_t i = 0; i < n; i++) {
				int64_t group = i / s.kept, k = i % s.kept, p[2] = { 0, 0 }, to;

				for (int q = 0; q < s.npos; q++)
					p[q] = at->i[(row * m + group * s.npos + q) * inner + j];
				if (s.npos == 2 && !check_order(it, o, p, group))
					return false;
				to = group * s.group + p[k / s.unit] * s.unit + k % s.unit;
				to = (row * 2 * n + to) * inner + j;
				if (flt)
					r->f[to] += v->f[(row * n + i) * inner + j];
				else
					r->i[to] += v->i[(row * n + i) * inner + j];
			}
	return true;
}

bool
eval_sparse_expand(Interp *it, Op *o)
{
	return interp_sparse_expand(it, o, sparse_values(o), sparse_positions(o), (int)IMM(o, dim),
	                            slot_of(it, o->out[0]));
}
