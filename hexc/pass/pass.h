/* pass.h - the passes of passes.def, those of infer/ too. */
#ifndef HEXC_PASS_H
#define HEXC_PASS_H
#include "hexc/ir/ir.h"

/* True: it changed something.  Errors of the program go to the unit's Diag. */
#define PASS(name, help) bool pass_##name(Kernel *k);
#include "hexc/pass/passes.def"
#endif
