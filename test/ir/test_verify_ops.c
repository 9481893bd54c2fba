/* test_verify_ops.c - tests the verifier's rules of ops on values: hexc/IR.md from `const` to `dot`, in its
 * order. In C: a row of a table each is as short as text. */
#include "test/check.h"
#include "test/ir/util_ir.h"
#include "test/ir/util_verify.h"
#include "hexc/ir/op.h"
#include <stdio.h>
#include <string.h>

static const char prelude[] =
	"%10 = const value 1.0 : reg f16[16, 32]\n"
	"%11 = const value 1.0 : reg f16[32, 8]\n"
	"%12 = const value 1.0 : reg f32[16, 8]\n"
	"%13 = const value 1 : bool\n"
	"%14 = const value 1 : reg bool[16, 32]\n"
	"%15 = const value 1 : i32\n"
	"%16 = const value 1.0 : f16\n"
	"%17 = const value 1 : reg i32[16, 32]\n"
	"%18 = const value 1 : reg u4[16, 32]\n"
	"%19 = alloc offset -1 : shared f16[16, 32]\n"
	"%20 = alloc offset -1 : shared u4[8]\n"
	"%21 = load %20 : reg u4[8] order 16 @{8:1@reg}\n"
	"%22 = const value 1 : reg i64[4]\n"
	"%23 = view %1, %5, %5 : global f16[16, 32]\n";

/* ---- values ---- */

static const VerifyRow constants[] = {
	{ "%30 = const value 0 : bool %31 = const value 1 : bool", NULL },
	{ "%30 = const value 2 : bool", "2 is out of range for bool" },
	{ "%30 = const value -1 : bool", "-1 is out of range for bool" },
	{ "%30 = const value 0 : u1 %31 = const value 1 : u1", NULL },
	{ "%30 = const value 2 : u1", "2 is out of range for u1" },
	{ "%30 = const value -1 : i1 %31 = const value 0 : i1", NULL },
	{ "%30 = const value 1 : i1", "1 is out of range for i1" },
	{ "%30 = const value -8 : i4 %31 = const value 7 : i4", NULL },
	{ "%30 = const value -9 : i4", "-9 is out of range for i4" },
	{ "%30 = const value 8 : i4", "8 is out of range for i4" },
	{ "%30 = const value -128 : i8 %31 = const value 255 : u8", NULL },
	{ "%30 = const value -129 : i8", "-129 is out of range for i8" },
	{ "%30 = const value 256 : u8", "256 is out of range for u8" },
	{ "%30 = const value -1 : u8", "-1 is out of range for u8" },
	{ "%30 = const value 2147483647 : i32 %31 = const value 4294967295 : u32", NULL },
	{ "%30 = const value 2147483648 : i32", "2147483648 is out of range for i32" },
	{ "%30 = const value 4294967296 : u32", "4294967296 is out of range for u32" },
	{ "%30 = const value -9223372036854775808 : i64 %31 = const value 9223372036854775807 : i64", NULL },
	{ "%30 = const value -1 : u64", NULL }, /* its bits */
	{ "%30 = const value 15 : reg u4[16, 32]", NULL },
	{ "%30 = const value 16 : reg u4[16, 32]", "16 is out of range for u4" },
	{ "%30 = const value -inf : f16 %31 = const value 0.1 : reg e4m3[8] %32 = const value 1.0 :"
	  " tf32", NULL },
	{ "%30 = const value 1.0 : shared f16[8]", "not a scalar or register tile" },
	{ "%30 = const value 1.0 : global f16[8]", "not a scalar or register tile" },
	{ "%30 = const value 1 : f16",
	  "a number that the op does not have" }, /* a float is written with a point */
	{ "%30 = const value 1.0 : i32", "a number that the op does not have" },
	{ "%30 = const %5 value 1 : i64", "1 operands; expected 0" },
};
TEST_ROWS(constants_row, "", prelude, constants)

static const VerifyRow splats[] = {
	{ "%30 = splat %16 : reg f16[16, 32]", NULL },
	{ "%30 = splat %13 : reg bool[1]", NULL },
	{ "%30 = splat %10 : reg f16[16, 32]", "not a scalar and a register tile of its type" },
	{ "%30 = splat %16 : f16", "not a scalar and a register tile of its type" },
	{ "%30 = splat %16 : shared f16[8]", "not a scalar and a register tile of its type" },
	{ "%30 = splat %15 : reg f32[8]", "not a scalar and a register tile of its type" },
	{ "%30 = splat : reg f32[8]", "0 operands; expected 1" },
};
TEST_ROWS(splats_row, "", prelude, splats)

static const VerifyRow iotas[] = {
	{ "%30 = iota : reg i32[8]", NULL },
	{ "%30 = iota dim 2 : reg u8[2, 2, 300]", NULL }, /* wrapped to the type */
	{ "%30 = iota dim 3 : reg u8[2, 2, 300]", "no such dimension" },
	{ "%30 = iota dim -1 : reg i32[8]", "no such dimension" },
	{ "%30 = iota : reg f32[8]", "not an integer register tile" },
	{ "%30 = iota : reg bool[8]", "not an integer register tile" },
	{ "%30 = iota : reg u4[80]", NULL },
	{ "%30 = iota : i64", "not an integer register tile" },
	{ "%30 = iota : shared i32[8]", "not an integer register tile" },
};
TEST_ROWS(iotas_row, "", prelude, iotas)

static const VerifyRow blocks[] = {
	{ "%30 = block_id axis 0 : i64 %31 = block_id axis 2 : i64", NULL },
	{ "%30 = block_id axis 3 : i64", "`axis` is not 0 to 2" },
	{ "%30 = block_id axis -1 : i64", "`axis` is not 0 to 2" },
	{ "%30 = block_id : i32", "the result is not an i64 scalar" },
	{ "%30 = block_id : reg i64[4]", "the result is not an i64 scalar" },
	{ "%30 = block_id %5, %3, %4, %5 axis 1 : i64", NULL },
	{ "%30 = block_id %5 : i64", "no operands, or a block number and the grid's extents" },
	{ "%30 = block_id %5, %5, %5 : i64", "no operands, or a block number and the grid's extents" },
	{ "%30 = block_id %5, %5, %5, %5, %5 : i64",
	  "no operands, or a block number and the grid's extents" },
	{ "%30 = block_id %15, %5, %5, %5 : i64", "a block number is not an i64 scalar" },
	{ "%30 = block_id %5, %15, %5, %5 : i64", "a block number is not an i64 scalar" },
	{ "%30 = block_id %5, %5, %22, %5 : i64", "a block number is not an i64 scalar" },
	{ "%30 = block_id %5, %5, %5, %15 : i64", "a block number is not an i64 scalar" },
	{ "%30 = linear_block_id : i64 %31 = linear_block_id all 1 : i64", NULL },
	{ "%30 = linear_block_id all 2 : i64", "`all` is not 0 to 1" },
	{ "%30 = linear_block_id all -1 : i64", "`all` is not 0 to 1" },
	{ "%30 = linear_block_id : u64", "the result is not an i64 scalar" },
	{ "%30 = linear_block_id %5 : i64", "1 operands; expected 0" },
	{ "%30 = block_in_grid %5, %3, %4, %5 : bool", NULL },
	{ "%30 = block_in_grid %5, %5, %5, %5 : i64", "the result is not a bool scalar" },
	{ "%30 = block_in_grid %5, %5, %5, %5 : reg bool[8]", "the result is not a bool scalar" },
	{ "%30 = block_in_grid %15, %5, %5, %5 : bool", "a block number is not an i64 scalar" },
	{ "%30 = block_in_grid %5, %15, %5, %5 : bool", "a block number is not an i64 scalar" },
	{ "%30 = block_in_grid %5, %5, %15, %5 : bool", "a block number is not an i64 scalar" },
	{ "%30 = block_in_grid %5, %5, %5, %15 : bool", "a block number is not an i64 scalar" },
	{ "%30 = block_in_grid %5, %5, %5 : bool", "3 operands; expected 4" },
};
TEST_ROWS(blocks_row, "", prelude, blocks)

/* ---- elementwise ---- */

/* The element types that IR.md states for each elementwise op: i integers, f floats, b bool. tf32 is none of
 * these. */
