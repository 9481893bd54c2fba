/* test_tensor.c - tests tensor-core products against sums in double, and copies against scalar ones. */
#include "test/sim/cuda/product.h"

static void
mma_f16(Run *r)
{
	product(r, (Product){ 0, 1, 2, 16, 8, 48, 48, 1, 1, 8, 1, 0, true, NULL, NULL });
	ck_assert_uint_eq(r->st->mma, r->sm >= 80 ? 3 : 6);
	ck_assert_uint_eq(r->st->mma_macs, 16 * 8 * 48);
}

/* Lane l holds row l / 4, columns l % 4 * 2 and the next of each 8 x 8 matrix; turned, the other way
 * round. */
static void
turn_matrix(Run *r)
{
	for (unsigned m = 0; m < 4; m++)
		for (unsigned i = 0; i < 64; i++) {
			unsigned row = i / 8, col = i % 8;
			size_t from = m * 64 + (m == 3 ? row * 8 + col : col * 8 + row);
			near(r, 1, m * 64 + i, before(r, 0, from), 0);
		}
}

static void
mma_types(Run *r)
{
	product(r, (Product){ 0, 1, 2, 16, 8, 8, 8, 1, 1, 8, 1, 0, false, tf32, tf32 });
	product(r, (Product){ 3, 4, 5, 16, 8, 16, 16, 1, 16, 1, 1, 0, false, NULL, NULL });
	product(r, (Product){ 6, 7, 8, 16, 8, 32, 32, 1, 32, 1, 1, 0, true, byte, byte });
	for (unsigned i = 0; i < 8; i++)
		for (unsigned j = 0; j < 8; j++) {
			double v = 0;
			for (unsigned k = 0; k < 4; k++)
				v += before(r, 9, i * 4 + k) * before(r, 10, k * 8 + j);
			near(r, 11, i * 8 + j, v, 4 * 4 * 0x1p-53);
		}
}

static double
signed4(const Run *r, unsigned a, size_t i)
{
	int v = r->a[a].in.b[i / 2] >> i % 2 * 4 & 15;

	return v > 7 ? v - 16 : v;
}

static double
unsigned4(const Run *r, unsigned a, size_t i)
{
	return r->a[a].in.b[i / 2] >> i % 2 * 4 & 15;
}

static void
mma_bits(Run *r)
{
	product(r, (Product){ 0, 1, 2, 16, 8, 64, 64, 1, 64, 1, 1, 0, true, signed4, unsigned4 });
	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 8; j++) {
			int n = 0;
			for (unsigned k = 0; k < 8; k++)
				n += __builtin_popcount(r->a[3].in.u[i * 8 + k] ^ r->a[4].in.u[j * 8 + k]);
			same(r, 5, i * 8 + j, n);
		}
}

static double
fp8(unsigned b, int m, int bias)
{
	int e = (int)(b >> m) & ((1 << (7 - m)) - 1), f = (int)b & ((1 << m) - 1);
	double v = e ? ldexp((1 << m) + f, e - bias - m) : ldexp(f, 1 - bias - m);

	return b & 128 ? -v : v;
}
static double e4m3(const Run *r, unsigned a, size_t i) { return fp8(r->a[a].in.b[i], 3, 7); }
static double e5m2(const Run *r, unsigned a, size_t i) { return fp8(r->a[a].in.b[i], 2, 15); }

static void
no_nan(Run *r)
{
	for (unsigned a = 0; a < 2; a++)
		for (unsigned i = 0; i < r->a[a].n; i++)
			r->a[a].in.b[i] &= 0xbf;
}

static void
mma_fp8(Run *r)
{
	product(r, (Product){ 0, 1, 2, 16, 8, 32, 32, 1, 32, 1, 1, 0, false, e4m3, e4m3 });
	product(r, (Product){ 0, 1, 3, 16, 8, 32, 32, 1, 32, 1, 1, 0, false, e5m2, e4m3 });
}

static void
stmatrix(Run *r)
{
	const uint16_t *in = r->a[0].in.w;

	for (unsigned m = 0; m < 4; m++)
		for (unsigned i = 0; i < 64; i++) {
			same(r, 1, m * 64 + i, in[m * 64 + i]);
			same(r, 2, m * 64 + i, in[m * 64 + i % 8 * 8 + i / 8]);
		}
}

