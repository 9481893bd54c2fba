/* register_remap.c - emits broadcast, transpose, reshape, slice and concat as register renaming: no data
 * moves between lanes. */
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"

Val *
source_coord(const Op *o, const int64_t *c, int64_t *in)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	switch (o->code) {
	case O_broadcast:
		for (int d = 0; d < t->rank; d++)
			in[d] = x->shape[d] == 1 ? 0 : c[d];
		break;
	case O_transpose:
		for (int d = 0; d < t->rank; d++)
			in[IMM_AT(o, perm, d)] = c[d];
		break;
	case O_slice:
	case O_concat:
		for (int d = 0; d < t->rank; d++)
			in[d] = c[d];
		if (o->code == O_slice) {
			in[IMM(o, dim)] += IMM(o, from);
		} else if (c[IMM(o, dim)] >= x->shape[IMM(o, dim)]) {
			in[IMM(o, dim)] -= x->shape[IMM(o, dim)];
			return concat_second(o);
		}
		break;
	default: /* reshape: row-major indices stay the same */
		row_major_coord(x->rank, x->shape, row_major_index(t->rank, t->shape, c), in);
	}
	return o->in[0];
}

static void
pull_regmap(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LV word[WORD_ELEMS];
	int pos[WORD_ELEMS], n = 0;

	for (; n < t->epw && w * t->epw + n < t->nreg; n++) {
		int64_t c[DIM_MAX], in[DIM_MAX], r;
		Val *x;

		tile_index(t, w * t->epw + n, c);
		x = source_coord(o, c, in);
		r = tile_reg(g, x, in);
		word[n] = word_get(g, x, (int)r / t->epw);
		pos[n] = (int)r % t->epw;
	}
	t->word[w] = bits_gather(g, t->dtype, word, pos, n);
}

/* Words in a bit order are not unpacked: transposed or not, each stays the same. */
static void
pull_same(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	int64_t c[DIM_MAX], in[DIM_MAX];

	for (int r = 0; w == 0 && r < t->nreg; r++) {
		tile_index(t, r, c);
		BUG_IF(g->a, tile_reg(g, source_coord(o, c, in), in) != r);
	}
	t->word[w] = word_get(g, op_source(o), w);
}

void
emit_regmap(Codegen *g, Op *o)
{
	if (o->out[0]->type.space != S_reg)
		return; /* a reshape of a shared tile: its accesses resolve it */
	tile_lazy(g, o, o->out[0]->type.bit_order ? pull_same : pull_regmap, NULL);
}
