/* util.c - provides messages, allocation and number parsing for the command line. */
#include "hexc/cli/base/cli.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Replaces control characters of ASCII, and those that UTF-8 encodes as C2 80 to C2 9F, by '?'. */
static void
make_plain(char *s)
{
	for (unsigned char *p = (unsigned char *)s; *p; p++) {
		bool c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;

		if (*p < ' ' || *p == 0x7f || c1)
			*p = '?';
		if (c1)
			p[1] = '?';
	}
}

const char *
cli_plain(Cli *c, const char *s)
{
	char *plain = cli_strndup(c, s, strlen(s));

	make_plain(plain);
	return plain;
}

static void print_said(CliSeverity how, const char *end, const char *fmt, va_list ap) CLI_PRINTF(3, 0);
static void
print_said(CliSeverity how, const char *end, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	text = calloc(1, (size_t)(n < 0 ? 0 : n) + 1);
	if (text) {
		vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, fmt, again);
		make_plain(text);
	}
	va_end(again);
	fprintf(stderr, "hexc: %s: %s%s", cli_severity(how), text ? text : "out of memory", end);
	free(text);
}

int
cli_error(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_said(CLI_ERROR, "\n", fmt, ap);
	va_end(ap);
	return status;
}

void
cli_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_said(CLI_WARNING, "\n", fmt, ap);
	va_end(ap);
}

void
cli_begin_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_said(CLI_ERROR, "", fmt, ap);
	va_end(ap);
}

/* ---- memory ----------------------------------------------------------------------------------- */

typedef struct CliBlock CliBlock;
struct CliBlock {
	CliBlock *next;
	size_t bytes;
};

/* Data follows the header at a multiple of 64 bytes: more than any tensor's alignment. */
enum { HEADER = 64 };

void *
cli_try_alloc(Cli *c, size_t n)
{
	CliBlock *b;
	size_t bytes = n + HEADER;

	if (n > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 63) / 64 * 64;
	b = aligned_alloc(64, bytes);
	if (!b)
		return NULL;
	memset(b, 0, bytes);
	b->next = c->block;
	b->bytes = bytes;
	c->block = b;
	return (char *)b + HEADER;
}

void *
cli_alloc(Cli *c, size_t n)
{
	void *p = cli_try_alloc(c, n);

	if (!p)
		exit(cli_error(EXIT_TROUBLE, "out of memory"));
	return p;
}

void
cli_free(Cli *c)
{
	while (c->block) {
		CliBlock *next = c->block->next;
		free(c->block);
		c->block = next;
	}
}

char *
cli_printf(Cli *c, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = cli_alloc(c, (size_t)(n < 0 ? 0 : n) + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, fmt, ap);
	va_end(ap);
	return s;
}

char *
cli_strndup(Cli *c, const char *s, size_t n)
{
	char *p = cli_alloc(c, n + 1);

	memcpy(p, s, n);
	return p;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

bool
cli_int(const char *s, int64_t *out)
{
	const char *digits = s + (*s == '-' || *s == '+');
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;
	long long x;

	digits += hex ? 2 : 0;
	if (!*digits || digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
		return false;
	errno = 0;
	x = strtoll(s, &end, hex ? 16 : 10);
	*out = x;
	return errno == 0 && *end == 0;
}

bool
cli_u64(const char *s, int64_t *out)
{
	char *end;

	if (cli_int(s, out))
		return true;
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = (int64_t)strtoull(s, &end, s[1] == 'x' || s[1] == 'X' ? 16 : 10);
	return errno == 0 && *end == 0;
}

bool
cli_float(const char *s, double *out)
{
	const char *digits = s + (*s == '-' || *s == '+');
	char *end;

	if (strcmp(digits, "inf") == 0 || strcmp(digits, "nan") == 0) {
		*out = digits[0] == 'n' ? (double)NAN
		       : *s == '-'      ? -(double)INFINITY
		                        : (double)INFINITY;
		return true;
	}
	/* strtod also accepts 0x1p3, "infinity" and blanks, which are not part of the contract */
	if (!*digits || digits[strspn(digits, "0123456789.eE+-")])
		return false;
	errno = 0;
	*out = strtod(s, &end);
	return *end == 0 && !(errno == ERANGE && isinf(*out));
}

bool
cli_dims(const char *s, uint32_t most, uint32_t out[3])
{
	out[0] = out[1] = out[2] = 1;
	for (int i = 0; i < 3; i++) {
		size_t n = strcspn(s, ",");
		char word[16];
		int64_t x;

		if (n >= sizeof word)
			return false;
		memcpy(word, s, n);
		word[n] = 0;
		if (!cli_int(word, &x) || x < 1 || x > (int64_t)most)
			return false;
		out[i] = (uint32_t)x;
		if (!s[n])
			return true;
		s += n + 1;
	}
	return false;
}

void
cli_append(Cli *c, CliText *to, const char *text, size_t n)
{
	if (n > to->cap - to->n) {
		size_t cap = 2 * (to->n + n) + 1000;
		char *s = cli_alloc(c, cap);

		memcpy(s, to->s ? to->s : "", to->n);
		to->s = s;
		to->cap = cap;
	}
	memcpy(to->s + to->n, text, n);
	to->n += n;
}

CliWords
cli_words(Cli *c, const char *s)
{
	size_t commas = 0;
	CliWords w;

	for (const char *p = s; *p; p++)
		commas += *p == ',';
	w.word = cli_alloc(c, (commas + 1) * sizeof *w.word);
	w.n = 0;
	for (;;) {
		size_t n = strcspn(s, ",");

		w.word[w.n++] = cli_strndup(c, s, n);
		if (!s[n])
			return w;
		s += n + 1;
	}
}
