/* prepared_launch.h - inside prepared launches. */
#ifndef HEXC_PREPARED_LAUNCH_H
#define HEXC_PREPARED_LAUNCH_H
#include "lib/gpu/gpu.h"
#include "lib/rt/rt.h"

struct hexc_call {
	hexc_gpu_module *gm;
	bool freed;          /* by hexc_call_free, and kept to say so */
	size_t k;
	void *function;
	hexc_kernel_info info;
	uint32_t held;       /* blocks that the device holds at a time; 0: not asked, but of a persistent
	                      * kernel */
	uint64_t numbers;    /* a bit for each parameter: it is no tensor */
	uint64_t missing;    /* no argument yet */
	uint64_t moved;      /* another address since it was looked at */
	bool planned;        /* plan fits the numbers */
	LaunchPlan plan;
	hexc_arg *arg;
	uint64_t *value;
	void **param;        /* to value, then to map */
	CuTensorMap *map;
	size_t prefix;       /* of why: the kernel's name */
	char first;          /* of why, in place of which there is 0 until something fails: the name
	                      * itself goes with the module */
	char why[LOG_MAX];
};
_Static_assert(HEXC_MAX_PARAMS <= 64, "a bit for each parameter");

/* ---- prepared_launch.c ---- */

/* Where a sentence goes, behind the kernel's name. */
#define WHY(c) (c)->why + (c)->prefix, sizeof(c)->why - (c)->prefix
/* Keep one there; returns code, which is no success. */
#define call_error(c, code, ...) call_told(c, why_error(code, WHY(c), __VA_ARGS__))
/* Can the call be used?  False, with a sentence, if it is freed or its module is unloaded. */
bool call_lives(hexc_call *c);
/* The result of a driver's function. */
int call_driver(hexc_call *c, const char *call, int result);
#define CALL(c, function, ...) call_driver(c, #function, (c)->gm->g->cu.function(__VA_ARGS__))
/* Somebody else's sentence stands behind the name already: show it.  Returns code. */
int call_told(hexc_call *c, int code);
/* Of the parameters in the set, which have no argument, the first is named. */
int call_missing(hexc_call *c, uint64_t missing);
#endif
