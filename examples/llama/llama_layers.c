/* llama_layers.c - runs the decoder's layers: operators, launched one after the other on one stream.
 *
 * A layer, with rows x for tokens, in f32, with h = norm(x) and `added` in act:
 *
 *	q, k, v = h Wq^T, ..             q, k rotated; k, v to the pages of the cache
 *	x = x + attention(q, cache) Wo^T                                   added by the norm that follows
 *	x = x + (silu(h Wg^T) * (h Wu^T)) Wd^T                             added by the next layer's norm */
#include "examples/llama/decoder.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const operator_name[] = {
#define NAME_(id) #id,
	OPERATORS(NAME_)
};

/* ---- plans --------------------------------------------------------------------------------------- */

static bool
plan(Decoder *d, int which, const char *name, const hexc_op_set *set, size_t n)
{
	d->op[which] = host_op(d->m.gpu, d->m.cache, name, set, n, d->why);
	if (!d->op[which])
		return false;
	if (hexc_family_call_new(&d->call[which], d->m.gpu, hexc_op_family(d->op[which])))
		return decoder_fail(d, name, hexc_gpu_why(d->m.gpu));
	return true;
}

bool
layers_plan(Decoder *d)
{
	const char *act = d->m.act;
	char width[20], turned[20], page[20], top[20], add[60];
	hexc_op_set embed[] = { { "IN", act }, { "OUT", "f32" } };
	hexc_op_set norm[] = { { "IN", "f32" }, { "OUT", act }, { "CENTER", "0" },
		{ "epilogue", "x * gain[n]" }, { "tensors", "gain: f32[N]" } };
	hexc_op_set add_norm[] = { { "IN", "f32" }, { "OUT", act }, { "CENTER", "0" },
		{ "epilogue", "x * gain[n]" }, { "tensors", add }, { "input", "x + added[m, n]" },
		{ "sum", "f32" } };
	hexc_op_set rotary[] = { { "IN", act }, { "PAIRS", "1" }, { "D", width }, { "ROT", turned } };
	const char *kv = d->opts->kv, *most = kv && strcmp(kv, "i8") == 0 ? "127" : "448"; /* that it holds */
	hexc_op_set append[] = { { "ACT", act }, { "D", width }, { "KV", kv }, { "MOST", most },
		{ "scales", "1" } };
	hexc_op_set attention[] = { { "ACT", act }, { "D", width }, { "CAUSAL", "1" }, { "PAGE", page },
		{ "KV", kv }, { "scales", "1" } };
	hexc_op_set sample[] = { { "IN", "f32" }, { "K", top } };

	snprintf(add, sizeof add, "gain: f32[N], added: %s[M, N]", act);
	snprintf(width, sizeof width, "%d", (int)d->m.shape.width);
	snprintf(turned, sizeof turned, "%d", (int)d->m.shape.turned);
	snprintf(page, sizeof page, "%d", (int)d->opts->page);
	snprintf(top, sizeof top, "%d", (int)d->opts->top_k);
	return plan(d, EMBED, "embedding", embed, 2) && plan(d, NORM, "norm", norm, 5) &&
	       plan(d, ADD_NORM, "norm", add_norm, 7) && plan(d, ROTARY, "rotary", rotary, 4) &&
	       plan(d, APPEND, "kv_append", append, kv ? 5 : 2) &&
	       plan(d, ATTENTION, "paged", attention, kv ? 6 : 4) &&
	       plan(d, SAMPLE, "sample", sample, 2);
}

/* ---- launches -------------------------------------------------------------------------------------- */

/* Arguments by name; a name that a call lacks shows when it is launched, since another is then missing. */
static void
give(hexc_family_call *c, const char *name, const void *ptr)
{
	hexc_family_call_ptr(c, hexc_family_call_find(c, name), (void *)(uintptr_t)ptr, 0);
}

static void
give_int(hexc_family_call *c, const char *name, int64_t x)
{
	hexc_family_call_int(c, hexc_family_call_find(c, name), x);
}

static void
give_float(hexc_family_call *c, const char *name, double x)
{
	hexc_family_call_float(c, hexc_family_call_find(c, name), x);
}

/* Launches follow one another, so that one piece of memory is workspace for all. */
static bool
launch(Decoder *d, hexc_family_call *c, const char *name)
{
	uint64_t bytes;

	if (hexc_family_call_line(c, NULL, &bytes))
		return decoder_fail(d, name, hexc_family_call_why(c));
	if (bytes > d->work_bytes) {
		graphs_drop(d);
		if (hexc_gpu_wait(d->m.gpu) || hexc_gpu_free(d->m.gpu, d->work) ||
		    hexc_gpu_alloc(d->m.gpu, bytes, &d->work))
			return decoder_fail(d, "workspace", hexc_gpu_why(d->m.gpu));
		d->work_bytes = bytes;
	}
	if (bytes)
		hexc_family_call_workspace(c, d->work, d->work_bytes);
	return hexc_family_call_launch(c, d->stream) ? decoder_fail(d, name, hexc_family_call_why(c)) : true;
}

static bool
launch_op(Decoder *d, int which)
{
	return launch(d, d->call[which], operator_name[which]);
}

static const void *
list(const Decoder *d, int which)
{
	return (const int32_t *)d->on_device + d->begin[which];
}

/* `to` = `from` W^T of so many rows. */
static bool
multiply(Decoder *d, const Product *p, const char *name, const void *from, void *to, int64_t rows)
{
	if (hexc_linear_bind(p->linear, p->call))
		return decoder_fail(d, name, "its weight does not fit its call");
	give(p->call, "A", from);
	give(p->call, "C", to);
	give_int(p->call, "M", rows);
	if (p->kind == GATE)
		give(p->call, "up", d->up);
	return launch(d, p->call, name);
}

