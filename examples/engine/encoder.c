/* encoder.c - creates, runs and frees the encoder. */
#include "examples/engine/encoder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
encoder_fail(Encoder *e, const char *what, const char *why)
{
	if (!*e->why)
		snprintf(e->why, WHY, "%.100s: %.390s", what, why);
	return false;
}

/* ---- made and freed ------------------------------------------------------------------------------ */

static bool
start(Encoder *e, const char *dir)
{
	hexc_plan_opts p = HEXC_PLAN_OPTS_INIT;
	char path[1000];

	snprintf(path, sizeof path, "%s/vocab.txt", dir);
	if (!(e->vocab = vocab_open(path)))
		return encoder_fail(e, path, "that is no vocabulary of word pieces");
	if (hexc_gpu_open(&e->gpu, e->opts->host.device, e->w.why, WHY) ||
	    !weights_open(&e->w, e->gpu, dir))
		return encoder_fail(e, dir, e->w.why);
	if (e->w.shape.layers > LAYERS_MAX)
		return encoder_fail(e, dir, "it has too many layers");
	p.streams = e->opts->streams;
	p.gpu = e->gpu;
	if (hexc_plan_new(&e->plan, &p))
		return encoder_fail(e, "plan", "out of memory");
	for (uint32_t s = 0; s < e->opts->streams; s++)
		if (hexc_stream_new(&e->stream[s], e->gpu))
			return encoder_fail(e, "stream", hexc_gpu_why(e->gpu));
	for (e->nbuffer = IDS; e->nbuffer < FIRST; e->nbuffer++)
		hexc_plan_outside(e->plan, NULL, 0, &e->buffer[e->nbuffer].id);
	return encoder_layers(e);
}

Encoder *
encoder_open(const char *dir, const EncoderOpts *o, char *why)
{
	Encoder *e = calloc(1, sizeof *e);

	*why = 0;
	if (!e) {
		snprintf(why, WHY, "out of memory");
		return NULL;
	}
	e->opts = o;
	if (start(e, dir))
		return e;
	memcpy(why, e->why, WHY);
	encoder_close(e);
	return NULL;
}

void
encoder_close(Encoder *e)
{
	if (!e)
		return;
	hexc_plan_free(e->plan);
	for (int i = 0; i < e->nnode; i++)
		hexc_family_call_free(e->node[i].call);
	while (e->nlinear--)
		hexc_linear_free(e->linear[e->nlinear]);
	hexc_op_free(e->embed);
	hexc_op_free(e->place);
	hexc_op_free(e->norm);
	hexc_op_free(e->attention);
	for (int s = 0; s < 16; s++)
		if (e->stream[s])
			hexc_stream_free(e->gpu, e->stream[s]);
	weights_close(&e->w);
	hexc_gpu_close(e->gpu);
	vocab_close(e->vocab);
	free(e);
}

int
encoder_width(const Encoder *e)
{
	return (int)e->w.shape.hidden;
}

const char *
encoder_why(const Encoder *e)
{
	return e->why;
}

hexc_plan_info
encoder_plan(const Encoder *e)
{
	return e->info;
}

/* ---- a run --------------------------------------------------------------------------------------- */

/* Memory for so many rows, and the plan for it. */
static bool
resize(Encoder *e, int64_t sentences, int64_t length)
{
	int64_t rows = sentences * length;

	for (int i = 0; i < e->nnode; i++) {
		Node *n = &e->node[i];

		if (n->call && hexc_family_call_find(n->call, "HK") >= 0) {
			node_int(n, "B", sentences);
			node_int(n, "M", length);
			node_int(n, "N", length);
		} else {
			node_int(n, "M", rows);
		}
		if (hexc_family_call_line(n->call, NULL, &n->bytes))
			return encoder_fail(e, "sizes", hexc_family_call_why(n->call));
		hexc_plan_set_bytes(e->plan, n->space, n->bytes);
	}
	for (int i = FIRST; i < e->nbuffer; i++)
		if (e->buffer[i].row)
			hexc_plan_set_bytes(e->plan, e->buffer[i].id, e->buffer[i].row * (uint64_t)rows);
	hexc_gpu_free(e->gpu, e->memory);
	e->memory = NULL;
	for (int i = IDS; i < FIRST; i++) {
		hexc_gpu_free(e->gpu, e->given[i]);
		e->given[i] = NULL;
		if (hexc_gpu_alloc(e->gpu, 4 * (uint64_t)rows, &e->given[i]))
			return encoder_fail(e, "memory", hexc_gpu_why(e->gpu));
		hexc_plan_set_bytes(e->plan, e->buffer[i].id, 4 * (uint64_t)rows);
		hexc_plan_set_ptr(e->plan, e->buffer[i].id, e->given[i]);
	}
	e->info = (hexc_plan_info)HEXC_PLAN_INFO_INIT;
	if (hexc_plan_refit(e->plan) || !hexc_plan_describe(e->plan, &e->info) ||
	    hexc_gpu_alloc(e->gpu, e->info.bytes, &e->memory) ||
	    hexc_plan_bind(e->plan, e->memory, e->info.bytes))
		return encoder_fail(e, "plan",
		                    *hexc_plan_why(e->plan) ? hexc_plan_why(e->plan) : hexc_gpu_why(e->gpu));
	return true;
}

