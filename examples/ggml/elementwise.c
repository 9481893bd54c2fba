/* elementwise.c - operations of elements: copies between types and layouts, functions, sums and products
 * with repeated operands, gated units. One of them, or a chain, is one launch of hexc's `copy`, which takes
 * any strides. */
#include "examples/ggml/work.h"
#include <string.h>

Launch *
copy_launch(Work *w, const View *x, const View *y)
{
	Launch *l = work_launch(w, "copy");

	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "OUT", "%s", type_name(y->type));
	arg_sizes(w, l, y, "");
	arg_view(w, l, "X", 'x', x);
	arg_view(w, l, "Y", 'y', y);
	return l;
}

/* Writes the launch of e; with_tail: and of what the tail makes of it, e being all that w->op computes. */
static bool
write_launch(Work *w, const Pointwise *e, bool with_tail)
{
	View x = e->x, y = e->y, *all[2 + OPERANDS_MOST] = { &x, &y };
	Chain c;

	if (!type_name(x.type) || !type_name(y.type))
		return false;
	chain_start(&c);
	if (!chain_add(w, &c, e, true, NULL) || (with_tail && !chain_tail(w, &c, &y, 0)))
		return false;
	for (int i = 0; i < c.operands; i++)
		all[2 + i] = &c.operand[i];
	if (!chain_wraps(&c))
		views_merge(all, 2 + c.operands, RANK);
	chain_write(w, copy_launch(w, &x, &y), &c);
	return true;
}

static bool
launch(Work *w, const Pointwise *e)
{
	return write_launch(w, e, false);
}

/* x is src[0] and y the result, of floats and of equal sizes. */
static bool
start(Pointwise *e, const struct ggml_tensor *op)
{
	*e = (Pointwise){ 0 };
	return op->src[0] && view_of(&e->x, op->src[0]) && view_of(&e->y, op) && is_float(&e->x) &&
	       is_float(&e->y) && view_same_size(&e->x, &e->y);
}

/* ---- copies -------------------------------------------------------------------------------------- */

/* Gives a tensor without gaps the dims of another one with as many elements, if it has others. */
static void
reshape_to(View *v, const View *like)
{
	if (view_same_size(v, like))
		return;
	memcpy(v->size, like->size, sizeof v->size);
	view_pack(v);
}

void
copy_view(Work *w, const View *x, const View *y)
{
	Pointwise e = { .x = *x, .y = *y };

	launch(w, &e);
}

/* Copies x to y in the order of elements. Their sizes may differ; then one that has no gaps is seen with the
 * sizes of the other, if need be in scratch memory. */
static bool
copy_in_order(Work *w, const struct ggml_tensor *from, View x, const struct ggml_tensor *to, View y)
{
	if (view_same_size(&x, &y) || ggml_is_contiguous(to)) {
		reshape_to(&y, &x);
	} else if (ggml_is_contiguous(from)) {
		reshape_to(&x, &y);
	} else {
		View between = scratch_view(w, x.type, x.size[0], x.size[1], x.size[2], x.size[3]);

		copy_view(w, &x, &between);
		x = between;
		reshape_to(&x, &y);
	}
	return launch(w, &(Pointwise){ .x = x, .y = y });
}

/* From blocks: as bytes to blocks of the same type, or to floats. */
static bool
copy_blocks(Work *w, const struct ggml_tensor *op)
{
	View x, y;

	if (op->type == op->src[0]->type) {
		if (!view_of_bytes(&x, op->src[0]) || !view_of_bytes(&y, op))
			return false;
		x.type = y.type = GGML_TYPE_I8;
		return copy_in_order(w, op->src[0], x, op, y);
	}
	if (!view_of_blocks(&x, op->src[0]) || !ggml_are_same_shape(op, op->src[0]) || !view_of(&y, op) ||
	    !is_float(&y))
		return false;
	decode_to(w, &x, &y);
	return true;
}

