/* rope.c - ROPE: rotation of pairs by position, of one position a token or of four (mrope), with YaRN's
 * scaling. ggml's X[d, h, t, b] is hexc's X[b, t, h, d]. */
#include "examples/ggml/work.h"
#include <math.h>
#include <string.h>

static const float PI = 3.14159265f;

/* The widest head of which a row fits in registers. Elements of wider ones are computed one by one. */
enum { WIDTH_MOST = 2048 };

/* op_params of ROPE, as ggml.c writes them. */
typedef struct Rope {
	int32_t dims, mode, context, begin, section[4];
	float base, scale, extrapolate, size, fast, slow;
} Rope;

static Rope
read_rope(const struct ggml_tensor *op)
{
	const int32_t *p = op->op_params;
	Rope r = {
		.dims = p[1], .mode = p[2], .context = p[4], .begin = p[15],
		.base = param(op, 5), .scale = param(op, 6), .extrapolate = param(op, 7),
		.size = param(op, 8), .fast = param(op, 9), .slow = param(op, 10),
	};

	memcpy(r.section, p + 11, sizeof r.section);
	return r;
}

/* Which of a token's four positions pair i has, as an expression of s, the number in the sections. */
static const char *
position(Work *w, const Rope *r)
{
	const int32_t *n = r->section;
	int32_t all = n[0] + n[1] + n[2] + n[3];

	if (!(r->mode & GGML_ROPE_TYPE_MROPE))
		return "t";
	if (r->mode == GGML_ROPE_TYPE_IMROPE)
		return text(w,
		            "t + T * where(pair %% %d %% 3 == 1 && pair %% %d < %d, 1, "
		            "where(pair %% %d %% 3 == 2 && pair %% %d < %d, 2, "
		            "where(pair %% %d %% 3 == 0 && pair %% %d < %d, 0, 3)))",
		            all, all, 3 * n[1], all, all, 3 * n[2], all, all, 3 * n[0]);
	return text(w,
	            "t + T * where(pair %% %d < %d, 0, where(pair %% %d < %d, 1, "
	            "where(pair %% %d < %d, 2, 3)))",
	            all, n[0], all, n[0] + n[1], all, n[0] + n[1] + n[2]);
}

/* The number of the pair by which its speed falls: in images that of its section. */
static const char *
pair(Work *w, const Rope *r)
{
	const int32_t *n = r->section;
	int32_t all = n[0] + n[1] + n[2] + n[3], a = n[0], b = a + n[1], c = b + n[2];

	if (r->mode != GGML_ROPE_TYPE_VISION)
		return "i";
	return text(w,
	            "f32(pair %% %d - where(pair %% %d < %d, 0, where(pair %% %d < %d, %d, "
	            "where(pair %% %d < %d, %d, %d))))",
	            all, all, a, all, b, a, all, c, b, c);
}

/* The dims from which on, and up to which, YaRN mixes (ggml_rope_yarn_corr_dims). */
static void
yarn_range(const Rope *r, float *low, float *high)
{
	float turns[2] = { r->fast, r->slow }, at[2];

	for (int i = 0; i < 2; i++)
		at[i] = (float)r->dims * logf((float)r->context / (turns[i] * 2 * PI)) / (2 * logf(r->base));
	*low = fmaxf(0, floorf(at[0]));
	*high = fminf((float)r->dims - 1, ceilf(at[1]));
}

static void
arg_yarn(Work *w, Launch *l, const Rope *r)
{
	float low = 0, high = 0, size = r->size;

	if (r->extrapolate != 0) {
		yarn_range(r, &low, &high);
		size *= 1 + 0.1f * logf(1 / r->scale);
	}
	arg_float(w, l, "speed", -2 * log2((double)r->base) / (double)r->dims);
	arg_float(w, l, "fs", (double)r->scale);
	arg_float(w, l, "mix", (double)r->extrapolate);
	arg_float(w, l, "low", (double)low);
	arg_float(w, l, "span", (double)fmaxf(0.001f, high - low));
	arg_float(w, l, "size", (double)size);
}

/* SET_ROWS stores rows of all heads of a token: to y[row, head, number], then. */
static bool
heads_of_rows(const View *x, View *y, const Chain *chain)
{
	const int64_t *ne = chain->rows->src[0]->ne;

	if (x->size[0] != 1 || ne[0] != x->size[2] * x->size[3] || ne[1] != x->size[1] || ne[2] != 1 ||
	    ne[3] != 1)
		return false;
	*y = (View){
		.type = y->type,
		.data = y->data,
		.size = { 1, y->size[2], x->size[2], x->size[3] },
		.stride = { 0, y->stride[2], x->size[3], 1 },
	};
	return true;
}

/* The angle of a pair, an expression of t and of the pair's number: pair, or i as f32. */
static const char *
write_angle(Work *w, const Rope *r, bool back, bool factors)
{
	static const char yarn[] = "fs + (1 - fs) * mix * (1 - clamp((i - low) / span, 0, 1))";

	return text(w, "%sf32(pos[%s]) * exp2(%s * speed)%s * (%s)", back ? "-" : "", position(w, r),
	            pair(w, r), factors ? " / ff[pair]" : "", yarn);
}

