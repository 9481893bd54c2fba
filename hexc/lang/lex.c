/* lex.c - converts source text to tokens. */
#include "hexc/lang/migration_hints.h"
#include "hexc/lang/lex.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Lexer {
	Arena *arena;
	Diag *diag;
	const char *s;
	size_t n, at;
	uint32_t line;
	size_t line_at; /* offset of the first byte of the line */
	Token *tok;
	int ntok, cap;
} Lexer;

static const char *const keyword[] = {
#define X(id) #id,
	KEYWORDS(X)
#undef X
};
static const struct { const char *text, *quoted; } punct[] = {
#define X(id, text) { text, "`" text "`" },
	PUNCTUATION(X)
#undef X
};

const char *
tok_name(TileToken k)
{
	static const char *const quoted[] = {
#define X(id) "`" #id "`",
		KEYWORDS(X)
#undef X
	};
	int i = (int)k - TK_kernel;

	switch (k) {
	case TK_end: return "the end of the file";
	case TK_bad: return "a token";
	case TK_name: return "a name";
	case TK_int:
	case TK_float: return "a number";
	case TK_string: return "a string literal";
	default: break;
	}
	return i < (int)COUNT_OF(quoted) ? quoted[i] : punct[i - (int)COUNT_OF(quoted)].quoted;
}

TileToken
tok_assigned_op(TileToken k)
{
	switch (k) {
	case TK_assign: return TK_assign;
	case TK_addeq: return TK_plus;
	case TK_subeq: return TK_minus;
	case TK_muleq: return TK_star;
	case TK_diveq: return TK_slash;
	case TK_modeq: return TK_percent;
	case TK_shleq: return TK_shl;
	case TK_shreq: return TK_shr;
	case TK_andeq: return TK_amp;
	case TK_oreq: return TK_bar;
	case TK_xoreq: return TK_caret;
	default: return TK_end;
	}
}

static int
find_keyword(const char *name)
{
	for (int i = 0; i < (int)COUNT_OF(keyword); i++)
		if (strcmp(keyword[i], name) == 0)
			return i;
	return -1;
}

