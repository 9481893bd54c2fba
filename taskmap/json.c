/* json.c - JSON, member by member. */
#include "taskmap/json.h"

/* `,` before every member but the first of its object or array. */
static void
next_member(Text *t)
{
	char last = t->n ? t->s[t->n - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		text_add(t, ",", 1);
}

void
json_string(Text *t, const char *s)
{
	text_add(t, "\"", 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			text_printf(t, "\\%c", c);
		else if (c < 0x20)
			text_printf(t, "\\u%04x", c);
		else
			text_add(t, s, 1);
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