static const struct {
	const char *op;
	int operands;
	const char *kinds, *result; /* NULL: the operands' type */
} elementwise[] = {
	{ "add", 2, "if", NULL },   { "sub", 2, "if", NULL },   { "mul", 2, "if", NULL },
	{ "div", 2, "if", NULL },   { "mod", 2, "i", NULL },    { "min", 2, "if", NULL },
	{ "max", 2, "if", NULL },   { "and", 2, "ib", NULL },   { "or", 2, "ib", NULL },
	{ "xor", 2, "ib", NULL },   { "shl", 2, "i", NULL },    { "shr", 2, "i", NULL },
	{ "lt", 2, "if", "bool" },  { "le", 2, "if", "bool" },  { "eq", 2, "ifb", "bool" },
	{ "ne", 2, "ifb", "bool" }, { "neg", 1, "if", NULL },   { "abs", 1, "if", NULL },
	{ "not", 1, "ib", NULL },   { "exp", 1, "f", NULL },    { "exp2", 1, "f", NULL },
	{ "log", 1, "f", NULL },    { "sqrt", 1, "f", NULL },   { "rsqrt", 1, "f", NULL },
	{ "tanh", 1, "f", NULL },   { "floor", 1, "f", NULL },  { "ceil", 1, "f", NULL },
	{ "round", 1, "f", NULL },  { "trunc", 1, "f", NULL },  { "popcount", 1, "i", NULL },
	{ "clz", 1, "i", NULL },    { "mulhi", 2, "i", NULL },  { "fma", 3, "if", NULL },
};

static const struct {
	const char *name;
	char kind;
} types[] = { { "i8", 'i' },   { "u64", 'i' },  { "f16", 'f' }, { "f64", 'f' },
	      { "bool", 'b' }, { "u4", 'i' },   { "e4m3", 'f' }, { "tf32", '-' } };

/* As a scalar and as a tile, on each type. */
TEST_EACH(element_types, sizeof elementwise / sizeof *elementwise)
{
	static const char *const operands[] = { "", "%30", "%30, %30", "%30, %30, %30" };
	static const char *const form[][2] = { { "", "" }, { "reg ", "[4, 8]" } };

	for (size_t i = 0; i < 2 * (sizeof types / sizeof *types); i++) {
		const char *type = types[i / 2].name, *result = elementwise[_i].result;
		const char *const *f = form[i % 2];
		bool ok = strchr(elementwise[_i].kinds, types[i / 2].kind) != NULL;
		bool flt = type[0] == 'f' || type[0] == 'e' || type[0] == 't';
		char line[200], say[40];
		VerifyRow row = { line, ok ? NULL : say };

		snprintf(say, sizeof say, "not defined on %s", type);
		snprintf(line, sizeof line, "%%30 = const value %s : %s%s%s %%31 = %s %s : %s%s%s",
		         flt ? "1.0" : "1", f[0], type, f[1], elementwise[_i].op,
		         operands[elementwise[_i].operands], f[0], result ? result : type, f[1]);
		verify_rows("", "", &row, 1);
	}
}

/* One elementwise op on values of reg [4, 8], but operand `other` (-1: none) is a reg [4]. */
static void
check_element(int op, int operands, int other, const char *result, const char *say)
{
	const char *type = strchr(elementwise[op].kinds, 'f') ? "f32" : "i32";
	const char *one = *type == 'f' ? "1.0" : "1";
	char line[400];
	VerifyRow row = { line, say };
	int n = snprintf(line, sizeof line, "%%30 = const value %s : reg %s[4, 8] %%31 = const value %s : "
	                                    "reg %s[4] %%32 = %s", one, type, one, type, elementwise[op].op);

	for (int i = 0; i < operands; i++)
		n += snprintf(line + n, sizeof line - (size_t)n, "%s%s", i ? ", " : " ",
		              i == other ? "%31" : "%30");
	snprintf(line + n, sizeof line - (size_t)n, " : %s", result);
	verify_rows("", "", &row, 1);
}

/* Operands have one shape and type, which is the result's; there are neither more nor fewer. */
TEST_EACH(element_shapes, sizeof elementwise / sizeof *elementwise)
{
	bool compare = elementwise[_i].result != NULL, flt = strchr(elementwise[_i].kinds, 'f') != NULL;
	const char *right = compare ? "reg bool[4, 8]" : flt ? "reg f32[4, 8]" : "reg i32[4, 8]";
	const char *shape = compare ? "reg bool[8, 4]" : flt ? "reg f32[8, 4]" : "reg i32[8, 4]";
	const char *space = compare ? "shared bool[4, 8]" : flt ? "shared f32[4, 8]" : "shared i32[4, 8]";
	const char *differ = compare ? "not a bool of the operands' shape" : "operand and result differ";
	int n = elementwise[_i].operands;

	check_element(_i, n, -1, right, NULL);
	check_element(_i, n, -1, "reg i16[4, 8]", differ);
	check_element(_i, n, -1, shape, differ);
	check_element(_i, n, -1, space, compare ? differ : "not a scalar or register tile");
	for (int i = 0; i < n; i++)
		check_element(_i, n, i, right, compare ? "operands differ" : differ);
	check_element(_i, n - 1, -1, right, "operands; expected");
	check_element(_i, n + 1, -1, right, "operands; expected");
}

static const VerifyRow elements[] = {
	{ "%30 = add %10, %11 : reg f16[16, 32]",
	  "operand and result differ: reg f16[32, 8] and reg f16[16, 32]" },
	{ "%30 = add %16, %10 : reg f16[16, 32]", "operand and result differ: f16 and reg f16[16, 32]" },
	{ "%30 = add %19, %19 : shared f16[16, 32]", "not a scalar or register tile" },
	{ "%30 = lt %19, %19 : shared bool[16, 32]", "operands differ" },
	{ "%30 = mul %10, %10 exact 1 : reg f16[16, 32] %31 = div %16, %16 exact 1 : f16", NULL },
	{ "%30 = mul %10, %10 exact 2 : reg f16[16, 32]", "`exact` is not 0 to 1" },
	{ "%30 = div %10, %10 exact -1 : reg f16[16, 32]", "`exact` is not 0 to 1" },
	{ "%30 = exp2 %12 exact 1 : reg f32[16, 8] %31 = exp %12 exact 1 : reg f32[16, 8]", NULL },
	{ "%30 = exp2 %12 exact 2 : reg f32[16, 8]", "`exact` is not 0 to 1" },
	{ "%30 = sqrt %12 exact 1 : reg f32[16, 8]", NULL },
	{ "%30 = sqrt %12 exact -1 : reg f32[16, 8]", "`exact` is not 0 to 1" },
	{ "%30 = select %14, %10, %10 : reg f16[16, 32] %31 = select %13, %16, %16 : f16", NULL },
	{ "%30 = select %14, %14, %14 : reg bool[16, 32] %31 = select %14, %18, %18 : reg u4[16, 32]", NULL },
	{ "%30 = select %13, %10, %10 : reg f16[16, 32]", "the condition is not a bool of the same shape" },
	{ "%30 = select %17, %10, %10 : reg f16[16, 32]", "the condition is not a bool of the same shape" },
	{ "%30 = select %14, %11, %10 : reg f16[16, 32]", "the choices differ" },
	{ "%30 = select %14, %10, %11 : reg f16[16, 32]", "the choices differ" },
	{ "%30 = select %14, %10, %10 : reg f32[16, 32]", "the choices differ" },
	{ "%30 = select %14, %19, %19 : shared f16[16, 32]", "the choices differ" },
	{ "%30 = select %14, %10, %10 rare 1 : reg f16[16, 32]", NULL },
	{ "%30 = select %14, %10, %10 rare 2 : reg f16[16, 32]", "`rare` is not 0 to 1" },
	{ "%30 = select %14, %10, %10 known 4 error 11 : reg f16[16, 32]", NULL },
	{ "%30 = select %14, %10, %10 known 5 : reg f16[16, 32]", "`known` is not 0 to 4" },
	{ "%30 = select %14, %10, %10 known -1 : reg f16[16, 32]", "`known` is not 0 to 4" },
	{ "%30 = select %14, %10, %10 known 1 error -1 : reg f16[16, 32]", "`error` is negative" },
	{ "%30 = select %14, %10, %10 part 1 : reg f16[16, 32]", NULL },
	{ "%30 = select %14, %10, %10 part 7 : reg f16[16, 32]", NULL },
	{ "%30 = select %14, %10, %10 part 9 : reg f16[16, 32]", "`part` does not name dimensions" },
	{ "%30 = select %14, %10, %10 part 2 : reg f16[16, 32]", "`part` does not name dimensions" },
	{ "%30 = select %14, %10, %10 part -1 : reg f16[16, 32]", "`part` does not name dimensions" },
	{ "%30 = select %14, %10 : reg f16[16, 32]", "2 operands; expected 3" },
	{ "%30 = cast %10 : reg f32[16, 32] %31 = cast %14 : reg u4[16, 32] %32 = cast %16 : bool", NULL },
	{ "%30 = cast %10 : reg tf32[16, 32] %31 = cast %30 : reg e4m3[16, 32]", NULL },
	{ "%30 = cast %10 : reg f32[32, 16]", "shapes differ" },
	{ "%30 = cast %10 : f32", "shapes differ" },
	{ "%30 = cast %16 : reg f32[8]", "shapes differ" },
	{ "%30 = cast %19 : shared f32[16, 32]", "shapes differ" },
	{ "%30 = cast %21 : reg f16[8]", NULL },
	{ "%30 = cast %10 : reg u8[16, 32] order 8", "the result is not in row-major order" },
	{ "%30 = bitcast %10 : reg u16[16, 32] %31 = bitcast %15 : u32 %32 = bitcast %12 : reg i32[16,"
	  " 8]", NULL },
	{ "%30 = bitcast %18 : reg e2m1[16, 32] %31 = bitcast %30 : reg i4[16, 32]", NULL },
	{ "%30 = bitcast %10 : reg u32[16, 32]", "types have different numbers of bits" },
	{ "%30 = bitcast %10 : reg u8[16, 32]", "types have different numbers of bits" },
	{ "%30 = bitcast %13 : u8", "types have different numbers of bits" },
	{ "%30 = const value 1 : u8 %31 = bitcast %30 : bool", "types have different numbers of bits" },
	{ "%30 = const value 1.0 : tf32 %31 = bitcast %30 : u32", "types have different numbers of bits" },
	{ "%30 = bitcast %12 : reg tf32[16, 8]", "types have different numbers of bits" },
	{ "%30 = bitcast %10 : reg u16[32, 16]", "shapes differ" },
};
TEST_ROWS(elements_row, "", prelude, elements)

