// language.cu - what the language has beyond arithmetic: calls of every kind, memory of every kind.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <new>
#define KERNEL extern "C" __global__ void

// Recursion: no inlining can remove it.
__device__ __noinline__ int ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ unsigned hanoi(int n, int from, int to, unsigned *moves)
{
	if (n == 0)
		return 0;
	int via = 3 - from - to;
	unsigned h = hanoi(n - 1, from, via, moves);
	++*moves;
	h = h * 31 + from * 3 + to;
	return h ^ hanoi(n - 1, via, to, moves) * 7;
}
KERNEL recursion(const int *in, int *out, unsigned *path, unsigned *moves, int n)
{
	int i = threadIdx.x;
	unsigned count = 0;
	if (i >= n)
		return;
	out[i] = ackermann(in[i] % 3, in[i] / 3);
	path[i] = hanoi(in[i], i % 3, (i + 1) % 3, &count);
	moves[i] = count;
}

typedef float (*unary)(float);
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float square(float x) { return x * x; }
__device__ __noinline__ float shifted(float x) { return x + 10; }
__device__ __noinline__ float negative(float x) { return -x; }
__device__ unary table_of_functions[4] = { twice, square, shifted, negative };
KERNEL function_pointers(const float *in, const int *which, float *out)
{
	int i = threadIdx.x;
	unary f = table_of_functions[which[i]];         // differs from lane to lane
	out[i] = f(in[i]) + (which[i] & 1 ? square : twice)(0.5f);
}

struct Shape {
	float a;
	__device__ Shape(float a) : a(a) {}
	__device__ virtual float area() const = 0;
	__device__ virtual float scaled(float k) const { return k * area(); }
	__device__ virtual ~Shape() {}
};
struct Square : Shape {
	__device__ Square(float a) : Shape(a) {}
	__device__ float area() const override { return a * a; }
};
struct Rectangle : Shape {
	float b;
	__device__ Rectangle(float a, float b) : Shape(a), b(b) {}
	__device__ float area() const override { return a * b; }
	__device__ float scaled(float k) const override { return k * a + b; }
};
KERNEL virtual_functions(const float *in, float *out)
{
	__shared__ __align__(16) char room[64][32];
	int i = threadIdx.x;
	Shape *s;
	if (i % 3 == 0)
		s = new (room[i]) Square(in[i]);
	else
		s = new (room[i]) Rectangle(in[i], i);
	out[i] = s->area() + s->scaled(3);
}

struct Point { double x; int id; char tag; };
struct Pair { Point p, q; float w[3]; };
__device__ __noinline__ Point middle(Point a, Point b)
{
	Point m = { (a.x + b.x) / 2, a.id ^ b.id, (char)(a.tag + b.tag) };
	return m;
}
__device__ __noinline__ Pair turned(Pair p)
{
	Pair r = { p.q, p.p, { p.w[2], p.w[0], p.w[1] } };
	return r;
}
KERNEL structs(Pair arg, const double *x, double *out, int *ids, float *w)
{
	int i = threadIdx.x;
	Point mine = { x[i], i, (char)(i * 3) };
	Pair p = arg;
	p.p = middle(mine, arg.q);
	p = turned(p);
	out[i] = p.q.x - p.p.x;
	ids[i] = p.q.id * 1000 + p.q.tag;
	w[i] = p.w[i % 3];
}

__constant__ float coefficients[16] = { 1, 2, 4, 8, 16, 32, 64, 128, .5f, .25f, .125f, 3, 5, 7, 9, 11 };
__constant__ struct { short first; int second[3]; const char *text; } record = { -7, { 10, 20, 30 }, "constant text" };
__device__ int counters[4] = { 100, 200, 300, 400 };
KERNEL memories(int shift, const float *in, float *out, int *iout)
{
	extern __shared__ float dynamic[];
	__shared__ int fixed[33];
	int i = threadIdx.x;
	dynamic[i] = in[i] * coefficients[i & 15];
	if (i < 33)
		fixed[i] = i * record.first;
	__syncthreads();
	out[i] = dynamic[(i + shift) % blockDim.x] * coefficients[(i + 3) & 15];
	iout[i] = fixed[32 - i % 33] + record.second[i % 3] + record.text[i % 13] + counters[i & 3];
}

