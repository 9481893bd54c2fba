/* bytes.c - tokenizes with byte-pair vocabularies (tokenizer.ggml.model gpt2). Each word (split.c) is written
 * in characters that represent its bytes. Of all adjacent pairs in the file's list of merges, the first in
 * the list is joined, until there are none. The remaining pieces are tokens. */
#include "examples/llama/join.h"
#include "examples/llama/vocab.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are printed stand for themselves, and the others, in their order, are the characters from 256 on
 * (bytes_to_unicode in encoder.py of GPT-2): 0 to 32, 127 to 160, 173. */
static uint32_t
char_of(unsigned byte)
{
	if (byte >= 127 && byte <= 160)
		return 289 + byte - 127;
	return byte <= 32 ? 256 + byte : byte == 173 ? 323 : byte;
}

/* -1: it stands for none. */
static int
byte_of(uint32_t c)
{
	if (c >= 256 && c < 289)
		return (int)c - 256;
	if (c >= 289 && c < 323)
		return (int)c - 289 + 127;
	if (c == 323)
		return 173;
	return c < 256 && char_of(c) == c ? (int)c : -1;
}

/* ---- text to tokens -------------------------------------------------------------------------------- */

/* A word, in pieces. */
typedef struct Word {
	char *s;
	Join join;
} Word;

static void
write_bytes(Word *w, const char *text, int bytes)
{
	Join *j = &w->join;
	int at = 0;

	for (j->n = 0; j->n < bytes; j->n++) {
		uint32_t c = char_of((unsigned char)text[j->n]);

		j->start[j->n] = at;
		if (c >= 128)
			w->s[at++] = (char)(0xC0 | c >> 6);
		w->s[at++] = (char)(c < 128 ? c : 0x80 | (c & 0x3f));
	}
	j->start[j->n] = at;
}

static double
rank(const Join *j, int from, int middle, int to)
{
	const Vocab *v = j->user;
	int32_t merge = texts_find_pair(&v->merge, j->text + from, (size_t)(middle - from),
					(size_t)(to - from));

	return merge < 0 ? NAN : (double)merge;
}

/* -1: out of memory. */
static int
word_tokens(const Vocab *v, Word *w, int32_t *token, int room)
{
	Join *j = &w->join;
	int32_t t = texts_find(&v->token, w->s, (size_t)j->start[j->n]);
	int made = 0, type = t < 0 || !v->type ? NORMAL : v->type[t];

	if (v->split->whole && room > 0 && t >= 0 && type != CONTROL && type != USER) {
		*token = t;
		return 1;
	}
	if (!join_best(j))
		return -1;
	for (int i = 0; i < j->n && made < room; i++) {
		t = texts_find(&v->token, w->s + j->start[i], (size_t)(j->start[i + 1] - j->start[i]));
		t = t < 0 ? (int32_t)v->unknown : t;
		if (t >= 0)
			token[made++] = t;
	}
	return made;
}

int
bytes_tokens(const Vocab *v, const char *text, int32_t *token, int room)
{
	size_t bytes = strlen(text);
	Char *c = calloc(bytes + 1, sizeof *c);
	Word w = { malloc(2 * bytes + 1), { .rank = rank, .user = v } };
	int n = 0, made = 0, more;
	bool ok;

	w.join.text = w.s;
	w.join.start = calloc(bytes + 1, sizeof *w.join.start);
	ok = c && w.s && w.join.start;

	for (const char *s = text; ok && *s; n++) {
		c[n].at = (int)(s - text);
		c[n].code = host_char(&s);
		c[n + 1].at = (int)(s - text);
	}
	for (int i = 0, end, stop = 0; ok && i < n; i = end) {
		int32_t t = vocab_added(v, text + c[i].at);

		if (t >= 0) { /* it is cut out first: words do not reach into it */
			for (end = i; c[end].at < c[i].at + (int)strlen(v->token.text[t]);)
				end++;
			if (made < room)
				token[made++] = t;
			continue;
		}
		if (stop <= i)
			for (stop = i + 1; stop < n && vocab_added(v, text + c[stop].at) < 0;)
				stop++;
		end = split_word(v->split, c, stop, i);
		write_bytes(&w, text + c[i].at, c[end].at - c[i].at);
		more = word_tokens(v, &w, token + made, room - made);
		made += more;
		ok = more >= 0;
	}
	join_free(&w.join);
	free(w.join.start);
	free(w.s);
	free(c);
	return ok ? made : -1;
}

/* ---- and back -------------------------------------------------------------------------------------- */

int
bytes_bytes(const Vocab *v, int32_t token, char *out, int room)
{
	const char *s = v->token.text[token];
	bool as_is = v->type && v->type[token] == USER;
	int n = 0;

	while (*s && n < room) {
		const char *from = s;
		int byte = byte_of(host_char(&s));

		if (byte < 0 || as_is)
			while (from < s && n < room)
				out[n++] = *from++;
		else
			out[n++] = (char)byte;
	}
	return n;
}
