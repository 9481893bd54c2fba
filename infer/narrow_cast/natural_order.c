/* natural_order.c - emits cast sequences from integers in natural bit order to pairs of 16-bit floats.
 *
 * The two elements of a pair are adjacent in the stream.  prmt copies their bytes to both halves of a
 * register, where one mask extracts each in its own half.  A field that starts too high in its byte for
 * the mantissa is taken from a copy of the stream that is shifted as a whole. */
#include "infer/narrow_cast/narrow_cast_internal.h"

enum { SHIFTS = 8 };

/* Computes right shifts of the stream, the first 0, such that each field starts low enough in a byte of one
 * shifted copy.  Returns their number. */
static int
stream_shifts(const Make *k, int *shift)
{
	int n = 1;

	shift[0] = 0;
	for (int at = k->room + 1; at < 8; at++) {
		bool used = false;

		for (int e = 0; e < BIT_GROUP; e++)
			used = used || e * k->slot_bits % 8 == at;
		if (used && at > shift[n - 1] + k->room)
			shift[n++] = at;
	}
	return n;
}

/* Returns register w of the stream shifted by s. */
static int
stream_word(Make *k, int w, int s)
{
	if (s == 0)
		return w;
	if (w + 1 == k->slot_bits)
		return recipe_step(k, ST_shift, w, VAL_NONE, s, 0, 0);
	return recipe_step(k, ST_funnel, w, w + 1, s, 0, 0);
}

/* Position of an element: byte `byte` of the stream shifted by `shift`, from bit `bit` on. */
typedef struct Field {
	int shift, byte, bit, last; /* last byte that it occupies */
} Field;

static Field
field_of(const Make *k, int e, const int *shift, int nshift)
{
	int at = e * k->slot_bits;
	Field f = { 0, 0, 0, 0 };

	for (int i = 0; i < nshift; i++) {
		f.shift = shift[i];
		f.byte = (at - shift[i]) / 8;
		f.bit = (at - shift[i]) % 8;
		if (at >= shift[i] && f.bit <= k->room)
			break;
	}
	f.last = f.byte + (f.bit + k->bits - 1) / 8;
	return f;
}

/* Computes the selector bytes of one half from prmt's sources *src, of which there are *n so far, at most
 * two.  Returns false if a third source is needed. */
static bool
half_bytes(Make *k, const Field *f, int *src, int *n, uint32_t *sel)
{
	*sel = 0;
	for (int b = 0; b < 2; b++) {
		int byte = f->byte + b <= f->last ? f->byte + b : f->byte, i = 0, word;

		word = stream_word(k, byte / 4, f->shift);
		while (i < *n && src[i] != word)
			i++;
		if (i == 2)
			return false;
		if (i == *n)
			src[(*n)++] = word;
		*sel |= (uint32_t)(4 * i + byte % 4) << 4 * b;
	}
	return true;
}

void
recipe_natural(Make *k)
{
	int shift[SHIFTS], nshift = stream_shifts(k, shift);
	uint32_t field = (1u << k->bits) - 1, base = (uint32_t)(k->bias + k->man) << k->man;

	for (int j = 0; j < k->r->nout; j++) {
		Field f[2] = { field_of(k, 2 * j, shift, nshift), field_of(k, 2 * j + 1, shift, nshift) };
		uint32_t lo, hi, mask = field << f[0].bit | field << f[1].bit << 16, magic;
		int src[2] = { 0, 0 }, bit[2], n = 0, x;

		magic = (base | (uint32_t)recipe_half(k) << f[0].bit) |
		        (base | (uint32_t)recipe_half(k) << f[1].bit) << 16;
		if (!half_bytes(k, &f[0], src, &n, &lo) || !half_bytes(k, &f[1], src, &n, &hi)) {
			k->r->nstep = RECIPE_STEPS; /* no sequence */
			return;
		}
		x = recipe_step(k, ST_pick, src[0], n > 1 ? src[1] : src[0], 0, lo | hi << 8, 0);
		x = recipe_step(k, ST_mix, x, VAL_NONE, 0, mask, magic);
		bit[0] = f[0].bit;
		bit[1] = f[1].bit;
		recipe_finish(k, j, x, bit);
	}
}
