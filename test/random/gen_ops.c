/* gen_ops.c - generates operations that compute values from values. */
#include "gen.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool
same_kind(const Val *v, const void *with)
{
	const Val *a = with;

	if (v->t != a->t)
		return false;
	for (int i = 1; i <= v->rank && i <= a->rank; i++) {
		int x = v->e[v->rank - i], y = a->e[a->rank - i];
		if (x != y && x != 1 && y != 1)
			return false;
	}
	return true;
}

static Val *
broadcast(Gen *g, const Val *a, const Val *b)
{
	int rank = a->rank > b->rank ? a->rank : b->rank, e[RANKS];
	Val *v;

	for (int i = 1; i <= rank; i++) {
		int x = i <= a->rank ? a->e[a->rank - i] : 1;
		int y = i <= b->rank ? b->e[b->rank - i] : 1;
		e[rank - i] = x > y ? x : y;
	}
	v = new_val(g, a->t, rank, e);
	v->loose = a->loose || b->loose;
	if (elements(v) > 8192) { /* take it back */
		g->nval--;
		return NULL;
	}
	return v;
}

Val *
cast(Gen *g, Val *x, Dt t)
{
	Val *v;

	if (!x || (x->loose && !is_float(t)) || (is_float(t) && x->mag > dt_max(t)))
		return NULL;
	v = new_val(g, t, x->rank, x->e);
	v->mag = t == BOOL ? 1 : x->mag;
	v->whole = x->whole;
	v->loose = x->loose;
	fit(v);
	line(g, "let %s = %s(%s);", v->name, dt_name(t), x->name);
	return v;
}

Val *
arith(Gen *g, Val *x)
{
	return !x || is_arith(x->t) ? x : cast(g, x, (Dt[]){ F16, F32, I32, I8 }[below(g, 4)]);
}

/* A function of the prelude, one that its arguments keep small; those of integers keep every bit. */
static Val *
prelude(Gen *g, Val *x)
{
	static const struct {
		const char *text;
		bool steps, loose;
	} fn[] = {
		{ "sin(@)", false, true },
		{ "cos(@)", false, true },
		{ "erf(@)", false, true },
		{ "erfc(@)", false, true },
		{ "sigmoid(@)", false, true },
		{ "gelu(@)", false, true },
		{ "gelu_tanh(@)", false, true },
		{ "silu(@)", false, true },
		{ "log1p(abs(@))", false, true },
		{ "log2(abs(@) + 1)", false, true },
		/* of f64 too */
		{ "clamp(@, -1, 2)", false, false },
		{ "floor(@)", true, false },
		{ "ceil(@)", true, false },
		{ "round(@)", true, false },
		{ "trunc(@)", true, false },
	};
	static const char *const in[] = { "popcount(@)", "clz(@)", "mulhi(@, @)", "clamp(@, 1, 5)" };
	int k = is_float(x->t) ? below(g, x->t == F64 ? 5 : 15) + (x->t == F64 ? 10 : 0) : below(g, 4);
	const char *f = is_float(x->t) ? fn[k].text : in[k];
	Val *v;
	Text t = { .n = 0 };

	if (is_float(x->t) && fn[k].steps && x->loose)
		return NULL;
	for (; *f; f++)
		t.n += *f == '@' ? snprintf(t.s + t.n, sizeof t.s - (size_t)t.n, "%s", x->name)
		                 : snprintf(t.s + t.n, sizeof t.s - (size_t)t.n, "%c", *f);
	v = new_val(g, x->t, x->rank, x->e);
	v->mag = is_float(x->t) ? x->mag + 2 : dt_max(x->t);
	v->loose = x->loose || (is_float(x->t) && fn[k].loose);
	v->whole = is_float(x->t) && (x->whole || fn[k].steps) && !fn[k].loose;
	fit(v);
	line(g, "let %s = %s;", v->name, t.s);
	return v;
}

