/* test_matrix.c - tests bounds of dots whose operands are in shared memory (wgmma), sparse, or values
 * times block scales, and of sums that a loop carries in parts.
 *
 * In C, because the bounds of the operands are inputs. As in test_sums.c a dot of k has 2 (k + 4) u
 * times the sum of magnitudes S, besides the errors E of its operands: |a| eb + ea (|b| + eb). */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

#define K20 (2 * 20 * 0x1p-24) /* 2 n u for n = 16 + 4 */

/* A warp role multiplies a[64, 16] and b[16, 8], which another has copied, onto C; A and B may be given
 * transposed. `text`: how acc is computed. */
typedef struct Async {
	const char *text;
	bool a_turned, b_turned;
	const char *in;  /* element (2, 3) of A is A35, given transposed A194; (3, 5) of B is B29 or B83 */
	double low, high; /* of element (2, 5), D21 */
	int turns; /* of the loop */
} Async;

#define ABOUT(e) (e), (e) * 1.001
#define ONCE "acc += async dot(a, b);"
#define FIRST "if k == 0 { acc = async dot(a, b); } else { acc += async dot(a, b); }"
#define TURNS "if r[0, 0] > 1 { acc = async dot(a, b); } else { acc += async dot(a, b); }"

static const Async async[] = {
	{ ONCE, false, false, "A35=3~1 B29=2 C21=5", ABOUT(2), 1 },
	{ ONCE, false, false, "A35=3 B29=2~1 C21=5", ABOUT(3), 1 },
	{ ONCE, false, false, "A35=3~1 B29=2~1 C21=5~.5", ABOUT(6.5), 1 },
	{ ONCE, false, false, "A35=3 B29=2 C21=5", 0, 0, 1 },
	{ ONCE, false, false, "A35=1.5 B29=2 C21=.25", ABOUT(3.25 * K20 + 3.25 * 0x1p-23), 1 },
	{ "acc += async dot(a.T, b);", true, false, "A194=3~1 B29=2~1 C21=5", ABOUT(6), 1 },
	{ "acc += async dot(a, b.T);", false, true, "A35=3~1 B83=2~1 C21=5", ABOUT(6), 1 },
	{ "acc += async dot(a.T, b.T);", true, true, "A194=3~1 B83=2~1 C21=5", ABOUT(6), 1 },
	{ "acc += async dot(a.T, b.T);", true, true, "A194=1.5 B83=2 C21=.25",
	  ABOUT(3.25 * K20 + 3.25 * 0x1p-23), 1 },
	/* The first product does not count what acc was, nor its error. */
	{ FIRST, false, false, "A35=3~1 B29=2 C21=5~64", ABOUT(2), 1 },
	{ FIRST, false, false, "A35=1.5 B29=2 C21=1e30", ABOUT(3 * K20 + 3 * 0x1p-23), 1 },
	{ FIRST, false, false, "A35=3~1 B29=2 C21=5~64", ABOUT(4), 2 },
	{ FIRST, false, false, "A35=3 B29=2 C21=5~64", 0, 0, 2 },
	{ TURNS, false, false, "A35=3 B29=2 C21=5~64 R0=3~1", 0, 0, 2 },
	{ TURNS, false, false, "A35=3 B29=2 C21=5~64 R0=1~1", INFINITY, INFINITY, 2 },
	/* A from registers */
	{ "acc += async dot(r, b);", false, false, "A35=3~1 B29=2~1 C21=5", 0, 0, 1 },
	{ "acc += async dot(r, b);", false, false, "B29=2~1 C21=5 R35=3", ABOUT(3), 1 },
	{ "acc += async dot(r, b);", false, false, "B29=2~1 C21=5 R35=3~1", ABOUT(6), 1 },
};

