/* mma_instr.h - queries which mma.sync instructions can compute a dot. */
#ifndef HEXC_MMA_INSTR_H
#define HEXC_MMA_INSTR_H
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"

/* Returns the kind of mma.sync instruction that computes the dot. */
InstrKind dot_kind(const Op *dot);
/* Does the target have the instruction, and do its types match those of the dot?  swap: with the operands
 * exchanged. */
bool instr_fits(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Does another matching instruction compute more per instance at no lower rate? */
bool instr_dominated(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Does the metadata of a sparse dot have the format of the instruction (mma_sp)? */
bool instr_takes(const Instr *in, const Op *dot);
/* Are the tiles of a dot multiples of the instance's? */
bool instr_divides(const Instr *i, bool swap, const Op *dot);
#endif
