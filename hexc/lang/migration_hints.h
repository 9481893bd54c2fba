/* migration_hints.h - declares the lookup of words of other languages and their hexc equivalents. */
#ifndef HEXC_MIGRATION_HINTS_H
#define HEXC_MIGRATION_HINTS_H
#include "taskmap/support/support.h"

typedef struct Foreign {
	const char *word, *of, *instead; /* a row of migration_hints.def */
} Foreign;

/* Returns the i-th row; NULL past the end. */
const Foreign *foreign_at(int i);
const Foreign *foreign_find(const char *word); /* NULL: not in the table */
/* Returns "; `zeros` is NumPy's: write ..." for the end of a message; "" if the word is not in the table. */
const char *foreign_hint(Arena *a, const char *word);
/* The same for an operator that s[0..n) starts with, a row FOREIGN_OPERATOR. */
const char *foreign_operator(Arena *a, const char *s, size_t n);
#endif
