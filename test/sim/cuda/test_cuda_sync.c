/* test_cuda_sync.c - tests CUDA kernels with warp primitives, barriers, atomics, locks and queues. */
#include "test/sim/cuda/cuda.h"

static void
votes(Run *r)
{
	const int32_t *v = r->a[0].in.i;

	for (unsigned t = 0; t < 64; t++) {
		unsigned w = t & ~31u, lane = t & 31, k;
		uint32_t odd = 0, match = 0, two = 0, four[2] = { 0, 0 }, fours = 0, same2 = 0;
		int any = 0, all = 1, first = -1;
		for (k = 0; k < 32; k++) {
			int x = v[w + k];
			odd |= (uint32_t)(x & 1) << k;
			match |= (uint32_t)(x % 5 == v[t] % 5) << k;
			any |= x > 95;
			all &= x >= 0;
			if (x & 2) {
				two |= 1u << k;
				first = first < 0 ? x : first;
			} else {
				four[x & 1] |= (uint32_t)(x >> 2 & 1) << k;
			}
		}
		fours = four[v[t] & 1];
		same2 = (uint32_t)first + (uint32_t)__builtin_popcount(two);
		same(r, 1, t, odd);
		same(r, 1, 64 + t, any * 2 + all);
		same(r, 1, 128 + t, match);
		same(r, 1, 192 + t, 0x100000000);
		same(r, 1, 256 + t, v[w + ((uint32_t)v[t] & 31)]);
		same(r, 1, 320 + t, v[lane % 8 >= 3 ? t - 3 : t]);
		same(r, 1, 384 + t, v[lane % 16 < 11 ? t + 5 : t]);
		same(r, 1, 448 + t, v[t ^ 9]);
		same(r, 1, 512 + t, v[t] & 2 ? same2 : fours);
		same(r, 1, 576 + t, 2 * v[w + 31 - lane]);
	}
}

static void
warp_reduce(Run *r)
{
	const int32_t *v = r->a[0].in.i;

	for (unsigned t = 0; t < 64; t++) {
		int32_t least = INT32_MAX;
		uint32_t sum = 0, most = 0, and = ~0u, or = 0, xor = 0;
		for (unsigned k = t & ~31u; k < (t & ~31u) + 32; k++) {
			sum += (uint32_t)v[k];
			and &= (uint32_t)v[k] | 3;
			xor ^= (uint32_t)v[k];
			if ((k ^ t) & 16)
				continue;
			least = v[k] < least ? v[k] : least;
			most = (uint32_t)v[k] > most ? (uint32_t)v[k] : most;
			or |= (uint32_t)v[k] & 0xf0f0;
		}
		const uint32_t want[6] = { sum, (uint32_t)least, most, and, or, xor };
		for (unsigned k = 0; k < 6; k++)
			same(r, 1, k * 64 + t, want[k]);
	}
}

static void
partitions(Run *r)
{
	const int32_t *v = r->a[0].in.i;

	for (unsigned t = 0; t < 64; t++) {
		int rank = 0, size = 0, first = -1, sum = 0;
		for (unsigned k = t & ~31u; k < (t & ~31u) + 32; k++) {
			if (v[k] % 3) {
				first = first < 0 ? v[k] : first;
				size++;
				rank += k < t;
			}
			sum += v[k] % 4 == v[t] % 4 ? v[k] : 0;
		}
		same(r, 1, t, v[t] % 3 ? rank * 1000 + size * 10000 + first % 1000 : -1);
		same(r, 2, t, sum);
	}
}

