/* test_manual.c - tests hexc/IR.md: every op has an entry, every example is correct, the introductory program
 * prints back to the same bytes. Run from the top folder. */
#include "test/util_file.h"
#include "hexc/ir/verify/verify.h"
#include "test/ir/util_unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
manual(void)
{
	return file_read("hexc/IR.md", NULL);
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

TEST_RANGE(every_op_has_an_entry, 1, O_COUNT)
{
	const char *name = op_info[_i].name, *entry, *body;
	Kernel *k;

	entry = between(manual(), arena_printf(u->arena, "\n### %s\n", name), "\n##");
	body = example(entry);
	ck_assert_msg(*body, "%s: no example", name);
	body = arena_printf(u->arena, "%s%s", between(manual(), "```prelude\n", "```"), body);
	k = ir_read(u, ir_wrap(u, body));
	k->producer_warps = 4; /* for those that want roles */
	ck_assert_msg(kernel_verify(k, name), "%s", ir_diags(u));
	ck_assert_int_ge(ir_count(k, (OpCode)_i), 1);
	ck_assert(strstr(body, name) != NULL);
}

TEST(every_entry_is_an_op)
{
	for (const char *s = manual(); (s = strstr(s, "\n### ")) != NULL; s++) {
		size_t n = strcspn(s + 5, "\n");
		ck_assert_msg(op_find(s + 5, n) != O_none, "%.*s is not an op", (int)n, s + 5);
	}
}

TEST(the_program_in_front)
{
	const char *text = between(manual(), "## Text\n\n```\n", "```");
	Kernel *k = ir_read(u, text);

	ck_assert_msg(kernel_verify(k, "reading"), "%s", ir_diags(u));
	ck_assert_str_eq(ir_text(u, k), text);
}

TEST_PROGRAM(UNIT_FIXTURE);
