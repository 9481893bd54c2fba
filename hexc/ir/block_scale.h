/* block_scale.h - recognizes dot operands that are narrow values times block scales along k (as in MX
 * formats), for MMA with block scales. */
#ifndef HEXC_BLOCK_SCALE_H
#define HEXC_BLOCK_SCALE_H
#include "hexc/ir/ir.h"

/* A float tile of at most 8 bits from which an operand is computed. at: operand index -> row-major element
 * index, on AX_mem; it is independent of modes with stride 0. */
typedef struct ScaledPart {
	Val *v; /* NULL: none */
	Layout at;
	bool magnitude; /* its sign is ignored */
} ScaledPart;

/* A dot operand computed from values and one scale per `block` contiguous values along k. */
typedef struct Scaled {
	ScaledPart value, scale; /* no scale: 1 */
	int64_t block;           /* no scale: all of k */
	DType through;           /* the narrowest of the types through which it is computed */
	Op *mask;                /* between the operand and the dot, NULL: none */
} Scaled;

/* Matches operand `side` of a dot against casts, rearrangements and one multiply. The multiply must be exact
 * in these types but for values out of range. */
bool scaled_factor(const Op *dot, int side, Scaled *out);
/* A dot with scales (IR.md): mma_extra(op, side) has the scales of operand `side`. */
bool dot_is_scaled(const Op *dot);
/* Number of contiguous elements along k per scale of operand `side`. */
int64_t dot_block(const Op *dot, int side);
/* Does the kernel contain a dot that could use block scales? */
bool kernel_is_scaled(const Kernel *k);
/* Is every value of float type x representable in d? */
bool scaled_holds(DType d, DType x);
#endif
