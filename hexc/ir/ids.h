/* ids.h - declares id ranges of a part of a kernel, for arrays as long as that part instead of the kernel. */
#ifndef HEXC_IDS_H
#define HEXC_IDS_H
#include "hexc/ir/ir.h"

/* Ids of a part's ops and of the values that it defines: the lowest id, and the count from there. The range
 * is dense if the part was created in one go. */
typedef struct Ids {
	uint32_t op, nop;
	uint32_t val, nval;
} Ids;

/* ---- clone.c ------------------------------------------------------------------------------------- */

/* The ids of all ops and values in a block, and of its arguments. */
Ids ids_of(const Block *b);
/* Returns the index of a value in such an array; -1: defined outside of the part. */
int64_t ids_val(const Ids *ids, const Val *v);
#endif
