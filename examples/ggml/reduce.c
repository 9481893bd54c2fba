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

enum { SORTED_MOST = 4096, CHOSEN_MOST = 32 };

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

/* Merges pairs of runs of `length` elements, integers in rows of n in scratch memory. The first `kept` of a
 * run count. */
static Launch *
merge(Work *w, const View *runs, int64_t n, int64_t length, int64_t kept)
{
	Launch *l = work_launch(w, "merge_runs");

	arg_scratch(w, l, "X", runs->offset);
	arg_int(w, l, "M", runs->size[2]);
	arg_int(w, l, "N", n);
	arg_int(w, l, "L", length);
	arg_int(w, l, "KEEP", kept);
	return l;
}

/* Indices of the first k of long rows: runs are sorted, and merged until there is one. */
static void
sort_long(Work *w, const View *x, const View *y, int64_t k, bool descending)
{
	int64_t n = x->size[3], length = SORTED_MOST;
	View from = scratch_view(w, GGML_TYPE_I64, 1, 1, x->size[2], n), to = from;
	Launch *l = work_launch(w, "sort_runs");

	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "DESC", "%d", descending);
	set(w, l, "BN", "%d", SORTED_MOST);
	arg_int(w, l, "M", x->size[2]);
	arg_int(w, l, "N", n);
	arg_pointer(w, l, "X", x->data);
	arg_int(w, l, "xm", x->stride[2]);
	arg_scratch(w, l, "Y", from.offset);
	if (2 * length < n)
		to = scratch_view(w, GGML_TYPE_I64, 1, 1, x->size[2], n);
	for (; 2 * length < n; length *= 2) {
		View old = from;

		l = merge(w, &from, n, length, k);
		set(w, l, "OUT", "i64");
		arg_scratch(w, l, "Y", to.offset);
		arg_int(w, l, "C", n);
		arg_int(w, l, "ym", n);
		from = to;
		to = old;
	}
	l = merge(w, &from, n, length, k);
	set(w, l, "OUT", "i32");
	arg_pointer(w, l, "Y", y->data);
	arg_int(w, l, "C", k);
	arg_int(w, l, "ym", y->stride[2]);
}

/* Indices of the first k of rows of up to SORTED_MOST. */
static void
sort_short(Work *w, const View *x, const View *y, int64_t k, bool descending)
{
	Launch *l = work_launch(w, "argsort");

	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "DESC", "%d", descending);
	arg_int(w, l, "M", x->size[2]);
	arg_int(w, l, "N", x->size[3]);
	arg_int(w, l, "K", k);
	arg_pointer(w, l, "X", x->data);
	arg_int(w, l, "xm", x->stride[2]);
	arg_pointer(w, l, "I", y->data);
	arg_int(w, l, "im", y->stride[2]);
}

bool
sort(Work *w, const struct ggml_tensor *op)
{
	bool descending = op->op != GGML_OP_ARGSORT || op->op_params[0] == GGML_SORT_ORDER_DESC;
	int64_t k = op->op == GGML_OP_ARGMAX ? 1 : op->ne[0];
	View x, y;

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
	if (y.type != GGML_TYPE_I32 || x.size[3] > INT32_MAX)
		return false;
	if (op->op == GGML_OP_ARGMAX)
		return choose(w, &x, &y, k);
	if (x.size[3] <= SORTED_MOST)
		sort_short(w, &x, &y, k, descending);
	else if (!descending || !choose(w, &x, &y, k))
		sort_long(w, &x, &y, k, descending);
	return true;
}
