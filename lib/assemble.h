/* assemble.h - declares assemble_choose(): the solution of a kernel that the host's assembler ranks best. */
#ifndef HEXC_ASSEMBLE_H
#define HEXC_ASSEMBLE_H
#include "lib/pass_manager.h"

/* Selects the solution of kernel i, which is declared but has not gone through its passes, by
 * hexc_opts.assemble. Sets j->unit.candidate, and j->asked to the results. Does nothing if assemble is not
 * used. Call under arena_protect. */
void assemble_choose(CompileJob *j, int i);
#endif
