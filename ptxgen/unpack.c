/* unpack.c - words of a packed tensor are words of its elements: nothing is done, but that elements which lie
 * across words in natural order go to their places. */
#include "ptxgen/gen.h"

static void
pull_unpack(Gen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	int at = w * t->epw * dtype_info[t->dtype].bits, n = tile_of(g, o->in[0])->nword;
	LV two[2] = { NULL };

	if (dtype_pieces(t->dtype) == 1 || o->out[0]->type.spread) {
		t->word[w] = word_get(g, o->in[0], w);
		return;
	}
	for (int k = 0; k < 2 && at / 32 + k < n; k++)
		if (k == 0 || at % 32 + t->epw * dtype_info[t->dtype].bits > 32)
			two[k] = word_get(g, o->in[0], at / 32 + k);
	t->word[w] = stream_places(g, t->dtype, two, at % 32);
}

void
emit_unpack(Gen *g, Op *o)
{
	tile_lazy(g, o, pull_unpack, NULL);
}
