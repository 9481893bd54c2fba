/* attention.c - FLASH_ATTN_EXT. ggml's Q[d, m, h, b] is hexc's Q[b, m, h, d]: queries and heads change
 * places. The mask is added to the scores, which ALiBi's slopes multiply. */
#include "examples/ggml/work.h"

typedef struct Attention {
	View q, k, v, o, mask;
	bool masked, sinks;
	float scale, max_bias, softcap;
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

static bool
is_width(int64_t d)
{
	return d >= 16 && d <= 256 && d % 8 == 0;
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
	if (!view_of(&a->q, op->src[0]) || !cache_of(w, &a->k, op->src[1]) ||
	    !cache_of(w, &a->v, op->src[2]) || !view_of(&a->o, op))
		return false;
	if (a->masked && !view_of(&a->mask, op->src[3]))
		return false;
	swap_heads(&a->q);
	swap_heads(&a->k);
	swap_heads(&a->v);
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
	return is_width(q[3]) && is_width(v[3]) && v[0] == k[0] && v[2] == k[2] && q[2] % k[2] == 0 &&
	       q[0] % k[0] == 0;
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
	set(w, l, "score", "s + exp2(where(h < power, f32(h + 1) * near, f32(2 * (h - power) + 1) * far)) * "
	    "f32(mask[b %% PM, h %% HM, i, j])");
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
}

bool
attention(Work *w, const struct ggml_tensor *op)
{
	Attention a;
	Launch *l;

	if (!read_attention(w, &a, op) || !takes(&a))
		return false;
	l = work_launch(w, "attention");
	set_types(w, l, &a);
	if (a.masked)
		add_mask(w, l, &a);
	else if (a.sinks)
		declare(w, l, "sinks: f32[H]");
	if (a.softcap != 0) {
		set(w, l, "softcap", "%.9g", (double)a.softcap);
	}
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
	arg_rows(w, l, "V", "vbnh", &a.v);
	arg_rows(w, l, "O", "obmh", &a.o);
	arg_float(w, l, "scale", (double)a.scale);
	return true;
}
