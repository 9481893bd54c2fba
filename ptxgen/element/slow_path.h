/* slow_path.h - declares the slow path of selects with a rare operand. */
#ifndef HEXC_SLOW_PATH_H
#define HEXC_SLOW_PATH_H
#include "ptxgen/base/codegen.h"

/* Emits word w of select o, with the ops used only by its first operand in a slow path. Returns false, and
 * emits nothing, if that is not profitable, or not possible here. */
bool rarely_select(Codegen *g, Op *o, int w);
#endif
