// narrow.cu - numbers of 16 and 8 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>
#define KERNEL extern "C" __global__ void

template <typename T> __device__ void arithmetic(const T *a, const T *b, T *out, int n)
{
	int i = threadIdx.x;
	T x = a[i], y = b[i], *o = out + i;
	o[0 * n] = __hadd(x, y);
	o[1 * n] = __hsub(x, y);
	o[2 * n] = __hmul(x, y);
	o[3 * n] = __hfma(x, y, x);
	o[4 * n] = __hmax(x, y);
	o[5 * n] = __hmin(x, y);
	o[6 * n] = __habs(x);
	o[7 * n] = __hneg(y);
	o[8 * n] = __hdiv(x, y);
	o[9 * n] = __hgt(x, y) ? x : y;
	o[10 * n] = hfloor(x);
	o[11 * n] = hrint(y);
}
KERNEL half_arithmetic(const __half *a, const __half *b, __half *out, int n)
{
	int i = threadIdx.x;
	arithmetic(a, b, out, n);
	out[12 * n + i] = __hadd_sat(a[i], b[i]);
	out[13 * n + i] = __hfma_sat(a[i], b[i], b[i]);
	out[14 * n + i] = hsqrt(__habs(a[i]));
}
#if __CUDA_ARCH__ >= 800
KERNEL bfloat_arithmetic(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out, int n)
{
	int i = threadIdx.x;
	arithmetic(a, b, out, n);
	out[12 * n + i] = __hadd_sat(a[i], b[i]);
	out[13 * n + i] = __hfma_sat(a[i], b[i], b[i]);
	out[14 * n + i] = hsqrt(__habs(a[i]));
}
#endif

// Two at once, as packed instructions.
KERNEL half_pairs(const __half2 *a, const __half2 *b, __half2 *out, unsigned *masks, int n)
{
	int i = threadIdx.x;
	__half2 x = a[i], y = b[i], *o = out + i;
	o[0 * n] = __hadd2(x, y);
	o[1 * n] = __hmul2(x, __low2half2(y));
	o[2 * n] = __hfma2(x, y, __lowhigh2highlow(y));
	o[3 * n] = __hmax2(x, __hneg2(y));
	o[4 * n] = __halves2half2(__high2half(x), __low2half(y));
	o[5 * n] = __hsub2(__habs2(x), __float2half2_rn(0.5f));
	o[6 * n] = __floats2half2_rn(__low2float(x) * 3, __high2float(y) / 3);
	masks[i] = __hlt2_mask(x, y) ^ __heq2_mask(x, x);
	masks[n + i] = __hbgt2(x, y) * 2 + __hbeq2(x, x);
}

KERNEL half_functions(const __half *a, __half *out, int n)
{
	int i = threadIdx.x;
	__half x = a[i], m = __habs(x), *o = out + i;
	o[0 * n] = hexp(x);
	o[1 * n] = hexp2(x);
	o[2 * n] = hlog(m);
	o[3 * n] = hlog2(m);
	o[4 * n] = hsin(x);
	o[5 * n] = hcos(x);
	o[6 * n] = hrcp(x);
	o[7 * n] = hrsqrt(m);
}

// Conversions between all of them and to integers, in every rounding mode.
KERNEL conversions(const float *in, __half *h, __nv_bfloat16 *g, int *io, float *back, int n)
{
	int i = threadIdx.x;
	float x = in[i];
	h[0 * n + i] = __float2half_rn(x);
	h[1 * n + i] = __float2half_rz(x);
	h[2 * n + i] = __float2half_ru(x);
	h[3 * n + i] = __float2half_rd(x);
	h[4 * n + i] = __double2half((double)x * 1.0000001);
	h[5 * n + i] = __int2half_rn((int)(x * 100));
	g[0 * n + i] = __float2bfloat16_rn(x);
	g[1 * n + i] = __float2bfloat16_rz(x);
	g[2 * n + i] = __float2bfloat16_ru(x);
	g[3 * n + i] = __float2bfloat16_rd(x);
	__half v = __float2half(x);
	io[0 * n + i] = __half2int_rn(v);
	io[1 * n + i] = __half2int_rz(v);
	io[2 * n + i] = (int)__half2short_rd(v);
	io[3 * n + i] = (int)__half2uint_ru(v);
	back[0 * n + i] = __half2float(v);
	back[1 * n + i] = __bfloat162float(__float2bfloat16(x));
}

// Sums into f16 and bf16 by atomics; all sums are exact.
KERNEL half_atomics(const __half *in, __half *sum, __half2 *pair, __nv_bfloat16 *bsum)
{
	int i = threadIdx.x;
	atomicAdd(sum, in[i]);
	atomicAdd(pair, __halves2half2(in[i], __hneg(in[i])));
	atomicAdd(bsum, __float2bfloat16(__half2float(in[i])));         // a loop of compare-and-swap before sm_90
}

// fp8: by instructions from sm_89 on, by integer code before.
KERNEL fp8_from_float(const float *in, uint8_t *out, uint16_t *pairs, int n)
{
	int i = threadIdx.x;
	float x = in[i];
	out[0 * n + i] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
	out[1 * n + i] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
	out[2 * n + i] = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
	out[3 * n + i] = __nv_fp8_e4m3(x).__x;
	pairs[i] = __nv_cvt_float2_to_fp8x2(make_float2(x, -2 * x), __NV_SATFINITE, __NV_E4M3);
	pairs[n + i] = __nv_cvt_halfraw2_to_fp8x2(__floats2half2_rn(x, x * 0.25f), __NV_SATFINITE, __NV_E5M2);
}
KERNEL fp8_to_float(const uint8_t *in, float *out, __half2 *pairs)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	__nv_fp8_e4m3 a;
	__nv_fp8_e5m2 b;
	a.__x = b.__x = in[i];
	out[i] = (float)a;
	out[256 + i] = (float)b;
	pairs[i] = __half2(__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(in[i] | in[(i + 77) % 256] << 8), __NV_E4M3));
}

// A product of f8 matrices without tensor cores: unpack, multiply, add.
KERNEL fp8_dot(const __nv_fp8x4_e4m3 *a, const __nv_fp8x4_e4m3 *b, float *out, int n)
{
	int row = threadIdx.x;
	float sum = 0;
	for (int k = 0; k < n / 4; k++) {
		float4 x = float4(a[row * (n / 4) + k]), y = float4(b[k]);
		sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
	}
	out[row] = sum;
}

// int8 matrix times vector with dp4a; int4 unpacked by shifts and a magic number.
KERNEL int8_dot(const int *a, const int *x, int *out, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
	for (int k = 0; k < n / 4; k++)
		sum = __dp4a(a[row * (n / 4) + k], x[k], sum);
	out[row] = sum;
}
KERNEL int4_unpack(const unsigned *in, __half2 *out)
{
	int i = threadIdx.x;
	unsigned v = in[i];
	for (int k = 0; k < 4; k++) {
		// 0x6400 is 1024 in f16, whose last place is 1
		unsigned q = (v >> 4 * k & 0x000f000fu) | 0x64006400u;
		out[i * 4 + k] = __hsub2(*(__half2 *)&q, __float2half2_rn(1032));
	}
}
