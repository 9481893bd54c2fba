/* mma_arith.c - computes the arithmetic of matrix instructions in loops that compilers vectorize.
 *
 * Each loop is compiled for baseline x86-64 and again for AVX2 and AVX-512; the version is chosen at the
 * call. Results are bit-identical: every element is accumulated in order of k, and since the products are
 * exact, fusing a multiply-add makes no difference. */
#include <math.h>
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/mma_arith.h"

#if defined(__x86_64__) && defined(__GNUC__)
#ifdef __clang__
#define LEVEL4 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"), min_vector_width(512)))
#else
#define LEVEL4 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#endif
#define LEVEL3 __attribute__((target("avx2,fma")))
#define HAS4 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && \
	__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define HAS3 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#define LEVEL4
#define LEVEL3
#define HAS4 0
#define HAS3 0
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
/* name(params) as name_body(args, rows): rows of a block of the result that fit in registers */
#define LEVELS(name, params, ...) \
	LEVEL4 static void name##_4 params { name##_body(__VA_ARGS__, 8, true); } \
	LEVEL3 static void name##_3 params { name##_body(__VA_ARGS__, 4, true); } \
	static void name##_2 params { name##_body(__VA_ARGS__, 2, false); } \
	void name params \
	{ \
		if (HAS4) \
			name##_4(__VA_ARGS__); \
		else if (HAS3) \
			name##_3(__VA_ARGS__); \
		else \
			name##_2(__VA_ARGS__); \
	}

/* A narrow float whose magnitude has been shifted to f32's bit positions: the exponent grows by `up`; `inf`
 * and above are infinity and NaN. Subnormals of f32 would be slow, so none appear. */
INLINE double
narrow(u32 magnitude, u32 inf, u32 up, u32 sign)
{
	u32 b = magnitude + (up << 23);
	float sub = (float)(s32)magnitude * f32_of((up - 22) << 23);    /* 2^(up - 149) */

	b = magnitude < 1u << 23 ? bits_of(sub) : b;
	b = magnitude >= inf ? 0x7f800000u | (magnitude & 0x7fffffu) : b;
	return (double)f32_of(b | sign);
}

/* ---- elements ---- */

INLINE void
mat_unpack_body(double *restrict out, const u32 *restrict v, u32 n, PtxType t, u32 rows, bool fused)
{
	const u8 *restrict b = (const u8 *)v;
	const u16 *restrict h = (const u16 *)(const void *)v;

	(void)rows;
	(void)fused;
	switch (t) {
	case T_tf32:            /* the low bits are ignored */
		for (u32 i = 0; i < n; i++)
			out[i] = (double)f32_of(v[i] & ~0x1fffu);
		return;
	case T_f16:
		for (u32 i = 0; i < 2 * n; i++)
			out[i] = narrow((h[i] & 0x7fffu) << 13, 0x1fu << 23, 112, (h[i] & 0x8000u) << 16);
		return;
	case T_bf16:
		for (u32 i = 0; i < 2 * n; i++)
			out[i] = (double)f32_of((u32)h[i] << 16);
		return;
	case T_e5m2:
		for (u32 i = 0; i < 4 * n; i++)
			out[i] = narrow((b[i] & 0x7fu) << 21, 0x1fu << 23, 112, (b[i] & 0x80u) << 24);
		return;
	case T_e4m3:            /* no infinity, and one NaN */
		for (u32 i = 0; i < 4 * n; i++)
			out[i] = narrow((b[i] & 0x7fu) << 20, 0x7fu << 20, 120, (b[i] & 0x80u) << 24);
		return;
	case T_s8:
		for (u32 i = 0; i < 4 * n; i++)
			out[i] = (double)(s8)b[i];
		return;
	case T_u8:
		for (u32 i = 0; i < 4 * n; i++)
			out[i] = (double)b[i];
		return;
	case T_s4:
		for (u32 i = 0; i < 4 * n; i++) {
			out[2 * i] = (double)((s32)((b[i] & 15u) ^ 8) - 8);
			out[2 * i + 1] = (double)((s32)((u32)b[i] >> 4 ^ 8) - 8);
		}
		return;
	case T_e2m1:            /* all codes are numbers */
		for (u32 i = 0; i < 4 * n; i++) {
			out[2 * i] = narrow((b[i] & 7u) << 22, ~0u, 126, (b[i] & 8u) << 28);
			out[2 * i + 1] = narrow((b[i] & 0x70u) << 18, ~0u, 126, (b[i] & 0x80u) << 24);
		}
		return;
	default:
		for (u32 i = 0; i < 4 * n; i++) {
			out[2 * i] = (double)(b[i] & 15);
			out[2 * i + 1] = (double)(b[i] >> 4);
		}
		return;
	}
}
LEVELS(mat_unpack, (double *out, const u32 *words, u32 n, PtxType t), out, words, n, t)

