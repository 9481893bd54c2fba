/* mma.c - executes mma.sync and mma.sp.sync: gathers fragments to matrices, multiplies, and scatters the
 * result.
 *
 * All shapes but m8n8k4 of f16 share one rule (PTX ISA, "Matrix Fragments for mma"). With g = lane / 4, t =
 * lane % 4 and p elements in a register:
 *	A: register r, element e is at row g + 8 (r % 2), column 4 p (r / 2) + p t + e
 *	   (of an m8 shape: row g, column 4 p r + p t + e)
 *	B: register r, element e is at row 4 p r + p t + e, column g
 *	C: element i is at row g + 8 (i / 2), column 2 t + i % 2
 * So the lanes of a group have contiguous elements. Float results are accumulated in double and rounded once;
 * the hardware's order and intermediate precision are unspecified. Integer results are exact.
 */
#include <math.h>
#include <string.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/mma_arith.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

enum { MAXM = 16, MAXN = 8, MAXK = 128 };

typedef struct MmaState {           /* an mma of doubles */
	u32 m, n, k, p;         /* p: elements in a register of a and b */
	double a[MAXM * MAXK], b[MAXK * MAXN], c[MAXM * MAXN];
} MmaState;

static void
shape_of(const Ins *in, MmaState *f)
{
	f->m = in->mma.m;
	f->n = in->mma.n;
	f->k = in->mma.k;
	f->p = in->mma.a == T_f64 ? 1 : 32 / type_bits((PtxType)in->mma.a);
}

static const Ref *
ref_b(const Ins *in)
{
	return in->s + in->mma.na;
}

static const Ref *
ref_c(const Ins *in)
{
	return in->s + in->mma.na + in->mma.nb;
}

/* Unpacks a register of 32 lanes, elements contiguous. */
static void
unpack(const Warp *w, const Ref *r, PtxType t, double *out)
{
	if (t == T_f64)
		memcpy(out, src64(w, r), WARP * sizeof *out);
	else
		mat_unpack(out, src32(w, r), WARP, t);
}

/* Where register r of A starts: a row for every g, with 4 p contiguous elements. */
static void
place_a(u32 m, u32 p, u32 g, u32 r, u32 *row, u32 *col)
{
	*row = g + (m == 16 ? 8 * (r % 2) : 0);
	*col = 4 * p * (m == 16 ? r / 2 : r);
}

static void
load_a(const Warp *w, const Ins *in, const MmaState *f, u32 k, double *a)
{
	double e[8 * WARP];
	u32 row, col, n = 4 * f->p;

	for (u32 r = 0; r < in->mma.na; r++) {
		unpack(w, &in->s[r], (PtxType)in->mma.a, e);
		for (u32 g = 0; g < 8; g++) {
			place_a(f->m, f->p, g, r, &row, &col);
			memcpy(a + row * k + col, e + n * g, n * sizeof *a);
		}
	}
}

static void
load_b(const Warp *w, const Ins *in, MmaState *f)
{
	const Ref *r = ref_b(in);

	for (u32 i = 0; i < in->mma.nb; i++)
		if (in->mma.b != T_f64)
			mat_unpack_cols(f->b + i * 4 * f->p * 8, src32(w, &r[i]), 4, (PtxType)in->mma.b);
		else
			for (u32 l = 0; l < WARP; l++)
				memcpy(&f->b[(4 * i + l % 4) * 8 + l / 4], &src64(w, &r[i])[l], 8);
}

/* Eight rows of the accumulator have one register of two elements or two registers of one. */
static void
load_c(const Warp *w, const Ins *in, MmaState *f)
{
	const Ref *c = ref_c(in);
	PtxType t = (PtxType)in->mma.c;

	for (u32 h = 0; h < f->m / 8; h++) {
		const Ref *r = t == T_f16 ? &c[h] : &c[2 * h];
		double *out = f->c + 64 * h;
		if (t != T_f64) {
			mat_load_acc(out, src32(w, r), src32(w, t == T_f16 ? r : r + 1), t);
			continue;
		}
		for (u32 l = 0; l < WARP; l++) {
			memcpy(&out[2 * l], &src64(w, r)[l], 8);
			memcpy(&out[2 * l + 1], &src64(w, r + 1)[l], 8);
		}
	}
}

