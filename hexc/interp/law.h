/* law.h - declares what the files of the interpreter's rules of missing elements share. */
#ifndef HEXC_LAW_H
#define HEXC_LAW_H
#include "hexc/interp/interp_internal.h"

/* A value whose missing elements are replaced, and its original elements; NULL: none is replaced. */
typedef struct Filled {
	InterpValue *slot;
	double *was;
} Filled;

/* A rule prepares the operands of o, evaluates it and computes which elements of its results exist. */
#define LAW(name) bool law_rule_##name(Interp *it, Op *o, EvalFn *eval)
#define OP_EDGE(name, rule) LAW(rule);
#include "hexc/ir/ops.def"

/* Sets of conditions. law_set_of returns the set of a value of n elements. law_set_add adds a condition and
 * returns its bools, all true; law_set_settle removes the last condition if it holds for all elements or
 * equals another one. */
Missing *law_set_of(Interp *it, InterpValue *v, int64_t n);
void law_set_clear(Missing *m);
uint8_t *law_set_add(Interp *it, Missing *m, unsigned dims);
void law_set_settle(Missing *m);
void law_set_copy(Interp *it, Missing *to, const Missing *from);
bool law_exists(const Missing *m, int64_t j); /* m may be NULL */
bool law_is_full(const Missing *m);
/* Replaces the missing elements of v by f or i until law_restore. */
Filled law_filled(Interp *it, const Val *v, double f, int64_t i);
void law_restore(Filled r);
void law_put_number(InterpValue *x, DType t, int64_t j, double f, int64_t i);
/* Returns the dims that a condition on `dims` of x names after a reshape to t. */
unsigned law_names_reshaped(unsigned dims, const Type *x, const Type *t);
#endif
