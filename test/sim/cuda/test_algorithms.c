/* test_algorithms.c - tests CUDA kernels of hashes, transforms, solvers, searches, neural layers. */
#include "test/sim/cuda/cuda.h"

#define EPS 0x1p-24     /* half an ulp of 1 in f32 */

static void
keys(Run *r)
{
	r->a[0].in.u[0] = 0x12345678;
	r->a[0].in.u[1] = 0x9abcdef0;
}

static void
philox(Run *r)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint64_t k0 = 0x12345678, k1 = 0x9abcdef0, c[4] = { i, 0, i * 7, 1 };
		for (int k = 0; k < 10; k++) {
			uint64_t a = c[0] * 0xD2511F53u, b = c[2] * 0xCD9E8D57u;
			uint64_t n[4] = { b >> 32 ^ c[1] ^ k0, b, a >> 32 ^ c[3] ^ k1, a };
			for (int j = 0; j < 4; j++)
				c[j] = n[j] & 0xffffffff;
			k0 = (k0 + 0x9E3779B9) & 0xffffffff;
			k1 = (k1 + 0xBB67AE85) & 0xffffffff;
		}
		for (unsigned j = 0; j < 4; j++)
			same(r, 1, 4 * i + j, (int64_t)c[j]);
	}
}

/* The constants of SHA-256 by their definition: fractions of the roots of the first primes. */
static uint32_t
fraction(long double v)
{
	return (uint32_t)((v - floorl(v)) * 4294967296.0L);
}

