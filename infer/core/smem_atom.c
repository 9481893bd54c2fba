/* smem_atom.c - converts smem layout atoms to address layouts and to wgmma matrix descriptors. */
#include "infer/core/smem_atom.h"
#include "hexc/analysis/analysis.h"

enum { MAP_GRAIN = 16 };

const int form_widths[FORM_WIDTHS] = { 128, 64, 32, FORM_CHUNK, FORM_PLAIN };

int
whole_from(const Val *v)
{
	int first = 0;

	for (; v->def && v->def->code == O_view; v = view_source(v->def)) {
		const Type *t = &v->type, *of = &view_source(v->def)->type;

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
form_row(const SmemAtom *f, const Type *t)
{
	if (f->width == FORM_PLAIN)
		return t->shape[f->unit];
	return (int64_t)f->width * 8 / dtype_info[t->dtype].bits;
}

int
form_align(const SmemAtom *f)
{
	return f->width == FORM_PLAIN ? BOX_ALIGN : FORM_ROWS * f->width;
}

/* Returns the rows of a block: the extents of all inner dims but the contiguous one. */
static int64_t
block_rows(const SmemAtom *f, const Type *t)
{
	int64_t n = 1;

	for (int d = f->outer; d < t->rank; d++)
		n *= d == f->unit ? 1 : t->shape[d];
	return n;
}

/* Can one TMA box cover a tile without blocks? */
static bool
is_box(const SmemAtom *f, const Type *t)
{
	int bits = dtype_info[t->dtype].bits;

	for (int d = f->outer; d < t->rank; d++)
		if (t->shape[d] > BOX_MOST)
			return false;
	return form_row(f, t) * bits % (8 * FORM_CHUNK) == 0 &&
	       form_row(f, t) * block_rows(f, t) * bits % (8 * BOX_ALIGN) == 0;
}

bool
form_layout(const SmemAtom *f, const Type *t, Layout *out)
{
	int bits = dtype_info[t->dtype].bits;
	int64_t row = form_row(f, t), rows = block_rows(f, t), at = row * rows, stride[DIM_MAX];

	if (f->unit < f->outer || dtype_pieces(t->dtype) > 1 || t->shape[f->unit] % row ||
	    (f->width == FORM_PLAIN ? !is_box(f, t) : rows % FORM_ROWS != 0))
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
form_matrix(const SmemAtom *f, const Type *t, int rows)
{
	bool mn = f->unit == rows;
	int block = (int)block_rows(f, t) * f->width, group = FORM_ROWS * f->width;
	LoweredMatrix m = { .width = f->width, .mn = mn, .stride = group };

	if (f->width == FORM_CHUNK) { /* mn: the strides are along m or n, as for K-major rows */
		m.lead = mn ? group : block;
		m.stride = mn ? block : group;
	} else if (mn) {
		m.lead = block;
	}
	return m;
}

const char *
map_refusal(Kernel *k, const Val *mem)
{
	const Op *view = mem->def;
	const Param *p = view && view->code == O_view ? val_param(k, view_source(view)) : NULL;
	int bits = dtype_info[mem->type.dtype].bits, unit;

	if (!p || view_gather_dim(view) >= 0)
		return "it is not a TMA box of a tensor";
	if (view_is_bounded(view))
		return "its slice has bounds of its own, outside of which zeros are needed";
	if (tensor_align(k, p) % MAP_GRAIN)
		return "the address of the tensor is not a multiple of 16 bytes";
	if (view_has_steps(view))
		return "its slice of the tensor is strided";
	if (bits < 8 || dtype_pieces(mem->type.dtype) > 1)
		return "its elements are smaller than a byte";
	if (view_source(view)->type.rank > MAP_RANK_MAX)
		return "the tensor has more than 5 dimensions";
	unit = view_unit_dim(k, view);
	if (unit < 0)
		return "none of its dimensions is contiguous";
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (d != view_operand_dim(view, unit) &&
		    val_fact_at(k, view, p->stride[d]).mult * bits % (8 * MAP_GRAIN))
			return arena_printf(k->unit->arena,
			                    "stride of dimension %d of `%s` is not known to be a multiple "
			                    "of 16 bytes; `assume` rows of a multiple of %d elements",
			                    d, p->name, 8 * MAP_GRAIN / bits);
	return NULL;
}
