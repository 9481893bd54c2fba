/* lib.h - what the files of lib/ share: the objects behind the handles of hexc.h. */
#ifndef HEXC_LIB_H
#define HEXC_LIB_H
#include "hexc/ir/ir.h"
#include "lib/base/base.h"
#include "lib/launch_expr_text.h"
#include "lib/rt/rt.h"

/* ---- contexts (ctx.c, options.c) -------------------------------------------------------------- */

/* The options, copied: one block of memory. */
typedef struct Options {
	hexc_opts o;
	const Target *target;
	Schedule schedule; /* if o.schedule names one */
	unsigned warnings, remarks; /* as Diag.wanted, Diag.remarked */
	void *block; /* holds every string and define of o */
} Options;

/* Check `in` (NULL: defaults) and copy it with the given allocator.  HEXC_OK or an error. */
int options_copy(Options *out, const hexc_opts *in, void *(*fn)(void *, void *, size_t), void *user);
/* Row of passes.def whose name these n bytes are; -1: unknown. */
int pass_index(const char *name, size_t n);
void options_free(Options *o, void *(*fn)(void *, void *, size_t), void *user);

struct hexc_ctx {
	Options opt;
	void *(*realloc)(void *user, void *p, size_t n); /* never NULL */
	void *user;
	struct PtxGen *ptxgen; /* NULL: nothing was emitted yet */
	Arena arena;      /* diagnostics of the last compile */
	Diag diag;
	int *order;       /* diag.msg in source order */
	const char *file;
	DiagMsg last;     /* stands in when there is no memory for a message */
	bool only_last;
	bool stay; /* no thread is started */
};

/* ---- compile_result.c -------------------------------------------------------------------------------- */

/* The result code of a compilation; `left` and `why` as arena_protect and the arena say.  Sorts c's
 * messages. */
int outcome(hexc_ctx *c, int left, const char *why);
/* Only this one sentence remains: the rest may be half written.  Returns code. */
int outcome_leave(hexc_ctx *c, int code, const char *text);

/* ---- module_build.c ---------------------------------------------------------------------------------- */

/* Facts that are as the program says: names, parameters, grid, assumptions.  Errors in k->unit->diag. */
void module_declare(hexc_module *m, ModKernel *mk, Kernel *k);
/* What the passes found: how it is launched.  Errors likewise. */
void module_found(hexc_module *m, ModKernel *mk, Kernel *k);
/* The time of a compilation is that of its parts: at any time one is at work, and no time is nobody's.
 * Milliseconds from somewhere. */
double module_clock(void);
/* From here on the named part is at work (NULL: none that has a name); the one that was. */
const char *module_part(hexc_module *m, const char *name);
/* Of the part at work so many milliseconds were the named part's. */
void module_time(hexc_module *m, const char *name, double ms);
/* No more parts come; what is left is "other", the last. */
void module_other(hexc_module *m);
/* All is done: the last part gets what is left.  Needs no memory. */
void module_time_end(hexc_module *m);
#endif
