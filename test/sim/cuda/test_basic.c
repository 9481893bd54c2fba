/* test_basic.c - tests CUDA kernels of reductions, scans, sorts and matrix products, the core of most CUDA
 * programs. */
#include "test/sim/cuda/cuda.h"

static void
vadd(Run *r)
{
	for (unsigned i = 0; i < r->a[2].n; i++)
		near(r, 2, i, (double)(r->a[0].in.f[i] + r->a[1].in.f[i]), 0);
	/* 1000 floats are 125 sectors in 32 warps of which the last is cut short */
	ck_assert_uint_eq(r->st->all.global_sectors_read, 250);
	ck_assert_uint_eq(r->st->all.global_sectors_written, 125);
	ck_assert_uint_eq(r->st->block_sectors_read, 250);
	ck_assert_uint_eq(r->st->grid_sectors_written, 125);
	ck_assert_uint_eq(r->st->all.global_requests, 3 * 32);
}

static void
saxpy4(Run *r)
{
	for (unsigned i = 0; i < r->a[2].n; i++) {
		double p = 1.75 * before(r, 1, i), v = p + before(r, 2, i);
		near(r, 2, i, v, ulp(p, 24) / 2 + ulp(v, 24) / 2);      /* with or without fma */
	}
}

static void
reduce_last_block(Run *r)
{
	int64_t sum = 0, part[7] = { 0 };

	for (unsigned i = 0; i < r->a[0].n; i++) {
		sum += r->a[0].in.i[i];
		part[i / 256 % 7] += r->a[0].in.i[i];
	}
	for (unsigned i = 0; i < 7; i++)
		same(r, 1, i, part[i]);
	same(r, 2, 0, sum);
}

/* A sum of n floats in any order: each of the at most n - 1 additions errs by half an ulp of its result,
 * which the sum of magnitudes bounds. */
static double
sum_bound(double magnitudes, unsigned n)
{
	return n * magnitudes * 0x1p-24;
}

static void
reduce_tree(Run *r)
{
	unsigned n = (unsigned)scalar(r, 2);

	for (unsigned b = 0; b < r->a[1].n; b++) {
		double sum = 0, mag = 0;
		for (unsigned i = 0; i < n; i++) {
			sum += before(r, 0, b * n + i);
			mag += fabs(before(r, 0, b * n + i));
		}
		near(r, 1, b, sum, sum_bound(mag, n));
	}
}

static void
reduce_groups(Run *r)
{
	int64_t sum = 0, least = 0;

	for (unsigned i = 0; i < r->a[0].n; i++) {
		sum += r->a[0].in.i[i];
		least = r->a[0].in.i[i] < least ? r->a[0].in.i[i] : least;
	}
	same(r, 1, 0, sum);
	same(r, 2, 0, least);
	for (unsigned i = 0; i < r->a[3].n; i++) {
		int32_t x = 0;
		for (unsigned k = 4 * i; k < 4 * i + 4; k++)
			x ^= k < r->a[0].n ? r->a[0].in.i[k] : 0;
		same(r, 3, i, x);
	}
}

static void
dot_atomic(Run *r)
{
	long double sum = 0, mag = 0;
	unsigned n = r->a[0].n;

	for (unsigned i = 0; i < n; i++) {
		sum += (long double)r->a[0].in.d[i] * (long double)r->a[1].in.d[i];
		mag += fabsl((long double)r->a[0].in.d[i] * (long double)r->a[1].in.d[i]);
	}
	near(r, 2, 0, (double)sum, (double)mag * n * 0x1p-53);
}

static void
scans(Run *r, unsigned in, unsigned out, unsigned group, bool exclusive)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < r->a[in].n; i++) {
		if (i % group == 0)
			sum = 0;
		same(r, out, i, sum + (exclusive ? 0 : r->a[in].in.u[i]));
		sum += r->a[in].in.u[i];
	}
}
static void scan_two_buffers(Run *r) { scans(r, 0, 1, 512, false); }
static void scan_sweeps(Run *r) { scans(r, 0, 1, 512, true); }
static void scan_groups(Run *r) { scans(r, 0, 1, 32, false); scans(r, 0, 2, 16, true); }
static void scan_look_back(Run *r) { scans(r, 0, 1, 1 << 30, false); }

