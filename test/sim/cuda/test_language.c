/* test_language.c - tests the CUDA C++ language on the simulator: calls, structs, memory spaces, branches. */
#include "test/sim/cuda/cuda.h"

static int
ackermann(int m, int n)
{
	return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3;     /* closed forms */
}

static uint32_t
hanoi(int n, uint32_t from, uint32_t to)
{
	uint32_t via = 3 - from - to;

	return n == 0 ? 0 : (hanoi(n - 1, from, via) * 31 + from * 3 + to) ^ hanoi(n - 1, via, to) * 7;
}

static void
recursion(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		int v = r->a[0].in.i[i];
		same(r, 1, i, ackermann(v % 3, v / 3));
		same(r, 2, i, hanoi(v, i % 3, (i + 1) % 3));
		same(r, 3, i, (1 << v) - 1);
	}
}

static void
function_pointers(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		float x = r->a[0].in.f[i];
		int k = r->a[1].in.i[i];
		float v = k == 0 ? 2 * x : k == 1 ? x * x : k == 2 ? x + 10 : -x;
		near(r, 2, i, (double)(v + (k & 1 ? 0.25f : 1.0f)), 0);
	}
}

static void
virtual_functions(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		double a = before(r, 0, i), v = i % 3 ? a * i + 3 * a + i : 4 * a * a;
		near(r, 1, i, v, 3 * 130 * 0x1p-24);    /* three roundings of what is below 130 */
	}
}

struct Point { double x; int id; char tag; };
struct Pair { struct Point p, q; float w[3]; };

static void
make_pair(Run *r)
{
	struct Pair p = { { 1.5, 7, 1 }, { -2.25, 0x55, 2 }, { 0.5f, 0.25f, 0.125f } };

	ck_assert_uint_eq(r->a[0].n, sizeof p);
	memcpy(r->a[0].in.any, &p, sizeof p);
}

static void
structs(Run *r)
{
	for (unsigned i = 0; i < r->a[1].n; i++) {
		double m = (before(r, 1, i) - 2.25) / 2;
		near(r, 2, i, m + 2.25, 0);
		same(r, 3, i, ((int)i ^ 0x55) * 1000 + (int8_t)(i * 3 + 2));
		near(r, 4, i, i % 3 == 0 ? 0.125 : i % 3 == 1 ? 0.5 : 0.25, 0);
	}
}

static void
memories(Run *r)
{
	static const float c[16] = { 1, 2, 4, 8, 16, 32, 64, 128, .5f, .25f, .125f, 3, 5, 7, 9, 11 };

	for (unsigned i = 0; i < 96; i++) {
		unsigned j = (i + 5) % 96;
		near(r, 2, i, (double)(r->a[1].in.f[j] * c[j & 15] * c[(i + 3) & 15]), 0);
		int many = 10 + 10 * (int)(i % 3), letter = "constant text"[i % 13];
		int times = 100 + 100 * (int)(i & 3);

		same(r, 3, i, -7 * (int)(32 - i % 33) + many + letter + times);
	}
}

static int
by_value(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

static void
local_arrays(Run *r)
{
	enum { N = 20 };

	for (unsigned i = 0; i < r->a[1].n; i++) {
		int32_t *v = r->a[0].in.i + i * N;
		uint32_t sum = 0, seen[10] = { 0 };
		qsort(v, N, 4, by_value);
		for (unsigned k = 0; k < N; k++) {
			sum = sum * 3 + (uint32_t)v[k] * (k + 1);
			seen[v[k] % 10]++;
		}
		for (unsigned k = 0; k < 10; k++)
			sum = sum * 2 + seen[k];
		same(r, 1, i, sum);
	}
}

static void
jump_table(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		int32_t v = r->a[1].in.i[i], op = r->a[0].in.i[i];
		uint32_t u = (uint32_t)v;
		int64_t want[10] = {
			u + 5, u * 3, 0 - u, (u ^ 0x55) << 2, u << 2, v > 0 ? v / 7 : v % 5,
			__builtin_popcount(u), u * u, u * 32 + 26, 12345,
		};
		same(r, 2, i, op < 10 ? want[op] : -1);
	}
}

