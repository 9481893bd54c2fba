/* lib.h - declares what the files of lib/ share: the objects of the handles in hexc.h. */
#ifndef HEXC_LIB_H
#define HEXC_LIB_H
#include "hexc/ir/ir.h"
#include "lib/base/base.h"
#include "lib/launch_expr_text.h"
#include "lib/rt/rt.h"

/* ---- contexts (ctx.c, options.c) -------------------------------------------------------------- */

/* A copy of hexc_opts in one block of memory. */
typedef struct Options {
	hexc_opts o;
	const Target *target;
	Schedule schedule; /* if o.schedule is set */
	unsigned warnings, remarks; /* as Diag.wanted, Diag.remarked */
	void *block; /* owns every string and define of o */
} Options;

/* Checks `in` (NULL: defaults) and copies it with the given allocator. Returns HEXC_OK or an error. */
int options_copy(Options *out, const hexc_opts *in, void *(*fn)(void *, void *, size_t), void *user);
/* Returns the row of passes.def whose name these n bytes are; -1: unknown. */
int pass_index(const char *name, size_t n);
void options_free(Options *o, void *(*fn)(void *, void *, size_t), void *user);

struct hexc_ctx {
	Options opt;
	void *(*realloc)(void *user, void *p, size_t n); /* never NULL */
	void *user;
	struct PtxGen *ptxgen; /* NULL: nothing emitted yet */
	Arena arena;      /* for the diagnostics of the last compilation */
	Diag diag;
	int *order;       /* indices of diag.msg in source order */
	const char *file;
	DiagMsg last;     /* the only message if memory is short */
	bool only_last;
	bool stay; /* never start a thread */
};

/* ---- compile_result.c -------------------------------------------------------------------------------- */

/* Returns the result code of a compilation from arena_protect's result `left` and the arena's message
 * `why`. Sorts c's messages. */
int outcome(hexc_ctx *c, int left, const char *why);
/* Leaves `text` as the only message, as the others may be incomplete. Returns code. */
int outcome_leave(hexc_ctx *c, int code, const char *text);

/* ---- module_build.c ---------------------------------------------------------------------------------- */

/* Copies the kernel's declarations: name, parameters, grid, assumptions. Errors go to k->unit->diag. */
void module_declare(hexc_module *m, ModKernel *mk, Kernel *k);
/* Copies the results of the passes: the launch configuration. Errors as above. */
void module_found(hexc_module *m, ModKernel *mk, Kernel *k);
/* Clock of the compilation, in milliseconds from an arbitrary start. Exactly one part runs at any time, so
 * that the parts sum to the total. */
double module_clock(void);
/* Switches to the named part (NULL: unnamed); returns the previous one. */
const char *module_part(hexc_module *m, const char *name);
/* Moves `ms` milliseconds from the current part to the named one. */
void module_time(hexc_module *m, const char *name, double ms);
/* Ends the named parts; the remaining time is "other", the last. */
void module_other(hexc_module *m);
/* Adds the remaining time to the last part. Needs no memory. */
void module_time_end(hexc_module *m);
#endif
