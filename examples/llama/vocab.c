/* vocab.c - reads the vocabulary of a GGUF file, and converts text to tokens and back by its tokenizer
 * model. */
#include "examples/llama/vocab.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 1 << 16 };

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
take_texts(Reader *r, uint64_t type, Texts *t)
{
	int64_t n = take_list(r, type, 8);

	if (t->text)
		r->bad = true;
	else
		t->text = calloc((size_t)n + 1, sizeof *t->text);
	while (t->text && t->n < n && !r->bad)
		if ((t->text[t->n] = take_string(r)) != NULL)
			t->n++;
}

/* A word of it, up to n - 1 bytes of it, to `out`. */
static void
take_word(Reader *r, uint64_t type, char *out, size_t n)
{
	char *s = type == 8 ? take_string(r) : NULL;

	if (s)
		snprintf(out, n, "%s", s);
	else
		r->bad = true;
	free(s);
}

/* What is looked at when all is read. */
typedef struct Words {
	char model[60], pre[60];
	int64_t scores, types;
	const char *after; /* what asks for a token behind a text; NULL: nothing */
} Words;

static void
take_entry(Reader *r, Vocab *v, Words *w)
{
	static const char prefix[] = "tokenizer.ggml.";
	char *key = take_string(r);
	uint64_t type = take(r, 4);
	const char *k = key && strncmp(key, prefix, sizeof prefix - 1) == 0 ? key + sizeof prefix - 1 : "";

	if (strcmp(k, "tokens") == 0) {
		take_texts(r, type, &v->token);
	} else if (strcmp(k, "merges") == 0) {
		take_texts(r, type, &v->merge);
	} else if (strcmp(k, "scores") == 0 && !v->score) {
		v->score = take_numbers(r, type, 6, &w->scores);
	} else if (strcmp(k, "token_type") == 0 && !v->type) {
		v->type = take_numbers(r, type, 5, &w->types);
	} else if (strcmp(k, "model") == 0) {
		take_word(r, type, w->model, sizeof w->model);
	} else if (strcmp(k, "pre") == 0) {
		take_word(r, type, w->pre, sizeof w->pre);
	} else if (strcmp(k, "bos_token_id") == 0 && type == 4) {
		v->begin = (int64_t)take(r, 4);
	} else if (strcmp(k, "unknown_token_id") == 0 && type == 4) {
		v->unknown = (int64_t)take(r, 4);
	} else if (strcmp(k, "add_bos_token") == 0 && type == 7) {
		v->add_begin = take(r, 1) != 0;
	} else if (strcmp(k, "add_space_prefix") == 0 && type == 7) {
		v->add_blank = take(r, 1) != 0;
	} else if ((strcmp(k, "add_eos_token") == 0 || strcmp(k, "add_sep_token") == 0) && type == 7) {
		if (take(r, 1))
			w->after = k[4] == 'e' ? "add_eos_token" : "add_sep_token";
	} else {
		skip(r, type);
	}
	free(key);
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* FNV-1a, of h and what comes behind it. */
static uint32_t
hash(uint32_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

int32_t
texts_find(const Texts *t, const char *s, size_t n)
{
	for (uint32_t h = hash(2166136261u, s, n);; h++) {
		int32_t at = t->slot[h & t->mask];

		if (at < 0 || (strncmp(t->text[at], s, n) == 0 && !t->text[at][n]))
			return at;
	}
}

int32_t
texts_find_pair(const Texts *t, const char *s, size_t middle, size_t n)
{
	uint32_t h = hash(hash(hash(2166136261u, s, middle), " ", 1), s + middle, n - middle);

	for (;; h++) {
		int32_t at = t->slot[h & t->mask];
		const char *text = at < 0 ? NULL : t->text[at];

		if (!text || (strncmp(text, s, middle) == 0 && text[middle] == ' ' &&
		              strncmp(text + middle + 1, s + middle, n - middle) == 0 && !text[n + 1]))
			return at;
	}
}

static bool
index_texts(Texts *t)
{
	uint32_t size = 16;

	while (size < 2 * (uint64_t)t->n)
		size *= 2;
	t->mask = size - 1;
	t->slot = malloc(size * sizeof *t->slot);
	if (!t->slot)
		return false;
	memset(t->slot, -1, size * sizeof *t->slot);
	for (int64_t i = 0; i < t->n; i++) {
		uint32_t h = hash(2166136261u, t->text[i], strlen(t->text[i]));

		while (t->slot[h & t->mask] >= 0)
			h++;
		t->slot[h & t->mask] = (int32_t)i;
	}
	return true;
}

static void
free_texts(Texts *t)
{
	while (t->n--)
		free(t->text[t->n]);
	free(t->text);
	free(t->slot);
}

/* ---- the vocabulary -------------------------------------------------------------------------------- */

/* Of which model it is. */
static bool
take_model(Vocab *v, const Words *w, const char *path, char *why)
{
	if (strcmp(w->model, "llama") == 0)
		return v->score || host_fail(why, path, "its vocabulary has no scores: convert it anew");
	if (strcmp(w->model, "gpt2"))
		return host_fail(why, path, "its vocabulary is one of %s (tokenizer.ggml.model), and texts "
		                 "are cut for llama and gpt2: give --tokens",
		                 *w->model ? w->model : "nothing");
	if (!v->merge.text)
		return host_fail(why, path, "its vocabulary has no merges: convert it anew");
	v->split = split_find(w->pre);
	if (v->split)
		return true;
	return host_fail(why, path, "its texts are cut into words as %s does (tokenizer.ggml.pre), which "
	                 "is not known: give --tokens", *w->pre ? w->pre : "nothing");
}

static bool
read_vocab(Vocab *v, const char *path, char *why)
{
	Reader r = { fopen(path, "rb"), false };
	Words w = { .scores = 0 };
	uint64_t entries;

	if (!r.f)
		return host_fail(why, path, "the file cannot be read: give one that is there");
	r.bad = take(&r, 4) != 0x46554747; /* GGUF */
	take(&r, 4);
	take(&r, 8);
	entries = take(&r, 8);
	for (uint64_t i = 0; i < entries && !r.bad; i++)
		take_entry(&r, v, &w);
	fclose(r.f);
	if (r.bad)
		return host_fail(why, path, "its vocabulary is damaged: give --tokens, or convert it anew");
	if (!v->token.n || (v->score && w.scores != v->token.n) || (v->type && w.types != v->token.n))
		return host_fail(why, path, "it has no vocabulary (tokenizer.ggml.tokens): give --tokens");
	if (w.after)
		return host_fail(why, path, "its texts end with a token (tokenizer.ggml.%s), which is not "
					    "put "
		                 "here: give --tokens", w.after);
	if (!take_model(v, &w, path, why))
		return false;
	if (v->begin >= v->token.n || v->unknown >= v->token.n)
		return host_fail(why, path, "its first or unknown token is none: convert it anew");
	return (index_texts(&v->token) && index_texts(&v->merge)) || host_fail(why, path, "out of memory");
}

Vocab *
vocab_open(const char *path, char *why)
{
	Vocab *v = calloc(1, sizeof *v);

	if (!v) {
		host_fail(why, path, "out of memory");
		return NULL;
	}
	v->begin = v->unknown = v->add_begin = -1;
	v->add_blank = true;
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
	free_texts(&v->token);
	free_texts(&v->merge);
	free(v->score);
	free(v->type);
	free(v);
}

/* ---- text to tokens, and back ------------------------------------------------------------------------ */

int
vocab_tokens(const Vocab *v, const char *text, int32_t *token, int room, char *why)
{
	bool begin = v->add_begin < 0 ? !v->split || v->split->begin : v->add_begin > 0;
	int first = begin && v->begin >= 0 && room > 0, made;

	if (first)
		*token = (int32_t)v->begin;
	made = (v->split ? bytes_tokens : pieces_tokens)(v, text, token + first, room - first);
	if (made < 0)
		host_fail(why, "--text", "out of memory");
	return made < 0 ? -1 : first + made;
}

int
vocab_bytes(const Vocab *v, int32_t token, char *out, int room)
{
	if (token < 0 || token >= v->token.n || (v->type && v->type[token] == CONTROL))
		return 0;
	return (v->split ? bytes_bytes : pieces_bytes)(v, token, out, room);
}
