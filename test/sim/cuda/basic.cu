// basic.cu - what most CUDA programs are made of.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <stdint.h>
namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

KERNEL vadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

KERNEL saxpy4(float s, const float4 *x, float4 *y, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
		float4 v = x[i], w = y[i];
		y[i] = make_float4(s * v.x + w.x, s * v.y + w.y, s * v.z + w.z, s * v.w + w.w);
	}
}

// Sum with shuffles; the last block to finish adds the partial sums.
__device__ unsigned done_blocks;
KERNEL reduce_last_block(const int *in, int *partial, int *out, int n)
{
	__shared__ int warp_sum[32];
	__shared__ bool last;
	int v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(ALL, v, d);
	if (threadIdx.x % 32 == 0)
		warp_sum[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = threadIdx.x < blockDim.x / 32 ? warp_sum[threadIdx.x] : 0;
		for (int d = 16; d; d >>= 1)
			v += __shfl_down_sync(ALL, v, d);
		if (threadIdx.x == 0) {
			partial[blockIdx.x] = v;
			__threadfence();
			last = atomicAdd(&done_blocks, 1) == gridDim.x - 1;
			__threadfence();
		}
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		int sum = 0;
		for (int i = 0; i < gridDim.x; i++)
			sum += partial[i];
		*out = sum;
	}
}

// The classic tree in shared memory, one block per row; the last warp works without block barriers.
KERNEL reduce_tree(const float *in, float *out, int n)
{
	__shared__ float s[256];
	int t = threadIdx.x;
	float v = 0;
	for (int i = t; i < n; i += 256)
		v += in[blockIdx.x * n + i];
	s[t] = v;
	__syncthreads();
	for (int d = 128; d >= 32; d /= 2) {
		if (t < d)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t < 32) {
		for (int d = 16; d; d /= 2) {
			float x = s[t] + (t < d ? s[t + d] : 0);
			__syncwarp();
			s[t] = x;
			__syncwarp();
		}
		if (t == 0)
			out[blockIdx.x] = s[0];
	}
}

KERNEL reduce_groups(const int *in, int *sum, int *least, int *tile4, int n)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
	cg::thread_block_tile<4> four = cg::tiled_partition<4>(warp);
	__shared__ int part[8], low[8];
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? in[i] : 0;
	int all = cg::reduce(warp, v, cg::plus<int>()), min = cg::reduce(warp, v, cg::less<int>());
	int quad = cg::reduce(four, v, cg::bit_xor<int>());
	if (four.thread_rank() == 0)
		tile4[i / 4] = quad;
	if (warp.thread_rank() == 0) {
		part[warp.meta_group_rank()] = all;
		low[warp.meta_group_rank()] = min;
	}
	block.sync();
	if (block.thread_rank() == 0) {
		int s = 0, m = low[0];
		for (unsigned k = 0; k < block.size() / 32; k++) {
			s += part[k];
			m = low[k] < m ? low[k] : m;
		}
		atomicAdd(sum, s);
		atomicMin(least, m);
	}
}

KERNEL dot_atomic(const double *a, const double *b, double *out, int n)
{
	double v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += a[i] * b[i];
	for (int d = 16; d; d >>= 1)
		v += __shfl_down_sync(ALL, v, d);
	if (threadIdx.x % 32 == 0)
		atomicAdd(out, v);
}

// Inclusive scan of one block: two buffers in turn.
KERNEL scan_two_buffers(const int *in, int *out)
{
	__shared__ int s[2][512];
	int t = threadIdx.x, from = 0;
	s[0][t] = in[blockIdx.x * 512 + t];
	__syncthreads();
	for (int d = 1; d < 512; d *= 2) {
		s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
		from = 1 - from;
		__syncthreads();
	}
	out[blockIdx.x * 512 + t] = s[from][t];
}

// Exclusive scan by up-sweep and down-sweep, with the padding that avoids bank conflicts.
#define PADDED(i) ((i) + (i) / 32)
KERNEL scan_sweeps(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[PADDED(512)];
	int t = threadIdx.x, d = 1;
	s[PADDED(t)] = in[t];
	s[PADDED(t + 256)] = in[t + 256];
	for (int n = 256; n > 0; n /= 2, d *= 2) {
		__syncthreads();
		if (t < n)
			s[PADDED(d * (2 * t + 2) - 1)] += s[PADDED(d * (2 * t + 1) - 1)];
	}
	if (t == 0)
		s[PADDED(511)] = 0;
	for (int n = 1; n < 512; n *= 2) {
		d /= 2;
		__syncthreads();
		if (t < n) {
			int a = PADDED(d * (2 * t + 1) - 1), b = PADDED(d * (2 * t + 2) - 1);
			unsigned v = s[a];
			s[a] = s[b];
			s[b] += v;
		}
	}
	__syncthreads();
	out[t] = s[PADDED(t)];
	out[t + 256] = s[PADDED(t + 256)];
}

