/* unpack.c - emits conversions between the words of a packed tensor and of its elements. They are equal if
 * the tile has the pack's bit order; otherwise bits are moved, those of a word with the same shift
 * together. */
#include "hexc/ir/pack.h"
#include "hexc/ir/bit_order.h"
#include "ptxgen/base/packed_word.h"

/* Sources of the bits of one word of the result, as bit indices in the operand's words; -1: the bit is 0. */
typedef struct BitSource {
	int64_t from[32];
} BitSource;

static LV
moved(Codegen *g, Val *x, const BitSource *m)
{
	LV sum = NULL;
	uint32_t done = 0;

	for (int i = 0; i < 32; i++) {
		uint32_t mask = 0;
		int by = m->from[i] < 0 ? 0 : i - (int)(m->from[i] % 32);
		LV w;

		if (m->from[i] < 0 || done >> i & 1)
			continue;
		for (int j = i; j < 32; j++)
			if (m->from[j] >= 0 && m->from[j] / 32 == m->from[i] / 32 &&
			    j - (int)(m->from[j] % 32) == by)
				mask |= (uint32_t)1 << j;
		done |= mask;
		w = word_get(g, x, (int)(m->from[i] / 32));
		if (by)
			w = by > 0 ? LLVMBuildShl(g->b, w, const_i32(g, by), "")
			           : LLVMBuildLShr(g->b, w, const_i32(g, -by), "");
		w = LLVMBuildAnd(g->b, w, const_i32(g, mask), "");
		sum = sum ? LLVMBuildOr(g->b, sum, w, "") : w;
	}
	return sum ? sum : const_i32(g, 0);
}

/* Return the position of bit b of a lane's element r: in the words of the pack, and in those of a tile in
 * row-major order. */
static int64_t
pack_bit_of(const Pack *p, int64_t r, int b)
{
	int bits = dtype_info[p->dtype].bits;

	return r / BIT_GROUP * 32 * bits + bit_order_bit(bits, p->bit_order, (int)(r % BIT_GROUP), b);
}

static int64_t
tile_bit_of(const Tile *t, int64_t r, int b)
{
	return r / t->epw * 32 + r % t->epw * dtype_slot_bits(t->dtype) + b;
}

static const Pack *
pack_of(Codegen *g, const Op *o)
{
	return val_param(g->k, pack_tensor(o))->pack;
}

static void
pull_unpack(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	const Pack *p = pack_of(g, o);
	int bits = dtype_info[t->dtype].bits;
	BitSource m;

	if (o->out[0]->type.bit_order || (!p->bit_order && dtype_slot_bits(t->dtype) == bits)) {
		t->word[w] = word_get(g, pack_source(o), w);
		return;
	}
	for (int i = 0; i < 32; i++)
		m.from[i] = -1;
	for (int r = w * t->epw; r < (w + 1) * t->epw && r < t->nreg; r++)
		for (int b = 0; b < bits; b++)
			m.from[tile_bit_of(t, r, b) % 32] = pack_bit_of(p, r, b);
	t->word[w] = moved(g, pack_source(o), &m);
}

void
emit_unpack(Codegen *g, Op *o)
{
	tile_lazy(g, o, pull_unpack, NULL);
}

static void
pull_pack(Codegen *g, Op *o, int w)
{
	const Pack *p = pack_of(g, o);
	const Tile *x = tile_of(g, pack_source(o));
	int bits = dtype_info[p->dtype].bits, first = w / bits * BIT_GROUP;
	BitSource m;

	for (int i = 0; i < 32; i++)
		m.from[i] = -1;
	for (int r = first; r < first + BIT_GROUP && r < x->nreg; r++)
		for (int b = 0; b < bits; b++)
			if (pack_bit_of(p, r, b) / 32 == w)
				m.from[pack_bit_of(p, r, b) % 32] = tile_bit_of(x, r, b);
	tile_of(g, o->out[0])->word[w] = moved(g, pack_source(o), &m);
}

void
emit_pack(Codegen *g, Op *o)
{
	tile_lazy(g, o, pull_pack, NULL);
}
