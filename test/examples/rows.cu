// What examples/ of elementwise and row kernels are compared with: the same work by hand, 16 bytes an access where N
// allows.  run-rows.sh counts the instructions of both.
#include <cuda_fp16.h>

typedef long long i64;

__device__ float warp_sum(float x)
{
	for (int i = 16; i; i /= 2)
		x += __shfl_xor_sync(~0u, x, i);
	return x;
}

__device__ float warp_max(float x)
{
	for (int i = 16; i; i /= 2)
		x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
	return x;
}

// 1024 elements a block of 128 threads
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, i64 n)
{
	i64 i = (i64)blockIdx.x * 1024 + threadIdx.x * 4;

	if (i + 512 + 4 <= n) {
		float4 x0 = *(const float4 *)(a + i), x1 = *(const float4 *)(a + i + 512);
		float4 y0 = *(const float4 *)(b + i), y1 = *(const float4 *)(b + i + 512);

		*(float4 *)(c + i) = make_float4(x0.x + y0.x, x0.y + y0.y, x0.z + y0.z, x0.w + y0.w);
		*(float4 *)(c + i + 512) = make_float4(x1.x + y1.x, x1.y + y1.y, x1.z + y1.z, x1.w + y1.w);
	} else {
		for (int j = 0; j < 8; j++)
			if (i + j / 4 * 512 + j % 4 < n)
				c[i + j / 4 * 512 + j % 4] = a[i + j / 4 * 512 + j % 4] + b[i + j / 4 * 512 + j % 4];
	}
}

// a row for each of four warps, N % 4 == 0: running maximum and sum, then the row once more
extern "C" __global__ void softmax(const float *x, float *y, i64 m, i64 n)
{
	i64 row = (i64)blockIdx.x * 4 + threadIdx.x / 32;
	float top = -INFINITY, total = 0;

	if (row >= m)
		return;
	x += row * n;
	y += row * n;
	for (i64 i = threadIdx.x % 32 * 4; i < n; i += 128) {
		float4 v = *(const float4 *)(x + i);
		float t = fmaxf(top, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));

		total = total * __expf(top - t) + __expf(v.x - t) + __expf(v.y - t) + __expf(v.z - t) + __expf(v.w - t);
		top = t;
	}
	float most = warp_max(top);
	float r = warp_sum(total * __expf(top - most));
	for (i64 i = threadIdx.x % 32 * 4; i < n; i += 128) {
		float4 v = *(const float4 *)(x + i);

		*(float4 *)(y + i) = make_float4(__expf(v.x - most) / r, __expf(v.y - most) / r, __expf(v.z - most) / r,
		                                 __expf(v.w - most) / r);
	}
}

// a row of up to 1024 for each of four warps, N % 4 == 0
extern "C" __global__ void layer_norm(const float *x, const float *gamma, const float *beta, float *y, float eps, i64 m, i64 n)
{
	i64 row = (i64)blockIdx.x * 4 + threadIdx.x / 32;
	int lane = threadIdx.x % 32 * 4;
	float4 v[8];
	float sum = 0, var = 0;

	if (row >= m)
		return;
	for (int j = 0; j < 8; j++) {
		v[j] = lane + j * 128 < n ? *(const float4 *)(x + row * n + lane + j * 128) : make_float4(0, 0, 0, 0);
		sum += (v[j].x + v[j].y) + (v[j].z + v[j].w);
	}
	float mean = warp_sum(sum) / n;
	for (int j = 0; j < 8; j++) {
		v[j] = make_float4(v[j].x - mean, v[j].y - mean, v[j].z - mean, v[j].w - mean);
		if (lane + j * 128 < n)
			var += (v[j].x * v[j].x + v[j].y * v[j].y) + (v[j].z * v[j].z + v[j].w * v[j].w);
	}
	float scale = rsqrtf(warp_sum(var) / n + eps);
	for (int j = 0; j < 8; j++)
		if (lane + j * 128 < n) {
			float4 g = *(const float4 *)(gamma + lane + j * 128), b = *(const float4 *)(beta + lane + j * 128);

			*(float4 *)(y + row * n + lane + j * 128) =
				make_float4(v[j].x * scale * g.x + b.x, v[j].y * scale * g.y + b.y, v[j].z * scale * g.z + b.z,
			                    v[j].w * scale * g.w + b.w);
		}
}

union half8 {
	uint4 all;
	__half2 h[4];
	__device__ half8() : all(make_uint4(0, 0, 0, 0)) {}
};

