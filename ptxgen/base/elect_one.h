/* elect_one.h - what one thread does for all warps of a role. */
#ifndef HEXC_ELECT_ONE_H
#define HEXC_ELECT_ONE_H
#include "ptxgen/base/codegen.h"

/* i1: one thread of every `warps` warps of the role, in the first of them; NULL: this is the only thread. */
LV speaker(Codegen *g, int warps);
/* i1: those whose bit of `lanes` is set in the first of every `warps` warps. */
LV speaker_lanes(Codegen *g, int warps, uint32_t lanes);
/* Text of assembly and its operands, done by the threads of `who`, an i1; NULL: by all. */
void emit_by(Codegen *g, LV who, const char *text, const char *cons, const LV *in, int nin);
#endif
