/* util_layout.c - parses layouts that tests write as text. */
#include "test/util_layout.h"
#include "test/check.h"
#include <string.h>

Layout
layout_of(const char *text)
{
	Layout l;
	size_t at = 0;

	ck_assert_msg(layout_parse(&l, text, strlen(text), &at), "'%s' does not parse at %zu", text, at);
	return l;
}
