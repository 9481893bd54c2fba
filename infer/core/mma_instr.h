/* mma_instr.h - which instructions of tensor cores a product may use. */
#ifndef HEXC_MMA_INSTR_H
#define HEXC_MMA_INSTR_H
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"

/* The kind of tensor-core instructions that do it. */
InstrKind dot_kind(const Op *dot);
/* Has the target the instruction, and is it for the types of this dot; swap: with its operands exchanged? */
bool instr_fits(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Another that fits does more at once and no slower. */
bool instr_dominated(const Instr *in, bool swap, const Op *dot, const Target *t);
/* Are a sparse dot's positions such as the instruction's (mma_sp)? */
bool instr_takes(const Instr *in, const Op *dot);
/* Do the tiles of a dot consist of whole instances? */
bool instr_divides(const Instr *i, bool swap, const Op *dot);
#endif
