/* util_pack.h - elements of packed tensors bit by bit: an oracle for the fast routines. */
#ifndef TEST_UTIL_PACK_H
#define TEST_UTIL_PACK_H
#include "hexc/ir/pack.h"

/* The code of an element of a whole tensor, and its change.  `index` has rank numbers, inside dim. */
unsigned pack_get(const Pack *p, int rank, const int64_t *dim, const uint32_t *words, const int64_t *index);
void pack_put(const Pack *p, int rank, const int64_t *dim, uint32_t *words, const int64_t *index,
              unsigned code);
#endif
