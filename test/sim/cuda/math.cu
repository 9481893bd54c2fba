// math.cu - the math library, rounding modes, conversions, wide integers, bits.
#include <stdint.h>
#define KERNEL extern "C" __global__ void

enum Function {
#define M(name, low, high, u64, u32, value) F_##name,
#include "math.def"
#undef M
};

// Every function for every argument; blockIdx.y says which (a switch by a jump table).
KERNEL math_f64(const double *in, double *out, int n)
{
	int i = threadIdx.x, f = blockIdx.y;
	double x = in[f * n + i], r = 0;
	switch (f) {
#define M(name, low, high, u64, u32, value) case F_##name: r = name(x); break;
#include "math.def"
#undef M
	}
	out[f * n + i] = r;
}

KERNEL math_f32(const float *in, float *out, int n)
{
	int i = threadIdx.x, f = blockIdx.y;
	float x = in[f * n + i], r = 0;
	switch (f) {
#define M(name, low, high, u64, u32, value) case F_##name: r = name##f(x); break;
#include "math.def"
#undef M
	}
	out[f * n + i] = r;
}

KERNEL math_two(const double *x, const double *y, double *out, float *fout, int n)
{
	int i = threadIdx.x;
	double a = x[i], b = y[i], *o = out + i;
	float fa = (float)a, fb = (float)b, *f = fout + i;
	o[0 * n] = pow(fabs(a), b);
	o[1 * n] = atan2(a, b);
	o[2 * n] = hypot(a, b);
	o[3 * n] = fmod(a * 1e6, b);
	o[4 * n] = remainder(a * 1e6, b);
	o[5 * n] = fdim(a, b);
	o[6 * n] = nextafter(a, b);
	o[7 * n] = copysign(a, b);
	o[8 * n] = ldexp(a, (int)(b * 300));
	o[9 * n] = fma(a, b, -a);
	f[0 * n] = powf(fabsf(fa), fb);
	f[1 * n] = atan2f(fa, fb);
	f[2 * n] = hypotf(fa, fb);
	f[3 * n] = fmodf(fa * 1e6f, fb);
	f[4 * n] = remainderf(fa * 1e6f, fb);
	f[5 * n] = fdimf(fa, fb);
	f[6 * n] = nextafterf(fa, fb);
	f[7 * n] = copysignf(fa, fb);
	f[8 * n] = ldexpf(fa, (int)(fb * 40));
	f[9 * n] = fmaf(fa, fb, -fa);
}

KERNEL math_parts(const double *x, double *out, int *iout, int n)
{
	int i = threadIdx.x, e, q;
	double a = x[i], whole, s, c;
	out[i] = frexp(a, &e);
	iout[i] = e;
	out[n + i] = modf(a, &whole);
	out[2 * n + i] = whole;
	out[3 * n + i] = remquo(a, 3.7, &q);
	iout[n + i] = q & 7;
	sincos(a, &s, &c);
	out[4 * n + i] = s;
	out[5 * n + i] = c;
	iout[2 * n + i] = ilogb(a);
	iout[3 * n + i] = (int)llrint(a);
	iout[4 * n + i] = (isfinite(a) ? 1 : 0) | (isnan(a) ? 2 : 0) | (signbit(a) ? 4 : 0) | (isinf(a) ? 8 : 0);
}

KERNEL math_intrinsics(const float *x, float *out, int n)
{
	int i = threadIdx.x;
	float a = x[i], s, c;
	out[0 * n + i] = __expf(a);
	out[1 * n + i] = __exp10f(a);
	out[2 * n + i] = __logf(fabsf(a));
	out[3 * n + i] = __log2f(fabsf(a));
	__sincosf(a, &s, &c);
	out[4 * n + i] = s;
	out[5 * n + i] = c;
	out[6 * n + i] = __fdividef(1.5f, a);
	out[7 * n + i] = __powf(fabsf(a), 1.25f);
	out[8 * n + i] = __saturatef(a);
	out[9 * n + i] = __frcp_rn(a);
	out[10 * n + i] = __frsqrt_rn(fabsf(a));
}

#define FOUR(k, name, ...) \
	o[(4 * (k) + 0) * n] = name##_rn(__VA_ARGS__); o[(4 * (k) + 1) * n] = name##_rz(__VA_ARGS__); \
	o[(4 * (k) + 2) * n] = name##_ru(__VA_ARGS__); o[(4 * (k) + 3) * n] = name##_rd(__VA_ARGS__);
KERNEL rounding_f32(const float *x, const float *y, const float *z, float *out, int n)
{
	int i = threadIdx.x;
	float a = x[i], b = y[i], c = z[i], *o = out + i;
	FOUR(0, __fadd, a, b) FOUR(1, __fsub, a, b) FOUR(2, __fmul, a, b) FOUR(3, __fdiv, a, b)
	FOUR(4, __fmaf, a, b, c) FOUR(5, __fsqrt, fabsf(a)) FOUR(6, __frcp, a)
}
KERNEL rounding_f64(const double *x, const double *y, const double *z, double *out, int n)
{
	int i = threadIdx.x;
	double a = x[i], b = y[i], c = z[i], *o = out + i;
	FOUR(0, __dadd, a, b) FOUR(1, __dsub, a, b) FOUR(2, __dmul, a, b) FOUR(3, __ddiv, a, b)
	FOUR(4, __fma, a, b, c) FOUR(5, __dsqrt, fabs(a)) FOUR(6, __drcp, a)
}

