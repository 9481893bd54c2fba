/* test_exact_select.c - tests minimum, maximum, comparison, selection and sign of f32, f64 and integers, a
 * million operands each, against the text of the PTX ISA in C. MILLIONS=N makes it N millions. */
#include <math.h>
#include <stdbool.h>
#include "test/sim/exec/evalmany.h"
#include "test/check.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

static uint64_t
flush(uint64_t v)
{
	return v & 0x7f800000 ? v & UINT32_MAX : v & 0x80000000;
}

/* 1 less, 2 equal, 4 greater, 8 unordered */
static unsigned
relation(double a, double b)
{
	return isnan(a) || isnan(b) ? 8 : a < b ? 1
	                          : a > b       ? 4
	                                        : 2;
}
static unsigned
rel32(uint64_t a, uint64_t b)
{
	return relation((double)f32_of(a), (double)f32_of(b));
}
static unsigned
rel64(uint64_t a, uint64_t b)
{
	return relation(f64_of(a), f64_of(b));
}

/* PTX ISA, "min", "max": -0 is less than +0; a NaN loses, unless .NaN; .xorsign.abs compares magnitudes and gives
 * the product of the signs. */
static uint64_t
extreme(uint64_t a, uint64_t b, int bits, bool max, bool nan, bool xorsign)
{
	uint64_t top = 1ull << (bits - 1), sign = (a ^ b) & top, inf = bits == 32 ? 0x7f800000 : 0x7ff0000000000000, r;
	bool an, bn, less;

	if (xorsign) {
		a &= ~top;
		b &= ~top;
	}
	an = (a & ~top) > inf;
	bn = (b & ~top) > inf;
	if ((an && bn) || (nan && (an || bn)))
		return bits == 32 ? 0x7fffffff : 0; /* NO_NAN */
	/* numbers of one sign are in the order of their bits */
	less = (a & top) != (b & top) ? (a & top) != 0 : a & top ? a > b
	                                                         : a < b;
	r = an ? b : bn    ? a
	     : less != max ? a
	                   : b;
	return xorsign ? r | sign : r;
}
#define A32 (v->a & UINT32_MAX)
#define B32 (v->b & UINT32_MAX)
/* which NaN an f64 operation gives is not said: 0 stands for it */
#define NO_NAN "testp.notanumber.f64 %p1, %u0;\nselp.b64 %do, 0, %u0, %p1;"
#define FLOATS(X) \
	X(min, "r", "min.f32 %ro, %ra, %rb;", extreme(A32, B32, 32, 0, 0, 0)) \
	X(max, "r", "max.f32 %ro, %ra, %rb;", extreme(A32, B32, 32, 1, 0, 0)) \
	X(minz, "r", "min.ftz.f32 %ro, %ra, %rb;", extreme(flush(A32), flush(B32), 32, 0, 0, 0)) \
	X(maxzn, "r", "max.ftz.NaN.f32 %ro, %ra, %rb;", extreme(flush(A32), flush(B32), 32, 1, 1, 0)) \
	X(minn, "r", "min.NaN.f32 %ro, %ra, %rb;", extreme(A32, B32, 32, 0, 1, 0)) \
	X(minx, "r", "min.xorsign.abs.f32 %ro, %ra, %rb;", extreme(A32, B32, 32, 0, 0, 1)) \
	X(maxnx, "r", "max.NaN.xorsign.abs.f32 %ro, %ra, %rb;", extreme(A32, B32, 32, 1, 1, 1)) \
	X(maxzx, "r", "max.ftz.xorsign.abs.f32 %ro, %ra, %rb;", extreme(flush(A32), flush(B32), 32, 1, 0, 1)) \
	X(dmin, "d", "min.f64 %u0, %da, %db;\n" NO_NAN, extreme(v->a, v->b, 64, 0, 0, 0)) \
	X(dmax, "d", "max.f64 %u0, %da, %db;\n" NO_NAN, extreme(v->a, v->b, 64, 1, 0, 0)) \
	X(abs, "r", "abs.f32 %ro, %ra;", A32 & 0x7fffffff) X(absz, "r", "abs.ftz.f32 %ro, %ra;", flush(A32) & 0x7fffffff) \
	X(neg, "r", "neg.f32 %ro, %ra;", A32 ^ 0x80000000) X(negz, "r", "neg.ftz.f32 %ro, %ra;", flush(A32 ^ 0x80000000)) \
	X(dabs, "d", "abs.f64 %do, %da;", v->a & INT64_MAX) X(dneg, "d", "neg.f64 %do, %da;", v->a ^ 1ull << 63) \
	X(sgn, "r", "copysign.f32 %ro, %ra, %rb;", (A32 & 0x80000000) | (B32 & 0x7fffffff)) \
	X(dsgn, "d", "copysign.f64 %do, %da, %db;", (v->a & 1ull << 63) | (v->b & INT64_MAX))