/* Only load, unpack, transpose, reshape, cast and lookup have to do with bit orders. */
static const VerifyRow orders[] = {
	{ "%30 = cast %21 : reg u8[8]", NULL },
	{ "%30 = transpose %21 perm 0 : reg u4[8] order 16 @{8:1@reg}", NULL },
	{ "%30 = reshape %21 : reg u4[2, 4] order 16 @{(2,4):(4@reg,1@reg)}", NULL },
	{ "%30 = reshape %21 : reg u4[2, 4]", "not register tiles of one type" },
	{ "%30 = transpose %21 perm 0 : reg u4[8] order 8 @{8:1@reg}", "not register tiles of one type" },
	{ "%30 = splat %5 : reg i64[8] %31 = bitcast %21 : reg i4[8]", "requires tiles in row-major order" },
	{ "%30 = slice %21 : reg u4[8] order 16 @{8:1@reg}", "requires tiles in row-major order" },
	{ "%30 = relabel_layout %21 : reg u4[8] order 16 @{8:1@reg}", "requires tiles in row-major order" },
	{ "store %21, %20", "requires tiles in row-major order" },
	{ "%30 = const value 1 : reg u4[8] order 16 @{8:1@reg}", "requires tiles in row-major order" },
};
TEST_ROWS(orders_row, "", prelude, orders)

static const VerifyRow masks[] = {
	{ "%30 = mask %10, %3 dims 1 : reg f16[16, 32] %31 = mask %10, %3 dims 2 fill -inf : reg f16[16,"
	  " 32]", NULL },
	{ "%30 = mask %10, %3, %4 dims 3 : reg f16[16, 32]", NULL },
	{ "%30 = mask %10 dims 0 : reg f16[16, 32]", "dimensions to mask are missing or out of range" },
	{ "%30 = mask %10, %3 dims 4 : reg f16[16, 32]", "dimensions to mask are missing or out of range" },
	{ "%30 = mask %10, %3 dims -1 : reg f16[16, 32]", "dimensions to mask are missing or out of range" },
	{ "%30 = mask %10, %3 dims 3 : reg f16[16, 32]", "1 bounds for 2 dimensions" },
	{ "%30 = mask %10, %3, %4, %4 dims 3 : reg f16[16, 32]", "3 bounds for 2 dimensions" },
	{ "%30 = mask %10 dims 2 : reg f16[16, 32]", "0 bounds for 1 dimensions" },
	{ "%30 = mask dims 1 : reg f16[16, 32]", "not a register tile, or the result has another type" },
	{ "%30 = mask %10, %15 dims 1 : reg f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = mask %10, %3, %22 dims 3 : reg f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = mask %10, %3 dims 1 : reg f32[16, 32]",
	  "not a register tile, or the result has another type" },
	{ "%30 = mask %16, %3 dims 1 : f16", "not a register tile, or the result has another type" },
	{ "%30 = mask %19, %3 dims 1 : shared f16[16, 32]",
	  "not a register tile, or the result has another type" },
	{ "%30 = mask %18, %3 dims 1 fill 15 : reg u4[16, 32]", NULL },
	{ "%30 = mask %18, %3 dims 1 fill 16 : reg u4[16, 32]",
	  "the fill value is out of range for the type" },
	{ "%30 = mask %14, %3 dims 1 fill 1 : reg bool[16, 32]", NULL },
	{ "%30 = mask %14, %3 dims 1 fill 2 : reg bool[16, 32]",
	  "the fill value is out of range for the type" },
};
TEST_ROWS(masks_row, "", prelude, masks)

/* ---- elements in bounds ---- */

