/* norm.c - norms and softmax of rows. Rows of one matrix take hexc's kernels of matrices, others those with
 * strides. */
#include "examples/ggml/work.h"
#include <math.h>

static bool
is_matrix(const View *v)
{
	return v->size[0] == 1 && v->size[1] == 1 && (v->size[2] == 1 || v->stride[2] == v->size[3]);
}

Launch *
start_rows(Work *w, const char *name, const View *x, const View *y, bool strided)
{
	Launch *l = work_launch(w, name);

	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "OUT", "%s", type_name(y->type));
	arg_int(w, l, "M", x->size[2]);
	arg_int(w, l, "N", x->size[3]);
	if (strided) {
		set(w, l, "strided", "1");
		arg_int(w, l, "P", x->size[0]);
		arg_int(w, l, "Q", x->size[1]);
		arg_rows(w, l, "X", "xpqm", x);
		arg_rows(w, l, "Y", "ypqm", y);
	} else {
		arg_pointer(w, l, "X", x->data);
		arg_pointer(w, l, "Y", y->data);
	}
	return l;
}

static bool
rows_of(const struct ggml_tensor *op, View *x, View *y)
{
	return view_of(x, op->src[0]) && view_of(y, op) && is_float(x) && is_float(y) && is_row(x) &&
	       is_row(y) && view_same_size(x, y);
}

bool
norm(Work *w, const struct ggml_tensor *op)
{
	View x, y, *all[2 + OPERANDS_MOST] = { &x, &y };
	Chain c;
	Launch *l;

	chain_start(&c);
	if (!rows_of(op, &x, &y) || !chain_tail(w, &c, &y, 0) || !is_row(&y))
		return false;
	for (int i = 0; i < c.operands; i++)
		all[2 + i] = &c.operand[i];
	if (!chain_wraps(&c))
		views_merge(all, 2 + c.operands, RANK - 1);
	l = start_rows(w, "norm", &x, &y, c.operands || !is_matrix(&x) || !is_matrix(&y));
	chain_write(w, l, &c);
	set(w, l, "CENTER", "%d", op->op == GGML_OP_NORM);
	set(w, l, "LENGTH", "%d", op->op == GGML_OP_L2_NORM);
	arg_float(w, l, "eps", (double)param(op, 0));
	return true;
}

/* A group is all elements of some channels (dim 1), as one row. */
bool
group_norm(Work *w, const struct ggml_tensor *op)
{
	int64_t groups = op->op_params[0], channels = op->ne[2];
	View x, y;
	Launch *l;

	if (!rows_of(op, &x, &y) || !ggml_is_contiguous(op) || !ggml_is_contiguous(op->src[0]) ||
	    groups < 1 || channels % groups)
		return false;
	x.size[2] = x.size[0] * groups;
	x.size[3] *= op->ne[1] * channels / groups;
	l = start_rows(w, "norm", &x, &y, false);
	set(w, l, "CENTER", "1");
	arg_float(w, l, "eps", (double)param(op, 1));
	return true;
}

/* ---- softmax ------------------------------------------------------------------------------------- */

void
alibi(float max_bias, int64_t heads, double out[3])
{
	double power = exp2(floor(log2((double)heads)));

	out[0] = power;
	out[1] = -(double)max_bias / power;
	out[2] = -(double)max_bias / 2 / power;
}

/* x * scale + slope(q) * mask. */
static void
add_mask(Work *w, Launch *l, const View *mask, float max_bias, int64_t heads, bool sinks)
{
	double slope[3];

	alibi(max_bias, heads, slope);
	declare(w, l,
	    "mask: %s[PM, QM, M, N] strides [mp, mq, mm, 1], power: i64, near: f32, far: f32, scale: f32%s",
	        type_name(mask->type), sinks ? ", sinks: f32[Q]" : "");
	set(w, l, "input",
	    "x * scale + exp2(where(q < power, f32(q + 1) * near, f32(2 * (q - power) + 1) * far)) * "
	    "f32(mask[p %% PM, q %% QM, m, n])");
	arg_rows(w, l, "mask", "mpqm", mask);
	arg_int(w, l, "PM", mask->size[0]);
	arg_int(w, l, "QM", mask->size[1]);
	arg_int(w, l, "power", (int64_t)slope[0]);
	arg_float(w, l, "near", slope[1]);
	arg_float(w, l, "far", slope[2]);
}

bool
softmax(Work *w, const struct ggml_tensor *op)
{
	View x, y, mask, sinks;
	bool masked = op->src[1], sunk = op->src[2];
	Chain c;
	Launch *l;

	chain_start(&c);
	if (!rows_of(op, &x, &y) || !chain_tail(w, &c, &y, 0) || !is_row(&y))
		return false;
	if (masked && (!view_of(&mask, op->src[1]) || !is_row(&mask) || mask.size[2] < x.size[2] ||
	               mask.size[3] != x.size[3]))
		return false;
	if (sunk && (!view_of(&sinks, op->src[2]) || !ggml_is_contiguous(op->src[2])))
		return false;
	l = start_rows(w, "softmax", &x, &y, true);
	if (masked) {
		add_mask(w, l, &mask, param(op, 1), x.size[1], sunk);
	} else {
		declare(w, l, "scale: f32%s", sunk ? ", sinks: f32[Q]" : "");
		set(w, l, "input", "x * scale");
	}
	arg_float(w, l, "scale", (double)param(op, 0));
	if (sunk) {
		set(w, l, "sink", "sinks[q]");
		arg_pointer(w, l, "sinks", sinks.data);
	}
	chain_write(w, l, &c);
	return true;
}
