/* words.c - tokenizes text by WordPiece: lower-case words without accents, each split into the longest known
 * pieces. */
#include "examples/engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 400, WORD_PIECES = 100 };

struct Vocab {
	char *text;    /* of the file, lines ended by NUL */
	char **piece;  /* of each token */
	int32_t n;
	int32_t *slot; /* hash table of tokens; -1: free */
	uint32_t mask;
	int32_t cls, sep, unk;
};

static uint32_t
hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static int32_t
find(const Vocab *v, const char *s, size_t n)
{
	for (uint32_t h = hash(s, n);; h++) {
		int32_t at = v->slot[h & v->mask];

		if (at < 0 || (strncmp(v->piece[at], s, n) == 0 && !v->piece[at][n]))
			return at;
	}
}

/* ---- the vocabulary ---------------------------------------------------------------------------- */

static char *
read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	long n;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
	    (text = calloc(1, (size_t)n + 2)) != NULL && fread(text, 1, (size_t)n, f) != (size_t)n) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static bool
fill(Vocab *v)
{
	uint32_t size = 16;
	int32_t lines = 1;

	for (const char *s = v->text; *s; s++)
		lines += *s == '\n';
	while (size < 2 * (uint32_t)lines)
		size *= 2;
	v->mask = size - 1;
	v->piece = calloc((size_t)lines, sizeof *v->piece);
	v->slot = malloc(size * sizeof *v->slot);
	if (!v->piece || !v->slot)
		return false;
	memset(v->slot, -1, size * sizeof *v->slot);
	for (char *s = v->text; *s; v->n++) {
		size_t n = strcspn(s, "\r\n");
		uint32_t h = hash(s, n);
		char *next = s + n + strspn(s + n, "\r");

		next += *next == '\n';
		s[n] = 0;
		v->piece[v->n] = s;
		while (v->slot[h & v->mask] >= 0)
			h++;
		v->slot[h & v->mask] = v->n;
		s = next;
	}
	v->cls = find(v, "[CLS]", 5);
	v->sep = find(v, "[SEP]", 5);
	v->unk = find(v, "[UNK]", 5);
	return v->cls >= 0 && v->sep >= 0 && v->unk >= 0;
}

Vocab *
vocab_open(const char *path)
{
	Vocab *v = calloc(1, sizeof *v);

	if (v && (v->text = read_text(path)) != NULL && fill(v))
		return v;
	vocab_close(v);
	return NULL;
}

void
vocab_close(Vocab *v)
{
	if (!v)
		return;
	free(v->slot);
	free(v->piece);
	free(v->text);
	free(v);
}

/* ---- characters --------------------------------------------------------------------------------- */

