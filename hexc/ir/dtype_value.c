/* dtype_value.c - implements rounding, codes and wrapping of element types, with lookup tables for those that
 * are not sign, exponent and mantissa. */
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

/* ---- tables ---------------------------------------------------------------------------------- */

enum { SCALE_BIAS = 127, SCALE_NAN = 255 };

/* Quantiles of the normal distribution, scaled to [-1, 1]: T. Dettmers et al., QLoRA: Efficient Finetuning of
 * Quantized LLMs (2023), appendix E. */
static const float nf4[16] = {
	-1.0f,
	-0.6961928009986877f,
	-0.5250730514526367f,
	-0.39491748809814453f,
	-0.28444138169288635f,
	-0.18477343022823334f,
	-0.09105003625154495f,
	0.0f,
	0.07958029955625534f,
	0.16093020141124725f,
	0.24611230194568634f,
	0.33791524171829224f,
	0.44070982933044434f,
	0.5626170039176941f,
	0.7229568362236023f,
	1.0f,
};

/* Values of a table type by code, in ascending order; NULL: no table type. */
static const float *
num_table(DType d)
{
	return d == D_nf4 ? nf4 : NULL;
}

/* Is d a float with sign, exponent and mantissa? Others are rounded through their codes. Scales (e8m0) round
 * to the nearest power of two, ties to the larger, and ignore the sign. Tables (nf4) round to the nearest
 * value, ties to the smaller, NaN as 0. */
static bool
num_is_grid(DType d)
{
	return dtype_info[d].codes != C_scale && dtype_info[d].codes != C_table;
}

static double
table_value(DType d, unsigned code)
{
	if (dtype_info[d].codes == C_table)
		return (double)num_table(d)[code & ((1u << dtype_info[d].bits) - 1)];
	return (code & SCALE_NAN) == SCALE_NAN ? (double)NAN : ldexp(1, (int)(code & SCALE_NAN) - SCALE_BIAS);
}

/* The code of the largest value. */
static unsigned
table_last(DType d)
{
	return dtype_info[d].codes == C_table ? (1u << dtype_info[d].bits) - 1 : SCALE_NAN - 1;
}

/* The code of the power of two nearest to |x|, ties to the larger. */
static unsigned
scale_code(double x)
{
	int e;
	double a = fabs(x), m;

	if (isnan(x))
		return SCALE_NAN;
	if (a >= ldexp(1, SCALE_NAN - 1 - SCALE_BIAS))
		return SCALE_NAN - 1;
	if (a <= ldexp(1, -SCALE_BIAS))
		return 0;
	m = frexp(a, &e); /* a = m 2^e, 1/2 <= m < 1 */
	return (unsigned)(e - 1 + SCALE_BIAS + (m >= 0.75));
}

/* The code of the value nearest to x, ties to the smaller; NaN is treated as 0. */
static unsigned
nearest_code(DType d, double x)
{
	const float *number = num_table(d);
	unsigned code = 0, last = (1u << dtype_info[d].bits) - 1;

	if (isnan(x))
		x = 0;
	while (code < last && x > ((double)number[code] + (double)number[code + 1]) / 2)
		code++;
	return code;
}

static unsigned
table_code(DType d, double x)
{
	return dtype_info[d].codes == C_table ? nearest_code(d, x) : scale_code(x);
}

/* ---- rounding -------------------------------------------------------------------------------- */

enum { DOUBLE_BIAS = 1023, DOUBLE_MAN = 52 };

static const uint64_t SIGN_BIT = (uint64_t)1 << 63;

/* Limits of a float format: biased double exponents of its smallest and largest normal binade, its largest
 * value, and the first magnitude that rounds out of the format. */
typedef struct FloatRounding {
	uint64_t emin, emax;
	int man;
	double most, over, nan;
	DRound round;
} FloatRounding;

static FloatRounding
grid_of(DType d)
{
	const DTypeInfo *t = &dtype_info[d];
	int half = dtype_bias(d) + 1, top = t->codes == C_ieee ? half - 1 : half;
	FloatRounding g;

	g.round = (DRound)t->round;
	g.man = t->man;
	g.emin = (uint64_t)(DOUBLE_BIAS + 2 - half);
	g.emax = (uint64_t)(DOUBLE_BIAS + top);
	g.most = (2 - ldexp(t->codes == C_nan ? 2 : 1, -g.man)) * ldexp(1, top);
	g.over = g.round == R_sat ? g.most : (2 - ldexp(1, -g.man - 1)) * ldexp(1, top);
	g.nan = t->codes == C_none ? g.most : (double)NAN;
	return g;
}