KERNEL to_integers(const double *x, int *io, unsigned *uo, long long *lo, unsigned long long *qo, int n)
{
	int i = threadIdx.x;
	double d = x[i];
	float f = (float)d;
	{ int *o = io + i; FOUR(0, __double2int, d) FOUR(1, __float2int, f) }
	{ unsigned *o = uo + i; FOUR(0, __double2uint, d) FOUR(1, __float2uint, f) }
	{ long long *o = lo + i; FOUR(0, __double2ll, d) FOUR(1, __float2ll, f) }
	{ unsigned long long *o = qo + i; FOUR(0, __double2ull, d) FOUR(1, __float2ull, f) }
}

KERNEL from_integers(const long long *x, float *fo, double *dout, int n)
{
	int i = threadIdx.x;
	long long v = x[i];
	unsigned long long u = (unsigned long long)v;
	{ float *o = fo + i; FOUR(0, __int2float, (int)v) FOUR(1, __uint2float, (unsigned)u) FOUR(2, __ll2float, v) FOUR(3, __ull2float, u)
	  FOUR(4, __double2float, __longlong_as_double(v)) }
	{ double *o = dout + i; FOUR(0, __ll2double, v) FOUR(1, __ull2double, u) }
}

// 64- and 128-bit arithmetic.  Division by zero is undefined in C, so it is not asked for.
__device__ __noinline__ long long rest(long long a, long long b) { return b ? a % b : -1; }
KERNEL wide_integers(const long long *a, const long long *b, long long *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	long long x = a[i], y = b[i] ? b[i] : 1, *o = out + i;
	unsigned long long ux = x, uy = y;
	o[0 * n] = x / y;
	o[1 * n] = rest(x, y);
	o[2 * n] = ux / uy;
	o[3 * n] = ux % uy;
	o[4 * n] = __mul64hi(x, y);
	o[5 * n] = __umul64hi(ux, uy);
	__int128 w = (__int128)x * y + x;
	o[6 * n] = (long long)(w >> 64);
	o[7 * n] = (long long)(w / 1000000007);
	o[8 * n] = (long long)((unsigned __int128)w % uy);
	o[9 * n] = x >> (y & 63);
	o[10 * n] = ux << (y & 63);
	o[11 * n] = llabs(x) + (x < y ? x : y) + max(ux, uy);
	o[12 * n] = (int)x / ((int)y | 1);
	o[13 * n] = (unsigned)x % ((unsigned)y | 1);
	o[14 * n] = (short)x / (signed char)(y | 1);
}

KERNEL bits(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
	int i = threadIdx.x;
	unsigned x = a[i], y = b[i], *o = out + i;
	unsigned long long w = (unsigned long long)x << 32 | y;
	o[0 * n] = __brev(x);
	o[1 * n] = (unsigned)(__brevll(w) >> 7);
	o[2 * n] = __ffs(x) * 100 + __ffsll(w);
	o[3 * n] = __clz(x) * 100 + __clzll(w >> (y & 63));
	o[4 * n] = __popc(x) * 100 + __popcll(w);
	o[5 * n] = __byte_perm(x, y, i * 0x1357 & 0x7777);
	o[6 * n] = __funnelshift_l(x, y, i);
	o[7 * n] = __funnelshift_r(x, y, i);
	o[8 * n] = __funnelshift_lc(x, y, i);
	o[9 * n] = __funnelshift_rc(x, y, i);
	o[10 * n] = __umulhi(x, y) ^ __mulhi((int)x, (int)y);
	o[11 * n] = __umul24(x, y) + __mul24((int)x, (int)y);
	o[12 * n] = __usad(x, y, 5) + __sad((int)x, (int)y, 7);
	o[13 * n] = __hadd((int)x, (int)y);
	o[14 * n] = __uhadd(x, y) ^ __urhadd(x, y);
	o[15 * n] = __vadd4(x, y);
	o[16 * n] = __vabsdiffu4(x, y);
	o[17 * n] = __vmaxs2(x, y) ^ __vminu4(x, y);
	o[18 * n] = __dp4a((int)x, (int)y, 11);
	o[19 * n] = __dp4a(x, y, 13u);
	o[20 * n] = __dp2a_lo((int)x, (int)y, 3) ^ __dp2a_hi(x, y, 4u);
	o[21 * n] = __vsetgtu4(x, y) + __vavgu4(x, y);
	unsigned f, g, h;
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(f) : "r"(x), "r"(y & 31), "r"(y >> 5 & 31));
	asm("bfe.s32 %0, %1, %2, %3;" : "=r"(g) : "r"(x), "r"(y & 31), "r"(y >> 5 & 31));
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(h) : "r"(x), "r"(y), "r"(x & 31), "r"(y & 31));
	o[22 * n] = f ^ g << 1;
	o[23 * n] = h;
	asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(f) : "r"(x), "r"(y), "r"(x >> 3));
	o[24 * n] = f;
	o[25 * n] = (x & y) | (~x & (y >> 1));
	o[26 * n] = (unsigned)(w >> (x & 63)) + (unsigned)__double_as_longlong(__hiloint2double(y, x));
}
