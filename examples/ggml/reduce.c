/* reduce.c - sums of rows, scans, and the order of a row's elements. */
#include "examples/ggml/work.h"

Launch *
reduce_rows(Work *w, const View *x, const View *y)
{
	Launch *l = work_launch(w, "reduce");

	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "OUT", "%s", type_name(y->type));
	arg_sizes(w, l, x, "");
	arg_rows(w, l, "X", "xpqm", x);
	arg_rows(w, l, "Y", "ypqm", y);
	return l;
}

bool
sum_rows(Work *w, const struct ggml_tensor *op)
{
	View x, y;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&y, op) || !is_float(&x) || !is_float(&y) || !is_row(&x) ||
	    (op->op == GGML_OP_SUM && !view_flatten(&x, op->src[0])))
		return false;
	l = reduce_rows(w, &x, &y);
	if (op->op == GGML_OP_MEAN)
		set(w, l, "epilogue", "x / f32(N)");
	return true;
}

/* x and y as matrices of rows; false if they are none. */
static bool
matrices(const struct ggml_tensor *op, View *x, View *y)
{
	View *both[2] = { x, y };
	int64_t width = op->ne[0];

	if (!view_of(x, op->src[0]) || !view_of(y, op) || !is_float(x) || !is_row(x) || !is_row(y))
		return false;
	y->size[3] = x->size[3];
	views_merge(both, 2, RANK - 1);
	y->size[3] = width;
	return x->size[0] == 1 && x->size[1] == 1;
}

bool
cumsum(Work *w, const struct ggml_tensor *op)
{
	View x, y;
	Launch *l;

	if (!matrices(op, &x, &y) || !ggml_is_contiguous(op) || !ggml_is_contiguous(op->src[0]) ||
	    !is_float(&y))
		return false;
	l = work_launch(w, "scan");
	set(w, l, "IN", "%s", type_name(x.type));
	set(w, l, "OUT", "%s", type_name(y.type));
	arg_int(w, l, "M", x.size[2]);
	arg_int(w, l, "N", x.size[3]);
	arg_pointer(w, l, "X", x.data);
	arg_pointer(w, l, "Y", y.data);
	return true;
}

enum { SORTED_MOST = 4096, CHOSEN_MOST = 256 };

/* Indices of the K largest, in long rows: hexc's top_k, whose numbers go to scratch memory. */
static bool
choose(Work *w, const View *x, const View *y, int64_t k)
{
	Launch *l;

	if (k > CHOSEN_MOST || x->stride[2] != x->size[3] || y->stride[2] != k)
		return false;
	l = work_launch(w, "top_k");
	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "K", "%d", (int)k);
	arg_int(w, l, "M", x->size[2]);
	arg_int(w, l, "N", x->size[3]);
	arg_pointer(w, l, "X", x->data);
	arg_pointer(w, l, "I", y->data);
	arg_scratch(w, l, "V", work_scratch(w, 4 * k * x->size[2]));
	return true;
}

bool
sort(Work *w, const struct ggml_tensor *op)
{
	bool descending = op->op != GGML_OP_ARGSORT || op->op_params[0] == GGML_SORT_ORDER_DESC;
	int64_t k = op->op == GGML_OP_ARGMAX ? 1 : op->ne[0];
	View x, y;
	Launch *l;

	if (op->op == GGML_OP_ARGMAX) {
		if (!view_of(&x, op->src[0]) || !view_of(&y, op) || !is_float(&x) ||
		    !ggml_is_contiguous(op->src[0]))
			return false;
		x.size[2] = view_count(&x) / x.size[3];
		x.stride[2] = x.size[3];
		y.stride[2] = 1;
	} else if (!matrices(op, &x, &y)) {
		return false;
	}
	if (y.type != GGML_TYPE_I32)
		return false;
	if (x.size[3] > SORTED_MOST || op->op == GGML_OP_ARGMAX)
		return descending && choose(w, &x, &y, k);
	l = work_launch(w, "argsort");
	set(w, l, "IN", "%s", type_name(x.type));
	set(w, l, "DESC", "%d", descending);
	arg_int(w, l, "M", x.size[2]);
	arg_int(w, l, "N", x.size[3]);
	arg_int(w, l, "K", k);
	arg_pointer(w, l, "X", x.data);
	arg_int(w, l, "xm", x.stride[2]);
	arg_pointer(w, l, "I", y.data);
	arg_int(w, l, "im", y.stride[2]);
	return true;
}
