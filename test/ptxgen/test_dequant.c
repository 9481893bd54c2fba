/* test_dequant.c - tests casts of narrow-element tiles on the simulator, as loaded from packs: every code
 * of every type in every element of a group, in every order, to every type, against the definition of the
 * formats. In C: kernels are generated, and values are computed from definitions. */
#include "hexc/ir/bit_order.h"
#include "infer/narrow_cast/cast_sequence.h"
#include "test/ir/util_number.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, GROUP = 32 };

#define LAYOUT "@{(32,32):(1@lane,1@reg)}"

/* ---- the kernel: a row of 32 elements a lane ------------------------------------------------------- */

/* What is done to the cast %17, elementwise, in its type: what it is less or plus, as IR and in C. */
enum { CHANGES = 5 };

static const char *
change_text(int change, const char *type)
{
	static const char *const number[CHANGES] = { "", "const value 8.0", "const value -3.0", "cast %21",
		                                     "cast %21" };
	static const char *const op[CHANGES] = { "", "sub %17, %20", "add %20, %17", "sub %17, %20",
		                                 "add %17, %20" };

	if (!change)
		return "";
	return arena_printf(u->arena,
	                    "    %%21 = iota dim 1 : reg %s[32, 32] " LAYOUT "\n"
	                    "    %%20 = %s : reg %s[32, 32] " LAYOUT "\n"
	                    "    %%19 = %s : reg %s[32, 32] " LAYOUT "\n",
	                    change == 3 ? "u4" : "i4", number[change], type, op[change], type);
}

static double
changed(int change, double x, int e)
{
	static const int sign4[] = { 0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1 };

	switch (change) {
	case 1: return x - 8;
	case 2: return x - 3;
	case 3: return x - e % 16;
	case 4: return x + sign4[e % 16];
	default: return x;
	}
}

/* A lane casts so many groups of 32 elements; only of one is the result changed. */
static const char *
kernel_text(DType from, int bit_order, DType to, int change, int groups)
{
	const char *in = dtype_info[from].name, *out = dtype_info[to].name;
	int words = dtype_info[from].bits * groups, each = 128 / dtype_info[to].bits, n = GROUP * groups;
	const char *more = change_text(change, out), *order = "", *lay;

	if (bit_order)
		order = arena_printf(u->arena, " order %d", bit_order);
	lay = arena_printf(u->arena, "@{(32,%d):(1@lane,1@reg)}", n);
	return arena_printf(
		u->arena,
		"kernel t {\n  warps 1\n"
		"  param %%1.A tensor A : global u32[?, ?, ?] read size %%4.M, %%6, %%7 stride %%7, %%7, %%6"
		" pack \"hexc-pack 1 %s block 1x%d spread %d streams 1 place (1,%d):(0,1)\"\n"
		"  param %%2.C tensor C : global %s[?, ?] written size %%4.M, %%9 stride %%9, %%6\n"
		"  param %%4.M size M : i64 read mult 32 lo 32 hi 100000\n"
		"  grid {\n    %%100 = const value 1 : i64\n    yield %%4.M, %%100, %%100\n  }\n"
		"  body {\n    %%6 = const value 1 : i64\n    %%7 = const value %d : i64\n"
		"    %%9 = const value %d : i64\n    %%10 = block_id : i64\n    %%11 = const value 32 : i64\n"
		"    %%12 = mul %%10, %%11 : i64\n    %%13 = const value 0 : i64\n"
		"    %%14 = view %%1.A, %%12, %%13, %%13 : global u32[32, 1, %d]\n"
		"    %%15 = load %%14 : reg u32[32, 1, %d] @{(32,1,%d):(1@lane,0,1@reg)}"
		" lowering { access inst ld_global_32 vec 1 }\n"
		"    %%16 = unpack %%15, %%1.A : reg %s[32, %d]%s %s\n"
		"    %%17 = cast %%16 : reg %s[32, %d] %s\n%s"
		"    %%18 = view %%2.C, %%12, %%13 : global %s[32, %d]\n"
		"    store %%%d, %%18 lowering { access inst st_global_128 vec %d }\n"
		"    yield\n  }\n}\n",
		in, n, bit_order, n, out, words, n, words, words, words, in, n, order, lay, out, n, lay, more,
		out, n, change ? 19 : 17, each);
}