/* hexc's rotary: whole heads, of which `turned` elements are turned. */
static Launch *
turn_heads(Work *w, const View *x, const View *y, const Rope *r, int32_t turned, const char *angle)
{
	Launch *l = work_launch(w, "rotary");

	set(w, l, "strided", "1");
	set(w, l, "start", "0"); /* the angle reads the positions */
	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "OUT", "%s", type_name(y->type));
	set(w, l, "D", "%d", (int)x->size[3]);
	set(w, l, "ROT", "%d", turned);
	set(w, l, "BEGIN", "%d", r->begin);
	set(w, l, "PAIRS", "%d", r->mode == GGML_ROPE_TYPE_NORMAL);
	set(w, l, "angle", "%s", angle);
	set(w, l, "magnitude", "size");
	if (x->data == y->data)
		set(w, l, "in_place", "1");
	arg_int(w, l, "first", 0);
	arg_int(w, l, "B", x->size[0]);
	arg_int(w, l, "T", x->size[1]);
	arg_int(w, l, "H", x->size[2]);
	arg_rows(w, l, "X", "xbth", x);
	arg_rows(w, l, "Y", "ybth", y);
	return l;
}

/* Heads that are turned in place go to scratch memory first: each element is read by two threads. */
static View
unwritten(Work *w, const View *x, const View *y)
{
	View copy;

	if (x->data != y->data)
		return *x;
	copy = scratch_view(w, x->type, x->size[0], x->size[1], x->size[2], x->size[3]);
	copy_view(w, x, &copy);
	return copy;
}

/* hexc's compute: each element from its pair's two. */
static Launch *
turn_elements(Work *w, const View *x, const View *y, const Rope *r, int32_t turned, const char *angle)
{
	bool adjacent = r->mode == GGML_ROPE_TYPE_NORMAL;
	const char *number = adjacent ? "((n - rb) / 2)" : "((n - rb) % (rn / 2))";
	const char *first = adjacent ? "(n - rb) % 2 == 0" : "n - rb < rn / 2";
	const char *apart = adjacent ? "1" : "rn / 2";
	Word words[] = {
		{ "t", "q" }, { "T", "Q" }, { "pair", number }, { "i", text(w, "f32(%s)", number) },
	};
	int64_t range[] = { r->begin, turned };
	const char *a = replace(w, angle, words, sizeof words / sizeof *words);
	const char *other = text(w, "a[p, q, m, n + where(%s, %s, -(%s))]", first, apart, apart);
	const char *value = text(w,
	                         "where(n < rb || n >= rb + rn, a[p, q, m, n], "
	                         "size * (a[p, q, m, n] * cos(%s) + where(%s, -1, 1) * %s * sin(%s)))",
	                         a, first, other, a);
	View from = unwritten(w, x, y);
	Launch *l = compute(w, &from, y, "rb rn ", value);

	arg_numbers(w, l, "rb rn ", range);
	return l;
}

/* Adds the heads of a second tensor, which must not be turned in place: an element may be written by another
 * thread than the one that reads it. */
static bool
turn_also(Work *w, Launch *l, const View *x, const struct ggml_tensor *op)
{
	View from, to;

	if (!view_of(&from, op->src[0]) || !view_of(&to, op) || from.type != x->type || !is_float(&to) ||
	    !is_row(&from) || !is_row(&to) || from.size[3] != x->size[3] || from.size[3] > WIDTH_MOST ||
	    from.data == to.data)
		return false;
	set(w, l, "also", "%s", type_name(to.type));
	arg_int(w, l, "H2", from.size[2]);
	arg_rows(w, l, "X2", "ubth", &from);
	arg_rows(w, l, "Y2", "vbth", &to);
	return true;
}

bool
rope(Work *w, const struct ggml_tensor *op)
{
	const struct ggml_tensor *factors = op->src[2];
	Rope r = read_rope(op);
	int32_t turned = r.mode == GGML_ROPE_TYPE_VISION ? 2 * r.dims : r.dims;
	const char *angle;
	View x, y, at;
	Chain chain;
	Launch *l;

	if (!view_of(&x, op->src[0]) || !view_of(&y, op) || !view_of(&at, op->src[1]) || !is_float(&x) ||
	    !is_float(&y) || !is_row(&x) || !is_row(&y) || at.type != GGML_TYPE_I32)
		return false;
	/* No dims: libllama asks by such a rope whether the device may have the factors. */
	if (!r.dims) {
		copy_view(w, &x, &y);
		return !w->tail;
	}
	chain_start(&chain);
	if (!chain_tail(w, &chain, &y, TAKES_ROWS | TAKES_ALSO) || chain.operands ||
	    strcmp(chain.value, "x") ||
	    (chain.rows && (!heads_of_rows(&x, &y, &chain) || x.size[3] > WIDTH_MOST)))
		return false;
	if (r.dims < 2 || r.dims % 2)
		return false;
	if ((r.mode & GGML_ROPE_TYPE_MROPE) && r.section[0] + r.section[1] + r.section[2] <= 0)
		return false;
	angle = write_angle(w, &r, op->op == GGML_OP_ROPE_BACK, factors);
	l = (x.size[3] > WIDTH_MOST ? turn_elements : turn_heads)(w, &x, &y, &r, turned, angle);
	declare(w, l, "pos: i32[TP], speed: f32, fs: f32, mix: f32, low: f32, span: f32, size: f32%s",
	        factors ? ", ff: f32[PAIRS_F]" : "");
	arg_int(w, l, "TP", at.size[3]);
	if (w->tail && w->tail->also && !turn_also(w, l, &x, w->tail->also))
		return false;
	if (chain.rows) {
		set(w, l, "rows", "%s", type_name(chain.index.type));
		arg_pointer(w, l, "I", chain.index.data);
		arg_int(w, l, "it", chain.index.stride[3]);
		arg_int(w, l, "V", y.size[1]);
	}
	arg_pointer(w, l, "pos", at.data);
	if (factors) {
		arg_pointer(w, l, "ff", factors->data);
		arg_int(w, l, "PAIRS_F", factors->ne[0]);
	}
	arg_yarn(w, l, &r);
	return true;
}
