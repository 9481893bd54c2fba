/* pass_manager.h - one compilation while it runs. */
#ifndef HEXC_PASS_MANAGER_H
#define HEXC_PASS_MANAGER_H
#include "infer/infer.h"
#include "lib/lib.h"

typedef struct CompileJob {
	hexc_ctx *ctx;
	hexc_module *m;
	Arena arena;
	Unit unit;
	Candidates *candidates; /* solutions of the kernel at hand */
	const char *src;
	size_t len;
	const char *passes; /* that src, which is IR, goes through; NULL: src is a program */
	bool stopped; /* opts.stop was reached */
	const void *key; /* nkey bytes in the arena, by which the cache has it; NULL: it is not asked */
	size_t nkey;
	void *answer; /* what it gave, to be freed */
	bool hit;
	const ModAsked *asked; /* nasked first solutions of the kernel at hand, as the assembler sees them */
	int nasked;
	bool deaf; /* the assembler refuses what it is asked: no more is */
} CompileJob;

/* ---- compile.c -------------------------------------------------------------------------------------- */

/* Fills a cleared j, of which ctx and m are given; nothing is compiled yet. */
void job_start(CompileJob *j, const char *file, const char *src, size_t len);
/* The program as kernels, declared in the module; false: an error.  Under arena_protect, as what follows. */
bool job_parse(CompileJob *j);
/* The module's PTX. */
void job_emit(CompileJob *j);

/* ---- pass_manager.c --------------------------------------------------------------------------------------- */

/* Rows of passes.def. */
enum {
	PASSES = 0
#define PASS(name, former, when, help) +1
#include "hexc/pass/passes.def"
};

/* Kernel i of the unit through all passes; what they find goes to the module. */
void passes_run(CompileJob *j, int i);
/* A kernel that was read is verified; its module has one solution, until the search finds others. */
void passes_begin(CompileJob *j, int i);
/* Rows [from, to) of kernel i.  From in front of what the search tries to the search or further: all choices
 * are tried; from within: it works on the kernel as it is.  `usual`: not those that are run if asked for.
 * False: an error was found, or opts.stop was reached. */
bool passes_rows(CompileJob *j, int i, int from, int to, bool usual);
/* What all passes together have found of kernel i. */
void passes_found(CompileJob *j, int i);

/* ---- passes_named.c --------------------------------------------------------------------------------- */

/* Does `list` name passes as hexc_compile_ir takes them?  Else a sentence in why[0..n). */
bool passes_known(const char *list, char *why, size_t n);
/* Kernel i, which was read, through those that j->passes names and passes_known admits.  True: what the code
 * generator is to emit comes of it. */
bool passes_run_named(CompileJob *j, int i);
#endif
