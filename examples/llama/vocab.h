/* vocab.h - internal declarations of a vocabulary: its data from a GGUF file, and its tokenizer. */
#ifndef HEXC_LLAMA_VOCAB_H
#define HEXC_LLAMA_VOCAB_H
#include "examples/llama/llama.h"

/* What tokenizer.ggml.token_type says. */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };

/* Texts by number, and numbers by text. */
typedef struct Texts {
	char **text;
	int64_t n;
	int32_t *slot; /* hash table; -1: free */
	uint32_t mask;
} Texts;

/* How a text is cut into words before bytes are joined, in each by itself. */
typedef struct Split {
	const char *name; /* as tokenizer.ggml.pre has it */
	bool late;    /* as models do since Llama 3, not as GPT-2 */
	int digits;   /* of a number, at most; 0: any */
	bool whole;   /* a word that is a token is that one, however its bytes are joined */
	bool begin;   /* the first token stands in front, where the file does not say it */
} Split;

struct Vocab {
	Texts token;
	float *score;  /* NULL: the file has none */
	int32_t *type; /* NULL: the file does not say */
	Texts merge;   /* "LEFT RIGHT", the first ones first; bytes only */
	const Split *split; /* NULL: it is of SentencePiece */
	int64_t begin, unknown; /* tokens; -1: none */
	int add_begin; /* -1: the file does not say */
	bool add_blank;
	int32_t *add; /* tokens of type USER */
	int64_t added;
};

/* ---- vocab.c */

/* The number of s[0..n); -1: none. */
int32_t texts_find(const Texts *t, const char *s, size_t n);
/* The number of s[0..middle) and s[middle..n), with a blank between them; -1: none. */
int32_t texts_find_pair(const Texts *t, const char *s, size_t middle, size_t n);

/* The longest token of type USER that the text begins with; -1: none. */
int32_t vocab_added(const Vocab *v, const char *text);

/* ---- pieces.c: SentencePiece.  bytes.c: joined bytes.  As vocab_tokens and vocab_bytes, without what stands
 *      in front, and of tokens that are text. */

int pieces_tokens(const Vocab *v, const char *text, int32_t *token, int room);
int pieces_bytes(const Vocab *v, int32_t token, char *out, int room);
int bytes_tokens(const Vocab *v, const char *text, int32_t *token, int room);
int bytes_bytes(const Vocab *v, int32_t token, char *out, int room);

/* ---- split.c */

typedef struct Char {
	uint32_t code; /* 0xFFFD for a byte that is no UTF-8 */
	int at;        /* its first byte */
} Char;

/* NULL: no such way is known. */
const Split *split_find(const char *name);
/* Where the word that begins with character i of n ends. */
int split_word(const Split *s, const Char *c, int n, int i);
#endif
