/* model.c - reads a Llama model's shape and tensors from its GGUF file. */
#include "examples/llama/llama.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metadata ------------------------------------------------------------------------------------- */

static const char *
meta(const Model *m, const char *wanted)
{
	const char *key, *value;

	for (size_t i = 0; hexc_file_meta(m->file, i, &key, &value); i++)
		if (strcmp(key, wanted) == 0)
			return value;
	return NULL;
}

/* The number of `key`, from `least` to `most`; `otherwise` where the file has none, NAN: it must. */
static bool
number(Model *m, const char *key, double otherwise, double least, double most, double *out)
{
	const char *text = meta(m, key);
	char *end;

	*out = otherwise;
	if (!text)
		return !isnan(otherwise) ||
		       host_fail(m->why, key, "the file lacks it: convert the model anew");
	*out = strtod(text, &end);
	if (end != text && !*end && *out >= least && *out <= most)
		return true;
	return host_fail(m->why, key, "%.60s is not in %g to %g: convert the model anew", text, least, most);
}

static bool
whole(Model *m, const char *key, double otherwise, double least, double most, int64_t *out)
{
	double x;

	if (!number(m, key, otherwise, least, most, &x))
		return false;
	*out = (int64_t)x;
	return (double)*out == x ||
	       host_fail(m->why, key, "%g is no whole number: convert the model anew", x);
}

static bool
read_stretch(Model *m)
{
	const char *how = meta(m, "llama.rope.scaling.type"), *factor = "llama.rope.scaling.factor";

	m->shape.stretch = 1;
	if (how && strcmp(how, "none") == 0)
		return true;
	if (!meta(m, factor) && meta(m, "llama.rope.scale_linear"))
		factor = "llama.rope.scale_linear"; /* before there were others */
	if (!how || strcmp(how, "linear") == 0) /* what llama.cpp takes a factor without a type for */
		return number(m, factor, how ? NAN : 1, 1e-3, 1e6, &m->shape.stretch);
	return host_fail(m->why, "llama.rope.scaling.type", "%.60s is not known: none and linear are", how);
}

static bool
read_shape(Model *m)
{
	const char *arch = meta(m, "general.architecture");
	Shape *s = &m->shape;
	int64_t values, experts;
	uint32_t file, files;

	if (hexc_file_shard(m->file, &file, &files))
		return host_fail(m->why, "split.count", "this is file %u of %u of a model: join them before",
		                 (unsigned)file, (unsigned)files);
	if (!arch || strcmp(arch, "llama") != 0)
		return host_fail(m->why, "general.architecture", "%.60s is not llama: take such a model",
		                 arch ? arch : "nothing");
	if (!whole(m, "llama.block_count", NAN, 1, 1000, &s->layers) ||
	    !whole(m, "llama.embedding_length", NAN, 16, 1 << 20, &s->hidden) ||
	    !whole(m, "llama.feed_forward_length", NAN, 16, 1 << 22, &s->inner) ||
	    !whole(m, "llama.attention.head_count", NAN, 1, 1 << 14, &s->heads) ||
	    !whole(m, "llama.attention.head_count_kv", (double)s->heads, 1, 1 << 14, &s->groups) ||
	    !whole(m, "llama.attention.key_length", (double)(s->hidden / s->heads), 1, 256, &s->width) ||
	    !whole(m, "llama.attention.value_length", (double)s->width, 1, 256, &values) ||
	    !whole(m, "llama.rope.dimension_count", (double)s->width, 2, (double)s->width, &s->turned) ||
	    !whole(m, "llama.context_length", 1 << 20, 1, 1 << 28, &s->context) ||
	    !whole(m, "llama.expert_count", 0, 0, 1 << 14, &experts) ||
	    !whole(m, "tokenizer.ggml.eos_token_id", -1, 0, 1 << 28, &s->eos) ||
	    !number(m, "llama.attention.layer_norm_rms_epsilon", NAN, 0, 1, &s->eps) ||
	    !number(m, "llama.rope.freq_base", 10000, 1, 1e12, &s->base) || !read_stretch(m))
		return false;
	if (experts)
		return host_fail(m->why, "llama.expert_count",
		                 "mixtures of experts do not run here: take a model without");
	if (s->width % 16 || values != s->width)
		return host_fail(m->why, "llama.attention.key_length",
		                 "heads of %lld and %lld numbers: those of 16, 32, .. 256 run",
		                 (long long)s->width, (long long)values);
	if (s->heads % s->groups)
		return host_fail(m->why, "llama.attention.head_count_kv",
		                 "%lld heads do not share %lld evenly: convert the model anew",
		                 (long long)s->heads, (long long)s->groups);
	if (s->turned % 2 || s->hidden % 8 || s->inner % 8)
		return host_fail(m->why, "llama",
		                 "%lld turned numbers, or widths %lld and %lld: multiples of 2, of 8 run",
		                 (long long)s->turned, (long long)s->hidden, (long long)s->inner);
	return keys_known(m->file, m->why);
}

