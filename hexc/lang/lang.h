/* lang.h - declares the front end: source to IR. */
#ifndef HEXC_LANG_H
#define HEXC_LANG_H
#include "hexc/ir/ir.h"

/* Parses, checks, instantiates with the given constants, and lowers the source to IR. Fills u->kernel;
 * errors go to u->diag. `only`: only the kernel of that name, NULL: all. */
bool unit_parse(Unit *u, const Define *def, int ndef, const char *only);
#endif
