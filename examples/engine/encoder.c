/* encoder.c - the encoder: its operators, its layers as a plan, and what a run of it is.
 *
 * A layer, of rows x that are the tokens of all sentences, each sentence padded to the longest:
 *
 *	q, k, v = x Wq^T + bq, ..        x = norm(x + attention(q, k, v) Wo^T + bo)
 *	                                 x = norm(x + gelu(x Wi^T + bi) Wd^T + bd)
 */
#include "examples/engine/engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 48, PER_LAYER = 8, NODES = 3 + PER_LAYER * LAYERS_MAX, ARGS = 8 };
enum { IDS = 1, PLACES, LENGTHS, FIRST }; /* buffers: what the host gives; then those of the plan */

/* An operator with its arguments: one node of the plan. */
typedef struct Node {
	hexc_family_call *call;
	uint32_t id, space; /* in the plan: the node, and its workspace */
	uint64_t bytes;     /* of that */
	struct {
		int param;
		uint32_t buffer;
	} arg[ARGS];
	int narg;
} Node;

/* Rows of a size: bytes of a token or of a sentence. */
typedef struct Buffer {
	uint32_t id;
	uint64_t row;
} Buffer;

struct Encoder {
	hexc_gpu *gpu;
	Vocab *vocab;
	Weights w;
	const EncoderOpts *opts;
	hexc_op *embed, *place, *norm, *attention;
	hexc_linear *linear[4 * LAYERS_MAX + 2 * LAYERS_MAX];
	int nlinear;
	Node node[NODES];
	int nnode;
	Buffer buffer[FIRST + 7 * LAYERS_MAX + 8];
	int nbuffer;
	uint32_t last; /* the buffer of the result */
	hexc_plan *plan;
	void *given[FIRST]; /* device memory of IDS, PLACES, LENGTHS */
	int64_t rows, length; /* that there is memory for; of the last run */
	void *memory;
	void *stream[16];
	hexc_plan_info info;
	char why[WHY];
};

static bool
fail(Encoder *e, const char *what, const char *why)
{
	if (!*e->why)
		snprintf(e->why, WHY, "%.100s: %.390s", what, why);
	return false;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static uint32_t
new_buffer(Encoder *e, uint64_t row)
{
	Buffer *b = &e->buffer[e->nbuffer++];

	b->row = row;
	hexc_plan_buffer(e->plan, row, &b->id);
	return b->id;
}

static int
launch(void *user, void *stream)
{
	return hexc_family_call_launch(((Node *)user)->call, stream);
}

/* `us`: a guess of how long it takes, for the order. */
static Node *
new_node(Encoder *e, const char *name, double us, hexc_family_call *call)
{
	Node *n = &e->node[e->nnode++];
	hexc_plan_work work = HEXC_PLAN_WORK_INIT;

	work.name = name;
	work.us = us;
	work.fill = 0.5;
	work.launch = launch;
	work.user = n;
	n->call = call;
	hexc_plan_node(e->plan, &work, &n->id);
	n->space = new_buffer(e, 0);
	hexc_plan_use(e->plan, n->id, n->space, HEXC_PLAN_WRITE);
	return n;
}

static Node *
new_call(Encoder *e, const char *name, double us, const hexc_op *op)
{
	hexc_family_call *call;

	if (hexc_family_call_new(&call, e->gpu, hexc_op_family(op))) {
		fail(e, name, hexc_gpu_why(e->gpu));
		return NULL;
	}
	return new_node(e, name, us, call);
}

/* Argument `name` is a buffer: read, or written. */
static void
use(Encoder *e, Node *n, const char *name, uint32_t buffer, uint32_t how)
{
	n->arg[n->narg].param = hexc_family_call_find(n->call, name);
	n->arg[n->narg++].buffer = buffer;
	hexc_plan_use(e->plan, n->id, buffer, how);
}

static void
give_int(Node *n, const char *name, int64_t x)
{
	int i = hexc_family_call_find(n->call, name);

	if (i >= 0)
		hexc_family_call_int(n->call, i, x);
}

/* Argument `name` is a tensor of the model. */
static bool
give(Encoder *e, Node *n, const char *name, const char *type, const char *tensor, ...)
{
	char full[200];
	uint64_t bytes;
	va_list ap;
	void *dev;

	va_start(ap, tensor);
	vsnprintf(full, sizeof full, tensor, ap);
	va_end(ap);
	dev = weights_tensor(&e->w, full, type, &bytes);
	if (!dev)
		return fail(e, full, e->w.why);
	hexc_family_call_ptr(n->call, hexc_family_call_find(n->call, name), dev, bytes);
	return true;
}

/* ---- products ----------------------------------------------------------------------------------- */

/* What comes behind a product, and a weight whose kernels others of the kind share. */
typedef struct Kind {
	hexc_op_set set[3];
	const hexc_linear *like;
} Kind;

/* The matrix as it is in the file, or quantized. */
static bool
take_matrix(Encoder *e, const char *name, hexc_weight **quantized, hexc_weight *plain)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

	*quantized = NULL;
	if (e->opts->format) {
		*quantized = weights_quantized(&e->w, name, e->opts->format);
		return *quantized || fail(e, name, e->w.why);
	}
	if (!hexc_file_find(e->w.file, name, &t) || t.rank != 2 || !t.dtype)
		return fail(e, name, "the model has no such matrix");
	plain->n = t.dim[0];
	plain->k = t.dim[1];
	plain->plane[HEXC_PLANE_CODE] = (hexc_plane){ t.dtype, t.dim[0], t.dim[1], t.dim[1],
		(void *)(uintptr_t)t.data, t.bytes };
	return true;
}

