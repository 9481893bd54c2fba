// algorithms.cu - whole algorithms.
#include <cuda_fp16.h>
#include <stdint.h>
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

// Philox 4x32, 10 rounds: counter in, four random words out.
KERNEL philox(uint2 key, uint4 *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 c = make_uint4(i, 0, i * 7, 1);
	for (int k = 0; k < 10; k++) {
		unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
		unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
		c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
		key.x += 0x9E3779B9u;
		key.y += 0xBB67AE85u;
	}
	out[i] = c;
}

// SHA-256 of one message of 64 * blocks bytes per thread, padding included.
__constant__ unsigned sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };
__device__ unsigned turn(unsigned x, int n) { return __funnelshift_r(x, x, n); }
KERNEL sha256(const unsigned char *text, const int *length, unsigned *digest, int stride)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, n = length[t];
	const unsigned char *p = text + t * stride;
	unsigned h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	int blocks = (n + 9 + 63) / 64;
	for (int b = 0; b < blocks; b++) {
		unsigned w[64];
		for (int i = 0; i < 16; i++) {
			unsigned v = 0;
			for (int k = 0; k < 4; k++) {
				int at = b * 64 + i * 4 + k;
				v = v << 8 | (at < n ? p[at] : at == n ? 0x80 : 0);
			}
			w[i] = v;
		}
		if (b == blocks - 1)
			w[15] = n * 8;
		for (int i = 16; i < 64; i++) {
			unsigned a = w[i - 15], c = w[i - 2];
			w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(c, 17) ^ turn(c, 19) ^ c >> 10);
		}
		unsigned s[8];
		for (int i = 0; i < 8; i++)
			s[i] = h[i];
		for (int i = 0; i < 64; i++) {
			unsigned e = s[4], a = s[0];
			unsigned t1 = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
			unsigned t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
			for (int k = 7; k > 0; k--)
				s[k] = s[k - 1];
			s[4] += t1;
			s[0] = t1 + t2;
		}
		for (int i = 0; i < 8; i++)
			h[i] += s[i];
	}
	for (int i = 0; i < 8; i++)
		digest[t * 8 + i] = h[i];
}

KERNEL mandelbrot(int *out, int width, int height, int limit)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	// fixed point with 24 bits of fraction: exact on any machine
	long long cr = -(2ll << 24) + (3ll << 24) * x / width, ci = -(1ll << 24) + (2ll << 24) * y / height, r = 0, i = 0;
	int n = 0;
	while (n < limit && (r * r + i * i) >> 24 < 4ll << 24) {
		long long t = ((r * r - i * i) >> 24) + cr;
		i = (2 * r * i >> 24) + ci;
		r = t;
		n++;
	}
	out[y * width + x] = n;
}

KERNEL n_body(const float4 *body, float3 *force, int n)
{
	__shared__ float4 tile[64];
	int i = blockIdx.x * 64 + threadIdx.x;
	float4 me = body[i];
	float3 f = make_float3(0, 0, 0);
	for (int base = 0; base < n; base += 64) {
		tile[threadIdx.x] = body[base + threadIdx.x];
		__syncthreads();
#pragma unroll 8
		for (int k = 0; k < 64; k++) {
			float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
			float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[k].w * r * r * r;
			f.x += dx * s;
			f.y += dy * s;
			f.z += dz * s;
		}
		__syncthreads();
	}
	force[i] = f;
}

// A transform of 256 complex points by a block of 128 threads, in place, inputs in reversed order.
KERNEL fft256(const float2 *in, float2 *out)
{
	__shared__ float2 s[256];
	int t = threadIdx.x;
	for (int i = t; i < 256; i += 128)
		s[__brev(i) >> 24] = in[blockIdx.x * 256 + i];
	for (int half = 1; half < 256; half *= 2) {
		int k = t & (half - 1), a = (t - k) * 2 + k, b = a + half;
		float sn, cs;
		sincospif(-(float)k / half, &sn, &cs);
		__syncthreads();
		float2 u = s[a], v = s[b], w = make_float2(v.x * cs - v.y * sn, v.x * sn + v.y * cs);
		s[a] = make_float2(u.x + w.x, u.y + w.y);
		s[b] = make_float2(u.x - w.x, u.y - w.y);
	}
	__syncthreads();
	for (int i = t; i < 256; i += 128)
		out[blockIdx.x * 256 + i] = s[i];
}

