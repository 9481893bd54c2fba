/* backward.c - operations of training: gradients, losses, steps of optimizers. Sums of rows go to scratch
 * memory, as f32, and an operation of elements reads them. */
#include "examples/ggml/work.h"

/* Do the views have the same sizes, and elements of rows that are adjacent? */
static bool
are_rows(const View *a, const View *b)
{
	return is_float(a) && is_float(b) && is_row(a) && is_row(b) && view_same_size(a, b);
}

/* Declares a tensor with the sizes of the launch: [P, Q, M, N], or with dims = 3 one number of each row. Its
 * strides are named by a letter. */
static void
declare_tensor(Work *w, Launch *l, const char *name, char c, const View *v, int dims)
{
	declare(w, l, "%s: %s[%s] strides [%cp, %cq, %cm%s]", name, type_name(v->type),
	        dims == 3 ? "P, Q, M" : "P, Q, M, N", c, c, c, dims == 3 ? "" : ", 1");
	arg_rows(w, l, name, text(w, "%cpqm", c), v);
}

/* y = epilogue(x), of elements; the caller declares what the expression reads. */
static Launch *
map_rows(Work *w, const View *x, const View *y, const char *epilogue)
{
	Launch *l = copy_launch(w, x, y);

	set(w, l, "epilogue", "%s", epilogue);
	return l;
}

/* One number of each row of x, in scratch memory. */
static View
scratch_column(Work *w, const View *x)
{
	return scratch_view(w, GGML_TYPE_F32, x->size[0], x->size[1], x->size[2], 1);
}

/* Adds a launch that sums input(x, b), an expression of x and b[p, q, m, n], over rows. */
static View
sum_products(Work *w, const View *x, const View *b, const char *input)
{
	View sum = scratch_column(w, x);
	Launch *l = reduce_rows(w, x, &sum);

	set(w, l, "input", "%s", input);
	declare_tensor(w, l, "b", 'b', b, 4);
	return sum;
}

/* ---- gradients ------------------------------------------------------------------------------------- */

/* dst = (src0 - sum(src0 src1)) src1 scale, of rows; src1 is what softmax computed. */
bool
soft_max_back(Work *w, const struct ggml_tensor *op)
{
	View x, b, y, sum;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&b, op->src[1]) || !view_of(&y, op) || !are_rows(&x, &b) ||
	    !are_rows(&x, &y) || param(op, 1) != 0)
		return false;
	sum = sum_products(w, &x, &b, "x * b[p, q, m, n]");
	l = map_rows(w, &x, &y, "(x - sums[p, q, m]) * b[p, q, m, n] * scale");
	declare_tensor(w, l, "b", 'b', &b, 4);
	declare_tensor(w, l, "sums", 's', &sum, 3);
	declare(w, l, "scale: f32");
	arg_float(w, l, "scale", (double)param(op, 0));
	return true;
}

/* dst = (src0 - src1 sum(src0 src1) / (s + N eps)) / sqrt(s / N + eps), s = sum(src1 src1). */
bool
rms_norm_back(Work *w, const struct ggml_tensor *op)
{
	View x, b, y, sum, square;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&b, op->src[1]) || !view_of(&y, op) || !are_rows(&x, &b) ||
	    !are_rows(&x, &y))
		return false;
	sum = sum_products(w, &x, &b, "x * b[p, q, m, n]");
	square = scratch_column(w, &x);
	set(w, reduce_rows(w, &b, &square), "input", "x * x");
	l = map_rows(w, &x, &y,
	             "(x - b[p, q, m, n] * (sums[p, q, m] / (squares[p, q, m] + f32(N) * eps))) / "
	             "sqrt(squares[p, q, m] / f32(N) + eps)");
	declare_tensor(w, l, "b", 'b', &b, 4);
	declare_tensor(w, l, "sums", 's', &sum, 3);
	declare_tensor(w, l, "squares", 't', &square, 3);
	declare(w, l, "eps: f32");
	arg_float(w, l, "eps", (double)param(op, 0));
	return true;
}

/* The sum of all repetitions. */
bool
repeat_back(Work *w, const struct ggml_tensor *op)
{
	int64_t times[RANK];
	View a, y;
	Launch *l;

	if (!view_of(&a, op->src[0]) || !view_of(&y, op) || !is_float(&a) || !is_float(&y) ||
	    !view_divides(&y, &a))
		return false;
	for (int i = 0; i < RANK; i++)
		times[i] = a.size[i] / y.size[i];
	l = compute_terms(w, &a, &y, "rp rq rm rn ", times[0] * times[1] * times[2] * times[3],
	                  "a[p + t / rn / rm / rq * P, q + t / rn / rm % rq * Q, m + t / rn % rm * M, "
	                  "n + t % rn * N]");
	arg_numbers(w, l, "rp rq rm rn ", times);
	return true;
}

/* Row m is the sum of src0's rows t with src1[t] = m; later rows have no index. */
bool
get_rows_back(Work *w, const struct ggml_tensor *op)
{
	View a, y;
	Launch *l;

	if (!view_of(&a, op->src[0]) || !view_of(&y, op) || !is_float(&a) || !is_float(&y) ||
	    op->src[1]->type != GGML_TYPE_I32 || !ggml_is_contiguous(op->src[1]) ||
	    ggml_nelements(op->src[1]) > a.size[2])
		return false;
	l = compute_terms(w, &a, &y, "", ggml_nelements(op->src[1]),
	                  "where(i64(ids[t]) == m, a[p, q, t, n], 0)");
	declare(w, l, "ids: i32[T]");
	arg_pointer(w, l, "ids", op->src[1]->data);
	return true;
}

