/* resource_usage.h - what code takes of an SM: clocks of each of its units, and waits. */
#ifndef HEXC_RESOURCE_USAGE_H
#define HEXC_RESOURCE_USAGE_H
#include <stdbool.h>

/* units of an SM that work side by side, in words */
#define RES_LIST(X)                                                                                          \
	X(mma, "tensor cores")                                                                               \
	X(smem, "load-store unit")                                                                           \
	X(gmem, "global memory")                                                                             \
	X(alu, "arithmetic")                                                                                 \
	X(mufu, "special functions")                                                                         \
	X(issue, "issue")
enum {
#define X(name, words) R_##name,
	RES_LIST(X)
#undef X
	RES_UNITS
};
extern const char *const res_unit[RES_UNITS]; /* words */

/* What an op or a piece of code takes of an SM, clocks. */
typedef struct Res {
	double unit[RES_UNITS];
	double latency; /* steps that need each other */
	double wait; /* for memory, of which several overlap */
	bool barrier; /* what follows does not overlap with it */
} Res;

double res_busy(const Res *r); /* its busiest unit */
double res_busy_unit(const Res *r, int unit); /* the same, if that unit is the busiest */
double res_cycles(const Res *r); /* .. and waits */
void res_add(Res *r, const Res *x, double times);
#endif