static int
put_char(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xC0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xE0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xF0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* In lower case, without its accent, for the letters of Latin-1, Latin Extended-A, Greek and Cyrillic that
 * have one (Unicode's canonical decompositions). */
static uint32_t
plain(uint32_t c)
{
	static const char latin[] = "aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0\0"
	                            "aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0y"
	                            "aaaaaaccccccccdd\0\0eeeeeeeeeegggggggghh\0\0iiiiiiiii\0\0\0jjkk\0"
	                            "llllll\0\0\0\0nnnnnn\0\0\0oooooo\0\0rrrrrrsssssssstttt\0\0"
	                            "uuuuuuuuuuuuwwyyyzzzzzz";
	static const uint16_t pair[][2] = {
		{ 0x386, 0x3B1 }, { 0x388, 0x3B5 }, { 0x389, 0x3B7 }, { 0x38A, 0x3B9 }, { 0x38C, 0x3BF },
		{ 0x38E, 0x3C5 }, { 0x38F, 0x3C9 }, { 0x390, 0x3B9 }, { 0x3AA, 0x3B9 }, { 0x3AB, 0x3C5 },
		{ 0x3AC, 0x3B1 }, { 0x3AD, 0x3B5 }, { 0x3AE, 0x3B7 }, { 0x3AF, 0x3B9 }, { 0x3B0, 0x3C5 },
		{ 0x3CA, 0x3B9 }, { 0x3CB, 0x3C5 }, { 0x3CC, 0x3BF }, { 0x3CD, 0x3C5 }, { 0x3CE, 0x3C9 },
		{ 0x401, 0x435 }, { 0x419, 0x438 }, { 0x439, 0x438 }, { 0x451, 0x435 },
		/* no accents, but capitals */
		{ 0x110, 0x111 }, { 0x126, 0x127 }, { 0x132, 0x133 }, { 0x13F, 0x140 }, { 0x141, 0x142 },
		{ 0x14A, 0x14B }, { 0x152, 0x153 }, { 0x166, 0x167 },
	};

	for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
		if (pair[i][0] == c)
			return pair[i][1];
	if (c >= 0xC0 && c < 0xC0 + sizeof latin - 1 && latin[c - 0xC0])
		return (unsigned char)latin[c - 0xC0];
	if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
	    (c >= 0x410 && c <= 0x42F))
		return c + 32;
	return c >= 0x400 && c <= 0x40F ? c + 80 : c;
}

static bool
is_blank(uint32_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xA0 || (c >= 0x2000 && c <= 0x200A) ||
	       c == 0x202F || c == 0x3000;
}

/* A word by itself: punctuation, and ideographs. */
static bool
stands_alone(uint32_t c)
{
	return (c > 32 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 127) ||
	       c == 0xA1 || c == 0xA7 || c == 0xAB || c == 0xB6 || c == 0xB7 || c == 0xBB || c == 0xBF ||
	       (c >= 0x2010 && c <= 0x2027) || (c >= 0x2030 && c <= 0x205E) || (c >= 0x3001 && c <= 0x3003) ||
	       (c >= 0x3008 && c <= 0x3011) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
	       (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2FA1F);
}

static bool
is_dropped(uint32_t c)
{
	return c < 32 || c == 127 || c == 0xAD || c == 0xFFFD || (c >= 0x300 && c <= 0x36F) ||
	       (c >= 0x200B && c <= 0x200F);
}

/* ---- words -------------------------------------------------------------------------------------- */

typedef struct Taker {
	const Vocab *v;
	char word[WORD + 8]; /* in front of it room for ## */
	int n, chars;
	int32_t *token;
	int at, room;
} Taker;

static void
put(Taker *t, int32_t token)
{
	if (t->at < t->room)
		t->token[t->at++] = token;
}

/* The longest piece first, then of what is left, each behind ##; a word that cannot be cut is unknown. */
static void
end_word(Taker *t)
{
	int32_t piece[WORD];
	int pieces = 0, from = 0;
	bool known = t->chars <= WORD_PIECES;

	while (known && from < t->n) {
		char buf[WORD + 8];
		int prefix = from ? 2 : 0, end = t->n;
		int32_t found = -1;

		memcpy(buf, "##", 2);
		memcpy(buf + prefix, t->word + from, (size_t)(t->n - from));
		for (; end > from && found < 0; end--)
			found = find(t->v, buf, (size_t)(prefix + end - from));
		known = found >= 0;
		piece[pieces++] = found;
		from = end + 1;
	}
	for (int i = 0; known && i < pieces; i++)
		put(t, piece[i]);
	if (!known && t->n)
		put(t, t->v->unk);
	t->n = t->chars = 0;
}

int
vocab_tokens(const Vocab *v, const char *sentence, int32_t *token, int room)
{
	Taker t = { .v = v, .token = token, .room = room - 1 };

	put(&t, v->cls);
	for (const char *s = sentence; *s;) {
		uint32_t c = host_char(&s);

		if (is_blank(c) || stands_alone(c))
			end_word(&t);
		if (is_blank(c) || is_dropped(c))
			continue;
		if (t.n < WORD)
			t.n += put_char(t.word + t.n, plain(c));
		t.chars++;
		if (stands_alone(c))
			end_word(&t);
	}
	end_word(&t);
	t.room = room;
	put(&t, v->sep);
	return t.at;
}
