/* passes.h - one compilation while it runs. */
#ifndef HEXC_PASSES_H
#define HEXC_PASSES_H
#include "lib/lib.h"

typedef struct Job {
	hexc_ctx *ctx;
	hexc_module *m;
	Arena arena;
	Unit unit;
	const char *src;
	size_t len;
	bool stopped; /* opts.stop was reached */
} Job;

/* Passes by number: rows of passes.def. */
enum {
#define PASS(name, help) PASS_##name,
#include "hexc/pass/passes.def"
	PASS_COUNT
};

double passes_clock(void); /* milliseconds, from somewhere */
/* Kernel i of the unit through all passes; what they find goes to the module. */
void passes_run(Job *j, int i);
/* Passes [from, to) of kernel i, the IR checked after each; `aloud`: dumps are made and opts.stop ends it.
 * False: an error was found, or it stopped. */
bool passes_some(Job *j, int i, int from, int to, bool aloud);

/* ---- places.c ----------------------------------------------------------------------------------- */

/* Kernel i, which is at pass place, has tiles whose place is free: every choice goes through the passes up
 * to infer and is searched.  The unit's kernel is then the one that has the solution asked for, in front of
 * pass infer, with the candidates of all.  False: there is no solution, or it stopped. */
bool places_choose(Job *j, int i);
#endif
