/* linear.h - declares what the files of hexc_linear_new share. */
#ifndef HEXC_OPS_LINEAR_H
#define HEXC_OPS_LINEAR_H
#include "lib/ops/ops.h"

enum { LINEAR_SETS = 32, LINEAR_TENSORS = 10 };

/* A plane as a kernel's argument. */
typedef struct LinearTensor {
	const char *name; /* of the argument */
	hexc_plane plane;
} LinearTensor;

/* The operator for a weight, with its settings. */
typedef struct LinearPlan {
	Arena *arena;
	hexc_weight w;
	const char *op;
	hexc_op_set set[LINEAR_SETS]; /* the host's settings, then the weight's */
	size_t nset, nhost;
	LinearTensor tensor[LINEAR_TENSORS];
	int ntensor;
	double factor;
	const Workers *workers;
	char *why;
	size_t n;
	int code;
} LinearPlan;

/* ---- quant_scheme.c --------------------------------------------------------------------------------- */

/* Fills l->op, l->set and l->tensor from l->w and the host's settings. Returns false with l->code and the
 * sentence set. */
bool linear_scheme(LinearPlan *l);

/* ---- weight_planes.c -------------------------------------------------------------------------------- */

/* Returns the plane with `cols` columns instead of one, by repeating each value. */
hexc_plane linear_spread(LinearPlan *l, const hexc_plane *p, int64_t cols);
/* Converts the plane to another type, with each value divided by `by`. */
hexc_plane linear_convert(LinearPlan *l, const hexc_plane *p, const char *type, double by);
/* Returns the power of two by which to divide the values so that they are at most 64; 1 if all are 0. */
double linear_range(const hexc_plane *p);
#endif