bool
copy_tensor(Work *w, const struct ggml_tensor *op)
{
	View x, y;

	if (ggml_is_quantized(op->src[0]->type))
		return copy_blocks(w, op);
	if (!view_of(&x, op->src[0]))
		return false;
	if (ggml_is_quantized(op->type))
		return ggml_are_same_shape(op, op->src[0]) && encode_rows(w, &x, NULL, op);
	return view_of(&y, op) && copy_in_order(w, op->src[0], x, op, y);
}

/* x[0] of one element, and all of b. */
bool
repeat(Work *w, const struct ggml_tensor *op)
{
	Pointwise e = { .expression = "b", .has_b = true };

	if (!view_of(&e.b, op->src[0]) || !view_of(&e.y, op) || e.b.type != e.y.type ||
	    !view_divides(&e.b, &e.y))
		return false;
	if (!view_wraps(&e.b, &e.y)) {
		e.x = e.b;
		view_repeat(&e.x, e.y.size);
		e.has_b = false;
		e.expression = NULL;
		return launch(w, &e);
	}
	if (!is_float(&e.b))
		return false;
	e.x = e.y;
	return launch(w, &e);
}

bool
fill(Work *w, const struct ggml_tensor *op)
{
	Pointwise e = { .expression = "c0", .number = { param(op, 0) }, .numbers = 1 };

	if (!view_of(&e.y, op) || !is_float(&e.y))
		return false;
	e.x = e.y;
	return launch(w, &e);
}

/* ---- functions of one element -------------------------------------------------------------------- */

static const char *const UNARY[GGML_UNARY_OP_COUNT] = {
	[GGML_UNARY_OP_ABS] = "abs(x)",
	[GGML_UNARY_OP_SGN] = "where(x > 0, 1, where(x < 0, -1, 0))",
	[GGML_UNARY_OP_NEG] = "-x",
	[GGML_UNARY_OP_STEP] = "where(x > 0, 1, 0)",
	[GGML_UNARY_OP_TANH] = "tanh(x)",
	[GGML_UNARY_OP_ELU] = "where(x > 0, x, expm1(x))",
	[GGML_UNARY_OP_RELU] = "where(x > 0, x, 0)",
	[GGML_UNARY_OP_SIGMOID] = "sigmoid(x)",
	[GGML_UNARY_OP_GELU] = "gelu_tanh(x)",
	[GGML_UNARY_OP_GELU_QUICK] = "x * sigmoid(1.702 * x)",
	[GGML_UNARY_OP_SILU] = "silu(x)",
	[GGML_UNARY_OP_HARDSWISH] = "x * clamp((x + 3) / 6, 0, 1)",
	[GGML_UNARY_OP_HARDSIGMOID] = "clamp((x + 3) / 6, 0, 1)",
	[GGML_UNARY_OP_EXP] = "exp(x)",
	[GGML_UNARY_OP_EXPM1] = "expm1(x)",
	[GGML_UNARY_OP_SOFTPLUS] = "where(x > 20, x, log1p(exp(x)))",
	[GGML_UNARY_OP_GELU_ERF] = "gelu(x)",
	/* alpha_n, alpha_p, beta, eps */
	[GGML_UNARY_OP_XIELU] = "where(x > 0, c1 * x * x, (expm1(min(x, c3)) - x) * c0) + c2 * x",
	[GGML_UNARY_OP_FLOOR] = "floor(x)",
	[GGML_UNARY_OP_CEIL] = "ceil(x)",
	/* ties away from zero */
	[GGML_UNARY_OP_ROUND] = "trunc(x) + where(abs(x - trunc(x)) >= 0.5, where(x > 0, 1, -1), 0)",
	[GGML_UNARY_OP_TRUNC] = "trunc(x)",
};

static bool
unary(Pointwise *e, const struct ggml_tensor *op)
{
	enum ggml_unary_op which = ggml_get_unary_op(op);

	if (!start(e, op) || (unsigned)which >= GGML_UNARY_OP_COUNT || !UNARY[which])
		return false;
	e->expression = UNARY[which];
	if (which == GGML_UNARY_OP_XIELU)
		for (e->numbers = 0; e->numbers < NUMBERS_MOST; e->numbers++)
			e->number[e->numbers] = param(op, e->numbers + 1);
	return true;
}

