/* test_flow.c - tests bounds that pass through memory, loops, branches and rearrangements, and what
 * happens where addresses or conditions are not sure.
 *
 * In C, because the bounds of the inputs are. Errors are powers of two, so that a bound that is only
 * moved or added is known exactly; "doubt" in an expectation is C=inf: if rounding moves a store or
 * turns a branch, any element may have any value, and no bound of the run is valid. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

typedef struct Flow {
	const char *body, *in, *bounds;
	const char *why; /* how the bound was lost; NULL: does not matter */
} Flow;

#define DOUBT "its control flow or addresses depend on rounded values"
#define NOTHING "" /* no op has lost a bound */

static const Flow flow[] = {
	/* ---- rearranging: the errors move with the elements */
	{ "C[:] = concat(0, x[8 :+ 8], x[0 :+ 8]);", "X1=5~.5 X9=5~.25", "C9=.5 C1=.25 C2=0", NULL },
	{ "C[:] = concat(0, x[8 :+ 8], y[0 :+ 8]);", "X9=5~.25", "C1=.25 C8=0 C9=0", NULL },
	{ "C[:] = concat(0, y[8 :+ 8], x[0 :+ 8]);", "X1=5~.25", "C1=0 C9=.25", NULL },
	{ "C[:] = concat(0, y[8 :+ 8], y[0 :+ 8]);", "", "C=0", NULL },
	{ "D[:, :] = concat(1, S[:, 2 :+ 2], S[:, 0 :+ 2]);", "S1=1~.5", "D3=.5 D1=0", NULL },
	{ "D[:, :] = transpose(S[:, :], 1, 0);", "S1=3~.5", "D4=.5 D1=0", NULL },
	{ "C[:] = reshape(S[:, :].T, 16);", "S2=3~.5", "C8=.5 C2=0", NULL },
	{ "D[:, :] = S[:, :] + S[0 :+ 1, :];", "S1=1~.5", "D1=1 D5=.5 D0=0", NULL },
	{ "C[:] = x[3 :+ 1] * 1.0;", "X3=1~.5", "C=.5", NULL },
	{ "C[:] = shift(x, 0, 2);", "X3=1~.5 X15=1~1", "C5=.5 C3=0 C0=0", NULL },
	{ "D[:, :] = shift(S[:, :], 1, 1);", "S5=1~.5", "D6=.5 D9=0 D5=0", NULL },
	{ "D[:, :] = shift(S[:, :], 0, 1);", "S5=1~.5", "D9=.5 D6=0 D5=0", NULL },
	{ "C[:] = cumsum(x, 0);", "X3=1~.5 X15=1~1", "C2=0 C3=.5:.51 C14=.5:.51 C15=1.5:1.51", NULL },
	/* ---- loads at indices, and tables: an index that may differ selects anything */
	{ "let i: register = I[:]; C[:] = Y[i];", "I2=5~1 I3=6", "C2=inf C3=0 C0=0", NULL },
	{ "let i: register = I[:]; C[:] = X[i];", "I2=5 X5=1~.5", "C2=.5 C5=0", NULL },
	{ "let i: register = I[:]; C[:] = X[i];", "I2=5~1 I3=5 X5=1~.5", "C2=inf C3=.5 C0=0", NULL },
	{ "C[:] = Y[i64(xi[0]) :+ 16];", "I0=0~1", "C=inf", NULL },
	{ "C[:] = Y[i64(xi[0]) :+ 16];", "I0=1", "C=0", NULL },
	{ "let i: register = I[0 :+ 4]; D[:, :] = S[i, :];", "I1=2~1 I2=3", "D4=inf D7=inf D0=0 D8=0", NULL },
	{ "let i: register = I[0 :+ 4]; D[:, :] = S[:, i];", "I1=2~1 I2=3", "D1=inf D13=inf D0=0 D2=0",
	  NULL },
	{ "let i: register = I[0 :+ 4]; D[:, :] = S[i, i64(xi[7]) :+ 4];", "I1=2~1", "D4=inf D7=inf D0=0",
	  NULL },
	{ "let i: register = I[0 :+ 4]; D[:, :] = S[i, i64(xi[7]) :+ 4];", "I7=0~1", "D=inf", NULL },
	{ "C[:] = lookup(x, u4(I[:]));", "I2=5 I3=6 X5=1~.5", "C2=.5 C3=0", NULL },
	{ "C[:] = lookup(x, u4(I[:]));", "I2=5~1 I3=5 X5=1~.5", "C2=inf C3=.5 C4=0", NULL },
	{ "C[:] = lookup(y, u4(I[:]));", "I2=5~1", "C2=inf C3=0", NULL },
	{ "C[:] = lookup(y, u4(J[:]));", "", "C=0", NULL },
	{ "let i: register = xi[0 :+ 16]; C[:] = x[i];", "I2=5 I3=6~1 X5=1~.5", "C2=.5 C3=inf C4=0", NULL },
	/* ---- stores: at a place that may differ, or of a value that may */
	{ "C[:] = x;", "X3=1~.5", "C3=.5 C2=0", NULL },
	{ "C[:] = x; C[2 :+ 2] = Y[0 :+ 2];", "X3=1~.5 X4=1~.25", "C3=0 C4=.25", NULL },
	{ "C[i64(xi[0]) :+ 1] = 1;", "I0=3", "C=0", NULL },
	{ "C[i64(xi[0]) :+ 1] = 1;", "I0=3~1", "C=inf", DOUBT },
	{ "let i: register = I[0 :+ 4]; C[i] = Y[0 :+ 4];", "I0=3~1", "C=inf", DOUBT },
	{ "let i: register = I[0 :+ 4]; C[i] = X[0 :+ 4];", "I0=3 I1=7 X1=2~.5", "C7=.5 C3=0 C1=0", NULL },
	{ "D[i64(xi[0]) :+ 1, :] = S[0 :+ 1, :];", "I0=3~1", "D=inf C=inf", DOUBT },
	/* ---- shared tiles */
	{ "let s: shared = x + 0.0; C[:] = s * 1.0;", "X3=1~.5", "C3=.5 C2=0", NULL },
	{ "let s: shared = X[:]; C[:] = s * 1.0;", "X3=1~.5", "C3=.5 C2=0", NULL },
	{ "let s: shared f32[16]; s[0 :+ 16] = Y[:]; C[:] = s * 1.0;", "", "C=0", NULL },
	{ "let s: shared f32[16]; s[0 :+ 16] = X[:]; s[0 :+ 16] = Y[:]; C[:] = s * 1.0;", "X3=1~.5",
	  "C=0", NULL },
	{ "let s: shared f32[16]; s[0 :+ 16] = X[:]; s[0 :+ 8] = Y[0 :+ 8]; C[:] = s * 1.0;",
	  "X3=1~.5 X9=1~.25", "C3=0 C9=.25",
	  NULL },
	{ "let s: shared f32[16]; s[0 :+ 16] = y; s[0 :+ 8] = x[0 :+ 8]; C[:] = s * 1.0;",
	  "X3=1~.5 X9=1~.25", "C3=.5 C9=0", NULL },
	{ "let s: shared f32[16]; s[0 :+ 16] = y; for j in 0..2 { C[:] = s * 1.0; s[0 :+ 16] = x; }",
	  "X3=1~.5", "C3=.5", NULL },
	{ "let s: shared = x + 0.0; let i: register = I[:]; C[:] = s[i];", "I2=3 I4=3~1 X3=1~.5",
	  "C2=.5 C4=inf C3=0",
	  NULL },
	{ "let s: shared f32[2, 16]; s[0] = x; s[1] = x * 2.0; C[:] = reshape(s[i64(xi[0])], 16);",
	  "I0=1 X3=1~.5", "C3=1 C2=0", NULL },
	{ "let s: shared f32[2, 16]; s[0] = y; s[1] = y; C[:] = reshape(s[i64(xi[0])], 16);", "I0=1~1",
	  "C=inf", NULL },
	{ "let s: shared f32[2, 16]; s[0] = y; s[1] = y; s[i64(xi[0])] = y; C[:] = reshape(s[0], 16);",
	  "I0=1~1", "C=inf", DOUBT },
	/* ---- copies */
	{ "let s: shared f32[16]; async copy(X[:], s); commit; wait 0; barrier; C[:] = s;", "X3=1~.5",
	  "C3=.5 C2=0",
	  NULL },
	{ "let s: shared f32[16]; async copy(Y[:], s); commit; wait 0; barrier; C[:] = s;", "", "C=0", NULL },
	{ "let s: shared f32[16]; async copy(X[:], s); commit; wait 0; barrier; async copy(Y[:], s); "
	  "commit; wait 0;"
	  " barrier; C[:] = s;",
	  "X3=1~.5", "C=0", NULL },
	{ "let s: shared f32[16]; async copy(Y[i64(xi[0]) :+ 16], s); commit; wait 0; barrier; C[:] = s;",
	  "I0=0~1",
	  "C=inf", DOUBT },
	{ "let s: shared f32[2, 16]; s[0] = y; s[1] = y; s[i64(xi[0])] = Y[:]; C[:] = reshape(s[0], 16);",
	  "I0=0~1", "C=inf", DOUBT },
	/* ---- branches */
	{ "if x[0] > 1 { C[:] = y; }", "X0=3~.5", "C=0", NULL },
	{ "if x[0] > 1 { C[:] = y; }", "X0=1~.5", "C=inf", DOUBT },
	{ "if y[0] > 1 { C[:] = y; } else { C[:] = x; }", "X1=3~.5", "C1=.5 C0=0", NULL },
	{ "if y[0] > 1 { C[:] = x; } else { C[:] = y; }", "X1=3~.5", "C=0", NULL },
	{ "if x[0] > 1 { print(\"more\"); } C[:] = y;", "X0=1~.5", "C=0", NULL },
	{ "if x[0] > 1 { print(\"{}\", block.x + 1); } else { print(\"less\"); } C[:] = y;", "X0=1~.5",
	  "C=0", NULL },
	{ "if x[0] > 1 { print(\"more\"); } else { C[:] = y; }", "X0=1~.5", "C=inf", DOUBT },
	{ "if x[0] > 1 { print(\"more\"); C[:] = y; }", "X0=1~.5", "C=inf", DOUBT },
	{ "var v: register f32[16] = y; if x[0] > 1 { v = y * 2.0; } C[:] = v;", "X0=1~.5", "C=inf", DOUBT },
	{ "var v: register f32[16] = y; if y[0] == 0 { v = x; } C[:] = v;", "X2=1~.5", "C2=.5 C1=0", NULL },
	{ "var v: register f32[16] = x; if y[0] == 0 { v = y; } C[:] = v;", "X2=1~.5", "C=0", NULL },
	{ "var v: register f32[16] = y; if y[0] == 1 { v = x; } C[:] = v;", "X2=1~.5", "C=0", NULL },
	{ "var n: register i32[16] = J[:]; if y[0] == 0 { n = I[:]; } N[:] = n;", "I2=1~1", "N2=1 N1=0",
	  NULL },
	{ "var n: register i32[16] = J[:]; if y[0] == 0 { n = J[:] + 1; } N[:] = n;", "", "N=0", NULL },
	{ "var n: i32 = 2; if y[0] == 0 { n = xi[0]; } N[:] = n;", "I0=1~1", "N=inf C=inf", DOUBT },
	{ "var n: i32 = 2; if y[0] == 0 { n = xi[0]; } N[:] = n;", "I0=1", "N=0", NULL },
	{ "var v: f32 = 2; if y[0] == 0 { v = x[0]; } C[:] = v;", "X0=1~.5", "C=.5", NULL },
	/* ---- loops */
	{ "var v: register f32[16] = 0; for j in 0..3 { v = v + x; } C[:] = v;", "X2=0~.5", "C2=1.5 C1=0",
	  NULL },
	{ "var v: register f32[16] = x; for j in 0..3 { v = v * 2.0; } C[:] = v;", "X2=0~.5", "C2=4 C1=0",
	  NULL },
	{ "var v: register f32[16] = x; for j in 0..0 { v = v * 2.0; } C[:] = v;", "X2=0~.5",
	  "C2=.5 C1=0", NULL },
	{ "var v: register f32[16] = x, w: register f32[16] = y; for j in 0..3 { let t = v; v = w; w = t; }"
	  " C[:] = v; D[:, :] = reshape(w, 4, 4);",
	  "X2=0~.5", "C=0 D2=.5", NULL },
	{ "var n: register i32[16] = J[:]; for j in 0..3 { n = n + I[:]; } N[:] = n;", "I2=1~1",
	  "N2=3 N1=0", NULL },
	{ "var n: register i32[16] = J[:]; for j in 0..3 { n = n + 1; } N[:] = n;", "", "N=0", NULL },
	{ "var n: i32 = 0; for j in 0..3 { n = n + xi[0]; } N[:] = n;", "I0=1~1", "N=inf", DOUBT },
	{ "var n: i32 = xi[0]; for j in 0..3 { n = 1; } N[:] = n;", "I0=1~1", "N=inf", DOUBT },
	{ "for j in 0..i64(xi[0]) { C[j :+ 1] = 1; }", "I0=3", "C=0", NULL },
	{ "for j in 0..i64(xi[0]) { C[j :+ 1] = 1; }", "I0=3~1", "C=inf", DOUBT },
	{ "for j in i64(xi[0])..4 { C[j :+ 1] = 1; }", "I0=3~1", "C=inf", DOUBT },
	{ "var v: f32 = 1; while v < 5 { v = v * 2.0; } C[:] = v;", "", "C=0", NULL },
	{ "var v: f32 = x[0]; while v < 5 { v = v * 2.0; } C[:] = v;", "X0=1~.125", "C=1", NULL },
	{ "var v: f32 = x[0]; while v < 5 { v = v * 2.0; } C[:] = v;", "X0=1~.5", "C=inf", DOUBT },
	{ "var v: f32 = x[0]; while v < 5 { v = v * 2.0; } C[:] = y;", "X0=5~.5", "C=inf", DOUBT },
	{ "var b: register bool[16] = y < 0.0; for j in 0..2 { b = x < 1.0; } N[:] = i32(b);",
	  "X2=1~.5 X3=3~.5",
	  "N2=1 N3=0", NULL },
	/* ---- atomic updates: sums are as far off as all terms, extremes as the worst, bits by anything */
	{ "atomic_add(N[:], I[:]); atomic_add(N[:], I[:]);", "I2=1~1", "N2=2 N1=0", NULL },
	{ "let i: register = J[:]; atomic_add(N[i], I[:]);", "I2=1~1 I3=1~2", "N0=3 N1=0", NULL },
	{ "atomic_max(N[:], I[:]); atomic_max(N[:], I[:] * 2);", "I2=1~1", "N2=2 N1=0", NULL },
	{ "atomic_min(N[:], I[:]);", "I2=1~1 N2=0~3 N1=0~2", "N2=3 N1=2 N0=0", NULL },
	{ "atomic_max(C[:], x);", "X2=1~.5", "C2=.5 C1=0", NULL },
	{ "atomic_max(C[:], y);", "", "C=0", NULL },
	{ "atomic_and(N[:], I[:]);", "I2=1~1", "N2=inf N1=0", NULL },
	{ "atomic_or(N[:], I[:]);", "I2=1~1", "N2=inf N1=0", NULL },
	{ "atomic_xor(N[:], J[:]);", "", "N=0", NULL },
	{ "atomic_and(N[:], J[:] + 8);", "N2=8~1", "N2=inf N1=0", NULL }, /* 8 & 8, 7 & 8 */
	{ "atomic_or(N[:], J[:]);", "N2=8~1", "N2=inf N1=0", NULL },
	{ "let i: register = I[:]; atomic_add(N[i], J[:]);", "I2=1~1", "N=inf", DOUBT },
	{ "N[:] = atomic_add(M[:], J[:]);", "", "N=inf M=0", NULL },
	{ "N[:] = atomic_swap(M[:], J[:]);", "", "N=inf M=inf", NULL },
	{ "N[:] = atomic_cas(M[:], J[:], J[:] + 1);", "", "N=inf M=inf", NULL },
	{ "let s: shared i32[16] = 0; N[:] = atomic_swap(s[0 :+ 16], J[:]); barrier; N[:] = s;", "",
	  "N=inf", NULL },
	{ "let s: shared i32[16] = 0; N[:] = atomic_add(s[0 :+ 16], J[:]); barrier; N[:] = s;", "", "N=0",
	  NULL },
	{ "let s: shared i32[16] = 0; atomic_add(s[0 :+ 16], I[:]); barrier; N[:] = s;", "I2=1~1",
	  "N2=1 N1=0", NULL },
	{ "let s: shared i32[16] = 0; atomic_add(s[0 :+ 16], J[:]); barrier; N[:] = s;", "", "N=0", NULL },
	{ "let s: shared i32[16] = 0; atomic_and(s[0 :+ 16], I[:]); barrier; N[:] = s;", "I2=1~1",
	  "N2=inf N1=0", NULL },
	{ "let s: shared i32[16] = 0; let i: register = J[:]; atomic_or(s[i], I[:]); barrier; N[:] = s;",
	  "I2=1~1",
	  "N0=inf N1=0", NULL },
	{ "let s: shared f32[16] = 0; atomic_add(s[0 :+ 16], y); barrier; C[:] = s;", "", "C=inf", NULL },
	{ "let s: shared f32[16] = 0; atomic_max(s[0 :+ 16], y); barrier; C[:] = s;", "", "C=0", NULL },
	/* ---- which op lost the bound */
	{ "C[:] = y / x;", "X2=1~2", "C2=inf", "the divisor may be 0, or be rounded to 0" },
	{ "C[:] = sqrt(x);", "X2=1~2", "C2=inf", "the operand may be negative" },
	{ "C[:] = log(x);", "X2=1~2", "C2=inf", "the operand may be 0" },
	{ "C[:] = rsqrt(x);", "X2=1~2", "C2=inf", "the operand may be 0" },
	{ "N[:] = I[:] % 3;", "I2=1~1", "N2=inf", "no bound is known for a rounded operand" },
	{ "let a: register = y / x; C[:] = sqrt(a);", "X2=1~2", "C2=inf",
	  "the divisor may be 0, or be rounded to 0" },
	{ "let a: register = sqrt(x); C[:] = y / a;", "X2=1~2", "C2=inf", "the operand may be negative" },
	{ "let a: register = y / x, c: register = sqrt(x); C[:] = a + c;", "X2=1~2", "C2=inf",
	  "the divisor may be 0, or be rounded to 0" },
	{ "C[:] = sqrt(x);", "X2=1~inf", "C2=inf", NOTHING }, /* it had none before */
	{ "C[:] = x + 1.0;", "X2=3.4028234e38~1e32", "C2=inf", NOTHING }, /* too many to record each */
	{ "C[:] = y / (x * x);", "X2=1~inf", "C2=inf", NOTHING },
	{ "C[:] = sqrt(x);", "X2=1~inf X3=1~2", "C2=inf C3=inf", "the operand may be negative" },
	{ "C[:] = sqrt(x);", "X2=1~.5", "C2=.5:1 C3=0", NOTHING },
	{ "var w: register f32[16] = x; for j in 0..2 { w = 1.0 / w; } C[:] = w;", "X2=2~.5",
	  "C2=1:1.001", NULL },
	/* ---- positions of sparse tiles */
	{ "D[:, :] = sparse(S[:, 0 :+ 2], u2(reshape(I[0 :+ 8], 4, 2)));", "I1=1 I3=1 I5=1 I7=1 S1=1~.5",
	  "D1=.5 D0=0",
	  NULL },
	{ "D[:, :] = sparse(S[:, 0 :+ 2], u2(x8));", "X1=1~.5 X3=1 X5=1 X7=1", "D=inf", DOUBT },
};

