/* bit_permute.c - permutes the bits of 64 blocks at a time, plane by plane, for packs and for weights in
 * files. */
#include "lib/pack/bit_permute.h"
#include "lib/pack/plane_kernels.h"
#include <string.h>

enum { CHUNK = 8 }; /* words of a row that are processed together: a cache line */

/* ---- the plan ---------------------------------------------------------------------------------------- */

void
moveside_add(MoveSide *s, size_t rows, size_t row)
{
	s->area[s->n++] = (MoveArea){ rows, row, (row + 7) / 8 };
}

size_t
moveside_bytes(const MoveSide *s)
{
	size_t bytes = 0;

	for (int i = 0; i < s->n; i++)
		bytes += s->area[i].rows * s->area[i].row;
	return bytes;
}

/* Returns the words of all areas. A word is 8 planes. */
static size_t
side_words(const MoveSide *s)
{
	size_t words = 0;

	for (int i = 0; i < s->n; i++)
		words += s->area[i].rows * s->area[i].words;
	return words;
}

/* Returns the byte offset of word w in its row. */
static inline size_t
word_start(const MoveArea *s, size_t w)
{
	return 8 * w + 8 <= s->row || s->row < 8 ? 8 * w : s->row - 8;
}

/* Returns the plane of each byte. */
static uint32_t *
planes_of(Arena *a, const MoveSide *s)
{
	uint32_t *plane = NEWN(a, uint32_t, moveside_bytes(s)), *next = plane;
	size_t word = 0;

	for (const MoveArea *area = s->area; area < s->area + s->n; area++)
		for (size_t row = 0; row < area->rows; row++, word += area->words)
			for (size_t at = 0; at < area->row; at++)
				*next++ = (uint32_t)((word + at / 8) * 8 + at - word_start(area, at / 8));
	return plane;
}

/* Computes the segments of a byte whose bits are of[0..8), at most 8; returns their number. */
static uint8_t
segments_of(const uint32_t *plane, const int32_t *of, MoveSeg *out)
{
	uint8_t n = 0;

	for (int bit = 0; bit < 8; bit++) {
		int32_t from = of[bit];
		MoveSeg s = { (uint64_t)0x0101010101010101 << bit, 0, 0, 0 };
		int i = 0;

		if (from < 0)
			continue;
		s.plane = plane[from / 8];
		s.right = (uint8_t)(from % 8 > bit ? from % 8 - bit : 0);
		s.left = (uint8_t)(bit > from % 8 ? bit - from % 8 : 0);
		while (i < n && (out[i].plane != s.plane || out[i].right != s.right || out[i].left != s.left))
			i++;
		if (i < n)
			out[i].mask |= s.mask;
		else
			out[n++] = s;
	}
	return n;
}

/* Computes the segments of an area of `to`, whose bits are of[0..), and their number per plane. Returns the
 * segment after the last. */
static MoveSeg *
area_segments(const MoveArea *area, const uint32_t *plane, const int32_t *of, uint8_t *count, MoveSeg *seg)
{
	for (size_t row = 0; row < area->rows; row++, of += 8 * area->row) {
		for (size_t p = 0; p < 8 * area->words; p++, count++) {
			size_t at = word_start(area, p / 8) + p % 8;

			if (at >= area->row)
				continue; /* the word extends past its row */
			*count = segments_of(plane, of + 8 * at, seg);
			seg += *count;
		}
	}
	return seg;
}

void
bitmove_make(Arena *a, BitMove *m, const MoveSide *from, const MoveSide *to, const int32_t *of)
{
	const uint32_t *plane = planes_of(a, from);
	uint8_t *count = NEWN(a, uint8_t, side_words(to) * 8);
	MoveSeg *seg;
	size_t most = 0;

	for (const MoveArea *area = to->area; area < to->area + to->n; area++)
		most += 8 * area->rows * (area->row < 8 ? area->row : 8 * area->words);
	seg = NEWN(a, MoveSeg, most);
	*m = (BitMove){ *from, *to, seg, count };
	for (const MoveArea *area = to->area; area < to->area + to->n; area++) {
		seg = area_segments(area, plane, of, count, seg);
		count += area->rows * area->words * 8;
		of += area->rows * area->row * 8;
	}
}

