/* split.c - splits a text into words, before the bytes of each are joined, by the patterns of the models; the
 * first matching alternative wins.
 *
 *	gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *	llama-bpe  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 *	           \s*[\r\n]+|\s+(?!\S)|\s+
 *	qwen2      the same, with \p{N}
 *
 * (encoder.py of GPT-2; tokenizer.json of Meta-Llama-3-8B and of Qwen2, as src/llama-vocab.cpp of llama.cpp
 * quotes them beside their names in tokenizer.ggml.pre. Qwen2 first composes characters by NFC; here texts
 * are unchanged, as in llama.cpp.) */
#include "examples/llama/vocab.h"
#include <string.h>

const Split *
split_find(const char *name)
{
	static const Split known[] = {
		{ "gpt-2", false, 0, false, false },     { "llama-bpe", true, 3, true, true },
		{ "llama3", true, 3, true, true },       { "llama-v3", true, 3, true, true },
		{ "qwen2", true, 1, false, false },
	};

	for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

/* ---- characters ------------------------------------------------------------------------------------ */

typedef enum Class { END, LETTER, NUMBER, BLANK, OTHER } Class;

typedef struct Range {
	uint32_t first, last;
	Class class;
} Range;

static const Range range[] = {
#define L(first, last) { 0x##first, 0x##last, LETTER },
#define N(first, last) { 0x##first, 0x##last, NUMBER },
#include "examples/llama/letters.def"
#undef L
#undef N
};

/* White_Space of Unicode, which \s is. */
static bool
blank(uint32_t c)
{
	return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
	       c == 0x3000;
}

/* Of character i; END behind the last one. */
static Class
class_of(const Char *c, int n, int i)
{
	size_t low = 0, high = sizeof range / sizeof *range;

	if (i >= n)
		return END;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (range[middle].last < c[i].code)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sizeof range / sizeof *range && range[low].first <= c[i].code)
		return range[low].class;
	return blank(c[i].code) ? BLANK : OTHER;
}

static bool
line_end(const Char *c, int n, int i)
{
	return i < n && (c[i].code == '\r' || c[i].code == '\n');
}

/* Behind what is of the class from i on, at most `most` of it, 0: all. */
static int
run(const Char *c, int n, int i, Class class, int most)
{
	int from = i;

	while (class_of(c, n, i) == class && (!most || i < from + most))
		i++;
	return i;
}

/* ---- words ----------------------------------------------------------------------------------------- */

/* Characters of 's, 't, 're, 've, 'm, 'll, 'd at i; 0: none of them.  In `either` case a long s is one. */
static int
shortened(const Char *c, int n, int i, bool either)
{
	static const char *const ending[] = { "s", "t", "re", "ve", "m", "ll", "d" };

	for (size_t e = 0; c[i].code == '\'' && e < sizeof ending / sizeof *ending; e++) {
		int k = 0;

		for (; ending[e][k] && i + 1 + k < n; k++) {
			uint32_t x = c[i + 1 + k].code;

			if (either)
				x = x == 0x17F ? 's' : x >= 'A' && x <= 'Z' ? x + 32 : x;
			if (x != (unsigned char)ending[e][k])
				break;
		}
		if (!ending[e][k])
			return k + 1;
	}
	return 0;
}

/* Blanks from i on: to the last end of a line, if they have one; all but the last in front of a word. */
static int
blanks(const Split *s, const Char *c, int n, int i)
{
	int end = run(c, n, i, BLANK, 0);

	for (int k = end; s->late && k > i; k--)
		if (line_end(c, n, k - 1))
			return k;
	return end < n && end - i > 1 ? end - 1 : end;
}

int
split_word(const Split *s, const Char *c, int n, int i)
{
	Class class = class_of(c, n, i);
	int end = shortened(c, n, i, s->late), word = i + (c[i].code == ' ');

	if (end)
		return i + end;
	if (s->late && (class == LETTER || (class != NUMBER && !line_end(c, n, i) &&
	                                    class_of(c, n, i + 1) == LETTER)))
		return run(c, n, i + (class != LETTER), LETTER, 0);
	if (s->late && class == NUMBER)
		return run(c, n, i, NUMBER, s->digits);
	class = class_of(c, n, word);
	if (class == OTHER) {
		end = run(c, n, word, OTHER, 0);
		while (s->late && line_end(c, n, end))
			end++;
		return end;
	}
	if (!s->late && (class == LETTER || class == NUMBER))
		return run(c, n, word, class, s->digits);
	return blanks(s, c, n, i);
}
