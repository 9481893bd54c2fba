/* range_arith.c - computes range and divisor of arithmetic results, for value_range.c.
 *
 * Arithmetic wraps on the device. A range that exceeds the type becomes the full range of the type, and only
 * the power-of-two part of a divisor survives. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"

Fact
fact_const(int64_t c)
{
	Fact f = { gcd64(c, 0), c, c };

	return f;
}

Fact
fact_tighten(Fact f)
{
	if (f.mult == 0 || (f.lo == 0 && f.hi == 0))
		return fact_const(0);
	if (f.mult > 1 && f.hi >= INT64_MIN + f.mult) {
		f.hi = floor_div(f.hi, f.mult) * f.mult;
		if (f.lo > INT64_MIN && f.lo <= INT64_MAX - f.mult)
			f.lo = (floor_div(f.lo - 1, f.mult) + 1) * f.mult;
	}
	return f.lo == f.hi ? fact_const(f.lo) : f;
}

Fact
fact_join(Fact x, Fact y)
{
	Fact f = { gcd64(x.mult, y.mult), x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi };

	return f;
}

Fact
fact_type(DType d)
{
	Fact f = { 1, INT64_MIN, INT64_MAX };

	if (!dtype_is_float(d) && dtype_info[d].bits < 64) {
		f.lo = num_min(d);
		f.hi = num_max(d);
	}
	return f;
}

/* Wraps the exact result f to the type's low bits; ok is false if the result does not fit 64 bits. */
static Fact
fact_wrap(DType d, bool ok, Fact f)
{
	Fact t = fact_type(d);
	int64_t most = (int64_t)1 << (dtype_info[d].bits > 1 ? dtype_info[d].bits - 2 : 0);

	if (ok && f.lo >= t.lo && f.hi <= t.hi)
		return fact_tighten(f);
	t.mult = f.mult ? pow2_part(f.mult) : most;
	if (t.mult > most)
		t.mult = most;
	return t.lo == INT64_MIN ? t : fact_tighten(t);
}

/* ---- arithmetic ---------------------------------------------------------------------------------- */

static Fact
fact_mul(DType d, Fact x, Fact y)
{
	int64_t p[4];
	Fact f = fact_type(D_i64);
	bool ok = mul64(x.lo, y.lo, &p[0]) && mul64(x.lo, y.hi, &p[1]) && mul64(x.hi, y.lo, &p[2]) &&
	          mul64(x.hi, y.hi, &p[3]);

	if (ok) {
		f.lo = f.hi = p[0];
		for (int i = 1; i < 4; i++) {
			f.lo = p[i] < f.lo ? p[i] : f.lo;
			f.hi = p[i] > f.hi ? p[i] : f.hi;
		}
	}
	if (!mul64(x.mult, y.mult, &f.mult))
		f.mult = x.mult > y.mult ? x.mult : y.mult;
	return fact_wrap(d, ok, f);
}

static Fact
fact_add(DType d, Fact x, Fact y)
{
	Fact f = { gcd64(x.mult, y.mult), 0, 0 };
	bool ok = add64(x.lo, y.lo, &f.lo) && add64(x.hi, y.hi, &f.hi);

	return fact_wrap(d, ok, f);
}

Fact
fact_neg(DType d, Fact x)
{
	Fact f = { x.mult, 0, 0 };
	bool ok = x.lo != INT64_MIN;

	if (ok) {
		f.lo = -x.hi;
		f.hi = -x.lo;
	}
	return fact_wrap(d, ok, f);
}

/* Truncating division; precise only if the divisor is known to be positive. */
static Fact
fact_div(DType d, Fact x, Fact y)
{
	Fact f = fact_type(d);

	if (y.lo < 1 || y.hi < y.lo)
		return f;
	f.lo = x.lo >= 0 ? x.lo / y.hi : x.lo / y.lo;
	f.hi = x.hi >= 0 ? x.hi / y.lo : x.hi / y.hi;
	if (y.lo == y.hi && x.mult % y.lo == 0)
		f.mult = x.mult / y.lo;
	return fact_tighten(f);
}

