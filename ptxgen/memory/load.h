/* load.h - declares loads of single elements. */
#ifndef HEXC_PTXGEN_LOAD_H
#define HEXC_PTXGEN_LOAD_H
#include "ptxgen/memory/address.h"

/* Loads the element at `index`, of less than 8 bits and at any bit offset, by byte loads; higher bits
 * belong to other elements. */
LV load_bits(Codegen *g, Access *x, const Instr *byte, const int64_t *index);
/* For a visited load: adds to `word` the words that the same instructions load. */
void load_close(Codegen *g, const Op *o, bool *word);
#endif