static void
store_c(Warp *w, const Ins *in, const MmaState *f)
{
	PtxType t = (PtxType)in->mma.d;

	for (u32 h = 0; h < f->m / 8; h++) {
		const Ref *r = t == T_f16 ? &in->d[h] : &in->d[2 * h];
		const double *v = f->c + 64 * h;
		if (t != T_f64) {
			mat_store_acc(v, dst32(w, r), dst32(w, t == T_f16 ? r : r + 1), t, in->flags & F_SAT);
			continue;
		}
		for (u32 l = 0; l < WARP; l++) {
			memcpy(&dst64(w, r)[l], &v[2 * l], 8);
			memcpy(&dst64(w, r + 1)[l], &v[2 * l + 1], 8);
		}
	}
}

/* ---- undefined data ---- */

/* The usual case: everything is defined. Otherwise *org is the first undefined source's origin. */
static bool
all_defined(Warp *w, const Ins *in, u32 *org)
{
	u32 all = ALL_LANES;

	*org = 0;
	for (u32 i = 0; i < in->ns; i++) {
		u32 d = def_of(w, &in->s[i]);
		if (~d && !*org)
			*org = origin_of(w, in, &in->s[i]);
		all &= d;
	}
	for (u32 i = 0; i < in->nd; i++)
		if (all == ALL_LANES)
			def_set(w, &in->d[i], ALL_LANES, ALL_LANES, 0);
	return all == ALL_LANES;
}

/* An undefined element of a row of A or a column of B makes that row or column of D undefined. */
static void
taint_mma(Warp *w, const Ins *in)
{
	MmaState s;
	u32 rows = 0, cols = 0, row, col, org, n;

	if (all_defined(w, in, &org))
		return;
	shape_of(in, &s);
	for (u32 r = 0; r < in->mma.na; r++)
		for (u32 l = 0; l < WARP; l++) {
			place_a(s.m, s.p, l / 4, r, &row, &col);
			if (!(def_of(w, &in->s[r]) >> l & 1))
				rows |= 1u << row;
		}
	for (u32 r = 0; r < in->mma.nb; r++)
		for (u32 l = 0; l < WARP; l++)
			if (!(def_of(w, &ref_b(in)[r]) >> l & 1))
				cols |= 1u << l / 4;
	n = (PtxType)in->mma.c == T_f16 ? 2 : 1;
	for (u32 i = 0; i < in->nd; i++) {
		u32 def = def_of(w, &ref_c(in)[i]);
		for (u32 l = 0; l < WARP; l++)
			for (u32 k = i * n; k < i * n + n; k++)
				if (rows >> (l / 4 + 8 * (k / 2)) & 1 || cols >> (2 * (l % 4) + k % 2) & 1)
					def &= ~(1u << l);
		def_set(w, &in->d[i], ALL_LANES, def, org);
	}
}

static int
counted(Warp *w, u64 macs)
{
	w->cta->k->mma++;
	w->cta->k->mma_macs += macs;
	return R_NEXT;
}

/* Loads all three matrices. */
static void
load(const Warp *w, const Ins *in, MmaState *f)
{
	shape_of(in, f);
	load_a(w, in, f, f->k, f->a);
	load_b(w, in, f);
	load_c(w, in, f);
}

int
exec_mma(Warp *w, const Ins *in, u32 mask)
{
	MmaState f;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	load(w, in, &f);
	if (w->def)
		taint_mma(w, in);
	if (in->mma.a == T_f64)
		mat_product64(f.c, f.a, f.b, f.m, f.n, f.k);
	else
		mat_product(f.c, f.a, f.b, f.m, f.n, f.k);
	store_c(w, in, &f);
	return counted(w, (u64)f.m * f.n * f.k);
}

