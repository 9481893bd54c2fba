/* gen_flow.c - generates loops and conditions, and selects operations. */
#include "gen.h"
#include <stdio.h>
#include <string.h>

static Val *
cast_some(Gen *g, Val *x, bool common)
{
	static const Dt some[] = { F16, BF16, F32, I8, I32 };

	return cast(g, x, common ? some[below(g, 5)] : (Dt)below(g, NDT));
}

static Val *
other(Gen *g)
{
	int r = below(g, 100);

	if (r < 35)
		return fold(g);
	if (r < 60)
		return chosen(g);
	if (r < 70)
		return histogram(g);
	if (r < 78)
		return bits(g);
	return r < 85 ? table(g) : narrow(g);
}

bool
operation(Gen *g)
{
	static const int ranks[] = { 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4 };
	int r = below(g, 100), e[RANKS], n, rank = ranks[below(g, 12)];

	if (g->nval == 0 || r < 14) {
		static const Dt some[] = { F16, F16, F16, BF16, F32, F32, I8, U8, I32,
			                   I32, U4, I4, BOOL, F64, I16, U16, U32, I64 };
		do {
			n = 1;
			for (int d = 0; d < rank; d++) {
				e[d] = extent(g);
				n *= e[d];
			}
		} while (n > 4096);
		return load(g, some[below(g, 18)], rank, e);
	}
	if (chance(g, 18))
		return parts(g);
	if (chance(g, 30))
		return other(g);
	if (r < 22)
		return cast_some(g, pick(g, NULL, NULL), r < 19);
	if (r < 32)
		return unary(g);
	if (r < 46)
		return binary(g);
	if (r < 54)
		return choose(g);
	if (r < 60)
		return index_tile(g);
	if (r < 68)
		return rearrange(g);
	if (r < 80)
		return reduce(g);
	if (r < 86)
		return to_shared(g);
	if (r < 88)
		return buffer(g);
	if (r < 91)
		return part(g);
	return chance(g, 20) ? products(g) : dot(g, NULL);
}

/* A var to be carried: of a value, of a number, or an accumulator. */
static Val *
declare_var(Gen *g)
{
	static const int ms[] = { 16, 16, 32, 64, 8, 48 }, ns[] = { 8, 16, 32, 32, 64, 24 };
	Val *x = chance(g, 40) ? arith(g, pick(g, NULL, NULL)) : NULL, *v;
	char t[40];

	if (x) {
		v = new_val(g, x->t, x->rank, x->e);
		v->mag = x->mag;
		v->loose = x->loose;
		v->whole = x->whole;
		line(g, "var %s: register %s[%s] = %s;", v->name, dt_name(v->t), dims(v, t),
		     x->name);
	} else {
		Dt dt = (Dt[]){ F32, F32, F32, I32, F16, BF16 }[below(g, 6)];
		int e[2] = { ms[below(g, 6)] };
		e[1] = ns[below(g, 6)];
		v = new_val(g, dt, 2, e);
		v->whole = true;
		line(g, "var %s: register %s[%s] = %d;", v->name, dt_name(v->t), dims(v, t),
		     below(g, 2));
		v->mag = 1;
	}
	v->var = true;
	return v;
}

static bool
fits_into(const Val *x, const void *with)
{
	const Val *v = with;

	if (x->t != v->t || x->var || x->rank > v->rank)
		return false;
	for (int i = 1; i <= x->rank; i++)
		if (x->e[x->rank - i] != v->e[v->rank - i] && x->e[x->rank - i] != 1)
			return false;
	return true;
}

/* v += dot(..), times times. */
static bool
accumulate(Gen *g, Val *v, int times)
{
	Val *x = dot(g, v);

	if (!x)
		return false;
	v->mag += times * x->mag;
	v->whole = v->whole && x->whole;
	fit(v);
	v->loose |= x->loose || (is_float(v->t) && !v->whole);
	g->nval = (int)(x - g->val); /* it has no name */
	return true;
}