static Node *
product(Encoder *e, Kind *kind, uint32_t from, uint32_t to, const char *prefix)
{
	hexc_weight *q, plain = HEXC_WEIGHT_INIT;
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_linear **l = &e->linear[e->nlinear];
	hexc_family_call *call;
	char name[200];
	Node *n;
	int code;

	snprintf(name, sizeof name, "%s.weight", prefix);
	if (!take_matrix(e, name, &q, &plain))
		return NULL;
	o.cache = e->opts->cache;
	code = hexc_linear_new(l, e->gpu, q ? q : &plain, kind->like, kind->set, 3, &o, NULL, e->w.why, WHY);
	hexc_weight_free(q);
	if (code || hexc_linear_call(*l, &call)) {
		fail(e, name, code ? e->w.why : hexc_gpu_why(e->gpu));
		return NULL;
	}
	kind->like = kind->like ? kind->like : *l;
	e->nlinear++;
	n = new_node(e, "product", 4, call);
	use(e, n, "A", from, HEXC_PLAN_READ);
	use(e, n, "C", to, HEXC_PLAN_WRITE);
	return give(e, n, "bias", "f32", "%s.bias", prefix) ? n : NULL;
}

/* ---- layers ------------------------------------------------------------------------------------- */

static hexc_op *
plan_op(Encoder *e, const char *name, const hexc_op_set *set, size_t n)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_op *op;
	char why[WHY];

	hexc_gpu_describe(e->gpu, &info);
	o.arch = info.arch;
	o.cache = e->opts->cache;
	if (hexc_op_plan(&op, name, set, n, &o, why, sizeof why))
		fail(e, name, why);
	return op;
}

static bool
plan_ops(Encoder *e)
{
	char width[20];
	hexc_op_set embed[] = { { "IN", "f16" }, { "OUT", "f32" },
		{ "tensors", "place: f32[M, N], kind: f32[N]" }, { "epilogue", "x + place[m, n] + kind[n]" } };
	hexc_op_set norm[] = { { "IN", "f32" }, { "OUT", "f16" }, { "CENTER", "1" },
		{ "tensors", "gain: f32[N], bias: f32[N]" }, { "epilogue", "x * gain[n] + bias[n]" } };
	hexc_op_set attention[] = { { "ACT", "f16" }, { "D", width }, { "lengths", "1" } };

	snprintf(width, sizeof width, "%d", (int)(e->w.shape.hidden / e->w.shape.heads));
	e->place = plan_op(e, "embedding", embed, 2);
	e->embed = plan_op(e, "embedding", embed, 4);
	e->norm = plan_op(e, "norm", norm, 5);
	e->attention = plan_op(e, "attention", attention, 3);
	return e->place && e->embed && e->norm && e->attention;
}

/* norm(`from`), with the gain and bias of `prefix`. */
static uint32_t
add_norm(Encoder *e, uint32_t from, const char *prefix)
{
	uint32_t to = new_buffer(e, 2 * (uint64_t)e->w.shape.hidden);
	Node *n = new_call(e, "norm", 2, e->norm);

	if (!n || !give(e, n, "gain", "f32", "%s.weight", prefix) || !give(e, n, "bias", "f32", "%s.bias", prefix))
		return 0;
	hexc_family_call_float(n->call, hexc_family_call_find(n->call, "eps"), e->w.shape.eps);
	give_int(n, "N", e->w.shape.hidden);
	use(e, n, "X", from, HEXC_PLAN_READ);
	use(e, n, "Y", to, HEXC_PLAN_WRITE);
	return to;
}

