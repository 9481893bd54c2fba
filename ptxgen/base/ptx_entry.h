/* ptx_entry.h - where a kernel is in the PTX that LLVM printed, and its performance directives. */
#ifndef HEXC_PTX_ENTRY_H
#define HEXC_PTX_ENTRY_H
#include "taskmap/support/support.h"

/* All point into the text. */
typedef struct PtxEntry {
	const char *head; /* ".entry name(": parameters, then directives */
	const char *body; /* the line break before "{" */
	const char *end;  /* the next kernel, or the end of the text */
} PtxEntry;

/* Finds kernel `name`. Returns false if the text has none. */
bool ptx_entry_find(Arena *a, const char *ptx, const char *name, PtxEntry *out);
/* Returns the first number of a directive such as ".reqntid"; 0 if the kernel has none of that name. */
int ptx_directive(const PtxEntry *e, const char *name);
/* Returns a copy of the text in which the kernel has the directive; the text itself if it had one. */
const char *ptx_add_directive(Arena *a, const char *ptx, const PtxEntry *e, const char *name,
			      const char *value);
#endif
