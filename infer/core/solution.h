/* solution.h - what a plan comes to: layouts, instructions and costs of a whole kernel.  Nothing of it is in
 * the IR before a solution is taken. */
#ifndef HEXC_SOLUTION_H
#define HEXC_SOLUTION_H
#include "infer/core/unsat.h"
#include "infer/core/plan.h"
#include "infer/core/resource_usage.h"

/* A conversion that has been decided on: operands in b and in blocks inside it share it. */
typedef struct Conversion {
	const Layout *to;
	const Block *b;
	Lowering *how;
	const struct Conversion *next; /* of the same value */
} Conversion;

/* Registers of a lane with roles: at the launch, of one that produces, and of one that computes. */
typedef struct RoleRegisters {
	int launch, producer, consumer;
} RoleRegisters;

/* One complete solution (or the attempt at one). */
typedef struct LayoutSolution {
	SearchPlan plan;
	const Layout **val; /* [nval+1] by value id */
	const Op **origin; /* [nval+1] the op that demanded val[] */
	const Layout **
		*want; /* [nop+1][nin] the layout an operand is converted to, NULL: as it is laid out */
	Lowering ***conv; /* [nop+1][nin] how; operands with one Lowering share the conversion */
	/* [nop+1][nout] the layout an op makes a result in, where readers see another; NULL: val[] */
	const Layout ***made;
	Lowering ***mconv; /* [nop+1][nout] how made becomes val[] */
	Lowering **lowering; /* [nop+1] */
	const struct Pack **pack; /* [nparam] of packed tensors, as far as known */
	const struct SmemAtom **form; /* [nval+1] of shared tiles that need one (infer/core/smem_atom.h) */
	int *bit_order; /* [nval+1] in which order the words of narrow tiles hold their bits */
	Res *res; /* [nop+1] what the op costs, all warps, once */
	int cluster[3]; /* blocks along x, y, z that fetch together (pass multicast); 0 0 0: each by itself */
	const bool *shared; /* [nop+1] copies that they share; NULL: none */
	bool rotate; /* loops where that can be done (pass prefetch_fragments) */
	int64_t registers; /* that a lane holds at once, about; with roles one that computes */
	int producer; /* those of one that produces */
	double cycles; /* of a block, with others beside it */
	int64_t smem; /* bytes of shared memory of a block, placed */
	bool spills; /* a lane has too few registers for it */
	double spilled; /* clocks of `alone` and of total's shared memory that this takes */
	double alone; /* of a block alone on an SM */
	RoleRegisters handed; /* 0: without roles */
	int lane; /* registers that ptxas will give a lane, about */
	int blocks; /* that an SM holds */
	Res total; /* all that a block does */
	const char *what; /* infer_describe */
	const Kernel *k; /* of which this is a solution: that of its list, or of one that was joined to it */
	const VariantChoices *spaces; /* that it has */
} LayoutSolution;

/* Solutions, cheapest first, those that spill behind all others; equal costs keep the order of
 * enumeration. */
typedef struct Candidates {
	Kernel *k;
	LayoutSolution **sol;
	int n, cap;
	uint32_t nval, nop; /* values and ops when the search ran: the length of Solution's arrays */
	const double *weight; /* [nop+1] how often an op runs in a block */
	uint64_t steps;
	struct Solve *solve; /* what the search knew of the kernel */
	bool tiles; /* there was something to solve */
	Failure failure; /* why the best-looking plan has no solution */
	const char *unscheduled; /* why no roles were made, which were tried; NULL: they were, or not tried */
} Candidates;
#endif
