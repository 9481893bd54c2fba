/* bit_permute.c - permutes the bits of 64 blocks at a time, plane by plane, for hexc_pack and
 * hexc_unpack. */
#include "lib/pack/bit_permute.h"
#include <string.h>

/* A segment of a plane of `to`: a plane of `from`, shifted and masked. */
struct MoveSeg {
	uint64_t mask; /* equal in each byte */
	uint32_t plane;
	uint8_t right, left; /* one of them is 0 */
};

enum {
	WORDS = MOVE_LANES / 8, /* words per plane */
	CHUNK = 8,              /* words of a row that are processed together: a cache line */
};

/* ---- the plan ---------------------------------------------------------------------------------------- */

static MoveSide
side(size_t rows, size_t row)
{
	return (MoveSide){ rows, row, (row + 7) / 8 };
}

/* Returns the byte offset of word w in its row. */
static inline size_t
word_start(const MoveSide *s, size_t w)
{
	return 8 * w + 8 <= s->row || s->row < 8 ? 8 * w : s->row - 8;
}

/* Returns the plane of each byte. */
static uint32_t *
planes_of(Arena *a, const MoveSide *s)
{
	uint32_t *plane = NEWN(a, uint32_t, s->rows * s->row);

	for (size_t row = 0, i = 0; row < s->rows; row++)
		for (size_t at = 0; at < s->row; at++, i++)
			plane[i] = (uint32_t)((row * s->words + at / 8) * 8 + at - word_start(s, at / 8));
	return plane;
}

/* Computes the segments of a byte whose bits are of[0..8); returns their number. */
static uint8_t
segments_of(const uint32_t *plane, const int32_t *of, MoveSeg out[8])
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

void
bitmove_make(Arena *a, BitMove *m, size_t from_rows, size_t from_row, size_t to_rows, size_t to_row,
             const int32_t *of)
{
	size_t planes, n = 0;
	uint32_t *plane;

	m->from = side(from_rows, from_row);
	m->to = side(to_rows, to_row);
	plane = planes_of(a, &m->from);
	planes = to_rows * m->to.words * 8;
	m->count = NEWN(a, uint8_t, planes);
	for (int pass = 0; pass < 2; pass++) { /* pass 0 counts, pass 1 fills */
		if (pass)
			m->seg = NEWN(a, MoveSeg, n + 1);
		n = 0;
		for (size_t p = 0; p < planes; p++) {
			size_t w = p / 8 % m->to.words, at = word_start(&m->to, w) + p % 8;
			MoveSeg few[8];

			if (at >= to_row)
				continue; /* the word extends past its row */
			m->count[p] = segments_of(plane, of + (p / 8 / m->to.words * to_row + at) * 8, few);
			if (pass)
				memcpy(m->seg + n, few, m->count[p] * sizeof *few);
			n += m->count[p];
		}
	}
}

size_t
bitmove_scratch(const BitMove *m)
{
	return (m->from.rows * m->from.words + CHUNK) * 8 * MOVE_LANES;
}

/* ---- planes ------------------------------------------------------------------------------------------ */

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#define PREFETCH(p) __builtin_prefetch(p)
#define PREFETCH_WRITE(p) __builtin_prefetch(p, 1)
typedef uint64_t Two __attribute__((vector_size(16), may_alias));
typedef uint64_t Four __attribute__((vector_size(32), may_alias));
typedef uint64_t Eight __attribute__((vector_size(64), may_alias));
#else
#define INLINE static inline
#define UNROLL
#define PREFETCH(p) ((void)(p))
#define PREFETCH_WRITE(p) ((void)(p))
typedef uint64_t Two;
#endif

typedef struct Kernels {
	/* transposes `words` words of all lanes to 8 planes each, in place, or back */
	void (*transpose)(uint64_t *data, size_t words);
	/* combines n planes from their segments; returns the segment after the last */
	const MoveSeg *(*gather)(const MoveSeg *s, const uint8_t *count, size_t n, const uint64_t *from,
	                         uint64_t *to);
} Kernels;

/* Word j of lane i of eight becomes byte i of word j, by exchanging halves, quarters and bytes. The lanes
 * of a plane that share a Vector are processed together. */
#define KERNELS(Vector, name, TARGET)									\
	TARGET static void										\
	transpose_##name(uint64_t *data, size_t words)							\
	{												\
		static const uint64_t keep[3] = {							\
			0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff			\
		};											\
		enum { N = WORDS * 8 / sizeof(Vector) };						\
													\
		for (size_t i = 0; i < words * N; i++) {						\
			Vector *at = (Vector *)(void *)(data + i / N * 8 * WORDS) + i % N, v[8];	\
													\
			UNROLL for (int j = 0; j < 8; j++)						\
				v[j] = at[j * N];							\
			UNROLL for (int e = 0; e < 3; e++) {						\
				UNROLL for (int j = 0; j < 8; j++) {					\
					Vector t = ((v[j] >> (8 << e)) ^ v[j | 1 << e]) & keep[e];	\
													\
					if (j >> e & 1)							\
						continue;						\
					v[j | 1 << e] ^= t;						\
					v[j] ^= t << (8 << e);						\
				}									\
			}										\
			UNROLL for (int j = 0; j < 8; j++)						\
				at[j * N] = v[j];							\
		}											\
	}												\
													\
	TARGET static const MoveSeg *									\
	gather_##name(const MoveSeg *s, const uint8_t *count, size_t n, const uint64_t *from,		\
	              uint64_t *to)									\
	{												\
		enum { N = WORDS * 8 / sizeof(Vector) };						\
													\
		for (size_t p = 0; p < n; p++, to += WORDS) {						\
			Vector sum[N] = { (Vector){ 0 } };						\
													\
			for (int k = count[p]; k > 0; k--, s++) {					\
				const Vector *v =							\
					(const Vector *)(const void *)(from + (size_t)s->plane * WORDS); \
													\
				UNROLL for (size_t i = 0; i < N; i++)					\
					sum[i] |= ((v[i] >> s->right) << s->left) & s->mask;		\
			}										\
			UNROLL for (size_t i = 0; i < N; i++)						\
				((Vector *)(void *)to)[i] = sum[i];					\
		}											\
		return s;										\
	}

