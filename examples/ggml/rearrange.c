/* rearrange.c - operations that read other elements than they write: padding, windows, triangles. Each is
 * hexc's `compute` with an expression of the element's numbers p, q, m and n; the numbers of the operation
 * are arguments, so that one kernel serves all of them. */
#include "examples/ggml/work.h"
#include <math.h>

/* The longest filter of a channel: one term of an expression for each of its numbers. */
enum { CHANNEL_MOST = 16 };

Launch *
compute(Work *w, const View *a, const View *y, const char *numbers, const char *value)
{
	Launch *l = work_launch(w, "compute");
	const char *declared = "";

	for (const char *s = numbers; *s; s += 3)
		declared = text(w, "%s, %.2s: i64", declared, s);
	set(w, l, "OUT", "%s", type_name(y->type));
	if (value)
		set(w, l, "value", "%s", value);
	if (a)
		declare(w, l, "a: %s[PA, QA, MA, NA] strides [ap, aq, am, an]%s", type_name(a->type),
		        declared);
	else if (*declared)
		declare(w, l, "%s", declared + 2);
	if (a) {
		arg_sizes(w, l, a, "A");
		arg_view(w, l, "a", 'a', a);
	}
	arg_sizes(w, l, y, "");
	arg_view(w, l, "Y", 'y', y);
	return l;
}

Launch *
compute_terms(Work *w, const View *a, const View *y, const char *numbers, int64_t count, const char *term)
{
	Launch *l = compute(w, a, y, numbers, NULL);

	set(w, l, "term", "%s", term);
	arg_int(w, l, "T", count);
	return l;
}

void
arg_numbers(Work *w, Launch *l, const char *names, const int64_t *number)
{
	for (; *names; names += 3)
		arg_int(w, l, text(w, "%.2s", names), *number++);
}

/* An element of the tensor repeated without end. */
static const char AROUND[] =
	"a[(p - lp + PA) % PA, (q - lq + QA) % QA, (m - lm + MA) % MA, (n - ln + NA) % NA]";

/* a is src[i] and y the result, of floats. */
static bool
start(const struct ggml_tensor *op, int i, View *a, View *y)
{
	return op->src[i] && view_of(a, op->src[i]) && view_of(y, op) && is_float(a) && is_float(y);
}

bool
pad(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	int64_t left[4] = { p[6], p[4], p[2], p[0] };
	const char *value;
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	value = p[8] ? AROUND : "fill(a[p - lp, q - lq, m - lm, n - ln], 0)";
	arg_numbers(w, compute(w, &a, &y, "lp lq lm ln ", value), "lp lq lm ln ", left);
	return true;
}

bool
pad_reflect(Work *w, const struct ggml_tensor *op)
{
	int64_t left = op->op_params[0];
	View a, y;
	Launch *l;

	if (!start(op, 0, &a, &y))
		return false;
	l = compute(w, &a, &y, "ln ", "a[p, q, m, NA - 1 - abs(NA - 1 - abs(n - ln))]");
	arg_numbers(w, l, "ln ", &left);
	return true;
}

bool
roll(Work *w, const struct ggml_tensor *op)
{
	int64_t shift[4];
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	for (int i = 0; i < RANK; i++)
		shift[i] = ((int64_t)op->op_params[RANK - 1 - i] % a.size[i] + a.size[i]) % a.size[i];
	arg_numbers(w, compute(w, &a, &y, "lp lq lm ln ", AROUND),
	            "lp lq lm ln ", shift);
	return true;
}

bool
triangle(Work *w, const struct ggml_tensor *op)
{
	static const char *const inside[] = {
		[GGML_TRI_TYPE_UPPER_DIAG] = "where(n >= m, a[p, q, m, n], 0)",
		[GGML_TRI_TYPE_UPPER] = "where(n > m, a[p, q, m, n], 0)",
		[GGML_TRI_TYPE_LOWER_DIAG] = "where(n <= m, a[p, q, m, n], 0)",
		[GGML_TRI_TYPE_LOWER] = "where(n < m, a[p, q, m, n], 0)",
	};
	int32_t kind = op->op_params[0];
	View a, y;

	if (!start(op, 0, &a, &y) || kind < 0 || (size_t)kind >= sizeof inside / sizeof *inside)
		return false;
	compute(w, &a, &y, "", inside[kind]);
	return true;
}

bool
diagonal(Work *w, const struct ggml_tensor *op)
{
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	compute(w, &a, &y, "", "where(n == m, a[p, q, 0, n], 0)");
	return true;
}

