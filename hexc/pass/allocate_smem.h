/* allocate_smem.h - what passes allocate_smem and insert_barriers know together about the block's shared memory. */
#ifndef HEXC_ALLOCATE_SMEM_H
#define HEXC_ALLOCATE_SMEM_H
#include "hexc/ir/ir.h"

/* Bytes of a shared tile: its layout's, padding and swizzle included, or dense. */
int64_t smem_alloc_bytes(const Op *alloc);
/* Does the op stage data in scratch memory? */
bool smem_has_scratch(const Op *o);

/* Scratch of an op, or of a convert in front of it, that is not in the IR yet. */
typedef struct SmemScratch {
	Op *op;
	bool before;
	int64_t bytes;
} SmemScratch;

/* A solution that is not in the IR yet, as far as it takes shared memory. */
typedef struct SmemPlan {
	const Layout *const *layout; /* [nval+1] of shared tiles */
	const int64_t *align;        /* [nop+1] that an alloc is to have at least */
	const SmemScratch *scratch;
	int nscratch;
} SmemPlan;

/* Bytes that pass allocate_smem needs for a kernel: as it is (NULL), or as it would be. */
int64_t smem_least(Kernel *k, const SmemPlan *plan);
/* The error that this is more than a block has. */
void smem_too_much(Kernel *k, const SmemPlan *plan);
#endif
