/* error_bound.h - how far may a correct execution of a kernel be from the tile interpreter's result?
 *
 * The interpreter fixes one order of sums and libm's exp; a GPU, the simulator or another candidate
 * takes others.  No tolerance chosen by hand can tell a rounding from a bug, so the bound is computed:
 * the kernel is rewritten so that beside each value x that may differ runs a second value, its
 * bound e >= |x' - x| for every correct x', as ordinary tile operations in f64.  The interpreter
 * then runs the rewritten kernel like any other.
 *
 * What may differ, and by how much (u is the unit roundoff of the type, n the number of terms):
 *	dot, reduce_sum   2 n u * sum of magnitudes, for any order and for accumulators that truncate
 *	                  (n <= 4 terms more for alignment inside a tensor core); exactly 0 when every
 *	                  term is an integer and the magnitudes sum to what the type holds exactly
 *	x = x * u + sum(y), in a loop that carries x, for parts of it that meet behind the loop: that of all
 *	                  turns together, wherever the terms are
 *	/ sqrt            of f32 and less, unless exact: the accuracy of div.full, rcp and sqrt.approx
 *	exp exp2 log      the accuracy that the PTX ISA states for the .approx forms, see approx()
 *	rsqrt tanh
 *	argmax argmin     the places of elements whose bounds reach the extreme
 *	atomic_add        what bound_of_sum says, from counts and magnitudes that the rewritten kernel adds
 *	                  up by element, for updates in any order; what updates find, and what swaps
 *	                  leave, is unknown
 * Everything else is rounded once by IEEE rules: on equal operands the results are equal, on operands that
 * differ the difference is carried through (first a Lipschitz bound, then one rounding of each side).
 * A comparison whose operands may come out either way makes its selects differ by the distance of the sides.
 * What is read at an index that may be another one is unknown; where a condition may be the other or a
 * store go elsewhere, all is.
 * The bounds' own roundings in f64 are covered by a factor 1 + 2^-40 on each. */
#ifndef HEXC_ERROR_BOUND_H
#define HEXC_ERROR_BOUND_H
#include "hexc/ir/ir.h"

/* By element of a tensor that floats are added to atomically: what was there (the host puts that in before
 * the run), and of the updates the sum of magnitudes, the number, the largest distance from an integer (0
 * before the run). */
enum { BOUND_START, BOUND_SIZE, BOUND_COUNT, BOUND_FRACTION, BOUND_SUMS };
/* Does k do so with tensor parameter `tensor`? */
bool bound_has_sums(const Kernel *k, const Val *tensor);
/* The bound of a sum of type d: e is the sum of its terms' own bounds. */
double bound_of_sum(DType d, double e, const double sum[BOUND_SUMS]);

/* The kernel with bounds, in k's unit: its parameters are those of k, then for each written tensor of k, in
 * order, one of f64 with the same sizes and strides that holds the bounds, and if bound_has_sums BOUND_SUMS
 * more, of which bound_of_sum makes the bound.  The last one is an f64 tensor of BOUND_CELLS elements, 0
 * before the run.  After it BOUND_DOUBT is more than 0 where control flow or addresses depended on rounded
 * data: then no bound counts; and BOUND_LOST says which op was the first to lose the bound of an element.
 * k is as passes mark_reductions and mask_bounds left it.  NULL: no bound is known for any run. */
enum { BOUND_DOUBT, BOUND_LOST, BOUND_CELLS };
typedef struct BoundOps {
	const Op **op; /* those that may lose bounds, in the order of the program */
	int n, cap;
} BoundOps;
Kernel *bound_kernel(Kernel *k, BoundOps *ops);
/* The op that the cell names, and in *why how bounds are lost there; NULL: none, or it is not known. */
const Op *bound_lost(const BoundOps *ops, double cell, const char **why);
#endif