/* v takes on something, times times. */
static void
update(Gen *g, Val *v, int times)
{
	int k = below(g, 10);
	Val *x;

	if (k < 5 && v->rank == 2 && accumulate(g, v, times))
		return;
	x = pick(g, fits_into, v);
	if (!x || (x->rank != v->rank && chance(g, 70)))
		x = load(g, v->t, v->rank, v->e);
	if (!is_float(v->t)) {
		v->mag = dt_max(v->t);
		if (k & 1)
			line(g, "%s += %s;", v->name, x->name);
		else
			line(g, k & 2 ? "%s = max(%s, %s);" : "%s = %s ^ %s;", v->name, v->name,
			     x->name);
		return;
	}
	v->loose |= x->loose;
	if (k < 6 && v->mag + times * x->mag < dt_max(v->t)) {
		v->mag += times * x->mag;
		v->whole = v->whole && x->whole;
		line(g, "%s += %s;", v->name, x->name);
	} else if (k < 8 && v->mag + 2 * x->mag < dt_max(v->t)) {
		v->mag += 2 * x->mag;
		v->whole = false;
		line(g, "%s = %s * 0.5 + %s;", v->name, v->name, x->name);
	} else {
		v->mag = x->mag > v->mag ? x->mag : v->mag;
		v->whole = v->whole && x->whole;
		line(g, "%s = %s(%s, %s);", v->name, k & 1 ? "max" : "min", v->name, x->name);
	}
	fit(v);
}

/* Head of a loop over elements; returns how often it runs. */
static int
loop_head(Gen *g, bool *pipeline)
{
	int step = (int[]){ 16, 16, 32, 8, 64, 1, 48 }[below(g, 7)];
	int trips = below(g, 8) ? 1 + below(g, 4) : 0;
	int end = step * trips, lo = chance(g, 10) ? step : 0;
	char name[24], hi[24], by[24];

	if (end && chance(g, 50))
		end -= below(g, step);
	snprintf(name, sizeof name, "k%d", g->nname++);
	if (chance(g, 60)) {
		snprintf(hi, sizeof hi, "S%d", g->nsize);
		put(&g->args, " S%d=%d", g->nsize, end);
		/* a size that no tensor has is a parameter of its own */
		put(&g->params, ", S%d: i64", g->nsize++);
		if (chance(g, 30) && end % step == 0 && step > 1)
			put(&g->assumes, "    assume %s %% %d == 0\n", hi, step);
	} else {
		snprintf(hi, sizeof hi, "%d", end);
	}
	snprintf(by, sizeof by, "%d", step);
	if (chance(g, 15)) { /* known at run time only */
		snprintf(by, sizeof by, "S%d", g->nsize);
		put(&g->args, " S%d=%d", g->nsize, step);
		put(&g->params, ", S%d: i64", g->nsize++);
	}
	*pipeline = chance(g, 60);
	if (*pipeline)
		line(g, "pipeline %s in %d..%s step %s stages %d {", name, lo, hi, by,
		     1 + below(g, 4));
	else
		line(g, "for %s in %d..%s step %s {", name, lo, hi, by);
	snprintf(g->iv, sizeof g->iv, "%s", name);
	g->iv_step = step;
	g->iv_end = end > 0 ? end : 1;
	return trips;
}

/* Two carried vars change places. */
static void
exchange(Gen *g, const Val *a, const Val *b)
{
	if (!a->var || !b->var || a->t != I32 || b->t != I32 || a->rank != b->rank)
		return;
	if (memcmp(a->e, b->e, sizeof a->e) != 0)
		return;
	line(g, "let t%d = %s;", g->nname, a->name);
	line(g, "%s = %s;", a->name, b->name);
	line(g, "%s = t%d;", b->name, g->nname++);
}

static bool
counts(const Val *v, const void *unused)
{
	(void)unused;
	return is_arith(v->t) && !is_float(v->t);
}

/* A tile for each iteration. */
static void
store_iteration(Gen *g, int trips)
{
	Val *v = pick(g, NULL, NULL);
	char t[40];

	if (!v || v->t == U4 || v->t == I4 || v->rank > 3) /* tensors have 6 dims */
		return;
	put(&g->params, ", Y%d: out %s[%d, %d, %d, %s]", g->nout, dt_name(v->t), g->grid[0],
	    g->grid[1], trips + 1, dims(v, t));
	line(g, "Y%d[block.x, block.y, %s / %d] = %s;", g->nout++, g->iv, g->iv_step, v->name);
}

