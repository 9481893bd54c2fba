/* test_mma_sparse.c - tests mma.sp, single bits, m8n8k4 of f16, and the limits of formats.
 *
 * Sparse: PTX ISA, "Matrix fragments for multiply-accumulate operation with sparse matrix A". There the
 * elements a_i of a lane come from columns firstcol to lastcol; here the dense matrix is built first, then
 * packed. */
#include <math.h>
#include "test/check.h"
#include "test/sim/exec/numbers.h"
#include "test/sim/exec/warpop.h"

static const struct { Num a, b, c; int k; } sparse[] = {
	{ F16, F16, F32, 16 }, { F16, F16, F32, 32 }, { F16, F16, F16, 16 }, { F16, F16, F16, 32 },
	{ BF16, BF16, F32, 16 }, { BF16, BF16, F32, 32 }, { TF32, TF32, F32, 8 }, { TF32, TF32, F32, 16 },
	{ S8, S8, S32, 32 }, { U8, S8, S32, 32 }, { S8, U8, S32, 64 }, { U8, U8, S32, 64 },
	{ S4, S4, S32, 64 }, { U4, S4, S32, 64 }, { S4, U4, S32, 128 }, { U4, U4, S32, 128 },
	{ E4M3, E4M3, F32, 64 }, { E5M2, E4M3, F32, 64 }, { E4M3, E5M2, F32, 64 },
};

/* Lane of the group and bit where the metadata of (row, column) begin: figures of the ISA, "Sparse
 * MMA .m16n8k32 metadata layout" and its neighbours.  T0 and T1 stand for the lanes chosen. */
static void
meta_place(int bits, int row, int chunk, int *t, int *bit)
{
	if (bits >= 16) {
		*t = chunk / 4;                 /* 16 bits hold four chunks */
		*bit = row / 8 * 16 + chunk % 4 * 4;
	} else {
		*t = chunk / 8 * 2 + row / 8;   /* a word is a half row */
		*bit = chunk % 8 * 4;
	}
}

TEST_EACH(sparse_products, sizeof sparse / sizeof *sparse)
{
	Num a = sparse[_i].a, b = sparse[_i].b, c = sparse[_i].c;
	int k = sparse[_i].k, bits = nums[a].bits, per = 32 / bits, half = k / 2;
	int na = 16 * half * bits / 1024, nb = 8 * k * bits / 1024, nc = c == F16 ? 2 : 4;
	int chunk = bits == 4 ? 8 : bits == 32 ? 2 : 4, lanes = bits >= 16 ? k * bits / 256 : k * bits / 128;
	char text[1200], ra[200], rb[200], rc[100], rd[100];

	for (int round = 0; round < 24; round++) {
		static int A[16][128], C[16][8], B[128][8];
		int sel = round % (4 / lanes), ordered = round % 3 == 0;
		WarpOp w = { 0 };
		memset(A, 0, sizeof A);
		for (int i = 0; i < k * 8; i++)
			B[i / 8][i % 8] = c == F16 ? rnd(7) - 3 : value(b);
		for (int i = 0; i < 128; i++)
			C[i / 8][i % 8] = rnd(200) - 100;
		for (int l = 0; l < 32; l++)    /* what nobody should read */
			w.in[l][na + nb + nc] = 0xffffffffu;
		for (int row = 0; row < 16; row++)
			for (int q = 0; q < k / chunk; q++) {
				int p0 = rnd(4), p1, t, bit, lane, packed = q * chunk / 2;
				uint32_t nib;
				do
					p1 = rnd(4);
				while (p1 == p0);
				if (ordered && p1 < p0) {
					int x = p0;
					p0 = p1;
					p1 = x;
				}
				if (bits == 32) {       /* one of two */
					p0 = rnd(2) * 2;
					p1 = p0 + 1;
				}
				meta_place(bits, row, q, &t, &bit);
				lane = row % 8 * 4 + sel * lanes + t;
				nib = (uint32_t)(p0 | p1 << 2);
				w.in[lane][na + nb + nc] &= ~(15u << bit);
				w.in[lane][na + nb + nc] |= nib << bit;
				for (int e = 0; e < chunk / 2; e++) {
					int v = c == F16 ? rnd(7) - 3 : value(a), at, g = row % 8;
					int col = bits == 32 ? p0 / 2 : bits == 4 ? (e < 2 ? p0 : p1) * 2 +
					                                                    e % 2
					                        : e ? p1
					                            : p0;
					A[row][q * chunk + col] = v;
					/* the packed matrix has the fragment of a dense one of half the
					 * width */
					at = packed + e;
					int reg = at / (4 * per) * 2 + row / 8, thread = at / per % 4;
					if (half <= 4 * per)
						reg = row / 8;
					put(&w.in[g * 4 + thread][reg], at % per, bits, encode(v, a));
				}
			}
		for (int i = 0; i < k; i++)
			for (int j = 0; j < 8; j++)
				put(&w.in[j * 4 + i / per % 4][na + i / (4 * per)], i % per, bits,
				    encode(B[i][j], b));
		for (int l = 0; l < 32; l++)
			for (int i = 0; i < 4; i++)
				put(&w.in[l][na + nb], i, nums[c].bits,
				    encode(C[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2], c));
		sprintf(text, "mma.sp%s.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s %s, %s, %s, %s, %%i%d, %d;",
		        ordered ? "::ordered_metadata" : "", k, nums[c].name, nums[a].name, nums[b].name,
		        nums[c].name, list_of(rd, 'o', 0, nc), list_of(ra, 'i', 0, na),
		        list_of(rb, 'i', na, nb),
		        list_of(rc, 'i', na + nb, nc), na + nb + nc, sel);
		warp_op(&w, "sm_90a", text, na + nb + nc + 1, nc);
		ck_assert_uint_eq(w.faults, 0);
		for (int l = 0; l < 32; l++)
			for (int i = 0; i < 4; i++) {
				int row = l / 4 + i / 2 * 8, col = l % 4 * 2 + i % 2, sum = C[row][col];
				uint32_t got, want;
				for (int q = 0; q < k; q++)
					sum += A[row][q] * B[q][col];
				want = encode(sum, c);
				got = c == F16 ? w.out[l][i / 2] >> i % 2 * 16 & 0xffff : w.out[l][i];
				ck_assert_msg(got == want, "%s row %d col %d: %x, not %x", text, row, col,
				              got, want);
			}
	}
}

