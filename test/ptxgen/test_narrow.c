/* test_narrow.c - tests casts of all types of up to 8 bits on the simulator: every code to wider types,
 * every f16 and bf16 and the midpoints between two values to every type. Expected values follow the
 * definition of the types, read from their names, by search among all their values; hexc/ir/dtype_value.c
 * must agree. In C: values are computed from definitions. */
#include "hexc/ir/dtype_value.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_BLOCK = 512, TO_MAX = 12, CODES = 65536, TEXT = 1 << 16 };
#define L "@{((8,32,2)):((1@reg,1@lane,1@warp))}"

static const char *const archs[] = { "sm_75", "sm_89", "sm_90a" };

/* ---- the definition -------------------------------------------------------------------------- */

/* A format: sign, exponent and mantissa bits, and which codes are no numbers. */
typedef struct Format {
	int exp, man;
	bool ieee, one_nan;
} Format;

static Format
format_of(DType d)
{
	const char *s = dtype_info[d].name;
	Format f = { 0, 0, false, false };

	if (!strcmp(s, "f16"))
		return (Format){ 5, 10, true, false };
	if (!strcmp(s, "bf16"))
		return (Format){ 8, 7, true, false };
	ck_assert(s[0] == 'e' && s[2] == 'm');
	f.exp = s[1] - '0';
	f.man = s[3] - '0';
	f.ieee = !strcmp(s, "e5m2");
	f.one_nan = !strcmp(s, "e4m3");
	return f;
}

/* The number of a code without sign bit. */
static double
magnitude(const Format *f, int code)
{
	int e = code >> f->man, m = code & ((1 << f->man) - 1), bias = (1 << (f->exp - 1)) - 1;

	if (f->ieee && e == (1 << f->exp) - 1)
		return m ? (double)NAN : (double)INFINITY;
	if (f->one_nan && code == (1 << (f->exp + f->man)) - 1)
		return (double)NAN;
	if (e == 0)
		return ldexp((double)m / (1 << f->man), 1 - bias);
	return ldexp(1 + (double)m / (1 << f->man), e - bias);
}

static double
float_of(DType d, int code)
{
	Format f = format_of(d);
	int sign = 1 << (f.exp + f.man);
	double x = magnitude(&f, code & (sign - 1));

	return code & sign ? -x : x;
}

/* The nearest number, of two the one with the even code; beyond the largest: that one, or for f16 and bf16
 * what a next binade would round to. */
static double
float_nearest(DType d, double x)
{
	Format f = format_of(d);
	int all = 1 << (f.exp + f.man), lo = 0, hi = 0, top;
	double a = fabs(x), best, below, above;

	for (top = all - 1; !isfinite(magnitude(&f, top)); top--)
		;
	if (isnan(x))
		return top == all - 1 ? magnitude(&f, top) : (double)NAN;
	for (hi = top; lo < hi;) { /* the largest number that is not above a */
		int mid = (lo + hi + 1) / 2;

		if (magnitude(&f, mid) <= a)
			lo = mid;
		else
			hi = mid - 1;
	}
	below = magnitude(&f, lo);
	above = lo < top ? magnitude(&f, lo + 1) : below + (below - magnitude(&f, lo - 1));
	best = a - below > above - a || (a - below >= above - a && lo % 2) ? above : below;
	if (lo == top && (best > below || isinf(a)))
		best = dtype_info[d].bits > 8 ? (double)INFINITY : below;
	return signbit(x) ? -best : best;
}

static double
scale_nearest(double x)
{
	int best = -127;

	if (isnan(x))
		return (double)NAN;
	for (int e = -126; e <= 127; e++)
		if (ldexp(1, e) - fabs(x) <= fabs(x) - ldexp(1, best))
			best = e;
	return ldexp(1, best);
}

static double
nf4_nearest(double x)
{
	int best = 0;

	if (isnan(x))
		return 0;
	for (int i = 1; i < 16; i++) {
		double a = num_of_code(D_nf4, (unsigned)best), b = num_of_code(D_nf4, (unsigned)i);

		if (x > (a + b) / 2)
			best = i;
	}
	return num_of_code(D_nf4, (unsigned)best);
}

static bool
is_float(DType d)
{
	return dtype_info[d].kind == K_flt;
}

/* Range of an integer type by its name. */
static double
int_least(DType d)
{
	return dtype_info[d].name[0] == 'i' ? -ldexp(1, atoi(dtype_info[d].name + 1) - 1) : 0;
}

static double
int_most(DType d)
{
	return int_least(d) + ldexp(1, atoi(dtype_info[d].name + 1)) - 1;
}

