/* engine.h - internal declarations of the engine: a transformer encoder on hexc's operators.
 *
 *	sentences -> words.c -> tokens -> encoder.c (layers.c, weights.c) -> one vector per sentence
 */
#ifndef HEXC_ENGINE_H
#define HEXC_ENGINE_H
#include "examples/host/host.h"
#include "lib/hexc_plan.h"

enum { TOKENS_MAX = 512, WHY = HOST_WHY };

/* ---- words.c: WordPiece, as BERT's uncased models have it */

typedef struct Vocab Vocab;
/* A word piece a line; NULL: the file cannot be read, or lacks [CLS], [SEP] or [UNK]. */
Vocab *vocab_open(const char *path);
void vocab_close(Vocab *v);
/* The tokens of a sentence, UTF-8, between [CLS] and [SEP]; of a longer one the first `room`. */
int vocab_tokens(const Vocab *v, const char *sentence, int32_t *token, int room);

/* ---- weights.c: a model's tensors on the device */

typedef struct Shape {
	int64_t hidden, inner, heads, layers, positions;
	double eps;
} Shape;

typedef struct Weights {
	hexc_gpu *gpu;
	hexc_file *file;
	Shape shape;
	char why[WHY];
} Weights;

/* DIR/model.safetensors and DIR/config.json.  False: w->why. */
bool weights_open(Weights *w, hexc_gpu *gpu, const char *dir);
void weights_close(Weights *w);
/* A tensor of the file in device memory, as f16 or f32, which lives as long as the GPU; *bytes may be NULL.
 * NULL: w->why. */
void *weights_tensor(Weights *w, const char *name, const char *type, uint64_t *bytes);
/* A matrix of the file as a weight: in a format of hexc_weights.h, or as it is (NULL); `widen`: rounded to
 * the format, as numbers of f32.  False: w->why.  To be freed by weights_drop. */
typedef struct Matrix {
	hexc_weight *quantized, plain;
	void *numbers;
} Matrix;
bool weights_matrix(Weights *w, const char *name, const char *format, bool widen, Matrix *out);
const hexc_weight *weights_of(const Matrix *m);
void weights_drop(Matrix *m);

/* ---- encoder.c */

typedef struct Encoder Encoder;

typedef struct EncoderOpts {
	HostOpts host;
	const char *format;     /* of the matrices, one of hexc_format_at(); NULL: f16 */
	bool widen;             /* what the format leaves of them is multiplied as f16: so results differ by
	                         * what kernels round, and not by what the format does */
	uint32_t streams;       /* that work is spread over */
	hexc_cache *cache;      /* that host.cache names */
} EncoderOpts;

/* NULL: why[0..WHY) has the sentence. */
Encoder *encoder_open(const char *dir, const EncoderOpts *o, char *why);
void encoder_close(Encoder *e);
int encoder_width(const Encoder *e);
/* The vectors, of length 1, of n sentences, out[n, width]; false: encoder_why. */
bool encoder_run(Encoder *e, const char *const *sentence, int n, float *out);
const char *encoder_why(const Encoder *e);
/* What the plan says of the last run; zeros before. */
hexc_plan_info encoder_plan(const Encoder *e);
#endif
