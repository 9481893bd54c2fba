/* bytes.c - vocabularies of joined bytes (tokenizer.ggml.model gpt2): each word (split.c) is written in
 * characters that stand for its bytes, and of all neighbours that the file's list of merges has, the one that
 * stands first there is joined, until there are none.  What is left are tokens. */
#include "examples/llama/vocab.h"
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

/* A word: piece i is s[start[i] .. start[i + 1]), and rank[i] that of it and the next; -1: none. */
typedef struct Word {
	char *s;
	int *start;
	int32_t *rank;
	int n;
} Word;

static void
write_bytes(Word *w, const char *text, int bytes)
{
	int at = 0;

	for (w->n = 0; w->n < bytes; w->n++) {
		uint32_t c = char_of((unsigned char)text[w->n]);

		w->start[w->n] = at;
		if (c >= 128)
			w->s[at++] = (char)(0xC0 | c >> 6);
		w->s[at++] = (char)(c < 128 ? c : 0x80 | (c & 0x3f));
	}
	w->start[w->n] = at;
}

static void
rank_pair(const Vocab *v, Word *w, int i)
{
	const int *start = w->start + i;

	if (i >= 0 && i + 1 < w->n)
		w->rank[i] = texts_find_pair(&v->merge, w->s + start[0], (size_t)(start[1] - start[0]),
		                             (size_t)(start[2] - start[0]));
}

static void
join(const Vocab *v, Word *w)
{
	for (int i = 0; i + 1 < w->n; i++)
		rank_pair(v, w, i);
	for (;;) {
		int best = -1, behind;

		for (int i = 0; i + 1 < w->n; i++)
			if (w->rank[i] >= 0 && (best < 0 || w->rank[i] < w->rank[best]))
				best = i;
		if (best < 0)
			return;
		behind = w->n - best - 1;
		memmove(w->start + best + 1, w->start + best + 2, sizeof *w->start * (size_t)behind);
		memmove(w->rank + best, w->rank + best + 1, sizeof *w->rank * (size_t)behind);
		w->n--;
		rank_pair(v, w, best - 1);
		rank_pair(v, w, best);
	}
}

static int
word_tokens(const Vocab *v, Word *w, int32_t *token, int room)
{
	int32_t t = texts_find(&v->token, w->s, (size_t)w->start[w->n]);
	int made = 0;

	if (v->split->whole && room > 0 && t >= 0 && !(v->type && v->type[t] == CONTROL)) {
		*token = t;
		return 1;
	}
	join(v, w);
	for (int i = 0; i < w->n && made < room; i++) {
		t = texts_find(&v->token, w->s + w->start[i], (size_t)(w->start[i + 1] - w->start[i]));
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
	Word w = { malloc(2 * bytes + 1), calloc(bytes + 1, sizeof *w.start),
		   calloc(bytes + 1, sizeof *w.rank), 0 };
	bool ok = c && w.s && w.start && w.rank;
	int n = 0, made = 0;

	for (const char *s = text; ok && *s; n++) {
		c[n].at = (int)(s - text);
		c[n].code = host_char(&s);
		c[n + 1].at = (int)(s - text);
	}
	for (int i = 0, end; ok && i < n; i = end) {
		end = split_word(v->split, c, n, i);
		write_bytes(&w, text + c[i].at, c[end].at - c[i].at);
		made += word_tokens(v, &w, token + made, room - made);
	}
	free(w.rank);
	free(w.start);
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
