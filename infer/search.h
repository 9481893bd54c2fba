/* search.h - the search of one kernel: enumerating plans, solving each, and listing those that have a
 * solution. */
#ifndef HEXC_SEARCH_H
#define HEXC_SEARCH_H
#include "infer/core/search_state.h"
#include "infer/infer.h"
#include "infer/rules/layout_rules.h"
#include "infer/rules/mma_choices.h"

/* ---- solve_plan.c -------------------------------------------------------------------------------------- */
void solve_init(Solve *s, Kernel *k, const VariantChoices *spaces);
/* Returns the loop's trip count: UNKNOWN_TRIPS if unknown, and at most that for a loop that may exit
 * early. */
double loop_trips(Kernel *k, const Op *loop);
/* Returns the complete solution under a plan, with its cost; NULL: none, s->failure has the reason. */
LayoutSolution *solve_plan(Solve *s, const SearchPlan *plan);
/* Releases s->sol, which is not used: the next plan's tables are written there. */
void solution_drop(Solve *s);

/* ---- select_instructions.c -------------------------------------------------------------------------- */
/* Selects the instruction of every load, store and copy, and the address layout of every alloc. */
bool select_memory(Solve *s);

/* ---- search.c ------------------------------------------------------------------------------------- */
/* Returns all solutions of variant k, perhaps none.  `like`: the result for another variant of the same
 * kernel, whose shared-memory layouts are reused; or NULL. */
Candidates *search_kernel(Kernel *k, const VariantChoices *spaces, const Candidates *like);

/* ---- multicast_choice.c ----------------------------------------------------------------------------- */
/* Returns s->sol, whose cost is known, with clusters of blocks: as the kernel requests, or if that is
 * faster.  NULL: neither. */
LayoutSolution *clustered(Solve *s);

/* ---- candidate_list.c --------------------------------------------------------------------------------- */
/* Inserts sol by rank.  Of two with the same choices and costs only the first is kept. */
void candidates_add(Solve *s, Candidates *c, LayoutSolution *sol);
/* Returns the best solution that fits into shared memory; NULL: none. */
LayoutSolution *cands_best(const Candidates *c);
/* Is the best solution of a better than that of b? */
bool cands_before(const Candidates *a, const Candidates *b);
/* Merges n lists.  Returns the list of the kernel with the solution that unit->candidate selects in the
 * merged order; it then contains all solutions.  NULL: an error. */
Candidates *cands_join(Candidates *const *c, int n);

/* ---- apply.c -------------------------------------------------------------------------------------- */
void solution_apply(Solve *s, const LayoutSolution *sol); /* writes sol into the IR */
/* Return the op before which operand v, or a result, of o is converted. */
Op *convert_place(Op *o, const Val *v, const Lowering *how);
Op *result_place(const Op *o);

/* ---- smem_estimate.c -------------------------------------------------------------------------------- */
/* Bytes of shared memory per block under s->sol. */
int64_t solution_smem(Solve *s);
/* Reports that sol needs more shared memory than available. */
void solution_too_large(Solve *s, LayoutSolution *sol);

/* ---- describe.c ----------------------------------------------------------------------------------- */
/* Finds the accesses in which solutions may differ. */
void find_told(Solve *s);
/* Do two solutions use the same instructions everywhere? */
bool same_choices(const Solve *s, const LayoutSolution *a, const LayoutSolution *b);
/* One line that distinguishes a solution from the others. */
const char *solution_describe(const Solve *s, const LayoutSolution *sol);
/* Reports the n-th plan to the unit's trace, if it has one, with its result: sol and `added` more
 * solutions in the list; or NULL, with s->failure. */
void trace_plan(Solve *s, const SearchPlan *p, int n, const LayoutSolution *sol, int added);
#endif