static const VerifyRow insides[] = {
	{ "%30 = inside %10 : reg bool[16, 32]", NULL },
	{ "%30 = inside %10 : reg bool[16, 16]", "not a register tile and one of bool with its shape" },
	{ "%30 = inside %10 : reg f16[16, 32]", "not a register tile and one of bool with its shape" },
	{ "%30 = inside %19 : reg bool[16, 32]", "not a register tile and one of bool with its shape" },
	{ "%30 = inside %16 : bool", "not a register tile and one of bool with its shape" },
	{ "%30 = inside_any %10 : reg bool[1, 32] %31 = inside_any %10 dim 1 : reg bool[16, 1]", NULL },
	{ "%30 = inside_any %10 dim 2 : reg bool[16, 32]", "no such dimension" },
	{ "%30 = inside_any %10 dim -1 : reg bool[1, 32]", "no such dimension" },
	{ "%30 = inside_any %10 : reg bool[2, 32]", "the result's type does not match" },
	{ "%30 = inside_any %10 : reg i32[1, 32]", "the result's type does not match" },
	{ "%30 = inside_any %19 : reg bool[1, 32]", "not a register tile" },
	{ "%30 = inside_count %10 : reg i32[1, 32] %31 = inside_count %10 dim 1 : reg f32[16, 1]", NULL },
	{ "%30 = inside_count %10 : reg bool[1, 32]", "a number of elements is not a bool" },
	{ "%30 = inside_count %10 dim 1 : reg f32[1, 32]", "the result's type does not match" },
	{ "%30 = inside_count %10 dim 2 : reg f32[16, 32]", "no such dimension" },
	{ "%30 = inside_first %10 : i64 %31 = inside_end %10 dim 1 : i64", NULL },
	{ "%30 = inside_first %10 dim 2 : i64", "no such dimension of a register tile" },
	{ "%30 = inside_first %10 dim -1 : i64", "no such dimension of a register tile" },
	{ "%30 = inside_end %19 : i64", "no such dimension of a register tile" },
	{ "%30 = inside_end %10 : i32", "the result is not an i64 scalar" },
	{ "%30 = if_range %14, %12, %12 : reg f32[16, 8] %31 = if_range %14, %12, %12 dim 1 : reg f32[16,"
	  " 8]", NULL },
	{ "%30 = if_range %14, %12, %12 dim 2 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = if_range %14, %12, %12 dim -1 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = if_range %14, %10, %12 : reg f32[16, 8]",
	  "not register tiles, or the result has another type" },
	{ "%30 = if_range %14, %12, %10 : reg f32[16, 8]",
	  "not register tiles, or the result has another type" },
	{ "%30 = if_range %13, %12, %12 : reg f32[16, 8]",
	  "not register tiles, or the result has another type" },
	{ "%30 = if_range %14, %16, %16 : f16", "not register tiles, or the result has another type" },
	{ "%30 = limit %10, %3, %4 : reg f16[16, 32] %31 = limit %10, %3, %4 dim 1 : reg f16[16, 32]", NULL },
	{ "%30 = limit %10, %3, %4 dim -1 : reg f16[16, 32]", NULL },
	{ "%30 = limit %10, %3, %4 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = limit %10, %3, %4 dim -2 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = limit %10, %15, %4 : reg f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = limit %10, %3, %15 : reg f16[16, 32]", "a bound is not an i64 scalar" },
	{ "%30 = limit %10, %3, %4 : reg f16[16, 16]",
	  "not a register tile, or the result has another type" },
	{ "%30 = limit %16, %3, %4 dim -1 : f16", "not a register tile, or the result has another type" },
	{ "%30 = fill %10 fill -inf : reg f16[16, 32] %31 = fill %10 ahead 2 : reg f16[16, 32]", NULL },
	{ "%30 = fill %10 ahead 3 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = fill %10 ahead -1 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = fill %18 fill 15 : reg u4[16, 32]", NULL },
	{ "%30 = fill %18 fill 16 : reg u4[16, 32]", "the fill value is out of range for the type" },
	{ "%30 = fill %10 : reg f32[16, 32]", "not a register tile, or the result has another type" },
	{ "%30 = fill %16 : f16", "not a register tile, or the result has another type" },
	{ "%30 = unmask %10 : reg f16[16, 32]", NULL },
	{ "%30 = unmask %10 : reg f16[32, 16]", "operand and result differ" },
	{ "%30 = unmask %16 : f16", "not a register tile" },
	{ "%30 = front %10, %17 : reg f16[16, 32] %31 = front %10, %10 dim 1 : reg f16[16, 32]", NULL },
	{ "%30 = front %10, %10 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = front %10, %10 dim -1 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = front %10, %11 : reg f16[16, 32]", "the result has another type or shape" },
	{ "%30 = front %10, %19 : reg f16[16, 32]", "the result has another type or shape" },
	{ "%30 = front %11, %10 : reg f16[16, 32]", "the result has another type or shape" },
	{ "%30 = front %16, %16 : f16", "the result has another type or shape" },
};
TEST_ROWS(insides_row, "", prelude, insides)

/* After pass mask_bounds none of these exists, and masks do. */
static const VerifyRow masked[] = {
	{ "%30 = mask %10, %3 dims 1 : reg f16[16, 32]", NULL },
	{ "%30 = inside %10 : reg bool[16, 32]", "op inside: the kernel's masks are explicit" },
	{ "%30 = inside_any %10 : reg bool[1, 32]", "op inside_any: the kernel's masks are explicit" },
	{ "%30 = inside_count %10 : reg f32[1, 32]", "op inside_count: the kernel's masks are explicit" },
	{ "%30 = inside_first %10 : i64", "op inside_first: the kernel's masks are explicit" },
	{ "%30 = inside_end %10 : i64", "op inside_end: the kernel's masks are explicit" },
	{ "%30 = if_range %14, %12, %12 : reg f32[16, 8]", "op if_range: the kernel's masks are explicit" },
	{ "%30 = limit %10, %3, %4 : reg f16[16, 32]", "op limit: the kernel's masks are explicit" },
	{ "%30 = fill %10 : reg f16[16, 32]", "op fill: the kernel's masks are explicit" },
	{ "%30 = unmask %10 : reg f16[16, 32]", "op unmask: the kernel's masks are explicit" },
	{ "%30 = front %10, %10 : reg f16[16, 32]", "op front: the kernel's masks are explicit" },
};
TEST_ROWS(masked_row, "masked", prelude, masked)

/* ---- shapes ---- */

static const VerifyRow shapes[] = {
	{ "%30 = const value 1 : reg u8[1, 32] %31 = broadcast %30 : reg u8[16, 32]", NULL },
	{ "%30 = const value 1 : reg u8[1, 1] %31 = broadcast %30 : reg u8[16, 32] %32 = broadcast %31 : "
	  "reg u8[16, 32]", NULL },
	{ "%30 = broadcast %10 : reg f16[32, 32]", "an extent that is not 1 changes" },
	{ "%30 = broadcast %10 : reg f16[16, 64]", "an extent that is not 1 changes" },
	{ "%30 = broadcast %10 : reg f16[16, 1]", "an extent that is not 1 changes" },
	{ "%30 = broadcast %10 : reg f16[1, 16, 32]", "not register tiles of one type and rank" },
	{ "%30 = broadcast %10 : reg f32[16, 32]", "not register tiles of one type and rank" },
	{ "%30 = broadcast %19 : reg f16[16, 32]", "not register tiles of one type and rank" },
	{ "%30 = broadcast %10 : shared f16[16, 32]", "not register tiles of one type and rank" },
	{ "%30 = transpose %10 perm 1, 0 : reg f16[32, 16] %31 = transpose %10 perm 0, 1 : reg f16[16,"
	  " 32]", NULL },
	{ "%30 = reshape %10 : reg f16[2, 8, 32] %31 = transpose %30 perm 2, 0, 1 : reg f16[32, 2,"
	  " 8]", NULL },
	{ "%30 = reshape %10 : reg f16[2, 8, 32] %31 = transpose %30 perm 2, 0, 1 : reg f16[8, 32, 2]",
	  "extents do not match the permutation" },
	{ "%30 = transpose %10 perm 1, 0 : reg f16[16, 32]", "extents do not match the permutation" },
	{ "%30 = transpose %10 perm 0, 0 : reg f16[16, 16]", "imm is not a permutation of the dimensions" },
	{ "%30 = transpose %10 perm 0, 2 : reg f16[16, 32]", "imm is not a permutation of the dimensions" },
	{ "%30 = transpose %10 perm -1, 1 : reg f16[16, 32]", "imm is not a permutation of the dimensions" },
	{ "%30 = transpose %10 perm 0, 1, 2 : reg f16[16, 32]",
	  "imm is not a permutation of the dimensions" },
	{ "%30 = transpose %10 perm 0 : reg f16[16]", "not register tiles of one type and rank" },
	{ "%30 = transpose %10 perm 0, 1 : reg bf16[16, 32]", "not register tiles of one type and rank" },
	{ "%30 = transpose %19 perm 0, 1 : reg f16[16, 32]", "not register tiles of one type and rank" },
	{ "%30 = transpose %16 perm 0 : f16", "not register tiles of one type and rank" },
	{ "%30 = reshape %10 : reg f16[512] %31 = reshape %30 : reg f16[4, 4, 4, 8]", NULL },
	{ "%30 = reshape %10 : reg f16[511]", "the number of elements differs" },
	{ "%30 = reshape %10 : reg f16[513]", "the number of elements differs" },
	{ "%30 = reshape %10 : reg bf16[512]", "not register tiles of one type" },
	{ "%30 = reshape %10 : shared f16[512]", "not register tiles of one type" },
	{ "%30 = reshape %19 : reg f16[512]", "not register tiles of one type" },
	{ "%30 = reshape %16 : reg f16[1]", "not register tiles of one type" },
	{ "%30 = reshape %19 : shared f16[512] %31 = reshape %30 : shared f16[32, 16]", NULL },
	{ "%30 = reshape %19 : shared f16[16, 31]", "the number of elements differs" },
	{ "%30 = reshape %19 : shared bf16[16, 32]", "not a full shared tile under another shape" },
	{ "%30 = view %19, %5, %5 : shared f16[8, 32] %31 = reshape %30 : shared f16[256]",
	  "not a full shared tile under another shape" },
	{ "%30 = alloc offset -1 : shared f16[1] %31 = reshape %30 : shared f16[1, 1]", NULL },
	{ "%30 = alloc offset -1 : shared f16[1] %31 = reshape %30 : shared f16[]",
	  "not a full shared tile under another shape" },
	{ "%30 = mbarrier offset -1 arrivals 1 : shared u64[4] %31 = reshape %30 : shared u64[2, 2]",
	  "not a full shared tile under another shape" },
	{ "%30 = reshape %10 added 1 : reg f16[1, 16, 32] %31 = reshape %10 added 2 : reg f16[16, 1,"
	  " 32]", NULL },
	{ "%30 = reshape %10 added 12 : reg f16[16, 32, 1, 1] %31 = reshape %30 dropped 8 : reg f16[16,"
	  " 32, 1]", NULL },
	{ "%30 = reshape %10 added 1 : reg f16[1, 16, 32] %31 = reshape %30 dropped 1 added 4 : reg"
	  " f16[16, 32, 1]", NULL },
	{ "%30 = reshape %10 added 5 : reg f16[1, 16, 1, 32] %31 = reshape %30 dropped 5 : reg f16[16,"
	  " 32]", NULL },
	{ "%30 = reshape %10 added 1 : reg f16[16, 1, 32]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 1 : reg f16[2, 8, 32]", "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 3 : reg f16[1, 16, 32]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 1 : reg f16[1, 16, 32, 1]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 1 : reg f16[1, 32, 16]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 dropped 1 : reg f16[512]", "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 dropped 1 : reg f16[16, 32]", "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 1 : reg f16[1, 16, 32] %31 = reshape %30 dropped 1 : reg f16[32, 16]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 1 : reg f16[1, 16, 32] %31 = reshape %30 dropped 2 : reg f16[16, 32]",
	  "dims that are neither dropped nor added differ" },
	{ "%30 = reshape %10 added 8 : reg f16[16, 1, 32]", "`dropped` or `added` names no dimension" },
	{ "%30 = reshape %10 dropped 4 : reg f16[16, 32]", "`dropped` or `added` names no dimension" },
	{ "%30 = reshape %10 added -1 : reg f16[16, 32]", "`dropped` or `added` names no dimension" },
	{ "%30 = pin %12 : reg f32[16, 8] @pin"
	  " {((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))+[4:1@warp]}", NULL },
	{ "%30 = pin %12 : reg f32[16, 8] @{((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))+[4:1@warp]}",
	  "the result has no pinned layout" },
	{ "%30 = pin %12 : reg f32[16, 8]", "the result has no pinned layout" },
	{ "%30 = pin %10 : reg f32[16, 8] @pin {((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))+[4:1@warp]}",
	  "not one register tile" },
	{ "%30 = relabel_layout %12 : reg f32[16, 8]", NULL },
	{ "%30 = relabel_layout %12 : reg f32[8, 16]", "not one register tile" },
	{ "%30 = relabel_layout %19 : shared f16[16, 32]", "not one register tile" },
	{ "%30 = relabel_layout %16 : f16", "not one register tile" },
	{ "%30 = convert_layout %10 : reg f16[16, 32]", NULL },
	{ "%30 = convert_layout %10 : reg f16[32, 16]", "operand and result differ" },
	{ "%30 = convert_layout %16 : f16", "not a register tile" },
	{ "%30 = fragment_prefetch %10 : reg f16[16, 32] %31 = prefetched %10, %30 : reg f16[16, 32]", NULL },
	{ "%30 = fragment_prefetch %10 : reg f32[16, 32]", "operand and result differ" },
	{ "%30 = fragment_prefetch %16 : f16", "not a register tile" },
	{ "%30 = prefetched %10, %11 : reg f16[16, 32]", "operand and result differ" },
	{ "%30 = prefetched %16, %16 : f16", "not a register tile" },
};
TEST_ROWS(shapes_row, "", prelude, shapes)

