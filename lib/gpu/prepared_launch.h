/* prepared_launch.h - declares struct hexc_call, the state of a prepared launch. */
#ifndef HEXC_PREPARED_LAUNCH_H
#define HEXC_PREPARED_LAUNCH_H
#include "lib/gpu/gpu.h"
#include "lib/rt/rt.h"

struct hexc_call {
	hexc_gpu_module *gm;
	bool freed;          /* freed by hexc_call_free, retained to report use after free */
	size_t k;
	void *function;
	hexc_kernel_info info;
	uint32_t held;       /* resident blocks of a persistent or cooperative kernel on the device; 0: not
	                      * queried */
	uint64_t numbers;    /* a bit per parameter: it is not a tensor */
	uint64_t missing;    /* a bit per parameter: it has no argument yet */
	uint64_t moved;      /* a bit per parameter: its address changed since the last check */
	bool planned;        /* plan matches the numeric arguments */
	LaunchPlan plan;
	hexc_arg *arg;
	uint64_t *value;
	void **param;        /* pointers to value, then to map */
	CuTensorMap *map;
	size_t prefix;       /* length of the kernel's name in why */
	char first;          /* saved first character of why; why[0] is 0 until something fails. The name
	                      * cannot be read again once the module is freed */
	char why[LOG_MAX];
};
_Static_assert(HEXC_MAX_PARAMS <= 64, "a bit for each parameter");

/* ---- prepared_launch.c ---- */

/* Buffer for a sentence, after the kernel's name. */
#define WHY(c) (c)->why + (c)->prefix, sizeof(c)->why - (c)->prefix
/* Stores a sentence there; returns code, a failure. */
#define call_error(c, code, ...) call_told(c, why_error(code, WHY(c), __VA_ARGS__))
/* Can the call be used? Returns false, with a sentence, if it is freed or its module is unloaded. */
bool call_lives(hexc_call *c);
/* Converts a driver result to a HEXC_ code; reports failures. */
int call_driver(hexc_call *c, const char *call, int result);
#define CALL(c, function, ...) call_driver(c, #function, (c)->gm->g->cu.function(__VA_ARGS__))
/* Makes a sentence visible that another function wrote after the name. Returns code. */
int call_told(hexc_call *c, int code);
/* Reports the first parameter in the set `missing`, which has no argument. */
int call_missing(hexc_call *c, uint64_t missing);
#endif
