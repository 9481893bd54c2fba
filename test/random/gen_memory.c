/* gen_memory.c - generates tensors, slices, shared tiles, stores. */
#include "gen.h"
#include <stdio.h>

/* A dim of a tensor of which a tile of ext elements is taken at each of n places: mostly ragged, as
 * a number, a size or twice a size. */
static void
tensor_dim(Gen *g, int ext, int n, bool bytes, char *to, size_t cap)
{
	int want = ext * n, slack = below(g, 4), size;

	size = slack == 0 ? want : slack == 1 ? want + 1 + below(g, ext)
	                                      : want - below(g, ext);
	if (size > 8 && chance(g, bytes ? 40 : 90))
		size = size / 8 * 8;
	if (chance(g, 25)) {
		snprintf(to, cap, "%d", size);
		return;
	}
	snprintf(to, cap, "S%d", g->nsize);
	if (chance(g, 10)) {
		snprintf(to, cap, "S%d * 2", g->nsize);
		size = (size + 1) / 2;
	}
	put(&g->args, " S%d=%d", g->nsize, size);
	for (int m = 32; m >= 2; m /= 2) {
		if (size % m == 0) {
			if (!bytes || chance(g, 60))
				put(&g->assumes, "    assume S%d %% %d == 0\n", g->nsize, m);
			break;
		}
	}
	if (chance(g, 20))
		put(&g->assumes, "    assume S%d <= %d\n", g->nsize, size);
	g->nsize++;
}

/* In front of the tensor's first element, some of the time: how far. */
static int
before(Gen *g, int ext)
{
	return ext > 1 && chance(g, 20) ? 1 + below(g, ext + 2) : 0;
}

/* Where a slice starts, and for how many places the tensor is to be long enough. */
static int
slice_start(Gen *g, int ext, bool written, char *to, size_t cap)
{
	int r = below(g, 10), less = written ? 0 : before(g, ext), n;

	if (g->iv[0] && !written && r < 6) {
		n = snprintf(to, cap, "%s", g->iv);
		if (less)
			snprintf(to + n, cap - (size_t)n, " - %d", less);
		return (g->iv_end + ext - 1) / ext;
	}
	if (r < 4) {
		int a = below(g, 2);
		n = snprintf(to, cap, ext == 1 ? "block.%c" : "block.%c * %d", "xy"[a], ext);
		if (less)
			snprintf(to + n, cap - (size_t)n, " - %d", less);
		return g->grid[a];
	}
	if (less) {
		snprintf(to, cap, "-%d", less);
		return 1;
	}
	if (r == 4 && ext > 1) {
		snprintf(to, cap, "%d", below(g, 3) ? ext / 2 : 1 + below(g, 5));
		return 2;
	}
	snprintf(to, cap, "0");
	return 1;
}

/* "start :+ ext", maybe by steps; behind what is in `to` already. */
static int
slice_dim(Gen *g, Dt t, bool first, const char *start, int ext, char *to, size_t cap)
{
	int n = snprintf(to, cap, first ? "%s :+ %d" : ", %s :+ %d", start, ext);

	if (is_arith(t) && chance(g, 10))
		n += snprintf(to + n, cap - (size_t)n, " step %d", 1 + below(g, 4));
	return n;
}

static Tensor *
declare_in(Gen *g, Dt t, int rank, const char *shape)
{
	Tensor *n = &g->in[g->nin++];

	*n = (Tensor){ .t = t, .rank = rank };
	put(&g->params, ", X%d: %s[%s]", g->nin - 1, dt_name(t), shape);
	if (is_float(t) && chance(g, 40)) {
		put(&g->args, " X%d=random(%d)", g->nin - 1, below(g, 1000));
		n->mag = 1;
	} else {
		static const int lo[NDT] = { -3, -3, -5, -9, -128, 0, -999,
			                     0, -900, 0, -999, 0, -8, 0 };
		static const int hi[NDT] = { 3, 3, 5, 9, 127, 255, 999,
			                     999, 900, 900, 999, 15, 7, 1 };
		put(&g->args, " X%d=randint(%d,%d,%d)", g->nin - 1, below(g, 1000), lo[t],
		    hi[t] + 1);
		n->mag = -lo[t] > hi[t] ? -lo[t] : hi[t];
		n->whole = true;
	}
	return n;
}

