/* warn.h - what of the solution that was taken looks like a mistake of the program (hexc/ir/warnings.def). */
#ifndef HEXC_INFER_WARN_H
#define HEXC_INFER_WARN_H
#include "hexc/ir/ir.h"

/* k as inference left it: with layouts and instructions. */
void infer_warn(Kernel *k);
/* k as pass split left it: of its loops. */
void infer_warn_loops(Kernel *k);
#endif
