/* pack_plan.c - blocks of packs: by permutation of address bits where they are one, else code by code. */
#include "lib/pack_plan.h"
#include "hexc/spread.h"
#include <string.h>

static bool
power(int64_t x)
{
	return x > 0 && (x & (x - 1)) == 0;
}

static int
log2_of(int64_t x)
{
	int n = 0;

	while (x >> n > 1)
		n++;
	return n;
}

/* ---- the plan
 * -------------------------------------------------------------------------------------------- */

/* Positions: the place has no swizzle, so they are sums of what row and column say. */
static void
positions(Arena *a, PackPlan *p)
{
	int32_t *of_col = NEWN(a, int32_t, p->cols);
	int64_t origin = pack_position(p->pack, 0, 0);

	p->position = NEWN(a, int32_t, p->n);
	for (int64_t j = 0; j < p->cols; j++)
		of_col[j] = (int32_t)(pack_position(p->pack, 0, j) - origin);
	for (int64_t i = 0; i < p->rows; i++) {
		int32_t of_row = (int32_t)pack_position(p->pack, i, 0);

		for (int64_t j = 0; j < p->cols; j++)
			p->position[i * p->cols + j] = of_row + of_col[j];
	}
}

static void
segments(PackPlan *p)
{
	for (int e = 0; e < SPREAD_GROUP; e++) {
		for (int b = 0, n; b < p->bits; b += n) {
			int at = spread_bit(p->bits, p->pack->spread, e, b);

			for (n = 1; b + n < p->bits && (at + n) % 32 != 0 &&
			            spread_bit(p->bits, p->pack->spread, e, b + n) == at + n;
			     n++)
				;
			p->seg[p->nseg++] = (PackSeg){ (uint8_t)e, (uint8_t)b, (uint8_t)n, (uint8_t)(at / 32),
				                       (uint8_t)(at % 32) };
		}
	}
}

/* Where bit 0 of the code at a position is in its block. */
static int64_t
bit_of(const PackPlan *p, int64_t position)
{
	int64_t each = p->n / p->pack->streams, nth = position % each;
	int in_group = spread_bit(p->bits, p->pack->spread, (int)(nth % SPREAD_GROUP), 0);
	int64_t word = nth / SPREAD_GROUP * p->bits + in_group / 32;

	word = word / 4 * 4 * p->pack->streams + position / each * 4 + word % 4;
	return word * 32 + in_group % 32;
}

/* Where each word of the source goes, and where each of the result comes from: both sides are walked in
 * order. */
static void
numbers(Arena *a, const BitPerm *p, uint32_t **load, uint32_t **store)
{
	uint32_t n = (uint32_t)1 << (p->m - 6);

	*load = NEWN(a, uint32_t, n);
	*store = NEWN(a, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		(*load)[i] = bitperm_load(p, i);
		(*store)[bitperm_store(p, i)] = i;
	}
}

/* Is the block a permutation of address bits?  Asked of every element. */
static bool
fast_plan(Arena *a, PackPlan *p)
{
	uint8_t to[BITPERM_MAX], back[BITPERM_MAX];
	int small = log2_of(p->bits), m;
	int64_t image[BITPERM_MAX];

	if (!power(p->bits) || !power(p->rows) || !power(p->cols) || p->cols * p->bits < 8)
		return false;
	m = small + log2_of(p->n);
	if (m < BITPERM_MIN || m > BITPERM_MAX)
		return false;
	for (int i = 0; i < m; i++) {
		int64_t at = i < small ? (int64_t)1 << i : bit_of(p, p->position[(int64_t)1 << (i - small)]);

		if (!power(at))
			return false;
		image[i] = at;
		to[i] = (uint8_t)log2_of(at);
		if (to[i] >= m)
			return false;
		back[to[i]] = (uint8_t)i;
	}
	for (int64_t e = 0; e < p->n; e++) {
		int64_t at = 0;

		for (int i = 0; i < m - small; i++)
			at |= e >> i & 1 ? image[small + i] : 0;
		if (at != bit_of(p, p->position[e]))
			return false;
	}
	if (!bitperm_make(&p->to, m, to) || !bitperm_make(&p->back, m, back))
		return false;
	numbers(a, &p->to, &p->load[0], &p->store[0]);
	numbers(a, &p->back, &p->load[1], &p->store[1]);
	return true;
}

/* Groups that are done at once. */
enum { LANES = 16 };

