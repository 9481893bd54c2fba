/* debug_lines.h - which line of the program each instruction of the PTX is of: .loc, as under nvcc -lineinfo. */
#ifndef HEXC_DEBUG_LINES_H
#define HEXC_DEBUG_LINES_H
#include "ptxgen/base/codegen.h"

/* The LLVM module to begin with: the file and the functions to come, in the unit's arena. */
const char *lines_module(const Unit *u);
/* g->fn is that of g->k: instructions without a place of their own are of its line. */
void lines_begin(Codegen *g);
/* What is emitted from now on is of src, unless that has no line.  Gives what held before. */
Src lines_at(Codegen *g, Src src);
#endif
