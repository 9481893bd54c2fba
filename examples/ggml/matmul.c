/* matmul.c - MUL_MAT and MUL_MAT_ID: products of activations with weights, or with other activations.
 * ggml's dst[n, m] = sum_k src0[k, n] src1[k, m] is hexc's C[m, n] = sum_k A[m, k] B[n, k], A = src1 and
 * B = src0. */
#include "examples/ggml/packed.h"
#include <math.h>
#include <string.h>

/* PREC_OF_SRC1: the parameter of MUL_MAT and MUL_MAT_ID that ggml_prec_set_src sets for src[1]. */
enum { PREC_OF_SRC1 = 3, GROUPED_MOST = 1 << 30 };

/* May it be a factor, with k as its inner dim? */
static bool
is_factor(const View *v)
{
	return is_float(v) && is_row(v);
}

/* The second factor: floats, or bytes of blocks, or packed. */
typedef struct Weight {
	View view;
	bool blocks;
	const Packed *packed; /* or NULL */
} Weight;

static bool
weight_of(Weight *b, const struct ggml_tensor *t)
{
	b->packed = packed_of(t);
	b->blocks = view_of_blocks(&b->view, t);
	return b->blocks || (view_of(&b->view, t) && is_float(&b->view));
}

/* The type that factors are rounded to: one with the range of f32 where src[1] may exceed that of f16, which
 * ggml_prec_set_src says of a product. */
static const char *
rounded_to(const struct ggml_tensor *op, const View *b, bool packed)
{
	bool product = op->op == GGML_OP_MUL_MAT || op->op == GGML_OP_MUL_MAT_ID;

	if (b->type == GGML_TYPE_BF16)
		return "bf16";
	if (!product || op->op_params[PREC_OF_SRC1] != GGML_PREC_F32)
		return "f16";
	return packed ? "bf16" : "tf32"; /* codes become ACT by arithmetic, which tf32 does not have */
}

/* The largest power of two, at most `most`, that divides x. */
static int
power_in(int64_t x, int most)
{
	int power = 1;

	while (power < most && x % (2 * power) == 0)
		power *= 2;
	return power;
}

/* Is it the argument of a stride that the operator assumes to be a multiple of MULT? */
static bool
is_stride(const Arg *a)
{
	return a->kind == ARG_INT && strlen(a->name) == 2 && strchr("abcde", a->name[0]) &&
	       strchr("pqmn", a->name[1]);
}

/* Says what K, N and all strides are multiples of, up to the steps of the loops along K. */
static void
set_multiples(Work *w, Launch *l, int64_t n, int64_t k)
{
	int mult = 8;

	set(w, l, "KMULT", "%d", power_in(k, 512));
	set(w, l, "NMULT", "%d", power_in(n, 32));
	for (int i = 0; i < l->args; i++)
		if (is_stride(&l->arg[i]))
			mult = power_in(l->arg[i].integer, mult);
	set(w, l, "MULT", "%d", mult);
}

/* The sizes, A and C. */
static Launch *
start(Work *w, const View *a, const View *b, bool packed, const View *c)
{
	Launch *l = work_launch(w, packed ? "matmul_packed" : "matmul");
	const char *act = rounded_to(w->op, b, packed);

	set(w, l, "IN", "%s", type_name(a->type));
	set(w, l, "ACT", "%s", act);
	if (strcmp(act, "tf32") && strcmp(act, type_name(a->type)))
		set(w, l, "rounded", "1");
	set(w, l, "OUT", "%s", type_name(c->type));
	arg_int(w, l, "P", a->size[0]);
	arg_int(w, l, "Q", a->size[1]);
	arg_int(w, l, "PB", b->size[0]);
	arg_int(w, l, "QB", b->size[1]);
	arg_int(w, l, "M", a->size[2]);
	arg_int(w, l, "N", b->size[2]);
	arg_int(w, l, "K", a->size[3]);
	arg_rows(w, l, "A", "apqm", a);
	arg_rows(w, l, "C", "cpqm", c);
	return l;
}

Launch *
product(Work *w, const View *a, const View *b, const View *c)
{
	Launch *l = start(w, a, b, false, c);

	set(w, l, "WEIGHT", "%s", type_name(b->type));
	arg_rows(w, l, "B", "bpqn", b);
	return l;
}

/* ---- packed weights ----------------------------------------------------------------------------------- */

/* The planes of a weight: the settings of matmul_packed that name their types, and their arguments, of the
 * first factor and of the second. */
static const struct {
	hexc_plane_id plane;
	const char *setting[2], *arg[2];
} planes[] = {
	{ HEXC_PLANE_TABLE,   { "table",   "table_z" },   { "T",  "TZ" } },
	{ HEXC_PLANE_SCALE,   { "scale",   "scale_z" },   { "S",  "ZS" } },
	{ HEXC_PLANE_SCALE2,  { "scale2",  "scale2_z" },  { "SS", "ZSS" } },
	{ HEXC_PLANE_OFFSET,  { "offset",  "offset_z" },  { "O",  "ZO" } },
	{ HEXC_PLANE_OFFSET2, { "offset2", "offset2_z" }, { "OO", "ZOO" } },
};