/* Codes are put where whole groups can be done side by side: element e of LANES groups, then element e + 1. */
static void
beside(PackPlan *p)
{
	p->lanes = true;
	for (int64_t i = 0; i < p->n; i++) {
		int32_t group = p->position[i] / SPREAD_GROUP, e = p->position[i] % SPREAD_GROUP;

		p->position[i] = group / LANES * LANES * SPREAD_GROUP + e * LANES + group % LANES;
	}
}

void
pack_plan(Arena *a, PackPlan *out, const Pack *pack)
{
	memset(out, 0, sizeof *out);
	out->pack = pack;
	out->bits = dtype_info[pack->dtype].bits;
	out->rows = pack->block[0];
	out->cols = pack->block[1];
	out->n = out->rows * out->cols;
	out->natural = (size_t)(out->rows * ((out->cols * out->bits + 7) / 8));
	out->words = (size_t)pack_block_words(pack);
	positions(a, out);
	segments(out);
	out->fast = fast_plan(a, out);
#if defined(__GNUC__)
	if (!out->fast && out->n / pack->streams % SPREAD_GROUP == 0 && out->n % (SPREAD_GROUP * LANES) == 0)
		beside(out);
#endif
}

/* So many blocks that their rows make long pieces, and that they stay in the cache. */
enum { ROW = 512, ALL = 1 << 17 };

int64_t
pack_side(const PackPlan *p)
{
	int64_t n = ROW / (p->cols * p->bits / 8 + 1), most = ALL / (int64_t)p->natural;

	n = n < most ? n : most;
	return n < 1 ? 1 : n;
}

size_t
pack_scratch(const PackPlan *p)
{
	size_t codes = (size_t)(p->n + 64) * 2, blocks = p->natural * ((size_t)pack_side(p) + 1);

	return ((codes > blocks ? codes : blocks) + 63) / 64 * 64;
}

/* ---- permutations
 * ---------------------------------------------------------------------------------------- */

static inline uint64_t
load64(const void *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return x;
}

/* Hints for what is read next; past the end they do nothing. */
#if defined(__GNUC__)
#define PREFETCH(p) __builtin_prefetch(p)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#define PREFETCH(p) ((void)(p))
#endif
enum { AHEAD = 2048 };

/* The words of `blocks` blocks side by side: row by row, so that memory is walked in long pieces; then
 * all are rearranged, by which time what was stored has arrived. */
static void
pack_fast(const PackPlan *p, const unsigned char *natural, size_t stride, unsigned char *packed,
          int64_t blocks, uint64_t *buffer)
{
	size_t row = (size_t)(p->cols * p->bits / 8), n = p->words / 2;
	const uint32_t *load = p->load[0], *store = p->store[0];

	for (int64_t j = 0; row < 8 && j < blocks; j++) { /* a word has several rows */
		unsigned char *rows = (unsigned char *)(buffer + (size_t)blocks * n);

		for (int64_t i = 0; i < p->rows; i++)
			memcpy(rows + (size_t)i * row, natural + (size_t)i * stride + (size_t)j * row, row);
		for (size_t w = 0; w < n; w++)
			buffer[(size_t)j * n + load[w]] = load64(rows + w * 8);
	}
	for (int64_t i = 0; row >= 8 && i < p->rows; i++, load += row / 8) {
		const unsigned char *in = natural + (size_t)i * stride;

		PREFETCH(in + 8 * stride);
		for (int64_t j = 0; j < blocks; j++, in += row)
			UNROLL for (size_t at = 0; at < row / 8; at++)
				buffer[(size_t)j * n + load[at]] = load64(in + at * 8);
	}
	for (int64_t j = 0; j < blocks; j++)
		bitperm_run(&p->to, buffer + (size_t)j * n, false);
	for (int64_t j = 0; j < blocks; j++, buffer += n)
		UNROLL for (size_t w = 0; w < n; w++, packed += 8)
			memcpy(packed, &buffer[store[w]], 8);
}