static const char head[] =
	"kernel k(X: inout f32[16], Y: f32[16], I: inout i32[16], J: i32[16], S: inout f32[4, 4], M: "
	"inout i32[16],\n"
	"    N: inout i32[16], C: inout f32[16], D: inout f32[4, 4])\n{\n    grid(1);\n"
	"    let x: register = X[:], y: register = Y[:], xi: register = I[:], x8: register = reshape(X[0 "
	":+ 8], 4, 2);\n";

TEST_EACH(rows, sizeof flow / sizeof *flow)
{
	const Flow *f = &flow[_i];
	char src[1000];
	Bounded *b;

	snprintf(src, sizeof src, "%s    %s\n}\n", head, f->body);
	b = bounded(u, src, "");
	ck_assert_msg(b->twin != NULL, "%s", f->body);
	bounded_set(b, f->in);
	bounded_run(b);
	bounded_expect(b, f->bounds, f->body);
	ck_assert_msg(!f->why || (b->lost != NULL) == (*f->why != 0), "%s: %s", f->body, b->why);
	ck_assert_msg(!f->why || !*f->why || strcmp(b->why, f->why) == 0, "%s: %s", f->body, b->why);
}

/* Attempts to rewrite a kernel go on until all tiles that errors reach are tracked; here each is found
 * one by one. */
