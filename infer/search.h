/* search.h - the search: plans, what becomes of them, and the list of those that have a solution. */
#ifndef HEXC_SEARCH_H
#define HEXC_SEARCH_H
#include "infer/base/state.h"
#include "infer/infer.h"

/* ---- solve.c -------------------------------------------------------------------------------------- */
void solve_init(Solve *s, Kernel *k);
/* The complete solution under a plan, with its price; NULL: s->why says why there is none. */
Sol *solve(Solve *s, const Plan *plan);

/* ---- pin.c ---------------------------------------------------------------------------------------- */
/* Is no demand of another op in the way of a layout that the program gave?  s->why. */
bool pins_hold(Solve *s);

/* ---- select.c ------------------------------------------------------------------------------------- */
/* Access instruction of every load, store, copy; address layout of every alloc. */
bool select_memory(Solve *s);

/* ---- dot.c ---------------------------------------------------------------------------------------- */
/* Every way to do a dot, best-looking first; n of them in *out (arena). */
int dot_choices(Solve *s, const Op *dot, DotChoice **out);

/* ---- cands.c -------------------------------------------------------------------------------------- */
/* In its place among the others; of two that read alike and cost the same the first stays. */
void cands_add(Solve *s, Cands *c, Sol *sol);

/* ---- apply.c -------------------------------------------------------------------------------------- */
void apply(Solve *s, const Sol *sol); /* into the IR */
const char *describe(Solve *s, const Sol *sol);
#endif
