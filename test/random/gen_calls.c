/* gen_calls.c - generates functions of the program in scans and reductions, random bits, tables, sub-byte
 * types. */
#include "gen.h"
#include <stdio.h>

/* All programs have them in front. */
const char *const functions =
	"fn add(a, b) { return a + b; }\n"
	"fn larger(a, b) { return max(a, b); }\n"
	"fn first(a, b) { return a; }\n"
	"fn second(a, b) { return b; }\n"
	"fn linear(a, b, c, d) { return a * c, b * c + d; }\n"
	"fn best(a, i, b, j) { let t = a >= b; return where(t, a, b), where(t, i, j); }\n";

static Val *
named(Gen *g, const Val *x, Dt t, int d, bool scan)
{
	Val *v = new_val(g, t, x->rank, x->e);

	if (!scan)
		v->e[d] = 1;
	v->whole = x->whole;
	v->loose = x->loose;
	v->mag = is_float(t) ? x->mag + 1 : dt_max(t);
	fit(v);
	return v;
}

/* Two values at once: a recurrence of integers, or the first of the largest elements and where it is. */
static Val *
pairs(Gen *g, Val *x, int d, const char *how)
{
	bool scan = how[0] == 's';
	Val *v, *w;
	char t[40];

	if (x->loose)
		return NULL;
	if (!is_float(x->t) && chance(g, 50)) {
		v = named(g, x, x->t, d, scan);
		w = named(g, x, x->t, d, scan);
		line(g, "let (%s, %s) = %s(linear, %d, %s, %s ^ 5);", v->name, w->name, how, d, x->name,
		     x->name);
		return w;
	}
	v = named(g, x, x->t, d, scan);
	w = named(g, x, I32, d, scan);
	line(g, "let (%s, %s) = %s(best, %d, %s, iota(%d, %s));", v->name, w->name, how, d, x->name,
	     below(g, x->rank), dims(x, t));
	return w;
}

/* A scan, or a reduction, by a function of the program. */
Val *
fold(Gen *g)
{
	static const char *const fn[] = { "add", "larger", "first", "second" };
	Val *x = arith(g, pick(g, NULL, NULL)), *v;
	const char *how = chance(g, 50) ? "scan" : "reduce";
	int d, k = below(g, 4);

	if (!x || x->rank == 0)
		return NULL;
	d = below(g, x->rank);
	if (chance(g, 35))
		return pairs(g, x, d, how);
	if (chance(g, 15)) {
		v = named(g, x, x->t, d, false);
		line(g, "let %s = reduce_last(%s, %d);", v->name, x->name, d);
		return v;
	}
	if (chance(g, 15) && !is_float(x->t)) {
		v = named(g, x, x->t, d, true);
		line(g, "let %s = cumprod(%s, %d);", v->name, x->name, d);
		return v;
	}
	if (k == 0 && is_float(x->t) && x->mag * x->e[d] > dt_max(x->t))
		k = 1;
	v = named(g, x, x->t, d, how[0] == 's');
	if (k == 0 && is_float(x->t)) {
		v->mag = x->mag * x->e[d];
		fit(v);
		v->loose |= !v->whole;
	}
	line(g, "let %s = %s(%s, %d, %s);", v->name, how, fn[k], d, x->name);
	return v;
}

/* Random bits of an index tile; one word or four. */
Val *
bits(Gen *g)
{
	int e[RANKS], rank = 1 + below(g, 2), d = below(g, rank);
	char t[40];
	Val *v;

	for (int i = 0; i < rank; i++)
		e[i] = extent(g);
	if (rank == 2 && e[0] * e[1] > 2048)
		e[0] = 4;
	v = new_val(g, U32, rank, e);
	v->mag = dt_max(U32);
	fit(v);
	dims(v, t);
	if (chance(g, 50))
		line(g, "let %s = random(%d, iota(%d, %s) + i32(block.x));", v->name, below(g, 99), d, t);
	else
		line(g, "let (%s, _b%s, _c%s, _d%s) = random(block.x, iota(%d, %s) * 3);", v->name, v->name,
		     v->name, v->name, d, t);
	return v;
}

static bool
four_bits(const Val *v, const void *unused)
{
	(void)unused;
	return v->t == U4 && !v->loose;
}

/* 16 numbers by indices of 4 bits: one table, or one for each row. */
Val *
table(Gen *g)
{
	static const Dt some[] = { F16, F32, BF16, I32, I8, U16 };
	Val *x = pick(g, four_bits, NULL), *t, *v;
	int e[RANKS];
	bool each = x && x->rank == 2 && chance(g, 40);

	if (!x)
		return NULL;
	e[0] = each ? x->e[0] : 16;
	e[1] = 16;
	char name[24];
	snprintf(name, sizeof name, "%s", x->name);
	int rank = x->rank, shape[RANKS];
	for (int d = 0; d < rank; d++)
		shape[d] = x->e[d];
	t = load(g, some[below(g, 6)], each ? 2 : 1, e);
	v = new_val(g, t->t, rank, shape);
	v->mag = t->mag;
	v->whole = t->whole;
	line(g, "let %s = lookup(%s, %s);", v->name, t->name, name);
	t->used = true;
	return v;
}

/* A tile of a type that only loads, stores and casts. */
Val *
narrow(Gen *g)
{
	static const char *const type[] = { "e4m3", "e5m2", "e2m1", "e3m2", "u2", "i2",
		                            "u1",   "i6",   "u3",   "e2m3", "e4m2" };
	static const int lo[] = { -3, -3, -2, -3, 0, -2, 0, -20, 0, -3, -3 };
	static const int hi[] = { 4, 4, 3, 4, 4, 2, 2, 20, 8, 4, 4 };
	int k = below(g, 11), e[2] = { 1 + below(g, 24), 32 << below(g, 3) };
	int more = chance(g, 70) ? 0 : 32, from = chance(g, 20) ? 32 : 0;
	Val *v = new_val(g, (Dt[]){ F16, F32, BF16, F16 }[below(g, 4)], 2, e);

	v->mag = 20;
	v->whole = true;
	put(&g->params, ", X%d: %s[%d, %d]", g->nin, type[k], e[0] + below(g, 3), e[1] + more);
	put(&g->args, " X%d=randint(%d,%d,%d)", g->nin, below(g, 1000), lo[k], hi[k]);
	g->in[g->nin] = (Tensor){ .t = BOOL, .rank = 9 };
	line(g, "let n%s: %s = X%d[0 :+ %d, %d :+ %d];", v->name, chance(g, 50) ? "shared" : "register",
	     g->nin, e[0], from, e[1]);
	g->nin++;
	if (chance(g, 40)) {
		int w = v->e[0];
		v->e[0] = v->e[1];
		v->e[1] = w;
		line(g, "let %s = %s(n%s.T);", v->name, dt_name(v->t), v->name);
	} else {
		line(g, "let %s = %s(n%s);", v->name, dt_name(v->t), v->name);
	}
	return v;
}
