/* tma_copies.c - validates TMA tensor copies: every element of the tile is in one box, at the offset that
 * the tile's layout requires, and comes from its location in the tensor.
 *
 * PTX ISA, "Tensors": a box is contiguous in shared memory, with dim 0 of the map fastest. "Tensor
 * swizzling modes": of the 16-byte chunks of a 128-byte row, chunk c of row r is at c ^ r % 8; of 64 bytes
 * at c ^ r / 2 % 4; of 32 at c ^ r / 4 % 2. cuTensorMapEncodeTiled: strides and the box's inner bytes are
 * multiples of 16, the latter at most the swizzle width; extents of a box are at most 256 elements. */
#include "infer/validate/validate.h"
#include "hexc/analysis/analysis.h"

/* The copy being validated. */
typedef struct TmaCopyCheck {
	const Op *view; /* of the tensor */
	const TensorMap *map;
	const Type *tile; /* of the view, whose elements are moved */
	const Layout *at; /* the shared tile's layout */
	int first;        /* the shared tile's dim that corresponds to dim 0 of the view */
	int dim[MAP_RANK_MAX]; /* dim of the tensor, by dim of the map */
	int of[DIM_MAX];       /* dim of the map, by dim of the view */
} TmaCopyCheck;

/* Validates the map's dims: the tensor's contiguous dim first, then the others from last to first. */
static bool
map_dims(Prove *p, TmaCopyCheck *b)
{
	const Param *t = &p->k->param[b->map->param];
	int unit = view_unit_dim(p->k, b->view), n = 1;

	if (unit < 0 || view_source(b->view) != t->val || b->map->rank != view_source(b->view)->type.rank)
		return prove_error(p, -1, 0, "the tensor map belongs to another tensor, or no dimension of "
		                             "it is contiguous");
	b->dim[0] = view_operand_dim(b->view, unit);
	for (int d = b->map->rank - 1; d >= 0; d--)
		if (d != b->dim[0])
			b->dim[n++] = d;
	for (int i = 0; i < n; i++) {
		int r = view_result_dim(b->view, b->dim[i]);

		if (b->map->size[i] != t->size[b->dim[i]] || (i && b->map->stride[i] != t->stride[b->dim[i]]))
			return prove_error(p, -1, 0, "dimension %d of the tensor map is not dimension %d "
			                             "of the tensor", i,
			                   b->dim[i]);
		if (r >= 0)
			b->of[r] = i;
		else if (b->map->box[i] != 1)
			return prove_error(p, -1, 0, "the TMA box has %lld elements in dimension %d, the "
			                             "view has one",
			                   (long long)b->map->box[i], b->dim[i]);
	}
	return true;
}

static bool
map_is_legal(Prove *p, const TmaCopyCheck *b)
{
	const TensorMap *m = b->map;
	int bytes = dtype_info[m->dtype].bits / 8;

	if (m->dtype != b->tile->dtype || dtype_info[m->dtype].bits % 8)
		return prove_error(p, -1, 0, "the tensor map has another element type");
	if (tensor_align(p->k, &p->k->param[m->param]) % 16)
		return prove_error(p, -1, 0, "the tensor's address is not known to be a multiple of 16 "
		                             "bytes");
	if (m->box[0] * bytes % 16 || (m->swizzle && m->box[0] * bytes > m->swizzle))
		return prove_error(p, -1, 0, "rows of %lld bytes do not fit swizzle %d",
		                   (long long)m->box[0] * bytes, m->swizzle);
	for (int i = 0; i < m->rank; i++) {
		if (m->box[i] < 1 || m->box[i] > 256)
			return prove_error(p, -1, 0, "a TMA box of %lld elements along dimension %d",
			                   (long long)m->box[i],
			                   b->dim[i]);
		if (i && val_fact_at(p->k, b->view, m->stride[i]).mult * bytes % 16)
			return prove_error(p, -1, 0, "the stride of dimension %d is not known to be a "
			                             "multiple of 16 bytes",
			                   b->dim[i]);
	}
	return true;
}

/* Returns the byte offset in its box at which the TMA unit stores the element of the tile at c. */
static int64_t
byte_in_box(const TmaCopyCheck *b, const int64_t *c)
{
	int bytes = dtype_info[b->map->dtype].bits / 8, w = b->map->swizzle / 16;
	int64_t at = 0, weight = bytes;

	for (int i = 0; i < b->map->rank; weight *= b->map->box[i++])
		for (int d = 0; d < b->tile->rank; d++)
			if (b->of[d] == i)
				at += c[d] % b->map->box[i] * weight;
	/* rows of the pattern have the swizzle's width, whatever part of them the box has */
	return w ? at ^ (at / 128 % w) * 16 : at;
}

static bool
element(Prove *p, const TmaCopyCheck *b, const int64_t *c)
{
	int64_t at[DIM_MAX] = { 0 }, box[DIM_MAX] = { 0 }, bytes = dtype_info[b->map->dtype].bits / 8, first;
	Layout plain = *b->at;

	for (int d = 0; d < b->tile->rank; d++) {
		at[b->first + d] = c[d];
		box[b->first + d] = c[d] - c[d] % b->map->box[b->of[d]];
	}
	plain.swizzle = (Swizzle){ 0, 0, 0 };
	first = mem_offset(&plain, box) * bytes;
	if (first % (b->map->swizzle ? 8 * b->map->swizzle : 128))
		return prove_error(p, -1, 0,
		                   "a TMA box starts at byte %lld of the tile, which is not the start of a "
		                   "swizzle pattern",
		                   (long long)first);
	if (first + byte_in_box(b, c) != mem_offset(b->at, at) * bytes)
		return prove_error(p, -1, 0, "%s is at byte %lld of the tile, but its TMA box places it at "
		                             "%lld",
		                   elem_text(p, b->tile, index_elem(b->tile, c)),
		                   (long long)mem_offset(b->at, at) * bytes,
		                   (long long)(first + byte_in_box(b, c)));
	return true;
}

void
prove_boxes(Prove *p, const Op *o, bool out)
{
	const Val *mem = o->in[out], *part = o->in[!out], *tile = view_root(o->in[!out]);
	int number = op_access(o)->tensor_map;
	TmaCopyCheck b = { .view = mem->def, .tile = &part->type, .at = tile->type.layout };

	b.first = tile->type.rank - part->type.rank;
	if (number < 1 || number > p->k->nmap || !b.view || b.view->code != O_view || !b.at ||
	    !(p->k->unit->target->features & T_TMA) || part->type.space != S_shared) {
		prove_error(p, -1, 0, "no tensor map, no tile, or no TMA tensor copy on %s",
		            p->k->unit->target->name);
		return;
	}
	for (const Op *v = part->def; v && v->code == O_view; v = view_source(v)->def)
		if (IMM(v, dropped) != (1 << (view_source(v)->type.rank - v->out[0]->type.rank)) - 1) {
			prove_error(p, -1, 0, "the dropped dimensions of the tile are not its first");
			return;
		}
	b.map = &p->k->map[number - 1];
	if (!map_dims(p, &b) || !map_is_legal(p, &b))
		return;
	for (int d = 0; d < b.tile->rank; d++)
		if (b.tile->shape[d] % b.map->box[b.of[d]]) {
			prove_error(p, -1, 0, "dimension %d of the tile is not a multiple of the TMA box", d);
			return;
		}
	for (int64_t e = 0; e < type_size(b.tile); e++) {
		int64_t c[DIM_MAX] = { 0 };

		type_coord(b.tile, e, c);
		if (!element(p, &b, c))
			return;
	}
}