// LU with pivots of 16 x 16 systems, one warp each, then the solution.
KERNEL solve16(const double *a, const double *b, double *x)
{
	__shared__ double m[2][16][18];
	int w = threadIdx.x / 32, lane = threadIdx.x % 32, sys = blockIdx.x * 2 + w;
	for (int i = lane; i < 256; i += 32)
		m[w][i / 16][i % 16] = a[sys * 256 + i];
	if (lane < 16)
		m[w][lane][16] = b[sys * 16 + lane];
	__syncwarp();
	for (int k = 0; k < 16; k++) {
		double v = lane >= k && lane < 16 ? fabs(m[w][lane][k]) : -1;
		int at = lane;
		for (int d = 16; d; d /= 2) {
			double ov = __shfl_xor_sync(ALL, v, d);
			int oat = __shfl_xor_sync(ALL, at, d);
			if (ov > v || (ov == v && oat < at)) {
				v = ov;
				at = oat;
			}
		}
		__syncwarp();           // shuffles order no memory: the column has been read
		if (lane <= 16 && at != k) {
			double t = m[w][k][lane];
			m[w][k][lane] = m[w][at][lane];
			m[w][at][lane] = t;
		}
		__syncwarp();
		double pivot = 1 / m[w][k][k];
		for (int i = k + 1; i < 16; i++) {
			double f = m[w][i][k] * pivot;
			__syncwarp();
			if (lane > k && lane <= 16)
				m[w][i][lane] -= f * m[w][k][lane];
			__syncwarp();
		}
	}
	if (lane == 0)
		for (int i = 15; i >= 0; i--) {
			double v = m[w][i][16];
			for (int k = i + 1; k < 16; k++)
				v -= m[w][i][k] * x[sys * 16 + k];
			x[sys * 16 + i] = v / m[w][i][i];
		}
}

// Alignment of two strings: the cells of a diagonal at the same time.
KERNEL needleman_wunsch(const char *a, const char *b, int *score, int n)
{
	__shared__ int diagonal[3][130];
	int t = threadIdx.x, best = 0;
	a += blockIdx.x * n;
	b += blockIdx.x * n;
	for (int d = 0; d <= 2 * n; d++) {
		int *now = diagonal[d % 3], *one = diagonal[(d + 2) % 3], *two = diagonal[(d + 1) % 3];
		int i = t, j = d - t;
		if (i <= n && j >= 0 && j <= n) {
			int v;
			if (i == 0 || j == 0)
				v = -2 * (i + j);
			else
				v = max(two[i - 1] + (a[i - 1] == b[j - 1] ? 3 : -1), max(one[i - 1], one[i]) - 2);
			now[i] = v;
			if (i == n && j == n)
				best = v;
		}
		__syncthreads();
	}
	if (t == n)
		score[blockIdx.x] = best;
}

// Life on a torus, a bit for each cell, 32 cells a word; several steps in shared memory.
KERNEL life(const unsigned *in, unsigned *out, int steps)
{
	__shared__ unsigned s[2][32];
	int y = threadIdx.x, from = 0;
	s[0][y] = in[y];
	__syncthreads();
	for (int k = 0; k < steps; k++) {
		unsigned row[3] = { s[from][(y + 31) & 31], s[from][y], s[from][(y + 1) & 31] }, ones = 0, twos = 0, fours = 0;
		for (int r = 0; r < 3; r++)
			for (int side = 0; side < 3; side++) {
				if (r == 1 && side == 1)
					continue;
				unsigned v = __funnelshift_l(row[r], row[r], side + 31), c1 = ones & v, c2 = twos & c1;
				ones ^= v;
				twos ^= c1;
				fours |= c2;
			}
		s[1 - from][y] = ~fours & twos & (ones | row[1]);
		from = 1 - from;
		__syncthreads();
	}
	out[y] = s[from][y];
}

