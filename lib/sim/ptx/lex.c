/* lex.c - splits PTX text into tokens. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/ptx/lex.h"

void
lex_init(Lex *l, const char *text, size_t len)
{
	memset(l, 0, sizeof *l);
	l->p = text;
	l->end = text + len;
	l->line = 1;
	lex_next(l);
}

static int
at(const Lex *l, size_t i)
{
	return (size_t)(l->end - l->p) > i ? (unsigned char)l->p[i] : -1;
}

static bool
id_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool
digit(int c)
{
	return c >= '0' && c <= '9';
}

static int
hex(int c)
{
	if (digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static void
skip_space(Lex *l)
{
	for (;;) {
		int c = at(l, 0);
		if (c == '\n') {
			l->line++;
			l->p++;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			l->p++;
		} else if (c == '/' && at(l, 1) == '/') {
			while (at(l, 0) >= 0 && at(l, 0) != '\n')
				l->p++;
		} else if (c == '/' && at(l, 1) == '*') {
			l->p += 2;
			while (at(l, 0) >= 0 && !(at(l, 0) == '*' && at(l, 1) == '/')) {
				if (at(l, 0) == '\n')
					l->line++;
				l->p++;
			}
			l->p += at(l, 0) >= 0 ? 2 : 0;
		} else {
			return;
		}
	}
}

/* strtod with the decimal point of the C locale, whatever the host's locale is. */
static double
decimal(const char *s)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), host = c ? uselocale(c) : (locale_t)0;
	double v = strtod(s, NULL);

	if (c) {
		uselocale(host);
		freelocale(c);
	}
	return v;
}

/* A decimal fraction: the caller handles sign and context. strtod needs a terminated copy. */
static void
lex_decimal(Lex *l)
{
	char buf[64];
	size_t n = 0;
	double v;

	while (n < sizeof buf - 1 && (digit(at(l, n)) || at(l, n) == '.' || at(l, n) == 'e' ||
	                              at(l, n) == 'E' ||
	                              (n && (at(l, n) == '-' || at(l, n) == '+') &&
	                               (buf[n - 1] == 'e' || buf[n - 1] == 'E')))) {
		buf[n] = l->p[n];
		n++;
	}
	buf[n] = 0;
	v = decimal(buf);
	memcpy(&l->num, &v, 8);
	l->tok = K_F64;
	l->p += n;
}

static void
lex_number(Lex *l)
{
	u32 base = 10;
	size_t n = 0;

	l->tok = K_INT;
	l->num = 0;
	if (at(l, 0) == '0') {
		int x = at(l, 1);
		if (x == 'f' || x == 'F' || x == 'd' || x == 'D') {
			u32 want = x == 'f' || x == 'F' ? 8 : 16;
			for (l->p += 2; n < want && hex(at(l, 0)) < 16; n++, l->p++)
				l->num = l->num << 4 | (u64)hex(at(l, 0));
			l->tok = n != want ? K_BAD : want == 8 ? K_F32 : K_F64;
			return;
		}
		if (x == 'x' || x == 'X')
			base = 16;
		else if (x == 'b' || x == 'B')
			base = 2;
		else if (digit(x))
			base = 8;
	}
	if (base == 10) {
		while (digit(at(l, n)))
			n++;
		if (at(l, n) == '.' || ((at(l, n) == 'e' || at(l, n) == 'E') &&
		                        (digit(at(l, n + 1)) || at(l, n + 1) == '-' ||
		                         at(l, n + 1) == '+'))) {
			lex_decimal(l);
			return;
		}
	} else if (base != 8) {
		l->p += 2;
	}
	for (n = 0; (u32)hex(at(l, 0)) < base; n++, l->p++)
		l->num = l->num * base + (u64)hex(at(l, 0));
	if (!n || id_start(at(l, 0)) || digit(at(l, 0))) {
		if (n && at(l, 0) == 'U')
			l->p++;
		else
			l->tok = K_BAD;
	}
}

void
lex_next(Lex *l)
{
	int c;

	skip_space(l);
	c = at(l, 0);
	l->tline = l->line;
	l->s = l->p;
	l->c = 0;
	if (c < 0) {
		l->tok = K_END;
		l->n = 0;
		return;
	}
	if (id_start(c) || (c == '.' && id_start(at(l, 1)))) {
		l->tok = K_ID;
		l->p++;
		while (id_start(at(l, 0)) || digit(at(l, 0)) ||
		       (*l->s == '%' && at(l, 0) == '.' && id_start(at(l, 1))) ||
		       (*l->s == '.' && at(l, 0) == ':' && at(l, 1) == ':') ||
		       (*l->s == '.' && at(l, 0) == ':' && l->p[-1] == ':'))
			l->p++;
	} else if (digit(c)) {
		lex_number(l);
	} else if (c == '"') {
		l->tok = K_STR;
		for (l->p++; at(l, 0) >= 0 && at(l, 0) != '"'; l->p++)
			if (at(l, 0) == '\n')
				l->line++;
		if (at(l, 0) < 0)
			l->tok = K_BAD;
		else
			l->p++;
	} else {
		l->tok = K_PUNCT;
		l->c = (char)c;
		l->p++;
	}
	l->n = (size_t)(l->p - l->s);
}

/* An opcode is a name with dots and double colons in it: re-read from its first byte. */
void
lex_opcode(Lex *l)
{
	l->p = l->s;
	while (id_start(at(l, 0)) || digit(at(l, 0)) || at(l, 0) == '.' ||
	       (at(l, 0) == ':' && (at(l, 1) == ':' || l->p[-1] == ':')))
		l->p++;
	l->n = (size_t)(l->p - l->s);
}

bool
lex_is(const Lex *l, char c)
{
	return l->tok == K_PUNCT && l->c == c;
}

bool
lex_word(const Lex *l, const char *word)
{
	return l->tok == K_ID && strlen(word) == l->n && !memcmp(word, l->s, l->n);
}
