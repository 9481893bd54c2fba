/* mma_arith.h - shared by mma, wmma and wgmma: unpacks elements to doubles, multiplies, and packs the result.
 *
 * Elements of every format are exact in double, and so are the products of two of any format but f64; sums
 * are rounded to double in order of k and to the accumulator's type once, at the end. Integer sums are exact:
 * at most 2^8 products below 2^16, and an accumulator below 2^32. Matrices are row-major without gaps. */
#ifndef SIM_MAT_H
#define SIM_MAT_H
#include "lib/sim/base/sim_base.h"

enum { MAT_K = 256 };           /* the deepest k, of single bits */

/* The elements of `n` words, low to high, as doubles. Not for f64, which is not packed. */
void mat_unpack(double *out, const u32 *words, u32 n, PtxType t);
/* Where registers of two accumulators are columns 2t and 2t + 1 of 8 rows: loads one to out[8][8]. r0 and r1:
 * f32 or s32, the even and the odd columns; f16: r0 has both. */
void mat_load_acc(double *out, const u32 *r0, const u32 *r1, PtxType t);
void mat_store_acc(const double *v, u32 *r0, u32 *r1, PtxType t, bool sat);
/* c[m][n] += a[m][k] b[k][n]; m and n are multiples of 8. */
void mat_product(double *c, const double *a, const double *b, u32 m, u32 n, u32 k);
/* The same in f64: a chain of fused multiply-adds in order of k. */
void mat_product64(double *c, const double *a, const double *b, u32 m, u32 n, u32 k);
/* Unpacks eight columns of B, each `n` words of contiguous elements along k: out[k][8]. */
void mat_unpack_cols(double *out, const u32 *words, u32 n, PtxType t);
/* One value rounded to the accumulator's type (sat: integers are clamped), and its value. */
u32 mat_round(double v, PtxType t, bool sat);
double mat_value(u32 bits, PtxType t);
/* Expands sparse A: in[16][k/2] to out[16][k], the rest zero, by the metadata of a warp (PTX ISA, "Sparse
 * matrix storage"). ordered: the indices must be ascending. Returns the first lane with invalid metadata, or
 * -1. */
int mat_expand(double *out, const double *in, u32 k, PtxType t, const u32 *meta, u32 selector, bool ordered);
/* The lanes whose metadata is used. */
u32 mat_meta_lanes(u32 k, PtxType t, u32 selector);
#endif
