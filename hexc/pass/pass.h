/* pass.h - the passes of passes.def, those of infer/ too. */
#ifndef HEXC_PASS_H
#define HEXC_PASS_H
#include "hexc/ir/ir.h"

/* When the compiler runs a pass. */
typedef enum PassWhen {
	PASS_once,
	PASS_tried,  /* for every choice that the search makes in front of pass infer */
	PASS_search, /* once; its candidates are kept */
	PASS_asked,  /* if it is asked for */
} PassWhen;

/* True: it changed something.  Errors of the program go to the unit's Diag. */
#define PASS(name, when, help) bool pass_##name(Kernel *k);
#include "hexc/pass/passes.def"
#endif