static const VerifyRow pieces[] = {
	{ "%30 = shift %12 dim 1 by 7 : reg f32[16, 8] %31 = shift %12 by 1 fill_in -inf : reg f32[16,"
	  " 8]", NULL },
	{ "%30 = shift %12 dim 1 by 8 : reg f32[16, 8]", "shifts out all elements, or none" },
	{ "%30 = shift %12 dim 1 : reg f32[16, 8]", "shifts out all elements, or none" },
	{ "%30 = shift %12 dim 1 by -1 : reg f32[16, 8]", "shifts out all elements, or none" },
	{ "%30 = shift %12 by 15 : reg f32[16, 8]", NULL },
	{ "%30 = shift %12 by 16 : reg f32[16, 8]", "shifts out all elements, or none" },
	{ "%30 = shift %12 dim 2 by 1 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = shift %12 dim -1 by 1 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = shift %12 by 1 : reg f32[8, 16]", "not register tiles of one type" },
	{ "%30 = shift %12 by 1 : reg i32[16, 8]", "not register tiles of one type" },
	{ "%30 = shift %18 by 1 fill_in 15 : reg u4[16, 32]", NULL },
	{ "%30 = shift %18 by 1 fill_in 16 : reg u4[16, 32]", "the fill value is out of range for the type" },
	{ "%30 = slice %10 dim 1 from 16 : reg f16[16, 16] %31 = slice %10 : reg f16[16, 32]", NULL },
	{ "%30 = slice %10 dim 1 from 31 : reg f16[16, 1] %31 = slice %10 from 15 : reg f16[1, 32]", NULL },
	{ "%30 = slice %10 dim 1 from 17 : reg f16[16, 16]", "reaches outside the tile" },
	{ "%30 = slice %10 dim 1 from -1 : reg f16[16, 16]", "reaches outside the tile" },
	{ "%30 = slice %10 dim 1 : reg f16[16, 33]", "reaches outside the tile" },
	{ "%30 = slice %10 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = slice %10 dim -1 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = slice %10 dim 1 : reg f16[16]", "no such dimension" },
	{ "%30 = const value 1.0 : reg f16[16] %31 = slice %30 dim 1 : reg f16[16, 1]", "no such dimension" },
	{ "%30 = slice %10 : reg f16[16]", "another dimension changes" },
	{ "%30 = slice %10 : reg f16[16, 31]", "another dimension changes" },
	{ "%30 = slice %10 dim 1 : reg f16[15, 16]", "another dimension changes" },
	{ "%30 = slice %10 : reg bf16[16, 32]", "not register tiles of one type" },
	{ "%30 = slice %19 : reg f16[8, 32]", "not register tiles of one type" },
	{ "%30 = slice %10 : shared f16[8, 32]", "not register tiles of one type" },
	{ "%30 = concat %10, %10 : reg f16[32, 32] %31 = concat %10, %30 : reg f16[48, 32]", NULL },
	{ "%30 = concat %10, %10 dim 1 : reg f16[16, 64]", NULL },
	{ "%30 = concat %10, %10 dim 1 : reg f16[16, 63]",
	  "the result's extent is not the sum of the operands'" },
	{ "%30 = concat %10, %10 dim 1 : reg f16[16, 65]",
	  "the result's extent is not the sum of the operands'" },
	{ "%30 = concat %10, %10 dim 1 : reg f16[32, 32]",
	  "the result's extent is not the sum of the operands'" },
	{ "%30 = concat %10, %10 dim 1 : reg f16[64]",
	  "the result's extent is not the sum of the operands'" },
	{ "%30 = concat %10, %10 dim 2 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = concat %10, %10 dim -1 : reg f16[16, 32]", "no such dimension" },
	{ "%30 = const value 1.0 : reg f16[16] %31 = concat %10, %30 dim 1 : reg f16[16, 33]",
	  "no such dimension" },
	{ "%30 = const value 1.0 : reg f16[16] %31 = concat %30, %10 dim 1 : reg f16[32]",
	  "no such dimension" },
	{ "%30 = const value 1.0 : reg f16[16] %31 = concat %30, %10 : reg f16[32]", "other extents differ" },
	{ "%30 = concat %10, %11 : reg f16[48, 32]", "other extents differ" },
	{ "%30 = concat %11, %10 dim 1 : reg f16[32, 40]", "other extents differ" },
	{ "%30 = concat %10, %17 : reg f16[32, 32]", "not register tiles of one type" },
	{ "%30 = concat %17, %10 : reg f16[32, 32]", "not register tiles of one type" },
	{ "%30 = concat %10, %19 : reg f16[32, 32]", "not register tiles of one type" },
	{ "%30 = concat %10, %10 : shared f16[32, 32]", "not register tiles of one type" },
};
TEST_ROWS(pieces_row, "", prelude, pieces)