KERNELS(Two, plain, )
#if defined(__GNUC__) && defined(__x86_64__)
KERNELS(Four, avx2, __attribute__((target("avx2"))))
KERNELS(Eight, avx512, __attribute__((target("avx512f"))))
#endif

static Kernels
kernels(bool plain)
{
#if defined(__GNUC__) && defined(__x86_64__)
	if (!plain && __builtin_cpu_supports("avx512f"))
		return (Kernels){ transpose_avx512, gather_avx512 };
	if (!plain && __builtin_cpu_supports("avx2"))
		return (Kernels){ transpose_avx2, gather_avx2 };
#endif
	(void)plain;
	return (Kernels){ transpose_plain, gather_plain };
}

/* ---- rows -------------------------------------------------------------------------------------------- */

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
load_chunk(const MoveSide *s, const unsigned char *const *p, const size_t *next, size_t w, size_t n,
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
			PREFETCH(p[lane + k] + next[lane + k] + first);
		for (size_t i = 0, at; i < n; i++) {
			at = i + 1 < n ? first + 8 * i : last;
			UNROLL for (size_t k = 0; k < 8; k++)
				to[i * MOVE_LANES + k] = load_row_tail(p[lane + k] + at, 8);
		}
	}
}

/* Stores rows of n words; n is a compile-time constant. */
INLINE void
store_words(unsigned char *const *p, const size_t *next, size_t lanes, size_t first, size_t last, size_t n,
            const uint64_t *from)
{
	for (size_t lane = 0; lane < lanes; lane++, from++) {
		PREFETCH_WRITE(p[lane] + next[lane] + first);
		UNROLL for (size_t i = 0; i + 1 < n; i++)
			store(p[lane] + first + 8 * i, 8, from[i * MOVE_LANES]);
		store(p[lane] + last, 8, from[(n - 1) * MOVE_LANES]);
	}
}

static void
store_chunk(const MoveSide *s, unsigned char *const *p, const size_t *next, size_t lanes, size_t w, size_t n,
            const uint64_t *from)
{
	size_t first = word_start(s, w), last = word_start(s, w + n - 1);

	if (s->row < 8) {
		for (size_t lane = 0; lane < lanes; lane++)
			store(p[lane], s->row, from[lane]);
		return;
	}
	switch (n) {
	case 1: store_words(p, next, lanes, first, last, 1, from); break;
	case 2: store_words(p, next, lanes, first, last, 2, from); break;
	case 3: store_words(p, next, lanes, first, last, 3, from); break;
	case 4: store_words(p, next, lanes, first, last, 4, from); break;
	case 5: store_words(p, next, lanes, first, last, 5, from); break;
	case 6: store_words(p, next, lanes, first, last, 6, from); break;
	case 7: store_words(p, next, lanes, first, last, 7, from); break;
	default: store_words(p, next, lanes, first, last, 8, from); break;
	}
}

void
bitmove_run(const BitMove *m, const MoveBlock *block, size_t nblock, void *scratch, bool plain)
{
	uint64_t *planes = scratch, *chunk = planes + m->from.rows * m->from.words * MOVE_LANES, *at = planes;
	const unsigned char *from[MOVE_LANES];
	unsigned char *to[MOVE_LANES];
	size_t next[MOVE_LANES];
	const MoveSeg *seg = m->seg;
	const uint8_t *count = m->count;
	Kernels k = kernels(plain);

	for (size_t row = 0; row < m->from.rows; row++) {
		for (size_t i = 0; i < MOVE_LANES; i++) { /* lanes without a block read the last one */
			const MoveBlock *b = &block[i < nblock ? i : nblock - 1];

			next[i] = row + 1 < m->from.rows ? b->from_stride : 0;
			from[i] = b->from + row * b->from_stride;
		}
		for (size_t w = 0, n; w < m->from.words; w += n, at += n * MOVE_LANES) {
			n = m->from.words - w < CHUNK ? m->from.words - w : CHUNK;
			for (size_t i = 0; i < MOVE_LANES && m->from.rows == 1; i++)
				next[i] = w + n < m->from.words ? 8 * n : 0;
			load_chunk(&m->from, from, next, w, n, at);
			k.transpose(at, n);
		}
	}
	for (size_t row = 0; row < m->to.rows; row++) {
		for (size_t i = 0; i < nblock; i++) {
			to[i] = block[i].to + row * block[i].to_stride;
			next[i] = row + 1 < m->to.rows ? block[i].to_stride : 0;
		}
		for (size_t w = 0, n; w < m->to.words; w += n, count += 8 * n) {
			n = m->to.words - w < CHUNK ? m->to.words - w : CHUNK;
			seg = k.gather(seg, count, 8 * n, planes, chunk);
			k.transpose(chunk, n);
			store_chunk(&m->to, to, next, nblock, w, n, chunk);
		}
	}
}
