/* test_atomics.c - tests the bound of a sum of atomic additions: bound_of_sum on its own, and the
 * counts and magnitudes that the rewritten kernel collects.
 *
 * n terms are added by n - 1 additions, in any order. Each rounds by at most u of a partial sum, so two
 * orders differ by at most 2 ((1 + u)^(n - 1) - 1) S, where S is the sum of magnitudes, errors
 * included; the errors e of the terms add to that. Atomic additions of f32 may flush each term and each
 * sum to 0: 3 numbers below 2^-126 per update. Integers whose magnitudes sum to at most 2^24 (f16:
 * 2^11) have one sum, two exact terms as well. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

#define INF ((double)INFINITY)
#define TINY 0x1p-126

typedef struct Row {
	DType d;
	double e, start, size, count, fraction, low, high;
} Row;

#define ABOUT(e) (e), (e) * 1.001
#define SURE 0, 0
#define LOST INF, INF

static const Row row[] = {
	/* no update: what was stored */
	{ D_f32, .25, 0, 0, 0, 0, ABOUT(.25) },
	{ D_f32, 0, .5, 0, 0, 0, SURE },
	/* integers */
	{ D_f32, 0, 0, 7, 3, 0, SURE },
	{ D_f32, 0, -3, 7, 3, 0, SURE },
	{ D_f32, 0, 0, 0x1p24, 3, 0, SURE },
	{ D_f32, 0, -0x1p23, 0x1p23, 3, 0, SURE },
	{ D_f32, 0, 0, 0x1p24 + 2, 3, 0, ABOUT(2 * 2 * 0x1p-24 * 0x1p24) },
	{ D_f32, 0, -0x1p23, 0x1p23 + 2, 3, 0, ABOUT(2 * 3 * 0x1p-24 * 0x1p24) },
	{ D_f64, 0, 0, 0x1p53, 3, 0, 2, 8 }, /* 2^53, 1 and 1 have this sum in f64 */
	{ D_f64, 0, 0, 0x1p52, 3, 0, SURE },
	{ D_f16, 0, 0, 2048, 3, 0, SURE },
	{ D_f16, 0, 0, 2050, 3, 0, ABOUT(4 * 0x1p-11 * 2050 * (1 + 0x1p-12)) },
	/* not all integers: an update, the start, an error */
	{ D_f64, 0, 0, 7, 3, .5, ABOUT(4 * 0x1p-53 * 7) },
	{ D_f64, 0, .5, 7, 3, 0, ABOUT(6 * 0x1p-53 * 7.5) },
	{ D_f64, .5, 0, 7, 3, 0, ABOUT(.5) },
	{ D_f16, .5, 0, 7, 3, 0, ABOUT(.5 + 2 * 0x1.001p-10 * 7.5) },
	{ D_f16, .5, 0, 7, 2, 0, ABOUT(.5 + 2 * 0x1p-11 * 7.5) },
	{ D_f16, .5, 0, 7, 1, 0, ABOUT(.5) },
	/* two terms have one sum, but for numbers below 2^-126 */
	{ D_f16, 0, 0, 7, 2, .5, SURE },
	{ D_f16, 0, .5, 7, 1, .5, SURE },
	{ D_f16, 0, -.5, 7, 1, .5, SURE },
	{ D_f16, 0, .5, 7, 2, .5, ABOUT(2 * 0x1.001p-10 * 7.5) },
	{ D_f32, 0, 0, 7, 2, .5, ABOUT(3 * 2 * TINY) },
	{ D_f32, 0, .5, 7, 1, .5, ABOUT(3 * TINY) },
	{ D_f32, 0, 0, TINY, 9, .5, ABOUT(27 * TINY) },
	/* some orders overflow */
	{ D_f16, 0, 0, 65504, 2, .5, SURE },
	{ D_f16, 0, 0, 65504, 3, .5, LOST },
	{ D_f16, 0, 0, 65400, 3, .5, ABOUT(2 * 0x1.001p-10 * 65400) },
	{ D_f16, 0, -60000, 6000, 3, .5, LOST },
	{ D_f16, 6000, 0, 60000, 3, .5, LOST },
	{ D_f32, 0, INF, 1, 1, 0, LOST },
	{ D_f32, 0, NAN, 1, 1, 0, LOST },
	{ D_f32, INF, 0, 1, 1, 0, LOST },
	{ D_f32, 0, 0, INF, 2, 0, LOST },
	{ D_bf16, 0, 1, 3, 5, .5, ABOUT(2 * 5 * 0x1p-8 * 4 * (1 + 0x1p-7)) },
};

