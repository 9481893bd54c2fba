/* util_tv.c - converts a register layout to its thread-value form and back. */
#include "test/taskmap/util_cute.h"

/* A digit of a layout: extent, its stride on an axis, and its weight in the logical index.  Weight 0:
 * replication. */
typedef struct TvDigit {
	int64_t extent, stride, weight;
} TvDigit;

/* The digits on one axis sorted by stride; -1 when there are too many. */
static int
tv_digits(TvDigit *g, const Layout *l, Axis axis)
{
	int64_t weight = 1;
	int n = 0;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = i < l->n ? &l->it[i] : &l->rep[i - l->n];
		TvDigit cur = { it->extent, it->stride, i < l->n ? weight : 0 };
		int at = n;

		if (i < l->n)
			weight *= it->extent;
		if (it->axis != axis || it->stride == 0 || it->extent == 1)
			continue;
		for (; at > 0 && cur.stride < g[at - 1].stride; at--)
			g[at] = g[at - 1];
		g[at] = cur;
		n++;
	}
	return n;
}

/* Append extent:stride, merging it with the mode before when it continues that. */
static bool
tv_push(Layout *out, int64_t extent, int64_t stride)
{
	Iter *last = out->n ? &out->it[out->n - 1] : NULL;

	if (extent == 1)
		return true;
	if (last && last->stride * last->extent == stride) {
		last->extent *= extent;
		return true;
	}
	return layout_push(out, 0, extent, stride, AX_mem);
}

/* Append the modes of one axis, filling gaps with stride 0 up to `count` places (0: as they come). */
static bool
tv_axis(Layout *out, const Layout *l, Axis axis, int64_t count)
{
	TvDigit g[ITER_MAX + REP_MAX];
	int64_t cur = 1;
	int n = tv_digits(g, l, axis);

	for (int i = 0; i < n; i++) {
		if (g[i].stride < cur || g[i].stride % cur || !tv_push(out, g[i].stride / cur, 0) ||
		    !tv_push(out, g[i].extent, g[i].weight))
			return false;
		cur = g[i].stride * g[i].extent;
	}
	if (count == 0)
		return true;
	return cur <= count && count % cur == 0 && tv_push(out, count / cur, 0);
}

/* One dim of all modes becomes one dim per mode. */
static void
tv_flat(Layout *l)
{
	Layout in = *l;

	modes_flat_layout(l, in.it, in.n);
}

bool
tv_from_layout(Layout *t, Layout *v, const Layout *l, int nwarp)
{
	Layout rt, rv;

	layout_init(&rt, 1);
	layout_init(&rv, 1);
	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = i < l->n ? &l->it[i] : &l->rep[i - l->n];

		if (it->stride < 0 || (it->stride && it->extent > 1 && it->axis != AX_reg &&
		                       it->axis != AX_lane && it->axis != AX_warp))
			return false;
	}
	for (int x = 0; x < AX_COUNT; x++) {
		if (l->offset[x])
			return false;
	}
	if (!tv_axis(&rt, l, AX_lane, WARP_SIZE) || !tv_axis(&rt, l, AX_warp, nwarp) ||
	    !tv_axis(&rv, l, AX_reg, 0))
		return false;
	tv_flat(&rt);
	tv_flat(&rv);
	*t = rt;
	*v = rv;
	return true;
}

/* ---- from TV -------------------------------------------------------------------------------------- */

/* A piece of a mode that is in one dim: extent positions of that dim, `weight` apart. */
typedef struct TvPiece {
	int64_t extent, stride, weight;
	int dim;
	Axis axis;
} TvPiece;

typedef struct TvPieces {
	TvPiece p[ITER_MAX];
	int n;
	Layout *out; /* replication goes here at once */
} TvPieces;

