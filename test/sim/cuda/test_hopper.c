/* test_hopper.c - tests clusters, transaction barriers, tensor copies and wgmma of sm_90a, in CUDA C. */
#include "test/sim/cuda/product.h"

static void
cluster_histogram(Run *r)
{
	unsigned want[256] = { 0 };

	for (unsigned i = 0; i < r->a[0].n; i++)
		want[r->a[0].in.b[i]]++;
	for (unsigned i = 0; i < 256; i++)
		same(r, 1, i, want[i]);
}

static void
cluster_reduce(Run *r)
{
	for (unsigned c = 0; c < 2; c++) {
		double sum = 0;
		for (unsigned i = 0; i < 128; i++)
			sum += before(r, 0, c * 128 + i);
		near(r, 1, c, sum, 128 * 128 * 0x1p-24);
	}
	for (unsigned b = 0; b < 8; b++)
		same(r, 2, b, b % 4 * 100 + 40 + b % 4);
}

static void
cluster_exchange(Run *r)
{
	enum { BLOCKS = 6, SIZE = 3 };
	uint32_t v[BLOCKS][64], box[BLOCKS][64];

	memcpy(v, r->a[0].in.u, sizeof v);
	for (unsigned k = 0; k < 5; k++) {
		for (unsigned b = 0; b < BLOCKS; b++)
			for (unsigned t = 0; t < 64; t++)
				box[b / SIZE * SIZE + (b + 1) % SIZE][t] = v[b][t] * 3 + b % SIZE;
		for (unsigned b = 0; b < BLOCKS; b++)
			for (unsigned t = 0; t < 64; t++)
				v[b][t] = v[b][t] * 7 + box[b][63 - t];
	}
	for (unsigned i = 0; i < BLOCKS * 64; i++)
		same(r, 1, i, v[i / 64][i % 64]);
}

static void
async_ring(Run *r)
{
	for (unsigned b = 0; b < 8; b++) {
		const uint32_t *from = r->a[0].in.u + (b / 4 * 4 + (b + 3) % 4) * 64;
		uint32_t sum = 1000;
		for (unsigned t = 0; t < 64; t++)
			sum += from[t];
		for (unsigned t = 0; t < 64; t++)
			same(r, 1, b * 64 + t, from[t] * 2 + sum);
	}
}

static void
bulk_copies(Run *r)
{
	for (unsigned t = 0; t < 256; t++) {
		uint32_t sum = 5;
		for (unsigned b = 0; b < 3; b++) {
			uint32_t v = r->a[0].in.u[b * 256 + 255 - t] * 2 + 1;
			same(r, 1, b * 256 + t, v);
			sum += v;
		}
		same(r, 2, t, sum);
	}
}

static void
barrier_copies(Run *r)
{
	for (unsigned t = 0; t < 128; t++) {
		uint32_t sum = 0;
		for (unsigned k = 1; k <= 5; k++)
			sum = sum * 3 + r->a[0].in.u[(k - 1) * 256 + (t * 5 + k) % 256];
		same(r, 1, t, sum);
	}
}

/* Put a tensor map over buffer `over` into argument `a`; dims and box from the contiguous one. */
static void
map(Run *r, unsigned a, unsigned over, uint32_t type, unsigned bytes, unsigned rank, const unsigned *dim,
    const unsigned *box, uint32_t swizzle)
{
	sim_tmap_desc d = SIM_TMAP_INIT;
	uint64_t stride = bytes;
	char why[200] = "";

	d.type = type;
	d.rank = rank;
	d.address = r->a[over].addr;
	d.swizzle = swizzle;
	for (unsigned i = 0; i < rank; i++) {
		d.dim[i] = dim[i];
		d.box[i] = box[i];
		stride *= dim[i];
		if (i + 1 < rank)
			d.stride[i] = stride;
	}
	ck_assert_msg(sim_tmap_encode(r->a[a].in.any, &d, why, sizeof why) == SIM_OK, "%s", why);
}
#define DIMS(...) ((const unsigned[]){ __VA_ARGS__ })

/* The buffers that only the maps know come behind the kernel's own arguments. */
static void
transpose_maps(Run *r)
{
	map(r, 0, 2, SIM_TMAP_F32, 4, 2, DIMS(80, 50), DIMS(32, 32), SIM_SWIZZLE_NONE);
	map(r, 1, 3, SIM_TMAP_F32, 4, 2, DIMS(52, 80), DIMS(32, 32), SIM_SWIZZLE_NONE);
}

/* 80 x 50 turned is 50 x 80, in rows of 52: the stride of a map is a multiple of 16 bytes. */
static void
tma_transpose(Run *r)
{
	for (unsigned y = 0; y < 80; y++)
		for (unsigned x = 0; x < 52; x++)
			near(r, 3, y * 52 + x, x < 50 ? before(r, 2, x * 80 + y) : 0, 0);
}

static void
swizzle_map(Run *r)
{
	map(r, 0, 2, SIM_TMAP_F16, 2, 2, DIMS(192, 48), DIMS(64, 32), SIM_SWIZZLE_128B);
}

static void
tma_swizzle(Run *r)
{
	for (unsigned i = 0; i < 32 * 64; i++)
		near(r, 1, i, before(r, 2, (8 + i / 64) * 192 + 64 + i % 64), 0);
}