/* Sets factor `which`: 0, or 1 for the second. */
static void
set_planes(Work *w, Launch *l, const Packed *p, int which)
{
	const hexc_weight *m = &p->form.matrix;

	set(w, l, which ? "codes_z" : "codes", "(\"%s\") %s", p->form.pack, m->plane[HEXC_PLANE_CODE].dtype);
	arg_pointer(w, l, which ? "Z" : "W", p->data + p->form.start[HEXC_PLANE_CODE]);
	set(w, l, which ? "BIAS_Z" : "BIAS", "%d", (int)m->bias);
	set(w, l, which ? "G_Z" : "G", "%d", (int)m->plane[HEXC_PLANE_SCALE].group);
	if (m->plane[HEXC_PLANE_TABLE].dtype)
		set(w, l, which ? "numbers_z" : "numbers", "%d", (int)m->plane[HEXC_PLANE_TABLE].cols);
	for (size_t i = 0; i < sizeof planes / sizeof planes[0]; i++) {
		const char *dtype = m->plane[planes[i].plane].dtype;

		if (!dtype)
			continue;
		set(w, l, planes[i].setting[which], "%s", dtype);
		arg_pointer(w, l, planes[i].arg[which], p->data + p->form.start[planes[i].plane]);
	}
	if (p->form.wide) {
		set(w, l, which ? "factor_z" : "factor", "f32");
		arg_float(w, l, which ? "factor_z" : "factor", ldexp(1, p->shift));
	}
}

static Launch *
start_packed(Work *w, const View *a, const Weight *b, const View *c)
{
	Launch *l = start(w, a, &b->view, true, c);

	set_planes(w, l, b->packed, 0);
	w->packed++;
	return l;
}

/* ---- factors ------------------------------------------------------------------------------------------ */

/* Does a launch multiply by both? Packed weights of the same rows may be of different formats. */
static bool
may_be_second(const Weight *a, const Weight *b)
{
	bool same = a->view.type == b->view.type && view_same_size(&a->view, &b->view);

	if (a->packed && b->packed)
		return !memcmp(a->view.size, b->view.size, (RANK - 1) * sizeof a->view.size[0]);
	return same && a->blocks == b->blocks && !a->packed == !b->packed && is_row(&b->view);
}

bool
products_are_one(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
	Weight x, y;

	return weight_of(&x, a) && weight_of(&y, b) && may_be_second(&x, &y);
}

/* The second factor that the tail has, if any: *found. Returns false if a launch cannot have it and b. */
static bool
find_second(const Work *w, const Weight *b, Weight *other, bool *found)
{
	const Tail *t = w->tail;
	const struct ggml_tensor *product = t && t->second ? t->second : t ? t->also : NULL;

	*found = product;
	return !product || (weight_of(other, product->src[0]) && may_be_second(b, other));
}

static void
set_second(Work *w, Launch *l, const Weight *b)
{
	if (b->packed) {
		set_planes(w, l, b->packed, 1);
	} else if (b->blocks) {
		set(w, l, "weight_z", "%s", block_value(w, b->view.type, "w2[pb, qb, row", "col"));
		declare(w, l, "w2: u8[PB, QB, N, NW] strides [dp, dq, dn, 1]");
		arg_rows(w, l, "w2", "dpqn", &b->view);
	} else {
		set(w, l, "second", "1");
		arg_rows(w, l, "B2", "dpqn", &b->view);
	}
}

/* Sets the second result that the tail may have. */
static bool
set_also(Work *w, Launch *l)
{
	View c;

	if (!w->tail || !w->tail->also)
		return true;
	if (!view_of(&c, w->tail->also) || !is_factor(&c))
		return false;
	set(w, l, "also", "%s", type_name(c.type));
	arg_rows(w, l, "C2", "epqm", &c);
	return true;
}

/* Row m of the result goes to a row of c, which has other sizes. */
static void
set_rows_of(Work *w, Launch *l, const Chain *chain, const View *c)
{
	set(w, l, "rows", "%s", type_name(chain->index.type));
	arg_index(w, l, &chain->index);
	arg_int(w, l, "PI", chain->index.size[1]);
	arg_int(w, l, "QI", chain->index.size[2]);
	arg_int(w, l, "V", c->size[2]);
}

/* Are blocks that are not packed decoded before the product? Each of its blocks of rows decodes them again,
 * which takes more time than the product. Scratch memory is not for the largest. */
static bool
is_decoded(const Work *w, const View *a, const Weight *b)
{
	enum { ROWS = 128, BYTES_MOST = 256 << 20 };
	int64_t k = a->size[3], n = view_count(&b->view) / b->view.size[3];

	return b->blocks && !b->packed && a->size[2] > ROWS && n * k * 2 <= BYTES_MOST &&
	       !strcmp(rounded_to(w->op, &b->view, false), "f16");
}

static void
decode_weight(Work *w, Weight *b, int64_t k)
{
	b->view = decode_blocks(w, &b->view, k);
	b->blocks = false;
}