/* A tensor that has no place here would be missing in what comes out. */
static bool
known_tensor(const char *name)
{
	static const char *const of_model[] = { "token_embd.weight", "output_norm.weight", "output.weight",
		"rope_freqs.weight" };
	static const char *const of_layer[] = { "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
		"ffn_norm", "ffn_gate", "ffn_up", "ffn_down" };
	char part[40];
	int at = 0;

	for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
		if (strcmp(name, of_model[i]) == 0)
			return true;
	if (sscanf(name, "blk.%*9[0-9].%39[a-z_].weight%n", part, &at) != 1 || !at || name[at])
		return false;
	for (size_t i = 0; i < sizeof of_layer / sizeof *of_layer; i++)
		if (strcmp(part, of_layer[i]) == 0)
			return true;
	return false;
}

bool
model_open(Model *m, const char *path)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	if (hexc_file_open(&m->file, path, m->why, WHY))
		return false;
	if (strcmp(hexc_file_kind(m->file), "gguf") != 0)
		return host_fail(m->why, path, "that is a file of %s: convert the model to GGUF",
		                 hexc_file_kind(m->file));
	if (!read_shape(m))
		return false;
	if (!hexc_file_find(m->file, "token_embd.weight", &t) || t.rank != 2 || t.dim[1] != m->shape.hidden)
		return host_fail(m->why, "token_embd.weight",
		                 "the file has no such matrix of rows of %lld: convert the model anew",
		                 (long long)m->shape.hidden);
	m->shape.vocab = t.dim[0];
	for (size_t i = 0; hexc_file_tensor_at(m->file, i, &t); i++)
		if (!known_tensor(t.name))
			return host_fail(m->why, t.name,
			                 "the layers here have no place for this tensor: take a model of "
			                 "Llama's architecture without it");
	return true;
}

/* ---- tensors --------------------------------------------------------------------------------------- */

/* A vector of n numbers of f32. */
static void *
vector(Model *m, const char *name, int64_t n)
{
	hexc_file_tensor t;
	void *host = host_numbers(m->file, name, "f32", &t, m->why), *dev = NULL;

	if (host && (t.rank != 1 || t.dim[0] != n))
		host_fail(m->why, name, "it is no vector of %lld: convert the model anew", (long long)n);
	else if (host)
		dev = host_upload(m->gpu, name, host, t.bytes, m->why);
	free(host);
	return dev;
}

/* A matrix [n, k] of the file: as it is quantized there, or of plain numbers, *numbers, which both are to
 * be freed. */
