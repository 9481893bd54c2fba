/* test_exact_approx.c - tests approximate instructions against the maximum errors stated in the PTX ISA: a
 * million operands each, halves at every value. MILLIONS=N makes it N millions. */
#include <math.h>
#include <stdbool.h>
#include "test/check.h"
#include "test/sim/exec/evalmany.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

static const double pi = 3.14159265358979323846;

static double
value(uint64_t v, char type) /* f, d; h f16, b bf16 */
{
	uint32_t w = (uint32_t)v;
	float f;
	double d;
	int e = (int)(v >> 10 & 31), m = (int)(v & 1023);

	switch (type) {
	case 'd':
		memcpy(&d, &v, 8);
		return d;
	case 'h':
		d = e == 31 ? m ? (double)NAN : (double)INFINITY : ldexp(e ? m + 1024 : m, (e ? e : 1) - 25);
		return v & 0x8000 ? -d : d;
	case 'b':
		w <<= 16;
		break;
	default:
		break;
	}
	memcpy(&f, &w, 4);
	return (double)f;
}

static double
x_rcp(double a, double b)
{
	(void)b;
	return 1 / a;
}
static double
x_sqrt(double a, double b)
{
	(void)b;
	return sqrt(a);
}
static double
x_rsqrt(double a, double b)
{
	(void)b;
	return 1 / sqrt(a);
}
static double
x_ex2(double a, double b)
{
	(void)b;
	return exp2(a);
}
static double
x_lg2(double a, double b)
{
	(void)b;
	return log2(a);
}
static double
x_sin(double a, double b)
{
	(void)b;
	return sin(a);
}
static double
x_cos(double a, double b)
{
	(void)b;
	return cos(a);
}
static double
x_tanh(double a, double b)
{
	(void)b;
	return tanh(a);
}
static double
x_div(double a, double b)
{
	return a / b;
}
/* The reciprocal of a large divisor is 0. */
static double
x_fast(double a, double b)
{
	return fabs(b) > 0x1p126 ? a * copysign(0, b) : a / b;
}