size_t
bitmove_scratch(const BitMove *m)
{
	return (side_words(&m->from) + CHUNK) * 8 * MOVE_LANES;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define PREFETCH(p, ahead) __builtin_prefetch((const void *)((uintptr_t)(p) + (ahead)))
#define PREFETCH_WRITE(p, ahead) __builtin_prefetch((const void *)((uintptr_t)(p) + (ahead)), 1)
#else
#define INLINE static inline
#define UNROLL
#define PREFETCH(p, ahead) ((void)(p))
#define PREFETCH_WRITE(p, ahead) ((void)(p))
#endif

/* Loads n <= 8 bytes at the end of a row; without a loop, because the caller has one. */
static inline uint64_t
load_row_tail(const unsigned char *p, size_t n)
{
	uint32_t a = 0, b = 0;
	uint64_t x = 0;

	if (n == 8) {
		memcpy(&x, p, 8);
	} else if (n >= 4) {
		memcpy(&a, p, 4);
		memcpy(&b, p + n - 4, 4);
		x = a | (uint64_t)b << 8 * (n - 4);
	} else {
		x = p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
	}
	return x;
}

static inline void
store(unsigned char *p, size_t n, uint64_t x)
{
	uint32_t a = (uint32_t)x, b = (uint32_t)(x >> 8 * (n & 3));

	if (n == 8) {
		memcpy(p, &x, 8);
	} else if (n >= 4) {
		memcpy(p, &a, 4);
		memcpy(p + n - 4, &b, 4);
	} else {
		p[0] = (unsigned char)x;
		p[n / 2] = (unsigned char)(x >> 8 * (n / 2));
		p[n - 1] = (unsigned char)(x >> 8 * (n - 1));
	}
}

/* Loads words [w, w + n) of a row that starts at p[lane]: word by word, all lanes of each. Prefetches what
 * is needed next, next[lane] bytes further: hardware prefetchers do not track this many streams. */
static void
load_chunk(const MoveArea *s, unsigned char *const *p, const size_t *next, size_t w, size_t n,
           uint64_t *to)
{
	size_t first = word_start(s, w), last = word_start(s, w + n - 1);

	if (s->row < 8) {
		for (size_t lane = 0; lane < MOVE_LANES; lane++)
			to[lane] = load_row_tail(p[lane], s->row);
		return;
	}
	for (size_t lane = 0; lane < MOVE_LANES; lane += 8, to += 8) {
		UNROLL for (size_t k = 0; k < 8; k++)
			PREFETCH(p[lane + k], next[lane + k] + first);
		for (size_t i = 0, at; i < n; i++) {
			at = i + 1 < n ? first + 8 * i : last;
			UNROLL for (size_t k = 0; k < 8; k++)
				to[i * MOVE_LANES + k] = load_row_tail(p[lane + k] + at, 8);
		}
	}
}

/* Stores rows of n words; n is a compile-time constant. */
INLINE void
store_words(unsigned char *const *p, const size_t *next, size_t first, size_t last, size_t n,
            const uint64_t *from)
{
	for (size_t lane = 0; lane < MOVE_LANES; lane++, from++) {
		PREFETCH_WRITE(p[lane], next[lane] + first);
		UNROLL for (size_t i = 0; i + 1 < n; i++)
			store(p[lane] + first + 8 * i, 8, from[i * MOVE_LANES]);
		store(p[lane] + last, 8, from[(n - 1) * MOVE_LANES]);
	}
}

static void
store_chunk(const MoveArea *s, unsigned char *const *p, const size_t *next, size_t w, size_t n,
            const uint64_t *from)
{
	size_t first = word_start(s, w), last = word_start(s, w + n - 1);

	if (s->row < 8) {
		for (size_t lane = 0; lane < MOVE_LANES; lane++)
			store(p[lane], s->row, from[lane]);
		return;
	}
	switch (n) {
	case 1: store_words(p, next, first, last, 1, from); break;
	case 2: store_words(p, next, first, last, 2, from); break;
	case 3: store_words(p, next, first, last, 3, from); break;
	case 4: store_words(p, next, first, last, 4, from); break;
	case 5: store_words(p, next, first, last, 5, from); break;
	case 6: store_words(p, next, first, last, 6, from); break;
	case 7: store_words(p, next, first, last, 7, from); break;
	default: store_words(p, next, first, last, 8, from); break;
	}
}

/* ---- areas ------------------------------------------------------------------------------------------- */

/* The addresses of a row of all lanes, in the order of which transposing words makes planes of adjacent
 * ones. */
typedef struct LaneRows {
	unsigned char *at[MOVE_LANES];
	size_t next[MOVE_LANES]; /* bytes from there to what is needed next */
} LaneRows;

/* Sets the addresses of a row. Lanes without a block do the same as the last one. */
static void
lane_rows(LaneRows *l, const MoveArea *area, const MoveRows *rows, size_t n, size_t row)
{
	for (size_t i = 0; i < MOVE_LANES; i++) {
		size_t lane = i % 8 * 8 + i / 8;
		const MoveRows *r = &rows[lane < n ? lane : n - 1];

		l->at[i] = r->start + row * r->stride;
		l->next[i] = area->rows == 1 ? 8 * CHUNK : row + 1 < area->rows ? r->stride : 0;
	}
}

/* Where bitmove_run is in the segments. */
typedef struct SegCursor {
	const MoveSeg *seg;
	const uint8_t *count;
} SegCursor;

/* Are rows of all lanes adjacent, and of one or two bytes? Then they are planes in memory, or pairs of
 * them. */
static bool
is_plane(const MoveArea *area, const MoveRows *rows, size_t n)
{
	if (n != MOVE_LANES || area->row > 2)
		return false;
	for (size_t i = 1; i < n; i++)
		if (rows[i].start != rows[i - 1].start + area->row || rows[i].stride != rows[0].stride)
			return false;
	return true;
}

static void
load_planes(const MoveArea *area, const MoveRows *rows, const PlaneKernels *k, uint64_t *to)
{
	for (size_t row = 0; row < area->rows; row++, to += 8 * WORDS) {
		const unsigned char *from = rows->start + row * rows->stride;

		if (area->row == 2)
			k->unzip(from, (uint8_t *)to);
		else
			memcpy(to, from, MOVE_LANES);
	}
}

static void
store_planes(const MoveArea *area, const MoveRows *rows, const PlaneKernels *k, const uint64_t *planes,
             uint64_t *chunk, SegCursor *c)
{
	for (size_t row = 0; row < area->rows; row++, c->count += 8) {
		unsigned char *to = rows->start + row * rows->stride;

		c->seg = k->gather(c->seg, c->count, area->row, planes, chunk);
		if (area->row == 2)
			k->zip((const uint8_t *)chunk, to);
		else
			memcpy(to, chunk, MOVE_LANES);
	}
}

/* Loads the planes of an area; returns the planes after them. */
static uint64_t *
load_area(const MoveArea *area, const MoveRows *rows, size_t n, const PlaneKernels *k, uint64_t *to)
{
	LaneRows l;

	if (is_plane(area, rows, n)) {
		load_planes(area, rows, k, to);
		return to + area->rows * 8 * WORDS;
	}
	for (size_t row = 0; row < area->rows; row++) {
		lane_rows(&l, area, rows, n, row);
		for (size_t w = 0, part; w < area->words; w += part, to += part * MOVE_LANES) {
			part = area->words - w < CHUNK ? area->words - w : CHUNK;
			load_chunk(area, l.at, l.next, w, part, to);
			k->transpose(to, part);
		}
	}
	return to;
}

/* Combines the planes of an area and stores them. chunk: memory for CHUNK words. */
static void
store_area(const MoveArea *area, const MoveRows *rows, size_t n, const PlaneKernels *k,
           const uint64_t *planes, uint64_t *chunk, SegCursor *c)
{
	LaneRows l;

	if (is_plane(area, rows, n)) {
		store_planes(area, rows, k, planes, chunk, c);
		return;
	}
	for (size_t row = 0; row < area->rows; row++) {
		lane_rows(&l, area, rows, n, row);
		for (size_t w = 0, part; w < area->words; w += part, c->count += 8 * part) {
			part = area->words - w < CHUNK ? area->words - w : CHUNK;
			c->seg = k->gather(c->seg, c->count, 8 * part, planes, chunk);
			k->transpose(chunk, part);
			store_chunk(area, l.at, l.next, w, part, chunk);
		}
	}
}

void
bitmove_run(const BitMove *m, const MoveBlocks *b, void *scratch, bool plain)
{
	uint64_t *planes = scratch, *chunk = planes;
	SegCursor c = { m->seg, m->count };
	PlaneKernels k = plane_kernels(plain);

	for (int i = 0; i < m->from.n; i++)
		chunk = load_area(&m->from.area[i], b->from[i], b->n, &k, chunk);
	for (int i = 0; i < m->to.n; i++)
		store_area(&m->to.area[i], b->to[i], b->n, &k, planes, chunk, &c);
}