/* Insert sorted by (dim, weight). */
static bool
tv_add_piece(TvPieces *s, TvPiece cur)
{
	int at = s->n;

	if (s->n == ITER_MAX)
		return false;
	for (; at > 0; at--) {
		const TvPiece *q = &s->p[at - 1];

		if (q->dim < cur.dim || (q->dim == cur.dim && q->weight <= cur.weight))
			break;
		s->p[at] = *q;
	}
	s->p[at] = cur;
	s->n++;
	return true;
}

/* A mode of `extent` places `stride` apart on the axis, `weight` apart in the logical index. */
static bool
tv_add_mode(TvPieces *s, TvDigit g, Axis axis, int ndim, const int64_t *shape)
{
	int64_t below = 1;

	if (g.weight == 0)
		return axis == AX_reg || layout_push_rep(s->out, g.extent, g.stride, axis);
	for (int d = 0; d < ndim && g.extent > 1; d++) {
		int64_t above = below * shape[d], part = g.extent;

		if (g.weight < above) {
			if (g.weight % below)
				return false;
			if ((g.extent - 1) * g.weight >= above) {
				part = above / g.weight;
				if (above % g.weight || g.extent % part)
					return false;
			}
			if (!tv_add_piece(s, (TvPiece){ part, g.stride, g.weight / below, d, axis }))
				return false;
			g.extent /= part;
			g.stride *= part;
			g.weight *= part;
		}
		below = above;
	}
	return g.extent == 1;
}

/* T, cut into lanes and warps. */
static bool
tv_add_threads(TvPieces *s, const Layout *t, int ndim, const int64_t *shape)
{
	int64_t at = 1;

	for (int i = 0; i < t->n; i++) {
		TvDigit g = { t->it[i].extent, at, t->it[i].stride };
		int64_t lanes;

		if (g.weight < 0 || t->it[i].axis != AX_mem)
			return false;
		at *= g.extent;
		if (g.stride < WARP_SIZE) {
			lanes = at <= WARP_SIZE ? g.extent : WARP_SIZE / g.stride;
			if (at > WARP_SIZE && (WARP_SIZE % g.stride || g.extent % lanes))
				return false;
			if (!tv_add_mode(s, (TvDigit){ lanes, g.stride, g.weight }, AX_lane, ndim, shape))
				return false;
			g.extent /= lanes;
			g.stride *= lanes;
			g.weight *= lanes;
		}
		g.stride /= WARP_SIZE;
		if (g.extent > 1 && !tv_add_mode(s, g, AX_warp, ndim, shape))
			return false;
	}
	return true;
}

static bool
tv_add_values(TvPieces *s, const Layout *v, int ndim, const int64_t *shape)
{
	int64_t reg = 1;

	for (int i = 0; i < v->n; i++) {
		TvDigit g = { v->it[i].extent, reg, v->it[i].stride };

		if (g.weight < 0 || v->it[i].axis != AX_mem ||
		    !tv_add_mode(s, g, AX_reg, ndim, shape))
			return false;
		if (g.weight > 0)
			reg *= g.extent;
	}
	return true;
}

bool
layout_from_tv(Layout *out, const Layout *t, const Layout *v, int ndim, const int64_t *shape)
{
	Layout r;
	TvPieces s = { .n = 0, .out = &r };
	int at = 0;

	if (ndim < 0 || ndim > DIM_MAX)
		return false;
	for (int d = 0; d < ndim; d++) {
		if (shape[d] < 1)
			return false;
	}
	layout_init(&r, ndim);
	if (!tv_add_threads(&s, t, ndim, shape) || !tv_add_values(&s, v, ndim, shape))
		return false;
	for (int d = 0; d < ndim; d++) {
		int64_t cur = 1;

		for (; at < s.n && s.p[at].dim == d; at++) {
			const TvPiece *p = &s.p[at];

			if (p->weight % cur || !layout_push(&r, d, p->weight / cur, 0, AX_reg) ||
			    !layout_push(&r, d, p->extent, p->stride, p->axis))
				return false;
			cur = p->weight * p->extent;
		}
		if (shape[d] % cur || !layout_push(&r, d, shape[d] / cur, 0, AX_reg))
			return false;
	}
	*out = r;
	return true;
}