/* ---- losses ---------------------------------------------------------------------------------------- */

/* The number of equal elements, which are i32. */
bool
count_equal(Work *w, const struct ggml_tensor *op)
{
	View x, b, y;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&b, op->src[1]) || !view_of(&y, op) ||
	    x.type != GGML_TYPE_I32 || b.type != GGML_TYPE_I32 || y.type != GGML_TYPE_I64 ||
	    !view_flatten(&x, op->src[0]) || !view_flatten(&b, op->src[1]))
		return false;
	l = reduce_rows(w, &x, &y);
	set(w, l, "input", "where(i64(X[p, q, m, n]) == i64(b[p, q, m, n]), 1, 0)");
	declare_tensor(w, l, "b", 'b', &b, 4);
	return true;
}

/* dst = -sum(src1 log(softmax(src0))) / rows. */
bool
cross_entropy_loss(Work *w, const struct ggml_tensor *op)
{
	View x, b, y, most, log, loss;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&b, op->src[1]) || !view_of(&y, op) || !are_rows(&x, &b) ||
	    !is_float(&y))
		return false;
	most = scratch_column(w, &x);
	set(w, reduce_rows(w, &x, &most), "MAX", "1");
	log = scratch_column(w, &x);
	l = reduce_rows(w, &x, &log);
	set(w, l, "input", "exp(x - most[p, q, m])");
	set(w, l, "epilogue", "log(x) + most[p, q, m]");
	declare_tensor(w, l, "most", 'u', &most, 3);
	loss = scratch_column(w, &x);
	l = reduce_rows(w, &x, &loss);
	set(w, l, "input", "b[p, q, m, n] * (x - total[p, q, m])");
	declare_tensor(w, l, "b", 'b', &b, 4);
	declare_tensor(w, l, "total", 'u', &log, 3);
	loss.size[3] = view_count(&loss);
	loss.size[0] = loss.size[1] = loss.size[2] = 1;
	set(w, reduce_rows(w, &loss, &y), "epilogue", "-x / f32(N)");
	return true;
}

/* dst = (softmax(src1) - src2) src0[0] / rows. */
bool
cross_entropy_loss_back(Work *w, const struct ggml_tensor *op)
{
	View x, b, y;
	Launch *l;

	if (!view_of(&x, op->src[1]) || !view_of(&b, op->src[2]) || !view_of(&y, op) || !are_rows(&x, &b) ||
	    !are_rows(&x, &y) || op->src[0]->type != GGML_TYPE_F32)
		return false;
	l = start_rows(w, "softmax", &x, &y, true);
	set(w, l, "epilogue", "(x - b[p, q, m, n]) * gradient[0] / f32(P * Q * M)");
	declare_tensor(w, l, "b", 'b', &b, 4);
	declare(w, l, "gradient: f32[1]");
	arg_pointer(w, l, "gradient", op->src[0]->data);
	return true;
}

/* ---- steps of optimizers --------------------------------------------------------------------------- */

/* Adds a launch that computes x, in place, from the gradient g and the optimizer's numbers k. */
static Launch *
step(Work *w, const View *x, const View *g, const struct ggml_tensor *numbers, const char *value)
{
	Launch *l = map_rows(w, x, x, value);

	declare_tensor(w, l, "g", 'g', g, 4);
	declare(w, l, "k: f32[K]");
	arg_pointer(w, l, "k", numbers->data);
	arg_int(w, l, "K", ggml_nelements(numbers));
	return l;
}

/* The numbers of an optimizer: f32, adjacent. */
static bool
are_numbers(const struct ggml_tensor *t)
{
	return t->type == GGML_TYPE_F32 && ggml_is_contiguous(t);
}

/* alpha, decay. */
bool
opt_step_sgd(Work *w, const struct ggml_tensor *op)
{
	View x, g;

	if (!view_of(&x, op->src[0]) || !view_of(&g, op->src[1]) || !are_rows(&x, &g) ||
	    !are_numbers(op->src[2]))
		return false;
	step(w, &x, &g, op->src[2], "x * (1 - k[0] * k[1]) - k[0] * g[p, q, m, n]");
	return true;
}

/* alpha, beta1, beta2, eps, decay, and the factors of the two moments, src2 and src3. */
bool
opt_step_adamw(Work *w, const struct ggml_tensor *op)
{
	const struct ggml_tensor *numbers = op->src[4];
	View x, g, first, second;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&g, op->src[1]) || !view_of(&first, op->src[2]) ||
	    !view_of(&second, op->src[3]) || !are_rows(&x, &g) || !are_rows(&x, &first) ||
	    !are_rows(&x, &second) || !are_numbers(numbers))
		return false;
	step(w, &first, &g, numbers, "x * k[1] + g[p, q, m, n] * (1 - k[1])");
	step(w, &second, &g, numbers, "x * k[2] + g[p, q, m, n] * g[p, q, m, n] * (1 - k[2])");
	l = step(w, &x, &g, numbers,
	         "x * (1 - k[0] * k[4]) - k[0] * first[p, q, m, n] * k[5] / "
	         "(sqrt(second[p, q, m, n] * k[6]) + k[3])");
	declare_tensor(w, l, "first", 'u', &first, 4);
	declare_tensor(w, l, "second", 'v', &second, 4);
	return true;
}