static void
fill_map(Run *r)
{
	map(r, 0, 5, SIM_TMAP_S32, 4, 3, DIMS(12, 5, 4), DIMS(8, 6, 4), SIM_SWIZZLE_NONE);
}

static void
tma_fill(Run *r)
{
	for (int i = 0; i < 192; i++) {
		int x = i % 8 - 3, y = i / 8 % 6 - 2, z = i / 48 + 2;
		bool in = x >= 0 && x < 12 && y >= 0 && y < 5 && z < 4;
		same(r, 1, (size_t)i, in ? r->a[5].in.i[(z * 5 + y) * 12 + x] : 0);
	}
}

static void
reduce_map(Run *r)
{
	map(r, 0, 1, SIM_TMAP_S32, 4, 2, DIMS(28, 18), DIMS(16, 16), SIM_SWIZZLE_NONE);
}

static void
tma_reduce(Run *r)
{
	for (unsigned i = 0; i < 28 * 18; i++) {
		unsigned x = i % 28 - 8, y = i / 28 - 4;
		same(r, 1, i, r->a[1].in.i[i] + (x < 16 && y < 16 ? (int)(y * 16 + x) * (1 + 2 + 3) : 0));
	}
}

static double
minus(const Run *r, unsigned a, size_t i)
{
	return -before(r, a, i);
}

static void
wgmma_plain(Run *r)
{
	product(r, (Product){ 0, 1, 2, 64, 32, 32, 32, 1, 32, 1, 1, 0, false, NULL, NULL });
	product(r, (Product){ 0, 1, 3, 64, 32, 32, 32, 1, 32, 1, 1, 0, false, NULL, minus });
}

static void
wgmma_s8(Run *r)
{
	product(r, (Product){ 0, 1, 2, 64, 32, 32, 32, 1, 32, 1, 1, 0, true, byte, byte });
}

static void
gemm_maps(Run *r, unsigned rows_of_a, unsigned rows_of_b)
{
	map(r, 0, 5, SIM_TMAP_F16, 2, 2, DIMS(320, 128), DIMS(64, rows_of_a), SIM_SWIZZLE_128B);
	map(r, 1, 6, SIM_TMAP_F16, 2, 2, DIMS(320, 128), DIMS(64, rows_of_b), SIM_SWIZZLE_128B);
}
static void tall_maps(Run *r) { gemm_maps(r, 128, 64); }
static void half_maps(Run *r) { gemm_maps(r, 64, 32); }

static void
gemm_specialised(Run *r)
{
	product(r, (Product){ 5, 6, 2, 128, 128, 320, 320, 1, 320, 1, 1, 0, false, NULL, NULL });
}
static void gemm_cluster(Run *r) { gemm_specialised(r); }

/* Which lane is chosen is the machine's; exactly one of each 20 and each 12. */
static void
elect_one(Run *r)
{
	for (unsigned w = 0; w < 4; w++)
		for (unsigned from = 0; from < 32; from = from ? 32 : 20) {
			unsigned chosen = 0, to = from ? 32 : 20;
			for (unsigned i = from; i < to; i++) {
				int got = r->a[1].out.i[w * 32 + i];
				bool me = got >= 1000;
				chosen += me;
				same(r, 1, w * 32 + i, r->a[0].in.i[w * 32 + i] + (me ? 1000 : 0));
			}
			ck_assert_uint_eq(chosen, 1);
		}
}

#define GEMM "=s128 =s128 >f16384 =i128 =i320 <h40960 <h40960"
static const Case cases[] = {
	KX(cluster_histogram, 90, 8, 64, "<b3000 +u256:0 =i3000", NULL, 0, 4),
	KX(cluster_reduce, 90, 8, 32, "<f256 >f2 >u8", NULL, 0, 4),
	KX(cluster_exchange, 90, 6, 64, "<i384 >i384 =i5", NULL, 0, 3),
	KX(async_ring, 90, 8, 64, "<u512 >u512", NULL, 0, 4),
	K1(bulk_copies, 90, 3, 256, "<i768 >i768 +i256:5"),
	K1(barrier_copies, 90, 1, 128, "<i1280 >i128 =i5"),
	{ "tma_transpose", 90, { 3, 2, 1 }, { 128, 1, 1 }, "=s128 =s128 <f4000 +f4160:0", tma_transpose,
	  transpose_maps, 0, 0 },
	KX(tma_swizzle, 90, 1, 64, "=s128 >h2048 <h9216", swizzle_map, 0, 0),
	KX(tma_fill, 90, 1, 64, "=s128 >i192 =i-3 =i-2 =i2 <i240", fill_map, 0, 0),
	KX(tma_reduce, 90, 3, 64, "=s128 +i504:-99,99", reduce_map, 0, 0),
	K1(wgmma_plain, 90, 1, 128, "<h2048 <h1024 >f2048 >f2048"),
	K1(wgmma_s8, 90, 1, 128, "<b2048 <b1024 >i2048"),
	{ "gemm_specialised", 90, { 2, 1, 1 }, { 384, 1, 1 }, GEMM, gemm_specialised, tall_maps,
	  3 * 24576, 0 },
	{ "gemm_cluster", 90, { 2, 2, 1 }, { 256, 1, 1 }, GEMM, gemm_cluster, half_maps, 3 * 16384, 2 },
	K1(elect_one, 90, 2, 64, "<i128:0,99 >i128"),
};

static const Variant variants[] = { { 90, "-lineinfo" } };

CUDA_PROGRAM("hopper.cu", 90);
