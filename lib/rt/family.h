/* family.h - declares kernel families: their parsed text and its kernels. */
#ifndef HEXC_RT_FAMILY_H
#define HEXC_RT_FAMILY_H
#include "lib/hexc_family.h"
#include "lib/rt/bundle.h"

/* Parser state, and its first error. */
typedef struct FamilyText {
	Arena *arena;
	const char *at, *end; /* rest of the line */
	int line;             /* line number in the text */
	char *why;            /* n bytes for the error message */
	size_t n;
	bool bad;             /* an error was written */
} FamilyText;

/* A size that a line computes. */
typedef struct FamilySize {
	const char *name;
	ExprRef value;
} FamilySize;

/* A tensor of the workspace. */
typedef struct FamilyTensor {
	const char *name;
} FamilyTensor;

/* Source of a stage's argument. */
typedef struct FamilySource {
	enum { FROM_ARGUMENT, FROM_SIZE, FROM_WORKSPACE } kind;
	int i;
} FamilySource;

typedef struct FamilyStage {
	const char *kernel; /* NULL: has the family's name */
	hexc_define *define;
	int ndefine, candidate; /* -1: any */
	size_t index;           /* among the bundle's kernels */
	const hexc_module *m;
	size_t k;
	FamilySource *from; /* per parameter */
} FamilyStage;

typedef struct FamilyLine {
	int number;
	FamilyStage *stage;
	FamilySize *size;
	FamilyTensor *tensor;
	int nstage, nsize, ntensor, stage_cap, size_cap, tensor_cap;
	const char *rest;  /* text after the stages, to the end: expressions, parsed once their names are
	                    * known */
	const char *guard; /* text after "when" */
	ExprTable expr;    /* over the family's parameters */
	ExprRef cond;
} FamilyLine;

typedef struct FamilyParam {
	const char *name;
	const hexc_module *m; /* first kernel that has it */
	size_t k, i;
} FamilyParam;

struct hexc_family {
	Arena arena;
	const char *name, *arch;
	FamilyLine *line;
	FamilyParam *param;
	const char **param_name;
	int nline, line_cap, nparam, param_cap;
};

/* ---- family_text.c --------------------------------------------------------------------------------- */

/* Reports an error in the current line; only the first is kept. */
void family_wrong(FamilyText *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Counts the lines of the text before `at`. */
int family_line_of(const char *text, const char *at);
/* Returns the next family of a text, searching from `from`; sets its name, arch (NULL: unspecified) and
 * end. Returns NULL if there is none, or with t->bad. Advances *line. */
const char *family_next(FamilyText *t, const char *from, const char *end, const char **name,
                        const char **arch, const char **behind);
/* Parses the lines of the family that starts here; sets t->bad on an error. */
void family_lines(FamilyText *t, hexc_family *f, const char *from, const char *end);

/* ---- family_expr.c --------------------------------------------------------------------------------- */

/* Parses the names of the sizes that a line computes. */
void family_size_names(FamilyText *t, FamilyLine *l);
/* Parses the sizes and the guard of a line whose stages are known. */
void family_expressions(FamilyText *t, const hexc_family *f, FamilyLine *l);
/* Is the guard of a line whose stages are known true for these values? */
bool family_guard_holds(FamilyText *t, FamilyLine *l, const hexc_define *size, size_t nsize);
/* Evaluates its expressions for these arguments of the family. */
void family_eval(const hexc_family *f, const FamilyLine *l, const hexc_arg *arg, ExprValues *out);
#endif
