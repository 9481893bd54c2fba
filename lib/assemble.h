/* assemble.h - the solution that the host's assembler finds best. */
#ifndef HEXC_ASSEMBLE_H
#define HEXC_ASSEMBLE_H
#include "lib/pass_manager.h"

/* Which solution of kernel i, declared and in front of its passes, is to be taken, as hexc_opts.assemble sees
 * them: in j->unit.candidate, with what was found in j->asked.  Nothing changes where it is not asked.  Under
 * arena_protect. */
void assemble_choose(CompileJob *j, int i);
#endif
