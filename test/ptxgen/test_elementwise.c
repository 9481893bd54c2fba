/* test_elementwise.c - tests elementwise ops and casts of every type, simulator against tile interpreter.
 * In C: kernels are generated for every type and op. */
#include "hexc/ir/dtype_value.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <string.h>

/* Two warps, 512 elements a block, 8 consecutive ones a lane. */
#define L8 "@{((8,32,2)):((1@reg,1@lane,1@warp))}"

/* Elements of type d in one access. */
static int
vec_of(DType d)
{
	return dtype_info[d].bits > 16 ? 128 / dtype_info[d].bits : 8;
}

static void
head(Text *t, const char *in, const char *out, int rows)
{
	text_printf(t,
	            "kernel t {\n  warps 2\n"
	            "  param %%1.A tensor A : global %s[?] read size %%5 stride %%7\n"
	            "  param %%2.B tensor B : global %s[?] read size %%5 stride %%7\n"
	            "  param %%3.D tensor D : global %s[?] read size %%5 stride %%7\n"
	            "  param %%4.C tensor C : global %s[?, ?] written size %%6, %%5 stride %%5, %%7\n"
	            "  param %%5.N size N : i64 mult 8 lo 1 hi 100000\n"
	            "  grid {\n    %%8 = const value 1 : i64\n    %%9 = const value 512 : i64\n"
	            "    %%110 = div %%5, %%9 : i64\n    %%111 = add %%110, %%8 : i64\n"
	            "    yield %%111, %%8, %%8\n  }\n"
	            "  body {\n    %%6 = const value %d : i64\n    %%7 = const value 1 : i64\n"
	            "    %%10 = block_id : i64\n    %%11 = const value 512 : i64\n"
	            "    %%12 = mul %%10, %%11 : i64\n",
	            in, in, in, out, rows);
	for (int i = 1; i <= 3; i++) {
		DType d = dtype_find(in, strlen(in));

		text_printf(t,
		            "    %%%d = view %%%d, %%12 : global %s[512]\n"
		            "    %%%d = load %%%d : reg %s[512] " L8
		            " lowering { access inst ld_global_%d vec %d }\n",
		            12 + i, i, in, 20 + i, 12 + i, in, vec_of(d) * dtype_info[d].bits,
		            vec_of(d));
	}
}

/* Store value %id of type `out` as row `row`. */
static void
put_row(Text *t, int id, const char *out, int row)
{
	DType d = dtype_find(out, strlen(out));

	text_printf(t,
	            "    %%%d = const value %d : i64\n"
	            "    %%%d = view %%4, %%%d, %%12 dropped 1 : global %s[512]\n"
	            "    store %%%d, %%%d lowering { access inst st_global_%d vec %d }\n",
	            200 + row, row, 300 + row, 200 + row, out, id, 300 + row,
	            vec_of(d) * dtype_info[d].bits, vec_of(d));
}

/* One kernel: each op of the list as a row of the result. */
static void
try_ops(const char *type, const char *out, const char *const *op, int n, double tol)
{
	Text t = { u->arena, NULL, 0, 0 };

	head(&t, type, out, n);
	for (int i = 0; i < n; i++) {
		int nin = op_info[op_find(op[i], strlen(op[i]))].nin;

		if (strcmp(op[i], "select") == 0)
			text_printf(&t,
			            "    %%%d = lt %%21, %%22 : reg bool[512] " L8 "\n"
			            "    %%%d = select %%%d, %%22, %%23 : reg %s[512] " L8 "\n",
			            150 + i, 100 + i + 20, 150 + i, out);
		else
			text_printf(&t, "    %%%d = %s %%21%s%s : reg %s[512] " L8 "\n",
			            100 + i + 20, op[i], nin > 1 ? ", %22" : "",
			            nin > 2 ? ", %23" : "", out);
		put_row(&t, 100 + i + 20, out, i);
	}
	text_printf(&t, "    yield\n  }\n}\n");
	ptx_compare(u, t.s, "N=1000", 1, tol);
}

static const char *const float_exact[] = { "add", "sub", "mul", "div", "min", "max", "neg",
	                                   "abs", "fma", "sqrt", "select" };
static const char *const float_near[] = { "exp", "exp2", "log", "rsqrt", "tanh" };
static const char *const f64_exact[] = { "add", "sub", "mul", "div",  "min",    "max",
	                                 "neg", "abs", "fma", "sqrt", "select", "rsqrt" };
static const char *const ints[] = { "add", "sub", "mul", "div", "mod", "min", "max", "and", "or",
	                            "xor", "shl", "shr", "neg", "abs", "not", "fma", "select" };
static const char *const compares[] = { "lt", "le", "eq", "ne" };
static const char *const types[] = { "f16", "bf16", "f32", "f64", "i4", "u4", "i8", "u8",
	                             "i16", "u16", "i32", "u32", "i64", "u64", "e4m3", "e5m2" };
static const char *const archs[] = { "sm_75", "sm_80", "sm_90a" };

static bool
is_float(const char *type)
{
	return dtype_info[dtype_find(type, strlen(type))].kind == K_flt;
}