int
exec_mmasp(Warp *w, const Ins *in, u32 mask)
{
	const Ref *meta = &in->s[in->ns - 1];
	double a[MAXM * MAXK / 2];
	MmaState f;
	int bad;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	shape_of(in, &f);
	load_a(w, in, &f, f.k / 2, a);
	load_b(w, in, &f);
	load_c(w, in, &f);
	if (w->def) {
		use_check(w, in, meta, mat_meta_lanes(f.k, (PtxType)in->mma.a, in->mma.selector),
		          "sparsity metadata");
		def_set(w, meta, ALL_LANES, ALL_LANES, 0);
		taint_mma(w, in);
	}
	bad = mat_expand(f.a, a, f.k, (PtxType)in->mma.a, src32(w, meta), in->mma.selector,
	                 in->mma.ordered);
	if (bad >= 0)
		fault_add(w, bad, SIM_FAULT_METADATA, in->line, SIM_SPACE_REG, 0, 0, NULL,
		          "%.60s: lane %d has sparsity metadata 0x%08x, which is invalid for any %smatrix",
		          in->text, bad,
		          src32(w, meta)[bad], in->mma.ordered ? "ordered " : "");
	mat_product(f.c, f.a, f.b, f.m, f.n, f.k);
	store_c(w, in, &f);
	return counted(w, (u64)f.m * f.n * f.k);
}

/* ---- scales of blocks of k ("Block Scaling for mma.sync") ---- */

/* Scale i of row or column `at` in register r, of A or B; the instruction specifies which lanes of a quad
 * have them. */
static double
scale_of(const Warp *w, const Ins *in, const Ref *r, bool b, u32 at, u32 i)
{
	const MmaInstr *p = &in->mma;
	u32 lane = 4 * (at % 8) + (b ? p->thread[1] : 2 * p->thread[0] + at / 8);
	u32 code = src32(w, r)[lane] >> 8 * (p->byte[b] + i) & 0xff;

	if (p->scale == T_ue4m3)
		return fp8_value(code & 0x7f, false);
	return code == 0xff ? NAN : ldexp(1, (int)code - 127);
}

/* Lanes whose scales are used. */
static u32
scale_lanes(const Ins *in, bool b)
{
	return b ? 0x11111111u << in->mma.thread[1] : 0x33333333u << 2 * in->mma.thread[0];
}

static void
check_scales(Warp *w, const Ins *in)
{
	for (u32 b = 0; b < 2; b++) {
		const Ref *r = &in->s[in->ns - 2 + b];

		use_check(w, in, r, scale_lanes(in, b), "block scales of an MMA");
		def_set(w, r, ALL_LANES, ALL_LANES, 0);
	}
}

int
exec_mmascale(Warp *w, const Ins *in, u32 mask)
{
	const Ref *scale = &in->s[in->ns - 2];
	MmaState f;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	load(w, in, &f);
	for (u32 k = 0; k < f.k; k++) {
		u32 block = k * in->mma.scales / f.k;

		for (u32 i = 0; i < f.m; i++)
			f.a[i * f.k + k] *= scale_of(w, in, &scale[0], false, i, block);
		for (u32 j = 0; j < f.n; j++)
			f.b[k * f.n + j] *= scale_of(w, in, &scale[1], true, j, block);
	}
	if (w->def) {
		check_scales(w, in);
		taint_mma(w, in);
	}
	mat_product(f.c, f.a, f.b, f.m, f.n, f.k);
	store_c(w, in, &f);
	return counted(w, (u64)f.m * f.n * f.k);
}

/* Single bits: products are xor or and, the sum a population count, modulo 2^32. */
int
exec_mmab1(Warp *w, const Ins *in, u32 mask)
{
	u32 m = in->mma.m, d[4][WARP];

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	for (u32 i = 0; i < in->nd; i++)
		for (u32 l = 0; l < WARP; l++) {
			u32 row = l / 4 + 8 * (i / 2), col = 2 * (l % 4) + i % 2;
			u32 sum = src32(w, &ref_c(in)[i])[l];
			for (u32 r = 0; r < in->mma.nb; r++)
				for (u32 t = 0; t < 4; t++) {
					u32 half = m == 16 ? 2 * r + row / 8 : r;
					u32 a = src32(w, &in->s[half])[4 * (row % 8) + t];
					u32 b = src32(w, &ref_b(in)[r])[4 * col + t];
					sum += popcount(in->mma.is_and ? a & b : a ^ b);
				}
			d[i][l] = sum;
		}
	if (w->def)
		taint_mma(w, in);
	for (u32 i = 0; i < in->nd; i++)
		memcpy(dst32(w, &in->d[i]), d[i], sizeof d[i]);
	return counted(w, (u64)m * in->mma.n * in->mma.k);
}