static void
unpack_fast(const PackPlan *p, const unsigned char *packed, unsigned char *natural, size_t stride,
            int64_t blocks, uint64_t *buffer)
{
	size_t row = (size_t)(p->cols * p->bits / 8), n = p->words / 2;
	const uint32_t *load = p->load[1], *store = p->store[1];

	for (int64_t j = 0; j < blocks; j++) {
		for (size_t w = 0; w < n; w++, packed += 8) {
			if (w % 8 == 0)
				PREFETCH(packed + AHEAD);
			buffer[(size_t)j * n + load[w]] = load64(packed);
		}
	}
	for (int64_t j = 0; j < blocks; j++)
		bitperm_run(&p->back, buffer + (size_t)j * n, false);
	for (int64_t j = 0; row < 8 && j < blocks; j++) {
		unsigned char *rows = (unsigned char *)(buffer + (size_t)blocks * n);

		for (size_t w = 0; w < n; w++)
			memcpy(rows + w * 8, &buffer[(size_t)j * n + store[w]], 8);
		for (int64_t i = 0; i < p->rows; i++)
			memcpy(natural + (size_t)i * stride + (size_t)j * row, rows + (size_t)i * row, row);
	}
	for (int64_t i = 0; row >= 8 && i < p->rows; i++, store += row / 8) {
		unsigned char *out = natural + (size_t)i * stride;

		for (int64_t j = 0; j < blocks; j++, out += row)
			UNROLL for (size_t at = 0; at < row / 8; at++)
				memcpy(out + at * 8, &buffer[(size_t)j * n + store[at]], 8);
	}
}

/* ---- code by code
 * ------------------------------------------------------------------------------------------ */

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
typedef uint8_t Bytes __attribute__((vector_size(LANES)));
typedef uint32_t Lanes __attribute__((vector_size(LANES * 4)));

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
	for (size_t g = 0; g < (size_t)p->n / SPREAD_GROUP; g += LANES, code += LANES * SPREAD_GROUP) {
		Lanes word[8] = { { 0 } };

		for (const PackSeg *q = p->seg; q < p->seg + p->nseg; q++) {
			Bytes b;

			memcpy(&b, code + q->element * LANES, sizeof b);
			word[q->word] |=
				(__builtin_convertvector(b, Lanes) >> q->shift & ((1u << q->bits) - 1))
				<< q->at;
		}
		for (size_t lane = 0, stream, first; lane < LANES; lane++) {
			group_words(p, g + lane, &stream, &first);
			for (int w = 0; w < p->bits; w++)
				packed[word_at(p, stream, first + (size_t)w)] = word[w][lane];
		}
	}
}

static void
decode_lanes(const PackPlan *p, const uint32_t *packed, uint8_t *code)
{
	for (size_t g = 0; g < (size_t)p->n / SPREAD_GROUP; g += LANES, code += LANES * SPREAD_GROUP) {
		Lanes word[8] = { { 0 } };

		for (size_t lane = 0, stream, first; lane < LANES; lane++) {
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
			memcpy(code + element * LANES, &b, sizeof b);
		}
	}
}
#else
#define encode_lanes encode
#define decode_lanes decode
#endif

static void
pack_slowly(const PackPlan *p, const unsigned char *natural, size_t stride, void *packed, void *scratch)
{
	uint8_t *code = scratch, *placed = code + p->n + 64;

	for (int64_t i = 0; i < p->rows; i++)
		expand(natural + (size_t)i * stride, p->cols, p->bits, code + i * p->cols);
	for (int64_t i = 0; i < p->n; i++)
		placed[p->position[i]] = code[i];
	(p->lanes ? encode_lanes : encode)(p, placed, packed);
}

static void
unpack_slowly(const PackPlan *p, const void *packed, unsigned char *natural, size_t stride, void *scratch)
{
	uint8_t *code = scratch, *placed = code + p->n + 64;

	(p->lanes ? decode_lanes : decode)(p, packed, placed);
	for (int64_t i = 0; i < p->n; i++)
		code[i] = placed[p->position[i]];
	for (int64_t i = 0; i < p->rows; i++)
		squeeze(code + i * p->cols, p->cols, p->bits, natural + (size_t)i * stride);
}

/* ---- either
 * ------------------------------------------------------------------------------------------------ */

void
pack_blocks(const PackPlan *p, const unsigned char *natural, size_t stride, void *packed, int64_t blocks,
            void *scratch)
{
	size_t each = p->natural / (size_t)p->rows;
	unsigned char *out = packed;

	if (p->fast)
		pack_fast(p, natural, stride, packed, blocks, scratch);
	for (int64_t j = 0; !p->fast && j < blocks; j++)
		pack_slowly(p, natural + (size_t)j * each, stride, out + (size_t)j * p->words * 4, scratch);
}

void
unpack_blocks(const PackPlan *p, const void *packed, unsigned char *natural, size_t stride, int64_t blocks,
              void *scratch)
{
	size_t each = p->natural / (size_t)p->rows;
	const unsigned char *in = packed;

	if (p->fast)
		unpack_fast(p, packed, natural, stride, blocks, scratch);
	for (int64_t j = 0; !p->fast && j < blocks; j++)
		unpack_slowly(p, in + (size_t)j * p->words * 4, natural + (size_t)j * each, stride, scratch);
}
