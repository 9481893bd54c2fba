/* indexer.c - LIGHTNING_INDEXER: which keys a query's heads find, weighted. ggml's q[d, h, m, p],
 * k[d, 1, n, p], weights[h, m, 1, p] and dst[n, m, 1, p] are hexc's Q[p, m, h, d], K[p, n, d], W[p, m, h]
 * and Y[p, m, n]. */
#include "examples/ggml/work.h"

typedef struct Indexer {
	View q, k, weights, mask, y;
	bool blocks; /* k is in blocks */
} Indexer;

static bool
read_indexer(Indexer *x, const struct ggml_tensor *op)
{
	x->blocks = view_of_blocks(&x->k, op->src[1]);
	return view_of(&x->q, op->src[0]) && (x->blocks || view_of(&x->k, op->src[1])) &&
	       view_of(&x->weights, op->src[2]) && view_of(&x->mask, op->src[3]) && view_of(&x->y, op);
}

/* Sizes and types that hexc's `indexer` takes. */
static bool
takes(const Indexer *x)
{
	int64_t width = x->q.size[3];

	return is_float(&x->q) && (x->blocks || is_float(&x->k)) && x->weights.type == GGML_TYPE_F32 &&
	       x->mask.type == GGML_TYPE_F16 && is_float(&x->y) && is_row(&x->q) && is_row(&x->k) &&
	       is_row(&x->weights) && is_row(&x->mask) && is_row(&x->y) && width % 16 == 0 && width <= 256;
}

/* Blocks are decoded on their way to shared memory. Numbers with the range of f32 are rounded to tf32. */
static void
set_keys(Work *w, Launch *l, const Indexer *x)
{
	set(w, l, "ACT", "%s", x->blocks || x->k.type == GGML_TYPE_F16 ? "f16" : "tf32");
	if (x->blocks) {
		set(w, l, "key", "%s", block_value(w, x->k.type, "k8[p, row", "col"));
		declare(w, l, "k8: u8[P, N, NW] strides [kp, kn, 1]");
		arg_int(w, l, "NW", x->k.size[3]);
	} else {
		set(w, l, "KEY", "%s", type_name(x->k.type));
	}
	arg_pointer(w, l, x->blocks ? "k8" : "K", x->k.data);
	arg_int(w, l, "kp", x->k.stride[0]);
	arg_int(w, l, "kn", x->k.stride[1]);
}

/* The mask is added to the sum. */
static void
add_mask(Work *w, Launch *l, const View *mask)
{
	set(w, l, "epilogue", "x + mask[p %% PM, m, n]");
	declare(w, l, "mask: f16[PM, M, N] strides [mp, mm, 1]");
	arg_pointer(w, l, "mask", mask->data);
	arg_int(w, l, "PM", mask->size[0]);
	arg_int(w, l, "mp", mask->stride[0]);
	arg_int(w, l, "mm", mask->stride[2]);
}

bool
indexer(Work *w, const struct ggml_tensor *op)
{
	Indexer x;
	Launch *l;

	if (!read_indexer(&x, op) || !takes(&x))
		return false;
	l = work_launch(w, "indexer");
	set(w, l, "IN", "%s", type_name(x.q.type));
	set(w, l, "OUT", "%s", type_name(x.y.type));
	set(w, l, "D", "%d", (int)x.q.size[3]);
	set_keys(w, l, &x);
	add_mask(w, l, &x.mask);
	arg_int(w, l, "P", x.q.size[0]);
	arg_int(w, l, "M", x.q.size[1]);
	arg_int(w, l, "H", x.q.size[2]);
	arg_int(w, l, "N", x.k.size[1]);
	arg_pointer(w, l, "Q", x.q.data);
	arg_int(w, l, "qp", x.q.stride[0]);
	arg_int(w, l, "qm", x.q.stride[1]);
	arg_int(w, l, "qh", x.q.stride[2]);
	arg_pointer(w, l, "W", x.weights.data);
	arg_int(w, l, "wp", x.weights.stride[0]);
	arg_int(w, l, "wm", x.weights.stride[2]);
	arg_pointer(w, l, "Y", x.y.data);
	arg_int(w, l, "yp", x.y.stride[0]);
	arg_int(w, l, "ym", x.y.stride[2]);
	return true;
}
