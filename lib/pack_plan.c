/* pack_plan.c - blocks of packs by permutation of address bits, where they are one; pack_code.c has the
 * others. */
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

/* Codes are put where whole groups can be done side by side: element e of PACK_LANES groups, then
 * element e + 1. */
static void
beside(PackPlan *p)
{
	p->lanes = true;
	for (int64_t i = 0; i < p->n; i++) {
		int32_t group = p->position[i] / SPREAD_GROUP, e = p->position[i] % SPREAD_GROUP;

		p->position[i] = group / PACK_LANES * PACK_LANES * SPREAD_GROUP + e * PACK_LANES +
		                 group % PACK_LANES;
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
	if (!out->fast && out->n / pack->streams % SPREAD_GROUP == 0 &&
	    out->n % (SPREAD_GROUP * PACK_LANES) == 0)
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