TEST(many_tiles)
{
	char src[2000];
	int n = snprintf(src, sizeof src, "%s",
	         "kernel k(X: inout f32[16], C: out f32[16])\n{\n    grid(1);\n"
	                                        "    let s0: shared = X[:];\n");
	Bounded *b;

	for (int i = 1; i < 12; i++)
		n += snprintf(src + n, sizeof src - (size_t)n, "    let s%d: shared = s%d + 1.0;\n", i,
		              i - 1);
	snprintf(src + n, sizeof src - (size_t)n, "    C[:] = s11;\n}\n");
	b = bounded(u, src, "");
	bounded_set(b, "X3=1~.5");
	bounded_run(b);
	bounded_expect(b, "C3=.5 C2=0", "twelve tiles");
}

/* Returns the results of the copy's ops of that code: tiles that are exact have no second tile. */
static int
results(const Bounded *b, OpCode code)
{
	OpWalk w;
	int n = 0;

	for (Op *o = walk_first(&w, b->twin->body); o; o = walk_next(&w))
		n += o->code == code ? o->nout : 0;
	return n;
}

TEST(exact_tiles)
{
	Bounded *b = bounded(u,
	                     "kernel k(X: inout f32[16], Y: f32[16], J: i32[16], C: out f32[16], N: out "
	                     "i32[16])\n{\n"
	                     "    grid(1);\n    let s: shared = Y[:], t: shared = X[:];\n"
	                     "    var n: register i32[16] = J[:], v: register f32[16] = Y[:];\n"
	                     "    for j in 0..3 { n = n + 1; v = v + 1.0; }\n"
	                     "    C[:] = s * t + v;\n    N[:] = n;\n    let c: shared i32[16] = 0;\n"
	                     "    N[:] = atomic_add(c[0 :+ 16], n);\n}\n",
	                     "");

	/* s, t and the bounds of t; c, which has none, and its old values, which have */
	ck_assert_int_eq(results(b, O_alloc), 6);
	ck_assert_int_eq(results(b, O_for), 3);   /* n, v and the bound of v */
}

