/* test_fp8.c - tests casts to and from the 8-bit floats and tf32, with and without cvt: every f16, every
 * code, every midpoint between two codes and its neighbours. The simulator is compared with
 * hexc/ir/dtype_value.c, whose own test follows the definition of the formats. In C: values are computed
 * from definitions. */
#include "hexc/ir/dtype_value.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <string.h>

enum { PER_BLOCK = 512 };
#define L "@{((8,32,2)):((1@reg,1@lane,1@warp))}"

static const char *const archs[] = { "sm_75", "sm_89", "sm_90a" };

static int
access_bits(DType d, int *vec)
{
	int bits = dtype_info[d].bits * 8;

	*vec = bits > 128 ? 128 / dtype_info[d].bits : 8;
	return *vec * dtype_info[d].bits;
}

/* C[i] = to(via(A[i])), for n elements. */
static const char *
cast_text(DType from, DType via, DType to, int64_t n)
{
	const char *a = dtype_info[from].name, *b = dtype_info[via].name, *c = dtype_info[to].name;
	int va, vc, ba = access_bits(from, &va), bc = access_bits(to, &vc);

	return arena_printf(
		u->arena,
		"kernel t {\n  warps 2\n"
		"  param %%1.A tensor A : global %s[?] read size %%5 stride %%7\n"
		"  param %%4.C tensor C : global %s[?] written size %%5 stride %%7\n"
		"  grid {\n    %%8 = const value %lld : i64\n    %%9 = const value 1 : i64\n"
		"    yield %%8, %%9, %%9\n  }\n"
		"  body {\n    %%5 = const value %lld : i64\n    %%7 = const value 1 : i64\n"
		"    %%10 = block_id : i64\n    %%11 = const value 512 : i64\n"
		"    %%12 = mul %%10, %%11 : i64\n"
		"    %%13 = view %%1, %%12 : global %s[512]\n    %%14 = view %%4, %%12 : global %s[512]\n"
		"    %%21 = load %%13 : reg %s[512] " L " lowering { access inst ld_global_%d vec %d }\n"
		"    %%22 = cast %%21 : reg %s[512] " L "\n    %%23 = cast %%22 : reg %s[512] " L "\n"
		"    store %%23, %%14 lowering { access inst st_global_%d vec %d }\n    yield\n  }\n}\n",
		a, c, (long long)(n / PER_BLOCK), (long long)n, a, c, a, ba, va, b, c, bc, vc);
}

/* Cast n numbers on the simulator and by dtype_value.c; every result must be equal, NaN for NaN. */
static void
try_casts(DType from, DType via, DType to, const double *x, int64_t n)
{
	PtxArg arg[2] = { { 0 }, { 0 } };
	uint32_t grid[3] = { (uint32_t)(n / PER_BLOCK), 1, 1 };

	arg[0].bytes = num_bytes(from, n);
	arg[0].data = arena_alloc(u->arena, arg[0].bytes);
	arg[1].bytes = num_bytes(to, n);
	arg[1].data = arena_alloc(u->arena, arg[1].bytes);
	for (int64_t i = 0; i < n; i++)
		num_put_f(from, arg[0].data, i, x[i]);
	ptx_run(u, cast_text(from, via, to, n), grid, arg, 2, NULL);
	for (int64_t i = 0; i < n; i++) {
		double in = num_get_f(from, arg[0].data, i), want = num_round(to, num_round(via, in));
		double got = num_get_f(to, arg[1].data, i);

		ck_assert_msg((isnan(got) && isnan(want)) ||
		                      (got == want && signbit(got) == signbit(want)),
		              "%s %a to %s to %s on %s: %a, not %a", dtype_info[from].name, in,
		              dtype_info[via].name, dtype_info[to].name, u->target->name, got, want);
	}
}

/* All codes of d, as often as fills whole blocks. */
static int64_t
all_codes(DType d, double *x)
{
	int64_t codes = (int64_t)1 << dtype_info[d].bits, n = codes < PER_BLOCK ? PER_BLOCK : codes;

	for (int64_t i = 0; i < n; i++)
		x[i] = num_of_code(d, (unsigned)(i % codes));
	return n;
}

static const DType small[] = { D_e4m3, D_e5m2 };

TEST_EACH(from_every_f16, 6)
{
	double *x = arena_alloc(u->arena, sizeof *x * 65536);

	u->target = target_find(archs[_i / 2]);
	try_casts(D_f16, D_f16, small[_i % 2], x, all_codes(D_f16, x));
	try_casts(D_bf16, D_bf16, small[_i % 2], x, all_codes(D_bf16, x));
}

TEST_EACH(from_every_code, 6)
{
	static const DType to[] = { D_f16, D_bf16, D_f32, D_f64, D_e4m3, D_e5m2 };
	DType d = small[_i % 2];
	double x[PER_BLOCK];
	int64_t n = all_codes(d, x);

	u->target = target_find(archs[_i / 2]);
	for (int i = 0; i < (int)COUNT_OF(to); i++)
		try_casts(d, d, to[i], x, n);
}

/* The middles between numbers of d, and what is just beside them. */
TEST_EACH(from_middles, 6)
{
	DType d = small[_i % 2];
	double x[PER_BLOCK * 3];
	int64_t n = 0;

	u->target = target_find(archs[_i / 2]);
	for (unsigned c = 0; c < 255; c++) {
		double a = num_of_code(d, c), b = num_of_code(d, c + 1), mid = (a + b) / 2;

		if (!isfinite(a) || !isfinite(b))
			mid = c < 128 ? 464 : -61440; /* behind the largest, of e4m3 and of e5m2 */
		x[n++] = mid;
		x[n++] = (double)nextafterf((float)mid, 0);
		x[n++] = (double)nextafterf((float)mid, mid > 0 ? INFINITY : -INFINITY);
	}
	for (; n < PER_BLOCK * 3; n++)
		x[n] = n % 2 ? (double)INFINITY : 1e30;
	try_casts(D_f32, D_f32, d, x, n);
	for (int64_t i = 0; i < n; i++) /* what f32 cannot tell from the middle */
		x[i] *= 1 + (double)(i % 3 - 1) * 0x1p-40;
	try_casts(D_f64, D_f64, d, x, n);
}

/* f32 and f64 to tf32: ties away from zero, subnormals, the step to infinity. */
TEST_EACH(to_tf32, 3)
{
	double x[PER_BLOCK * 8];
	uint64_t seed = 5;

	u->target = target_find(archs[_i]);
	for (int i = 0; i < PER_BLOCK * 8; i++) {
		uint32_t bits;
		float f;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = (uint32_t)(seed >> 32);
		if (i % 4)
			bits = (bits & ~0x1fffu) | (uint32_t)(0xfff + i % 4); /* about the middle */
		if (i % 16 == 5)
			bits |= 0x7f000000;
		if (i % 16 == 6)
			bits &= 0x80ffffff;
		memcpy(&f, &bits, sizeof f);
		x[i] = (double)f;
	}
	try_casts(D_f32, D_tf32, D_f32, x, PER_BLOCK * 8);
	for (int i = 0; i < PER_BLOCK * 8; i++)
		x[i] *= 1 + (i % 5 - 2) * 0x1p-30;
	try_casts(D_f64, D_tf32, D_f32, x, PER_BLOCK * 8);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
