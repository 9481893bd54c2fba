/* test_errors.c - tests that every program in test/lang/errors gives exactly the errors its comments
 * announce:
 *
 *     let x = mm + 1; // error: unknown name `mm`
 *
 * An error is on that line and its text begins with or contains what follows "// error: ". */
#include "test/check.h"
#include "test/lang/util_lang.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "// error: "

/* The next announced error from `s` on: its line and text; NULL when there is none left. */
static const char *
announced(const char *s, uint32_t *line, char *text, size_t size)
{
	const char *end = strchr(s, '\n');

	for (; *s; s = end ? end + 1 : s + strlen(s), end = strchr(s, '\n')) {
		const char *m = strstr(s, MARK);
		size_t n;

		(*line)++;
		if (!m || (end && m > end))
			continue;
		m += strlen(MARK);
		n = end ? (size_t)(end - m) : strlen(m);
		ck_assert_uint_lt(n, size);
		memcpy(text, m, n);
		text[n] = 0;
		return end ? end + 1 : m + n;
	}
	return NULL;
}

static void
check_places(const char *path, const Lang *l, const char *source)
{
	for (int i = 0; i < l->diag.n; i++) {
		const DiagMsg *m = &l->diag.msg[i];
		const char *line = source;

		ck_assert_msg(m->src.line > 0 && m->src.col > 0 && m->src.len > 0, "%s: no place: %s", path,
		              m->text);
		ck_assert_msg(strchr(m->text, '\n') == NULL, "%s: a line break in: %s", path, m->text);
		for (uint32_t k = 1; k < m->src.line; k++)
			line = strchr(line, '\n') + 1;
		/* one beyond the end is where something is missing */
		ck_assert_msg(m->src.col + m->src.len - 1 <= strcspn(line, "\n") + 1,
		              "%s: the mark reaches beyond its line: %s", path, m->text);
	}
}

/* Is there an error on that line, with that text, that was not met yet?  The parser's come first, whatever
 * their lines. */
static bool
meet(const Diag *d, uint32_t line, const char *want, bool *met)
{
	for (int i = 0; i < d->n; i++)
		if (!met[i] && d->msg[i].severity == DIAG_ERROR && d->msg[i].src.line == line &&
		    strstr(d->msg[i].text, want))
			return met[i] = true;
	return false;
}

static void
check_program(const char *path)
{
	char want[256];
	uint32_t line = 0;
	size_t len;
	const char *source = file_read(path, &len);
	const char *s = source;
	bool *met;
	int left = 0;
	Lang l;

	lang_compile(&l, source, len, NULL, 0, NULL);
	ck_assert_msg(l.code == 0, "%s: %s", path, l.arena.why ? l.arena.why : "out of memory");
	ck_assert_msg(!l.ok, "%s: accepted", path);
	check_places(path, &l, source);
	met = calloc((size_t)l.diag.n, sizeof *met);
	ck_assert_ptr_nonnull(met);
	while ((s = announced(s, &line, want, sizeof want)))
		ck_assert_msg(meet(&l.diag, line, want, met), "%s:%u: expected\n%s\ngot\n%s", path,
		              (unsigned)line, want, lang_messages(&l));
	for (int i = 0; i < l.diag.n; i++)
		left += l.diag.msg[i].severity == DIAG_ERROR && !met[i];
	ck_assert_msg(left == 0, "%s: more errors than announced:\n%s", path, lang_messages(&l));
	free(met);
	ck_assert_int_eq(l.diag.msg[0].cls, DC_SOURCE);
	lang_free(&l);
}

TEST(wrong_programs)
{
	int n;
	char **list = lang_list("test/lang/errors", &n);

	ck_assert_int_ge(n, 60);
	for (int i = 0; i < n; i++) {
		check_program(list[i]);
		free(list[i]);
	}
	free(list);
}

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
