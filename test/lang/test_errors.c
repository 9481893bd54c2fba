/* test_errors.c - tests errors of constants that are set from outside, many errors, and limits. In C:
 * programs are generated. test/lang/errors has programs with their errors in comments. */
#include "test/check.h"
#include "test/lang/util_lang.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants set from outside -------------------------------------------------------------- */

static const char tuned[] = "kernel k(A: out f32[N])\n"
			    "    const G = 64\n"
			    "    tune B = 16|32|64 default 32, S = 1..4\n"
			    "{\n"
			    "    grid(ceil(N, B));\n"
			    "    A[block.x * B :+ B] = f32(G + S);\n"
			    "}\n";

static void
expect_define(const char *name, int64_t value, const char *only, const char *want)
{
	const Define def = { name, value };
	Lang l;

	lang_compile(&l, tuned, strlen(tuned), &def, 1, only);
	if (want) {
		ck_assert(!l.ok);
		ck_assert_msg(strstr(lang_messages(&l), want) != NULL, "%s", lang_messages(&l));
	} else {
		ck_assert_msg(l.ok, "%s", lang_messages(&l));
	}
	lang_free(&l);
}

TEST(defines)
{
	expect_define("G", 999, NULL, NULL);
	expect_define("B", 64, "k", NULL);
	expect_define("S", 4, NULL, NULL);
	expect_define("B", 48, NULL, "3:10: B=48 is not a value of tunable `B`; allowed: 16, 32, 64");
	expect_define("S", 5, NULL, "S=5 is not a value of tunable `S`; allowed: 1, 2, 3, 4");
	expect_define("X", 5, NULL, "no constant `X` to set; the program has G, B, S");
	expect_define("G", 1, "other", "unknown kernel `other`; the file has `k`");
}

/* Errors beyond the twentieth are counted, not kept. */
TEST(many_errors)
{
	Text t;
	Lang l, keep;

	lang_compile(&keep, "", 0, NULL, 0, NULL);
	t = (Text){ .arena = &keep.arena };
	text_printf(&t, "kernel k(A: out f32[N])\n{\n    grid(1);\n");
	for (int i = 0; i < 500; i++)
		text_printf(&t, "    let x%d = y%d;\n", i, i);
	text_printf(&t, "}\n");
	lang_compile(&l, t.s, t.n, NULL, 0, NULL);
	ck_assert_int_eq(l.diag.nerror, 500);
	ck_assert_int_eq(l.diag.n, 21);
	ck_assert_int_eq(l.diag.msg[20].severity, DIAG_NOTE);
	lang_free(&l);
	lang_free(&keep);
}

/* head, n pieces with their number, tail */
static void
expect_limit(const char *head, const char *piece, int n, const char *tail, const char *want)
{
	Text t;
	Lang l, keep;

	lang_compile(&keep, "", 0, NULL, 0, NULL);
	t = (Text){ .arena = &keep.arena };
	text_add(&t, head, strlen(head));
	for (int i = 0; i < n; i++) {
		const char *hole = strchr(piece, '#');
		text_printf(&t, "%.*s%d%s", (int)(hole - piece), piece, i, hole + 1);
	}
	text_add(&t, tail, strlen(tail));
	lang_compile(&l, t.s, t.n, NULL, 0, NULL);
	ck_assert_msg(strstr(lang_messages(&l), want) != NULL, "%s\n%.2000s", want, lang_messages(&l));
	lang_free(&l);
	lang_free(&keep);
}

/* What would make the compiler slow is refused. */
TEST(limits)
{
	static const char body[] = "{ grid(1); }";

	expect_limit("kernel k(A: out f32[N]) { grid(1);", "let x# = 1;", 5000, "}",
	             "more than 4096 names in scope; split the kernel");
	expect_limit("kernel k(A: out f32[N]", ", a#: f32[N]", 300, ") { grid(1); }",
	             "the kernel has more than 200 parameters");
	expect_limit("kernel k(A: out f32[N])", " assume N != #", 2000, body,
	             "the kernel has more than 1000 clauses");
	expect_limit("kernel k(A: out f32[N]) tune T = 0", "|#", 6000, body,
	             "tunable `T` lists more than 4096 values");
	expect_limit("", "kernel k#() { grid(1); }", 4200, "", "the file has more than 4096 kernels or");
	expect_limit("kernel k(A: out f32[N]) { grid(1); }", "// padding padding padding #\n", 60000, "",
	             "the source is longer than 1048576 bytes");
}