/* Codes are decoded on their way to tensor cores, or before. The launch computes the tail, too. */
static Launch *
multiply(Work *w, const View *a, Weight *b, const View *c, const Chain *chain)
{
	Weight second;
	bool two;
	Launch *l;

	if (!find_second(w, b, &second, &two))
		w->failed = true;
	if (!w->failed && is_decoded(w, a, b)) {
		decode_weight(w, b, a->size[3]);
		if (two)
			decode_weight(w, &second, a->size[3]);
	}
	if (b->packed) {
		l = start_packed(w, a, b, c);
	} else if (b->blocks) {
		l = start(w, a, &b->view, false, c);
		set(w, l, "weight", "%s", block_value(w, b->view.type, "w[pb, qb, row", "col"));
		declare(w, l, "w: u8[PB, QB, N, NW] strides [wp, wq, wm, 1]");
		declare_codebook(w, l, b->view.type);
		arg_int(w, l, "NW", b->view.size[3]);
		arg_rows(w, l, "w", "wpqm", &b->view);
	} else {
		l = product(w, a, &b->view, c);
	}
	if (two && !w->failed)
		set_second(w, l, &second);
	if (!set_also(w, l))
		w->failed = true;
	if (chain->rows)
		set_rows_of(w, l, chain, c);
	chain_write(w, l, chain);
	set_multiples(w, l, b->view.size[2], a->size[3]);
	return l;
}

bool
matmul(Work *w, const struct ggml_tensor *op)
{
	View a, c;
	Weight b;
	Chain chain;

	chain_start(&chain);
	chain.result_name = "C";
	if (!view_of(&a, op->src[1]) || !view_of(&c, op) ||
	    !chain_tail(w, &chain, &c, TAKES_SECOND | TAKES_ROWS | TAKES_ALSO))
		return false;
	if (!is_factor(&a) || !is_factor(&c) || !weight_of(&b, op->src[0]) || !is_row(&b.view))
		return false;
	if (chain.rows && !ggml_are_same_shape(chain.rows->src[0], op))
		return false;
	multiply(w, &a, &b, &c, &chain);
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

/* Are the rows of an expert multiplied together, so that its weights are read once? Otherwise each row is a
 * product of its own: of one token, where few experts have several rows, or where rows cannot be rounded
 * before. */
static bool
is_grouped(const Work *w, const View *a, const Weight *experts)
{
	int64_t rows = a->size[0] * a->size[1];

	return a->size[0] > 1 && 2 * rows > experts->view.size[1] && rows <= GROUPED_MOST &&
	       strcmp(rounded_to(w->op, &experts->view, experts->packed), "tf32");
}

/* dst[n, e, t] = src0[:, n, ids[e, t]] src1[:, e, t], or src1[:, 0, t]. */
bool
matmul_id(Work *w, const struct ggml_tensor *op)
{
	View a, c, ids;
	Weight b;
	int64_t experts = op->ne[1];
	Chain chain;
	Launch *l;

	chain_start(&chain);
	chain.result_name = "C";
	if (!view_of(&a, op->src[1]) || !view_of(&c, op) || !view_of(&ids, op->src[2]) ||
	    ids.type != GGML_TYPE_I32 || a.size[0] != 1)
		return false;
	if (!chain_tail(w, &chain, &c, TAKES_SECOND) || chain_wraps(&chain) || !is_factor(&a) ||
	    !is_factor(&c))
		return false;
	if (a.size[2] != 1 && a.size[2] != experts)
		return false;
	if (!weight_of(&b, op->src[0]) || !is_row(&b.view))
		return false;
	split_tokens(&a, experts);
	split_tokens(&c, experts);
	for (int i = 0; i < chain.operands; i++)
		split_tokens(&chain.operand[i], experts);
	l = multiply(w, &a, &b, &c, &chain);
	if (is_grouped(w, &a, &b)) {
		set(w, l, "grouped", "1");
	} else {
		declare(w, l, "ids: i32[P, Q] strides [ip, iq]");
		set(w, l, "chosen", "ids[p, q]");
	}
	arg_pointer(w, l, "ids", ids.data);
	arg_int(w, l, "ip", ids.stride[2]);
	arg_int(w, l, "iq", ids.stride[3]);
	return true;
}

View
transposed(Work *w, const View *v)
{
	View x = *v, y;

	x.size[2] = v->size[3];
	x.stride[2] = v->stride[3];
	x.size[3] = v->size[2];
	x.stride[3] = v->stride[2];
	y = scratch_view(w, GGML_TYPE_F32, x.size[0], x.size[1], x.size[2], x.size[3]);
	copy_view(w, &x, &y);
	return y;
}

/* dst[i, j] = sum_k src0[i, k] src1[j, k]. */
bool
outer_product(Work *w, const struct ggml_tensor *op)
{
	View a, b, c;

	if (!view_of(&a, op->src[1]) || !view_of(&c, op) || !is_float(&a) || !is_factor(&c) ||
	    !view_of(&b, op->src[0]) || !is_float(&b))
		return false;
	a = transposed(w, &a);
	b = transposed(w, &b);
	product(w, &a, &b, &c);
	return true;
}