/* ---- reductions, tables, products ---- */

static const VerifyRow reductions[] = {
	{ "%30 = reduce_sum %12 : reg f32[1, 8] %31 = reduce_max %12 dim 1 : reg f32[16, 1]", NULL },
	{ "%30 = reduce_min %17 dim 1 deferrable 1 : reg i32[16, 1]", NULL },
	{ "%30 = reduce_sum %12 deferrable 2 : reg f32[1, 8]", "`deferrable` is not 0 to 1" },
	{ "%30 = reduce_sum %12 deferrable -1 : reg f32[1, 8]", "`deferrable` is not 0 to 1" },
	{ "%30 = reduce_sum %12 dim 2 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = reduce_sum %12 dim -1 : reg f32[16, 8]", "no such dimension" },
	{ "%30 = reduce_sum %12 : reg f32[16, 1]", "the result's shape does not match" },
	{ "%30 = reduce_sum %12 : reg f32[2, 8]", "the result's shape does not match" },
	{ "%30 = reduce_sum %12 : reg f32[8]", "the result's shape does not match" },
	{ "%30 = reduce_sum %10 : reg f32[1, 32]", "not register tiles of one type" },
	{ "%30 = reduce_sum %19 : reg f16[1, 32]", "not register tiles of one type" },
	{ "%30 = reduce_sum %12 : shared f32[1, 8]", "not register tiles of one type" },
	{ "%30 = reduce_sum %14 : reg bool[1, 32]", "not defined on bool" },
	{ "%30 = cast %12 : reg tf32[16, 8] %31 = reduce_max %30 : reg tf32[1, 8]", "not defined on tf32" },
};
TEST_ROWS(reductions_row, "", prelude, reductions)

static const VerifyRow tables[] = {
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %18 : reg f16[16, 32]", NULL },
	{ "%30 = const value 2.0 : reg f16[16, 16] %31 = lookup %30, %18 : reg f16[16, 32]", NULL },
	{ "%30 = const value 2.0 : reg f16[1, 16] %31 = lookup %30, %18 : reg f16[16, 32]", NULL },
	{ "%30 = const value 2 : reg i8[16] %31 = lookup %30, %18 : reg i8[16, 32]", NULL },
	{ "%30 = const value 2.0 : reg f64[16] %31 = lookup %30, %18 : reg f64[16, 32]", NULL },
	{ "%30 = cast %17 : reg u1[16, 32] %31 = const value 2.0 : reg f32[2] %32 = lookup %31, %30 : "
	  "reg f32[16, 32]", NULL },
	{ "%30 = cast %17 : reg u3[16, 32] %31 = const value 2.0 : reg f32[8] %32 = lookup %31, %30 : "
	  "reg f32[16, 32]", NULL },
	{ "%30 = cast %17 : reg u3[16, 32] %31 = const value 2.0 : reg f32[7] %32 = lookup %31, %30 : "
	  "reg f32[16, 32]", "the table must have one element for each index value" },
	{ "%30 = cast %17 : reg u5[16, 32] %31 = const value 2.0 : reg f32[32] %32 = lookup %31, %30 : "
	  "reg f32[16, 32]", "indices must be u1 to u4" },
	{ "%30 = cast %17 : reg i4[16, 32] %31 = const value 2.0 : reg f32[16] %32 = lookup %31, %30 : "
	  "reg f32[16, 32]", "indices must be u1 to u4" },
	{ "%30 = const value 2 : reg i7[16] %31 = lookup %30, %18 : reg i7[16, 32]", "at least 8 bits" },
	{ "%30 = const value 1 : reg bool[16] %31 = lookup %30, %18 : reg bool[16, 32]", "at least 8 bits" },
	{ "%30 = const value 2.0 : reg f16[15] %31 = lookup %30, %18 : reg f16[16, 32]",
	  "the table must have one element for each index value" },
	{ "%30 = const value 2.0 : reg f16[17] %31 = lookup %30, %18 : reg f16[16, 32]",
	  "the table must have one element for each index value" },
	{ "%30 = const value 2.0 : reg f16[1, 1, 16] %31 = lookup %30, %18 : reg f16[16, 32]",
	  "the table must have one element for each index value" },
	{ "%30 = const value 2.0 : reg f16[2, 16] %31 = lookup %30, %18 : reg f16[16, 32]",
	  "the tables do not match the rows" },
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %18 : reg f16[32, 16]",
	  "the result must have the shape of the indices" },
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %18 : reg f32[16, 32]",
	  "the result must have the shape of the indices" },
	{ "%30 = alloc offset -1 : shared f16[16] %31 = lookup %30, %18 : reg f16[16, 32]",
	  "not register tiles" },
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %20 : reg f16[8]", "not register tiles" },
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %18 : shared f16[16, 32]",
	  "not register tiles" },
	{ "%30 = const value 2.0 : reg f16[16] %31 = lookup %30, %21 : reg f16[8]",
	  "a bit order other than 4" },
	{ "%30 = alloc offset -1 : shared u3[32] %31 = load %30 : reg u3[32] order 4 @{32:1@reg}"
	  " %32 = const value 2.0 : reg f16[8] %33 = lookup %32, %31 : reg f16[32]", NULL },
	{ "%30 = alloc offset -1 : shared u3[32] %31 = load %30 : reg u3[32] order 4 @{32:1@reg}"
	  " %32 = const value 2 : reg u8[8] %33 = lookup %32, %31 : reg u8[32] order 8 @{32:1@reg}",
	  "a bit order other than 4" },
	{ "%30 = const value 2 : reg i32[16, 32] %31 = const value 2.0 : reg f16[16, 1, 64]"
	  " %32 = gather %31, %30 : reg f16[16, 32]", NULL },
	{ "%31 = const value 1 : reg bool[1, 32, 7] %32 = gather %31, %17 : reg bool[16, 32]", NULL },
	{ "%31 = const value 1.0 : reg f16[2] %32 = gather %31, %22 : reg f16[4]",
	  "the table must have one dimension more than the indices" },
	{ "%31 = const value 1.0 : reg f16[4, 2] %32 = gather %31, %22 : reg f16[4]", NULL },
	{ "%31 = const value 1.0 : reg f16[4, 2, 1] %32 = gather %31, %22 : reg f16[4]",
	  "the table must have one dimension more than the indices" },
	{ "%31 = const value 1.0 : reg f16[2, 2] %32 = gather %31, %22 : reg f16[4]",
	  "the tables do not match the rows" },
	{ "%31 = const value 1.0 : reg f16[16, 2, 2] %32 = gather %31, %17 : reg f16[16, 32]",
	  "the tables do not match the rows" },
	{ "%30 = cast %17 : reg u32[16, 32] %31 = const value 1.0 : reg f16[1, 1, 2] %32 = gather %31, %30 : "
	  "reg f16[16, 32]", "indices must be i32 or i64" },
	{ "%31 = const value 1.0 : reg f16[1, 1, 2] %32 = gather %31, %17 : reg f16[32, 16]",
	  "the result must have the shape of the indices" },
	{ "%31 = const value 1.0 : reg f16[1, 1, 2] %32 = gather %31, %17 : reg f32[16, 32]",
	  "the result must have the shape of the indices" },
	{ "%31 = alloc offset -1 : shared f16[1, 1, 2] %32 = gather %31, %17 : reg f16[16, 32]",
	  "not register tiles" },
	{ "%30 = alloc offset -1 : shared i32[4] %31 = const value 1.0 : reg f16[1, 2] %32 = gather %31,"
	  " %30 : "
	  "reg f16[4]", "not register tiles" },
	{ "%31 = const value 1.0 : reg f16[1, 1, 2] %32 = gather %31, %17 : shared f16[16, 32]",
	  "not register tiles" },
	{ "%31 = const value 1.0 : reg f16[2] %32 = gather %31, %5 : f16", "not register tiles" },
};
TEST_ROWS(tables_row, "", prelude, tables)

