/* int_to_int8.c - emits cast sequences from narrow integers to 8-bit integers, and from 8-bit integers to
 * floats. */
#include "infer/narrow_cast/narrow_cast_internal.h"

void
recipe_int_to_byte(Make *k, int j)
{
	BitField part[PARTS + 1];
	int n = recipe_parts(k, j, 0, part), v, x;
	uint32_t half = recipe_lanes(k, (uint32_t)recipe_half(k)), top = recipe_lanes(k, 0x80);

	k->r->out[j].second = VAL_NONE;
	if (k->sint && n == 1 && k->r->bit_order == 8 && part[0].shift + k->bits == 8) {
		/* its sign bit is the byte's */
		v = recipe_step(k, ST_pick, part[0].word, part[0].word, 0, 0xba98, 0);
		x = recipe_shifted(k, part[0].word, part[0].shift);
		v = recipe_step(k, ST_choose, x, v, 0, part[0].mask, 0);
	} else if (k->sint) {
		v = recipe_mixed(k, part, n, top | half);
		v = recipe_step(k, ST_add, v, VAL_NONE, 0, 0, 0u - half);
		v = recipe_step(k, ST_mix, v, VAL_NONE, 0, 0xffffffff, top);
	} else {
		v = recipe_mixed(k, part, n, 0);
	}
	k->r->out[j].value = (int16_t)v;
}

/* 8-bit elements are bytes: prmt combines each with the bytes of the magic number. */
void
recipe_byte_to_float(Make *k, int j)
{
	uint32_t magic = (uint32_t)(k->bias + k->man) << k->man, sel = 0;
	int word = 0, top = k->lane / 8 - 1, bottom[2] = { 0, 0 };

	for (int i = 0; i < k->lanes; i++) {
		int from = recipe_bit(k, j * k->lanes + i, 0);

		word = from / 32;
		/* f16: byte, 64;  f32: byte, 00, 00, 4b */
		sel |= (uint32_t)(from % 32 / 8) << 8 * top * i;
		for (int b = 1; b <= top; b++)
			sel |= (b == top ? 7u : 4u) << 4 * (i * (top + 1) + b);
	}
	if (k->sint)
		word = recipe_step(k, ST_mix, word, VAL_NONE, 0, 0xffffffff, 0x80808080);
	/* the magic number's bytes are at the top of prmt's second word */
	magic = k->lane == 16 ? magic << 16 : magic;
	recipe_finish(k, j, recipe_step(k, ST_pick, word, VAL_NONE, 0, sel, magic), bottom);
}

/* A byte has one bit more than the mantissa of bf16, so it is split into two floats: 128 + the low seven
 * bits, and 128 + the high bit.  The second minus a constant, then the sum: both are exact. */
void
recipe_byte_to_bf16(Make *k, int j)
{
	RecipeOut *o = &k->r->out[j];
	uint32_t magic = recipe_lanes(k, 0x4300), top = recipe_lanes(k, 0x80);
	int lo = recipe_bit(k, 2 * j, 0), hi = recipe_bit(k, 2 * j + 1, 0), x = lo / 32;

	lo = lo % 32 / 8;
	hi = hi % 32 / 8;
	if (lo != 0 || hi != 2)
		x = recipe_step(k, ST_pick, x, x, 0, (uint32_t)(lo * 0x11 | hi * 0x1100), 0);
	o->value = (int16_t)recipe_step(k, ST_mix, x, VAL_NONE, 0, recipe_lanes(k, 0x7f), magic);
	o->second = (int16_t)recipe_step(k, ST_mix, x, VAL_NONE, 0, top, k->sint ? magic ^ top : magic);
	o->scaled = false;
	o->moved = true;
	o->mul = recipe_lanes(k, recipe_code(k, 1));
	o->add = recipe_lanes(k, recipe_code(k, -256 - recipe_half(k)));
}