TEST_EACH(wgmma, sizeof async / sizeof *async)
{
	const Async *w = &async[_i];
	const char *a = w->a_turned ? "16, 64" : "64, 16", *bs = w->b_turned ? "8, 16" : "16, 8";
	char src[1500];
	double bound;
	Bounded *b;

	snprintf(src, sizeof src,
	         "kernel k(A: inout f16[%s], B: inout f16[%s], C: inout f32[64, 8], R: inout f16[64, "
	         "16],\n    D: out f32[64, 8], N: i64)\n"
	         "{\n    grid(1);\n    let a: shared f16[%s], b: shared f16[%s];\n    let full: "
	         "mbarrier[1] = 1;\n"
	         "    roles {\n        producer warps 1 {\n            async copy(A[:, :], a, full[0]);\n"
	         "            async copy(B[:, :], b, full[0]);\n            arrive full[0];\n        }\n"
	         "        consumer warps 4 {\n            let r: register = R[:, :];\n"
	         "            var acc: register f32[64, 8] = C[:, :];\n            await full[0], 0;\n"
	         "            for k in 0..N {\n                %s\n                wait dots 0;\n         "
	         "   }\n"
	         "            D[:, :] = acc;\n        }\n    }\n}\n",
	         a, bs, a, bs, w->text);
	u->target = target_find("sm_90a");
	b = bounded(u, src, w->turns > 1 ? "N=2" : "N=1");
	bounded_set(b, w->in);
	bounded_run(b);
	bound = bounded_bound(b, "D", 21);
	ck_assert_msg(bound >= w->low && bound <= w->high, "%s: %g has bound %.9g, not from %.9g to %.9g",
	              w->text,
	              bounded_get(b, "D", 21), bound, w->low, w->high);
	ck_assert(bounded_bound(b, "D", 20) <= 0 || isinf(bound));
}

/* An operand in a slot of shared memory that may be another one. */
TEST_EACH(wgmma_slot, 2)
{
	Bounded *b;

	u->target = target_find("sm_90a");
	b = bounded(u,
	            "kernel k(A: f16[64, 16], B: f16[16, 8], I: inout i32[16], D: out f32[64, 8])\n{\n    "
	            "grid(1);\n"
	            "    let a: shared f16[2, 64, 16], b: shared f16[16, 8];\n    let full: mbarrier[1] = "
	            "1;\n"
	            "    roles {\n        producer warps 1 {\n            async copy(A[:, :], a[0], "
	            "full[0]);\n"
	            "            async copy(A[:, :], a[1], full[0]);\n            async copy(B[:, :], b, "
	            "full[0]);\n"
	            "            arrive full[0];\n        }\n        consumer warps 4 {\n"
	            "            let i: register = I[:];\n            var acc: register f32[64, 8] = 0;\n"
	            "            await full[0], 0;\n            acc += async dot(a[i64(i[0])], b);\n"
	            "            wait dots 0;\n            D[:, :] = acc;\n        }\n    }\n}\n",
	            "");
	bounded_set(b, _i ? "A35=3 B29=2 I0=1~1" : "A35=3 B29=2 I0=1");
	bounded_run(b);
	bounded_expect(b, _i ? "D=inf" : "D=0", "slot");
}

/* ---- block scales ---------------------------------------------------------------------------------- */

/* x times s, in blocks of 32, may be rounded to the types in which the program multiplies, or not at
 * all. `through` is that type. All 64 elements of a row of x are `value`, its scales `scale`, and b is
 * 1. Each product may be off by `off`: half the spacing below the smallest normal number of the type,
 * as much for the scale if it is rounded there (times the largest value), nothing above. */
typedef struct Scales {
	const char *x, *s, *through;
	double value, scale, off;
} Scales;

