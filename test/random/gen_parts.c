/* gen_parts.c - generates scans, shifts, extremes, slices of tiles, concatenated tiles, rows selected by
 * indices. */
#include "gen.h"
#include <stdio.h>

static Val *
scan(Gen *g, Val *x, int d)
{
	static const char *const fn[] = { "cumsum", "cummax", "cummin", "shift" };
	int k = below(g, 4);
	Val *v;

	if (k == 0 && is_float(x->t) && x->mag * x->e[d] > dt_max(x->t))
		k = 1;
	v = new_val(g, x->t, x->rank, x->e);
	v->loose = x->loose;
	v->whole = x->whole;
	v->mag = k == 0 ? x->mag * x->e[d] : x->mag + 1;
	fit(v);
	if (k < 3)
		line(g, "let %s = %s(%s, %d);", v->name, fn[k], x->name, d);
	else if (chance(g, 50))
		line(g, "let %s = shift(%s, %d, %d, 1);", v->name, x->name, d, below(g, x->e[d]));
	else
		line(g, "let %s = shift(%s, %d, %d);", v->name, x->name, d, below(g, x->e[d]));
	return v;
}

static Val *
extreme(Gen *g, Val *x, int d)
{
	Val *v;

	if (x->loose)
		return NULL;
	v = new_val(g, I32, x->rank, x->e);
	v->e[d] = 1;
	v->mag = 2147483647;
	fit(v);
	line(g, "let %s = %s(%s, %d);", v->name, chance(g, 50) ? "argmax" : "argmin", x->name, d);
	return v;
}

/* The only dim in which they may differ; 0 where they do not, -1: there are several. */
static int
join_dim(const Val *v, const Val *a)
{
	int dim = 0, n = 0;

	for (int d = 0; d < v->rank; d++)
		if (v->e[d] != a->e[d]) {
			dim = d;
			n++;
		}
	return n > 1 ? -1 : dim;
}

static bool
joins(const Val *v, const void *with)
{
	const Val *a = with;

	return v->t == a->t && v->rank == a->rank && !v->shared && join_dim(v, a) >= 0;
}

static Val *
concat(Gen *g, Val *x)
{
	Val *y, *v;
	int e[RANKS], dim;

	if (x->shared || !(y = pick(g, joins, x)))
		return NULL;
	dim = join_dim(x, y);
	if (x->e[dim] == y->e[dim])
		dim = below(g, x->rank);
	for (int d = 0; d < x->rank; d++)
		e[d] = d == dim ? x->e[d] + y->e[d] : x->e[d];
	v = new_val(g, x->t, x->rank, e);
	v->loose = x->loose || y->loose;
	v->whole = x->whole && y->whole;
	v->mag = x->mag > y->mag ? x->mag : y->mag;
	line(g, "let %s = concat(%d, %s, %s);", v->name, dim, x->name, y->name);
	return v;
}

/* x[a :+ e, ...] of a register tile. */
static Val *
slice(Gen *g, Val *x)
{
	char text[120];
	int n = 0, at[RANKS], e[RANKS];
	Val *v;

	if (x->shared)
		return NULL;
	for (int d = 0; d < x->rank; d++) {
		e[d] = chance(g, 50) ? x->e[d] : 1 + below(g, x->e[d]);
		if (e[d] > 4)
			e[d] = e[d] / 4 * 4;
		at[d] = below(g, x->e[d] - e[d] + 1);
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%d :+ %d", d ? ", " : "", at[d], e[d]);
	}
	v = new_val(g, x->t, x->rank, e);
	v->loose = x->loose;
	v->whole = x->whole;
	v->mag = x->mag;
	line(g, "let %s = %s[%s];", v->name, x->name, text);
	return v;
}

static bool
indexes(const Val *v, const void *unused)
{
	(void)unused;
	return v->rank == 1 && (v->t == I32 || v->t == I64) && !v->loose;
}

/* Rows of a new tensor by a list; others than it has read 0. */
static Val *
rows(Gen *g)
{
	static const Dt some[] = { F16, F32, I32, I8, U8, I64 };
	Val *list = pick(g, indexes, NULL), *v;
	int n = g->nin, e[2], rank = 1 + below(g, 2);
	char from[40];
	Dt t = some[below(g, 6)];

	if (!list || list->shared)
		return NULL;
	snprintf(from, sizeof from, "%s", list->name);
	e[0] = list->e[0];
	e[1] = extent(g);
	v = new_val(g, t, rank, e);
	v->mag = 9;
	v->whole = true;
	fit(v);
	g->in[g->nin++] = (Tensor){ .t = t, .rank = rank, .mag = 9, .whole = true };
	put(&g->args, " X%d=randint(%d,0,9)", n, below(g, 1000));
	if (rank == 1) {
		put(&g->params, ", X%d: %s[%d]", n, dt_name(t), 3 + below(g, 60));
		line(g, "let %s: register = X%d[%s & 63];", v->name, n, from);
	} else {
		put(&g->params, ", X%d: %s[%d, %d]", n, dt_name(t), 3 + below(g, 20),
		    e[1] - below(g, 3) % e[1]);
		line(g, "let %s: %s = X%d[%s & 31, 0 :+ %d];", v->name,
		     "register", n, from, e[1]);
	}
	return v;
}

Val *
parts(Gen *g)
{
	int k = below(g, 100);
	Val *x;

	if (k < 20)
		return rows(g);
	x = arith(g, pick(g, NULL, NULL));
	if (!x || x->rank == 0)
		return NULL;
	if (k < 50)
		return scan(g, x, below(g, x->rank));
	if (k < 65)
		return extreme(g, x, below(g, x->rank));
	return k < 80 ? concat(g, x) : slice(g, x);
}
