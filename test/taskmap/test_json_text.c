/* test_json_text.c - tests strings as JSON: characters are unchanged, bytes that belong to none become
 * U+FFFD. */
#include "taskmap/support/json_writer.h"
#include <string.h>
#include "test/util_arena.h"

TEST_PROGRAM(ARENA_FIXTURE);

static void
is(const char *s, const char *want)
{
	Text t = { .arena = &arena };

	json_string(&t, s);
	ck_assert_str_eq(t.s, want);
}

/* The encoding of RFC 3629, section 3. */
static void
encode(char out[8], unsigned long c)
{
	static const unsigned long last[] = { 0x7f, 0x7ff, 0xffff, 0x10ffff };
	static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };
	int n = 0;

	while (c > last[n])
		n++;
	out[0] = '"';
	for (int i = n; i > 0; i--, c >>= 6)
		out[1 + i] = (char)(0x80 | (c & 0x3f));
	out[1] = (char)(lead[n] | c);
	out[2 + n] = '"';
	out[3 + n] = 0;
}

TEST(every_character)
{
	char quoted[8], s[8];

	for (unsigned long c = 0x80; c <= 0x10ffff; c += c < 0x10000 ? 1 : 61) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		encode(quoted, c);
		memset(s, 0, sizeof s);
		memcpy(s, quoted + 1, strlen(quoted) - 2);
		is(s, quoted);
	}
}

#define X "\\ufffd"
TEST(bytes_of_none)
{
	char s[2] = "";

	for (int byte = 0x80; byte <= 0xff; byte++) {
		s[0] = (char)byte;
		is(s, "\"" X "\"");
	}
	is("\xc0\x80 \xc1\xbf", "\"" X X " " X X "\"");                  /* in more bytes than it takes */
	is("\xe0\x9f\xbf \xf0\x8f\xbf\xbf", "\"" X X X " " X X X X "\"");
	is("\xed\xa0\x80 \xed\xbf\xbf", "\"" X X X " " X X X "\"");      /* surrogates */
	is("\xf4\x90\x80\x80 \xf5\x80", "\"" X X X X " " X X "\"");      /* behind the last */
	is("\xe2\x82 \xe2\x82\xac \xf0\x9f\x91", "\"" X X " \xe2\x82\xac " X X X "\""); /* cut off */
	is("\"\\\n\x1f", "\"\\\"\\\\\\u000a\\u001f\"");
}