bool
mask_diagonal(Work *w, const struct ggml_tensor *op)
{
	int64_t past = op->op_params[0];
	const char *value;
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	value = op->op == GGML_OP_DIAG_MASK_INF ? "where(n > m + ln, -inf, a[p, q, m, n])"
	                                        : "where(n > m + ln, 0, a[p, q, m, n])";
	arg_numbers(w, compute(w, &a, &y, "ln ", value), "ln ", &past);
	return true;
}

bool
arange(Work *w, const struct ggml_tensor *op)
{
	View y;
	Launch *l;

	if (!view_of(&y, op) || y.type != GGML_TYPE_F32)
		return false;
	l = compute(w, NULL, &y, "", "c0 + c1 * f32(n)");
	declare(w, l, "c0: f32, c1: f32");
	arg_float(w, l, "c0", (double)param(op, 0));
	arg_float(w, l, "c1", (double)param(op, 2));
	return true;
}

/* Cosines, then sines, of a step times frequencies that fall. */
bool
timestep_embedding(Work *w, const struct ggml_tensor *op)
{
	int64_t half = op->op_params[0] / 2;
	View a, y;
	Launch *l;

	if (half < 1 || !start(op, 0, &a, &y))
		return false;
	l = compute(w, &a, &y, "hf ",
	            "where(n < hf, cos(f32(a[0, 0, 0, m]) * exp(f32(n) * c0)), "
	            "where(n < 2 * hf, sin(f32(a[0, 0, 0, m]) * exp(f32(n - hf) * c0)), 0))");
	arg_numbers(w, l, "hf ", &half);
	declare(w, l, "c0: f32");
	arg_float(w, l, "c0", -log((double)op->op_params[1]) / (double)half);
	return true;
}

/* ---- windows ------------------------------------------------------------------------------------- */

/* The window of each result, as a row: IM2COL and IM2COL_3D, and the first half of CONV_2D and CONV_3D. kw,
 * ka and kv: elements of a row, plane and volume of the window. Of each dim 0, 1 and 2 the stride s, the
 * padding o and the dilation d; `ic` channels, `od` results along dim 2. */
typedef struct Window {
	int64_t s[3], o[3], d[3], kw, ka, kv, ic, od;
} Window;

static Launch *
windows(Work *w, const View *a, const View *y, const Window *g, const char *value)
{
	int64_t number[] = { g->s[0], g->s[1], g->s[2], g->o[0], g->o[1], g->o[2], g->d[0],
		             g->d[1], g->d[2], g->kw,   g->ka,   g->kv,   g->ic,   g->od };
	static const char names[] = "s0 s1 s2 o0 o1 o2 d0 d1 d2 kw ka kv ic od ";
	Launch *l = compute(w, a, y, names, value);

	arg_numbers(w, l, names, number);
	return l;
}

static const char LINE[] = "fill(a[p, q, n / kw, m * s0 + n % kw * d0 - o0], 0)";
static const char PLANE[] =
	"fill(a[p, n / ka, q * s1 + n % ka / kw * d1 - o1, m * s0 + n % kw * d0 - o0], 0)";
static const char VOLUME[] = "fill(a[p / od * ic + n / kv, p % od * s2 + n % kv / ka * d2 - o2, "
			     "q * s1 + n % ka / kw * d1 - o1, m * s0 + n % kw * d0 - o0], 0)";

bool
im2col(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *k = op->src[0]->ne;
	bool plane = p[6];
	Window g = {
		.s = { p[0], p[1] }, .o = { p[2], p[3] }, .d = { p[4], p[5] },
		.kw = k[0], .ka = plane ? k[0] * k[1] : k[0], .kv = 1, .ic = 1, .od = 1,
	};
	View a, y;

	if (!start(op, 1, &a, &y))
		return false;
	windows(w, &a, &y, &g, plane ? PLANE : LINE);
	return true;
}

bool
im2col_3d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *k = op->src[0]->ne;
	int64_t ic = p[9];
	Window g = {
		.s = { p[0], p[1], p[2] }, .o = { p[3], p[4], p[5] }, .d = { p[6], p[7], p[8] },
		.kw = k[0], .ka = k[0] * k[1], .kv = k[0] * k[1] * k[2], .ic = ic,
	};
	View a, y;

	if (!start(op, 1, &a, &y) || ic < 1 || a.size[0] < ic)
		return false;
	g.od = y.size[0] / (a.size[0] / ic);
	windows(w, &a, &y, &g, VOLUME);
	return true;
}

