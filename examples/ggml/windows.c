/* windows.c - operations of windows of images and signals: pooling, convolutions of single channels,
 * transposed convolutions, scaling. Each is hexc's `compute` with terms: the sum, maximum or mean of a
 * window's elements, of which the sizes, strides, padding and dilation are arguments. */
#include "examples/ggml/work.h"
#include <math.h>

/* a is src[i] and y the result, of floats. */
static bool
start(const struct ggml_tensor *op, int i, View *a, View *y)
{
	return view_of(a, op->src[i]) && view_of(y, op) && is_float(a) && is_float(y);
}

/* ---- pooling --------------------------------------------------------------------------------------- */

/* The window of a result: along dim 0 (n) and dim 1 (m) the size k, the stride s and the padding o. */
typedef struct Pool {
	enum ggml_op_pool kind;
	int64_t k[2], s[2], o[2];
	bool counts; /* the mean is of the elements inside of the tensor, and not of the window's size */
} Pool;

#define POOL_ROW "m * s1 - o1 + t / kw"
#define POOL_COL "n * s0 - o0 + t % kw"
#define POOL_INSIDE POOL_ROW " >= 0 && " POOL_ROW " < MA && " POOL_COL " >= 0 && " POOL_COL " < NA"
#define POOLED "a[p, q, " POOL_ROW ", " POOL_COL "]"

static bool
pool(Work *w, const struct ggml_tensor *op, const Pool *g)
{
	int64_t number[] = { g->s[0], g->s[1], g->o[0], g->o[1], g->k[0] };
	static const char names[] = "s0 s1 o0 o1 kw ";
	bool most = g->kind == GGML_OP_POOL_MAX;
	View a, y;
	Launch *l;

	if (!start(op, 0, &a, &y) || (!most && g->kind != GGML_OP_POOL_AVG) || g->k[0] < 1 || g->k[1] < 1)
		return false;
	/* ggml's maximum of no elements */
	l = compute_terms(w, &a, &y, names, g->k[0] * g->k[1],
	                  most ? "where(" POOL_INSIDE ", " POOLED ", -3.40282347e38)" : POOLED);
	arg_numbers(w, l, names, number);
	if (most)
		set(w, l, "MAX", "1");
	else if (g->counts)
		set(w, l, "weight", "%s", "where(" POOL_INSIDE ", 1, 0)");
	else
		set(w, l, "value", "x / f32(T)");
	return true;
}

bool
pool_1d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	Pool g = {
		.kind = (enum ggml_op_pool)p[0],
		.k = { p[1], 1 }, .s = { p[2], 1 }, .o = { p[3], 0 }, .counts = true,
	};

	return pool(w, op, &g);
}

bool
pool_2d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	Pool g = {
		.kind = (enum ggml_op_pool)p[0],
		.k = { p[1], p[2] }, .s = { p[3], p[4] }, .o = { p[5], p[6] },
	};

	return pool(w, op, &g);
}

/* ---- convolutions ---------------------------------------------------------------------------------- */

/* Declares tensor f, the filters, and sets its arguments. */
static void
declare_filters(Work *w, Launch *l, const View *f)
{
	declare(w, l, "f: %s[PF, QF, MF, NF] strides [cp, cq, cm, cn]", type_name(f->type));
	arg_sizes(w, l, f, "F");
	arg_view(w, l, "f", 'c', f);
}

/* dst[x, y, c, b] = sum_{i,j} src0[i, j, 0, c] src1[x s0 + i d0 - o0, y s1 + j d1 - o1, c, b]. */
bool
conv_2d_dw(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *k = op->src[0]->ne;
	int64_t number[] = { p[0], p[1], p[2], p[3], p[4], p[5], k[0] };
	static const char names[] = "s0 s1 o0 o1 d0 d1 kw ";
	View a, y, f;
	Launch *l;

	if (!start(op, 1, &a, &y) || !view_of(&f, op->src[0]) || !is_float(&f))
		return false;
	l = compute_terms(w, &a, &y, names, k[0] * k[1],
	                  "a[p, q, m * s1 + t / kw * d1 - o1, n * s0 + t % kw * d0 - o0] * "
	                  "f[q, 0, t / kw, t % kw]");
	arg_numbers(w, l, names, number);
	declare_filters(w, l, &f);
	return true;
}

/* How many of `length` elements a result can be a sum of, if each is added to `k` adjacent results, and the
 * next to those that are `stride` further on. */
static int64_t
overlap(int64_t length, int64_t k, int64_t stride)
{
	int64_t most = (k + stride - 1) / stride;

	return most < length ? most : length;
}

#define TRANSPOSED_COL "(min(n / s0, NA - 1) - t % kt)"

/* dst[x, o, b] = sum_{c,i} src0[x - i s0, o, c] src1[i, c, b]: of i those for which the filter has an
 * element. */
