/* streams.c - hyper-connections: DSV4_HC_PRE makes one of a layer's residual streams, and DSV4_HC_POST
 * several of one, by the matrices of DSV4_HC_COMB. There are few streams, so that the sum over them is
 * written out as an expression of hexc's `compute`. */
#include "examples/ggml/work.h"

enum { STREAMS_MOST = 8 };

/* Declares an f32 tensor of four dims: its name is the letter of its strides. Returns false if it is none. */
static bool
read_tensor(Work *w, Launch *l, char letter, const struct ggml_tensor *t)
{
	View v;

	if (!view_of(&v, t) || v.type != GGML_TYPE_F32)
		return false;
	declare(w, l, "%c: f32[P%c, Q%c, M%c, N%c] strides [%cp, %cq, %cm, %cn]", letter, letter, letter,
	        letter, letter, letter, letter, letter, letter);
	arg_sizes(w, l, &v, text(w, "%c", letter));
	arg_view(w, l, text(w, "%c", letter), letter, &v);
	return true;
}

static Launch *
start(Work *w, const struct ggml_tensor *op)
{
	Launch *l = work_launch(w, "compute");
	View y;

	if (!view_of(&y, op))
		w->failed = true;
	set(w, l, "OUT", "f32");
	arg_sizes(w, l, &y, "");
	arg_view(w, l, "Y", 'y', &y);
	return l;
}

/* y[t, n] = sum_h x[t, h, n] w[t, h]; gated: scale * sum_h x[t, h, n] sigmoid(w[t, h, n]). */
bool
join_streams(Work *w, const struct ggml_tensor *op)
{
	bool gated = op->op_params[1];
	int64_t streams = op->src[0]->ne[1];
	Launch *l = start(w, op);
	const char *sum = "0";

	if (streams > STREAMS_MOST || !read_tensor(w, l, 'x', op->src[0]) ||
	    !read_tensor(w, l, 'w', op->src[1]))
		return false;
	for (int h = 0; h < (int)streams; h++)
		sum = gated ? text(w, "%s + x[0, m, %d, n] * sigmoid(w[0, m, %d, n])", sum, h, h)
		            : text(w, "%s + x[0, m, %d, n] * w[0, 0, m, %d]", sum, h, h);
	set(w, l, "value", "(%s) * scale", sum);
	declare(w, l, "scale: f32");
	arg_float(w, l, "scale", gated ? (double)param(op, 0) : 1); /* older versions of ggml set none */
	return true;
}

/* y[t, i, n] = x[t, n] g[t, i] + sum_h r[t, h, n] c[t, h, i]; without c: + r[t, i, n]. */
bool
split_streams(Work *w, const struct ggml_tensor *op)
{
	int64_t streams = op->ne[1];
	Launch *l = start(w, op);
	const char *sum = "x[0, 0, q, n] * g[0, 0, q, m]";

	if (streams > STREAMS_MOST || !read_tensor(w, l, 'x', op->src[0]) ||
	    !read_tensor(w, l, 'r', op->src[1]) || !read_tensor(w, l, 'g', op->src[2]) ||
	    (op->src[3] && !read_tensor(w, l, 'c', op->src[3])))
		return false;
	for (int h = 0; h < (int)streams && op->src[3]; h++)
		sum = text(w, "%s + r[0, q, %d, n] * c[0, q, %d, m]", sum, h, h);
	set(w, l, "value", op->src[3] ? "%s" : "%s + r[0, q, m, n]", sum);
	return true;
}

/* Matrices [streams, streams] of a token, behind 2 * streams other elements: scaled, moved, normalized. */
bool
mix_streams(Work *w, const struct ggml_tensor *op)
{
	int64_t streams = op->ne[0], behind = 2 * streams;
	View x, y, scale, base;
	Launch *l = work_launch(w, "sinkhorn");

	if (streams > STREAMS_MOST || !view_of(&x, op->src[0]) || !view_of(&scale, op->src[1]) ||
	    !view_of(&base, op->src[2]) || !view_of(&y, op) || !is_row(&x) || !is_row(&y))
		return false;
	set(w, l, "R", "%d", (int)streams);
	set(w, l, "input", "x * scale[2] + base[%d + i * %d + j]", (int)behind, (int)streams);
	declare(w, l, "scale: f32[NS] strides [sn], base: f32[NB] strides [bn]");
	arg_int(w, l, "M", y.size[1]);
	arg_pointer(w, l, "X", x.data ? (float *)x.data + behind : NULL);
	arg_int(w, l, "xm", x.stride[2]);
	arg_int(w, l, "xr", streams);
	arg_pointer(w, l, "scale", scale.data);
	arg_int(w, l, "NS", scale.size[3]);
	arg_int(w, l, "sn", scale.stride[3]);
	arg_pointer(w, l, "base", base.data);
	arg_int(w, l, "NB", base.size[3]);
	arg_int(w, l, "bn", base.stride[3]);
	arg_pointer(w, l, "Y", y.data);
	arg_int(w, l, "ym", y.stride[1]);
	arg_int(w, l, "yr", y.stride[2]);
	arg_float(w, l, "eps", (double)param(op, 0));
	arg_int(w, l, "STEPS", op->op_params[1]);
	return true;
}