Val *
unary(Gen *g)
{
	static const char *const fn[] = {
		"-@", "abs(@)", "@ * 2", "@ + 1", "exp(@)", "exp2(@)", "tanh(@)", "log(abs(@) + 1)",
		"sqrt(abs(@) + 1)", "rsqrt(abs(@) + 1)", "@ * 0.5", "min(@, 1)", "1 / (abs(@) + 1)"
	};
	static const char *const in[] = { "-@", "@ + 3", "@ * 3", "@ / 3", "max(@, 2)",
		                          "@ << 1", "@ >> 2", "@ & 6", "~@", "@ % 7" };
	Val *x = arith(g, pick(g, NULL, NULL)), *v;
	const char *f;
	int k, n;

	if (!x)
		return NULL;
	if (chance(g, 25))
		return prelude(g, x);
	k = is_float(x->t) ? below(g, 13) : below(g, 10);
	if ((x->t == U8 || x->t == U16 || x->t == U32) && k == 0)
		k = 1;
	if (is_float(x->t) && (x->mag * 2 + 1 > dt_max(x->t) || ((k == 4 || k == 5) && x->mag > 8)))
		return NULL;
	v = new_val(g, x->t, x->rank, x->e);
	v->loose = x->loose;
	v->mag = x->mag * 3 + 3;
	if (is_float(x->t)) {
		v->mag = k == 2 ? x->mag * 2 : k == 3     ? x->mag + 1
		                       : k == 4 || k == 5 ? exp(x->mag)
		                                          : x->mag + 1;
		v->whole = x->whole && k < 4;
		v->loose = x->loose || (k >= 4 && k <= 9);
	}
	fit(v);
	f = is_float(x->t) ? fn[k] : in[k];
	n = (int)strcspn(f, "@");
	line(g, "let %s = %.*s%s%s;", v->name, n, f, x->name, f + n + 1);
	return v;
}

Val *
binary(Gen *g)
{
	Val *a = arith(g, pick(g, NULL, NULL)), *b, *v;
	int k = below(g, 8);

	if (!a)
		return NULL;
	b = pick(g, same_kind, a);
	if (!b || chance(g, 30)) { /* a row or column or the like */
		int e[RANKS], rank = 1 + below(g, a->rank);
		for (int d = 0; d < rank; d++)
			e[d] = chance(g, 30) ? 1 : a->e[a->rank - rank + d];
		b = load(g, a->t, rank, e);
	}
	if (is_float(a->t) && (k < 2 ? a->mag + b->mag : k < 4 ? a->mag * b->mag
	                                                       : 0) > dt_max(a->t))
		return NULL;
	if (a->t == BOOL || !(v = broadcast(g, a, b)))
		return NULL;
	v->whole = a->whole && b->whole;
	v->mag = k < 2 ? a->mag + b->mag : k < 4     ? a->mag * b->mag
	                           : a->mag > b->mag ? a->mag
	                                             : b->mag;
	if (!is_float(v->t))
		v->mag = dt_max(v->t);
	fit(v);
	if (k < 4)
		line(g, "let %s = %s %c %s;", v->name, a->name, "+-**"[k], b -> name);
	else if (k == 4 && !is_float(v->t))
		line(g, "let %s = %s ^ %s;", v->name, a->name, b->name);
	else if (k == 5 && is_float(v->t)) {
		v->whole = false;
		line(g, "let %s = %s / (abs(%s) + 1);", v->name, a->name, b->name);
	} else
		line(g, "let %s = %s(%s, %s);", v->name, k & 1 ? "max" : "min", a->name, b->name);
	return v;
}

/* A comparison or a where with one. */
Val *
choose(Gen *g)
{
	static const char *const cmp[] = { "<", "<=", ">", ">=", "==", "!=" };
	Val *a = pick(g, NULL, NULL), *b, *v;
	const char *op = cmp[below(g, 6)];

	if (a && a->t == BOOL) {
		b = pick(g, NULL, NULL);
		Val like = b ? *b : *a;
		like.t = BOOL;
		if (!b || !is_arith(b->t) || !same_kind(a, &like))
			return NULL;
		Val *w = broadcast(g, a, b);
		if (!w)
			return NULL;
		w->t = b->t;
		w->whole = b->whole;
		w->mag = b->mag + 1;
		fit(w);
		line(g, "let %s = where(%s%s, %s, 1);", w->name, chance(g, 50) ? "!" : "", a->name,
		     b->name);
		return w;
	}
	a = arith(g, a);
	if (!a || a->loose)
		return NULL;
	b = pick(g, same_kind, a);
	if (!b || b->loose || !(v = broadcast(g, a, b)))
		return NULL;
	if (chance(g, 40)) {
		v->t = BOOL;
		v->mag = 1;
		fit(v);
		if (chance(g, 50))
			line(g, "let %s = %s %s %s;", v->name, a->name, op, b->name);
		else
			line(g, "let %s = %s %s 1 && %s > 0;", v->name, a->name, op, b->name);
		return v;
	}
	v->whole = a->whole && b->whole;
	v->mag = a->mag > b->mag ? a->mag : b->mag;
	fit(v);
	line(g, "let %s = where(%s %s %s, %s, %s);", v->name, a->name, op, b->name, b->name,
	     a->name);
	return v;
}