static void
loop_body(Gen *g, int counter, int trips)
{
	Val *x;

	for (int i = 0, n = below(g, 4); i < n; i++)
		operation(g);
	if (counter >= 0 && (x = pick(g, counts, NULL)) != NULL) {
		Val *v = new_val(g, x->t, x->rank, x->e);
		v->mag = dt_max(v->t);
		fit(v);
		line(g, "let %s = %s + %s(c%d);", v->name, x->name, dt_name(v->t), counter);
	}
	if (counter >= 0) {
		line(g, "c%d += %d;", counter, 1 + below(g, 3));
		if (g->nval && chance(g, 30) && g->depth == 1) {
			line(g, "if c%d %% 2 == 0 {", counter);
			g->depth++;
			line(g, "c%d += 1;", counter);
			g->depth--;
			line(g, "}");
		}
	}
	if (g->depth == 1 && chance(g, 15))
		store_iteration(g, trips + 1);
	if (g->depth < 2 && chance(g, 15))
		chance(g, 50) ? loop(g) : branch(g);
}

void
loop(Gen *g)
{
	char iv[24];
	int first = g->nval, nvar, end = g->iv_end, busy = g->busy, step = g->iv_step;
	int counter = -1, times;
	bool pipeline, async = g->async;

	if (g->depth >= 2 || (g->async && chance(g, 70)))
		return;
	strcpy(iv, g->iv);
	nvar = 1 + below(g, 2);
	for (int i = 0; i < nvar; i++)
		declare_var(g);
	/* declaring one may have cast something before it */
	first = first < g->nval ? first : g->nval;
	if (chance(g, 25))
		line(g, "var c%d = %d;", counter = g->nname++, below(g, 3));
	times = loop_head(g, &pipeline);
	int inside = g->nval;
	g->async = pipeline;
	if (g->busy > first)
		g->busy = first;
	g->depth++;
	loop_body(g, counter, times);
	for (int i = first; i < inside; i++)
		if (g->val[i].var)
			update(g, &g->val[i], iv[0] ? times * 5 : times);
	if (nvar == 2)
		exchange(g, &g->val[inside - 2], &g->val[inside - 1]);
	g->depth--;
	line(g, "}");
	g->nval = inside;
	g->busy = busy;
	g->async = async;
	g->iv_end = end;
	g->iv_step = step;
	strcpy(g->iv, iv);
}

/* What is carried is updated in some turns, by a condition that all threads have; the loop may end early. */
void
turns(Gen *g)
{
	int id = g->nname++, first = g->nval, inside, busy = g->busy, n = 1 + below(g, 5), kind = below(g, 4);

	if (g->depth >= 2 || g->async)
		return;
	declare_var(g);
	first = first < g->nval - 1 ? first : g->nval - 1;
	inside = g->nval;
	if (g->busy > first)
		g->busy = first;
	if (kind == 0) {
		line(g, "var w%d = %d;", id, below(g, 2));
		line(g, "while w%d < %d && w%d + block.x < 5 {", id, n, id);
	} else if (kind == 1) {
		line(g, "for w%d in %d..-1 step -%d {", id, n, 1 + below(g, 2));
	} else {
		line(g, "for w%d in 0..%d {", id, n + 2);
	}
	g->depth++;
	if (kind == 2) {
		line(g, "if w%d == %d {", id, below(g, n));
		line(g, "    continue;");
		line(g, "}");
	}
	if (chance(g, 50))
		operation(g);
	for (int i = first; i < inside; i++)
		if (g->val[i].var)
			update(g, &g->val[i], n + 3);
	if (kind == 0)
		line(g, "w%d += 1;", id);
	if (kind == 3 || chance(g, 20)) {
		line(g, "if w%d + block.y > %d {", id, below(g, n));
		line(g, "    break;");
		line(g, "}");
	}
	g->depth--;
	line(g, "}");
	g->nval = inside;
	g->busy = busy;
}

void
branch(Gen *g)
{
	static const char *const cond[] = { "block.x == 0", "block.x > block.y",
		                            "block.x % 2 == 1 || block.y == 0" };
	int inside, busy = g->busy;
	Val *v;

	if (g->nval == 0 || g->depth >= 2)
		return;
	if (chance(g, 30) && (v = pick(g, NULL, NULL))) {
		line(g, "if %s {", cond[below(g, 3)]);
		g->depth++;
		store(g, v);
		g->depth--;
		line(g, "}");
		return;
	}
	v = declare_var(g);
	inside = g->nval;
	if (g->busy > inside - 1)
		g->busy = inside - 1;
	line(g, "if %s {", cond[below(g, 3)]);
	g->depth++;
	for (int i = below(g, 3); i > 0; i--)
		operation(g);
	update(g, v, 1);
	g->depth--;
	g->nval = inside;
	if (chance(g, 50)) {
		line(g, "} else {");
		g->depth++;
		update(g, v, 1);
		g->depth--;
		g->nval = inside;
	}
	line(g, "}");
	g->busy = busy;
}
