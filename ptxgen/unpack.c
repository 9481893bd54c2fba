/* unpack.c - words of a packed tensor are words of its elements: nothing is done. */
#include "ptxgen/gen.h"

static void
pull_unpack(Gen *g, Op *o, int w)
{
	tile_of(g, o->out[0])->word[w] = word_get(g, o->in[0], w);
}

void
emit_unpack(Gen *g, Op *o)
{
	tile_lazy(g, o, pull_unpack, NULL);
}