static void *
address(const Encoder *e, uint32_t buffer)
{
	uint64_t offset = 0;

	for (int i = IDS; i < FIRST; i++)
		if (e->buffer[i].id == buffer)
			return e->given[i];
	hexc_plan_offset(e->plan, buffer, &offset);
	return (char *)e->memory + offset;
}

static void
give_addresses(Encoder *e)
{
	for (int i = 0; i < e->nnode; i++) {
		Node *n = &e->node[i];

		for (int a = 0; a < n->narg; a++)
			hexc_family_call_ptr(n->call, n->arg[a].param, address(e, n->arg[a].buffer), 0);
		if (n->bytes)
			hexc_family_call_workspace(n->call, address(e, n->space), n->bytes);
	}
}

/* The mean of a sentence's rows, brought to length 1. */
static void
pool(const uint16_t *rows, int tokens, int width, float *out)
{
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	double square = 0;

	for (int c = 0; c < width; c++) {
		double sum = 0;

		for (int t = 0; t < tokens; t++)
			sum += hexc_get(f16, rows, (uint64_t)t * (uint64_t)width + (uint64_t)c);
		out[c] = (float)(sum / tokens);
		square += (double)out[c] * out[c];
	}
	for (int c = 0; c < width && square > 0; c++)
		out[c] = (float)(out[c] / sqrt(square));
}

static bool
run_tokens(Encoder *e, const int32_t *token, const int32_t *length, int n, int longest, float *out)
{
	int width = encoder_width(e), rows = n * longest;
	size_t sentence = (size_t)longest * (size_t)width;
	int32_t *place = malloc(sizeof *place * (size_t)rows);
	uint16_t *result = malloc((size_t)n * sentence * 2);
	bool ok = place && result;

	for (int i = 0; i < rows && ok; i++)
		place[i] = i % longest;
	if (!ok)
		encoder_fail(e, "memory", "there is not enough");
	ok = ok && (e->rows == rows && e->length == longest ? true : resize(e, n, longest));
	if (ok) {
		uint64_t bytes = 4 * (uint64_t)rows;

		e->rows = rows;
		e->length = longest;
		give_addresses(e);
		ok = hexc_gpu_write(e->gpu, e->given[IDS], token, bytes) == HEXC_OK &&
		     hexc_gpu_write(e->gpu, e->given[PLACES], place, bytes) == HEXC_OK &&
		     hexc_gpu_write(e->gpu, e->given[LENGTHS], length, 4 * (uint64_t)n) == HEXC_OK;
		if (!ok)
			encoder_fail(e, "tokens", hexc_gpu_why(e->gpu));
	}
	if (ok && hexc_plan_launch(e->plan, e->stream, e->opts->streams)) {
		ok = encoder_fail(e, "launch", hexc_plan_why(e->plan));
	} else if (ok && (hexc_gpu_wait(e->gpu) ||
	                  hexc_gpu_read(e->gpu, result, address(e, e->last), (size_t)n * sentence * 2))) {
		ok = encoder_fail(e, "run", hexc_gpu_why(e->gpu));
	}
	for (int i = 0; i < n && ok; i++)
		pool(result + (size_t)i * sentence, length[i], width, out + (size_t)i * (size_t)width);
	free(result);
	free(place);
	return ok;
}

bool
encoder_run(Encoder *e, const char *const *sentence, int n, float *out)
{
	int room = e->w.shape.positions < TOKENS_MAX ? (int)e->w.shape.positions : TOKENS_MAX, longest = 1;
	int32_t *all = calloc((size_t)n * (size_t)room, sizeof *all);
	int32_t *length = calloc((size_t)n, sizeof *length);
	bool ok = all && length;

	*e->why = 0;
	for (int i = 0; i < n && ok; i++) {
		length[i] = vocab_tokens(e->vocab, sentence[i], all + (size_t)i * (size_t)room, room);
		longest = length[i] > longest ? length[i] : longest;
	}
	for (int i = 1; i < n && ok; i++) /* side by side; behind the end [PAD], token 0 */
		memmove(all + (size_t)i * (size_t)longest, all + (size_t)i * (size_t)room,
		        sizeof *all * (size_t)longest);
	if (ok)
		ok = run_tokens(e, all, length, n, longest, out);
	else
		encoder_fail(e, "memory", "there is not enough");
	free(length);
	free(all);
	return ok;
}
