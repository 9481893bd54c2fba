/* test_packed.c - tests which packs the kernels of an operator read: one, which the first of them to be
 * compiled chooses, or the one that the host states. */
#include "lib/hexc_ops.h"
#include "test/check.h"
#include <string.h>

/* A pack of u4 that kernels do not choose. */
#define OTHER "hexc-pack 1 u4 block 32x64 spread 16 streams 32 place ((8,4),(2,4,8)):((256,16),(1,64,2))"
#define STATED "(\"" OTHER "\") u4"

static const char *const arch[] = { "sm_80", "sm_90a" };

static hexc_op *
plan(const char *on, const hexc_op_set *set, size_t n)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	char why[600] = "";
	hexc_op *op;

	o.arch = on;
	ck_assert_msg(hexc_op_plan(&op, "matmul_packed", set, n, &o, why, sizeof why) == HEXC_OK, "%s", why);
	return op;
}

/* The pack in which a line's kernel reads a tensor. */
static const char *
pack_of(const hexc_family *f, size_t line, const char *tensor)
{
	const hexc_module *m;
	size_t k;
	int at;

	ck_assert_int_eq(hexc_family_stage(f, line, 0, NULL, &m, &k), HEXC_OK);
	at = hexc_param_find(m, k, tensor);
	ck_assert_int_ge(at, 0);
	return hexc_module_pack(m, k, (size_t)at);
}

/* The lines of the operator's table, counted in its text. */
static uint32_t
table_lines(void)
{
	hexc_op_info info;
	uint32_t n = 0;

	ck_assert(hexc_op_at((size_t)hexc_op_find("matmul_packed"), &info));
	for (const char *at = info.program; (at = strstr(at, "\n//: take ")); at++)
		n++;
	ck_assert_uint_gt(n, 0);
	return n;
}

/* No line is left out, and the kernels of all read this pack; NULL: that of the first. */
static void
all_read(const hexc_op *op, const char *tensor, const char *pack)
{
	const hexc_family *f = hexc_op_family(op);
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;

	hexc_family_describe(f, &info);
	ck_assert_uint_eq(info.nline, table_lines());
	for (size_t i = 0; i < info.nline; i++)
		ck_assert_str_eq(pack_of(f, i, tensor), pack ? pack : pack_of(f, 0, tensor));
}

TEST_EACH(chosen, 2)
{
	const hexc_op_set set[] = { { "scale", "f16" }, { "codes_z", "u4" }, { "scale_z", "f16" },
		                    { "epilogue", "x * z" } };
	hexc_op *op = plan(arch[_i], set, 4);

	all_read(op, "W", NULL);
	all_read(op, "Z", NULL);
	ck_assert_str_ne(pack_of(hexc_op_family(op), 0, "W"), OTHER);
	hexc_op_free(op);
}

TEST_EACH(stated, 2)
{
	const hexc_op_set set[] = { { "codes", STATED }, { "scale", "f16" } };
	hexc_op *op = plan(arch[_i], set, 2);

	all_read(op, "W", OTHER);
	hexc_op_free(op);
}

/* Of two tensors one. */
TEST_EACH(stated_beside_chosen, 2)
{
	const hexc_op_set set[] = { { "codes", STATED }, { "scale", "f16" }, { "codes_z", "u4" },
		                    { "scale_z", "f16" }, { "epilogue", "x * z" } };
	hexc_op *op = plan(arch[_i], set, 5);

	all_read(op, "W", OTHER);
	all_read(op, "Z", NULL);
	ck_assert_str_ne(pack_of(hexc_op_family(op), 0, "Z"), OTHER);
	hexc_op_free(op);
}

TEST(stated_wrongly)
{
	static const char *const codes[][2] = {
		{ "(\"hexc-pack 1 u4 block 7x5\") u4", "missing `spread N` after the block" },
		{ "(\"\") u4", "it does not start with `hexc-pack`" },
		{ "(\"hexc-pack 1 u8 block 16x64 spread 0\") u4", "missing `streams N` after the spread" },
	};
	hexc_op *op;
	char why[600];

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		const hexc_op_set set = { "codes", codes[i][0] };

		ck_assert_int_eq(hexc_op_plan(&op, "matmul_packed", &set, 1, NULL, why, sizeof why),
		                 HEXC_E_SOURCE);
		ck_assert_ptr_null(op);
		ck_assert_msg(strstr(why, "invalid pack: ") && strstr(why, codes[i][1]), "%s", why);
	}
}

TEST_PROGRAM(.timeout = 120);
