/* accesses.h - declares the access checks shared by validate/accesses.c and validate/layout_conversion.c. */
#ifndef INFER_PROVE_MEM_H
#define INFER_PROVE_MEM_H
#include "infer/validate/validate.h"

/* One side of an access: maps elements of the view to addresses. */
typedef struct Side {
	const Val *mem;
	bool shared;
	const Layout *layout; /* shared memory: the alloc's layout */
	int dim_of[DIM_MAX]; /* view dim -> alloc dim */
	int unit; /* global memory: the contiguous view dim; -1: none */
} Side;

bool prove_vectors(Prove *p, const Side *s, const Ownership *h, int vec, bool write);
/* Validates ldmatrix (PTX ISA 9.7.14.5.15): lane 8j + r of matrix j supplies the address of its row r, 16
 * bytes. Without .trans lane l receives the 32 bits at row l/4, byte 4 (l % 4); with it, the two 16-bit
 * elements of rows 2 (l % 4) and the next, column l/4. stmatrix (9.7.14.5.16) moves the same data in the
 * other direction. Every register of the tile must be covered once. */
bool prove_matrices(Prove *p, const Type *t, const Instr *in, const Ownership *h, const Layout *map,
                    const Side *s);
/* Validates that each element is accessed by exactly one acting thread. */
void prove_once(Prove *p, const Type *t, const Ownership *h);
#endif
