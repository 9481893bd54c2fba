/* ldmatrix.h - declares ldmatrix and stmatrix, and the tile words of each instance. */
#ifndef HEXC_LDMATRIX_H
#define HEXC_LDMATRIX_H
#include "ptxgen/memory/address.h"

/* Sets from[word of the tile v] = instance * nmat + matrix, for the lanes' addresses `map`; -1: in none. */
void matrix_words(Codegen *g, Val *v, const Layout *map, int nmat, int *from);
/* Stores the full tile to shared memory from the lanes with `exec` true (NULL: all); loads it. */
void matrix_store(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x, LV exec);
void matrix_load(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x);
#endif
