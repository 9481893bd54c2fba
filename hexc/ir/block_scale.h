/* block_scale.h - factors of few bits times scales that blocks of neighbours along k share. */
#ifndef HEXC_BLOCK_SCALE_H
#define HEXC_BLOCK_SCALE_H
#include "hexc/ir/ir.h"

/* A float tile of at most 8 bits that a factor is computed from.  at: an index of the factor -> number of the
 * element (row-major), on AX_mem; digits of stride 0 are those that it does not depend on. */
typedef struct ScaledPart {
	Val *v; /* NULL: there is none */
	Layout at;
	bool magnitude; /* its sign does not count */
} ScaledPart;

/* What a factor of a dot is computed from: values, and a scale for each `block` neighbours along k. */
typedef struct Scaled {
	ScaledPart value, scale; /* no scale: 1 */
	int64_t block;           /* no scale: all of k */
	DType through;           /* of the types that it is computed in the one that holds least */
	Op *mask;                /* between it and the dot, NULL: none */
} Scaled;

/* Factor `side` of a dot, if it is computed so, by casts, rearranging and one product, and the product has no
 * more digits than the types hold: then only numbers past their range are rounded. */
bool scaled_factor(const Op *dot, int side, Scaled *out);
/* A dot with scales (IR.md): op->in[3 + side] has those of factor `side`. */
bool dot_is_scaled(const Op *dot);
/* Neighbours along k with one scale of factor `side`. */
int64_t dot_block(const Op *dot, int side);
/* Are there products that could be? */
bool kernel_is_scaled(const Kernel *k);
/* Has float type d all numbers of type x? */
bool scaled_holds(DType d, DType x);
#endif
