// tensor.cu - tensor cores by mma.sync, ldmatrix and stmatrix, asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <stdint.h>
namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void

__device__ unsigned shared_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define A4 "{%4,%5,%6,%7}"
#define B2 "{%8,%9}"

// 16 x 8 x K by mma.sync with ldmatrix: one warp.
KERNEL mma_f16(const __half *a, const __half *b, float *c, int k)
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
		unsigned ra[4], rb[2], pa = shared_of(&sa[l % 16][l / 16 * 8]), pb = shared_of(&sb[l % 16][0]);
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		             : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa) : "memory");
		asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		             : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb) : "memory");
#if __CUDA_ARCH__ >= 800
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
#else
		for (int h = 0; h < 2; h++)
			asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
			             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[2 * h]), "r"(ra[2 * h + 1]), "r"(rb[h]));
#endif
		__syncwarp();
	}
	for (int i = 0; i < 4; i++)
		c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i];
}

// stmatrix's twin for all targets: movmatrix turns 8 x 8 in registers.
KERNEL turn_matrix(const __half *in, __half *out)
{
	__shared__ __align__(16) __half s[32][8];
	int l = threadIdx.x;
	unsigned r[4];
	*(uint4 *)s[l] = ((const uint4 *)in)[l];
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_of(s[l])) : "memory");
	asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r[3]));
	for (int k = 0; k < 4; k++)
		((unsigned *)out)[k * 32 + l] = r[k];
}

#if __CUDA_ARCH__ >= 800
// One mma.sync of each type, fragments loaded by the figures of the ISA's manual.
KERNEL mma_types(const float *tfa, const float *tfb, float *tfc, const __nv_bfloat16 *ba, const __nv_bfloat16 *bb, float *bc,
                 const int8_t *ia, const int8_t *ib, int *ic, const double *da, const double *db, double *dc)
{
	int l = threadIdx.x, g = l / 4, t = l % 4;
	float f[4] = {}, h[4] = {};
	int s[4] = {};
	double d[2] = {};
	unsigned a[4], b[2];
	// tf32: 16 x 8 times 8 x 8
	for (int k = 0; k < 4; k++)
		asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[k]) : "f"(tfa[(g + k % 2 * 8) * 8 + t + k / 2 * 4]));
	for (int k = 0; k < 2; k++)
		asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[k]) : "f"(tfb[(t + k * 4) * 8 + g]));
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	// bf16: 16 x 16 times 16 x 8, B by columns
	for (int k = 0; k < 4; k++)
		a[k] = *(const unsigned *)&ba[(g + k % 2 * 8) * 16 + t * 2 + k / 2 * 8];
	for (int k = 0; k < 2; k++)
		b[k] = *(const unsigned *)&bb[g * 16 + t * 2 + k * 8];
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+f"(h[0]), "+f"(h[1]), "+f"(h[2]), "+f"(h[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	// s8: 16 x 32 times 32 x 8, B by columns
	for (int k = 0; k < 4; k++)
		a[k] = *(const unsigned *)&ia[(g + k % 2 * 8) * 32 + t * 4 + k / 2 * 16];
	for (int k = 0; k < 2; k++)
		b[k] = *(const unsigned *)&ib[g * 32 + t * 4 + k * 16];
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	// f64: 8 x 4 times 4 x 8
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
	             : "+d"(d[0]), "+d"(d[1]) : "d"(da[g * 4 + t]), "d"(db[t * 8 + g]));
	for (int k = 0; k < 4; k++) {
		int at = (g + k / 2 * 8) * 8 + t * 2 + k % 2;
		tfc[at] = f[k];
		bc[at] = h[k];
		ic[at] = s[k];
	}
	dc[g * 8 + t * 2] = d[0];
	dc[g * 8 + t * 2 + 1] = d[1];
}

