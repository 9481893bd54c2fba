/* gen_loops.c - generates one to three consecutive MMA loops, and a sum of their results.
 *
 * Covers what the other statements rarely reach: consecutive pipelines, with known or unknown trip counts, or
 * one iteration; operands in memory or registers shared by two dots; weights of all widths; dots under a
 * condition; chains. All values are integers, and no sum rounds. */
#include "gen.h"
#include <stdio.h>

enum { CHAIN = 32, WEIGHTS = 64 };

typedef struct Loops {
	Gen *g;
	const char *t, *wide; /* of factors; of sums */
	int bm, bn, bk; /* tile sizes; bk: of this loop */
	int id, sum; /* of the loop; of the loop whose sum it adds to, maybe one before it */
	unsigned own; /* the loops that have one */
	char k[16]; /* its end */
} Loops;

static const char *
space(Gen *g)
{
	static const char *const some[] = { ": shared", ": shared", ": shared", "", ": register" };

	return some[below(g, 5)];
}

static void
tensor(Loops *l, char name, const char *t, const char *rows, const char *cols, int lo, int hi)
{
	put(&l->g->params, ", %c%d: %s[%s, %s]", name, l->id, t, rows, cols);
	put(&l->g->args, " %c%d=randint(%d,%d,%d)", name, l->id, below(l->g, 1000), lo, hi + 1);
}

/* Its head.  whole: the end is a multiple of so much; bytes of narrow weights are. */
static void
head(Loops *l, int whole)
{
	Gen *g = l->g;
	int turns = (int[]){ 1, 1, 2, 3, 0, 0 }[below(g, 6)], end = turns * l->bk;

	if (!turns)
		end = (int[]){ l->bk, l->bk + 8, 3 * l->bk, 2 * l->bk + 5, 7 }[below(g, 5)];
	end = (end + whole - 1) / whole * whole;
	if (turns && chance(g, 70)) {
		snprintf(l->k, sizeof l->k, "%d", end);
	} else {
		snprintf(l->k, sizeof l->k, "K%d", l->id);
		put(&g->args, " K%d=%d", l->id, end);
		if (whole > 1)
			put(&g->assumes, "    assume K%d %% %d == 0\n", l->id, whole);
	}
}

static void
begin(Loops *l)
{
	static const int stages[] = { 1, 2, 2, 3, 4 };

	if (chance(l->g, 75))
		line(l->g, "pipeline k in 0..%s step %d stages %d {", l->k, l->bk, stages[below(l->g, 5)]);
	else
		line(l->g, "for k in 0..%s step %d {", l->k, l->bk);
	l->g->depth++;
}

static void
end(Loops *l)
{
	l->g->depth--;
	line(l->g, "}");
}

/* Its own, or the one of the products before it goes on.  That is drawn aside: seeds have the loops that they
 * had. */
static void
accumulator(Loops *l)
{
	Gen aside = { .rng = -l->g->rng };

	if (l->sum >= 0 && chance(&aside, 33))
		return;
	l->sum = l->id;
	l->own |= 1u << l->id;
	line(l->g, "var c%d: register %s[%d, %d] = 0;", l->id, l->wide, l->bm, l->bn);
}

static void
factor_a(Loops *l)
{
	line(l->g, "let a%s = A%d[block.x * %d :+ %d, k :+ %d];", space(l->g), l->id, l->bm, l->bm, l->bk);
}

static void
factor_b(Loops *l, bool turned)
{
	if (turned)
		line(l->g, "let b%s = B%d[block.y * %d :+ %d, k :+ %d];", space(l->g), l->id, l->bn, l->bn,
		     l->bk);
	else
		line(l->g, "let b%s = B%d[k :+ %d, block.y * %d :+ %d];", space(l->g), l->id, l->bk, l->bn,
		     l->bn);
}

static void
product(Loops *l, const char *a, const char *b, bool turned)
{
	const char *by = turned ? ".T" : "";

	if (chance(l->g, 12)) {
		line(l->g, "if k %% %d == 0 {", 2 * l->bk);
		line(l->g, "    c%d += dot(%s, %s%s);", l->sum, a, b, by);
		line(l->g, "}");
	} else {
		line(l->g, "c%d += dot(%s, %s%s);", l->sum, a, b, by);
	}
}

static void
plain(Loops *l)
{
	Gen *g = l->g;
	bool turned = chance(g, 60), twice = chance(g, 30);

	head(l, 1);
	tensor(l, 'A', l->t, "M", l->k, -3, 2);
	tensor(l, 'B', l->t, turned ? "N" : l->k, turned ? l->k : "N", -3, 2);
	accumulator(l);
	begin(l);
	factor_a(l);
	factor_b(l, turned);
	if (chance(g, 30)) {
		line(g, "let x = a * 2;");
		product(l, "x", "b", turned);
		if (twice)
			line(g, "c%d += dot(x, b%s);", l->sum, turned ? ".T" : "");
	} else {
		product(l, "a", "b", turned);
		if (twice)
			line(g, "c%d += dot(a, b%s);", l->sum, turned ? ".T" : "");
	}
	end(l);
}

