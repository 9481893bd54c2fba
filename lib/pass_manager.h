/* pass_manager.h - declares the state of one running compilation. */
#ifndef HEXC_PASS_MANAGER_H
#define HEXC_PASS_MANAGER_H
#include "infer/infer.h"
#include "lib/lib.h"

typedef struct CompileJob {
	hexc_ctx *ctx;
	hexc_module *m;
	Arena arena;
	Unit unit;
	Candidates *candidates; /* solutions of the current kernel */
	const char *src;
	size_t len;
	const char *passes; /* passes to run on src, which is IR; NULL: src is a program */
	bool stopped; /* opts.stop was reached */
	const void *key; /* nkey bytes in the arena, the cache key; NULL: the cache is not used */
	size_t nkey;
	void *answer; /* the cache's result, to be freed */
	bool hit;
	const ModAsked *asked; /* the assembler's results for the first nasked solutions of the current
	                        * kernel */
	int nasked;
	bool deaf; /* the assembler rejects its input; it is not called again */
} CompileJob;

/* ---- compile.c -------------------------------------------------------------------------------------- */

/* Fills a zeroed j with ctx and m set; compiles nothing yet. */
void job_start(CompileJob *j, const char *file, const char *src, size_t len);
/* Parses the program to kernels and declares them in the module; returns false on an error. Call this and
 * the following under arena_protect. */
bool job_parse(CompileJob *j);
/* Emits the module's PTX. */
void job_emit(CompileJob *j);

/* ---- pass_manager.c --------------------------------------------------------------------------------- */

/* Rows of passes.def. */
enum {
	PASSES = 0
#define PASS(name, former, when, help) +1
#include "hexc/pass/passes.def"
};

/* Runs all passes on kernel i of the unit; the module gets the results. */
void passes_run(CompileJob *j, int i);
/* Verifies a parsed kernel; its module has one solution, until the search finds others. */
void passes_begin(CompileJob *j, int i);
/* Runs rows [from, to) on kernel i. A range that starts before the searched choices and includes the
 * search tries all choices; one that starts later works on the kernel unchanged. `usual`: without passes
 * that run only on request. Returns false on an error, or if opts.stop was reached. */
bool passes_rows(CompileJob *j, int i, int from, int to, bool usual);
/* Adds the results of all passes on kernel i to the module. */
void passes_found(CompileJob *j, int i);

/* ---- passes_named.c --------------------------------------------------------------------------------- */

/* Is `list` a valid pass list for hexc_compile_ir? If not, writes a sentence to why[0..n). */
bool passes_known(const char *list, char *why, size_t n);
/* Runs the passes that j->passes names (checked by passes_known) on the parsed kernel i. Returns true if
 * the result can be emitted. */
bool passes_run_named(CompileJob *j, int i);
#endif