/* d->normed = norm(sum), or of the sum with what is added, which then is the sum. */
static bool
normalize(Decoder *d, const void *gain, bool add, int64_t rows)
{
	hexc_family_call *c = d->call[add ? ADD_NORM : NORM];

	give(c, "X", d->sum[0]);
	give(c, "Y", d->normed);
	give(c, "gain", gain);
	give_int(c, "M", rows);
	give_int(c, "N", d->m.shape.hidden);
	give_float(c, "eps", d->m.shape.eps);
	if (add) {
		void *old = d->sum[0];

		give(c, "added", d->added);
		give(c, "SUM", d->sum[1]);
		d->sum[0] = d->sum[1];
		d->sum[1] = old;
	}
	return launch_op(d, add ? ADD_NORM : NORM);
}

static bool
turn(Decoder *d, const void *from, void *to, int64_t heads, int64_t rows)
{
	hexc_family_call *c = d->call[ROTARY];

	give(c, "X", from);
	give(c, "Y", to);
	give(c, "POS", list(d, PLACES));
	give(c, "COS", d->cosine);
	give(c, "SIN", d->sine);
	give_int(c, "T", rows);
	give_int(c, "H", heads);
	give_int(c, "P", d->opts->room);
	return launch_op(d, ROTARY);
}

static bool
append(Decoder *d, const Layer *l, int64_t rows)
{
	hexc_family_call *c = d->call[APPEND];

	give(c, "SLOT", list(d, SLOTS));
	give(c, "K", d->turned_k);
	give(c, "V", d->v);
	give(c, "KC", l->keys);
	give(c, "VC", l->values);
	if (l->key_scales) {
		give(c, "KS", l->key_scales);
		give(c, "VS", l->value_scales);
	}
	give_int(c, "T", rows);
	give_int(c, "HK", d->m.shape.groups);
	give_int(c, "S", d->pages * d->opts->page);
	return launch_op(d, APPEND);
}

static bool
attend(Decoder *d, const Layer *l, int64_t n, int64_t each, int64_t pages)
{
	hexc_family_call *c = d->call[ATTENTION];
	const struct {
		const char *name;
		int64_t x;
	} size[] = { { "B", n }, { "M", each }, { "H", d->m.shape.heads }, { "HK", d->m.shape.groups },
		{ "NP", d->pages }, { "P", pages } };

	give(c, "Q", d->turned_q);
	give(c, "K", l->keys);
	give(c, "V", l->values);
	if (l->key_scales) {
		give(c, "KS", l->key_scales);
		give(c, "VS", l->value_scales);
	}
	give(c, "T", list(d, TABLE));
	give(c, "L", list(d, LENGTHS));
	give(c, "O", d->heads);
	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		give_int(c, size[i].name, size[i].x);
	give_float(c, "scale", 1 / sqrt((double)d->m.shape.width));
	return launch_op(d, ATTENTION);
}

static bool
run_layer(Decoder *d, const Layer *l, bool add, int64_t n, int64_t each, int64_t pages)
{
	int64_t rows = n * each;

	return normalize(d, l->attention_norm, add, rows) &&
	       multiply(d, l->q, "attn_q", d->normed, d->q, rows) &&
	       multiply(d, l->k, "attn_k", d->normed, d->k, rows) &&
	       multiply(d, l->v, "attn_v", d->normed, d->v, rows) &&
	       turn(d, d->q, d->turned_q, d->m.shape.heads, rows) &&
	       turn(d, d->k, d->turned_k, d->m.shape.groups, rows) && append(d, l, rows) &&
	       attend(d, l, n, each, pages) && multiply(d, l->o, "attn_output", d->heads, d->added, rows) &&
	       normalize(d, l->inner_norm, true, rows) &&
	       multiply(d, l->up, "ffn_up", d->normed, d->up, rows) &&
	       multiply(d, l->gate, "ffn_gate", d->normed, d->gated, rows) &&
	       multiply(d, l->down, "ffn_down", d->gated, d->added, rows);
}

bool
layers_run(Decoder *d, int64_t n, int64_t each, int64_t pages, int64_t want)
{
	hexc_family_call *c = d->call[EMBED];
	int64_t rows = n * each;
	const char *last;

	give(c, "I", list(d, IDS));
	give(c, "E", d->m.embedding);
	give(c, "Y", d->sum[0]);
	give_int(c, "M", rows);
	give_int(c, "V", d->m.shape.vocab);
	give_int(c, "N", d->m.shape.hidden);
	if (!launch_op(d, EMBED))
		return false;
	for (int i = 0; i < d->m.shape.layers; i++)
		if (!run_layer(d, &d->m.layer[i], i > 0, n, each, pages))
			return false;
	if (!want)
		return true;
	last = (const char *)d->normed + 2 * (rows - want) * d->m.shape.hidden;
	return normalize(d, d->m.norm, true, rows) &&
	       multiply(d, d->m.output, "output", last, d->logits, want);
}

bool
layers_sample(Decoder *d, int64_t rows)
{
	hexc_family_call *c = d->call[SAMPLE];

	give(c, "X", d->logits);
	give(c, "U", d->u);
	give(c, "TOKEN", d->token);
	give_int(c, "M", rows);
	give_int(c, "N", d->m.shape.vocab);
	give_float(c, "temperature", d->opts->temperature);
	if (d->opts->top_k) {
		give_int(c, "k", d->opts->top_k);
		give_float(c, "top_p", d->opts->top_p);
	}
	return launch_op(d, SAMPLE);
}
