/* util_verify.c - verifies tables of IR lines. */
#include "test/ir/util_verify.h"
#include "hexc/ir/verify/verify.h"
#include "test/check.h"
#include "test/ir/util_ir.h"
#include <stdio.h>
#include <string.h>

/* Does the verifier decide this text as `say` states? Prints what it says instead. */
static bool
as_said(Unit *u, const char *text, const char *line, const char *say)
{
	Kernel *k = kernel_read(u, text, strlen(text));
	bool ok = k && kernel_verify(k, "test");
	const char *said = ir_diags(u);

	if (k && ok == !say && u->diag->nerror == (say ? 1 : 0) && (!say || strstr(said, say)))
		return true;
	fprintf(stderr, "%s\n  expected: %s\n  reported: %s\n", line, say ? say : "accepted",
	        *said ? said : "accepted");
	return false;
}

void
verify_text(const char *text, const char *say)
{
	Unit *u = ir_unit();

	ck_assert(as_said(u, text, text, say));
	ir_unit_free(u);
}

void
verify_rows(const char *header, const char *prelude, const VerifyRow *row, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		Unit *u = ir_unit();
		const char *text = ir_wrap(u, arena_printf(u->arena, "%s%s", prelude, row[i].line));
		const char *grid = strstr(text, "  grid {");

		text = arena_printf(u->arena, "%.*s%s\n%s", (int)(grid - text), text, header, grid);
		wrong += !as_said(u, text, row[i].line, row[i].say);
		ir_unit_free(u);
	}
	ck_assert_msg(wrong == 0, "%d of %d rows", wrong, (int)n);
}
