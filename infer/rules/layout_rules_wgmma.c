/* layout_rules_wgmma.c - defines the layout rules of warp roles and wgmma, which are empty. */
#include "infer/rules/layout_rules.h"

/* No constraints: values do not leave a region. */
void
rule_roles(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}

/* As for dots: constrained by anchor_dot() in propagate.c. */
void
rule_wgmma(Solve *s, Op *o)
{
	(void)s;
	(void)o;
}
