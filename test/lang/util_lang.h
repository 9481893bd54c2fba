/* util_lang.h - compiling source text in a test and inspecting the result. */
#ifndef TEST_UTIL_LANG_H
#define TEST_UTIL_LANG_H
#include "hexc/ir/text/text.h"

/* One compilation: everything below it lives until lang_free. */
typedef struct Lang {
	Arena arena;
	Diag diag;
	Unit unit;
	jmp_buf fail;
	int code; /* ArenaFail that ended the compilation, 0: none */
	bool ok; /* what unit_parse returned */
} Lang;

/* Parse and lower; defs may be NULL.  The result is in l, which need not be initialized. */
void lang_compile(Lang *l, const char *text, size_t len, const Define *def, int ndef, const char *only);
void lang_free(Lang *l);
/* Text form of kernel i. */
const char *lang_print(Lang *l, int i);
/* All messages, one a line: "line:col: text". */
const char *lang_messages(Lang *l);
/* Names of the *.hexc files of a directory, sorted, from malloc; fails the test when there are none. */
char **lang_list(const char *dir, int *n);
#endif
