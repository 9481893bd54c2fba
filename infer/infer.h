/* infer.h - layout synthesis: what the rest of the library may ask.
 *
 * A search finds every complete solution of a kernel; the one that unit->candidate asks for is written into
 * the IR: layouts of all register and shared tiles, a Lowering on every op that moves or combines data,
 * converts where two layouts meet. */
#ifndef HEXC_INFER_H
#define HEXC_INFER_H
#include "hexc/ir/dot.h"

typedef struct Candidates Candidates; /* what a search found: infer/core/solution.h */

/* Finds and writes, of a kernel in front of pass infer. */
bool pass_infer(Kernel *k);

/* ---- candidate_list.c --------------------------------------------------------------------------------- */
/* The one asked for, into the kernel that it is of, c's. */
bool infer_apply(const Candidates *c);
Kernel *infer_kernel(const Candidates *c);
/* Complete solutions, cheapest first: at least 1. */
int infer_ncand(const Candidates *c);
/* Predicted cycles of one block on one SM, from the cost model in infer/cost/cost_block.c.  It ranks. */
double infer_cycles(const Candidates *c, int i);
double infer_alone(const Candidates *c, int i);    /* cycles of a block alone on an SM */
int infer_registers(const Candidates *c, int i);   /* of a lane, as ptxas will count them, about */
int infer_together(const Candidates *c, int i);    /* blocks that an SM holds */
/* Cycles of solution i where a lane has so many registers and nothing spills, and how many blocks an SM then
 * holds. */
double infer_cycles_with(const Candidates *c, int i, int registers, int *together);
/* What tells solution i from the others, one line: "mma_m16n8k16_f32_f16, warps 2x2; a ldmatrix_x4; ..." */
const char *infer_describe(const Candidates *c, int i);

/* ---- iteration_counts.c -------------------------------------------------------------------------------------- */
/* What a block of solution i takes, by the turns of its loops. */
typedef struct LoopTurns {
	int in;                     /* the one around it, before it in the list; -1: none */
	const Val *lo, *hi, *step;  /* of the loop */
	double turns;               /* that its cycles are for */
	double most;                /* no more are counted; 0: all */
} LoopTurns;
/* Cycles as a sum: fixed + each[l] * (runs of loop l) / (runs that its cycles are for). */
typedef struct CostWay {
	bool alone;
	double fixed;
	const double *each; /* [nloop] */
} CostWay;
/* The cycles of a block alone on an SM are the most of the ways that are `alone`; those that its busiest unit
 * works, the most of the others. */
typedef struct TurnCosts {
	const LoopTurns *loop; /* those whose turns are no constant */
	int nloop;
	const CostWay *way;
	int nway;
} TurnCosts;
/* In front of infer_apply; false: it is not known. */
bool infer_turns(const Candidates *c, int i, TurnCosts *out);

/* ---- warp_count.c -------------------------------------------------------------------------------------- */
/* The numbers of warps, at least one, that a search should try of a kernel in front of the passes that are
 * tried: those that it has come first.  The list is in the unit's arena. */
int warps_tried(const Kernel *k, const int **warps);
/* May it have others, too, where what it holds in these does not fit into registers? */
bool warps_may_grow(const Kernel *k);
/* The next number to try of a block whose lanes, of so many warps, need more registers than there are: need.
 * 0: that would not do. */
int warps_more(const Kernel *k, int warps, int64_t need);

/* ---- skinny_dot_choice.c --------------------------------------------------------------------------------------- */
/* Has it products of few rows or columns?  And are all like that? */
bool kernel_is_thin(const Kernel *k, bool *all);
/* Marks them, in front of the passes that are tried. */
void kernel_make_thin(Kernel *k, SkinnyDotKind way);

/* ---- schedule_choice.c ---------------------------------------------------------------------------------- */
/* The schedules, at least one, that a search should try of such a kernel: groups come first.  The list is
 * constant. */
int schedules_tried(const Kernel *k, const Schedule **schedules);
/* Why a kernel of roles need not be searched, as it is in front of pass infer: groups are better.  NULL: it
 * may be the better one. */
const char *schedule_loses(Kernel *k);

/* ---- variant_search.c ------------------------------------------------------------------------------- */
/* One of the ways in which a kernel can be made. */
typedef struct Variant {
	const bool *registers; /* [Variants.n] tile i is there, and not in shared memory */
	bool dense; /* products of sparse and scaled tiles are of what these make, zeros and all */
	SkinnyDotKind thin; /* of all products of few rows or columns */
	int warps;
	Schedule schedule;
} Variant;

/* A kernel that can be made in several ways before it is searched. */
typedef struct Variants {
	const SpaceChoice *tile; /* n of them */
	int n;
	/* it has sparse tiles or scaled ones, and products may be of what these are made of, or not */
	bool parts;
	bool thin, all_thin; /* it has products of few rows or columns, and no others */
	const int *warps; /* nwarps numbers of warps that a block may have: at least one */
	int nwarps;
	bool grows; /* others, too, where it needs more registers than there are */
	const Schedule *schedule; /* nschedule of them: at least one */
	int nschedule;
	bool show;   /* the way taken is made once more, aloud */
	/* The kernel as the passes up to infer leave it; aloud: as the user asked to see it.  One that cannot
	 * have the schedule may have gone through some of them only.  NULL: an error, or that was all. */
	Kernel *(*make)(void *user, const Variant *v, bool aloud);
	void *user;
} Variants;
/* The solutions of all of them in one list.  NULL: there are none, or not the one asked for, why is in the
 * unit's Diag; or `make` said so. */
Candidates *space_search(Unit *u, const Variants *v);
#endif