TEST_EACH(sums, sizeof row / sizeof *row)
{
	const Row *r = &row[_i];
	double sum[BOUND_SUMS] = { [BOUND_START] = r->start,
		                   [BOUND_SIZE] = r->size,
		                   [BOUND_COUNT] = r->count,
		                   [BOUND_FRACTION] = r->fraction };
	double bound = bound_of_sum(r->d, r->e, sum);

	ck_assert_msg(bound >= r->low && bound <= r->high,
	              "%g +- %g and %g numbers of %g: %.9g, not from %.9g to %.9g",
	              r->start, r->e, r->count, r->size, bound, r->low, r->high);
}

/* Kernels that add to C, D or H; 2^-24 is u of f32. NULL: the bound of what they read is not known in
 * any run. */
typedef struct Kernels {
	const char *body, *in, *bounds;
} Kernels;

static const Kernels kernels[] = {
	{ "for j in 0..3 { atomic_add(C[:], y); }", "C2=.5 Y2=.25 Y3=1", "C2=4.4703e-7 C3=0 C0=0" },
	{ "for j in 0..3 { atomic_add(C[:], -y); }", "C2=-.5 Y2=.25", "C2=4.4703e-7" },
	{ "for j in 0..3 { atomic_add(C[:], y); }", "C2=.5 Y2=1", "C2=1.25169e-6" },
	{ "atomic_add(C[:], x);", "X2=1~.5", "C2=.5 C1=0" },
	{ "for j in 0..3 { atomic_add(C[:], x); }", "X2=.25~.5", "C2=1.5 C1=0" },
	{ "atomic_add(C[:], y); atomic_add(C[:], y);", "C2=1~.5 Y2=.25", "C2=.5" },
	/* a plain store restarts the sum: two terms */
	{ "C[:] = y; atomic_add(C[:], y);", "C2=1e30~9 Y2=.25", "C2=0:1e-37" },
	{ "C[:] = y; atomic_add(C[:], y); atomic_add(C[:], y);", "C2=1e30~9 Y2=.25", "C2=1.7881e-7" },
	{ "C[:] = x; atomic_add(C[:], y);", "X2=1~.5 Y2=.25", "C2=.5" },
	/* only where the view is, through a view of a view, and along indices */
	{ "atomic_add(D[1 :+ 1, :], S[0 :+ 1, :]);", "S1=1~.5", "D5=.5 D1=0" },
	{ "for j in 0..2 { atomic_add(D[j :+ 1, 2 :+ 2], S[0 :+ 1, 0 :+ 2]); }", "S1=1~.5",
	  "D3=.5 D7=.5 D1=0 D11=0" },
	{ "let i: register = J[:]; atomic_add(C[i], y);", "Y2=.25 Y3=1.5 Y4=1", "C0=4.9173e-6 C1=0" },
	{ "for j in 0..3 { atomic_add(H[:], f16(y)); }", "H2=.5 Y2=.25 Y3=1", "H2=3.663e-3 H3=0" },
	/* what is read, or updated otherwise */
	{ "atomic_add(C[:], y); D[:, :] = reshape(C[:], 4, 4);", "", NULL },
	{ "atomic_add(C[:], y); let s: shared = C[:]; D[:, :] = reshape(s, 4, 4);", "", NULL },
	{ "atomic_add(C[:], y); atomic_max(C[:], y);", "", NULL },
	{ "atomic_max(C[:], y); D[:, :] = reshape(C[:], 4, 4);", "", "D=0" },
};

TEST_EACH(updates, sizeof kernels / sizeof *kernels)
{
	const Kernels *k = &kernels[_i];
	char src[800];
	Bounded *b;

	snprintf(src, sizeof src,
	         "kernel k(X: inout f32[16], Y: f32[16], J: i32[16], S: inout f32[4, 4], C: inout f32[16],\n"
	         "    D: inout f32[4, 4], H: inout f16[16])\n{\n    grid(1);\n"
	         "    let x: register = X[:], y: register = Y[:];\n    %s\n}\n",
	         k->body);
	b = bounded(u, src, "");
	if (!k->bounds) {
		ck_assert_msg(!b->twin, "%s", k->body);
		return;
	}
	ck_assert_msg(b->twin != NULL, "%s", k->body);
	bounded_set(b, k->in);
	bounded_run(b);
	bounded_expect(b, k->bounds, k->body);
}

TEST_PROGRAM(UNIT_FIXTURE);
