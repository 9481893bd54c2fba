/* matmul.c - MUL_MAT and MUL_MAT_ID: products of activations with weights, or with other activations. ggml's
 * dst[n, m] = sum_k src0[k, n] src1[k, m] is hexc's C[m, n] = sum_k A[m, k] B[n, k], A = src1 and B = src0. */
#include "examples/ggml/work.h"

/* May it be a factor, with k as its inner dim? */
static bool
is_factor(const View *v)
{
	return is_float(v) && is_row(v);
}

/* B as floats; blocks are decoded first. */
static bool
weight_of(Work *w, View *b, const struct ggml_tensor *t)
{
	if (view_of(b, t))
		return is_float(b);
	if (!view_of_blocks(b, t))
		return false;
	*b = decode_blocks(w, b, t->ne[0]);
	return true;
}

Launch *
product(Work *w, const View *a, const View *b, const View *c)
{
	Launch *l = work_launch(w, "matmul");

	set(w, l, "IN", "%s", type_name(a->type));
	set(w, l, "WEIGHT", "%s", type_name(b->type));
	set(w, l, "ACT", "%s", b->type == GGML_TYPE_BF16 ? "bf16" : "f16");
	set(w, l, "OUT", "%s", type_name(c->type));
	arg_int(w, l, "P", a->size[0]);
	arg_int(w, l, "Q", a->size[1]);
	arg_int(w, l, "PB", b->size[0]);
	arg_int(w, l, "QB", b->size[1]);
	arg_int(w, l, "M", a->size[2]);
	arg_int(w, l, "N", b->size[2]);
	arg_int(w, l, "K", a->size[3]);
	arg_rows(w, l, "A", "apqm", a);
	arg_rows(w, l, "B", "bpqn", b);
	arg_rows(w, l, "C", "cpqm", c);
	return l;
}

bool
matmul(Work *w, const struct ggml_tensor *op)
{
	View a, b, c;

	if (!view_of(&a, op->src[1]) || !view_of(&c, op) || !is_factor(&a) || !is_factor(&c) ||
	    !weight_of(w, &b, op->src[0]) || !is_row(&b))
		return false;
	product(w, &a, &b, &c);
	return true;
}

/* Rows [1, tokens, rows, n] as products of one row, [tokens, experts, 1, n]; a single row is repeated. */
static void
split_tokens(View *v, int64_t experts)
{
	v->size[0] = v->size[1];
	v->stride[0] = v->stride[1];
	v->size[1] = experts;
	v->stride[1] = v->size[2] == 1 ? 0 : v->stride[2];
	v->size[2] = 1;
	v->stride[2] = 0;
}

/* dst[n, e, t] = src0[:, n, ids[e, t]] src1[:, e, t], or src1[:, 0, t]. */
bool
matmul_id(Work *w, const struct ggml_tensor *op)
{
	View a, b, c, ids;
	int64_t experts = op->ne[1];
	Launch *l;

	if (!view_of(&a, op->src[1]) || !view_of(&c, op) || !view_of(&ids, op->src[2]) || !is_factor(&a) ||
	    !is_factor(&c) || ids.type != GGML_TYPE_I32 || a.size[0] != 1 || (a.size[2] != 1 && a.size[2] != experts))
		return false;
	if (!weight_of(w, &b, op->src[0]) || !is_row(&b))
		return false;
	split_tokens(&a, experts);
	split_tokens(&c, experts);
	l = product(w, &a, &b, &c);
	set(w, l, "tensors", "ids: i32[P, Q] strides [ip, iq]");
	set(w, l, "chosen", "ids[p, q]");
	arg_pointer(w, l, "ids", ids.data);
	arg_int(w, l, "ip", ids.stride[2]);
	arg_int(w, l, "iq", ids.stride[3]);
	return true;
}

/* dst[i, j] = sum_k src0[i, k] src1[j, k]: both are transposed to scratch memory. */
static View
transposed(Work *w, const View *v)
{
	View x = *v, y = { .type = GGML_TYPE_F32, .scratch = true };
	int64_t stride = 1;

	x.size[2] = v->size[3];
	x.stride[2] = v->stride[3];
	x.size[3] = v->size[2];
	x.stride[3] = v->stride[2];
	for (int i = RANK - 1; i >= 0; i--) {
		y.size[i] = x.size[i];
		y.stride[i] = stride;
		stride *= y.size[i];
	}
	y.offset = work_scratch(w, 4 * stride);
	copy_view(w, &x, &y);
	return y;
}

bool
outer_product(Work *w, const struct ggml_tensor *op)
{
	View a, b, c;

	if (!view_of(&a, op->src[1]) || !view_of(&c, op) || !is_float(&a) || !is_factor(&c) ||
	    !weight_of(w, &b, op->src[0]))
		return false;
	a = transposed(w, &a);
	b = transposed(w, &b);
	product(w, &a, &b, &c);
	return true;
}