bool
conv_transpose_1d(Work *w, const struct ggml_tensor *op)
{
	const int64_t *k = op->src[0]->ne;
	int64_t number[] = { op->op_params[0], overlap(op->src[1]->ne[0], k[0], op->op_params[0]) };
	View a, y, f;
	Launch *l;

	if (!start(op, 1, &a, &y) || !view_of(&f, op->src[0]) || !is_float(&f))
		return false;
	l = compute_terms(w, &a, &y, "s0 kt ", number[1] * k[2],
	                  "where(" TRANSPOSED_COL " >= 0 && n - " TRANSPOSED_COL " * s0 < NF, "
	                  "a[p, q, t / kt, " TRANSPOSED_COL "] * "
	                  "f[0, t / kt, m, n - " TRANSPOSED_COL " * s0], 0)");
	arg_numbers(w, l, "s0 kt ", number);
	declare_filters(w, l, &f);
	return true;
}

/* Columns of which results are sums: columns[i w + j, (o kh + y) kw + x] is added to the result of channel o
 * at (i s1 + y - o1, j s0 + x - o0). `image`: the sizes of j and i. All have dim 0 first. */
typedef struct Fold {
	int64_t k[2], s[2], o[2], image[2];
} Fold;

#define FOLD_ROW "(min((m + o1) / s1, hi - 1) - t / kt)"
#define FOLD_COL "(min((n + o0) / s0, wi - 1) - t % kt)"
#define FOLD_Y "(m + o1 - " FOLD_ROW " * s1)"
#define FOLD_X "(n + o0 - " FOLD_COL " * s0)"

static void
fold(Work *w, const View *columns, const View *y, const Fold *g)
{
	int64_t across = overlap(g->image[0], g->k[0], g->s[0]);
	int64_t down = overlap(g->image[1], g->k[1], g->s[1]);
	int64_t number[] = { g->s[0], g->s[1],     g->o[0],     g->o[1], g->k[0],
		             g->k[1], g->image[0], g->image[1], across };
	static const char names[] = "s0 s1 o0 o1 kw kh wi hi kt ";

	arg_numbers(w,
	            compute_terms(w, columns, y, names, across * down,
	                          "where(" FOLD_ROW " >= 0 && " FOLD_COL " >= 0 && " FOLD_Y " < kh && " FOLD_X
	                          " < kw, a[p, 0, " FOLD_ROW " * wi + " FOLD_COL ", "
	                          "(q * kh + " FOLD_Y ") * kw + " FOLD_X "], 0)"),
	            names, number);
}

/* A signal is an image of one row. */
bool
col2im_1d(Work *w, const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	const int64_t *ne = op->src[0]->ne;
	Fold g = {
		.k = { ne[0] / p[1], 1 }, .s = { p[0], 1 }, .o = { p[2], 0 }, .image = { ne[1], 1 },
	};
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	y.size[1] = y.size[2];
	y.stride[1] = y.stride[2];
	y.size[2] = 1;
	fold(w, &a, &y, &g);
	return true;
}

/* The columns are a product, of pixels' channels with those of all elements of the filters. */
bool
conv_transpose_2d(Work *w, const struct ggml_tensor *op)
{
	const struct ggml_tensor *kernel = op->src[0];
	const int64_t *k = kernel->ne, *ne = op->src[1]->ne;
	int64_t stride = op->op_params[0];
	Fold g = { .k = { k[0], k[1] }, .s = { stride, stride }, .image = { ne[0], ne[1] } };
	View a, y, f, columns;

	if (!start(op, 1, &a, &y) || !view_of(&f, kernel) || !is_float(&f) || !ggml_is_contiguous(kernel) ||
	    !ggml_is_contiguous(op->src[1]))
		return false;
	f = (View){ .type = f.type, .data = f.data, .size = { 1, 1, k[3], k[0] * k[1] * k[2] } };
	view_pack(&f);
	a = (View){ .type = a.type, .data = a.data, .size = { ne[3], 1, ne[2], ne[0] * ne[1] } };
	view_pack(&a);
	columns = scratch_view(w, GGML_TYPE_F32, ne[3], 1, a.size[3], f.size[3]);
	a = transposed(w, &a);
	f = transposed(w, &f);
	product(w, &a, &f, &columns);
	fold(w, &columns, &y, &g);
	return true;
}

/* ---- scaling of images ----------------------------------------------------------------------------- */

/* f0 to f3: by how much each dim grows. `half`: of where a pixel of size 1 is, 0.5 or 0. */
typedef struct Scaling {
	float factor[RANK], half;
} Scaling;