/* A slice of a new tensor with these extents; dims may be dropped before it. */
static void
new_slice(Gen *g, Val *v, const int *e, char *slice, size_t cap)
{
	char shape[200], dim[40], start[40];
	int n = 0, s = 0, drop = v->rank < 3 && chance(g, 15);
	Tensor *t;

	if (drop) {
		slice_start(g, 1, false, start, sizeof start);
		n = snprintf(shape, sizeof shape, "%d, ", g->iv[0] ? g->iv_end : 3);
		s = snprintf(slice, cap, "X%d[%s, ", g->nin, start);
	} else {
		s = snprintf(slice, cap, "X%d[", g->nin);
	}
	for (int d = 0; d < v->rank; d++) {
		int places = slice_start(g, e[d], false, start, sizeof start);
		tensor_dim(g, e[d], places, v->t != U4 && v->t != I4, dim, sizeof dim);
		n += snprintf(shape + n, sizeof shape - (size_t)n, d ? ", %s" : "%s", dim);
		s += slice_dim(g, v->t, d == 0, start, e[d], slice + s, cap - (size_t)s);
	}
	snprintf(slice + s, cap - (size_t)s, "]");
	t = declare_in(g, v->t, v->rank + drop, shape);
	if (v->rank == 2 && !drop && is_arith(v->t) && chance(g, 15)) { /* column-major */
		put(&g->params, " strides [1, L%d]", g->nsize);
		put(&g->args, " L%d=%d", g->nsize++, e[0] * 3 + 16);
	} else if (v->rank == 2 && !drop && is_arith(v->t) && chance(g, 6)) {
		put(&g->params, " strides [L%d, 2]", g->nsize);
		put(&g->args, " L%d=%d", g->nsize++, e[1] * 6 + 64 + below(g, 3));
	}
	v->mag = t->mag;
	v->whole = t->whole;
}

/* A slice of a tensor that is there already: no sizes to choose, so anything may be outside. */
static bool
old_slice(Gen *g, Val *v, const int *e, char *slice, size_t cap)
{
	char start[40];
	int i = g->nin ? below(g, g->nin) : 0, s;

	if (!g->nin || g->in[i].t != v->t || g->in[i].rank != v->rank)
		return false;
	s = snprintf(slice, cap, "X%d[", i);
	for (int d = 0; d < v->rank; d++) {
		slice_start(g, e[d], false, start, sizeof start);
		s += slice_dim(g, v->t, d == 0, start, e[d], slice + s, cap - (size_t)s);
	}
	snprintf(slice + s, cap - (size_t)s, "]");
	v->mag = g->in[i].mag;
	v->whole = g->in[i].whole;
	return true;
}

Val *
load(Gen *g, Dt t, int rank, const int *e)
{
	Val *v = new_val(g, t, rank, e);
	char slice[200];

	if (!old_slice(g, v, e, slice, sizeof slice))
		new_slice(g, v, e, slice, sizeof slice);
	v->shared = chance(g, g->async ? 70 : 35);
	line(g, "let %s: %s = %s;", v->name, v->shared ? "shared" : "register", slice);
	return v;
}

/* To a tensor of its own, each block to its own place; the dims in any order of the block's
 * coordinates. */
void
store(Gen *g, Val *v)
{
	char shape[200], slice[200], dim[40], text[60];
	bool used[2] = { g->grid[0] == 1, g->grid[1] == 1 };
	int n = 0, s = 0, first = below(g, 2);
	bool turn = v->rank == 2 && chance(g, 30);
	const char *what = v->name;

	if (turn) {
		snprintf(text, sizeof text, "%s.T", v->name);
		what = text;
	}
	for (int i = 0; i < 2 && v->rank == 1; i++)
		if (!used[i] && (i != first || used[!i])) {
			n += snprintf(shape + n, sizeof shape - (size_t)n, "%d, ", g->grid[i]);
			s += snprintf(slice + s, sizeof slice - (size_t)s, "block.%c, ", "xy"[i]);
			used[i] = true;
		}
	for (int d = 0; d < v->rank; d++) {
		int e = v->e[turn ? 1 - d : d], a = used[first] ? !first : first;
		bool by = !used[a];
		tensor_dim(g, e, by ? g->grid[a] : 1, v->t != U4 && v->t != I4, dim, sizeof dim);
		used[a] = true;
		n += snprintf(shape + n, sizeof shape - (size_t)n, d ? ", %s" : "%s", dim);
		if (d)
			s += snprintf(slice + s, sizeof slice - (size_t)s, ", ");
		if (by)
			s += snprintf(slice + s, sizeof slice - (size_t)s, "block.%c * ", "xy"[a]);
		s += snprintf(slice + s, sizeof slice - (size_t)s, by ? "%d :+ " : "0 :+ ", e);
		s += snprintf(slice + s, sizeof slice - (size_t)s, "%d", e);
	}
	if (is_arith(v->t) && !v->loose && chance(g, 15)) {
		put(&g->params, ", Y%d: inout %s[%s]", g->nout, dt_name(v->t), shape);
		put(&g->args, " Y%d=randint(%d,0,9)", g->nout, below(g, 1000));
		line(g, "Y%d[%s] += %s;", g->nout++, slice, what);
		return;
	}
	put(&g->params, ", Y%d: out %s[%s]", g->nout, dt_name(v->t), shape);
	line(g, "Y%d[%s] = %s;", g->nout++, slice, what);
}
