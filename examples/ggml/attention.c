/* attention.c - FLASH_ATTN_EXT. ggml's Q[d, m, h, b] is hexc's Q[b, m, h, d]: queries and heads change
 * places. The mask is added to the scores, which ALiBi's slopes multiply. hexc's `decode` computes wide
 * heads, and few queries of many keys: its blocks read keys once for all heads that share them, and several
 * blocks share the keys. */
#include "examples/ggml/work.h"
#include <ggml-backend-impl.h>
#include <string.h>

typedef struct Attention {
	View q, k, v, o, mask;
	bool masked, sinks;
	bool wide;
	bool few;    /* queries of many keys */
	bool latent; /* value j is the first elements of key j, and v is not read */
	float scale, max_bias, softcap;
	int64_t keys;           /* that a block reads at a time */
} Attention;

/* Swaps dims 1 and 2: heads, and queries or keys. */
static void
swap_heads(View *v)
{
	int64_t size = v->size[1], stride = v->stride[1];

	v->size[1] = v->size[2];
	v->stride[1] = v->stride[2];
	v->size[2] = size;
	v->stride[2] = stride;
}

enum { WIDTH_MOST = 256, WIDE_MOST = 576, LATENT_MOST = 512, FEW_QUERIES = 8, FEW_ROWS = 64,
       MANY_KEYS = 512 };

/* Widths of keys and values. */
static bool
are_widths(const Attention *a)
{
	int64_t d = a->q.size[3], dv = a->v.size[3];

	if (d < 16 || dv < 16 || d % 8 != 0 || dv % 8 != 0)
		return false;
	return a->wide ? d <= WIDE_MOST && dv <= LATENT_MOST && dv <= d && (a->latent || d <= LATENT_MOST)
	               : dv <= WIDTH_MOST;
}

/* Do tensors start at the same memory, with the same strides? */
static bool
same_start(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	const struct ggml_tensor *of_a = a->view_src ? a->view_src : a, *of_b = b->view_src ? b->view_src : b;

	return of_a == of_b && a->view_offs == b->view_offs && a->type == b->type &&
	       memcmp(a->nb, b->nb, sizeof a->nb) == 0;
}

/* Will ggml's scheduler copy the tensor to the device, and each view of it by itself? */
static bool
is_elsewhere(const Work *w, const struct ggml_tensor *t)
{
	const struct ggml_tensor *of = t->view_src ? t->view_src : t;

	return of->buffer && of->buffer->buft != w->limits->memory;
}

/* Keys or values; blocks are decoded first. */
static bool
cache_of(Work *w, View *v, const struct ggml_tensor *t)
{
	if (view_of(v, t))
		return true;
	if (!view_of_blocks(v, t))
		return false;
	*v = decode_blocks(w, v, t->ne[0]);
	return true;
}

/* The same values as elements of another type. */
static View
converted(Work *w, const View *v, enum ggml_type type)
{
	View y = scratch_view(w, type, v->size[0], v->size[1], v->size[2], v->size[3]);

	copy_view(w, v, &y);
	return y;
}

static bool
read_attention(Work *w, Attention *a, const struct ggml_tensor *op)
{
	*a = (Attention){
		.masked = op->src[3],
		.sinks = op->src[4],
		.scale = param(op, 0),
		.max_bias = param(op, 1),
		.softcap = param(op, 2),
	};
	a->wide = op->src[0]->ne[0] > WIDTH_MOST;
	a->latent = a->wide && same_start(op->src[1], op->src[2]) && !is_elsewhere(w, op->src[1]);
	if (!view_of(&a->q, op->src[0]) || !cache_of(w, &a->k, op->src[1]) || !view_of(&a->o, op))
		return false;
	a->v = a->k;
	a->v.size[3] = op->src[2]->ne[0];
	if (!a->latent && !cache_of(w, &a->v, op->src[2]))
		return false;
	if (a->v.type != a->k.type && is_float(&a->v) && is_float(&a->k))
		a->v = converted(w, &a->v, a->k.type);
	if (a->masked && !view_of(&a->mask, op->src[3]))
		return false;
	swap_heads(&a->q);
	swap_heads(&a->k);
	swap_heads(&a->v);
	a->few = !a->wide && a->k.size[1] >= MANY_KEYS && a->q.size[1] <= FEW_QUERIES &&
	         a->q.size[1] * a->q.size[2] <= FEW_ROWS * a->k.size[2];
	return true;
}

/* Sizes and types that hexc's `attention` takes. */
static bool
takes(const Attention *a)
{
	const int64_t *q = a->q.size, *k = a->k.size, *v = a->v.size;

	if (!is_float(&a->q) || !is_float(&a->k) || a->k.type != a->v.type || !is_float(&a->o) ||
	    !is_row(&a->q) || !is_row(&a->k) || !is_row(&a->v) || !is_row(&a->o))
		return false;
	if (a->masked && (!is_row(&a->mask) || a->mask.type != GGML_TYPE_F16 || a->mask.size[2] < q[1]))
		return false;
	if (a->wide && a->k.type == GGML_TYPE_F32) /* too much shared memory */
		return false;
	return are_widths(a) && v[0] == k[0] && v[2] == k[2] && q[2] % k[2] == 0 &&
	       q[0] % k[0] == 0;
}