/* Metadata that name a place twice, or in falling order where they must rise. */
TEST_EACH(bad_metadata, 10)
{
	static const struct { const char *sp; uint32_t meta; int bad; } t[] = {
		{ "", 0x44444444, 0 }, { "", 0x4444c444, 0 }, { "", 0x44441444, 0 }, { "", 0x44445444, 1 },
		{ "", 0x44440444, 1 }, { "", 0xf4444444, 1 }, { "::ordered_metadata", 0x44444444, 0 },
		{ "::ordered_metadata", 0xe4444444, 0 }, { "::ordered_metadata", 0x44441444, 1 },
		{ "::ordered_metadata", 0x444444a4, 1 },
	};
	WarpOp w = { 0 };
	char text[300];

	for (int l = 0; l < 32; l++)
		w.in[l][8] = l == 5 ? t[_i].meta : l % 4 == 1 ? 0x44444444 : 0;
	sprintf(text,
	        "mma.sp%s.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%o0,%%o1,%%o2,%%o3}, {%%i0,%%i1}, "
	        "{%%i2,%%i3}, {%%i4,%%i5,%%i6,%%i7}, %%i8, 1;", t[_i].sp);
	warp_op(&w, "sm_80", text, 9, 4);
	ck_assert_uint_eq(w.faults, (unsigned)t[_i].bad);
	if (t[_i].bad)
		ck_assert_int_eq(w.kind, SIM_FAULT_METADATA);
}

/* ---- single bits ---- */