// Four bits and one bit: patterns as they are laid out in memory, B by columns.
KERNEL mma_bits(const unsigned *a4, const unsigned *b4, int *c4, const unsigned *a1, const unsigned *b1, int *c1)
{
	int l = threadIdx.x, g = l / 4, t = l % 4, s[4] = {}, x[4] = {};
	asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
	             : "r"(a4[g * 8 + t]), "r"(a4[(g + 8) * 8 + t]), "r"(a4[g * 8 + t + 4]), "r"(a4[(g + 8) * 8 + t + 4]),
	               "r"(b4[g * 8 + t]), "r"(b4[g * 8 + t + 4]));
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3])
	             : "r"(a1[g * 8 + t]), "r"(a1[(g + 8) * 8 + t]), "r"(a1[g * 8 + t + 4]), "r"(a1[(g + 8) * 8 + t + 4]),
	               "r"(b1[g * 8 + t]), "r"(b1[g * 8 + t + 4]));
	for (int k = 0; k < 4; k++) {
		c4[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = s[k];
		c1[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = x[k];
	}
}

// Two-stage pipeline of 16-byte copies with a ragged end.
KERNEL copy_pipeline(const float *in, float *out, int n)
{
	__shared__ __align__(16) float buf[2][512];
	int t = threadIdx.x, tiles = (n + 511) / 512;
	auto fetch = [&](int k) {
		int at = k * 512 + t * 4, left = n - at;
		int bytes = left >= 4 ? 16 : left > 0 ? left * 4 : 0;
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_of(&buf[k % 2][t * 4])), "l"(in + (bytes ? at : 0)), "r"(bytes) : "memory");
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

// The same by the header's functions, in four stages.
KERNEL copy_primitives(const int *in, int *out, int tiles)
{
	__shared__ __align__(16) int buf[4][256];
	int t = threadIdx.x, sum = 0;
	for (int k = 0; k < 3; k++) {
		if (k < tiles)
			__pipeline_memcpy_async(&buf[k][t * 4], in + k * 256 + t * 4, 16);
		__pipeline_commit();
	}
	for (int k = 0; k < tiles; k++) {
		__pipeline_wait_prior(2);
		__syncthreads();
		for (int i = 0; i < 4; i++)
			sum = sum * 3 + buf[k % 4][(t + i * 64 + k) % 256];
		if (k + 3 < tiles)
			__pipeline_memcpy_async(&buf[(k + 3) % 4][t * 4], in + (k + 3) * 256 + t * 4, 16);
		__pipeline_commit();
	}
	out[t] = sum;
}

// libcu++: a pipeline of the block, and one of each thread.
KERNEL copy_block_pipeline(const int *in, int *out, int tiles)
{
	auto block = cg::this_thread_block();
	__shared__ __align__(16) int buf[2][256];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	auto pipe = cuda::make_pipeline(block, &state);
	int t = threadIdx.x, sum = 0, fetched = 0;
	for (int k = 0; k < tiles; k++) {
		for (; fetched < tiles && fetched < k + 2; fetched++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, buf[fetched % 2], in + fetched * 256, cuda::aligned_size_t<16>(1024), pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum = sum * 5 + buf[k % 2][(t * 3 + k) % 256];
		pipe.consumer_release();
	}
	out[t] = sum;
}
KERNEL copy_thread_pipeline(const float *in, float *out)
{
	__shared__ __align__(16) float buf[3][128];
	auto pipe = cuda::make_pipeline();
	int t = threadIdx.x;
	for (int k = 0; k < 3; k++) {
		pipe.producer_acquire();
		cuda::memcpy_async(&buf[k][t], in + k * 128 + t, cuda::aligned_size_t<4>(4), pipe);
		pipe.producer_commit();
	}
	float sum = 0;
	for (int k = 0; k < 3; k++) {
		pipe.consumer_wait();
		sum += buf[k][t] * (k + 1);
		pipe.consumer_release();
	}
	out[t] = sum;
}

// cooperative_groups::memcpy_async and wait.
KERNEL copy_groups(const int *in, int *out, int n)
{
	__shared__ __align__(16) int buf[512];
	auto block = cg::this_thread_block();
	cg::memcpy_async(block, buf, in + blockIdx.x * n, sizeof(int) * n);
	cg::wait(block);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[blockIdx.x * n + i] = buf[n - 1 - i];
}

// A product of 64 x 64 tiles: three stages of cp.async, swizzled shared memory, ldmatrix, four warps.
KERNEL gemm_stages(const __half *a, const __half *b, float *c, int n, int k)
{
	extern __shared__ __align__(128) __half smem[];
	const int TILE = 64 * 32;
	int t = threadIdx.x, w = t / 32, l = t % 32, row = blockIdx.y * 64, col = blockIdx.x * 64, steps = k / 32;
	auto place = [&](int stage, int which, int r, int chunk) { return smem + (stage * 2 + which) * TILE + r * 32 + (chunk ^ (r >> 1 & 3)) * 8; };
	auto fetch = [&](int s) {
		if (s < steps)
			for (int i = t; i < 256; i += 128) {
				int r = i / 4, ch = i % 4;
				__pipeline_memcpy_async(place(s % 3, 0, r, ch), a + (row + r) * k + s * 32 + ch * 8, 16);
				__pipeline_memcpy_async(place(s % 3, 1, r, ch), b + (col + r) * k + s * 32 + ch * 8, 16);
			}
		__pipeline_commit();
	};
	float acc[8][4] = {};
	fetch(0);
	fetch(1);
	for (int s = 0; s < steps; s++) {
		__pipeline_wait_prior(1);
		__syncthreads();
		fetch(s + 2);
		for (int h = 0; h < 2; h++) {
			unsigned fa[4], fb[2];
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
			             : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
			             : "r"(shared_of(place(s % 3, 0, w * 16 + l % 16, h * 2 + l / 16))) : "memory");
			for (int j = 0; j < 8; j++) {
				asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
				             : "=r"(fb[0]), "=r"(fb[1])
				             : "r"(shared_of(place(s % 3, 1, j * 8 + l % 8, h * 2 + l / 8 % 2))) : "memory");
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
				             : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
				             : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
			}
		}
	}
	for (int j = 0; j < 8; j++)
		for (int i = 0; i < 2; i++)
			*(float2 *)&c[(row + w * 16 + l / 4 + i * 8) * n + col + j * 8 + l % 4 * 2] = make_float2(acc[j][2 * i], acc[j][2 * i + 1]);
}
#endif

