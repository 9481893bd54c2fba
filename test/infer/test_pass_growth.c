/* test_pass_growth.c - tests how compile cost grows for programs of 100, 1,000 and 4,000 ops: memory, counted
 * work, range analysis queries, search steps and, loosely, time. Straight-line programs of each kind. Also
 * the time of complete candidate lists of two examples, and the counted work of compiling some examples. In
 * C: programs are generated, and counters of the compiler read. */
#include "hexc/pass/pass.h"
#include "infer/search_single.h"
#include "infer/core/solution.h"
#include "test/check.h"
#include "test/interp/util_interp.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void Write(Text *t, int n);

static void
elementwise(Text *t, int n)
{
	text_printf(t, "kernel k(X: f32[N], Y: out f32[N])\n{\n grid(ceil(N, 256));\n"
	               " let i = block.x * 256;\n"
	               " let v0: register = X[i :+ 256];\n");
	for (int j = 1; j < n; j++) {
		int p = j - 1, q = j > 7 ? j - 7 : 0;

		switch (j % 5) {
		case 0: text_printf(t, " let v%d = v%d * v%d;\n", j, p, q); break;
		case 1: text_printf(t, " let v%d = v%d + v%d;\n", j, p, q); break;
		case 2: text_printf(t, " let v%d = max(v%d, v%d - 1);\n", j, p, q); break;
		case 3: text_printf(t, " let v%d = where(v%d > 0.5, v%d, v%d);\n", j, p, p, q); break;
		default: text_printf(t, " let v%d = fma(v%d, v%d, v%d);\n", j, p, q, p); break;
		}
	}
	text_printf(t, " Y[i :+ 256] = v%d;\n}\n", n - 1);
}

static void
index_chain(Text *t, int n)
{
	text_printf(t, "kernel k(Y: out i64[N], a: i64, b: i64)\n{\n grid(ceil(N, 256));\n"
	               " let v0 = block.x * 256 + a;\n");
	for (int j = 1; j < n; j++) {
		int p = j - 1, q = j > 7 ? j - 7 : 0;

		switch (j % 5) {
		case 0: text_printf(t, " let v%d = v%d * 3 + v%d;\n", j, p, q); break;
		case 1: text_printf(t, " let v%d = v%d + v%d %% 7;\n", j, p, q); break;
		case 2: text_printf(t, " let v%d = max(v%d, v%d - 1);\n", j, p, q); break;
		case 3: text_printf(t, " let v%d = where(v%d > b, v%d, v%d);\n", j, p, p, q); break;
		default: text_printf(t, " let v%d = v%d / 5 - v%d;\n", j, p, q); break;
		}
	}
	text_printf(t, " Y[block.x * 256 :+ 256] = v%d;\n}\n", n - 1);
}

static void
memory(Text *t, int n)
{
	text_printf(t, "kernel k(X: f32[N], Y: out f32[N])\n{\n grid(1);\n");
	for (int j = 0; j < n / 4; j++)
		text_printf(t, " let x%d: register = X[%d :+ 64], s%d: shared = X[%d :+ 64];\n"
		               " Y[%d :+ 64] = x%d + s%d;\n",
		            j, j * 64, j, j * 64 + 64, j * 64, j, j);
	text_printf(t, "}\n");
}

static void
reductions(Text *t, int n)
{
	static const char *const fn[] = { "sum", "reduce_max", "mean" };

	text_printf(t, "kernel k(X: f32[M, 64], Y: out f32[M, 64])\n{\n grid(ceil(M, 16));\n"
	               " let m = block.x * 16;\n let v0: register = X[m :+ 16, :];\n");
	for (int j = 1; j < n / 3; j++)
		text_printf(t, " let v%d = v%d - %s(v%d, %d);\n", j, j - 1, fn[j % 3], j - 1, j % 2);
	text_printf(t, " Y[m :+ 16, :] = v%d;\n}\n", n / 3 - 1);
}

static void
products(Text *t, int n)
{
	text_printf(t, "kernel k(X: f16[M, 32], Y: out f16[M, 32])\n{\n"
	               " grid(ceil(M, 32));\n"
	               " let m = block.x * 32;\n let v0: register = X[m :+ 32, :];\n");
	for (int j = 1; j < n / 3; j++)
		text_printf(t, " let v%d = f16(dot(v%d, v%d.T));\n", j, j - 1, j > 2 ? j - 2 : 0);
	text_printf(t, " Y[m :+ 32, :] = v%d;\n}\n", n / 3 - 1);
}

