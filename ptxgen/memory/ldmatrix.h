/* ldmatrix.h - ldmatrix and stmatrix: words of a tile by instance. */
#ifndef HEXC_LDMATRIX_H
#define HEXC_LDMATRIX_H
#include "ptxgen/memory/address.h"

/* from[word of the tile v] = instance * nmat + matrix, for the lanes' addresses `map`; -1: in none. */
void matrix_words(Codegen *g, Val *v, const Layout *map, int nmat, int *from);
/* The whole tile to shared memory, by warps for whose lanes `exec` holds (NULL: all); from there. */
void matrix_store(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x, LV exec);
void matrix_load(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x);
#endif