/* ---- what the formats say: every number of a narrow type, exactly ---------------------------------- */

static double
result_value(DType d, const void *p, int i)
{
	const uint8_t *byte = p;
	uint16_t h;
	float f;

	if (d == D_i8)
		return (double)(int8_t)byte[i];
	if (d == D_u8)
		return (double)byte[i];
	memcpy(&h, byte + 2 * i, 2);
	if (d == D_f16)
		return float_code_value(h, 5, 10, true);
	if (d == D_bf16)
		return float_code_value(h, 8, 7, true);
	memcpy(&f, byte + 4 * i, 4);
	return (double)f;
}

/* x as the nearest number of a float type of so many bits, of two the even one. */
static double
rounded(double x, int exp, int man)
{
	int bias = (1 << (exp - 1)) - 1, e;
	double least = ldexp(1, 1 - bias - man), place;

	if (!isfinite(x) || x == 0)
		return x;
	frexp(x, &e);
	place = fmax(ldexp(1, e - 1 - man), least);
	x = nearbyint(x / place) * place;
	return fabs(x) >= ldexp(1, bias + 1) ? copysign((double)INFINITY, x) : x;
}

/* Low bits of negative numbers, as integers wrap. */
static double
as_type(DType d, double x)
{
	if (dtype_info[d].kind == K_flt)
		return rounded(x, dtype_info[d].exp, dtype_info[d].man);
	if (d == D_u8 && x < 0)
		return x + 256;
	return d == D_i8 && x > 127 ? x - 256 : x;
}

/* ---- one combination ------------------------------------------------------------------------------- */

static unsigned
code_at(int row, int e, int bits)
{
	return (unsigned)(row + 37 * e) & ((1u << bits) - 1);
}

static void
try_cast(DType from, int bit_order, DType to, int change)
{
	static uint32_t word[ROWS * 8];
	static uint8_t out[ROWS * GROUP * 4];
	int bits = dtype_info[from].bits;
	const uint32_t grid[3] = { ROWS / 32, 1, 1 };
	PtxArg arg[3] = { { word, sizeof word, 0 }, { out, sizeof out, 0 }, { NULL, 0, ROWS } };

	memset(word, 0, sizeof word);
	for (int r = 0; r < ROWS; r++)
		for (int e = 0; e < GROUP; e++)
			for (int b = 0; b < bits; b++) {
				int at = bit_order_bit(bits, bit_order, e, b);

				word[r * bits + at / 32] |= (uint32_t)(code_at(r, e, bits) >> b & 1)
				                            << at % 32;
			}
	ptx_run(u, kernel_text(from, bit_order, to, change, 1), grid, arg, 3, NULL);
	for (int r = 0; r < ROWS; r++)
		for (int e = 0; e < GROUP; e++) {
			double x = result_value(to, out, r * GROUP + e);
			double v = code_value(from, code_at(r, e, bits));
			double want = as_type(to, changed(change, as_type(to, v), e));
			bool same = x == want ? signbit(x) == signbit(want) : isnan(x) && isnan(want);

			ck_assert_msg(same, "%s, order %d to %s, change %d: code %x of %d gives %g, not %g",
			              dtype_info[from].name, bit_order, dtype_info[to].name, change,
			              code_at(r, e, bits), e, x, want);
		}
}

/* Narrow floats to integers are test_narrow's. */
static bool
is_tried(DType from, DType to)
{
	return dtype_info[to].kind == K_flt || (dtype_info[from].kind != K_flt && dtype_info[from].bits < 8);
}

static const int orders[] = { 0, 8, 16, 4, ORDER_HALF };
static const DType targets_of[] = { D_f16, D_bf16, D_f32, D_u8, D_i8 };