/* One element of a word, the lowest. */
INLINE double
element(u32 x, PtxType t)
{
	switch (t) {
	case T_tf32: return (double)f32_of(x & ~0x1fffu);
	case T_f16: return narrow((x & 0x7fffu) << 13, 0x1fu << 23, 112, (x & 0x8000u) << 16);
	case T_bf16: return (double)f32_of(x << 16);
	case T_e5m2: return narrow((x & 0x7fu) << 21, 0x1fu << 23, 112, (x & 0x80u) << 24);
	case T_e4m3: return narrow((x & 0x7fu) << 20, 0x7fu << 20, 120, (x & 0x80u) << 24);
	case T_s8: return (double)(s32)(s8)(u8)x;
	case T_u8: return (double)(s32)(x & 255);
	case T_s4: return (double)((s32)((x & 15) ^ 8) - 8);
	case T_e2m1: return narrow((x & 7u) << 22, ~0u, 126, (x & 8u) << 28);
	default: return (double)(s32)(x & 15);
	}
}

/* Gathers the words of a row of b first. */
INLINE void
columns(double *restrict out, const u32 *restrict v, u32 n, PtxType t, u32 bits)
{
	for (u32 i = 0; i < n; i++) {
		u32 row[8];
		for (u32 g = 0; g < 8; g++)
			row[g] = v[g * n + i];
		for (u32 e = 0; e < 32 / bits; e++)
			for (u32 g = 0; g < 8; g++)
				*out++ = element(row[g] >> (e * bits & 31), t);
	}
}

INLINE void
mat_unpack_cols_body(double *out, const u32 *v, u32 n, PtxType t, u32 rows, bool fused)
{
	(void)rows;
	(void)fused;
	switch (t) {
	case T_tf32: columns(out, v, n, T_tf32, 32); return;
	case T_f16: columns(out, v, n, T_f16, 16); return;
	case T_bf16: columns(out, v, n, T_bf16, 16); return;
	case T_e5m2: columns(out, v, n, T_e5m2, 8); return;
	case T_e4m3: columns(out, v, n, T_e4m3, 8); return;
	case T_s8: columns(out, v, n, T_s8, 8); return;
	case T_u8: columns(out, v, n, T_u8, 8); return;
	case T_s4: columns(out, v, n, T_s4, 4); return;
	case T_e2m1: columns(out, v, n, T_e2m1, 4); return;
	default: columns(out, v, n, T_u4, 4); return;
	}
}
LEVELS(mat_unpack_cols, (double *out, const u32 *words, u32 n, PtxType t), out, words, n, t)

/* ---- accumulators ---- */

double
mat_value(u32 b, PtxType t)
{
	switch (t) {
	case T_f16: return (double)f16_value(b & 0xffff);
	case T_f32: return (double)f32_of(b);
	default: return (double)(s32)b;
	}
}

INLINE void
mat_load_acc_body(double *restrict out, const u32 *r0, const u32 *r1, PtxType t, u32 rows, bool fused)
{
	(void)rows;
	(void)fused;
	switch (t) {
	case T_f16:
		mat_unpack_body(out, r0, WARP, T_f16, rows, fused);
		return;
	case T_f32:
		for (u32 l = 0; l < WARP; l++) {
			out[2 * l] = (double)f32_of(r0[l]);
			out[2 * l + 1] = (double)f32_of(r1[l]);
		}
		return;
	default:
		for (u32 l = 0; l < WARP; l++) {
			out[2 * l] = (double)(s32)r0[l];
			out[2 * l + 1] = (double)(s32)r1[l];
		}
		return;
	}
}
LEVELS(mat_load_acc, (double *out, const u32 *r0, const u32 *r1, PtxType t), out, r0, r1, t)

