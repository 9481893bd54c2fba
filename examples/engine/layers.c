/* layers.c - builds the encoder's layers: operators, their weights, and the plan whose nodes they are.
 *
 * A layer, with rows x for the tokens of all sentences, each sentence padded to the longest:
 *
 *	q, k, v = x Wq^T + bq, ..        x = norm(x + attention(q, k, v) Wo^T + bo)
 *	                                 x = norm(x + gelu(x Wi^T + bi) Wd^T + bd)
 */
#include "examples/engine/encoder.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
		encoder_fail(e, name, hexc_gpu_why(e->gpu));
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

void
node_int(Node *n, const char *name, int64_t x)
{
	int i = hexc_family_call_find(n->call, name);

	if (i >= 0)
		hexc_family_call_int(n->call, i, x);
}

/* Argument `name` is a tensor of the model. */
static bool __attribute__((format(printf, 5, 6)))
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
		return encoder_fail(e, full, e->w.why);
	hexc_family_call_ptr(n->call, hexc_family_call_find(n->call, name), dev, bytes);
	return true;
}

/* ---- products ----------------------------------------------------------------------------------- */

/* What comes behind a product, and a weight whose kernels others of the kind share. */
typedef struct Kind {
	hexc_op_set set[3];
	const hexc_linear *like;
} Kind;

static Node *
product(Encoder *e, Kind *kind, uint32_t from, uint32_t to, const char *prefix)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_linear **l = &e->linear[e->nlinear];
	hexc_family_call *call;
	char name[200];
	Matrix matrix;
	Node *n;
	int code;

	snprintf(name, sizeof name, "%s.weight", prefix);
	o.cache = e->opts->cache;
	code = !weights_matrix(&e->w, name, e->opts->format, e->opts->widen, &matrix) ||
	       hexc_linear_new(l, e->gpu, weights_of(&matrix), kind->like, kind->set, 3, &o, NULL, e->w.why,
	                       WHY);
	weights_drop(&matrix);
	if (code || hexc_linear_call(*l, &call)) {
		encoder_fail(e, name, code ? e->w.why : hexc_gpu_why(e->gpu));
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
	char why[WHY] = "";
	hexc_op *op = host_op(e->gpu, e->opts->cache, name, set, n, why);

	if (!op && !*e->why)
		memcpy(e->why, why, WHY);
	return op;
}

static bool
plan_ops(Encoder *e)
{
	char width[20];
	hexc_op_set embed[] = { { "IN", "f16" }, { "OUT", "f32" },
		{ "tensors", "place: f32[M, N], kind: f32[N]" },
		{ "epilogue", "x + place[m, n] + kind[n]" } };
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

	if (!n || !give(e, n, "gain", "f32", "%s.weight", prefix) ||
	    !give(e, n, "bias", "f32", "%s.bias", prefix))
		return 0;
	hexc_family_call_float(n->call, hexc_family_call_find(n->call, "eps"), e->w.shape.eps);
	node_int(n, "N", e->w.shape.hidden);
	use(e, n, "X", from, HEXC_PLAN_READ);
	use(e, n, "Y", to, HEXC_PLAN_WRITE);
	return to;
}

static uint32_t
add_embedding(Encoder *e)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	uint64_t row = 4 * (uint64_t)e->w.shape.hidden;
	uint32_t place = new_buffer(e, row), sum = new_buffer(e, row);
	Node *n = new_call(e, "places", 2, e->place);

	if (!n || !give(e, n, "E", "f16", "embeddings.position_embeddings.weight"))
		return 0;
	node_int(n, "V", e->w.shape.positions);
	node_int(n, "N", e->w.shape.hidden);
	use(e, n, "I", e->buffer[PLACES].id, HEXC_PLAN_READ);
	use(e, n, "Y", place, HEXC_PLAN_WRITE);
	n = new_call(e, "embedding", 2, e->embed);
	if (!n || !give(e, n, "E", "f16", "embeddings.word_embeddings.weight") ||
	    !give(e, n, "kind", "f32", "embeddings.token_type_embeddings.weight"))
		return 0;
	hexc_file_find(e->w.file, "embeddings.word_embeddings.weight", &t);
	node_int(n, "V", t.dim[0]);
	node_int(n, "N", e->w.shape.hidden);
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
	node_int(n, "H", e->w.shape.heads);
	node_int(n, "HK", e->w.shape.heads);
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
	use(e, n, "residual", x, HEXC_PLAN_READ);
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
	use(e, n, "residual", x, HEXC_PLAN_READ);
	snprintf(prefix, sizeof prefix, "encoder.layer.%d.output.LayerNorm", layer);
	return add_norm(e, sum, prefix);
}

bool
encoder_layers(Encoder *e)
{
	Kind kind[3] = {
		{ { { "OUT", "f16" }, { "tensors", "bias: f32[N]" }, { "epilogue", "x + bias[n]" } }, NULL },
		{ { { "OUT", "f32" }, { "tensors", "bias: f32[N], residual: f16[M, N]" },
		    { "epilogue", "x + bias[n] + residual[m, n]" } }, NULL },
		{ { { "OUT", "f16" }, { "tensors", "bias: f32[N]" }, { "epilogue", "gelu(x + bias[n])" } },
		  NULL },
	};
	uint32_t x = plan_ops(e) ? add_embedding(e) : 0;

	for (int i = 0; i < e->w.shape.layers && x; i++)
		x = add_layer(e, i, x, kind);
	e->last = x;
	return x && (hexc_plan_solve(e->plan) == HEXC_OK || encoder_fail(e, "plan", hexc_plan_why(e->plan)));
}
