/* ptxas.h - the assembler that solutions are ranked by, and that makes cubins. */
#ifndef HEXC_CLI_PTXAS_H
#define HEXC_CLI_PTXAS_H
#include "hexc/cli/cli.h"

/* The program: what --assembler or $PTXAS names, or ptxas on $PATH.  NULL: none is at hand, or none is wanted. */
const char *ptxas_path(Cli *c);
/* A new folder that ptxas_leave removes with a.ptx, a.cubin and a.txt in it; NULL with the reason printed. */
const char *ptxas_folder(Cli *c);
void ptxas_leave(Cli *c, const char *folder);
/* Runs it, which there is, on the folder's a.ptx, which gets this text, for a.cubin, or with `said` for what it says of
 * registers, in there.  False with a reason in *why. */
bool ptxas_run(Cli *c, const char *folder, const char *arch, const char *ptx, size_t n, char **said,
               const char **why);
/* Has p's solutions ranked by the assembler, if there is one.  0, or a status with the reason printed. */
int ptxas_rank(CliProgram *p);
#endif