typedef enum Error { RELATIVE, ABSOLUTE, ULPS } Error;
typedef struct Approx {
	const char *ptx;
	char kind, type; /* of the result's register; f, h, b, d: f64 of 32 bits */
	bool ftz;
	double (*exact)(double a, double b);
	Error how;
	double most;
	double from, to; /* |a|, or |b| of two, where that holds; infinities and NaN hold everywhere */
} Approx;
/* PTX ISA, the sections of these instructions.  The f64 forms give 20 bits of a fraction. */
static const Approx table[] = {
	{ "rcp.approx.f32 %ro, %ra;", 'r', 'f', 0, x_rcp, ULPS, 1, 0, INFINITY },
	{ "rcp.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_rcp, ULPS, 1, 0, INFINITY },
	{ "sqrt.approx.f32 %ro, %ra;", 'r', 'f', 0, x_sqrt, RELATIVE, 0x1p-23, 0, INFINITY },
	{ "sqrt.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_sqrt, RELATIVE, 0x1p-23, 0, INFINITY },
	{ "rsqrt.approx.f32 %ro, %ra;", 'r', 'f', 0, x_rsqrt, RELATIVE, 0x1.1p-23, 0, INFINITY },
	{ "rsqrt.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_rsqrt, RELATIVE, 0x1.1p-23, 0, INFINITY },
	{ "ex2.approx.f32 %ro, %ra;", 'r', 'f', 0, x_ex2, RELATIVE, 0x1.6ap-23, 0, INFINITY },
	{ "ex2.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_ex2, RELATIVE, 0x1.6ap-23, 0, INFINITY },
	{ "lg2.approx.f32 %ro, %ra;", 'r', 'f', 0, x_lg2, ABSOLUTE, 0x1p-22, 0.5, 2 },
	{ "lg2.approx.f32 %ro, %ra;", 'r', 'f', 0, x_lg2, RELATIVE, 0x1p-22, 2, INFINITY },
	{ "lg2.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_lg2, RELATIVE, 0x1p-22, 0, 0.5 },
	{ "sin.approx.f32 %ro, %ra;", 'r', 'f', 0, x_sin, ABSOLUTE, 0x1.6ap-21, 0, 2 * pi },
	{ "cos.approx.f32 %ro, %ra;", 'r', 'f', 0, x_cos, ABSOLUTE, 0x1.6ap-21, 0, 2 * pi },
	{ "sin.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_sin, ABSOLUTE, 0x1.6ap-21, 0, 2 * pi },
	{ "cos.approx.ftz.f32 %ro, %ra;", 'r', 'f', 1, x_cos, ABSOLUTE, 0x1.6ap-21, 0, 2 * pi },
	{ "tanh.approx.f32 %ro, %ra;", 'r', 'f', 0, x_tanh, RELATIVE, 0x1p-11, 0, INFINITY },
	{ "div.approx.f32 %ro, %ra, %rb;", 'r', 'f', 0, x_fast, ULPS, 2, 0x1p-126, INFINITY },
	{ "div.approx.ftz.f32 %ro, %ra, %rb;", 'r', 'f', 1, x_fast, ULPS, 2, 0x1p-126, INFINITY },
	{ "div.full.f32 %ro, %ra, %rb;", 'r', 'f', 0, x_div, ULPS, 2, 0, INFINITY },
	{ "div.full.ftz.f32 %ro, %ra, %rb;", 'r', 'f', 1, x_div, ULPS, 2, 0, INFINITY },
	{ "rcp.approx.ftz.f64 %do, %da;", 'd', 'd', 1, x_rcp, RELATIVE, 0x1p-20, 0, INFINITY },
	{ "rsqrt.approx.ftz.f64 %do, %da;", 'd', 'd', 1, x_rsqrt, RELATIVE, 0x1p-20, 0, INFINITY },
};
static const Approx halves[] = {
	{ "ex2.approx.f16 %ho, %ha;", 'h', 'h', 0, x_ex2, RELATIVE, 0x1.12p-10, 0, INFINITY },
	{ "ex2.approx.f16x2 %ro, %ra;", 'r', 'h', 0, x_ex2, RELATIVE, 0x1.12p-10, 0, INFINITY },
	{ "ex2.approx.ftz.bf16 %ho, %ha;", 'h', 'b', 1, x_ex2, RELATIVE, 0x1p-7, 0, INFINITY },
	{ "ex2.approx.ftz.bf16x2 %ro, %ra;", 'r', 'b', 1, x_ex2, RELATIVE, 0x1p-7, 0, INFINITY },
	{ "tanh.approx.f16 %ho, %ha;", 'h', 'h', 0, x_tanh, ABSOLUTE, 0x1.02p-11, 0, INFINITY },
	{ "tanh.approx.f16x2 %ro, %ra;", 'r', 'h', 0, x_tanh, ABSOLUTE, 0x1.02p-11, 0, INFINITY },
	{ "tanh.approx.bf16 %ho, %ha;", 'h', 'b', 0, x_tanh, ABSOLUTE, 0x1p-8, 0, INFINITY },
	{ "tanh.approx.bf16x2 %ro, %ra;", 'r', 'b', 0, x_tanh, ABSOLUTE, 0x1p-8, 0, INFINITY },
};
enum { NTABLE = sizeof table / sizeof *table, NHALVES = sizeof halves / sizeof *halves };

static double
flushed(double v, double least)
{
	return fabs(v) < least ? copysign(0, v) : v;
}

/* Is a result of these operands allowed? */
static bool
allowed(const Approx *t, uint64_t ab, uint64_t bb, uint64_t result)
{
	double a = value(ab, t->type), b = value(bb, t->type), got = value(result, t->type), want, where, step;
	double least = t->type == 'h' ? 0x1p-14 : t->type == 'd' ? 0x1p-1022
	                                                         : 0x1p-126;
	double most = t->type == 'h' ? 65504 : t->type == 'b' ? 0x1.fep127
	                               : t->type == 'd'       ? 0x1.fffffp1023
	                                                      : 0x1.fffffep127;
	int man = t->type == 'h' ? 10 : t->type == 'b' ? 7
	                        : t->type == 'd'       ? 20
	                                               : 23,
	    e;
	uint64_t nan = t->type == 'f' ? 0x7fffffff : 0x7fff;

	if (t->type == 'd' && !isnan(a)) /* only the upper half is read */
		a = value(ab & ~(uint64_t)UINT32_MAX, 'd');
	if (t->ftz) {
		a = flushed(a, least);
		b = flushed(b, least);
	}
	where = fabs(t->exact == x_div || t->exact == x_fast ? b : a);
	if (where != 0 && isfinite(where) && (where < t->from || where > t->to))
		return true;
	if (t->type == 'd' && (uint32_t)result)
		return false;
	want = t->exact(a, b);
	if (isnan(want))
		return t->type == 'd' ? isnan(got) : result == nan;
	if (isinf(want) || want == 0)
		return got == want && signbit(got) == signbit(want);
	if (t->ftz && fabs(want) < least * (1 - ldexp(1, -man)))
		return got == 0;
	frexp(want, &e);
	step = fmax(ldexp(1, e - 1 - man), ldexp(least, -man));
	if (fabs(want) > most) /* between the largest and infinity both are as near */
		return isinf(got) || (fabs(want) < most + step && fabs(got) == most);
	if (t->ftz && fabs(want) < least && got == 0)
		return true;
	/* what a subnormal cannot hold is half a step of it */
	return fabs(got - want) <= fmax(t->how == ABSOLUTE ? t->most : t->how == ULPS ? t->most * step
	                                                                              : t->most * fabs(want),
	                                ldexp(least, -man) / 2);
}

/* Half of the numbers about 1, the rest of all sizes, some special. */
static uint64_t
number(int exp, int man)
{
	uint64_t r = rnd(), top = (1ull << exp) - 1, m = rnd() & ((1ull << man) - 1), e;

	switch (r % 16) {
	case 0: e = 0; break;
	case 1:
		e = top;
		m = r >> 8 & 1 ? m : 0;
		break;
	case 2:
		e = (r >> 8 & 1) * top / 2;
		m = 0;
		break;
	case 3: e = top - 1 - (r >> 8) % 3; break;
	case 4:
	case 5:
	case 6:
	case 7: e = (r >> 8) % top; break;
	default: e = top / 2 - 4 + (r >> 8) % 12; break;
	}
	return (r >> 40 & 1) << (exp + man) | e << man | m;
}

static void
check(const Approx *t, unsigned n, long times, bool all)
{
	enum { N = 1 << 13 };
	static In v[N];
	Op ops[MANY_OPS];
	Many e;

	for (unsigned k = 0; k < n; k++)
		ops[k] = (Op){ t[k].ptx, t[k].kind, NULL };
	many_assemble(ops, n);
	e = many_open(ops, n, N);
	state = 0x9e3779b97f4a7c15ull;
	for (long r = 0; r < times; r++) {
		for (unsigned i = 0; i < N; i++) {
			uint64_t x = ((uint64_t)r * N + i) & 0xffff;
			int exp = t->type == 'd' ? 11 : 8, man = t->type == 'd' ? 52 : 23;
			v[i] = all ? (In){ (x * 0x6bd5 & 0xffff) << 16 | x, 0, 0 } : (In){ number(exp, man), number(exp, man), 0 };
		}
		many_run(&e, v);
		for (unsigned k = 0; k < n; k++)
			for (unsigned i = 0; i < N; i++) {
				uint64_t got = e.out[(size_t)k * N + i];
				bool two = all && t[k].kind == 'r';
				if (!allowed(&t[k], all ? v[i].a & 0xffff : v[i].a, v[i].b, all ? got & 0xffff : got) || (two && !allowed(&t[k], v[i].a >> 16, 0, got >> 16)))
					ck_abort_msg("%s\na %llx b %llx: %llx, of %a", t[k].ptx, (unsigned long long)v[i].a,
					             (unsigned long long)v[i].b, (unsigned long long)got,
					             t[k].exact(value(v[i].a, t[k].type), value(v[i].b, t[k].type)));
			}
	}
	many_close(&e);
}

TEST_EACH(words, 2)
{
	unsigned n = NTABLE - 2;

	check(_i ? table + n : table, _i ? 2 : n, rounds(), false);
}

TEST(every_half)
{
	check(halves, NHALVES, 8, true);
}

TEST_PROGRAM(.timeout = 600);