static const VerifyRow sparse[] = {
	/* as many u2 as values; half as many u2; as many u1 */
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]", NULL },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 : reg f16[32, 32]", NULL },
	{ "%30 = const value 1 : reg u2[16, 16] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]", NULL },
	{ "%30 = const value 1 : reg u2[8, 32] %31 = sparse_expand %10, %30 dense 1 : reg f16[32,"
	  " 32]", NULL },
	{ "%30 = cast %17 : reg u1[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]", NULL },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 1 dense 2 : reg f16[16, 64]",
	  "`dense` is not 0 to 1" },
	{ "%30 = const value 1 : reg u1[16, 16] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "sparse metadata does not match the values" },
	{ "%30 = const value 1 : reg u2[16, 8] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "sparse metadata does not match the values" },
	{ "%30 = const value 1 : reg u2[16, 64] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "sparse metadata does not match the values" },
	{ "%30 = sparse_expand %10, %18 dim 1 : reg f16[16, 64]",
	  "sparse metadata does not match the values" },
	/* complete groups */
	{ "%30 = const value 1 : reg u2[3] %31 = const value 1.0 : reg f16[3] %32 = sparse_expand %31, %30 : "
	  "reg f16[6]", "sparse metadata does not match the values" },
	{ "%30 = const value 1 : reg u2[3] %31 = const value 1.0 : reg f16[6] %32 = sparse_expand %31, %30 : "
	  "reg f16[12]", "sparse metadata does not match the values" },
	{ "%30 = const value 1 : reg u1[3] %31 = const value 1.0 : reg f16[3] %32 = sparse_expand %31, %30 : "
	  "reg f16[6]", NULL },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[32, 32]",
	  "the result's type does not match" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 128]",
	  "the result's type does not match" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f32[16, 64]",
	  "the result's type does not match" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim 2 : reg f16[16, 64]",
	  "no such dimension" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %10, %30 dim -1 : reg f16[16, 64]",
	  "no such dimension" },
	{ "%30 = const value 1 : reg u2[8, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "values and positions have different shapes" },
	{ "%30 = const value 1 : reg u2[32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "not register tiles of values and positions" },
	{ "%30 = alloc offset -1 : shared u2[16, 32] %31 = sparse_expand %10, %30 dim 1 : reg f16[16, 64]",
	  "not register tiles of values and positions" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %19, %30 dim 1 : reg f16[16, 64]",
	  "not register tiles of values and positions" },
	{ "%30 = cast %17 : reg u2[16, 32] %31 = sparse_expand %14, %30 dim 1 : reg bool[16, 64]",
	  "not register tiles of values and positions" },
};
TEST_ROWS(sparse_row, "", prelude, sparse)

static const VerifyRow dots[] = {
	{ "%30 = dot %10, %11, %12 : reg f32[16, 8] %31 = dot %10, %11, %30 skinny 2 dense 1 : reg f32[16,"
	  " 8]", NULL },
	{ "%30 = dot %10, %11, %12 skinny 3 : reg f32[16, 8]", "`skinny` is not 0 to 2" },
	{ "%30 = dot %10, %11, %12 dense 2 : reg f32[16, 8]", "`dense` is not 0 to 1" },
	{ "%30 = dot %10, %11 : reg f32[16, 8]", "expected two operands, an accumulator" },
	{ "%30 = dot %10, %11, %12, %10, %11, %12 : reg f32[16, 8]",
	  "expected two operands, an accumulator" },
	{ "%30 = dot %11, %11, %12 : reg f32[16, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = dot %10, %10, %12 : reg f32[16, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = const value 0.0 : reg f32[8, 8] %31 = dot %10, %11, %30 : reg f32[8, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = const value 0.0 : reg f32[16, 16] %31 = dot %10, %11, %30 : reg f32[16, 16]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = dot %10, %11, %12 : reg f32[16, 16]", "result and accumulator differ" },
	{ "%30 = dot %10, %11, %12 : reg f64[16, 8]", "result and accumulator differ" },
	{ "%30 = dot %19, %11, %12 : reg f32[16, 8]", "operands are not matrices in registers" },
	{ "%30 = alloc offset -1 : shared f16[32, 8] %31 = dot %10, %30, %12 : reg f32[16, 8]",
	  "operands are not matrices in registers" },
	{ "%30 = alloc offset -1 : shared f32[16, 8] %31 = dot %10, %11, %30 : reg f32[16, 8]",
	  "operands are not matrices that `dot` supports" },
	/* element types of operands */
	{ "%30 = cast %10 : reg e4m3[16, 32] %31 = cast %11 : reg e5m2[32, 8] %32 = dot %30, %31, %12 : "
	  "reg f32[16, 8]", NULL },
	{ "%30 = cast %10 : reg tf32[16, 32] %31 = cast %11 : reg tf32[32, 8] %32 = dot %30, %31, %12 : "
	  "reg f32[16, 8]", NULL },
	{ "%30 = cast %10 : reg bf16[16, 32] %31 = dot %30, %11, %12 : reg f32[16, 8]",
	  "operands are not matrices that `dot` supports" },
	{ "%30 = cast %10 : reg e4m3[16, 32] %31 = cast %11 : reg e3m4[32, 8] %32 = dot %30, %31, %12 : "
	  "reg f32[16, 8]", "operands are not matrices that `dot` supports" },
	{ "%30 = const value 1 : reg u8[16, 32] %31 = const value 1 : reg i8[32, 8] %32 = const value 0 : "
	  "reg i32[16, 8] %33 = dot %30, %31, %32 : reg i32[16, 8]", NULL },
	{ "%30 = const value 1 : reg u8[16, 32] %31 = const value 1 : reg i4[32, 8] %32 = const value 0 : "
	  "reg i32[16, 8] %33 = dot %30, %31, %32 : reg i32[16, 8]",
	  "operands are not matrices that `dot` supports" },
	{ "%30 = const value 1 : reg bool[32, 8] %31 = const value 0 : reg i32[16, 8] %32 = dot %14, %30,"
	  " %31 : "
	  "reg i32[16, 8]", "operands are not matrices that `dot` supports" },
	/* floats accumulate in floats, integers in integers at least as wide */
	{ "%30 = const value 0.0 : reg f16[16, 8] %31 = dot %10, %11, %30 : reg f16[16, 8]", NULL },
	{ "%30 = const value 0.0 : reg bf16[16, 8] %31 = dot %10, %11, %30 : reg bf16[16, 8]", NULL },
	{ "%30 = const value 0 : reg i32[16, 8] %31 = dot %10, %11, %30 : reg i32[16, 8]",
	  "accumulator type is too narrow for the operands" },
	{ "%30 = const value 1 : reg i32[32, 8] %31 = dot %17, %30, %12 : reg f32[16, 8]",
	  "accumulator type is too narrow for the operands" },
	{ "%30 = const value 1 : reg i32[32, 8] %31 = const value 0 : reg i32[16, 8] %32 = dot %17, %30,"
	  " %31 : "
	  "reg i32[16, 8]", NULL },
	{ "%30 = const value 1 : reg i32[32, 8] %31 = const value 0 : reg i16[16, 8] %32 = dot %17, %30,"
	  " %31 : "
	  "reg i16[16, 8]", "accumulator type is too narrow for the operands" },
	{ "%30 = cast %10 : reg f32[16, 32] %31 = cast %11 : reg f32[32, 8] %32 = const value 0.0 : "
	  "reg f16[16, 8] %33 = dot %30, %31, %32 : reg f16[16, 8]",
	  "accumulator type is too narrow for the operands" },
	{ "%30 = cast %10 : reg tf32[16, 32] %31 = cast %11 : reg tf32[32, 8] %32 = const value 0.0 : "
	  "reg tf32[16, 8] %33 = dot %30, %31, %32 : reg tf32[16, 8]",
	  "accumulator type is too narrow for the operands" },
	{ "%30 = const value 1 : reg u4[32, 8] %31 = const value 0 : reg u4[16, 8] %32 = dot %18, %30, %31 : "
	  "reg u4[16, 8]", "accumulator type is too narrow for the operands" },
	{ "%30 = const value 1 : reg u8[16, 32] %31 = const value 1 : reg u8[32, 8] %32 = const value 0 : "
	  "reg bool[16, 8] %33 = dot %30, %31, %32 : reg bool[16, 8]",
	  "accumulator type is too narrow for the operands" },
	/* batches: all leading dimensions are equal */
	{ "%30 = const value 1.0 : reg f16[3, 4] %31 = dot %30, %30, %12 : reg f32[16, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = const value 1.0 : reg f16[3, 2, 8, 16] %31 = const value 1.0 : reg f16[3, 2, 16, 4]"
	  " %32 = const value 0.0 : reg f32[3, 2, 8, 4] %33 = dot %30, %31, %32 : reg f32[3, 2, 8,"
	  " 4]", NULL },
	{ "%30 = const value 1.0 : reg f16[3, 2, 8, 16] %31 = const value 1.0 : reg f16[4, 2, 16, 4]"
	  " %32 = const value 0.0 : reg f32[3, 2, 8, 4] %33 = dot %30, %31, %32 : reg f32[3, 2, 8, 4]",
	  "operands have different batch dimensions" },
	{ "%30 = const value 1.0 : reg f16[3, 2, 8, 16] %31 = const value 1.0 : reg f16[3, 1, 16, 4]"
	  " %32 = const value 0.0 : reg f32[3, 2, 8, 4] %33 = dot %30, %31, %32 : reg f32[3, 2, 8, 4]",
	  "operands have different batch dimensions" },
	{ "%30 = const value 1.0 : reg f16[3, 2, 8, 16] %31 = const value 1.0 : reg f16[3, 2, 16, 4]"
	  " %32 = const value 0.0 : reg f32[3, 1, 8, 4] %33 = dot %30, %31, %32 : reg f32[3, 1, 8, 4]",
	  "operands have different batch dimensions" },
	{ "%30 = const value 1.0 : reg f16[3, 8, 16] %31 = const value 1.0 : reg f16[3, 16, 4]"
	  " %32 = const value 0.0 : reg f32[8, 4] %33 = dot %30, %31, %32 : reg f32[8, 4]",
	  "operands are not matrices that `dot` supports" },
	{ "%30 = const value 1.0 : reg f16[3, 8, 16] %31 = const value 1.0 : reg f16[16, 4]"
	  " %32 = const value 0.0 : reg f32[3, 8, 4] %33 = dot %30, %31, %32 : reg f32[3, 8, 4]",
	  "operands are not matrices that `dot` supports" },
	{ "%30 = const value 1.0 : reg f16[8] %31 = const value 0.0 : reg f32[8] %33 = dot %30, %30, %31 : "
	  "reg f32[8]", "operands are not matrices that `dot` supports" },
};
TEST_ROWS(dots_row, "", prelude, dots)

static const VerifyRow dots_with_more[] = {
	/* positions of a sparse operand */
	{ "%30 = const value 1.0 : reg f16[64, 8] %31 = const value 1 : reg u2[16, 32]"
	  " %32 = dot %10, %30, %12, %31 : reg f32[16, 8]", NULL },
	{ "%30 = const value 1.0 : reg f16[64, 8] %31 = const value 1 : reg u2[16, 16]"
	  " %32 = dot %10, %30, %12, %31 sparse 0 : reg f32[16, 8]", NULL },
	{ "%30 = const value 1.0 : reg f16[16, 64] %31 = const value 1 : reg u2[32, 8]"
	  " %32 = dot %30, %11, %12, %31 sparse 1 : reg f32[16, 8]", NULL },
	{ "%31 = const value 1 : reg u2[16, 32] %32 = dot %10, %11, %12, %31 : reg f32[16, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%31 = const value 1 : reg u2[32, 8] %32 = dot %10, %11, %12, %31 sparse 1 : reg f32[16, 8]",
	  "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N]" },
	{ "%30 = const value 1.0 : reg f16[64, 8] %31 = const value 1 : reg u2[16, 32]"
	  " %32 = dot %10, %30, %12, %31 sparse 2 : reg f32[16, 8]", "`sparse` is not 0 to 1" },
	{ "%30 = const value 1.0 : reg f16[64, 8] %31 = const value 1 : reg u2[16, 32]"
	  " %32 = dot %10, %30, %12, %31 sparse -1 : reg f32[16, 8]", "`sparse` is not 0 to 1" },
	{ "%30 = const value 1.0 : reg f16[64, 8] %31 = const value 1 : reg u2[16, 8]"
	  " %32 = dot %10, %30, %12, %31 : reg f32[16, 8]", "sparse metadata does not match the values" },
	{ "%30 = const value 1.0 : reg f16[16, 64] %31 = const value 1 : reg u2[16, 8]"
	  " %32 = dot %30, %11, %12, %31 sparse 1 : reg f32[16, 8]", NULL },
	{ "%30 = const value 1.0 : reg f16[2, 8, 32] %31 = const value 1.0 : reg f16[2, 64, 8]"
	  " %32 = const value 0.0 : reg f32[2, 8, 8] %33 = const value 1 : reg u2[2, 8, 32]"
	  " %34 = dot %30, %31, %32, %33 : reg f32[2, 8, 8]", "cannot have batch dimensions" },
	/* scales of both operands: sa[M, K / G], sb[K / H, N] */
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", NULL },
	{ "%30 = const value 1.0 : reg e4m3[16, 32] %31 = const value 1.0 : reg e8m0[4, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", NULL },
	{ "%30 = const value 1.0 : reg e8m0[16, 3] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "operand and scales do not match" },
	{ "%30 = const value 1.0 : reg e8m0[16, 64] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "operand and scales do not match" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[3, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "operand and scales do not match" },
	{ "%30 = const value 1.0 : reg e8m0[8, 1] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "operand and scales do not match" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 4]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "operand and scales do not match" },
	{ "%30 = const value 1.0 : reg f16[16, 1] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1 : reg u8[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = const value 1.0 : reg e8m0[16] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = alloc offset -1 : shared e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = dot %10, %11, %12, %30, %31 : reg f32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 8] %32 = const"
	  " value 1 : "
	  "reg i32[32, 8] %33 = const value 0 : reg i32[16, 8]"
	  " %34 = dot %17, %32, %33, %30, %31 : reg i32[16, 8]", "scales are not a matrix of floats" },
	{ "%30 = const value 1.0 : reg e8m0[16, 1] %31 = const value 1.0 : reg e8m0[1, 8]"
	  " %32 = const value 1.0 : reg f16[2, 8, 32] %33 = const value 1.0 : reg f16[2, 32, 8]"
	  " %34 = const value 0.0 : reg f32[2, 8, 8] %35 = dot %32, %33, %34, %30, %31 : reg f32[2, 8, 8]",
	  "cannot have batch dimensions" },
};
TEST_ROWS(dots_with_more_row, "", prelude, dots_with_more)

/* ---- all ops ---- */

static const VerifyRow any_op[] = {
	{ "barrier imm 1", "a number that the op does not have" },
	{ "%30 = add %5, %5 imm 1 : i64", "a number that the op does not have" },
	{ "%30 = add %5, %5 fimm 1.0 : i64", "a number that the op does not have" },
	{ "%30 = mul %16, %16 exact 1 fimm 1.0 : f16", "a number that the op does not have" },
	{ "%30 = iota imm 0, 1 : reg i32[8]", "a number that the op does not have" },
	{ "%30 = const value 1.0 : reg f16[]", "rank 0" },
	{ "%30 = splat %16 : reg f16[]", "rank 0" },
	{ "%30 = const value 1.0 : reg f16[1]", NULL },
	{ "%30 = const value 1.0 : reg f16[1, 1, 1, 1, 1, 1, 1, 1]", NULL },
	{ "%30 = const value 1.0 : reg f16[0]", "extent 0 of dim 0" },
	{ "%30 = const value 1.0 : reg f16[1, 0]", "extent 0 of dim 1" },
	{ "%30 = const value 1.0 : reg f16[?]", "extent -1 of dim 0" },
	{ "%30 = const value 1.0 : reg f16[1024, 1048576]", NULL },
	{ "%30 = const value 1.0 : reg f16[1024, 1048577]", "more than 2^30 elements" },
	{ "%30 = const value 1.0 : reg f16[1073741825]", "extent 1073741825 of dim 0" },
	{ "add %5, %5", "0 results; expected 1" },
	{ "%30 = barrier : i64", "1 results; expected 0" },
};
TEST_ROWS(any_op_row, "", prelude, any_op)