static int
by_value(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

static void
warp_aggregated(Run *r)
{
	int n = 0;

	for (unsigned i = 0; i < r->a[0].n; i++)
		n += r->a[0].in.i[i] > 0;
	same(r, 1, 0, n);
	qsort(r->a[2].out.i, (size_t)n, 4, by_value);
	n = 0;
	for (unsigned i = 0; i < r->a[0].n; i++)
		if (r->a[0].in.i[i] > 0)
			same(r, 2, (size_t)n++, i);
	for (; n < (int)r->a[2].n; n++)
		same(r, 2, (size_t)n, -1);
}

static void
named_barriers(Run *r)
{
	for (unsigned t = 0; t < 64; t++) {
		uint32_t sum = 0;
		for (unsigned k = 0; k < 9; k++)
			sum += 3 * (uint32_t)r->a[0].in.i[k * 64 + (t + 32 + k) % 64];
		same(r, 1, t, (int32_t)sum);
	}
}

static void
block_votes(Run *r)
{
	int count = 0, or = 0, and = 1;

	for (unsigned t = 0; t < 128; t++) {
		count += r->a[0].in.i[t] % 7 == 0;
		or |= r->a[0].in.i[t] > 990;
		and &= r->a[0].in.i[t] >= 0;
	}
	for (unsigned t = 0; t < 128; t++)
		same(r, 1, t, count * 4 + or * 2 + and);
}

/* What all_atomics leaves of eight words, in the arithmetic of 64 bits. */
static void
all_atomics(uint64_t a[8], const int32_t *v, unsigned n, bool sign, unsigned bits)
{
	uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;

	for (unsigned i = 0; i < n; i++) {
		uint64_t x = (uint64_t)(int64_t)v[i] & mask;
		a[0] += x;
		if (sign ? (int32_t)x < (int32_t)a[1] : x < a[1])
			a[1] = x;
		if (sign ? (int32_t)x > (int32_t)a[2] : x > a[2])
			a[2] = x;
		a[3] &= x | 1;
		a[4] |= x;
		a[5] ^= x;
	}
	a[6] = a[6] ? a[6] : 77;
	a[7] = 5;
}

static void
atomics(Run *r)
{
	enum { BLOCKS = 3, THREADS = 64 };
	uint64_t a[3][8];
	double f = 0, d = 0;
	int64_t least = 0, most = 0;
	const int32_t *v = r->a[0].in.i;

	for (unsigned k = 0; k < 8; k++) {
		a[0][k] = r->a[1].in.u[k];
		a[1][k] = r->a[2].in.u[k];
		a[2][k] = r->a[3].in.q[k];
	}
	all_atomics(a[0], v, THREADS, true, 32);
	all_atomics(a[1], v, BLOCKS * THREADS, false, 32);
	all_atomics(a[2], v, BLOCKS * THREADS, false, 64);
	for (unsigned k = 0; k < 8; k++) {
		same(r, 1, k, r->a[1].in.i[k]);
		same(r, 1, 8 + k, (int64_t)a[0][k]);
		same(r, 2, k, (int64_t)a[1][k]);
		same(r, 3, k, (int64_t)a[2][k]);
	}
	for (unsigned i = 0; i < BLOCKS * THREADS; i++) {
		f += v[i] & 255;
		d += v[i];
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	same(r, 2, 8, BLOCKS * THREADS + r->a[2].in.u[8]);
	for (unsigned k = 9; k < 9 + BLOCKS; k++)
		same(r, 2, k, (int64_t)r->a[2].in.u[k] - 2 * THREADS);
	same(r, 4, 0, least * (1 << 20));
	same(r, 4, 1, most * (1 << 20));
	near(r, 5, 0, f, 0);            /* below 2^24: exact in any order */
	near(r, 6, 0, d, 0);
	same(r, 7, 0, BLOCKS * THREADS % 11);
	same(r, 7, 1, (7 - BLOCKS * THREADS % 7) % 7);
}

static void
cas_loops(Run *r)
{
	float most = r->a[1].in.f[0];
	uint64_t product = 1;

	for (unsigned i = 0; i < r->a[0].n; i++) {
		most = fmaxf(most, r->a[0].in.f[i]);
		product *= 2 * i + 3;
	}
	near(r, 1, 0, (double)most, 0);
	same(r, 2, 0, (int64_t)product);
}

static void locks(Run *r) { same(r, 0, 0, 4 * 64 * 2); }

static void
ring(Run *r)
{
	int v = 1;

	for (int b = 0; b < 12; b++) {
		same(r, 0, (size_t)b, v);
		v = v * 3 + b;
	}
}

static void ticket_lock(Run *r) { same(r, 0, 0, 255); }

static void
one_item(Run *r)
{
	put(r, 0, 1, 1);        /* the tail */
	put(r, 0, 2, 1);        /* what is pending */
	put(r, 1, 0, 100);
}

static void
halve(int32_t *leaves, int v)
{
	leaves[v]++;
	if (v / 2 > 3) {
		halve(leaves, v / 2);
		halve(leaves, v - v / 2);
	}
}

/* The order is any; the items are those that halving makes. */
static void
persistent_queue(Run *r)
{
	int32_t want[101] = { 0 }, n = 0, sum = 0;
	unsigned at = 0;

	halve(want, 100);
	for (int v = 0; v <= 100; v++) {
		n += want[v];
		sum += v * want[v];
	}
	qsort(r->a[2].out.i, (size_t)n, 4, by_value);
	for (int v = 0; v <= 100; v++)
		for (int k = 0; k < want[v]; k++)
			same(r, 2, at++, v);
	for (; at < r->a[2].n; at++)
		same(r, 2, at, 0);
	same(r, 0, 0, n);
	same(r, 0, 1, n);
	same(r, 0, 2, 0);
	same(r, 3, 0, sum);
}

static void
grid_barrier(Run *r)
{
	enum { N = 256, ROUNDS = 4 };
	uint32_t *d = r->a[0].in.u;

	for (unsigned i = 0; i < N; i++)
		same(r, 0, i, d[i]);
	for (unsigned k = 0; k < ROUNDS; k++)
		for (unsigned i = 0; i < N; i++) {
			d[(k + 1) * N + i] = d[k * N + (i + 1) % N] + d[k * N + (i + N - 1) % N];
			same(r, 0, (k + 1) * N + i, d[(k + 1) * N + i]);
		}
}

static void
syncwarp_exchange(Run *r)
{
	uint32_t v[128], w[128];
	const uint32_t *in = r->a[0].in.u;

	for (unsigned t = 0; t < 128; t++)
		v[t] = in[t ^ 1] + in[t ^ 31];
	for (unsigned t = 0; t < 128; t++)
		w[t] = v[t] + (t % 32 < 8 ? 2 * v[t ^ 7] : 0);
	for (unsigned t = 0; t < 128; t++)
		same(r, 1, t, w[(t & ~31u) | (t * 5 & 31)]);
}

static void
wide_tiles(Run *r)
{
	const int32_t *v = r->a[0].in.i;

	for (unsigned t = 0; t < 256; t++) {
		int sum = 0;
		for (unsigned k = 0; k < 64; k++)
			sum += v[t / 64 * 64 + k];
		same(r, 1, t, sum);
		same(r, 2, t, (int)(t / 64) * 1000000 + v[t / 64 * 64 + 37] * 100 + (int)(t % 64));
	}
}

static void
barrier_phases(Run *r)
{
	uint32_t v[96], box[96];

	memcpy(v, r->a[0].in.u, sizeof v);
	for (unsigned k = 0; k < 7; k++) {
		memcpy(box, v, sizeof v);
		for (unsigned t = 0; t < 96; t++)
			v[t] = v[t] * 5 + k + box[(t + 32 + k) % 96];
	}
	for (unsigned t = 0; t < 96; t++)
		same(r, 1, t, v[t] + v[95]);
}

static void
cache_hints(Run *r)
{
	enum { N = 150 };
	const float *x = r->a[0].in.f;

	for (unsigned i = 0; i < N; i++) {
		float v = x[i] + x[(i + 1) % N] + x[(i + 2) % N] + x[(i + 3) % N] + x[(i + 4) % N];
		near(r, 1, i, (double)v, 0);
		near(r, 1, N + i, (double)(2 * v), 0);
		near(r, 1, 2 * N + i, (double)-v, 0);
		near(r, 1, 3 * N + i, (double)x[i], 0);
	}
}

static const Case cases[] = {
	K1(votes, 75, 1, 64, "<i64:0,99 >u640"),
	K1(warp_reduce, 80, 1, 64, "<i64 >i384"),
	K1(partitions, 75, 1, 64, "<i64:0,9999 >i64 >i64"),
	K1(warp_aggregated, 75, 4, 64, "<i250:-50,50 +i1:0 +i250:-1 =i250"),
	K1(named_barriers, 75, 1, 128, "<i576 >i64 =i9"),
	K1(block_votes, 75, 1, 128, "<i128:0,999 >i128"),
	K1(atomics, 75, 3, 64, "<i192:-100000,100000 +i16:0 +u12:1000 +q8:100 +l2:0 +f1:0 +d1:0 +u2:0"),
	K1(cas_loops, 75, 3, 64, "<f192:0,1 +f1:0 +q1:1"),
	K1(locks, 75, 4, 64, "+i1:0"),
	K1(ring, 75, 12, 32, ">i12"),
	K1(ticket_lock, 75, 1, 256, ">i1"),
	KX(persistent_queue, 75, 5, 64, "+i3:0 <i99:-1 +i99:0 +i1:0", one_item, 0, 0),
	K1(grid_barrier, 75, 4, 64, "+i1280 =i256 =i4"),
	K1(syncwarp_exchange, 75, 1, 128, "<i128 >i128"),
	K1(wide_tiles, 75, 1, 256, "<i256:0,99 >i256 >i256"),
	K1(barrier_phases, 75, 1, 96, "<i96 >i96 =i7"),
	K1(cache_hints, 75, 2, 96, "<f150 >f600 =i150"),
};

static const Variant variants[] = { { 80, "-G" }, { 90, "-Xcicc -O0" } };

CUDA_PROGRAM("sync.cu", 75);