TEST_EACH(single_bits, 6)
{
	static const struct { int m, k; const char *op; } t[] = {
		{ 8, 128, "xor" }, { 8, 128, "and" }, { 16, 128, "xor" }, { 16, 128, "and" },
		        { 16, 256, "xor" },
		{ 16, 256, "and" },
	};
	int m = t[_i].m, k = t[_i].k, na = m * k / 1024, nb = k / 128, nc = m / 4;
	static unsigned char A[16][256], B[256][8];
	char text[700], ra[100], rb[100], rc[100], rd[100];
	WarpOp w = { 0 };

	for (int i = 0; i < m * k; i++)
		A[i / k][i % k] = (unsigned char)(rnd(2));
	for (int i = 0; i < 8 * k; i++)
		B[i / 8][i % 8] = (unsigned char)(rnd(2));
	for (int l = 0; l < 32; l++) {
		int g = l / 4, th = l % 4;
		for (int i = 0; i < 32 * na;
		     i++) {     /* m16n8k256: "row = groupID for i < 32 and 64 <= i < 96" */
			int row = m == 8 || i / 32 % 2 == 0 ? g : g + 8,
			    col = th * 32 + i % 32 + (i < 64 ? 0 : 128);
			put(w.in[l], i, 1, A[row][col]);
		}
		for (int i = 0; i < 32 * nb; i++)
			put(&w.in[l][na], i, 1, B[th * 32 + i % 32 + (i < 32 ? 0 : 128)][g]);
		for (int i = 0; i < nc; i++)
			w.in[l][na + nb + i] = (uint32_t)(l * 100 + i);
	}
	w.in[31][na + nb + nc - 1] = 0xfffffff0u;       /* the sum is modulo 2^32 */
	sprintf(text, "mma.sync.aligned.m%dn8k%d.row.col.s32.b1.b1.s32.%s.popc %s, %s, %s, %s;", m, k,
	        t[_i].op,
	        list_of(rd, 'o', 0, nc), list_of(ra, 'i', 0, na), list_of(rb, 'i', na, nb),
	        list_of(rc, 'i', na + nb, nc));
	warp_op(&w, "sm_80", text, na + nb + nc, nc);
	ck_assert_uint_eq(w.faults, 0);
	for (int l = 0; l < 32; l++)
		for (int i = 0; i < nc; i++) {
			int row = l / 4 + i / 2 * 8, col = l % 4 * 2 + i % 2;
			uint32_t sum = w.in[l][na + nb + i];
			for (int q = 0; q < k; q++)
				sum += *t[_i].op == 'x' ? A[row][q] ^ B[q][col] : A[row][q] & B[q][col];
			ck_assert_uint_eq(w.out[l][i], sum);
		}
}

/* ---- m8n8k4: "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" ---- */

TEST_EACH(volta, 12)
{
	int acol = _i & 1, brow = _i >> 1 & 1, c32 = _i >> 2 == 2, d32 = _i >> 2 >= 1, nc = c32 ? 8 : 4;
	int nd = d32 ? 8 : 4, A[4][8][4], B[4][4][8], C[4][8][8];
	char text[300], rc[100], rd[100];
	WarpOp w = { 0 };

	for (int i = 0; i < 4 * 64; i++) {
		A[i / 64][i / 8 % 8][i % 4] = rnd(41) - 20;
		B[i / 64][i % 4][i / 8 % 8] = rnd(41) - 20;
		C[i / 64][i / 8 % 8][i % 8] = rnd(1000) - 500;
	}
	for (int l = 0; l < 32; l++) {
		int q = l / 4 % 4, hi = l < 16 ? 0 : 4;
		for (int i = 0; i < 4; i++) {
			put(w.in[l], i, 16, 
			    encode(acol ? A[q][i % 4 + hi][l % 4] : A[q][l % 4 + hi][i], F16));
			put(&w.in[l][2], i, 16,
			    encode(brow ? B[q][l % 4][i + hi] : B[q][i][l % 4 + hi], F16));
		}
		for (int i = 0; i < 8; i++)
			if (c32)
				w.in[l][4 + i] = encode(C[q][(l & 1) + (i & 2) + hi][(i & 4) + (l & 2) +
				                                                     (i & 1)],
				                        F32);
			else
				put(&w.in[l][4], i, 16, encode(C[q][l % 4 + hi][i], F16));
	}
	sprintf(text, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s %s, {%%i0,%%i1}, {%%i2,%%i3}, %s;",
	        acol ? "col" : "row", brow ? "row" : "col", d32 ? "f32" : "f16", c32 ? "f32" : "f16",
	        list_of(rd, 'o', 0, nd), list_of(rc, 'i', 4, nc));
	warp_op(&w, "sm_75", text, 4 + nc, nd);
	ck_assert_uint_eq(w.faults, 0);
	for (int l = 0; l < 32; l++)
		for (int i = 0; i < 8; i++) {
			int q = l / 4 % 4, hi = l < 16 ? 0 : 4;
			int row = d32 ? (l & 1) + (i & 2) + hi : l % 4 + hi;
			int col = d32 ? (i & 4) + (l & 2) + (i & 1) : i, sum = C[q][row][col];
			uint32_t got = d32 ? w.out[l][i] : w.out[l][i / 2] >> i % 2 * 16 & 0xffff;
			for (int k = 0; k < 4; k++)
				sum += A[q][row][k] * B[q][k][col];
			ck_assert_msg(got == encode(sum, d32 ? F32 : F16), "%s matrix %d row %d col %d: %x",
			              text, q, row,
			              col, got);
		}
}

