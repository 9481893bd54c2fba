/* bitperm.c - permutations of address bits as exchanges and delta swaps. */
#include "lib/bitperm.h"
#include <string.h>

/* The bits of a word whose address has bit p clear. */
static const uint64_t clear[6] = {
	0x5555555555555555,
	0x3333333333333333,
	0x0f0f0f0f0f0f0f0f,
	0x00ff00ff00ff00ff,
	0x0000ffff0000ffff,
	0x00000000ffffffff,
};

bool
bitperm_make(BitPerm *p, int m, const uint8_t *to)
{
	int from[BITPERM_MAX],
		at[BITPERM_MAX]; /* source bit of a result's bit; source bit at a place of the buffer */
	int nword = m - 6, low = 0;
	bool seen[BITPERM_MAX] = { false };

	memset(p, 0, sizeof *p);
	p->m = m;
	if (m < BITPERM_MIN || m > BITPERM_MAX)
		return false;
	for (int i = 0; i < m; i++) {
		if (to[i] >= m || seen[to[i]])
			return false;
		seen[to[i]] = true;
		from[to[i]] = i;
	}
	for (int i = 0; i < 6; i++) {
		at[i] = i;
		p->nx += from[i] >= 6;
	}
	for (int i = 6, x = 0; i < m;
	     i++) { /* those that must come inside are on top of the words' numbers */
		int place = to[i] < 6 ? nword - p->nx + x++ : low++;

		p->load[i - 6] = (uint8_t)place;
		at[6 + place] = i;
	}
	for (int i = 0, x = 0; i < 6; i++) {
		int top = 6 + nword - p->nx + x;

		if (to[i] < 6)
			continue;
		p->x[x++] = (uint8_t)i;
		at[i] = at[top];
		at[top] = i;
	}
	for (int i = 0; i < 6; i++) {
		int j = i;

		while (at[j] != from[i])
			j++;
		if (j == i)
			continue;
		p->swap[p->ns][0] = (uint8_t)i;
		p->swap[p->ns++][1] = (uint8_t)j;
		at[j] = at[i];
		at[i] = from[i];
	}
	for (int i = 0; i < nword; i++)
		p->store[i] = (uint8_t)(to[at[6 + i]] - 6);
	return true;
}

static uint32_t
moved(const uint8_t *to, int n, uint32_t w)
{
	uint32_t r = 0;

	for (int i = 0; i < n; i++)
		r |= (w >> i & 1) << to[i];
	return r;
}

uint32_t
bitperm_load(const BitPerm *p, uint32_t w)
{
	return moved(p->load, p->m - 6, w);
}

uint32_t
bitperm_store(const BitPerm *p, uint32_t w)
{
	return moved(p->store, p->m - 6, w);
}

/* ---- running
 * --------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
/* As many words at once as the target has room for. */
typedef uint64_t Words __attribute__((vector_size(64), may_alias));
#else
#define INLINE static inline
typedef uint64_t Words;
#endif
enum { WORDS = sizeof(Words) / 8 };

/* One body for words and for vectors of them: all nx exchanges of 2^nx values, then the swaps of each. */
#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif
#define BODY(Value)											\
	for (size_t i = 0; i < inner; i++) {								\
		Value v[1 << 3];									\
		UNROLL											\
		for (int j = 0; j < 1 << nx; j++)							\
			v[j] = ((const Value *)(const void *)buffer)[(size_t)j * inner + i];		\
		UNROLL											\
		for (int e = 0; e < nx; e++) {								\
			int s = 1 << p->x[e];								\
			uint64_t mask = clear[p->x[e]];							\
			UNROLL										\
			for (int j = 0; j < 1 << nx; j++)						\
				if (!(j >> e & 1)) {							\
					Value t = ((v[j] >> s) ^ v[j | 1 << e]) & mask;			\
					v[j | 1 << e] ^= t;						\
					v[j] ^= t << s;							\
				}									\
		}											\
		UNROLL											\
		for (int e = 0; e < p->ns; e++) {							\
			int lo = p->swap[e][0], hi = p->swap[e][1], s = (1 << hi) - (1 << lo);		\
			uint64_t mask = ~clear[lo] & clear[hi];						\
			UNROLL										\
			for (int j = 0; j < 1 << nx; j++) {						\
				Value t = ((v[j] >> s) ^ v[j]) & mask;					\
				v[j] ^= t ^ (t << s);							\
			}										\
		}											\
		UNROLL											\
		for (int j = 0; j < 1 << nx; j++)							\
			((Value *)(void *)buffer)[(size_t)j * inner + i] = v[j];			\
	}

INLINE void
vectors(const BitPerm *p, uint64_t *buffer, size_t inner, int nx){
	BODY(Words)
}

INLINE void words(const BitPerm *p, uint64_t *buffer, size_t inner, int nx)
{
	BODY(uint64_t)
}

/* The number of exchanges is a constant in each case, so that values stay in registers. */
#define CASES(fn)                                                                                       \
	switch (p->nx) {                                                                                \
	case 0: fn(p, buffer, inner, 0); break;                                                         \
	case 1: fn(p, buffer, inner, 1); break;                                                         \
	case 2: fn(p, buffer, inner, 2); break;                                                         \
	default: fn(p, buffer, inner, 3); break;                                                        \
	}

static void
run_plain(const BitPerm *p, uint64_t *buffer, size_t inner)
{
	CASES(words)
}

static void
run_vectors(const BitPerm *p, uint64_t *buffer, size_t inner)
{
	CASES(vectors)
}

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2"))) static void
run_avx2(const BitPerm *p, uint64_t *buffer, size_t inner)
{
	CASES(vectors)
}

__attribute__((target("avx512f"))) static void
run_avx512(const BitPerm *p, uint64_t *buffer, size_t inner)
{
	CASES(vectors)
}
#endif

/* More than three exchanges: the upper ones first, one at a time. */
static BitPerm
upper(const BitPerm *p, uint64_t *buffer)
{
	size_t n = (size_t)1 << (p->m - 6);
	BitPerm rest = *p;

	for (int e = p->nx - 1; e >= 3; e--) {
		size_t apart = (size_t)1 << (p->m - 6 - p->nx + e);
		int s = 1 << p->x[e];
		uint64_t mask = clear[p->x[e]];

		for (size_t i = 0; i < n; i++) {
			uint64_t t;

			if (i & apart)
				continue;
			t = ((buffer[i] >> s) ^ buffer[i | apart]) & mask;
			buffer[i | apart] ^= t;
			buffer[i] ^= t << s;
		}
	}
	return rest;
}

void
bitperm_run(const BitPerm *p, uint64_t *buffer, bool plain)
{
	/* with more than three exchanges the lower three repeat for each part of the buffer */
	int over = p->nx > 3 ? p->nx - 3 : 0;
	size_t part = (size_t)1 << (p->m - 6 - over), inner = part >> (p->nx > 3 ? 3 : p->nx);
	BitPerm rest = over ? upper(p, buffer) : *p;

	for (size_t i = 0; i < (size_t)1 << over; i++, buffer += part) {
		if (plain || inner % WORDS) {
			run_plain(&rest, buffer, inner);
			continue;
		}
#if defined(__GNUC__) && defined(__x86_64__)
		if (__builtin_cpu_supports("avx512f")) {
			run_avx512(&rest, buffer, inner / WORDS);
			continue;
		}
		if (__builtin_cpu_supports("avx2")) {
			run_avx2(&rest, buffer, inner / WORDS);
			continue;
		}
#endif
		run_vectors(&rest, buffer, inner / WORDS);
	}
}