static bool
read_matrix(Model *m, const char *name, int64_t n, int64_t k, hexc_weight **quantized, hexc_weight *plain,
            void **numbers)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	*quantized = NULL;
	*numbers = NULL;
	if (!hexc_file_find(m->file, name, &t))
		return host_fail(m->why, name, "the file has no such tensor: convert the model anew");
	if (t.rank != 2 || t.dim[0] != n || t.dim[1] != k)
		return host_fail(m->why, name, "it is no matrix of %lld rows of %lld: convert the model anew",
		                 (long long)n, (long long)k);
	if (!t.dtype)
		return hexc_weight_load(quantized, m->file, name, NULL, m->why, WHY) == HEXC_OK;
	*plain = (hexc_weight)HEXC_WEIGHT_INIT;
	plain->name = name;
	plain->n = n;
	plain->k = k;
	if (strcmp(t.dtype, "f32") != 0 && strcmp(t.dtype, "bf16") != 0 && strcmp(t.dtype, "f16") != 0)
		return host_fail(m->why, name, "its numbers are %s: f16, bf16, f32 or blocks run", t.dtype);
	*numbers = host_numbers(m->file, name, t.dtype, &t, m->why);
	plain->plane[HEXC_PLANE_CODE] = (hexc_plane){ t.dtype, n, k, k, *numbers, t.bytes };
	return *numbers != NULL;
}

static bool
plan_product(Model *m, Product *p, const char *name, const hexc_weight *w)
{
	const hexc_linear *like = NULL;
	char tensors[40];
	hexc_op_set set[] = { { "ACT", m->act }, { "OUT", p->kind == LOGITS ? "f32" : m->act },
		{ "tensors", tensors }, { "epilogue", "silu(x) * up[m, n]" } };
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	char why[WHY];

	snprintf(tensors, sizeof tensors, "up: %s[M, N]", m->act);
	o.cache = m->cache;
	for (Product *q = m->product; q < p; q++)
		if (q->kind == p->kind && strcmp(q->type, p->type) == 0)
			like = q->linear;
	if (hexc_linear_new(&p->linear, m->gpu, w, like, set, p->kind == GATE ? 4 : 2, &o, NULL, why, WHY))
		return host_fail(m->why, name, "%s", why);
	m->nproduct++; /* it is there: model_close frees it */
	m->weight_bytes += hexc_linear_bytes(p->linear);
	for (Product *q = m->product; q < p && !p->call; q++)
		if (hexc_linear_op(q->linear) == hexc_linear_op(p->linear))
			p->call = q->call;
	p->first = !p->call;
	if (p->first && hexc_linear_call(p->linear, &p->call))
		return host_fail(m->why, name, "%s", hexc_gpu_why(m->gpu));
	return true;
}

/* The product with matrix `name`, [n, k].  NULL: m->why. */
static Product *
product(Model *m, Kind kind, const char *name, int64_t n, int64_t k)
{
	Product *p = &m->product[m->nproduct];
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	hexc_weight *quantized, plain;
	void *numbers;
	bool ok = read_matrix(m, name, n, k, &quantized, &plain, &numbers);

	p->kind = kind;
	if (ok && hexc_file_find(m->file, name, &t))
		p->type = t.type;
	ok = ok && plan_product(m, p, name, quantized ? quantized : &plain);
	hexc_weight_free(quantized);
	free(numbers);
	return ok ? p : NULL;
}

/* Rows of which tokens take one each: numbers of act, whatever the file has. */
static bool
load_embedding(Model *m)
{
	static const char name[] = "token_embd.weight";
	const hexc_dtype *act = hexc_dtype_find(m->act);
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	uint64_t n = (uint64_t)m->shape.vocab * (uint64_t)m->shape.hidden;
	hexc_weight *w = NULL;
	float *wide = NULL;
	void *rows = NULL;

	if (hexc_file_find(m->file, name, &t) && t.dtype) {
		rows = host_numbers(m->file, name, m->act, &t, m->why);
	} else if (hexc_weight_load(&w, m->file, name, NULL, m->why, WHY) == HEXC_OK) {
		wide = malloc(n * sizeof *wide);
		rows = malloc(n * 2);
		if (!wide || !rows || hexc_weight_float(w, wide, NULL, m->why, WHY)) {
			host_fail(m->why, name, "out of memory");
			free(rows);
			rows = NULL;
		}
		for (uint64_t i = 0; rows && i < n; i++)
			hexc_put(act, rows, i, (double)wide[i]);
	}
	if (rows)
		m->embedding = host_upload(m->gpu, name, rows, 2 * n, m->why);
	hexc_weight_free(w);
	free(wide);
	free(rows);
	return m->embedding != NULL;
}