// a row of up to 4096 for 128 threads, N % 8 == 0
extern "C" __global__ void rms_norm(const __half *x, const __half *gain, __half *y, float eps, i64 m, i64 n)
{
	__shared__ float part[4];
	i64 row = blockIdx.x;
	int at = threadIdx.x * 8;
	half8 v[4];
	float sum = 0;

	for (int j = 0; j < 4; j++) {
		if (at + j * 1024 < n)
			v[j].all = *(const uint4 *)(x + row * n + at + j * 1024);
		for (int i = 0; i < 4; i++) {
			float2 f = __half22float2(v[j].h[i]);

			sum += f.x * f.x + f.y * f.y;
		}
	}
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	float scale = rsqrtf((part[0] + part[1] + part[2] + part[3]) / n + eps);
	for (int j = 0; j < 4; j++)
		if (at + j * 1024 < n) {
			half8 g, r;

			g.all = *(const uint4 *)(gain + at + j * 1024);
			for (int i = 0; i < 4; i++) {
				float2 f = __half22float2(v[j].h[i]), k = __half22float2(g.h[i]);

				r.h[i] = __floats2half2_rn(f.x * scale * k.x, f.y * scale * k.y);
			}
			*(uint4 *)(y + row * n + at + j * 1024) = r.all;
		}
}

// 1024 elements a block of 128 threads
extern "C" __global__ void widen(const __half *x, float *y, i64 n)
{
	i64 i = ((i64)blockIdx.x * 128 + threadIdx.x) * 8;
	half8 v;

	if (i + 8 <= n) {
		v.all = *(const uint4 *)(x + i);
		for (int j = 0; j < 2; j++) {
			float2 a = __half22float2(v.h[j * 2]), b = __half22float2(v.h[j * 2 + 1]);

			*(float4 *)(y + i + j * 4) = make_float4(a.x, a.y, b.x, b.y);
		}
	} else {
		for (; i < n; i++)
			y[i] = __half2float(x[i]);
	}
}

extern "C" __global__ void narrow(const float *x, __half *y, i64 n)
{
	i64 i = ((i64)blockIdx.x * 128 + threadIdx.x) * 8;
	half8 v;

	if (i + 8 <= n) {
		for (int j = 0; j < 2; j++) {
			float4 f = *(const float4 *)(x + i + j * 4);

			v.h[j * 2] = __floats2half2_rn(f.x, f.y);
			v.h[j * 2 + 1] = __floats2half2_rn(f.z, f.w);
		}
		*(uint4 *)(y + i) = v.all;
	} else {
		for (; i < n; i++)
			y[i] = __float2half(x[i]);
	}
}

// 16 tokens of a head of 128 for 128 threads: 8 lanes a token, each with 8 elements of both halves
extern "C" __global__ void rotary(const __half *q, const __half *k, const __half *gq, const __half *gk, const int *pos,
                                  const float *cos, const float *sin, __half *oq, __half *ok, float eps, i64 t, i64 hq,
                                  i64 hk)
{
	i64 token = (i64)blockIdx.x * 16 + threadIdx.x / 8, head = blockIdx.y;
	int at = threadIdx.x % 8 * 8;
	const __half *x = head < hq ? q + (token * hq + head) * 128 : k + (token * hk + head - hq) * 128;
	const __half *gain = head < hq ? gq : gk;
	__half *y = head < hq ? oq + (token * hq + head) * 128 : ok + (token * hk + head - hq) * 128;
	float c[8], s[8], sum = 0;
	half8 v[2], g[2], r[2];

	if (token >= t)
		return;
	for (int i = 0; i < 2; i++) {
		*(float4 *)(c + i * 4) = *(const float4 *)(cos + (i64)pos[token] * 64 + at + i * 4);
		*(float4 *)(s + i * 4) = *(const float4 *)(sin + (i64)pos[token] * 64 + at + i * 4);
		v[i].all = *(const uint4 *)(x + at + i * 64);
		g[i].all = *(const uint4 *)(gain + at + i * 64);
		for (int j = 0; j < 4; j++) {
			float2 f = __half22float2(v[i].h[j]);

			sum += f.x * f.x + f.y * f.y;
		}
	}
	for (int i = 4; i; i /= 2)
		sum += __shfl_xor_sync(__activemask(), sum, i);
	float scale = rsqrtf(sum / 128 + eps);
	for (int j = 0; j < 4; j++) {
		float2 a = __half22float2(v[0].h[j]), b = __half22float2(v[1].h[j]);
		float2 ga = __half22float2(g[0].h[j]), gb = __half22float2(g[1].h[j]);

		a = make_float2(a.x * scale * ga.x, a.y * scale * ga.y);
		b = make_float2(b.x * scale * gb.x, b.y * scale * gb.y);
		r[0].h[j] = __floats2half2_rn(a.x * c[j * 2] - b.x * s[j * 2], a.y * c[j * 2 + 1] - b.y * s[j * 2 + 1]);
		r[1].h[j] = __floats2half2_rn(b.x * c[j * 2] + a.x * s[j * 2], b.y * c[j * 2 + 1] + a.y * s[j * 2 + 1]);
	}
	for (int i = 0; i < 2; i++)
		*(uint4 *)(y + at + i * 64) = r[i].all;
}