/* `numbers` of them are the first of op_params. */
static bool
simple(Pointwise *e, const struct ggml_tensor *op, const char *expression, int numbers)
{
	if (!start(e, op))
		return false;
	e->expression = expression;
	for (int i = 0; i < numbers; i++)
		e->number[i] = param(op, i);
	e->numbers = numbers;
	return true;
}

/* ---- two operands -------------------------------------------------------------------------------- */

static bool
binary(Pointwise *e, const struct ggml_tensor *op, const char *expression)
{
	if (!start(e, op) || !op->src[1] || !view_of(&e->b, op->src[1]) || !is_float(&e->b) ||
	    !view_divides(&e->b, &e->y))
		return false;
	e->has_b = true;
	e->expression = expression;
	return true;
}

/* Of the gate x and the value b. */
static const char *const GLU[] = {
	[GGML_GLU_OP_REGLU] = "where(x > 0, x, 0) * b",
	[GGML_GLU_OP_GEGLU] = "gelu_tanh(x) * b",
	[GGML_GLU_OP_SWIGLU] = "silu(x) * b",
	/* alpha, limit */
	[GGML_GLU_OP_SWIGLU_OAI] = "min(x, c1) * sigmoid(c0 * min(x, c1)) * (clamp(b, -c1, c1) + 1)",
	[GGML_GLU_OP_GEGLU_ERF] = "gelu(x) * b",
	[GGML_GLU_OP_GEGLU_QUICK] = "x * sigmoid(1.702 * x) * b",
	/* alpha, limit */
	[GGML_GLU_OP_SWIGLU_CLAMP] = "silu(min(x, c1)) * clamp(b, -c1, c1)",
};

static bool
glu(Pointwise *e, const struct ggml_tensor *op)
{
	enum ggml_glu_op which = ggml_get_glu_op(op);
	bool swapped = op->op_params[1] != 0;

	*e = (Pointwise){ .has_b = true };
	if ((unsigned)which >= GGML_GLU_OP_COUNT || !GLU[which] || !view_of(&e->x, op->src[0]) ||
	    !view_of(&e->y, op))
		return false;
	if (op->src[1]) {
		if (!view_of(&e->b, op->src[1]))
			return false;
	} else {
		View whole = e->x;

		e->x = view_part(whole, 3, swapped, 2);
		e->b = view_part(whole, 3, !swapped, 2);
	}
	e->expression = GLU[which];
	if (which == GGML_GLU_OP_SWIGLU_OAI || which == GGML_GLU_OP_SWIGLU_CLAMP)
		for (int i = 0; i < 2; i++)
			e->number[e->numbers++] = param(op, i + 2);
	return is_float(&e->x) && is_float(&e->b) && is_float(&e->y) && view_same_size(&e->x, &e->y) &&
	       view_same_size(&e->b, &e->y);
}

bool
pointwise_of(Pointwise *e, const struct ggml_tensor *op)
{
	switch ((int)op->op) {
	case GGML_OP_UNARY: return unary(e, op);
	case GGML_OP_GLU: return glu(e, op);
	case GGML_OP_SQR: return simple(e, op, "x * x", 0);
	case GGML_OP_SQRT: return simple(e, op, "sqrt(x)", 0);
	case GGML_OP_LOG: return simple(e, op, "log(x)", 0);
	case GGML_OP_SIN: return simple(e, op, "sin(x)", 0);
	case GGML_OP_COS: return simple(e, op, "cos(x)", 0);
	case GGML_OP_SCALE: return simple(e, op, "x * c0 + c1", 2);
	case GGML_OP_CLAMP: return simple(e, op, "clamp(x, c0, c1)", 2);
	case GGML_OP_LEAKY_RELU: return simple(e, op, "where(x > 0, x, x * c0)", 1);
	case GGML_OP_ADD:
	case GGML_OP_ADD1: return binary(e, op, "x + b");
	case GGML_OP_SUB: return binary(e, op, "x - b");
	case GGML_OP_MUL: return binary(e, op, "x * b");
	case GGML_OP_DIV: return binary(e, op, "x / b");
		/* x is the gradient of silu(b) */
	case GGML_OP_SILU_BACK: return binary(e, op, "x * sigmoid(b) * (1 + b * (1 - sigmoid(b)))");
	default: return false;
	}
}

