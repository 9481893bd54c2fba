/* narrow_float.c - emits cast sequences of narrow floats, which move the source fields to the fields of the
 * result.
 *
 * e8m0 has only an exponent, the same as that of f32 and bf16.  z, the code in the exponent field, is
 * correct except for two codes.  y, which also sets the top mantissa bit, is 3/2 of the number; for code 0
 * it is the number 2^-127, for the last code a NaN.  So y - z/2 is correct for all codes. */
#include "infer/narrow_cast/narrow_cast_internal.h"
#include <math.h>

static const DTypeInfo *
source(const Make *k)
{
	return &dtype_info[k->r->from];
}

/* Is it a float with sign, exponent and mantissa? */
static bool
has_fields(const DTypeInfo *d)
{
	return d->kind == K_flt && d->codes != C_scale && d->codes != C_table;
}

/* Are the codes consecutive bytes? */
static bool
in_bytes(const Make *k)
{
	return k->bits == 8 && (k->r->bit_order == 0 || k->r->bit_order == 8);
}

bool
recipe_exact(DType from, DType to)
{
	const DTypeInfo *d = &dtype_info[from], *t = &dtype_info[to];

	if (d->codes == C_table)
		return to == D_f32;
	if (d->codes == C_scale)
		return t->exp == d->exp;
	return d->man <= t->man && (d->exp < t->exp || (d->exp == t->exp && d->codes == C_ieee));
}

/* Sets output j to value with a corrected exponent bias. */
static void
put_float(Make *k, int j, int value)
{
	RecipeOut *o = &k->r->out[j];
	int scale = k->bias - dtype_bias(k->r->from);

	o->value = (int16_t)value;
	o->scaled = scale != 0;
	o->mul = recipe_lanes(k, recipe_code(k, ldexp(1, scale)));
	o->add = recipe_lanes(k, 1u << (k->lane - 1)); /* -0 */
}

/* ---- all fields of a register --------------------------------------------------------------------- */

bool
recipe_fields(Make *k)
{
	const DTypeInfo *d = source(k);
	BitField part[PARTS + 1];

	/* infinities and NaNs map to the same if the exponents have equal widths */
	if (k->lane < 16 || !has_fields(d) || !recipe_exact(k->r->from, k->r->to) ||
	    (d->codes != C_none && (d->codes == C_nan || d->exp != dtype_info[k->r->to].exp)))
		return false;
	for (int j = 0; j < k->r->nout; j++) {
		int n = recipe_parts(k, j, k->man - d->man, part);

		if (n > PARTS)
			return false;
		put_float(k, j, recipe_mixed(k, part, n, 0));
	}
	return true;
}

/* ---- by bytes ------------------------------------------------------------------------------------- */

enum { QUAD = 4,
       BYTES = 0x01010101 };

/* Computes the fields of the codes of quad q, each in its element's byte: bits of the upper byte of a half,
 * or of the lower one.  The magnitude starts at bit g of the half. */
static int
plane_parts(const Make *k, int q, int g, bool upper, BitField *part)
{
	int n = 0;

	for (int i = 0; i < QUAD; i++)
		for (int b = 0; b < k->bits; b++) {
			int at = b == k->bits - 1 ? 15 : g + b, from = recipe_bit(k, QUAD * q + i, b);
			int to = 8 * i + at % 8, shift = from % 32 - to;

			if ((at >= 8) != upper)
				continue;
			n = recipe_part(part, n, from / 32, shift, to);
			if (n > PARTS)
				return n;
		}
	return n;
}

static int
plane(Make *k, int q, int g, bool upper)
{
	BitField part[PARTS + 1];
	int n = plane_parts(k, q, g, upper, part);

	if (n == 0)
		return VAL_NONE;
	if (n == 1 && part[0].mask == 0xffffffff && part[0].shift == 0)
		return part[0].word;
	return recipe_mixed(k, part, n, 0);
}

/* Returns the upper bytes of a quad of 8-bit floats with infinities or NaNs.  Such codes get all exponent
 * bits set that the source lacks. */
