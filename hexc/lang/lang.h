/* lang.h - the front end: source to IR. */
#ifndef HEXC_LANG_H
#define HEXC_LANG_H
#include "hexc/ir/ir.h"

/* Source to IR: parse, check, instantiate with the given constants, lower.  Fills u->kernel; errors in
 * u->diag.  `only`: just the kernel of that name, NULL: all. */
bool unit_parse(Unit *u, const Define *def, int ndef, const char *only);
#endif