/* x, a number of type `from`, as type `to`. */
static double
expected(DType to, DType from, double x)
{
	double n = ldexp(1, dtype_info[to].bits);

	if (to == D_f64)
		return x;
	if (to == D_f32)
		return (double)(float)x;
	if (is_float(to))
		return to == D_e8m0 ? scale_nearest(x) : to == D_nf4 ? nf4_nearest(x)
		                                                     : float_nearest(to, x);
	if (is_float(from)) {
		x = isnan(x) ? 0 : trunc(x);
		return fmin(fmax(x, int_least(to)), int_most(to)) + 0.0;
	}
	x -= n * floor(x / n); /* wraps */
	return x > int_most(to) ? x - n : x;
}

/* The number of a code of a type of up to 16 bits. */
static double
number_of(DType d, int code)
{
	int n = 1 << dtype_info[d].bits;

	if (d == D_e8m0)
		return code == 255 ? (double)NAN : ldexp(1, code - 127);
	if (d == D_nf4)
		return num_of_code(d, (unsigned)code);
	if (is_float(d))
		return float_of(d, code);
	return code > int_most(d) ? code - n : code;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Elements and bits of an instruction of an access to 8 elements, or to as many as 16 bytes hold. */
static int
access(DType d, int *vec)
{
	int bits = dtype_info[d].bits, odd = bits;

	while (odd % 2 == 0)
		odd /= 2;
	*vec = bits * 8 > 128 ? 128 / bits : 8;
	return *vec * bits / odd;
}

/* C_i[..] = to[i](A[..]) for n elements. */
static const char *
cast_text(DType from, const DType *to, int nto, int64_t n)
{
	char *s = arena_alloc(u->arena, TEXT);
	int at = 0, vec, bits = access(from, &vec);

#define PUT(...) at += snprintf(s + at, (size_t)(TEXT - at), __VA_ARGS__)
	PUT("kernel t {\n  warps 2\n  param %%1.A tensor A : global %s[?] read size %%50 stride %%51\n",
	    dtype_info[from].name);
	for (int i = 0; i < nto; i++)
		PUT("  param %%%d.C%d tensor C%d : global %s[?] written size %%50 stride %%51\n", 2 + i, i,
		    i, dtype_info[to[i]].name);
	PUT("  grid {\n    %%52 = const value %lld : i64\n    %%53 = const value 1 : i64\n",
	    (long long)(n / PER_BLOCK));
	PUT("    yield %%52, %%53, %%53\n  }\n");
	PUT("  body {\n    %%50 = const value %lld : i64\n    %%51 = const value 1 : i64\n", (long long)n);
	PUT("    %%54 = block_id : i64\n    %%55 = const value 512 : i64\n    %%56 = mul %%54, %%55 : i64\n");
	PUT("    %%57 = view %%1, %%56 : global %s[512]\n", dtype_info[from].name);
	PUT("    %%58 = load %%57 : reg %s[512] " L, dtype_info[from].name);
	PUT(" lowering { access inst ld_global_%d vec %d }\n", bits, vec);
	for (int i = 0; i < nto; i++) {
		bits = access(to[i], &vec);
		PUT("    %%%d = view %%%d, %%56 : global %s[512]\n", 60 + 2 * i, 2 + i,
		    dtype_info[to[i]].name);
		PUT("    %%%d = cast %%58 : reg %s[512] " L "\n", 61 + 2 * i, dtype_info[to[i]].name);
		PUT("    store %%%d, %%%d lowering { access inst st_global_%d vec %d }\n", 61 + 2 * i,
		    60 + 2 * i, bits, vec);
	}
	PUT("    yield\n  }\n}\n");
#undef PUT
	ck_assert(at < TEXT);
	return s;
}

static void
put(DType d, void *buf, int64_t i, double x)
{
	if (is_float(d))
		num_put_f(d, buf, i, x);
	else
		num_put_i(d, buf, i, (int64_t)x);
}

static double
cast_here(DType to, DType from, double x)
{
	if (is_float(to))
		return is_float(from) ? num_round(to, x) : num_from_int(to, from, (int64_t)x);
	return (double)(is_float(from) ? num_from_float(to, x) : num_wrap(to, (int64_t)x));
}

static bool
alike(double x, double y)
{
	return (isnan(x) && isnan(y)) || (x == y && !signbit(x) == !signbit(y));
}

/* Cast n numbers to each type, here and on the simulator. */
static void
try_casts(DType from, const DType *to, int nto, const double *x, int64_t n)
{
	PtxArg arg[TO_MAX + 1] = { { 0 } };
	uint32_t grid[3] = { (uint32_t)(n / PER_BLOCK), 1, 1 };

	ck_assert(n % PER_BLOCK == 0 && nto <= TO_MAX);
	for (int i = 0; i <= nto; i++) {
		arg[i].bytes = num_bytes(i ? to[i - 1] : from, n);
		arg[i].data = arena_alloc(u->arena, arg[i].bytes);
	}
	for (int64_t i = 0; i < n; i++)
		put(from, arg[0].data, i, x[i]);
	ptx_run(u, cast_text(from, to, nto, n), grid, arg, nto + 1, NULL);
	for (int64_t i = 0; i < n; i++) {
		double in = num_get(from, arg[0].data, i);

		for (int k = 0; k < nto; k++) {
			double want = expected(to[k], from, in), got = num_get(to[k], arg[k + 1].data, i);
			double here = cast_here(to[k], from, in);

			ck_assert_msg(alike(got, want) && alike(here, want),
			              "%s %a to %s on %s: %a here, %a there, not %a", dtype_info[from].name,
			              in, dtype_info[to[k]].name, u->target->name, here, got, want);
		}
	}
}

/* All numbers of d, as often as fills whole blocks. */
static int64_t
all_numbers(DType d, double *x)
{
	int codes = 1 << dtype_info[d].bits, n = codes < PER_BLOCK ? PER_BLOCK : codes;

	for (int i = 0; i < n; i++)
		x[i] = number_of(d, i % codes);
	return n;
}

/* The i-th type of up to 8 bits; D_COUNT: there are no more. */
static DType
narrow(int i)
{
	for (int d = 0; d < D_COUNT; d++)
		if (dtype_info[d].bits <= 8 && d != D_bool && i-- == 0)
			return (DType)d;
	return D_COUNT;
}

static int
narrow_count(void)
{
	int n = 0;

	while (narrow(n) != D_COUNT)
		n++;
	return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST_EACH(from_every_code, narrow_count())
{
	static const DType to[] = { D_f16, D_bf16, D_f32, D_f64,  D_i8,  D_u8,
		                    D_i32, D_e4m3, D_u3,  D_e2m1, D_nf4, D_e8m0 };
	double x[PER_BLOCK];
	DType d = narrow(_i);
	int64_t n = all_numbers(d, x);

	if (getenv("QUICK") && _i % 3)
		return;
	for (int i = 0; i < (int)COUNT_OF(archs); i++) {
		u->target = target_find(archs[i]);
		try_casts(d, to, COUNT_OF(to), x, n);
	}
}

/* Every f16 and every bf16 to TO_MAX of the narrow types. */
TEST_EACH(from_every_half, (narrow_count() + TO_MAX - 1) / TO_MAX * 3)
{
	double *x = arena_alloc(u->arena, sizeof *x * CODES);
	DType to[TO_MAX];
	int nto = 0;

	if (getenv("QUICK") && _i / 3 % 3 != _i % 3)
		return;
	while (nto < TO_MAX && (to[nto] = narrow(_i / 3 * TO_MAX + nto)) != D_COUNT)
		nto++;
	u->target = target_find(archs[_i % 3]);
	try_casts(D_f16, to, nto, x, all_numbers(D_f16, x));
	try_casts(D_bf16, to, nto, x, all_numbers(D_bf16, x));
}

/* The middles between numbers of d, and what is just beside them. */
TEST_EACH(from_middles, narrow_count())
{
	enum { N = PER_BLOCK * 3 };
	static const double odd[] = { (double)INFINITY, -1e30, 1e-42, (double)NAN };
	double x[N];
	DType d = narrow(_i);
	int codes = 1 << dtype_info[d].bits, n = 0;

	u->target = target_find(archs[_i % 3]);
	for (int c = 0; c + 1 < codes; c++) {
		double a = number_of(d, c), b = number_of(d, c + 1), mid = (a + b) / 2;

		if (!isfinite(mid))
			continue;
		x[n++] = mid;
		x[n++] = (double)nextafterf((float)mid, -INFINITY);
		x[n++] = (double)nextafterf((float)mid, INFINITY);
	}
	for (; n < N; n++)
		x[n] = odd[n % 4];
	try_casts(D_f32, &d, 1, x, N);
	for (n = 0; n < N; n++) /* what f32 cannot tell from the middle */
		x[n] *= 1 + (n % 3 - 1) * 0x1p-40;
	try_casts(D_f64, &d, 1, x, N);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