static void
try_type(DType from, const char *arch)
{
	for (size_t s = 0; s < COUNT_OF(orders); s++)
		for (size_t t = 0; t < COUNT_OF(targets_of); t++) {
			int bit_order = orders[s];

			if (bit_order == ORDER_HALF) /* made for this cast; for casts to f32 it is any */
				bit_order += (dtype_info[targets_of[t]].man - dtype_info[from].man) % 9;
			if (!is_tried(from, targets_of[t]) ||
			    !bit_order_valid(dtype_info[from].bits, bit_order))
				continue;
			if (s > 2 && strcmp(arch, "sm_80") != 0) /* packs' orders once */
				continue;
			u->target = target_find(arch);
			try_cast(from, bit_order, targets_of[t], 0);
			ir_unit_free(u);
			u = ir_unit();
		}
}

/* Machines without arithmetic on bf16, with it, with conversions of 8-bit floats. */
TEST_EACH(every_code, D_COUNT)
{
	static const char *const archs[] = { "sm_80", "sm_75", "sm_89", "sm_90a" };
	bool flt = dtype_info[_i].kind == K_flt;

	if (getenv("QUICK") && _i % 3)
		return;
	for (size_t i = 0; i < (flt ? COUNT_OF(archs) : 2) && dtype_info[_i].bits <= 8 && _i != D_bool; i++)
		try_type((DType)_i, archs[i]);
}

/* Whole numbers taken off and added, by a constant and by a tile of narrow integers, whether or not the cast
 * can do it (f16 of i7: 1024 - 64 + .. can, bf16 of u7 less 8: 128 + 8 can, bf16 of u8 cannot). */
TEST_EACH(offsets, 12)
{
	static const DType from[] = { D_u1, D_i2, D_u3, D_i4, D_u4, D_i5, D_u6, D_i7, D_u7, D_u8, D_e2m1,
		                      D_nf4 };
	static const DType to[] = { D_f16, D_bf16, D_f32 };

	for (int change = 1; change < CHANGES; change++)
		for (size_t t = 0; t < COUNT_OF(to); t++) {
			if (from[_i] == D_u8 && to[t] == D_bf16 && change == 4)
				continue; /* 255 + 7 is rounded */
			try_cast(from[_i], from[_i] == D_nf4 ? 0 : 16, to[t], change);
			ir_unit_free(u);
			u = ir_unit();
		}
}

/* Less 8 and plus -3: either is in the number that the cast adds anyway, or in the entries of its table. */
TEST_EACH(constant_offsets, 2)
{
	DType from = _i ? D_nf4 : D_u4;
	int n[3];

	for (int change = 0; change < 3; change++)
		n[change] = ptx_count(ptx_of(u, kernel_text(from, _i ? 0 : 16, D_f16, change, 1)), ";");
	ck_assert_int_eq(n[1], n[0]);
	ck_assert_int_eq(n[2], n[0]);
}

/* What is written is what the recipe counts: LLVM takes no step apart and undoes none. */
TEST_EACH(instructions, D_COUNT)
{
	static const char word[][16] = { "\tlop3.", "\tprmt.", "\tshr.u", "\tshl.b32", "\tshf.",
		                         "\tand.b", "\tor.b",  "\txor.",  "\tadd.s32", "\tadd.rn.f16x2",
		                         "\tfma.",  "\tmul.rn",  "\tcvt." };
	static const DType to[] = { D_f16, D_bf16, D_u8, D_f16, D_bf16, D_f32, D_f16, D_bf16 };
	DType from = (DType)_i;
	int bits = dtype_info[from].bits;
	CastSequence r;

	if (bits > 8 || from == D_bool)
		return;
	for (size_t t = 0; t < COUNT_OF(to); t++) {
		int bit_order = t < 3 ? dtype_info[to[t]].bits : 0, n = 0;
		const char *ptx;

		if (t >= 6)
			bit_order = ORDER_HALF + dtype_info[to[t]].man - dtype_info[from].man;
		if (!bit_order_valid(bits, bit_order))
			continue;
		/* in natural order others are moved to their places first */
		if (bit_order == 0 && (bits & (bits - 1)) != 0)
			continue;
		if (!recipe_make(&r, from, bit_order, to[t], u->target->features))
			continue;
		/* to bf16 from u8 nothing more can be taken off; floats are not moved at all */
		ptx = ptx_of(u, kernel_text(from, bit_order, to[t], recipe_takes(&r, 8, 8), 1));
		ptx = strstr(ptx, "ld.global");
		for (size_t i = 0; i < COUNT_OF(word); i++)
			n += ptx_count(ptx, word[i]);
		/* what LLVM 19 takes the low half of a word by; machines read either half where it is */
		n -= ptx_count(ptx, "\tcvt.u16.u32");
		/* words are of 32 bits, addresses of 64 */
		n -= ptx_count(ptx, "\tor.b64");
		ck_assert_msg(n <= recipe_instructions(&r), "%s to %s: %d instructions, not %d\n%.3000s",
		              dtype_info[from].name, dtype_info[to[t]].name, n, recipe_instructions(&r), ptx);
	}
}

