/* test_json.c - tests the JSON reader: accepts RFC 8259, rejects anything else. */
#include "test/check.h"
#include "test/util_arena.h"
#include "lib/base/json.h"
#include <string.h>

TEST_PROGRAM(ARENA_FIXTURE);

static const Json *
parse(const char *s)
{
	return json_read(&arena, s, strlen(s));
}

TEST(values_are_read)
{
	const Json *j = parse(" { \"a\" : [1, -2.5e1, true, false, null, {}, []] , \"b\":\"x\" }\n"), *e;

	ck_assert_ptr_nonnull(j);
	ck_assert_int_eq(j->kind, JSON_OBJECT);
	ck_assert_uint_eq(j->n, 2);
	ck_assert_ptr_null(json_member(j, "c"));
	ck_assert_str_eq(json_member(j, "b")->text, "x");
	e = json_member(j, "a");
	ck_assert_uint_eq(e->n, 7);
	e = e->first;
	ck_assert_double_eq(e->number, 1);
	e = e->next;
	ck_assert_double_eq(e->number, -25);
	ck_assert_int_eq((e = e->next)->kind, JSON_TRUE);
	ck_assert_int_eq((e = e->next)->kind, JSON_FALSE);
	ck_assert_int_eq((e = e->next)->kind, JSON_NULL);
	ck_assert_int_eq((e = e->next)->kind, JSON_OBJECT);
	ck_assert_int_eq((e = e->next)->kind, JSON_ARRAY);
	ck_assert_ptr_null(e->next);
	ck_assert_ptr_null(json_member(e, "a"));
	ck_assert_ptr_null(json_member(NULL, "a"));
}

/* U+00E9, U+20AC and U+1D11E, which RFC 8259 has as its example, by the UTF-8 that RFC 3629 gives them. */
TEST(strings_are_unescaped)
{
	ck_assert_str_eq(parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"")->text, "a\"\\/\b\f\n\r\tz");
	ck_assert_str_eq(parse("\"\\u0041\\u00e9\\u20AC\\uD834\\uDD1E\"")->text,
	                 "A\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e");
	ck_assert_str_eq(parse("\"\"")->text, "");
}

TEST(what_is_no_json_is_refused)
{
	static const char *const wrong[] = {
		"", " ", "{", "}", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "01", "1.",
		".5", "+1", "-", "1e", "tru", "nul", "\"", "\"\\x\"", "\"\\u12\"", "\"\\u0000\"",
		"\"\\ud800\"", "\"\\ud800x\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "\"\\", "1 2",
		"[1]]", "'a'", "NaN", "[", "[[", "{\"a\":1",
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!parse(wrong[i]), "'%s' is taken", wrong[i]);
	/* a NUL ends no text */
	ck_assert_ptr_null(json_read(&arena, "1\0", 2));
	ck_assert_ptr_null(json_read(&arena, "\"a\\\0\"", 5));
}

/* Every prefix of a text that needs its last letter. */
TEST(truncated_texts_are_refused)
{
	static const char text[] = "{\"a\":[1,2.5e-3,{\"b\\u00e9\":\"c\\\\\"}],\"d\":null}";

	for (size_t n = 0; n + 1 < sizeof text; n++)
		ck_assert_ptr_null(json_read(&arena, text, n));
	ck_assert_ptr_nonnull(json_read(&arena, text, sizeof text - 1));
}

TEST(depth_is_bounded)
{
	char s[2 * JSON_DEPTH + 8];

	for (int depth = JSON_DEPTH - 1; depth <= JSON_DEPTH + 1; depth++) {
		memset(s, '[', (size_t)depth);
		memset(s + depth, ']', (size_t)depth);
		ck_assert_int_eq(json_read(&arena, s, 2 * (size_t)depth) != NULL, depth <= JSON_DEPTH);
	}
}