bool
pointwise(Work *w, const struct ggml_tensor *op)
{
	Pointwise e;

	return pointwise_of(&e, op) && write_launch(w, &e, true);
}

/* dst[n, e, t] = src0[n, e, t] + src1[n, ids[e, t]]. */
bool
add_id(Work *w, const struct ggml_tensor *op)
{
	View x, y, b, ids;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&y, op) || !view_of(&b, op->src[1]) ||
	    !view_of(&ids, op->src[2]) || ids.type != GGML_TYPE_I32)
		return false;
	if (!is_float(&x) || !is_float(&y) || !is_float(&b) || !is_row(&b) || !view_same_size(&x, &y) ||
	    y.size[0] != 1)
		return false;
	l = copy_launch(w, &x, &y);
	set(w, l, "epilogue", "x + f32(b[ids[q, m], n])");
	declare(w, l, "b: %s[E, N] strides [bm, 1], ids: i32[Q, M] strides [iq, im]",
	        type_name(b.type));
	arg_pointer(w, l, "b", b.data);
	arg_int(w, l, "E", b.size[2]);
	arg_int(w, l, "bm", b.stride[2]);
	arg_pointer(w, l, "ids", ids.data);
	arg_int(w, l, "iq", ids.stride[2]);
	arg_int(w, l, "im", ids.stride[3]);
	return true;
}

static bool
elements_or_bytes(View *v, const struct ggml_tensor *t)
{
	if (view_of(v, t))
		return true;
	if (!view_of_bytes(v, t))
		return false;
	v->type = GGML_TYPE_I8;
	return true;
}

/* A part of dst along a dim, for each source. */
bool
concat(Work *w, const struct ggml_tensor *op)
{
	int dim = RANK - 1 - op->op_params[0];
	View whole;

	if (dim < 0 || dim >= RANK || !elements_or_bytes(&whole, op))
		return false;
	for (int64_t i = 0, at = 0; i < 2; i++) {
		Pointwise e = { .y = whole };

		if (op->src[i]->type != op->type || !elements_or_bytes(&e.x, op->src[i]))
			return false;
		e.y.data = (char *)e.y.data + at * e.y.stride[dim] * (int64_t)ggml_type_size(whole.type);
		e.y.size[dim] = e.x.size[dim];
		at += e.x.size[dim];
		if (!view_same_size(&e.x, &e.y) || !launch(w, &e))
			return false;
	}
	return true;
}

/* dst = src0, but src1 in a part of it: with nb1, nb2, nb3 and the offset in bytes. ACC adds it there. */
bool
set_part(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	Pointwise all = { 0 }, part = { 0 };
	int64_t size;

	if (!view_of(&all.x, op->src[0]) || !view_of(&all.y, op) || !view_of(&part.x, op->src[1]) ||
	    all.x.type != all.y.type || part.x.type != all.y.type)
		return false;
	size = (int64_t)ggml_type_size(op->type);
	if (p[0] % size || p[1] % size || p[2] % size || p[3] % size)
		return false;
	part.y = (View){
		.type = op->type,
		.data = (char *)all.y.data + p[3],
		.stride = { p[2] / size, p[1] / size, p[0] / size, 1 },
	};
	memcpy(part.y.size, part.x.size, sizeof part.y.size);
	if (op->op == GGML_OP_ACC) {
		if (!is_float(&part.x))
			return false;
		part.b = part.y;
		part.has_b = true;
		part.expression = "x + b";
	}
	return (all.x.data == all.y.data && all.x.data ? true : launch(w, &all)) && launch(w, &part);
}