__device__ float block_sum(float v, float *room)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(ALL, v, d);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		room[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int k = 0; k < blockDim.x / 32; k++)
		v += room[k];
	return v;
}
KERNEL softmax(const float *in, float *out, int n)
{
	__shared__ float room[32], most[32];
	const float *x = in + blockIdx.x * n;
	float m = -INFINITY, sum = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		m = fmaxf(m, x[i]);
	for (int d = 16; d; d /= 2)
		m = fmaxf(m, __shfl_xor_sync(ALL, m, d));
	if (threadIdx.x % 32 == 0)
		most[threadIdx.x / 32] = m;
	__syncthreads();
	for (int k = 0; k < blockDim.x / 32; k++)
		m = fmaxf(m, most[k]);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		sum += expf(x[i] - m);
	sum = block_sum(sum, room);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[blockIdx.x * n + i] = expf(x[i] - m) / sum;
}
KERNEL layer_norm(const __half2 *in, const float2 *weight, const float2 *bias, __half2 *out, int n)
{
	__shared__ float room[32];
	const __half2 *x = in + blockIdx.x * n / 2;
	float sum = 0, var = 0;
	for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
		float2 v = __half22float2(x[i]);
		sum += v.x + v.y;
	}
	float mean = block_sum(sum, room) / n;
	for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
		float2 v = __half22float2(x[i]);
		var += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
	}
	float scale = rsqrtf(block_sum(var, room) / n + 1e-5f);
	for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
		float2 v = __half22float2(x[i]);
		out[blockIdx.x * n / 2 + i] = __floats2half2_rn((v.x - mean) * scale * weight[i].x + bias[i].x,
		                                                (v.y - mean) * scale * weight[i].y + bias[i].y);
	}
}

// Attention with a running maximum: a thread for each query, keys and values by tiles of 32.
KERNEL attention(const float *q, const float *k, const float *v, float *out, int n, float scale)
{
	__shared__ float sk[32][33], sv[32][33];
	float mq[32], acc[32], most = -INFINITY, sum = 0;
	int row = blockIdx.x * 64 + threadIdx.x;
	for (int d = 0; d < 32; d++) {
		mq[d] = q[row * 32 + d] * scale;
		acc[d] = 0;
	}
	for (int base = 0; base < n; base += 32) {
		for (int i = threadIdx.x; i < 1024; i += 64) {
			sk[i / 32][i % 32] = k[base * 32 + i];
			sv[i / 32][i % 32] = v[base * 32 + i];
		}
		__syncthreads();
		for (int j = 0; j < 32 && base + j <= row; j++) {
			float s = 0;
			for (int d = 0; d < 32; d++)
				s += mq[d] * sk[j][d];
			float m = fmaxf(most, s), old = expf(most - m), p = expf(s - m);
			sum = sum * old + p;
			for (int d = 0; d < 32; d++)
				acc[d] = acc[d] * old + p * sv[j][d];
			most = m;
		}
		__syncthreads();
	}
	for (int d = 0; d < 32; d++)
		out[row * 32 + d] = acc[d] / sum;
}

// Breadth-first search, a level for each launch in one block; and the k-means step.
KERNEL bfs(const int *start, const int *edge, int *level, int n)
{
	__shared__ int changed;
	int now = 0;
	do {
		__syncthreads();
		if (threadIdx.x == 0)
			changed = 0;
		__syncthreads();
		for (int v = threadIdx.x; v < n; v += blockDim.x)
			if (((volatile int *)level)[v] == now)
				for (int e = start[v]; e < start[v + 1]; e++)
					if (atomicCAS(&level[edge[e]], -1, now + 1) == -1)
						changed = 1;
		__syncthreads();
		now++;
	} while (changed);
}

KERNEL k_means(const float2 *point, const float2 *centre, int *nearest, int *count, int n, int k)
{
	extern __shared__ float2 c[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	for (int j = threadIdx.x; j < k; j += blockDim.x)
		c[j] = centre[j];
	__syncthreads();
	if (i >= n)
		return;
	float best = 1e30f;
	int at = 0;
	for (int j = 0; j < k; j++) {
		float dx = point[i].x - c[j].x, dy = point[i].y - c[j].y, d = dx * dx + dy * dy;
		if (d < best) {
			best = d;
			at = j;
		}
	}
	nearest[i] = at;
	atomicAdd(&count[at], 1);
}
