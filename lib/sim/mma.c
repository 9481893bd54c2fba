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

typedef struct Shape {
	u32 m, n, k, p;         /* p: elements in a register of a and b */
	u32 bits;
	bool wide;              /* f64 */
} Shape;

static u64
raw_element(const Warp *w, const Ref *r, u32 lane, u32 e, const Shape *s)
{
	if (s->wide)
		return src64(w, r)[lane];
	if (s->bits == 32)
		return src32(w, r)[lane];
	return src32(w, r)[lane] >> e * s->bits & ((1u << s->bits) - 1);
}

static float
f32_of(u32 b)
{
	float f;

	memcpy(&f, &b, 4);
	return f;
}

static double
value(u64 raw, Type t)
{
	double d;

	switch (t) {
	case T_f16: return (double)f16_value((u32)raw);
	case T_bf16: return (double)bf16_value((u32)raw);
	case T_tf32: return (double)f32_of((u32)raw & ~0x1fffu);        /* low bits are ignored */
	case T_e4m3: return fp8_value((u32)raw, false);
	case T_e5m2: return fp8_value((u32)raw, true);
	case T_s8: return (s8)raw;
	case T_s4: return (double)((s32)((u32)raw << 28) >> 28);
	case T_f64: memcpy(&d, &raw, 8); return d;
	default: return (double)raw;
	}
}

static void
place_a(const Shape *s, u32 lane, u32 r, u32 e, u32 *row, u32 *col)
{
	u32 half = s->m == 16 ? r % 2 : 0, blk = s->m == 16 ? r / 2 : r;

	*row = lane / 4 + 8 * half;
	*col = 4 * s->p * blk + s->p * (lane % 4) + e;
}

static void
load_a(const Warp *w, const Ins *in, const Shape *s, double a[MAXM][MAXK])
{
	u32 row, col;

	for (u32 r = 0; r < in->sub; r++)
		for (u32 l = 0; l < WARP; l++)
			for (u32 e = 0; e < s->p; e++) {
				place_a(s, l, r, e, &row, &col);
				a[row][col] = value(raw_element(w, &in->s[r], l, e, s), (Type)in->type);
			}
}

static void
load_b(const Warp *w, const Ins *in, const Shape *s, double b[MAXK][MAXN])
{
	for (u32 r = 0; r < in->vec; r++)
		for (u32 l = 0; l < WARP; l++)
			for (u32 e = 0; e < s->p; e++)
				b[4 * s->p * r + s->p * (l % 4) + e][l / 4]
					= value(raw_element(w, &in->s[in->sub + r], l, e, s), (Type)in->type2);
}

/* Element i of the accumulator of a lane. */
static double
load_c(const Warp *w, const Ins *in, u32 lane, u32 i)
{
	const Ref *c = in->s + in->sub + in->vec;

	switch ((Type)in->ebytes) {
	case T_f16: return (double)f16_value(src32(w, &c[i / 2])[lane] >> 16 * (i % 2) & 0xffff);
	case T_f32: return (double)f32_of(src32(w, &c[i])[lane]);
	case T_s32: return (double)(s32)src32(w, &c[i])[lane];
	default: return value(src64(w, &c[i])[lane], T_f64);
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
			place_a(s, l, r, 0, &row, &col);
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
	for (u32 i = 0; i < s->m; i++)
		for (u32 k = 0; k < s->k; k++) {
			double x = a[i][k];
			for (u32 j = 0; j < MAXN; j++)
				c[i][j] += x * b[k][j];
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
	s.bits = in->type == T_tf32 ? 32 : type_bits((Type)in->type);
	s.p = s.wide ? 1 : 32 / s.bits;
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