/* The copy is the same kernel, with parameters for the bounds of each written tensor. */
TEST(parameters)
{
	static const char *const names[] = { "X", "C", "F", "N", "the bounds of C", "the bounds of F",
	         "sums of F",
		                             "sums of F", "sums of F", "sums of F", "doubt" };
	Kernel *k;
	Bounded *b;

	b = bounded(u,
	            "kernel k(X: f32[N], C: out f32[N], F: inout f32[16])\n    tune WARPS = 2\n"
	            "{ grid(1); C[0 :+ 16] = X[0 :+ 16]; atomic_add(F[:], X[0 :+ 16]); }",
	            "N=16");
	k = b->twin;
	ck_assert_int_eq(k->nparam, 11);
	for (int i = 0; i < 11; i++) {
		ck_assert_str_eq(k->param[i].name, names[i]);
		ck_assert_msg(i < 4 || (k->param[i].kind == P_tensor && k->param[i].read &&
		                        k->param[i].written),
		              "%d", i);
	}
	ck_assert_int_eq(k->warps, 2);
	ck_assert(k->masked && k->src.line == b->k->src.line && k->unit == u);
	ck_assert_str_eq(k->name, "k");
}

/* The copy of a kernel of roles has the warps of each. */
TEST(role_warps)
{
	Bounded *b;

	u->target = target_find("sm_90a");
	b = bounded(u,
	            "kernel k(X: f32[16], C: out f32[32])\n{\n    grid(1);\n    let full: mbarrier[1] = 1;\n"
	            "    roles {\n        producer warps 2 { arrive full[0]; }\n"
	            "        consumer warps 4 teams 2 { await full[0], 0; C[team * 16 :+ 16] = X[:]; }\n  "
	            "  }\n}\n",
	            "");
	ck_assert_int_eq(b->twin->producer_warps, 2);
	ck_assert_int_eq(b->twin->teams, 2);
	bounded_run(b);
	bounded_expect(b, "C=0", "roles");
}

