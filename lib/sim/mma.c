/* mma.c - mma.sync: fragments to matrices, the product, and back.
 *
 * All shapes share one rule (PTX ISA, matrix fragments for mma).  With g = lane / 4,
 * t = lane % 4 and p elements in a register:
 *	A: register r, element e is at row g + 8 (r % 2), column 4 p (r / 2) + p t + e
 *	   (of an m8 shape: row g, column 4 p r + p t + e)
 *	B: register r, element e is at row 4 p r + p t + e, column g
 *	C: element i is at row g + 8 (i / 2), column 2 t + i % 2
 * Float products are exact and summed in double, then rounded once; the hardware's order and
 * intermediate precision are unspecified.  Integer results are exact.
 */
#include <math.h>
#include <string.h>
#include "sim_int.h"

enum { MAXM = 16, MAXN = 8, MAXK = 64 };
typedef double Two __attribute__((vector_size(16)));     /* gcc and clang: two doubles at once */

typedef struct Shape {
	u32 m, n, k, p;         /* p: elements in a register of a and b */
	bool wide;              /* f64 */
} Shape;

static float
f32_of(u32 b)
{
	float f;

	memcpy(&f, &b, 4);
	return f;
}

/* f16 to double without a branch: the exponent is moved by a multiplication. */
static inline double
from_f16(u32 h)
{
	float f = f32_of((h & 0x7fff) << 13) * 0x1p112f;
	double d = (h & 0x7c00) == 0x7c00 ? (double)f32_of(0x7f800000u | (h & 0x3ff) << 13) : (double)f;

	return h & 0x8000 ? -d : d;
}

/* All elements of a register of 32 lanes: out[lane * p + e]. */
static void
unpack(const Warp *w, const Ref *r, Type t, double *out)
{
	const u32 *v = src32(w, r);

	switch (t) {
	case T_f64:
		memcpy(out, src64(w, r), WARP * sizeof *out);
		return;
	case T_tf32:            /* the low bits are ignored */
		for (u32 l = 0; l < WARP; l++)
			out[l] = (double)f32_of(v[l] & ~0x1fffu);
		return;
	case T_f16:
		for (u32 l = 0; l < WARP; l++) {
			out[2 * l] = from_f16(v[l] & 0xffff);
			out[2 * l + 1] = from_f16(v[l] >> 16);
		}
		return;
	case T_bf16:
		for (u32 l = 0; l < WARP; l++) {
			out[2 * l] = (double)f32_of(v[l] << 16);
			out[2 * l + 1] = (double)f32_of(v[l] & 0xffff0000u);
		}
		return;
	case T_s4: case T_u4:
		for (u32 i = 0; i < 8 * WARP; i++) {
			u32 x = v[i / 8] >> i % 8 * 4 & 15;
			out[i] = t == T_u4 || x < 8 ? (double)x : (double)x - 16;
		}
		return;
	default:
		for (u32 i = 0; i < 4 * WARP; i++) {
			u32 x = v[i / 4] >> i % 4 * 8 & 255;
			out[i] = t == T_s8 ? (double)(s8)x : t == T_u8 ? (double)x : fp8_value(x, t == T_e5m2);
		}
		return;
	}
}

/* Where register r of A begins: a row for every g, and there 4 p elements side by side, those
 * of the lanes 4 g to 4 g + 3. */
static void
place_a(const Shape *s, u32 g, u32 r, u32 *row, u32 *col)
{
	*row = g + (s->m == 16 ? 8 * (r % 2) : 0);
	*col = 4 * s->p * (s->m == 16 ? r / 2 : r);
}

static void
load_a(const Warp *w, const Ins *in, const Shape *s, double a[MAXM][MAXK])
{
	double e[8 * WARP];
	u32 row, col;

	for (u32 r = 0; r < in->sub; r++) {
		unpack(w, &in->s[r], (Type)in->type, e);
		for (u32 g = 0; g < 8; g++) {
			place_a(s, g, r, &row, &col);
			for (u32 k = 0; k < 4 * s->p; k++)
				a[row][col + k] = e[4 * s->p * g + k];
		}
	}
}

static void
load_b(const Warp *w, const Ins *in, const Shape *s, double b[MAXK][MAXN])
{
	double e[8 * WARP];
	u32 n = 4 * s->p;

	for (u32 r = 0; r < in->vec; r++) {
		unpack(w, &in->s[in->sub + r], (Type)in->type2, e);
		for (u32 k = 0; k < n; k++)
			for (u32 g = 0; g < 8; g++)
				b[n * r + k][g] = e[n * g + k];
	}
}

/* Element i of the accumulator of a lane. */
static double
load_c(const Warp *w, const Ins *in, u32 lane, u32 i)
{
	const Ref *c = in->s + in->sub + in->vec;
	double d;

	switch ((Type)in->ebytes) {
	case T_f16: return (double)f16_value(src32(w, &c[i / 2])[lane] >> 16 * (i % 2) & 0xffff);
	case T_f32: return (double)f32_of(src32(w, &c[i])[lane]);
	case T_s32: return (double)(s32)src32(w, &c[i])[lane];
	default:
		memcpy(&d, &src64(w, &c[i])[lane], 8);
		return d;
	}
}