static const Scales block[] = {
	{ "e4m3", "e4m3", "f16", 3, 4, 0 },
	{ "e4m3", "e4m3", "f16", 1.125, 0x1p-7, 0 },
	{ "e4m3", "e4m3", "f16", 1.125 * 0x1p-6, 0x1p-9, 0x1p-25 },
	{ "e4m3", "e4m3", "f16", 0x1p-6, 0x1p-8, 0x1p-25 },
	{ "e4m3", "e4m3", "f16", 1.125 * 0x1p-6, 0x1p-8, 0 },
	{ "e4m3", "e8m0", "f16", 448, 0x1p-25, 449 * 0x1p-25 }, /* its scale becomes 0: off by 448 * 2^-25 */
	{ "e4m3", "e8m0", "f16", 448, 0x1p-14, 449 * 0x1p-25 },
	{ "e4m3", "e8m0", "f16", 448, 0x1p-13, 0 },
	{ "e4m3", "e8m0", "f16", 448, 256, INFINITY }, /* infinite, or not */
	{ "e4m3", "e8m0", "f16", 256, 128, 0 },
	{ "e2m1", "e4m3", "f16", 0, 1, 0 }, /* has no product below 2^-14 but 0 */
	{ "e1m1", "e8m0", "bf16", 1, 0x1p-127, 0x1p-134 },
	{ "e2m1", "e8m0", "bf16", 3, 4, 0 },
	{ "e2m1", "e8m0", "bf16", .5, 0x1p-126, 0x1p-134 },
	{ "e2m1", "e8m0", "bf16", 1.5, 0x1p-125, 0 },
	{ "e4m3", "e8m0", "bf16", 448, 256, 0 },
	{ "e4m3", "e8m0", "bf16", 448, 0x1p120, INFINITY },
	{ "e4m3", "e8m0", "f32", 448, 256, 0 },
};

TEST_EACH(block_scales, 2 * sizeof block / sizeof *block)
{
	const Scales *k = &block[_i / 2];
	double bound, r, most;
	int at = _i % 2 ? 3 * 16 + 2 : 2 * 16 + 3;
	char src[900];
	Bounded *b;

	/* the product is the left operand, or, transposed, the right one */
	snprintf(src, sizeof src,
	         "kernel k(X: %s[16, 64], S: %s[16, 2], D: out f32[16, 16])\n{\n    grid(1);\n"
	         "    let x: register = X[:, :], s: register = S[:, :];\n"
	         "    let a = reshape(%s(reshape(x, 16, 2, 32)) * %s(reshape(s, 16, 2, 1)), 16, 64);\n"
	         "    let one: register %s[16, 64] = 1;\n    D[:, :] = %s;\n}\n",
	         k->x, k->s, k->through, k->through, k->through, _i % 2 ? "dot(one, a.T)" : "dot(a, one.T)");
	b = bounded(u, src, "");
	for (int i = 0; i < 64; i++)
		bounded_put(b, "X", 2 * 64 + i, k->value, 0);
	for (int i = 0; i < 32; i++)
		bounded_put(b, "S", i, i / 2 == 2 ? k->scale : 1, 0);
	bounded_run(b);
	bound = bounded_bound(b, "D", at);
	r = bounded_get(b, "D", at);
	/* E, and 2 (64 + 4) u of the magnitudes, and one rounding of each side; sums of integers are
	 * exact */
	most = 64 * k->off;
	if (most > 0 || fmod(k->value * k->scale, 1) > 0)
		most += 138 * (r + most) * 0x1p-24 + 0x1p-126;
	ck_assert_msg(bound >= most && bound <= 1.001 * most + 0x1p-126,
	              "%g * %g (%s, %s in %s): %g has bound %.9g, not "
	              "%.9g", k->value, k->scale, k->x, k->s, k->through, r, bound, most);
}

/* A dot with scales, as pass legalize leaves it: values [16, 64] and [64, 8], a scale of a for 32 of
 * them, of b for 16; the bound of 1.5 * 3 times 1 * 4 (the scales' magnitudes) is 2 (64 + 4) u and one
 * rounding. */