static uint32_t
add_embedding(Encoder *e)
{
	uint64_t row = 4 * (uint64_t)e->w.shape.hidden;
	uint32_t place = new_buffer(e, row), sum = new_buffer(e, row);
	Node *n = new_call(e, "places", 2, e->place);

	if (!n || !give(e, n, "E", "f16", "embeddings.position_embeddings.weight"))
		return 0;
	give_int(n, "V", e->w.shape.positions);
	give_int(n, "N", e->w.shape.hidden);
	use(e, n, "I", e->buffer[PLACES].id, HEXC_PLAN_READ);
	use(e, n, "Y", place, HEXC_PLAN_WRITE);
	n = new_call(e, "embedding", 2, e->embed);
	if (!n || !give(e, n, "E", "f16", "embeddings.word_embeddings.weight") ||
	    !give(e, n, "kind", "f32", "embeddings.token_type_embeddings.weight"))
		return 0;
	{
		hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;

		hexc_file_find(e->w.file, "embeddings.word_embeddings.weight", &t);
		give_int(n, "V", t.dim[0]);
	}
	give_int(n, "N", e->w.shape.hidden);
	use(e, n, "I", e->buffer[IDS].id, HEXC_PLAN_READ);
	use(e, n, "place", place, HEXC_PLAN_READ);
	use(e, n, "Y", sum, HEXC_PLAN_WRITE);
	return add_norm(e, sum, "embeddings.LayerNorm");
}

static bool
add_attention(Encoder *e, const uint32_t in[3], uint32_t out)
{
	static const char *const name[] = { "Q", "K", "V" };
	double width = (double)e->w.shape.hidden / (double)e->w.shape.heads;
	Node *n = new_call(e, "attention", 6, e->attention);

	if (!n)
		return false;
	for (int i = 0; i < 3; i++)
		use(e, n, name[i], in[i], HEXC_PLAN_READ);
	use(e, n, "L", e->buffer[LENGTHS].id, HEXC_PLAN_READ);
	use(e, n, "O", out, HEXC_PLAN_WRITE);
	give_int(n, "H", e->w.shape.heads);
	give_int(n, "HK", e->w.shape.heads);
	return hexc_family_call_float(n->call, hexc_family_call_find(n->call, "scale"), 1 / sqrt(width)) ==
	       HEXC_OK;
}

/* A layer of x; what it makes, 0: e->why. */
static uint32_t
add_layer(Encoder *e, int layer, uint32_t x, Kind kind[3])
{
	static const char *const part[] = { "query", "key", "value" };
	uint64_t row = 2 * (uint64_t)e->w.shape.hidden;
	uint32_t qkv[3], o, sum, wide;
	char prefix[120];
	Node *n;

	for (int i = 0; i < 3; i++) {
		qkv[i] = new_buffer(e, row);
		snprintf(prefix, sizeof prefix, "encoder.layer.%d.attention.self.%s", layer, part[i]);
		if (!product(e, &kind[0], x, qkv[i], prefix))
			return 0;
	}
	o = new_buffer(e, row);
	if (!add_attention(e, qkv, o))
		return 0;
	sum = new_buffer(e, 2 * row);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.attention.output.dense", layer);
	if (!(n = product(e, &kind[1], o, sum, prefix)))
		return 0;
	use(e, n, "R", x, HEXC_PLAN_READ);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.attention.output.LayerNorm", layer);
	if (!(x = add_norm(e, sum, prefix)))
		return 0;
	wide = new_buffer(e, 2 * (uint64_t)e->w.shape.inner);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.intermediate.dense", layer);
	if (!product(e, &kind[2], x, wide, prefix))
		return 0;
	sum = new_buffer(e, 2 * row);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.output.dense", layer);
	if (!(n = product(e, &kind[1], wide, sum, prefix)))
		return 0;
	use(e, n, "R", x, HEXC_PLAN_READ);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.output.LayerNorm", layer);
	return add_norm(e, sum, prefix);
}

static bool
add_all(Encoder *e)
{
	Kind kind[3] = {
		{ { { "OUT", "f16" }, { "tensors", "bias: f32[N]" }, { "epilogue", "x + bias[n]" } }, NULL },
		{ { { "OUT", "f32" }, { "tensors", "bias: f32[N], R: f16[M, N]" },
		    { "epilogue", "x + bias[n] + R[m, n]" } }, NULL },
		{ { { "OUT", "f16" }, { "tensors", "bias: f32[N]" }, { "epilogue", "gelu(x + bias[n])" } }, NULL },
	};
	uint32_t x = add_embedding(e);

	for (int i = 0; i < e->w.shape.layers && x; i++)
		x = add_layer(e, i, x, kind);
	e->last = x;
	return x && (hexc_plan_solve(e->plan) == HEXC_OK || fail(e, "plan", hexc_plan_why(e->plan)));
}

