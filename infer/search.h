/* search.h - the search: plans, what becomes of them, and the list of those that have a solution. */
#ifndef HEXC_SEARCH_H
#define HEXC_SEARCH_H
#include "infer/core/search_state.h"
#include "infer/infer.h"
#include "infer/rules/layout_rules.h"
#include "infer/rules/mma_choices.h"

/* ---- solve_plan.c -------------------------------------------------------------------------------------- */
void solve_init(Solve *s, Kernel *k, const VariantChoices *spaces);
/* How often the loop turns, UNKNOWN_TRIPS where nobody knows, and at most of one that may end early. */
double loop_trips(Kernel *k, const Op *loop);
/* The complete solution under a plan, with its cost; NULL: s->failure says why there is none. */
LayoutSolution *solve_plan(Solve *s, const SearchPlan *plan);
/* Nothing refers to the tables of s->sol, which came to nothing: the next plan's are written there. */
void solution_drop(Solve *s);

/* ---- select_instructions.c ------------------------------------------------------------------------------------- */
/* Access instruction of every load, store, copy; address layout of every alloc. */
bool select_memory(Solve *s);

/* ---- search.c ------------------------------------------------------------------------------------- */
/* All solutions of k, which has those spaces, perhaps none.  `like`: what was found of the same kernel in
 * other spaces, whose layouts of shared memory need not be found again; or NULL. */
Candidates *search_kernel(Kernel *k, const VariantChoices *spaces, const Candidates *like);

/* ---- multicast_choice.c ----------------------------------------------------------------------------- */
/* s->sol, whose cost is known, in clusters of blocks: those that the kernel is asked for, or that make it
 * faster.  NULL: none. */
LayoutSolution *clustered(Solve *s);

/* ---- candidate_list.c --------------------------------------------------------------------------------- */
/* In its place among the others; of two that make the same choices and cost the same the first
 * stays. */
void candidates_add(Solve *s, Candidates *c, LayoutSolution *sol);
/* The best that fits; NULL: none does. */
LayoutSolution *cands_best(const Candidates *c);
/* Is the best of a better than that of b? */
bool cands_before(const Candidates *a, const Candidates *b);
/* Of n lists the one of the kernel with the solution that unit->candidate asks for, counted through all of
 * them; it is the list of all then.  NULL: an error. */
Candidates *cands_join(Candidates *const *c, int n);

/* ---- apply.c -------------------------------------------------------------------------------------- */
void solution_apply(Solve *s, const LayoutSolution *sol); /* into the IR */
/* In front of which op operand v of o is converted, and a result of o. */
Op *convert_place(Op *o, const Val *v, const Lowering *how);
Op *result_place(const Op *o);

/* ---- smem_estimate.c --------------------------------------------------------------------------------------- */
/* Bytes of shared memory that a block needs under s->sol. */
int64_t solution_smem(Solve *s);
/* The error that sol needs more than there is. */
void solution_too_large(Solve *s, LayoutSolution *sol);

/* ---- describe.c ----------------------------------------------------------------------------------- */
/* The accesses that tell solutions apart. */
void find_told(Solve *s);
/* Do two solutions do the same by the same instructions? */
bool same_choices(const Solve *s, const LayoutSolution *a, const LayoutSolution *b);
/* What tells a solution from the others, one line. */
const char *solution_describe(const Solve *s, const LayoutSolution *sol);
/* To the unit's trace, if it has one: the n-th plan, and what became of it: sol and `added` solutions
 * more in the list; or NULL, s->failure. */
void trace_plan(Solve *s, const SearchPlan *p, int n, const LayoutSolution *sol, int added);
#endif
