/* test_op_table.c - tests hexc_op_table: for sizes of each line, the kernels that it has planned are those
 * which the family of the whole table selects. Texts are compared with tables written here. */
#include "lib/hexc_ops.h"
#include "test/check.h"
#include <stdio.h>
#include <string.h>

#define HEAD "hexc-family 1\nfamily matmul\n"
/* Its lines for few rows, and for any address. */
#define TABLE HEAD "take decode BN=32 when M <= 8\ntake matmul BM=64 with S=ceil(M, 2) when M <= 64\n" \
	"take matmul BM=16 WARPS=2 ALIGN=1 when M <= 16\ntake matmul BM=64 ALIGN=1 when 1\n"

static char why[600], text[4096];

static int
table(const char *name, const hexc_op_set *set, size_t nset, const char *families, const hexc_define *size,
      size_t n, int aligned)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;

	o.families = families;
	return hexc_op_table(name, set, nset, &o, size, n, aligned, text, sizeof text, why, sizeof why);
}

TEST(lines_for_sizes)
{
	static const struct {
		int64_t m;
		int aligned;
		const char *text;
	} row[] = {
		{ 8, 1, HEAD "take decode BN=32 when 1\ntake matmul BM=64 with S=ceil(M, 2) when 1\n" },
		{ 9, 1, HEAD "take matmul BM=64 with S=ceil(M, 2) when 1\n" },
		{ 65, 1, HEAD "take matmul BM=64 ALIGN=1 when 1\n" },
		{ 16, 0, HEAD "take matmul BM=16 WARPS=2 ALIGN=1 when 1\n"
		              "take matmul BM=64 ALIGN=1 when 1\n" },
		{ 17, 0, HEAD "take matmul BM=64 ALIGN=1 when 1\n" },
	};

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		const hexc_define size = { "M", row[i].m };

		ck_assert_msg(!table("matmul", NULL, 0, TABLE, &size, 1, row[i].aligned), "%s", why);
		ck_assert_str_eq(text, row[i].text);
	}
}

/* Directives may depend on settings. */
TEST(lines_of_a_hole)
{
	const hexc_op_set set = { "grouped", "1" };
	const hexc_define size[] = { { "P", 4 }, { "Q", 4 }, { "QB", 2 }, { "N", 64 }, { "M", 1 } };

	ck_assert_msg(!table("matmul", &set, 1, NULL, size, 5, 1), "%s", why);
	ck_assert_msg(strstr(text, "family matmul\ntake group_rows BM=8 then decode ") &&
	                      !strstr(text, "\ntake decode"),
	              "%s", text);
	ck_assert_msg(!table("matmul", NULL, 0, NULL, size, 5, 1), "%s", why);
	ck_assert_msg(strstr(text, "family matmul\ntake decode ") && !strstr(text, "group_rows"), "%s", text);
}

/* The kernel and the constants of the line that takes these sizes, at addresses of this alignment. */
static void
picked(const hexc_op *op, const int64_t mnk[3], int aligned, char *out, size_t n)
{
	static const char letters[] = "MNK";
	const hexc_family *f = hexc_op_family(op);
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_arg arg[64] = { HEXC_ARG_INIT };
	const hexc_module *m;
	hexc_define d;
	size_t line, k, used = 0;

	for (size_t i = 0; hexc_family_param(f, i, &p); i++, p.size = sizeof p) {
		const char *of = strchr(letters, *p.name);

		if (p.kind == HEXC_POINTER)
			arg[i].ptr = (char *)0x1000 + (aligned ? 0 : 4);
		else if (of && !p.name[1])
			arg[i].i = mnk[of - letters];
		else /* strides of rows; P, Q, and other strides */
			arg[i].i = strchr("mn", p.name[strlen(p.name) - 1]) ? 4096 : 1;
	}
	ck_assert_msg(!hexc_family_pick(f, arg, &line, why, sizeof why), "%s", why);
	ck_assert_int_eq(hexc_family_stage(f, line, 0, NULL, &m, &k), HEXC_OK);
	for (size_t i = 0; hexc_const(m, k, i, &d); i++)
		used += (size_t)snprintf(out + used, n - used, "%s=%lld ", d.name, (long long)d.value);
	ck_assert_uint_lt(used, n);
}

static hexc_op *
plan(const char *families)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_op *op;

	o.families = families;
	ck_assert_msg(!hexc_op_plan(&op, "matmul", NULL, 0, &o, why, sizeof why), "%s", why);
	return op;
}

