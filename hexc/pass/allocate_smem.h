/* allocate_smem.h - declares shared-memory sizes and requirements, for pass allocate_smem, pass
 * insert_barriers and the layout search. */
#ifndef HEXC_ALLOCATE_SMEM_H
#define HEXC_ALLOCATE_SMEM_H
#include "hexc/ir/ir.h"

/* Bytes of a shared tile: of its layout with padding and swizzle, or dense. */
int64_t smem_alloc_bytes(const Op *alloc);
/* Does the op stage data in scratch memory? */
bool smem_has_scratch(const Op *o);

/* Scratch of an op, or of a layout conversion before it, that is not in the IR yet. */
typedef struct SmemScratch {
	Op *op;
	bool before;
	int64_t bytes;
} SmemScratch;

/* The shared memory of a solution that is not in the IR yet. */
typedef struct SmemPlan {
	const Layout *const *layout; /* [nval+1] of shared tiles */
	const int64_t *align;        /* [nop+1] minimum alignment of an alloc, bytes */
	const SmemScratch *scratch;
	int nscratch;
} SmemPlan;

/* Returns the bytes that pass allocate_smem needs for a kernel, with the plan applied. plan NULL: as the IR
 * is. */
int64_t smem_least(Kernel *k, const SmemPlan *plan);
/* Reports that the kernel exceeds a block's shared memory. */
void smem_too_much(Kernel *k, const SmemPlan *plan);
#endif
