/* error_bound.h - bounds how far a correct execution of a kernel may be from the tile interpreter's
 * result, for --check.
 *
 * The interpreter fixes one summation order and libm's exp; a GPU, the simulator or another candidate uses
 * others. No hand-chosen tolerance can distinguish rounding from a bug, so the bound is computed. The
 * kernel is rewritten: next to each value x that may differ, the copy computes a bound e >= |x' - x| for
 * every correct x', as ordinary tile operations in f64. The interpreter runs the rewritten kernel like any
 * other.
 *
 * What may differ, and by how much (u is the unit roundoff of the type, n the number of terms):
 *	dot, reduce_sum   2 n u * sum of magnitudes, for any order and for accumulators that truncate
 *	                  (n <= 4 terms more for alignment inside a tensor core); exactly 0 if every
 *	                  term is an integer and the type represents the sum of magnitudes exactly
 *	x = x * u + sum(y), in a loop that carries x, for partial sums that are combined after the loop:
 *	                  the bound over all iterations together, for any assignment of terms
 *	/ sqrt            of f32 and narrower, unless exact: the accuracy of div.full, rcp and sqrt.approx
 *	exp exp2 log      the accuracy that the PTX ISA states for the .approx forms, see approx()
 *	rsqrt tanh
 *	argmax argmin     the indices of elements whose bounds reach the extreme
 *	atomic_add        bound_of_sum, from counts and magnitudes that the rewritten kernel accumulates
 *	                  per element, for updates in any order; old values returned by updates, and
 *	                  results of swaps, are unknown
 * Sums of which some orders overflow are unknown, and so are results that only some executions overflow or
 * wrap.
 * Everything else is rounded once by IEEE rules. Equal operands give equal results; a difference of
 * operands is propagated (first a Lipschitz bound, then one rounding of each side).
 * A comparison that may go either way makes its selects differ by the distance of their operands.
 * A load at an uncertain index is unknown. If a condition or a store address is uncertain, every bound is
 * unknown.
 * A factor 1 + 2^-40 per bound covers the f64 roundings of the bounds themselves. */
#ifndef HEXC_ERROR_BOUND_H
#define HEXC_ERROR_BOUND_H
#include "hexc/ir/ir.h"

/* Per element of a tensor that floats are added to atomically: the initial value (stored by the host
 * before the run), and over the updates the sum of magnitudes, the number, and the largest distance from
 * an integer (0 before the run). */
enum { BOUND_START, BOUND_SIZE, BOUND_COUNT, BOUND_FRACTION, BOUND_SUMS };
/* Does k add floats atomically to tensor parameter `tensor`? */
bool bound_has_sums(const Kernel *k, const Val *tensor);
/* Returns the bound of a sum of type d; e is the sum of its terms' own bounds. */
double bound_of_sum(DType d, double e, const double sum[BOUND_SUMS]);

/* Returns k rewritten to compute bounds, in k's unit. Its parameters are those of k, then for each written
 * tensor of k, in order, an f64 tensor with the same sizes and strides for the bounds. If bound_has_sums,
 * BOUND_SUMS more follow, from which bound_of_sum computes the bound. The last parameter is an f64 tensor
 * of BOUND_CELLS elements, 0 before the run. Afterwards BOUND_DOUBT > 0 means that control flow or
 * addresses depended on rounded data, so no bound is valid; BOUND_LOST identifies the first op that lost
 * the bound of an element. k must be as passes mark_reductions and mask_bounds left it. Returns NULL if no
 * run can have a bound. */
enum { BOUND_DOUBT, BOUND_LOST, BOUND_CELLS };
typedef struct BoundOps {
	const Op **op; /* ops that may lose bounds, in program order */
	int n, cap;
} BoundOps;
Kernel *bound_kernel(Kernel *k, BoundOps *ops);
/* Returns the op that the cell identifies, and sets *why to how it loses bounds; NULL: none, or unknown. */
const Op *bound_lost(const BoundOps *ops, double cell, const char **why);
#endif