static bool
load_layer(Model *m, int number)
{
	const Shape *s = &m->shape;
	Layer *l = &m->layer[number];
	int64_t wide = s->heads * s->width, narrow = s->groups * s->width;
	const struct {
		const char *name;
		Kind kind;
		int64_t n, k;
		Product **to;
	} part[] = {
		{ "attn_q", PLAIN, wide, s->hidden, &l->q },
		{ "attn_k", PLAIN, narrow, s->hidden, &l->k },
		{ "attn_v", PLAIN, narrow, s->hidden, &l->v },
		{ "attn_output", PLAIN, s->hidden, wide, &l->o },
		{ "ffn_gate", GATE, s->inner, s->hidden, &l->gate },
		{ "ffn_up", PLAIN, s->inner, s->hidden, &l->up },
		{ "ffn_down", PLAIN, s->hidden, s->inner, &l->down },
	};
	char name[80];

	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		snprintf(name, sizeof name, "blk.%d.%s.weight", number, part[i].name);
		if (!(*part[i].to = product(m, part[i].kind, name, part[i].n, part[i].k)))
			return false;
	}
	snprintf(name, sizeof name, "blk.%d.attn_norm.weight", number);
	if (!(l->attention_norm = vector(m, name, s->hidden)))
		return false;
	snprintf(name, sizeof name, "blk.%d.ffn_norm.weight", number);
	return (l->inner_norm = vector(m, name, s->hidden)) != NULL;
}

static bool
load_frequencies(Model *m)
{
	static const char name[] = "rope_freqs.weight";
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	if (!hexc_file_find(m->file, name, &t))
		return true;
	if (t.rank != 1 || t.dim[0] != m->shape.turned / 2)
		return host_fail(m->why, name, "it is no vector of %lld numbers: convert the model anew",
		                 (long long)m->shape.turned / 2);
	return (m->slower = host_numbers(m->file, name, "f32", &t, m->why)) != NULL;
}

bool
model_load(Model *m)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	const Shape *s = &m->shape;
	bool tied = !hexc_file_find(m->file, "output.weight", &t);

	m->layer = calloc((size_t)s->layers, sizeof *m->layer);
	m->product = calloc(7 * (size_t)s->layers + 1, sizeof *m->product);
	if (!m->layer || !m->product)
		return host_fail(m->why, "layers", "out of memory");
	if (!load_embedding(m) || !load_frequencies(m) ||
	    !(m->norm = vector(m, "output_norm.weight", s->hidden)))
		return false;
	for (int i = 0; i < s->layers; i++)
		if (!load_layer(m, i))
			return false;
	m->output = product(m, LOGITS, tied ? "token_embd.weight" : "output.weight", s->vocab, s->hidden);
	m->weight_bytes += 2 * (uint64_t)s->hidden + 4 * (uint64_t)(s->hidden * (2 * s->layers + 1));
	return m->output != NULL;
}

void
model_close(Model *m)
{
	for (int i = m->nproduct; i--;)
		if (m->product[i].first)
			hexc_family_call_free(m->product[i].call);
	for (int i = m->nproduct; i--;)
		hexc_linear_free(m->product[i].linear);
	free(m->slower);
	free(m->product);
	free(m->layer);
	hexc_file_close(m->file);
}