static bool
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool
is_name(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int
peek(const Lexer *l, size_t ahead)
{
	return l->at + ahead < l->n ? (unsigned char)l->s[l->at + ahead] : -1;
}

static Src
src_from(const Lexer *l, size_t at)
{
	return (Src){ l->line, (uint32_t)(at - l->line_at + 1), (uint32_t)(l->at - at) };
}

static Token *
push(Lexer *l, TileToken kind, size_t at)
{
	Token t = { .kind = kind, .src = src_from(l, at), .at = (uint32_t)at };

	VEC_PUSH(l->arena, l->tok, l->ntok, l->cap, t);
	return &l->tok[l->ntok - 1];
}

static void
skip_space(Lexer *l)
{
	for (; l->at < l->n; l->at++) {
		int c = peek(l, 0);

		if (c == '/' && peek(l, 1) == '/')
			while (l->at < l->n && l->s[l->at] != '\n')
				l->at++;
		if (l->at == l->n)
			return;
		c = peek(l, 0);
		if (c == '\n') {
			l->line++;
			l->line_at = l->at + 1;
		} else if (c != ' ' && c != '\t' && c != '\r') {
			return;
		}
	}
}

static void
lex_name(Lexer *l)
{
	size_t at = l->at;
	const char *name;
	int key;

	while (is_name(peek(l, 0)))
		l->at++;
	name = arena_strndup(l->arena, l->s + at, l->at - at);
	key = find_keyword(name);
	push(l, key < 0 ? TK_name : (TileToken)(TK_kernel + key), at)->u.name = name;
}

/* Returns the value of a decimal number with a fraction or an exponent. The point is folded into the
 * exponent first, because strtod expects the decimal point of the host's locale. */
static double
float_value(Lexer *l, size_t at)
{
	Text t = { .arena = l->arena };
	long shift = 0, e = 0;
	bool point = false, minus = false;
	size_t i = at;

	text_add(&t, "0", 1);
	for (; i < l->at && (is_digit(l->s[i]) || l->s[i] == '.' || l->s[i] == '_'); i++) {
		if (l->s[i] == '.')
			point = true;
		else if (is_digit(l->s[i])) {
			text_add(&t, l->s + i, 1);
			shift -= point;
		}
	}
	if (i < l->at) {
		i++;
		minus = l->s[i] == '-';
		i += l->s[i] == '-' || l->s[i] == '+';
		for (; i < l->at; i++)
			if (e < 10000000)
				e = e * 10 + (l->s[i] - '0');
	}
	text_printf(&t, "e%ld", shift + (minus ? -e : e));
	return strtod(t.s, NULL);
}

static bool
int_value(const Lexer *l, size_t at, int base, int64_t *out)
{
	uint64_t x = 0;

	for (size_t i = at; i < l->at; i++) {
		int c = l->s[i], v;

		if (c == '_')
			continue;
		v = is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
		if (x > ((uint64_t)INT64_MAX - (uint64_t)v) / (uint64_t)base)
			return false;
		x = x * (uint64_t)base + (uint64_t)v;
	}
	*out = (int64_t)x;
	return true;
}

static bool
is_hex(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static void
lex_number(Lexer *l)
{
	size_t at = l->at, digits = at;
	bool flt = false;
	int base = 10;
	int64_t i = 0;
	double f;
	Token *t;

	if (peek(l, 0) == '0' && (peek(l, 1) | 32) == 'x' && is_hex(peek(l, 2))) {
		base = 16;
		digits = l->at += 2;
	}
	while (peek(l, 0) == '_' || (base == 16 ? is_hex(peek(l, 0)) : is_digit(peek(l, 0))))
		l->at++;
	if (base == 10 && peek(l, 0) == '.' && is_digit(peek(l, 1))) {
		flt = true;
		for (l->at++; is_digit(peek(l, 0)) || peek(l, 0) == '_';)
			l->at++;
	}
	if (base == 10 && (peek(l, 0) | 32) == 'e') {
		size_t sign = peek(l, 1) == '-' || peek(l, 1) == '+';
		if (is_digit(peek(l, 1 + sign))) {
			flt = true;
			for (l->at += 1 + sign; is_digit(peek(l, 0));)
				l->at++;
		}
	}
	if (is_name(peek(l, 0))) {
		while (is_name(peek(l, 0)))
			l->at++;
		diag_error(l->diag, src_from(l, at), "invalid token `%.*s`",
		           (int)(l->at - at > 40 ? 40 : l->at - at), l->s + at);
		flt = false;
	} else if (!flt && !int_value(l, digits, base, &i)) {
		diag_error(l->diag, src_from(l, at),
		           "the number exceeds 9223372036854775807, the largest integer; combine two, as "
		           "in `u64(0x89abcdef) << 32 | 0x01234567`");
	}
	f = flt ? float_value(l, at) : 0;
	if (isinf(f))
		diag_error(l->diag, src_from(l, at), "the number exceeds the range of f64; `inf` is "
		                                     "infinity");
	t = push(l, flt ? TK_float : TK_int, at);
	if (flt)
		t->u.f = f;
	else
		t->u.i = i;
}

/* "text": ends on its line; contains no quotes or escapes. */
static void
lex_string(Lexer *l)
{
	size_t at = l->at++;
	const char *text;

	while (peek(l, 0) >= ' ' && peek(l, 0) < 127 && peek(l, 0) != '"')
		l->at++;
	text = arena_strndup(l->arena, l->s + at + 1, l->at - at - 1);
	if (peek(l, 0) != '"') {
		diag_error(l->diag, src_from(l, at),
		           "unterminated string literal (a literal is printable ASCII on one line)");
		push(l, TK_bad, at);
		return;
	}
	l->at++;
	push(l, TK_string, at)->u.name = text;
}

/* Reports a run of invalid bytes with one message. */
static void
lex_unknown(Lexer *l)
{
	size_t at = l->at;
	int c = peek(l, 0);

	do
		l->at++;
	while (peek(l, 0) >= 0x80 && c >= 0x80);
	if (c == 0)
		diag_error(l->diag, src_from(l, at), "NUL byte in the source; it must be plain text");
	else if (c >= 0x80)
		diag_error(l->diag, src_from(l, at),
		           "non-ASCII byte 0x%02x is only allowed in comments", (unsigned)c);
	else if (c < ' ' || c == 127)
		diag_error(l->diag, src_from(l, at), "control character 0x%02x; remove it", (unsigned)c);
	else
		diag_error(l->diag, src_from(l, at), "`%c` is not part of the language%s", c,
		           foreign_operator(l->arena, l->s + at, 1));
	push(l, TK_bad, at);
}

static bool
lex_punct(Lexer *l)
{
	for (int i = 0; i < (int)COUNT_OF(punct); i++) {
		size_t n = strlen(punct[i].text);

		if (l->n - l->at >= n && memcmp(l->s + l->at, punct[i].text, n) == 0) {
			l->at += n;
			push(l, (TileToken)(TK_kernel + (int)COUNT_OF(keyword) + i), l->at - n);
			return true;
		}
	}
	return false;
}

Token *
lex_all(Arena *a, Diag *d, const char *text, size_t len)
{
	Lexer l = { .arena = a, .diag = d, .s = text, .n = len, .line = 1 };

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		l.at = l.line_at = 3;
	for (;;) {
		int c;

		skip_space(&l);
		c = peek(&l, 0);
		if (c < 0)
			break;
		if (is_digit(c))
			lex_number(&l);
		else if (is_name(c))
			lex_name(&l);
		else if (c == '"')
			lex_string(&l);
		else if (!lex_punct(&l))
			lex_unknown(&l);
	}
	push(&l, TK_end, l.at);
	l.tok[l.ntok - 1].src.len = 1;
	return l.tok;
}
