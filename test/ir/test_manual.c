/* test_manual.c - hexc/IR.md: every op has an entry, every example is right, the program in front reads back
 * to its own bytes.  Run from the top folder. */
#include "test/ir/util_ir.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Unit *u;
static char *manual;

static void
setup(void)
{
	FILE *f = fopen("hexc/IR.md", "rb");
	long n;

	u = ir_unit();
	ck_assert_msg(f != NULL, "no hexc/IR.md here");
	ck_assert(fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0);
	manual = calloc((size_t)n + 1, 1);
	ck_assert_uint_eq(fread(manual, 1, (size_t)n, f), (size_t)n);
	fclose(f);
}

static void
teardown(void)
{
	free(manual);
	ir_unit_free(u);
}

/* The text behind `open`, up to `close`. */
static const char *
between(const char *s, const char *open, const char *close)
{
	const char *from = strstr(s, open), *to;

	ck_assert_msg(from != NULL, "no %s", open);
	from += strlen(open);
	to = strstr(from, close);
	ck_assert_msg(to != NULL, "no end of %s", open);
	return arena_strndup(u->arena, from, (size_t)(to - from));
}

/* The lines of an entry that are indented by four blanks. */
static const char *
example(const char *entry)
{
	Text t = { u->arena, NULL, 0, 0 };

	while (*entry) {
		const char *end = strchr(entry, '\n');
		size_t n = end ? (size_t)(end - entry) + 1 : strlen(entry);
		if (strncmp(entry, "    ", 4) == 0)
			text_add(&t, entry, n);
		entry += n;
	}
	return t.s ? t.s : "";
}

START_TEST(every_op_has_an_entry)
{
	const char *name = op_info[_i].name, *entry, *body;
	Kernel *k;

	entry = between(manual, arena_printf(u->arena, "\n### %s\n", name), "\n##");
	body = example(entry);
	ck_assert_msg(*body, "%s: no example", name);
	body = arena_printf(u->arena, "%s%s", between(manual, "```prelude\n", "```"), body);
	k = ir_read(u, ir_wrap(u, body));
	ck_assert_msg(kernel_verify(k, name), "%s", ir_diags(u));
	ck_assert_int_ge(ir_count(k, (OpCode)_i), 1);
	ck_assert(strstr(body, name) != NULL);
}
END_TEST

START_TEST(every_entry_is_an_op)
{
	for (const char *s = manual; (s = strstr(s, "\n### ")) != NULL; s++) {
		size_t n = strcspn(s + 5, "\n");
		ck_assert_msg(op_find(s + 5, n) != O_none, "%.*s is not an op", (int)n, s + 5);
	}
}
END_TEST

START_TEST(the_program_in_front)
{
	const char *text = between(manual, "## Text\n\n```\n", "```");
	Kernel *k = ir_read(u, text);

	ck_assert_msg(kernel_verify(k, "reading"), "%s", ir_diags(u));
	ck_assert_str_eq(ir_text(u, k), text);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("ir manual");
	TCase *t = tcase_create("manual");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, every_op_has_an_entry, 1, O_COUNT);
	tcase_add_test(t, every_entry_is_an_op);
	tcase_add_test(t, the_program_in_front);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