Val *
index_tile(Gen *g)
{
	Val *x = pick(g, NULL, NULL), *v;
	int d;
	char t[40];

	if (!x || x->rank == 0)
		return NULL;
	d = below(g, x->rank);
	if (chance(g, 50) && is_arith(x->t)) { /* a mask by coordinates */
		int other = below(g, x->rank);
		v = new_val(g, x->t, x->rank, x->e);
		v->mag = x->mag + 1;
		v->whole = x->whole;
		v->loose = x->loose;
		fit(v);
		line(g, "let %s = where(iota(%d, %s) + i32(block.x) >= iota(%d, %s), %s, %d);",
		     v->name, d, dims(x, t), other, t, x->name, below(g, 2));
		return v;
	}
	v = new_val(g, I32, x->rank, x->e);
	v->mag = v->e[d];
	fit(v);
	line(g, "let %s = iota(%d, %s);", v->name, d, dims(v, t));
	return v;
}

static int
permute(Gen *g, const Val *x, int *e, char *t, size_t n)
{
	int p[RANKS] = { 0, 1, 2, 3 }, s = 0;

	for (int i = x->rank - 1; i > 0; i--) {
		int j = below(g, i + 1), w = p[i];
		p[i] = p[j];
		p[j] = w;
	}
	for (int d = 0; d < x->rank; d++) {
		e[d] = x->e[p[d]];
		s += snprintf(t + s, n - (size_t)s, d ? ", %d" : "%d", p[d]);
	}
	return x->rank;
}

static int
insert(int *e, int rank, int at, int extent)
{
	for (int d = rank; d > at; d--)
		e[d] = e[d - 1];
	e[at] = extent;
	return rank + 1;
}

/* Another shape of the same elements: extents of 1 come and go; neighbours become one dim, and a dim two. */
static int
reshape(Gen *g, const Val *x, int *e)
{
	int rank = 0, at, by;

	for (int d = 0; d < x->rank; d++)
		if (x->e[d] != 1 || chance(g, 50))
			e[rank++] = x->e[d];
	for (int i = below(g, 5); i > 0; i--) {
		at = rank ? below(g, rank) : 0;
		if (rank < RANKS && (rank == 0 || chance(g, 30))) {
			rank = insert(e, rank, at, 1);
		} else if (at + 1 < rank && chance(g, 50)) {
			e[at] *= e[at + 1];
			for (int d = at + 1; d + 1 < rank; d++)
				e[d] = e[d + 1];
			rank--;
		} else if (rank < RANKS && e[at] > 1) {
			do
				by = 1 + below(g, e[at]);
			while (e[at] % by);
			e[at] /= by;
			rank = insert(e, rank, at + below(g, 2), by);
		}
	}
	return rank ? rank : insert(e, 0, 0, 1);
}

Val *
rearrange(Gen *g)
{
	Val *x = pick(g, NULL, NULL), *v;
	bool turn = x && x->rank >= 2 && chance(g, 50);
	int e[RANKS + 1], rank;
	char t[60];

	if (!x)
		return NULL;
	rank = turn ? permute(g, x, e, t, sizeof t) : reshape(g, x, e);
	v = new_val(g, x->t, rank, e);
	if (turn)
		line(g, "let %s = transpose(%s, %s);", v->name, x->name, t);
	else
		line(g, "let %s = reshape(%s, %s);", v->name, x->name, dims(v, t));
	v->mag = x->mag;
	v->whole = x->whole;
	v->loose = x->loose;
	return v;
}

Val *
reduce(Gen *g)
{
	static const char *const fn[] = { "sum", "sum", "reduce_max", "reduce_min", "mean" };
	Val *x = arith(g, pick(g, NULL, NULL)), *v;
	int d, k;

	if (!x)
		return NULL;
	d = below(g, x->rank);
	k = below(g, is_float(x->t) ? 5 : 4);
	if (k < 2 && is_float(x->t) && x->mag * x->e[d] > dt_max(x->t))
		k = 2;
	v = new_val(g, x->t, x->rank, x->e);
	v->e[d] = 1;
	v->loose = x->loose;
	v->mag = k < 2 ? x->mag * x->e[d] : x->mag;
	v->whole = x->whole && k < 4;
	fit(v);
	/* all outside: the identity comes out of a maximum, so it is kept out of what follows */
	if (is_float(x->t) && (k == 4 || (k < 2 && !v->whole)))
		v->loose = true;
	if (is_float(x->t) && (k == 2 || k == 3)) {
		line(g, "let %s = max(min(%s(%s, %d), %d), -%d);", v->name, fn[k], x->name, d,
		     (int)v->mag + 1, (int)v->mag + 1);
		v->mag = (int)v->mag + 1;
		fit(v);
	} else {
		line(g, "let %s = %s(%s, %d);", v->name, fn[k], x->name, d);
	}
	return v;
}

static bool
multiplies(const Val *v, const void *unused)
{
	(void)unused;
	return v->rank == 2 && (v->t <= U8 || v->t == I32) && v->e[0] * v->e[1] <= 8192;
}