static Fact
fact_mod(DType d, Fact x, Fact y)
{
	Fact f = fact_type(d);

	if (y.lo < 1 || y.hi < y.lo)
		return f;
	if (x.lo >= 0 && x.hi < y.lo)
		return x;
	f.mult = gcd64(x.mult, y.mult);
	if (y.lo == y.hi && x.mult % y.lo == 0)
		return fact_const(0);
	f.lo = x.lo >= 0 ? 0 : max64(x.lo, 1 - y.hi);
	f.hi = x.hi <= 0 ? 0 : min64(x.hi, y.hi - 1);
	return fact_tighten(f);
}

static Fact
fact_shift(DType d, OpCode code, Fact x, Fact y)
{
	int bits = dtype_info[d].bits;

	if (y.lo != y.hi || y.lo < 0 || y.lo >= bits || y.lo > 61)
		return fact_type(d);
	if (code == O_shl)
		return fact_mul(d, x, fact_const((int64_t)1 << y.lo));
	if (x.lo >= 0)
		return fact_div(d, x, fact_const((int64_t)1 << y.lo));
	x.mult = 1;
	x.lo = floor_div(x.lo, (int64_t)1 << y.lo);
	x.hi = floor_div(x.hi, (int64_t)1 << y.lo);
	return x;
}

/* and, or, xor: low zero bits and, for nonnegative values, the number of bits. */
static Fact
fact_bits(DType d, OpCode code, Fact x, Fact y)
{
	int64_t top = (int64_t)1 << 62;
	int64_t zx = x.mult ? pow2_part(x.mult) : top, zy = y.mult ? pow2_part(y.mult) : top;
	Fact f = fact_type(d);

	f.mult = code == O_and ? max64(zx, zy) : min64(zx, zy);
	if (x.lo >= 0 && y.lo >= 0) {
		int64_t most = max64(x.hi, y.hi), all = 0;
		while (all < most)
			all = all * 2 + 1;
		f.lo = 0;
		f.hi = code != O_and ? all : min64(x.hi, y.hi);
	} else if (code == O_and && (x.lo >= 0 || y.lo >= 0)) {
		f.lo = 0;
		f.hi = x.lo >= 0 ? x.hi : y.hi;
	}
	return f.lo == INT64_MIN ? f : fact_tighten(f);
}

static Fact
fact_minmax(OpCode code, Fact x, Fact y)
{
	Fact f = fact_join(x, y);

	if (code == O_min)
		f.hi = min64(x.hi, y.hi);
	else
		f.lo = max64(x.lo, y.lo);
	return fact_tighten(f);
}

Fact
fact_compare(OpCode code, Fact x, Fact y)
{
	Fact f = { 1, 0, 1 };
	bool apart = x.hi < y.lo || y.hi < x.lo, point = x.lo == x.hi && y.lo == y.hi && x.lo == y.lo;
	bool yes = apart, no = point; /* O_ne */

	if (code == O_lt) {
		yes = x.hi < y.lo;
		no = x.lo >= y.hi;
	} else if (code == O_le) {
		yes = x.hi <= y.lo;
		no = x.lo > y.hi;
	} else if (code == O_eq) {
		yes = point;
		no = apart;
	}
	return yes || no ? fact_const(yes) : f;
}

Fact
fact_cast(DType to, DType from, Fact x)
{
	Fact t = fact_type(to);

	if (dtype_is_float(from) || dtype_past_i64(from) || dtype_past_i64(to))
		return t;
	if (to == D_bool && (x.lo > 0 || x.hi < 0))
		return fact_const(1);
	if (to == D_bool)
		return x.mult == 0 ? fact_const(0) : t;
	return fact_wrap(to, true, x);
}

Fact
fact_binary(DType d, OpCode code, Fact x, Fact y)
{
	switch (code) {
	case O_add: return fact_add(d, x, y);
	case O_sub: return fact_add(d, x, y.lo == INT64_MIN ? fact_type(D_i64) : fact_neg(D_i64, y));
	case O_mul: return fact_mul(d, x, y);
	case O_div: return fact_div(d, x, y);
	case O_mod: return fact_mod(d, x, y);
	case O_min:
	case O_max: return fact_minmax(code, x, y);
	case O_shl:
	case O_shr: return fact_shift(d, code, x, y);
	case O_and:
	case O_or:
	case O_xor: return fact_bits(d, code, x, y);
	default: return fact_type(d);
	}
}
