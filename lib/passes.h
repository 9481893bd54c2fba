/* passes.h - one compilation while it runs. */
#ifndef HEXC_PASSES_H
#define HEXC_PASSES_H
#include "infer/infer.h"
#include "lib/lib.h"

typedef struct Job {
	hexc_ctx *ctx;
	hexc_module *m;
	Arena arena;
	Unit unit;
	Candidates *candidates; /* solutions of the kernel at hand */
	const char *src;
	size_t len;
	bool stopped; /* opts.stop was reached */
	const void *key; /* nkey bytes in the arena, by which the cache has it; NULL: it is not asked */
	size_t nkey;
	void *answer; /* what it gave, to be freed */
	bool hit;
} Job;

double passes_clock(void); /* milliseconds, from somewhere */
/* Kernel i of the unit through all passes; what they find goes to the module. */
void passes_run(Job *j, int i);
#endif