/* ---- m8n8k4 of f16: lanes 4 q to 4 q + 3 and 16 + 4 q to 19 + 4 q have separate matrices ---- */

/* A, and B with rows and columns exchanged: element e of a lane at (row, k). */
static void
place884(u32 lane, u32 e, bool along_k, u32 *row, u32 *k)
{
	u32 low = lane % 4, high = lane / 16 * 4;

	*row = (along_k ? low : e) + high;
	*k = along_k ? e : low;
}

/* Accumulators: element i of a lane. */
static void
acc884(u32 lane, u32 i, PtxType t, u32 *row, u32 *col)
{
	*row = lane / 16 * 4 + (t == T_f16 ? lane % 4 : (lane & 1) + (i & 2));
	*col = t == T_f16 ? i : (i & 4) + (lane & 2) + (i & 1);
}

static u32
half_of(const Warp *w, const Ref *r, u32 lane, u32 e)
{
	return src32(w, &r[e / 2])[lane] >> 16 * (e % 2) & 0xffff;
}

static void
taint884(Warp *w, const Ins *in)
{
	u32 def = ALL_LANES, org, quads = 0;

	if (all_defined(w, in, &org))
		return;
	for (u32 i = 0; i < in->ns; i++)
		def &= def_of(w, &in->s[i]);
	for (u32 l = 0; l < WARP; l++)
		if (!(def >> l & 1))
			quads |= 0x000f000fu << l / 4 % 4 * 4;
	for (u32 i = 0; i < in->nd; i++)
		def_set(w, &in->d[i], ALL_LANES, ~quads, org);
}

int
exec_mma884(Warp *w, const Ins *in, u32 mask)
{
	PtxType ct = (PtxType)in->mma.c, dt = (PtxType)in->mma.d;
	double a[4][8][4], b[4][8][4], c[4][8][8];
	u32 row, col;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	for (u32 l = 0; l < WARP; l++) {
		u32 q = l / 4 % 4;
		for (u32 e = 0; e < 4; e++) {
			place884(l, e, !in->mma.a_col, &row, &col);
			a[q][row][col] = (double)f16_value(half_of(w, in->s, l, e));
			place884(l, e, in->mma.b_col, &row, &col);
			b[q][row][col] = (double)f16_value(half_of(w, ref_b(in), l, e));
		}
		for (u32 i = 0; i < 8; i++) {
			acc884(l, i, ct, &row, &col);
			c[q][row][col] = ct == T_f16 ? (double)f16_value(half_of(w, ref_c(in), l, i))
			                             : mat_value(src32(w, &ref_c(in)[i])[l], ct);
		}
	}
	for (u32 q = 0; q < 4; q++)
		for (u32 i = 0; i < 8; i++)
			for (u32 j = 0; j < 8; j++)
				for (u32 k = 0; k < 4; k++)
					c[q][i][j] += a[q][i][k] * b[q][j][k];
	if (w->def)
		taint884(w, in);
	for (u32 l = 0; l < WARP; l++)
		for (u32 i = 0; i < 8; i++) {
			u32 v, *d = dst32(w, &in->d[dt == T_f16 ? i / 2 : i]);
			acc884(l, i, dt, &row, &col);
			v = mat_round(c[l / 4 % 4][row][col], dt, false);
			d[l] = dt == T_f32 ? v : i % 2 ? (d[l] & 0xffff) | v << 16 : v;
		}
	return counted(w, 4 * 8 * 8 * 4);
}
