/* decoder.h - declarations shared by the files of the decoder. */
#ifndef HEXC_LLAMA_DECODER_H
#define HEXC_LLAMA_DECODER_H
#include "examples/llama/llama.h"
#include "lib/hexc_plan.h"

/* Operators that have no weight of a file. */
#define OPERATORS(X) X(EMBED) X(NORM) X(ADD_NORM) X(ROTARY) X(APPEND) X(ATTENTION) X(SAMPLE)
#define OPERATOR_(id) id,
enum { OPERATORS(OPERATOR_) OPERATOR_COUNT };

/* Numbers that a run gives the device, by one copy: each list starts at a multiple of 64. */
enum { IDS, PLACES, SLOTS, LENGTHS, TABLE, LISTS };

typedef struct Sequence {
	int64_t length;
	int32_t *page; /* that it has, in its order */
	int64_t pages;
} Sequence;

/* A step of so many sequences, as a graph. */
typedef struct Step {
	Decoder *d;
	int64_t n;
	bool ran; /* before it is captured: memory that it needs is there */
	hexc_plan *plan; /* of one node, all launches; NULL: it is not captured */
} Step;

struct Decoder {
	Model m;
	const DecoderOpts *opts;
	hexc_op *op[OPERATOR_COUNT];
	hexc_family_call *call[OPERATOR_COUNT];
	int64_t rows; /* at most, of a run */
	/* of each row, on the device: sums of f32 (two, that take turns), the rest of act */
	void *sum[2], *normed, *q, *k, *v, *turned_q, *turned_k, *heads, *added, *up, *gated, *logits;
	void *cosine, *sine; /* f32[room, turned / 2] */
	void *u, *token;
	void *work;
	uint64_t work_bytes;
	Sequence sequence[SEQUENCES];
	int32_t *free_page; /* a stack */
	int64_t free_pages, pages;
	int32_t *list; /* of a run, and on the device; where each begins */
	void *on_device;
	size_t begin[LISTS], list_size;
	int64_t want; /* rows of logits, of the last run */
	void *stream; /* that launches go to; NULL: the default one */
	void *own_stream; /* for graphs */
	Step step[SEQUENCES + 1];
	int64_t captured, launched;
	char why[WHY];
};

/* d->why = WHAT: WHY; false. */
bool decoder_fail(Decoder *d, const char *what, const char *why);

/* ---- graphs.c */

/* The step of n sequences, as a graph if it may be one: what layers_run does.  It reads tables of the most
 * pages that a sequence may have, so that nothing but lists is another in the next step. */
bool graphs_step(Decoder *d, int64_t n);
/* Columns of the tables. */
int64_t graphs_pages(const Decoder *d);
/* Memory that graphs know by its address is another: they are captured anew. */
void graphs_drop(Decoder *d);

/* ---- llama_layers.c */

/* Plan the operators. */
bool layers_plan(Decoder *d);
/* All layers, of `each` tokens of n sequences, as the lists say, with tables of `pages`; then the logits of
 * the last `want` rows. */
bool layers_run(Decoder *d, int64_t n, int64_t each, int64_t pages, int64_t want);
/* A token for each of them. */
bool layers_sample(Decoder *d, int64_t rows);
#endif