// Arrays that are indexed by what is known at run time live in local memory.
KERNEL local_arrays(const int *in, int *out, int n)
{
	int i = threadIdx.x, a[24], top = 0;
	char seen[10] = {};
	for (int k = 0; k < n; k++) {
		int v = in[i * n + k];
		int at = top++;
		while (at > 0 && a[at - 1] > v) {
			a[at] = a[at - 1];
			at--;
		}
		a[at] = v;
		seen[v % 10]++;
	}
	int sum = 0;
	for (int k = 0; k < n; k++)
		sum = sum * 3 + a[k] * (k + 1);
	for (int k = 0; k < 10; k++)
		sum = sum * 2 + seen[k];
	out[i] = sum;
}

KERNEL jump_table(const int *op, const int *x, int *out)
{
	int i = threadIdx.x, v = x[i];
	switch (op[i]) {
	case 0: v += 5; break;
	case 1: v *= 3; break;
	case 2: v = -v; break;
	case 3: v ^= 0x55;      // and on
	case 4: v <<= 2; break;
	case 5: v = v > 0 ? v / 7 : v % 5; break;
	case 6: v = __popc(v); break;
	case 7: v = v * v; break;
	case 8:
		for (int k = 0; k < 5; k++)
			v = v * 2 + k;
		break;
	case 9: out[i] = 12345; return;
	case 1000: v = 1; break;
	default: v = -1; break;
	}
	out[i] = v;
}

// Loops in branches in loops, with breaks, continues and returns of some lanes.
KERNEL divergence(const unsigned *in, unsigned *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned v = in[i], sum = 0;
	for (int k = 0; k < 20; k++) {
		if (v & 1) {
			if (v % 3 == 0)
				continue;
			for (unsigned j = v % 7; j; j--) {
				sum += j * k;
				if (sum % 11 == 5)
					break;
				if (sum % 1013 == 7) {
					out[i] = sum;
					return;
				}
			}
		} else if (v % 5 == 2) {
			sum ^= v;
			goto halve;
		} else {
			do
				sum = sum * 3 + 1;
			while (sum % 4 && sum < 100000);
		}
		v = v * 1103515245 + 12345;
		continue;
halve:
		v >>= 1;
	}
	out[i] = sum;
}

KERNEL collatz(const unsigned *in, unsigned *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned v = in[i], steps = 0;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v >> 1;
		if (++steps > 1000)
			break;
	}
	out[i] = steps;
}

// A list of what `new` gave; printf of a few; an assertion that holds.
struct Node { int value; Node *next; };
KERNEL heap(const int *in, int *out)
{
	int i = threadIdx.x, n = in[i];
	Node *list = NULL;
	for (int k = 0; k < n; k++) {
		Node *e = new Node;
		if (!e)
			break;
		e->value = k * i;
		e->next = list;
		list = e;
	}
	int *block = (int *)malloc(sizeof(int) * (n + 1));
	int sum = 0;
	assert(block != NULL);
	for (int k = 0; list; k++) {
		Node *e = list;
		block[k] = e->value;
		list = e->next;
		delete e;
	}
	for (int k = 0; k < n; k++)
		sum = sum * 5 + block[k];
	free(block);
	if (i < 2)
		printf("thread %d: %d values, sum %d, %s %5.2f %c %lld\n", i, n, sum, "text", sum * 0.5, 'x', (long long)n << 40);
	out[i] = sum;
}

template <int N> struct Power { static __device__ int of(int x) { return x * Power<N - 1>::of(x); } };
template <> struct Power<0> { static __device__ int of(int) { return 1; } };
template <typename F> __device__ void each(int n, F f)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		f(i);
}
KERNEL lambdas(const int *in, int *out, int n, int k)
{
	auto add = [=](int x) { return x + k; };
	each(n, [&](int i) { out[i] = add(Power<5>::of(in[i] % 10)) - (in[i] > 50 ? k : 0); });
}

// Loads and stores of every width, through vectors, packed structs and bytes.
struct __attribute__((packed)) Packed { uint8_t a; uint16_t b; uint32_t c; };
union Mixed { float f; uint32_t u; uint8_t b[4]; };
KERNEL widths(const uint8_t *in, uint8_t *out, ushort4 *sh, longlong2 *wide)
{
	int i = threadIdx.x;
	const Packed *p = (const Packed *)in;
	Packed v = p[i];
	Mixed m;
	v.a += 1;
	v.b = (uint16_t)(v.b * 3);
	m.u = v.c;
	m.b[i & 3] ^= 0xff;
	v.c = m.u;
	((Packed *)out)[i] = v;
	sh[i] = make_ushort4(v.a, v.b, v.b + 1, (unsigned short)(v.c >> 9));
	wide[i] = make_longlong2((long long)v.c * v.b, -(long long)v.a);
}