/* f16_from_f32 of float_formats.c without a branch. */
INLINE u32
half(u32 b)
{
	u32 a = b & 0x7fffffffu, s = b >> 16 & 0x8000u, r = (a + 0xfffu + (a >> 13 & 1) - 0x38000000u) >> 13;

	r = a < 0x38800000u ? bits_of(f32_of(a) + 0.5f) - 0x3f000000u : r;
	r = a >= 0x47800000u ? 0x7c00 : r;
	return a > 0x7f800000u ? 0x7fff : s | r;
}

/* Nearest even, once: to f32 with an odd last bit where inexact, which preserves the bits that f16 needs. */
INLINE u32
f16_of(double v)
{
	float f = (float)v;
	u32 b = bits_of(f), odd;

	odd = (b - (fabs((double)f) > fabs(v))) | 1;
	b = (double)f == v || v != v ? b : odd;
	return half(b);
}

INLINE u32
f32_bits(double v)
{
	u32 b = bits_of((float)v);

	return v != v ? 0x7fffffffu : b;        /* NaN is canonical */
}

/* The sum modulo 2^32, or clamped. */
INLINE u32
s32_bits(double v, bool sat)
{
	double c = v > (double)INT32_MAX ? (double)INT32_MAX : v < (double)INT32_MIN ? (double)INT32_MIN : v;

	return (u32)(u64)(s64)(sat ? c : v);
}

u32
mat_round(double v, PtxType t, bool sat)
{
	switch (t) {
	case T_f16: return f16_of(v);
	case T_f32: return f32_bits(v);
	default: return s32_bits(v, sat);
	}
}

INLINE void
mat_store_acc_body(const double *restrict v, u32 *r0, u32 *r1, PtxType t, bool sat, u32 rows, bool fused)
{
	(void)rows;
	(void)fused;
	switch (t) {
	case T_f16:
		for (u32 l = 0; l < WARP; l++)
			r0[l] = f16_of(v[2 * l]) | f16_of(v[2 * l + 1]) << 16;
		return;
	case T_f32:
		for (u32 l = 0; l < WARP; l++) {
			r0[l] = f32_bits(v[2 * l]);
			r1[l] = f32_bits(v[2 * l + 1]);
		}
		return;
	default:
		for (u32 l = 0; l < WARP; l++) {
			r0[l] = s32_bits(v[2 * l], sat);
			r1[l] = s32_bits(v[2 * l + 1], sat);
		}
		return;
	}
}
LEVELS(mat_store_acc, (const double *v, u32 *r0, u32 *r1, PtxType t, bool sat), v, r0, r1, t, sat)

/* ---- products ---- */

#if defined(__GNUC__)
typedef double Eight __attribute__((vector_size(64)));
#else
typedef struct Eight { double v[8]; } Eight;
#endif

/* `rows` rows of eight columns stay in registers. */
INLINE void
block(double *restrict c, const double *restrict a, const double *restrict b, size_t n, size_t k, u32 rows)
{
	Eight acc[8], y;

	for (u32 r = 0; r < rows; r++)
		memcpy(&acc[r], c + r * n, sizeof y);
	for (size_t q = 0; q < k; q++, a++, b += n) {
		memcpy(&y, b, sizeof y);
		for (u32 r = 0; r < rows; r++)
#if defined(__GNUC__)
			acc[r] += y * a[r * k];
#else
			for (u32 e = 0; e < 8; e++)
				acc[r].v[e] += y.v[e] * a[r * k];
#endif
	}
	for (u32 r = 0; r < rows; r++)
		memcpy(c + r * n, &acc[r], sizeof y);
}

INLINE void
mat_product_body(double *c, const double *a, const double *b, u32 m, u32 n, u32 k, u32 rows, bool fused)
{
	(void)fused;
	for (u32 j = 0; j < n; j += 8)
		for (u32 i = 0; i < m; i += rows)
			block(c + (size_t)i * n + j, a + (size_t)i * k, b + j, n, k, rows);
}
LEVELS(mat_product, (double *c, const double *a, const double *b, u32 m, u32 n, u32 k), c, a, b, m, n, k)

INLINE void
mat_product64_body(double *c, const double *a, const double *b, u32 m, u32 n, u32 k, u32 rows, bool fused)
{
	(void)rows;
	(void)fused;
	for (u32 i = 0; i < m; i++)
		for (u32 q = 0; q < k; q++)
			for (u32 j = 0; j < n; j++)
				c[i * n + j] = fma(a[i * k + q], b[q * n + j], c[i * n + j]);
}
LEVELS(mat_product64, (double *c, const double *a, const double *b, u32 m, u32 n, u32 k), c, a, b, m, n, k)