static uint32_t
right(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void
sha_block(uint32_t h[8], const uint8_t *p, const uint32_t *k)
{
	uint32_t w[64], a[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
		       p[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] + (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(a, h, sizeof a);
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = right(a[4], 6) ^ right(a[4], 11) ^ right(a[4], 25), s0 = right(a[0], 2);
		uint32_t t1 = a[7] + s1 + ((a[4] & a[5]) | (~a[4] & a[6])) + k[i] + w[i];
		s0 ^= right(a[0], 13) ^ right(a[0], 22);
		s0 += (a[0] & a[1]) | (a[2] & (a[0] | a[1]));
		memmove(a + 1, a, 7 * sizeof *a);
		a[4] += t1;
		a[0] = t1 + s0;
	}
	for (int i = 0; i < 8; i++)
		h[i] += a[i];
}

static void
sha256(Run *r)
{
	uint32_t k[64], start[8], n = 0;

	for (int p = 2; n < 64; p++) {
		bool prime = true;
		for (int d = 2; d * d <= p; d++)
			prime &= p % d != 0;
		if (!prime)
			continue;
		k[n] = fraction(cbrtl(p));
		if (n < 8)
			start[n] = fraction(sqrtl(p));
		n++;
	}
	for (unsigned t = 0; t < 32; t++) {
		uint32_t h[8], len = r->a[1].in.u[t];
		uint8_t text[256] = { 0 };
		unsigned blocks = (len + 9 + 63) / 64;
		memcpy(text, r->a[0].in.b + t * 160, len);
		text[len] = 0x80;
		text[blocks * 64 - 2] = (uint8_t)(len * 8 >> 8);
		text[blocks * 64 - 1] = (uint8_t)(len * 8);
		memcpy(h, start, sizeof h);
		for (unsigned b = 0; b < blocks; b++)
			sha_block(h, text + 64 * b, k);
		for (unsigned i = 0; i < 8; i++)
			same(r, 2, t * 8 + i, h[i]);
	}
}

static void
mandelbrot(Run *r)
{
	enum { W = 50, H = 30 };

	for (int p = 0; p < W * H; p++) {
		int64_t one = 1 << 24, cr = 3 * one * (p % W) / W - 2 * one, ci = 2 * one * (p / W) / H - one;
		int64_t a = 0, b = 0;
		int n = 0;
		for (; n < 60 && ((a * a + b * b) >> 24) < 4 * one; n++) {
			int64_t t = ((a * a - b * b) >> 24) + cr;
			b = ((2 * a * b) >> 24) + ci;
			a = t;
		}
		same(r, 0, (size_t)p, n);
	}
}

static void
n_body(Run *r)
{
	for (unsigned i = 0; i < 128; i++)
		for (unsigned c = 0; c < 3; c++) {
			double f = 0, mag = 0;
			for (unsigned k = 0; k < 128; k++) {
				double d[3], q = 0.01, s;
				for (unsigned j = 0; j < 3; j++) {
					d[j] = before(r, 0, 4 * k + j) - before(r, 0, 4 * i + j);
					q += d[j] * d[j];
				}
				s = d[c] * before(r, 0, 4 * k + 3) / (q * sqrt(q));
				f += s;
				mag += fabs(s);
			}
			/* a term errs by some 20 roundings (rsqrt's 2 ulps thrice), the sum by 128 */
			near(r, 1, 3 * i + c, f, (20 + 128) * mag * EPS);
		}
}

static void
fft256(Run *r)
{
	const long double pi = 3.14159265358979323846264338328L;

	for (unsigned b = 0; b < 2; b++)
		for (unsigned k = 0; k < 256; k++) {
			double re = 0, im = 0;
			for (unsigned j = 0; j < 256; j++) {
				size_t at = 2 * (b * 256 + j);
				double x = before(r, 0, at), y = before(r, 0, at + 1);
				long double w = -2 * pi * (j * k % 256) / 256;
				double c = (double)cosl(w), s = (double)sinl(w);
				re += x * c - y * s;
				im += x * s + y * c;
			}
			/* 8 levels of 4 roundings and factors 3 ulps off, each of at most 256 * sqrt(2) */
			near(r, 1, 2 * (b * 256 + k), re, 8 * 8 * 362 * EPS);
			near(r, 1, 2 * (b * 256 + k) + 1, im, 8 * 8 * 362 * EPS);
		}
}

/* The residual, not the solution: elimination with pivots keeps it small (growth is below 2^15, in practice
 * below 10). */
static void
solve16(Run *r)
{
	for (unsigned s = 0; s < 4; s++)
		for (unsigned i = 0; i < 16; i++) {
			double sum = 0, mag = 0;
			for (unsigned k = 0; k < 16; k++) {
				sum += before(r, 0, s * 256 + i * 16 + k) * after(r, 2, s * 16 + k);
				mag += fabs(after(r, 2, s * 16 + k));
			}
			sum -= before(r, 1, s * 16 + i);
			ck_assert_msg(fabs(sum) <= 16 * 16 * 10 * (mag + 1) * 0x1p-53,
			              "system %u row %u: residual %g", s, i, sum);
			near(r, 2, s * 16 + i, after(r, 2, s * 16 + i), 0);
		}
}

static void
needleman_wunsch(Run *r)
{
	enum { L = 100 };

	for (unsigned p = 0; p < 3; p++) {
		const uint8_t *a = r->a[0].in.b + p * L, *b = r->a[1].in.b + p * L;
		static int m[L + 1][L + 1];
		for (int i = 0; i <= L; i++)
			for (int j = 0; j <= L; j++) {
				int v = -2 * (i + j);
				if (i && j)
					v = m[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -1);
				if (i && j && m[i - 1][j] - 2 > v)
					v = m[i - 1][j] - 2;
				if (i && j && m[i][j - 1] - 2 > v)
					v = m[i][j - 1] - 2;
				m[i][j] = v;
			}
		same(r, 2, p, m[L][L]);
	}
}

static void
life(Run *r)
{
	uint32_t s[2][32];

	memcpy(s[0], r->a[0].in.u, sizeof s[0]);
	for (unsigned k = 0; k < 9; k++)
		for (unsigned y = 0; y < 32; y++) {
			uint32_t row = 0;
			for (unsigned x = 0; x < 32; x++) {
				unsigned n = 0;
				for (unsigned d = 0; d < 9; d++) {
					unsigned across = (x + d % 3 + 31) & 31, down = (y + d / 3 + 31) & 31;
					n += d != 4 && s[k & 1][down] >> across & 1;
				}
				row |= (uint32_t)(n == 3 || (n == 2 && s[k & 1][y] >> x & 1)) << x;
			}
			s[1 - (k & 1)][y] = row;
		}
	for (unsigned y = 0; y < 32; y++)
		same(r, 1, y, s[1][y]);
}

static void
softmax(Run *r)
{
	enum { L = 300 };

	for (unsigned b = 0; b < 3; b++) {
		double most = -INFINITY, sum = 0;
		for (unsigned i = 0; i < L; i++)
			most = fmax(most, before(r, 0, b * L + i));
		for (unsigned i = 0; i < L; i++)
			sum += exp(before(r, 0, b * L + i) - most);
		for (unsigned i = 0; i < L; i++) {
			double v = exp(before(r, 0, b * L + i) - most) / sum;
			/* exponents below 32 lose 2^-20; exp 2 ulps; a sum of 300 */
			near(r, 1, b * L + i, v, v * (r->fast ? 0x1p-14 : 0x1p-18 + L * EPS));
		}
	}
}

static void
layer_norm(Run *r)
{
	enum { L = 128 };

	for (unsigned b = 0; b < 2; b++) {
		double mean = 0, var = 0;
		for (unsigned i = 0; i < L; i++)
			mean += before(r, 0, b * L + i) / L;
		for (unsigned i = 0; i < L; i++)
			var += pow(before(r, 0, b * L + i) - mean, 2) / L;
		for (unsigned i = 0; i < L; i++) {
			double v = (before(r, 0, b * L + i) - mean) / sqrt(var + 1e-5);
			double w = v * before(r, 1, i) + before(r, 2, i);
			near(r, 3, b * L + i, w, ulp(w, 11) * 0.5 + 2 * L * 4 * EPS);
		}
	}
}

static void
attention(Run *r)
{
	for (unsigned row = 0; row < 64; row++) {
		double p[64], most = -INFINITY, sum = 0;
		for (unsigned j = 0; j <= row; j++) {
			p[j] = 0;
			for (unsigned d = 0; d < 32; d++)
				p[j] += before(r, 0, row * 32 + d) * before(r, 1, j * 32 + d) * 0.25;
			most = fmax(most, p[j]);
		}
		for (unsigned j = 0; j <= row; j++)
			sum += p[j] = exp(p[j] - most);
		for (unsigned d = 0; d < 32; d++) {
			double v = 0;
			for (unsigned j = 0; j <= row; j++)
				v += p[j] / sum * before(r, 2, j * 32 + d);
			/* scores below 8, of 32 terms: 2^-16; 64 steps of a few roundings; values below 1 */
			near(r, 3, row * 32 + d, v, r->fast ? 0x1p-12 : 0x1p-15 + 64 * 6 * EPS);
		}
	}
}

enum { NODES = 200, DEGREE = 3 };

static void
graph(Run *r)
{
	for (unsigned v = 0; v <= NODES; v++)
		put(r, 0, v, v * DEGREE);
	for (unsigned e = 0; e < NODES * DEGREE; e++)   /* edges to near numbers: many levels */
		put(r, 1, e, (e / DEGREE + mix(e) % 12) % NODES);
	put(r, 2, 0, 0);
}

static void
bfs(Run *r)
{
	int32_t level[NODES];
	bool changed = true;

	for (unsigned v = 0; v < NODES; v++)
		level[v] = v ? 1 << 20 : 0;
	while (changed) {               /* shortest paths by relaxing all edges */
		changed = false;
		for (unsigned e = 0; e < NODES * DEGREE; e++) {
			int32_t from = level[e / DEGREE], *to = &level[r->a[1].in.i[e]];
			if (from + 1 < *to) {
				*to = from + 1;
				changed = true;
			}
		}
	}
	for (unsigned v = 0; v < NODES; v++)
		same(r, 2, v, level[v] == 1 << 20 ? -1 : level[v]);
}

/* Distances that are equal but for rounding may go either way: the choice must be the best within that. */
static void
k_means(Run *r)
{
	int32_t count[10] = { 0 };

	for (unsigned i = 0; i < r->a[2].n; i++) {
		double d[10], best = INFINITY;
		int32_t at = r->a[2].out.i[i];
		for (unsigned k = 0; k < 10; k++) {
			d[k] = pow(before(r, 0, 2 * i) - before(r, 1, 2 * k), 2) +
			       pow(before(r, 0, 2 * i + 1) - before(r, 1, 2 * k + 1), 2);
			best = fmin(best, d[k]);
		}
		ck_assert_msg(at >= 0 && at < 10 && d[at] <= best + 64 * EPS, "point %u: %d", i, at);
		count[at]++;
		same(r, 2, i, at);
	}
	for (unsigned k = 0; k < 10; k++)
		same(r, 3, k, count[k]);
}

static const Case cases[] = {
	KX(philox, 75, 2, 32, "=s8 >u256", keys, 0, 0),
	K1(sha256, 75, 1, 32, "<b5120 <i32:0,150 >u256 =i160"),
	K2(mandelbrot, 75, 2, 4, 32, 8, ">i1500 =i50 =i30 =i60"),
	K1(n_body, 75, 2, 64, "<f512 >f384 =i128"),
	K1(fft256, 75, 2, 128, "<f1024 >f1024"),
	K1(solve16, 75, 2, 64, "<d1024 <d64 >d64"),
	K1(needleman_wunsch, 75, 3, 128, "<b300:65,68 <b300:65,68 >i3 =i100"),
	K1(life, 75, 1, 32, "<u32 >u32 =i9"),
	K1(softmax, 75, 3, 96, "<f900:-16,16 >f900 =i300"),
	K1(layer_norm, 75, 2, 64, "<h256:-3,3 <f128 <f128 >h256 =i128"),
	K1(attention, 75, 1, 64, "<f2048 <f2048 <f2048 >f2048 =i64 =f0.25"),
	KX(bfs, 75, 1, 64, "<i201:0 <i600:0 +i200:-1 =i200", graph, 0, 0),
	KX(k_means, 75, 4, 64, "<f400 <f20 >i200 +i10:0 =i200 =i10", NULL, 80, 0),
};

static const Variant variants[] = {
	{ 80, "-G" }, { 75, "--use_fast_math" }, { 90, "--use_fast_math -lineinfo" },
	{ 89, "-Xcicc -O1 -rdc=true" },
};

CUDA_PROGRAM("algorithms.cu", 75);
