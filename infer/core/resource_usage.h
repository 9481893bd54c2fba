/* resource_usage.h - SM resources that code uses: cycles of each functional unit, and latencies. */
#ifndef HEXC_RESOURCE_USAGE_H
#define HEXC_RESOURCE_USAGE_H
#include <stdbool.h>

/* Concurrent functional units of an SM, with their names in messages. */
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
extern const char *const res_unit[RES_UNITS]; /* names in messages */

/* SM resources that an op or a section of code uses, in cycles. */
typedef struct Res {
	double unit[RES_UNITS];
	double latency; /* of dependent instructions */
	double wait; /* of memory, several accesses overlap */
	bool barrier; /* following code does not overlap with it */
} Res;

double res_busy(const Res *r); /* cycles of its busiest unit */
double res_busy_unit(const Res *r, int unit); /* the same if that unit is the busiest */
double res_cycles(const Res *r); /* .. plus latencies */
void res_add(Res *r, const Res *x, double times);
#endif
