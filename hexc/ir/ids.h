/* ids.h - arrays by id about a part of a kernel, which are as long as that part, not as the kernel. */
#ifndef HEXC_IDS_H
#define HEXC_IDS_H
#include "hexc/ir/ir.h"

/* The ids of a part's ops, and of the values that it makes: the lowest, and the count from there on.  A part
 * that was written in one go has none of others in between. */
typedef struct Ids {
	uint32_t op, nop;
	uint32_t val, nval;
} Ids;

/* ---- clone.c ------------------------------------------------------------------------------------- */

/* Of all in a block, and of its arguments. */
Ids ids_of(const Block *b);
/* The place of a value in such an array; -1: the part does not make it. */
int64_t ids_val(const Ids *ids, const Val *v);
#endif
