/* llama.h - internal declarations of llama: a decoder of the Llama architecture on hexc's operators.
 *
 *	text -> vocab.c -> tokens -> decoder.c (model.c, llama_layers.c) -> logits -> a token/sequence -> ..
 */
#ifndef HEXC_LLAMA_H
#define HEXC_LLAMA_H
#include "examples/host/host.h"

enum { WHY = HOST_WHY, SEQUENCES = 16, TEXT = 4000 };

/* ---- model.c: what a GGUF file holds, on the device */

typedef struct Shape {
	int64_t layers, hidden, inner, heads, groups, width, vocab, turned, context;
	double eps, base, stretch; /* of norms; of rotary angles, and what positions are divided by */
	int64_t eos;               /* -1: there is none */
} Shape;

/* What comes behind a product: nothing, silu(x) * up, or nothing and f32. */
typedef enum Kind { PLAIN, GATE, LOGITS } Kind;

/* A weight, and the call of its operator, which all weights of the operator take turns in. */
typedef struct Product {
	hexc_linear *linear;
	hexc_family_call *call;
	Kind kind;
	const char *type; /* as the file spells it */
	bool first; /* of its operator: the call is its own */
} Product;

typedef struct Layer {
	Product *q, *k, *v, *o, *gate, *up, *down;
	void *attention_norm, *inner_norm; /* f32[hidden] */
	void *keys, *values;               /* [pages, page, groups, width] of the cache's type */
	void *key_scales, *value_scales;   /* f32[pages, page, groups]; NULL: there are none */
} Layer;

typedef struct Model {
	hexc_gpu *gpu;
	hexc_file *file;
	hexc_cache *cache;
	const char *act;
	Shape shape;
	Layer *layer;
	Product *product;
	int nproduct;
	Product *output;
	void *embedding, *norm; /* act[vocab, hidden]; f32[hidden] */
	float *slower;          /* what the frequency of each rotary pair is divided by; NULL: 1 */
	uint64_t weight_bytes;  /* that a token reads of them */
	char why[WHY];
} Model;

/* What the file says of itself.  False: m->why. */
bool model_open(Model *m, const char *path);
/* Its tensors, to the device.  Behind model_open, with gpu, cache and act set.  False: m->why. */
bool model_load(Model *m);
void model_close(Model *m);

/* ---- keys.c, keys.def */

/* Are all keys of the architecture known, with values that the layers compute?  False: why. */
bool keys_known(const hexc_file *f, char *why);

/* ---- decoder.c: sequences, pages of their keys and values, a run through the layers */

typedef struct Decoder Decoder;

typedef struct DecoderOpts {
	HostOpts host;
	hexc_cache *cache;   /* that host.cache names */
	const char *act;     /* "f16" or "bf16", of which activations are */
	const char *kv;      /* of the cache: as act (NULL), or "i8" or "e4m3", heads with scales */
	bool graphs;         /* steps of a token a sequence are captured, and launched as one */
	int64_t chunk, page; /* tokens of a prompt that run at once; tokens of a page */
	bool all;            /* logits of each token of a prompt, not of its last one only */
	double temperature, top_p; /* temperature 0: the most likely token */
	int64_t top_k;       /* of which one is drawn; 0: of all */
	int64_t sequences, room; /* how many there are at once, and their longest */
} DecoderOpts;

/* NULL: why[0..WHY) has the sentence. */
Decoder *decoder_open(const char *path, const DecoderOpts *o, char *why);
void decoder_close(Decoder *d);
const char *decoder_why(const Decoder *d);
Shape decoder_shape(const Decoder *d);
/* Append `each` tokens to each of n sequences: token[n, each] (more than one of one sequence only), and
 * compute the logits of the last `want` of them all.  False: decoder_why. */
bool decoder_run(Decoder *d, const int *sequence, int n, const int32_t *token, int64_t each, int64_t want);
/* Of the last run: its logits[want, vocab]; a token for each, by a number u[want] of [0, 1). */
bool decoder_logits(Decoder *d, float *out);
bool decoder_choose(Decoder *d, const float *u, int32_t *token);
/* Bytes that the next token of a sequence reads: of weights, and of keys and values. */
void decoder_bytes(const Decoder *d, int sequence, uint64_t *weights, uint64_t *cache);

/* ---- graphs.c */

/* Graphs that were captured, and how often they were launched. */
void decoder_graphs(const Decoder *d, int64_t *captured, int64_t *launched);

/* ---- vocab.c (pieces.c, bytes.c, join.c, split.c): the vocabulary that a GGUF file has, of SentencePiece
 * ("llama")      or of joined bytes ("gpt2"); names of control tokens in a text are text */

typedef struct Vocab Vocab;
/* NULL: why. */
Vocab *vocab_open(const char *path, char *why);
void vocab_close(Vocab *v);
/* The tokens of a text, UTF-8, behind that of the beginning, where the file asks for one; how many, at most
 * `room`; -1: why. */
int vocab_tokens(const Vocab *v, const char *text, int32_t *token, int room, char *why);
/* The bytes that a token stands for, at most `room`; how many. */
int vocab_bytes(const Vocab *v, int32_t token, char *out, int room);
#endif
