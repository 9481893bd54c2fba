/* gen_access.c - generates gathers by index tiles in two dims, of tensors and of tiles; atomic updates of
 * tensors and of shared tiles; strided stores. */
#include "gen.h"
#include <stdio.h>

static bool
two_dims(const Val *v, const void *unused)
{
	(void)unused;
	return v->rank == 2 && is_arith(v->t) && v->e[0] * v->e[1] <= 2048;
}

/* Two index tiles of one shape or of a row and a column; some name what is outside of rows x cols. */
static void
indices(Gen *g, int *e, int rows, int cols, char *to, size_t cap)
{
	int a = 1 + below(g, 5), b = below(g, 4), back = below(g, 3);

	if (chance(g, 50))
		snprintf(to, cap,
		         "[(iota(0, %d, %d) * %d + iota(1, %d, %d) * %d) %% %d - %d, "
		         "iota(1, %d, %d) * %d %% %d]",
		         e[0], e[1], a, e[0], e[1], b, rows + back, back, e[0], e[1], a, cols + 1);
	else
		snprintf(to, cap, "[i64(iota(0, %d, 1)) * %d - %d, i64(iota(1, 1, %d)) * %d %% %d]", e[0], a,
		         back, e[1], b + 1, cols + 1);
}

Val *
chosen(Gen *g)
{
	static const Dt some[] = { F16, F32, I32, I8, BF16, U8 };
	Val *x = chance(g, 50) ? pick(g, two_dims, NULL) : NULL, *v;
	int e[2] = { extent(g), extent(g) };
	char at[200];

	if (e[0] * e[1] > 2048)
		e[1] = 8;
	if (x) {
		char name[24];
		snprintf(name, sizeof name, "%s", x->name);
		indices(g, e, x->e[0], x->e[1], at, sizeof at);
		v = new_val(g, x->t, 2, e);
		v->mag = x->mag;
		v->whole = x->whole;
		v->loose = x->loose;
		line(g, "let %s: register = %s%s;", v->name, name, at);
		return v;
	}
	int rows = 1 + below(g, 40), cols = 1 + below(g, 40);
	indices(g, e, rows, cols, at, sizeof at);
	v = new_val(g, some[below(g, 6)], 2, e);
	v->mag = 9;
	v->whole = true;
	put(&g->params, ", X%d: %s[%d, %d]", g->nin, dt_name(v->t), rows, cols);
	put(&g->args, " X%d=randint(%d,0,9)", g->nin, below(g, 1000));
	g->in[g->nin] = (Tensor){ .t = v->t, .rank = 2, .mag = 9, .whole = true };
	line(g, "let %s: register = X%d%s;", v->name, g->nin++, at);
	return v;
}

static bool
counted(const Val *v, const void *unused)
{
	(void)unused;
	return (v->t == I32 || v->t == U32) && v->rank && v->rank <= 2 && !v->loose && elements(v) <= 2048;
}

/* How often each of some numbers is there, counted in shared memory. */
Val *
histogram(Gen *g)
{
	Val *x = pick(g, counted, NULL), *v;
	int n = (int[]){ 8, 16, 33, 64, 200 }[below(g, 5)];
	char name[24];

	if (!x || g->depth)
		return NULL;
	snprintf(name, sizeof name, "%s", x->name);
	v = new_val(g, I32, 1, &n);
	v->mag = 4096;
	v->whole = true;
	v->shared = true;
	line(g, "let %s: shared i32[%d] = 0;", v->name, n);
	if (chance(g, 50))
		line(g, "atomic_add(%s[i32(%s & 255)], 1);", v->name, name);
	else
		line(g, "atomic_max(%s[i32(%s & 63)], i32(%s & 127));", v->name, name, name);
	return v;
}

/* All blocks update one tensor: integers, so that their order does not matter. */
void
atomic(Gen *g)
{
	static const char *const fn[] = { "add", "max", "min", "and", "or", "xor" };
	Val *x = pick(g, counted, NULL);
	char slice[80];

	if (!x || g->depth || g->nout > 30)
		return;
	if (x->rank == 1 && chance(g, 50)) {
		put(&g->params, ", Y%d: inout %s[%d]", g->nout, dt_name(x->t), 5 + below(g, 60));
		snprintf(slice, sizeof slice, "i64(%s & 63) - 2", x->name);
	} else if (x->rank == 1) {
		put(&g->params, ", Y%d: inout %s[%d]", g->nout, dt_name(x->t),
		    x->e[0] * 2 + below(g, 3));
		snprintf(slice, sizeof slice, "%d :+ %d step %d", below(g, 5) - 2, x->e[0], 1 + below(g, 3));
	} else {
		int rows = x->e[0] + below(g, 3), cols = x->e[1] + below(g, 9);
		put(&g->params, ", Y%d: inout %s[%d, %d]", g->nout, dt_name(x->t), rows, cols);
		snprintf(slice, sizeof slice, "0 :+ %d, %d :+ %d", x->e[0], below(g, 5) - 2, x->e[1]);
	}
	put(&g->args, " Y%d=randint(%d,0,9)", g->nout, below(g, 1000));
	line(g, "atomic_%s(Y%d[%s], %s);", fn[below(g, 6)], g->nout++, slice, x->name);
}

static bool
steps(const Val *v, const void *unused)
{
	(void)unused;
	return is_arith(v->t) && (v->rank == 1 || v->rank == 2);
}

/* With a step along the last dim, from a start in front of the tensor or in it; each block to its own row. */
void
store_steps(Gen *g)
{
	Val *v = pick(g, steps, NULL);
	int s = 1 + below(g, 4), at = below(g, 7) - 3, e, size;

	if (!v || g->nout > 30)
		return;
	e = v->e[v->rank - 1];
	size = e * s - below(g, e);
	put(&g->params, v->rank == 1 ? ", Y%d: out %s[%d, %d, %d]" : ", Y%d: out %s[%d, %d, %d, %d]", g->nout,
	    dt_name(v->t), g->grid[0], g->grid[1], v->rank == 1 ? size : v->e[0], size);
	line(g, v->rank == 1 ? "Y%d[block.x, block.y, %d :+ %d step %d] = %s;" :
	        "Y%d[block.x, block.y, :, %d :+ %d step %d] = %s;", g->nout, at, e, s, v->name);
	g->nout++;
}
