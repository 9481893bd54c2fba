/* plane_kernels.c - transposes bytes to planes, and combines planes from segments of others. */
#include "lib/pack/plane_kernels.h"
#include <string.h>

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 8")
typedef uint64_t Two __attribute__((vector_size(16), may_alias));
typedef uint64_t Four __attribute__((vector_size(32), may_alias));
typedef uint64_t Eight __attribute__((vector_size(64), may_alias));
#else
#define UNROLL
typedef uint64_t Two;
#endif

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
	}												\
													\
	TARGET static void										\
	zip_##name(const uint8_t *restrict plane, uint8_t *restrict pairs)				\
	{												\
		uint16_t pair[MOVE_LANES];								\
													\
		for (int i = 0; i < MOVE_LANES; i++)							\
			pair[i] = (uint16_t)(plane[i] | plane[MOVE_LANES + i] << 8);			\
		memcpy(pairs, pair, sizeof pair);							\
	}												\
													\
	TARGET static void										\
	unzip_##name(const uint8_t *restrict pairs, uint8_t *restrict plane)				\
	{												\
		uint16_t pair[MOVE_LANES];								\
													\
		memcpy(pair, pairs, sizeof pair);							\
		for (int i = 0; i < MOVE_LANES; i++) {							\
			plane[i] = (uint8_t)pair[i];							\
			plane[MOVE_LANES + i] = (uint8_t)(pair[i] >> 8);				\
		}											\
	}

KERNELS(Two, plain, )
#if defined(__GNUC__) && defined(__x86_64__)
KERNELS(Four, avx2, __attribute__((target("avx2"))))
KERNELS(Eight, avx512, __attribute__((target("avx512f"))))
#endif

PlaneKernels
plane_kernels(bool plain)
{
#if defined(__GNUC__) && defined(__x86_64__)
	if (!plain && __builtin_cpu_supports("avx512f"))
		return (PlaneKernels){ transpose_avx512, gather_avx512, zip_avx512, unzip_avx512 };
	if (!plain && __builtin_cpu_supports("avx2"))
		return (PlaneKernels){ transpose_avx2, gather_avx2, zip_avx2, unzip_avx2 };
#endif
	(void)plain;
	return (PlaneKernels){ transpose_plain, gather_plain, zip_plain, unzip_plain };
}