static void
conditions(Text *t, int n)
{
	text_printf(t, "kernel k(X: f32[N], Y: out f32[N], a: i64)\n{\n grid(ceil(N, 256));\n"
	               " let i = block.x * 256;\n var v: register f32[256] = X[i :+ 256];\n var q = a;\n");
	for (int j = 0; j < n / 5; j++)
		text_printf(t, " if q > %d { v = v + %d; q = q - 1; } else { v = v * 2; }\n", j, j + 1);
	text_printf(t, " Y[i :+ 256] = v;\n}\n");
}

static void
loops(Text *t, int n)
{
	text_printf(t, "kernel k(X: f32[N], Y: out f32[N], a: i64)\n{\n grid(ceil(N, 256));\n"
	               " let i = block.x * 256;\n var v: register f32[256] = X[i :+ 256];\n var q = a;\n");
	for (int j = 0; j < n / 5; j++)
		text_printf(t, " for t%d in 0..q { v = v + %d; q = q - t%d; }\n", j, j + 1, j);
	text_printf(t, " Y[i :+ 256] = v;\n}\n");
}

static void
rewritten(Text *t, int n)
{
	text_printf(t, "kernel k(X: f32[M, 32], Y: out f32[M, 32])\n{\n grid(ceil(M, 32));\n"
	               " let m = block.x * 32;\n var v: register f32[32, 32] = X[m :+ 32, :];\n"
	               " let s: shared f32[32, 32];\n");
	for (int j = 0; j < n / 4; j++)
		text_printf(t, " s[:, :] = v + %d;\n v += s.T;\n", j);
	text_printf(t, " Y[m :+ 32, :] = v;\n}\n");
}

static const struct {
	const char *name;
	Write *write;
} kind[] = {
	{ "elementwise", elementwise },
	{ "index chain", index_chain },
	{ "memory", memory },
	{ "reductions", reductions },
	{ "products", products },
	{ "conditions", conditions },
	{ "loops", loops },
	{ "rewritten", rewritten },
};

/* ---- measuring ----------------------------------------------------------------------------------- */

typedef struct Cost {
	double ops, bytes, work, facts, steps, ms;
} Cost;

static void
run_pass(Kernel *k, PassWhen when, bool (*run)(Kernel *), Candidates **found)
{
	if (when != PASS_SEARCH) {
		run(k);
		return;
	}
	*found = infer_search(k);
	ck_assert(*found && infer_apply(*found));
}

