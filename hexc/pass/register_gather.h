/* register_gather.h - declares the register alternatives to tiles staged in shared memory: gathers by index
 * tiles (register_gather.c), and dot operands (stage_operands.c). */
#ifndef HEXC_REGISTER_GATHER_H
#define HEXC_REGISTER_GATHER_H
#include "hexc/ir/ir.h"

/* Can all indexed reads of this alloc, which has IMM(o, table), be gathered from the register tile that is
 * stored to it? */
bool table_fits(const Kernel *k, const Op *alloc);
/* Does so: removes store and alloc, and replaces each load by a gather. */
void table_gather(Kernel *k, Op *alloc);
/* Returns the name, for explain, of the operand stored to this TABLE_OPERAND alloc, e.g. bf16(s); NULL:
 * none. */
const char *operand_name(Kernel *k, const Op *alloc);
/* Replaces all loads of the alloc by the operand stored to it; removes store and alloc. */
void operand_direct(Kernel *k, Op *alloc);
#endif
