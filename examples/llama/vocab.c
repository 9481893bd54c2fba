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

/* A whole number of any type that holds one; INT64_MAX if it is below 0, as no token is. */
static int64_t
take_whole(Reader *r, uint64_t type)
{
	bool is_signed = type == 1 || type == 3 || type == 5 || type == 11;
	int bytes = type == 6 || type == 7 || type == 12 ? 0 : size_of(type);
	uint64_t x = take(r, bytes);

	r->bad = r->bad || !bytes;
	return x >> (8 * (bytes ? bytes : 1) - 1) && (is_signed || bytes == 8) ? INT64_MAX : (int64_t)x;
}

static bool
take_bool(Reader *r, uint64_t type)
{
	r->bad = r->bad || type != 7;
	return take(r, 1) != 0;
}

/* What is looked at when all is read. */
typedef struct Words {
	char model[60], pre[60];
	int64_t scores, types;
	const char *after; /* what asks for a token behind a text; NULL: nothing */
	char key[100];     /* the first key that is not known, or asks for what is not done; "": none */
	const char *asks;  /* what such a key says */
	int blank;         /* add_space_prefix; -1: the file does not say */
} Words;

/* What a key may hold; those that are read here come first. */
typedef enum Use { USE_READ, USE_ANY, USE_OFF, USE_EMPTY, USE_UNKNOWN } Use;

static Use
use_of(const char *key)
{
	static const struct {
		const char *name;
		Use use;
	} keys[] = {
#define READ(name) { name, USE_READ },
#define ANY(name) { name, USE_ANY },
#define OFF(name) { name, USE_OFF },
#define EMPTY(name) { name, USE_EMPTY },
#include "examples/llama/tokenizer.def"
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].use;
	return strncmp(key, "chat_template.", 14) == 0 ? USE_ANY : USE_UNKNOWN;
}

/* A key that is not read: what it asks for. */
static void
take_other(Reader *r, Words *w, const char *key, uint64_t type)
{
	Use use = use_of(key);
	const char *asks = NULL;

	if (use == USE_OFF) {
		asks = take_bool(r, type) ? "true asks for what is not done here" : NULL;
	} else if (use == USE_EMPTY) {
		uint64_t of = take(r, type == 9 ? 4 : 0), n = take(r, type == 9 ? 8 : 0);

		asks = n ? "its list asks for what is not done here" : NULL;
		r->bad = r->bad || type != 9;
		for (uint64_t i = 0; i < n && !r->bad; i++)
			skip(r, of);
	} else {
		asks = use == USE_UNKNOWN ? "this key is not known here, and may change the tokens "
		                            "of a text" : NULL;
		skip(r, type);
	}
	if (asks && !w->asks) {
		w->asks = asks;
		snprintf(w->key, sizeof w->key, "tokenizer.%.80s", key);
	}
}

