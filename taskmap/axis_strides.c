/* axis_strides.c - renumbers registers, and scales the strides of any axis. */
#include "taskmap/layout.h"
#include <string.h>

void
layout_compact_regs(Layout *l, const int *order)
{
	int64_t next = 1;

	for (int k = 0; k < l->ndim; k++) {
		int d = order ? order[k] : k;

		for (Digit g = dim_digits(l, d); g.it; digit_next(&g)) {
			Iter *it = &l->it[g.at];

			if (it->axis == AX_reg && it->stride != 0) {
				it->stride = next;
				next *= it->extent;
			}
		}
	}
	for (int i = 0; i < l->nrep; i++) {
		if (l->rep[i].axis == AX_reg) {
			l->rep[i].stride = next;
			next *= l->rep[i].extent;
		}
	}
	l->offset[AX_reg] = 0;
}

/* Numbers these iters compactly from `next` on, in order; returns the next free number. */
static int64_t
regs_number(Iter **reg, int n, int64_t next)
{
	for (int i = 0; i < n; i++) {
		reg[i]->stride = next;
		next *= reg[i]->extent;
	}
	return next;
}

/* Lists register iters of nonzero stride by ascending stride, including replication. */
static int
regs_sorted(Layout *l, Iter **reg)
{
	int n = 0;

	for (int i = 0; i < l->n + l->nrep; i++) {
		Iter *it = i < l->n ? &l->it[i] : &l->rep[i - l->n];
		int at = n;

		if (it->axis != AX_reg || it->stride == 0)
			continue;
		for (n++; at > 0 && it->stride < reg[at - 1]->stride; at--)
			reg[at] = reg[at - 1];
		reg[at] = it;
	}
	return n;
}

void
layout_squeeze_regs(Layout *l)
{
	Iter *reg[ITER_MAX + REP_MAX];

	regs_number(reg, regs_sorted(l, reg), 1);
	l->offset[AX_reg] = 0;
}

void
layout_regs_first(Layout *l, int n, const int *dim)
{
	Iter *reg[ITER_MAX + REP_MAX], *rest[ITER_MAX + REP_MAX];
	int all = regs_sorted(l, reg), k = 0;
	int64_t next = 1;

	for (int j = 0; j < n; j++) {
		Iter *it = &l->it[l->first[dim[j]]];

		it->stride = next;
		next *= it->extent;
	}
	for (int i = 0; i < all; i++) {
		bool first = false;

		for (int j = 0; j < n; j++)
			first = first || reg[i] == &l->it[l->first[dim[j]]];
		if (!first)
			rest[k++] = reg[i];
	}
	regs_number(rest, k, next);
	l->offset[AX_reg] = 0;
}

void
layout_scale(Layout *l, Axis axis, int64_t by)
{
	for (int i = 0; i < l->n + l->nrep; i++) {
		Iter *it = i < l->n ? &l->it[i] : &l->rep[i - l->n];

		if (it->axis == axis)
			it->stride *= by;
	}
	l->offset[axis] *= by;
}
