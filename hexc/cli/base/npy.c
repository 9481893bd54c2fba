/* npy.c - reads and writes .npy. The header is the text of a Python dict, and is not trusted. */
#include "hexc/cli/base/npy.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct NpyReader {
	const char *s, *end;
	char *why;
	size_t nwhy;
} NpyReader;

#if defined(__GNUC__)
static bool npy_error(const NpyReader *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif

static bool
npy_error(const NpyReader *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (c->nwhy)
		vsnprintf(c->why, c->nwhy, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- words of the header ---------------------------------------------------------------------- */

static void
blanks(NpyReader *c)
{
	while (c->s < c->end && (*c->s == ' ' || *c->s == '\n' || *c->s == '\t' || *c->s == '\r'))
		c->s++;
}

static bool
take(NpyReader *c, char want)
{
	blanks(c);
	if (c->s == c->end || *c->s != want)
		return false;
	c->s++;
	return true;
}

/* Parses a quoted string without escapes. */
static bool
quoted(NpyReader *c, const char **s, size_t *n)
{
	const char *close;
	char q;

	blanks(c);
	if (c->s == c->end || (*c->s != '\'' && *c->s != '"'))
		return false;
	q = *c->s++;
	close = memchr(c->s, q, (size_t)(c->end - c->s));
	if (!close)
		return false;
	*s = c->s;
	*n = (size_t)(close - c->s);
	c->s = close + 1;
	return true;
}

static bool
word(NpyReader *c, const char *w)
{
	size_t n = strlen(w);

	blanks(c);
	if ((size_t)(c->end - c->s) < n || memcmp(c->s, w, n) != 0)
		return false;
	c->s += n;
	return true;
}

static bool
number(NpyReader *c, int64_t *out)
{
	int64_t x = 0;
	int digits = 0;

	blanks(c);
	for (; c->s < c->end && *c->s >= '0' && *c->s <= '9'; c->s++, digits++) {
		if (x > (INT64_MAX - 9) / 10)
			return false;
		x = x * 10 + (*c->s - '0');
	}
	if (c->s < c->end && *c->s == 'L') /* Python 2's suffix of long integers */
		c->s++;
	*out = x;
	return digits > 0;
}

/* ---- the three entries ------------------------------------------------------------------------ */

static bool
descr(NpyReader *c, Npy *out)
{
	const char *s;
	size_t n;

	blanks(c);
	if (c->s < c->end && *c->s == '[')
		return npy_error(c, "a structured type; save one plain array per file");
	if (!quoted(c, &s, &n))
		return npy_error(c, "the header's 'descr' is not a string");
	if (n == 3 && s[0] == '>' && s[2] != '1')
		return npy_error(c, "big-endian data; save a.astype(a.dtype.newbyteorder('<'))");
	if (n != 3 || memchr(s, 0, n) || !strchr("<|=>", s[0]) || !strchr("fiub", s[1]) ||
	    !strchr("1248", s[2]) ||
	    (s[1] == 'f' && s[2] == '1') || (s[1] == 'b' && s[2] != '1'))
		return npy_error(c, "elements of type '%.*s'; f16, f32, f64, i8 to u64 and bool can be read",
		                 n > 40 ? 40 : (int)n, s);
	out->kind = s[1];
	out->size = s[2] - '0';
	return true;
}

static bool
shape(NpyReader *c, Npy *out)
{
	out->rank = 0;
	out->count = 1;
	if (!take(c, '('))
		return npy_error(c, "the header's 'shape' is not a tuple");
	while (!take(c, ')')) {
		int64_t x;
		if (out->rank == NPY_RANK_MAX)
			return npy_error(c, "more than %d dimensions", (int)NPY_RANK_MAX);
		if (!number(c, &x))
			return npy_error(c, "the header's 'shape' is not a tuple of sizes");
		out->shape[out->rank++] = x;
		if (!take(c, ',') && !(c->s < c->end && *c->s == ')'))
			return npy_error(c, "the header's 'shape' is not a tuple of sizes");
	}
	for (int d = 0; d < out->rank; d++) { /* also computes the product of the others if one is 0 */
		int64_t n = out->shape[d] ? out->shape[d] : 1;

		if (out->count > INT64_MAX / 8 / n)
			return npy_error(c, "shape overflows size_t");
		out->count *= n;
	}
	for (int d = 0; d < out->rank; d++)
		if (out->shape[d] == 0)
			out->count = 0;
	return true;
}

/* Parses the dict; keys in any order, each once. */
static bool
dict(NpyReader *c, Npy *out)
{
	bool have[3] = { false, false, false }, fortran = false;

	if (!take(c, '{'))
		return npy_error(c, "the header is not a dict");
	while (!take(c, '}')) {
		const char *key;
		size_t n;
		int which;
		if (!quoted(c, &key, &n) || !take(c, ':'))
			return npy_error(c, "the header is not a dict of three entries");
		which = n == 5 && memcmp(key, "descr", n) == 0           ? 0
		        : n == 13 && memcmp(key, "fortran_order", n) == 0 ? 1
		        : n == 5 && memcmp(key, "shape", n) == 0          ? 2
		                                                          : -1;
		if (which < 0 || have[which])
			return npy_error(c, "the header has an unexpected entry");
		have[which] = true;
		if (which == 0 && !descr(c, out))
			return false;
		if (which == 1 && !(fortran = word(c, "True")) && !word(c, "False"))
			return npy_error(c, "the header's 'fortran_order' is neither True nor False");
		if (which == 2 && !shape(c, out))
			return false;
		if (!take(c, ',') && !(c->s < c->end && *c->s == '}'))
			return npy_error(c, "the header is not a dict of three entries");
	}
	blanks(c);
	if (!have[0] || !have[1] || !have[2] || c->s != c->end)
		return npy_error(c, "the header is not a dict of three entries");
	if (fortran && out->rank > 1)
		return npy_error(c, "Fortran order; save numpy.ascontiguousarray(a)");
	return true;
}

/* ---- files ------------------------------------------------------------------------------------ */

bool
npy_parse(Npy *out, const void *file, size_t n, char *why, size_t nwhy)
{
	const unsigned char *b = file;
	NpyReader c = { NULL, NULL, why, nwhy };
	size_t at, len, have;

	memset(out, 0, sizeof *out);
	if (n < 10 || memcmp(b, "\x93NUMPY", 6) != 0)
		return npy_error(&c, "not a .npy file");
	if (b[6] < 1 || b[6] > 3)
		return npy_error(&c, "version %d.%d of .npy; 1 to 3 can be read", b[6], b[7]);
	at = b[6] == 1 ? 10 : 12;
	if (n < at)
		return npy_error(&c, "truncated: the file ends in its header");
	len = b[8] | (size_t)b[9] << 8;
	if (b[6] > 1)
		len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
	if (len > n - at)
		return npy_error(&c, "truncated: the file ends in its header");
	c.s = (const char *)b + at;
	c.end = c.s + len;
	if (!dict(&c, out))
		return false;
	have = n - at - len;
	if ((uint64_t)out->count * (uint64_t)out->size > have)
		return npy_error(&c, "truncated: %llu bytes of data, but the header specifies %llu",
		                 (unsigned long long)have,
		                 (unsigned long long)out->count * (unsigned long long)out->size);
	if ((uint64_t)out->count * (uint64_t)out->size < have)
		return npy_error(&c, "%llu trailing bytes after the data",
		                 (unsigned long long)have -
		                         (unsigned long long)out->count * (unsigned long long)out->size);
	out->data = b + at + len;
	return true;
}

size_t
npy_header(char *out, char kind, int size, int rank, const int64_t *dims)
{
	char *text = out + 10;
	size_t room = NPY_HEADER_MAX - 10, n;

	n = (size_t)snprintf(text, room, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
	                     size == 1 ? '|' : '<', kind, size);
	for (int d = 0; d < rank; d++)
		n += (size_t)snprintf(text + n, room - n,
		                      rank == 1 ? "%lld,"
		                      : d       ? ", %lld"
		                                : "%lld",
		                      (long long)dims[d]);
	n += (size_t)snprintf(text + n, room - n, "), }");
	while ((10 + n + 1) % 64)
		text[n++] = ' ';
	text[n++] = '\n';
	memcpy(out, "\x93NUMPY\x01\x00", 8);
	out[8] = (char)(n & 255);
	out[9] = (char)(n >> 8);
	return 10 + n;
}