static const char scaled_ir[] =
	"kernel t {\n  warps 4\n  masked\n"
	"  param %1.A tensor A : global e4m3[?, ?] read written size %20, %21 stride %21, %22\n"
	"  param %2.B tensor B : global e4m3[?, ?] read size %21, %23 stride %23, %22\n"
	"  param %3.S tensor S : global e4m3[?, ?] read size %20, %24 stride %24, %22\n"
	"  param %4.T tensor T : global e4m3[?, ?] read written size %25, %23 stride %23, %22\n"
	"  param %5.D tensor D : global f32[?, ?] written size %20, %23 stride %23, %22\n"
	"  grid {\n    %6 = const value 1 : i64\n    yield %6, %6, %6\n  }\n"
	"  body {\n    %20 = const value 16 : i64\n    %21 = const value 64 : i64\n    %22 = const value "
	"1 : i64\n"
	"    %23 = const value 8 : i64\n    %24 = const value 2 : i64\n    %25 = const value 4 : i64\n"
	"    %26 = const value 0 : i64\n"
	"    %30 = view %1, %26, %26 : global e4m3[16, 64]\n    %31 = load %30 : reg e4m3[16, 64]\n"
	"    %32 = view %2, %26, %26 : global e4m3[64, 8]\n    %33 = load %32 : reg e4m3[64, 8]\n"
	"    %34 = view %3, %26, %26 : global e4m3[16, 2]\n    %35 = load %34 : reg e4m3[16, 2]\n"
	"    %36 = view %4, %26, %26 : global e4m3[4, 8]\n    %37 = load %36 : reg e4m3[4, 8]\n"
	"    %38 = const value 0.0 : reg f32[16, 8]\n"
	"    %39 = dot %31, %33, %38, %35, %37 : reg f32[16, 8]\n"
	"    %40 = view %5, %26, %26 : global f32[16, 8]\n    store %39, %40\n    yield\n  }\n}\n";

TEST_EACH(scaled_dot, 4)
{
	Bounded *b = bounded_kernel(u, ir_read(u, scaled_ir), "");
	double product = (_i == 1 ? 3 : 1.5) * 3 * 4;

	bounded_put(b, "A", 2 * 64 + 33, _i == 1 ? 3 : 1.5, 0);
	bounded_put(b, "B", 33 * 8 + 5, 3, 0);
	bounded_put(b, "S", 2 * 2 + 1, -1, 0);
	bounded_put(b, "T", 2 * 8 + 5, 4, 0);
	if (_i == 2)
		bounded_put(b, "A", 0, 1, .5);
	if (_i == 3)
		bounded_put(b, "T", 0, 1, .5);
	bounded_run(b);
	ck_assert(bounded_get(b, "D", 21) == product);
	switch (_i) {
	case 0: bounded_expect(b, "D21=1.4805e-4 D20=0 D13=0", "scaled dot"); break; /* 18 (2 * 68 + 2) u */
	case 1: bounded_expect(b, "D=0", "scaled dot of integers"); break;
	default: bounded_expect(b, "D=inf", "scaled dot of inexact operands"); break;
	}
}

/* ---- sparse operands ------------------------------------------------------------------------------- */

/* 2 of 4 values along k, at positions 0 and 1: a[16, 32] from [16, 16]; the positions must be exact. */
TEST_EACH(sparse, 4)
{
	static const char *const in[] = { "V17=3~1 B8=2", "V17=3~1 B8=2~1", "V17=3 B8=2~1",
	         "V17=3 B8=2~1 I0=0~1" };
	static const char *const bounds[] = { "D8=2 D9=0", "D8=6 D9=0", "D8=3 D9=0", "D=inf" };
	Bounded *b = bounded(u,
	                     "kernel k(V: inout f16[16, 16], I: inout i32[16, 16], B: inout f16[32, 8], "
	                     "D: out f32[16, 8])\n"
	                     "{\n    grid(1);\n    let p = u2(I[:, :] + iota(1, 16, 16) % 2);\n"
	                     "    D[:, :] = dot(sparse(V[:, :], p), B[:, :]);\n}\n",
	                     "");

	bounded_set(b, in[_i]);
	bounded_run(b);
	bounded_expect(b, bounds[_i], "sparse");
}

