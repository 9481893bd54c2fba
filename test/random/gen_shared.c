/* gen_shared.c - generates explicit uses of shared memory: buffers, slices of tiles, prefetched copies. */
#include "gen.h"
#include <stdio.h>

static bool
in_registers(const Val *v, const void *unused)
{
	(void)unused;
	return !v->shared;
}

static bool
in_memory(const Val *v, const void *unused)
{
	(void)unused;
	return v->shared && v->t != U4 && v->t != I4;
}

static bool
flat(const Val *v, const void *unused)
{
	(void)unused;
	return v->rank <= 2 && v->t != U4 && v->t != I4;
}

static Val *
like(Gen *g, const Val *x)
{
	Val *v = new_val(g, x->t, x->rank, x->e);

	v->mag = x->mag;
	v->whole = x->whole;
	v->loose = x->loose;
	return v;
}

Val *
to_shared(Gen *g)
{
	Val *x = pick(g, in_registers, NULL), *v;

	if (!x)
		return NULL;
	v = like(g, x);
	v->shared = true;
	line(g, "let %s: shared = %s;", v->name, x->name);
	return v;
}

/* Half of a shared tile. */
Val *
part(Gen *g)
{
	Val *x = pick(g, in_memory, NULL), *v;
	int d, half;

	if (!x)
		return NULL;
	d = below(g, x->rank);
	if (x->e[d] % 2)
		return NULL;
	v = like(g, x);
	v->e[d] = half = x->e[d] / 2;
	line(g, "let %s: register = %s[%.*s%d :+ %d];", v->name, x->name, d * 3, ":, :, :, ",
	     below(g, 3) * half / 2, half);
	return v;
}

/* A value goes through a part of a shared buffer and comes back; in a loop through a place that
 * changes. */
Val *
buffer(Gen *g)
{
	Val *x = pick(g, flat, NULL), *v;
	int n = 2 + below(g, 2), k = below(g, 2);
	char d[40], at[60];

	if (!x)
		return NULL;
	v = like(g, x);
	if (g->iv[0])
		snprintf(at, sizeof at, "%s / %d %% %d", g->iv, g->iv_step, n);
	else
		snprintf(at, sizeof at, "%d", k);
	line(g, "let b%s: shared %s[%d, %s];", v->name, dt_name(v->t), n, dims(v, d));
	line(g, "b%s[%s] = %s;", v->name, at, x->name);
	if (chance(g, 30)) /* overwritten */
		line(g, "b%s[%s] = %s;", v->name, at, x->name);
	line(g, "let %s: register = b%s[%s];", v->name, v->name, at);
	return v;
}

/* A loop that sums what a ring of shared tiles held one iteration before. */
void
ring(Gen *g)
{
	Val *x = pick(g, flat, NULL), *v;
	char d[40];
	int n = 2 + below(g, 2), id = g->nname, trips = 1 + below(g, 5);

	if (!x || g->depth || !is_arith(x->t) || x->mag * trips * 2 > dt_max(x->t))
		return;
	v = like(g, x);
	dims(v, d);
	line(g, "let r%d: shared %s[%d, %s];", id, dt_name(v->t), n, d);
	for (int i = 0; i < n; i++)
		line(g, "r%d[%d] = %s;", id, i, chance(g, 50) ? x->name : "1");
	line(g, "var %s: register %s[%s] = 0;", v->name, dt_name(v->t), d);
	line(g, "for j%d in 0..%d {", id, trips);
	if (chance(g, 50))
		line(g, "    r%d[j%d %% %d] = %s;", id, id, n, x->name);
	line(g, "    %s += r%d[(j%d + 1) %% %d];", v->name, id, id, n);
	if (chance(g, 50))
		line(g, "    r%d[(j%d + 1) %% %d] = %s;", id, id, n, x->name);
	line(g, "}");
	v->mag = v->mag * trips + trips;
	v->var = true;
	fit(v);
}

/* The explicit pipeline of the manual. */
void
ahead(Gen *g)
{
	static const Dt some[] = { F16, F16, BF16, F32, I8, I32 };
	Dt t = some[below(g, 6)];
	int id = g->nname, trips = below(g, 6), step = 8 << below(g, 4), e[2] = { 8, step };
	int size = trips ? step * trips - below(g, step) : 0;
	Val *v;

	if (g->depth)
		return;
	e[0] <<= below(g, 4);
	v = new_val(g, t, 2, e);
	put(&g->params, ", X%d: %s[%d, S%d]", g->nin, dt_name(t), e[0] - below(g, 3), g->nsize);
	put(&g->args, " X%d=randint(%d,-3,4) S%d=%d", g->nin, below(g, 1000), g->nsize,
	    size ? size : 1);
	if (size % 8 == 0 && size)
		put(&g->assumes, "    assume S%d %% 8 == 0\n", g->nsize);
	g->in[g->nin] = (Tensor){ .t = t, .rank = 2, .mag = 3, .whole = true };
	line(g, "let a%d: shared %s[2, %d, %d];", id, dt_name(t), e[0], e[1]);
	line(g, "var %s: register %s[%d, %d] = 0;", v->name, dt_name(t), e[0], e[1]);
	line(g, "async copy(X%d[0 :+ %d, 0 :+ %d], a%d[0]);", g->nin, e[0], e[1], id);
	line(g, "commit;");
	line(g, "for k%d in 0..S%d step %d {", id, g->nsize, step);
	line(g, "    if k%d + %d < S%d {", id, step, g->nsize);
	line(g, "        async copy(X%d[0 :+ %d, k%d + %d :+ %d], a%d[(k%d / %d + 1) %% 2]);",
	     g->nin, e[0], id, step, step, id, id, step);
	line(g, "    }");
	line(g, "    commit;");
	line(g, "    wait 1;");
	line(g, "    barrier;");
	line(g, "    %s += a%d[k%d / %d %% 2];", v->name, id, id, step);
	if (chance(g, 80))
		line(g, "    barrier;");
	line(g, "}");
	g->nin++;
	g->nsize++;
	v->mag = 3 * (trips + 1);
	v->whole = true;
	v->var = true;
	fit(v);
}
