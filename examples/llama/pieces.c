/* pieces.c - tokenizes with SentencePiece vocabularies (tokenizer.ggml.model llama). A text is split into
 * characters, blanks being U+2581. Of all adjacent pairs that form a token, the pair with the highest score
 * is joined, until there are none. Remaining pieces that are no tokens are written as byte tokens. */
#include "examples/llama/join.h"
#include "examples/llama/vocab.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text to tokens -------------------------------------------------------------------------------- */

/* Bytes of the character at s. */
static int
char_bytes(const char *s)
{
	unsigned char c = (unsigned char)*s;
	int n = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

	for (int i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xC0) != 0x80)
			return 1;
	return n;
}

/* Blanks as U+2581; to be freed. */
static char *
with_blanks(const Vocab *v, const char *text)
{
	static const char blank[] = "\xE2\x96\x81";
	char *out = calloc(3, strlen(text) + 2), *to = out;

	if (!out)
		return NULL;
	if (v->add_blank && *text) {
		memcpy(to, blank, 3);
		to += 3;
	}
	for (; *text; text++) {
		if (*text == ' ') {
			memcpy(to, blank, 3);
			to += 3;
		} else {
			*to++ = *text;
		}
	}
	return out;
}

/* The token of a piece; -1: none. Texts do not make the other kinds of tokens, however they are spelled. */
static int32_t
find_piece(const Vocab *v, const char *s, size_t n)
{
	int32_t t = texts_find(&v->token, s, n);
	int type = t < 0 || !v->type ? NORMAL : v->type[t];

	return type == UNKNOWN || type == CONTROL || type == BYTE ? -1 : t;
}

static double
rank(const Join *j, int from, int middle, int to)
{
	const Vocab *v = j->user;
	int32_t t = find_piece(v, j->text + from, (size_t)(to - from));

	(void)middle;
	return t < 0 ? NAN : -(double)v->score[t];
}

/* The tokens of a piece: it, or its bytes, or that of what is unknown. */
static int
put_piece(const Vocab *v, const char *s, int n, int32_t *token, int room)
{
	int32_t t = find_piece(v, s, (size_t)n);
	int made = 0;

	if (t >= 0 && room > 0) {
		*token = t;
		return 1;
	}
	for (int i = 0; i < n && made < room; i++) {
		char name[8];

		snprintf(name, sizeof name, "<0x%02X>", (unsigned)(unsigned char)s[i]);
		t = texts_find(&v->token, name, 6);
		t = t < 0 ? (int32_t)v->unknown : t;
		if (t >= 0)
			token[made++] = t;
	}
	return made;
}

int
pieces_tokens(const Vocab *v, const char *text, int32_t *token, int room)
{
	char *s = with_blanks(v, text);
	int bytes = s ? (int)strlen(s) : 0, made = 0, n = 0;
	int *start = calloc((size_t)bytes + 1, sizeof *start);
	Join j = { .text = s, .start = start, .rank = rank, .user = v };

	if (s && start) {
		for (int i = 0; i < bytes; i += char_bytes(s + i))
			start[n++] = i;
		start[n] = bytes;
		j.n = n;
	}
	if (s && start && join_best(&j))
		for (int i = 0; i < j.n; i++)
			made += put_piece(v, s + start[i], start[i + 1] - start[i], token + made,
			                  room - made);
	else
		made = -1;
	join_free(&j);
	free(start);
	free(s);
	return made;
}

/* ---- and back -------------------------------------------------------------------------------------- */

int
pieces_bytes(const Vocab *v, int32_t token, char *out, int room)
{
	const char *s = v->token.text[token];
	unsigned byte;
	int n = 0;

	if (v->type && v->type[token] == BYTE && sscanf(s, "<0x%2x>", &byte) == 1 && room > 0) {
		*out = (char)byte;
		return 1;
	}
	while (*s && n < room) {
		if (strncmp(s, "\xE2\x96\x81", 3) == 0) {
			out[n++] = ' ';
			s += 3;
		} else {
			out[n++] = *s++;
		}
	}
	return n;
}
