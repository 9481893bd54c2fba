/* words.c - the vocabulary of a GGUF file: text to tokens, and back.
 *
 * SentencePiece ("llama"): a text is cut into characters, blanks being U+2581, and of all neighbours that
 * make a token together those with the highest score are joined, until there are none; what then is no token
 * is written in tokens of bytes.  Other vocabularies (of bytes, "gpt2") are refused. */
#include "examples/llama/llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROL = 3, BYTE = 6, PIECE_MAX = 1 << 16 };

struct Vocab {
	bool pieces; /* of SentencePiece */
	char **text; /* of each token */
	float *score;
	int32_t *type; /* NULL: the file does not say */
	int64_t n;
	int32_t *slot; /* hash table of tokens; -1: free */
	uint32_t mask;
	int64_t begin, unknown; /* tokens; -1: none */
	bool add_begin, add_blank;
};

/* ---- the file: its metadata has them as lists ------------------------------------------------------ */

typedef struct Reader {
	FILE *f;
	bool bad;
} Reader;

static uint64_t
take(Reader *r, int bytes)
{
	unsigned char b[8];
	uint64_t x = 0;

	if (r->bad || fread(b, 1, (size_t)bytes, r->f) != (size_t)bytes) {
		r->bad = true;
		return 0;
	}
	for (int i = bytes; i--;)
		x = x << 8 | b[i];
	return x;
}

/* A string, to be freed; NULL: there is none. */
static char *
take_string(Reader *r)
{
	uint64_t n = take(r, 8);
	char *s = r->bad || n > PIECE_MAX ? NULL : calloc(1, n + 1);

	if (s && fread(s, 1, n, r->f) == n)
		return s;
	free(s);
	r->bad = true;
	return NULL;
}

static int
size_of(uint64_t type)
{
	static const char size[13] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return type < sizeof size ? size[type] : 0;
}

/* Over a value of a type; lists of lists are in no file. */
static void
skip(Reader *r, uint64_t type)
{
	uint64_t n = 1, of = type;

	if (type == 9) {
		of = take(r, 4);
		n = take(r, 8);
	}
	if (size_of(of) && n < (uint64_t)1 << 40)
		r->bad = r->bad || fseek(r->f, (long)(n * (uint64_t)size_of(of)), SEEK_CUR);
	else if (of == 8)
		for (uint64_t i = 0; i < n && !r->bad; i++) {
			uint64_t bytes = take(r, 8);

			r->bad = r->bad || bytes > INT32_MAX || fseek(r->f, (long)bytes, SEEK_CUR);
		}
	else
		r->bad = true;
}

/* How many a list of such values has; 0: it is none. */
static int64_t
take_list(Reader *r, uint64_t type, uint64_t of)
{
	uint64_t have = take(r, type == 9 ? 4 : 0), n = type == 9 ? take(r, 8) : 0;

	r->bad = r->bad || type != 9 || have != of || n > 1 << 26;
	return r->bad ? 0 : (int64_t)n;
}

/* 4-byte numbers, to be freed. */
static void *
take_numbers(Reader *r, uint64_t type, uint64_t of, int64_t *n)
{
	uint32_t *x;

	*n = take_list(r, type, of);
	x = calloc((size_t)*n + 1, sizeof *x);
	for (int64_t i = 0; x && i < *n && !r->bad; i++)
		x[i] = (uint32_t)take(r, 4);
	return x;
}

static void
take_texts(Reader *r, uint64_t type, Vocab *v)
{
	int64_t n = take_list(r, type, 8);

	if (v->text)
		r->bad = true;
	else
		v->text = calloc((size_t)n + 1, sizeof *v->text);
	while (v->text && v->n < n && !r->bad)
		if ((v->text[v->n] = take_string(r)) != NULL)
			v->n++;
}

typedef struct Counts {
	int64_t scores, types;
} Counts;

static void
take_entry(Reader *r, Vocab *v, Counts *c)
{
	static const char prefix[] = "tokenizer.ggml.";
	char *key = take_string(r);
	uint64_t type = take(r, 4);
	const char *k = key && strncmp(key, prefix, sizeof prefix - 1) == 0 ? key + sizeof prefix - 1 : "";

	if (strcmp(k, "tokens") == 0) {
		take_texts(r, type, v);
	} else if (strcmp(k, "scores") == 0 && !v->score) {
		v->score = take_numbers(r, type, 6, &c->scores);
	} else if (strcmp(k, "token_type") == 0 && !v->type) {
		v->type = take_numbers(r, type, 5, &c->types);
	} else if (strcmp(k, "model") == 0 && type == 8) {
		char *model = take_string(r);

		v->pieces = model && strcmp(model, "llama") == 0;
		free(model);
	} else if (strcmp(k, "bos_token_id") == 0 && type == 4) {
		v->begin = (int64_t)take(r, 4);
	} else if (strcmp(k, "unknown_token_id") == 0 && type == 4) {
		v->unknown = (int64_t)take(r, 4);
	} else if (strcmp(k, "add_bos_token") == 0 && type == 7) {
		v->add_begin = take(r, 1) != 0;
	} else if (strcmp(k, "add_space_prefix") == 0 && type == 7) {
		v->add_blank = take(r, 1) != 0;
	} else {
		skip(r, type);
	}
	free(key);
}

/* ---- the vocabulary -------------------------------------------------------------------------------- */

static uint32_t
hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

