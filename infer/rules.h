/* rules.h - between the files of the rules: what each op says about layouts. */
#ifndef HEXC_RULES_H
#define HEXC_RULES_H
#include "infer/solve.h"

static inline bool
is_reg(const Val *v)
{
	return v->type.space == S_reg;
}

static inline const Layout *
known(const Solve *s, const Val *v)
{
	return s->sol->val[v->id];
}

void rule_shift(Solve *s, Op *o);
void rule_pieces(Solve *s, Op *o); /* slice, concat */
void rule_for(Solve *s, Op *o);
#endif
