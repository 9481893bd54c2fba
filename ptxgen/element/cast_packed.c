/* cast_packed.c - f16 to 8-bit floats, words at once. */
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

/* Word w of fp8 from two of f16; a last one may stand alone. */
static LV
halves_to_fp8(Codegen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype;
	int nword = tile_of(g, o->in[0])->nword;
	LV lo;

	lo = fp8_from_h2(g, to, word_get(g, o->in[0], 2 * w));
	if (2 * w + 1 >= nword)
		return lo;
	return prmt(g, lo, fp8_from_h2(g, to, word_get(g, o->in[0], 2 * w + 1)), 0x5410);
}

LV
cast_word(Codegen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype, from = o->in[0]->type.dtype;

	if (from == D_f16 && g->u->target->features & dtype_info[to].cvt)
		return halves_to_fp8(g, o, w);
	return NULL;
}