typedef struct Right {
	Dt t;
	int k, n;
} Right;

static bool
right_of(const Val *v, const void *with)
{
	const Right *r = with;

	return v->rank == 2 && v->t == r->t && v->e[0] == r->k && (r->n == 0 || v->e[1] == r->n);
}

static bool
right_of_turned(const Val *v, const void *with)
{
	const Right *r = with;

	return v->rank == 2 && v->t == r->t && v->e[1] == r->k && (r->n == 0 || v->e[0] == r->n);
}

static Val *
left_of(Gen *g, const Val *acc, bool *turned)
{
	static const int ms[] = { 16, 16, 32, 64, 8, 48, 1, 4 }, ks[] = { 16, 16, 32, 32, 64, 8, 48 };
	static const Dt some[] = { F16, F16, F16, BF16, F32, I8, U8, I32, F64 };
	Dt t = some[below(g, chance(g, 90) ? 8 : 9)];
	int e[2];
	Val *a;

	*turned = false;
	if (acc)
		t = acc->t == I32                                 ? (chance(g, 70) ? I8 : I32)
		    : acc->t == F16 || (acc->t == F32 && t > F32) ? F16
		                                                  : t;
	if (!acc && chance(g, 50) && (a = pick(g, multiplies, NULL)))
		return a;
	e[0] = acc ? acc->e[0] : ms[below(g, 8)];
	e[1] = ks[below(g, 7)];
	if ((*turned = chance(g, 25))) {
		int w = e[0];
		e[0] = e[1];
		e[1] = w;
	}
	return load(g, t, 2, e);
}

Val *
dot(Gen *g, const Val *acc)
{
	static const int ns[] = { 8, 16, 16, 32, 32, 64, 24 };
	bool at, bt = chance(g, 50), small;
	Val *a = left_of(g, acc, &at), *b = NULL, *v;
	int k = a->e[at ? 0 : 1], m = a->e[at ? 1 : 0], e[2];
	Right r = { a->t, k, acc ? acc->e[1] : 0 };
	Dt t = a->t == F64 ? F64 : is_float(a->t) ? F32
	                                          : I32;
	double mag;

	if (chance(g, 50))
		b = pick(g, bt ? right_of_turned : right_of, &r);
	if (!b) {
		e[bt ? 1 : 0] = k;
		e[bt ? 0 : 1] = acc ? acc->e[1] : ns[below(g, 7)];
		b = load(g, a->t, 2, e);
	}
	mag = a->mag * b->mag * k;
	small = a->t == F16 && mag < 2000 && !a->loose && !b->loose && a->whole && b->whole;
	if (acc ? acc->t == F16 : small && chance(g, 40))
		t = F16;
	if ((acc && acc->t != t) || (is_float(t) && mag > dt_max(t)) || (t == F16 && !small))
		return NULL;
	e[0] = m;
	e[1] = b->e[bt ? 0 : 1];
	v = new_val(g, t, 2, e);
	v->mag = mag;
	v->whole = a->whole && b->whole;
	fit(v);
	v->loose = a->loose || b->loose || (is_float(t) && !v->whole);
	line(g, "%s%s %s dot(%s%s, %s%s%s);", acc ? "" : "let ", acc ? acc->name : v->name,
	     acc ? "+=" : "=", a->name, at ? ".T" : "", b->name, bt ? ".T" : "",
	     t == F16 ? ", f16" : "");
	return v;
}

Val *
products(Gen *g)
{
	static const int bs[] = { 2, 3, 4, 8 }, ms[] = { 16, 16, 32, 1, 4 }, ns[] = { 8, 16, 24, 1 };
	static const int ks[] = { 16, 32, 32, 8 };
	static const Dt some[] = { F16, F16, BF16, F32, I8, U8 };
	Dt t = some[below(g, 6)];
	int b = bs[below(g, 4)], m = ms[below(g, 5)], n = ns[below(g, 4)], k = ks[below(g, 4)];
	bool turned = chance(g, 50);
	Val *x = load(g, t, 3, (int[]){ b, m, k }), *v;
	Val *y = load(g, t, 3, turned ? (int[]){ b, n, k } : (int[]){ b, k, n });

	v = new_val(g, is_float(t) ? F32 : I32, 3, (int[]){ b, m, n });
	v->mag = x->mag * y->mag * k;
	v->whole = x->whole && y->whole;
	fit(v);
	v->loose = x->loose || y->loose || (is_float(t) && !v->whole);
	line(g, turned ? "let %s = dot(%s, transpose(%s, 0, 2, 1));" : "let %s = dot(%s, %s);", v->name,
	     x->name, y->name);
	return v;
}
