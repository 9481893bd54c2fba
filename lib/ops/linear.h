/* linear.h - what the files of hexc_linear_new share. */
#ifndef HEXC_OPS_LINEAR_H
#define HEXC_OPS_LINEAR_H
#include "lib/ops/ops.h"

enum { LINEAR_SETS = 32, LINEAR_TENSORS = 10 };

/* A plane as a kernel's argument. */
typedef struct LinearTensor {
	const char *name; /* of the argument */
	hexc_plane plane;
} LinearTensor;

/* Which operator a weight wants, with what. */
typedef struct LinearPlan {
	Arena *arena;
	hexc_weight w;
	const char *op;
	hexc_op_set set[LINEAR_SETS]; /* the host's, and behind them the weight's */
	size_t nset, nhost;
	LinearTensor tensor[LINEAR_TENSORS];
	int ntensor;
	double factor;
	const Workers *workers;
	char *why;
	size_t n;
	int code;
} LinearPlan;

/* ---- quant_scheme.c ------------------------------------------------------------------------------------------ */

/* Fill l->op, l->set and l->tensor from l->w and the host's settings.  False: l->code, and the sentence. */
bool linear_scheme(LinearPlan *l);

/* ---- weight_planes.c ------------------------------------------------------------------------------------------- */

/* The plane with `cols` columns in place of one: each number as often. */
hexc_plane linear_spread(LinearPlan *l, const hexc_plane *p, int64_t cols);
/* The plane in another type, each number divided by `by`. */
hexc_plane linear_convert(LinearPlan *l, const hexc_plane *p, const char *type, double by);
/* The power of two by which its numbers are to be divided to be at most 64; 1 where all are 0. */
double linear_range(const hexc_plane *p);
#endif
