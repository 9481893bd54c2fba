/* butterfly.c - finds the bits of lane and register index that a layout conversion exchanges. */
#include "taskmap/butterfly.h"

/* Digits that move from a lane bit to registers, and from registers to a lane bit. */
typedef struct ButterflyBits {
	Iter *leave[EXCHANGE_MAX], *come[EXCHANGE_MAX]; /* of `from` */
	int64_t to[EXCHANGE_MAX]; /* the lane bit that come[] gets */
	int nleave, ncome;
} ButterflyBits;

static bool
sort_digit(Iter *x, const Iter *y, int elems, ButterflyBits *m)
{
	if (x->axis == y->axis) {
		if (x->axis != AX_reg)
			return x->stride == y->stride;
		return x->stride >= elems ? y->stride >= elems : x->stride == y->stride;
	}
	if (x->extent != 2 || m->nleave == EXCHANGE_MAX || m->ncome == EXCHANGE_MAX)
		return false;
	if (x->axis == AX_lane && y->axis == AX_reg && is_pow2(x->stride) && y->stride >= elems) {
		m->leave[m->nleave++] = x;
		return true;
	}
	if (x->axis == AX_reg && y->axis == AX_lane && is_pow2(y->stride) && is_pow2(x->stride) &&
	    x->stride >= elems) {
		m->to[m->ncome] = y->stride;
		m->come[m->ncome++] = x;
		return true;
	}
	return false;
}

bool
exchange_find(const Layout *from, const Layout *to, int elems, Exchange *x)
{
	Layout b = *to;
	ButterflyBits m = { .nleave = 0 };

	x->mid = *from;
	x->n = 0;
	for (int d = 0; d < from->ndim; d++)
		if (!layout_refine(&x->mid, &b, d, true))
			return false;
	for (int i = 0; i < x->mid.n; i++)
		if (!sort_digit(&x->mid.it[i], &b.it[i], elems, &m))
			return false;
	if (m.nleave != m.ncome || m.nleave == 0)
		return false;
	for (int i = 0; i < m.nleave; i++) {
		int j;

		for (j = 0; j < m.ncome && m.to[j] != m.leave[i]->stride; j++)
			;
		if (j == m.ncome || m.leave[i]->axis != AX_lane)
			return false;
		x->lane[x->n] = (int)m.to[j];
		x->reg[x->n++] = m.come[j]->stride;
		m.leave[i]->axis = AX_reg;
		m.leave[i]->stride = m.come[j]->stride;
		m.come[j]->axis = AX_lane;
		m.come[j]->stride = m.to[j];
	}
	return layout_equal_threads(&x->mid, to);
}
