/* perf_warnings.h - declares warnings about likely performance mistakes in the program
 * (hexc/ir/warnings.def), derived from the chosen solution. */
#ifndef HEXC_PERF_WARNINGS_H
#define HEXC_PERF_WARNINGS_H
#include "infer/core/solution.h"

/* Checks k directly after inference, with layouts and instructions. */
void infer_warn(Kernel *k);
/* Checks the loops of k after all passes; k has one of those solutions. */
void infer_warn_loops(Kernel *k, const Candidates *c);
#endif
