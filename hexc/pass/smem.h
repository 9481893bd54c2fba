/* smem.h - what passes smem and sync know together about the block's shared memory. */
#ifndef HEXC_SMEM_H
#define HEXC_SMEM_H
#include "hexc/ir/ir.h"

/* Bytes of a shared tile: its layout's, padding and swizzle included, or dense. */
int64_t smem_alloc_bytes(const Op *alloc);
/* Does the op stage data in scratch memory? */
bool smem_has_scratch(const Op *o);
#endif