static void
take_entry(Reader *r, Vocab *v, Words *w)
{
	static const char prefix[] = "tokenizer.";
	char *key = take_string(r);
	uint64_t type = take(r, 4);
	bool ours = key && strncmp(key, prefix, sizeof prefix - 1) == 0;
	const char *of = ours ? key + sizeof prefix - 1 : "", *k = strncmp(of, "ggml.", 5) == 0 ? of + 5 : "";

	if (!ours) {
		skip(r, type);
	} else if (strcmp(k, "tokens") == 0) {
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
	} else if (strcmp(k, "bos_token_id") == 0) {
		v->begin = take_whole(r, type);
	} else if (strcmp(k, "unknown_token_id") == 0) {
		v->unknown = take_whole(r, type);
	} else if (strcmp(k, "add_bos_token") == 0) {
		v->add_begin = take_bool(r, type);
	} else if (strcmp(k, "add_space_prefix") == 0) {
		w->blank = take_bool(r, type);
	} else if (strcmp(k, "add_eos_token") == 0 || strcmp(k, "add_sep_token") == 0) {
		if (take_bool(r, type))
			w->after = k[4] == 'e' ? "add_eos_token" : "add_sep_token";
	} else {
		take_other(r, w, of, type);
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
	v->add_blank = w->blank != 0;
	if (strcmp(w->model, "llama") == 0) { /* tokens that SentencePiece has where the file does not say */
		v->unknown = v->unknown < 0 ? 0 : v->unknown;
		v->begin = v->begin < 0 ? 1 : v->begin;
		return v->score || host_fail(why, path, "its vocabulary has no scores: convert it anew");
	}
	if (strcmp(w->model, "gpt2"))
		return host_fail(why, path, "its vocabulary is one of %s (tokenizer.ggml.model), and texts "
		                 "are cut for llama and gpt2: give --tokens",
		                 *w->model ? w->model : "nothing");
	if (!v->merge.text)
		return host_fail(why, path, "its vocabulary has no merges: convert it anew");
	v->split = split_find(w->pre);
	if (v->split && w->blank > 0)
		return host_fail(why, "tokenizer.ggml.add_space_prefix", "no blank is put before "
		                                                         "joined bytes here: "
		                 "give --tokens");
	if (v->split && v->begin < 0 && (v->add_begin < 0 ? v->split->begin : v->add_begin > 0))
		return host_fail(why, "tokenizer.ggml.bos_token_id", "the file lacks it, and its "
		                                                     "texts begin with "
		                 "that token: give --tokens, or convert it anew");
	if (v->split)
		return true;
	return host_fail(why, path, "its texts are cut into words as %s does (tokenizer.ggml.pre), which "
	                 "is not known: give --tokens", *w->pre ? w->pre : "nothing");
}

/* Collects the tokens that are cut out of texts first. */
static bool
list_added(Vocab *v)
{
	v->add = calloc((size_t)v->token.n + 1, sizeof *v->add);
	for (int64_t i = 0; v->add && v->type && i < v->token.n; i++)
		if (v->type[i] == USER)
			v->add[v->added++] = (int32_t)i;
	return v->add != NULL;
}

static bool
read_vocab(Vocab *v, const char *path, char *why)
{
	Reader r = { fopen(path, "rb"), false };
	Words w = { .blank = -1 };
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
	for (int64_t i = 0; v->type && i < v->token.n; i++)
		if (v->type[i] < NORMAL || v->type[i] > BYTE)
			return host_fail(why, "tokenizer.ggml.token_type", "%d, of token %lld, is "
			                                                   "not 1 to 6: give "
			                 "--tokens, or convert it anew", (int)v->type[i], (long long)i);
	for (int64_t i = 0; !v->split && i < v->token.n; i++)
		if (!(v->score[i] <= 0 || v->score[i] > 0))
			return host_fail(why, "tokenizer.ggml.scores", "that of token %lld is no "
			                                               "number: convert it "
			                 "anew", (long long)i);
	if (w.asks)
		return host_fail(why, w.key, "%s: give --tokens", w.asks);
	return (index_texts(&v->token) && index_texts(&v->merge) && list_added(v)) ||
	       host_fail(why, path, "out of memory");
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
	free(v->add);
	free(v);
}

int32_t
vocab_added(const Vocab *v, const char *text)
{
	int32_t best = -1;
	size_t most = 0;

	for (int64_t i = 0; i < v->added; i++) {
		const char *s = v->token.text[v->add[i]];
		size_t n = strlen(s);

		if (n > most && strncmp(text, s, n) == 0) {
			best = v->add[i];
			most = n;
		}
	}
	return best;
}

/* ---- text to tokens, and back ------------------------------------------------------------------------ */

int
vocab_tokens(const Vocab *v, const char *text, int32_t *token, int room, char *why)
{
	bool begin = v->add_begin < 0 ? !v->split || v->split->begin : v->add_begin > 0;
	int first = begin && v->begin >= 0 && room > 0, made;
	int32_t added = -1;

	for (const char *s = v->split ? "" : text; *s && added < 0; s++)
		added = vocab_added(v, s);
	if (added >= 0) {
		host_fail(why, "--text", "%.60s is a token by itself (tokenizer.ggml.token_type), "
		                         "and how texts go "
		          "on after it is not known of SentencePiece here: give "
		          "--tokens", v->token.text[added]);
		return -1;
	}

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
