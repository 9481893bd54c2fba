/* test_exact_mixed.c - tests sums and fused multiply-adds of f16 or bf16 with f32 (PTX ISA, "Mixed Precision
 * Floating Point Instructions"), all roundings: every narrow operand with 32 others, against integer
 * arithmetic (exact.h). */
#define MANY_TARGET ".version 8.6\n.target sm_100"
#define MANY_ARCH "sm_100"
#include "test/check.h"
#include "test/sim/exec/evalmany.h"
#include "test/sim/exec/exact.h"

typedef enum Do { ADD, SUB, FMA } Do;

/* .sat: to 0 .. 1, of a NaN 0 */
static uint64_t
unit(uint64_t v)
{
	const uint64_t one = 0x3f800000;

	if (unpack(&f32, v).kind == NOT_A_NUMBER || v >> 31)
		return 0;
	return v > one ? one : v;
}

static uint64_t
mixed(const Fmt *f, Do what, Round round, bool sat, const In *v)
{
	Num a = unpack(f, v->a & 0xffff), b = unpack(f, v->b & 0xffff);
	Num c = unpack(&f32, v->c & UINT32_MAX), r;

	r = what == FMA ? add(mul(a, b), c, round) : add(a, what == SUB ? negated(c) : c, round);
	return sat ? unit(pack(&f32, r, round)) : pack(&f32, r, round);
}

/* name, rounding, saturated */
#define FORMS(X, F, what, op, args)                                                                      \
	X(F, what, op, rn, R_NEAREST, "", 0, args) X(F, what, op, rz, R_ZERO, "", 0, args)               \
	X(F, what, op, rm, R_DOWN, "", 0, args) X(F, what, op, rp, R_UP, "", 0, args)                    \
	X(F, what, op, rns, R_NEAREST, ".sat", 1, args)
#define OPS(X, F)                                                                                        \
	FORMS(X, F, ADD, add, "%ha, %rc;") FORMS(X, F, SUB, sub, "%ha, %rc;")                            \
	FORMS(X, F, FMA, fma, "%ha, %hb, %rc;")
#define X(F, what, op, name, round, sat, is_sat, args)                                                   \
	static uint64_t F##_##op##_##name(const In *v) { return mixed(&F, what, round, is_sat, v); }
OPS(X, f16)
OPS(X, bf16)
#undef X
static const Op ops[] = {
#define X(F, what, op, name, round, sat, is_sat, args)                                                   \
	{ #op "." ROUND_##name sat ".f32." #F " %ro, " args, 'r', F##_##op##_##name },
#define ROUND_rn "rn"
#define ROUND_rns "rn"
#define ROUND_rz "rz"
#define ROUND_rm "rm"
#define ROUND_rp "rp"
	OPS(X, f16) OPS(X, bf16)
#undef X
};
enum { NOPS = sizeof ops / sizeof *ops, HALF = NOPS / 2, N = 1 << 13 };

/* An f32 that is often near what it is added to: a narrow operand, or the product of two, give or take. */
static uint64_t
partner(const Fmt *f, uint64_t a, uint64_t b)
{
	static const uint32_t edge[] = { 0,          1,          0x7fffff,   0x800000,
		                         0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000 };
	Num x = unpack(f, a & 0xffff), product = mul(x, unpack(f, b & 0xffff));
	uint64_t r = rnd(), sign = r & 0x80000000, little = (r >> 8) % 5 - 2;

	switch (r % 5) {
	case 0: return edge[(r >> 8) % (sizeof edge / sizeof *edge)] | sign;
	case 1: return (pack(&f32, x, R_NEAREST) ^ sign) + little;
	case 2: return (pack(&f32, product, R_NEAREST) ^ sign) + little;
	default: return r >> 16;
	}
}

TEST_EACH(exact, 2)
{
	static In v[N];
	const Fmt *f = _i ? &bf16 : &f16;
	Many e = many_open(ops + _i * HALF, HALF, N);

	state = 0x9e3779b97f4a7c15ull + (unsigned)_i;
	for (unsigned t = 0; t < 32 * 0x10000 / N; t++) {
		for (unsigned i = 0; i < N; i++) {
			v[i] = (In){ (t * N + i) & 0xffff, rnd() & 0xffff, 0 };
			v[i].c = partner(f, v[i].a, v[i].b) & UINT32_MAX;
		}
		many_compare(&e, v);
	}
	many_close(&e);
}

MANY_PROGRAM;