static void
histogram(Run *r)
{
	unsigned want[256] = { 0 };

	for (unsigned i = 0; i < r->a[0].n; i++)
		want[r->a[0].in.b[i]]++;
	for (unsigned i = 0; i < 256; i++)
		same(r, 1, i, want[i]);
}

static void
transpose(Run *r, bool padded)
{
	const unsigned n = 64;

	for (unsigned i = 0; i < n * n; i++)
		near(r, 1, i, before(r, 0, i % n * n + i / n), 0);
	/* 4 blocks x 8 warps x 4 stores and loads; loads without padding hit one bank 32 times */
	ck_assert_uint_eq(r->st->all.shared_min, 256);
	ck_assert_uint_eq(r->st->all.shared_wavefronts, padded ? 256 : 128 + 128 * 32);
	ck_assert_uint_eq(r->st->all.global_sectors_read, n * n / 8);
	ck_assert_uint_eq(r->st->all.global_sectors_written, n * n / 8);
}

static void transpose_conflicts(Run *r) { transpose(r, false); }
static void transpose_padded(Run *r) { transpose(r, true); }

static int
by_value(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static void
bitonic(Run *r)
{
	for (unsigned b = 0; b < r->a[0].n; b += 512)
		qsort(r->a[0].in.i + b, 512, 4, by_value);
	for (unsigned i = 0; i < r->a[0].n; i++)
		same(r, 0, i, r->a[0].in.i[i]);
}

static void
radix_sort(Run *r)
{
	qsort(r->a[0].in.i, 256, 4, by_value);  /* they are below 2^20 */
	for (unsigned i = 0; i < 256; i++)
		same(r, 1, i, r->a[0].in.i[i]);
}

/* Any order of the warps is right: sort both, then compare. */
static void
compact(Run *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->a[0].n; i++)
		if (r->a[0].in.i[i] % 3 == 0)
			r->a[0].in.i[n++] = r->a[0].in.i[i];
	qsort(r->a[0].in.i, n, 4, by_value);
	qsort(r->a[1].out.i, n, 4, by_value);
	same(r, 2, 0, n);
	for (unsigned i = 0; i < r->a[1].n; i++)
		same(r, 1, i, i < n ? r->a[0].in.i[i] : 0);
}

static void
stencil3d(Run *r)
{
	enum { NX = 45, NY = 19, NZ = 6 };
	static const int step[6][3] = {
		{ 1, 0, 0 }, { -1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 }, { 0, 0, 1 }, { 0, 0, -1 },
	};

	for (int i = 0; i < NX * NY * NZ; i++) {
		int x = i % NX, y = i / NX % NY, z = i / (NX * NY);
		double v = -6 * before(r, 0, (size_t)i);
		for (int k = 0; k < 6; k++) {
			int a = x + step[k][0], b = y + step[k][1], c = z + step[k][2];
			if (a >= 0 && a < NX && b >= 0 && b < NY && c >= 0 && c < NZ)
				v += before(r, 0, (size_t)((c * NY + b) * NX + a));
		}
		near(r, 1, (size_t)i, v, sum_bound(12, 7));
	}
}

/* Dot products of k terms below 1: k roundings of partial sums below k. */
static void
matmul(Run *r, unsigned m, unsigned n, unsigned k)
{
	for (unsigned i = 0; i < m; i++)
		for (unsigned j = 0; j < n; j++) {
			double sum = 0, mag = 0;
			for (unsigned p = 0; p < k; p++) {
				double v = before(r, 0, i * k + p) * before(r, 1, p * n + j);
				sum += v;
				mag += fabs(v);
			}
			near(r, 2, i * n + j, sum, sum_bound(mag, k));
		}
}
static void matmul_tiled(Run *r) { matmul(r, 37, 50, 45); }
static void matmul_registers(Run *r) { matmul(r, 128, 128, 128); }

enum { ROWS = 70, MOST = 90 };

static void
sparse(Run *r)
{
	int at = 0;

	for (int i = 0; i <= ROWS; i++) {
		put(r, 0, (size_t)i, at);
		at += (int)(mix((uint64_t)i) % MOST);   /* of which there are ROWS * MOST at most */
	}
}

