/* smem.h - what passes smem and sync know together about the block's shared memory. */
#ifndef HEXC_SMEM_H
#define HEXC_SMEM_H
#include "hexc/ir/ir.h"

/* Bytes of a shared tile: its layout's, padding and swizzle included, or dense. */
int64_t smem_alloc_bytes(const Op *alloc);
/* Does the op stage data in scratch memory? */
bool smem_has_scratch(const Op *o);
/* Is element i of the tile that load or store a moves in the hands of one thread, the same as for b? */
bool smem_same_threads(const Op *a, const Op *b);
/* Are both atomic stores of one kind?  They may meet in an element in any order. */
bool smem_same_update(const Op *a, const Op *b);
#endif
