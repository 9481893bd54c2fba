/* regmap.c - broadcast, transpose, reshape: registers get other coordinates, nothing moves between
 * lanes. */
#include "ptxgen/gen.h"

/* Coordinates in the operand of the element at `c` of the result. */
static void
operand_coord(const Op *o, const int64_t *c, int64_t *in)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	int j = 0;

	switch ((int)o->code) {
	case O_broadcast:
		for (int d = 0; d < t->rank; d++)
			in[d] = x->shape[d] == 1 ? 0 : c[d];
		return;
	case O_transpose:
		for (int d = 0; d < t->rank; d++)
			in[o->imm[d]] = c[d];
		return;
	default: /* reshape: extents of 1 come and go */
		for (int d = 0; d < x->rank; d++) {
			in[d] = 0;
			if (x->shape[d] == 1)
				continue;
			while (t->shape[j] == 1)
				j++;
			in[d] = c[j++];
		}
	}
}

static void
pull_regmap(Gen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	LV word[WORD_ELEMS];
	int pos[WORD_ELEMS], n = 0;

	for (; n < t->epw && w * t->epw + n < t->nreg; n++) {
		int64_t c[DIM_MAX], in[DIM_MAX], r;

		tile_coord(t, w * t->epw + n, c);
		operand_coord(o, c, in);
		r = tile_reg(g, o->in[0], in);
		word[n] = word_get(g, o->in[0], (int)r / t->epw);
		pos[n] = (int)r % t->epw;
	}
	t->word[w] = bits_gather(g, t->dtype, word, pos, n);
}

void
emit_regmap(Gen *g, Op *o)
{
	tile_lazy(g, o, pull_regmap, NULL);
}