/* The same as one op: of a[16, 32] or b[32, 8] only the values are given, and their positions. */
static const char sparse_ir[] =
	"kernel t {\n  warps 4\n  masked\n"
	"  param %%1.A tensor A : global f16[?, ?] read written size %%20, %%%d stride %%%d, %%22\n"
	"  param %%2.B tensor B : global f16[?, ?] read written size %%%d, %%23 stride %%23, %%22\n"
	"  param %%3.P tensor P : global i32[?, ?] read written size %%20, %%%d stride %%%d, %%22\n"
	"  param %%5.D tensor D : global f32[?, ?] written size %%20, %%23 stride %%23, %%22\n"
	"  grid {\n    %%6 = const value 1 : i64\n    yield %%6, %%6, %%6\n  }\n"
	"  body {\n    %%20 = const value 16 : i64\n    %%21 = const value 32 : i64\n    %%22 = const "
	"value 1 : i64\n"
	"    %%23 = const value 8 : i64\n    %%24 = const value 16 : i64\n    %%26 = const value 0 : i64\n"
	"    %%30 = view %%1, %%26, %%26 : global f16[16, %d]\n    %%31 = load %%30 : reg f16[16, %d]\n"
	"    %%32 = view %%2, %%26, %%26 : global f16[%d, 8]\n    %%33 = load %%32 : reg f16[%d, 8]\n"
	"    %%34 = view %%3, %%26, %%26 : global i32[16, %d]\n    %%35 = load %%34 : reg i32[16, %d]\n"
	"    %%36 = cast %%35 : reg u2[16, %d]\n    %%38 = const value 0.0 : reg f32[16, 8]\n"
	"    %%39 = dot %%31, %%33, %%38, %%36 sparse %d : reg f32[16, 8]\n"
	"    %%40 = view %%5, %%26, %%26 : global f32[16, 8]\n    store %%39, %%40\n    yield\n  }\n}\n";

/* Positions 0 and 1 of each 4: of A along rows, of B along columns. In A value 17 is element (1, 1); in
 * B value 8 is element (1, 0), and value 16 is element (4, 0). */
TEST_EACH(sparse_dot, 6)
{
	static const char *const in[] = { "A17=3 B8=2", "A17=3~1 B8=2", "A17=3 B8=2 P0=0~1",
		                          "A33=3 B8=2", "A36=3 B16=2~1", "A33=3 B8=2 P0=0~1" };
	static const char *const bounds[] = { "D=0", "D8=2 D9=0 D0=0", "D=inf", "D=0", "D8=3 D9=0 D0=0",
	         "D=inf" };
	bool right = _i >= 3;
	int k = right ? 32 : 16, n = right ? 8 : 16;
	char ir[3000];
	Bounded *b;

	snprintf(ir, sizeof ir, sparse_ir, right ? 21 : 24, right ? 21 : 24, right ? 24 : 21, right ? 23 : 24,
	         right ? 23 : 24, k, k, 48 - k, 48 - k, n, n, n, right);
	b = bounded_kernel(u, ir_read(u, ir), "");
	for (int i = 0; i < 16 * n; i++)
		bounded_put(b, "P", i, right ? i / n % 2 : i % 2, 0);
	bounded_set(b, in[_i]);
	bounded_run(b);
	bounded_expect(b, bounds[_i], "sparse dot");
}

/* ---- sums that a loop carries in parts -------------------------------------------------------------- */

/* Lanes carry partial sums of n iterations of 4 terms: a term is rounded up to n + 4 times on each
 * side. Each iteration's terms have magnitude S. Its bound is 2 * 4 u S and a rounding for the sum, 2
 * (n + 1 + 4) u S for what is carried, and a rounding of the carried sum r: (24 or 22 S + 2 r) u. */
typedef struct Late {
	const char *type, *body;
	int n;
	double x, e, low, high;
} Late;