/* A view of a view that may be elsewhere, and one of one that is not: as IR, since programs have none. */
TEST_EACH(view_of_view, 2)
{
	static const char ir[] =
		"kernel t {\n  warps 4\n  masked\n"
		"  param %1.X tensor X : global f32[?] read size %20 stride %21\n"
		"  param %2.I tensor I : global i64[?] read written size %20 stride %21\n"
		"  param %3.C tensor C : global f32[?] written size %20 stride %21\n"
		"  grid {\n    %6 = const value 1 : i64\n    yield %6, %6, %6\n  }\n"
		"  body {\n    %20 = const value 16 : i64\n    %21 = const value 1 : i64\n"
		"    %22 = const value 0 : i64\n    %30 = view %2, %22 dropped 1 : global i64[]\n"
		"    %31 = load %30 : i64\n    %32 = view %1, %31 : global f32[8]\n"
		"    %33 = view %32, %22 : global f32[4]\n    %34 = load %33 : reg f32[4]\n"
		"    %35 = view %3, %22 : global f32[4]\n    store %34, %35\n    yield\n  }\n}\n";
	Bounded *b = bounded_kernel(u, ir_read(u, ir), "");

	bounded_set(b, _i ? "I0=1~1" : "I0=1");
	bounded_run(b);
	bounded_expect(b, _i ? "C=inf" : "C=0", "view of a view");
}

