/* util_verify.h - tables of IR lines that the verifier accepts or rejects. */
#ifndef TEST_UTIL_VERIFY_H
#define TEST_UTIL_VERIFY_H
#include <stddef.h>

/* Lines of a body and a part of the diagnostic; NULL: the verifier accepts them. */
typedef struct VerifyRow {
	const char *line, *say;
} VerifyRow;

/* Requires of each row that the verifier decides as it says, and reports one error at most. The body of
 * ir_wrap's kernel is `prelude` and the line; `header` has further items of the kernel, e.g. "teams 2". */
void verify_rows(const char *header, const char *prelude, const VerifyRow *row, size_t n);
/* The same for the text of one kernel. */
void verify_text(const char *text, const char *say);

/* Defines test NAME for the rows of a table. */
#define TEST_ROWS(name, header, prelude, row)                                                                \
	TEST(name)                                                                                           \
	{                                                                                                    \
		verify_rows(header, prelude, row, sizeof row / sizeof *row);                                 \
	}
#endif