/* All passes in front of the emission; `ms` is the time of this process alone. */
static Cost
compile(const char *src)
{
	Unit *u = ir_unit();
	clock_t t = clock();
	Kernel *k = run_source(u, src, "");
	Cost c = { 0 };
	Candidates *found = NULL;
	OpWalk w;

#define PASS(name, former, when, help)                                                                   \
	run_pass(k, PASS_##when, pass_##name, &found);                                                     \
	ck_assert_msg(u->diag->nerror == 0, "%s", ir_diags(u));
#include "hexc/pass/passes.def"
	c.ms = (double)(clock() - t) * 1000 / CLOCKS_PER_SEC;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		c.ops++;
	c.bytes = (double)u->arena->held;
	c.work = (double)u->arena->work;
	c.facts = (double)k->nfact;
	c.steps = (double)found->steps;
	ir_unit_free(u);
	return c;
}

/* The program of n ops. */
static Cost
cost_of(int i, int n)
{
	Unit *u = ir_unit();
	Text t = { .arena = u->arena };
	Cost c;

	kind[i].write(&t, n);
	c = compile(t.s);
	printf("%-11s %4d: %6.0f ops at the end, %9.0f bytes, %8.0f work, %7.0f facts, %6.0f steps, %7.2f "
	       "ms\n",
	       kind[i].name, n, c.ops, c.bytes, c.work, c.facts, c.steps, c.ms);
	ir_unit_free(u);
	return c;
}

/* No more than a quarter over proportional; what a program has anyway is not counted twice. */
static void
near_linear(const char *name, const char *what, double small, double large, double times)
{
	ck_assert_msg(large <= small * times * 1.25, "%s: %s grow from %.0f to %.0f, over %g times", name,
	              what, small, large, times);
}

TEST_EACH(growth, COUNT_OF(kind))
{
	static const int size[] = { 100, 1000, 4000 };
	Cost c[3];

	for (int i = 0; i < 3; i++)
		c[i] = cost_of(_i, size[i]);
	for (int i = 1; i < 3; i++) {
		double times = c[i].ops / c[i - 1].ops;

		near_linear(kind[_i].name, "bytes", c[i - 1].bytes, c[i].bytes, times);
		near_linear(kind[_i].name, "units of work", c[i - 1].work, c[i].work, times);
		near_linear(kind[_i].name, "facts", c[i - 1].facts + 100, c[i].facts, times);
		near_linear(kind[_i].name, "steps", c[i - 1].steps + 100, c[i].steps, times);
		/* a machine may be busy, its caches small: quadratic growth is told all the same */
		near_linear(kind[_i].name, "milliseconds", 2 * c[i - 1].ms + 2, c[i].ms, times);
	}
}

/* ---- the complete list of an example's solutions ------------------------------------------------- */

static const struct {
	const char *path;
	double steps; /* at most */
} list[] = {
	{ "examples/gemm_f16.hexc", 1000 },
	{ "examples/attention.hexc", 10000 },
};

/* The time, of the best of some runs, is printed only: others use the machine too. */
TEST_EACH(lists, COUNT_OF(list))
{
	double best = 1e9, steps = 0;
	int n = 0;
	size_t len;
	const char *src = file_read(list[_i].path, &len);

	for (int i = 0; i < 10; i++) {
		Unit *u = ir_unit();
		Kernel *k = run_source(u, src, "");
		Candidates *found = NULL;
		clock_t t;
		double ms;

#define PASS(name, former, when, help)                                                                   \
	t = clock();                                                                                       \
	run_pass(k, PASS_##when, pass_##name, &found);                                                     \
	ms = (double)(clock() - t) * 1000 / CLOCKS_PER_SEC;                                                \
	if (PASS_##when == PASS_SEARCH)                                                                    \
		best = ms < best ? ms : best;
#include "hexc/pass/passes.def"
		n = infer_ncand(found);
		steps = (double)found->steps;
		u->text = NULL;
		ir_unit_free(u);
	}
	printf("%s: a list of %d in %.2f ms, %.0f steps\n", list[_i].path, n, best, steps);
	ck_assert_int_gt(n, 1);
	ck_assert_msg(steps > 0 && steps <= list[_i].steps, "%.0f steps, over %.0f", steps, list[_i].steps);
}

/* ---- the work of compiling an example ------------------------------------------------------------ */

/* What it was when it was last looked at; a fifth more is told. */
static const struct {
	const char *path;
	double facts, steps;
} work[] = {
	{ "examples/vector_add.hexc", 7771, 84 },
	{ "examples/softmax.hexc", 5112, 1128 },
	{ "examples/gemm_f16.hexc", 10924, 353 },
	{ "examples/attention.hexc", 6543, 4880 },
};

static void
at_most_a_fifth_over(const char *path, const char *what, double was, double is)
{
	ck_assert_msg(is <= 1.2 * was, "%s: %.0f %s instead of %.0f", path, is, what, was);
}

TEST_EACH(works, COUNT_OF(work))
{
	Unit *u = ir_unit();
	size_t len;
	Kernel *k = run_source(u, file_read(work[_i].path, &len), "");
	Candidates *found = NULL;

	/* a compilation's: checkers that are asked for ask more */
#define PASS(name, former, when, help)                                                                   \
	if (PASS_##when != PASS_ON_REQUEST)                                                              \
		run_pass(k, PASS_##when, pass_##name, &found);
#include "hexc/pass/passes.def"
	at_most_a_fifth_over(work[_i].path, "facts", work[_i].facts, (double)k->nfact);
	at_most_a_fifth_over(work[_i].path, "steps", work[_i].steps, (double)found->steps);
	u->text = NULL;
	ir_unit_free(u);
}

TEST_PROGRAM(.timeout = 120);
