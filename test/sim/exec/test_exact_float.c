/* test_exact_float.c - tests f32 and f64 arithmetic in every rounding and modifier, a million operands each,
 * against the host's arithmetic under its rounding modes. MILLIONS=N makes it N millions. */
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include "test/sim/exec/evalmany.h"
#include "test/check.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

static uint64_t
b32(float f)
{
	return isnan(f) ? 0x7fffffff : bits_of(f);
}

static float
zero(float f)           /* .ftz: subnormals are zeros of their sign */
{
	return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}
static float
unit(float f)           /* .sat: NaN becomes +0 */
{
	return f > 0 ? f < 1 ? f : 1 : 0;
}

/* The value of an expression under a rounding mode; volatile keeps it between the two calls. */
#define UNDER(mode, T, expr) { volatile T r_; fesetround(mode); r_ = (expr); fesetround(FE_TONEAREST); r = r_; }
#define F32(X, n, op, args, expr) \
	R32(X, n##_rn, op ".rn", args, FE_TONEAREST, expr) R32(X, n##_rz, op ".rz", args, FE_TOWARDZERO, expr) \
	R32(X, n##_rm, op ".rm", args, FE_DOWNWARD, expr) R32(X, n##_rp, op ".rp", args, FE_UPWARD, expr)
#define R32(X, n, op, args, mode, expr) \
	X(n, float, f32_of, "r", op ".f32 %ro, " args, mode, , expr, b32(r)) \
	X(n##_ftz, float, f32_of, "r", op ".ftz.f32 %ro, " args, mode, zero, expr, b32(zero(r)))
#define SAT(X, n, op, args, expr) \
	X(n##_sat, float, f32_of, "r", op ".rz.sat.f32 %ro, " args, FE_TOWARDZERO, , expr, b32(unit(r))) \
	X(n##_fs, float, f32_of, "r", op ".rp.ftz.sat.f32 %ro, " args, FE_UPWARD, zero, expr, b32(unit(zero(r))))
#define F64(X, n, op, args, expr) \
	X(n##_rn, double, f64_of, "d", op ".rn.f64 %do, " args, FE_TONEAREST, , expr, bits64_of(r)) \
	X(n##_rz, double, f64_of, "d", op ".rz.f64 %do, " args, FE_TOWARDZERO, , expr, bits64_of(r)) \
	X(n##_rm, double, f64_of, "d", op ".rm.f64 %do, " args, FE_DOWNWARD, , expr, bits64_of(r)) \
	X(n##_rp, double, f64_of, "d", op ".rp.f64 %do, " args, FE_UPWARD, , expr, bits64_of(r))
#define ALL(X) \
	F32(X, add, "add", "%ra, %rb;", a + b) F32(X, sub, "sub", "%ra, %rb;", a - b) F32(X, mul, "mul", "%ra, %rb;", a * b) \
	F32(X, div, "div", "%ra, %rb;", a / b) F32(X, fma, "fma", "%ra, %rb, %rc;", fmaf(a, b, c)) \
	F32(X, sqrt, "sqrt", "%ra;", sqrtf(a)) F32(X, rcp, "rcp", "%ra;", 1 / a) \
	SAT(X, add, "add", "%ra, %rb;", a + b) SAT(X, sub, "sub", "%ra, %rb;", a - b) SAT(X, mul, "mul", "%ra, %rb;", a * b) \
	SAT(X, fma, "fma", "%ra, %rb, %rc;", fmaf(a, b, c)) \
	F64(X, dadd, "add", "%da, %db;", a + b) F64(X, dsub, "sub", "%da, %db;", a - b) F64(X, dmul, "mul", "%da, %db;", a * b) \
	F64(X, ddiv, "div", "%da, %db;", a / b) F64(X, dfma, "fma", "%da, %db, %dc;", fma(a, b, c)) \
	F64(X, dsqrt, "sqrt", "%da;", sqrt(a)) F64(X, drcp, "rcp", "%da;", 1 / a) \
	X(c64_rn, double, f64_of, "r", "cvt.rn.f32.f64 %ro, %da;", FE_TONEAREST, , (float)a, b32((float)r)) \
	X(c64_rz, double, f64_of, "r", "cvt.rz.f32.f64 %ro, %da;", FE_TOWARDZERO, , (float)a, b32((float)r)) \
	X(c64_rm, double, f64_of, "r", "cvt.rm.f32.f64 %ro, %da;", FE_DOWNWARD, , (float)a, b32((float)r)) \
	X(c64_rp, double, f64_of, "r", "cvt.rp.f32.f64 %ro, %da;", FE_UPWARD, , (float)a, b32((float)r)) \
	X(widen, float, f32_of, "d", "cvt.f64.f32 %do, %ra;", FE_TONEAREST, , a, bits64_of((double)r))
#define X(id, T, get, R, ptx, mode, flush, expr, result) \
static uint64_t \
m_##id(const In *v) \
{ \
	const volatile T a = flush(get(v->a)), b = flush(get(v->b)), c = flush(get(v->c)); \
	T r; \
	(void)b; (void)c; \
	UNDER(mode, T, expr) \
	return result; \
}
ALL(X)
#undef X
static const Op ops[] = {
#define X(id, T, get, R, ptx, mode, flush, expr, result) { ptx, R[0], m_##id },
	ALL(X)
#undef X
};
enum { NOPS = sizeof ops / sizeof *ops, ROUNDS = (NOPS + MANY_OPS - 1) / MANY_OPS };

/* Numbers that cancel, overflow, underflow and tie often. */
static uint64_t
number(int exp, int man)
{
	uint64_t top = (1ull << exp) - 1, mid = top >> 1, e, m = rnd() & ((1ull << man) - 1);

	switch (rnd() % 8) {
	case 0: e = 0; break;
	case 1: e = top - 1; break;
	case 2: case 3: e = rnd() % top; break;
	case 4: e = rnd() % 4 ? mid : top; m &= rnd() % 3 ? 0 : m; break;
	default: e = mid - 3 + rnd() % 7; break;
	}
	if (rnd() % 3 == 0)
		m &= ~((1ull << (man / 2)) - 1);
	return (rnd() & 1) << (exp + man) | e << man | m;
}

static bool
same(const Op *op, uint64_t got, uint64_t want)
{
	return got == want || (op->kind == 'd' && isnan(f64_of(got)) && isnan(f64_of(want)));
}

TEST_EACH(exact, ROUNDS)
{
	enum { N = 1 << 13 };
	long times = rounds();
	static In v[N];
	unsigned from = (unsigned)_i * MANY_OPS, n = NOPS - from < MANY_OPS ? NOPS - from : MANY_OPS;
	Many e = many_open(ops + from, n, N);

	state = 0x9e3779b97f4a7c15ull + (unsigned)_i;
	for (long t = 0; t < times; t++) {
		for (unsigned i = 0; i < N; i++) {      /* half of them as f32, half as f64 */
			int exp = i & 1 ? 8 : 11, man = i & 1 ? 23 : 52;
			v[i] = (In){ number(exp, man), number(exp, man), number(exp, man) };
			if (rnd() % 8 == 0)
				v[i].b = v[i].a ^ (rnd() & 1) << (exp + man);
		}
		many_run(&e, v);
		for (unsigned k = 0; k < n; k++)
			for (unsigned i = 0; i < N; i++) {
				const Op *op = &ops[from + k];
				uint64_t got = e.out[(size_t)k * N + i], want = op->want(&v[i]);
				if (!same(op, got, want))
					many_differ(op, &v[i], got, want);
			}
	}
	many_close(&e);
}

MANY_PROGRAM;
