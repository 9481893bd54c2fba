/* matmul.c - MUL_MAT: products of activations with weights or with other activations. ggml's
 * dst[n, m] = sum_k src0[k, n] src1[k, m] is hexc's C[m, n] = sum_k A[m, k] B[n, k], A = src1 and B = src0. */
#include "examples/ggml/work.h"

/* May it be a factor, with k as its inner dim? */
static bool
is_factor(const View *v)
{
	return is_float(v) && is_row(v);
}

bool
matmul(Work *w, const struct ggml_tensor *op)
{
	View a, b, c;
	Launch *l;

	if (!view_of(&b, op->src[0]) || !view_of(&a, op->src[1]) || !view_of(&c, op) || !is_factor(&a) ||
	    !is_factor(&b) || !is_factor(&c))
		return false;
	l = work_launch(w, "matmul");
	set(w, l, "IN", "%s", type_name(a.type));
	set(w, l, "WEIGHT", "%s", type_name(b.type));
	set(w, l, "ACT", "%s", b.type == GGML_TYPE_BF16 ? "bf16" : "f16");
	set(w, l, "OUT", "%s", type_name(c.type));
	arg_int(w, l, "P", a.size[0]);
	arg_int(w, l, "Q", a.size[1]);
	arg_int(w, l, "PB", b.size[0]);
	arg_int(w, l, "QB", b.size[1]);
	arg_int(w, l, "M", a.size[2]);
	arg_int(w, l, "N", b.size[2]);
	arg_int(w, l, "K", a.size[3]);
	arg_rows(w, l, "A", "apqm", &a);
	arg_rows(w, l, "B", "bpqn", &b);
	arg_rows(w, l, "C", "cpqm", &c);
	return true;
}