/* ---- edges: saturation, infinities, NaN, subnormals, and the last bit ---- */

static uint32_t
one(const char *kind, uint32_t a, uint32_t b, uint32_t c, int na, int nb, int nc)
{
	char text[700], ra[100], rb[100], rc[100], rd[100];
	WarpOp w = { 0 };

	for (int l = 0; l < 32; l++) {
		w.in[l][0] = l % 4 ? 0 : a;     /* only the first elements of a row and a column */
		w.in[l][na] = l % 4 ? 0 : b;
		w.in[l][na + nb] = c;
	}
	sprintf(text, "mma.sync.aligned.%s %s, %s, %s, %s;", kind, list_of(rd, 'o', 0, nc),
	        list_of(ra, 'i', 0, na), list_of(rb, 'i', na, nb), list_of(rc, 'i', na + nb, nc));
	warp_op(&w, "sm_90", text, na + nb + nc, nc);
	ck_assert_uint_eq(w.faults, 0);
	return w.out[0][0];
}

TEST(edges)
{
	static const char f32[] = "m16n8k16.row.col.f32.f16.f16.f32",
			  f16[] = "m16n8k16.row.col.f16.f16.f16.f16";
	static const char bf[] = "m16n8k16.row.col.f32.bf16.bf16.f32",
			  s8[] = "m16n8k32.row.col.s32.s8.s8.s32";
	static const char sat[] = "m16n8k32.row.col.satfinite.s32.s8.s8.s32",
			  tf[] = "m16n8k8.row.col.f32.tf32.tf32.f32";
	static const char e4[] = "m16n8k32.row.col.f32.e4m3.e4m3.f32",
			  e5[] = "m16n8k32.row.col.f32.e5m2.e5m2.f32";

	/* inf, NaN and inf * 0 */
	ck_assert_uint_eq(one(f32, 0x7c00, 0x3c00, 0, 4, 2, 4), 0x7f800000);
	ck_assert_uint_eq(one(f32, 0xfc00, 0x3c00, 0x3f800000, 4, 2, 4), 0xff800000);
	ck_assert_uint_eq(one(f32, 0x7c00, 0, 0, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(f32, 0x7e01, 0x3c00, 0, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(f32, 0x7c00, 0x3c00, 0xff800000, 4, 2, 4), 0x7fffffff);
	/* the smallest subnormal of f16 times itself: 2^-48 */
	ck_assert_uint_eq(one(f32, 1, 1, 0, 4, 2, 4), (127 - 48) << 23);
	/* 65504 * 65504 = 2^32 - 2^22 + 2^10 fits f32; beyond the range of f16 it is infinite */
	ck_assert_uint_eq(one(f32, 0x7bff, 0x7bff, 0, 4, 2, 4), 0x4f7fc004);
	ck_assert_uint_eq(one(f16, 0x7bff, 0x7bff, 0, 4, 2, 2) & 0xffff, 0x7c00);
	/* 65504 + 16: tie, up */
	ck_assert_uint_eq(one(f16, 0x7bff, 0x3c00, 0x4c00, 4, 2, 2) & 0xffff, 0x7c00);
	ck_assert_uint_eq(one(f16, 0x7bff, 0x3c00, 0x4bff, 4, 2, 2) & 0xffff, 0x7bff);
	ck_assert_uint_eq(one(f16, 0x7e00, 0x3c00, 0, 4, 2, 2) & 0xffff, 0x7fff);
	/* rounded once: 1 + 2^-11 is a tie, and 1 + 2^-11 + 2^-24 * 2^-14 is just above it */
	ck_assert_uint_eq(one(f16, 0x1000, 0x3c00, 0x3c00, 4, 2, 2) & 0xffff, 0x3c00);
	ck_assert_uint_eq(one(f16, 0x1001, 0x3c00, 0x3c00, 4, 2, 2) & 0xffff, 0x3c01);
	/* f32: 1 + 2^-24 is a tie */
	ck_assert_uint_eq(one(f32, 0x0001, 0x3c00, 0x3f800000, 4, 2, 4), 0x3f800000);
	ck_assert_uint_eq(one(f32, 0x0001, 0x3c01, 0x3f800000, 4, 2, 4), 0x3f800001);
	/* bf16 reaches beyond f32 */
	ck_assert_uint_eq(one(bf, 0x7f00, 0x4000, 0, 4, 2, 4), 0x7f800000);
	ck_assert_uint_eq(one(bf, 0x0001, 0x3f80, 0, 4, 2, 4), 0x00010000);
	/* tf32: the low 13 bits are not looked at */
	ck_assert_uint_eq(one(tf, 0x3f801fff, 0x40000fff, 0, 4, 2, 4), 0x40000000);
	/* 8-bit floats: e4m3 has NaN only, e5m2 infinity too */
	ck_assert_uint_eq(one(e4, 0x7f, 0x38, 0, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(e4, 0x7e, 0x38, 0, 4, 2, 4), 0x43e00000);    /* 448 */
	ck_assert_uint_eq(one(e4, 0x01, 0x38, 0, 4, 2, 4), (127 - 9) << 23);
	ck_assert_uint_eq(one(e5, 0x7c, 0x3c, 0, 4, 2, 4), 0x7f800000);
	ck_assert_uint_eq(one(e5, 0x7d, 0x3c, 0, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(e5, 0x81, 0x3c, 0, 4, 2, 4), 0x80000000 | (127 - 16) << 23);
	/* integers wrap, or stay at the end */
	ck_assert_uint_eq(one(s8, 0x01, 0x01, 0x7fffffff, 4, 2, 4), 0x80000000);
	ck_assert_uint_eq(one(sat, 0x01, 0x01, 0x7fffffff, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(sat, 0xff, 0x01, 0x80000000, 4, 2, 4), 0x80000000);
	ck_assert_uint_eq(one(s8, 0xff, 0x01, 0x80000000, 4, 2, 4), 0x7fffffff);
	ck_assert_uint_eq(one(s8, 0x80, 0x80, 0, 4, 2, 4), 16384);
}

/* Random floats of all sizes: within the error of a sum of k products in f32, any order: 2^-23 of
 * the sum of their magnitudes a term; ours rounds once, so half a unit in the last place. */
TEST(random_floats)
{
	for (int round = 0; round < 60; round++) {
		static double A[16][16], B[16][8], C[16][8];
		WarpOp w = { 0 };
		for (int i = 0; i < 256; i++)
			A[i / 16][i % 16] = ldexp(rnd(2047) - 1023, rnd(24) - 18);
		for (int i = 0; i < 128; i++) {
			B[i / 8][i % 8] = ldexp(rnd(2047) - 1023, rnd(24) - 18);
			C[i / 8][i % 8] = (double)(float)ldexp(rnd(1 << 23), rnd(30) - 40);
		}
		for (int l = 0; l < 32; l++) {
			int g = l / 4, t = l % 4;
			for (int i = 0; i < 8; i++) {
				double v = A[g + (i / 2 % 2) * 8][t * 2 + i % 2 + i / 4 * 8];
				int e;
				double m = frexp(fabs(v), &e);
				uint32_t h = v == 0       ? 0
				             : e - 1 < -14 ? (uint32_t)ldexp(fabs(v), 24)
				                           : (uint32_t)(e - 1 + 15) << 10 |
				                                     ((uint32_t)(m * 2048) & 1023);
				put(w.in[l], i, 16, h | (v < 0 ? 0x8000 : 0));
			}
			for (int i = 0; i < 4; i++) {
				double v = B[t * 2 + i % 2 + i / 2 * 8][g];
				int e;
				double m = frexp(fabs(v), &e);
				uint32_t h = v == 0       ? 0
				             : e - 1 < -14 ? (uint32_t)ldexp(fabs(v), 24)
				                           : (uint32_t)(e - 1 + 15) << 10 |
				                                     ((uint32_t)(m * 2048) & 1023);
				float c = (float)C[g + i / 2 * 8][t * 2 + i % 2];
				put(&w.in[l][4], i, 16, h | (v < 0 ? 0x8000 : 0));
				memcpy(&w.in[l][6 + i], &c, 4);
			}
		}
		warp_op(&w, "sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%o0,%o1,%o2,%o3}, "
		        "{%i0,%i1,%i2,%i3}, {%i4,%i5}, {%i6,%i7,%i8,%i9};", 10, 4);
		for (int l = 0; l < 32; l++)
			for (int i = 0; i < 4; i++) {
				int row = l / 4 + i / 2 * 8, col = l % 4 * 2 + i % 2;
				long double sum = C[row][col];
				float got;
				/* 22-bit products over less than 64 places: exact */
				for (int k = 0; k < 16; k++)
					sum += (long double)A[row][k] * B[k][col];
				memcpy(&got, &w.out[l][i], 4);
				ck_assert_double_le(fabs((double)got - (double)sum),
				                    ldexp(fabs((double)sum), -24) * 1.000001);
			}
	}
}

/* Every finite code of the narrow formats, in A and in B, times one. */
TEST_EACH(codes, 8)
{
	static const struct { const char *name; int bits, exp, man, k; uint32_t one; } f[] = {
		{ "f16", 16, 5, 10, 16, 0x3c00 }, { "bf16", 16, 8, 7, 16, 0x3f80 },
		        { "e4m3", 8, 4, 3, 32, 0x38 },
		{ "e5m2", 8, 5, 2, 32, 0x3c },
	};
	int bits = f[_i / 2].bits, man = f[_i / 2].man, exp = f[_i / 2].exp, in_b = _i % 2, per = 32 / bits;
	int bias = (1 << (exp - 1)) - 1, top = (1 << exp) - 1;
	char text[300];

	sprintf(text,
	        "mma.sync.aligned.m16n8k%d.row.col.f32.%s.%s.f32 {%%o0,%%o1,%%o2,%%o3}, {%%i0,%%i1,%%i2,"
	        "%%i3}, {%%i4,%%i5}, {%%i6,%%i6,%%i6,%%i6};", f[_i / 2].k, f[_i / 2].name, f[_i / 2].name);
	for (uint32_t from = 0; from < 1u << bits; from += 64) {
		WarpOp w = { 0 };
		/* an 8x8 corner of codes, against a diagonal of ones */
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t c = from + i;
			int e = (int)(c >> man) & top, finite = bits == 8 &&
			                                                        exp == 4
			                                                ? (c & 0x7f) != 0x7f
			                                                : e != top;
			int lane = (int)i / 8 * 4 + (int)i % 8 / per,
			    diag = (int)i / 8 * 4 + (int)i / 8 / per;
			put(&w.in[lane][in_b ? 4 : 0], (int)i % 8 % per, bits, finite ? c : 0);
			if (i % 8 == 0)
				put(&w.in[diag][in_b ? 0 : 4], (int)i / 8 % per, bits, f[_i / 2].one);
		}
		warp_op(&w, "sm_89", text, 7, 4);
		ck_assert_uint_eq(w.faults, 0);
		for (uint32_t i = 0; i < 64; i++) {
			uint32_t c = from + i, m = c & ((1u << man) - 1);
			int e = (int)(c >> man) & top, finite = bits == 8 &&
			                                                        exp == 4
			                                                ? (c & 0x7f) != 0x7f
			                                                : e != top;
			int row = (int)(in_b ? i % 8 : i / 8), col = (int)(in_b ? i / 8 : i % 8);
			double want = e ? ldexp((1 << man) + (int)m, e - bias - man)
			                : ldexp((int)m, 1 - bias - man);
			float got;
			if (!finite)
				continue;
			memcpy(&got, &w.out[row * 4 + col / 2][col % 2], 4);
			ck_assert_msg((double)got == (c >> (bits - 1) ? -want : want),
			              "%s code %x: %g, not %g",
			              f[_i / 2].name, c, (double)got, want);
		}
	}
}

TEST_PROGRAM(.timeout = 60);
