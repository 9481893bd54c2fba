/* pack_code.c - blocks of packs code by code: of any extents and widths. */
#include "hexc/spread.h"
#include "lib/pack_plan.h"
#include <string.h>

/* Eight codes of `bits` bits, one after the other from the bottom, to a byte each; and back. */
static inline uint64_t
apart(uint64_t x, int bits)
{
	uint64_t four = (1ull << 4 * bits) - 1, two = ((1ull << 2 * bits) - 1) * 0x100000001ull;
	uint64_t one = ((1ull << bits) - 1) * 0x1000100010001ull;

	x = (x & four) | (x & ~four) << (32 - 4 * bits);
	x = (x & two) | (x & ~two) << (16 - 2 * bits);
	return (x & one) | (x & ~one) << (8 - bits);
}

static inline uint64_t
together(uint64_t x, int bits)
{
	uint64_t one = 0x00ff00ff00ff00ff, two = 0x0000ffff0000ffff, four = 0xffffffff;

	x = (x & one) | (x & ~one) >> (8 - bits);
	x = (x & two) | (x & ~two) >> (16 - 2 * bits);
	return (x & four) | (x & ~four) >> (32 - 4 * bits);
}

/* n codes from a bit stream that begins at a byte, to a byte each; and back. */
static void
expand(const unsigned char *in, int64_t n, int bits, uint8_t *code)
{
	for (; n > 0; n -= 8, in += bits, code += 8) {
		size_t left = n < 8 ? (size_t)(n * bits + 7) / 8 : (size_t)bits;
		uint64_t x = 0;

		for (size_t i = 0; i < left; i++)
			x |= (uint64_t)in[i] << 8 * i;
		if (n < 8)
			x &= (1ull << n * bits) - 1;
		x = apart(x, bits);
		memcpy(code, &x, n < 8 ? (size_t)n : 8);
	}
}

static void
squeeze(const uint8_t *code, int64_t n, int bits, unsigned char *out)
{
	for (; n > 0; n -= 8, out += bits, code += 8) {
		size_t left = n < 8 ? (size_t)(n * bits + 7) / 8 : (size_t)bits;
		uint64_t x = 0;

		memcpy(&x, code, n < 8 ? (size_t)n : 8);
		x = together(x, bits);
		memcpy(out, &x, left);
	}
}

/* Word w of a stream, in its block. */
static size_t
word_at(const PackPlan *p, size_t stream, size_t w)
{
	return w / 4 * 4 * (size_t)p->pack->streams + stream * 4 + w % 4;
}

static void
encode(const PackPlan *p, const uint8_t *code, uint32_t *packed)
{
	size_t each = (size_t)(p->n / p->pack->streams);

	for (size_t s = 0; s < (size_t)p->pack->streams; s++, code += each) {
		for (size_t g = 0; g < each; g += SPREAD_GROUP) {
			size_t left = each - g < SPREAD_GROUP ? each - g : SPREAD_GROUP,
			       at = g / 32 * (size_t)p->bits;
			uint32_t word[8] = { 0 };

			for (const PackSeg *q = p->seg; q < p->seg + p->nseg && q->element < left; q++)
				word[q->word] |= (uint32_t)(code[g + q->element] >> q->shift &
				                            ((1u << q->bits) - 1))
				                 << q->at;
			for (size_t w = 0; w < left * (size_t)p->bits / 32; w++)
				packed[word_at(p, s, at + w)] = word[w];
		}
	}
}

static void
decode(const PackPlan *p, const uint32_t *packed, uint8_t *code)
{
	size_t each = (size_t)(p->n / p->pack->streams);

	for (size_t s = 0; s < (size_t)p->pack->streams; s++, code += each) {
		for (size_t g = 0; g < each; g += SPREAD_GROUP) {
			size_t left = each - g < SPREAD_GROUP ? each - g : SPREAD_GROUP,
			       at = g / 32 * (size_t)p->bits;
			uint32_t word[8] = { 0 };

			for (size_t w = 0; w < left * (size_t)p->bits / 32; w++)
				word[w] = packed[word_at(p, s, at + w)];
			memset(code + g, 0, left);
			for (const PackSeg *q = p->seg; q < p->seg + p->nseg && q->element < left; q++)
				code[g + q->element] |=
					(uint8_t)((word[q->word] >> q->at & ((1u << q->bits) - 1))
				                  << q->shift);
		}
	}
}