/* Shared memory of a block: its queries, two stages of keys and values, and for each query numbers that warps
 * exchange. */
static int64_t
shared_bytes(const Attention *a, int64_t queries, int64_t keys)
{
	enum { EXCHANGED = 128, STAGES = 2, ROUNDED = 2 };
	int64_t d = a->q.size[3], of_key = a->latent ? d : d + a->v.size[3];

	return queries * (d * ROUNDED + (a->wide || a->few ? EXCHANGED : 0)) +
	       STAGES * keys * of_key * (int64_t)ggml_type_size(a->k.type);
}

/* Sets a->keys to the most with which the kernels have enough shared memory: those of up to 64 queries, or of
 * 16 with wide heads, which read 16 keys. Returns false if none has. */
static bool
choose_keys(Attention *a, const Limits *limits)
{
	int64_t queries = a->wide ? 16 : 64;

	a->keys = a->wide ? 16 : a->q.size[3] > 128 ? 32 : 64;
	while (a->keys > 16 && shared_bytes(a, queries, a->keys) > limits->shared)
		a->keys /= 2;
	return shared_bytes(a, queries, a->keys) <= limits->shared;
}

/* The mask's part of the score. */
static void
add_mask(Work *w, Launch *l, const Attention *a)
{
	double slope[3];

	alibi(a->max_bias, a->q.size[2], slope);
	declare(w, l,
	    "mask: f16[PM, HM, MM, N] strides [mb, mh, mm, 1], power: i64, near: f32, far: f32%s",
	        a->sinks ? ", sinks: f32[H]" : "");
	set(w, l, "score",
	    "s + exp2(where(i64(h) < power, f32(h + 1) * near, f32(2 * (i64(h) - power) + 1) * far)) * "
	    "f32(mask[b %% PM, i64(h) %% HM, i, j])");
	arg_pointer(w, l, "mask", a->mask.data);
	arg_int(w, l, "PM", a->mask.size[0]);
	arg_int(w, l, "HM", a->mask.size[1]);
	arg_int(w, l, "MM", a->mask.size[2]);
	arg_int(w, l, "mb", a->mask.stride[0]);
	arg_int(w, l, "mh", a->mask.stride[1]);
	arg_int(w, l, "mm", a->mask.stride[2]);
	arg_int(w, l, "power", (int64_t)slope[0]);
	arg_float(w, l, "near", slope[1]);
	arg_float(w, l, "far", slope[2]);
}

static void
set_types(Work *w, Launch *l, const Attention *a)
{
	set(w, l, "strided", "1");
	set(w, l, "IN", "%s", type_name(a->q.type));
	set(w, l, "OUT", "%s", type_name(a->o.type));
	set(w, l, "KV", "%s", type_name(a->k.type));
	set(w, l, "ACT", "%s", a->k.type == GGML_TYPE_BF16 ? "bf16" : "f16");
	set(w, l, "D", "%d", (int)a->q.size[3]);
	set(w, l, "DV", "%d", (int)a->v.size[3]);
	if (a->few)
		set(w, l, "STAGES", "2");
	if (!a->wide)
		set(w, l, "BN", "%d", (int)a->keys);
}

bool
attention(Work *w, const struct ggml_tensor *op)
{
	Attention a;
	Launch *l;

	if (!read_attention(w, &a, op) || !takes(&a) || !choose_keys(&a, w->limits))
		return false;
	l = work_launch(w, a.wide || a.few ? "decode" : "attention");
	set_types(w, l, &a);
	if (a.masked)
		add_mask(w, l, &a);
	else if (a.sinks)
		declare(w, l, "sinks: f32[H]");
	if (a.softcap != 0)
		set(w, l, "softcap", "%.9g", (double)a.softcap);
	if (a.sinks) {
		set(w, l, "sink", "sinks[h]");
		arg_pointer(w, l, "sinks", op->src[4]->data);
	}
	arg_int(w, l, "B", a.q.size[0]);
	arg_int(w, l, "M", a.q.size[1]);
	arg_int(w, l, "H", a.q.size[2]);
	arg_int(w, l, "BK", a.k.size[0]);
	arg_int(w, l, "N", a.k.size[1]);
	arg_int(w, l, "HK", a.k.size[2]);
	arg_rows(w, l, "Q", "qbmh", &a.q);
	arg_rows(w, l, "K", "kbnh", &a.k);
	if (a.latent)
		set(w, l, "latent", "1");
	else
		arg_rows(w, l, "V", "vbnh", &a.v);
	arg_rows(w, l, "O", "obmh", &a.o);
	arg_float(w, l, "scale", (double)a.scale);
	return true;
}
