/* json_writer.c - writes JSON, member by member. */
#include "taskmap/support/json_writer.h"

/* Adds `,` before every member but the first of its object or array. */
static void
next_member(Text *t)
{
	char last = t->n ? t->s[t->n - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		text_add(t, ",", 1);
}

size_t
utf8_bytes(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned first = p[0];
	size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80) /* a NUL as well */
			return 0;
	if (n > 2) {
		unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
		unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

		if (p[1] < least || p[1] > most)
			return 0;
	}
	return n;
}

void
json_string(Text *t, const char *s)
{
	text_add(t, "\"", 1);
	for (size_t n; *s; s += n ? n : 1) {
		unsigned char c = (unsigned char)*s;

		n = utf8_bytes(s);
		if (c == '"' || c == '\\')
			text_printf(t, "\\%c", c);
		else if (c < 0x20)
			text_printf(t, "\\u%04x", c);
		else if (n)
			text_add(t, s, n);
		else
			text_printf(t, "\\ufffd");
	}
	text_add(t, "\"", 1);
}

void
json_key(Text *t, const char *name)
{
	next_member(t);
	json_string(t, name);
	text_add(t, ":", 1);
}

void
json_text(Text *t, const char *name, const char *s)
{
	json_key(t, name);
	json_string(t, s);
}

void
json_number(Text *t, const char *name, int64_t x)
{
	json_key(t, name);
	text_printf(t, "%lld", (long long)x);
}

void
json_decimal(Text *t, const char *name, double x)
{
	json_key(t, name);
	text_printf(t, "%.1f", x);
}

void
json_open(Text *t, const char *name, const char *bracket)
{
	if (name)
		json_key(t, name);
	else
		next_member(t);
	text_add(t, bracket, 1);
}