/* The token of n bytes; -1: none. */
static int32_t
find(const Vocab *v, const char *s, size_t n)
{
	for (uint32_t h = hash(s, n);; h++) {
		int32_t at = v->slot[h & v->mask];

		if (at < 0 || (strncmp(v->text[at], s, n) == 0 && !v->text[at][n]))
			return at;
	}
}

static bool
index_texts(Vocab *v)
{
	uint32_t size = 16;

	while (size < 2 * (uint64_t)v->n)
		size *= 2;
	v->mask = size - 1;
	v->slot = malloc(size * sizeof *v->slot);
	if (!v->slot)
		return false;
	memset(v->slot, -1, size * sizeof *v->slot);
	for (int64_t i = 0; i < v->n; i++) {
		uint32_t h = hash(v->text[i], strlen(v->text[i]));

		while (v->slot[h & v->mask] >= 0)
			h++;
		v->slot[h & v->mask] = (int32_t)i;
	}
	return true;
}

static bool
read_vocab(Vocab *v, const char *path, char *why)
{
	Reader r = { fopen(path, "rb"), false };
	Counts c = { 0, 0 };
	uint64_t entries;

	if (!r.f)
		return host_fail(why, path, "the file cannot be read: give one that is there");
	r.bad = take(&r, 4) != 0x46554747; /* GGUF */
	take(&r, 4);
	take(&r, 8);
	entries = take(&r, 8);
	for (uint64_t i = 0; i < entries && !r.bad; i++)
		take_entry(&r, v, &c);
	fclose(r.f);
	if (r.bad)
		return host_fail(why, path, "its vocabulary is damaged: give --tokens, or convert it anew");
	if (!v->text || !v->n || (v->score && c.scores != v->n) || (v->type && c.types != v->n))
		return host_fail(why, path, "it has no vocabulary (tokenizer.ggml.tokens): give --tokens");
	if (!v->pieces || !v->score)
		return host_fail(why, path, "its vocabulary is not SentencePiece's (tokenizer.ggml.model "
		                 "llama), whose texts alone are cut here: give --tokens");
	if (v->begin >= v->n || v->unknown >= v->n)
		return host_fail(why, path, "its first or unknown token is none: convert it anew");
	return index_texts(v) || host_fail(why, path, "out of memory");
}

Vocab *
vocab_open(const char *path, char *why)
{
	Vocab *v = calloc(1, sizeof *v);

	if (!v) {
		host_fail(why, path, "out of memory");
		return NULL;
	}
	v->begin = v->unknown = -1;
	v->add_begin = v->add_blank = true;
	if (read_vocab(v, path, why))
		return v;
	vocab_close(v);
	return NULL;
}

void
vocab_close(Vocab *v)
{
	if (!v)
		return;
	while (v->n--)
		free(v->text[v->n]);
	free(v->text);
	free(v->score);
	free(v->type);
	free(v->slot);
	free(v);
}

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

/* Join neighbours, piece i being s[start[i] .. start[i + 1]), until none make a token; how many are left. */
static int
join_pieces(const Vocab *v, const char *s, int *start, int n)
{
	for (;;) {
		int best = -1;
		float score = 0;

		for (int i = 0; i + 1 < n; i++) {
			int32_t t = find(v, s + start[i], (size_t)(start[i + 2] - start[i]));

			if (t >= 0 && (best < 0 || v->score[t] > score)) {
				best = i;
				score = v->score[t];
			}
		}
		if (best < 0)
			return n;
		memmove(start + best + 1, start + best + 2, sizeof *start * (size_t)(n - best - 1));
		n--;
	}
}

/* The tokens of a piece: it, or its bytes, or that of what is unknown. */
static int
put_piece(const Vocab *v, const char *s, int n, int32_t *token, int room)
{
	int32_t t = find(v, s, (size_t)n);
	int made = 0;

	if (t >= 0 && room > 0) {
		*token = t;
		return 1;
	}
	for (int i = 0; i < n && made < room; i++) {
		char name[8];

		snprintf(name, sizeof name, "<0x%02X>", (unsigned)(unsigned char)s[i]);
		t = find(v, name, 6);
		t = t < 0 ? (int32_t)v->unknown : t;
		if (t >= 0)
			token[made++] = t;
	}
	return made;
}

int
vocab_tokens(const Vocab *v, const char *text, int32_t *token, int room, char *why)
{
	int made = 0, n = 0, bytes;
	char *s;
	int *start;

	s = with_blanks(v, text);
	bytes = s ? (int)strlen(s) : 0;
	start = calloc((size_t)bytes + 1, sizeof *start);
	if (s && start) {
		for (int i = 0; i < bytes; i += char_bytes(s + i))
			start[n++] = i;
		start[n] = bytes;
		n = join_pieces(v, s, start, n);
		if (v->add_begin && v->begin >= 0 && room > 0)
			token[made++] = (int32_t)v->begin;
		for (int i = 0; i < n; i++)
			made += put_piece(v, s + start[i], start[i + 1] - start[i], token + made,
			                  room - made);
	} else {
		host_fail(why, "--text", "out of memory");
		made = -1;
	}
	free(start);
	free(s);
	return made;
}

/* ---- and back -------------------------------------------------------------------------------------- */

int
vocab_bytes(const Vocab *v, int32_t token, char *out, int room)
{
	const char *s = token >= 0 && token < v->n ? v->text[token] : "";
	unsigned byte;
	int n = 0;

	if (v->type && token >= 0 && token < v->n && v->type[token] == CONTROL)
		return 0;
	if (v->type && *s && v->type[token] == BYTE && sscanf(s, "<0x%2x>", &byte) == 1 && room > 0) {
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