KERNEL scan_groups(const int *in, int *incl, int *excl, int n)
{
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	auto half = cg::tiled_partition<16>(warp);
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
	incl[i] = cg::inclusive_scan(warp, v);
	excl[i] = cg::exclusive_scan(half, v, cg::plus<int>());
}

// One pass over the array: each block looks back at what the blocks before it have published.
__device__ unsigned ticket;
__device__ volatile int state[64];      // 0: nothing yet, 1: own sum, 2: sum of all up to here
__device__ volatile int own_sum[64], whole_sum[64];
KERNEL scan_look_back(const int *in, int *out)
{
	__shared__ int s[128], base;
	__shared__ unsigned mine;
	int t = threadIdx.x;
	if (t == 0)
		mine = atomicAdd(&ticket, 1);
	__syncthreads();
	unsigned b = mine;
	s[t] = in[b * 128 + t];
	__syncthreads();
	for (int d = 1; d < 128; d *= 2) {
		int v = t >= d ? s[t - d] : 0;
		__syncthreads();
		s[t] += v;
		__syncthreads();
	}
	if (t == 0) {
		int before = 0;
		own_sum[b] = s[127];
		__threadfence();
		state[b] = 1;
		for (int k = (int)b - 1; k >= 0; k--) {
			int seen;
			while ((seen = state[k]) == 0)
				;
			__threadfence();
			if (seen == 2) {
				before += whole_sum[k];
				break;
			}
			before += own_sum[k];
		}
		whole_sum[b] = before + s[127];
		__threadfence();
		state[b] = 2;
		base = before;
	}
	__syncthreads();
	out[b * 128 + t] = s[t] + base;
}

KERNEL histogram(const uint8_t *in, unsigned *out, int n)
{
	__shared__ unsigned bins[256];
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		bins[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[in[i]], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&out[i], bins[i]);
}

template <int PAD> __device__ void transpose_body(const float *in, float *out, int n)
{
	__shared__ float tile[32][32 + PAD];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
KERNEL transpose_conflicts(const float *in, float *out, int n) { transpose_body<0>(in, out, n); }
KERNEL transpose_padded(const float *in, float *out, int n) { transpose_body<1>(in, out, n); }

KERNEL bitonic(int *data)
{
	__shared__ int s[512];
	int t = threadIdx.x;
	for (int i = t; i < 512; i += 256)
		s[i] = data[blockIdx.x * 512 + i];
	for (int k = 2; k <= 512; k *= 2)
		for (int j = k / 2; j > 0; j /= 2) {
			int a = 2 * t - (t & (j - 1)), b = a + j;
			__syncthreads();
			if ((s[a] > s[b]) == !(a & k)) {
				int v = s[a];
				s[a] = s[b];
				s[b] = v;
			}
		}
	__syncthreads();
	for (int i = t; i < 512; i += 256)
		data[blockIdx.x * 512 + i] = s[i];
}

// Radix sort of one block, a bit at a time; places come from ballots.
KERNEL radix_sort(const unsigned *in, unsigned *out, int bits)
{
	__shared__ unsigned s[2][256], zeros[8];
	int t = threadIdx.x, lane = t & 31, warp = t >> 5, from = 0;
	s[0][t] = in[t];
	__syncthreads();
	for (int b = 0; b < bits; b++) {
		unsigned v = s[from][t];
		bool one = v >> b & 1;
		unsigned ones = __ballot_sync(ALL, one), below = (1u << lane) - 1;
		if (lane == 0)
			zeros[warp] = 32 - __popc(ones);
		__syncthreads();
		unsigned zeros_before = 0, all_zeros = 0;
		for (int w = 0; w < 8; w++) {
			zeros_before += w < warp ? zeros[w] : 0;
			all_zeros += zeros[w];
		}
		unsigned at = one ? all_zeros + (warp * 32 - zeros_before) + __popc(ones & below)
		                  : zeros_before + __popc(~ones & below);
		s[1 - from][at] = v;
		from = 1 - from;
		__syncthreads();
	}
	out[t] = s[from][t];
}

KERNEL compact(const int *in, int *out, unsigned *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	bool keep = i < n && in[i] % 3 == 0;
	unsigned mask = __ballot_sync(ALL, keep), lane = threadIdx.x & 31, base = 0;
	if (lane == 0 && mask)
		base = atomicAdd(count, __popc(mask));
	base = __shfl_sync(ALL, base, 0);
	if (keep)
		out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}

// 7-point stencil with a halo of one in shared memory; the third dimension runs through registers.
KERNEL stencil3d(const float *in, float *out, int nx, int ny, int nz)
{
	__shared__ float s[10][34];
	int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	bool inside = x < nx && y < ny;
	auto at = [&](int i, int j, int k) { return i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz ? in[(k * ny + j) * nx + i] : 0.0f; };
	float below = 0, here = at(x, y, 0);
	for (int z = 0; z < nz; z++) {
		float above = at(x, y, z + 1);
		__syncthreads();
		s[ty][tx] = here;
		if (threadIdx.x == 0)
			s[ty][0] = at(x - 1, y, z);
		if (threadIdx.x == 31)
			s[ty][33] = at(x + 1, y, z);
		if (threadIdx.y == 0)
			s[0][tx] = at(x, y - 1, z);
		if (threadIdx.y == 7)
			s[9][tx] = at(x, y + 1, z);
		__syncthreads();
		if (inside)
			out[(z * ny + y) * nx + x] = s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx] + above + below - 6 * here;
		below = here;
		here = above;
	}
}