#define TESTPS(X, n, t, R, get, bits) \
	TESTP(X, n, t, R, finite, isfinite(get)) TESTP(X, n, t, R, infinite, isinf(get)) TESTP(X, n, t, R, number, !isnan(get)) \
	TESTP(X, n, t, R, notanumber, isnan(get)) TESTP(X, n, t, R, normal, isnormal(get)) \
	TESTP(X, n, t, R, subnormal, fpclassify(get) == FP_SUBNORMAL)
#define TESTP(X, n, t, R, what, e) \
	X(n##what, "r", "testp." #what "." t " %p1, %" R "a;\nselp.b32 %ro, 1, 0, %p1;", (e) != 0)
/* name, outcomes; the last six hold for NaN too */
#define RELS(R, X) R(X, eq, 2) R(X, ne, 5) R(X, lt, 1) R(X, le, 3) R(X, gt, 4) R(X, ge, 6) R(X, equ, 10) \
	R(X, neu, 13) R(X, ltu, 9) R(X, leu, 11) R(X, gtu, 12) R(X, geu, 14) R(X, num, 7) R(X, nan, 8)
#define FREL(X, n, set) \
	X(s_##n, "r", "setp." #n ".f32 %p1|%p2, %ra, %rb;\nselp.b32 %t0, 1, 0, %p1;\nselp.b32 %t1, 2, 0, %p2;\n" \
	  "or.b32 %ro, %t0, %t1;", rel32(v->a, v->b) & set ? 1 : 2) \
	X(z_##n, "r", "setp.lt.s32 %p2, %rc, 0;\nsetp." #n ".xor.ftz.f32 %p1, %ra, %rb, !%p2;\nselp.b32 %ro, 1, 0, %p1;", \
	  ((rel32(flush(v->a), flush(v->b)) & set) != 0) != !(v->c >> 31 & 1)) \
	X(d_##n, "r", "setp.lt.s32 %p2, %rc, 0;\nsetp." #n ".and.f64 %p1|%p3, %da, %db, %p2;\nselp.b32 %t0, 1, 0, %p1;\n" \
	  "selp.b32 %t1, 2, 0, %p3;\nor.b32 %ro, %t0, %t1;", \
	  !(v->c >> 31 & 1) ? 0 : rel64(v->a, v->b) & set ? 1 : 2) \
	X(t_##n, "r", "set." #n ".f32.f32 %ro, %ra, %rb;", rel32(v->a, v->b) & set ? 0x3f800000 : 0) \
	X(u_##n, "r", "setp.lt.s32 %p2, %rc, 0;\nset." #n ".or.s32.f64 %ro, %da, %db, %p2;", \
	  rel64(v->a, v->b) & set || v->c >> 31 & 1 ? UINT32_MAX : 0)
#define INTS(X, T, U, R) \
	INTREL(X, T, U, R, eq, ==) INTREL(X, T, U, R, ne, !=) INTREL(X, T, U, R, lt, <) INTREL(X, T, U, R, le, <=) \
	INTREL(X, T, U, R, gt, >) INTREL(X, T, U, R, ge, >=)
#define INTREL(X, T, U, R, n, op) \
	X(T##n, "r", "setp.lt.s32 %p2, %rc, 0;\nsetp." #n ".xor." #T " %p1, %" R "a, %" R "b, %p2;\n" \
	  "selp.b32 %ro, 1, 0, %p1;", ((U)v->a op (U)v->b) != (v->c >> 31 & 1)) \
	X(T##n##s, "r", "set." #n ".f32." #T " %ro, %" R "a, %" R "b;", (U)v->a op (U)v->b ? 0x3f800000 : 0)
#define UINTS(X, T, U, R) INTS(X, T, U, R) \
	INTREL(X, T, U, R, lo, <) INTREL(X, T, U, R, ls, <=) INTREL(X, T, U, R, hi, >) INTREL(X, T, U, R, hs, >=)
#define BITS(X, T, U, R) INTREL(X, T, U, R, eq, ==) INTREL(X, T, U, R, ne, !=)
#define SELECTS(X) \
	X(p16, "h", "setp.lt.s32 %p2, %rc, 0;\nselp.b16 %ho, %ha, %hb, %p2;", v->c >> 31 & 1 ? v->a : v->b) \
	X(p32, "r", "setp.lt.s32 %p2, %rc, 0;\nselp.f32 %ro, %ra, %rb, !%p2;", v->c >> 31 & 1 ? v->b : v->a) \
	X(p64, "d", "setp.lt.s32 %p2, %rc, 0;\nselp.u64 %do, %da, %db, %p2;", v->c >> 31 & 1 ? v->a : v->b) \
	X(c16, "h", "slct.u16.s32 %ho, %ha, %hb, %rc;", v->c >> 31 & 1 ? v->b : v->a) \
	X(c32, "r", "slct.b32.s32 %ro, %ra, %rb, %rc;", v->c >> 31 & 1 ? v->b : v->a) \
	X(c64, "d", "slct.f64.s32 %do, %da, %db, %rc;", v->c >> 31 & 1 ? v->b : v->a) \
	X(f16, "h", "slct.s16.f32 %ho, %ha, %hb, %rc;", f32_of(v->c) >= 0 ? v->a : v->b) \
	X(f32, "r", "slct.f32.f32 %ro, %ra, %rb, %rc;", f32_of(v->c) >= 0 ? v->a : v->b) \
	X(fz, "d", "slct.ftz.b64.f32 %do, %da, %db, %rc;", f32_of(flush(v->c)) >= 0 ? v->a : v->b)
#define ALL(X) FLOATS(X) TESTPS(X, f, "f32", "r", f32_of(v->a), 32) TESTPS(X, d, "f64", "d", f64_of(v->a), 64) \
	RELS(FREL, X) UINTS(X, u16, uint16_t, "h") INTS(X, s16, int16_t, "h") UINTS(X, u32, uint32_t, "r") \
	INTS(X, s32, int32_t, "r") UINTS(X, u64, uint64_t, "d") INTS(X, s64, int64_t, "d") \
	BITS(X, b16, uint16_t, "h") BITS(X, b32, uint32_t, "r") BITS(X, b64, uint64_t, "d") SELECTS(X)
#define X(id, R, ptx, value) static uint64_t m_##id(const In *v) { return (uint64_t)(value); }
ALL(X)
#undef X
static const Op ops[] = {
#define X(id, R, ptx, value) { ptx, R[0], m_##id },
	ALL(X)
#undef X
};
enum { NOPS = sizeof ops / sizeof *ops, ROUNDS = (NOPS + MANY_OPS - 1) / MANY_OPS };

/* f32 or f64, often special. */
static uint64_t
number(int exp, int man)
{
	uint64_t r = rnd(), e = (1ull << exp) - 1, m = rnd() & ((1ull << man) - 1);

	switch (r % 8) {
	case 0: e = 0; break;
	case 1: m = r >> 8 & 1 ? m : 0; break;
	case 2:
		e = r >> 8 & 1 ? 0 : e - 1;
		m = 0;
		break;
	case 3:
		e = e / 2;
		m = r >> 8 & 1;
		break;
	default: e = (r >> 8) % e; break;
	}
	return (r >> 40 & 1) << (exp + man) | e << man | m;
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
		for (unsigned i = 0; i < N; i++) { /* half of them as f32, half as f64 */
			int exp = i & 1 ? 8 : 11, man = i & 1 ? 23 : 52;
			uint64_t r = rnd();
			v[i] = (In){ number(exp, man), number(exp, man), number(8, 23) };
			if (r % 4 == 0)
				v[i].b = v[i].a + (r >> 8) % 3 - 1;
			else if (r % 4 == 1)
				v[i].b = v[i].a ^ (r >> 8 & 1) << (exp + man);
		}
		many_compare(&e, v);
	}
	many_close(&e);
}

MANY_PROGRAM;
