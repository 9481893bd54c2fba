/* tile_origin.c - finds from which memory the elements of register tiles come, for all tiles in one walk:
 * values are defined before their uses, and may be reached from a use in exponentially many ways. */
#include "infer/core/tile_origin.h"
#include <limits.h>

static struct TileOrigin
origin_of(const Solve *s, const Op *o)
{
	struct TileOrigin t = { .bits = INT_MAX };
	const Val *v = o->out[0];
	bool elementwise = op_is(o, F_ELT) || o->code == O_mask;
	bool same = elementwise || o->code == O_transpose || o->code == O_reshape;

	if (o->code == O_load)
		t.bits = bits_of(v);
	if (o->code == O_unpack)
		t = (struct TileOrigin){ bits_of(v), o, NULL };
	if (!elementwise && !op_is(o, F_MOVE) && o->code != O_lookup)
		return t;
	for (int i = 0; i < o->nin; i++) {
		const struct TileOrigin *from = &s->origin[o->in[i]->id];

		if (from->bits < t.bits)
			t.bits = from->bits;
		if (!t.unpack && same && from->unpack) {
			t.unpack = from->unpack;
			t.from = o->in[i];
		}
	}
	return t;
}

void
find_origins(Solve *s)
{
	s->origin = NEWN(s->arena, struct TileOrigin, s->k->nval + 1);
	for (uint32_t v = 0; v <= s->k->nval; v++)
		s->origin[v].bits = INT_MAX;
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->nout == 1 && is_reg(s->order[i]->out[0]))
			s->origin[s->order[i]->out[0]->id] = origin_of(s, s->order[i]);
}