/* Tables are constants, and prmt takes one of them: another would be copied to a register for each. */
TEST(tables_in_registers)
{
	static const DType from[] = { D_nf4, D_e2m1, D_e1m2 };
	int tables = 0;

	for (size_t i = 0; i < COUNT_OF(from); i++) {
		const char *ptx = ptx_of(u, kernel_text(from[i], 0, D_f16, 0, 1));

		while ((ptx = strstr(ptx, "\tprmt.b32"))) {
			ptx = strchr(ptx, ',');
			ck_assert_msg(ptx[2] == '%', "%s: %.40s", dtype_info[from[i]].name, ptx);
			tables++;
		}
	}
	ck_assert_int_gt(tables, 0);
}

/* ---- the machine's own instructions: NVDISASM=path of nvdisasm, and ptxas ---------------------------- */

/* Instructions on data in the machine code of a kernel; what addresses take (sums with their carries) is not
 * counted. */
static int
machine_instructions(const char *ptx)
{
	char dir[] = "/tmp/hexc-test-XXXXXX", path[64], line[1200];
	int n = -1;
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/p", dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(ptx, f);
	fclose(f);
	snprintf(line, sizeof line,
	         "cd %s && ptxas -arch=%s p -o c && $NVDISASM -c c | awk '"
	         "$1 !~ \"^/[*][0-9a-f]+[*]/$\" { next }"
	         "{ whole = $2 ~ /^@/ ? $3 : $2; sub(/;$/, \"\", whole); op = whole; sub(/[.].*/, \"\", op) }"
	         "op ~ /^(LOP3|PRMT|SHF|HFMA2|HADD2|HMUL2|FADD|FMUL|FFMA|I2F|F2F|SEL|SGXT|IADD3)$/ { n++ }"
	         "whole ~ /^IMAD[.](SHL|U32|IADD)/ { n++ } whole == \"IMAD.X\" { n-- } END { print n + 0 }';"
	         "rm -r %s",
	         dir, u->target->name, dir);
	f = popen(line, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &n), 1);
	ck_assert_int_eq(pclose(f), 0);
	return n;
}

/* Two further groups cost the machine what the recipe says, or less; but for two constants. */
TEST_EACH(machine_code, D_COUNT)
{
	static const DType to[] = { D_f16, D_bf16, D_i8 };
	DType from = (DType)_i;
	CastSequence r;

	if (dtype_info[from].bits > 8 || from == D_bool || !getenv("NVDISASM"))
		return;
	for (size_t t = 0; t < COUNT_OF(to); t++) {
		int bit_order = dtype_info[to[t]].bits, n;

		if (!recipe_make(&r, from, bit_order, to[t], u->target->features))
			continue;
		n = machine_instructions(ptx_of(u, kernel_text(from, bit_order, to[t], 0, 4)));
		n -= machine_instructions(ptx_of(u, kernel_text(from, bit_order, to[t], 0, 2)));
		ck_assert_msg(n <= 2 * recipe_instructions(&r) + 2, "%s to %s: %d instructions, not 2 * %d",
		              dtype_info[from].name, dtype_info[to[t]].name, n, recipe_instructions(&r));
	}
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
