/* family.h - families: what their text says, and the kernels that it means. */
#ifndef HEXC_RT_FAMILY_H
#define HEXC_RT_FAMILY_H
#include "lib/hexc_family.h"
#include "lib/rt/bundle.h"

/* Text that is read, and what is wrong with it. */
typedef struct FamilyText {
	Arena *arena;
	const char *at, *end; /* what is left of the line */
	int line;             /* its number in the text */
	char *why;            /* n bytes for the sentence */
	size_t n;
	bool bad;             /* it is written */
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

/* Where an argument of a stage comes from. */
typedef struct FamilySource {
	enum { FROM_ARGUMENT, FROM_SIZE, FROM_WORKSPACE } kind;
	int i;
} FamilySource;

typedef struct FamilyStage {
	const char *kernel; /* NULL: called as the family is */
	hexc_define *define;
	int ndefine, candidate; /* -1: any */
	size_t index;           /* of the bundle's kernels */
	const hexc_module *m;
	size_t k;
	FamilySource *from; /* of each parameter */
} FamilyStage;

typedef struct FamilyLine {
	int number;
	FamilyStage *stage;
	FamilySize *size;
	FamilyTensor *tensor;
	int nstage, nsize, ntensor, stage_cap, size_cap, tensor_cap;
	const char *rest;  /* behind the stages, up to the end: expressions, whose names are not known yet */
	const char *guard; /* behind "when" */
	ExprTable expr;    /* over the family's parameters */
	ExprRef cond;
} FamilyLine;

typedef struct FamilyParam {
	const char *name;
	const hexc_module *m; /* the first kernel that has it */
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

/* Something is wrong with the line at hand: said once. */
void family_wrong(FamilyText *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Lines of the text in front of `at`. */
int family_line_of(const char *text, const char *at);
/* The next family of a text, from `from` on: its name, its arch (NULL: none is said) and its end; NULL: there
 * is none, or t->bad.  *line counts. */
const char *family_next(FamilyText *t, const char *from, const char *end, const char **name,
                        const char **arch, const char **behind);
/* The lines of a family that begins here; t->bad. */
void family_lines(FamilyText *t, hexc_family *f, const char *from, const char *end);

/* ---- family_expr.c --------------------------------------------------------------------------------- */

/* The names of the sizes that a line computes. */
void family_size_names(FamilyText *t, FamilyLine *l);
/* The sizes and the guard of a line whose stages are known. */
void family_expressions(FamilyText *t, const hexc_family *f, FamilyLine *l);
/* Values of its expressions for these arguments of the family. */
void family_eval(const hexc_family *f, const FamilyLine *l, const hexc_arg *arg, ExprValues *out);
#endif