/* Rounds by adding a power of two whose last place has the weight of the format's last place. Ties go to
 * even, since the power of two is an even multiple. Exact for subnormals too, whose last place is that of the
 * smallest normal binade. */
static double
grid_round(const FloatRounding *g, double x)
{
	uint64_t u = double_bits(x), sign = u & SIGN_BIT, e = (u ^ sign) >> DOUBLE_MAN;
	double a = bits_double(u ^ sign), magic, r;

	if (!(a < g->over)) {
		if (!(a >= g->over))
			return g->nan;
		r = g->round == R_sat ? g->most : (double)INFINITY;
		return bits_double(sign | double_bits(r));
	}
	e = e < g->emin ? g->emin : e;
	e = e > g->emax ? g->emax : e;
	magic = bits_double((e + (uint64_t)(DOUBLE_MAN - g->man)) << DOUBLE_MAN);
	r = (a + magic) - magic;
	if (g->round == R_away && a - r >= (magic * 0x1p-53)) /* a tie that was rounded down to even */
		r += magic * 0x1p-52;
	return bits_double(double_bits(r) | sign);
}

double
num_round(DType d, double x)
{
	FloatRounding g;

	if (d == D_f64)
		return x;
	if (d == D_f32)
		return (double)(float)x;
	if (!num_is_grid(d))
		return table_value(d, table_code(d, x));
	g = grid_of(d);
	return grid_round(&g, x);
}

double
num_largest(DType d)
{
	return num_is_grid(d) ? grid_of(d).most : table_value(d, table_last(d));
}

void
num_round_n(DType d, double *x, size_t n)
{
	FloatRounding g;

	if (d == D_f64)
		return;
	if (d == D_f32) {
		for (size_t i = 0; i < n; i++)
			x[i] = (double)(float)x[i];
		return;
	}
	if (!num_is_grid(d)) {
		for (size_t i = 0; i < n; i++)
			x[i] = num_round(d, x[i]);
		return;
	}
	g = grid_of(d);
	for (size_t i = 0; i < n; i++)
		x[i] = grid_round(&g, x[i]);
}

/* Adds with rounding to odd: inexact sums end in a 1 bit. Rounding them again to a format at least two bits
 * narrower then equals one rounding of the exact sum. */
static double
add_to_odd(double p, double c)
{
	double s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
	uint64_t u = double_bits(s);

	if (!(err != 0) || isinf(s) || (u & 1))
		return s;
	return bits_double((err > 0) == (s > 0) ? u + 1 : u - 1);
}

double
num_fma(DType d, double a, double b, double c)
{
	/* products of types up to f32 are exact in double */
	return d == D_f64 ? fma(a, b, c) : num_round(d, add_to_odd(a * b, c));
}

/* ---- codes ----------------------------------------------------------------------------------- */

static double
grid_of_code(DType d, unsigned code)
{
	int exp = dtype_info[d].exp, man = dtype_info[d].man, bias = dtype_bias(d);
	int all = (1 << exp) - 1;
	int e = (int)(code >> man) & all, m = (int)(code & ((1u << man) - 1));
	uint64_t sign = (uint64_t)(code >> (exp + man) & 1) << 63;
	DCodes codes = (DCodes)dtype_info[d].codes;
	double v;

	if (e == all && codes == C_ieee)
		v = m ? (double)NAN : (double)INFINITY;
	else if (e == all && codes == C_nan && m == (1 << man) - 1)
		v = (double)NAN;
	else if (e)
		v = bits_double((uint64_t)(e - bias + DOUBLE_BIAS) << DOUBLE_MAN |
		                (uint64_t)m << (DOUBLE_MAN - man));
	else
		v = (double)m * bits_double((uint64_t)(1 - bias - man + DOUBLE_BIAS) << DOUBLE_MAN);
	return bits_double(double_bits(v) | sign);
}

double
num_of_code(DType d, unsigned code)
{
	return num_is_grid(d) ? grid_of_code(d, code) : table_value(d, code);
}

/* The value of code 0 for table and scale types, else 0. */
double
num_outside(DType d)
{
	return dtype_is_float(d) && !num_is_grid(d) ? num_of_code(d, 0) : 0;
}

