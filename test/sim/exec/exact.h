/* exact.h - models floating-point formats of 4 to 64 bits in integers: a value is sign, magnitude and a power
 * of two, and rounding happens once, bit by bit. The oracle of the simulator's arithmetic. */
#ifndef SIMTEST_EXACT_H
#define SIMTEST_EXACT_H
#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 Mag;
typedef enum Round { R_NEAREST, R_ZERO, R_DOWN, R_UP, R_AWAY } Round;  /* R_AWAY: nearest, ties away from 0 */
typedef enum Kind { FINITE, INFINITE, NOT_A_NUMBER } Kind;
typedef struct Num { Kind kind; bool neg; Mag mag; int exp; } Num;     /* mag * 2^exp; below 2^120 */
/* `max`: code of the largest finite magnitude.  With `inf` the next code is infinity and all above are
 * NaN. */
typedef struct Fmt { int exp, man; bool inf; uint64_t max, nan; } Fmt;

static const Fmt f16 = { 5, 10, true, 0x7bff, 0x7fff }, bf16 = { 8, 7, true, 0x7f7f, 0x7fff },
		 f32 = { 8, 23, true, 0x7f7fffff, 0x7fffffff },
		         f64 = { 11, 52, true, 0x7fefffffffffffff, 0x7fffffffffffffff },
		 tf32 = { 8, 10, true, 0x3fbff, 0x3ffff }, e4m3 = { 4, 3, false, 0x7e, 0x7f },
		         e5m2 = { 5, 2, true, 0x7b, 0x7f };

static inline int
fmt_bits(const Fmt *f)
{
	return 1 + f->exp + f->man;
}
/* The power of two of the last place of subnormals. */
static inline int
fmt_least(const Fmt *f)
{
	return 2 - (1 << (f->exp - 1)) - f->man;
}

static inline Num
unpack(const Fmt *f, uint64_t code)
{
	uint64_t sign = 1ull << (f->exp + f->man), c = code & (sign - 1), e = c >> f->man,
		 m = c & ((1ull << f->man) - 1);
	Num n = { FINITE, (code & sign) != 0, m, fmt_least(f) };

	if (c > f->max)
		n.kind = f->inf && c == f->max + 1 ? INFINITE : NOT_A_NUMBER;
	if (e) {
		n.mag |= 1ull << f->man;
		n.exp += (int)e - 1;
	}
	return n;
}

/* A number that is rounded to multiples of 2^place; *inexact if that lost anything. */
static inline Mag
round_at(Num n, int place, Round r, bool *inexact)
{
	int cut = place - n.exp;
	Mag kept, lost, half;

	*inexact = false;
	if (cut <= 0)
		return n.mag << -cut;
	if (cut > 126)
		cut = 126;
	kept = n.mag >> cut;
	lost = n.mag & (((Mag)1 << cut) - 1);
	half = (Mag)1 << (cut - 1);
	if (!lost)
		return kept;
	*inexact = true;
	switch (r) {
	case R_NEAREST: return kept + (lost > half || (lost == half && (kept & 1)));
	case R_AWAY: return kept + (lost >= half);
	case R_DOWN: return kept + n.neg;
	case R_UP: return kept + !n.neg;
	default: return kept;
	}
}

static inline int
length(Mag m)
{
	uint64_t hi = (uint64_t)(m >> 64), lo = (uint64_t)m;

	return hi ? 128 - __builtin_clzll(hi) : lo ? 64 - __builtin_clzll(lo)
	                                           : 0;
}

/* The code of a number; beyond the largest finite one it is infinity, or that one if the rounding goes
 * there. */
static inline uint64_t
pack(const Fmt *f, Num n, Round r)
{
	uint64_t sign = n.neg ? 1ull << (f->exp + f->man) : 0, code;
	int place = n.exp + length(n.mag) - 1 - f->man, least = fmt_least(f);
	bool inexact;

	if (n.kind == NOT_A_NUMBER)
		return f->nan;
	if (n.kind == INFINITE)
		return sign | (f->max + f->inf);
	if (!n.mag)
		return sign;
	if (place < least)
		place = least;
	if (place - least > 1 << f->exp) /* far beyond */
		code = f->max + 1;
	else
		code = ((uint64_t)(place - least) << f->man) + (uint64_t)round_at(n, place, r, &inexact);
	if (code > f->max)
		code = !f->inf || r == R_ZERO || (r == R_DOWN && !n.neg) ||
		                       (r == R_UP && n.neg)
		               ? f->max
		               : f->max + 1;
	return sign | code;
}

/* An exact zero of operands with different signs is -0 only when rounding down. */
static inline Num
add(Num a, Num b, Round r)
{
	Num t;
	int d;

	if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER ||
	    (a.kind == INFINITE && b.kind == INFINITE && a.neg != b.neg))
		return (Num){ NOT_A_NUMBER, false, 0, 0 };
	if (a.kind == INFINITE || b.kind == INFINITE)
		return a.kind == INFINITE ? a : b;
	if (!a.mag && !b.mag)
		return (Num){ FINITE, a.neg == b.neg ? a.neg : r == R_DOWN, 0, 0 };
	if (!a.mag || !b.mag)
		return a.mag ? a : b;
	if (a.exp < b.exp) {
		t = a;
		a = b;
		b = t;
	}
	d = a.exp - b.exp;
	if (d > 70) { /* b is far below the last place of a: its being there is all that counts */
		b.mag = 1;
		b.exp = a.exp - 70;
		d = 70;
	}
	a.mag <<= d;
	if (a.neg == b.neg)
		return (Num){ FINITE, a.neg, a.mag + b.mag, b.exp };
	if (a.mag == b.mag)
		return (Num){ FINITE, r == R_DOWN, 0, 0 };
	if (a.mag > b.mag)
		return (Num){ FINITE, a.neg, a.mag - b.mag, b.exp };
	return (Num){ FINITE, b.neg, b.mag - a.mag, b.exp };
}

static inline Num
mul(Num a, Num b)
{
	bool neg = a.neg != b.neg;

	if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
		return (Num){ NOT_A_NUMBER, false, 0, 0 };
	if (a.kind == INFINITE || b.kind == INFINITE)
		return (Num){ (a.kind == FINITE && !a.mag) ||
			                      (b.kind == FINITE && !b.mag)
			              ? NOT_A_NUMBER
			              : INFINITE,
			      neg, 0, 0 };
	return (Num){ FINITE, neg, a.mag * b.mag, a.exp + b.exp };
}

static inline Num
negated(Num a)
{
	a.neg = !a.neg;
	return a;
}

/* -1 less, 0 equal, 1 greater; 2 if one is no number. */
static inline int
order(Num a, Num b)
{
	Num d;

	if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
		return 2;
	if (a.kind == INFINITE || b.kind == INFINITE) {
		int x = a.kind == INFINITE ? a.neg ? -1 : 1 : 0, y = b.kind == INFINITE ? b.neg ? -1 : 1 : 0;
		return x < y ? -1 : x > y;
	}
	d = add(a, negated(b), R_NEAREST);
	return !d.mag ? 0 : d.neg ? -1
	                          : 1;
}
#endif
