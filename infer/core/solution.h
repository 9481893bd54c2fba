/* solution.h - the solution of a plan: layouts, instructions and costs of a whole kernel.  The IR stays
 * unchanged until a solution is selected. */
#ifndef HEXC_SOLUTION_H
#define HEXC_SOLUTION_H
#include "infer/core/unsat.h"
#include "infer/core/plan.h"
#include "infer/core/resource_usage.h"

/* A conversion that has been decided: operands in block b, and in blocks inside it, share it. */
typedef struct Conversion {
	const Layout *to;
	const Block *b;
	Lowering *how;
	const struct Conversion *next; /* of the same value */
} Conversion;

/* Registers per thread of a warp-specialized kernel: at launch, in producer and in consumer warps. */
typedef struct RoleRegisters {
	int launch, producer, consumer;
} RoleRegisters;

/* A complete solution, or a failed attempt at one. */
typedef struct LayoutSolution {
	SearchPlan plan;
	const Layout **val; /* [nval+1] by value id */
	const Op **origin; /* [nval+1] the op whose constraint determined val[] */
	const Layout **
		*want; /* [nop+1][nin] the layout an operand is converted to; NULL: not converted */
	Lowering ***conv; /* [nop+1][nin] its lowering; operands with one Lowering share the conversion */
	/* [nop+1][nout] the layout in which an op produces a result, if readers see another; NULL: val[] */
	const Layout ***made;
	Lowering ***mconv; /* [nop+1][nout] lowering of the conversion from made[] to val[] */
	Lowering **lowering; /* [nop+1] of the op itself */
	const struct Pack **pack; /* [nparam] packs of packed tensors, as far as known */
	/* [nval+1] layout atoms of shared tiles that need one (infer/core/smem_atom.h) */
	const struct SmemAtom **form;
	int *bit_order; /* [nval+1] bit order of narrow tiles in their 32-bit registers */
	Res *res; /* [nop+1] resources of one execution by all warps */
	/* cluster dimensions x, y, z for TMA multicast (pass multicast); 0 0 0: no clusters */
	int cluster[3];
	const bool *shared; /* [nop+1] multicast copies; NULL: none */
	bool rotate; /* loops prefetch fragments where possible (pass prefetch_fragments) */
	int64_t registers; /* estimated live registers per thread; with roles, of consumer warps */
	int producer; /* registers per thread of producer warps */
	double cycles; /* cycles per block at the predicted occupancy */
	int64_t smem; /* bytes of shared memory per block, as allocated */
	bool spills; /* registers exceed the limit per thread */
	double spilled; /* cycles of spills, contained in `alone` and in total's shared memory */
	double alone; /* cycles of a block that is alone on its SM */
	RoleRegisters handed; /* all 0: no roles */
	int lane; /* predicted registers per thread, as ptxas counts */
	int blocks; /* predicted resident blocks per SM */
	Res total; /* all resources of a block */
	const char *what; /* text for infer_describe() */
	const Kernel *k; /* the kernel that this solves: that of its list, or of a list merged into it */
	const VariantChoices *spaces; /* of that kernel variant */
} LayoutSolution;

/* Solutions, cheapest first, those that spill after all others.  Equal costs keep the order of
 * enumeration. */
typedef struct Candidates {
	Kernel *k;
	LayoutSolution **sol;
	int n, cap;
	uint32_t nval, nop; /* values and ops during the search: the lengths of LayoutSolution's arrays */
	const double *weight; /* [nop+1] executions of an op per block */
	uint64_t steps;
	struct Solve *solve; /* state of the search */
	bool tiles; /* the kernel has tiles */
	Failure failure; /* why the most promising plan has no solution */
	/* why the kernel was not warp-specialized although that was tried; NULL: it was, or not tried */
	const char *unscheduled;
} Candidates;
#endif
