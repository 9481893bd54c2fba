/* float_text.c - converts floats to text and back, exactly and independently of the host.
 *
 * libc's printf and strtod depend on the locale, and their hexadecimal form is not specified to the digit, so
 * neither is used. The first exact form is printed: an integer below 2^53; a decimal m / 10^n with m < 2^53
 * and n <= 17, which one correctly rounded IEEE division restores; else hexadecimal. */
#include "hexc/ir/text/text.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53: integers up to it are exact in double */

/* 10^n, exact for 0 <= n <= 22 */
static double
power10(int n)
{
	double p = 1;

	while (n-- > 0)
		p *= 10;
	return p;
}

static void
print_hex(Text *t, uint64_t u)
{
	uint64_t man = u & 0xfffffffffffffu;
	int exp = (int)(u >> 52 & 0x7ff), digits = 13;

	while (digits > 0 && (man & 15) == 0) {
		man >>= 4;
		digits--;
	}
	text_printf(t, "0x%d", exp ? 1 : 0);
	if (digits)
		text_printf(t, ".%0*llx", digits, (unsigned long long)man);
	text_printf(t, "p%+d", (exp ? exp : 1) - 1023);
}

/* Prints m / 10^n in plain digits. */
static void
print_decimal(Text *t, uint64_t m, int n)
{
	uint64_t p = (uint64_t)power10(n);

	text_printf(t, "%llu", (unsigned long long)(m / p));
	if (n)
		text_printf(t, ".%0*llu", n, (unsigned long long)(m % p));
}

void
text_float(Text *t, double x)
{
	uint64_t u = double_bits(x);
	double a = bits_double(u & 0x7fffffffffffffffu);

	if (x != x) {
		if (u == 0x7ff8000000000000u)
			text_printf(t, "nan");
		else
			text_printf(t, "nan0x%llx", (unsigned long long)u);
		return;
	}
	if (u >> 63)
		text_printf(t, "-");
	if (a == bits_double(0x7ff0000000000000u)) {
		text_printf(t, "inf");
		return;
	}
	for (int n = 0; n <= 17; n++) {
		double m = a * power10(n);
		if (m >= EXACT)
			break;
		m = floor(m + 0.5);
		if (m < EXACT && m / power10(n) == a) {
			print_decimal(t, (uint64_t)m, n);
			return;
		}
	}
	print_hex(t, u & 0x7fffffffffffffffu);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static size_t
read_hex64(const char *s, size_t n, uint64_t *out)
{
	size_t i = 0;

	for (*out = 0; i < n && i < 16 && hex_digit(s[i]) >= 0; i++)
		*out = *out << 4 | (uint64_t)hex_digit(s[i]);
	return i;
}

/* Parses 0x1.hhhp+e or 0x0.hhhp-1022, as print_hex prints them: the fields of the double itself. */
static size_t
read_hex(const char *s, size_t n, double *out)
{
	uint64_t man = 0;
	size_t i = 3, d = 0;
	int exp = 0;
	bool neg;

	if (n < 5 || (s[2] != '0' && s[2] != '1'))
		return 0;
	if (s[i] == '.') {
		d = read_hex64(s + i + 1, n - i - 1 < 13 ? n - i - 1 : 13, &man);
		i += 1 + d;
		man <<= 4 * (13 - d);
	}
	if (i + 2 >= n || s[i] != 'p' || (s[i + 1] != '+' && s[i + 1] != '-'))
		return 0;
	neg = s[i + 1] == '-';
	for (i += 2; i < n && s[i] >= '0' && s[i] <= '9' && exp < 10000; i++)
		exp = exp * 10 + (s[i] - '0');
	exp = neg ? -exp : exp;
	if (s[2] == '0' ? exp != -1022 : exp < -1022 || exp > 1023)
		return 0;
	*out = bits_double((s[2] == '0' ? 0 : (uint64_t)(exp + 1023) << 52) | man);
	return i;
}

static size_t
read_decimal(const char *s, size_t n, double *out)
{
	uint64_t m = 0;
	int frac = 0;
	size_t i = 0;
	bool dot = false, digit = false;

	for (; i < n && (s[i] == '.' ? !dot && digit : s[i] >= '0' && s[i] <= '9'); i++) {
		if (s[i] == '.') {
			dot = true;
			continue;
		}
		digit = true;
		m = m * 10 + (uint64_t)(s[i] - '0');
		frac += dot;
		if (m > (uint64_t)EXACT || frac > 17)
			return 0;
	}
	if (!digit)
		return 0;
	*out = (double)m / power10(frac);
	return i;
}

size_t
text_read_float(const char *s, size_t n, double *out)
{
	size_t neg = n > 0 && s[0] == '-', i;
	uint64_t u;

	s += neg;
	n -= neg;
	if (n >= 3 && memcmp(s, "nan", 3) == 0) {
		*out = bits_double(0x7ff8000000000000u);
		if (n > 5 && memcmp(s + 3, "0x", 2) == 0 && (i = read_hex64(s + 5, n - 5, &u))) {
			*out = bits_double(u);
			return *out != *out ? neg + 5 + i : 0;
		}
		return neg ? 0 : 3;
	}
	if (n >= 3 && memcmp(s, "inf", 3) == 0) {
		*out = bits_double(0x7ff0000000000000u);
		i = 3;
	} else if (n >= 2 && memcmp(s, "0x", 2) == 0) {
		i = read_hex(s, n, out);
	} else {
		i = read_decimal(s, n, out);
	}
	if (neg)
		*out = -*out;
	return i ? neg + i : 0;
}
