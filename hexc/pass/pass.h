/* pass.h - declares the passes of passes.def, including those of infer/. */
#ifndef HEXC_PASS_H
#define HEXC_PASS_H
#include "hexc/ir/ir.h"

/* When the compiler runs a pass. */
typedef enum PassWhen {
	PASS_ONCE,
	PASS_PER_VARIANT, /* for every variant of the outer search: memory spaces, warp counts, schedules */
	PASS_SEARCH,      /* once; stores its candidates */
	PASS_ON_REQUEST,  /* with HEXC_PROVE or HEXC_PARANOID, or by name */
} PassWhen;

/* Returns true if the pass changed the kernel. Errors of the program go to the unit's Diag. */
#define PASS(name, former, when, help) bool pass_##name(Kernel *k);
#include "hexc/pass/passes.def"
#endif
