/* elect_one.h - declares the emission of code for one elected thread of a role's warps. */
#ifndef HEXC_ELECT_ONE_H
#define HEXC_ELECT_ONE_H
#include "ptxgen/base/codegen.h"

/* Returns an i1 that is true in one thread of every `warps` warps of the role, in the first of them; NULL
 * if this is the only thread. */
LV speaker(Codegen *g, int warps);
/* Returns an i1 that is true for the lanes with a set bit in `lanes`, in the first of every `warps` warps. */
LV speaker_lanes(Codegen *g, int warps, uint32_t lanes);
/* Emits assembly with its operands, executed by the threads of `who`, an i1; NULL: by all. */
void emit_by(Codegen *g, LV who, const char *text, const char *cons, const LV *in, int nin);
#endif
