/* tma_box.c - checks whether TMA can do a copy, and computes its tensor map.  The requirements concern the
 * tensor, the tile and the target (PTX ISA, "Tensors"; cuTensorMapEncodeTiled). */
#include "infer/core/smem_atom.h"
#include "infer/memory/memory.h"

Val *
copy_side(const Op *copy, Space space)
{
	return copy_source(copy)->type.space == space ? copy_source(copy) : copy_dest(copy);
}

const char *
box_refusal(const Solve *s, const Op *copy)
{
	Val *mem = copy_side(copy, S_global), *part = copy_side(copy, S_shared), *tile = view_root(part);
	int first = whole_from(part);
	const char *why = map_refusal(s->k, mem);
	Layout l;

	if (!(s->k->unit->target->features & T_TMA))
		return "the target has no TMA tensor copies";
	if (why)
		return why;
	if (first < 0 || tile->type.pinned)
		return "the copy does not fill the whole shared tile, or its layout is pinned";
	if (s->unit[tile->id] != first + unit_dim(s, mem))
		return "rows of the shared tile are not rows of the tensor";
	for (int w = 0; w < FORM_WIDTHS; w++)
		if (form_widths[w] != FORM_CHUNK &&
		    form_layout(&(SmemAtom){ s->unit[tile->id], first, form_widths[w] }, &tile->type, &l))
			return NULL;
	return "the shared tile has neither 8 rows of 32 bytes, nor rows of at least 16 bytes and at most "
	       "256 elements with 128 bytes in all";
}

/* Returns the box extent of a dim other than the row's.  Each box starts at a multiple of the 8-row
 * pattern. */
static int64_t
box_rows(int64_t extent)
{
	if (extent <= BOX_MOST)
		return extent;
	for (int64_t n = BOX_MOST; n > 0; n -= FORM_ROWS)
		if (extent % n == 0)
			return n;
	return 1;
}

void
box_map(const Solve *s, const Op *copy, const SmemAtom *f, TensorMap *out)
{
	Val *mem = copy_side(copy, S_global);
	const Op *view = mem->def;
	const Param *p = val_param(s->k, view_source(view));
	int rank = view_source(view)->type.rank, unit = view_operand_dim(view, unit_dim(s, mem));
	int first = whole_from(copy_side(copy, S_shared));

	*out = (TensorMap){
		.param = (int)(p - s->k->param),
		.dtype = mem->type.dtype,
		.rank = rank,
		.swizzle = f->width > FORM_CHUNK ? f->width : 0,
		.l2 = 256,
	};
	for (int i = 0; i < rank; i++) {
		/* the contiguous dim, then the others from the last */
		int d = i == 0 ? unit : rank - i > unit ? rank - i : rank - 1 - i;
		int at = view_result_dim(view, d);

		out->size[i] = p->size[d];
		out->stride[i] = i ? p->stride[d] : NULL;
		out->box[i] = at < 0 || first + at < f->outer ? 1
		              : d == unit && f->width         ? form_row(f, &mem->type)
		                                              : box_rows(mem->type.shape[at]);
	}
}
