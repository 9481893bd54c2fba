/* perf_warnings.h - what of the solution that was taken looks like a mistake of the program (hexc/ir/warnings.def). */
#ifndef HEXC_PERF_WARNINGS_H
#define HEXC_PERF_WARNINGS_H
#include "infer/core/solution.h"

/* k as inference left it: with layouts and instructions. */
void infer_warn(Kernel *k);
/* k as it is when all is known, one of those solutions: of its loops. */
void infer_warn_loops(Kernel *k, const Candidates *c);
#endif
