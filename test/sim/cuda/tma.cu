// tma.cu - a matrix product with a ring of tensor copies, as sm_90 code is written: one warp loads, four
// compute, the result goes out by a tensor store.  Compiled by nvcc for test_bulk_nvcc.c.
#include <cuda.h>
#include <cuda/ptx>
#include <cuda_fp16.h>
#include <stdint.h>

namespace ptx = cuda::ptx;

constexpr int BM = 64, BN = 64, BK = 64, STAGES = 3, CONSUMERS = 128;

// Tiles are rows of 128 bytes with the 128-byte swizzle, at multiples of 1024.
static __device__ __half at(const __half *tile, int row, int col)
{
	return tile[row * 64 + ((col / 8 ^ row % 8) * 8 + col % 8)];
}

static __device__ void wait(uint64_t *bar, int parity)
{
	while (!ptx::mbarrier_try_wait_parity(bar, parity))
		;
}

// C[m, n] = sum_k A[m, k] * B[n, k], all f16, sums in f32
extern "C" __global__ void __launch_bounds__(CONSUMERS + 32)
gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
     const __grid_constant__ CUtensorMap c, int k)
{
	extern __shared__ __align__(1024) unsigned char smem[];
	__half *ta = (__half *)smem, *tb = ta + STAGES * BM * BK, *tc = tb + STAGES * BN * BK;
	__shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
	int t = threadIdx.x, steps = (k + BK - 1) / BK;

	if (t == 0) {
		for (int s = 0; s < STAGES; s++) {
			ptx::mbarrier_init(&full[s], 1);
			ptx::mbarrier_init(&empty[s], CONSUMERS);
		}
		ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
	}
	__syncthreads();
	if (t >= CONSUMERS) {
		if (t == CONSUMERS)
			for (int i = 0; i < steps; i++) {
				int s = i % STAGES, at_a[2] = { i * BK, (int)blockIdx.x * BM };
				int at_b[2] = { i * BK, (int)blockIdx.y * BN };
#ifndef FORGET_WAIT
				if (i >= STAGES)
					wait(&empty[s], (i / STAGES - 1) & 1);
#endif
				ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
				                               &full[s], (BM + BN) * BK * 2);
				ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, ta + s * BM * BK, &a,
				                          at_a, &full[s]);
				ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tb + s * BN * BK, &b,
				                          at_b, &full[s]);
			}
		return;
	}
	float sum[BM * BN / CONSUMERS] = {};
	int col = t % BN, row0 = t / BN * (BM / 2);
	for (int i = 0; i < steps; i++) {
		int s = i % STAGES;
		wait(&full[s], i / STAGES & 1);
		for (int kk = 0; kk < BK; kk++) {
			float y = __half2float(at(tb + s * BN * BK, col, kk));
			for (int r = 0; r < BM / 2; r++)
				sum[r] += __half2float(at(ta + s * BM * BK, row0 + r, kk)) * y;
		}
#ifndef FORGET_EMPTY
		ptx::mbarrier_arrive(&empty[s]);
#endif
	}
	for (int r = 0; r < BM / 2; r++)
		tc[(row0 + r) * 64 + ((col / 8 ^ (row0 + r) % 8) * 8 + col % 8)] = __float2half(sum[r]);
#ifndef FORGET_FENCE
	ptx::fence_proxy_async(ptx::space_shared);
#endif
	asm volatile("bar.sync 1, 128;" ::: "memory");
	if (t == 0) {
		int at_c[2] = { (int)blockIdx.y * BN, (int)blockIdx.x * BM };
		ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &c, at_c, tc);
		ptx::cp_async_bulk_commit_group();
		ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
	}
}