#if __CUDA_ARCH__ >= 890
KERNEL mma_fp8(const uint8_t *a, const uint8_t *b, float *c, float *mixed)
{
	int l = threadIdx.x, g = l / 4, t = l % 4;
	float d[4] = {}, e[4] = {};
	unsigned fa[4], fb[2];
	for (int k = 0; k < 4; k++)
		fa[k] = *(const unsigned *)&a[(g + k % 2 * 8) * 32 + t * 4 + k / 2 * 16];
	for (int k = 0; k < 2; k++)
		fb[k] = *(const unsigned *)&b[g * 32 + t * 4 + k * 16];
	asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
	asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0,%1,%2,%3}, " A4 ", " B2 ", {%0,%1,%2,%3};"
	             : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
	for (int k = 0; k < 4; k++) {
		c[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = d[k];
		mixed[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = e[k];
	}
}
#endif

#if __CUDA_ARCH__ >= 900
KERNEL stmatrix(const unsigned *in, __half *out, __half *turned)
{
	__shared__ __align__(16) __half s[32][8], u[32][8];
	int l = threadIdx.x;
	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_of(s[l])), "r"(in[l]), "r"(in[32 + l]), "r"(in[64 + l]), "r"(in[96 + l]) : "memory");
	asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_of(u[l])), "r"(in[l]), "r"(in[32 + l]), "r"(in[64 + l]), "r"(in[96 + l]) : "memory");
	__syncwarp();
	((uint4 *)out)[l] = *(uint4 *)s[l];
	((uint4 *)turned)[l] = *(uint4 *)u[l];
}
#endif