/* ---- made and freed ------------------------------------------------------------------------------ */

static bool
start(Encoder *e, const char *dir)
{
	hexc_plan_opts p = HEXC_PLAN_OPTS_INIT;
	char path[1000];

	snprintf(path, sizeof path, "%s/vocab.txt", dir);
	if (!(e->vocab = vocab_open(path)))
		return fail(e, path, "that is no vocabulary of word pieces");
	if (hexc_gpu_open(&e->gpu, e->opts->device, e->w.why, WHY) ||
	    !weights_open(&e->w, e->gpu, dir))
		return fail(e, dir, e->w.why);
	if (e->w.shape.layers > LAYERS_MAX)
		return fail(e, dir, "it has too many layers");
	p.streams = e->opts->streams;
	p.gpu = e->gpu;
	if (hexc_plan_new(&e->plan, &p))
		return fail(e, "plan", "out of memory");
	for (uint32_t s = 0; s < e->opts->streams; s++)
		if (hexc_stream_new(&e->stream[s], e->gpu))
			return fail(e, "stream", hexc_gpu_why(e->gpu));
	for (e->nbuffer = IDS; e->nbuffer < FIRST; e->nbuffer++)
		hexc_plan_outside(e->plan, NULL, 0, &e->buffer[e->nbuffer].id);
	return plan_ops(e) && add_all(e);
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
			give_int(n, "B", sentences);
			give_int(n, "M", length);
			give_int(n, "N", length);
		} else {
			give_int(n, "M", rows);
		}
		if (hexc_family_call_line(n->call, NULL, &n->bytes))
			return fail(e, "sizes", hexc_family_call_why(n->call));
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
			return fail(e, "memory", hexc_gpu_why(e->gpu));
		hexc_plan_set_bytes(e->plan, e->buffer[i].id, 4 * (uint64_t)rows);
		hexc_plan_set_ptr(e->plan, e->buffer[i].id, e->given[i]);
	}
	e->info = (hexc_plan_info)HEXC_PLAN_INFO_INIT;
	if (hexc_plan_refit(e->plan) || !hexc_plan_describe(e->plan, &e->info) ||
	    hexc_gpu_alloc(e->gpu, e->info.bytes, &e->memory) ||
	    hexc_plan_bind(e->plan, e->memory, e->info.bytes))
		return fail(e, "plan", *hexc_plan_why(e->plan) ? hexc_plan_why(e->plan) : hexc_gpu_why(e->gpu));
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
	int32_t *place = malloc(sizeof *place * (size_t)rows);
	uint16_t *result = malloc((size_t)rows * (size_t)width * 2);
	bool ok = place && result;

	for (int i = 0; i < rows && ok; i++)
		place[i] = i % longest;
	if (!ok)
		fail(e, "memory", "there is not enough");
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
			fail(e, "tokens", hexc_gpu_why(e->gpu));
	}
	if (ok && hexc_plan_launch(e->plan, e->stream, e->opts->streams)) {
		ok = fail(e, "launch", hexc_plan_why(e->plan));
	} else if (ok && (hexc_gpu_wait(e->gpu) ||
	                  hexc_gpu_read(e->gpu, result, address(e, e->last), (uint64_t)rows * (uint64_t)width * 2))) {
		ok = fail(e, "run", hexc_gpu_why(e->gpu));
	}
	for (int i = 0; i < n && ok; i++)
		pool(result + (size_t)i * (size_t)longest * (size_t)width, length[i], width, out + (size_t)i * (size_t)width);
	free(result);
	free(place);
	return ok;
}

bool
encoder_run(Encoder *e, const char *const *sentence, int n, float *out)
{
	int room = e->w.shape.positions < TOKENS_MAX ? (int)e->w.shape.positions : TOKENS_MAX, longest = 1;
	int32_t *all = calloc((size_t)n * (size_t)room, sizeof *all), *length = calloc((size_t)n, sizeof *length);
	bool ok = all && length;

	*e->why = 0;
	for (int i = 0; i < n && ok; i++) {
		length[i] = vocab_tokens(e->vocab, sentence[i], all + (size_t)i * (size_t)room, room);
		longest = length[i] > longest ? length[i] : longest;
	}
	for (int i = 1; i < n && ok; i++) /* side by side; behind the end [PAD], token 0 */
		memmove(all + (size_t)i * (size_t)longest, all + (size_t)i * (size_t)room,
		        sizeof *all * (size_t)longest);
	ok = ok ? run_tokens(e, all, length, n, longest, out) : fail(e, "memory", "there is not enough");
	free(length);
	free(all);
	return ok;
}
