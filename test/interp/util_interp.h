/* util_interp.h - running kernels in the tile interpreter, for tests. */
#ifndef TEST_UTIL_INTERP_H
#define TEST_UTIL_INTERP_H
#include "hexc/interp/interp.h"
#include "hexc/ir/dtype_value.h"
#include "test/ir/util_ir.h"

enum { RUN_ARGS = 16 };

/* Arguments of one launch, with buffers that live in the unit's arena. */
typedef struct Run {
	Unit *u;
	Kernel *k;
	InterpArg arg[RUN_ARGS];
	uint64_t seed;
} Run;

/* The first kernel of a source text with constants "BM=32 STAGES=2"; requires that it compiles. */
Kernel *run_source(Unit *u, const char *src, const char *defines);
/* Sizes as "M=100 K=256"; buffers of the right size, filled with random numbers of their type (floats in
 * -1 .. 1, integers of their full range), outputs with a pattern.  The same seed gives the same data. */
void run_setup(Run *r, Kernel *k, const char *sizes, uint64_t seed);
/* Compile (as run_source), make ragged edges explicit, set up a launch. */
Kernel *run_bounded(Run *r, Unit *u, const char *src, const char *defines, const char *sizes, uint64_t seed);
InterpArg *run_arg(Run *r, const char *name);
/* Element i of a tensor argument, as a double. */
double run_get(Run *r, const char *name, int64_t i);
void run_put(Run *r, const char *name, int64_t i, double x);
/* Runs and requires success. */
void run_ok(Run *r, const InterpOpt *opt);
/* Runs and requires this code and these words in the diagnostic. */
void run_fails(Run *r, const InterpOpt *opt, InterpCode code, const char *words);
/* Do the outputs of two launches agree to the bit? */
void run_same(Run *a, Run *b, const char *what);
/* Next random number of a generator. */
uint64_t run_random(uint64_t *state);
#endif
