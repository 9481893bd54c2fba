// What examples/gemm_roles.hexc is compared with: the same work by hand, for tiles of 128 x 256 x 64 in 4 stages.  Warps
// 0 to 7 multiply, two warpgroups of 64 x 256, and one thread behind them fetches boxes.  gemm_tiles walks the tiles as
// the kernels do that hexc makes of examples/gemm_f16.hexc.  run-by-hand.sh counts the instructions of both.
#include <cuda_fp16.h>
#include <stdint.h>

enum { BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 128 };
struct __align__(64) Map { uint64_t opaque[16]; };
struct Shared {
	__half a[STAGES][BM * BK], b[STAGES][BN * BK];
	__half slab[2][2][64 * SLAB]; // of a warpgroup two, in turn
	uint64_t full[STAGES], empty[STAGES];
};

__device__ uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ bool elect()
{
	uint32_t me;

	asm volatile("{.reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p;}" : "=r"(me));
	return me;
}

__device__ void wait(const uint64_t *bar, int parity)
{
	asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L;}" ::"r"(address(bar)), "r"(parity) : "memory");
}

__device__ void load(void *to, const Map *m, int x, int y, const uint64_t *bar)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
	             ::"r"(address(to)), "l"(m), "r"(x), "r"(y), "r"(address(bar)) : "memory");
}

// rows of 128 bytes in groups of 8, swizzled
__device__ uint64_t matrix(const __half *p) { return (uint64_t)(address(p) >> 4 & 0x3fff) | (uint64_t)(1024 / 16) << 32 | (uint64_t)1 << 62; }

#define F8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define F32(i) F8(i), F8(i + 8), F8(i + 16), F8(i + 24)
#define N10(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define MULTIPLY(add) "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" \
	"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," N10(1) N10(2) N10(3) N10(4) N10(5) N10(6) N10(7) N10(8) N10(9) N10(10) N10(11) \
	"%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, " add ", 1, 1, 0, 0;"
__device__ void multiply(float (&d)[128], uint64_t a, uint64_t b)
{
	asm volatile(MULTIPLY("1") : F32(0), F32(32), F32(64), F32(96) : "l"(a), "l"(b));
}
__device__ void multiply_if(float (&d)[128], uint64_t a, uint64_t b, int add)
{
	asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; " MULTIPLY("p") "}"
	             : F32(0), F32(32), F32(64), F32(96) : "l"(a), "l"(b), "r"(add));
}

// `from`: stages of the tiles before
__device__ void produce(Shared &s, const Map *a, const Map *b, int steps, int row, int column, int from)
{
	for (int j = 0; j < steps; j++) {
		int i = from + j, t = i % STAGES;

		wait(&s.empty[t], (i / STAGES & 1) ^ 1);
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&s.full[t])), "r"((BM + BN) * BK * 2) : "memory");
		load(s.a[t], a, j * BK, row, &s.full[t]);
		load(s.b[t], b, j * BK, column, &s.full[t]);
	}
}

// 64 columns at a time, each row 128 bytes of a slab
__device__ void store(Shared &s, const Map *c, const float (&d)[128], int group, int row0, int column)
{
	int t = threadIdx.x % GROUP, row = t / 32 * 16 + t % 16;

#pragma unroll
	for (int j = 0; j < BN / SLAB; j++) {
		__half *slab = s.slab[group][j % 2];

		if (j >= 2) {
			asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
			asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
		}
#pragma unroll
		for (int q = 0; q < 4; q++) {
			const float *v = d + j * 32 + q * 8;
			uint32_t h[4];

			for (int i = 0; i < 4; i++)
				asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h[i]) : "f"(v[2 * i + 1]), "f"(v[2 * i]));
			asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
			             ::"r"(address(slab + row * SLAB) + ((q * 2 + t % 32 / 16) ^ row % 8) * 16), "r"(h[0]), "r"(h[1]), "r"(h[2]), "r"(h[3]) : "memory");
		}
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
		if (t == 0)
			asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
			             ::"l"(c), "r"(column + j * SLAB), "r"(row0 + group * 64), "r"(address(slab)) : "memory");
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
	}
	asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ void release(Shared &s, int i)
{
	if (threadIdx.x % GROUP == 0)
		asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&s.empty[i % STAGES])) : "memory");
}

// `more`: another tile may follow, whose stages need the last one too
__device__ void consume(Shared &s, const Map *c, int steps, int group, int row, int column, int from, bool more)
{
	float d[128];
	uint64_t a0 = matrix(s.a[0] + group * 64 * BK), b0 = matrix(s.b[0]);

#pragma unroll 1
	for (int j = 0; j < steps; j++) {
		int i = from + j, t = i % STAGES;
		uint64_t a = a0 + t * (BM * BK / 8), b = b0 + t * (BN * BK / 8);

		wait(&s.full[t], i / STAGES & 1);
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		multiply_if(d, a, b, j);
#pragma unroll
		for (int k = 2; k < BK / 8; k += 2)
			multiply(d, a + k, b + k);
		asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
		if (j)
			release(s, i - 1);
	}
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	if (more)
		release(s, from + steps - 1);
	store(s, c, d, group, row, column);
	if (more)
		asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
}

// what all threads begin with: the warpgroup's number
__device__ int enter(Shared &s)
{
	int group = __shfl_sync(~0u, threadIdx.x / GROUP, 0);

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&s.full[i])) : "memory");
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(address(&s.empty[i])) : "memory");
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
	return group;
}

extern "C" __global__ void __launch_bounds__(384, 1) gemm_roles(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c, int k)
{
	extern __shared__ __align__(1024) uint8_t room[];
	Shared &s = *(Shared *)room;
	int group = enter(s), steps = (k + BK - 1) / BK, row = blockIdx.x * BM, column = blockIdx.y * BN;

	if (group == 2) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x < 288 && elect())
			produce(s, &a, &b, steps, row, column, 0);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		consume(s, &c, steps, group, row, column, 0, false);
	}
}

extern "C" __global__ void __launch_bounds__(384, 1) gemm_tiles(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c, int m, int n, int k)
{
	extern __shared__ __align__(1024) uint8_t room[];
	Shared &s = *(Shared *)room;
	int group = enter(s), steps = (k + BK - 1) / BK, rows = (m + BM - 1) / BM, tiles = rows * ((n + BN - 1) / BN);

	if (group == 2) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x < 288 && elect())
			for (int tile = blockIdx.x, from = 0; tile < tiles; tile += gridDim.x, from += steps)
				produce(s, &a, &b, steps, tile % rows * BM, tile / rows * BN, from);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		for (int tile = blockIdx.x, from = 0; tile < tiles; tile += gridDim.x, from += steps)
			consume(s, &c, steps, group, tile % rows * BM, tile / rows * BN, from, true);
	}
}
