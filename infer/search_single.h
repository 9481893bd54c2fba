/* search_single.h - the search of one kernel without its variants, for tests. */
#ifndef HEXC_SEARCH_SINGLE_H
#define HEXC_SEARCH_SINGLE_H
#include "infer/infer.h"

/* Returns the solutions of k, which is before pass infer.  NULL: there are none, or not the selected one;
 * the reason is in the unit's Diag. */
Candidates *infer_search(Kernel *k);
#endif
