/* debug_lines.h - declares the source lines of PTX instructions: .loc, as with nvcc -lineinfo. */
#ifndef HEXC_DEBUG_LINES_H
#define HEXC_DEBUG_LINES_H
#include "ptxgen/base/codegen.h"

/* Returns the textual LLVM module to start from, with the file and its functions, in the unit's arena. */
const char *lines_module(const Unit *u);
/* Attaches g->fn to kernel g->k: instructions without a location get its line. */
void lines_begin(Codegen *g);
/* Sets the location of the code emitted from now on, unless src has no line. Returns the previous one. */
Src lines_at(Codegen *g, Src src);
#endif
