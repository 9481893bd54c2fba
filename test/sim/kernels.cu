// kernels.cu - ordinary CUDA kernels; test_nvcc.c compiles them to PTX, runs them and checks.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdint.h>

extern "C" __global__ void vadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

// Sum with shuffles; the last block to finish adds the partial sums.
__device__ unsigned done_blocks;
extern "C" __global__ void reduce(const int *in, int *partial, int *out, int n)
{
	__shared__ int warp_sum[32];
	__shared__ bool last;
	int v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	for (int d = 16; d; d >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, d);
	if (threadIdx.x % 32 == 0)
		warp_sum[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = threadIdx.x < blockDim.x / 32 ? warp_sum[threadIdx.x] : 0;
		for (int d = 16; d; d >>= 1)
			v += __shfl_down_sync(0xffffffffu, v, d);
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
extern "C" __global__ void transpose_conflicts(const float *in, float *out, int n) { transpose_body<0>(in, out, n); }
extern "C" __global__ void transpose_padded(const float *in, float *out, int n) { transpose_body<1>(in, out, n); }

extern "C" __global__ void histogram(const uint8_t *in, unsigned *out, int n)
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

// Device functions that are not inlined, a switch, local arrays, 64-bit division, doubles.
__device__ __noinline__ long long slow_mod(long long a, long long b) { return b ? a % b : -1; }
__device__ __noinline__ double poly(double x, const double *c, int n)
{
	double r = 0;
	for (int i = 0; i < n; i++)
		r = r * x + c[i];
	return r;
}
extern "C" __global__ void misc(const long long *a, const long long *b, long long *out, double *dout, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	long long x = a[i], y = b[i], r;
	switch (i % 7) {
	case 0: r = slow_mod(x, y); break;
	case 1: r = y ? x / y : 0; break;
	case 2: r = x * y; break;
	case 3: r = __mul64hi(x, y); break;
	case 4: r = __popcll(x) * 100 + __clzll(y); break;
	case 5: r = (long long)__brevll((unsigned long long)x) ^ (x >> (y & 63)); break;
	default: r = x < y ? x - y : x ^ y; break;
	}
	out[i] = r;
	double c[5];
	for (int k = 0; k < 5; k++)
		c[(k + i) % 5] = (double)(x % 1000 + k) / (double)(1 + (y & 15));
	dout[i] = poly(1.0 / (1 + i % 10), c, 5) + sqrt((double)i);
}

struct Scale { float a, b; int shift; short tag; };
__constant__ float table[16] = { 1, 2, 4, 8, 16, 32, 64, 128, .5f, .25f, .125f, 3, 5, 7, 9, 11 };
extern "C" __global__ void by_struct(struct Scale s, const float *in, float *out)
{
	extern __shared__ float dyn[];
	int i = threadIdx.x;
	dyn[i] = in[i] * s.a + s.b;
	__syncthreads();
	out[i] = dyn[(i + s.shift) % blockDim.x] * table[(i + s.tag) & 15];
}

extern "C" __global__ void halves(const __half *a, const __half *b, __half *c, __nv_bfloat16 *d, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (2 * i + 1 >= n)
		return;
	__half2 x = ((const __half2 *)a)[i], y = ((const __half2 *)b)[i];
	__half2 z = __hfma2(x, y, __hmul2(x, __float2half2_rn(0.5f)));
	((__half2 *)c)[i] = __hmax2(z, __hneg2(y));
	d[2 * i] = __float2bfloat16(__half2float(__low2half(x)) * 1.37f);
	d[2 * i + 1] = __float2bfloat16(__half2float(__high2half(x)) / 3.0f);
}

extern "C" __global__ void votes(const int *in, unsigned *out)
{
	int v = in[threadIdx.x];
	unsigned all = 0xffffffffu;
	unsigned r = __ballot_sync(all, v & 1);
	r += __any_sync(all, v > 100) * 3 + __all_sync(all, v >= 0) * 5;
	if (v & 2) {
		unsigned m = __activemask();
		r ^= __shfl_sync(m, r, __ffs(m) - 1) + __popc(m);
	} else {
		r ^= 0x5555u;
	}
	int pred;
#if __CUDA_ARCH__ >= 700
	r += __match_any_sync(all, v & 3) ^ __match_all_sync(all, v & 0, &pred);
#endif
#if __CUDA_ARCH__ >= 800
	r += __reduce_add_sync(all, v) * 7;
#else
	for (int k = 0, t = 0; k < 32; k++) {
		t += __shfl_sync(all, v, k);
		if (k == 31)
			r += t * 7;
	}
#endif
	out[threadIdx.x] = r + __dp4a(v, v * 3, 1) + __byte_perm(v, r, 0x6421) % 97;
}

// 16 x 8 x K by mma.sync with ldmatrix: one warp.
extern "C" __global__ void mma_tile(const __half *a, const __half *b, float *c, int k)
{
	__shared__ __align__(16) __half sa[16][24], sb[16][8 + 8];
	int l = threadIdx.x;
	float d[4] = { 0, 0, 0, 0 };
	for (int k0 = 0; k0 < k; k0 += 16) {
		for (int i = l; i < 256; i += 32)
			sa[i / 16][i % 16] = a[i / 16 * k + k0 + i % 16];
		for (int i = l; i < 128; i += 32)
			sb[i / 8][i % 8] = b[(k0 + i / 8) * 8 + i % 8];
		__syncwarp();
		uint32_t ra[4], rb[2];
		uint32_t pa = (uint32_t)__cvta_generic_to_shared(&sa[l % 16][l / 16 * 8]);
		uint32_t pb = (uint32_t)__cvta_generic_to_shared(&sb[l % 16][0]);
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		             : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa) : "memory");
		asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		             : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb) : "memory");
