/* decoder.c - creates and frees the decoder; manages its sequences and the pages of their keys and values. */
#include "examples/llama/decoder.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
decoder_fail(Decoder *d, const char *what, const char *why)
{
	return host_fail(d->why, what, "%s", why);
}

/* ---- made and freed ------------------------------------------------------------------------------ */

/* Zeros, or `from`; `ok` gathers what failed. */
static void *
memory(Decoder *d, const char *name, const void *from, int64_t bytes, bool *ok)
{
	void *to = *ok ? host_upload(d->m.gpu, name, from, (uint64_t)bytes, d->why) : NULL;

	*ok = *ok && to;
	return to;
}

static bool
make_rows(Decoder *d)
{
	const Shape *s = &d->m.shape;
	int64_t r = d->rows, n = d->opts->all ? r : d->opts->sequences;
	bool ok = true;

	for (int i = 0; i < 2; i++)
		d->sum[i] = memory(d, "rows", NULL, 4 * r * s->hidden, &ok);
	d->normed = memory(d, "rows", NULL, 2 * r * s->hidden, &ok);
	d->added = memory(d, "rows", NULL, 2 * r * s->hidden, &ok);
	d->q = memory(d, "rows", NULL, 2 * r * s->heads * s->width, &ok);
	d->turned_q = memory(d, "rows", NULL, 2 * r * s->heads * s->width, &ok);
	d->heads = memory(d, "rows", NULL, 2 * r * s->heads * s->width, &ok);
	d->k = memory(d, "rows", NULL, 2 * r * s->groups * s->width, &ok);
	d->turned_k = memory(d, "rows", NULL, 2 * r * s->groups * s->width, &ok);
	d->v = memory(d, "rows", NULL, 2 * r * s->groups * s->width, &ok);
	d->up = memory(d, "rows", NULL, 2 * r * s->inner, &ok);
	d->gated = memory(d, "rows", NULL, 2 * r * s->inner, &ok);
	d->logits = memory(d, "logits", NULL, 4 * n * s->vocab, &ok);
	d->u = memory(d, "tokens", NULL, 4 * r, &ok);
	d->token = memory(d, "tokens", NULL, 4 * r, &ok);
	return ok;
}

/* Of a key or value. */
static int64_t
number_bytes(const Decoder *d)
{
	return d->opts->kv ? 1 : 2;
}

/* Keys and values of all sequences at their longest; pages are handed out from the last one on. */
static bool
make_pages(Decoder *d)
{
	const DecoderOpts *o = d->opts;
	int64_t each = (o->room + o->page - 1) / o->page, heads;
	bool ok = true;

	d->pages = each * o->sequences;
	d->free_page = calloc((size_t)d->pages, sizeof *d->free_page);
	for (int i = 0; i < o->sequences; i++) {
		d->sequence[i].page = calloc((size_t)each, sizeof(int32_t));
		ok = ok && d->sequence[i].page;
	}
	if (!d->free_page || !ok)
		return decoder_fail(d, "pages", "out of memory");
	while (d->free_pages < d->pages) {
		d->free_page[d->free_pages] = (int32_t)d->free_pages;
		d->free_pages++;
	}
	heads = d->pages * o->page * d->m.shape.groups;
	for (int i = 0; i < d->m.shape.layers; i++) {
		Layer *l = &d->m.layer[i];

		l->keys = memory(d, "keys", NULL, number_bytes(d) * heads * d->m.shape.width, &ok);
		l->values = memory(d, "values", NULL, number_bytes(d) * heads * d->m.shape.width, &ok);
		if (o->kv) {
			l->key_scales = memory(d, "keys", NULL, 4 * heads, &ok);
			l->value_scales = memory(d, "values", NULL, 4 * heads, &ok);
		}
	}
	return ok;
}

static bool
make_lists(Decoder *d)
{
	int64_t pages = d->pages;
	size_t size[LISTS] = { (size_t)d->rows, (size_t)d->rows, (size_t)d->rows, SEQUENCES, (size_t)pages };
	bool ok = true;

	for (int i = 0; i < LISTS; i++) {
		d->begin[i] = d->list_size;
		d->list_size += (size[i] + 63) / 64 * 64;
	}
	d->list = calloc(d->list_size, sizeof *d->list);
	if (!d->list)
		return decoder_fail(d, "lists", "out of memory");
	d->on_device = memory(d, "lists", NULL, (int64_t)(4 * d->list_size), &ok);
	return ok;
}

/* Rows of cosines and sines of each position, rounded once. */
static bool
make_angles(Decoder *d)
{
	const Shape *s = &d->m.shape;
	int64_t pairs = s->turned / 2, n = d->opts->room * pairs;
	float *c = calloc((size_t)n, sizeof *c), *sine = calloc((size_t)n, sizeof *sine);
	bool ok = c && sine;

	for (int64_t i = 0; ok && i < n; i++) {
		double slower = d->m.slower ? (double)d->m.slower[i % pairs] : 1;
		double speed = pow(s->base, -2 * (double)(i % pairs) / (double)s->turned) / slower;
		double angle = (double)(i / pairs) / s->stretch * speed;

		c[i] = (float)cos(angle);
		sine[i] = (float)sin(angle);
	}
	if (!ok)
		decoder_fail(d, "angles", "out of memory");
	d->cosine = memory(d, "angles", c, 4 * n, &ok);
	d->sine = memory(d, "angles", sine, 4 * n, &ok);
	free(c);
	free(sine);
	return ok;
}

