/* json.c - implements json.h. */
#include "lib/base/json.h"
#include <stdlib.h>
#include <string.h>

typedef struct JsonReader {
	Arena *a;
	const char *at, *end;
	int depth;
} JsonReader;

static void
blanks(JsonReader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

/* Consumes the next character if it is c. */
static bool
take(JsonReader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool
take_word(JsonReader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* ---- strings ---------------------------------------------------------------------------------- */

static bool
four_digits(JsonReader *r, uint32_t *out)
{
	*out = 0;
	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *r->at++;

		if (c >= '0' && c <= '9')
			*out = *out << 4 | (uint32_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*out = *out << 4 | (uint32_t)((c | 32) - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* Converts a code point after \u, two surrogates above U+FFFF, to UTF-8. */
static bool
escaped_point(JsonReader *r, char **to)
{
	uint32_t x, low;
	char *p = *to;

	if (!four_digits(r, &x) || x == 0 || (x >= 0xdc00 && x <= 0xdfff))
		return false;
	if (x >= 0xd800 && x <= 0xdbff) {
		if (!take_word(r, "\\u") || !four_digits(r, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		x = 0x10000 + ((x - 0xd800) << 10 | (low - 0xdc00));
		*p++ = (char)(0xf0 | x >> 18);
		*p++ = (char)(0x80 | (x >> 12 & 0x3f));
		*p++ = (char)(0x80 | (x >> 6 & 0x3f));
		*p++ = (char)(0x80 | (x & 0x3f));
	} else if (x >= 0x800) {
		*p++ = (char)(0xe0 | x >> 12);
		*p++ = (char)(0x80 | (x >> 6 & 0x3f));
		*p++ = (char)(0x80 | (x & 0x3f));
	} else if (x >= 0x80) {
		*p++ = (char)(0xc0 | x >> 6);
		*p++ = (char)(0x80 | (x & 0x3f));
	} else {
		*p++ = (char)x;
	}
	*to = p;
	return true;
}

static bool
escaped(JsonReader *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (r->at == r->end || !*r->at)
		return false;
	if (take(r, 'u'))
		return escaped_point(r, to);
	found = strchr(from, *r->at++);
	if (found)
		*(*to)++ = is[found - from];
	return found != NULL;
}

/* Returns NULL if the string is invalid. */
static const char *
read_string(JsonReader *r)
{
	const char *end;
	char *s, *to;

	if (!take(r, '"'))
		return NULL;
	for (end = r->at; end < r->end && *end != '"'; end++)
		if (*end == '\\' && ++end == r->end)
			return NULL;
	to = s = arena_alloc(r->a, (size_t)(end - r->at) + 1); /* unescaping only shortens */
	while (r->at < end) {
		if (*r->at == '\\') {
			r->at++;
			if (!escaped(r, &to))
				return NULL;
		} else if ((unsigned char)*r->at < ' ') {
			return NULL;
		} else {
			*to++ = *r->at++;
		}
	}
	return take(r, '"') ? s : NULL;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static bool
digits(JsonReader *r)
{
	const char *from = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return r->at > from;
}

/* Converts the n digits at s. Returns false if the number exceeds uint64_t, or if a character is no
 * digit. */
static bool
read_u64(const char *s, size_t n, uint64_t *out)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');

		if (s[i] < '0' || s[i] > '9' || x > (UINT64_MAX - digit) / 10)
			return false;
		x = 10 * x + digit;
	}
	*out = x;
	return n > 0;
}

static bool
read_number(JsonReader *r, Json *to)
{
	const char *from = r->at;
	char copy[64];

	take(r, '-');
	if (!take(r, '0') && !digits(r))
		return false;
	if (take(r, '.') && !digits(r))
		return false;
	if (take(r, 'e') || take(r, 'E')) {
		if (!take(r, '+'))
			take(r, '-');
		if (!digits(r))
			return false;
	}
	if ((size_t)(r->at - from) >= sizeof copy)
		return false;
	memcpy(copy, from, (size_t)(r->at - from));
	copy[r->at - from] = 0;
	to->number = strtod(copy, NULL);
	to->is_u64 = read_u64(from, (size_t)(r->at - from), &to->u64);
	return true;
}

/* ---- values ----------------------------------------------------------------------------------- */

static bool read_value(JsonReader *r, Json *to);

/* Parses the contents of brackets, up to `close`. */
static bool
read_members(JsonReader *r, Json *to, char close)
{
	const Json **tail = &to->first;

	blanks(r);
	if (take(r, close))
		return true;
	do {
		Json *new = NEW(r->a, Json);

		blanks(r);
		if (to->kind == JSON_OBJECT) {
			new->key = read_string(r);
			blanks(r);
			if (!new->key || !take(r, ':'))
				return false;
		}
		if (!read_value(r, new))
			return false;
		*tail = new;
		tail = &new->next;
		to->n++;
	} while (take(r, ','));
	return take(r, close);
}

/* Parses a value with surrounding blanks. */
static bool
read_value(JsonReader *r, Json *to)
{
	bool ok = false;

	blanks(r);
	if (r->at == r->end || r->depth == JSON_DEPTH)
		return false;
	r->depth++;
	switch (*r->at) {
	case '{':
	case '[':
		to->kind = *r->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
		ok = read_members(r, to, to->kind == JSON_OBJECT ? '}' : ']');
		break;
	case '"':
		to->kind = JSON_STRING;
		to->text = read_string(r);
		ok = to->text != NULL;
		break;
	case 't':
		to->kind = JSON_TRUE;
		ok = take_word(r, "true");
		break;
	case 'f':
		to->kind = JSON_FALSE;
		ok = take_word(r, "false");
		break;
	case 'n':
		to->kind = JSON_NULL;
		ok = take_word(r, "null");
		break;
	default:
		to->kind = JSON_NUMBER;
		ok = read_number(r, to);
	}
	r->depth--;
	blanks(r);
	return ok;
}

const Json *
json_read(Arena *a, const char *text, size_t n)
{
	JsonReader r = { a, text, text + n, 0 };
	Json *root = NEW(a, Json);

	return read_value(&r, root) && r.at == r.end ? root : NULL;
}

const Json *
json_member(const Json *object, const char *key)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const Json *j = object->first; j; j = j->next)
		if (strcmp(j->key, key) == 0)
			return j;
	return NULL;
}