#if __CUDA_ARCH__ >= 800
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
		             "{%8,%9}, {%0,%1,%2,%3};"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
#else
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(ra[0]), "r"(ra[1]), "r"(rb[0]));
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(ra[2]), "r"(ra[3]), "r"(rb[1]));
#endif
		__syncwarp();
	}
	for (int i = 0; i < 4; i++)
		c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i];
}

#if __CUDA_ARCH__ >= 800
// Two-stage pipeline of 16-byte copies with a ragged end.
extern "C" __global__ void pipeline(const float *in, float *out, int n)
{
	__shared__ __align__(16) float buf[2][512];
	int t = threadIdx.x, tiles = (n + 511) / 512;
	auto fetch = [&](int k) {
		int at = k * 512 + t * 4, left = n - at;
		int bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0;
		uint32_t dst = (uint32_t)__cvta_generic_to_shared(&buf[k % 2][t * 4]);
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" :: "r"(dst), "l"(in + (bytes ? at : 0)), "r"(bytes) : "memory");
		asm volatile("cp.async.commit_group;\n" ::: "memory");
	};
	fetch(0);
	float sum = 0;
	for (int k = 0; k < tiles; k++) {
		if (k + 1 < tiles)
			fetch(k + 1);
		else
			asm volatile("cp.async.commit_group;\n" ::: "memory");
		asm volatile("cp.async.wait_group 1;\n" ::: "memory");
		__syncthreads();
		for (int i = 0; i < 4; i++)
			sum += buf[k % 2][(t * 4 + i + 37) % 512];
		__syncthreads();
	}
	out[t] = sum;
}
#endif

extern "C" __global__ void collatz(const unsigned *in, unsigned *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned v = in[i], steps = 0;
	while (v != 1) {
		if (v & 1)
			v = 3 * v + 1;
		else
			v >>= 1;
		if (++steps > 1000)
			break;
	}
	out[i] = steps;
}

// A lock taken by one lane after the other, and a spin on another block's flag.
__device__ int lock_word;
__device__ volatile int flag_word;
extern "C" __global__ void locks(int *counter)
{
	for (int k = 0; k < 2; k++) {
		bool taken = false;
		while (!taken) {
			if (atomicCAS(&lock_word, 0, 1) == 0) {
				__threadfence();
				*counter += 1;
				__threadfence();
				atomicExch(&lock_word, 0);
				taken = true;
			}
		}
	}
	if (threadIdx.x == 0) {
		if (blockIdx.x == gridDim.x - 1) {
			__threadfence();
			flag_word = 1;
		} else {
			while (!flag_word)
				;
			__threadfence();
		}
	}
}