static void
spmv(Run *r)
{
	const int32_t *start = r->a[0].in.i;

	for (unsigned i = 0; i < ROWS; i++) {
		double sum = 0, mag = 0;
		for (int k = start[i]; k < start[i + 1]; k++) {
			double v = before(r, 2, (size_t)k) * before(r, 3, (size_t)r->a[1].in.i[k]);
			sum += v;
			mag += fabs(v);
		}
		near(r, 4, i, sum, sum_bound(mag, MOST));
	}
}

static void
plant(Run *r)
{
	memcpy(r->a[0].in.b + 1777, r->a[1].in.b, 5);
	memcpy(r->a[0].in.b + 1999, r->a[1].in.b, 5);
	put(r, 2, 0, 1 << 30);
}

static void
find_bytes(Run *r)
{
	unsigned at = 0;

	while (memcmp(r->a[0].in.b + at, r->a[1].in.b, 5) != 0)
		at++;
	same(r, 2, 0, at);
	for (unsigned i = 0; i < r->a[3].n; i++) {
		uint32_t v = 0;
		for (unsigned k = 0; k < 4; k++) {
			unsigned ch = r->a[0].in.b[4 * i + k];
			v |= (ch >= 'A' && ch <= 'Z' ? ch | 32 : ch) << 8 * k;
		}
		same(r, 3, i, v);
	}
}

static const Case cases[] = {
	/* kernel, oldest target, blocks, threads, arguments */
	K1(vadd, 75, 8, 128, "<f1000 <f1000 >f1000 =i1000"),
	K1(saxpy4, 75, 3, 64, "=f1.75 <f1600 +f1600 =i1600"),
	K1(reduce_last_block, 75, 7, 256, "<i5000:-300,700 >i7 >i1 =i5000"),
	K1(reduce_tree, 75, 5, 256, "<f5000 >f5 =i1000"),
	K1(reduce_groups, 75, 4, 256, "<i1000:-5000,5000 +i1:0 +i1:0 >i256 =i1000"),
	K1(dot_atomic, 75, 3, 128, "<d2000 <d2000 +d1:0 =i2000"),
	K1(scan_two_buffers, 75, 3, 512, "<i1536 >i1536"),
	K1(scan_sweeps, 75, 1, 256, "<u512 >u512"),
	K1(scan_groups, 75, 2, 64, "<i128 >i128 >i128 =i128"),
	K1(scan_look_back, 75, 20, 128, "<i2560 >i2560"),
	K1(histogram, 75, 3, 128, "<b4000:0,50 +u256:0 =i4000"),
	K2(transpose_conflicts, 75, 2, 2, 32, 8, "<f4096 >f4096 =i64"),
	K2(transpose_padded, 75, 2, 2, 32, 8, "<f4096 >f4096 =i64"),
	K1(bitonic, 75, 2, 256, "+i1024"),
	K1(radix_sort, 75, 1, 256, "<u256:0,1048575 >u256 =i20"),
	K1(compact, 75, 5, 128, "<i600:-1000,1000 +i600:0 +u1:0 =i600"),
	K2(stencil3d, 75, 2, 3, 32, 8, "<f5130 >f5130 =i45 =i19 =i6"),
	K2(matmul_tiled, 75, 4, 3, 16, 16, "<f1665 <f2250 >f1850 =i37 =i50 =i45"),
	K2(matmul_registers, 75, 2, 2, 256, 1, "<f16384 <f16384 >f16384 =i128"),
	KX(spmv, 75, 18, 128, "<i71:0 <i6300:0,199 <f6300 <f200 >f70 =i70", sparse, 0, 0),
	KX(find_bytes, 75, 8, 256, "<b2000 <b5:65,90 +i1:0 >u500 =i2000 =i5", plant, 0, 0),
};

static const Variant variants[] = {
	{ 80, "-G" }, { 90, "-lineinfo" }, { 75, "--use_fast_math" }, { 89, "-rdc=true" },
	{ 90, "-Xcicc -O0" },
};

CUDA_PROGRAM("basic.cu", 75);