TEST_EACH(ops, 14 * 3)
{
	const char *type = types[_i % 14];

	u->target = target_find(archs[_i / 14]);
	if (strcmp(type, "f64") == 0)
		try_ops(type, type, f64_exact, (int)COUNT_OF(f64_exact), 1e-15);
	else if (is_float(type))
		try_ops(type, type, float_exact, (int)COUNT_OF(float_exact), 0);
	else
		try_ops(type, type, ints, (int)COUNT_OF(ints), 0);
}

TEST_EACH(ops_near, 3 * 3)
{
	u->target = target_find(archs[_i / 3]);
	try_ops(types[_i % 3], types[_i % 3], float_near, (int)COUNT_OF(float_near),
	        _i % 3 == 2 ? 1e-6 : _i % 3 ? 0x1p-7
	                                    : 0x1p-10);
}

TEST_EACH(ops_compare, 14)
{
	try_ops(types[_i], "bool", compares, (int)COUNT_OF(compares), 0);
}

/* From each type to all others; the inputs are first made large, so that conversions overflow. */
TEST_EACH(casts, 16 * 3)
{
	const char *from = types[_i % 16];

	u->target = target_find(archs[_i / 16]);
	for (int i = 0; i < 16; i++) {
		Text t = { u->arena, NULL, 0, 0 };

		head(&t, from, types[i], 2);
		text_printf(&t,
		            "    %%50 = const value %s : reg %s[512] " L8 "\n"
		            "    %%51 = mul %%21, %%50 : reg %s[512] " L8 "\n"
		            "    %%52 = cast %%21 : reg %s[512] " L8 "\n"
		            "    %%53 = cast %%51 : reg %s[512] " L8 "\n",
		            is_float(from) ? "1000.5" : "1", from, from, types[i], types[i]);
		put_row(&t, 52, types[i], 0);
		put_row(&t, 53, types[i], 1);
		text_printf(&t, "    yield\n  }\n}\n");
		ptx_compare(u, t.s, "N=1000", 5, 0);
	}
}

/* The least number by -1 wraps, of constants too. */
TEST_EACH(least_by_minus_one, 4)
{
	static const char *const type[] = { "i8", "i16", "i32", "i64" };
	const char *d = type[_i];
	Text t = { u->arena, NULL, 0, 0 };

	head(&t, d, d, 2);
	text_printf(&t,
	            "    %%50 = const value %lld : reg %s[512] " L8 "\n"
	            "    %%51 = const value -1 : reg %s[512] " L8 "\n"
	            "    %%52 = div %%50, %%51 : reg %s[512] " L8 "\n"
	            "    %%53 = mod %%50, %%51 : reg %s[512] " L8 "\n",
	            (long long)num_min(dtype_find(d, strlen(d))), d, d, d, d);
	put_row(&t, 52, d, 0);
	put_row(&t, 53, d, 1);
	text_printf(&t, "    yield\n  }\n}\n");
	ptx_compare(u, t.s, "N=1000", 1, 0);
}

/* A little above the middle of two numbers, by less than f32 tells: the upper one. */
TEST_EACH(rounded_once, 2)
{
	static const char *const type[] = { "bf16", "e4m3" };
	const char *to = type[_i];
	Text t = { u->arena, NULL, 0, 0 };

	head(&t, "f64", to, 1);
	text_printf(&t, "    %%50 = const fimm ");
	text_float(&t, 1 + (_i ? 0x1p-4 : 0x1p-8) + 0x1p-40);
	text_printf(&t, " : reg f64[512] " L8 "\n    %%51 = cast %%50 : reg %s[512] " L8 "\n", to);
	put_row(&t, 51, to, 0);
	text_printf(&t, "    yield\n  }\n}\n");
	ptx_compare(u, t.s, "N=1000", 1, 0);
}

/* Types below 32 bits fill words partly: 3 and 5 registers of each. */
TEST_EACH(partial_words, 5)
{
	static const char *const text =
		"kernel t {\n  warps 1\n"
		"  param %%1.A tensor A : global %s[?] read size %%5 stride %%7\n"
		"  param %%4.C tensor C : global %s[?] written size %%5 stride %%7\n"
		"  grid {\n    %%8 = const value 1 : i64\n    yield %%8, %%8, %%8\n  }\n"
		"  body {\n    %%5 = const value %d : i64\n    %%7 = const value 1 : i64\n"
		"    %%10 = const value 0 : i64\n"
		"    %%13 = view %%1, %%10 : global %s[%d]\n"
		"    %%14 = load %%13 : reg %s[%d] @{((32,%d)):((1@lane,1@reg))} lowering { access inst "
		"ld_global_%d vec 1 }\n"
		"    %%15 = add %%14, %%14 : reg %s[%d] @{((32,%d)):((1@lane,1@reg))}\n"
		"    %%16 = view %%4, %%10 : global %s[%d]\n"
		"    store %%15, %%16 lowering { access inst st_global_%d vec 1 }\n    yield\n  }\n}\n";
	static const char *const narrow[] = { "f16", "bf16", "i8", "u8", "i16" };
	const char *d = narrow[_i];
	int bits = dtype_info[dtype_find(d, strlen(d))].bits;

	for (int n = 1; n <= 5; n++)
		ptx_compare(u,
		            arena_printf(u->arena, text, d, d, 32 * n, d, 32 * n, d, 32 * n, n,
		                         bits, d, 32 * n, n, d, 32 * n, bits),
		            "", 9, 0);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