static void
copy_pipeline(Run *r)
{
	enum { L = 2301 };

	for (unsigned t = 0; t < 128; t++) {
		double s = 0;
		for (unsigned k = 0; k < 5; k++)
			for (unsigned i = 0; i < 4; i++) {
				unsigned at = k * 512 + (t * 4 + i + 37) % 512;
				s += at < L ? before(r, 0, at) : 0;
			}
		near(r, 1, t, s, 0);    /* whole numbers */
	}
	/* lanes that fill with zeros read nothing */
	ck_assert_uint_eq(r->st->all.global_sectors_read, (L * 4 + 31) / 32);
}

static void
copy_primitives(Run *r)
{
	for (unsigned t = 0; t < 64; t++) {
		uint32_t sum = 0;
		for (unsigned k = 0; k < 7; k++)
			for (unsigned i = 0; i < 4; i++)
				sum = sum * 3 + r->a[0].in.u[k * 256 + (t + i * 64 + k) % 256];
		same(r, 1, t, sum);
	}
}

static void
copy_block_pipeline(Run *r)
{
	for (unsigned t = 0; t < 128; t++) {
		uint32_t sum = 0;
		for (unsigned k = 0; k < 6; k++)
			sum = sum * 5 + r->a[0].in.u[k * 256 + (t * 3 + k) % 256];
		same(r, 1, t, sum);
	}
}

static void
copy_thread_pipeline(Run *r)
{
	const float *x = r->a[0].in.f;

	for (unsigned t = 0; t < 128; t++)
		near(r, 1, t, (double)(x[t] + 2 * x[128 + t] + 3 * x[256 + t]), 8 * 0x1p-24);
}

static void
copy_groups(Run *r)
{
	for (unsigned i = 0; i < 600; i++)
		same(r, 1, i, r->a[0].in.i[i / 300 * 300 + 299 - i % 300]);
}

static void
gemm_stages(Run *r)
{
	product(r, (Product){ 0, 1, 2, 128, 128, 160, 160, 1, 160, 1, 1, 0, false, NULL, NULL });
	ck_assert_uint_eq(r->st->mma_macs, 128 * 128 * 160);
	/* the swizzle leaves no conflicts to ldmatrix and the copies */
	ck_assert_uint_eq(r->st->all.shared_wavefronts, r->st->all.shared_min);
}

static const Case cases[] = {
	KX(mma_f16, 75, 1, 32, "<h768:-50,50 <h384:-50,50 >f128 =i48", whole_numbers, 0, 0),
	K1(turn_matrix, 75, 1, 32, "<h256 >h256"),
	K1(mma_types, 80, 1, 32,
	   "<f128 <f64 >f128 <g256 <g128 >f128 <b512 <b256 >i128 <d32 <d32 >d64"),
	K1(mma_bits, 80, 1, 32, "<u128 <u64 >i128 <u128 <u64 >i128"),
	KX(mma_fp8, 89, 1, 32, "<b512 <b256 >f128 >f128", no_nan, 0, 0),
	K1(stmatrix, 90, 1, 32, "<u128 >w256 >w256"),
	KX(copy_pipeline, 80, 1, 128, "<f2301:-999,999 >f128 =i2301", whole_numbers, 0, 0),
	K1(copy_primitives, 80, 1, 64, "<i1792 >i64 =i7"),
	K1(copy_block_pipeline, 80, 1, 128, "<i1536 >i128 =i6"),
	K1(copy_thread_pipeline, 80, 1, 128, "<f384 >f128"),
	K1(copy_groups, 80, 2, 64, "<i600 >i600 =i300"),
	{ "gemm_stages", 80, { 2, 2, 1 }, { 128, 1, 1 }, "<h20480 <h20480 >f16384 =i128 =i160", gemm_stages,
	  NULL, 3 * 2 * 4096, 0 },
};

static const Variant variants[] = { { 80, "-G" }, { 90, "-lineinfo" } };

CUDA_PROGRAM("tensor.cu", 75);
