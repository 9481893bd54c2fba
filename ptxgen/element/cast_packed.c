/* cast_packed.c - emits casts from f16 to 8-bit floats, one word at a time. */
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

/* Returns word w of fp8 from two words of f16; the last one may be single. */
static LV
halves_to_fp8(Codegen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype;
	int nword = tile_of(g, op_source(o))->nword;
	LV lo;

	lo = fp8_from_h2(g, to, word_get(g, op_source(o), 2 * w));
	if (2 * w + 1 >= nword)
		return lo;
	return prmt(g, lo, fp8_from_h2(g, to, word_get(g, op_source(o), 2 * w + 1)), 0x5410);
}

LV
cast_word(Codegen *g, Op *o, int w)
{
	DType to = o->out[0]->type.dtype, from = op_source(o)->type.dtype;

	if (from == D_f16 && g->u->target->features & dtype_info[to].cvt)
		return halves_to_fp8(g, o, w);
	return NULL;
}
