/* infer.h - layout inference: the interface for the rest of the library.
 *
 * The search finds every complete solution of a kernel.  infer_apply() writes the one that unit->candidate
 * selects into the IR: layouts of all register and shared tiles, a Lowering on every op that moves or
 * combines data, and a convert between any two different layouts of a value. */
#ifndef HEXC_INFER_H
#define HEXC_INFER_H
#include "hexc/ir/dot.h"

typedef struct Candidates Candidates; /* results of a search: infer/core/solution.h */

/* Pass infer: searches the solutions of k and applies the selected one. */
bool pass_infer(Kernel *k);

/* ---- candidate_list.c --------------------------------------------------------------------------------- */
/* Writes the selected solution into its kernel.  Returns false if there is none. */
bool infer_apply(const Candidates *c);
Kernel *infer_kernel(const Candidates *c);
/* Number of complete solutions, which are sorted by cost: at least 1. */
int infer_ncand(const Candidates *c);
/* Predicted cycles per block, from the cost model in infer/cost/cost_block.c.  Meant for ranking. */
double infer_cycles(const Candidates *c, int i);
double infer_alone(const Candidates *c, int i);    /* cycles of a block that is alone on its SM */
int infer_registers(const Candidates *c, int i);   /* predicted registers per thread, as ptxas counts */
int infer_together(const Candidates *c, int i);    /* resident blocks per SM */
/* Returns the cycles of solution i at `registers` registers per thread without spills; *together: resident
 * blocks per SM then. */
double infer_cycles_with(const Candidates *c, int i, int registers, int *together);
/* One line that distinguishes solution i from the others: "mma_m16n8k16_f32_f16, warps 2x2; a ldmatrix_x4;
 * ..." */
const char *infer_describe(const Candidates *c, int i);

/* ---- iteration_counts.c ----------------------------------------------------------------------------- */
/* A loop of solution i with an unknown trip count. */
typedef struct LoopTurns {
	int in;                     /* index of the enclosing loop, which precedes it in the list; -1: none */
	const Val *lo, *hi, *step;  /* bounds and step */
	double turns;               /* trip count assumed in its cycles */
	double most;                /* upper limit of the trip count for its cycles; 0: none */
} LoopTurns;
/* Cycles as a sum: fixed + each[l] * (iterations of loop l) / (iterations assumed). */
typedef struct CostWay {
	bool alone;
	double fixed;
	const double *each; /* [nloop] */
} CostWay;
/* The cycles of a block that is alone on its SM are the maximum of the ways with `alone`; those of its
 * busiest unit the maximum of the others. */
typedef struct TurnCosts {
	const LoopTurns *loop; /* loops without a constant trip count */
	int nloop;
	const CostWay *way;
	int nway;
} TurnCosts;
/* Call before infer_apply().  Returns false if the costs are unknown. */
bool infer_turns(const Candidates *c, int i, TurnCosts *out);

/* ---- warp_count.c -------------------------------------------------------------------------------------- */
/* Returns how many numbers of warps a search should try, at least one: first the kernel's own.  k is
 * before the per-variant passes.  The list is in the unit's arena. */
int warps_tried(const Kernel *k, const int **warps);
/* May other numbers be tried if the kernel exceeds the registers with these? */
bool warps_may_grow(const Kernel *k);
/* Returns the number of warps to try next if threads of a block with `warps` warps need `need` registers,
 * more than available; 0: more warps would not help. */
int warps_more(const Kernel *k, int warps, int64_t need);

/* ---- skinny_dot_choice.c ---------------------------------------------------------------------------- */
/* Does k have skinny dots?  *all: does it have no others? */
bool kernel_is_thin(const Kernel *k, bool *all);
/* Marks the skinny dots of k with lowering `way`, before the per-variant passes. */
void kernel_make_thin(Kernel *k, SkinnyDotKind way);

/* ---- schedule_choice.c ------------------------------------------------------------------------------ */
/* Returns how many schedules a search should try, at least one: multistage first.  The list is constant. */
int schedules_tried(const Kernel *k, const Schedule **schedules);
/* Returns the reason why a warp-specialized kernel, before pass infer, need not be searched, as multistage
 * is better; NULL: it may be better. */
const char *schedule_loses(Kernel *k);

/* ---- variant_search.c ------------------------------------------------------------------------------- */
/* One variant of a kernel. */
typedef struct Variant {
	const bool *registers; /* [Variants.n] tile i is in registers, not in shared memory */
	bool dense; /* dots of sparse and scaled tiles are computed densely, on expanded operands */
	SkinnyDotKind thin; /* lowering of all skinny dots */
	int warps;
	Schedule schedule;
} Variant;

/* A kernel with several variants before the search. */
typedef struct Variants {
	const SpaceChoice *tile; /* n of them */
	int n;
	/* It has sparse or scaled tiles, so that dots with and without sparsity or scales are tried. */
	bool parts;
	bool thin, all_thin; /* it has skinny dots, and no others */
	const int *warps; /* nwarps possible numbers of warps per block: at least one */
	int nwarps;
	bool grows; /* more warps are tried if it needs more registers than available */
	const Schedule *schedule; /* nschedule of them: at least one */
	int nschedule;
	bool show;   /* the selected variant is compiled once more, with `aloud` */
	/* Compiles a variant by the passes up to infer; aloud: with the dumps that the user requested.  If
	 * the kernel cannot have the schedule, only some of the passes may have run.  NULL: an error, or
	 * compilation ends there. */
	Kernel *(*make)(void *user, const Variant *v, bool aloud);
	void *user;
} Variants;
/* Returns the solutions of all variants in one list.  NULL: there are none or not the selected one, and
 * the unit's Diag has the reason; or `make` returned NULL. */
Candidates *space_search(Unit *u, const Variants *v);
#endif