/* Each plan has one line, and that is the one which the whole table has for the launch. */
TEST(same_kernels_as_the_whole_table)
{
	static const int64_t mnk[][3] = { { 1, 64, 64 }, { 8, 4096, 256 }, { 16, 64, 64 }, { 17, 64, 64 },
		                          { 300, 512, 64 }, { 300, 2048, 64 }, { 4000, 4096, 64 } };
	char want[1000], have[1000];
	hexc_op *whole = plan(NULL);

	for (size_t i = 0; i < sizeof mnk / sizeof mnk[0]; i++)
		for (int aligned = 0; aligned < 2; aligned++) {
			const int64_t *x = mnk[i];
			const hexc_define size[] = { { "M", x[0] }, { "N", x[1] }, { "K", x[2] } };
			hexc_family_info info = HEXC_FAMILY_INFO_INIT;
			hexc_op *op;

			ck_assert_msg(!table("matmul", NULL, 0, NULL, size, 3, aligned), "%s", why);
			op = plan(text);
			hexc_family_describe(hexc_op_family(op), &info);
			ck_assert_uint_eq(info.nline, 1);
			picked(whole, mnk[i], aligned, want, sizeof want);
			picked(op, mnk[i], aligned, have, sizeof have);
			ck_assert_str_eq(have, want);
			hexc_op_free(op);
		}
	hexc_op_free(whole);
}

/* Lines for this arch alone count if there are any that hold, and other families do not. */
TEST(tuned_lines)
{
	static const char tuned[] = "hexc-family 1\nfamily matmul\narch sm_90a\n"
		"take matmul BM=64 BK=32 candidate=7 when M <= 64 && M % BK == 0\n"
		"family matmul\narch sm_80\ntake matmul BM=16 candidate=3 when M <= 64\n"
		"family matmul\ntake matmul\tBM=32\twhen\tM <= 128\nfamily gemm\ntake gemm BM=32 when X\n";
	static const struct {
		const char *arch, *text;
		int64_t m;
	} row[] = {
		{ "sm_90a", "hexc-family 1\nfamily matmul\narch sm_90a\ntake matmul BM=64 BK=32 candidate=7 "
		            "when 1\n", 32 },
		{ "sm_80", "hexc-family 1\nfamily matmul\narch sm_80\ntake matmul BM=16 candidate=3 when 1\n",
		  33 },
		{ "sm_90a", HEAD "take matmul\tBM=32\twhen 1\n", 33 },
		{ "sm_89", HEAD "take matmul\tBM=32\twhen 1\n", 32 },
	};

	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		const hexc_define size = { "M", row[i].m };
		hexc_op_opts o = HEXC_OP_OPTS_INIT;

		o.families = tuned;
		o.arch = row[i].arch;
		ck_assert_msg(!hexc_op_table("matmul", NULL, 0, &o, &size, 1, 1, text, sizeof text, why,
		                             sizeof why),
		              "%s", why);
		ck_assert_str_eq(text, row[i].text);
	}
}

TEST(errors)
{
	const hexc_op_set twice[] = { { "second", "1" }, { "second", "1" } }, unnamed = { NULL, "1" };
	const hexc_define no_name = { NULL, 1 };

	const hexc_define size = { "M", 1 };
	static const char none[] = HEAD "take decode when M > 1\n";

	ck_assert_int_eq(table("matmull", NULL, 0, NULL, &size, 1, 1), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "unknown operator matmull"));
	ck_assert_int_eq(table("matmul", NULL, 0, none, &size, 1, 1), HEXC_E_ARGS);
	ck_assert_str_eq(why, "operator matmul: no line of its dispatch table is for these sizes");
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(table("matmul", NULL, 0, TABLE, &size, 1, 0), HEXC_OK);
	ck_assert_int_eq(table("matmul", NULL, 0, HEAD "take decode when 1\n", &size, 1, 0), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "for these sizes at any address"));
	ck_assert_int_eq(table("matmul", twice, 2, TABLE, &size, 1, 1), HEXC_E_INVALID);
	ck_assert_int_eq(table("matmul", &unnamed, 1, TABLE, &size, 1, 1), HEXC_E_INVALID);
	ck_assert_int_eq(table("matmul", NULL, 0, TABLE, &no_name, 1, 1), HEXC_E_INVALID);
	ck_assert_int_eq(table("matmul", NULL, 0, none, NULL, 0, 1), HEXC_E_FILE);
	ck_assert_ptr_nonnull(strstr(why, "no value is given for M"));
	ck_assert_int_eq(table("matmul", NULL, 0, "hexc-family 2\n", &size, 1, 1), HEXC_E_FILE);
	ck_assert_int_eq(hexc_op_table("matmul", NULL, 0, NULL, &size, 1, 1, text, 20, why, sizeof why),
	                 HEXC_E_FILE); /* N is missing */
	ck_assert_int_eq(hexc_op_table("group_rows", NULL, 0, NULL, &size, 1, 1, text, 20, why, sizeof why),
	                 HEXC_E_LIMIT);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(hexc_op_table("matmul", NULL, 1, NULL, &size, 1, 1, text, 20, why, sizeof why),
	                 HEXC_E_INVALID);
	ck_assert_int_eq(hexc_op_table("matmul", NULL, 0, NULL, NULL, 1, 1, text, 20, why, sizeof why),
	                 HEXC_E_INVALID);
	ck_assert_int_eq(hexc_op_table("matmul", NULL, 0, NULL, &size, 1, 1, NULL, 20, why, sizeof why),
	                 HEXC_E_INVALID);
}

TEST_PROGRAM(.timeout = 120);