static Scaling
read_scaling(const struct ggml_tensor *op)
{
	const int64_t *from = op->src[0]->ne, *to = op->ne;
	Scaling s = { .half = 0.5f };

	for (int i = 0; i < RANK; i++)
		s.factor[i] = (float)to[i] / (float)from[i];
	if (!(op->op_params[0] & GGML_SCALE_FLAG_ALIGN_CORNERS))
		return s;
	s.half = 0;
	for (int i = 0; i < 2; i++)
		if (to[i] > 1 && from[i] > 1)
			s.factor[i] = (float)(to[i] - 1) / (float)(from[i] - 1);
	return s;
}

static void
declare_scaling(Work *w, Launch *l, const Scaling *s)
{
	declare(w, l, "f0: f32, f1: f32, f2: f32, f3: f32, half: f32");
	for (int i = 0; i < RANK; i++)
		arg_float(w, l, text(w, "f%d", i), (double)s->factor[i]);
	arg_float(w, l, "half", (double)s->half);
}

/* The slice that an element's is. */
#define SLICE "i64(exact(f32(p) / f3)), i64(exact(f32(q) / f2))"

/* Where a result is in the image that is scaled. */
#define CENTER_Y "((f32(m) + half) / f1 - half)"
#define CENTER_X "((f32(n) + half) / f0 - half)"

/* Elements nearer than `u0` and `u1` count the more, the nearer they are. */
#define NEAR_ROW "(i64(floor(" CENTER_Y " - u1)) + 1 + t / kt)"
#define NEAR_COL "(i64(floor(" CENTER_X " - u0)) + 1 + t % kt)"
#define NEARNESS \
	"where(" NEAR_ROW " >= 0 && " NEAR_ROW " < MA && " NEAR_COL " >= 0 && " NEAR_COL " < NA, " \
	"max(1 - abs(f32(" NEAR_ROW ") - " CENTER_Y ") / u1, 0) * " \
	"max(1 - abs(f32(" NEAR_COL ") - " CENTER_X ") / u0, 0), 0)"

/* With antialiasing where the image shrinks: of all elements that a result covers. */
static void
scale_linear(Work *w, const View *a, const View *y, const Scaling *s, bool antialias)
{
	float reach[2] = { 1, 1 };
	int64_t taps[2];
	Launch *l;

	for (int i = 0; i < 2; i++) {
		if (antialias)
			reach[i] = fmaxf(1, 1 / s->factor[i]);
		taps[i] = (int64_t)ceilf(2 * reach[i]);
	}
	l = compute_terms(w, a, y, "kt ", taps[0] * taps[1], "a[" SLICE ", " NEAR_ROW ", " NEAR_COL "]");
	set(w, l, "weight", "%s", NEARNESS);
	arg_numbers(w, l, "kt ", taps);
	declare_scaling(w, l, s);
	declare(w, l, "u0: f32, u1: f32");
	arg_float(w, l, "u0", (double)reach[0]);
	arg_float(w, l, "u1", (double)reach[1]);
}

/* The weight of an element at a distance d: Keys' cubic convolution with a = -0.75. */
static const char *
cubic(Work *w, const char *d)
{
	return text(w,
	            "where(%s <= 1, (1.25 * %s - 2.25) * %s * %s + 1, "
	            "((3.75 - 0.75 * %s) * %s - 6) * %s + 3)",
	            d, d, d, d, d, d, d);
}

static void
scale_cubic(Work *w, const View *a, const View *y, const Scaling *s)
{
	static const char down[] = "abs(floor(" CENTER_Y ") + f32(t / 4 - 1) - " CENTER_Y ")";
	static const char across[] = "abs(floor(" CENTER_X ") + f32(t % 4 - 1) - " CENTER_X ")";
	static const char element[] = "a[" SLICE ", clamp(i64(floor(" CENTER_Y ")) + t / 4 - 1, 0, MA - 1), "
				      "clamp(i64(floor(" CENTER_X ")) + t % 4 - 1, 0, NA - 1)]";
	const char *term = text(w, "%s * (%s) * (%s)", element, cubic(w, down), cubic(w, across));

	declare_scaling(w, compute_terms(w, a, y, "", 16, term), s);
}

bool
upscale(Work *w, const struct ggml_tensor *op)
{
	int32_t flags = op->op_params[0];
	Scaling s = read_scaling(op);
	View a, y;

	if (!start(op, 0, &a, &y))
		return false;
	switch ((int)(flags & 0xff)) {
	case GGML_SCALE_MODE_NEAREST:
		declare_scaling(w,
		                compute(w, &a, &y, "",
		                        "a[" SLICE ", i64(exact(f32(m) / f1)), i64(exact(f32(n) / f0))]"),
		                &s);
		return true;
	case GGML_SCALE_MODE_BILINEAR:
		scale_linear(w, &a, &y, &s, flags & GGML_SCALE_FLAG_ANTIALIAS);
		return true;
	case GGML_SCALE_MODE_BICUBIC: scale_cubic(w, &a, &y, &s); return true;
	default: return false;
	}
}
