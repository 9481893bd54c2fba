// Calls of every kind, as nvcc makes them: recursion, pointers to functions, structs by value, virtual
// functions, printf, assert, the device heap.  Expected values are computed by the same functions on the host.
#include <cassert>
#include <cstdio>

#define BOTH __host__ __device__
BOTH int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
BOTH int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }

typedef int op(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ op *table[3] = { add, sub, mul };
__constant__ op *ctable[2] = { mul, add };

struct S {
	int a[5];
	double d;
};
__device__ __noinline__ S change(S s, int k)
{
	s.a[k % 5] += k;
	s.d *= 2;
	return s;
}

__device__ __noinline__ void sort(int *a, int l, int r)
{
	int p = a[(l + r) / 2], i = l, j = r;

	if (l >= r)
		return;
	while (i <= j) {
		while (a[i] < p)
			i++;
		while (a[j] > p)
			j--;
		if (i <= j) {
			int t = a[i];
			a[i++] = a[j];
			a[j--] = t;
		}
	}
	sort(a, l, j);
	sort(a, i, r);
}

struct Shape {
	__device__ virtual ~Shape() {}
	__device__ virtual int area(int x) = 0;
};
struct Square : Shape {
	__device__ int area(int x) { return x * x; }
};
struct Stripe : Shape {
	int k;
	__device__ Stripe(int n) : k(n) {}
	__device__ int area(int x) { return x * k; }
};

extern "C" __global__ void k_fib(int *o) { o[threadIdx.x] = fib(threadIdx.x % 13); }
extern "C" __global__ void k_ack(int *o) { o[threadIdx.x] = ack(threadIdx.x % 3, threadIdx.x % 4); }
extern "C" __global__ void k_pointer(int *o)
{
	int t = threadIdx.x;

	o[t] = table[t % 3](t, 5) + 1000 * ctable[t % 2](t, 2);
}
extern "C" __global__ void k_struct(int *o)
{
	int t = threadIdx.x;
	S s;

	for (int i = 0; i < 5; i++)
		s.a[i] = i + t;
	s.d = t;
	s = change(change(s, t), t + 1);
	o[t] = (int)s.d;
	for (int i = 0; i < 5; i++)
		o[t] += s.a[i] * (i + 1);
}
extern "C" __global__ void k_sort(int *o)
{
	int a[16], ok = 1;
	unsigned s = threadIdx.x + 1;

	for (int i = 0; i < 16; i++) {
		s = s * 1664525 + 1013904223;
		a[i] = s >> 20;
	}
	sort(a, 0, 15);
	for (int i = 1; i < 16; i++)
		ok &= a[i - 1] <= a[i];
	o[threadIdx.x] = ok;
}
extern "C" __global__ void k_virtual(int *o)
{
	int t = threadIdx.x;
	Shape *s = t & 1 ? (Shape *)new Stripe(t) : (Shape *)new Square;

	o[t] = s->area(t + 2);
	delete s;
}
extern "C" __global__ void k_malloc(int *o)
{
	int t = threadIdx.x, *p = (int *)malloc(4 * (t + 1)), sum = 0;

	for (int i = 0; i <= t; i++)
		p[i] = i;
	for (int i = 0; i <= t; i++)
		sum += p[i];
	free(p);
	o[t] = sum;
}
extern "C" __global__ void k_printf(int n)
{
	if (threadIdx.x < 2)
		printf("block %d thread %u %s|%5.2f|%-6d|%06x|%c|%lld|%e|%*d%%\n", blockIdx.x, threadIdx.x, "text",
		       1.5 * threadIdx.x, n, n, 'A' + threadIdx.x, 123456789012ll, 0.001, 4, 7);
}
extern "C" __global__ void k_assert(int *o)
{
	assert(threadIdx.x < 3);
	o[threadIdx.x] = 1;
}
extern "C" __global__ void k_twice(int *o)
{
	int *p = (int *)malloc(16);

	free(p);
	free(p);
	o[0] = 1;
}