#if defined(__GNUC__)
typedef uint8_t Bytes __attribute__((vector_size(PACK_LANES)));
typedef uint32_t Lanes __attribute__((vector_size(PACK_LANES * 4)));

/* Where word 0 of a lane's group is in the block: its words follow as word_at says. */
static void
group_words(const PackPlan *p, size_t group, size_t *stream, size_t *first)
{
	size_t each = (size_t)(p->n / p->pack->streams) / SPREAD_GROUP;

	*stream = group / each;
	*first = group % each * (size_t)p->bits;
}

static void
encode_lanes(const PackPlan *p, const uint8_t *code, uint32_t *packed)
{
	for (size_t g = 0; g < (size_t)p->n / SPREAD_GROUP;
	     g += PACK_LANES, code += PACK_LANES * SPREAD_GROUP) {
		Lanes word[8] = { { 0 } };

		for (const PackSeg *q = p->seg; q < p->seg + p->nseg; q++) {
			Bytes b;

			memcpy(&b, code + q->element * PACK_LANES, sizeof b);
			word[q->word] |=
				(__builtin_convertvector(b, Lanes) >> q->shift & ((1u << q->bits) - 1))
				<< q->at;
		}
		for (size_t lane = 0, stream, first; lane < PACK_LANES; lane++) {
			group_words(p, g + lane, &stream, &first);
			for (int w = 0; w < p->bits; w++)
				packed[word_at(p, stream, first + (size_t)w)] = word[w][lane];
		}
	}
}

static void
decode_lanes(const PackPlan *p, const uint32_t *packed, uint8_t *code)
{
	for (size_t g = 0; g < (size_t)p->n / SPREAD_GROUP;
	     g += PACK_LANES, code += PACK_LANES * SPREAD_GROUP) {
		Lanes word[8] = { { 0 } };

		for (size_t lane = 0, stream, first; lane < PACK_LANES; lane++) {
			group_words(p, g + lane, &stream, &first);
			for (int w = 0; w < p->bits; w++)
				word[w][lane] = packed[word_at(p, stream, first + (size_t)w)];
		}
		for (const PackSeg *q = p->seg; q < p->seg + p->nseg;) {
			Lanes sum = { 0 };
			uint8_t element = q->element;
			Bytes b;

			for (; q < p->seg + p->nseg && q->element == element; q++)
				sum |= (word[q->word] >> q->at & ((1u << q->bits) - 1)) << q->shift;
			b = __builtin_convertvector(sum, Bytes);
			memcpy(code + element * PACK_LANES, &b, sizeof b);
		}
	}
}
#else
#define encode_lanes encode
#define decode_lanes decode
#endif

void
pack_slowly(const PackPlan *p, const unsigned char *natural, size_t stride, void *packed, void *scratch)
{
	uint8_t *code = scratch, *placed = code + p->n + 64;

	for (int64_t i = 0; i < p->rows; i++)
		expand(natural + (size_t)i * stride, p->cols, p->bits, code + i * p->cols);
	for (int64_t i = 0; i < p->n; i++)
		placed[p->position[i]] = code[i];
	(p->lanes ? encode_lanes : encode)(p, placed, packed);
}

void
unpack_slowly(const PackPlan *p, const void *packed, unsigned char *natural, size_t stride, void *scratch)
{
	uint8_t *code = scratch, *placed = code + p->n + 64;

	(p->lanes ? decode_lanes : decode)(p, packed, placed);
	for (int64_t i = 0; i < p->n; i++)
		code[i] = placed[p->position[i]];
	for (int64_t i = 0; i < p->rows; i++)
		squeeze(code + i * p->cols, p->cols, p->bits, natural + (size_t)i * stride);
}