KERNEL matmul_tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float sa[16][16], sb[16][16];
	int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
	float sum = 0;
	for (int p = 0; p < k; p += 16) {
		sa[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
		sb[y][x] = col < n && p + y < k ? b[(p + y) * n + col] : 0;
		__syncthreads();
#pragma unroll
		for (int q = 0; q < 16; q++)
			sum += sa[y][q] * sb[q][x];
		__syncthreads();
	}
	if (row < m && col < n)
		c[row * n + col] = sum;
}

// Each thread makes 4 x 4 elements; vectors of four from shared memory.
KERNEL matmul_registers(const float *a, const float *b, float *c, int n)
{
	__shared__ __align__(16) float sa[8][64 + 4], sb[8][64];
	int t = threadIdx.x, ty = t / 16, tx = t % 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
	float acc[4][4] = {};
	for (int p = 0; p < n; p += 8) {
		for (int i = t; i < 512; i += 256) {
			sa[i % 8][i / 8] = a[(row + i / 8) * n + p + i % 8];
			sb[i / 64][i % 64] = b[(p + i / 64) * n + col + i % 64];
		}
		__syncthreads();
		for (int q = 0; q < 8; q++) {
			float4 u = *(float4 *)&sa[q][ty * 4], v = *(float4 *)&sb[q][tx * 4];
			float ua[4] = { u.x, u.y, u.z, u.w }, va[4] = { v.x, v.y, v.z, v.w };
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					acc[i][j] += ua[i] * va[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		*(float4 *)&c[(row + ty * 4 + i) * n + col + tx * 4] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// Sparse matrix times vector, rows compressed; a warp for each row.
KERNEL spmv(const int *start, const int *col, const float *val, const float *x, float *y, int rows)
{
	int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (row >= rows)
		return;
	float v = 0;
	for (int i = start[row] + lane; i < start[row + 1]; i += 32)
		v += val[i] * __ldg(&x[col[i]]);
	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(ALL, v, d);
	if (lane == 0)
		y[row] = v;
}

// Where does the pattern occur in the text: bytes, and words read at any place by funnel shifts.
KERNEL find_bytes(const uint8_t *text, const uint8_t *pattern, int *first, unsigned *lower, int n, int m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n / 4) {
		unsigned v = ((const unsigned *)text)[i];
		unsigned big = __vcmpgeu4(v, 0x41414141) & __vcmpleu4(v, 0x5a5a5a5a);
		lower[i] = v | (big & 0x20202020);
	}
	if (i + m > n)
		return;
	for (int k = 0; k < m; k++)
		if (text[i + k] != pattern[k])
			return;
	atomicMin(first, i);
}
