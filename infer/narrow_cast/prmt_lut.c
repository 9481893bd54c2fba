/* prmt_lut.c - emits cast sequences of floats of up to 4 bits as prmt lookups in tables of result bytes.
 *
 * In natural bit order codes have slots of 4 bits, like prmt's selectors, of which it uses three bits;
 * 3-bit codes have such slots in bit order 4 too.  One prmt selects four bytes from a table of 8.  A sign
 * is not part of the table.  Without a sign, 16 values are in two tables, and the top bits of the codes
 * choose between them. */
#include "hexc/ir/dtype_value.h"
#include "infer/narrow_cast/narrow_cast_internal.h"
#include <math.h>

enum { QUAD = 4 };

/* The table entries, and how they are split for prmt. */
typedef struct Table {
	uint32_t entry[16];
	int half; /* tables of 8 entries: 1 or 2 */
	bool sign; /* the sign bit is not part of the table */
} Table;

/* Returns the result for code i: its cast, and the subtraction from it, each rounded. */
static uint32_t
entry_bits(const CastSequence *r, unsigned i)
{
	return num_code(r->to, num_round(r->to, num_of_code(r->from, i)) - r->less);
}

static bool
table_make(Table *t, const Make *k)
{
	const DTypeInfo *d = &dtype_info[k->r->from];

	t->sign = d->codes != C_table && d->bits == 4 && fpclassify(k->r->less) == FP_ZERO;
	t->half = d->bits == 4 && !t->sign ? 2 : 1;
	for (unsigned i = 0; i < 16; i++)
		t->entry[i] = i < 8u * (unsigned)t->half ? entry_bits(k->r, i) : 0;
	return d->kind == K_flt && (d->codes == C_table || d->codes == C_none);
}

/* Returns byte `byte` of a quad's results, with selectors `low` within a table and `which` among tables;
 * VAL_NONE: all 0. */
static int
bytes_of(Make *k, const Table *t, int byte, int low, int which)
{
	uint32_t word[4] = { 0 }, any = 0;
	int x[2];

	for (int i = 0; i < 16; i++)
		word[i / 4] |= (t->entry[i] >> (8 * byte) & 0xff) << (8 * (i % 4));
	for (int i = 0; i < 4; i++)
		any |= word[i];
	if (!any)
		return VAL_NONE;
	for (int i = 0; i < t->half; i++)
		x[i] = recipe_step(k, ST_look, low, VAL_NONE, 0, word[2 * i], word[2 * i + 1]);
	return t->half == 1 ? x[0] : recipe_take(k, x[0], x[1], which);
}

/* Returns codes 8 i .. 8 i + 7, without signs, as selectors in a register. */
static int
selectors(Make *k, int i)
{
	BitField part[PARTS];
	int n = 0;

	if (k->r->bit_order == 0)
		return recipe_step(k, ST_mix, i, VAL_NONE, 0, 0x77777777, 0);
	for (int b = 0; b < k->bits; b++) { /* all eight have the same shift */
		int from = recipe_bit(k, 8 * i, b), shift = from % 32 - b;

		if (n == 0 || part[n - 1].word != from / 32 || part[n - 1].shift != shift)
			part[n++] = (BitField){ from / 32, shift, 0 };
		part[n - 1].mask |= 0x11111111u << b;
	}
	return recipe_mixed(k, part, n, 0);
}

/* Adds the signs of quad q of a register at the top of its bytes. */
static int
with_signs(Make *k, int word, int q, int bytes)
{
	/* code 2i is in the lower half of byte i */
	int even = recipe_shifted(k, word, -4);
	int sign = recipe_step(k, ST_pick, even, word, 0, q ? 0x7362 : 0x5140, 0);

	return recipe_step(k, ST_mix, sign, bytes, 0, 0x80808080, 0);
}

/* Stores registers 2p and 2p + 1 of a quad's four results of four bytes. */
static void
put_wide(Make *k, int quad, int p, const int *byte)
{
	int lo = recipe_pair(k, byte[0], byte[1], p), hi = recipe_pair(k, byte[2], byte[3], p);

	for (int i = 0; i < 2; i++)
		k->r->out[QUAD * quad + 2 * p + i].value =
			(int16_t)recipe_step(k, ST_pick, lo, hi, 0, i ? 0x7632 : 0x5410, 0);
}

bool
recipe_table(Make *k)
{
	Table t;

	if ((k->r->bit_order ? k->r->bit_order != 4 : k->slot_bits != 4) || k->lane < 16 ||
	    !table_make(&t, k))
		return false;
	if (k->lane == 32 && t.half == 1) /* is shorter through 16 bits */
		return false;
	for (int i = 0; i < BIT_GROUP / QUAD; i++) {
		int word = i / 2, q = i % 2, low, which = VAL_NONE, byte[4];

		low = recipe_shifted(k, selectors(k, word), 16 * q);
		if (t.half == 2) {
			/* byte i of one result or of the other */
			which = recipe_shifted(k, word, 1);
			which = recipe_step(k, ST_mix, which, VAL_NONE, 0, 0x44444444, 0x32103210);
			which = recipe_shifted(k, which, 16 * q);
		}
		for (int b = 0; b < k->lane / 8; b++)
			byte[b] = bytes_of(k, &t, b, low, which);
		if (t.sign)
			byte[1] = with_signs(k, word, q, byte[1]);
		for (int p = 0; p < 2; p++)
			if (k->lane == 32)
				put_wide(k, i, p, byte);
			else
				k->r->out[2 * i + p].value = (int16_t)recipe_pair(k, byte[0], byte[1], p);
	}
	return true;
}
