/* load.h - single elements from memory. */
#ifndef HEXC_PTXGEN_LOAD_H
#define HEXC_PTXGEN_LOAD_H
#include "ptxgen/memory/address.h"

/* The element at `index`, of less than 8 bits and beginning at any, by loads of a byte; above it are
 * others. */
LV load_bits(Codegen *g, Access *x, const Instr *byte, const int64_t *index);
/* Of a load that was visited: add the words that come with those of `word`, by the same instructions. */
void load_close(Codegen *g, const Op *o, bool *word);
#endif
