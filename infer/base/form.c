/* form.c - forms of shared tiles as layouts, and as wgmma's descriptors see them. */
#include "infer/base/form.h"

const int form_widths[FORM_WIDTHS] = { 128, 64, 32, FORM_CHUNK };

int
whole_from(const Val *v)
{
	int first = 0;

	for (; v->def && v->def->code == O_view; v = v->def->in[0]) {
		const Type *t = &v->type, *of = &v->def->in[0]->type;

		int dropped = of->rank - t->rank;

		if (IMM(v->def, dropped) != (1 << dropped) - 1)
			return -1;
		for (int d = 0; d < t->rank; d++)
			if (t->shape[d] != of->shape[dropped + d])
				return -1;
		first += dropped;
	}
	return v->def && v->def->code == O_alloc ? first : -1;
}

int64_t
form_row(const Form *f, const Type *t)
{
	return (int64_t)f->width * 8 / dtype_info[t->dtype].bits;
}

int
form_align(const Form *f)
{
	return FORM_ROWS * f->width;
}

/* Rows of a block: all that is inside but the dim of neighbours. */
static int64_t
block_rows(const Form *f, const Type *t)
{
	int64_t n = 1;

	for (int d = f->outer; d < t->rank; d++)
		n *= d == f->unit ? 1 : t->shape[d];
	return n;
}

bool
form_layout(const Form *f, const Type *t, Layout *out)
{
	int bits = dtype_info[t->dtype].bits;
	int64_t row = form_row(f, t), rows = block_rows(f, t), at = row * rows, stride[DIM_MAX];

	if (f->unit < f->outer || dtype_pieces(t->dtype) > 1 || t->shape[f->unit] % row || rows % FORM_ROWS)
		return false;
	at *= t->shape[f->unit] / row;
	for (int d = f->outer - 1; d >= 0; at *= t->shape[d--])
		stride[d] = at;
	at = row;
	for (int d = t->rank - 1; d >= f->outer; d--) {
		stride[d] = at;
		at *= d == f->unit ? 1 : t->shape[d];
	}
	layout_init(out, t->rank);
	for (int d = 0; d < t->rank; d++)
		if (d == f->unit ? !layout_push(out, d, row, 1, AX_mem) ||
		                           !layout_push(out, d, t->shape[d] / row, row * rows, AX_mem)
		                 : !layout_push(out, d, t->shape[d], stride[d], AX_mem))
			return false;
	if (f->width > FORM_CHUNK)
		out->swizzle = (Swizzle){ .bits = (int8_t)log2_floor(f->width / FORM_CHUNK),
			                  .base = (int8_t)log2_floor(FORM_CHUNK * 8 / bits),
			                  .shift = 3 };
	return true;
}

LoweredMatrix
form_matrix(const Form *f, const Type *t, int rows)
{
	bool mn = f->unit == rows;
	int block = (int)block_rows(f, t) * f->width, group = FORM_ROWS * f->width;
	LoweredMatrix m = { .width = f->width, .mn = mn, .stride = group };

	if (f->width == FORM_CHUNK) { /* mn: strides are along m or n, as where k runs in rows */
		m.lead = mn ? group : block;
		m.stride = mn ? block : group;
	} else if (mn) {
		m.lead = block;
	}
	return m;
}