static unsigned
grid_code(DType d, double r)
{
	int exp = dtype_info[d].exp, man = dtype_info[d].man, bias = dtype_bias(d);
	double a = fabs(r);
	uint64_t u = double_bits(a);
	unsigned sign = double_bits(r) >> 63 ? 1u << (exp + man) : 0, code;
	int e = (int)(u >> DOUBLE_MAN) - DOUBLE_BIAS + bias;

	if (isnan(r))
		return (1u << (exp + man)) - 1;
	if (isinf(r))
		code = ((1u << exp) - 1) << man;
	else if (e >= 1)
		code = (unsigned)e << man | (unsigned)(u >> (DOUBLE_MAN - man) & ((1u << man) - 1));
	else
		code = (unsigned)(a * bits_double((uint64_t)(bias + man - 1 + DOUBLE_BIAS) << DOUBLE_MAN));
	return sign | code;
}

unsigned
num_code(DType d, double x)
{
	return num_is_grid(d) ? grid_code(d, num_round(d, x)) : table_code(d, x);
}

uint64_t
num_bits(DType d, double x)
{
	float f = (float)x;
	uint32_t u;

	if (dtype_info[d].bits <= 16)
		return num_is_grid(d) ? grid_code(d, x) : table_code(d, x);
	if (dtype_info[d].bits == 64)
		return double_bits(x);
	memcpy(&u, &f, sizeof u);
	return u;
}

/* ---- integers -------------------------------------------------------------------------------- */

int64_t
num_wrap(DType d, int64_t x)
{
	int drop = 64 - dtype_info[d].bits;
	uint64_t u = (uint64_t)x;

	switch ((DKind)dtype_info[d].kind) {
	case K_pred: return x != 0;
	case K_uint: return (int64_t)(u << drop >> drop);
	case K_sint: return (int64_t)(u << drop) >> drop;
	case K_flt: break;
	}
	return x;
}

void
num_wrap_n(DType d, int64_t *x, size_t n)
{
	int drop = 64 - dtype_info[d].bits;

	if (dtype_info[d].kind == K_pred) {
		for (size_t i = 0; i < n; i++)
			x[i] = x[i] != 0;
	} else if (drop && dtype_info[d].kind == K_uint) {
		for (size_t i = 0; i < n; i++)
			x[i] = (int64_t)((uint64_t)x[i] << drop >> drop);
	} else if (drop) {
		for (size_t i = 0; i < n; i++)
			x[i] = (int64_t)((uint64_t)x[i] << drop) >> drop;
	}
}

int64_t
num_min(DType d)
{
	return dtype_is_sint(d) ? (int64_t)((uint64_t)-1 << (dtype_info[d].bits - 1)) : 0;
}

int64_t
num_max(DType d)
{
	if (dtype_info[d].kind == K_pred)
		return 1;
	return dtype_is_sint(d) ? ~num_min(d) : (int64_t)(~(uint64_t)0 >> (64 - dtype_info[d].bits));
}

bool
num_fits(DType d, int64_t x)
{
	return dtype_past_i64(d) || (x >= num_min(d) && x <= num_max(d));
}

int64_t
num_from_float(DType d, double x)
{
	if (dtype_info[d].kind == K_pred)
		return x != 0;
	if (isnan(x))
		return 0;
	if (dtype_past_i64(d)) {
		if (x >= 0x1p64)
			return -1;
		return x <= 0 ? 0 : (int64_t)(uint64_t)x;
	}
	if (x >= 0x1p63 || (x > 0 && x >= (double)num_max(d)))
		return num_max(d);
	return x <= (double)num_min(d) ? num_min(d) : (int64_t)x;
}

double
num_from_int(DType d, DType from, int64_t x)
{
	bool neg = x < 0 && !dtype_past_i64(from);
	uint64_t u = neg ? 0 - (uint64_t)x : (uint64_t)x, low;

	if (d == D_f64)
		return dtype_past_i64(from) ? (double)(uint64_t)x : (double)x;
	/* 54 bits or more: truncate to 53, with last bit 1 if inexact, so that num_round rounds once */
	if (u >> 53) {
		low = u & 0xfff;
		u = (u & ~(uint64_t)0xfff) | (low ? (uint64_t)0x1000 : 0);
	}
	return num_round(d, neg ? -(double)u : (double)u);
}
