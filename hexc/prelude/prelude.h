/* prelude.h - declares the library functions that are written in the hexc language (prelude.def). */
#ifndef HEXC_PRELUDE_H
#define HEXC_PRELUDE_H
#include "taskmap/support/support.h"

typedef enum PreludeKind {
	PRELUDE_own,
	PRELUDE_number,
	PRELUDE_single,
	PRELUDE_word,
	PRELUDE_help
} PreludeKind;

typedef struct Prelude {
	const char *name;
	int args;
	PreludeKind kind;
	const char *usage; /* of one that programs call */
	const char *text;  /* fn name(...) { ... } */
} Prelude;

/* Properties of a function in its first argument, for error bounds (KNOWN rows of prelude.def). */
typedef struct PreludeKnown {
	const char *name;
	int form;  /* KnownForm of hexc/ir/ir.h */
	int error; /* 2^-error of the result */
} PreludeKnown;

enum { PRELUDE_ARGS = 6 };

const Prelude *prelude_at(int i); /* NULL past the last */
const Prelude *prelude_find(const char *name); /* NULL: none */
const PreludeKnown *prelude_known(const char *name); /* NULL: nothing */
#endif