/* dst[x, y, o, b] = sum_k kernel[k, o] window(b, x, y)[k]: windows go to scratch memory, as f16. */
static bool
convolve(Work *w, const struct ggml_tensor *op, const View *a, View columns, const Window *g,
         const char *value)
{
	const struct ggml_tensor *kernel = op->src[0];
	int64_t k = columns.size[3], results = columns.size[2] * columns.size[1];
	int64_t batch = columns.size[0] / g->od;
	View weight, c;

	if (ggml_is_empty(kernel)) {
		if (!view_of(&c, op) || !is_float(&c))
			return false;
		compute(w, NULL, &c, "", "0");
		return true;
	}
	if (!view_of(&weight, kernel) || !view_of(&c, op) || !is_float(&weight) ||
	    !ggml_is_contiguous(kernel) || !ggml_is_contiguous(op))
		return false;
	windows(w, a, &columns, g, value);
	results *= g->od;
	weight = (View){
		.type = weight.type,
		.data = weight.data,
		.size = { batch, 1, view_count(&weight) / k, k }, .stride = { 0, 0, k, 1 },
	};
	c = (View){ .type = c.type, .data = c.data, .size = { batch, 1, weight.size[2], results } };
	view_pack(&c);
	columns.size[0] = batch;
	columns.size[1] = 1;
	columns.size[2] = results;
	view_pack(&columns);
	product(w, &weight, &columns, &c);
	return true;
}

bool
conv_2d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *k = op->src[0]->ne;
	Window g = {
		.s = { p[0], p[1] }, .o = { p[2], p[3] }, .d = { p[4], p[5] },
		.kw = k[0], .ka = k[0] * k[1], .kv = 1, .ic = 1, .od = 1,
	};
	View a, y;

	if (!start(op, 1, &a, &y))
		return false;
	y = scratch_view(w, GGML_TYPE_F16, op->ne[3], op->ne[1], op->ne[0], k[0] * k[1] * k[2]);
	return convolve(w, op, &a, y, &g, PLANE);
}

bool
conv_3d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *k = op->src[0]->ne;
	int64_t ic = p[9], batch = p[10];
	Window g = {
		.s = { p[0], p[1], p[2] }, .o = { p[3], p[4], p[5] }, .d = { p[6], p[7], p[8] },
		.kw = k[0], .ka = k[0] * k[1], .kv = k[0] * k[1] * k[2], .ic = ic, .od = op->ne[2],
	};
	View a, y;

	if (ic < 1 || batch < 1 || !start(op, 1, &a, &y))
		return false;
	y = scratch_view(w, GGML_TYPE_F16, batch * op->ne[2], op->ne[1], op->ne[0], g.kv * ic);
	return convolve(w, op, &a, y, &g, VOLUME);
}

/* dst[i, t, s] = sum_k src0[t + k, i, s] src1[k, i]: a causal convolution of each channel i. */
bool
ssm_conv(Work *w, const struct ggml_tensor *op)
{
	View a, y, f;
	const char *sum = "";
	Chain c;
	Launch *l;

	if (!start(op, 0, &a, &y) || !view_of(&f, op->src[1]) || !is_float(&f) || f.size[3] > CHANNEL_MOST)
		return false;
	for (int k = 0; k < f.size[3]; k++)
		sum = text(w, "%s%sf32(a[p, q, n, m + %d]) * f32(f[n, %d])", sum, k ? " + " : "", k, k);
	chain_start(&c);
	c.value = sum;
	c.hole = "value";
	if (!chain_tail(w, &c, &y, 0))
		return false;
	l = work_launch(w, "compute");
	set(w, l, "OUT", "%s", type_name(y.type));
	declare(w, l, "a: %s[PA, QA, MA, NA] strides [ap, aq, am, an]", type_name(a.type));
	declare(w, l, "f: %s[MF, NF] strides [cm, cn]", type_name(f.type));
	chain_write(w, l, &c);
	arg_sizes(w, l, &a, "A");
	arg_view(w, l, "a", 'a', &a);
	arg_pointer(w, l, "f", f.data);
	arg_int(w, l, "MF", f.size[2]);
	arg_int(w, l, "NF", f.size[3]);
	arg_int(w, l, "cm", f.stride[2]);
	arg_int(w, l, "cn", f.stride[3]);
	arg_sizes(w, l, &y, "");
	arg_view(w, l, "Y", 'y', &y);
	return true;
}