/* Of 1 to 8 bits. */
static void
narrow_factor(Loops *l)
{
	static const char *const floats[] = { "e2m1", "e3m2", "e2m3", "e4m3", "e5m2" };
	static const char *const then[] = { "", " * 2", " - 4" };
	Gen *g = l->g;
	int bits = 1 + below(g, 8), kind = below(g, 3), lo = 0, hi = (1 << bits) - 1;
	bool turned = chance(g, 70);
	char t[16], weights[16];

	snprintf(t, sizeof t, "u%d", bits);
	if (kind == 1) {
		t[0] = 'i';
		lo = -(1 << (bits - 1));
		hi = -lo - 1;
	} else if (kind == 2) {
		snprintf(t, sizeof t, "%s", floats[below(g, 5)]);
		lo = -3;
		hi = 3;
	}
	snprintf(weights, sizeof weights, "%d", WEIGHTS);
	head(l, 16);
	tensor(l, 'A', l->t, "M", l->k, -2, 2);
	tensor(l, 'B', t, turned ? weights : l->k, turned ? l->k : weights, lo, hi);
	accumulator(l);
	begin(l);
	factor_a(l);
	factor_b(l, turned);
	line(g, "let w = %s(b)%s;", l->t, then[below(g, 3)]);
	line(g, "c%d += dot(a, w%s);", l->sum, turned ? ".T" : "");
	if (chance(g, 20))
		line(g, "c%d += dot(a, w%s);", l->sum, turned ? ".T" : "");
	end(l);
}

/* What a product makes is a factor of the next one, as in attention. */
static void
chain(Loops *l)
{
	Gen *g = l->g;
	char by[16];

	snprintf(by, sizeof by, "%d", CHAIN);
	head(l, 1);
	tensor(l, 'Q', l->t, "M", by, -1, 1);
	tensor(l, 'P', l->t, l->k, by, -1, 1);
	tensor(l, 'V', l->t, l->k, "N", -1, 1);
	line(g, "let q%d%s = Q%d[block.x * %d :+ %d, 0 :+ %d];", l->id, space(g), l->id, l->bm, l->bm, CHAIN);
	accumulator(l);
	begin(l);
	line(g, "let p%s = P%d[k :+ %d, 0 :+ %d];", space(g), l->id, l->bk, CHAIN);
	line(g, "let v%s = V%d[k :+ %d, block.y * %d :+ %d];", space(g), l->id, l->bk, l->bn, l->bn);
	line(g, "let s = dot(q%d, p.T);", l->id);
	line(g, "c%d += dot(%s(s), v);", l->sum, l->t);
	end(l);
}

/* No product: rows are added up, in each turn or behind the loop. */
static void
sums(Loops *l)
{
	Gen *g = l->g;
	bool late = chance(g, 50);

	head(l, 1);
	tensor(l, 'E', l->t, "M", l->k, -3, 2);
	line(g, "var e%d: register %s[%d, %d] = 0;", l->id, l->wide, l->bm, late ? l->bk : 1);
	begin(l);
	line(g, "let x%s = E%d[block.x * %d :+ %d, k :+ %d];", space(g), l->id, l->bm, l->bm, l->bk);
	line(g, late ? "e%d += %s(x);" : "e%d += sum(%s(x), 1);", l->id, l->wide);
	end(l);
	l->own |= 1u << l->id;
	line(g, "let c%d = %s(e%d, 1);", l->id, late ? "sum" : "reduce_max", l->id);
}

/* Some have factors that no tensor core multiplies: FMAs do.  That is drawn aside, too. */
static void
types(Loops *l)
{
	Gen aside = { .rng = l->g->rng * 3 };

	l->t = chance(l->g, 67) ? "f16" : "bf16";
	l->wide = "f32";
	if (chance(&aside, 20))
		l->t = chance(&aside, 60) ? "f32" : "i32";
	if (l->t[0] == 'i')
		l->wide = l->t;
}

void
loops(Gen *g, char *grid, size_t cap)
{
	static void (*const kind[])(Loops *) = { plain, plain, plain, narrow_factor, narrow_factor, chain,
		                                 sums };
	static const int ms[] = { 16, 32, 64, 64, 128 }, ns[] = { 16, 32, 64, 128 };
	static const int ks[] = { 16, 32, 64, 64 }, rows[] = { 1, 33, 64, 100, 128 };
	static const int columns[] = { 16, 40, 64, 72, 128 };
	Loops l = { .g = g, .sum = -1 };
	int n;

	types(&l);
	n = (int[]){ 1, 2, 2, 3 }[below(g, 4)];
	l.bm = ms[below(g, 5)];
	l.bn = ns[below(g, 4)];
	put(&g->args, " M=%d", rows[below(g, 5)]);
	put(&g->args, " N=%d", columns[below(g, 5)]);
	snprintf(grid, cap, "ceil(M, %d), ceil(N, %d)", l.bm, l.bn);
	line(g, "var all: register f32[%d, %d] = 1;", l.bm, l.bn);
	for (l.id = 0; l.id < n; l.id++) {
		l.bk = ks[below(g, 4)];
		kind[below(g, 7)](&l);
	}
	put(&g->body, "    all += f32(c0");
	for (int i = 1; i < n; i++) {
		if (l.own >> i & 1)
			put(&g->body, " + c%d", i);
	}
	put(&g->body, ");\n");
	line(g, "Y[block.x * %d :+ %d, block.y * %d :+ %d] = all;", l.bm, l.bm, l.bn, l.bn);
	put(&g->params, ", Y: out f32[M, N]");
}