static const Late late[] = {
	/* one iteration: 2 (1 + 1 + 4) u S for S = 1.5, and a rounding of the sum each */
	{ "f32", "s += sum(x, 1);", 1, 1.5, 0, ABOUT((22 * 1.5 + 2 * 1.5) * 0x1p-24) },
	{ "f32", "s += sum(x, 1);", 1, 1.5, .5, ABOUT(.5) },
	/* two: (n + 1 + 4) each; sums 1.5 and 3 */
	{ "f32", "s += sum(x, 1);", 2, 1.5, 0, ABOUT((2 * 24 * 1.5 + 2 * 4.5) * 0x1p-24) },
	{ "f32", "s += sum(x, 1);", 2, 1.5, .5, ABOUT(1) },
	{ "f32", "s = sum(x, 1) + s;", 2, 1.5, 0, ABOUT((2 * 24 * 1.5 + 2 * 4.5) * 0x1p-24) },
	{ "f32", "s = s + sum(x, 1);", 2, -1.5, 0, ABOUT((2 * 24 * 1.5 + 2 * 4.5) * 0x1p-24) },
	/* halved before each addition: the first iteration's error halves, too */
	{ "f32", "s = s * h + sum(x, 1);", 2, 1.5, 0,
	  ABOUT(((24 * 1.5 + 2 * 1.5) / 2 + 24 * 1.5 + 2 * 2.25) * 0x1p-24) },
	{ "f32", "s = s * h + sum(x, 1);", 2, 1.5, .5, ABOUT(.75) },
	{ "f32", "s += sum(x, 1);", 2, 0, 0, 0, 0 },
	/* not carried in parts */
	{ "f16", "s += sum(x, 1);", 1, 1.5, 0, ABOUT(1.5 * (8 * 0x1p-24 + 4 * 0x1p-11)) },
	{ "f64", "s += sum(x, 1);", 1, 1.5, 0,
	  ABOUT(1.5 * 12 * 0x1p-53 + 1.5 * 0x1p-52 + 1.5 * 8 * 0x1p-53 + 1.5 * 0x1p-52) },
	{ "i32", "s += sum(x, 1);", 3, 2, 1, ABOUT(3) },
	{ "i32", "s += sum(x, 1);", 3, 2, 0, 0, 0 },
	/* an extreme is as far off as any of its terms */
	{ "f32", "s = max(s, reduce_max(x, 1));", 2, 1.5, .5, ABOUT(.5) },
	{ "f32", "s = max(s, reduce_max(x, 1));", 2, 1.5, 0, 0, 0 },
};

TEST_EACH(carried, sizeof late / sizeof *late)
{
	const Late *l = &late[_i];
	char src[600];
	double bound;
	Bounded *b;

	snprintf(src, sizeof src,
	         "kernel k(X: inout %s[2, N], H: f32[1], S: out %s[2, 1])\n{\n    grid(1);\n"
	         "    var s: register %s[2, 1] = 0;\n    let h = H[0];\n    for n in 0..N step 4 {\n"
	         "        let x: register = X[:, n :+ 4];\n        %s\n    }\n    S[:, :] = s;\n}\n",
	         l->type, l->type, l->type, l->body);
	b = bounded(u, src, l->n == 1 ? "N=4" : l->n == 2 ? "N=8" : "N=12");
	bounded_put(b, "H", 0, .5, 0);
	for (int i = 0; i < l->n; i++)
		bounded_put(b, "X", l->n * 4 + 4 * i + 1, l->x, l->e);
	bounded_run(b);
	bound = bounded_bound(b, "S", 1);
	ck_assert_msg(bound >= l->low && bound <= l->high,
	              "%s of %g +- %g (%s): %g has bound %.9g, not from %.9g to %.9g",
	              l->body, l->x, l->e, l->type, bounded_get(b, "S", 1), bound, l->low, l->high);
	ck_assert(bounded_bound(b, "S", 0) <= 0);
}

TEST_PROGRAM(UNIT_FIXTURE);