static bool
start(Decoder *d, const char *path)
{
	const DecoderOpts *o = d->opts;

	d->m.cache = o->cache;
	d->m.act = o->act;
	d->rows = o->chunk > o->sequences ? o->chunk : o->sequences;
	if (!model_open(&d->m, path))
		return decoder_fail(d, path, d->m.why);
	if (o->room > d->m.shape.context)
		return host_fail(d->why, path, "%lld tokens are asked for, and its context has %lld: give a "
		                 "shorter prompt, or a smaller --generate",
		                 (long long)o->room, (long long)d->m.shape.context);
	if (o->top_k > d->m.shape.vocab)
		return host_fail(d->why, path, "its vocabulary has %lld tokens: give a smaller --top-k",
		                 (long long)d->m.shape.vocab);
	if (hexc_gpu_open(&d->m.gpu, o->host.device, d->m.why, WHY))
		return decoder_fail(d, "device", d->m.why);
	if (!model_load(&d->m))
		return decoder_fail(d, path, d->m.why);
	return layers_plan(d) && make_rows(d) && make_pages(d) && make_lists(d) && make_angles(d);
}

Decoder *
decoder_open(const char *path, const DecoderOpts *o, char *why)
{
	Decoder *d = calloc(1, sizeof *d);

	if (!d) {
		host_fail(why, path, "out of memory");
		return NULL;
	}
	d->opts = o;
	if (start(d, path))
		return d;
	memcpy(why, d->why, WHY);
	decoder_close(d);
	return NULL;
}

void
decoder_close(Decoder *d)
{
	if (!d)
		return;
	graphs_drop(d);
	if (d->own_stream)
		hexc_stream_free(d->m.gpu, d->own_stream);
	for (int i = 0; i < OPERATOR_COUNT; i++) {
		hexc_family_call_free(d->call[i]);
		hexc_op_free(d->op[i]);
	}
	for (int i = 0; i < SEQUENCES; i++)
		free(d->sequence[i].page);
	free(d->free_page);
	free(d->list);
	model_close(&d->m);
	hexc_gpu_close(d->m.gpu);
	free(d);
}

const char *
decoder_why(const Decoder *d)
{
	return d->why;
}

Shape
decoder_shape(const Decoder *d)
{
	return d->m.shape;
}

/* ---- a run --------------------------------------------------------------------------------------- */

/* Row number `row` of a run is the next token of s. */
static bool
append_token(Decoder *d, Sequence *s, int64_t row, int32_t token)
{
	int64_t page = s->length / d->opts->page;

	if (token < 0 || token >= d->m.shape.vocab)
		return host_fail(d->why, "token", "%d is not in the vocabulary, which has 0 to %lld",
		                 (int)token,
		                 (long long)d->m.shape.vocab - 1);
	if (s->length >= d->opts->room)
		return decoder_fail(d, "sequence", "it is longer than was asked for");
	if (page == s->pages) /* there are enough for all */
		s->page[s->pages++] = d->free_page[--d->free_pages];
	d->list[d->begin[IDS] + (size_t)row] = token;
	d->list[d->begin[PLACES] + (size_t)row] = (int32_t)s->length;
	d->list[d->begin[SLOTS] + (size_t)row] =
		(int32_t)(s->page[page] * d->opts->page + s->length % d->opts->page);
	s->length++;
	return true;
}

bool
decoder_run(Decoder *d, const int *sequence, int n, const int32_t *token, int64_t each, int64_t want)
{
	bool step = d->opts->graphs && each == 1 && want == n;
	int64_t pages = step ? graphs_pages(d) : 0;

	if (n * each > d->rows)
		return decoder_fail(d, "run", "that are more tokens than a run has rows");
	for (int i = 0; i < n; i++) {
		Sequence *s = &d->sequence[sequence[i]];

		for (int64_t t = 0; t < each; t++)
			if (!append_token(d, s, i * each + t, token[i * each + t]))
				return false;
		d->list[d->begin[LENGTHS] + (size_t)i] = (int32_t)s->length;
		pages = s->pages > pages ? s->pages : pages;
	}
	for (int i = 0; i < n; i++) { /* side by side; behind the last page of a sequence nothing is read */
		const Sequence *s = &d->sequence[sequence[i]];
		int32_t *row = d->list + d->begin[TABLE] + (size_t)(i * pages);

		memset(row, 0, sizeof *row * (size_t)pages);
		memcpy(row, s->page, sizeof *row * (size_t)s->pages);
	}
	if (hexc_gpu_write(d->m.gpu, d->on_device, d->list, 4 * d->list_size))
		return decoder_fail(d, "tokens", hexc_gpu_why(d->m.gpu));
	d->want = want;
	return step ? graphs_step(d, n) : layers_run(d, n, each, pages, want);
}

bool
decoder_logits(Decoder *d, float *out)
{
	uint64_t bytes = 4 * (uint64_t)(d->want * d->m.shape.vocab);

	if (hexc_gpu_read(d->m.gpu, out, d->logits, bytes))
		return decoder_fail(d, "logits", hexc_gpu_why(d->m.gpu));
	return true;
}

bool
decoder_choose(Decoder *d, const float *u, int32_t *token)
{
	uint64_t bytes = 4 * (uint64_t)d->want;

	if (hexc_gpu_write(d->m.gpu, d->u, u, bytes))
		return decoder_fail(d, "tokens", hexc_gpu_why(d->m.gpu));
	if (!layers_sample(d, d->want))
		return false;
	if (hexc_gpu_read(d->m.gpu, token, d->token, bytes))
		return decoder_fail(d, "tokens", hexc_gpu_why(d->m.gpu));
	return true;
}

void
decoder_bytes(const Decoder *d, int sequence, uint64_t *weights, uint64_t *cache)
{
	const Shape *s = &d->m.shape;

	*weights = d->m.weight_bytes;
	*cache = (uint64_t)(2 * s->layers * d->sequence[sequence].length * s->groups *
	                    (number_bytes(d) * s->width + (d->opts->kv ? 4 : 0)));
}
