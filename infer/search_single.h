/* search_single.h - the search of a kernel as it is, without its variants; for tests. */
#ifndef HEXC_SEARCH_SINGLE_H
#define HEXC_SEARCH_SINGLE_H
#include "infer/infer.h"

/* The solutions of k, which is in front of pass infer.  NULL: there are none, or not the one asked for; why
 * is in the unit's Diag. */
Candidates *infer_search(Kernel *k);
#endif
