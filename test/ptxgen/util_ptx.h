/* util_ptx.h - from IR text to PTX, through ptxas where available, and onto the simulator. With PTX=1 in the
 * environment a failing test prints its PTX. */
#ifndef TEST_UTIL_PTX_H
#define TEST_UTIL_PTX_H
#include "hexc/ir/ir.h"
#include "lib/sim/sim.h"

/* One launch argument: a buffer (data != NULL: copied there and back) or an integer. */
typedef struct PtxArg {
	void *data;
	size_t bytes;
	int64_t value;
} PtxArg;

/* The memory traffic of a launch that a test may look at. */
typedef struct PtxCounts {
	uint64_t wavefronts, wavefronts_min, mma;
} PtxCounts;

/* PTX of one kernel given as IR text; fails the test on any diagnostic. */
const char *ptx_of(Unit *u, const char *ir);
/* ptxas accepts it for the unit's target, with no spills and no C75xx remark.  False: there is no
 * ptxas. */
bool ptx_assembles(Unit *u, const char *ptx);
/* Both of the above, then run it; fails the test on any fault the simulator reports. */
void ptx_run(Unit *u, const char *ir, const uint32_t grid[3], PtxArg *arg, int narg, PtxCounts *counts);
/* Run on random data (test/interp/util_interp.h: sizes as "M=100 N=64", seed) both here and through
 * the tile interpreter, and compare every output: equal to the bit if tol is 0; else |x - y| <= tol
 * * max(1, |y|). Every eighth seed (1, 9, ..) goes through ptxas too. */
void ptx_compare(Unit *u, const char *ir, const char *sizes, uint64_t seed, double tol);
/* How often a word occurs in a text. */
int ptx_count(const char *text, const char *word);

uint16_t half_of(double x);
double half_value(uint16_t h);
/* A pseudo-random number in 0..n-1, the same on every machine. */
uint32_t ptx_random(uint32_t *state, uint32_t n);
#endif
