/* migration_hints.h - words of other languages, and what hexc has instead. */
#ifndef HEXC_MIGRATION_HINTS_H
#define HEXC_MIGRATION_HINTS_H
#include "taskmap/support/support.h"

typedef struct Foreign {
	const char *word, *of, *instead; /* a row of migration_hints.def */
} Foreign;

/* The i-th; NULL past the end. */
const Foreign *foreign_at(int i);
const Foreign *foreign_find(const char *word); /* NULL: it is none */
/* "; `zeros` is NumPy's: write ..." for the end of a message; "" if the word is none. */
const char *foreign_hint(Arena *a, const char *word);
/* The same of an operator that s[0..n) begins with, a row FOREIGN_OPERATOR. */
const char *foreign_operator(Arena *a, const char *s, size_t n);
#endif
