/* slow_path.h - what only some elements need, behind a branch that a warp takes where it has one of them. */
#ifndef HEXC_SLOW_PATH_H
#define HEXC_SLOW_PATH_H
#include "ptxgen/base/codegen.h"

/* Word w of what select o makes, with what is made for its first choice and nothing else behind a branch.
 * False, nothing is emitted: that does not pay, or cannot be done here. */
bool rarely_select(Codegen *g, Op *o, int w);
#endif