static uint32_t
walk(uint32_t v)
{
	uint32_t sum = 0;

	for (uint32_t k = 0; k < 20; k++) {
		if (v % 2 == 0 && v % 5 == 2) {
			sum ^= v;
			v >>= 1;
			continue;
		}
		if (v % 2 == 1) {
			if (v % 3 == 0)
				continue;
			for (uint32_t j = v % 7; j > 0; j--) {
				sum += j * k;
				if (sum % 11 == 5)
					break;
				if (sum % 1013 == 7)
					return sum;
			}
		} else {
			sum = sum * 3 + 1;
			while (sum % 4 != 0 && sum < 100000)
				sum = sum * 3 + 1;
		}
		v = v * 1103515245u + 12345;
	}
	return sum;
}

static void
divergence(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++)
		same(r, 1, i, walk(r->a[0].in.u[i]));
}

static void
collatz(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		uint32_t v = r->a[0].in.u[i], steps = 0;
		for (; v != 1; steps++)
			v = v & 1 ? 3 * v + 1 : v / 2;
		same(r, 1, i, steps);
	}
}

static void
heap(Run *r)
{
	for (uint32_t i = 0; i < r->a[0].n; i++) {
		uint32_t sum = 0;
		for (uint32_t k = r->a[0].in.u[i]; k-- > 0;)
			sum = sum * 5 + k * i;
		same(r, 1, i, sum);
	}
}

static void
lambdas(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++) {
		int x = r->a[0].in.i[i], d = x % 10;
		same(r, 1, i, d * d * d * d * d + 77 - (x > 50 ? 77 : 0));
	}
}

static void
widths(Run *r)
{
	for (unsigned i = 0; i < 64; i++) {
		const uint8_t *p = r->a[0].in.b + 7 * i;
		uint8_t a = (uint8_t)(p[0] + 1);
		uint16_t b = (uint16_t)((p[1] | p[2] << 8) * 3);
		uint32_t c;
		memcpy(&c, p + 3, 4);
		c ^= 0xffu << (i & 3) * 8;
		same(r, 1, 7 * i, a);
		for (unsigned k = 0; k < 2; k++)
			same(r, 1, 7 * i + 1 + k, b >> 8 * k & 255);
		for (unsigned k = 0; k < 4; k++)
			same(r, 1, 7 * i + 3 + k, c >> 8 * k & 255);
		same(r, 2, 4 * i, a);
		same(r, 2, 4 * i + 1, b);
		same(r, 2, 4 * i + 2, (uint16_t)(b + 1));
		same(r, 2, 4 * i + 3, (uint16_t)(c >> 9));
		same(r, 3, 2 * i, (int64_t)c * b);
		same(r, 3, 2 * i + 1, -(int64_t)a);
	}
}

static const Case cases[] = {
	K1(recursion, 75, 1, 32, "<i20:0,8 >i20 >u20 >u20 =i20"),
	K1(function_pointers, 75, 1, 64, "<f64 <i64:0,3 >f64"),
	K1(virtual_functions, 75, 1, 64, "<f64:0,1 >f64"),
	KX(structs, 75, 1, 64, "=s48 <d64 >d64 >i64 >f64", make_pair, 0, 0),
	KX(memories, 75, 1, 96, "=i5 <f96 >f96 >i96", NULL, 96 * 4, 0),
	K1(local_arrays, 75, 1, 40, "<i800:0,999 >i40 =i20"),
	K1(jump_table, 75, 1, 128, "<i128:0,11 <i128:-1000,1000 >i128"),
	K1(divergence, 75, 3, 96, "<u250 >u250 =i250"),
	K1(collatz, 75, 2, 64, "<u100:1,3000 >u100 =i100"),
	K1(heap, 75, 1, 48, "<i48:0,9 >i48"),
	K1(lambdas, 75, 1, 32, "<i100:0,99 >i100 =i100 =i77"),
	K1(widths, 75, 1, 64, "<b448 >b448 >w256 >l128"),
};

static const Variant variants[] = {
	{ 80, "-G" }, { 90, "-Xcicc -O0" }, { 75, "-rdc=true" }, { 89, "-lineinfo" },
};

CUDA_PROGRAM("language.cu", 75);