static void
store_c(Warp *w, const Ins *in, u32 lane, u32 i, double v)
{
	u32 b, *d;
	s64 x;
	float f;

	switch ((Type)in->ebytes) {
	case T_f16:
		d = dst32(w, &in->d[i / 2]) + lane;
		b = f16_round(v, RN);
		*d = i % 2 ? (*d & 0xffff) | b << 16 : (*d & 0xffff0000u) | b;
		return;
	case T_f32:
		f = (float)v;
		memcpy(&b, &f, 4);
		dst32(w, &in->d[i])[lane] = f != f ? 0x7fffffffu : b;
		return;
	case T_s32:             /* the sum is exact in double: below 2^40 */
		x = (s64)v;
		if (in->flags & F_SAT)
			x = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
		dst32(w, &in->d[i])[lane] = (u32)(u64)x;
		return;
	default:
		memcpy(&dst64(w, &in->d[i])[lane], &v, 8);
		return;
	}
}

/* An undefined element of a row of A or a column of B spoils that row or column of D. */
static void
taint_mma(Warp *w, const Ins *in, const Shape *s)
{
	u32 all = ALL_LANES, rows = 0, cols = 0, row, col, org = 0, n;

	for (u32 i = 0; i < in->ns; i++) {
		u32 d = def_of(w, &in->s[i]);
		if (~d && !org)
			org = origin_of(w, in, &in->s[i]);
		all &= d;
	}
	for (u32 i = 0; i < in->nd; i++)
		if (all == ALL_LANES)
			def_set(w, &in->d[i], ALL_LANES, ALL_LANES, 0);
	if (all == ALL_LANES)
		return;
	for (u32 r = 0; r < in->sub; r++)
		for (u32 l = 0; l < WARP; l++) {
			place_a(s, l / 4, r, &row, &col);
			if (!(def_of(w, &in->s[r]) >> l & 1))
				rows |= 1u << row;
		}
	for (u32 r = 0; r < in->vec; r++)
		for (u32 l = 0; l < WARP; l++)
			if (!(def_of(w, &in->s[in->sub + r]) >> l & 1))
				cols |= 1u << l / 4;
	n = (Type)in->ebytes == T_f16 ? 2 : 1;
	for (u32 i = 0; i < in->nd; i++) {
		u32 def = def_of(w, &in->s[in->sub + in->vec + i]);
		for (u32 l = 0; l < WARP; l++)
			for (u32 k = i * n; k < i * n + n; k++)
				if (rows >> (l / 4 + 8 * (k / 2)) & 1 || cols >> (2 * (l % 4) + k % 2) & 1)
					def &= ~(1u << l);
		def_set(w, &in->d[i], ALL_LANES, def, org);
	}
}

static void
product(const Shape *s, double a[MAXM][MAXK], double b[MAXK][MAXN], double c[MAXM][MAXN])
{
	for (u32 i = 0; i < s->m; i++) {
		Two v0, v1, v2, v3, b2[4];      /* a row stays in registers */
		memcpy(&v0, &c[i][0], sizeof v0);
		memcpy(&v1, &c[i][2], sizeof v1);
		memcpy(&v2, &c[i][4], sizeof v2);
		memcpy(&v3, &c[i][6], sizeof v3);
		for (u32 k = 0; k < s->k; k++) {
			Two x = { a[i][k], a[i][k] };
			memcpy(b2, b[k], sizeof b2);
			v0 += x * b2[0];
			v1 += x * b2[1];
			v2 += x * b2[2];
			v3 += x * b2[3];
		}
		memcpy(&c[i][0], &v0, sizeof v0);
		memcpy(&c[i][2], &v1, sizeof v1);
		memcpy(&c[i][4], &v2, sizeof v2);
		memcpy(&c[i][6], &v3, sizeof v3);
	}
}

/* f64 is a chain of fused multiply-adds in order of k. */
static void
product64(const Shape *s, double a[MAXM][MAXK], double b[MAXK][MAXN], double c[MAXM][MAXN])
{
	for (u32 i = 0; i < s->m; i++)
		for (u32 j = 0; j < s->n; j++)
			for (u32 k = 0; k < s->k; k++)
				c[i][j] = fma(a[i][k], b[k][j], c[i][j]);
}

int
exec_mma(Warp *w, const Ins *in, u32 mask)
{
	double a[MAXM][MAXK], b[MAXK][MAXN], c[MAXM][MAXN];
	Shape s;
	u32 nc;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	s.m = in->aux >> 16;
	s.n = in->aux >> 8 & 255;
	s.k = in->aux & 255;
	s.wide = in->type == T_f64;
	s.p = s.wide ? 1 : 32 / type_bits((Type)in->type);
	nc = s.m * s.n / WARP;
	load_a(w, in, &s, a);
	load_b(w, in, &s, b);
	for (u32 l = 0; l < WARP; l++)
		for (u32 i = 0; i < nc; i++)
			c[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2] = load_c(w, in, l, i);
	if (s.wide)
		product64(&s, a, b, c);
	else
		product(&s, a, b, c);
	if (w->def)
		taint_mma(w, in, &s);
	for (u32 l = 0; l < WARP; l++)
		for (u32 i = 0; i < nc; i++)
			store_c(w, in, l, i, c[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2]);
	w->blk->k->mma++;
	w->blk->k->mma_macs += (u64)s.m * s.n * s.k;
	return R_NEXT;
}
