/* pack_plan.h - how blocks of a pack are made and read: what is computed once for all of them. */
#ifndef HEXC_PACK_PLAN_H
#define HEXC_PACK_PLAN_H
#include "hexc/pack.h"
#include "lib/bitperm.h"

/* `bits` bits of a code, from `shift` on, lie at bit `at` of word `word` of a group. */
typedef struct PackSeg {
	uint8_t element, shift, bits, word, at;
} PackSeg;

typedef struct PackPlan {
	const Pack *pack;
	int bits;
	int64_t rows, cols, n; /* of a block; its elements */
	size_t natural, words; /* bytes of a block in natural form; 32-bit words of a packed one */
	bool fast; /* a permutation of address bits: */
	BitPerm to, back;
	uint32_t *load[2], *store[2]; /* words of the buffer, of `to` and of `back` */
	int32_t *position; /* else: of element row * cols + col */
	bool lanes; /* and then groups lie side by side */
	PackSeg seg[32 * 8]; /* of a group of 32 elements */
	int nseg;
} PackPlan;

/* How many blocks side by side are best done at once; and bytes of scratch for these, 64-byte aligned. */
int64_t pack_side(const PackPlan *p);
size_t pack_scratch(const PackPlan *p);
void pack_plan(Arena *a, PackPlan *out, const Pack *pack);
/* 1 .. pack_side() whole blocks side by side.  Rows of the natural side begin at bytes, `stride` apart;
 * `packed` is aligned to 4 bytes. */
void pack_blocks(const PackPlan *p, const unsigned char *natural, size_t stride, void *packed, int64_t blocks,
                 void *scratch);
void unpack_blocks(const PackPlan *p, const void *packed, unsigned char *natural, size_t stride,
                   int64_t blocks, void *scratch);

/* One block by way of its codes (pack_code.c). */
enum { PACK_LANES = 16 }; /* groups that are done at once */
void pack_slowly(const PackPlan *p, const unsigned char *natural, size_t stride, void *packed, void *scratch);
void unpack_slowly(const PackPlan *p, const void *packed, unsigned char *natural, size_t stride,
                   void *scratch);
#endif
