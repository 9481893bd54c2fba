/* blocks.c - tensors in ggml's block types: hexc's formats of GGUF (hexc_format_expr) say what their bytes
 * mean. They are decoded before a product, to f16 in scratch memory, or row by row, and written by the
 * operator encode. */
#include "examples/ggml/work.h"
#include "lib/hexc_weights.h"

enum { EXPRESSION = 6000 };

bool
view_of_bytes(View *v, const struct ggml_tensor *t)
{
	int64_t size = (int64_t)ggml_type_size(t->type);

	if (ggml_blck_size(t->type) == 1 || t->nb[0] != (size_t)size)
		return false;
	*v = (View){ .type = t->type, .data = t->data };
	for (int i = 0; i < RANK - 1; i++) {
		v->size[i] = t->ne[RANK - 1 - i];
		v->stride[i] = (int64_t)t->nb[RANK - 1 - i];
	}
	v->size[RANK - 1] = t->ne[0] / ggml_blck_size(t->type) * size;
	v->stride[RANK - 1] = 1;
	return true;
}

bool
view_of_blocks(View *v, const struct ggml_tensor *t)
{
	char expression[EXPRESSION];

	return view_of_bytes(v, t) &&
	       !hexc_format_expr(block_format(t->type), "w[", "n", expression, sizeof expression);
}

const char *
block_format(enum ggml_type type)
{
	switch ((int)type) {
	case GGML_TYPE_Q1_0: return "Q1_0";
	case GGML_TYPE_Q2_0: return "Q2_0";
	case GGML_TYPE_Q4_0: return "Q4_0";
	case GGML_TYPE_Q4_1: return "Q4_1";
	case GGML_TYPE_Q5_0: return "Q5_0";
	case GGML_TYPE_Q5_1: return "Q5_1";
	case GGML_TYPE_Q8_0: return "Q8_0";
	case GGML_TYPE_Q2_K: return "Q2_K";
	case GGML_TYPE_Q3_K: return "Q3_K";
	case GGML_TYPE_Q4_K: return "Q4_K";
	case GGML_TYPE_Q5_K: return "Q5_K";
	case GGML_TYPE_Q6_K: return "Q6_K";
	case GGML_TYPE_IQ1_S: return "IQ1_S";
	case GGML_TYPE_IQ1_M: return "IQ1_M";
	case GGML_TYPE_IQ2_XXS: return "IQ2_XXS";
	case GGML_TYPE_IQ2_XS: return "IQ2_XS";
	case GGML_TYPE_IQ2_S: return "IQ2_S";
	case GGML_TYPE_IQ3_XXS: return "IQ3_XXS";
	case GGML_TYPE_IQ3_S: return "IQ3_S";
	case GGML_TYPE_IQ4_NL: return "IQ4_NL";
	case GGML_TYPE_IQ4_XS: return "IQ4_XS";
	case GGML_TYPE_TQ1_0: return "TQ1_0";
	case GGML_TYPE_TQ2_0: return "TQ2_0";
	case GGML_TYPE_MXFP4: return "MXFP4";
	case GGML_TYPE_NVFP4: return "NVFP4";
	default: return "";
	}
}

const char *
block_value(Work *w, enum ggml_type type, const char *row, const char *index)
{
	char expression[EXPRESSION];

	if (hexc_format_expr(block_format(type), row, index, expression, sizeof expression))
		w->failed = true;
	return w->failed ? "" : text(w, "%s", expression);
}

void
declare_codebook(Work *w, Launch *l, enum ggml_type type)
{
	size_t n = hexc_format_codebook(block_format(type), NULL, 0);

	if (!n)
		return;
	declare(w, l, "codebook: i8[%zu]", n);
	arg_codebook(w, l, "codebook", type);
}

/* A launch that computes y, whose rows are those of `blocks` at row `row`, an index of p, q and m. */
static Launch *
decode(Work *w, const View *blocks, const char *row, const char *more, const View *y)
{
	Launch *l = work_launch(w, "compute");

	set(w, l, "OUT", "%s", type_name(y->type));
	set(w, l, "value", "%s", block_value(w, blocks->type, text(w, "w[%s", row), "n"));
	declare(w, l, "w: u8[PW, QW, MW, NW] strides [wp, wq, wm, 1]%s", more);
	declare_codebook(w, l, blocks->type);
	arg_sizes(w, l, y, "");
	arg_sizes(w, l, blocks, "W");
	arg_rows(w, l, "w", "wpqm", blocks);
	arg_view(w, l, "Y", 'y', y);
	return l;
}

View
decode_blocks(Work *w, const View *blocks, int64_t n)
{
	View y = scratch_view(w, GGML_TYPE_F16, blocks->size[0], blocks->size[1], blocks->size[2], n);

	decode(w, blocks, "p, q, m", "", &y);
	return y;
}

void
decode_to(Work *w, const View *blocks, const View *y)
{
	decode(w, blocks, "p, q, m", "", y);
}

void
decode_rows(Work *w, const View *blocks, const View *index, const View *y)
{
	Launch *l = decode(w, blocks, "p, q, ids[p, q, m]",
	                   text(w, ", ids: %s[P, Q, M] strides [ip, iq, im]", type_name(index->type)), y);

	arg_pointer(w, l, "ids", index->data);
	for (int i = 0; i < 3; i++)
		arg_int(w, l, text(w, "i%c", "pqm"[i]), index->stride[i + 1]);
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* A block type as `encode` writes it. */
typedef struct Encoding {
	enum ggml_type type;
	int bits, offset, table;
} Encoding;

static const Encoding *
encoding_of(enum ggml_type type)
{
	static const Encoding all[] = {
		{ GGML_TYPE_Q4_0, 4, 0, 0 }, { GGML_TYPE_Q4_1, 4, 1, 0 }, { GGML_TYPE_Q5_0, 5, 0, 0 },
		{ GGML_TYPE_Q5_1, 5, 1, 0 }, { GGML_TYPE_Q8_0, 8, 0, 0 }, { GGML_TYPE_IQ4_NL, 4, 0, 1 },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].type == type)
			return &all[i];
	return NULL;
}

bool
encode_rows(Work *w, const View *x, const View *index, const struct ggml_tensor *to)
{
	const Encoding *e = encoding_of(to->type);
	View y;
	Launch *l;

	/* of bf16, many numbers are halfway between two codes, where ggml's own backends differ */
	if (!e || (x->type != GGML_TYPE_F32 && x->type != GGML_TYPE_F16) || !view_of_bytes(&y, to))
		return false;
	l = work_launch(w, "encode");
	set(w, l, "IN", "%s", type_name(x->type));
	set(w, l, "BITS", "%d", e->bits);
	set(w, l, "OFFSET", "%d", e->offset);
	set(w, l, "TABLE", "%d", e->table);
	if (index) {
		set(w, l, "rows", "%s", type_name(index->type));
		arg_index(w, l, index);
		arg_int(w, l, "PI", index->size[1]);
		arg_int(w, l, "QI", index->size[2]);
	}
	arg_int(w, l, "P", x->size[0]);
	arg_int(w, l, "Q", x->size[1]);
	arg_int(w, l, "M", x->size[2]);
	arg_int(w, l, "V", y.size[2]);
	arg_int(w, l, "NB", x->size[3] / ggml_blck_size(to->type));
	arg_rows(w, l, "X", "xpqm", x);
	arg_int(w, l, "xg", x->stride[3] * ggml_blck_size(to->type));
	arg_int(w, l, "xn", x->stride[3]);
	arg_rows(w, l, "Y", "ypqm", &y);
	return true;
}