/* Numbers that identify no op: of no loss, and of none of two ops. */
TEST(lost_ops)
{
	Bounded *b = bounded(u,
	         "kernel k(X: inout f32[16], C: out f32[16]) { grid(1); C[:] = log(sqrt(X[:])); }", "");
	const char *why;

	ck_assert_int_eq(b->ops.n, 2);
	ck_assert(bound_lost(&b->ops, 1 << 30, &why)->code == O_sqrt);
	ck_assert(bound_lost(&b->ops, (1 << 30) - 1, &why)->code == O_log);
	ck_assert_ptr_null(bound_lost(&b->ops, (1 << 30) - 2, &why));
	ck_assert_ptr_null(bound_lost(&b->ops, (1 << 30) + 1, &why));
	ck_assert_ptr_null(bound_lost(&b->ops, 0, &why));
	ck_assert_str_eq(why, DOUBT);
	/* the second attempt, which tracks s, counts them anew */
	b = bounded(u, "kernel k(X: inout f32[16], C: out f32[16])\n"
	               "{ grid(1); let s: shared = sqrt(X[:]); C[:] = log(s); }", "");
	ck_assert_int_eq(b->ops.n, 2);
}

/* Bounds of a tile whose layout the program specifies have no layout. */
TEST(pinned_layout)
{
	Bounded *b = bounded(u,
	                     "kernel k(X: inout f32[64, 16], C: out f32[64, 16])\n{\n    grid(1);\n"
	                     "    let x: register f32[64, 16]\n"
	                     "        layout "
	                     "\"((8,2,4),(2,4,2)):((4@lane,2@reg,1@warp),(1@reg,1@lane,4@reg))\" = X[:, "
	                     ":];\n"
	                     "    let y = x + 1.0, z = relayout(y) * 2.0;\n    C[:, :] = z;\n}\n",
	                     "");
	OpWalk w;

	for (Op *o = walk_first(&w, b->twin->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nout; i++)
			ck_assert_msg(o->out[i]->type.dtype != D_f64 || (!o->out[i]->type.layout &&
			                                                 !o->out[i]->type.pinned),
			              "%s", op_info[o->code].name);
	bounded_set(b, "X3=1~.5");
	bounded_run(b);
	bounded_expect(b, "C3=1 C4=0", "a pinned tile");
}

TEST_PROGRAM(UNIT_FIXTURE);