static int
upper_special(Make *k, int q, int g)
{
	const DTypeInfo *d = source(k);
	int more = dtype_info[k->r->to].exp - d->exp;
	uint32_t first = d->codes == C_nan ? 1 : 1u << d->man, top = 0x80u * BYTES;
	int code, sum, x;

	if (more == 0)
		return plane(k, q, g, true);
	code = recipe_step(k, ST_mix, q, VAL_NONE, 0, 0x7f * BYTES, 0);
	sum = recipe_step(k, ST_add, code, VAL_NONE, 0, 0, first * BYTES); /* bit 7 */
	if (more == 1) {
		x = recipe_step(k, ST_choose, sum, code, 0, top, 0);
		return recipe_step(k, ST_choose, q, recipe_shifted(k, x, 8 - g), 0, top, 0);
	}
	x = recipe_step(k, ST_pick, sum, sum, 0, 0xba98, 0); /* all bits of the byte */
	return recipe_step(k, ST_mix, x, plane(k, q, g, true), 0, (0x80u - (1u << (g - 1))) * BYTES, 0);
}

bool
recipe_bytes(Make *k)
{
	const DTypeInfo *d = source(k);
	bool special = d->codes != C_none;
	int g = k->man - d->man;
	BitField part[PARTS + 1];

	if (k->lane != 16 || !has_fields(d) || !recipe_exact(k->r->from, k->r->to))
		return false;
	if ((k->r->bit_order == 0 && k->slot_bits < 8) || (special && !in_bytes(k)))
		return false;
	for (int q = 0; q < BIT_GROUP / QUAD; q++) {
		int hi, lo;

		if (plane_parts(k, q, g, true, part) > PARTS || plane_parts(k, q, g, false, part) > PARTS)
			return false;
		hi = special ? upper_special(k, q, g) : plane(k, q, g, true);
		lo = plane(k, q, g, false);
		for (int p = 0; p < 2; p++)
			put_float(k, 2 * q + p, recipe_pair(k, lo, hi, p));
	}
	return true;
}

/* ---- by cvt instructions -------------------------------------------------------------------------- */

bool
recipe_cvt(Make *k)
{
	DType from = k->r->from;

	if (!(k->features & dtype_info[from].cvt) || k->r->to != D_f16)
		return false;
	if (!in_bytes(k))
		return false;
	for (int j = 0; j < k->r->nout; j++)
		k->r->out[j].value = (int16_t)recipe_step(k, ST_half, j / 2, VAL_NONE, j % 2 * 2, 0, 0);
	return true;
}

/* ---- e8m0 ----------------------------------------------------------------------------------------- */

/* Returns the codes of output j in the exponent fields, with all bits of `more`. */
static int
exponents(Make *k, int j, uint32_t more)
{
	BitField part[PARTS + 1];
	int e = j * k->lanes, x, n = 0;

	for (int i = 0; i < k->lanes; i++) {
		int from = recipe_bit(k, e + i, 0), shift = from % 32 - i * k->lane - k->man;

		if (n == 0 || part[0].shift != shift)
			part[n++] = (BitField){ from / 32, shift, 0 };
		part[n - 1].mask |= 0xffu << (i * k->lane + k->man);
	}
	if (n == 1)
		return recipe_mixed(k, part, 1, more);
	/* each byte is copied to both bytes of its half */
	x = recipe_bit(k, e, 0) % 32 / 8;
	n = recipe_bit(k, e + 1, 0) % 32 / 8;
	x = recipe_step(k, ST_pick, part[0].word, part[0].word, 0, (uint32_t)(x * 0x11 | n * 0x1100), 0);
	x = recipe_shifted(k, x, 1);
	return recipe_step(k, ST_mix, x, VAL_NONE, 0, recipe_lanes(k, 0x7f80), more);
}

bool
recipe_scale(Make *k)
{
	if (source(k)->codes != C_scale || k->lane < 16 || dtype_info[k->r->to].exp != 8 ||
	    k->r->bit_order > ORDER_HALF)
		return false;
	for (int j = 0; j < k->r->nout; j++) {
		RecipeOut *o = &k->r->out[j];

		o->value = (int16_t)exponents(k, j, 0);
		o->second = (int16_t)exponents(k, j, recipe_lanes(k, 1u << (k->man - 1)));
		o->scaled = true;
		o->mul = recipe_lanes(k, recipe_code(k, -0.5));
	}
	return true;
}
