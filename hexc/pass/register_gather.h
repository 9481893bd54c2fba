/* register_gather.h - register tiles that are read by way of shared memory, or as they are: those from which tiles of
 * indices choose (register_gather.c), and operands of products (stage_operands.c). */
#ifndef HEXC_REGISTER_GATHER_H
#define HEXC_REGISTER_GATHER_H
#include "hexc/ir/ir.h"

/* Can what is read along indices of this alloc, which has IMM(o, table), be gathered from the register tile
 * that it is written from? */
bool table_fits(const Kernel *k, const Op *alloc);
/* So it is: no store, no alloc, and a gather in place of each load. */
void table_gather(Kernel *k, Op *alloc);
/* What explain calls the operand that is written to this alloc, TABLE_OPERAND: bf16(s); NULL: nothing. */
const char *operand_name(Kernel *k, const Op *alloc);
/* The operand stands in for what is loaded of the alloc that it was written to, which goes. */
void operand_direct(Kernel *k, Op *alloc);
#endif
